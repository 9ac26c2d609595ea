//===- ContractionEmitter.cpp - The tiled nest of a contraction -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are affine expressions over the loops entered so far (dimensions)
// and the dynamic sizes (symbols); an access is its map applied to them. Sizes
// are split into sections of constant tile shape, so that no guard is needed
// inside: static sizes into even register rows and one narrower last panel,
// dynamic sizes into a main part and single rows or vectors.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/ContractionEmitter.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/PackEmitter.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {
namespace {

/// A run of equal panels or row tiles: `count` of them from position `first` on, each `width` unit steps wide;
/// the last unit step of a panel may be partial.
struct Section {
  AffineExpr first, count;
  int64_t width = 1;
  AffineExpr valid;                 // elements of the last unit step that exist; null: all
  const MatrixUnit *tail = nullptr; // unit of the last unit step, if it is another
};

/// A block of the reduction.
struct KBlock {
  AffineExpr begin, length;
  bool first = true, last = true;
};

class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, const ContractionTask &task)
      : task(task), c(task.contraction), p(task.plan), unit(*task.plan.unit), space(builder, loc),
        vectors(p.vectorOperand(c)), scalars(p.scalarOperand(c)) {}

  void emit();

private:
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, space.builder.getContext()); }
  OpBuilder &builder() { return space.builder; }

  void splitDimensions();
  void parallel(function_ref<void()> body);
  void outerLoops(ArrayRef<unsigned> dims, function_ref<void()> body);
  void reduceBlocks();
  void block(const KBlock &k);
  void panels(const Section &panelSection, AffineExpr begin, ArrayRef<AffineExpr> ends, const KBlock &k);
  void compensateOffset(const Section &section, AffineExpr begin, ArrayRef<AffineExpr> ends, const KBlock &k);
  Value elementwise(ValueRange inputs, function_ref<Value(ValueRange)> body);
  SmallVector<PackedBuffer, 2> packAllRows(const KBlock &k);
  std::pair<AffineExpr, AffineExpr> rowRange(const Section &section);
  void packedRows(const Section &rowSection, const KBlock &k, AffineExpr first, AffineExpr end);
  void registerTile(const Section &rowSection, AffineExpr row, const Section &panelSection, AffineExpr panel,
                    const KBlock &k);
  SmallVector<Value> reduce(unsigned which, ValueRange accumulators, const KBlock &k);
  SmallVector<Value> reduceMain(ValueRange accumulators, const KBlock &k);
  SmallVector<Value> step(ValueRange accumulators, AffineExpr group, const KBlock &k);
  void prefetchNextPanel(AffineExpr iteration, int64_t iterations, const KBlock &k);
  void prefetchEpilogue();
  void prefetchTile(const Access &access);
  void finish(ArrayRef<Value> accumulators);

  /// The unit that computes vector `v` of the register tile.
  const MatrixUnit &unitOf(int64_t v) const { return tileTail && v == tileVectors - 1 ? *tileTail : unit; }
  /// Tiles of a section, 0 if not known.
  static int64_t countOf(const Section &section) {
    auto count = dyn_cast<AffineConstantExpr>(section.count);
    return count ? count.getValue() : 0;
  }
  tile::FragmentType fragmentType(const UnitOperand &operand, Type element);
  Value load(const Access &access, tile::FragmentType type, unsigned rowDim, unsigned colDim, AffineExpr validCols);
  void store(Value value, const Access &access, unsigned rowDim, unsigned colDim, AffineExpr validCols);
  AffineMap elementsMap(const Access &access, unsigned rowDim, unsigned colDim);

  const ContractionTask &task;
  const Contraction &c;
  const ContractionPlan &p;
  const MatrixUnit &unit;
  IterationSpace space;
  const ContractionOperand &vectors, &scalars;
  Type vectorElement, scalarElement;
  SmallVector<unsigned> outerWithVectors, outerOther, otherK;
  SmallVector<Section> rowSections, panelSections;
  AffineExpr threadIndex;

  // The register tile that is being written.
  int64_t tileRows = 1, tileVectors = 1;
  AffineExpr tileRow, tileLane, tileValid;   // global positions
  const MatrixUnit *tileTail = nullptr;      // unit of the last vector
  AffineExpr localRow, localPanel;           // in the packed blocks
  AffineExpr tileIndex;                      // of the row section that prefetches, null in others
  int64_t tileCount = 0;                     // row tiles that share the prefetching of a panel
  PackedBuffer packedVectors, packedScalars; // empty if read in place
  SmallVector<PackedBuffer, 2> packedOnce;   // the scalars of the block of k, a buffer for each row section
  Value compensation;                        // [panel][lane] what an offset of the scalars adds, negated
};

