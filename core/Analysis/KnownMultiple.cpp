//===- KnownMultiple.cpp - What divides an index ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A divisor of an index that follows from the code that computes it.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/KnownMultiple.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;

int64_t tilewright::knownMultiple(Value index, int64_t most) {
  if (std::optional<int64_t> known = getConstantIntValue(index))
    return std::gcd(*known, most);
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    if (auto loop = dyn_cast<affine::AffineForOp>(argument.getOwner()->getParentOp()))
      return loop.hasConstantLowerBound() && loop.getInductionVar() == index
                 ? std::gcd(std::gcd(loop.getConstantLowerBound(), loop.getStepAsInt()), most)
                 : 1;
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == index
               ? std::min(knownMultiple(loop.getLowerBound(), most), knownMultiple(loop.getStep(), most))
               : 1;
  }
  Operation *def = index.getDefiningOp();
  if (isa<arith::MulIOp>(def))
    return std::min(most, knownMultiple(def->getOperand(0), most) * knownMultiple(def->getOperand(1), most));
  if (isa<arith::AddIOp, arith::SubIOp>(def))
    return std::min(knownMultiple(def->getOperand(0), most), knownMultiple(def->getOperand(1), most));
  if (isa<arith::IndexCastOp>(def))
    return knownMultiple(def->getOperand(0), most);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(def))
    return std::gcd(apply.getAffineMap().getResult(0).getLargestKnownDivisor(), most);
  return 1;
}
