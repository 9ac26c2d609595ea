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
// dynamic sizes into a main part and single rows or vectors, the last of which
// may be partial. Static or not, k is cut into blocks of constant length, but
// for the last one.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Contraction/ContractionNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

void ContractionNest::sortDimensions() {
  // Dimensions of one element take no part: their position is known.
  auto isOne = [&](unsigned dim) {
    const bool is = space.extent(dim) == constant(1);
    if (is)
      space.at[dim] = constant(0);
    return is;
  };
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n)) {
    if (dim == p.rowDim || dim == p.laneDim || llvm::is_contained(p.outerRows, dim) ||
        llvm::is_contained(p.outerLanes, dim))
      continue;
    if (!isOne(dim))
      (vectors.access.dims().test(dim) ? outerWithVectors : outerOther).push_back(dim);
  }
  llvm::sort(outerWithVectors);
  llvm::sort(outerOther);
  for (unsigned dim : c.k)
    if (dim != p.kDim && !isOne(dim))
      otherK.push_back(dim);
  if (!p.tapsInside)
    return;
  // As the scalars lie, but for taps that neighbouring rows share: next to each other these would keep what they share
  // in registers, of which the accumulators leave too few.
  auto order = [&](unsigned dim) {
    int64_t stride = std::abs(scalars.access.stride(dim).value_or(0));
    return std::pair(!sharesScalars(dim), -stride);
  };
  llvm::stable_sort(otherK, [&](unsigned x, unsigned y) { return order(x) < order(y); });
}

