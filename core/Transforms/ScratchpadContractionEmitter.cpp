//===- ScratchpadContractionEmitter.cpp - A contraction on cores with engines ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Positions are affine expressions over the indices entered so far. Two rings
/// run through all tiles of a core: steps of k, and slices of finished tiles.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/ScratchpadContractionEmitter.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/IterationSpace.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {
namespace {

/// An array that the tail reads or writes, by slices of rows through a ring of two.
struct TailBuffer {
  Access access; // over the dimensions of the contraction
  Type element;
  bool rows = true, cols = true; // it differs between rows, between columns
  Value buffer;
};

class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, const ContractionTask &task, const ScratchpadContractionPlan &plan,
          const CoreHierarchy &cores)
      : task(task), c(task.contraction), p(plan), unit(*plan.unit), cores(cores), space(builder, loc) {}
  void emit();

private:
  using Body = function_ref<SmallVector<Value>()>;
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, space.builder.getContext()); }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, space.builder.getContext()); }
  OpBuilder &builder() { return space.builder; }
  AffineMap elements(ArrayRef<AffineExpr> results) { return AffineMap::get(2, 0, results, builder().getContext()); }

  Value alloc(ArrayRef<int64_t> shape, Type element, const Memory &memory);
  Value below(AffineExpr position, AffineExpr end);
  SmallVector<Value> onlyIf(Value condition, ValueRange otherwise, Body body);
  void enterTile(AffineExpr tile);
  void core(AffineExpr number, int64_t working);
  SmallVector<Value> steps(AffineExpr count, ValueRange tokens);
  SmallVector<Value> stageCopies(AffineExpr position);
  Value stageCopy(const ContractionOperand &operand, Value buffer, bool isA, AffineExpr stage);
  Value multiply(AffineExpr tile, AffineExpr step);
  SmallVector<Value> tailCopies(AffineExpr tile, AffineExpr slice);
  Value tailCopy(const TailBuffer &tail, AffineExpr slot, AffineExpr slice, bool in);
  SmallVector<Value> tailSlice(AffineExpr tile, AffineExpr slice, AffineExpr count, ValueRange tokens);
  void finishRow(AffineExpr half, AffineExpr slot, AffineExpr slice, AffineExpr row, AffineExpr col);
  void clear(ArrayRef<AffineExpr> at);
  Value loadVector(Value buffer, Type element, ArrayRef<AffineExpr> at, bool cols);

  const ContractionTask &task;
  const Contraction &c;
  const ScratchpadContractionPlan &p;
  const MatrixUnit &unit;
  const CoreHierarchy &cores;
  IterationSpace space;
  SmallVector<TailBuffer> loads, stores;
  Value stageA, stageB, sums;
  AffineExpr number, stride; // of the core; of its tiles
  AffineExpr tilesM, tilesN, kBlocks, stepCount;
};

/// The arrays of the tail in the order in which emitEpilogue asks for them.
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

} // namespace

TailShape tailShapeOf(const ContractionTask &task) {
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
      int64_t bytes = std::max<int64_t>(1, each.element.getIntOrFloatBitWidth() / 8);
      bool constant = !differs(each.access, c.m) && !differs(each.access, c.n);
      TileOrder order = constant || stepsByOne(each.access, c.n) ? TileOrder::Rows
                        : stepsByOne(each.access, c.m)           ? TileOrder::Columns
                                                                 : TileOrder::Scattered;
      to->push_back({bytes, differs(each.access, c.m), differs(each.access, c.n), order,
                     pitchBitsOf(each.access, c.nest, bytes)});
    }
  for (const EpilogueStep &step : task.epilogue)
    for (Operation &op : step.nest.body->without_terminator())
      shape.operations += !isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>();
  return shape;
}

//===-- Structure ---------------------------------------------------------===//

