//===- StagedTiles.cpp - Operands of a step in the scratchpad -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Orders, segments and counts.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/StagedTiles.h"
#include "core/Analysis/ElementType.h"
#include "core/Machine/UnitOperands.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace tilewright;

/// Bytes of a vector.
static constexpr int64_t vectorBytes = 16;
/// Bytes that a copy engine of lanes moves at least at once (LaneOps::asyncCopy).
static constexpr int64_t leastEngineBytes = 4;
/// Registers beside the data and the address of a load that is shorter than a vector: a check. Loads of single elements
/// of a tile that is transposed share the check of the lane's place along the array, and that of the array's row with
/// the subgroup's other lanes.
static constexpr int64_t checkRegisters = 1;
/// Instructions that bring four floats of 4 or 6 bits, each in a byte, side by side, and into a word of a register.
static constexpr int64_t packInstructions = 8;
/// Scalar registers of a subgroup for all else: arrays, sizes of 64 bits, counters, and conditions under way.
static constexpr int64_t otherScalars = 40;
/// More of them where slices share out k: the number of the slice, that of the subgroup in it, where its sums lie.
static constexpr int64_t sliceScalars = 6;

/// Bytes at which rows along `dim` begin for certain, 16 at most: what a copy of them moves at once. Loops of one
/// iteration around the tile's move nothing.
static int64_t piecesAlong(const Nest &nest, const LaneContractionPlan &plan, const Access &access, unsigned dim,
                           int64_t elementBytes) {
  int64_t bytes = 16;
  for (unsigned other = 0; other < access.map.getNumDims(); ++other) {
    bool isTiled = other == plan.mDim || other == plan.nDim || other == plan.kDim;
    if (nest.tripCounts[other] == 1 && !isTiled)
      continue;
    std::optional<int64_t> stride = access.stride(other);
    if (!stride)
      return elementBytes;
    if (other != dim)
      bytes = std::gcd(bytes, *stride * elementBytes);
  }
  // Where the first row begins: before the array, by what pads it.
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<AffineExpr> zeros(access.map.getNumDims(), getAffineConstantExpr(0, type.getContext()));
  int64_t pitch = elementBytes;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    AffineExpr start = simplifyAffineExpr(access.map.getResult(i).replaceDims(zeros), 0, access.map.getNumSymbols());
    bytes = std::gcd(bytes, start.getLargestKnownDivisor() * pitch); // of 0 that is 0
    if (type.isDynamicDim(i))
      break;
    pitch *= type.getDimSize(i);
  }
  return std::max(bytes & -bytes, elementBytes);
}

/// Whether the places of all elements are known, as seen from the first one.
static bool hasKnownStrides(const Access &access) {
  for (unsigned dim = 0; dim < access.map.getNumDims(); ++dim)
    if (!access.stride(dim))
      return false;
  return true;
}

/// Elements of one lane that follow each other along the rows or the columns of a fragment.
static int64_t runAlong(const Layout &layout, bool rows) {
  int64_t count = 1;
  for (const Position &base : layout.elements) {
    Position wanted = rows ? Position{count, 0} : Position{0, count};
    if (!(base == wanted))
      break;
    count *= 2;
  }
  return count;
}

StagedTiles::StagedTiles(const Contraction &contraction, const TargetDescription &chip, const LaneHierarchy &hierarchy)
    : c(contraction), chip(chip), hierarchy(hierarchy), shared(chip.memory(hierarchy.scratchpad)) {
  bytes = tilewright::elementBytes(c.a.element);
  hasEngine = hasCopyEngine(chip);
  hasDirect = subgroupEngine(chip) != nullptr;
  for (const CopyEngine &copy : chip.copies())
    if (copy.from == shared->name && chip.memory(copy.to) == chip.graph().laneRegisters()) {
      bool own = llvm::is_contained(copy.accessBytes, bytes);
      columns |= own && llvm::is_contained(copy.arrangements, "columns");
      transposes |= own && llvm::is_contained(copy.arrangements, "transpose");
      matrices |= bytes <= 4 && llvm::is_contained(copy.arrangements, "transpose");
    }
}

bool StagedTiles::loadsColumns(const UnitOperand &own, bool isA) const {
  if (!columns || own.layout.numLanes() < columnLanes || runAlong(own.layout, /*rows=*/!isA) * bytes < columnBytes)
    return false;
  for (unsigned b = 0; int64_t(1) << b < columnLanes; ++b) {
    int64_t step = int64_t(1) << b;
    if (!(own.layout.lanes[b] == (isA ? Position{step, 0} : Position{0, step})))
      return false;
  }
  return true;
}

