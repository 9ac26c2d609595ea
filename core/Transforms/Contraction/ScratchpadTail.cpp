//===- ScratchpadTail.cpp - Finished tiles on cores with engines ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a finished tile goes through on its way out, slice by slice of its rows:
/// what the epilogue reads is copied in, vectors are computed, results copied out.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Transforms/Contraction/ScratchpadContractionNest.h"
#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

void collectTail(const ContractionTask &task, SmallVectorImpl<TailBuffer> &loads, SmallVectorImpl<TailBuffer> &stores) {
  const Contraction &c = task.contraction;
  auto add = [&](SmallVectorImpl<TailBuffer> &list, const Access &access, Type element) {
    list.push_back({access, element, true, true, Value()});
  };
  if (!task.zeroInit)
    add(loads, c.c, c.accumulator);
  if (task.keepC)
    add(stores, c.c, c.accumulator);
  SmallVector<Value> written{c.c.memref};
  for (const EpilogueStep &step : task.epilogue) {
    for (const Access &access : step.nest.loads)
      if (!llvm::is_contained(written, access.memref))
        add(loads, onContraction(access, step, c), access.op->getResult(0).getType());
    for (auto [access, keep] : llvm::zip(step.nest.stores, step.keepStore)) {
      written.push_back(access.memref);
      if (keep)
        add(stores, onContraction(access, step, c), cast<AffineStoreOp>(access.op).getValueToStore().getType());
    }
  }
}

/// The ops of the chain that ends in `op` and becomes one instruction of the vector unit (use-vector-ops); empty: none.
static llvm::SmallPtrSet<Operation *, 8> requantisationOf(arith::FPToSIOp op, const TargetDescription &chip) {
  llvm::SmallPtrSet<Operation *, 8> ops;
  Requantisation chain;
  if (!findRequantisation(op, chip, chain))
    return ops;
  SmallVector<Operation *> open{op};
  while (!open.empty()) {
    Operation *each = open.pop_back_val();
    if (!ops.insert(each).second)
      continue;
    for (Value operand : each->getOperands())
      if (Operation *from = operand.getDefiningOp();
          from && !llvm::is_contained({chain.from, chain.scale, chain.zeroPoint}, operand) &&
          from->getBlock() == op->getBlock())
        open.push_back(from);
  }
  return ops;
}

TailShape tailShapeOf(const ContractionTask &task, const CoreHierarchy &cores, const TargetDescription &chip) {
  SmallVector<TailBuffer> loads, stores;
  collectTail(task, loads, stores);
  const Contraction &c = task.contraction;
  auto differs = [](const Access &access, ArrayRef<unsigned> dims) {
    return llvm::any_of(dims, [&](unsigned dim) { return access.dims().test(dim); });
  };
  TailShape shape;
  auto stepsByOne = [](const Access &access, ArrayRef<unsigned> dims) {
    return llvm::any_of(dims, [&](unsigned dim) { return access.stride(dim) == 1; });
  };
  for (auto [from, to] : {std::pair(&loads, &shape.loads), {&stores, &shape.stores}})
    for (const TailBuffer &each : *from) {
      int64_t bytes = elementBytes(each.element);
      bool constant = !differs(each.access, c.m) && !differs(each.access, c.n);
      TileOrder order = constant || stepsByOne(each.access, c.n) ? TileOrder::Rows
                        : stepsByOne(each.access, c.m)           ? TileOrder::Columns
                                                                 : TileOrder::Scattered;
      to->push_back({bytes, differs(each.access, c.m), differs(each.access, c.n), order,
                     pitchBitsOf(each.access, c.nest, bytes), isNear(each.access.memref, cores)});
    }
  for (const EpilogueStep &step : task.epilogue) {
    llvm::SmallPtrSet<Operation *, 8> inOne;
    for (arith::FPToSIOp op : step.nest.body->getOps<arith::FPToSIOp>())
      for (Operation *each : requantisationOf(op, chip))
        shape.operations += inOne.insert(each).second && each == op; // one instruction for all
    for (Operation &op : step.nest.body->without_terminator())
      if (!isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() && !inOne.contains(&op))
        shape.operations += coreInstructionsOf(&op);
  }
  return shape;
}

//===-- Slices ------------------------------------------------------------===//

/// Copies one slice of an array of the epilogue; the position is that of the tile.
Value ScratchpadContractionNest::tailCopy(const TailBuffer &tail, AffineExpr slot, AffineExpr slice, bool in) {
  int64_t rows = p.tileM / p.slices;
  AffineExpr top = space.at[p.mDim];
  space.at[p.mDim] = top + slice * rows;
  auto [map, operands] = space.address(tail.access);
  auto [place, placeOperands] = space.map({slot, constant(0), constant(0)});
  SmallVector<AffineExpr> outside;
  for (AffineExpr result : tail.access.map.getResults())
    outside.push_back(dim(0) * *linearCoefficient(result, p.mDim) + dim(1) * *linearCoefficient(result, p.nDim));
  auto [valid, validOperands] = validFrom({Span{p.mDim, rows, p.tileM}, Span{p.nDim, p.tileN, p.tileN}});
  SmallVector<int64_t> shape{tail.rows ? rows : 1, tail.cols ? p.tileN : 1};
  if (valid && (!tail.rows || !tail.cols)) {
    AffineExpr one = constant(1);
    valid = AffineMap::get(valid.getNumDims(), valid.getNumSymbols(),
                           {tail.rows ? valid.getResult(0) : one, tail.cols ? valid.getResult(1) : one},
                           builder().getContext());
  }
  AffineMap there = elements(outside), here = elements({constant(0), dim(0), dim(1)});
  space.at[p.mDim] = top;
  if (in)
    return tile::CopyOp::create(builder(), space.loc, tail.access.memref, map, operands, there, tail.buffer, place,
                                placeOperands, here, shape, valid, validOperands);
  auto copy = tile::CopyOp::create(builder(), space.loc, tail.buffer, place, placeOperands, here, tail.access.memref,
                                   map, operands, there, shape, valid, validOperands);
  copy.setClipped(bool(valid));
  return copy;
}

