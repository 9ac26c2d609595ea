//===- ContractionTraffic.cpp - What the operands of a plan cost ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a plan's time that stands beside its k loops: both operands come
// from where they lie, once or in every pass, and are packed if the plan says so.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include "core/CostModel/Time/Overlap.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tilewright {

/// Work and the arrival of prefetched lines beside it. Loops that prefetch take longer even where nothing reads the
/// lines (docs/contractions.md has the measurement).
double Planner::beside(double work, double arrival) const {
  return overlapped({work, arrival}) + (1 - machine.hidden) * std::min(work, arrival);
}

/// Whether the source lines of a panel arrive before they are copied or read.
bool Planner::isPrefetched(const ContractionPlan &p) const {
  // Prefetched lines wait in the second cache until their panel's turn, beside the panel in use: rows that reach few of
  // its sets push each other out again. (What is read in place overlaps with the units; a copy does not.)
  const Memory *waitsIn = machine.cache(1);
  return p.prefetchPanels &&
         (!p.packVectors || p.boundVectors || !waitsIn || (1 + p.prefetchPanels) * setPressure(p) <= waitsIn->ways);
}

/// The vector operand comes once from where it lies: in long runs if few rows advance side by side over the panels,
/// else in segments of a panel's width.
double Planner::firstTouchClocks(const ContractionPlan &p, const Extents &x) const {
  const ContractionOperand &v = p.vectorOperand(c);
  if (p.boundVectors) { // panels lie one after the other, a block of k of each from its first byte to its last
    double bytes = x.kBlocks * x.panels * x.panelBytes;
    return bytes / (machine.bandwidth(bytes) * (isPrefetched(p) ? 1 : machine.followed));
  }
  bool foreseen = isPrefetched(p) || strideOf(v.access, p.kDim) == 1 || (p.packVectors && stagesVectors(p)) ||
                  x.kInBlock <= machine.streams || x.panels <= 1;
  double run = panelRun(p, x), touched = x.vSource, again = 0;
  if (strideOf(v.access, *p.laneDim) == 1 && x.panels > 1) {
    // Lines that two panels share come twice, from the second cache if the sets of the first do not hold a block.
    double lines = (run + machine.lineBytes - std::gcd(int64_t(run), machine.lineBytes)) / run;
    if (machine.cache(1) && setPressure(p, 1) > machine.cache(1)->ways)
      touched *= lines;
    else if (machine.cache(0) && setPressure(p, 0) > machine.cache(0)->ways)
      again = x.vSource * (lines - 1) / machine.bandwidth(machine.cache(0)->bytes);
  }
  // Of each segment the first line is waited for; those after it are foreseen. Where segments end early in more rows
  // than prefetchers follow, these bring lines for nothing.
  bool inPieces = strideOf(v.access, *p.laneDim) == 1 && x.panels > 1 && x.kInBlock > machine.streams;
  double piece = p.isBlock() && p.packVectors ? packedRun(p, x) : run;
  double rate = foreseen ? machine.bandwidth(x.vSource) : machine.scattered(x.vSource);
  if (foreseen && !isPrefetched(p) && x.panels > 1)
    rate *= machine.followed;
  if (p.isBlock() && p.packVectors && !foreseen) {
    double lines = std::max(1.0, piece / machine.lineBytes);
    rate = lines / (1 / machine.scattered(x.vSource) + (lines - 1) / machine.bandwidth(x.vSource));
  }
  if (inPieces)
    rate = std::min(rate, machine.pieces(x.vSource, piece));
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
  return x.meanVectors * p.unit->n * bytesOf(p.vectorOperand(c));
}

/// The same of all panels that are packed at once; 0 where the source is transposed.
double Planner::packedRun(const ContractionPlan &p, const Extents &x) const {
  if (strideOf(p.vectorOperand(c).access, *p.laneDim) != 1)
    return 0;
  return panelRun(p, x) * (p.laneBlock > 0 ? std::min<double>(p.laneBlock, x.panels) : x.panels);
}

/// Whether the copy of the vector operand reads vectors along k where it lies, or along k and the taps of each element.
bool Planner::packsAlongK(const ContractionPlan &p) const {
  const Access &access = p.vectorOperand(c).access;
  if (strideOf(access, p.kDim) == 1)
    return true;
  SmallVector<unsigned> taps = llvm::filter_to_vector(c.k, [&](unsigned dim) { return dim != p.kDim; });
  return p.tapsInside && p.unit->k == 1 && !p.windows &&
         isOneRun(access, p.kDim, inMemoryOrder(access, taps), [&](unsigned dim) { return trips(dim); });
}