namespace {

void Emitter::emit() {
  for (AffineForOp loop : c.nest.loops)
    space.addDimension(loop);
  tilesM = space.extent(p.mDim).ceilDiv(p.tileM);
  tilesN = space.extent(p.nDim).ceilDiv(p.tileN);
  kBlocks = space.extent(p.kDim).ceilDiv(p.tileK);
  stepCount = kBlocks;
  for (unsigned d : p.otherK)
    stepCount = stepCount * space.extent(d);
  if (!isa<AffineConstantExpr>(stepCount)) { // a sum over nothing is one step of zeros
    Value one = arith::ConstantIndexOp::create(builder(), space.loc, 1);
    stepCount = space.define(arith::MaxSIOp::create(builder(), space.loc, space.value(stepCount), one));
  }
  AffineExpr tiles = tilesM * tilesN;
  for (unsigned d : p.outer)
    tiles = tiles * space.extent(d);
  auto known = dyn_cast<AffineConstantExpr>(tiles);
  int64_t working = known ? std::min(cores.cores, std::max<int64_t>(1, known.getValue())) : cores.cores;
  collectTail(task, loads, stores);
  for (TailBuffer &tail : llvm::concat<TailBuffer>(loads, stores)) {
    tail.rows = tail.access.dims().test(p.mDim);
    tail.cols = tail.access.dims().test(p.nDim);
  }
  space.parallel({constant(working)}, cores.level, [&](ArrayRef<AffineExpr> index) {
    number = index.front();
    stride = constant(working);
    AffineExpr own = known && known.getValue() % working == 0 ? constant(known.getValue() / working)
                                                              : (tiles - number).ceilDiv(working);
    if (known)
      return core(own, working);
    onlyIf(below(constant(0), own), {}, [&]() -> SmallVector<Value> {
      core(own, working);
      return {};
    });
  });
}

Value Emitter::alloc(ArrayRef<int64_t> shape, Type element, const Memory &memory) {
  auto type = MemRefType::get(shape, element, AffineMap(), builder().getStringAttr(memory.name));
  return tile::AllocOp::create(builder(), space.loc, type, ValueRange(), tile::ArrangementAttr());
}

Value Emitter::below(AffineExpr position, AffineExpr end) {
  return arith::CmpIOp::create(builder(), space.loc, arith::CmpIPredicate::slt, space.value(position),
                               space.value(end));
}

SmallVector<Value> Emitter::onlyIf(Value condition, ValueRange otherwise, Body body) {
  auto choice = scf::IfOp::create(builder(), space.loc, otherwise.getTypes(), condition, !otherwise.empty());
  OpBuilder::InsertionGuard guard(builder());
  if (otherwise.empty()) {
    builder().setInsertionPointToStart(choice.thenBlock());
    body();
    return {};
  }
  builder().setInsertionPointToStart(choice.thenBlock());
  SmallVector<Value> results = body();
  scf::YieldOp::create(builder(), space.loc, results);
  builder().setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder(), space.loc, otherwise);
  return SmallVector<Value>(choice.getResults());
}

/// Sets the position to the first element of the core's tile `tile`.
void Emitter::enterTile(AffineExpr tile) {
  AffineExpr rest = number + tile * stride;
  space.at[p.nDim] = rest % tilesN * p.tileN;
  rest = rest.floorDiv(tilesN);
  space.at[p.mDim] = (p.outer.empty() ? rest : rest % tilesM) * p.tileM;
  if (!p.outer.empty())
    rest = rest.floorDiv(tilesM);
  for (unsigned i = p.outer.size(); i-- > 0;) {
    space.at[p.outer[i]] = i == 0 ? rest : rest % space.extent(p.outer[i]);
    if (i > 0)
      rest = rest.floorDiv(space.extent(p.outer[i]));
  }
}

