//===- ContractionCandidates.cpp - Plans that are possible ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which dimensions carry lanes and rows, whether a unit takes the operands, and
// the register tiles, blocks, packings and orders that are worth a look.
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Machine/UnitMatch.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright {

/// Lanes where C is contiguous, else where the operand is; rows on the longest dimension of the other side.
bool Planner::chooseDims(ContractionPlan &p) const {
  ArrayRef<unsigned> laneDims = p.lanesOnM ? c.m : c.n, rowDims = p.lanesOnM ? c.n : c.m;
  const Access &vectors = p.vectorOperand(c).access, &scalars = p.scalarOperand(c).access;
  auto best = [&](ArrayRef<unsigned> dims, auto score) -> std::optional<unsigned> {
    std::optional<unsigned> chosen;
    for (unsigned dim : dims)
      if (!chosen || score(dim) > score(*chosen))
        chosen = dim;
    return chosen;
  };
  p.laneDim = best(laneDims, [&](unsigned dim) {
    double score = std::min<double>(trips(dim), 64);
    if (strideOf(c.c, dim) == 1)
      score *= 16;
    if (strideOf(vectors, dim) == 1)
      score *= 2;
    return score;
  });
  if (!p.laneDim || !isLinearIn(vectors, *p.laneDim))
    return false;
  p.rowDim = best(rowDims, [&](unsigned dim) { return std::min<double>(trips(dim), 64) + dim * 0.01; });
  if (p.rowDim && !isLinearIn(scalars, *p.rowDim))
    return false;
  auto kDim = best(c.k, [&](unsigned dim) {
    return std::min<double>(trips(dim), 64) * (vectors.dims().test(dim) && scalars.dims().test(dim) ? 4 : 1) *
           (strideOf(vectors, dim) == 1 || strideOf(scalars, dim) == 1 ? 2 : 1);
  });
  p.kDim = *kDim;
  p.tapsInside = readsTapsTogether(p);
  return isLinearIn(vectors, p.kDim) && isLinearIn(scalars, p.kDim);
}

/// The dimension of rows that are neighbours in C where its lanes are not, if that is another one than `p` has: their
/// tiles are transposed in registers, and elements of others are stored one by one.
std::optional<unsigned> Planner::neighbourRows(const ContractionPlan &p) const {
  const Access &scalars = p.scalarOperand(c).access;
  if (strideOf(c.c, *p.laneDim) == 1)
    return std::nullopt;
  for (unsigned dim : p.lanesOnM ? c.n : c.m)
    if (dim != p.rowDim && trips(dim) > 1 && strideOf(c.c, dim) == 1 && isLinearIn(scalars, dim))
      return dim;
  return std::nullopt;
}

/// Whether elements of the scalar operand that lie between two steps along k belong to other reduction dimensions, so
/// that a line is used up before the next one comes: taps p, q of weights o, c, p, q, or of an image c, y, x.
bool Planner::readsTapsTogether(const ContractionPlan &p) const {
  const Access &scalars = p.scalarOperand(c).access;
  std::optional<int64_t> apart = strideOf(scalars, p.kDim);
  bool hasTaps = false;
  for (unsigned dim : c.k) {
    if (dim == p.kDim || isOne(dim))
      continue;
    std::optional<int64_t> stride = strideOf(scalars, dim);
    if (!isStatic(dim) || !stride || !apart || *stride == 0 || std::abs(*stride) * trips(dim) > std::abs(*apart))
      return false;
    hasTaps = true;
  }
  return hasTaps;
}

bool continuesIn(const Access &access, unsigned outer, unsigned inner, int64_t trips) {
  std::optional<int64_t> step = access.stride(outer), each = access.stride(inner);
  return step && each && *step == *each * trips;
}

/// Dimensions that C and what is beside it continue in. Those of an operand may have gaps, which its copy leaves out;
/// between rows the result may have some, too: each row has an address of its own.
void Planner::mergeDims(ContractionPlan &p) const {
  if (!options.mergesDims)
    return;
  auto merge = [&](unsigned inner, ArrayRef<unsigned> dims, const Access &operand, bool &gaps, bool *ofResult) {
    SmallVector<unsigned, 2> outer;
    int64_t positions = trips(inner);
    auto canFollow = [&](unsigned dim) {
      bool gap = !continuesIn(operand, dim, inner, positions);
      bool apart = !continuesIn(c.c, dim, inner, positions) || llvm::any_of(options.besideC, [&](const Access &access) {
        return !continuesIn(access, dim, inner, positions);
      });
      if (dim == inner || llvm::is_contained(outer, dim) || trips(dim) == 1 || !isStatic(dim) || dim == splitDim ||
          (apart && !ofResult) ||
          (gap && !(operand.stride(inner).value_or(0) > 0 &&
                    operand.stride(dim).value_or(0) >= *operand.stride(inner) * positions)))
        return false;
      gaps |= gap;
      if (ofResult)
        *ofResult |= apart;
      return true;
    };
    if (!isStatic(inner) || inner == splitDim)
      return outer;
    for (const unsigned *next = llvm::find_if(dims, canFollow); next != dims.end();
         next = llvm::find_if(dims, canFollow)) {
      outer.push_back(*next);
      positions *= trips(*next);
    }
    return outer;
  };
  ArrayRef<unsigned> laneDims = p.lanesOnM ? c.m : c.n, rowDims = p.lanesOnM ? c.n : c.m;
  p.outerLanes = merge(*p.laneDim, laneDims, p.vectorOperand(c).access, p.windows, nullptr);
  if (p.rowDim)
    p.outerRows = merge(*p.rowDim, rowDims, p.scalarOperand(c).access, p.rowWindows, &p.resultGaps);
}

/// Whether the unit takes the operands, directly or widened by the packing copy (which is then forced).
bool Planner::fitUnit(ContractionPlan &p) {
  const MatrixUnit &unit = *p.unit;
  auto inRegisters = [](const UnitOperand &operand) {
    return operand.residence == Residence::VectorRegister || operand.residence == Residence::OpaqueRegister;
  };
  if (!inRegisters(unit.b) || !inRegisters(unit.c) || !takesAccumulator(unit, c) ||
      !(p.isBlock() ? inRegisters(unit.a) && !p.resultGaps
                    : unit.a.residence == Residence::BroadcastScalar && unit.m == 1))
    return false;
  const OperandForm scalarForm = formIn(unit.a, p.scalarOperand(c), c.accumulator),
                    vectorForm = formIn(unit.b, p.vectorOperand(c), c.accumulator);
  auto comes = [](OperandForm form) { return form == OperandForm::AsItIs || form == OperandForm::Widened; };
  p.offsetScalars = scalarForm == OperandForm::Offset && !p.isBlock();
  if (!comes(vectorForm) || !(comes(scalarForm) || p.offsetScalars))
    return false;
  // The unit takes the types: what stands against it is said in a remark.
  if (!options.mayReassociate && reassociates(unit)) {
    refusal =
        "unit \"" + unit.name + "\" adds " + std::to_string(unit.k) + " products at once, which --fp=strict forbids";
    return false;
  }
  p.packVectors = vectorForm == OperandForm::Widened || p.offsetScalars || p.windows;
  p.packScalars = scalarForm != OperandForm::AsItIs || p.rowWindows;
  const Access &vectors = p.vectorOperand(c).access, &scalars = p.scalarOperand(c).access;
  // A product with one vector whose matrix lies along k is a row of reductions: no unit helps, a transposing copy
  // hurts.
  if (laneTrips(p) == 1 ||
      ((!p.rowDim || rowTrips(p) == 1) && strideOf(vectors, *p.laneDim) != 1 && strideOf(vectors, p.kDim) == 1)) {
    isRowOfSums = true;
    return false;
  }
  if (p.isBlock())
    return fitBlock(p);
  if (unit.k > 1) {
    p.packVectors = true;
    bool wholeGroups = isStatic(p.kDim) && trips(p.kDim) % unit.k == 0 && strideOf(scalars, p.kDim) == 1;
    p.packScalars |= !wholeGroups;
  }
  if (strideOf(vectors, *p.laneDim) != 1)
    p.packVectors = true;
  return true;
}

/// A unit of several rows: both operands are read as fragments, whole ones in place where the source has their order,
/// else from packed copies that zeros fill up. Of a dynamic size the part of whole fragments is read in place, the
/// last one is packed.
bool Planner::fitBlock(ContractionPlan &p) {
  const MatrixUnit &unit = *p.unit;
  if (!p.rowDim) {
    refusal = "unit \"" + unit.name + "\" needs a dimension of the result along each operand";
    return false;
  }
  auto whole = [&](const Access &access, const UnitOperand &operand, unsigned freeDim, int64_t extent, int64_t freeStep,
                   bool freeIsColumn) {
    // Registers that move by whole rows: what lies side by side in one does so in the array.
    int64_t contiguous = unit.k == 1 ? freeStep : unit.k;
    if (operand.opaque && operand.opaque->rowBytes * 8 > contiguous * bitWidth(operand.element) &&
        operand.rows * operand.cols > contiguous)
      return false;
    bool inOrder = unit.k == 1 ? strideOf(access, freeDim) == 1
                               : interleaveOf(operand, freeIsColumn) == unit.k && strideOf(access, p.kDim) == 1;
    bool wholeLast = splitDim != freeDim || lastPiece % freeStep == 0;
    bool wholeK = unit.k == 1 || (isStatic(p.kDim) && trips(p.kDim) % unit.k == 0);
    return inOrder && wholeLast && wholeK && (!isStatic(freeDim) || extent % freeStep == 0);
  };
  p.packScalars |= !whole(p.scalarOperand(c).access, unit.a, *p.rowDim, rowTrips(p), unit.m, /*freeIsColumn=*/false);
  p.packVectors |= !whole(p.vectorOperand(c).access, unit.b, *p.laneDim, laneTrips(p), unit.n, /*freeIsColumn=*/true);
  return true;
}

/// Registers of vectors that a register tile of `unit` may fill.
int64_t Planner::registersFor(const MatrixUnit &unit) const { return machine.registers - overwrittenRegisters(unit); }

/// Whether a register tile leaves room for a column of B's fragments and one of A's, each in the registers that its
/// record names. A bank of the name of the file of vectors lies in it: its registers cover some of the file's.
bool Planner::fitsRegisters(const MatrixUnit &unit, int64_t rows, int64_t vectors) const {
  const Memory *file = target.graph().vectorRegisters();
  auto bankOf = [](const UnitOperand &operand) {
    return operand.opaque ? StringRef(operand.opaque->bank) : StringRef();
  };
  auto liesInFile = [&](const UnitOperand &operand) {
    return !operand.opaque || (file && file->name == operand.opaque->bank);
  };
  // Registers of the file that one fragment takes.
  auto each = [&](const UnitOperand &operand) -> int64_t {
    int64_t bytes = operand.opaque ? operand.opaque->rows * operand.opaque->rowBytes
                                   : llvm::divideCeil(operand.layout.numElements() * bitWidth(operand.element), 8);
    return std::max<int64_t>(llvm::divideCeil(bytes, std::max<int64_t>(machine.registerBytes, 1)), 1);
  };
  struct Use {
    const UnitOperand *operand;
    int64_t count;
  };
  Use uses[] = {{&unit.c, rows * vectors}, {&unit.b, vectors}, {&unit.a, 1}};
  int64_t inFile = 0;
  for (const Use &use : uses)
    inFile += liesInFile(*use.operand) ? use.count * each(*use.operand) : 0;
  return inFile <= registersFor(unit) && llvm::all_of(uses, [&](const Use &use) {
           const OpaqueRegister *opaque = use.operand->opaque.get();
           if (!opaque)
             return true;
           int64_t need = 0, have = opaque->masks.empty() ? opaque->granules : opaque->masks.size();
           for (const Use &other : uses)
             if (bankOf(*other.operand) == bankOf(*use.operand))
               need += other.count * (liesInFile(*use.operand) && opaque->masks.empty() ? each(*other.operand) : 1);
           return need <= have;
         });
}

/// The cheapest narrower unit of the same kind that holds the lanes of a partial last vector.
const MatrixUnit *Planner::tailUnitFor(const ContractionPlan &p) const {
  if (!isStatic(*p.laneDim))
    return nullptr;
  int64_t rest = p.isBlock() ? 0 : laneTrips(p) % p.unit->n;
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

/// Whether the scalars of a block of k can be packed before the panels: no loop between them chooses others.
bool Planner::packsScalarsOnce(const ContractionPlan &p) const {
  const llvm::SmallBitVector &inVectors = reachOf(p.vectorOperand(c).access).dims;
  return p.rowBlock == 0 && llvm::all_of(llvm::concat<const unsigned>(c.batch, c.m, c.n), [&](unsigned dim) {
           return isTiled(p, dim) || inVectors.test(dim) || isOne(dim);
         });
}

/// Tiles around the contraction that one packed copy of `operand` is for: all of it is packed before anything is
/// multiplied, outside all loops (SharedOperands.h).
double Planner::tilesOfCopy(const ContractionPlan &p, const ContractionOperand &operand) const {
  bool isVector = &operand == &p.vectorOperand(c);
  bool isWhole = isVector ? p.packVectors && p.laneBlock == 0 : p.packScalars && packsScalarsOnce(p);
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n))
    isWhole &= isTiled(p, dim) || isOne(dim);
  return isWhole && p.kBlock == 0 ? options.tilesSharing[&operand == &c.a ? 0 : 1] : 1;
}