/// Whether the copy of the vector operand reads rows in the order of memory into a buffer where k is contiguous.
bool Planner::stagesVectors(const ContractionPlan &p) const {
  const Access &access = p.vectorOperand(c).access;
  int64_t bits = bitWidth(p.unit->b.element);
  return strideOf(access, *p.laneDim) != 1 && !packsAlongK(p) &&
         PackedFragments{p.unit->n, interleaveOf(p.unit->b, /*freeIsColumn=*/true), p.unit->k, bits}.readsAlongK();
}

/// Clocks of a packed vector of `group` elements of k where the copy closes gaps: accesses of its segments cross lines.
double Planner::windowVectorClocks(const ContractionPlan &p, const Extents &x, double group) const {
  double apart = double(std::abs(strideOf(p.vectorOperand(c).access, *p.laneDim).value_or(1)));
  WindowCopy copy(p.vectors * p.unit->n, trips(*p.laneDim), p.unit->n);
  double each = 2 * apart * group / machine.loadsPerClock + 2 / machine.storesPerClock +
                ((apart - 1) * group + group - 1) / machine.shufflesPerClock;
  return double(copy.segments * copy.perSegment) * each / double(p.vectors);
}

/// What the vector operand costs beside the k loops (`total`): first touch and packing.
double Planner::withVectors(const ContractionPlan &p, const Extents &x, double total) const {
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c);
  bool prefetched = isPrefetched(p);
  double first = firstTouchClocks(p, x);
  if (!p.packVectors || p.boundVectors)
    return prefetched ? beside(total, first) : std::max(total, first) + 0.5 * std::min(total, first);
  // Read with latency exposed, shuffled if transposed or interleaved, written to the cache that holds a panel.
  double group = interleaveOf(unit.b, /*freeIsColumn=*/true), pieceBytes = x.registerBytes * group / unit.k;
  bool transposed = strideOf(v.access, *p.laneDim) != 1, gathers = transposed && !packsAlongK(p);
  double perVector = (transposed ? 1 : group) * crossing(p) / machine.loadsPerClock + 1 / machine.storesPerClock +
                     (transposed ? std::log2(unit.n) : group - 1) / machine.shufflesPerClock;
  if (p.windows &&
      (std::abs(strideOf(v.access, p.kDim).value_or(0)) != 1 ||
       PackedFragments{unit.n, int64_t(group), unit.k, bitWidth(unit.b.element)}.outreaches(trips(p.kDim))))
    perVector = windowVectorClocks(p, x, group);
  else if (gathers)
    perVector = stagesVectors(p) ? perVector + stagedElement() * unit.n * group : 3.0 * unit.n * group;
  // Each line of a panel's rows is asked for once by the prefetching, and once more where panels share it.
  if (prefetched)
    perVector += group * std::ceil(panelRun(p, x) / machine.lineBytes) / x.meanVectors / machine.loadsPerClock;
  double pieces = elementsOf(v.access) / (unit.n * group);
  // The column sums that an offset of the scalars needs read the panel once more, as one more row.
  if (p.offsetScalars)
    total += pieces * (1 / machine.loadsPerClock + x.registerBytes / vectorBandwidth(p, x));
  // The copy waits for what is not yet near; prefetched lines arrive while the panel before is multiplied.
  double held = x.panelBytes * (p.laneBlock > 0 ? std::min<double>(p.laneBlock, x.panels) : x.panels);
  double copy = pieces * (perVector + pieceBytes / machine.writing(held));
  if (prefetched) {
    // Fragments come through the second cache all the time, into which the prefetched lines go: each waits for the
    // other.
    double both = p.isBlock() ? std::hypot(total, first) : beside(total, first);
    return (both + copy) * (1 + copyMargin / 2);
  }
  // What lies together in long runs comes while it is copied.
  if (packedRun(p, x) >= 8 * machine.lineBytes)
    copy = std::max(copy, first) + 0.5 * std::min(copy, first) - first;
  return (total + (copy + first) / tilesOfCopy(p, v)) * (1 + copyMargin / 2);
}

