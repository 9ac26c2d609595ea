//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A strict reader of the header's dictionary, byte order and column-major
/// conversion, and the writer.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Npy.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

using namespace tilewright;

namespace {

/// The header's dictionary: string keys, values that are strings, booleans or tuples of integers.
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string &error) : text(text), error(error) {}

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

  bool parse() {
    bool haveDescr = false, haveOrder = false, haveShape = false;
    if (!expect('{'))
      return false;
    while (!peek('}')) {
      std::string key;
      if (!string(key) || !expect(':'))
        return false;
      if (key == "descr" && peek('['))
        return fail("structured element types are not supported; expected one number type such as '<f4'");
      if (key == "descr" && string(descr))
        haveDescr = true;
      else if (key == "fortran_order" && boolean(fortranOrder))
        haveOrder = true;
      else if (key == "shape" && tuple())
        haveShape = true;
      else
        return fail("has an unreadable header at '" + key + "'");
      if (!peek(','))
        break;
      ++position;
    }
    if (!expect('}'))
      return false;
    if (!haveDescr || !haveOrder || !haveShape)
      return fail("has a header without 'descr', 'fortran_order' or 'shape'");
    return true;
  }

private:
  bool fail(const std::string &message) {
    if (error.empty())
      error = message;
    return false;
  }
  void skip() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n'))
      ++position;
  }
  bool peek(char c) {
    skip();
    return position < text.size() && text[position] == c;
  }
  bool expect(char c) {
    if (!peek(c))
      return fail(std::string("has an unreadable header: expected '") + c + "'");
    ++position;
    return true;
  }
  bool string(std::string &value) {
    skip();
    if (position >= text.size() || (text[position] != '\'' && text[position] != '"'))
      return fail("has an unreadable header: expected a string");
    size_t end = text.find(text[position], position + 1);
    if (end == std::string_view::npos)
      return fail("has an unreadable header: a string does not end");
    value = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return true;
  }
  bool boolean(bool &value) {
    skip();
    for (bool candidate : {false, true}) {
      std::string_view word = candidate ? "True" : "False";
      if (text.substr(position, word.size()) == word) {
        value = candidate;
        position += word.size();
        return true;
      }
    }
    return fail("has an unreadable header: expected True or False");
  }
  bool tuple() {
    if (!expect('('))
      return false;
    while (!peek(')')) {
      skip();
      size_t begin = position;
      int64_t value = 0;
      while (position < text.size() && text[position] >= '0' && text[position] <= '9') {
        if (value > (int64_t(1) << 56))
          return fail("has a dimension that is too large");
        value = value * 10 + (text[position++] - '0');
      }
      if (begin == position)
        return fail("has an unreadable shape: expected a tuple of sizes");
      shape.push_back(value);
      if (shape.size() > 64)
        return fail("has more than 64 dimensions");
      if (!peek(','))
        break;
      ++position;
    }
    return expect(')');
  }

  std::string_view text;
  std::string &error;
  size_t position = 0;
};

std::optional<ElementType> elementType(std::string_view code, bool bfloat) {
  if (bfloat && (code == "u2" || code == "V2"))
    return ElementType::BF16;
  static constexpr std::pair<const char *, ElementType> codes[] = {
      {"b1", ElementType::Bool}, {"i1", ElementType::I8},  {"i2", ElementType::I16}, {"i4", ElementType::I32},
      {"i8", ElementType::I64},  {"u1", ElementType::U8},  {"u2", ElementType::U16}, {"u4", ElementType::U32},
      {"u8", ElementType::U64},  {"f2", ElementType::F16}, {"f4", ElementType::F32}, {"f8", ElementType::F64}};
  for (auto [name, type] : codes)
    if (code == name)
      return type;
  return std::nullopt;
}

const char *codeOf(ElementType type) {
  static const char *const codes[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "u2", "f4", "f8"};
  return codes[static_cast<int>(type)];
}