constexpr unsigned noDim = ~0u;
constexpr int64_t cacheLineBytes = 64;

void Emitter::splitDimensions() {
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n)) {
    if ((p.rowDim && dim == *p.rowDim) || (p.laneDim && dim == *p.laneDim))
      continue;
    (vectors.access.dims().test(dim) ? outerWithVectors : outerOther).push_back(dim);
  }
  llvm::sort(outerWithVectors);
  llvm::sort(outerOther);
  for (unsigned dim : c.k)
    if (dim != p.kDim)
      otherK.push_back(dim);

  // Rows: static sizes are split evenly into tiles of `rows` and `rows - 1`, so that no tile is much smaller.
  int64_t step = unit.m;
  AffineExpr extent = p.rowDim ? space.extent(*p.rowDim) : constant(1);
  if (auto size = dyn_cast<AffineConstantExpr>(extent)) {
    int64_t steps = llvm::divideCeil(size.getValue(), step), tiles = llvm::divideCeil(steps, p.rows);
    int64_t width = tiles ? llvm::divideCeil(steps, tiles) : 1, wide = steps - tiles * (width - 1);
    rowSections.push_back({constant(0), constant(wide), width, nullptr});
    if (wide < tiles)
      rowSections.push_back({constant(wide * width * step), constant(tiles - wide), width - 1, nullptr});
  } else {
    AffineExpr full = extent.floorDiv(p.rows * step);
    rowSections.push_back({constant(0), full, p.rows, nullptr});
    if (p.rows > 1)
      rowSections.push_back({full * (p.rows * step), extent - full * (p.rows * step), 1, nullptr});
  }

  // Panels: full ones, then a narrower one with a partial last vector.
  int64_t lanes = unit.n;
  extent = p.laneDim ? space.extent(*p.laneDim) : constant(1);
  int64_t panel = p.vectors * lanes;
  AffineExpr full = extent.floorDiv(panel);
  panelSections.push_back({constant(0), full, p.vectors, nullptr});
  if (auto size = dyn_cast<AffineConstantExpr>(extent)) {
    int64_t rest = size.getValue() % panel;
    if (rest) {
      int64_t width = llvm::divideCeil(rest, lanes);
      AffineExpr valid = rest % lanes ? constant(rest % lanes) : AffineExpr();
      const MatrixUnit *tail = valid ? p.tailUnit : nullptr;
      if (tail && rest % lanes == tail->n)
        valid = nullptr;
      panelSections.push_back({full * panel, constant(1), width, valid, tail});
    }
  } else {
    AffineExpr single = (extent - full * panel).floorDiv(lanes);
    if (p.vectors > 1)
      panelSections.push_back({full * panel, single, 1, nullptr});
    AffineExpr rest = extent - extent.floorDiv(lanes) * lanes;
    panelSections.push_back({extent.floorDiv(lanes) * lanes, rest.ceilDiv(lanes), 1, rest});
  }
}

void Emitter::outerLoops(ArrayRef<unsigned> dims, function_ref<void()> body) {
  if (dims.empty())
    return body();
  AffineExpr begin = constant(0), end = space.extent(dims.front());
  if (threadIndex && p.split == ContractionPlan::Split::Outer && dims.data() == outerWithVectors.data()) {
    begin = (end * threadIndex).floorDiv(p.threads);
    end = (end * threadIndex + end).floorDiv(p.threads);
  }
  space.loop(begin, {end}, [&](AffineExpr iv) {
    space.at[dims.front()] = iv;
    outerLoops(dims.drop_front(), body);
  });
}

void Emitter::parallel(function_ref<void()> body) {
  if (p.split == ContractionPlan::Split::None || p.threads <= 1)
    return body();
  space.parallel(p.threads, [&](AffineExpr iv) {
    threadIndex = iv;
    body();
  });
  threadIndex = nullptr;
}

