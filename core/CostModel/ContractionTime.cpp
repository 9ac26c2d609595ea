//===- ContractionTime.cpp - The time of a plan ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every candidate (unit, side of the lanes, register tile, packing, order) gets
// a time in clocks from the same closed form. The form adds what cannot overlap
// and takes the maximum of what does:
//
//   time = tiles * (steps * max(units, loads, issue, vector bytes / bandwidth) + tile overhead)
//        + C traffic + packing
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/ContractionPlanner.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright {

/// Elements of the iteration space's image under `access`, for accesses without overlap.
double Planner::elementsOf(const Access &access) const {
  double elements = 1;
  llvm::SmallBitVector dims = access.dims();
  for (unsigned dim : dims.set_bits())
    elements *= trips(dim);
  return elements;
}

/// Lines that compete for a set of a cache (0: the first) when the vector operand is read in place: rows of `vectors`
/// vectors at the operand's k stride (power-of-two strides reach few sets).
double Planner::setPressure(const ContractionPlan &p, unsigned level) const {
  const Memory *cache = machine.cache(level);
  const ContractionOperand &operand = p.vectorOperand(c);
  auto stride = operand.access.stride(p.kDim);
  if (!cache || !stride || *stride == 0)
    return 0;
  int64_t bytes = bytesOf(operand.element), sets = cache->bytes / (cache->lineBytes * cache->ways);
  int64_t lines = std::max<int64_t>(std::abs(*stride) * bytes / cache->lineBytes, 1);
  int64_t perRow = llvm::divideCeil(p.vectors * p.unit->n * bytes, cache->lineBytes);
  double reached = std::min<double>(sets, double(sets) / std::gcd(lines, sets) * perRow);
  int64_t k = p.kBlock ? p.kBlock : product(c.k);
  return double(k) * perRow / reached;
}

/// Sizes as the emitter cuts them: even rows, full panels and one narrower panel.
Planner::Extents Planner::extentsOf(const ContractionPlan &p) const {
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c), &s = p.scalarOperand(c);
  Extents x;
  x.lanes = trips(*p.laneDim);
  x.rows = p.rowDim ? trips(*p.rowDim) : 1;
  x.k = product(c.k);
  x.outer = double(product(c.batch)) * product(c.m) * product(c.n) / (x.lanes * x.rows);
  x.vectors = std::ceil(x.lanes / unit.n);
  x.unitRows = std::ceil(x.rows / unit.m);
  x.panels = std::ceil(x.vectors / p.vectors);
  x.rowTiles = std::ceil(x.unitRows / p.rows);
  x.meanRows = x.unitRows / x.rowTiles;
  x.meanVectors = x.vectors / x.panels;
  x.kBlocks = p.kBlock ? std::ceil(double(trips(p.kDim)) / p.kBlock) : 1;
  x.kInBlock = x.k / x.kBlocks;
  x.registerBytes = double(unit.n) * unit.k * bytesOf(elementType(unit.b.element, c.accumulator.getContext()));
  x.rowBytes = double(unit.m) * unit.k * bytesOf(elementType(unit.a.element, c.accumulator.getContext()));
  x.panelBytes = x.kInBlock / unit.k * x.meanVectors * x.registerBytes;
  x.vSource = elementsOf(v.access) * bytesOf(v.element);
  x.sSource = elementsOf(s.access) * bytesOf(s.element);
  return x;
}

/// How often a step of k of the vector operand, read in place, enters another page: 1 where rows are pages apart.
double Planner::pageSteps(const ContractionPlan &p) const {
  const ContractionOperand &v = p.vectorOperand(c);
  auto stride = v.access.stride(p.kDim);
  return stride ? std::min(1.0, double(std::abs(*stride)) * bytesOf(v.element) / machine.pageBytes) : 0;
}

/// Clocks in which one of `lines` lines at a distance of `stride` bytes arrives when it is read again: they stay in the
/// nearest cache of whose sets they reach enough; caches behind the second hash their addresses.
double Planner::stridedLineClocks(double stride, double lines) const {
  for (unsigned level = 0; level < 2; ++level) {
    const Memory *cache = machine.cache(level);
    if (!cache)
      break;
    int64_t sets = cache->bytes / (cache->lineBytes * cache->ways);
    int64_t apart = std::max<int64_t>(stride / cache->lineBytes, 1);
    double reached = double(sets) / std::gcd(apart, sets);
    if (level > 0) // pages lie anywhere in memory, so they reach every group of sets
      reached = std::max(reached, double(sets) * cache->lineBytes / machine.pageBytes);
    if (lines <= 0.75 * reached * cache->ways)
      return level == 0 ? 0 : machine.lineBytes / cache->bytesPerClock;
  }
  return machine.lineBytes /
         machine.scattered(std::max<double>(lines * machine.lineBytes, machine.cache(1) ? machine.cache(1)->bytes : 0));
}

