//===- ContractionTile.cpp - One register tile of a contraction -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulators from zeros or C, the k loop with them as iter_args, and what
// becomes of the sums: stores, or the steps of the epilogue on the fragments
// (how rows move: ContractionRows.cpp).
// Fragments in registers of their own only move whole: rows that are partial or
// have an epilogue pass through a small buffer, as do those whose epilogue needs
// the registers itself.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/RowBlocks.h"
#include "core/Transforms/Contraction/ContractionNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

void ContractionNest::registerTile(const Section &rowSection, AffineExpr row, const Section &panelSection,
                                   AffineExpr panel, const KBlock &k) {
  tileRows = rowSection.width;
  tileVectors = panelSection.width;
  tileRow = rowSection.first + row * (rowSection.width * unit.m);
  tileLane = panelSection.first + panel * (panelSection.width * unit.n);
  tileValidRows = rowSection.valid;
  tileValid = panelSection.valid;
  tileTail = panelSection.tail;
  const Section &largest =
      rowSections.size() > 1 && countOf(rowSections[1]) > countOf(rowSections[0]) ? rowSections[1] : rowSections[0];
  bool prefetches = p.prefetchPanels > 0 && &panelSection == &panelSections.front() && &rowSection == &largest &&
                    countOf(largest) > 0 && otherK.empty() && isa<AffineConstantExpr>(k.length);
  tileIndex = prefetches ? row : AffineExpr();
  tileCount = countOf(largest);

  auto typeOf = [&](unsigned vector) { return fragmentOf(unitOf(vector).c, c.accumulator); };
  // Fragments in registers of their own move whole: where C's rows do not lie so, it goes through a small buffer.
  // So it does where they cannot be filled.
  bool opaque = bool(unit.c.opaque), needsC = !(k.first && task.zeroInit);
  bool fills = opaque && !unit.c.opaque->fill.name.empty();
  bool moves = opaque && (fills || !needsC) && !tileValidRows && !tileValid && p.rowDim && p.laneDim &&
               c.c.stride(*p.laneDim) == 1;

  // Where C is prefetched while the k loop runs, it is added after it.
  bool addsC = needsC && (opaque ? !moves : addsResultAfter(c, p, task.mayReassociate));
  SmallVector<Value> accumulators(tileRows * tileVectors);
  auto accumulator = [&](const RowBlock &rows, int64_t row) -> Value & {
    return accumulators[(rows.first + row) * tileVectors + rows.vector];
  };
  auto withOffset = [&](Value sum, unsigned vector) -> Value {
    Value offset = loadTile(space, compensation, {localPanel, constant(vector * unit.n)},
                            elements({constant(0), dim(1)}), typeOf(vector));
    return !needsC || addsC ? offset : addTiles(builder(), space.loc, sum, offset);
  };
  const bool loadsC = needsC && !addsC;
  forRowBlocks(loadsC && isTransposed(sums), [&](const RowBlock &rows) {
    auto type = typeOf(rows.vector);
    SmallVector<Value> values;
    if (loadsC)
      values = loadRows(sums, type, rows);
    else
      values.push_back(tile::ZeroOp::create(builder(), space.loc, type));
    for (auto [row, value] : llvm::enumerate(values))
      accumulator(rows, row) = p.offsetScalars ? withOffset(value, rows.vector) : value;
  });
  if (p.prefetchResult) {
    if (addsC)
      prefetchTile(sums);
    if (k.last)
      prefetchEpilogue();
  }
  accumulators = reduce(0, accumulators, k);
  bool finishes = k.last && !task.epilogue.empty();
  // So do epilogues whose constants should have the registers (TailModel.h).
  auto isWhole = [&](int64_t vector) { return unitOf(vector).name == unit.name; };
  bool loops = !opaque && finishes && task.tail.usesBuffer() && p.laneDim && tileRows > 1 &&
               llvm::all_of(llvm::seq<int64_t>(0, tileVectors), isWhole);
  if ((opaque && (!moves || finishes)) || loops)
    return finishInMemory(accumulators, addsC, k);
  if (addsC)
    forRowBlocks(isTransposed(sums), [&](const RowBlock &rows) {
      for (auto [row, before] : llvm::enumerate(loadRows(sums, typeOf(rows.vector), rows)))
        accumulator(rows, row) = addBefore(accumulator(rows, row), before);
    });
  if (!k.last || task.keepC)
    forRowBlocks(isTransposed(sums), [&](const RowBlock &rows) {
      SmallVector<Value> values;
      for (int64_t row = 0; row < rows.count; ++row)
        values.push_back(accumulator(rows, row));
      storeRows(values, sums, rows);
    });
  if (k.last)
    finish(accumulators);
}

