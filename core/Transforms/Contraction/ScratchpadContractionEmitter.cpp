//===- ScratchpadContractionEmitter.cpp - A contraction on cores with engines ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tiles of a core and their steps of k.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Contraction/ScratchpadContractionNest.h"
#include "core/Transforms/Utils/SizeVersions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

//===-- Structure ---------------------------------------------------------===//

void ScratchpadContractionNest::emit() {
  space.addDimensions(c.nest.loops);
  tilesM = extent(p.mDim).ceilDiv(p.tileM);
  tilesN = extent(p.nDim).ceilDiv(p.tileN);
  kBlocks = extent(p.kDim).ceilDiv(p.tileK);
  stepCount = kBlocks;
  for (unsigned d : p.otherK)
    stepCount = stepCount * space.extent(d);
  AffineExpr tiles = tilesM * tilesN;
  for (unsigned d : p.outer)
    tiles = tiles * space.extent(d);
  auto known = dyn_cast<AffineConstantExpr>(tiles);
  bool isMember = bool(Nest(c.nest).root()->getParentOfType<tile::ParallelOp>());
  int64_t most = isMember ? 1 : cores.cores;
  int64_t working = known ? std::min(most, std::max<int64_t>(1, known.getValue())) : most;
  auto staged = [](const Access &access) { return StagedArray{access, elementOf(access.memref)}; };
  const EpilogueAccesses tail = accessesOfTail(task);
  loads = llvm::map_to_vector(tail.loads, staged);
  stores = llvm::map_to_vector(tail.stores, staged);
  auto member = [&](AffineExpr index) {
    number = index;
    stride = constant(working);
    atLeastOne(stepCount); // a sum over nothing is one step of zeros
    if (!isMember) {
      // A core without tiles divides by none of these: so quotients that are the same for all steps may stand before.
      atLeastOne(tilesM);
      atLeastOne(tilesN);
    }
    AffineExpr own = known && known.getValue() % working == 0 ? constant(known.getValue() / working)
                                                              : (tiles - number).ceilDiv(working);
    core(own);
  };
  if (isMember)
    return member(constant(0));
  space.parallel({constant(working)}, cores.level, [&](ArrayRef<AffineExpr> index) { member(index.front()); });
}

AffineExpr ScratchpadContractionNest::extent(unsigned dim) const {
  AffineExpr all = space.extent(dim);
  return isWhole && !isa<AffineConstantExpr>(all) ? all.floorDiv(p.tileAlong(dim)) * p.tileAlong(dim) : all;
}

void ScratchpadContractionNest::atLeastOne(AffineExpr &count) {
  if (isa<AffineConstantExpr>(count))
    return;
  Value one = arith::ConstantIndexOp::create(builder(), space.loc, 1);
  count = space.define(arith::MaxSIOp::create(builder(), space.loc, space.value(count), one));
}

void ScratchpadContractionNest::wait(ValueRange tokens) {
  if (!tokens.empty())
    tile::WaitOp::create(builder(), space.loc, tokens);
}

/// Sets the position to the first element of the core's tile `tile`.
void ScratchpadContractionNest::enterTile(AffineExpr tile) {
  AffineExpr rest = number + tile * stride;
  space.at[p.nDim] = rest % tilesN * p.tileN;
  rest = rest.floorDiv(tilesN);
  space.at[p.mDim] = (p.outer.empty() ? rest : rest % tilesM) * p.tileM;
  if (!p.outer.empty())
    rest = rest.floorDiv(tilesM);
  space.moveTo(rest, p.outer);
}

/// Sets the position along k to the step's first element.
void ScratchpadContractionNest::enterStep(AffineExpr step) {
  space.at[p.kDim] = (p.otherK.empty() ? step : step % kBlocks) * p.tileK;
  if (!p.otherK.empty())
    step = step.floorDiv(kBlocks);
  space.moveTo(step, p.otherK);
}

/// The program of one core for its `count` tiles.
void ScratchpadContractionNest::core(AffineExpr count) {
  const Memory &sumMemory = unit.c.residence == Residence::Accumulator ? *cores.accumulator : *cores.scratchpad;
  a = {c.a.access, c.a.element, p.mDim, p.kDim, p.tileM, p.tileK, p.stages, p.pitchA, {}};
  b = {c.b.access, c.b.element, p.kDim, p.nDim, p.tileK, p.tileN, p.stages, p.pitchB, {}};
  if (p.copyA != CopyWay::None)
    allocate(a);
  if (p.copyB != CopyWay::None)
    allocate(b);
  sums = allocateTile(builder(), space.loc, {2, p.tileM, p.tileN}, c.accumulator, sumMemory.name);
  if (unit.init != UnitInit::ZeroFlag)
    for (int64_t half : {0, 1})
      space.loop(constant(0), constant(p.tileM), [&](AffineExpr row) {
        space.loop(constant(0), constant(p.tileN), [&](AffineExpr col) { clear({constant(half), row, col}); });
      });
  for (StagedArray &tail : llvm::concat<StagedArray>(loads, stores)) {
    tail.rowDim = p.mDim;
    tail.colDim = p.nDim;
    tail.rows = tail.access.dims().test(p.mDim) ? p.tileM / p.slices : 1;
    tail.cols = tail.access.dims().test(p.nDim) ? p.tileN : 1;
    if (!isInPlace(isNear(tail.access.memref, cores), p))
      allocate(tail);
  }
  space.staged(count, 2, [&](AffineExpr tile) {
    space.staged(stepCount, p.stages, [&](AffineExpr each) { step(tile, each); });
    space.staged(constant(p.slices), 2, [&](AffineExpr slice) { finishSlice(tile, slice); });
  });
}

