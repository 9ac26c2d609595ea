//===- Array.cpp - Dense arrays on the host -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Storage of host arrays; elements are the C runtime's.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Array.h"
#include "core/Runtime/C/Elements.h"

#include <cstdlib>
#include <cstring>

using namespace tilewright;

static tw_element code(ElementType type) { return static_cast<tw_element>(type); }
static_assert(static_cast<int>(ElementType::F64) == TW_F64, "the same types in the same order");

int64_t tilewright::sizeOf(ElementType type) { return tw_element_bytes(code(type)); }
const char *tilewright::nameOf(ElementType type) { return tw_element_name(code(type)); }
bool tilewright::isFloat(ElementType type) { return tw_element_is_float(code(type)); }
bool tilewright::isFloat8(ElementType type) { return tw_element_is_float8(code(type)); }

double tilewright::epsilon(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1p-52;
  case ElementType::F32:
    return 0x1p-23;
  case ElementType::F16:
    return 0x1p-10;
  case ElementType::BF16:
    return 0x1p-7;
  case ElementType::F8E4M3FN:
  case ElementType::F8E4M3FNUZ:
    return 0x1p-3;
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
    return 0x1p-2;
  case ElementType::F8E8M0FNU:
    return 1;
  default:
    return 0;
  }
}

double tilewright::smallest(ElementType type) {
  return tw_float8_to_double(code(type), type == ElementType::F8E8M0FNU ? 0 : 1);
}

double tilewright::largest(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return 0x1.fffffffffffffp1023;
  case ElementType::F16:
    return 65504;
  case ElementType::BF16:
    return 0x1.fep127;
  case ElementType::F8E4M3FN:
    return 448;
  case ElementType::F8E4M3FNUZ:
    return 240;
  case ElementType::F8E5M2:
  case ElementType::F8E5M2FNUZ:
    return 57344;
  case ElementType::F8E8M0FNU:
    return 0x1p127;
  default:
    return 0x1.fffffep127;
  }
}

float tilewright::bfloatToFloat(uint16_t bits) { return static_cast<float>(tw_bfloat_to_double(bits)); }
float tilewright::halfToFloat(uint16_t bits) { return static_cast<float>(tw_half_to_double(bits)); }
uint16_t tilewright::doubleToHalf(double value) { return tw_double_to_half(value); }
uint16_t tilewright::doubleToBfloat(double value) { return tw_double_to_bfloat(value); }
uint16_t tilewright::floatToHalf(float value) { return doubleToHalf(value); }
uint16_t tilewright::floatToBfloat(float value) { return doubleToBfloat(value); }

void Array::Free::operator()(char *memory) const { std::free(memory); }

bool Array::fits(ElementType type, const std::vector<int64_t> &shape) {
  constexpr int64_t limit = int64_t(1) << 48;
  int64_t bytes = sizeOf(type);
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > limit)
      return false;
    empty |= dim == 0;
  }
  for (int64_t dim : shape) {
    if (empty)
      break;
    if (bytes > limit / dim)
      return false;
    bytes *= dim;
  }
  return true;
}

Array::Array(ElementType type, std::vector<int64_t> shape) : elementType(type), dims(std::move(shape)), elements(1) {
  for (int64_t dim : dims)
    elements *= dim;
  size_t size = (static_cast<size_t>(bytes()) + 127) / 64 * 64;
  storage.reset(static_cast<char *>(std::aligned_alloc(64, size)));
  if (storage)
    std::memset(storage.get(), 0, size);
}

double Array::get(int64_t i) const { return tw_element_get(code(elementType), storage.get(), i); }
void Array::set(int64_t i, double value) { tw_element_set(code(elementType), storage.get(), i, value); }
void Array::fillRandom(uint64_t seed, uint64_t stream) {
  tw_random_fill(code(elementType), storage.get(), elements, seed, stream);
}

Array Array::clone() const {
  Array copy(elementType, dims);
  if (copy.allocated() && allocated())
    std::memcpy(copy.data(), data(), static_cast<size_t>(bytes()));
  return copy;
}

std::string Array::describe() const {
  std::string text = std::string(nameOf(elementType)) + "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}