/// The end of a register tile whose fragments only move whole, or make room for the constants of what follows: they go
/// to a buffer of the tile's shape, from which the rows that exist come back as vectors, row by row in a loop, or a few
/// rows that are neighbours in memory at a time.
void ContractionNest::finishInMemory(ArrayRef<Value> accumulators, bool addsC, const KBlock &k) {
  if (!tileBuffer)
    tileBuffer = space.allocate({constant(p.rows * unit.m), constant(p.vectors * unit.n)}, c.accumulator);
  MLIRContext *context = builder().getContext();
  AffineMap elements = AffineMap::getMultiDimIdentityMap(2, context);
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    storeTile(space, accumulator, tileBuffer, {constant(i / tileVectors * unit.m), constant(i % tileVectors * unit.n)},
              elements);
  Layout row = rowMajorLayout(1, unit.n);
  auto rowOf = [&](Type element) { return tile::FragmentType::get(1, unit.n, element, row); };
  AffineExpr count = constant((tileRows - 1) * unit.m) + (tileValidRows ? tileValidRows : constant(unit.m));
  const bool finishes = k.last && !task.epilogue.empty();
  auto finishAt = [&](AffineExpr at, int64_t together) {
    for (int64_t v = 0; v < tileVectors; ++v) {
      RowBlock rows;
      rows.row = tileRow + at;
      rows.lane = tileLane + v * unit.n;
      rows.count = together;
      rows.validCols = validColsOf(v);
      SmallVector<Value> values;
      for (int64_t i = 0; i < together; ++i)
        values.push_back(loadTile(space, tileBuffer, {at + i, constant(v * unit.n)}, elements, rowOf(c.accumulator)));
      if (addsC)
        for (auto [sum, before] : llvm::zip(values, loadRows(sums, rowOf(c.accumulator), rows)))
          sum = addBefore(sum, before);
      if (!k.last || task.keepC)
        storeRows(values, sums, rows);
      if (finishes)
        finishRows(rows, values, rowOf);
    }
  };
  const bool movesC = addsC || !k.last || task.keepC;
  const bool transposes =
      unit.n >= rowsFromBuffer && ((movesC && isTransposed(sums)) || (finishes && epilogueIsTransposed()));
  AffineExpr begin = constant(0);
  if (transposes) {
    AffineExpr blocks = count.floorDiv(rowsFromBuffer);
    space.loop(begin, {blocks}, [&](AffineExpr at) { finishAt(at * rowsFromBuffer, rowsFromBuffer); });
    begin = blocks * rowsFromBuffer;
  }
  space.loop(begin, {count}, [&](AffineExpr at) { finishAt(at, 1); });
}

SmallVector<Value> ContractionNest::reduce(unsigned which, ValueRange accumulators, const KBlock &k) {
  if (which == otherK.size() || p.tapsInside)
    return reduceMain(accumulators, k);
  const bool isAnew = sumChainsOf(c, p, task.mayReassociate).loop == which;
  return space.reduce(constant(0), space.extent(otherK[which]), accumulators, [&](AffineExpr iv, ValueRange args) {
    space.at[otherK[which]] = iv;
    auto inside = [&](ValueRange sums) { return reduce(which + 1, sums, k); };
    return isAnew ? chain(args, inside) : inside(args);
  });
}