/// Accesses of the vector operand cross cache lines: each counts twice.
double Planner::crossing(const ContractionPlan &p) const {
  auto stride = p.vectorOperand(c).access.stride(p.kDim);
  const Memory *cache = machine.cache(0);
  bool crosses =
      !p.packVectors && cache && (!stride || (*stride * bytesOf(p.vectorOperand(c).element)) % cache->lineBytes != 0);
  return crosses ? 2 : 1;
}

/// Vector accesses that move one fragment of `bytes`: a tile register is filled row by row.
double Planner::accesses(const UnitOperand &operand, double bytes) const {
  if (operand.residence == Residence::BroadcastScalar)
    return 1;
  double vectors = std::max(1.0, bytes / std::max<int64_t>(machine.registerBytes, 1));
  return operand.opaque ? std::max<double>(vectors, operand.opaque->rows) : vectors;
}

/// Bytes per clock at which a panel is read, once per row tile from where it fits. In place it also has to fit the sets
/// of the second cache: long rows reach few of them, and what they evict comes back from where the whole operand lies.
double Planner::vectorBandwidth(const ContractionPlan &p, const Extents &x) const {
  // A prefetched panel arrives beside the one in use.
  double side = p.laneBlock > 0 ? std::min<double>(p.laneBlock, x.panels) : x.panels;
  double held = x.panelBytes * (p.rowsOutside ? side : p.prefetchPanels ? 2 : 1);
  double bandwidth = machine.bandwidth(held);
  const Memory *second = machine.cache(1);
  if (!second || p.packVectors || x.rowTiles <= 1)
    return bandwidth;
  const ContractionOperand &v = p.vectorOperand(c);
  auto stride = v.access.stride(p.kDim);
  bool withinPage = stride && std::abs(*stride) * bytesOf(v.element) < machine.pageBytes;
  bool everyRowTileReadsAll = p.rowsOutside && x.panelBytes * x.panels > Machine::cacheShare * second->bytes;
  if (everyRowTileReadsAll)
    return std::min(bandwidth, machine.scattered(x.vSource));
  if (setPressure(p) > second->ways * (withinPage ? 0.5 : 0.25)) // caches behind it hash their addresses
    return std::min(bandwidth, machine.scattered(std::max<double>(x.panelBytes, second->bytes)));
  return bandwidth;
}

/// Clocks in which one unit row of the scalar operand (or of A's fragments) arrives for one step of k.
double Planner::rowClocks(const ContractionPlan &p, const Extents &x) const {
  const ContractionOperand &s = p.scalarOperand(c);
  if (p.isBlock()) {
    // Fragments are read once a panel from where the rows between two uses fit.
    double rows = p.rowsOutside ? x.meanRows : p.rowBlock ? double(p.rowBlock * p.rows) : x.unitRows;
    return x.rowBytes / machine.bandwidth(rows * x.rowBytes * x.kInBlock / p.unit->k);
  }
  double clocks = bytesOf(s.element) * p.unit->k / machine.bandwidth(x.rows * x.k * bytesOf(s.element));
  // Rows whose distance is a multiple of a few lines share sets of the first cache: too many evict each other.
  const Memory *first = machine.cache(0);
  if (!first || !p.rowDim || p.packScalars)
    return clocks;
  int64_t stride = std::abs(s.access.stride(*p.rowDim).value_or(0)) * bytesOf(s.element);
  int64_t sets = first->bytes / (first->lineBytes * first->ways);
  if (stride >= first->lineBytes && stride % first->lineBytes == 0) {
    double reached = double(sets) / std::gcd(stride / first->lineBytes, sets);
    if (x.meanRows / reached > first->ways - 1)
      clocks += first->lineBytes / machine.bandwidth(first->bytes);
  }
  return clocks;
}