/// One slice of a finished tile: what it reads comes in, vectors are computed, results go out.
void ScratchpadContractionNest::tailSlice(AffineExpr tile, AffineExpr slice) {
  AffineExpr slot = (tile * p.slices + slice) % 2;
  enterTile(tile);
  auto copies = [&](ArrayRef<TailBuffer> list, bool in) {
    SmallVector<Value> tokens;
    for (const TailBuffer &tail : list)
      if (tail.buffer)
        tokens.push_back(tailCopy(tail, slot, slice, in));
    wait(tokens);
  };
  copies(loads, true);
  space.loop(constant(0), constant(p.tileM / p.slices), [&](AffineExpr row) {
    space.loop(constant(0), constant(p.tileN / p.width),
               [&](AffineExpr col) { finishRow(tile % 2, slot, slice, row, col * p.width); });
  });
  copies(stores, false);
}

/// Writes zeros to one vector of the accumulators.
void ScratchpadContractionNest::clear(ArrayRef<AffineExpr> at) {
  auto [map, operands] = space.map(at);
  auto type = tile::FragmentType::get(1, p.width, c.accumulator, rowMajorLayout(1, p.width));
  Value zero = tile::ZeroOp::create(builder(), space.loc, type);
  tile::StoreOp::create(builder(), space.loc, zero, sums, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elements({constant(0), constant(0), dim(1)})), AffineMapAttr(), ValueRange(),
                        UnitAttr());
}

/// Of `tail` for the vector at `col` of row `row` of the slice that begins at row `top` of the current tile.
ScratchpadContractionNest::Place ScratchpadContractionNest::placeOf(const TailBuffer &tail, AffineExpr slot,
                                                                    AffineExpr top, AffineExpr row, AffineExpr col) {
  Place place{tail.buffer, {}, elements({constant(0), constant(0), tail.cols ? dim(1) : constant(0)}), {}};
  if (tail.buffer) {
    std::tie(place.map, place.operands) =
        space.map({slot, tail.rows ? row : constant(0), tail.cols ? col : constant(0)});
    return place;
  }
  AffineExpr m = space.at[p.mDim], n = space.at[p.nDim];
  space.at[p.mDim] = m + top + row;
  space.at[p.nDim] = n + col;
  std::tie(place.map, place.operands) = space.address(tail.access);
  space.at[p.mDim] = m;
  space.at[p.nDim] = n;
  SmallVector<AffineExpr> along;
  for (AffineExpr result : tail.access.map.getResults())
    along.push_back(dim(1) * *linearCoefficient(result, p.nDim));
  place.memref = tail.access.memref;
  place.elements = elements(along);
  return place;
}

Value ScratchpadContractionNest::loadVector(const Place &place, Type element) {
  auto type = tile::FragmentType::get(1, p.width, element, rowMajorLayout(1, p.width));
  return tile::LoadOp::create(builder(), space.loc, type, place.memref, place.operands, AffineMapAttr::get(place.map),
                              AffineMapAttr::get(place.elements), AffineMapAttr(), ValueRange());
}

/// One vector of one row of a slice of the current tile, from the accumulators to the buffers that leave.
void ScratchpadContractionNest::finishRow(AffineExpr half, AffineExpr slot, AffineExpr slice, AffineExpr row,
                                          AffineExpr col) {
  auto fragment = [&](Type element) {
    return tile::FragmentType::get(1, p.width, element, rowMajorLayout(1, p.width));
  };
  auto tailOf = [&](ArrayRef<TailBuffer> list, const Access &access) -> const TailBuffer & {
    return *llvm::find_if(list, [&](const TailBuffer &each) { return each.access.op == access.op; });
  };
  AffineExpr top = slice * (p.tileM / p.slices);
  auto load = [&](const Access &access, tile::FragmentType) {
    const TailBuffer &tail = tailOf(loads, access);
    return loadVector(placeOf(tail, slot, top, row, col), tail.element);
  };
  auto store = [&](Value value, const Access &access) {
    Place place = placeOf(tailOf(stores, access), slot, top, row, col);
    tile::StoreOp::create(builder(), space.loc, value, place.memref, place.operands, AffineMapAttr::get(place.map),
                          AffineMapAttr::get(place.elements), AffineMapAttr(), ValueRange(), UnitAttr());
  };
  AffineExpr place[] = {half, top + row, col};
  auto [map, operands] = space.map(place);
  Value sum = loadVector({sums, map, elements({constant(0), constant(0), dim(1)}), operands}, c.accumulator);
  if (unit.init != UnitInit::ZeroFlag)
    clear(place);
  if (!task.zeroInit) {
    Value before = load(c.c, fragment(c.accumulator));
    auto add = tile::MapOp::create(builder(), space.loc, TypeRange{sum.getType()}, ValueRange{sum, before},
                                   [&](OpBuilder &inner, Location loc, ValueRange values) {
                                     Value both =
                                         isa<FloatType>(c.accumulator)
                                             ? arith::AddFOp::create(inner, loc, values[0], values[1]).getResult()
                                             : arith::AddIOp::create(inner, loc, values[0], values[1]).getResult();
                                     tile::YieldOp::create(inner, loc, both);
                                   });
    sum = add.getResult(0);
  }
  if (task.keepC)
    store(sum, c.c);
  if (!task.epilogue.empty())
    emitEpilogue(builder(), space.loc, task, sum, fragment, load, store);
}

} // namespace tilewright
