//===- NestPass.cpp - How passes over nests begin -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions and chips that such passes leave alone or refuse.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestPass.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

LogicalResult tilewright::withMemoryModel(func::FuncOp function, function_ref<void(const NestContext &)> body) {
  if (function.isExternal())
    return success();
  auto chip = requireTarget(function);
  if (failed(chip))
    return failure();
  body({**chip, MemoryModel(**chip), Settings::of(function)});
  return success();
}

SmallVector<affine::AffineForOp> tilewright::nestRoots(func::FuncOp function) {
  SmallVector<affine::AffineForOp> roots;
  function.walk([&](affine::AffineForOp loop) {
    Operation *parent = loop->getParentOp();
    if (parent->hasAttr(tile::atAttr) || !isa<affine::AffineForOp, affine::AffineParallelOp, tile::ParallelOp>(parent))
      roots.push_back(loop);
  });
  return roots;
}

bool tilewright::isScheduled(func::FuncOp function) {
  return llvm::any_of(function.front(), [](Operation &op) { return op.hasAttr(tile::scheduleAttr); });
}

/// Outermost loops of nests in `block` and in the branches of the host that stand in it.
static void collectNests(Block &block, SmallVectorImpl<affine::AffineForOp> &roots) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<affine::AffineForOp>(op))
      roots.push_back(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      for (Region *side : branch.getRegions())
        for (Block &inner : *side)
          collectNests(inner, roots);
}

LogicalResult tilewright::overLaneNests(func::FuncOp function,
                                        function_ref<void(affine::AffineForOp, const LaunchTarget &)> map,
                                        bool gathers) {
  if (gathers ? !isKernelOrGathers(function) : !isKernel(function))
    return success();
  FailureOr<LaunchTarget> target = requireLanes(function);
  if (failed(target))
    return failure();
  SmallVector<affine::AffineForOp> roots;
  collectNests(function.front(), roots);
  for (affine::AffineForOp root : roots)
    map(root, *target);
  return success();
}