void Emitter::emit() {
  for (auto [dim, loop] : llvm::enumerate(c.nest.loops))
    space.addDimension(loop);
  vectorElement = elementType(unit.b.element, builder().getContext());
  scalarElement = elementType(unit.a.element, builder().getContext());
  splitDimensions();
  parallel([&] { outerLoops(outerWithVectors, [&] { reduceBlocks(); }); });
}

void Emitter::reduceBlocks() {
  AffineExpr total = space.extent(p.kDim);
  auto size = dyn_cast<AffineConstantExpr>(total);
  if (!size || p.kBlock == 0 || size.getValue() <= p.kBlock)
    return block({constant(0), total, true, true});
  int64_t blocks = llvm::divideCeil(size.getValue(), p.kBlock), lastLength = size.getValue() - (blocks - 1) * p.kBlock;
  AffineExpr length = constant(p.kBlock);
  block({constant(0), length, true, false});
  bool lastIsLikeOthers = lastLength == p.kBlock && task.epilogue.empty();
  space.loop(constant(1), {constant(lastIsLikeOthers ? blocks : blocks - 1)},
             [&](AffineExpr iv) { block({iv * p.kBlock, length, false, false}); });
  if (!lastIsLikeOthers)
    block({constant((blocks - 1) * p.kBlock), constant(lastLength), false, true});
}

/// The row tiles of this thread in the scalar operand's packed form, one buffer a section; empty buffers if it is read
/// in place.
SmallVector<PackedBuffer, 2> Emitter::packAllRows(const KBlock &k) {
  SmallVector<PackedBuffer, 2> packed(rowSections.size());
  if (p.packScalars)
    for (auto [section, buffer] : llvm::zip(rowSections, packed)) {
      auto [first, last] = rowRange(section);
      packedRows(section, k, first, last);
      buffer = packedScalars;
    }
  return packed;
}

/// Row tiles [first, last) of a section that are this thread's.
std::pair<AffineExpr, AffineExpr> Emitter::rowRange(const Section &section) {
  if (!threadIndex || p.split != ContractionPlan::Split::Rows)
    return {constant(0), section.count};
  return {(section.count * threadIndex).floorDiv(p.threads),
          (section.count * threadIndex + section.count).floorDiv(p.threads)};
}

void Emitter::block(const KBlock &k) {
  packedOnce.clear();
  if (p.packScalars && p.rowBlock == 0 && outerOther.empty())
    packedOnce = packAllRows(k);
  for (const Section &section : panelSections) {
    AffineExpr begin = constant(0), end = section.count;
    bool isMain = &section == &panelSections.front();
    if (threadIndex && p.split == ContractionPlan::Split::Panels) {
      if (isMain) {
        begin = (section.count * threadIndex).floorDiv(p.threads);
        end = (section.count * threadIndex + section.count).floorDiv(p.threads);
      } else { // the last thread takes what is narrower than a panel
        end = section.count * (threadIndex + 1).floorDiv(p.threads);
      }
    }
    int64_t size = p.laneBlock;
    if (size == 0 || !isMain) {
      panels(section, begin, {end}, k);
      continue;
    }
    space.loop(constant(0), {(end - begin).ceilDiv(size)}, [&](AffineExpr iv) {
      AffineExpr from = begin + iv * size;
      if (size == 1)
        panels(section, from, {from + 1}, k);
      else
        panels(section, from, {from + size, end}, k);
    });
  }
}

