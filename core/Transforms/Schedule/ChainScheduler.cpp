//===- ChainScheduler.cpp - Schedules of neighbouring nests ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which ranges of nests are candidates, in which tiles, and which are taken.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/ChainScheduler.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Transforms/Schedule/AssumedKernel.h"
#include "core/Transforms/Schedule/RefusedEnds.h"
#include "core/Transforms/Schedule/Tilings.h"
#include "core/Transforms/Tile/PartialReductions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Nests of a range.
static constexpr size_t mostNests = 24;
/// Sizes of a tile, all steps in one, that are built; those that loops refuse do not count.
static constexpr size_t mostTiles = 6;
/// Iterations of a step with which tiles of blocks are compared; how many tiles are looked at with other steps, and how
/// much these may change the time.
static constexpr int64_t usualStep = 64;
static constexpr size_t mostTilesWithSteps = 3;
static constexpr double mostOfSteps = 1.25;

tile::ScheduleAttr ChainScheduler::scheduleOf(const NestRange &range, const Tiling &tiling) const {
  int64_t first = 0; // loop of the last nest
  for (AffineForOp nest : ArrayRef(range.nests).drop_back())
    nest->walk([&](AffineForOp) { ++first; });
  const SmallVector<int64_t> tiles = tilesOf(range, tiling);
  unsigned spread = 0;
  int64_t all = 1;
  for (int64_t each : tiles)
    all *= each;
  for (unsigned d = 0; d <= tiling.loop; ++d) {
    if (tiles[d] > tiles[spread])
      spread = d;
    if (tiles[spread] >= times.options.threads)
      break;
  }
  int64_t members = !times.blocks ? std::min<int64_t>(times.options.threads, tiles[spread]) : isAssumed() ? 0 : all;
  SmallVector<tile::TiledLoopAttr> loops;
  for (unsigned d = 0; d <= tiling.loop; ++d)
    loops.push_back(tile::TiledLoopAttr::get(context(), first + range.cuts[d], d < tiling.loop ? 1 : tiling.tile,
                                             times.blocks || d == spread));
  if (tiling.columns)
    loops.push_back(tile::TiledLoopAttr::get(context(), first + *range.columns, tiling.columns, /*spread=*/true));
  if (times.blocks) // each block has one tile, and units' registers hold what lies between
    return tile::ScheduleAttr::get(context(), level.name, members, range.nests.size(), loops, {}, tiling.step,
                                   tiling.parts, tiling.passes);
  llvm::SmallSetVector<Value, 16> arrays;
  for (AffineForOp nest : range.nests)
    accessesOf(nest, [&](Operation *, Value memref, bool) { arrays.insert(memref); });
  SmallVector<tile::PlacementAttr> places;
  for (auto [i, array] : llvm::enumerate(arrays))
    if (llvm::is_contained(range.between, array) || llvm::is_contained(tiling.placed, array))
      places.push_back(tile::PlacementAttr::get(context(), i, first + range.cuts[tiling.loop], near->name, 1));
  return tile::ScheduleAttr::get(context(), level.name, members, range.nests.size(), loops, places, tiling.step,
                                 tiling.parts, tiling.passes);
}

/// The schedule of the parts of `count` nests from `first` on, as far as they are cut like rows are whole; null with a
/// reason where they have none.
tile::ScheduleAttr ChainScheduler::scheduleOfParts(Operation *first, size_t count, const Tiling &tiling,
                                                   std::string &reason) const {
  // A copy is split to see which loops there are then.
  OwningOpRef<func::FuncOp> trial = cast<func::FuncOp>(first->getParentOp()->clone());
  SmallVector<Operation *> ops;
  Operation *clone = &trial->front().front();
  for (Operation &op : *first->getBlock()) {
    if (&op == first)
      break;
    clone = clone->getNextNode();
  }
  for (; ops.size() < count; clone = clone->getNextNode())
    ops.push_back(clone);
  FailureOr<PartialNests> nests = splitReductions(ops, tiling.parts, reason);
  if (failed(nests))
    return {};
  std::vector<Nest> analysed;
  for (AffineForOp root : nests->parts)
    analysed.push_back(*analyzeNest(root, GuardedReads::Allowed));
  CoveredArrays covered;
  std::optional<NestRange> range = findRange(nests->parts, analysed, 0, /*keepsResults=*/true, covered);
  if (range)
    findCuts(*range, /*withWindows=*/false);
  if (!range || range->cuts.empty()) {
    reason = "parts of the reductions have no rows";
    return {};
  }
  Tiling ofParts = tiling;
  ofParts.loop = range->cuts.size() - 1;
  ofParts.tile = range->hasRows ? tiling.tile : 1;
  tile::ScheduleAttr schedule = scheduleOf(*range, ofParts);
  return tile::ScheduleAttr::get(context(), schedule.getLevel(), schedule.getMembers(), count, schedule.getLoops(),
                                 schedule.getPlacements(), schedule.getStep(), schedule.getParts(),
                                 schedule.getPasses());
}