/// Whether the panels of the vector operand may be packed before the first call: it is constant, all of their sizes are
/// known, they are the same for all positions of other loops, and for cores that share the lanes; and what is bound
/// takes no more memory than what it is made of.
bool Planner::canBindVectors(const ContractionPlan &p) const {
  const ContractionOperand &v = p.vectorOperand(c);
  if (!options.constant[&v == &c.a ? 0 : 1] || p.windows || p.offsetScalars ||
      bytesOf(p.unit->b.element) > bytesOf(v) || distinctElements(v.access) < elementsOf(v.access))
    return false;
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n, c.k))
    if (reachOf(v.access).dims.test(dim) && (!isStatic(dim) || (!isTiled(p, dim) && !llvm::is_contained(c.k, dim))))
      return false;
  return p.splitDim != p.laneDim || p.splitPiece % (p.vectors * p.unit->n) == 0;
}

/// Whether a tile's place in C (and in what is added to it) is fetched while its k loop runs: the tile takes longer
/// than the latency of the level that holds C, and a line for each fragment is next to nothing beside the loop.
bool Planner::prefetchesResult(int64_t fragments) const {
  constexpr int64_t leastSteps = 64; // one prefetch beside 64 units: below a hundredth on two load ports
  double bytes = elementsOf(c.c) * sumBytes;
  const Memory *first = machine.cache(0);
  if (!first || bytes <= CoreNumbers::cacheShare * first->bytes)
    return false;
  int64_t steps = product(c.k);
  return steps >= leastSteps && steps * fragments >= machine.level(bytes).latency;
}

