//===- Tolerance.h - What may differ between two runs -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tolerance of a float output with element type T, largest magnitude S of the
/// reference, and D the largest dimension of all arrays:
///
///   |out - ref| <= eps(T') * (4 |ref| + 2 S) + eps(C) * (16 + 2 D) * S + step(T, ref)
///
/// T' is the narrowest float type among all arrays, C the type that T computes in
/// (f32, f64 for f64), eps(f64, f32, f16, bf16) = 2^-52, 2^-23, 2^-10, 2^-7.
///
/// Where a unit of the compiled program rounds the elements that it reads (TF32 with --fp=fast: 2^-10), T' is at least
/// as wide as that.
///
/// 8-bit floats (eps 2^-3 and 2^-2) would make that useless: their values are exact
/// in f32, so that one counts in T' only where the program rounds to it and reads
/// the result again. An output of such a type may be the neighbour of the
/// reference's number: step(T, ref) = eps(T) |ref| + the smallest number of T; for
/// other types it is 0.
///
/// Integers are equal or wrong. NaN is always wrong, an infinity right where the
/// reference has the same; in an output of 8-bit floats, of which most have no
/// infinity, NaN is right where the reference has it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H
#define TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H

#include "core/Runtime/Array.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

class Tolerance {
public:
  /// Of the outputs of `program` with these arrays; `operandSpacing`: of numbers to which its units round operands.
  Tolerance(mlir::ModuleOp program, const std::vector<Array> &arrays, double operandSpacing = 0);

  /// |got - expected| / tolerance of one element of an output of `type` whose largest magnitude is `scale`; `error` is
  /// |got - expected|. Above 1 is wrong.
  double ratio(ElementType type, double scale, double got, double expected, double &error) const;

private:
  double narrowest = 0x1p-52;
  int64_t largest = 1;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H