/// Panels from `begin` to the smallest of `ends`: packs them, then all rows against them.
void Emitter::panels(const Section &section, AffineExpr begin, ArrayRef<AffineExpr> ends, const KBlock &k) {
  packedVectors = {};
  if (p.packVectors) {
    PackRequest request;
    request.operand = &vectors;
    request.element = vectorElement;
    request.freeDim = p.laneDim.value_or(noDim);
    request.kDim = p.kDim;
    request.otherK = otherK;
    request.width = section.width * unit.n;
    request.vector = unit.n;
    request.group = unit.k;
    request.first = section.first;
    request.begin = begin;
    request.ends = llvm::to_vector(ends);
    request.kBegin = k.begin;
    request.kLength = k.length;
    request.valid = section.valid ? section.valid : section.tail ? constant(section.tail->n) : AffineExpr();
    packedVectors = packPanels(space, request);
  }
  if (p.offsetScalars)
    compensateOffset(section, begin, ends, k);

  auto forPanels = [&](function_ref<void(AffineExpr)> body) {
    space.loop(begin, ends, [&](AffineExpr panel) {
      localPanel = panel - begin;
      body(panel);
    });
  };
  outerLoops(outerOther, [&] {
    if (p.rowsOutside || p.rowBlock == 0) {
      SmallVector<PackedBuffer, 2> packed = packedOnce;
      if (packed.empty())
        packed = packAllRows(k);
      auto forRows = [&](function_ref<void(const Section &, AffineExpr)> body) {
        for (auto [section, buffer] : llvm::zip(rowSections, packed)) {
          packedScalars = buffer;
          auto [first, last] = rowRange(section);
          AffineExpr from = first;
          space.loop(first, {last}, [&](AffineExpr row) {
            localRow = row - from;
            body(section, row);
          });
        }
      };
      if (p.rowsOutside)
        forRows([&](const Section &rowSection, AffineExpr row) {
          forPanels([&](AffineExpr panel) { registerTile(rowSection, row, section, panel, k); });
        });
      else
        forPanels([&](AffineExpr panel) {
          forRows([&](const Section &rowSection, AffineExpr row) { registerTile(rowSection, row, section, panel, k); });
        });
      return;
    }
    for (const Section &rowSection : rowSections) {
      auto [from, to] = rowRange(rowSection);
      AffineExpr blocks = (to - from).ceilDiv(p.rowBlock);
      space.loop(constant(0), {blocks}, [&](AffineExpr iv) {
        AffineExpr begin = from + iv * p.rowBlock;
        SmallVector<AffineExpr> ends{begin + p.rowBlock, to};
        if (p.packScalars)
          packedRows(rowSection, k, begin, nullptr);
        forPanels([&](AffineExpr panel) {
          space.loop(begin, ends, [&](AffineExpr row) {
            localRow = row - begin;
            registerTile(rowSection, row, section, panel, k);
          });
        });
      });
    }
  });
}

/// One tile.map over fragments of one shape whose results have the shape of the first.
Value Emitter::elementwise(ValueRange inputs, function_ref<Value(ValueRange)> body) {
  OperationState state(space.loc, tile::MapOp::getOperationName());
  state.addOperands(inputs);
  state.addTypes(inputs.front().getType());
  Block *block = new Block;
  state.addRegion()->push_back(block);
  for (Value input : inputs)
    block->addArgument(cast<tile::FragmentType>(input.getType()).getElementType(), space.loc);
  Operation *map = builder().create(state);
  OpBuilder::InsertionGuard guard(builder());
  builder().setInsertionPointToEnd(block);
  tile::YieldOp::create(builder(), space.loc, body(block->getArguments()));
  return map->getResult(0);
}