/// Whether the scalars of the next row tile are prefetched: each step of k reads lines that no hardware prefetcher
/// foresees, the operand lies beyond the second cache, and the prefetches are few beside the step's units.
bool Planner::prefetchesRows(const ContractionPlan &p) const {
  constexpr int64_t leastUnits = 16; // a prefetch: a sixteenth of the units' time at most on as many load ports
  const Memory *second = machine.cache(1);
  const ContractionOperand &s = p.scalarOperand(c);
  if (p.isBlock() || p.packScalars || !p.rowDim || !second || !isStatic(*p.rowDim) || readsAlongK(p) ||
      distinctElements(s.access) * double(bytesOf(s)) <= CoreNumbers::cacheShare * second->bytes)
    return false;
  const double units = double(p.rows * p.vectors * (p.tapsInside ? product(c.k) / trips(p.kDim) : 1));
  return units >= leastUnits * scalarLines(p, double(p.rows));
}

/// Whether scalars that taps share are loaded for each of them: beside the sums, the vectors of a step and a scalar no
/// registers are left to keep them. LLVM, which loads once what it sees twice, would spill them.
bool Planner::rereadsScalars(const ContractionPlan &p) const {
  if (!p.tapsInside || p.packScalars || p.isBlock())
    return false;
  int64_t shared = 0;
  for (unsigned dim : c.k)
    if (dim != p.kDim)
      shared = std::max(shared, rowsThatShare(c, p, dim));
  return shared > 0 && p.rows * p.vectors + p.vectors + shared >= registersFor(*p.unit);
}

