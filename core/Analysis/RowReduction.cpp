//===- RowReduction.cpp - Nests that combine rows ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a row reduction must not do, one refusal after the other.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/RowReduction.h"
#include "core/Analysis/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

static bool isPlain(Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8; }

std::unique_ptr<RowReduction> tilewright::recognizeRows(AffineForOp root, bool mayReassociate, bool mayCount) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->stores.empty())
    return nullptr;
  auto found = std::make_unique<RowReduction>(); // sums point into it
  RowReduction &rows = *found;
  rows.nest = std::move(*nest);
  rows.lane = rows.nest.depth() - 1;
  for (const Access &store : rows.nest.stores) {
    const Access *own = nullptr;
    for (const Access &load : rows.nest.loads)
      if (load.memref == store.memref) {
        if (own || load.map != store.map || !llvm::equal(load.symbols, store.symbols))
          return nullptr;
        own = &load;
      }
    for (const Access &other : rows.nest.stores)
      if (&other != &store && other.memref == store.memref)
        return nullptr;
    Operation *combine = cast<AffineStoreOp>(store.op).getValueToStore().getDefiningOp();
    if (!own || !own->op->hasOneUse() || !combine || *own->op->user_begin() != combine || !combine->hasOneUse() ||
        !combine->hasTrait<OpTrait::IsCommutative>() || combine->getNumOperands() != 2 ||
        !isPlain(combine->getResult(0).getType()))
      return nullptr;
    std::optional<TypedAttr> neutral = arith::getNeutralElement(combine);
    bool isSum = isa<arith::AddFOp, arith::MulFOp>(combine);
    if (!neutral || (isSum && !mayReassociate))
      return nullptr;
    rows.sums.push_back({own, &store, combine, *neutral});
  }
  // Outside the dimensions of the results, inside what is reduced.
  for (unsigned dim = 0; dim < rows.nest.depth(); ++dim) {
    if (dim != rows.lane && rows.nest.tripCounts[dim] == 1 && rows.inner.empty()) { // one row
      rows.outer.push_back(dim);
      continue;
    }
    bool inAll = llvm::all_of(rows.sums, [&](const RowSum &sum) { return sum.store->dims().test(dim); });
    bool inAny = llvm::any_of(rows.sums, [&](const RowSum &sum) { return sum.store->dims().test(dim); });
    if (inAll != inAny || (inAny && rows.inner.size() > 0) || (inAny && dim == rows.lane))
      return nullptr;
    if (inAny)
      rows.outer.push_back(dim);
    else if (dim != rows.lane)
      rows.inner.push_back(dim);
  }
  // Each iteration of the outer loops has elements of its own.
  for (const RowSum &sum : rows.sums) {
    llvm::SmallBitVector seen(rows.nest.depth());
    for (AffineExpr result : sum.store->map.getResults()) {
      if (isa<AffineConstantExpr>(result))
        continue;
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (!dim || seen.test(dim.getPosition()))
        return nullptr;
      seen.set(dim.getPosition());
    }
  }
  bool contiguous = false;
  for (const Access &load : rows.nest.loads) {
    std::optional<int64_t> stride = load.stride(rows.lane);
    if (!stride || (*stride != 0 && *stride != 1) || !isPlain(load.op->getResult(0).getType()))
      return nullptr;
    contiguous |= *stride == 1;
  }
  Value laneIndex = rows.nest.loops[rows.lane].getInductionVar();
  for (Operation &op : rows.nest.body->without_terminator()) {
    if (isa<AffineLoadOp, AffineStoreOp>(op))
      continue;
    if (!isElementwise(&op) || (!mayCount && llvm::is_contained(op.getOperands(), laneIndex)))
      return nullptr;
    for (unsigned dim : rows.inner)
      if (llvm::is_contained(op.getOperands(), rows.nest.loops[dim].getInductionVar()))
        return nullptr;
  }
  if (!contiguous)
    return nullptr;
  return found;
}