/// sum (a + h) b = sum a b + h sum b: the unit itself computes h sum b from a constant scalar operand.
void Emitter::compensateOffset(const Section &section, AffineExpr begin, ArrayRef<AffineExpr> ends, const KBlock &k) {
  AffineExpr group = getAffineDimExpr(1, builder().getContext());
  Value half = space.allocate({constant(unit.k)}, scalarElement);
  Value value = arith::ConstantOp::create(
      builder(), space.loc,
      builder().getIntegerAttr(scalarElement, APInt::getSignedMinValue(scalarElement.getIntOrFloatBitWidth())));
  for (int64_t i = 0; i < unit.k; ++i)
    AffineStoreOp::create(builder(), space.loc, value, half, AffineMap::getConstantMap(i, builder().getContext()),
                          ValueRange());
  compensation = space.allocate({ends.front() - begin, constant(section.width * unit.n)}, c.accumulator);
  space.loop(begin, ends, [&](AffineExpr panel) {
    for (int64_t v = 0; v < section.width; ++v) {
      const MatrixUnit &used = section.tail && v == section.width - 1 ? *section.tail : unit;
      auto aType = fragmentType(used.a, scalarElement), bType = fragmentType(used.b, vectorElement);
      Value a = tile::LoadOp::create(builder(), space.loc, aType, half, ValueRange(),
                                     AffineMapAttr::get(AffineMap::getConstantMap(0, builder().getContext())),
                                     AffineMapAttr::get(AffineMap::get(2, 0, group)), AffineMapAttr(), ValueRange());
      std::function<SmallVector<Value>(unsigned, ValueRange)> sum = [&](unsigned which,
                                                                        ValueRange args) -> SmallVector<Value> {
        if (which < otherK.size())
          return space.reduce(constant(0), space.extent(otherK[which]), args, [&](AffineExpr iv, ValueRange inner) {
            space.at[otherK[which]] = iv;
            return sum(which + 1, inner);
          });
        return space.reduce(constant(0), k.length.ceilDiv(unit.k), args, [&](AffineExpr iv, ValueRange inner) {
          Value b = loadPacked(space, packedVectors, bType, panel - begin, iv, v * unit.n, /*freeIsColumn=*/true);
          Value result = tile::MmaOp::create(builder(), space.loc, inner[0].getType(), a, b, inner[0],
                                             builder().getStringAttr(used.name));
          return SmallVector<Value>{result};
        });
      };
      Value zero = tile::ZeroOp::create(builder(), space.loc, fragmentType(used.c, c.accumulator));
      Value negated = elementwise({zero, sum(0, zero).front()}, [&](ValueRange args) -> Value {
        return arith::SubIOp::create(builder(), space.loc, args[0], args[1]);
      });
      auto [map, operands] = space.map({panel - begin, constant(v * unit.n)});
      tile::StoreOp::create(builder(), space.loc, negated, compensation, operands, AffineMapAttr::get(map),
                            AffineMapAttr::get(AffineMap::get(2, 0, {constant(0), group}, builder().getContext())),
                            AffineMapAttr(), ValueRange(), UnitAttr());
    }
  });
}

/// Packs row tiles [first, end), or one block of `rowBlock` tiles if `end` is null, of the scalar operand.
void Emitter::packedRows(const Section &section, const KBlock &k, AffineExpr first, AffineExpr end) {
  PackRequest request;
  request.operand = &scalars;
  request.element = scalarElement;
  request.freeDim = p.rowDim.value_or(noDim);
  request.kDim = p.kDim;
  request.otherK = otherK;
  request.width = section.width * unit.m;
  request.vector = 0; // read as scalars: either order will do
  request.group = unit.k;
  request.first = section.first;
  request.begin = first;
  if (end)
    request.ends = {end};
  else
    request.ends = {first + p.rowBlock, section.count};
  request.capacity = end ? 0 : p.rowBlock;
  request.offset = p.offsetScalars;
  request.kBegin = k.begin;
  request.kLength = k.length;
  packedScalars = packPanels(space, request);
}

tile::FragmentType Emitter::fragmentType(const UnitOperand &operand, Type element) {
  return tile::FragmentType::get(builder().getContext(), operand.rows, operand.cols, element,
                                 tile::LayoutAttr::get(builder().getContext(), operand.layout));
}

AffineMap Emitter::elementsMap(const Access &access, unsigned rowDim, unsigned colDim) {
  MLIRContext *context = builder().getContext();
  SmallVector<AffineExpr> results;
  for (AffineExpr result : access.map.getResults()) {
    AffineExpr expr = constant(0);
    if (rowDim != noDim)
      expr = expr + getAffineDimExpr(0, context) * *linearCoefficient(result, rowDim);
    if (colDim != noDim)
      expr = expr + getAffineDimExpr(1, context) * *linearCoefficient(result, colDim);
    results.push_back(expr);
  }
  return AffineMap::get(2, 0, results, context);
}

Value Emitter::load(const Access &access, tile::FragmentType type, unsigned rowDim, unsigned colDim,
                    AffineExpr validCols) {
  auto [map, operands] = space.address(access);
  AffineMapAttr valid;
  SmallVector<Value> validOperands;
  if (validCols && colDim != noDim)
    valid = space.validAttr(type.getRows(), validCols, validOperands);
  return tile::LoadOp::create(builder(), space.loc, type, access.memref, operands, AffineMapAttr::get(map),
                              AffineMapAttr::get(elementsMap(access, rowDim, colDim)), valid, validOperands);
}

