//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays and files around the C runtime's reader.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Npy.h"
#include "core/Runtime/C/Npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

using namespace tilewright;

bool tilewright::isBfloatName(std::string_view path) { return tw_npy_is_bfloat(path.data(), path.size()); }

std::optional<Array> tilewright::parseNpy(std::string_view bytes, bool bfloat, std::string &error) {
  tw_npy found;
  char problem[256];
  error.clear();
  if (!tw_npy_parse(bytes.data(), bytes.size(), bfloat, &found, problem, sizeof(problem))) {
    error = problem;
    return std::nullopt;
  }
  Array array(static_cast<ElementType>(found.type), {found.shape, found.shape + found.rank});
  if (!array.allocated()) {
    error = "does not fit into memory";
    return std::nullopt;
  }
  tw_npy_copy(&found, array.data());
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
  char header[TW_NPY_MOST_HEADER];
  size_t length =
      tw_npy_header(static_cast<tw_element>(array.type()), array.shape().size(), array.shape().data(), header);
  return std::string(header, length).append(array.data(), static_cast<size_t>(array.bytes()));
}
