//===- IterationSpace.cpp - Loops and positions while emitting ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Affine loops by lambda, with the bookkeeping of operands.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/IterationSpace.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

void demoteSymbols(AffineMap &map, SmallVectorImpl<Value> &operands) {
  MLIRContext *context = map.getContext();
  unsigned dims = map.getNumDims();
  SmallVector<Value> asDims(ArrayRef(operands).take_front(dims)), asSymbols;
  SmallVector<AffineExpr> replacements;
  for (Value value : ArrayRef(operands).drop_front(dims)) {
    SmallVector<Value> &list = isValidSymbol(value) ? asSymbols : asDims;
    replacements.push_back(&list == &asDims ? getAffineDimExpr(list.size(), context)
                                            : getAffineSymbolExpr(list.size(), context));
    list.push_back(value);
  }
  if (asDims.size() == dims)
    return;
  map = map.replaceDimsAndSymbols({}, replacements, asDims.size(), asSymbols.size());
  operands.assign(asDims);
  llvm::append_range(operands, asSymbols);
}

IterationSpace::IterationSpace(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc), allocationBlock(builder.getInsertionBlock()) {
  if (builder.getInsertionPoint() != allocationBlock->begin())
    allocateAfter = &*std::prev(builder.getInsertionPoint());
}

void IterationSpace::addDimensions(ArrayRef<AffineForOp> loops, const IRMapping &values) {
  MLIRContext *context = builder.getContext();
  for (AffineForOp loop : loops) {
    at.push_back(getAffineConstantExpr(0, context));
    if (loop.hasConstantUpperBound()) {
      extents.push_back(getAffineConstantExpr(std::max<int64_t>(loop.getConstantUpperBound(), 0), context));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : loop.getUpperBoundOperands())
      operands.push_back(values.lookupOrDefault(operand));
    AffineMap map = loop.getUpperBoundMap();
    canonicalizeMapAndOperands(&map, &operands);
    Value size;
    if (operands.size() == 1 && isa<AffineDimExpr, AffineSymbolExpr>(map.getResult(0))) {
      size = operands.front();
    } else {
      auto apply = AffineApplyOp::create(builder, loc, map, operands);
      allocateAfter = apply;
      size = apply;
    }
    auto found = llvm::find(sizes, size);
    extents.push_back(getAffineSymbolExpr(found - sizes.begin(), context));
    if (found == sizes.end())
      sizes.push_back(size);
  }
}

AffineExpr IterationSpace::define(Value value) {
  sizes.push_back(value);
  allocateAfter = value.getDefiningOp();
  return getAffineSymbolExpr(sizes.size() - 1, builder.getContext());
}

void IterationSpace::moveTo(AffineExpr position, unsigned inner, ArrayRef<unsigned> outer) {
  for (unsigned next : outer) {
    at[inner] = position % extents[inner];
    position = position.floorDiv(extents[inner]);
    inner = next;
  }
  at[inner] = position;
}

void IterationSpace::moveTo(AffineExpr position, ArrayRef<unsigned> dims) {
  SmallVector<unsigned> longer; // than one iteration, innermost first
  for (unsigned dim : llvm::reverse(dims)) {
    at[dim] = getAffineConstantExpr(0, builder.getContext());
    if (extents[dim] != getAffineConstantExpr(1, builder.getContext()))
      longer.push_back(dim);
  }
  if (!longer.empty())
    moveTo(position, longer.front(), ArrayRef(longer).drop_front());
}

SmallVector<Value> IterationSpace::operands() const {
  SmallVector<Value> all(ivs);
  llvm::append_range(all, sizes);
  return all;
}

std::pair<AffineMap, SmallVector<Value>> IterationSpace::map(ArrayRef<AffineExpr> results) const {
  AffineMap map = AffineMap::get(ivs.size(), sizes.size(), results, builder.getContext());
  SmallVector<Value> values = operands();
  demoteSymbols(map, values);
  map = simplifyAffineMap(map);
  canonicalizeMapAndOperands(&map, &values);
  return {map, values};
}