/// Panels and row tiles a cache block of a unit of several rows: each panel right before its use, as many as the second
/// cache holds, or all of them; all rows, or as many as it holds.
std::vector<std::pair<int64_t, int64_t>> Planner::blocks(const ContractionPlan &p) const {
  std::vector<std::pair<int64_t, int64_t>> result;
  if (p.packVectors && !p.rowsOutside && (!p.packScalars || packsScalarsOnce(p)))
    result.push_back({1, 0});
  result.push_back({0, 0});
  const Memory *second = machine.cache(1);
  auto fitting = [&](int64_t bytes) {
    return second ? int64_t(CoreNumbers::cacheShare * second->bytes) / std::max<int64_t>(bytes, 1) : 0;
  };
  int64_t k = p.kBlock ? p.kBlock : trips(p.kDim);
  int64_t panels = llvm::divideCeil(laneTrips(p), p.vectors * p.unit->n);
  int64_t panelBytes = p.vectors * p.unit->n * k * bytesOf(p.unit->b.element);
  if (int64_t most = fitting(panelBytes);
      p.rowsOutside && p.packVectors && most > 1 && most < panels && (!p.packScalars || packsScalarsOnce(p)))
    result.push_back({evenPart(panels, most), 0});
  int64_t rowTiles = llvm::divideCeil(rowTrips(p), p.rows * p.unit->m);
  int64_t tileBytes = p.rows * p.unit->m * k * bytesOf(p.scalarOperand(c));
  if (int64_t most = fitting(tileBytes); !p.rowsOutside && most > 0 && most < rowTiles)
    result.push_back({0, evenPart(rowTiles, most)});
  return result;
}