/// The nests of the kernel.
SmallVector<AffineForOp> ChainScheduler::originalsOf(ArrayRef<AffineForOp> nests) const {
  return llvm::map_to_vector(nests, [&](AffineForOp nest) { return isAssumed() ? originals.lookup(nest) : nest; });
}

/// Loops that a tiling cuts, and where the range ends: what tiles of shorter and longer ranges may have in common.
static auto placeOf(const NestRange &range, const Tiling &tiling) {
  ArrayRef<unsigned> cuts = ArrayRef(range.cuts).take_front(tiling.loop + 1);
  return std::tuple(AffineForOp(range.nests.back()).getOperation(), std::vector<unsigned>(cuts.begin(), cuts.end()),
                    tiling.tile);
}

/// Whether such tiles lose too much without the first nests of the range: each nest before them adds at least the work
/// that it is apart, and saves at most the way out and in again of what then lies between.
bool ChainScheduler::losesAsShorter(const NestRange &range, const Tiling &tiling) const {
  if (times.blocks || times.cores || tiling.step || !forced.empty())
    return false;
  auto found = losses.find(placeOf(range, tiling));
  if (found == losses.end())
    return false;
  const auto &[loss, bytes] = found->second;
  const double more = double(std::max<int64_t>(0, range.bytes - bytes));
  return loss >= 2 * times.pass.caches().moveSeconds(more, more) - leastGain * range.apart;
}

void ChainScheduler::addLoss(const NestRange &range, const Tiling &tiling) {
  if (!tiling.step)
    losses[placeOf(range, tiling)] = {tiling.seconds - range.apart, range.bytes};
}

/// Prices tiles; the time of the fastest one, infinite where none has a form.
double ChainScheduler::price(NestRange &range, std::vector<Tiling> tilings) {
  // Loops whose tiles have no form, without steps and with: no other tile of them or of loops inside has another one.
  const auto none = unsigned(range.cuts.size());
  std::array<unsigned, 2> refused{none, none};
  double fastest = std::numeric_limits<double>::infinity();
  size_t built = 0;
  for (Tiling &tiling : tilings) {
    const bool hasSteps = tiling.step > 0;
    const bool isMore = !times.blocks && !hasSteps && built == mostTiles;
    if (tiling.loop >= refused[hasSteps] || isMore || losesAsShorter(range, tiling))
      continue;
    // Such tiles gain nothing, nor are they near enough for others with their rows to gain.
    if (const double least = leastSeconds(range, tiling); forced.empty() && least > mostOfSteps * range.apart) {
      static constexpr StringLiteral why = "matrix units alone take longer in so few tiles than the nests apart";
      fastest = std::min(fastest, least);
      if (!llvm::is_contained(range.refusals, why))
        range.refusals.push_back(why.str());
      continue;
    }
    TileRefusal refusal;
    const TileForm form = secondsOf(range, tiling, refusal);
    const std::string &reason = refusal.reason;
    range.refusedNests = std::max(range.refusedNests, refusal.ofLast ? refusal.ofLast : NestRange::allNests);
    range.lacksUnit |= form == TileForm::NoUnit;
    range.mayFit |= form == TileForm::Some || form == TileForm::NoProgram;
    if (form == TileForm::None || form == TileForm::NoUnit)
      refused[hasSteps] = std::min(refused[hasSteps], tiling.loop);
    else
      built += !hasSteps;
    if (form != TileForm::Some || !std::isfinite(tiling.seconds)) {
      if (!reason.empty() && !llvm::is_contained(range.refusals, reason))
        range.refusals.push_back(reason);
      else if (form == TileForm::NoProgram)
        refused[hasSteps] = 0; // two tiles for the same reason, which says no size: others, too
      continue;
    }
    range.considered.push_back(tiling);
    addLoss(range, tiling);
    fastest = std::min(fastest, tiling.seconds);
    // What is forced need not pay.
    const bool gains = !forced.empty() || tiling.seconds < (1 - leastGain) * range.apart;
    if (gains && (!range.best || tiling.seconds < range.best->seconds))
      range.best = tiling;
  }
  return fastest;
}