int64_t StagedTiles::loadAlignment(const StagedOperand &operand) const {
  return operand.byPlace && !hasEngine ? int64_t(chip.number(Number::LoadAlignment).value_or(vectorBytes))
                                       : vectorBytes;
}

const StagedOperand &StagedTiles::operand(const LaneContractionPlan &plan, bool isA) {
  int64_t free = isA ? plan.blockM() : plan.blockN();
  PlanPart part(plan.unit, isA, free, plan.depth, plan.subgroups(), plan.lastApart);
  auto found = described.find(part);
  if (found == described.end())
    found = described.emplace(part, describe(plan, isA)).first;
  return found->second;
}

StagedOperand StagedTiles::describe(const LaneContractionPlan &plan, bool isA) {
  const ContractionOperand &given = isA ? c.a : c.b;
  const UnitOperand &own = isA ? plan.unit->a : plan.unit->b;
  unsigned freeDim = isA ? plan.mDim : plan.nDim;
  int64_t free = isA ? plan.blockM() : plan.blockN(), depth = given.along(plan.depth);
  int64_t threads = plan.subgroups() * hierarchy.lanes;
  StagedOperand result;
  bool byMatrices = matrices && plan.unit->k > 1;
  // Along k as lanes take vectors from it; in the array's order where they load matrices transposed or take single
  // elements, so that no copy has to turn it.
  bool wantsK = byMatrices || runAlong(own.layout, /*rows=*/!isA) > 1;
  bool inK = isContiguousAlong(given.access, plan.kDim), inFree = isContiguousAlong(given.access, freeDim);
  bool byColumns = loadsColumns(own, isA);
  result.kInner = wantsK && !(inFree && !inK && (transposes || byColumns));
  if (!wantsK && (isA ? own.cols : own.rows) > 1 && runAlong(own.layout, /*rows=*/isA) == 1)
    result.kInner = inK && !inFree;
  TileUse &use = result.use;
  int64_t rows = result.kInner ? free : depth, cols = result.kInner ? depth : free;
  use.rows = rows;
  use.rowBytes = cols * bytes;
  use.elementBytes = bytes;
  use.layout = &own.layout;
  use.rowIsLayoutRow = isA == result.kInner;
  use.matrices = byMatrices;
  use.columns = byColumns && !result.kInner;
  use.transposed = result.kInner ? inFree && !inK : inK && !inFree;
  use.mayPad = !hasEngine;
  result.byPlace = chip.number(Number::OffsetRegisters) && hasKnownStrides(given.access);
  use.lanes = hierarchy.lanes;
  use.sectorBytes = hierarchy.sectorBytes;
  result.elements = std::max<int64_t>(1, rows * cols / threads);
  int64_t piece = bytes;
  if (inK || inFree)
    piece = piecesAlong(c.nest, plan, given.access, result.kInner != use.transposed ? plan.kDim : freeDim, bytes);
  result.turns = use.transposed && !(hasEngine && bytes >= 4); // an engine moves single elements
  int64_t k = given.along(c.nest.tripCounts[plan.kDim].value_or(0)), extent = c.nest.tripCounts[freeDim].value_or(0);
  bool over = !extent || extent % free != 0;
  // Rows of the free dimension may end inside of a vector though the next ones begin with one. Loads by place are cut
  // there; an engine copies a part of a vector, and other loads branch.
  if (over && inFree && !inK && result.byPlace && !hasEngine)
    piece = std::max(bytes, std::gcd(piece, extent ? extent * bytes : bytes));
  int64_t together = piece; // that begin and end inside or outside of the array
  // Along k a loop of whole steps has no ends, and vectors may begin wherever loads allow it. Along the free dimension,
  // where tiles do not divide it, they may end in the array's next row of k, which all steps but the last have: such
  // rows and columns are no part of the result.
  auto isChecked = [&](unsigned d) { return given.access.map.getResult(d).isFunctionOfDim(plan.kDim); };
  bool alongK = inK && result.kInner && k * bytes >= vectorBytes && llvm::none_of(given.bounded, isChecked);
  bool hasNext = k > depth && given.access.stride(plan.kDim).value_or(0) * bytes >= vectorBytes;
  bool alongFree = inFree && !inK && k && extent * bytes >= vectorBytes && given.bounded.empty() && (!over || hasNext);
  bool mayBeginAnywhere = plan.otherK.empty() && plan.lastApart && (alongK || alongFree);
  if (int64_t begin = loadAlignment(result); mayBeginAnywhere && piece < vectorBytes && piece >= begin) {
    result.begin = begin;
    result.over = alongFree && over;
    result.row = alongK ? k : over ? extent : 0;
    piece = vectorBytes;
  }
  use.pieceBytes = use.transposed ? bytes : piece;
  use.wholeSectors = piece > bytes;
  if (result.turns)
    use.along = std::min(rows, piece / bytes); // at most; `arrange` chooses
  result.direct = hasDirect && !use.transposed && together == vectorBytes && use.rowBytes >= vectorBytes &&
                  rows * use.rowBytes % (threads * vectorBytes) == 0;
  use.placed = result.direct ? hierarchy.lanes * vectorBytes : 0;
  // Segments of 16 bytes cannot keep all reads of shorter ones apart: then lanes write them, in smaller segments or
  // padded rows.
  if (StagedTile probe; result.direct && arrange(result, probe) > 1) {
    result.direct = false;
    use.placed = 0;
  }
  return result;
}

