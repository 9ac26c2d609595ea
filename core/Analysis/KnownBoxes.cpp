//===- KnownBoxes.cpp - Boxes of tiles, found once ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What makes two questions of a tile the same: all that its integer sets are made of, by maps and types of one
/// context, and the places of values among those that the sets know.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/KnownBoxes.h"
#include "core/Analysis/AffineAccess.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

thread_local KnownBoxes *KnownBoxes::current = nullptr;

namespace {
/// Writes down what a relation depends on.
class Description {
public:
  explicit Description(ArrayRef<Value> outer) : outer(outer) {}

  void outerValue(Value value);
  void access(Operation *op, Block &block);
  llvm::FoldingSetNodeID id;

private:
  void number(int64_t value) { id.AddInteger(static_cast<long long>(value)); }
  void map(AffineMap map, ValueRange operands, ArrayRef<Value> inner);
  void loop(AffineForOp loop, ArrayRef<Value> inner);
  void value(Value value, ArrayRef<Value> inner);

  ArrayRef<Value> outer;
};
} // namespace

void Description::value(Value value, ArrayRef<Value> inner) {
  enum { Inner, Outer, Constant, Unknown };
  if (auto in = llvm::find(inner, value); in != inner.end()) {
    number(Inner);
    return number(in - inner.begin());
  }
  if (auto apply = value.getDefiningOp<AffineApplyOp>())
    map(apply.getAffineMap(), apply.getMapOperands(), inner);
  if (std::optional<int64_t> known = getConstantIntValue(value)) {
    number(Constant);
    return number(*known);
  }
  auto out = llvm::find(outer, value);
  number(out == outer.end() ? Unknown : Outer);
  number(out - outer.begin());
}

void Description::map(AffineMap map, ValueRange operands, ArrayRef<Value> inner) {
  id.AddPointer(map.getAsOpaquePointer());
  for (Value operand : operands)
    value(operand, inner);
}

void Description::loop(AffineForOp loop, ArrayRef<Value> inner) {
  map(loop.getLowerBoundMap(), loop.getLowerBoundOperands(), inner);
  map(loop.getUpperBoundMap(), loop.getUpperBoundOperands(), inner);
  number(loop.getStepAsInt());
}

/// What bounds a value around the block.
void Description::outerValue(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  id.AddPointer(argument ? nullptr : value.getDefiningOp()->getName().getAsOpaquePointer());
  if (AffineForOp owner = getForInductionVarOwner(value))
    return loop(owner, {});
  auto level = argument ? dyn_cast<tile::ParallelOp>(argument.getOwner()->getParentOp()) : tile::ParallelOp();
  if (level) {
    number(argument.getArgNumber());
    return map(level.getUpperBounds(), level.getBoundOperands(), {});
  }
  if (auto smallest = value.getDefiningOp<AffineMinOp>())
    map(smallest.getAffineMap(), smallest.getOperands(), {});
}

/// The indices of an access below `block`, and the loops between them.
void Description::access(Operation *op, Block &block) {
  SmallVector<AffineForOp> loops;
  SmallVector<Value> inner;
  bool isGuarded = op->getParentOfType<AffineIfOp>() != nullptr;
  for (Operation *parent = op->getParentOp(); parent && parent != block.getParentOp(); parent = parent->getParentOp())
    if (auto loop = dyn_cast<AffineForOp>(parent)) {
      loops.push_back(loop);
      inner.push_back(loop.getInductionVar());
    }
  number(isGuarded);
  number(loops.size());
  for (AffineForOp each : loops)
    loop(each, inner);
  if (auto load = dyn_cast<AffineLoadOp>(op))
    map(load.getAffineMap(), load.getMapOperands(), inner);
  else
    map(cast<AffineStoreOp>(op).getAffineMap(), cast<AffineStoreOp>(op).getMapOperands(), inner);
}

TouchedBox::TouchedBox(TileSets &sets, Value memref, ArrayRef<Operation *> roots)
    : sets(sets), memref(memref), roots(roots) {
  KnownBoxes *known = KnownBoxes::current;
  if (!known || !sets.tilesInThought().empty()) {
    own.isAffine = bool(relation());
    return;
  }
  Description description(sets.outer());
  description.id.AddPointer(memref.getType().getAsOpaquePointer());
  for (Value value : sets.outer())
    description.outerValue(value);
  for (Operation *root : roots)
    root->walk([&](Operation *op) {
      if (isa<AffineLoadOp, AffineStoreOp>(op) && arrayOf(op) == memref)
        description.access(op, sets.around());
    });
  auto [found, isNew] = known->all.try_emplace(description.id);
  answers = &found->second;
  if (isNew)
    answers->isAffine = bool(relation());
}

const TileRelation &TouchedBox::relation() {
  if (!computed)
    computed = sets.touched(memref, roots);
  return computed;
}

std::optional<TileBox> TouchedBox::box(std::string &reason, bool hasConstantSize) {
  auto [found, isNew] = answers->boxes.try_emplace(hasConstantSize);
  auto &[box, why] = found->second;
  if (isNew)
    box = sets.box(relation(), cast<MemRefType>(memref.getType()), why, hasConstantSize);
  if (!box)
    reason = why;
  return box;
}

bool TouchedBox::isAtMost(AffineExpr expr, int64_t limit) {
  auto [found, isNew] = answers->atMost.try_emplace({expr.getAsOpaquePointer(), limit}, false);
  if (isNew)
    found->second = sets.isAtMost(relation(), expr, limit);
  return found->second;
}