/// All register tiles: their k loops, and what begins and ends them.
double Planner::tileClocks(const ContractionPlan &p, const Extents &x) const {
  const MatrixUnit &unit = *p.unit;
  double bandwidth = vectorBandwidth(p, x), perRow = rowClocks(p, x);
  double loadsA = accesses(unit.a, x.rowBytes), loadsB = accesses(unit.b, x.registerBytes);
  double resultBytes = double(unit.m) * unit.n * bytesOf(c.accumulator);
  double storesC =
      unit.c.opaque ? accesses(unit.c, resultBytes) : std::max<double>(unit.m, accesses(unit.c, resultBytes));
  // In place, each step of k may be on another page: those that do not stay translated are walked by every row tile.
  double translation = 0, pages = pageSteps(p) * x.kInBlock;
  if (!p.packVectors && x.rowTiles > 1)
    translation = pageSteps(p) * machine.translation(p.rowsOutside ? x.vSource / machine.pageBytes : pages);
  // Resources overlap, but not perfectly: the fuller the others, the more the fullest waits.
  double twice = crossing(p);
  auto step = [&](double tileRows, double tileVectors, double issueOfVectors) {
    double units = std::max(tileRows * issueOfVectors, unit.latency);
    double loads = (tileRows * loadsA + tileVectors * loadsB * twice) / machine.loadsPerClock;
    double issue =
        (tileRows * tileVectors + tileRows * loadsA + tileVectors * loadsB + 2.0 / p.kUnroll) / machine.issuePerClock;
    double memory = tileVectors * x.registerBytes / bandwidth + tileRows * perRow + translation;
    double sum = 0;
    for (double resource : {units, loads, issue, memory})
      sum += std::pow(resource, 4);
    return std::pow(sum, 0.25);
  };
  // Filling and draining the accumulators' chains, loop set-up, stores; C of earlier blocks and offsets are added.
  double added = (x.kBlocks - 1) / x.kBlocks * (p.prefetchResult ? 2 : 1) + (p.offsetScalars ? 1 : 0);
  double steps = p.isBlock() ? std::ceil(x.kInBlock / unit.k) : x.kInBlock / unit.k;
  auto tile = [&](double tileRows, double tileVectors, double issueOfVectors) {
    return steps * step(tileRows, tileVectors, issueOfVectors) + unit.latency + 12 +
           tileRows * tileVectors * storesC * (1 / machine.storesPerClock + added / machine.loadsPerClock);
  };
  double lastVectors = x.vectors - (x.panels - 1) * p.vectors, partial = std::fmod(x.lanes, unit.n);
  double lastIssue = lastVectors * unit.issue;
  if (partial && p.tailUnit)
    lastIssue += p.tailUnit->issue - unit.issue;
  double wideRows = std::ceil(x.meanRows), wideTiles = x.unitRows - x.rowTiles * (wideRows - 1);
  double total = 0;
  for (auto [tileRows, count] : {std::pair(wideRows, wideTiles), std::pair(wideRows - 1, x.rowTiles - wideTiles)})
    if (count > 0)
      total += count * ((x.panels - 1) * tile(tileRows, p.vectors, p.vectors * unit.issue) +
                        tile(tileRows, lastVectors, lastIssue));
  double states = 0;
  for (const State &state : unit.states)
    states += state.cost;
  return total * x.outer * x.kBlocks + states;
}

/// C goes through memory once per block of k (read again for all but the first); whole rows are foreseen by the
/// prefetchers, pieces of rows are not. Half of it overlaps with the arithmetic.
double Planner::resultClocks(const ContractionPlan &p, const Extents &x) const {
  double bytes = x.outer * x.rows * x.lanes * bytesOf(c.accumulator);
  bool wholeRows = p.rowsOutside || x.rowTiles == 1 || x.panels == 1;
  // The lines of a tile register's rows leave while the next tile is computed.
  double pieces = p.unit->c.opaque ? machine.scattered(bytes) : 2 * machine.scatteredStores(bytes);
  double written = wholeRows ? 2 * machine.bandwidth(bytes) : pieces;
  double read = p.prefetchResult && !p.unit->c.opaque ? 2 * machine.bandwidth(bytes) : written;
  double total = bytes * (x.kBlocks / written + (x.kBlocks - 1) / read);
  if (c.c.stride(*p.laneDim) != 1) { // elements are scattered, those of fragments also taken out of vectors
    double apart = double(std::abs(c.c.stride(*p.laneDim).value_or(0))) * bytesOf(c.accumulator);
    // Each column of a tile is written into the same lines: into the first cache, or each time into the next one.
    double away = stridedLineClocks(apart, x.meanVectors * p.unit->n);
    double each = 2 / machine.storesPerClock + (p.isBlock() ? 2 / machine.shufflesPerClock : 0) + 3 * away;
    total += x.outer * x.rows * x.lanes * x.kBlocks * each;
  } else if (p.rowDim && !wholeRows) { // the rows of a panel lie on pages of their own
    double apart = double(std::abs(c.c.stride(*p.rowDim).value_or(0))) * bytesOf(c.accumulator);
    double pages = std::min(1.0, apart / machine.pageBytes);
    total += pages * x.outer * x.rows * x.panels * x.kBlocks * machine.translation(pages * x.rows);
  }
  return total;
}