//===-- Steps of k --------------------------------------------------------===//

void ScratchpadContractionNest::allocate(StagedArray &tile) {
  tile.buffer = allocateTile(builder(), space.loc, {tile.stages, tile.rows, tile.pitch ? tile.pitch : tile.cols},
                             tile.element, cores.scratchpad->name);
}

AffineExpr ScratchpadContractionNest::left(unsigned dim) {
  AffineExpr all = extent(dim);
  return all.isMultipleOf(p.tileAlong(dim)) ? AffineExpr() : all - space.at[dim];
}

AffineExpr ScratchpadContractionNest::blocksLeft(unsigned dim) {
  AffineExpr all = extent(dim);
  auto known = dyn_cast<AffineConstantExpr>(all);
  return all.isMultipleOf(p.tileAlong(dim)) ||
                 p.hasAllBlocks(dim, known ? std::optional(known.getValue()) : std::nullopt)
             ? AffineExpr()
             : (all - space.at[dim]).ceilDiv(p.unitAlong(dim));
}

Value ScratchpadContractionNest::copy(const StagedArray &tile, AffineExpr stage, bool in) {
  TileAxes axes;
  if (tile.access.dims().test(tile.rowDim)) {
    axes.row = tile.rowDim;
    axes.validRows = left(tile.rowDim);
  }
  if (tile.access.dims().test(tile.colDim)) {
    axes.col = tile.colDim;
    axes.validCols = left(tile.colDim);
  }
  auto copy = copyTile(space, tile.access, axes, {tile.rows, tile.cols}, tile.buffer, {stage, constant(0), constant(0)},
                       elements({constant(0), dim(0), dim(1)}), in);
  if (in && copy.getValidMap()) {
    const bool isTail = tile.rowDim == p.mDim && tile.colDim == p.nDim;
    const int64_t rows = isTail ? blockOfRows(unit) : p.unitAlong(tile.rowDim);
    copy.setPadTo(ArrayRef{std::min(tile.rows, rows), std::min(tile.cols, p.unitAlong(tile.colDim))});
  }
  return copy;
}

/// Indices of a place in an operand's tile: of a stage, or at the current position of the array.
SmallVector<Value> ScratchpadContractionNest::indicesOf(const StagedArray &operand, AffineExpr stage, AffineExpr row,
                                                        AffineExpr col) {
  if (operand.buffer)
    return {space.value(stage), space.value(row), space.value(col)};
  const SmallVector<AffineExpr> here = space.at;
  space.at[operand.rowDim] = space.at[operand.rowDim] + row;
  space.at[operand.colDim] = space.at[operand.colDim] + col;
  auto [map, operands] = space.address(operand.access);
  auto indices = expandAffineMap(builder(), space.loc, map, operands);
  space.at = here;
  return SmallVector<Value>(indices->begin(), indices->end());
}

/// Copies the operands of one step of k, and lets the unit multiply them.
void ScratchpadContractionNest::step(AffineExpr tile, AffineExpr step) {
  enterTile(tile);
  enterStep(step);
  AffineExpr stage = (tile * stepCount + step) % p.stages;
  SmallVector<Value> copies;
  for (const StagedArray *operand : {&a, &b})
    if (operand->buffer)
      copies.push_back(copy(*operand, stage, /*in=*/true));
  wait(copies);
  if (p.groups() == 1)
    return wait(product(tile, step, stage, constant(0)));
  // The token of the last group is that of the step: products run in order.
  Value none = tile::DoneOp::create(builder(), space.loc);
  wait(space.grouped(p.groups(), p.copiesAfter(), none, [&](AffineExpr group, ValueRange) {
    return SmallVector<Value>{product(tile, step, stage, group)};
  }));
}

