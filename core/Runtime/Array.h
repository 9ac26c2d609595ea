//===- Array.h - Dense arrays on the host -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A dense row-major array with a run-time element type, on 64-byte aligned
/// memory. Part of the runtime: needs no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_RUNTIME_ARRAY_H
#define TILEWRIGHT_CORE_RUNTIME_ARRAY_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

enum class ElementType {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E8M0FNU,
  F16,
  BF16,
  F32,
  F64
};

/// Bytes of one element.
int64_t sizeOf(ElementType type);
/// "f32", "bf16", "i8", "u16", "bool".
const char *nameOf(ElementType type);
bool isFloat(ElementType type);
bool isFloat8(ElementType type);
/// Spacing of a float type's values around 1, twice the unit roundoff; 0 for integers.
double epsilon(ElementType type);
/// The smallest positive number of an 8-bit float type.
double smallest(ElementType type);
/// The largest finite number of a float type.
double largest(ElementType type);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value); // round to nearest even
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value); // round to nearest even, NaN stays NaN
/// Double to f16 or bf16 with one rounding.
uint16_t doubleToHalf(double value);
uint16_t doubleToBfloat(double value);

class Array {
public:
  Array() = default;
  /// Zero-filled. Sizes are elements; a negative one or more than 2^48 bytes is refused by `fits`.
  Array(ElementType type, std::vector<int64_t> shape);
  static bool fits(ElementType type, const std::vector<int64_t> &shape);

  ElementType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return dims; }
  int64_t count() const { return elements; }
  int64_t bytes() const { return elements * sizeOf(elementType); }
  char *data() { return storage.get(); }
  const char *data() const { return storage.get(); }
  bool allocated() const { return storage != nullptr; }

  /// Element `i` in row-major order as a double (64-bit integers may round).
  double get(int64_t i) const;
  /// Stores `value` rounded once (integers: truncated) to the element type.
  void set(int64_t i, double value);
  /// Floats: standard normal. Integers: uniform in -8 to 7 (unsigned: 0 to 7). Booleans: either. The same values on
  /// every machine; `stream` tells the arrays of one seed apart.
  void fillRandom(uint64_t seed, uint64_t stream);
  Array clone() const;
  /// The same bytes as elements of another type of that size.
  void readAs(ElementType type) { elementType = type; }
  /// "f32[128,768]".
  std::string describe() const;

private:
  struct Free {
    void operator()(char *memory) const;
  };
  ElementType elementType = ElementType::F32;
  std::vector<int64_t> dims;
  int64_t elements = 0;
  std::unique_ptr<char, Free> storage;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_RUNTIME_ARRAY_H
