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

std::optional<CombinedElement> tilewright::combinedElement(const Nest &nest, const Access &store) {
  const Access *load = nullptr;
  for (const Access &each : nest.loads) {
    if (each.memref != store.memref)
      continue;
    if (load || each.map != store.map || each.symbols != store.symbols)
      return std::nullopt;
    load = &each;
  }
  Operation *combine = cast<AffineStoreOp>(store.op).getValueToStore().getDefiningOp();
  if (!load || !combine || combine->getNumOperands() != 2 || !combine->hasOneUse() || !load->op->hasOneUse() ||
      *load->op->user_begin() != combine)
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combine);
  if (!neutral)
    return std::nullopt;
  return CombinedElement{load->op, store.op, combine, *neutral};
}

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

namespace {
/// The parts of one element, and the loops that index it.
struct Parts {
  Value array;
  SmallVector<unsigned> kept;
  SmallVector<int64_t> shape;
};
} // namespace

/// An array of parts, which are nothing yet.
static Parts makeParts(OpBuilder &builder, const NestToSplit &task, const CombinedElement &element, int64_t parts) {
  const Nest &nest = task.nest;
  const Location loc = element.store->getLoc();
  const Access &store = *llvm::find_if(nest.stores, [&](const Access &each) { return each.op == element.store; });
  Parts result{{}, llvm::to_vector_of<unsigned>(store.dims().set_bits()), {parts}};
  for (unsigned dim : result.kept)
    result.shape.push_back(*nest.tripCounts[dim]);
  const Type type = element.combine->getResult(0).getType();
  result.array = memref::AllocOp::create(builder, loc, MemRefType::get(result.shape, type));
  OpBuilder::InsertionGuard guard(builder);
  Value neutral = arith::ConstantOp::create(builder, loc, element.neutral);
  AffineStoreOp::create(builder, loc, neutral, result.array, elementLoops(builder, loc, result.shape));
  return result;
}

/// The nest with the loop over parts around it, which works on them.
static void writeParts(OpBuilder &builder, const NestToSplit &task, ArrayRef<Parts> all, int64_t parts) {
  const Nest &nest = task.nest;
  const Location loc = AffineForOp(nest.root()).getLoc();
  SmallVector<int64_t> trips{parts};
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    trips.push_back(*nest.tripCounts[dim] / (dim == task.dim ? parts : 1));
  SmallVector<Value> numbers = elementLoops(builder, loc, trips);
  IRMapping mapping;
  AffineExpr number = builder.getAffineDimExpr(0) * trips[1 + task.dim] + builder.getAffineDimExpr(1);
  Value whole = AffineApplyOp::create(builder, loc, AffineMap::get(2, 0, number),
                                      ValueRange{numbers.front(), numbers[1 + task.dim]});
  for (auto [dim, loop] : llvm::enumerate(nest.loops))
    mapping.map(AffineForOp(loop).getInductionVar(), dim == task.dim ? whole : numbers[1 + dim]);
  auto at = [&](const Parts &of) {
    SmallVector<Value> result{numbers.front()};
    for (unsigned dim : of.kept)
      result.push_back(numbers[1 + dim]);
    return result;
  };
  auto write = [&](Operation &op) {
    for (auto [element, of] : llvm::zip_equal(task.elements, all)) {
      if (&op == element.load)
        return mapping.map(op.getResult(0), AffineLoadOp::create(builder, loc, of.array, at(of)).getResult());
      if (&op == element.store) {
        AffineStoreOp::create(builder, loc, mapping.lookup(element.combine->getResult(0)), of.array, at(of));
        return;
      }
    }
    cloneAt(builder, op, mapping);
  };
  for (Operation &op : nest.body->without_terminator())
    write(op);
  if (whole.use_empty())
    whole.getDefiningOp()->erase();
}

/// Combines an element with its parts.
static void combineParts(OpBuilder &builder, const NestToSplit &task, const CombinedElement &element, Parts parts) {
  OpBuilder::InsertionGuard guard(builder);
  const Location loc = element.store->getLoc();
  if (task.partsInside)
    std::rotate(parts.shape.begin(), std::next(parts.shape.begin()), parts.shape.end());
  SmallVector<Value> at = elementLoops(builder, loc, parts.shape);
  if (task.partsInside)
    std::rotate(at.begin(), std::prev(at.end()), at.end());
  IRMapping mapping;
  for (auto [dim, number] : llvm::zip_equal(parts.kept, ArrayRef(at).drop_front()))
    mapping.map(AffineForOp(task.nest.loops[dim]).getInductionVar(), number);
  Value held = builder.clone(*element.load, mapping)->getResult(0),
        one = AffineLoadOp::create(builder, loc, parts.array, at);
  Operation *both = builder.create(loc, element.combine->getName().getIdentifier(), ValueRange{held, one},
                                   element.combine->getResultTypes(), element.combine->getAttrs());
  mapping.map(element.combine->getResult(0), both->getResult(0));
  builder.clone(*element.store, mapping);
}

void tilewright::computeInParts(const NestToSplit &task, int64_t parts, Operation *before) {
  AffineForOp root = task.nest.root();
  OpBuilder builder(before);
  SmallVector<Parts> all;
  for (const CombinedElement &element : task.elements)
    all.push_back(makeParts(builder, task, element, parts));
  {
    OpBuilder::InsertionGuard guard(builder);
    writeParts(builder, task, all, parts);
  }
  builder.setInsertionPoint(root);
  for (auto [element, of] : llvm::zip_equal(task.elements, all))
    combineParts(builder, task, element, of);
  root.erase();
}