/// The program of one core for its `count` tiles.
void Emitter::core(AffineExpr count, int64_t working) {
  const Memory &sumMemory = unit.c.residence == Residence::Accumulator ? *cores.accumulator : *cores.scratchpad;
  stageA = alloc({p.stages, p.tileM, p.tileK}, c.a.element, *cores.scratchpad);
  stageB = alloc({p.stages, p.tileK, p.tileN}, c.b.element, *cores.scratchpad);
  sums = alloc({2, p.tileM, p.tileN}, c.accumulator, sumMemory);
  if (unit.init != UnitInit::ZeroFlag)
    space.loop(constant(0), constant(2), [&](AffineExpr half) {
      space.loop(constant(0), constant(p.tileM), [&](AffineExpr row) {
        space.loop(constant(0), constant(p.tileN / p.width),
                   [&](AffineExpr col) { clear({half, row, col * p.width}); });
      });
    });
  for (TailBuffer &tail : llvm::concat<TailBuffer>(loads, stores))
    tail.buffer =
        alloc({2, tail.rows ? p.tileM / p.slices : 1, tail.cols ? p.tileN : 1}, tail.element, *cores.scratchpad);

  // Tokens: copies of the steps ahead, the unit's last work, loads of the next slice, stores of the last two.
  SmallVector<Value> tokens;
  auto none = [&]() -> Value { return tile::DoneOp::create(builder(), space.loc); };
  for (int64_t ahead = 0; ahead < p.stages - 1; ++ahead) {
    auto all = dyn_cast<AffineConstantExpr>(stepCount);
    if (ahead == 0 || (all && ahead < all.getValue()))
      llvm::append_range(tokens, stageCopies(constant(ahead)));
    else
      llvm::append_range(tokens, onlyIf(below(constant(ahead), count * stepCount), {none(), none()},
                                        [&] { return stageCopies(constant(ahead)); }));
  }
  tokens.push_back(none());
  llvm::append_range(tokens, tailCopies(constant(0), constant(0)));
  for (size_t i = 0; i < 2 * stores.size(); ++i)
    tokens.push_back(none());

  tokens = steps(count, tokens);
  size_t ring = 2 * (p.stages - 1);
  tile::WaitOp::create(builder(), space.loc, ArrayRef(tokens).take_front(ring + 1));
  SmallVector<Value> tail(ArrayRef(tokens).drop_front(ring + 1));
  AffineExpr last = count - 1;
  tail = space.reduce(constant(0), constant(p.slices), tail,
                      [&](AffineExpr slice, ValueRange args) { return tailSlice(last, slice, count, args); });
  tile::WaitOp::create(builder(), space.loc, tail);
}

/// All tiles, and all steps of k of each.
SmallVector<Value> Emitter::steps(AffineExpr count, ValueRange tokens) {
  size_t ring = 2 * (p.stages - 1);
  return space.reduce(constant(0), count, tokens, [&](AffineExpr tile, ValueRange outside) {
    return space.reduce(constant(0), stepCount, outside, [&](AffineExpr step, ValueRange args) {
      AffineExpr position = tile * stepCount + step, later = position + (p.stages - 1);
      tile::WaitOp::create(builder(), space.loc, args.take_front(2));
      Value work = multiply(tile, step);
      tile::WaitOp::create(builder(), space.loc, args[ring]);
      SmallVector<Value> next(args.take_front(ring).drop_front(2));
      llvm::append_range(
          next, onlyIf(below(later, count * stepCount), args.take_front(2), [&] { return stageCopies(later); }));
      next.push_back(work);
      // A slice of the tile before.
      ValueRange tail = args.drop_front(ring + 1);
      Value finished =
          arith::AndIOp::create(builder(), space.loc, below(constant(0), tile), below(step, constant(p.slices)));
      llvm::append_range(next, onlyIf(finished, tail, [&] { return tailSlice(tile - 1, step, count, tail); }));
      return next;
    });
  });
}

//===-- Steps of k --------------------------------------------------------===//

/// Starts the copies of both operands for the step at `position` of the core's sequence.
SmallVector<Value> Emitter::stageCopies(AffineExpr position) {
  enterTile(position.floorDiv(stepCount));
  AffineExpr step = position % stepCount;
  space.at[p.kDim] = (p.otherK.empty() ? step : step % kBlocks) * p.tileK;
  if (!p.otherK.empty())
    step = step.floorDiv(kBlocks);
  for (unsigned i = p.otherK.size(); i-- > 0;) {
    space.at[p.otherK[i]] = i == 0 ? step : step % space.extent(p.otherK[i]);
    if (i > 0)
      step = step.floorDiv(space.extent(p.otherK[i]));
  }
  AffineExpr stage = position % p.stages;
  Value a = stageCopy(c.a, stageA, true, stage);
  return {a, stageCopy(c.b, stageB, false, stage)};
}