/// The sections of this core's rows and lanes.
void ContractionNest::splitDimensions() {
  rowSections.clear();
  panelSections.clear();
  // Rows: static sizes are split evenly into tiles of `rows` and `rows - 1`, so that no tile is much smaller.
  int64_t step = unit.m;
  AffineExpr extent = p.rowDim ? extentOf(*p.rowDim, p.outerRows) : constant(1);
  if (auto size = dyn_cast<AffineConstantExpr>(extent)) {
    int64_t steps = llvm::divideCeil(size.getValue(), step), tiles = llvm::divideCeil(steps, p.rows);
    int64_t width = tiles ? llvm::divideCeil(steps, tiles) : 1, wide = steps - tiles * (width - 1);
    rowSections.push_back({constant(0), constant(wide), width, nullptr});
    if (wide < tiles)
      rowSections.push_back({constant(wide * width * step), constant(tiles - wide), width - 1, nullptr});
    // A last unit row that is partial makes its tile a section of its own.
    if (int64_t rest = size.getValue() % step) {
      Section last = rowSections.back();
      int64_t count = countOf(last) - 1;
      rowSections.back().count = constant(count);
      last.first = last.first + count * last.width * step;
      last.count = constant(1);
      last.valid = constant(rest);
      if (count == 0)
        rowSections.pop_back();
      rowSections.push_back(last);
    }
  } else {
    dynamicRows(extent);
  }

  if (p.rowDim)
    for (Section &section : rowSections)
      section.first = section.first + baseOf(*p.rowDim);

  // Panels: full ones, then a narrower one with a partial last vector.
  int64_t lanes = unit.n;
  extent = p.laneDim ? extentOf(*p.laneDim, p.outerLanes) : constant(1);
  int64_t panel = p.vectors * lanes;
  AffineExpr full = extent.floorDiv(panel);
  panelSections.push_back({constant(0), full, p.vectors, nullptr});
  if (auto size = dyn_cast<AffineConstantExpr>(extent)) {
    int64_t rest = size.getValue() % panel;
    if (rest) {
      int64_t width = llvm::divideCeil(rest, lanes);
      AffineExpr valid = rest % lanes ? constant(rest % lanes) : AffineExpr();
      const MatrixUnit *tail = valid && p.tailUnit && rest % lanes <= p.tailUnit->n ? p.tailUnit : nullptr;
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
  if (p.laneDim)
    for (Section &section : panelSections)
      section.first = section.first + baseOf(*p.laneDim);
}

/// Sections of rows of a dynamic size: of the unit rows that are whole as many register tiles as the form counts with,
/// then single ones, then what exists of a last one. A unit of one row has its tiles even, like static sizes, where
/// there are enough rows for tiles of `rows` and `rows - 1`.
void ContractionNest::dynamicRows(AffineExpr extent) {
  int64_t step = unit.m;
  AffineExpr whole = extent.floorDiv(step), wide = whole.floorDiv(p.rows), single = whole - wide * p.rows;
  if (evenRows) {
    wide = evenRows->wide;
    rowSections.push_back({constant(0), wide, p.rows, nullptr});
    rowSections.push_back({wide * (p.rows * step), evenRows->narrow, p.rows - 1, nullptr});
    single = evenRows->single;
  } else {
    rowSections.push_back({constant(0), wide, p.rows, nullptr});
  }
  if (p.rows > 1)
    rowSections.push_back({(whole - single) * step, single, 1, nullptr});
  if (step > 1) {
    AffineExpr rest = extent - whole * step;
    rowSections.push_back({whole * step, rest.ceilDiv(step), 1, rest});
  }
}

/// How many tiles of `rows` and of `rows - 1` rows a dynamic size has, and single rows where these do not add up to it.
void ContractionNest::countEvenRows() {
  evenRows.reset();
  if (!p.rowDim || unit.m > 1 || p.rows < 3 || isa<AffineConstantExpr>(space.extent(*p.rowDim)))
    return;
  OpBuilder &b = builder();
  AffineExpr extent = space.extent(*p.rowDim);
  AffineExpr tiles = extent.ceilDiv(p.rows), narrow = tiles * p.rows - extent, full = extent.floorDiv(p.rows);
  // Tiles that lack a row are at most all of them, else some would lack two.
  Value isEven =
      arith::CmpIOp::create(b, space.loc, arith::CmpIPredicate::sle, space.value(narrow), space.value(tiles));
  auto choose = [&](AffineExpr even, AffineExpr uneven) {
    return space.define(
        arith::SelectOp::create(b, space.loc, isEven, space.value(even), space.value(uneven)).getResult());
  };
  evenRows =
      EvenRows{choose(tiles - narrow, full), choose(narrow, constant(0)), choose(constant(0), extent - full * p.rows)};
}

void ContractionNest::outerLoops(ArrayRef<unsigned> dims, function_ref<void()> body) {
  if (dims.empty())
    return body();
  AffineExpr begin = baseOf(dims.front()), end = begin + extentOf(dims.front());
  if (threadIndex && !pieceBase && p.splitDim == dims.front()) {
    begin = (end * threadIndex).floorDiv(p.threads);
    end = (end * threadIndex + end).floorDiv(p.threads);
  }
  space.loop(begin, {end}, [&](AffineExpr iv) {
    space.at[dims.front()] = iv;
    outerLoops(dims.drop_front(), body);
  });
}

void ContractionNest::parallel(function_ref<void()> body) {
  if (!p.splitDim || p.threads <= 1) {
    splitDimensions();
    return body();
  }
  space.parallel(p.threads, [&](AffineExpr iv) {
    threadIndex = iv;
    if (p.splitPiece)
      overPieces(body);
    else
      splitDimensions(), body();
  });
  threadIndex = pieceBase = nullptr;
}

/// The parts of a dimension of known size: all cores run the same code, but for the last where its part is smaller.
void ContractionNest::overPieces(function_ref<void()> body) {
  int64_t size = cast<AffineConstantExpr>(space.extent(*p.splitDim)).getValue();
  int64_t full = size / p.splitPiece, rest = size % p.splitPiece;
  auto run = [&](int64_t extent, AffineExpr times) {
    pieceBase = threadIndex * p.splitPiece;
    pieceExtent = constant(extent);
    splitDimensions();
    space.loop(constant(0), {times}, [&](AffineExpr) { body(); });
  };
  run(p.splitPiece, rest ? 1 - threadIndex.floorDiv(full) : constant(1));
  if (rest)
    run(rest, threadIndex.floorDiv(full));
}

void ContractionNest::emit() {
  space.addDimensions(c.nest.loops);
  vectorElement = elementType(unit.b.element, builder().getContext());
  scalarElement = elementType(unit.a.element, builder().getContext());
  sortDimensions();
  countEvenRows();
  if (p.boundVectors)
    bindVectors();
  parallel([&] { outerLoops(outerWithVectors, [&] { reduceBlocks(); }); });
}

/// All of k, or blocks of it. Of a dynamic size the last block takes between half a block and one and a half: what is
/// over goes through C no more often than in even blocks.
void ContractionNest::reduceBlocks() {
  AffineExpr total = space.extent(p.kDim), length = constant(p.kBlock);
  auto size = dyn_cast<AffineConstantExpr>(total);
  if (p.kBlock == 0 || (size && size.getValue() <= p.kBlock))
    return block({constant(0), total, true, true});
  if (!size) {
    AffineExpr before =
        (total + p.kBlock / 2).floorDiv(p.kBlock) - 1; // blocks before the last; of a short k none, or -1
    AffineExpr once = constant(1), most = constant(p.kBlock + p.kBlock / 2);
    space.loop(constant(0), {once, before}, [&](AffineExpr) {
      block({constant(0), length, true, false});
      space.loop(constant(1), {before}, [&](AffineExpr iv) { block({iv * p.kBlock, length, false, false}); });
      block({before * p.kBlock, total - before * p.kBlock, false, true, most});
    });
    space.loop(constant(0), {once, once - before}, [&](AffineExpr) { block({constant(0), total, true, true, most}); });
    return;
  }
  int64_t blocks = llvm::divideCeil(size.getValue(), p.kBlock), lastLength = size.getValue() - (blocks - 1) * p.kBlock;
  block({constant(0), length, true, false});
  bool lastIsLikeOthers = lastLength == p.kBlock && task.epilogue.empty();
  space.loop(constant(1), {constant(lastIsLikeOthers ? blocks : blocks - 1)},
             [&](AffineExpr iv) { block({iv * p.kBlock, length, false, false}); });
  if (!lastIsLikeOthers)
    block({constant((blocks - 1) * p.kBlock), constant(lastLength), false, true});
}

/// The row tiles of this thread in the scalar operand's packed form, one buffer a section; empty buffers if it is read
/// in place.
SmallVector<PackedBuffer, 2> ContractionNest::packAllRows(const KBlock &k) {
  SmallVector<PackedBuffer, 2> packed(rowSections.size());
  for (auto [section, buffer] : llvm::zip(rowSections, packed))
    if (packsScalars(section)) {
      auto [first, last] = rowRange(section);
      packedRows(section, k, first, last);
      buffer = packedScalars;
    }
  return packed;
}

/// Row tiles [first, last) of a section that are this thread's.
std::pair<AffineExpr, AffineExpr> ContractionNest::rowRange(const Section &section) {
  if (!threadIndex || pieceBase || p.splitDim != p.rowDim)
    return {constant(0), section.count};
  return {(section.count * threadIndex).floorDiv(p.threads),
          (section.count * threadIndex + section.count).floorDiv(p.threads)};
}

void ContractionNest::block(const KBlock &k) {
  packedOnce.clear();
  if (p.rowBlock == 0 && outerOther.empty())
    packedOnce = packAllRows(k);
  SmallVector<Panels, 2> together; // with row tiles outside, a tile meets all panels while its rows are near
  for (const Section &section : panelSections) {
    AffineExpr begin = constant(0), end = section.count;
    bool isMain = &section == &panelSections.front();
    if (threadIndex && !pieceBase && p.splitDim == p.laneDim) {
      if (isMain) {
        begin = (section.count * threadIndex).floorDiv(p.threads);
        end = (section.count * threadIndex + section.count).floorDiv(p.threads);
      } else { // the last thread takes what is narrower than a panel
        end = section.count * (threadIndex + 1).floorDiv(p.threads);
      }
    }
    int64_t size = p.laneBlock;
    if (size == 0 || !isMain) {
      together.push_back(packed(section, begin, {end}, k));
      if (!p.rowsOutside)
        multiply(together.pop_back_val(), k);
      continue;
    }
    space.loop(constant(0), {(end - begin).ceilDiv(size)}, [&](AffineExpr iv) {
      AffineExpr from = begin + iv * size;
      if (size == 1)
        multiply(packed(section, from, {from + 1}, k), k);
      else
        multiply(packed(section, from, {from + size, end}, k), k);
    });
  }
  if (!together.empty())
    multiply(together, k);
}

/// What either operand is packed by: where it is, and what is taken of k.
PackRequest ContractionNest::packRequest(const ContractionOperand &operand, const Section &section, const KBlock &k) {
  PackRequest request;
  request.operand = &operand;
  request.producer = task.producerOf(operand);
  request.kDim = p.kDim;
  request.otherK = p.tapsInside ? inMemoryOrder(operand.access, otherK) : otherK;
  request.kStep = unit.k;
  request.first = section.first;
  request.kBegin = k.begin;
  request.kLength = k.length;
  request.kMost = k.most ? k.most : k.length;
  request.tapsInside = p.tapsInside;
  return request;
}

/// How the panels of the vector operand in `section` are packed, but for which of them.
PackRequest ContractionNest::vectorRequest(const Section &section, const KBlock &k) {
  PackRequest request = packRequest(vectors, section, k);
  request.element = vectorElement;
  request.freeDim = p.laneDim.value_or(noDim);
  request.outerFree = p.outerLanes;
  request.windows = p.windows;
  request.width = section.width * unit.n;
  request.vector = unit.n;
  request.group = interleaveOf(unit.b, /*freeIsColumn=*/true);
  request.valid = section.valid ? section.valid : section.tail ? constant(section.tail->n) : AffineExpr();
  return request;
}

void ContractionNest::bindVectors() {
  splitDimensions(); // of all cores: each finds whole panels of its part among them
  OpBuilder::InsertionGuard guard(builder());
  auto function = c.nest.root()->getParentOfType<func::FuncOp>();
  builder().setInsertionPointToStart(&function.front());
  for (const Section &section : panelSections) {
    IterationSpace before(builder(), space.loc);
    before.addDimensions(c.nest.loops);
    PackRequest request = vectorRequest(section, {constant(0), space.extent(p.kDim)});
    request.begin = constant(0);
    request.ends = {section.count};
    PackedBuffer panels;
    if (section.count != constant(0)) {
      panels = packPanels(before, request);
      panels.memref.getDefiningOp()->setAttr(boundAttr, builder().getUnitAttr());
    }
    boundPanels.push_back(panels);
  }
}

/// Panels from `begin` to the smallest of `ends`, packed if the plan says so.
ContractionNest::Panels ContractionNest::packed(const Section &section, AffineExpr begin, ArrayRef<AffineExpr> ends,
                                                const KBlock &k) {
  Panels panels{&section, begin, llvm::to_vector(ends), {}, begin, {}};
  if (p.boundVectors) {
    const size_t which = &section - panelSections.begin();
    panels.buffer = boundPanels[which];
    panels.buffer.before = k.begin.floorDiv(panels.buffer.group);
    // The first section of a core's part goes on with the panels of the parts before it.
    const bool isPart = which == 0 && pieceBase && p.splitDim == p.laneDim;
    panels.firstPacked = isPart ? -pieceBase.floorDiv(section.width * unit.n) : constant(0);
  } else if (packsVectors(section)) {
    PackRequest request = vectorRequest(section, k);
    request.begin = begin;
    request.ends = panels.ends;
    panels.buffer = packPanels(space, request);
  }
  if (p.offsetScalars)
    panels.compensation = compensateOffset(panels, k);
  return panels;
}

/// All rows against panels of one or several sections.
void ContractionNest::multiply(ArrayRef<Panels> all, const KBlock &k) {
  auto forPanels = [&](function_ref<void(const Section &, AffineExpr)> body) {
    for (const Panels &panels : all) {
      packedVectors = panels.buffer;
      compensation = panels.compensation;
      space.loop(panels.begin, panels.ends, [&](AffineExpr panel) {
        localPanel = panel - panels.firstPacked;
        body(*panels.section, panel);
      });
    }
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
          forPanels(
              [&](const Section &section, AffineExpr panel) { registerTile(rowSection, row, section, panel, k); });
        });
      else
        forPanels([&](const Section &section, AffineExpr panel) {
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
        packedScalars = {};
        if (packsScalars(rowSection))
          packedRows(rowSection, k, begin, nullptr);
        forPanels([&](const Section &section, AffineExpr panel) {
          space.loop(begin, ends, [&](AffineExpr row) {
            localRow = row - begin;
            registerTile(rowSection, row, section, panel, k);
          });
        });
      });
    }
  });
}