/// Bytes that a lane loads at once.
static int64_t loadBytes(const StagedOperand &operand) {
  int64_t bytes = operand.turns ? operand.use.along * operand.use.elementBytes : operand.use.pieceBytes;
  return std::min(vectorBytes, bytes);
}

double StagedTiles::arrange(StagedOperand &operand, StagedTile &tile) {
  auto [found, isNew] = known.try_emplace(std::pair(operand.use.key(), operand.elements));
  Arranged &best = found->second;
  auto shaped = [&](const TurnShape &turn) {
    TileUse use = operand.use;
    use.along = turn.along;
    use.pieceBytes = turn.across * bytes;
    return use;
  };
  if (isNew && !operand.turns) {
    best.clocks = arrangeTile(best.tile, operand.use, *shared);
  } else if (isNew) {
    best.clocks = std::numeric_limits<double>::infinity();
    // Where rows are unaligned, lanes that leave sectors in parts are the last resort.
    for (bool wholeSectors : {true, false}) {
      if (best.clocks == 1 || (!wholeSectors && operand.use.wholeSectors))
        break;
      for (const TurnShape &turn :
           turnShapes(operand.elements, bytes, operand.use.along, operand.use.rowBytes / bytes)) {
        StagedTile arranged;
        TileUse use = shaped(turn);
        use.wholeSectors = wholeSectors;
        double clocks = arrangeTile(arranged, use, *shared);
        if (clocks < best.clocks)
          best = {arranged, turn, clocks};
        if (clocks == 1)
          break;
      }
    }
  }
  if (operand.turns) {
    operand.turn = best.turn;
    operand.use = shaped(best.turn);
  }
  tile = best.tile;
  int64_t pitch = operand.use.rowBytes + tile.padding * bytes;
  operand.writeBytes = std::min(operand.use.pieceBytes, pitch & -pitch);
  if (tile.swizzleBits)
    operand.writeBytes = std::min(operand.writeBytes, int64_t(1) << tile.swizzleBase);
  if (isNew) {
    best.sectors = sectorsTouched(best.tile, operand.use);
    best.writes = writesOf(operand, tile);
  }
  operand.sectors = best.sectors;
  operand.writes = best.writes;
  tile.kInner = operand.kInner;
  tile.turn = operand.turn;
  tile.direct = operand.direct;
  tile.begin = operand.begin;
  tile.over = operand.over;
  tile.held = held(operand);
  return best.clocks;
}

/// Comparisons of indices with the sizes of the array, and what joins them: of each load where the tile moves the
/// index.
double StagedTiles::checks(const LaneContractionPlan &plan, bool isA, double loads) const {
  constexpr double each = 2;
  std::optional<Comparisons> &comparisons = compared[isA];
  if (!comparisons) {
    comparisons.emplace();
    const ContractionOperand &operand = isA ? c.a : c.b;
    for (unsigned d : operand.bounded) {
      AffineExpr index = operand.access.map.getResult(d);
      bool moves = index.isFunctionOfDim(isA ? plan.mDim : plan.nDim) || index.isFunctionOfDim(plan.kDim);
      ++(moves ? comparisons->moved : comparisons->fixed);
    }
  }
  return each * (double(comparisons->moved) * loads + double(comparisons->fixed));
}