/// Whether the source lines of a panel arrive before they are copied or read.
bool Planner::isPrefetched(const ContractionPlan &p) const {
  // Prefetched lines wait in the second cache until their panel's turn, beside the panel in use: rows that reach few of
  // its sets push each other out again. (What is read in place overlaps with the units; a copy does not.)
  const Memory *waitsIn = machine.cache(1);
  return p.prefetchPanels && (!p.packVectors || !waitsIn || (1 + p.prefetchPanels) * setPressure(p) <= waitsIn->ways);
}

/// The vector operand comes once from where it lies: in long runs if few rows advance side by side over the panels,
/// else in pieces of a panel's width.
double Planner::firstTouchClocks(const ContractionPlan &p, const Extents &x) const {
  const ContractionOperand &v = p.vectorOperand(c);
  bool foreseen = isPrefetched(p) || v.access.stride(p.kDim) == 1 || x.kInBlock <= 16 || x.panels <= 1;
  double run = panelRun(p, x), touched = x.vSource, again = 0;
  if (v.access.stride(*p.laneDim) == 1 && x.panels > 1) {
    // Lines that two panels share come twice, from the second cache if the sets of the first do not hold a block.
    double lines = (run + machine.lineBytes - std::gcd(int64_t(run), machine.lineBytes)) / run;
    if (machine.cache(1) && setPressure(p, 1) > machine.cache(1)->ways)
      touched *= lines;
    else if (machine.cache(0) && setPressure(p, 0) > machine.cache(0)->ways)
      again = x.vSource * (lines - 1) / machine.bandwidth(machine.cache(0)->bytes);
  }
  // Of each piece the first line is waited for; those behind it are foreseen.
  double rate = foreseen ? machine.bandwidth(x.vSource) : machine.scattered(x.vSource);
  if (p.isBlock() && p.packVectors && !foreseen) {
    double piece = run * (p.laneBlock > 0 ? std::min<double>(p.laneBlock, x.panels) : x.panels);
    double lines = std::max(1.0, piece / machine.lineBytes);
    rate = lines / (1 / machine.scattered(x.vSource) + (lines - 1) / machine.bandwidth(x.vSource));
  }
  double first = touched / rate + again;
  // Rows on pages of their own: while the pages that pass between two panels stay translated, each is walked once; else
  // at every visit, by the prefetches and again by what reads the lines.
  double visits = pageSteps(p) * x.vSource / run, pages = std::min(visits, x.vSource / machine.pageBytes);
  double between = pageSteps(p) * x.kInBlock + (p.rowsOutside || x.panels <= 1 ? 0 : x.sSource / machine.pageBytes);
  bool walks = between > machine.translations;
  first += (walks ? visits * (isPrefetched(p) && p.packVectors ? 2 : 1) : pages) * machine.walkClocks;
  if (pageSteps(p) * x.kInBlock > 0.75 * machine.firstTranslations)
    first += visits * machine.translationClocks;
  return first;
}

/// Bytes of a panel's row that lie together in the source.
double Planner::panelRun(const ContractionPlan &p, const Extents &x) const {
  return x.meanVectors * p.unit->n * bytesOf(p.vectorOperand(c).element);
}

/// What the vector operand costs beside the k loops (`total`): first touch and packing.
double Planner::withVectors(const ContractionPlan &p, const Extents &x, double total) const {
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c);
  bool prefetched = isPrefetched(p);
  double first = firstTouchClocks(p, x);
  if (!p.packVectors)
    return prefetched ? std::max(total, first) + 0.1 * first : std::max(total, first) + 0.5 * std::min(total, first);
  // Read with latency exposed, shuffled if transposed or interleaved, written to the cache that holds a panel.
  double group = interleaveOf(unit.b, /*freeIsColumn=*/true), pieceBytes = x.registerBytes * group / unit.k;
  bool transposed = v.access.stride(*p.laneDim) != 1, gathers = transposed && v.access.stride(p.kDim) != 1;
  double perVector = (transposed ? 1 : group) * crossing(p) / machine.loadsPerClock + 1 / machine.storesPerClock +
                     (transposed ? std::log2(unit.n) : group - 1) / machine.shufflesPerClock;
  if (gathers)
    perVector = 3.0 * unit.n;
  // Each line of a panel's rows is asked for once by the prefetching, and once more where panels share it.
  if (prefetched)
    perVector += group * std::ceil(panelRun(p, x) / machine.lineBytes) / x.meanVectors / machine.loadsPerClock;
  double pieces = elementsOf(v.access) / (unit.n * group);
  // The column sums that an offset of the scalars needs read the panel once more, as one more row.
  if (p.offsetScalars)
    total += pieces * (1 / machine.loadsPerClock + x.registerBytes / vectorBandwidth(p, x));
  // The copy waits for what is not yet near; prefetched lines arrive while the panel before is multiplied.
  double copy = pieces * (perVector + pieceBytes / machine.bandwidth(x.panelBytes));
  return (prefetched ? std::max(total, first) + copy + 0.1 * first : total + copy + first) * (1 + copyMargin / 2);
}