/// Gives `plan` the values that `overrides` force; false where the plan is of another register tile, order or packing.
static bool force(ContractionPlan &plan, const PlanOptions &options) {
  return llvm::all_of(options.overrides, [&](const auto &forced) {
    bool isGiven = false;
    ContractionPlan::forFields(plan, [&](StringRef name, auto &value, ContractionPlan::Field field) {
      if (!field.isGiven || name != forced.first)
        return;
      value = forced.second;
      isGiven = true;
    });
    plan.kUnroll = std::max<int64_t>(plan.kUnroll, 1);
    return isGiven || planField(plan, forced.first) == forced.second;
  });
}

/// Prices `candidate`, if it is not seen early that it is not the best, and offers it.
void Planner::consider(ContractionPlan candidate, Search &search) const {
  if (!force(candidate, options))
    return;
  // A broadcast scalar that units of two widths share is overwritten by the narrower one: its sum moves to the
  // scalar's register, a spare one for each row.
  if (candidate.rows * candidate.vectors + candidate.vectors + 1 + candidate.rows > registersFor(*candidate.unit))
    candidate.tailUnit = nullptr;
  candidate.seconds = clocks(candidate, search.most() * machine.clockHz) / machine.clockHz;
  search.offer(std::move(candidate));
}

/// Chooses for a register tile, an order and what is packed how steps are unrolled and prefetched; false where such a
/// plan is not looked at.
bool Planner::chooseSteps(ContractionPlan &p) const {
  const MatrixUnit &unit = *p.unit;
  const int64_t rowExtent = unitRowsOf(p), vectorsExtent = unitVectorsOf(p);
  // With one row tile both orders are the same loops, of which this one is not prefetched.
  if (p.rowsOutside && rowExtent <= p.rows && !p.isBlock())
    return false;
  p.boundVectors = p.packVectors && canBindVectors(p);
  // The ends of the steps' loop cost as much as a step; where a tile fills the registers, LLVM begins the next step's
  // loads before this one's products are done, and spills.
  bool hasRoom = unit.c.opaque || p.rows * p.vectors + p.vectors + 2 < registersFor(unit) || p.rows < 12;
  if (p.tapsInside && !hasRoom) // so are a few taps, written as a loop or not
    return false;
  p.rereadScalars = rereadsScalars(p);
  p.kUnroll = hasRoom && !unit.c.opaque && !p.tapsInside ? 4 : 1;
  p.tapUnroll = !unit.c.opaque && p.tapsInside ? 4 : 1;
  // Packed right before use, panel by panel, unless other loops or whole rows reuse the panels.
  p.laneBlock = p.packVectors && !p.rowsOutside && (!p.packScalars || packsScalarsOnce(p)) ? 1 : 0;
  // Where the vector operand does not stay in the second cache, the panel after this one is prefetched.
  const Memory *second = secondCache();
  double vSource = elementsOf(p.vectorOperand(c).access) * bytesOf(p.vectorOperand(c));
  bool staysNear = second && vSource <= CoreNumbers::cacheShare * second->bytes;
  bool canPrefetch = !p.rowsOutside && (!p.packVectors || p.laneBlock == 1) && isStatic(p.kDim) &&
                     llvm::all_of(c.k, [&](unsigned dim) { return dim == p.kDim || isOne(dim); }) &&
                     vectorsExtent > p.vectors && !p.windows;
  p.prefetchResult = prefetchesResult(p.rows * p.vectors);
  p.prefetchRows = prefetchesRows(p);
  p.prefetchPanels = canPrefetch && !staysNear ? (rowExtent <= p.rows ? 2 : 1) : 0;
  return true;
}