/// Copies column-major `source` into row-major `target`.
void toRowMajor(const char *source, char *target, const std::vector<int64_t> &shape, int64_t size) {
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = count;
    count *= shape[d];
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      offset += index[d] * stride[d];
    std::memcpy(target + i * size, source + offset * size, static_cast<size_t>(size));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace

bool tilewright::isBfloatName(std::string_view path) { return path.ends_with(".bf16.npy"); }

std::optional<Array> tilewright::parseNpy(std::string_view bytes, bool bfloat, std::string &error) {
  error.clear();
  if (bytes.size() < 10 || bytes.substr(0, 6) != std::string_view("\x93NUMPY", 6)) {
    error = "is no .npy file: it does not begin with \\x93NUMPY";
    return std::nullopt;
  }
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  size_t major = byte(6), begin = major == 1 ? 10 : 12;
  if (major < 1 || major > 3) {
    error = "has format version " + std::to_string(major) + "; expected 1, 2 or 3";
    return std::nullopt;
  }
  size_t length = byte(8) | byte(9) << 8;
  if (major > 1 && bytes.size() >= 12)
    length |= byte(10) << 16 | byte(11) << 24;
  if (bytes.size() < begin || bytes.size() - begin < length) {
    error = "is cut off inside its header";
    return std::nullopt;
  }
  HeaderParser header(bytes.substr(begin, length), error);
  if (!header.parse())
    return std::nullopt;
  std::string_view code = header.descr;
  char order = '=';
  if (!code.empty() && std::strchr("<>|=", code.front())) {
    order = code.front();
    code.remove_prefix(1);
  }
  std::optional<ElementType> type = elementType(code, bfloat);
  if (!type) {
    error = "has element type '" + header.descr + "'; expected b1, i1 to i8, u1 to u8, f2, f4 or f8 (bf16: u2 in a file "
            "named *.bf16.npy)";
    return std::nullopt;
  }
  if (!Array::fits(*type, header.shape)) {
    error = "has a shape whose size in bytes overflows";
    return std::nullopt;
  }
  int64_t count = 1, size = sizeOf(*type);
  for (int64_t dim : header.shape)
    count = dim == 0 || count == 0 ? 0 : count * dim;
  std::string_view data = bytes.substr(begin + length);
  if (data.size() != static_cast<size_t>(count * size)) {
    error = "holds " + std::to_string(data.size()) + " bytes of data; its header promises " + std::to_string(count * size);
    return std::nullopt;
  }
  Array array(*type, header.shape);
  if (!array.allocated()) {
    error = "does not fit into memory";
    return std::nullopt;
  }
  if (header.fortranOrder && header.shape.size() > 1)
    toRowMajor(data.data(), array.data(), header.shape, size);
  else if (!data.empty())
    std::memcpy(array.data(), data.data(), data.size());
  bool swap = order == (std::endian::native == std::endian::little ? '>' : '<');
  if (swap && size > 1)
    for (int64_t i = 0; i < count; ++i)
      std::reverse(array.data() + i * size, array.data() + (i + 1) * size);
  return array;
}

std::optional<Array> tilewright::readNpy(const std::string &path, std::string &error) {
  struct stat status;
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file || fstat(fileno(file), &status) != 0 || S_ISDIR(status.st_mode)) {
    error = "cannot read '" + path + "': " + (file ? "is a directory" : std::strerror(errno));
    if (file)
      std::fclose(file);
    return std::nullopt;
  }
  std::string bytes;
  char chunk[1 << 16];
  size_t got;
  while ((got = std::fread(chunk, 1, sizeof(chunk), file)) > 0)
    bytes.append(chunk, got);
  bool failed = std::ferror(file);
  std::fclose(file);
  if (failed) {
    error = "cannot read '" + path + "': " + std::strerror(errno);
    return std::nullopt;
  }
  std::optional<Array> array = parseNpy(bytes, isBfloatName(path), error);
  if (!array)
    error = "'" + path + "' " + error;
  return array;
}

std::string tilewright::formatNpy(const Array &array) {
  const char *order = sizeOf(array.type()) == 1 ? "|" : std::endian::native == std::endian::little ? "<" : ">";
  std::string header = std::string("{'descr': '") + order + codeOf(array.type()) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape().size(); ++i)
    header += std::to_string(array.shape()[i]) + (i + 1 < array.shape().size() ? ", " : array.shape().size() == 1 ? "," : "");
  header += "), }";
  // The data begins at a multiple of 64 bytes.
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(array.data(), static_cast<size_t>(array.bytes()));
  return bytes;
}