/// sum (a + h) b = sum a b + h sum b: the unit itself computes h sum b from a constant scalar operand.
Value ContractionNest::compensateOffset(const Panels &panels, const KBlock &k) {
  const Section &section = *panels.section;
  AffineExpr group = getAffineDimExpr(1, builder().getContext());
  Value half = space.allocate({constant(unit.k)}, scalarElement);
  Value value = arith::ConstantOp::create(
      builder(), space.loc,
      builder().getIntegerAttr(scalarElement, APInt::getSignedMinValue(scalarElement.getIntOrFloatBitWidth())));
  for (int64_t i = 0; i < unit.k; ++i)
    AffineStoreOp::create(builder(), space.loc, value, half, AffineMap::getConstantMap(i, builder().getContext()),
                          ValueRange());
  Value sum = space.allocate({panels.ends.front() - panels.begin, constant(section.width * unit.n)}, c.accumulator);
  space.loop(panels.begin, panels.ends, [&](AffineExpr panel) {
    AffineExpr local = panel - panels.begin;
    for (int64_t v = 0; v < section.width; ++v) {
      const MatrixUnit &used = section.tail && v == section.width - 1 ? *section.tail : unit;
      auto aType = fragmentOf(used.a, scalarElement), bType = fragmentOf(used.b, vectorElement);
      Value a = loadTile(space, half, constant(0), elements(group), aType);
      std::function<SmallVector<Value>(unsigned, ValueRange)> add = [&](unsigned which,
                                                                        ValueRange args) -> SmallVector<Value> {
        if (which < otherK.size())
          return space.reduce(constant(0), space.extent(otherK[which]), args, [&](AffineExpr iv, ValueRange inner) {
            space.at[otherK[which]] = iv;
            return add(which + 1, inner);
          });
        return space.reduce(constant(0), k.length.ceilDiv(unit.k), args, [&](AffineExpr iv, ValueRange inner) {
          Value b = loadPacked(space, panels.buffer, bType, local, iv, v * unit.n, /*freeIsColumn=*/true);
          Value result = tile::MmaOp::create(builder(), space.loc, inner[0].getType(), a, b, inner[0],
                                             builder().getStringAttr(used.name));
          return SmallVector<Value>{result};
        });
      };
      Value zero = tile::ZeroOp::create(builder(), space.loc, fragmentOf(used.c, c.accumulator));
      Value negated = combineTiles(builder(), space.loc, {zero, add(0, zero).front()},
                                   [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
                                     return arith::SubIOp::create(inner, loc, args[0], args[1]);
                                   });
      storeTile(space, negated, sum, {local, constant(v * unit.n)}, elements({constant(0), group}));
    }
  });
  return sum;
}

/// Packs row tiles [first, end), or one block of `rowBlock` tiles if `end` is null, of the scalar operand.
void ContractionNest::packedRows(const Section &section, const KBlock &k, AffineExpr first, AffineExpr end) {
  PackRequest request = packRequest(scalars, section, k);
  request.element = scalarElement;
  request.freeDim = p.rowDim.value_or(noDim);
  request.outerFree = p.outerRows;
  request.windows = p.rowWindows;
  request.width = section.width * unit.m;
  request.vector = p.isBlock() ? unit.m : 0; // read as scalars: either order will do
  request.group = interleaveOf(unit.a, /*freeIsColumn=*/false);
  request.valid = section.valid;
  request.begin = first;
  if (end)
    request.ends = {end};
  else
    request.ends = {first + p.rowBlock, section.count};
  request.capacity = end ? 0 : p.rowBlock;
  request.offset = p.offsetScalars;
  packedScalars = packPanels(space, request);
}

void emitContraction(OpBuilder &builder, Location loc, const ContractionTask &task) {
  ContractionNest(builder, loc, task).emit();
}

} // namespace tilewright
