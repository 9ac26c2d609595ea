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
                            {"rows_outside", rowsOutside},
                            {"threads", threads},
                            {"seconds", seconds}};
}

namespace {

/// Iterations that the model assumes of a loop whose trip count is not known.
constexpr int64_t assumedTrips = 256;

/// The numbers of a chip that the form needs, read once.
struct Machine {
  explicit Machine(const TargetDescription &target) {
    auto [count, bytes] = target.vectorRegisters();
    registers = count;
    loadsPerClock = target.rate("load").value_or(1);
    storesPerClock = target.rate("store").value_or(0.5);
    shufflesPerClock = target.rate("shuffle").value_or(1);
    issuePerClock = target.rate("issue").value_or(4);
    clockHz = target.clockMHz() * 1e6;
    for (const Memory *cache : target.caches())
      levels.push_back(cache);
    for (const Memory &memory : target.memories())
      if (memory.kind == MemoryKind::Global)
        levels.push_back(&memory);
  }
  /// Bytes per clock of the nearest level that holds `bytes`, with half of a cache left to the other operands.
  double bandwidth(double bytes) const {
    for (const Memory *level : levels)
      if (level->kind != MemoryKind::Cache || bytes <= 0.5 * level->bytes)
        return level->bytesPerClock;
    return levels.empty() ? 1 : levels.back()->bytesPerClock;
  }
  const Memory *cache(unsigned i) const {
    return i < levels.size() && levels[i]->kind == MemoryKind::Cache ? levels[i] : nullptr;
  }
  int64_t registers;
  double loadsPerClock, storesPerClock, shufflesPerClock, issuePerClock, clockHz;
  std::vector<const Memory *> levels; // nearest first
};

int64_t bytesOf(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

class Planner {
public:
  Planner(const Contraction &c, const TargetDescription &target, int64_t threads)
      : c(c), target(target), machine(target), threads(threads) {}

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
  void sizes(ContractionPlan &p, std::optional<ContractionPlan> &best) const;
  double setPressure(const ContractionPlan &p) const;
  void splitOverCores(ContractionPlan &p) const;

  const Contraction &c;
  const TargetDescription &target;
  Machine machine;
  int64_t threads;
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
  auto accepts = [&](const ContractionOperand &operand, const UnitOperand &slot, bool &pack) {
    Type type = elementType(slot.element, context);
    if (type == operand.element) {
      if (!isa<IntegerType>(type) || type == c.accumulator)
        return true;
      bool slotIsUnsigned = slot.element == ElementKind::U8 || slot.element == ElementKind::U4;
      return slotIsUnsigned == operand.isUnsigned;
    }
    bool widens = isa<FloatType>(type) == isa<FloatType>(operand.element) &&
                  type.getIntOrFloatBitWidth() > operand.element.getIntOrFloatBitWidth() && type == c.accumulator;
    pack |= widens;
    return widens;
  };
  bool forceVectors = false, forceScalars = false;
  if (!accepts(p.scalarOperand(c), unit.a, forceScalars) || !accepts(p.vectorOperand(c), unit.b, forceVectors))
    return false;
  p.packVectors = forceVectors;
  p.packScalars = forceScalars;
  const Access &vectors = p.vectorOperand(c).access, &scalars = p.scalarOperand(c).access;
  if (unit.k > 1) {
    p.packVectors = true;
    bool wholeGroups = isStatic(p.kDim) && trips(p.kDim) % unit.k == 0 && scalars.stride(p.kDim) == 1;
    p.packScalars |= !wholeGroups;
  }
  if (vectors.stride(*p.laneDim) != 1)
    p.packVectors = true;
  return true;
}

/// Lines that compete for a set of the second cache when the vector operand is read in place: rows of `vectors`
/// vectors at the operand's k stride (power-of-two strides reach few sets).
double Planner::setPressure(const ContractionPlan &p) const {
  const Memory *cache = machine.cache(1);
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

double Planner::clocks(const ContractionPlan &p) const {
  const MatrixUnit &unit = *p.unit;
  const ContractionOperand &v = p.vectorOperand(c), &s = p.scalarOperand(c);
  double lanes = trips(*p.laneDim), rows = p.rowDim ? trips(*p.rowDim) : 1, k = product(c.k);
  double outer = double(product(c.batch)) * product(c.m) * product(c.n) / (lanes * rows);
  double vectorsTotal = std::ceil(lanes / unit.n), panels = std::ceil(lanes / (unit.n * p.vectors));
  double rowTiles = std::ceil(rows / p.rows);
  double kBlocks = p.kBlock ? std::ceil(double(trips(p.kDim)) / p.kBlock) : 1;
  double kInBlock = k / kBlocks;
  double meanRows = rows / rowTiles, meanVectors = vectorsTotal / panels;
  int64_t vBytes = bytesOf(elementType(unit.b.element, c.accumulator.getContext())), cBytes = bytesOf(c.accumulator);
  double registerBytes = double(unit.n) * unit.k * vBytes;

  // One step of k of a register tile.
  double units = std::max(meanRows * meanVectors * unit.issue, unit.latency);
  double crossing = 1;
  if (!p.packVectors) {
    auto stride = v.access.stride(p.kDim);
    const Memory *cache = machine.cache(0);
    if (cache && (!stride || (*stride * bytesOf(v.element)) % cache->lineBytes != 0))
      crossing = 2;
  }
  double loads = (meanRows + meanVectors * crossing) / machine.loadsPerClock;
  double issue = (meanRows * meanVectors + meanRows + meanVectors + 2.0 / p.kUnroll) / machine.issuePerClock;
  // The panel is read once per row tile from where it fits; in place it also suffers from set conflicts.
  double panelBytes = kInBlock / unit.k * meanVectors * registerBytes;
  double vectorBandwidth = machine.bandwidth(p.rowsOutside ? panelBytes * panels : panelBytes);
  if (!p.packVectors && machine.cache(1) && setPressure(p) > machine.cache(1)->ways)
    vectorBandwidth = std::min(vectorBandwidth, machine.bandwidth(panelBytes * panels));
  double vectorBytes = meanVectors * registerBytes / vectorBandwidth;
  double step = std::max({units, loads, issue, vectorBytes});
  // Filling and draining the accumulators' chains, loop set-up.
  double tileOverhead = unit.latency + 12 + meanRows * meanVectors / machine.storesPerClock;
  double tiles = outer * panels * rowTiles * kBlocks;
  double total = tiles * (kInBlock / unit.k * step + tileOverhead);

  // C goes through memory once per block of k (read again for all but the first).
  double cTotal = outer * rows * lanes * cBytes;
  total += cTotal * (2 * kBlocks - 1) / machine.bandwidth(cTotal) * 0.5;
  if (c.c.stride(*p.laneDim) != 1) // elements are scattered
    total += outer * rows * lanes * kBlocks * 2 / machine.storesPerClock;

  // The operands come once from where they lie, whatever is done with them.
  auto dimsOf = [&](const Access &access, bool withOuter) {
    double elements = 1;
    for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
      if (access.dims().test(dim))
        elements *= trips(dim);
    return elements;
  };
  double vElements = dimsOf(v.access, true), sElements = dimsOf(s.access, true);
  double vSource = vElements * bytesOf(v.element), sSource = sElements * bytesOf(s.element);
  double first = vSource / machine.bandwidth(vSource);
  if (p.packVectors) {
    // Read with latency exposed, shuffled if transposed or interleaved, written to the cache that holds a panel.
    bool transposed = v.access.stride(*p.laneDim) != 1, gathers = transposed && v.access.stride(p.kDim) != 1;
    double perVector = 1 / machine.loadsPerClock + 1 / machine.storesPerClock;
    if (transposed || unit.k > 1)
      perVector += 4 / machine.shufflesPerClock;
    if (gathers)
      perVector = 3.0 * unit.n;
    total += vElements / (unit.n * unit.k) * perVector + first;
  } else {
    total = std::max(total, first) + 0.5 * std::min(total, first);
  }
  if (p.packScalars) {
    bool contiguous = s.access.stride(p.kDim) == 1 || (p.rowDim && s.access.stride(*p.rowDim) == 1);
    double repeats = p.rowsOutside || !p.laneBlock ? 1 : std::ceil(panels / p.laneBlock);
    total += repeats * (sElements / (contiguous ? unit.n * 0.5 : 0.5) + sSource / machine.bandwidth(sSource));
  } else {
    // Rows that lie along k: one line a row and 64 bytes of k; a strided k touches a line a step.
    auto stride = s.access.stride(p.kDim);
    if (!stride || std::abs(*stride) != 1) {
      double lineLoads = outer * rowTiles * panels * k;
      double block = 64.0 * k * std::max<double>(1, meanRows * bytesOf(s.element) / 64.0);
      total += lineLoads * std::max(0.0, 64 / machine.bandwidth(block) - 1) * 0.5;
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
            q.kUnroll = rows * vectors >= 16 ? 2 : 4;
            // A panel of all k, or of even blocks that leave half of the second cache to the rest.
            int64_t panelRow = vectors * unit.n * elementBytes, limit = second ? second->bytes / 2 / panelRow : 0;
            int64_t k = trips(p.kDim), inner = product(c.k) / std::max<int64_t>(k, 1);
            limit = std::max<int64_t>(limit / std::max<int64_t>(inner, 1), 64);
            if (isStatic(p.kDim) && k > limit) {
              int64_t blocks = llvm::divideCeil(k, limit), unitSteps = unit.k * q.kUnroll;
              q.kBlock = llvm::alignTo(llvm::divideCeil(k, blocks), unitSteps);
            }
            // Packed right before use, panel by panel, unless other loops or whole rows reuse the panels.
            q.laneBlock = packVectors && !rowsOutside && !packScalars ? 1 : 0;
            consider(q);
          }
        }
      }
    }
}

/// Cores share the dimension whose parts are most even and pack least twice.
void Planner::splitOverCores(ContractionPlan &p) const {
  constexpr double launchSeconds = 5e-6; // fork and join of a warm thread team
  if (threads <= 1 || p.seconds < 4 * launchSeconds)
    return;
  auto evenness = [&](int64_t parts) { return double(parts) / (llvm::divideCeil(parts, threads) * threads); };
  int64_t panels = trips(*p.laneDim) / (p.unit->n * p.vectors), rows = p.rowDim ? trips(*p.rowDim) / p.rows : 1;
  llvm::SmallBitVector inVectors = p.vectorOperand(c).access.dims();
  int64_t outer = 0;
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n))
    if (dim != p.laneDim && (!p.rowDim || dim != *p.rowDim) && inVectors.test(dim) && !outer)
      outer = trips(dim);
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
    offer(ContractionPlan::Split::Panels, evenness(panels) * (p.packScalars ? 0.9 : 0.99));
  if (rows >= threads)
    offer(ContractionPlan::Split::Rows, evenness(rows) * (p.packVectors ? 0.9 : 0.98));
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
      if (fitUnit(p))
        sizes(p, best);
    }
  if (!best) {
    reason = anyDims ? "no unit of the chip takes these element types"
                     : "no dimension of the result can carry vector lanes";
    return std::nullopt;
  }
  splitOverCores(*best);
  return best;
}

} // namespace

std::optional<ContractionPlan> planContraction(const Contraction &contraction, const TargetDescription &target,
                                               int64_t threads, std::string &reason) {
  return Planner(contraction, target, threads).plan(reason);
}

} // namespace tilewright
