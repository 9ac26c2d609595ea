//===- Elementwise.cpp - Bodies that compute on elements alone ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operations by their traits, and what uses the numbers of loops.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Elementwise.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || (OpTrait::hasElementwiseMappableTraits(op) && isPure(op));
}

bool usesNumber(AffineForOp loop) {
  return !llvm::all_of(loop.getInductionVar().getUsers(), llvm::IsaPred<AffineLoadOp, AffineStoreOp>);
}

bool isElementwise(const Nest &nest) {
  return llvm::none_of(nest.loops, usesNumber) && llvm::all_of(nest.body->without_terminator(), [](Operation &op) {
           return isa<AffineLoadOp, AffineStoreOp>(op) || isElementwise(&op);
         });
}

} // namespace tilewright