/// Instructions that load one fragment.
double StagedTiles::fragmentLoads(const MatrixUnit &unit, const UnitOperand &own, const StagedOperand &operand) const {
  double fragment = double(own.layout.numElements()) * bytes;
  if (operand.use.matrices) // of four words of a lane at most
    return std::max(1.0, fragment / 16);
  if (operand.use.columns)
    return fragment / columnBytes;
  int64_t run = std::min<int64_t>(16, contiguousElements(own.layout, !operand.use.rowIsLayoutRow) * bytes);
  // Two short ones that lie a known way apart may be one instruction.
  double together = run <= 8 ? chip.number(Number::PairedAccesses).value_or(1) : 1;
  return std::max(1.0, fragment / run) / together;
}

int64_t StagedTiles::shortLoads(const StagedOperand &operand) const {
  int64_t piece = loadBytes(operand);
  return piece < vectorBytes && !operand.byPlace ? llvm::divideCeil(operand.elements * bytes, piece) : 0;
}

bool StagedTiles::keepsRows(const LaneContractionPlan &plan, int64_t loads) const {
  const Memory *scalars = chip.graph().uniformRegisters();
  int64_t each = (plan.otherK.empty() ? 1 : 2) * addressRegisters;
  int64_t others = otherScalars + (plan.subgroupsK > 1 ? sliceScalars : 0);
  return !scalars || loads * each + others <= scalars->entries;
}

bool StagedTiles::held(const StagedOperand &operand) const {
  return hasEngine && !operand.direct && (operand.turns || loadBytes(operand) < leastEngineBytes);
}

int64_t StagedTiles::heldRegisters(const StagedOperand &operand) const {
  int64_t piece = loadBytes(operand), loads = llvm::divideCeil(operand.elements * bytes, piece);
  bool byEngine = operand.direct || (hasEngine && !held(operand));
  // Loads by base and offsets: each has an offset that no loop changes, and that lies behind the array for lanes that
  // are outside.
  int64_t offsets =
      piece < vectorBytes && !operand.byPlace ? 0 : loads * int64_t(chip.number(Number::OffsetRegisters).value_or(0));
  int64_t beside = addressRegisters + (operand.turns && piece == bytes ? 0 : checkRegisters);
  return loads * (byEngine ? 0 : llvm::divideCeil(piece, 4)) + offsets + shortLoads(operand) * beside;
}

int64_t StagedTiles::endRegisters(const StagedOperand &operand, bool isWhole, bool isFilled) const {
  if ((isWhole && !operand.over) || !operand.byPlace || operand.direct || (hasEngine && !held(operand)))
    return 0;
  return (bool(operand.row) + isFilled) * llvm::divideCeil(operand.elements * bytes, loadBytes(operand));
}

/// Instructions that write a lane's part: two short ones a constant apart are one where the chip has such. Two are in a
/// swizzle if the same bits of both are those of lanes (LaneAccess::flipped).
double StagedTiles::writesOf(const StagedOperand &operand, const StagedTile &tile) const {
  double writes = double(operand.elements) * bytes / operand.writeBytes;
  if (operand.writeBytes > 8 || chip.number(Number::PairedAccesses).value_or(1) < 2 || tile.padding)
    return writes;
  const TileUse &use = operand.use;
  // Bits of an offset: in a write, between those of a lane's block or vector, and at the end of the tile; the others
  // are bits of lanes.
  int64_t across = operand.turns ? operand.turn.across * bytes : std::min<int64_t>(vectorBytes, use.pieceBytes);
  int64_t along = operand.turns ? operand.turn.along : 1, tileBytes = use.rows * use.rowBytes;
  int64_t parts = std::max<int64_t>(1, operand.elements * bytes / (across * along));
  SmallVector<int64_t> steps;
  auto all = [&](int64_t from, int64_t end) {
    for (int64_t step = from; step < end; step *= 2)
      steps.push_back(step);
  };
  all(operand.writeBytes, across);
  all(use.rowBytes, use.rowBytes * along);
  all(tileBytes / parts, tileBytes);
  int64_t mask = ((int64_t(1) << tile.swizzleBits) - 1) << tile.swizzleBase, lanes = tileBytes - operand.writeBytes;
  auto flips = [&](int64_t offset) {
    return ((offset >> tile.swizzleShift) ^ (tile.swizzleAgain ? offset >> tile.swizzleAgain : 0)) & mask;
  };
  for (int64_t step : steps)
    lanes &= ~step;
  int64_t reached =
      lanes | ((lanes >> tile.swizzleShift | (tile.swizzleAgain ? lanes >> tile.swizzleAgain : 0)) & mask);
  std::map<int64_t, int64_t> groups;
  for (uint64_t i = 0; i < uint64_t(1) << steps.size(); ++i) {
    int64_t offset = 0;
    for (auto [bit, step] : llvm::enumerate(steps))
      offset += i >> bit & 1 ? step : 0;
    ++groups[(offset ^ flips(offset)) & reached];
  }
  double together = 0;
  for (auto [place, count] : groups)
    together += double(llvm::divideCeil(count, 2));
  return std::min(writes, together);
}

