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

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include "core/CostModel/Schedules/RowBlocks.h"
#include "core/CostModel/Time/Overlap.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {

/// Strides and elements of the operands, found once: every candidate asks for them many times.
Planner::Reach::Reach(const Access &access, const Planner &planner) {
  for (unsigned dim = 0, rank = planner.c.nest.tripCounts.size(); dim < rank; ++dim)
    strides.push_back(access.stride(dim));
  dims = access.dims();
  for (unsigned dim : dims.set_bits())
    elements *= planner.trips(dim);
  distinct = elements;
  if (auto type = cast<MemRefType>(access.memref.getType()); type.hasStaticShape())
    distinct = std::min(elements, double(type.getNumElements()));
}

/// How many of `sets` sets the lines at `steps` steps of `stride` bytes fall into. Whole lines apart, they come back to
/// the same sets after a round; what the stride has beyond whole lines moves each round on.
static double reachedSets(const Memory &cache, int64_t sets, double stride, double steps) {
  const double apart = stride / double(cache.lineBytes), lines = std::max(1.0, std::round(apart));
  const double round = double(sets) / double(std::gcd(int64_t(lines), sets));
  const double moves = apart < 1 ? 0 : std::abs(apart - lines);
  return std::min(double(sets), round * (1 + steps * moves));
}

/// Lines that fall into a set of `cache` on average when `rows` rows, `stride` bytes apart, are read whose parts take
/// `perRow` lines. Strides of powers of two reach few sets of a page; pages lie anywhere in memory, so they reach every
/// group of sets.
double Planner::linesOfSet(const Memory &cache, int64_t stride, double perRow, double rows) const {
  int64_t sets = cache.bytes / (cache.lineBytes * cache.ways);
  int64_t setsOfPage = std::min<int64_t>(sets, machine.pageBytes / cache.lineBytes);
  double reachedOfPage = std::min<double>(setsOfPage, reachedSets(cache, setsOfPage, double(stride), rows) * perRow);
  return rows * perRow / (reachedOfPage * sets / setsOfPage);
}

/// The same of the vector operand in place (cache 0: the first): rows of `vectors` vectors at its k stride.
double Planner::setPressure(const ContractionPlan &p, unsigned level) const {
  const Memory *cache = machine.cache(level);
  const ContractionOperand &operand = p.vectorOperand(c);
  auto stride = strideOf(operand.access, p.kDim);
  if (!cache || !stride || *stride == 0)
    return 0;
  int64_t bytes = bytesOf(operand);
  int64_t perRow = llvm::divideCeil(p.vectors * p.unit->n * bytes, cache->lineBytes);
  return linesOfSet(*cache, std::abs(*stride) * bytes, perRow, double(p.kBlock ? p.kBlock : product(c.k)));
}

/// Sizes as the emitter cuts them: even rows, full panels and one narrower panel.
Planner::Extents Planner::extentsOf(const ContractionPlan &p) const {
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c), &s = p.scalarOperand(c);
  Extents x;
  x.lanes = laneTrips(p);
  x.rows = rowTrips(p);
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
  x.registerBytes = double(unit.n) * unit.k * bytesOf(unit.b.element);
  x.rowBytes = double(unit.m) * unit.k * bytesOf(unit.a.element);
  x.panelBytes = x.kInBlock / unit.k * x.meanVectors * x.registerBytes;
  x.vSource = reachOf(v.access).distinct * bytesOf(v);
  x.sSource = reachOf(s.access).distinct * bytesOf(s);
  return x;
}

/// How often a step of k of the vector operand, read in place, enters another page, in the mean: 1 where rows are pages
/// apart, less where taps inside of k lie in one.
double Planner::pageSteps(const ContractionPlan &p) const {
  const ContractionOperand &v = p.vectorOperand(c);
  double pages = pagesApart(v.access, p.kDim, bytesOf(v)), steps = 1;
  for (unsigned dim : c.k)
    if (p.tapsInside && dim != p.kDim) {
      const double taps = double(trips(dim));
      pages += steps * (taps - 1) * pagesApart(v.access, dim, bytesOf(v));
      steps *= taps;
    }
  return std::min(1.0, pages / steps);
}

/// The part of a page that lies between two steps along `dim`.
double Planner::pagesApart(const Access &access, unsigned dim, int64_t bytes) const {
  return std::min(1.0, double(std::abs(strideOf(access, dim).value_or(0))) * double(bytes) / double(machine.pageBytes));
}

