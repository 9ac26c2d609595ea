//===- BfloatBits.h - bf16 values as their bits -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The last step of lower-to-llvm for bf16.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_BFLOATBITS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_BFLOATBITS_H

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// Gives every bf16 value of a module in the LLVM dialect the type i16 where it is only moved: loads, stores, masked
/// accesses, selects, shuffles, constants, signatures. What computes on bf16 (units, conversions that a chip has)
/// keeps its types, with bit casts around it.
void moveBfloatsAsBits(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_BFLOATBITS_H