/// One dimension of a copy: `size` elements of a tile that has `tile`.
struct Span {
  unsigned dim;
  int64_t size, tile;
};

/// Extents from the current position to the end of the array; null where all tiles are whole.
std::pair<AffineMap, SmallVector<Value>> validFrom(IterationSpace &space, ArrayRef<Span> spans) {
  SmallVector<AffineExpr> left;
  bool whole = true;
  for (const Span &span : spans) {
    auto extent = dyn_cast<AffineConstantExpr>(space.extent(span.dim));
    bool divides = extent && extent.getValue() % span.tile == 0;
    whole &= divides;
    left.push_back(divides ? getAffineConstantExpr(span.size, space.builder.getContext())
                           : space.extent(span.dim) - space.at[span.dim]);
  }
  return whole ? std::pair<AffineMap, SmallVector<Value>>() : space.map(left);
}

Value Emitter::stageCopy(const ContractionOperand &operand, Value buffer, bool isA, AffineExpr stage) {
  std::pair<unsigned, int64_t> rows(isA ? p.mDim : p.kDim, isA ? p.tileM : p.tileK),
      cols(isA ? p.kDim : p.nDim, isA ? p.tileK : p.tileN);
  auto [map, operands] = space.address(operand.access);
  auto [target, targetOperands] = space.map({stage, constant(0), constant(0)});
  SmallVector<AffineExpr> from;
  for (AffineExpr result : operand.access.map.getResults())
    from.push_back(dim(0) * *linearCoefficient(result, rows.first) + dim(1) * *linearCoefficient(result, cols.first));
  auto [valid, validOperands] =
      validFrom(space, {Span{rows.first, rows.second, rows.second}, Span{cols.first, cols.second, cols.second}});
  return tile::CopyOp::create(builder(), space.loc, operand.access.memref, map, operands, elements(from), buffer,
                              target, targetOperands, elements({constant(0), dim(0), dim(1)}),
                              {rows.second, cols.second}, valid, validOperands);
}

Value Emitter::multiply(AffineExpr tile, AffineExpr step) {
  Value zero = arith::ConstantIndexOp::create(builder(), space.loc, 0);
  Value stage = space.value((tile * stepCount + step) % p.stages), half = space.value(tile % 2);
  // Without a flag C holds zeros: the core clears what it has read.
  Value more =
      unit.init == UnitInit::ZeroFlag
          ? arith::CmpIOp::create(builder(), space.loc, arith::CmpIPredicate::ne, space.value(step), zero).getResult()
          : arith::ConstantIntOp::create(builder(), space.loc, 1, 1).getResult();
  return tile::MultiplyOp::create(
      builder(), space.loc, tile::TokenType::get(builder().getContext()), stageA, ValueRange{stage, zero, zero}, stageB,
      ValueRange{stage, zero, zero}, sums, ValueRange{half, zero, zero}, more,
      builder().getDenseI64ArrayAttr({p.tileM, p.tileN, p.tileK}), builder().getStringAttr(unit.name));
}

//===-- Finished tiles ----------------------------------------------------===//