void Emitter::store(Value value, const Access &access, unsigned rowDim, unsigned colDim, AffineExpr validCols) {
  auto [map, operands] = space.address(access);
  AffineMapAttr valid;
  SmallVector<Value> validOperands;
  if (validCols && colDim != noDim)
    valid = space.validAttr(cast<tile::FragmentType>(value.getType()).getRows(), validCols, validOperands);
  tile::StoreOp::create(builder(), space.loc, value, access.memref, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(elementsMap(access, rowDim, colDim)), valid, validOperands, UnitAttr());
}

void Emitter::registerTile(const Section &rowSection, AffineExpr row, const Section &panelSection, AffineExpr panel,
                           const KBlock &k) {
  tileRows = rowSection.width;
  tileVectors = panelSection.width;
  tileRow = rowSection.first + row * (rowSection.width * unit.m);
  tileLane = panelSection.first + panel * (panelSection.width * unit.n);
  tileValid = panelSection.valid;
  tileTail = panelSection.tail;
  const Section &largest =
      rowSections.size() > 1 && countOf(rowSections[1]) > countOf(rowSections[0]) ? rowSections[1] : rowSections[0];
  bool prefetches = p.prefetchPanels > 0 && &panelSection == &panelSections.front() && &rowSection == &largest &&
                    countOf(largest) > 0 && otherK.empty() && isa<AffineConstantExpr>(k.length);
  tileIndex = prefetches ? row : AffineExpr();
  tileCount = countOf(largest);

  unsigned rowDim = p.rowDim.value_or(noDim), laneDim = p.laneDim.value_or(noDim);
  auto typeOf = [&](unsigned fragment) { return fragmentType(unitOf(fragment % tileVectors).c, c.accumulator); };
  auto forFragments = [&](function_ref<void(unsigned)> body) {
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < tileVectors; ++v) {
        if (p.rowDim)
          space.at[*p.rowDim] = tileRow + r * unit.m;
        if (p.laneDim)
          space.at[*p.laneDim] = tileLane + v * unit.n;
        body(r * tileVectors + v);
      }
  };
  auto validOf = [&](unsigned fragment) {
    return tileValid && int64_t(fragment % tileVectors) == tileVectors - 1 ? tileValid : AffineExpr();
  };

  // Where C is prefetched while the k loop runs, it is added after it.
  bool needsC = !(k.first && task.zeroInit), addsC = needsC && p.prefetchResult && task.mayReassociate;
  SmallVector<Value> accumulators(tileRows * tileVectors);
  forFragments([&](unsigned i) {
    if (!needsC || addsC)
      accumulators[i] = tile::ZeroOp::create(builder(), space.loc, typeOf(i));
    else
      accumulators[i] = load(c.c, typeOf(i), rowDim, laneDim, validOf(i));
    if (!p.offsetScalars)
      return;
    auto [map, operands] = space.map({localPanel, constant(i % tileVectors * unit.n)});
    AffineMap elements =
        AffineMap::get(2, 0, {constant(0), getAffineDimExpr(1, builder().getContext())}, builder().getContext());
    Value offset =
        tile::LoadOp::create(builder(), space.loc, typeOf(i), compensation, operands, AffineMapAttr::get(map),
                             AffineMapAttr::get(elements), AffineMapAttr(), ValueRange());
    accumulators[i] = !needsC || addsC ? offset : elementwise({accumulators[i], offset}, [&](ValueRange args) -> Value {
      return arith::AddIOp::create(builder(), space.loc, args[0], args[1]);
    });
  });
  if (p.prefetchResult) {
    if (addsC)
      prefetchTile(c.c);
    if (k.last)
      prefetchEpilogue();
  }
  accumulators = reduce(0, accumulators, k);
  if (addsC)
    forFragments([&](unsigned i) {
      Value before = load(c.c, typeOf(i), rowDim, laneDim, validOf(i));
      accumulators[i] = elementwise({accumulators[i], before}, [&](ValueRange args) -> Value {
        if (isa<FloatType>(c.accumulator))
          return arith::AddFOp::create(builder(), space.loc, args[0], args[1]);
        return arith::AddIOp::create(builder(), space.loc, args[0], args[1]);
      });
    });
  if (!k.last || task.keepC)
    forFragments([&](unsigned i) { store(accumulators[i], c.c, rowDim, laneDim, validOf(i)); });
  if (k.last)
    finish(accumulators);
}