SmallVector<Value> ContractionNest::chain(ValueRange sums, function_ref<SmallVector<Value>(ValueRange)> body) {
  SmallVector<Value> zeros;
  for (Value sum : sums)
    zeros.push_back(tile::ZeroOp::create(builder(), space.loc, sum.getType()));
  SmallVector<Value> parts = body(zeros);
  for (auto [part, sum] : llvm::zip(parts, sums))
    part = addBefore(part, sum);
  return parts;
}

/// One group of k, in all positions of the other reduction dimensions. As many as the registers leave room for are
/// unrolled.
SmallVector<Value> ContractionNest::reduceInside(unsigned which, ValueRange accumulators, AffineExpr group,
                                                 const KBlock &k) {
  if (!p.tapsInside || which == otherK.size())
    return step(accumulators, group, k);
  auto body = [&](AffineExpr iv, ValueRange args) {
    space.at[otherK[which]] = iv;
    return reduceInside(which + 1, args, group, k);
  };
  auto extent = cast<AffineConstantExpr>(space.extent(otherK[which])).getValue();
  if (which + 1 < otherK.size() || extent > p.tapUnroll || (p.rereadScalars && sharesScalars(otherK[which])))
    return space.reduce(constant(0), constant(extent), accumulators, body);
  SmallVector<Value> values(accumulators);
  for (int64_t i = 0; i < extent; ++i)
    values = body(constant(i), values);
  return values;
}

SmallVector<Value> ContractionNest::reduceMain(ValueRange accumulators, const KBlock &k) {
  AffineExpr groups = k.length.floorDiv(unit.k), main = groups.floorDiv(p.kUnroll);
  auto iteration = [&](AffineExpr iv, ValueRange args) {
    SmallVector<Value> values(args);
    for (int64_t u = 0; u < p.kUnroll; ++u)
      values = reduceInside(0, values, iv * p.kUnroll + u, k);
    for (int64_t u = 0; p.prefetchRows && u < p.kUnroll; ++u)
      prefetchNextRows(iv * p.kUnroll + u, k);
    if (auto iterations = dyn_cast<AffineConstantExpr>(main); iterations && tileIndex)
      prefetchNextPanel(iv, iterations.getValue(), k);
    return values;
  };
  SmallVector<Value> values(accumulators);
  const SumChains chains = sumChainsOf(c, p, task.mayReassociate);
  if (chains.loop == (p.tapsInside ? 0 : otherK.size())) {
    AffineExpr whole = main.floorDiv(chains.iterations), begun = whole * chains.iterations;
    auto ofChain = [&](AffineExpr first, AffineExpr end, ValueRange sums) {
      return chain(sums, [&](ValueRange zeros) {
        return space.reduce(constant(0), end, zeros,
                            [&](AffineExpr at, ValueRange args) { return iteration(first + at, args); });
      });
    };
    values = space.reduce(constant(0), whole, values, [&](AffineExpr number, ValueRange sums) {
      return ofChain(number * chains.iterations, constant(chains.iterations), sums);
    });
    if (main != begun)
      values = ofChain(begun, main - begun, values);
  } else {
    values = space.reduce(constant(0), main, values, iteration);
  }
  // What the unrolled loop leaves, then a partial group (its missing elements are packed as zeros).
  AffineExpr groupsUp = k.length.ceilDiv(unit.k), rest = groupsUp - main * p.kUnroll;
  return space.reduce(constant(0), rest, values,
                      [&](AffineExpr iv, ValueRange args) { return reduceInside(0, args, main * p.kUnroll + iv, k); });
}

