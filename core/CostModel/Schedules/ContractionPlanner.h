//===- ContractionPlanner.h - The parts of the contraction model -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the files of the contraction model share: the numbers of the chip, and
/// the planner, whose members are spread over
///
///   ContractionCandidates.cpp   which units, register tiles, blocks and orders are possible
///   ContractionTime.cpp         the time of one of them
///   ContractionTraffic.cpp      its part beside the k loops: operands that come and are packed
///   ContractionModel.cpp        the choice
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONPLANNER_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONPLANNER_H

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Time/Segments.h"
#include <cmath>
#include <limits>

namespace tilewright {

/// The numbers of a chip that the form needs, read once.
struct CoreNumbers {
  static constexpr double cacheShare = 0.375;
  explicit CoreNumbers(const TargetDescription &target) {
    auto [count, bytes] = target.vectorRegisters();
    registers = count;
    registerBytes = bytes;
    // What a description without records does not know has no limit and costs nothing.
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    loadsPerClock = target.number(Number::Load).value_or(1);
    storesPerClock = target.number(Number::Store).value_or(0.5);
    shufflesPerClock = target.number(Number::Shuffle).value_or(1);
    issuePerClock = target.number(Number::CoreIssue).value_or(unlimited);
    translations = target.number(Number::Translations).value_or(unlimited);
    walkClocks = target.number(Number::Walk).value_or(0);
    walks = target.number(Number::Walks).value_or(1);
    firstTranslations = target.number(Number::FirstTranslations).value_or(unlimited);
    translationClocks = target.number(Number::Translate).value_or(0);
    outstandingMisses = target.number(Number::Misses).value_or(unlimited);
    storeMisses = target.number(Number::StoreMisses).value_or(outstandingMisses / 4);
    sharedPart = target.number(Number::SharedPart).value_or(1);
    streams = target.number(Number::Streams).value_or(unlimited);
    fetchedLines = target.number(Number::FetchedLines).value_or(1);
    followed = target.number(Number::Followed).value_or(1);
    hidden = target.number(Number::Hidden).value_or(1);
    exposed = target.number(Number::Exposed).value_or(0);
    ramp = target.number(Number::Ramp).value_or(0);
    window = target.number(Number::Window).value_or(unlimited);
    crossingTraffic = target.number(Number::CrossingTraffic).value_or(1);
    clockHz = target.clockMHz() * 1e6;
    for (const Memory *cache : target.caches())
      levels.push_back(cache);
    if (!levels.empty())
      lineBytes = levels.front()->lineBytes;
    for (const Memory &memory : target.memories())
      if (memory.kind == MemoryKind::Global) {
        levels.push_back(&memory);
        pageBytes = memory.pageBytes ? memory.pageBytes : std::max<int64_t>(1, memory.bytes);
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
  /// counts on a part of what it gets alone, half if that was not measured.
  double bandwidth(double bytes) const {
    const Memory &from = level(bytes);
    return from.bytesPerClock * share(from);
  }
  double share(const Memory &from) const {
    bool shared = levels.size() > 2 && from.kind == MemoryKind::Cache && &from != levels[0] && &from != levels[1];
    return shared ? sharedPart : 1;
  }
  /// Bytes per clock when each line is a miss that no prefetcher foresaw: what the outstanding misses allow.
  double scattered(double bytes) const {
    const Memory &from = level(bytes);
    return std::min(bandwidth(bytes), outstandingMisses * lineBytes / std::max(from.latency, 1.0));
  }
  /// Bytes per clock at which `bytes` are written to that level.
  double writing(double bytes) const {
    const Memory &to = level(bytes);
    return to.writeBytesPerClock > 0 ? to.writeBytesPerClock : to.bytesPerClock;
  }
  /// Bytes per clock when what lies together ends after `run` bytes: prefetchers bring the lines behind it all the
  /// same.
  double pieces(double bytes, double run) const {
    return bandwidth(bytes) / std::max(1.0, fetchedLines * lineBytes / std::max<double>(run, lineBytes));
  }
  /// As `scattered` for stores, whose lines are fetched before they are written, and written back.
  double scatteredStores(double bytes) const {
    const Memory &to = level(bytes);
    return share(to) * std::min(writing(bytes), storeMisses * lineBytes / std::max(to.latency, 1.0));
  }
  /// Clocks that a page's translation adds when `pages` are visited in turn.
  double translation(double pages) const {
    return pages > translations ? walkClocks : pages > 0.75 * firstTranslations ? translationClocks : 0;
  }
  /// Bytes per clock of passes over `bytes`, from end to end again and again; `between`: what else is touched from one
  /// to the next.
  double cyclic(double bytes, double between) const {
    const Memory *second = cache(1);
    if (!second || bytes <= nearBytes())
      return bandwidth(bytes);
    double part = lostPart(*second, bytes + between, double(pageBytes)),
           beyond = scattered(std::max<double>(bytes, second->bytes));
    return 1 / ((1 - part) / second->bytesPerClock + part / beyond);
  }
  /// What stays in the first cache beside other operands.
  double nearBytes() const { return cache(0) ? cacheShare * cache(0)->bytes : 0; }
  const Memory *cache(unsigned i) const {
    return i < levels.size() && levels[i]->kind == MemoryKind::Cache ? levels[i] : nullptr;
  }
  int64_t registers, registerBytes, pageBytes = 1, lineBytes = 1;
  double loadsPerClock, storesPerClock, shufflesPerClock, issuePerClock, outstandingMisses, storeMisses, clockHz;
  double sharedPart;                           // of a shared cache's bandwidth that a core counts on
  double streams, fetchedLines;                // rows that prefetchers follow; lines that a miss in one of more brings
  double followed;                             // of the bandwidth, what rows get that only the hardware prefetches
  double exposed;                              // of the time of lines from beyond the first cache, what is waited for
  double ramp;                                 // lines until hardware prefetching is far enough ahead of a row
  double window;                               // instructions under way out of order
  double hidden;                               // of the time of prefetched lines, what the work beside them hides
  double crossingTraffic;                      // of a vector that crosses lines, from beyond the first cache
  double translations, walkClocks, walks;      // pages that stay translated, clocks of a page walk, walks at once
  double firstTranslations, translationClocks; // those that cost nothing, clocks of one of the others
  std::vector<const Memory *> levels;          // nearest first
};

/// The field of a plan that an override names.
int64_t planField(const ContractionPlan &plan, llvm::StringRef name);

/// A plan is better if it takes less than this part of the time of another one.
constexpr double betterPart = 0.995;

/// A buffer displaces other data and needs translations of its own, which no term of the form counts.
constexpr double copyMargin = 0.02;

class Planner {
public:
  Planner(const Contraction &c, const TargetDescription &target, const PlanOptions &options)
      : c(c), target(target), machine(target), options(options) {}
  /// The planner of one core's `part` of a contraction whose dimension `dim` is cut into `parts` pieces of `piece`
  /// elements, the last of `last`.
  Planner(const Contraction &part, const TargetDescription &target, const PlanOptions &options, unsigned dim,
          int64_t piece, int64_t last, int64_t parts)
      : c(part), target(target), machine(target), options(options), splitDim(dim), splitPiece(piece), lastPiece(last),
        splitParts(parts) {}

  std::optional<ContractionPlan> plan(std::string &reason);
  /// The best plan for the cores that `options` names.
  std::optional<ContractionPlan> planForCores(std::string &reason);

private:
  int64_t trips(unsigned dim) const { return tripsOf(c, dim); }
  int64_t product(llvm::ArrayRef<unsigned> dims) const {
    int64_t total = 1;
    for (unsigned dim : dims)
      total *= trips(dim);
    return total;
  }
  bool isStatic(unsigned dim) const { return c.nest.tripCounts[dim].has_value(); }
  bool isOne(unsigned dim) const { return c.nest.tripCounts[dim] == 1; }

  std::string shortage(bool hasDims, bool hasUnit) const;
  using Search = PlanSearch<ContractionPlan>;
  bool chooseDims(ContractionPlan &p) const;
  void mergeDims(ContractionPlan &p) const;
  std::optional<unsigned> neighbourRows(const ContractionPlan &p) const;
  bool considerDims(ContractionPlan p, Search &search);
  bool readsTapsTogether(const ContractionPlan &p) const;
  int64_t laneTrips(const ContractionPlan &p) const { return tripsOf(c, p.laneDim, p.outerLanes); }
  int64_t rowTrips(const ContractionPlan &p) const { return tripsOf(c, p.rowDim, p.outerRows); }
  /// Whether the rows or lanes of `p` run through `dim`.
  static bool isTiled(const ContractionPlan &p, unsigned dim) {
    return dim == p.rowDim || dim == p.laneDim || llvm::is_contained(p.outerRows, dim) ||
           llvm::is_contained(p.outerLanes, dim);
  }
  bool fitUnit(ContractionPlan &p);
  bool fitBlock(ContractionPlan &p);
  int64_t registersFor(const MatrixUnit &unit) const;
  bool fitsRegisters(const MatrixUnit &unit, int64_t rows, int64_t vectors) const;
  std::vector<std::pair<int64_t, int64_t>> blocks(const ContractionPlan &p) const;

  /// The extents of a plan's loops, and bytes of what they touch.
  struct Extents {
    double lanes, rows, k, outer;   // of the iteration space; outer: all other loops
    double vectors, unitRows;       // in unit steps
    double panels, rowTiles;        // register tiles side by side
    double meanVectors, meanRows;   // unit steps of one
    double kBlocks, kInBlock;       // blocks of k, elements of one
    double registerBytes, rowBytes; // a fragment of the vector and of the scalar operand
    double panelBytes;              // a block of k of one panel
    double vSource, sSource;        // the whole operands
  };
  Extents extentsOf(const ContractionPlan &p) const;
  /// Time of `p`; infinite where it is seen early that it is not less than `most`.
  double clocks(const ContractionPlan &p, double most) const;
  double tileClocks(const ContractionPlan &p, const Extents &x) const;
  double resultClocks(const ContractionPlan &p, const Extents &x, double tiles) const;
  double transposedClocks(const ContractionPlan &p, const Extents &x, double perClock) const;
  double sumOverBlocks(const ContractionPlan &p, const Extents &x, llvm::function_ref<double(int64_t)> ofBlock) const;
  double withVectors(const ContractionPlan &p, const Extents &x, double total) const;
  double withScalars(const ContractionPlan &p, const Extents &x, double total) const;
  double firstTouchClocks(const ContractionPlan &p, const Extents &x) const;
  double vectorBandwidth(const ContractionPlan &p, const Extents &x) const;
  double rowClocks(const ContractionPlan &p, const Extents &x) const;
  double panelRun(const ContractionPlan &p, const Extents &x) const;
  double packedRun(const ContractionPlan &p, const Extents &x) const;
  bool packsAlongK(const ContractionPlan &p) const;
  bool stagesVectors(const ContractionPlan &p) const;
  /// Clocks of an element that a packing copy reads and writes by itself, before it takes vectors of them.
  double stagedElement() const { return std::max(1 / machine.loadsPerClock, 1 / machine.storesPerClock); }
  double accesses(const UnitOperand &operand, double bytes) const;
  double crossing(const ContractionPlan &p) const;
  double pageSteps(const ContractionPlan &p) const;
  double pagesApart(const Access &access, unsigned dim, int64_t bytes) const;
  double stridedLineClocks(double stride, double steps, double perStep, double between) const;
  bool readsAlongK(const ContractionPlan &p) const;
  llvm::SmallVector<Walk> scalarRows(const ContractionPlan &p, double rows) const;
  double scalarLines(const ContractionPlan &p, double rows) const;
  double scalarPieces(const ContractionPlan &p, const Extents &x, double rows, double unit) const;
  double scalarBytes(const ContractionPlan &p, const Extents &x, double rows) const;
  double windowVectorClocks(const ContractionPlan &p, const Extents &x, double group) const;
  std::pair<double, double> stridedScalars(const ContractionPlan &p, const Extents &x) const;
  double scalarTouchClocks(const ContractionPlan &p, const Extents &x) const;
  bool isPrefetched(const ContractionPlan &p) const;
  bool prefetchesRows(const ContractionPlan &p) const;
  bool rereadsScalars(const ContractionPlan &p) const;
  double beside(double work, double arrival) const;
  /// What the form asks of an access again and again.
  struct Reach {
    Reach(const Access &access, const Planner &planner);
    llvm::SmallBitVector dims;                            // Access::dims
    llvm::SmallVector<std::optional<int64_t>, 8> strides; // by dimension of the nest
    double elements = 1;                                  // that the loops visit
    double distinct = 1;                                  // of these, those that lie apart: windows overlap
  };
  bool movesTransposed(const ContractionPlan &p, const Reach &reach) const;
  llvm::SmallVector<Reach, 2> readsBesideC() const;
  const Reach &reachOf(const Access &access) const {
    return &access == &c.a.access ? reachOfA : &access == &c.b.access ? reachOfB : reachOfC;
  }
  /// `access.stride(dim)` of an operand or the result of this contraction.
  std::optional<int64_t> strideOf(const Access &access, unsigned dim) const { return reachOf(access).strides[dim]; }
  double elementsOf(const Access &access) const { return reachOf(access).elements; }
  double distinctElements(const Access &access) const { return reachOf(access).distinct; }
  /// Bytes of an element: of A or B of this contraction in memory, of an operand of a unit in its registers.
  int64_t bytesOf(const ContractionOperand &operand) const { return &operand == &c.a ? bytesOfA : bytesOfB; }
  /// How many bytes lie between two steps of `dim` in an operand; 0 where it does not follow from a size.
  double bytesApart(const ContractionOperand &operand, unsigned dim) const {
    return double(std::abs(strideOf(operand.access, dim).value_or(0))) * double(bytesOf(operand));
  }
  static int64_t bytesOf(ElementKind kind) { return llvm::PowerOf2Ceil(llvm::divideCeil(bitWidth(kind), 8)); }
  const MatrixUnit *tailUnitFor(const ContractionPlan &p) const;
  void sizes(ContractionPlan &p, Search &search) const;
  bool chooseSteps(ContractionPlan &p) const;
  llvm::SmallVector<int64_t> blocksOfK(const ContractionPlan &p) const;
  void considerBlocks(ContractionPlan p, Search &search) const;
  void consider(ContractionPlan candidate, Search &search) const;
  /// Rows and lanes of `p` in steps of its unit.
  int64_t unitRowsOf(const ContractionPlan &p) const { return p.rowDim ? llvm::divideCeil(rowTrips(p), p.unit->m) : 1; }
  int64_t unitVectorsOf(const ContractionPlan &p) const { return llvm::divideCeil(laneTrips(p), p.unit->n); }
  /// The cache that keeps a panel while rows go by; null: there is none.
  const Memory *secondCache() const { return machine.cache(1) ? machine.cache(1) : machine.cache(0); }
  double linesOfSet(const Memory &cache, int64_t stride, double perRow, double rows) const;
  double setPressure(const ContractionPlan &p, unsigned level = 1) const;
  bool prefetchesResult(int64_t fragments) const;
  bool packsScalarsOnce(const ContractionPlan &p) const;
  bool canBindVectors(const ContractionPlan &p) const;
  double tilesOfCopy(const ContractionPlan &p, const ContractionOperand &operand) const;
  void splitTiles(ContractionPlan &p) const;
  llvm::SmallVector<int64_t, 2> piecesOf(unsigned dim) const;
  double contentionSeconds(const Planner &part, int64_t parts) const;

  const Contraction &c;
  const TargetDescription &target;
  CoreNumbers machine;
  const PlanOptions &options;
  std::optional<unsigned> splitDim; // this is one core's part
  int64_t splitPiece = 0, lastPiece = 0, splitParts = 1;
  int64_t bytesOfA = elementBytes(c.a.element), bytesOfB = elementBytes(c.b.element);
  int64_t sumBytes = elementBytes(c.accumulator); // of an element of C
  Reach reachOfA{c.a.access, *this}, reachOfB{c.b.access, *this}, reachOfC{c.c, *this};
  llvm::SmallVector<Reach, 2> readBesideC = readsBesideC();
  std::string refusal;      // why a unit that takes the element types is left out
  bool isRowOfSums = false; // one vector times a matrix that lies along k
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_CONTRACTIONPLANNER_H