SmallVector<Value> Emitter::reduce(unsigned which, ValueRange accumulators, const KBlock &k) {
  if (which == otherK.size())
    return reduceMain(accumulators, k);
  return space.reduce(constant(0), space.extent(otherK[which]), accumulators, [&](AffineExpr iv, ValueRange args) {
    space.at[otherK[which]] = iv;
    return reduce(which + 1, args, k);
  });
}

SmallVector<Value> Emitter::reduceMain(ValueRange accumulators, const KBlock &k) {
  AffineExpr groups = k.length.floorDiv(unit.k), main = groups.floorDiv(p.kUnroll);
  SmallVector<Value> values = space.reduce(constant(0), main, accumulators, [&](AffineExpr iv, ValueRange args) {
    SmallVector<Value> values(args);
    for (int64_t u = 0; u < p.kUnroll; ++u)
      values = step(values, iv * p.kUnroll + u, k);
    if (auto iterations = dyn_cast<AffineConstantExpr>(main); iterations && tileIndex)
      prefetchNextPanel(iv, iterations.getValue(), k);
    return values;
  });
  // What the unrolled loop leaves, then a partial group (its missing elements are packed as zeros).
  AffineExpr groupsUp = k.length.ceilDiv(unit.k), rest = groupsUp - main * p.kUnroll;
  return space.reduce(constant(0), rest, values,
                      [&](AffineExpr iv, ValueRange args) { return step(args, main * p.kUnroll + iv, k); });
}