/// Prices tiles of blocks: all with steps of a usual size, then other steps of the fastest ones, if any is near enough.
/// False where none has a form.
bool ChainScheduler::priceBlocks(NestRange &range, ArrayRef<Tiling> tilings) {
  auto distance = [](const Tiling &tiling) { return std::abs(std::log2(double(tiling.step) / usualStep)); };
  std::vector<Tiling> usual;
  for (const Tiling &tiling : tilings) {
    auto same = llvm::find_if(usual, [&](const Tiling &each) { return each.hasTilesOf(tiling); });
    if (same == usual.end())
      usual.push_back(tiling);
    else if (distance(tiling) < distance(*same))
      *same = tiling;
  }
  const size_t before = range.considered.size();
  const double fastest = price(range, usual);
  if (std::isfinite(fastest) && fastest > mostOfSteps * range.apart)
    return true;
  SmallVector<Tiling> best(ArrayRef(range.considered).drop_front(before));
  llvm::stable_sort(best, [](const Tiling &a, const Tiling &b) { return a.seconds < b.seconds; });
  best.truncate(std::min(best.size(), mostTilesWithSteps));
  std::vector<Tiling> others; // where steps of the usual size fit nowhere, all others
  for (const Tiling &tiling : tilings)
    if (llvm::none_of(usual, [&](const Tiling &each) { return each.hasTilesOf(tiling) && each.step == tiling.step; }) &&
        (best.empty() || llvm::any_of(best, [&](const Tiling &each) { return each.hasTilesOf(tiling); })))
      others.push_back(tiling);
  const bool isRefused = best.empty() && !range.mayFit;
  return (!isRefused && std::isfinite(price(range, others))) || std::isfinite(fastest);
}

/// Prices tiles that sum in one pass, and, where blocks have none of this form, in two: the second one reads again
/// what the first one has summed up.
void ChainScheduler::price(NestRange &range) {
  std::vector<Tiling> tilings = tilingsOf(range, times, near, isAssumed());
  llvm::erase_if(tilings, [&](const Tiling &each) {
    return !agree(forced, {{"chain_rows", each.tile}, {"chain_step", each.step}, {"chain_parts", each.parts}});
  });
  if (!times.blocks) {
    price(range, tilings);
    return;
  }
  if (priceBlocks(range, tilings) || range.lacksUnit)
    return;
  llvm::erase_if(tilings, [](const Tiling &tiling) { return tiling.parts > 1; });
  for (Tiling &tiling : tilings)
    tiling.passes = 2;
  priceBlocks(range, tilings);
}

/// Brings `nests`, all those of a segment, into their order; what computes nothing comes before them.
static void reorder(ArrayRef<AffineForOp> nests) {
  AffineForOp first = nests.front(), last = first;
  for (AffineForOp nest : nests) {
    first = nest->isBeforeInBlock(first) ? nest : first;
    last = last->isBeforeInBlock(nest) ? nest : last;
  }
  Block::iterator end = std::next(last->getIterator());
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(first->getIterator(), end)))
    if (!isa<AffineForOp>(op))
      op.moveBefore(first);
  for (AffineForOp nest : nests)
    nest->moveBefore(nest->getBlock(), end);
}