/// Clocks in which a line arrives that is read again after `steps` steps of `stride` bytes, of `perStep` lines each,
/// and `between` bytes of another operand: they stay in the nearest cache that has room and of whose sets they reach
/// enough; caches behind the second hash their addresses.
double Planner::stridedLineClocks(double stride, double steps, double perStep, double between) const {
  const double lines = steps * perStep;
  for (unsigned level = 0; level < 2; ++level) {
    const Memory *cache = machine.cache(level);
    if (!cache)
      break;
    int64_t sets = cache->bytes / (cache->lineBytes * cache->ways);
    double reached = std::min(double(sets), reachedSets(*cache, sets, stride, steps) * std::max(1.0, perStep));
    if (level > 0) // pages lie anywhere in memory, so they reach every group of sets
      reached = std::max(reached, double(sets) * cache->lineBytes / machine.pageBytes);
    const bool fits = lines * double(cache->lineBytes) + between <= 0.75 * double(cache->bytes);
    if (fits && lines <= 0.75 * reached * cache->ways)
      return level == 0 ? 0 : machine.lineBytes / cache->bytesPerClock;
  }
  return machine.lineBytes /
         machine.scattered(std::max<double>(lines * machine.lineBytes, machine.cache(1) ? machine.cache(1)->bytes : 0));
}