/// Spreads the cache lines of a later panel's source over the iterations of this panel's row tiles: they arrive while
/// the units work, although no hardware prefetcher follows rows that are pages apart.
void Emitter::prefetchNextPanel(AffineExpr iteration, int64_t iterations, const KBlock &k) {
  int64_t ahead = tileVectors * unit.n * p.prefetchPanels, elementBytes = vectors.element.getIntOrFloatBitWidth() / 8;
  int64_t perLine = std::max<int64_t>(cacheLineBytes / elementBytes, 1);
  int64_t depth = cast<AffineConstantExpr>(k.length).getValue(), width = tileVectors * unit.n;
  bool alongLanes = vectors.access.stride(*p.laneDim) == 1;
  // A run is what lies together: a row of the panel, or one line of a lane.
  int64_t runs = alongLanes ? depth : width * llvm::divideCeil(depth, perLine);
  int64_t slots = iterations * tileCount, perSlot = llvm::divideCeil(runs, slots);
  int64_t slotsPerRun = std::max<int64_t>(llvm::bit_floor<uint64_t>(slots / runs), 1);
  AffineExpr slot = (tileIndex * iterations + iteration).floorDiv(slotsPerRun) * perSlot;
  auto prefetch = [&](AffineExpr lane, AffineExpr row) {
    space.at[*p.laneDim] = lane;
    space.at[p.kDim] = row;
    auto [map, operands] = space.address(vectors.access);
    AffinePrefetchOp::create(builder(), space.loc, vectors.access.memref, map, operands, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
  };
  for (int64_t i = 0; i < perSlot; ++i) {
    AffineExpr run = slot + i, base = tileLane + ahead;
    if (alongLanes) {
      for (int64_t lane = 0; lane < width; lane += perLine)
        prefetch(base + lane, k.begin + run);
    } else {
      int64_t lines = llvm::divideCeil(depth, perLine);
      prefetch(base + run.floorDiv(lines), k.begin + (run % lines) * perLine);
    }
  }
}

/// The cache lines that the epilogue will read: without it every fragment waits for memory, as only a few of them fit
/// the window of out-of-order execution. (Lines that are only written are waited for by the store buffer.)
void Emitter::prefetchEpilogue() {
  SmallVector<Value> written{c.c.memref};
  for (const EpilogueStep &step : task.epilogue) {
    for (const Access &access : step.nest.loads)
      if (!llvm::is_contained(written, access.memref))
        prefetchTile(onContraction(access, step, c));
    for (const Access &access : step.nest.stores)
      written.push_back(access.memref);
  }
}

/// The register tile's part of `access`, into the second cache: its rows may share a set of the first. What all rows
/// share (a bias) is near after the first tile.
void Emitter::prefetchTile(const Access &access) {
  if (!p.rowDim || !p.laneDim || !access.dims().test(*p.rowDim) || access.stride(*p.laneDim) != 1)
    return;
  int64_t bytes = llvm::divideCeil(cast<MemRefType>(access.memref.getType()).getElementTypeBitWidth(), 8);
  int64_t perLine = std::max<int64_t>(cacheLineBytes / bytes, 1);
  for (int64_t row = 0; row < tileRows * unit.m; ++row)
    for (int64_t lane = 0; lane < tileVectors * unit.n; lane += perLine) {
      space.at[*p.rowDim] = tileRow + row;
      space.at[*p.laneDim] = tileLane + lane;
      auto [map, operands] = space.address(access);
      AffinePrefetchOp::create(builder(), space.loc, access.memref, map, operands, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
    }
}

SmallVector<Value> Emitter::step(ValueRange accumulators, AffineExpr group, const KBlock &k) {
  unsigned rowDim = p.rowDim.value_or(noDim), laneDim = p.laneDim.value_or(noDim);
  auto aType = fragmentType(unit.a, scalarElement);
  space.at[p.kDim] = k.begin + group * unit.k;
  SmallVector<Value> b(tileVectors);
  for (int64_t v = 0; v < tileVectors; ++v) {
    auto bType = fragmentType(unitOf(v).b, vectorElement);
    if (packedVectors) {
      b[v] = loadPacked(space, packedVectors, bType, localPanel, group, v * unit.n, /*freeIsColumn=*/true);
      continue;
    }
    if (p.laneDim)
      space.at[*p.laneDim] = tileLane + v * unit.n;
    b[v] = load(vectors.access, bType, p.kDim, laneDim, tileValid && v == tileVectors - 1 ? tileValid : AffineExpr());
  }
  SmallVector<Value> results(accumulators);
  for (int64_t r = 0; r < tileRows; ++r) {
    Value a;
    if (packedScalars) {
      a = loadPacked(space, packedScalars, aType, localRow, group, r * unit.m, /*freeIsColumn=*/false);
    } else {
      if (p.rowDim)
        space.at[*p.rowDim] = tileRow + r * unit.m;
      a = load(scalars.access, aType, rowDim, p.kDim, nullptr);
    }
    for (int64_t v = 0; v < tileVectors; ++v) {
      Value &acc = results[r * tileVectors + v];
      acc = tile::MmaOp::create(builder(), space.loc, acc.getType(), a, b[v], acc,
                                builder().getStringAttr(unitOf(v).name));
    }
  }
  return results;
}

/// The element-wise steps on the finished fragments of one register tile.
void Emitter::finish(ArrayRef<Value> accumulators) {
  if (task.epilogue.empty())
    return;
  unsigned rowDim = p.rowDim.value_or(noDim), laneDim = p.laneDim.value_or(noDim);
  for (auto [i, accumulator] : llvm::enumerate(accumulators)) {
    int64_t r = i / tileVectors, v = i % tileVectors;
    if (p.rowDim)
      space.at[*p.rowDim] = tileRow + r * unit.m;
    if (p.laneDim)
      space.at[*p.laneDim] = tileLane + v * unit.n;
    AffineExpr valid = tileValid && v == tileVectors - 1 ? tileValid : AffineExpr();
    emitEpilogue(
        builder(), space.loc, task, accumulator, [&](Type element) { return fragmentType(unitOf(v).c, element); },
        [&](const Access &access, tile::FragmentType type) { return load(access, type, rowDim, laneDim, valid); },
        [&](Value value, const Access &access) { store(value, access, rowDim, laneDim, valid); });
  }
}

} // namespace

void emitContraction(OpBuilder &builder, Location loc, const ContractionTask &task) {
  Emitter(builder, loc, task).emit();
}

} // namespace tilewright