/// Makes the nests neighbours and gives the first its schedule.
void ChainScheduler::attach(const NestRange &range) {
  gained += range.gain();
  kept += range.bytes;
  const SmallVector<AffineForOp> nests = originalsOf(range.nests);
  AffineForOp first = nests.front();
  for (Operation *op = first->getNextNode(); op != nests.back();) {
    Operation *next = op->getNextNode();
    if (!isa<AffineForOp>(op))
      op->moveBefore(first);
    op = next;
  }
  std::string reason;
  first->setAttr(tile::scheduleAttr, range.best->parts > 1 ? scheduleOfParts(first, nests.size(), *range.best, reason)
                                                           : scheduleOf(range, *range.best));
  record(range);
}

/// Says what was chosen for the range, and why other tiles have no form.
void ChainScheduler::record(const NestRange &range) {
  if (DecisionLog::of(context())) {
    auto describe = [&](const Tiling &tiling) {
      return llvm::json::Object{{"loop", int64_t(range.cuts[tiling.loop])},
                                {"tile", tiling.tile},
                                {"columns", tiling.columns},
                                {"step", tiling.step},
                                {"parts", tiling.parts},
                                {"passes", tiling.passes},
                                {"bytes", tiling.bytes},
                                {"seconds", tiling.seconds}};
    };
    auto apart = [&] { return llvm::json::Object{{"tile", nullptr}, {"seconds", range.apart}}; };
    llvm::json::Array candidates{apart()}, refused;
    for (const std::string &reason : range.refusals)
      refused.push_back(reason);
    for (const Tiling &each : range.considered)
      candidates.push_back(describe(each));
    records.emplace_back(AffineForOp(range.nests.front()),
                         llvm::json::Object{{"inputs", llvm::json::Object{{"nests", int64_t(range.nests.size())},
                                                                          {"bytes_between", range.bytes},
                                                                          {"near_bytes", near ? near->bytes : 0}}},
                                            {"choice", range.best ? describe(*range.best) : apart()},
                                            {"candidates", std::move(candidates)},
                                            {"refused", std::move(refused)}});
  }
}

/// For each array the groups that access it.
using GroupsOfArrays = llvm::DenseMap<Value, llvm::SmallDenseSet<const NestGroup *, 2>>;

static GroupsOfArrays groupsOfArrays(ArrayRef<NestGroup> groups) {
  GroupsOfArrays result;
  for (const NestGroup &group : groups)
    for (Operation *op : group.ops)
      accessesOf(op, [&](Operation *, Value memref, bool) { result[memref].insert(&group); });
  return result;
}

static int64_t arrayBytes(MemRefType type) { return type.getNumElements() * elementBytes(type.getElementType()); }

/// What the contractions of the range take, and move of what lies between its nests, and what lies between its groups.
static void addContractions(NestRange &range, ArrayRef<NestGroup> groups, const GroupsOfArrays &groupsOf) {
  for (Value memref : range.between)
    if (groupsOf.lookup(memref).size() > 1)
      range.bytesBetweenGroups += arrayBytes(cast<MemRefType>(memref.getType()));
  for (const NestGroup &group : groups) {
    if (!group.isContraction || !llvm::is_contained(range.nests, group.ops.front()))
      continue;
    range.contractions += group.seconds;
    for (Value memref : group.arrays)
      if (llvm::is_contained(range.between, memref))
        range.handedOn.push_back(double(arrayBytes(cast<MemRefType>(memref.getType()))));
  }
}

/// The units of subgroups that compute the nest, if it is a contraction.
const std::optional<llvm::SmallBitVector> &ChainScheduler::unitsOf(AffineForOp root, const Nest &nest) {
  auto [entry, isNew] = units.try_emplace(root);
  std::optional<llvm::SmallBitVector> &result = entry->second;
  if (isNew)
    if (FailureOr<Contraction> sum = recognizeContraction(nest); succeeded(sum)) {
      const ArrayRef<MatrixUnit> all = times.chip.units();
      result.emplace(all.size());
      Contraction turned = *sum;
      std::swap(turned.a, turned.b);
      for (auto [i, unit] : llvm::enumerate(all))
        (*result)[i] = computesOnLanes(unit, *sum, *times.blocks, freedom) ||
                       computesOnLanes(unit, turned, *times.blocks, freedom) ||
                       computesInGroups(unit, *sum, *times.blocks, freedom) ||
                       computesInGroups(unit, turned, *times.blocks, freedom);
    }
  return result;
}

