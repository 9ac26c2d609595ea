//===- NarrowFloats.h - Floats of 4 and 6 bits ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// f4E2M1FN, f6E2M3FN and f6E3M2FN are bytes at the boundary of a program, whose low
/// bits count, and numbers of the type f8E4M3FN inside, which holds all of theirs:
///
///   func.func @f(%a: tensor<8xf4E2M1FN>) { %x = ... arith.extf %y : f4E2M1FN to f32 }
///   ->
///   func.func @f(%a: tensor<8xi8>) {
///     %d = linalg.generic .. ins(%a) { %b = arith.bitcast (arith.trunci %byte : i8 to i4) : i4 to f4E2M1FN
///                                      linalg.yield %b, by way of f32 : f8E4M3FN }
///     %x = ... arith.extf %y : f8E4M3FN to f32
///   }
///
/// What is rounded to such a type is rounded once (arith.truncf), and then widened.
/// Units that take such elements find the bytes behind the conversion
/// (ScaledOperands.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_IMPORT_NARROWFLOATS_H
#define TILEWRIGHT_CORE_TRANSFORMS_IMPORT_NARROWFLOATS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Rewrites `module` so, in which arithmetic on these types is done in f32 already. Failure, with an error, at an
/// operation that computes in them all the same, and at a memref of a public function.
mlir::LogicalResult holdNarrowFloats(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_IMPORT_NARROWFLOATS_H
