//===- AssumedKernel.cpp - A kernel as if its sizes were known ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types of arrays get the sizes, what follows from them is folded, and bounds of
/// loops become constants.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/AssumedKernel.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/FoldUtils.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// `type` with `sizes` for its dynamic ones, in order.
static MemRefType withSizes(MemRefType type, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size)) {
      size = sizes.front();
      sizes = sizes.drop_front();
    }
  return MemRefType::get(shape, type.getElementType(), type.getLayout(), type.getMemorySpace());
}

/// Folds the numbers that are computed at the top; dimensions of arrays are known.
static void foldNumbers(Block &block) {
  OperationFolder folder(block.getParentOp()->getContext());
  for (Operation &op : llvm::make_early_inc_range(block))
    if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex())
      (void)folder.tryToFold(&op);
}

OwningOpRef<func::FuncOp> tilewright::assumeSizes(func::FuncOp kernel,
                                                  llvm::DenseMap<Operation *, AffineForOp> &originals) {
  bool isDynamic = false;
  for (auto root : kernel.front().getOps<AffineForOp>())
    root->walk([&](AffineForOp loop) {
      isDynamic |= !loop.hasConstantUpperBound() && !llvm::all_of(loop.getUpperBoundOperands(), [&](Value operand) {
        return root->isAncestor(operand.getParentRegion()->getParentOp());
      });
    });
  if (!isDynamic)
    return {};
  IRMapping mapping;
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(kernel->clone(mapping));
  for (auto root : kernel.front().getOps<AffineForOp>())
    originals[mapping.lookup(root.getOperation())] = root;
  Block &block = copy->front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = copy->getLoc();
  for (BlockArgument argument : block.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      argument.setType(withSizes(type, SmallVector<int64_t>(type.getNumDynamicDims(), assumedRowExtent)));
    else if (argument.getType().isIndex())
      argument.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, loc, assumedRowExtent));
  foldNumbers(block);
  for (auto array : llvm::make_early_inc_range(block.getOps<memref::AllocOp>())) {
    SmallVector<int64_t> sizes;
    for (Value size : array.getDynamicSizes())
      sizes.push_back(getConstantIntValue(size).value_or(assumedRowExtent));
    builder.setInsertionPoint(array);
    auto fixed = memref::AllocOp::create(builder, array.getLoc(), withSizes(array.getType(), sizes));
    array.getResult().replaceAllUsesWith(fixed);
    array.erase();
  }
  foldNumbers(block);
  copy->walk([](AffineForOp loop) {
    SmallVector<Attribute> operands;
    for (Value operand : loop.getUpperBoundOperands())
      operands.push_back(
          IntegerAttr::get(IndexType::get(loop.getContext()), getConstantIntValue(operand).value_or(assumedRowExtent)));
    SmallVector<Attribute> ends;
    if (!loop.hasConstantUpperBound() && loop.getUpperBoundMap().getNumResults() == 1 &&
        succeeded(loop.getUpperBoundMap().constantFold(operands, ends)))
      loop.setConstantUpperBound(cast<IntegerAttr>(ends.front()).getInt());
  });
  return copy;
}
