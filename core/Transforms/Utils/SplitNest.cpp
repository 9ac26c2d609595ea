//===- SplitNest.cpp - A reduction in parts -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Three nests for one.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/SplitNest.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The operation where the loops have other numbers, by `mapping`; accesses have them in their maps.
static void cloneAt(OpBuilder &builder, Operation &op, IRMapping &mapping) {
  auto load = dyn_cast<AffineLoadOp>(op);
  if (!load) {
    builder.clone(op, mapping);
    return;
  }
  AffineMap map = load.getAffineMap();
  SmallVector<Value> operands =
      llvm::map_to_vector(load.getMapOperands(), [&](Value operand) { return mapping.lookupOrDefault(operand); });
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  mapping.map(load.getResult(),
              AffineLoadOp::create(builder, load.getLoc(), load.getMemRef(), map, operands).getResult());
}

void tilewright::computeInParts(const NestToSplit &task, int64_t parts, Operation *before) {
  const Nest &nest = task.nest;
  AffineForOp root = nest.root();
  Location loc = root.getLoc();
  OpBuilder builder(before);
  const Access &store = *llvm::find_if(nest.stores, [&](const Access &each) { return each.op == task.store; });
  const Type element = task.combine->getResult(0).getType();
  const SmallVector<unsigned> kept = llvm::to_vector_of<unsigned>(store.dims().set_bits());
  SmallVector<int64_t> shape{parts}, trips{parts};
  for (unsigned dim : kept)
    shape.push_back(*nest.tripCounts[dim]);
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    trips.push_back(*nest.tripCounts[dim] / (dim == task.dim ? parts : 1));
  Value part = memref::AllocOp::create(builder, loc, MemRefType::get(shape, element));
  Value neutral = arith::ConstantOp::create(builder, loc, task.neutral);
  AffineStoreOp::create(builder, loc, neutral, part, elementLoops(builder, loc, shape));

  builder.setInsertionPoint(before);
  {
    SmallVector<Value> numbers = elementLoops(builder, loc, trips), at{numbers.front()};
    IRMapping mapping;
    AffineExpr number = builder.getAffineDimExpr(0) * trips[1 + task.dim] + builder.getAffineDimExpr(1);
    Value whole = AffineApplyOp::create(builder, loc, AffineMap::get(2, 0, number),
                                        ValueRange{numbers.front(), numbers[1 + task.dim]});
    for (auto [dim, loop] : llvm::enumerate(nest.loops))
      mapping.map(AffineForOp(loop).getInductionVar(), dim == task.dim ? whole : numbers[1 + dim]);
    for (unsigned dim : kept)
      at.push_back(numbers[1 + dim]);
    for (Operation &op : nest.body->without_terminator())
      if (&op == task.load)
        mapping.map(op.getResult(0), AffineLoadOp::create(builder, loc, part, at).getResult());
      else if (&op == task.store)
        AffineStoreOp::create(builder, loc, mapping.lookup(task.combine->getResult(0)), part, at);
      else
        cloneAt(builder, op, mapping);
    if (whole.use_empty())
      whole.getDefiningOp()->erase();
  }

  builder.setInsertionPoint(root);
  if (task.partsInside)
    std::rotate(shape.begin(), std::next(shape.begin()), shape.end());
  SmallVector<Value> at = elementLoops(builder, loc, shape);
  if (task.partsInside)
    std::rotate(at.begin(), std::prev(at.end()), at.end());
  IRMapping mapping;
  for (auto [dim, number] : llvm::zip_equal(kept, ArrayRef(at).drop_front()))
    mapping.map(AffineForOp(nest.loops[dim]).getInductionVar(), number);
  Value held = builder.clone(*task.load, mapping)->getResult(0), one = AffineLoadOp::create(builder, loc, part, at);
  Operation *both = builder.create(loc, task.combine->getName().getIdentifier(), ValueRange{held, one}, element,
                                   task.combine->getAttrs());
  mapping.map(task.combine->getResult(0), both->getResult(0));
  builder.clone(*task.store, mapping);
  root.erase();
}