std::pair<AffineMap, SmallVector<Value>> IterationSpace::address(const Access &access, unsigned result,
                                                                 AffineExpr offset) const {
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < access.symbols.size(); ++i)
    symbols.push_back(getAffineSymbolExpr(sizes.size() + i, builder.getContext()));
  AffineMap map = access.map.replaceDimsAndSymbols(at, symbols, ivs.size(), sizes.size() + access.symbols.size());
  if (offset) {
    SmallVector<AffineExpr> results(map.getResults());
    results[result] = results[result] + offset;
    map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, builder.getContext());
  }
  SmallVector<Value> values = operands();
  llvm::append_range(values, access.symbols);
  demoteSymbols(map, values);
  map = simplifyAffineMap(map);
  canonicalizeMapAndOperands(&map, &values);
  return {map, values};
}

Value IterationSpace::value(AffineExpr expr) {
  auto [map, values] = this->map(expr);
  return AffineApplyOp::create(builder, loc, map, values);
}

AffineMapAttr IterationSpace::validAttr(AffineExpr rows, AffineExpr cols, SmallVectorImpl<Value> &operands) {
  auto [map, values] = this->map({rows, cols});
  operands.assign(values);
  return AffineMapAttr::get(map);
}

void IterationSpace::loop(AffineExpr begin, ArrayRef<AffineExpr> ends, function_ref<void(AffineExpr)> body) {
  if (ends.size() == 1)
    if (auto trips = dyn_cast<AffineConstantExpr>(ends.front() - begin)) {
      if (trips.getValue() <= 0)
        return;
      if (trips.getValue() == 1)
        return body(begin);
    }
  auto [lower, lowerOperands] = map({begin});
  auto [upper, upperOperands] = map(ends);
  auto loop = AffineForOp::create(builder, loc, lowerOperands, lower, upperOperands, upper, 1);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  // Dimensions of expressions are positions in `ivs`: symbols keep their places.
  ivs.push_back(loop.getInductionVar());
  body(getAffineDimExpr(ivs.size() - 1, builder.getContext()));
  ivs.pop_back();
}

SmallVector<Value> IterationSpace::reduce(AffineExpr begin, AffineExpr end, ValueRange init,
                                          function_ref<SmallVector<Value>(AffineExpr, ValueRange)> body) {
  if (auto trips = dyn_cast<AffineConstantExpr>(end - begin)) {
    if (trips.getValue() <= 0)
      return SmallVector<Value>(init);
    if (trips.getValue() == 1)
      return body(begin, init);
  }
  auto [lower, lowerOperands] = map({begin});
  auto [upper, upperOperands] = map({end});
  auto loop = AffineForOp::create(builder, loc, lowerOperands, lower, upperOperands, upper, 1, init);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ivs.push_back(loop.getInductionVar());
  SmallVector<Value> results = body(getAffineDimExpr(ivs.size() - 1, builder.getContext()), loop.getRegionIterArgs());
  ivs.pop_back();
  if (!init.empty()) // a loop that carries nothing has its end already
    AffineYieldOp::create(builder, loc, results);
  return SmallVector<Value>(loop.getResults());
}

void IterationSpace::staged(AffineExpr end, int64_t stages, function_ref<void(AffineExpr)> body) {
  auto [upper, operands] = map({end});
  auto loop = AffineForOp::create(builder, loc, {}, builder.getConstantAffineMap(0), operands, upper, 1);
  loop->setAttr(tile::stagesAttr, builder.getI64IntegerAttr(stages));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ivs.push_back(loop.getInductionVar());
  body(getAffineDimExpr(ivs.size() - 1, builder.getContext()));
  ivs.pop_back();
}

SmallVector<Value> IterationSpace::grouped(int64_t count, int64_t copiesAfter, ValueRange init,
                                           function_ref<SmallVector<Value>(AffineExpr, ValueRange)> body) {
  assert(count > 1 && "a loop of one group is none");
  AffineExpr zero = builder.getAffineConstantExpr(0), end = builder.getAffineConstantExpr(count);
  SmallVector<Value> results = reduce(zero, end, init, body);
  std::prev(builder.getInsertionPoint())->setAttr(groupsAttr, builder.getI64IntegerAttr(copiesAfter));
  return results;
}