/// Copies one slice of an array of the tail; the position is that of the tile.
Value Emitter::tailCopy(const TailBuffer &tail, AffineExpr slot, AffineExpr slice, bool in) {
  int64_t rows = p.tileM / p.slices;
  AffineExpr top = space.at[p.mDim];
  space.at[p.mDim] = top + slice * rows;
  auto [map, operands] = space.address(tail.access);
  auto [place, placeOperands] = space.map({slot, constant(0), constant(0)});
  SmallVector<AffineExpr> outside;
  for (AffineExpr result : tail.access.map.getResults())
    outside.push_back(dim(0) * *linearCoefficient(result, p.mDim) + dim(1) * *linearCoefficient(result, p.nDim));
  auto [valid, validOperands] = validFrom(space, {Span{p.mDim, rows, p.tileM}, Span{p.nDim, p.tileN, p.tileN}});
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

/// Starts the loads of what slice `slice` of tile `tile` reads.
SmallVector<Value> Emitter::tailCopies(AffineExpr tile, AffineExpr slice) {
  enterTile(tile);
  SmallVector<Value> tokens;
  for (const TailBuffer &load : loads)
    tokens.push_back(tailCopy(load, (tile * p.slices + slice) % 2, slice, true));
  return tokens;
}

/// Tokens: of the loads of this slice, of the stores of the slice before the last, of those of the last.
SmallVector<Value> Emitter::tailSlice(AffineExpr tile, AffineExpr slice, AffineExpr count, ValueRange tokens) {
  size_t in = loads.size(), out = stores.size();
  AffineExpr next = tile * p.slices + slice + 1, slot = (tile * p.slices + slice) % 2;
  tile::WaitOp::create(builder(), space.loc, tokens.take_front(in + out));
  space.loop(constant(0), constant(p.tileM / p.slices), [&](AffineExpr row) {
    space.loop(constant(0), constant(p.tileN / p.width),
               [&](AffineExpr col) { finishRow(tile % 2, slot, slice, row, col * p.width); });
  });
  SmallVector<Value> result(tokens.take_front(in)), stored;
  enterTile(tile);
  for (const TailBuffer &store : stores)
    stored.push_back(tailCopy(store, slot, slice, false));
  if (in)
    result = onlyIf(below(next.floorDiv(p.slices), count), result,
                    [&] { return tailCopies(next.floorDiv(p.slices), next % p.slices); });
  llvm::append_range(result, tokens.take_back(out));
  llvm::append_range(result, stored);
  return result;
}

/// Writes zeros to one vector of the accumulators.
void Emitter::clear(ArrayRef<AffineExpr> at) {
  auto [map, operands] = space.map(at);
  auto type = tile::FragmentType::get(1, p.width, c.accumulator, rowMajorLayout(1, p.width));
  Value zero = tile::ZeroOp::create(builder(), space.loc, type);
  tile::StoreOp::create(builder(), space.loc, zero, sums, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elements({constant(0), constant(0), dim(1)})), AffineMapAttr(), ValueRange(),
                        UnitAttr());
}

Value Emitter::loadVector(Value buffer, Type element, ArrayRef<AffineExpr> at, bool cols) {
  auto [map, operands] = space.map(at);
  auto type = tile::FragmentType::get(1, p.width, element, rowMajorLayout(1, p.width));
  return tile::LoadOp::create(builder(), space.loc, type, buffer, operands, AffineMapAttr::get(map),
                              AffineMapAttr::get(elements({constant(0), constant(0), cols ? dim(1) : constant(0)})),
                              AffineMapAttr(), ValueRange());
}

/// One vector of one row of a slice, from the accumulators to the buffers that leave.
void Emitter::finishRow(AffineExpr half, AffineExpr slot, AffineExpr slice, AffineExpr row, AffineExpr col) {
  auto fragment = [&](Type element) {
    return tile::FragmentType::get(1, p.width, element, rowMajorLayout(1, p.width));
  };
  auto load = [&](const Access &access, tile::FragmentType) {
    const TailBuffer &tail = *llvm::find_if(loads, [&](const TailBuffer &each) { return each.access.op == access.op; });
    return loadVector(tail.buffer, tail.element, {slot, tail.rows ? row : constant(0), tail.cols ? col : constant(0)},
                      tail.cols);
  };
  auto store = [&](Value value, const Access &access) {
    const TailBuffer &tail =
        *llvm::find_if(stores, [&](const TailBuffer &each) { return each.access.op == access.op; });
    auto [map, operands] = space.map({slot, row, col});
    tile::StoreOp::create(builder(), space.loc, value, tail.buffer, operands, AffineMapAttr::get(map),
                          AffineMapAttr::get(elements({constant(0), constant(0), dim(1)})), AffineMapAttr(),
                          ValueRange(), UnitAttr());
  };
  AffineExpr place[] = {half, slice * (p.tileM / p.slices) + row, col};
  Value sum = loadVector(sums, c.accumulator, place, true);
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

} // namespace

void emitScratchpadContraction(OpBuilder &builder, Location loc, const ContractionTask &task,
                               const ScratchpadContractionPlan &plan, const CoreHierarchy &cores) {
  Emitter(builder, loc, task, plan, cores).emit();
}

} // namespace tilewright
