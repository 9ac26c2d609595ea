//===- LargeLiterals.cpp - Large constants of a program's text ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the literals, and decodes them eight digits at a time.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/LargeLiterals.h"
#include "core/Pipelines/FileMemory.h"
#include "core/Pipelines/LargeConstants.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Regex.h"
#include <sys/mman.h>

using namespace tilewright;

/// Names of resources of literals that were elements of a `dense`.
static constexpr llvm::StringLiteral prefix = "tilewright_literal_";
/// What a resource that the text names has instead of its contents, before the literal's number.
static constexpr llvm::StringLiteral magic = "tilewright large";
static constexpr size_t window = 1 << 24; // bytes of text that are read at a time
static constexpr size_t resourceAlignment = 64;

/// Where the string ends whose contents begin at `begin`: the place of its closing quote.
static size_t endOfString(llvm::StringRef text, size_t begin, bool isMapped) {
  size_t place = begin;
  while (true) {
    size_t found = llvm::StringRef::npos;
    while (found == llvm::StringRef::npos && place < text.size()) {
      llvm::StringRef part = text.substr(place, window);
      found = part.find('"');
      if (found == llvm::StringRef::npos) {
        place += part.size();
        if (isMapped)
          letGo(part);
      }
    }
    if (found == llvm::StringRef::npos)
      return found;
    place += found;
    size_t escapes = 0;
    while (place - escapes > begin && text[place - escapes - 1] == '\\')
      ++escapes;
    if (escapes % 2 == 0)
      return place;
    ++place;
  }
}

/// Decodes hexadecimal digits, twice as many as `bytes` has; false where there are other characters among them.
static bool decode(llvm::StringRef digits, llvm::MutableArrayRef<char> bytes) {
  uint8_t others = 0; // in bytes, so that many are compared at a time
  for (uint8_t c : digits) {
    const uint8_t digit = c - '0', letter = (c | 0x20) - 'a';
    others |= (digit > 9) & (letter > 5);
  }
  if (others)
    return false;
  size_t done = 0;
  for (; done + 4 <= bytes.size(); done += 4) { // each step halves the distance of the digits that make one number
    const uint64_t text = llvm::support::endian::read64le(digits.data() + 2 * done);
    uint64_t value = (text & 0x0F0F0F0F0F0F0F0F) + 9 * ((text >> 6) & 0x0101010101010101);
    value = ((value << 4) | (value >> 8)) & 0x00FF00FF00FF00FF;
    value = (value | (value >> 8)) & 0x0000FFFF0000FFFF;
    llvm::support::endian::write32le(bytes.data() + done, static_cast<uint32_t>(value | (value >> 16)));
  }
  for (; done < bytes.size(); ++done)
    bytes[done] = static_cast<char>(llvm::hexFromNibbles(digits[2 * done], digits[2 * done + 1]));
  return true;
}

/// The bytes of digits, window by window.
static std::optional<mlir::AsmResourceBlob> blobOf(llvm::StringRef digits, bool isMapped) {
  if (digits.size() % 2)
    return std::nullopt;
  mlir::AsmResourceBlob blob = mlir::HeapAsmResourceBlob::allocate(digits.size() / 2, resourceAlignment);
  llvm::MutableArrayRef<char> bytes = blob.getMutableData();
  advise({bytes.data(), bytes.size()}, MADV_HUGEPAGE);
  for (size_t begin = 0; begin < digits.size(); begin += window) {
    llvm::StringRef part = digits.substr(begin, window);
    if (!decode(part, bytes.slice(begin / 2, part.size() / 2)))
      return std::nullopt;
    if (isMapped)
      letGo(part);
  }
  return blob;
}

/// Bytes of an element of the type that follows a `dense<"...`; 0 for types whose literals are left to MLIR: booleans,
/// which these pack, complex numbers and integers of other widths.
static unsigned literalBytes(llvm::StringRef after) {
  static const llvm::Regex type("^[ \t]*>[ \t]*:[ \t]*(tensor|vector)<([0-9]+x)*([a-z0-9A-Z]+)>");
  llvm::SmallVector<llvm::StringRef> parts;
  if (!type.match(after.take_front(512), &parts))
    return 0;
  llvm::StringRef element = parts[3];
  if (element == "bf16")
    return 2;
  if (element.starts_with("f8"))
    return 1;
  unsigned width = 0;
  for (llvm::StringRef kind : {"si", "ui", "i", "f"})
    if (element.consume_front(kind))
      break;
  return !element.getAsInteger(10, width) && llvm::is_contained({8u, 16u, 32u, 64u}, width) ? width / 8 : 0;
}