/// Whether a row of the scalar operand is read from its first element to its last.
bool Planner::readsAlongK(const ContractionPlan &p) const {
  const Access &scalars = p.scalarOperand(c).access;
  int64_t together = 1;
  if (p.tapsInside)
    for (unsigned dim : c.k)
      together *= dim == p.kDim ? 1 : trips(dim);
  return std::abs(strideOf(scalars, p.kDim).value_or(0)) == together;
}

/// The dimensions that `rows` rows of the scalar operand run through.
SmallVector<Walk> Planner::scalarRows(const ContractionPlan &p, double rows) const {
  SmallVector<Walk> dims;
  if (!p.rowDim)
    return dims;
  auto add = [&](unsigned dim) { dims.push_back({bytesApart(p.scalarOperand(c), dim), double(trips(dim))}); };
  add(*p.rowDim);
  llvm::for_each(p.outerRows, add);
  return firstPositions(std::move(dims), rows);
}

/// Lines that `rows` rows of the scalar operand touch in one step of kDim, with its taps where they are inside.
double Planner::scalarLines(const ContractionPlan &p, double rows) const {
  const ContractionOperand &s = p.scalarOperand(c);
  SmallVector<Walk> walks = scalarRows(p, rows);
  for (unsigned dim : c.k)
    if (p.tapsInside && dim != p.kDim)
      walks.push_back({bytesApart(s, dim), double(trips(dim))});
  const Segments segments = segmentsOf(std::move(walks), bytesOf(s), machine.lineBytes);
  double shared = segments.extent < machine.lineBytes
                      ? std::min(1.0, std::max(bytesApart(s, p.kDim), segments.extent) / machine.lineBytes)
                      : 1;
  return segments.unitsOf(machine.lineBytes) * shared;
}

/// Pieces of `unit` bytes (lines, pages) that a tile of `rows` rows of the scalar operand touches in a block of k. Taps
/// come back to those of others.
double Planner::scalarPieces(const ContractionPlan &p, const Extents &x, double rows, double unit) const {
  const ContractionOperand &s = p.scalarOperand(c);
  SmallVector<Walk> walks = scalarRows(p, rows);
  for (unsigned dim : c.k)
    walks.push_back({bytesApart(s, dim), dim == p.kDim ? double(trips(dim)) / x.kBlocks : double(trips(dim))});
  return segmentsOf(std::move(walks), bytesOf(s), unit).unitsOf(unit);
}

/// Bytes of the lines that `rows` rows of the scalar operand touch in a block of k, or of their elements if those are
/// fewer.
double Planner::scalarBytes(const ContractionPlan &p, const Extents &x, double rows) const {
  return std::min(rows * x.kInBlock * bytesOf(p.scalarOperand(c)),
                  scalarPieces(p, x, rows, machine.lineBytes) * machine.lineBytes);
}

/// Row tiles read scalars whose k is strided: other lines each step, perhaps on another page. The next row tiles use
/// them again while a block of k of them stays beside a panel; what no cache keeps is missed by every tile. Clocks of
/// both in a step of k.
std::pair<double, double> Planner::stridedScalars(const ContractionPlan &p, const Extents &x) const {
  double apart = bytesApart(p.scalarOperand(c), p.kDim);
  double taps = p.tapsInside ? product(c.k) / double(trips(p.kDim)) : 1, steps = x.kInBlock / taps;
  double linesOfStep = scalarLines(p, x.meanRows);
  // Taps that do not run inside come back to the lines and pages of others.
  double perStep = std::min(linesOfStep, scalarPieces(p, x, x.meanRows, machine.lineBytes) / steps);
  double pages = std::min(1.0, apart / machine.pageBytes);
  double translated = std::min(pages * steps, scalarPieces(p, x, x.meanRows, machine.pageBytes));
  return {linesOfStep * stridedLineClocks(apart, steps, perStep, x.panelBytes) / taps,
          pages * machine.translation(translated) / taps};
}