/// Whether a unit of subgroups computes all contractions of the range.
bool ChainScheduler::isForUnits(const NestRange &range) {
  llvm::SmallBitVector common(times.chip.units().size(), true);
  for (auto [root, nest] : llvm::zip(range.nests, range.analysed))
    if (const auto &own = unitsOf(root, nest))
      common &= *own;
  return common.any();
}

/// Seconds that tiles of blocks take at least; 0 where nothing is known. A block of one row may sum without units.
double ChainScheduler::leastSeconds(NestRange &range, const Tiling &tiling) {
  if (!times.blocks || range.hasMasks || !range.hasRows || tiling.tile == 1)
    return 0;
  if (!range.products) {
    range.products = 0;
    for (size_t at : neededNests(range)) {
      double iterations = 1;
      for (std::optional<int64_t> trips : range.analysed[at].tripCounts)
        iterations *= double(*trips);
      *range.products += unitsOf(range.nests[at], range.analysed[at]) ? iterations : 0;
    }
  }
  llvm::SmallBitVector any(times.chip.units().size());
  for (auto [root, nest] : llvm::zip(range.nests, range.analysed))
    if (const auto &own = unitsOf(root, nest))
      any |= *own;
  int64_t blocks = tiling.parts;
  for (int64_t tiles : tilesOf(range, tiling))
    blocks *= tiles;
  return leastSecondsOfTiles(*range.products, blocks, times.chip, *times.blocks, any);
}

/// Whether tiles of the range can save enough of `apart`.
bool ChainScheduler::mayGain(const NestRange &range, double apart, int64_t contractions) {
  if (times.blocks) // arrays between the nests, which fragments keep, and launches
    return isForUnits(range);
  if (range.hasMasks && !times.cores) // steps leave out what is masked
    return contractions > 1;
  // What fits a cache whole stays there, and at most its way out and in again is saved.
  if (!times.cores && range.bytes <= near->bytes / 2)
    return false;
  const double bytes = double(times.cores ? range.bytes : range.bytesBetweenGroups);
  return 2 * times.pass.caches().moveSeconds(bytes, bytes) >= leastGain * apart;
}