/// Row tiles read scalars whose k is strided: another line each step. The next row tiles use a line again while a block
/// of k of them stays; what no cache keeps is missed by every tile.
double Planner::stridedScalarClocks(const ContractionPlan &p, const Extents &x, double passes) const {
  const ContractionOperand &s = p.scalarOperand(c);
  double apart = double(std::abs(s.access.stride(p.kDim).value_or(0))) * bytesOf(s.element);
  double linesOfStep = std::max(1.0, x.meanRows * bytesOf(s.element) / machine.lineBytes);
  double pages = std::min(1.0, apart / machine.pageBytes);
  double each = stridedLineClocks(apart, x.kInBlock * linesOfStep) + pages * machine.translation(pages * x.kInBlock);
  return passes * x.outer * x.rowTiles * x.kBlocks * x.kInBlock * linesOfStep * each;
}

/// What the scalar operand (or A's fragments) costs beside that.
double Planner::withScalars(const ContractionPlan &p, const Extents &x, double total) const {
  const ContractionOperand &s = p.scalarOperand(c);
  double elements = elementsOf(s.access);
  if (p.isBlock()) {
    // Rows along k come in long runs; blocks of other rows in pieces of a unit's rows, whose lines two blocks share.
    // Row tiles outside read all of it for each block of panels.
    bool runs = s.access.stride(p.kDim) == 1;
    double piece = p.unit->m * bytesOf(s.element), lines = std::max(1.0, machine.lineBytes / piece);
    double fromMemory =
        runs ? x.sSource / machine.bandwidth(x.sSource) : x.sSource * lines / machine.scattered(x.sSource);
    if (p.rowsOutside && p.laneBlock > 0 && !p.packScalars)
      fromMemory *= std::ceil(x.panels / p.laneBlock);
    if (!p.packScalars)
      return std::max(total, fromMemory) + 0.5 * std::min(total, fromMemory);
    // Vectors along k, or rows along the free dimension whose blocks are transposed.
    double perVector = 1 / machine.loadsPerClock + 1 / machine.storesPerClock;
    double perElement = perVector * bytesOf(s.element) / machine.registerBytes;
    if (s.access.stride(p.kDim) != 1)
      perElement = p.rowDim && s.access.stride(*p.rowDim) == 1
                       ? perElement * (1 + std::log2(p.unit->m) / machine.shufflesPerClock)
                       : 3;
    return (total + elements * perElement + fromMemory) * (1 + copyMargin);
  }
  if (p.packScalars) {
    bool contiguous = s.access.stride(p.kDim) == 1 || (p.rowDim && s.access.stride(*p.rowDim) == 1);
    double repeats = p.rowsOutside || !p.laneBlock || packsScalarsOnce(p) ? 1 : std::ceil(x.panels / p.laneBlock);
    double perElement = (1 / machine.loadsPerClock + 1 / machine.storesPerClock + 1) / (contiguous ? p.unit->n : 1);
    total += repeats * (elements * perElement + x.sSource / machine.scattered(x.sSource));
    if (std::abs(s.access.stride(p.kDim).value_or(0)) != 1)
      total += stridedScalarClocks(p, x, repeats);
    return total * (1 + copyMargin);
  }
  // Scalars whose k is strided: the whole operand comes once a pass, beside the lines that every tile touches.
  if (std::abs(s.access.stride(p.kDim).value_or(0)) != 1) {
    double strided = stridedScalarClocks(p, x, x.panels);
    const Memory *second = machine.cache(1);
    double passes = second && x.sSource <= Machine::cacheShare * second->bytes ? 1 : x.panels;
    total = std::max(total, strided) + 0.25 * std::min(total, strided);
    total += x.sSource * passes / machine.scattered(x.sSource) * 0.5;
  }
  return total;
}

double Planner::clocks(const ContractionPlan &p) const {
  Extents x = extentsOf(p);
  return withScalars(p, x, withVectors(p, x, tileClocks(p, x) + resultClocks(p, x)));
}

} // namespace tilewright
