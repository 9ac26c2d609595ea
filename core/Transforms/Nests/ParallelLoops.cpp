//===- ParallelLoops.cpp - Parallel loops of a nest --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which loops touch nothing of each other's iterations.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/ParallelLoops.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/LoopTrips.h"
#include "mlir/Dialect/Affine/LoopUtils.h"

using namespace mlir;
using namespace tilewright;

SmallVector<affine::AffineForOp> tilewright::perfectLoops(affine::AffineForOp root) {
  SmallVector<affine::AffineForOp> loops;
  for (affine::AffineForOp loop = root; loop;) {
    bool known = loop.hasConstantLowerBound() && loop.getConstantLowerBound() == 0 && loop.getStepAsInt() == 1 &&
                 loop.getNumIterOperands() == 0 && loop.getUpperBoundMap().getNumResults() == 1 &&
                 llvm::none_of(loop.getUpperBoundOperands(), [&](Value operand) {
                   return root->isAncestor(operand.getParentRegion()->getParentOp());
                 });
    if (!known)
      break;
    loops.push_back(loop);
    loop = loopInside(loop);
  }
  return loops;
}

affine::AffineForOp tilewright::moveIndependentLoopsOut(affine::AffineForOp root) {
  SmallVector<affine::AffineForOp> loops = perfectLoops(root);
  auto accesses = accessesBelow(root);
  if (!accesses || loops.size() < 2)
    return root;
  size_t front = 0;
  while (front < loops.size() && isParallelLoop(loops[front]))
    ++front;
  SmallVector<bool> moves(loops.size());
  for (size_t i = 0; i < loops.size(); ++i)
    moves[i] = i < front || isIndependentLoop(loops[i], root, *accesses);
  SmallVector<unsigned> positions(loops.size());
  unsigned next = 0;
  for (bool turn : {true, false})
    for (size_t i = 0; i < loops.size(); ++i)
      if (moves[i] == turn)
        positions[i] = next++;
  if (llvm::is_sorted(positions))
    return root;
  return loops[affine::permuteLoops(loops, positions)];
}

SmallVector<affine::AffineForOp> tilewright::parallelBand(affine::AffineForOp root) {
  SmallVector<affine::AffineForOp> loops = perfectLoops(root);
  return {loops.begin(),
          llvm::find_if_not(loops, [](affine::AffineForOp loop) { return isParallelLoop(loop, /*mayGather=*/true); })};
}