/// Looks at all ranges of `nests`, which stand in a row but for what computes nothing, and takes those that gain most;
/// false where there are none. `isLast`: then it says why.
bool ChainScheduler::runSegment(ArrayRef<AffineForOp> nests, bool isLast) {
  std::vector<Nest> analysed;
  bool isStatic = llvm::all_of(nests, [&](AffineForOp root) {
    FailureOr<Nest> nest = analyzeNest(root, times.blocks ? GuardedReads::Allowed : GuardedReads::Refused);
    if (failed(nest) || !llvm::all_of(nest->tripCounts, [](auto trips) { return trips.value_or(0) > 0; }))
      return false;
    analysed.push_back(std::move(*nest));
    return true;
  });
  if (nests.size() < 2 || !isStatic)
    return false;
  std::vector<NestGroup> groups = times.groupsOf(nests, {times.options.threads, times.cores ? near->bytes : 0, {}});
  const GroupsOfArrays accessedBy = groupsOfArrays(groups);
  struct Extent {
    size_t begin, end;
    bool isContraction;
    double seconds;
  };
  SmallVector<Extent> extents; // of groups, in nests
  for (const NestGroup &group : groups) {
    Extent extent{nests.size(), 0, group.isContraction, group.seconds};
    for (Operation *op : group.ops) {
      size_t at = llvm::find(nests, op) - nests.begin();
      extent.begin = std::min(extent.begin, at);
      extent.end = std::max(extent.end, at + 1);
    }
    extents.push_back(extent);
  }
  auto cuts = [&](size_t at) {
    return llvm::any_of(extents, [&](const Extent &each) { return each.begin < at && at < each.end; });
  };
  std::vector<NestRange> ranges;
  CoveredArrays covered;
  RefusedEnds refused;
  std::optional<NestRange> left;                   // the largest one that stays apart
  for (size_t end = 2; end <= nests.size(); ++end) // shorter ranges first: they say what longer ones may gain
    for (size_t length = 2; length <= std::min(end, mostNests); ++length) {
      const size_t begin = end - length;
      if (cuts(begin) || cuts(end))
        continue;
      double apart = 0;
      int64_t inside = 0, contractions = 0;
      for (const Extent &each : extents)
        if (begin <= each.begin && each.end <= end) {
          apart += each.seconds;
          ++inside;
          contractions += each.isContraction;
        }
      if (inside < 2 || contractions == 0)
        continue;
      std::optional<NestRange> range =
          findRange(nests.slice(begin, end - begin), ArrayRef(analysed).slice(begin, end - begin), apart,
                    /*keepsResults=*/times.blocks.has_value(), covered);
      if (range)
        addContractions(*range, groups, accessedBy);
      if (!range || !mayGain(*range, apart, contractions))
        continue;
      findCuts(*range, /*withWindows=*/!times.blocks);
      if (!refused.contains(*range)) {
        price(*range);
        refused.add(*range);
      }
      if (range->best)
        ranges.push_back(std::move(*range));
      else if (!left || left->nests.size() < range->nests.size())
        left = std::move(range);
    }
  if (!ranges.empty())
    reorder(originalsOf(nests));
  auto placeInSegment = [&](const NestRange &range) { return std::pair(range.analysed.data(), range.nests.size()); };
  llvm::sort(ranges, [&](const NestRange &a, const NestRange &b) {
    return std::tuple(-a.gain(), placeInSegment(a)) < std::tuple(-b.gain(), placeInSegment(b));
  });
  llvm::SmallPtrSet<Operation *, 16> taken;
  for (const NestRange &range : ranges) {
    if (llvm::any_of(range.nests, [&](AffineForOp nest) { return taken.contains(nest); }))
      continue;
    taken.insert(range.nests.begin(), range.nests.end());
    attach(range);
  }
  if (isLast && left && llvm::none_of(left->nests, [&](AffineForOp nest) { return taken.contains(nest); }))
    record(*left);
  return !taken.empty();
}

double ChainScheduler::run() {
  if (!near && !times.blocks)
    for (const Memory *each : times.chip.caches())
      if (!near || each == times.chip.caches()[1])
        near = each;
  if (!near && !times.blocks)
    return 0;
  OwningOpRef<func::FuncOp> assumed;
  if (times.blocks)
    assumed = assumeSizes(kernel, originals);
  SmallVector<SmallVector<AffineForOp>> segments(1);
  for (Operation &op : assumed ? assumed->front() : kernel.front()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (loop)
      segments.back().push_back(loop);
    else if (!isMemoryEffectFree(&op) && !isa<memref::AllocOp, memref::AllocaOp>(op))
      segments.emplace_back();
  }
  for (ArrayRef<AffineForOp> segment : segments) {
    const SmallVector<AffineForOp> early = times.blocks ? withEarlyResults(segment) : llvm::to_vector(segment);
    if (ArrayRef(early) == segment || !runSegment(early, /*isLast=*/false))
      runSegment(segment, /*isLast=*/true);
  }
  return gained;
}

double ChainScheduler::secondsApart() const {
  const auto nests = llvm::to_vector(func::FuncOp(kernel).front().getOps<AffineForOp>());
  double seconds = 0;
  for (const NestGroup &group : times.groupsOf(nests, {times.options.threads, times.cores ? near->bytes : 0, {}}))
    seconds += group.seconds;
  return seconds;
}

double ChainScheduler::mostGain() const {
  if (times.blocks || times.cores)
    return std::numeric_limits<double>::infinity();
  const double bytes = double(bytesInMemory());
  return 2 * times.pass.caches().moveSeconds(bytes, bytes);
}

int64_t ChainScheduler::bytesInMemory() const {
  int64_t bytes = -kept;
  for (auto array : func::FuncOp(kernel).front().getOps<memref::AllocOp>())
    if (MemRefType type = array.getType(); type.hasStaticShape())
      bytes += arrayBytes(type);
  return bytes;
}

void ChainScheduler::writeRecords() {
  if (DecisionLog *log = DecisionLog::of(context()))
    for (auto &[nest, record] : records)
      log->add("schedule-chain", nest, std::move(record));
}