IndexInstructions::IndexInstructions(const MatrixUnit &unit, const Contraction &c, unsigned kDim) {
  const Layout &layout = unit.sparsity->index.layout;
  const int64_t places = layout.numElements(), row = c.a.along(c.nest.tripCounts[kDim].value_or(1));
  const int64_t run = std::min<int64_t>(runAlong(layout, /*rows=*/false), row & -row);
  loads = double(llvm::divideCeil(places, run));
  // Packed (RecordEmission.cpp): neighbours in a word meet in three operations, what lies between goes in one, and a
  // further word comes in two.
  const int64_t words = llvm::divideCeil(places, 4), inWord = std::min<int64_t>(places, 4);
  if (!unit.sparsity->index.storage.empty())
    packs = double(words * (3 * llvm::Log2_64_Ceil(inWord) + 1) + 2 * (words - 1));
}

StepInstructions StagedTiles::instructions(const LaneContractionPlan &plan, const StagedOperand &a,
                                           const StagedOperand &b) const {
  const MatrixUnit &unit = *plan.unit;
  double units = plan.sliceDepth() / unit.k;
  StepInstructions result;
  result.products = units * plan.tilesM * plan.tilesN;
  result.fragmentLoads =
      units * (plan.tilesM * fragmentLoads(unit, unit.a, a) + plan.tilesN * fragmentLoads(unit, unit.b, b));
  for (const auto &[operand, tiles] : {std::pair(&unit.a, plan.tilesM), std::pair(&unit.b, plan.tilesN)})
    if (isPackedFloat(*operand)) // each word of four codes
      result.loop += units * double(tiles * operand->layout.numElements() / 4 * packInstructions);
  // Scales come from global memory, the loads of a fragment one by one.
  if (unit.scales && unit.scales->hasA())
    result.globalLoads += units * double(plan.tilesM * unit.scales->a.layout.numElements());
  if (unit.scales && unit.scales->hasB())
    result.globalLoads += units * double(plan.tilesN * unit.scales->b.layout.numElements());
  if (unit.sparsity) { // and so do the places of a sparse A, those side by side in one load
    const IndexInstructions index(unit, c, plan.kDim);
    result.globalLoads += units * double(plan.tilesM) * index.loads;
    result.loop += units * double(plan.tilesM) * index.packs;
  }
  int64_t pointers = 0;
  for (const StagedOperand *each : {&a, &b}) {
    double loads = double(each->elements) * bytes / std::min<int64_t>(16, each->use.pieceBytes);
    if (each->turns) {
      loads = double(each->elements) / each->turn.along;
      result.permutes += turnPermutes(each->turn, each->elements, bytes);
    }
    result.globalLoads += loads;
    result.loop += checks(plan, each == &a, loads);
    pointers += each->turns ? 2 * loads : loads;
    if (each->direct)
      result.loop += loads * chip.number(Number::DirectPlace).value_or(0);
    else if (!hasEngine || each->turns) // else the engine writes
      result.writes += each->writes;
  }
  // Counter, comparison and branch of an iteration; a barrier and the stage of a step; the address of each load from
  // global memory, whose rows are far apart where copies turn; waits for accesses to the scratchpad, whose addresses
  // are constants only where an iteration does as many steps as stages; and what permutations wait for.
  double accesses = result.fragmentLoads + result.writes;
  if (plan.loadsAhead) { // also waits for the fragments of each unit's k, and for copies; and the scalar offsets of
                         // global memory, one counter for operands that move by the same bytes
    bool alike = c.a.access.stride(plan.kDim) == c.b.access.stride(plan.kDim);
    double offsets = alike ? 1 : 2;
    result.loop += (3 + offsets) / plan.round + 1 + offsets + units * chip.number(Number::FragmentWaits).value_or(0) +
                   1 + (plan.round == 1 && !hasEngine ? accesses : 0);
    return result;
  }
  result.loop +=
      3.0 / plan.round + 2 +
      (chip.number(Number::OffsetRegisters) ? 0 : chip.number(Number::AddressInstructions).value_or(1)) * pointers +
      chip.number(Number::AccessWaits).value_or(0) * accesses + (plan.round == 1 && !hasEngine ? accesses : 0) +
      chip.number(Number::PermuteWaits).value_or(0) * result.permutes;
  return result;
}