void ContractionNest::prefetch(Value memref, const std::pair<AffineMap, SmallVector<Value>> &place, Locality into) {
  AffinePrefetchOp::create(builder(), space.loc, memref, place.first, place.second, /*isWrite=*/false, into,
                           /*isDataCache=*/true);
}

/// Spreads the cache lines of a later panel's source over the iterations of this panel's row tiles: they arrive while
/// the units work, although no hardware prefetcher follows rows that are pages apart.
void ContractionNest::prefetchNextPanel(AffineExpr iteration, int64_t iterations, const KBlock &k) {
  const OperandProducer *producer = task.producerOf(vectors);
  const Access *source = producer ? producer->mainSource() : &vectors.access;
  if (!source)
    return;
  int64_t ahead = tileVectors * unit.n * p.prefetchPanels;
  int64_t elementBytes = tilewright::elementBytes(p.boundVectors ? vectorElement : elementOf(source->memref));
  int64_t perLine = std::max<int64_t>(task.lineBytes / elementBytes, 1);
  int64_t depth = cast<AffineConstantExpr>(k.length).getValue(), width = tileVectors * unit.n;
  bool alongLanes = p.boundVectors || source->stride(*p.laneDim) == 1;
  if (p.boundVectors) { // a row of a panel is a group of k
    depth = llvm::divideCeil(depth, packedVectors.group);
    width *= packedVectors.group;
  }
  // A run is what lies together: a row of the panel, or one line of a lane.
  int64_t runs = alongLanes ? depth : width * llvm::divideCeil(depth, perLine);
  int64_t slots = iterations * tileCount, perSlot = llvm::divideCeil(runs, slots);
  int64_t slotsPerRun = std::max<int64_t>(llvm::bit_floor<uint64_t>(slots / runs), 1);
  AffineExpr slot = tileIndex * iterations + iteration, first = slot.floorDiv(slotsPerRun) * perSlot;
  auto prefetchRow = [&](AffineExpr lane, AffineExpr row) {
    if (p.boundVectors) {
      prefetch(packedVectors.memref,
               space.map(packedVectors.position(space, localPanel + p.prefetchPanels, row - k.begin,
                                                lane - tileLane - ahead)),
               SecondCache);
      return;
    }
    moveToLane(lane);
    space.at[p.kDim] = row;
    prefetch(*source, SecondCache);
  };
  // The lines of a run take turns over its slots: a line that is asked for again while it is on its way holds a fill
  // buffer each time. (Lines beyond the run, where their number is no power of two, are the first of the panel behind.)
  int64_t linesOfRun = alongLanes ? llvm::divideCeil(width, perLine) : 1;
  int64_t turns = std::min<int64_t>(llvm::bit_ceil<uint64_t>(linesOfRun), slotsPerRun);
  int64_t perTurn = llvm::divideCeil(linesOfRun, turns);
  AffineExpr turn = (slot % slotsPerRun).floorDiv(slotsPerRun / turns);
  for (int64_t i = 0; i < perSlot; ++i) {
    AffineExpr run = first + i, base = tileLane + ahead;
    if (alongLanes) {
      for (int64_t line = 0; line < perTurn; ++line)
        prefetchRow(base + (turn * perTurn + line) * perLine, k.begin + run);
    } else {
      int64_t lines = llvm::divideCeil(depth, perLine);
      prefetchRow(base + run.floorDiv(lines), k.begin + (run % lines) * perLine);
    }
  }
}