/// Scalars read in place come once from where they lie. Whenever a tile turns to other rows or to the next block of k,
/// the prefetchers begin anew: until they are far enough ahead, lines are waited for, those of as many steps at once as
/// fit the window of out-of-order execution. Rows that lie together in a page are one stream.
double Planner::scalarTouchClocks(const ContractionPlan &p, const Extents &x) const {
  const ContractionOperand &s = p.scalarOperand(c);
  const Memory &from = machine.level(x.sSource);
  if (&from == machine.cache(0) || &from == machine.cache(1))
    return 0;
  double run = x.kInBlock * bytesOf(s), rows = x.meanRows * p.unit->m, waited = 0;
  double apart = p.rowDim ? bytesApart(s, *p.rowDim) : 0;
  if (rows * std::max(run, apart) > machine.pageBytes) {
    double instructions = x.meanRows * x.meanVectors + x.meanVectors + (x.meanVectors > 1 ? x.meanRows : 0);
    double ofLine = instructions * machine.lineBytes / (bytesOf(s) * p.unit->k);
    double lines = std::min(machine.ramp, std::ceil(run / machine.lineBytes));
    waited = x.outer * x.rowTiles * x.kBlocks * lines / std::max(1.0, machine.window / ofLine) * from.latency;
  }
  return x.sSource / machine.bandwidth(x.sSource) + waited;
}

/// What the scalar operand (or A's fragments) costs beside that.
double Planner::withScalars(const ContractionPlan &p, const Extents &x, double total) const {
  const ContractionOperand &s = p.scalarOperand(c);
  double elements = elementsOf(s.access);
  if (p.isBlock()) {
    // Rows along k come in long runs; blocks of other rows in segments of a unit's rows, whose lines two blocks share.
    // Row tiles outside read all of it for each block of panels.
    bool runs = strideOf(s.access, p.kDim) == 1;
    double piece = p.unit->m * bytesOf(s), lines = std::max(1.0, machine.lineBytes / piece);
    double fromMemory =
        x.sSource / (runs ? machine.bandwidth(x.sSource)
                          : std::min(machine.scattered(x.sSource) / lines, machine.pieces(x.sSource, piece)));
    if (p.rowsOutside && p.laneBlock > 0 && !p.packScalars)
      fromMemory *= std::ceil(x.panels / p.laneBlock);
    if (!p.packScalars)
      return std::max(total, fromMemory) + 0.5 * std::min(total, fromMemory);
    // Vectors along k, or rows along the free dimension whose blocks are transposed.
    double perVector = 1 / machine.loadsPerClock + 1 / machine.storesPerClock;
    double perElement = perVector * bytesOf(s) / machine.registerBytes;
    int64_t bits = bitWidth(p.unit->a.element);
    bool staged =
        PackedFragments{p.unit->m, interleaveOf(p.unit->a, /*freeIsColumn=*/false), p.unit->k, bits}.readsAlongK();
    if (strideOf(s.access, p.kDim) != 1)
      perElement = p.rowDim && strideOf(s.access, *p.rowDim) == 1
                       ? perElement * (1 + std::log2(p.unit->m) / machine.shufflesPerClock)
                   : staged ? perElement + stagedElement()
                            : 3;
    return (total + (elements * perElement + fromMemory) / tilesOfCopy(p, s)) * (1 + copyMargin);
  }
  if (p.packScalars) {
    bool contiguous =
        strideOf(s.access, p.kDim) == 1 || (p.rowDim && strideOf(s.access, *p.rowDim) == 1 && !p.rowWindows);
    double repeats = p.rowsOutside || !p.laneBlock || packsScalarsOnce(p) ? 1 : std::ceil(x.panels / p.laneBlock);
    // A step's row is copied whole; a width that is no power of two in several segments.
    bool runs = strideOf(s.access, p.kDim) != 1 && contiguous;
    double width = runs ? x.meanRows / llvm::popcount(uint64_t(std::ceil(x.meanRows))) : contiguous ? p.unit->n : 1;
    double perElement = (1 / machine.loadsPerClock + 1 / machine.storesPerClock + 1) / width;
    repeats /= tilesOfCopy(p, s);
    total += repeats * (elements * perElement + x.sSource / machine.scattered(x.sSource));
    if (!readsAlongK(p)) {
      auto [lines, pages] = stridedScalars(p, x);
      total += repeats * x.outer * x.rowTiles * x.k * (lines + pages);
    }
    return total * (1 + copyMargin);
  }
  // Scalars whose k is strided: the whole operand comes once a pass, beside the lines that every tile touches.
  if (!readsAlongK(p)) {
    const Memory *second = machine.cache(1);
    double passes = second && x.sSource <= CoreNumbers::cacheShare * second->bytes ? 1 : x.panels;
    if (p.prefetchRows)
      return beside(total, x.sSource * passes / machine.bandwidth(x.sSource));
    return total + x.sSource * passes / machine.scattered(x.sSource) * 0.5;
  }
  return overlapped({total, scalarTouchClocks(p, x)});
}

} // namespace tilewright