std::string LargeLiterals::substitute(llvm::StringRef digits, llvm::StringRef before, llvm::StringRef after,
                                      bool isMapped) {
  const std::string number = std::to_string(literals.size());
  if (before.ends_with("dense<\"0x")) {
    const unsigned bytes = literalBytes(after.drop_front());
    auto blob = bytes ? blobOf(digits, isMapped) : std::nullopt;
    if (!blob)
      return "";
    llvm::ArrayRef<char> data = blob->getData();
    if (data.drop_front(bytes) == data.drop_back(bytes)) // one number, of which a constant holds one
      return "dense<\"0x" + digits.take_front(2 * bytes).str() + "\"";
    literals.push_back({std::move(*blob)});
    return ("dense_resource<" + prefix + number).str();
  }
  if (!before.drop_back(3).rtrim().ends_with(":")) // no resource's contents, which follow its name
    return "";
  auto blob = blobOf(digits.drop_front(8), isMapped);
  if (!blob)
    return "";
  literals.push_back({std::move(*blob)});
  return "\"0x" + digits.take_front(8).str() + llvm::toHex((magic + number).str()) + "\"";
}

std::optional<std::string> LargeLiterals::take(llvm::StringRef text, bool isMapped) {
  if (text.starts_with("ML\xefR")) // bytecode
    return std::nullopt;
  std::string result;
  size_t kept = 0, place = 0; // what of the text is in `result`, and where to go on
  while (true) {
    const size_t quote = text.find('"', place);
    if (quote == llvm::StringRef::npos)
      break;
    if (const size_t comment = text.slice(place, quote).find("//"); comment != llvm::StringRef::npos) {
      place = text.find('\n', place + comment);
      if (place == llvm::StringRef::npos)
        break;
      continue;
    }
    const size_t end = endOfString(text, quote + 1, isMapped);
    if (end == llvm::StringRef::npos)
      break;
    place = end + 1;
    llvm::StringRef digits = text.slice(quote + 1, end);
    if (digits.size() < 2 * largeConstantBytes || !digits.consume_front("0x"))
      continue;
    std::string other = substitute(digits, text.take_front(quote + 3), text.drop_front(end), isMapped);
    if (other.empty())
      continue;
    const bool isElements = llvm::StringRef(other).starts_with("dense");
    result += text.slice(kept, isElements ? quote - 6 : quote); // without `dense<`
    result += other;
    kept = place;
  }
  if (kept == 0)
    return std::nullopt;
  return result + text.drop_front(kept).str();
}

llvm::LogicalResult LargeLiterals::bind(mlir::ModuleOp module) {
  if (literals.empty())
    return mlir::success();
  bool isRight = true;
  mlir::Operation *user = nullptr;
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](mlir::DenseResourceElementsAttr resource) {
    auto handle = resource.getRawHandle();
    llvm::StringRef number = handle.getKey();
    if (handle.getBlob()) {
      llvm::ArrayRef<char> data = handle.getBlob()->getData();
      number = {data.data(), data.size()};
      if (!number.consume_front(magic))
        return;
    } else if (number.consume_front(prefix)) {
      number = number.take_while(llvm::isDigit); // the context may have such names already
    }
    size_t index = 0;
    if (number.getAsInteger(10, index) || index >= literals.size() || literals[index].isBound)
      return;
    literals[index].isBound = true;
    handle.getResource()->setBlob(std::move(literals[index].blob));
    mlir::ShapedType type = resource.getType();
    mlir::Type element = type.getElementType();
    const uint64_t wanted =
        element.isIntOrFloat() ? type.getNumElements() * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 0;
    if (const uint64_t size = handle.getBlob()->getData().size(); wanted && size != wanted) {
      isRight = false;
      user->emitOpError() << "has a constant of " << size << " bytes; its type " << type << " takes " << wanted;
    }
  });
  module.walk([&](mlir::Operation *op) {
    user = op;
    walker.walk(op->getAttrDictionary());
  });
  return mlir::success(isRight);
}
