//===- ContractionModel.cpp - How a contraction is tiled and mapped -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every candidate (unit, side of the lanes, register tile, packing, order) gets
// a time in clocks from the same closed form; the least wins. The form adds what
// cannot overlap and takes the maximum of what does:
//
//   time = tiles * (steps * max(units, loads, issue, vector bytes / bandwidth) + tile overhead)
//        + C traffic + packing
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/ContractionModel.h"
#include "core/Analysis/ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;

namespace tilewright {

llvm::json::Object ContractionPlan::toJSON() const {
  return llvm::json::Object{{"unit", unit ? unit->name : ""},
                            {"lanes_on", lanesOnM ? "m" : "n"},
                            {"rows", rows},
                            {"vectors", vectors},
                            {"k_block", kBlock},
                            {"row_block", rowBlock},
                            {"lane_block", laneBlock},
                            {"k_unroll", kUnroll},
                            {"pack_vectors", packVectors},
                            {"pack_scalars", packScalars},
                            {"offset_scalars", offsetScalars},
                            {"rows_outside", rowsOutside},
                            {"prefetch_panels", prefetchPanels},
                            {"prefetch_result", prefetchResult},
                            {"threads", threads},
                            {"seconds", seconds}};
}

llvm::Expected<std::vector<std::pair<std::string, int64_t>>> parsePlanOverrides(StringRef text) {
  static constexpr StringLiteral names[] = {"rows",      "vectors",  "k_block",      "row_block",    "lane_block",
                                            "k_unroll",  "lanes_on_m", "pack_vectors", "pack_scalars", "rows_outside",
                                            "prefetch_panels", "prefetch_result"};
  std::vector<std::pair<std::string, int64_t>> overrides;
  SmallVector<StringRef> fields;
  text.split(fields, ',', -1, /*KeepEmpty=*/false);
  for (StringRef field : fields) {
    auto [name, value] = field.split('=');
    int64_t number;
    if (!llvm::is_contained(names, name))
      return llvm::createStringError("unknown plan field '" + name + "' (known: " + llvm::join(ArrayRef<StringLiteral>(names), ", ") + ")");
    if (value.getAsInteger(10, number))
      return llvm::createStringError("plan field '" + name + "' needs an integer, got '" + value + "'");
    overrides.emplace_back(name.str(), number);
  }
  return overrides;
}

/// The field that an override names.
static int64_t planField(const ContractionPlan &p, StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("rows", p.rows)
      .Case("vectors", p.vectors)
      .Case("k_block", p.kBlock)
      .Case("row_block", p.rowBlock)
      .Case("lane_block", p.laneBlock)
      .Case("k_unroll", p.kUnroll)
      .Case("lanes_on_m", p.lanesOnM)
      .Case("pack_vectors", p.packVectors)
      .Case("pack_scalars", p.packScalars)
      .Default(p.rowsOutside);
}

namespace {

/// Iterations that the model assumes of a loop whose trip count is not known.
constexpr int64_t assumedTrips = 256;

/// The numbers of a chip that the form needs, read once.
struct Machine {
  static constexpr double cacheShare = 0.375;
  explicit Machine(const TargetDescription &target) {
    auto [count, bytes] = target.vectorRegisters();
    registers = count;
    loadsPerClock = target.rate("load").value_or(1);
    storesPerClock = target.rate("store").value_or(0.5);
    shufflesPerClock = target.rate("shuffle").value_or(1);
    issuePerClock = target.rate("issue").value_or(4);
    translations = target.rate("translations").value_or(1024);
    walkClocks = target.rate("walk").value_or(60);
    firstTranslations = target.rate("translations.first").value_or(64);
    translationClocks = target.rate("translate").value_or(7);
    outstandingMisses = target.rate("misses").value_or(16);
    clockHz = target.clockMHz() * 1e6;
    pageBytes = 4096;
    for (const Memory *cache : target.caches())
      levels.push_back(cache);
    if (!levels.empty())
      lineBytes = levels.front()->lineBytes;
    for (const Memory &memory : target.memories())
      if (memory.kind == MemoryKind::Global) {
        levels.push_back(&memory);
        if (memory.pageBytes)
          pageBytes = memory.pageBytes;
      }
  }
  /// The nearest level that holds `bytes`; the other operands and imperfect replacement take the rest of a cache.
  const Memory &level(double bytes) const {
    for (const Memory *level : levels)
      if (level->kind != MemoryKind::Cache || bytes <= cacheShare * level->bytes)
        return *level;
    return *levels.back();
  }
  /// Bytes per clock from that level when addresses follow each other. Caches beyond the second are shared: a core
  /// cannot count on more than half of what it gets alone.
  double bandwidth(double bytes) const {
    const Memory &from = level(bytes);
    bool shared = levels.size() > 2 && from.kind == MemoryKind::Cache && &from != levels[0] && &from != levels[1];
    return from.bytesPerClock * (shared ? 0.5 : 1);
  }
  /// Bytes per clock when each line is a miss that no prefetcher foresaw: what the outstanding misses allow.
  double scattered(double bytes) const {
    const Memory &from = level(bytes);
    return std::min(bandwidth(bytes), outstandingMisses * lineBytes / std::max(from.latency, 1.0));
  }
  /// What stays in the first cache beside other operands.
  double nearBytes() const { return cache(0) ? cacheShare * cache(0)->bytes : 0; }
  const Memory *cache(unsigned i) const {
    return i < levels.size() && levels[i]->kind == MemoryKind::Cache ? levels[i] : nullptr;
  }
  int64_t registers, pageBytes, lineBytes = 64;
  double loadsPerClock, storesPerClock, shufflesPerClock, issuePerClock, outstandingMisses, clockHz;
  double translations, walkClocks; // pages that stay translated, clocks of a page walk
  double firstTranslations, translationClocks; // those that cost nothing, clocks of one of the others
  std::vector<const Memory *> levels; // nearest first
};

int64_t bytesOf(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

class Planner {
public:
  Planner(const Contraction &c, const TargetDescription &target, const PlanOptions &options)
      : c(c), target(target), machine(target), options(options) {}

  std::optional<ContractionPlan> plan(std::string &reason);

private:
  int64_t trips(unsigned dim) const { return c.nest.tripCounts[dim].value_or(assumedTrips); }
  int64_t product(ArrayRef<unsigned> dims) const {
    int64_t total = 1;
    for (unsigned dim : dims)
      total *= trips(dim);
    return total;
  }
  bool isStatic(unsigned dim) const { return c.nest.tripCounts[dim].has_value(); }

  bool chooseDims(ContractionPlan &p) const;
  bool fitUnit(ContractionPlan &p) const;
  double clocks(const ContractionPlan &p) const;
  double elementsOf(const Access &access) const;
  const MatrixUnit *tailUnitFor(const ContractionPlan &p) const;
  void sizes(ContractionPlan &p, std::optional<ContractionPlan> &best) const;
  double setPressure(const ContractionPlan &p, unsigned level = 1) const;
  bool prefetchesResult(int64_t fragments) const;
  bool packsScalarsOnce(const ContractionPlan &p) const;
  void splitOverCores(ContractionPlan &p) const;

  const Contraction &c;
  const TargetDescription &target;
  Machine machine;
  const PlanOptions &options;
};

/// Lanes where C is contiguous, else where the operand is; rows on the longest dimension of the other side.
bool Planner::chooseDims(ContractionPlan &p) const {
  ArrayRef<unsigned> laneDims = p.lanesOnM ? c.m : c.n, rowDims = p.lanesOnM ? c.n : c.m;
  const Access &vectors = p.vectorOperand(c).access, &scalars = p.scalarOperand(c).access;
  auto isLinear = [](const Access &access, unsigned dim) {
    return llvm::all_of(access.map.getResults(),
                        [&](AffineExpr result) { return linearCoefficient(result, dim).has_value(); });
  };
  auto best = [&](ArrayRef<unsigned> dims, auto score) -> std::optional<unsigned> {
    std::optional<unsigned> chosen;
    for (unsigned dim : dims)
      if (!chosen || score(dim) > score(*chosen))
        chosen = dim;
    return chosen;
  };
  p.laneDim = best(laneDims, [&](unsigned dim) {
    double score = std::min<double>(trips(dim), 64);
    if (c.c.stride(dim) == 1)
      score *= 16;
    if (vectors.stride(dim) == 1)
      score *= 2;
    return score;
  });
  if (!p.laneDim || !isLinear(vectors, *p.laneDim))
    return false;
  p.rowDim = best(rowDims, [&](unsigned dim) { return std::min<double>(trips(dim), 64) + dim * 0.01; });
  if (p.rowDim && !isLinear(scalars, *p.rowDim))
    return false;
  auto kDim = best(c.k, [&](unsigned dim) {
    return std::min<double>(trips(dim), 64) * (vectors.dims().test(dim) && scalars.dims().test(dim) ? 4 : 1) *
           (vectors.stride(dim) == 1 || scalars.stride(dim) == 1 ? 2 : 1);
  });
  p.kDim = *kDim;
  return isLinear(vectors, p.kDim) && isLinear(scalars, p.kDim);
}

/// Whether the unit takes the operands, directly or widened by the packing copy (which is then forced).
bool Planner::fitUnit(ContractionPlan &p) const {
  MLIRContext *context = c.accumulator.getContext();
  const MatrixUnit &unit = *p.unit;
  if (unit.a.residence != Residence::BroadcastScalar || unit.b.residence != Residence::VectorRegister || unit.m != 1 ||
      elementType(unit.c.element, context) != c.accumulator)
    return false;
  if (!options.mayReassociate && unit.k > 1 && isa<FloatType>(c.accumulator))
    return false;
  auto isUnsigned = [](ElementKind kind) { return kind == ElementKind::U8 || kind == ElementKind::U4; };
  auto accepts = [&](const ContractionOperand &operand, const UnitOperand &slot, bool &pack, bool *offset) {
    Type type = elementType(slot.element, context);
    if (type == operand.element) {
      if (!isa<IntegerType>(type) || type == c.accumulator || isUnsigned(slot.element) == operand.isUnsigned)
        return true;
      if (!offset || operand.isUnsigned)
        return false;
      *offset = pack = true;
      return true;
    }
    // A wider slot of the same kind holds every value.
    bool widens = isa<FloatType>(type) == isa<FloatType>(operand.element) && !isUnsigned(slot.element) &&
                  type.getIntOrFloatBitWidth() > operand.element.getIntOrFloatBitWidth() &&
                  operand.element.getIntOrFloatBitWidth() >= 8;
    pack |= widens;
    return widens;
  };
  bool forceVectors = false, forceScalars = false;
  p.offsetScalars = false;
  if (!accepts(p.scalarOperand(c), unit.a, forceScalars, &p.offsetScalars) ||
      !accepts(p.vectorOperand(c), unit.b, forceVectors, nullptr))
    return false;
  p.packVectors = forceVectors || p.offsetScalars;
  p.packScalars = forceScalars;
  const Access &vectors = p.vectorOperand(c).access, &scalars = p.scalarOperand(c).access;
  // A product with one vector whose matrix lies along k is a row of reductions: no unit helps, a transposing copy hurts.
  if (trips(*p.laneDim) == 1 || ((!p.rowDim || trips(*p.rowDim) == 1) && vectors.stride(*p.laneDim) != 1 &&
                                 vectors.stride(p.kDim) == 1))
    return false;
  if (unit.k > 1) {
    p.packVectors = true;
    bool wholeGroups = isStatic(p.kDim) && trips(p.kDim) % unit.k == 0 && scalars.stride(p.kDim) == 1;
    p.packScalars |= !wholeGroups;
  }
  if (vectors.stride(*p.laneDim) != 1)
    p.packVectors = true;
  return true;
}

/// The cheapest narrower unit of the same kind that holds the lanes of a partial last vector.
const MatrixUnit *Planner::tailUnitFor(const ContractionPlan &p) const {
  if (!isStatic(*p.laneDim))
    return nullptr;
  int64_t rest = trips(*p.laneDim) % p.unit->n;
  const MatrixUnit *best = nullptr;
  for (const MatrixUnit &unit : target.units()) {
    auto alike = [](const UnitOperand &x, const UnitOperand &y) {
      return x.element == y.element && x.residence == y.residence;
    };
    if (rest == 0 || unit.n < rest || unit.n >= p.unit->n || unit.m != p.unit->m || unit.k != p.unit->k ||
        !alike(unit.a, p.unit->a) || !alike(unit.b, p.unit->b) || !alike(unit.c, p.unit->c) ||
        unit.issue >= p.unit->issue)
      continue;
    if (!best || unit.issue < best->issue || (unit.issue == best->issue && unit.n < best->n))
      best = &unit;
  }
  return best;
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

/// Whether the scalars of a block of k can be packed before the panels: no loop between them chooses others.
bool Planner::packsScalarsOnce(const ContractionPlan &p) const {
  llvm::SmallBitVector inVectors = p.vectorOperand(c).access.dims();
  return p.rowBlock == 0 && llvm::all_of(llvm::concat<const unsigned>(c.batch, c.m, c.n), [&](unsigned dim) {
           return dim == p.rowDim || dim == p.laneDim || inVectors.test(dim);
         });
}

/// Whether a tile's place in C (and in what is added to it) is fetched while its k loop runs: the tile takes longer than
/// the latency of the level that holds C, and a line for each fragment is next to nothing beside the loop.
bool Planner::prefetchesResult(int64_t fragments) const {
  constexpr int64_t leastSteps = 64; // one prefetch beside 64 units: below a hundredth on two load ports
  double bytes = elementsOf(c.c) * bytesOf(c.accumulator);
  const Memory *first = machine.cache(0);
  if (!first || bytes <= Machine::cacheShare * first->bytes)
    return false;
  int64_t steps = product(c.k);
  return steps >= leastSteps && steps * fragments >= machine.level(bytes).latency;
}

/// Elements of the iteration space's image under `access`, for accesses without overlap.
double Planner::elementsOf(const Access &access) const {
  double elements = 1;
  llvm::SmallBitVector dims = access.dims();
  for (unsigned dim : dims.set_bits())
    elements *= trips(dim);
  return elements;
}

double Planner::clocks(const ContractionPlan &p) const {
  // A buffer displaces other data and needs translations of its own, which no term below counts.
  constexpr double copyMargin = 0.02;
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c), &s = p.scalarOperand(c);
  double lanes = trips(*p.laneDim), rows = p.rowDim ? trips(*p.rowDim) : 1, k = product(c.k);
  double outer = double(product(c.batch)) * product(c.m) * product(c.n) / (lanes * rows);
  // Sizes as the emitter cuts them: even rows, full panels and one narrower panel.
  double vectorsTotal = std::ceil(lanes / unit.n), panels = std::ceil(vectorsTotal / p.vectors);
  double rowTiles = std::ceil(rows / p.rows), meanRows = rows / rowTiles, meanVectors = vectorsTotal / panels;
  double kBlocks = p.kBlock ? std::ceil(double(trips(p.kDim)) / p.kBlock) : 1;
  double kInBlock = k / kBlocks;
  int64_t vBytes = bytesOf(elementType(unit.b.element, c.accumulator.getContext())), cBytes = bytesOf(c.accumulator);
  double registerBytes = double(unit.n) * unit.k * vBytes;

  // What one step of k of a register tile waits for.
  double crossing = 1;
  if (!p.packVectors) {
    auto stride = v.access.stride(p.kDim);
    const Memory *cache = machine.cache(0);
    if (cache && (!stride || (*stride * bytesOf(v.element)) % cache->lineBytes != 0))
      crossing = 2;
  }
  // The panel is read once per row tile from where it fits. In place it also has to fit the sets of the second cache:
  // long rows reach few of them, and what they evict comes back from where the whole operand lies.
  double panelBytes = kInBlock / unit.k * meanVectors * registerBytes;
  // A prefetched panel arrives beside the one in use.
  double held = p.rowsOutside ? panelBytes * panels : panelBytes * (p.prefetchPanels ? 2 : 1);
  double vectorBandwidth = machine.bandwidth(held);
  double vSource = elementsOf(v.access) * bytesOf(v.element), sSource = elementsOf(s.access) * bytesOf(s.element);
  if (const Memory *second = machine.cache(1); second && !p.packVectors && rowTiles > 1) {
    auto stride = v.access.stride(p.kDim);
    bool withinPage = stride && std::abs(*stride) * bytesOf(v.element) < machine.pageBytes;
    bool everyRowTileReadsAll = p.rowsOutside && panelBytes * panels > Machine::cacheShare * second->bytes;
    if (everyRowTileReadsAll)
      vectorBandwidth = std::min(vectorBandwidth, machine.scattered(vSource));
    else if (setPressure(p) > second->ways * (withinPage ? 0.5 : 0.25)) // caches behind it hash their addresses
      vectorBandwidth = std::min(vectorBandwidth, machine.scattered(std::max<double>(panelBytes, second->bytes)));
  }
  // Rows whose distance is a multiple of a few lines share sets of the first cache: too many evict each other.
  double scalarClocks = bytesOf(s.element) * unit.k / machine.bandwidth(rows * k * bytesOf(s.element)); // a row
  if (const Memory *first = machine.cache(0); first && p.rowDim && !p.packScalars) {
    int64_t stride = std::abs(s.access.stride(*p.rowDim).value_or(0)) * bytesOf(s.element);
    int64_t sets = first->bytes / (first->lineBytes * first->ways);
    if (stride >= first->lineBytes && stride % first->lineBytes == 0) {
      double reached = double(sets) / std::gcd(stride / first->lineBytes, sets);
      if (meanRows / reached > first->ways - 1)
        scalarClocks += first->lineBytes / machine.bandwidth(first->bytes);
    }
  }
  // In place, each step of k may be on another page: those that do not stay translated are walked by every row tile.
  double translation = 0;
  auto kStride = v.access.stride(p.kDim);
  bool pageRows = kStride && std::abs(*kStride) * bytesOf(v.element) >= machine.pageBytes;
  if (pageRows && !p.packVectors && rowTiles > 1)
    translation = (p.rowsOutside ? vSource / machine.pageBytes : kInBlock) > machine.translations ? machine.walkClocks : 4;
  // Resources overlap, but not perfectly: the fuller the others, the more the fullest waits.
  auto step = [&](double tileRows, double tileVectors, double issueOfVectors) {
    double units = std::max(tileRows * issueOfVectors, unit.latency);
    double loads = (tileRows + tileVectors * crossing) / machine.loadsPerClock;
    double issue = (tileRows * tileVectors + tileRows + tileVectors + 2.0 / p.kUnroll) / machine.issuePerClock;
    double memory = tileVectors * registerBytes / vectorBandwidth + tileRows * scalarClocks + translation;
    double sum = 0;
    for (double resource : {units, loads, issue, memory})
      sum += std::pow(resource, 4);
    return std::pow(sum, 0.25);
  };
  // Filling and draining the accumulators' chains, loop set-up, stores; C of earlier blocks and offsets are added.
  double added = (kBlocks - 1) / kBlocks * (p.prefetchResult ? 2 : 1) + (p.offsetScalars ? 1 : 0);
  auto tile = [&](double tileRows, double tileVectors, double issueOfVectors) {
    return kInBlock / unit.k * step(tileRows, tileVectors, issueOfVectors) + unit.latency + 12 +
           tileRows * tileVectors * (1 / machine.storesPerClock + added / machine.loadsPerClock);
  };
  double lastVectors = vectorsTotal - (panels - 1) * p.vectors, partial = std::fmod(lanes, unit.n);
  double lastIssue = lastVectors * unit.issue;
  if (partial && p.tailUnit)
    lastIssue += p.tailUnit->issue - unit.issue;
  double wideRows = std::ceil(meanRows), wideTiles = rows - rowTiles * (wideRows - 1);
  double total = 0;
  for (auto [tileRows, count] : {std::pair(wideRows, wideTiles), std::pair(wideRows - 1, rowTiles - wideTiles)})
    if (count > 0)
      total += count * ((panels - 1) * tile(tileRows, p.vectors, p.vectors * unit.issue) +
                        tile(tileRows, lastVectors, lastIssue));
  double tiles = outer * panels * rowTiles * kBlocks;
  total *= outer * kBlocks;

  // C goes through memory once per block of k (read again for all but the first); whole rows are foreseen by the
  // prefetchers, pieces of rows are not. Half of it overlaps with the arithmetic.
  double cTotal = outer * rows * lanes * cBytes;
  bool wholeRows = p.rowsOutside || rowTiles == 1 || panels == 1;
  double written = wholeRows ? 2 * machine.bandwidth(cTotal) : machine.scattered(cTotal) / 4;
  double read = p.prefetchResult ? 2 * machine.bandwidth(cTotal) : written;
  total += cTotal * (kBlocks / written + (kBlocks - 1) / read);
  if (c.c.stride(*p.laneDim) != 1) // elements are scattered
    total += outer * rows * lanes * kBlocks * 2 / machine.storesPerClock;

  // The vector operand comes once from where it lies: in long runs if few rows advance side by side over the panels,
  // else in pieces of a panel's width.
  double vElements = elementsOf(v.access), sElements = elementsOf(s.access);
  // Prefetched lines wait in the second cache until their panel's turn, beside the panel in use: rows that reach few of
  // its sets push each other out again.
  const Memory *waitsIn = machine.cache(1);
  // (What is read in place overlaps with the units; a copy does not.)
  bool prefetched = p.prefetchPanels && (!p.packVectors || !waitsIn ||
                                         (1 + p.prefetchPanels) * setPressure(p) <= waitsIn->ways);
  bool foreseen = prefetched || v.access.stride(p.kDim) == 1 || kInBlock <= 16 || panels <= 1;
  double run = meanVectors * unit.n * bytesOf(v.element); // bytes of a panel's row that lie together
  double touched = vSource, again = 0;
  if (v.access.stride(*p.laneDim) == 1 && panels > 1) {
    // Lines that two panels share come twice, from the second cache if the sets of the first do not hold a block.
    double lines = (run + machine.lineBytes - std::gcd(int64_t(run), machine.lineBytes)) / run;
    if (machine.cache(1) && setPressure(p, 1) > machine.cache(1)->ways)
      touched *= lines;
    else if (machine.cache(0) && setPressure(p, 0) > machine.cache(0)->ways)
      again = vSource * (lines - 1) / machine.bandwidth(machine.cache(0)->bytes);
  }
  double first = touched / (foreseen ? machine.bandwidth(vSource) : machine.scattered(vSource)) + again;
  // Rows that are pages apart: while a block's pages stay in the translation buffers, each page is walked once.
  if (pageRows) {
    double pages = vSource / machine.pageBytes, visits = vSource / run;
    first += (kInBlock > machine.translations ? visits : pages) * machine.walkClocks;
    if (kInBlock > 0.75 * machine.firstTranslations)
      first += visits * machine.translationClocks;
  }
  if (p.packVectors) {
    // Read with latency exposed, shuffled if transposed or interleaved, written to the cache that holds a panel.
    bool transposed = v.access.stride(*p.laneDim) != 1, gathers = transposed && v.access.stride(p.kDim) != 1;
    double perVector = (transposed ? 1 : unit.k) * crossing / machine.loadsPerClock + 1 / machine.storesPerClock +
                       (transposed ? std::log2(unit.n) : unit.k - 1) / machine.shufflesPerClock;
    if (gathers)
      perVector = 3.0 * unit.n;
    // Each line of a panel's rows is asked for once by the prefetching, and once more where panels share it.
    if (prefetched)
      perVector += unit.k * std::ceil(run / machine.lineBytes) / meanVectors / machine.loadsPerClock;
    // The column sums that an offset of the scalars needs read the panel once more, as one more row.
    if (p.offsetScalars)
      total += vElements / (unit.n * unit.k) * (1 / machine.loadsPerClock + registerBytes / vectorBandwidth);
    // The copy waits for what is not yet near; prefetched lines arrive while the panel before is multiplied.
    double copy = vElements / (unit.n * unit.k) * (perVector + registerBytes / machine.bandwidth(panelBytes));
    total = (prefetched ? std::max(total, first) + copy + 0.1 * first : total + copy + first) * (1 + copyMargin / 2);
  } else {
    total = prefetched ? std::max(total, first) + 0.1 * first : std::max(total, first) + 0.5 * std::min(total, first);
  }
  if (p.packScalars) {
    bool contiguous = s.access.stride(p.kDim) == 1 || (p.rowDim && s.access.stride(*p.rowDim) == 1);
    double repeats = p.rowsOutside || !p.laneBlock || packsScalarsOnce(p) ? 1 : std::ceil(panels / p.laneBlock);
    double perElement = (1 / machine.loadsPerClock + 1 / machine.storesPerClock + 1) / (contiguous ? unit.n : 1);
    total += repeats * (sElements * perElement + sSource / machine.scattered(sSource));
    total *= 1 + copyMargin;
  } else {
    // Scalars whose k is strided touch another line each step; lines are used again by the next row tiles while a
    // block of k of them fits, and come from the whole operand once a pass.
    auto stride = s.access.stride(p.kDim);
    if (!stride || std::abs(*stride) != 1) {
      double line = 64, lines = tiles * kInBlock * std::max(1.0, meanRows * bytesOf(s.element) / line);
      const Memory *second = machine.cache(1);
      double passes = second && sSource <= Machine::cacheShare * second->bytes ? 1 : panels;
      total += lines * line / machine.bandwidth(kInBlock * line) * 0.25;
      total += sSource * passes / machine.scattered(sSource) * 0.5;
    }
  }
  return total;
}

/// Register tiles that fit, blocks of k that keep a panel in the second cache, both orders, packing or not.
void Planner::sizes(ContractionPlan &p, std::optional<ContractionPlan> &best) const {
  const MatrixUnit &unit = *p.unit;
  bool mustPackVectors = p.packVectors, mustPackScalars = p.packScalars;
  int64_t rowExtent = p.rowDim ? trips(*p.rowDim) : 1, vectorsExtent = llvm::divideCeil(trips(*p.laneDim), unit.n);
  const Memory *second = machine.cache(1) ? machine.cache(1) : machine.cache(0);
  int64_t elementBytes = bytesOf(elementType(unit.b.element, c.accumulator.getContext()));
  auto consider = [&](ContractionPlan candidate) {
    for (auto &[name, value] : options.overrides) {
      if (name == "k_block")
        candidate.kBlock = value;
      else if (name == "row_block")
        candidate.rowBlock = value;
      else if (name == "lane_block")
        candidate.laneBlock = value;
      else if (name == "k_unroll")
        candidate.kUnroll = std::max<int64_t>(value, 1);
      else if (name == "prefetch_panels")
        candidate.prefetchPanels = value;
      else if (name == "prefetch_result")
        candidate.prefetchResult = value;
      else if (planField(candidate, name) != value)
        return;
    }
    // A broadcast scalar that units of two widths share is overwritten by the narrower one: its sum moves to the
    // scalar's register, a spare one for each row.
    if (candidate.rows * candidate.vectors + candidate.vectors + 1 + candidate.rows > machine.registers)
      candidate.tailUnit = nullptr;
    candidate.seconds = clocks(candidate) / machine.clockHz;
    if (!best || candidate.seconds < best->seconds * 0.995)
      best = candidate;
  };
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(6, vectorsExtent); ++vectors)
    for (int64_t rows = 1; rows <= std::min<int64_t>(machine.registers, rowExtent); ++rows) {
      if (rows * vectors + vectors + 1 > machine.registers)
        break;
      for (bool packVectors : {false, true}) {
        if (mustPackVectors && !packVectors)
          continue;
        for (bool packScalars : {false, true}) {
          if (mustPackScalars && !packScalars)
            continue;
          for (bool rowsOutside : {false, true}) {
            ContractionPlan q = p;
            q.rows = rows;
            q.vectors = vectors;
            q.packVectors = packVectors;
            q.packScalars = packScalars;
            q.rowsOutside = rowsOutside;
            // LLVM loads the vectors of all unrolled steps together: each needs a register.
            q.kUnroll = rows * vectors < 16 ? 4 : rows * vectors + 2 * vectors + 1 <= machine.registers ? 2 : 1;
            // Packed right before use, panel by panel, unless other loops or whole rows reuse the panels.
            q.laneBlock = packVectors && !rowsOutside && (!packScalars || packsScalarsOnce(q)) ? 1 : 0;
            // All of k, or even blocks: panels of a fraction of the second cache; few rows at a time where each
            // element of the vector operand is used once.
            int64_t panelRow = vectors * unit.n * elementBytes, k = trips(p.kDim);
            int64_t inner = product(c.k) / std::max<int64_t>(k, 1), unitSteps = unit.k * q.kUnroll;
            SmallVector<int64_t> limits{k};
            for (int64_t part : {2, 4, 8})
              limits.push_back(std::max<int64_t>(second ? second->bytes / part / (panelRow * inner) : k, 64));
            limits.append({1024, 512, 256, 128, 64});
            if (rowExtent <= rows)
              limits.append({32, 16, 8});
            // Where the vector operand does not stay in the second cache, the panel after this one is prefetched.
            double vSource = elementsOf(p.vectorOperand(c).access) * bytesOf(p.vectorOperand(c).element);
            bool staysNear = second && vSource <= Machine::cacheShare * second->bytes;
            bool canPrefetch = !rowsOutside && (!packVectors || q.laneBlock == 1) && isStatic(p.kDim) && c.k.size() == 1 && vectorsExtent > vectors;
            q.prefetchResult = prefetchesResult(rows * vectors);
            q.prefetchPanels = canPrefetch && !staysNear ? (rowExtent <= rows ? 2 : 1) : 0;
            int64_t previous = 0;
            for (int64_t limit : limits) {
              if (!isStatic(p.kDim) || limit > k)
                limit = k;
              int64_t block = llvm::alignTo(llvm::divideCeil(k, llvm::divideCeil(k, limit)), unitSteps);
              if (block == previous)
                continue;
              previous = block;
              q.kBlock = block >= k ? 0 : block;
              consider(q);
            }
          }
        }
      }
    }
}

/// Cores share the dimension whose parts are most even and read least twice.
void Planner::splitOverCores(ContractionPlan &p) const {
  constexpr double launchSeconds = 5e-6; // fork and join of a warm thread team
  int64_t threads = options.threads;
  if (threads <= 1 || p.seconds < 4 * launchSeconds)
    return;
  auto evenness = [&](int64_t parts) { return double(parts) / (llvm::divideCeil(parts, threads) * threads); };
  int64_t panels = trips(*p.laneDim) / (p.unit->n * p.vectors), rows = p.rowDim ? trips(*p.rowDim) / p.rows : 1;
  llvm::SmallBitVector inVectors = p.vectorOperand(c).access.dims();
  int64_t outer = 0;
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n))
    if (dim != p.laneDim && (!p.rowDim || dim != *p.rowDim) && inVectors.test(dim) && !outer)
      outer = trips(dim);
  // What every core reads whole costs its bytes once more for each further core; a packed operand is written as well.
  auto apart = [&](const ContractionOperand &shared, bool packed) {
    double bytes = elementsOf(shared.access) * bytesOf(shared.element);
    double again = (threads - 1) * bytes * (packed ? 3 : 1) / machine.bandwidth(bytes) / machine.clockHz;
    return p.seconds / (p.seconds + again);
  };
  double best = 0;
  auto offer = [&](ContractionPlan::Split split, double score) {
    if (score > best) {
      best = score;
      p.split = split;
      p.threads = threads;
    }
  };
  if (outer >= threads)
    offer(ContractionPlan::Split::Outer, evenness(outer));
  if (panels >= threads)
    offer(ContractionPlan::Split::Panels, evenness(panels) * apart(p.scalarOperand(c), p.packScalars));
  if (rows >= threads)
    offer(ContractionPlan::Split::Rows, evenness(rows) * apart(p.vectorOperand(c), p.packVectors));
}

std::optional<ContractionPlan> Planner::plan(std::string &reason) {
  std::optional<ContractionPlan> best;
  bool anyDims = false;
  for (const MatrixUnit &unit : target.units())
    for (bool lanesOnM : {false, true}) {
      ContractionPlan p;
      p.unit = &unit;
      p.lanesOnM = lanesOnM;
      if (!chooseDims(p))
        continue;
      anyDims = true;
      if (!fitUnit(p))
        continue;
      p.tailUnit = tailUnitFor(p);
      sizes(p, best);
    }
  if (!best) {
    reason = anyDims ? "no unit of the chip takes these element types and shapes"
                     : "no dimension of the result can carry vector lanes";
    return std::nullopt;
  }
  splitOverCores(*best);
  return best;
}

} // namespace

std::optional<ContractionPlan> planContraction(const Contraction &contraction, const TargetDescription &target,
                                               const PlanOptions &options, std::string &reason) {
  return Planner(contraction, target, options).plan(reason);
}

} // namespace tilewright