/// The lines of the scalars that the row tile after this one reads in the same step of k: these lie too far apart for
/// hardware prefetchers, and the sums that wait for one fill the window of out-of-order execution.
void ContractionNest::prefetchNextRows(AffineExpr group, const KBlock &k) {
  const Access &access = scalars.access;
  const int64_t bytes = elementBytes(elementOf(access.memref));
  const int64_t apart = std::max<int64_t>(std::abs(access.stride(*p.rowDim).value_or(1)) * bytes, 1);
  const int64_t rows = tileRows * unit.m, rowsOfLine = std::max<int64_t>(task.lineBytes / apart, 1);
  space.at[p.kDim] = k.begin + group * unit.k;
  // The last line of what lies together, and those before it that are not the line of this tile.
  std::function<void(unsigned)> ofTaps = [&](unsigned which) {
    if (which < otherK.size() && p.tapsInside) {
      const unsigned dim = otherK[which];
      const int64_t last = cast<AffineConstantExpr>(space.extent(dim)).getValue() - 1;
      const bool isNear = std::abs(access.stride(dim).value_or(0)) * bytes < task.lineBytes;
      for (int64_t tap = isNear ? last : 0; tap <= last; ++tap) {
        space.at[dim] = constant(tap);
        ofTaps(which + 1);
      }
      return;
    }
    for (int64_t row = 2 * rows - 1; row >= rows; row -= rowsOfLine) {
      moveToRow(tileRow + row);
      prefetch(access, FirstCache);
    }
  };
  ofTaps(0);
}

/// The cache lines that the epilogue will read: without it every fragment waits for memory, as only a few of them fit
/// the window of out-of-order execution. (Lines that are only written are waited for by the store buffer.)
void ContractionNest::prefetchEpilogue() {
  for (const Access &access : epilogueAccesses(task).loads)
    prefetchTile(access);
}

/// The register tile's part of `access`, into the second cache: its rows may share a set of the first. What all rows
/// share (a bias) is near after the first tile.
void ContractionNest::prefetchTile(const Access &access) {
  if (!p.rowDim || !p.laneDim || !access.dims().test(*p.rowDim) || access.stride(*p.laneDim) != 1)
    return;
  int64_t bytes = elementBytes(elementOf(access.memref));
  int64_t perLine = std::max<int64_t>(task.lineBytes / bytes, 1);
  for (int64_t row = 0; row < tileRows * unit.m; ++row)
    for (int64_t lane = 0; lane < tileVectors * unit.n; lane += perLine) {
      moveToRow(tileRow + row);
      moveToLane(tileLane + lane);
      prefetch(access, SecondCache);
    }
}

SmallVector<Value> ContractionNest::step(ValueRange accumulators, AffineExpr group, const KBlock &k) {
  auto aType = fragmentOf(unit.a, scalarElement);
  space.at[p.kDim] = k.begin + group * unit.k;
  SmallVector<Value> b(tileVectors);
  for (int64_t v = 0; v < tileVectors; ++v) {
    auto bType = fragmentOf(unitOf(v).b, vectorElement);
    if (packedVectors) {
      b[v] = loadPacked(space, packedVectors, bType, localPanel, group, v * unit.n, /*freeIsColumn=*/true);
      continue;
    }
    moveToLane(tileLane + v * unit.n);
    b[v] = loadTile(space, vectors.access, bType, {p.kDim, p.laneDim, {}, validColsOf(v)});
  }
  SmallVector<Value> results(accumulators);
  for (int64_t r = 0; r < tileRows; ++r) {
    Value a;
    if (packedScalars) {
      a = loadPacked(space, packedScalars, aType, localRow, group, r * unit.m, /*freeIsColumn=*/false);
    } else {
      moveToRow(tileRow + r * unit.m);
      a = loadTile(space, scalars.access, aType, {p.rowDim, p.kDim, validRowsOf(r), {}}, p.rereadScalars);
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
void ContractionNest::finish(ArrayRef<Value> accumulators) {
  if (task.epilogue.empty())
    return;
  forRowBlocks(epilogueIsTransposed(), [&](const RowBlock &rows) {
    SmallVector<Value> values;
    for (int64_t row = 0; row < rows.count; ++row)
      values.push_back(accumulators[(rows.first + row) * tileVectors + rows.vector]);
    finishRows(rows, values, [&](Type element) { return fragmentOf(unitOf(rows.vector).c, element); });
  });
}

} // namespace tilewright
