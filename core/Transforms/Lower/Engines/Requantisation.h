//===- Requantisation.h - Chains that a vector unit computes in one -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requantisation, found from its end, the conversion to the narrow type, by
/// walking back over clamps, zero point, rounding, scale and widening:
///
///   %f = arith.sitofp %x;  %s = arith.mulf %f, %scale;  %r = math.roundeven %s;  %z = arith.addf %r, %zero
///   %c = arith.minimumf (arith.maximumf %z, -128), 127;  %q = arith.fptosi %c
///
/// on scalars or on vectors. Scales may differ between the elements; the zero point is one whole number.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_REQUANTISATION_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_REQUANTISATION_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/TargetDescription.h"
#include <cmath>
#include <optional>
#include <string>

namespace tilewright {

/// to(clamp(round(from * scale) + zeroPoint)); values that are null are absent.
struct Requantisation {
  mlir::Value from, scale, zeroPoint;
  std::string rounding;
  double low = -HUGE_VAL, high = HUGE_VAL; // of the clamp
};

/// Ends of the range of the record's result.
std::pair<double, double> rangeOf(const VectorOp &record);

/// The first record of `chip` that computes the chain which ends in `op`, and the chain as its operands; null for none.
const VectorOp *findRequantisation(mlir::arith::FPToSIOp op, const TargetDescription &chip, Requantisation &chain);

/// `result` of the record's instruction, clamped where the chain's clamp is tighter than the type's range.
mlir::Value clampAsIn(mlir::OpBuilder &builder, mlir::Location loc, const Requantisation &chain, const VectorOp &record,
                      mlir::Value result);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_REQUANTISATION_H
