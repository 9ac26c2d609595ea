//===- Array.cpp - Dense arrays on the host -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Storage and element conversions of host arrays.
///
//===----------------------------------------------------------------------===//

#include "core/Runtime/Array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace tilewright;

int64_t tilewright::sizeOf(ElementType type) {
  switch (type) {
  case ElementType::Bool:
  case ElementType::I8:
  case ElementType::U8:
    return 1;
  case ElementType::I16:
  case ElementType::U16:
  case ElementType::F16:
  case ElementType::BF16:
    return 2;
  case ElementType::I32:
  case ElementType::U32:
  case ElementType::F32:
    return 4;
  default:
    return 8;
  }
}

const char *tilewright::nameOf(ElementType type) {
  static const char *const names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                      "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(type)];
}

bool tilewright::isFloat(ElementType type) { return type >= ElementType::F16; }

float tilewright::bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float tilewright::halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

/// A double to a float with `fractionBits` of fraction, exponents of at least `minExponent` for normal numbers and at
/// most `maxExponent`, packed below the sign of a 16-bit word. One rounding, to nearest even.
static uint16_t narrow(double value, int fractionBits, int minExponent, int maxExponent) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = static_cast<uint16_t>((maxExponent - minExponent + 2) << fractionBits);
  if (std::isnan(value))
    return static_cast<uint16_t>(sign | infinity | (1 << (fractionBits - 1)));
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | infinity;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), minExponent);
  double units = std::nearbyint(std::ldexp(magnitude, fractionBits - exponent)); // exact scaling, then one rounding
  // `units` counts steps of 2^(exponent - fractionBits); carries move into the exponent by themselves.
  auto packed = static_cast<int64_t>(units) + (static_cast<int64_t>(exponent - minExponent) << fractionBits);
  return packed >= infinity ? sign | infinity : static_cast<uint16_t>(sign | packed);
}

uint16_t tilewright::doubleToHalf(double value) { return narrow(value, 10, -14, 15); }
uint16_t tilewright::doubleToBfloat(double value) { return narrow(value, 7, -126, 127); }
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

template <typename T>
static T load(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
static void store(char *data, int64_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

double Array::get(int64_t i) const {
  const char *p = storage.get();
  switch (elementType) {
  case ElementType::Bool:
    return load<uint8_t>(p, i) != 0;
  case ElementType::I8:
    return load<int8_t>(p, i);
  case ElementType::I16:
    return load<int16_t>(p, i);
  case ElementType::I32:
    return load<int32_t>(p, i);
  case ElementType::I64:
    return static_cast<double>(load<int64_t>(p, i));
  case ElementType::U8:
    return load<uint8_t>(p, i);
  case ElementType::U16:
    return load<uint16_t>(p, i);
  case ElementType::U32:
    return load<uint32_t>(p, i);
  case ElementType::U64:
    return static_cast<double>(load<uint64_t>(p, i));
  case ElementType::F16:
    return halfToFloat(load<uint16_t>(p, i));
  case ElementType::BF16:
    return bfloatToFloat(load<uint16_t>(p, i));
  case ElementType::F32:
    return load<float>(p, i);
  case ElementType::F64:
    return load<double>(p, i);
  }
  return 0;
}

void Array::set(int64_t i, double value) {
  char *p = storage.get();
  switch (elementType) {
  case ElementType::Bool:
    return store<uint8_t>(p, i, value != 0);
  case ElementType::I8:
    return store(p, i, static_cast<int8_t>(value));
  case ElementType::I16:
    return store(p, i, static_cast<int16_t>(value));
  case ElementType::I32:
    return store(p, i, static_cast<int32_t>(value));
  case ElementType::I64:
    return store(p, i, static_cast<int64_t>(value));
  case ElementType::U8:
    return store(p, i, static_cast<uint8_t>(value));
  case ElementType::U16:
    return store(p, i, static_cast<uint16_t>(value));
  case ElementType::U32:
    return store(p, i, static_cast<uint32_t>(value));
  case ElementType::U64:
    return store(p, i, static_cast<uint64_t>(value));
  case ElementType::F16:
    return store(p, i, doubleToHalf(value));
  case ElementType::BF16:
    return store(p, i, doubleToBfloat(value));
  case ElementType::F32:
    return store(p, i, static_cast<float>(value));
  case ElementType::F64:
    return store(p, i, value);
  }
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
