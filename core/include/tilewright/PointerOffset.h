//===- PointerOffset.h - A constant number of elements on -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A constant step of a pointer, of any size.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_POINTEROFFSET_H
#define TILEWRIGHT_POINTEROFFSET_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

/// Pointer to the element `count` elements of type `element` behind `base`, `count` of either sign. A GEP of MLIR holds
/// constants of 29 bits and drops the others of a larger one without a word; here such a one is an operand of 64 bits.
inline mlir::Value elementBehind(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Type element,
                                 int64_t count) {
  namespace LLVM = mlir::LLVM;
  if (llvm::isInt<LLVM::kGEPConstantBitWidth>(count))
    return LLVM::GEPOp::create(builder, loc, base.getType(), element, base,
                               mlir::ArrayRef<LLVM::GEPArg>{int32_t(count)});
  mlir::Value step = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(count));
  return LLVM::GEPOp::create(builder, loc, base.getType(), element, base, mlir::ArrayRef<LLVM::GEPArg>{step});
}

} // namespace tilewright

#endif // TILEWRIGHT_POINTEROFFSET_H