/// Values of `kBlock` that are looked at: all of k, or even blocks: panels of a fraction of the second cache; few rows
/// at a time where each element of the vector operand is used once.
SmallVector<int64_t> Planner::blocksOfK(const ContractionPlan &p) const {
  const MatrixUnit &unit = *p.unit;
  const Memory *second = secondCache();
  int64_t panelRow = p.vectors * unit.n * bytesOf(unit.b.element), k = trips(p.kDim);
  int64_t inner = product(c.k) / std::max<int64_t>(k, 1), unitSteps = unit.k * p.kUnroll;
  SmallVector<int64_t, 12> limits{k};
  for (int64_t part : {2, 4, 8})
    limits.push_back(std::max<int64_t>(second ? second->bytes / part / (panelRow * inner) : k, 64));
  limits.append({1024, 512, 256, 128, 64});
  if (unitRowsOf(p) <= p.rows)
    limits.append({32, 16, 8});
  SmallVector<int64_t> result;
  int64_t previous = 0;
  for (int64_t limit : limits) {
    int64_t block = llvm::alignTo(evenPart(k, std::min(limit, k)), unitSteps);
    if (block != previous)
      result.push_back(block >= k ? 0 : block);
    previous = block;
  }
  return result;
}

/// Considers all blocks of a plan whose steps are chosen.
void Planner::considerBlocks(ContractionPlan p, Search &search) const {
  // Prefetches that come too early or push each other out only cost.
  auto considerPrefetched = [&](ContractionPlan each) {
    if ((p.packVectors || p.isBlock()) && (each.laneBlock != 1 || !isPrefetched(each)))
      each.prefetchPanels = 0;
    consider(std::move(each), search);
  };
  for (int64_t block : blocksOfK(p)) {
    p.kBlock = block;
    // A copy that several tiles share is made whole.
    if (ContractionPlan whole = p; !p.isBlock() && p.laneBlock != 0) {
      whole.laneBlock = whole.prefetchPanels = 0;
      if (tilesOfCopy(whole, p.vectorOperand(c)) > 1)
        consider(std::move(whole), search);
    }
    if (!p.isBlock()) {
      considerPrefetched(p);
      continue;
    }
    for (auto [laneBlock, rowBlock] : blocks(p)) {
      p.laneBlock = laneBlock;
      p.rowBlock = rowBlock;
      considerPrefetched(p);
    }
  }
}

/// Register tiles that fit, blocks of k that keep a panel in the second cache, both orders, packing or not.
void Planner::sizes(ContractionPlan &p, Search &search) const {
  const int64_t mostVectors = std::min<int64_t>(6, unitVectorsOf(p)),
                mostRows = std::min<int64_t>(machine.registers, unitRowsOf(p));
  for (int64_t vectors = 1; vectors <= mostVectors; ++vectors)
    for (int64_t rows = 1; rows <= mostRows; ++rows) {
      if (!fitsRegisters(*p.unit, rows, vectors))
        break;
      for (bool packVectors : {false, true})
        for (bool packScalars : {false, true})
          for (bool rowsOutside : {false, true}) {
            if (packVectors < p.packVectors || packScalars < p.packScalars) // it must be packed
              continue;
            ContractionPlan q = p;
            std::tie(q.rows, q.vectors) = std::pair(rows, vectors);
            q.packVectors = packVectors;
            q.packScalars = packScalars;
            q.rowsOutside = rowsOutside;
            if (chooseSteps(q))
              considerBlocks(std::move(q), search);
          }
    }
}

} // namespace tilewright