void IterationSpace::parallel(int64_t count, function_ref<void(AffineExpr)> body) {
  auto loop =
      AffineParallelOp::create(builder, loc, TypeRange(), ArrayRef<arith::AtomicRMWKind>(), ArrayRef<int64_t>{count});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  llvm::SaveAndRestore block(allocationBlock, loop.getBody());
  llvm::SaveAndRestore after(allocateAfter, static_cast<Operation *>(nullptr));
  ivs.push_back(loop.getIVs().front());
  body(getAffineDimExpr(ivs.size() - 1, builder.getContext()));
  ivs.pop_back();
}

SmallVector<AffineExpr> IterationSpace::overParallel(AffineExpr expr) const {
  SmallVector<AffineExpr> values = {expr};
  for (auto [position, variable] : llvm::enumerate(ivs)) {
    Value iv = variable;
    auto loop = dyn_cast<AffineParallelOp>(iv.getParentBlock()->getParentOp());
    if (!loop || !expr.isFunctionOfDim(position))
      continue;
    AffineExpr dim = getAffineDimExpr(position, builder.getContext());
    SmallVector<AffineExpr> next;
    for (AffineExpr value : values)
      for (int64_t i = 0, count = loop.getConstantRanges()->front(); i < count; ++i)
        next.push_back(simplifyAffineExpr(value.replace(dim, getAffineConstantExpr(i, builder.getContext())),
                                          ivs.size(), sizes.size()));
    values = std::move(next);
  }
  if (llvm::all_of(values, llvm::IsaPred<AffineConstantExpr>)) {
    auto largest = llvm::max_element(values, [](AffineExpr a, AffineExpr b) {
      return cast<AffineConstantExpr>(a).getValue() < cast<AffineConstantExpr>(b).getValue();
    });
    return {*largest};
  }
  llvm::SmallSetVector<AffineExpr, 8> distinct(values.begin(), values.end());
  return distinct.takeVector();
}

void IterationSpace::parallel(ArrayRef<AffineExpr> bounds, StringRef level,
                              function_ref<void(ArrayRef<AffineExpr>)> body) {
  auto [upper, upperOperands] = map(bounds);
  tile::ParallelOp::create(builder, loc, upper, upperOperands, level,
                           [&](OpBuilder &inner, Location, ValueRange indices) {
                             OpBuilder::InsertionGuard guard(builder);
                             builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
                             SmallVector<AffineExpr> positions;
                             for (Value index : indices) {
                               ivs.push_back(index);
                               positions.push_back(getAffineDimExpr(ivs.size() - 1, builder.getContext()));
                             }
                             body(positions);
                             ivs.pop_back_n(indices.size());
                           });
}

Value IterationSpace::allocate(ArrayRef<AffineExpr> shape, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  if (allocateAfter)
    builder.setInsertionPointAfter(allocateAfter);
  else
    builder.setInsertionPointToStart(allocationBlock);
  SmallVector<int64_t> sizes;
  SmallVector<Value> dynamic;
  for (AffineExpr expr : shape) {
    SmallVector<AffineExpr> candidates = overParallel(expr);
    auto constant = dyn_cast<AffineConstantExpr>(candidates.front());
    sizes.push_back(constant && candidates.size() == 1 ? constant.getValue() : ShapedType::kDynamic);
    if (candidates.size() > 1) {
      auto [map, values] = this->map(candidates);
      dynamic.push_back(AffineMaxOp::create(builder, loc, map, values));
    } else if (!constant) {
      dynamic.push_back(value(candidates.front()));
    }
  }
  auto alloc = memref::AllocOp::create(builder, loc, MemRefType::get(sizes, element), dynamic,
                                       builder.getI64IntegerAttr(bufferAlignment));
  allocateAfter = alloc;
  return alloc;
}

} // namespace tilewright