/// The product of one group of a step's commands.
Value ScratchpadContractionNest::product(AffineExpr tile, AffineExpr step, AffineExpr stage, AffineExpr group) {
  auto memrefOf = [](const StagedArray &operand) { return operand.buffer ? operand.buffer : operand.access.memref; };
  // Groups follow each other as commands do: the stationary operand changes least often.
  const bool keepsA = unit.stationary == 'A';
  AffineExpr m = constant(0), n = m, k = m;
  auto next = [&](AffineExpr &at, int64_t size, int64_t ofGroup, bool isOutermost) {
    at = (isOutermost ? group : group % (size / ofGroup)) * ofGroup;
    group = group.floorDiv(size / ofGroup);
  };
  const bool isFlat = p.groupK == p.tileK;
  if (keepsA)
    next(n, p.tileN, p.groupN, isFlat && p.groupM == p.tileM);
  next(m, p.tileM, p.groupM, isFlat && (keepsA || p.groupN == p.tileN));
  if (!keepsA)
    next(n, p.tileN, p.groupN, isFlat);
  if (!isFlat)
    k = group * p.groupK;
  SmallVector<Value> inA = indicesOf(a, stage, m, k), inB = indicesOf(b, stage, k, n);
  Value zero = arith::ConstantIndexOp::create(builder(), space.loc, 0);
  SmallVector<Value> inC{space.value(tile % 2), space.value(m), space.value(n)}, valid;
  if (llvm::any_of(ArrayRef{p.mDim, p.nDim, p.kDim}, [&](unsigned dim) { return bool(blocksLeft(dim)); }))
    for (auto [dim, all, first] : {std::tuple(p.mDim, p.groupM, m), {p.nDim, p.groupN, n}, {p.kDim, p.groupK, k}}) {
      AffineExpr rest = blocksLeft(dim);
      // The same for all groups: loops leave it to the step.
      Value exists = space.value(rest ? rest * p.unitAlong(dim) : constant(all));
      if (rest && dim == p.kDim && !isa<AffineConstantExpr>(extent(dim))) // a sum over nothing has a zero
        exists = arith::MaxSIOp::create(builder(), space.loc, exists,
                                        arith::ConstantIndexOp::create(builder(), space.loc, 1));
      if (rest && p.groups() > 1)
        exists = arith::SubIOp::create(builder(), space.loc, exists, space.value(first));
      valid.push_back(exists);
    }
  // Without a flag C holds zeros: the core clears what it has read.
  Value more = unit.init == UnitInit::ZeroFlag
                   ? arith::CmpIOp::create(builder(), space.loc, arith::CmpIPredicate::ne,
                                           space.value(isFlat ? step : step * p.tileK + k), zero)
                         .getResult()
                   : arith::ConstantIntOp::create(builder(), space.loc, 1, 1).getResult();
  return tile::MultiplyOp::create(
      builder(), space.loc, tile::TokenType::get(builder().getContext()), memrefOf(a), inA, memrefOf(b), inB, sums, inC,
      more, valid, builder().getDenseI64ArrayAttr({p.groupM, p.groupN, p.groupK}), builder().getStringAttr(unit.name));
}

CoreShare shareOf(const Contraction &contraction, const CoreHierarchy &cores) {
  AffineForOp root = Nest(contraction.nest).root();
  if (!root->getParentOfType<tile::ParallelOp>())
    return {cores.cores, cores.scratchpad->bytes, /*hasVersions=*/true};
  CoreShare share{1, cores.scratchpad->bytes, /*hasVersions=*/false};
  for (Operation *op = root; !isa<tile::ParallelOp>(op); op = op->getParentOp())
    for (auto buffer : op->getBlock()->getOps<tile::AllocOp>())
      if (isNear(buffer.getMemref(), cores)) {
        auto type = cast<MemRefType>(buffer.getMemref().getType());
        share.scratchpadBytes -=
            llvm::alignTo(type.getNumElements() * elementBytes(type.getElementType()), scratchpadAlignment(cores));
      }
  return share;
}

/// Writes the nest of one plan; where sizes are dynamic and the host program may choose, one for whole tiles and one
/// that tests its edges.
static void emitPlan(OpBuilder &builder, Location loc, const ContractionTask &task,
                     const ScratchpadContractionPlan &plan, const CoreHierarchy &cores) {
  const Nest &nest = task.contraction.nest;
  SmallVector<std::pair<unsigned, int64_t>> tiles;
  for (unsigned dim : {plan.mDim, plan.nDim, plan.kDim})
    if (!nest.tripCounts[dim])
      tiles.push_back({dim, plan.tileAlong(dim)});
  const unsigned mayBeWhole = !tiles.empty() && shareOf(task.contraction, cores).hasVersions;
  emitBranches(
      builder, loc, mayBeWhole, [&](unsigned) { return areWhole(builder, loc, nest, tiles); },
      [&](unsigned version) {
        ScratchpadContractionNest(builder, loc, task, plan, cores, /*isWhole=*/version < mayBeWhole).emit();
      });
}

void emitScratchpadContraction(OpBuilder &builder, Location loc, const ContractionTask &task,
                               const ScratchpadContractionPlan &plan, const CoreHierarchy &cores) {
  emitVersions(builder, loc, task.contraction.nest, plan.tests, 1 + plan.others.size(), [&](unsigned version) {
    emitPlan(builder, loc, task, version == 0 ? plan : plan.others[version - 1], cores);
  });
}

} // namespace tilewright