/// Accesses of the vector operand cross cache lines: each counts twice.
double Planner::crossing(const ContractionPlan &p) const {
  auto stride = strideOf(p.vectorOperand(c).access, p.kDim);
  const Memory *cache = machine.cache(0);
  bool crosses =
      !p.packVectors && cache && (!stride || (*stride * bytesOf(p.vectorOperand(c))) % cache->lineBytes != 0);
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
  // A packed panel that fits the first cache beside the rows of a tile stays there: what is prefetched goes into the
  // second one.
  double own = x.panelBytes + x.meanRows * p.unit->m * x.kInBlock * bytesOf(p.scalarOperand(c));
  if (const Memory *first = machine.cache(0);
      first && p.packVectors && !p.isBlock() && !p.rowsOutside && side <= 1 && own <= 0.75 * first->bytes)
    return 1 / (1 / (x.rowTiles * machine.bandwidth(x.panelBytes + first->bytes)) +
                (1 - 1 / x.rowTiles) / first->bytesPerClock);
  // With the row tiles outside, each of them reads all panels; between two reads of one lie the other panels, and the
  // row tile with its part of C.
  double tile = x.meanRows * p.unit->m * (x.kInBlock * bytesOf(p.scalarOperand(c)) + x.lanes * sumBytes);
  double bandwidth = p.rowsOutside ? machine.cyclic(held, tile) : machine.bandwidth(held);
  // Between the packing of a block of panels and their first use lies the packing of the others, whose sources pass
  // through the caches as well; they are not used again, so half of them counts.
  if (p.packVectors && !p.boundVectors && side > 1)
    bandwidth =
        1 / (1 / (x.rowTiles * machine.bandwidth(1.5 * side * x.panelBytes)) + (1 - 1 / x.rowTiles) / bandwidth);
  const Memory *second = machine.cache(1);
  if (!second || p.packVectors || x.rowTiles <= 1)
    return bandwidth;
  const ContractionOperand &v = p.vectorOperand(c);
  auto stride = strideOf(v.access, p.kDim);
  // Rows that share sets of the first cache come from the second each time.
  if (const Memory *first = machine.cache(0); setPressure(p, 0) > first->ways)
    bandwidth = std::min(bandwidth, second->bytesPerClock);
  bool withinPage = stride && std::abs(*stride) * bytesOf(v) < machine.pageBytes;
  if (setPressure(p) > second->ways * (withinPage ? 0.5 : 0.25)) // caches after it hash their addresses
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
  // Every panel reads the rows of a block of k again, from the second cache if its sets hold them.
  double bytes = scalarBytes(p, x, p.rowsOutside ? x.meanRows : x.rows);
  if (const Memory *second = machine.cache(1); second && p.rowDim && !p.packScalars && !p.rowsOutside) {
    double lines = std::max(1.0, x.kInBlock * bytesOf(s) / second->lineBytes);
    if (readsAlongK(p) && linesOfSet(*second, int64_t(bytesApart(s, *p.rowDim)), lines, x.rows) > 0.75 * second->ways)
      bytes = std::max<double>(bytes, second->bytes);
  }
  double clocks = bytesOf(s) * p.unit->k / machine.bandwidth(bytes);
  // Rows whose distance is a multiple of a few lines share sets of the first cache: too many evict each other.
  const Memory *first = machine.cache(0);
  if (!first || !p.rowDim || p.packScalars)
    return clocks;
  int64_t stride = int64_t(bytesApart(s, *p.rowDim));
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
  double resultBytes = double(unit.m) * unit.n * sumBytes;
  double storesC =
      unit.c.opaque ? accesses(unit.c, resultBytes) : std::max<double>(unit.m, accesses(unit.c, resultBytes));
  // In place, each step of k may be on another page: those that do not stay translated are walked by every row tile.
  double translation = 0, pages = pageSteps(p) * x.kInBlock;
  if (!p.packVectors && x.rowTiles > 1)
    translation = pageSteps(p) * machine.translation(p.rowsOutside ? x.vSource / machine.pageBytes : pages);
  // Each step along k of scalars in place is in other lines, and on another page.
  double lines = 0;
  if (!p.isBlock() && !p.packScalars && !readsAlongK(p)) {
    auto [ofLines, ofPages] = stridedScalars(p, x);
    lines = ofLines;
    translation += ofPages;
  }
  // The out-of-order window hides most of what comes from beyond the first cache.
  const Memory *first = machine.cache(0);
  double exposed = first && bandwidth < 0.75 * first->bytesPerClock && !p.isBlock() ? machine.exposed : 0;
  double twice = crossing(p);
  auto step = [&](double tileRows, double tileVectors, double issueOfVectors) {
    double units = std::max(tileRows * issueOfVectors, unit.latency);
    double loads = (tileRows * loadsA + tileVectors * loadsB * twice) / machine.loadsPerClock;
    double issue =
        (tileRows * tileVectors + tileRows * loadsA + tileVectors * loadsB + 2.0 / p.kUnroll) / machine.issuePerClock;
    double traffic = twice > 1 ? machine.crossingTraffic : 1;
    double arrival = tileVectors * x.registerBytes * traffic / bandwidth;
    double memory = arrival + tileRows * perRow + lines;
    return overlapped({units, loads, issue, memory, translation}) + exposed * (arrival + translation);
  };
  // Filling and draining the accumulators' chains, loop set-up, stores; C of earlier blocks and offsets are added.
  double added =
      (x.kBlocks - 1) / x.kBlocks * (addsResultAfter(c, p, options.mayReassociate) ? 2 : 1) + (p.offsetScalars ? 1 : 0);
  double steps = p.isBlock() ? std::ceil(x.kInBlock / unit.k) : x.kInBlock / unit.k;
  const double chains = double(sumChainsOf(c, p, options.mayReassociate).count - 1);
  auto tile = [&](double tileRows, double tileVectors, double issueOfVectors) {
    return steps * step(tileRows, tileVectors, issueOfVectors) + unit.latency + 12 +
           tileRows * tileVectors * storesC *
               ((1 + chains) / machine.storesPerClock + (added + chains) / machine.loadsPerClock);
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

/// Whether rows of a register tile are neighbours in an array, and its lanes are not (ContractionNest::isTransposed).
bool Planner::movesTransposed(const ContractionPlan &p, const Reach &reach) const {
  return p.rowDim && !p.resultGaps && (p.unit->m == 1 || p.unit->c.opaque) && reach.dims.test(*p.laneDim) &&
         reach.strides[*p.laneDim] != 1 && reach.strides[*p.rowDim] == 1;
}

/// All register tiles once to or from such an array, `perClock` accesses in a clock. Blocks of rows are transposed and
/// have an access for each lane (ContractionRows.cpp); a row by itself has two, one that takes the element out of its
/// vector. Fragments in registers of their own come row by row from a buffer.
double Planner::transposedClocks(const ContractionPlan &p, const Extents &x, double perClock) const {
  return sumOverBlocks(p, x, [&](int64_t block) {
    const double lanes = double(p.unit->n);
    const double shuffles = block == 1 ? 0 : double(block) * llvm::Log2_64(block) + lanes - double(block);
    return shuffles / machine.shufflesPerClock + lanes * (block == 1 ? 2 : 1) / perClock;
  });
}

/// The sum of `ofBlock` over the blocks of rows of all register tiles, for each vector of lanes.
double Planner::sumOverBlocks(const ContractionPlan &p, const Extents &x,
                              llvm::function_ref<double(int64_t)> ofBlock) const {
  const int64_t most = p.isBlock() ? rowsFromBuffer : p.unit->n;
  auto ofRows = [&](int64_t rows) {
    double sum = 0;
    for (int64_t block; rows > 0; rows -= block) {
      block = rowsOfBlock(rows, most);
      sum += ofBlock(block);
    }
    return sum;
  };
  const int64_t rows = std::llround(std::ceil(x.meanRows));
  const double wide = x.unitRows - x.rowTiles * double(rows - 1); // tiles of so many rows; others have one less
  const double column = wide * ofRows(rows * p.unit->m) + (x.rowTiles - wide) * ofRows((rows - 1) * p.unit->m);
  return x.outer * x.lanes / double(p.unit->n) * column;
}

/// The accesses beside C that are reads of other arrays than those that are written there.
SmallVector<Planner::Reach, 2> Planner::readsBesideC() const {
  auto isWritten = [&](Value memref) {
    return memref == c.c.memref || llvm::any_of(options.besideC, [&](const Access &access) {
             return isa<affine::AffineStoreOp>(access.op) && access.memref == memref;
           });
  };
  SmallVector<Reach, 2> reads;
  for (const Access &access : options.besideC)
    if (isa<affine::AffineLoadOp>(access.op) && !isWritten(access.memref))
      reads.emplace_back(access, *this);
  return reads;
}

/// C goes through memory once per block of k (read again for all but the first); whole rows are foreseen by the
/// prefetchers, segments of rows are not. Half of it overlaps with the arithmetic.
double Planner::resultClocks(const ContractionPlan &p, const Extents &x, double tiles) const {
  double bytes = x.outer * x.rows * x.lanes * sumBytes;
  // Row tiles outside go along rows of C, but where the lanes are not along them: then they jump between as many rows
  // as there are lanes.
  bool transposed = strideOf(c.c, *p.laneDim) != 1;
  bool wholeRows = (p.rowsOutside && !transposed) || x.rowTiles == 1 || x.panels == 1;
  // The lines of a tile register's rows leave while the next tile is computed.
  double pieces = p.unit->c.opaque ? std::min(machine.scattered(bytes), machine.writing(bytes))
                                   : 2 * machine.scatteredStores(bytes);
  double written = wholeRows ? 2 * std::min(machine.writing(bytes), machine.bandwidth(bytes)) : pieces;
  // What was prefetched to be added to is near when it is stored, and hardly anything waits until it is written back.
  bool fetched = p.prefetchResult && !p.unit->c.opaque;
  double again = fetched ? 1 / (2 * machine.bandwidth(bytes)) + 1 / (4 * machine.writing(bytes)) : 2 / written;
  double total = bytes * (1 / written + (x.kBlocks - 1) * again);
  if (transposed) { // elements are scattered, those of fragments also taken out of vectors
    double apart = double(std::abs(strideOf(c.c, *p.laneDim).value_or(0))) * sumBytes;
    // Each column of a tile is written into the same lines: into the first cache, or each time into the next one, from
    // where a line comes and to where another goes. That happens while the next tile is computed, for as many stores
    // as wait in the store queue: vendors' manuals give it a fourth or a fifth of the places of the window.
    double away = 2 * stridedLineClocks(apart, x.meanVectors * p.unit->n, 1, 0), stores = 0;
    if (movesTransposed(p, reachOfC)) {
      stores = sumOverBlocks(p, x, [&](int64_t) { return double(p.unit->n); });
      total += x.kBlocks * transposedClocks(p, x, machine.storesPerClock) +
               (x.kBlocks - 1) * transposedClocks(p, x, machine.loadsPerClock);
    } else {
      stores = x.outer * x.rows * x.lanes;
      total += x.kBlocks * stores * (2 / machine.storesPerClock + (p.isBlock() ? 2 / machine.shufflesPerClock : 0)) +
               (x.kBlocks - 1) * stores * (1 / machine.loadsPerClock + 1 / machine.shufflesPerClock);
    }
    const double waiting = machine.window / 4, ofTile = stores / (x.outer * x.rowTiles * x.panels);
    const double behind = std::min(1.0, waiting / std::max(1.0, ofTile)), missed = x.kBlocks * stores * away;
    total += overlapped({tiles, behind * missed}) - tiles + (1 - behind) * missed;
  } else if (p.rowDim && !wholeRows) { // the rows of a panel lie on pages of their own
    double pages = pagesApart(c.c, *p.rowDim, sumBytes);
    double others = p.packScalars ? 0 : pagesApart(p.scalarOperand(c).access, *p.rowDim, bytesOf(p.scalarOperand(c)));
    double visits = x.outer * x.rows * x.panels * x.kBlocks;
    // The walks of pages that follow each other do not wait for each other.
    if ((pages + others) * x.rows + pageSteps(p) * x.kInBlock > machine.translations)
      total += (pages + others) * visits * machine.walkClocks / machine.walks;
    else
      total += pages * visits / (fetched ? x.kBlocks : 1) * machine.translation(pages * x.rows);
  }
  for (const Reach &reach : readBesideC)
    if (movesTransposed(p, reach))
      total += transposedClocks(p, x, machine.loadsPerClock);
  return total;
}

double Planner::clocks(const ContractionPlan &p, double most) const {
  Extents x = extentsOf(p);
  double least = tileClocks(p, x);
  least += resultClocks(p, x, least); // what operands take comes on top
  return least < most ? withScalars(p, x, withVectors(p, x, least)) : std::numeric_limits<double>::infinity();
}

} // namespace tilewright
