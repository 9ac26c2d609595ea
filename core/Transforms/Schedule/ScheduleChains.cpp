//===- ScheduleChains.cpp - Nests that run in the tiles of another one ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which neighbouring nests are computed tile by tile, so that what they hand to
/// each other stays near, in a cache or in the scratchpad of a core:
///
///   s = 0;  s += q k;  p = soft-max of s;  o = 0;  o += p v
///   ->
///   for each tile of rows of o:  the same for the rows of s and p that the tile reads
///
/// Nothing is known of attention here: any range of nests is a candidate if its arrays between the nests are of no
/// other use. A candidate is built, by the code that will build it, and its tile is priced by the models of
/// contractions and of nests that move data; so are the nests apart:
///
///   fused = tiles * (contractions of a tile + other nests of a tile) / threads     taken if < 0.92 * apart
///   apart = contractions + other nests
///
/// What lies between the nests counts at the rate of the memory that holds it: all of it apart, that of a tile fused.
/// On caches packing is paid for in each tile, and a contraction gains nothing else by being cut. In a scratchpad lies
/// what a schedule places there: what is between the nests, which leaves the less for the stages of contractions, and a
/// tile's part of what other nests read and write. Sizes that are dynamic stay apart.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/TileSets.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/CostModel/Schedules/TileProgramModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Schedule/NestTimes.h"
#include "core/Transforms/Tile/TileNests.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"

namespace tilewright {
#define GEN_PASS_DEF_SCHEDULECHAINS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// A range must be faster in tiles by more than the models err: times of contractions, of small ones above all, are
/// right to about a tenth.
static constexpr double leastGain = 0.08;
/// Nests of a range, and sizes of a tile that are looked at.
static constexpr size_t mostNests = 24, mostTiles = 6;
/// Rows of a block, and iterations of a step of its sums.
static constexpr int64_t fewestRows = 16, mostRows = 256, shortestStep = 16, longestStep = 128;

namespace {
/// Tiles of the last nest of a range: single iterations of the loops before `loop`, `tile` of that loop.
struct Tiling {
  unsigned loop = 0;
  int64_t tile = 1;
  int64_t step = 0;  // iterations of the reductions that are one step; 0: all of them
  int64_t bytes = 0; // of a tile's part of the arrays between the nests
  double seconds = 0;
  SmallVector<Value> placed; // other arrays that tiles have a part of in the scratchpad
};

/// A range of nests of one block.
struct NestRange {
  SmallVector<AffineForOp> nests;
  SmallVector<Value> between;         // arrays that nobody else touches, in the order of their first access
  int64_t bytes = 0;                  // of them
  double apart = 0, contractions = 0; // seconds; of them, of contractions
  SmallVector<double, 4> handedOn;    // bytes of the arrays between that contractions read or write, for each of them
  std::optional<Tiling> best;
  std::vector<Tiling> considered;

  double gain() const { return best ? apart - best->seconds : 0; }
  /// Seconds that contractions save on what lies between the nests, in so many tiles.
  double saved(const MemoryModel &model, double tiles) const {
    double seconds = 0;
    for (double each : handedOn)
      seconds += model.moveSeconds(each, 0) - tiles * model.moveSeconds(each / tiles, 0);
    return seconds;
  }
};

class ChainScheduler {
public:
  ChainScheduler(func::FuncOp kernel, const TargetDescription &chip)
      : kernel(kernel), times(chip), level(*chip.graph().parallelLevel()), near(chip.graph().threadMemory()) {
    Settings settings = Settings::of(kernel);
    times.options.threads = times.cores ? times.cores->cores : settings.threads;
    times.options.mayReassociate = settings.mayReassociate();
  }
  void run();

private:
  MLIRContext *context() const { return func::FuncOp(kernel).getContext(); }
  void runSegment(ArrayRef<AffineForOp> nests);
  std::optional<NestRange> rangeOf(ArrayRef<AffineForOp> nests, double apart) const;
  std::vector<Tiling> tilings(const NestRange &range) const;
  void price(NestRange &range) const;
  bool secondsOf(const NestRange &range, Tiling &tiling) const;
  double secondsOnCaches(const NestRange &range, ArrayRef<NestGroup> groups, AffineForOp innermost, double all,
                         double ofBusiest) const;
  std::optional<double> secondsInScratchpad(Tiling &tiling, AffineForOp innermost) const;
  bool mayGain(const NestRange &range, double apart, int64_t contractions) const;
  std::vector<Tiling> tilingsOfBlocks(const NestRange &range) const;
  std::optional<double> secondsOnFragments(tile::ParallelOp tiles, int64_t blocks) const;
  tile::ScheduleAttr scheduleOf(const NestRange &range, const Tiling &tiling) const;
  void attach(const NestRange &range) const;

  func::FuncOp kernel;
  NestTimes times;
  const Level &level;
  const Memory *near; // that of one core: what it fills itself, or the last cache that it has alone
};
} // namespace

static void accessesOf(Operation *root, llvm::function_ref<void(Operation *op, Value memref, bool isStore)> visit) {
  root->walk([&](Operation *op) {
    if (isa<AffineLoadOp, AffineStoreOp>(op))
      visit(op, affineAccess(op).memref, isa<AffineStoreOp>(op));
  });
}

/// Whether all that `writer` writes of `memref` is touched by `last`, so that the tiles of `last` leave nothing out.
static bool isCoveredBy(AffineForOp last, AffineForOp writer, Value memref) {
  TileSets sets(*writer->getBlock());
  TileRelation written = sets.touched(memref, {writer}), touched = sets.touched(memref, {last});
  return written && touched && written.isWithin(touched);
}

/// Whether tiles of `last` touch boxes of `memref` that have no element in common: then another nest may prepare each
/// of them before its tile.
static bool hasOwnBoxes(const Nest &last, Value memref) {
  const Access *first = nullptr;
  for (const Access &access : llvm::concat<const Access>(last.loads, last.stores)) {
    if (access.memref != memref)
      continue;
    if (first && (access.map != first->map || access.symbols != first->symbols))
      return false;
    first = &access;
  }
  return ownDims(first->map).has_value();
}

/// Whether each iteration of the nest reads of `memref` the element that it writes alone.
static bool readsWhatItWrites(AffineForOp root, Value memref) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest))
    return false;
  const Access *store = llvm::find_if(nest->stores, [&](const Access &each) { return each.memref == memref; });
  return store != nest->stores.end() && llvm::all_of(nest->loads, [&](const Access &load) {
           return load.memref != memref || (load.map == store->map && load.symbols == store->symbols);
         });
}

/// The range with what lies between its nests; nullopt where tiles of the last one cannot take the others along.
std::optional<NestRange> ChainScheduler::rangeOf(ArrayRef<AffineForOp> nests, double apart) const {
  NestRange range;
  range.nests.assign(nests.begin(), nests.end());
  range.apart = apart;
  AffineForOp last = nests.back();
  auto isInside = [&](Operation *user) {
    return isa<memref::DeallocOp>(user) ||
           llvm::any_of(nests, [&](AffineForOp nest) { return nest->isAncestor(user); });
  };
  auto isBetween = [&](Value memref) {
    auto buffer = memref.getDefiningOp<memref::AllocOp>();
    return buffer && buffer.getType().hasStaticShape() && buffer.getType().getLayout().isIdentity() &&
           llvm::all_of(memref.getUsers(), isInside);
  };
  llvm::SmallSetVector<Value, 8> between, byLast;
  accessesOf(last, [&](Operation *, Value memref, bool isStore) {
    if (isStore && !isBetween(memref))
      byLast.insert(memref);
  });
  bool isLegal = true;
  for (AffineForOp nest : nests) {
    // Masks of computed indices, as of causal attention, lost in tiles: 1024 tokens of 8 heads took 1.05 and 1.34 times
    // as long on one and two cores, which the model does not explain.
    nest->walk([&](AffineForOp loop) {
      isLegal &= llvm::all_of(loop.getInductionVar().getUsers(), [](Operation *user) {
        return isa<AffineLoadOp, AffineStoreOp, AffineApplyOp, AffineForOp>(user);
      });
    });
    llvm::SmallSetVector<Value, 4> filled, readBack;
    accessesOf(nest, [&](Operation *, Value memref, bool isStore) {
      if (isBetween(memref))
        between.insert(memref);
      else if (nest == last)
        return;
      else if (isStore)
        filled.insert(memref);
      else if (byLast.contains(memref))
        readBack.insert(memref);
    });
    // Other tiles may have written what it reads, but for an element that it goes on with itself.
    for (Value memref : readBack)
      isLegal &= readsWhatItWrites(nest, memref);
    // A nest before may prepare what the last one goes on with, and that alone.
    for (Value memref : filled)
      isLegal &= byLast.contains(memref) && hasOwnBoxes(*analyzeNest(last), memref) && isCoveredBy(last, nest, memref);
    if (!isLegal)
      return std::nullopt;
  }
  for (Value memref : between) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.getElementType().isIntOrFloat())
      return std::nullopt;
    range.bytes += type.getNumElements() * elementBytes(type.getElementType());
  }
  range.between = between.takeVector();
  if (range.between.empty())
    return std::nullopt;
  return range;
}

/// Tiles of rows for blocks, each with steps along what the nests sum over: powers of two that divide both, the last
/// loop of more than one iteration before that of the columns.
std::vector<Tiling> ChainScheduler::tilingsOfBlocks(const NestRange &range) const {
  std::vector<Tiling> result;
  Nest last = *analyzeNest(range.nests.back());
  if (last.depth() < 2 || !times.options.mayReassociate) // steps add up in another order
    return result;
  unsigned loop = last.depth() - 2;
  int64_t longest = 1; // of the loops that are summed over
  for (AffineForOp root : range.nests) {
    Nest nest = *analyzeNest(root);
    for (unsigned d = 0; d < nest.depth(); ++d)
      if (llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(d); }))
        longest = std::max(longest, *nest.tripCounts[d]);
  }
  for (int64_t tile = fewestRows; tile <= mostRows && *last.tripCounts[loop] % tile == 0; tile *= 2)
    for (int64_t step = shortestStep; step <= longestStep && step < longest && longest % step == 0; step *= 2)
      result.push_back({loop, tile, step, 0, 0, {}});
  return result;
}

/// The time of tiles that subgroups of blocks compute on fragments; nullopt where none do.
std::optional<double> ChainScheduler::secondsOnFragments(tile::ParallelOp tiles, int64_t blocks) const {
  std::string reason;
  FailureOr<TileProgram> program = analyzeTileProgram(tiles, reason);
  if (failed(program))
    return std::nullopt;
  NumericFreedom freedom;
  freedom.mayReassociate = times.options.mayReassociate;
  auto plan = planTileProgram(*program, blocks, times.chip, *times.blocks, freedom, reason);
  return plan ? std::optional(plan->seconds) : std::nullopt;
}

/// Loops of the last nest that index what lies between, outermost first, with tiles whose part of it is about half as
/// large as the cache, or leaves room in the scratchpad.
std::vector<Tiling> ChainScheduler::tilings(const NestRange &range) const {
  if (times.blocks)
    return tilingsOfBlocks(range);
  std::vector<Tiling> result;
  Nest last = *analyzeNest(range.nests.back());
  // The other half of a cache is for what all tiles read. Of a scratchpad the stages of contractions take their share.
  const double middle = double(near->bytes) * (times.cores ? 0.25 : 0.5);
  const double least = times.cores ? 0 : middle / 8, most = times.cores ? 3 * middle : 8 * middle;
  double iterations = 1;
  for (unsigned d = 0; d < last.depth() && isParallelLoop(last.loops[d]); ++d) {
    int64_t trips = *last.tripCounts[d];
    bool isIndex = llvm::any_of(last.loads, [&](const Access &load) {
      return llvm::is_contained(range.between, load.memref) && load.map.isFunctionOfDim(d);
    });
    if (isIndex)
      for (int64_t tile = 1; tile < trips || (tile == trips && d > 0); tile *= 2) {
        double bytes = double(range.bytes) / iterations * double(tile) / double(trips);
        if (bytes >= least && bytes <= most)
          result.push_back({d, tile, 0, int64_t(bytes), 0, {}});
      }
    if (!isIndex)
      break; // tiles of it would compute the same again
    iterations *= double(trips);
  }
  auto distance = [&](const Tiling &tiling) { return std::abs(std::log(double(tiling.bytes) / middle)); };
  llvm::stable_sort(result, [&](const Tiling &a, const Tiling &b) { return distance(a) < distance(b); });
  if (result.size() > mostTiles)
    result.resize(mostTiles);
  return result;
}

tile::ScheduleAttr ChainScheduler::scheduleOf(const NestRange &range, const Tiling &tiling) const {
  int64_t first = 0; // loop of the last nest
  for (AffineForOp nest : ArrayRef(range.nests).drop_back())
    nest->walk([&](AffineForOp) { ++first; });
  Nest last = *analyzeNest(range.nests.back());
  auto tilesOf = [&](unsigned d) { return llvm::divideCeil(*last.tripCounts[d], d < tiling.loop ? 1 : tiling.tile); };
  unsigned spread = 0;
  int64_t all = 1;
  for (unsigned d = 0; d <= tiling.loop; ++d)
    all *= tilesOf(d);
  for (unsigned d = 0; d <= tiling.loop; ++d) {
    if (tilesOf(d) > tilesOf(spread))
      spread = d;
    if (int64_t(tilesOf(spread)) >= times.options.threads)
      break;
  }
  int64_t members = times.blocks ? all : std::min<int64_t>(times.options.threads, tilesOf(spread));
  SmallVector<tile::TiledLoopAttr> loops;
  for (unsigned d = 0; d <= tiling.loop; ++d)
    loops.push_back(
        tile::TiledLoopAttr::get(context(), first + d, d < tiling.loop ? 1 : tiling.tile, times.blocks || d == spread));
  if (times.blocks) // each block has one tile, and units' registers hold what lies between
    return tile::ScheduleAttr::get(context(), level.name, members, range.nests.size(), loops, {}, tiling.step);
  llvm::SmallSetVector<Value, 16> arrays;
  for (AffineForOp nest : range.nests)
    accessesOf(nest, [&](Operation *, Value memref, bool) { arrays.insert(memref); });
  SmallVector<tile::PlacementAttr> places;
  for (auto [i, array] : llvm::enumerate(arrays))
    if (llvm::is_contained(range.between, array) || llvm::is_contained(tiling.placed, array))
      places.push_back(tile::PlacementAttr::get(context(), i, first + tiling.loop, near->name, 1));
  return tile::ScheduleAttr::get(context(), level.name, members, range.nests.size(), loops, places, /*step=*/0);
}

/// The part of `memref` that the operations of `tile` touch, in bytes; nullopt where it is no box.
static std::optional<int64_t> boxBytes(Block &tile, Value memref, int64_t align) {
  TileSets sets(tile);
  TileRelation touched = sets.touched(memref, llvm::map_to_vector(tile, [](Operation &op) { return &op; }));
  std::string reason;
  auto type = cast<MemRefType>(memref.getType());
  std::optional<TileBox> box = touched ? sets.box(touched, type, reason) : std::nullopt;
  if (!box)
    return std::nullopt;
  return llvm::alignTo(box->elements() * elementBytes(type.getElementType()), align);
}

/// The time of a tile whose caches keep what lies between. `all`: tiles; `ofBusiest`: those of the member with the
/// most.
double ChainScheduler::secondsOnCaches(const NestRange &range, ArrayRef<NestGroup> groups, AffineForOp innermost,
                                       double all, double ofBusiest) const {
  double contractions = 0, others = 0, packing = 0;
  for (const NestGroup &group : groups) {
    (group.isContraction ? contractions : others) += group.seconds;
    for (const std::optional<ContractionOperand> &operand : group.packed) {
      if (!operand || llvm::is_contained(operand->access.symbols, innermost.getInductionVar()))
        continue;
      Value memref = operand->access.memref;
      Operation *root = innermost.getBody()->findAncestorOpInBlock(*operand->access.op);
      auto trial = innermost->getParentOfType<func::FuncOp>();
      if (!memref.getDefiningOp() || memref.getDefiningOp()->getParentOp() != trial)
        packing += times.packSeconds(bytesOf(operand->access, *analyzeNest(cast<AffineForOp>(root))),
                                     elementBytes(operand->element));
    }
  }
  // A contraction is not faster in tiles than whole but for what it moves: models differ by more than that.
  double whole = range.contractions - (range.saved(times.pass.caches(), all) - packing * (all - 1)) * ofBusiest / all;
  return others * ofBusiest + std::max(contractions * ofBusiest, whole);
}

/// The time of one tile whose arrays lie in the scratchpad, and which other arrays shall; nullopt where they do not
/// fit.
std::optional<double> ChainScheduler::secondsInScratchpad(Tiling &tiling, AffineForOp innermost) const {
  Block &tile = *innermost.getBody();
  int64_t align = scratchpadAlignment(*times.cores);
  int64_t taken = 0;
  llvm::SmallSetVector<Value, 16> arrays;
  for (Operation &op : tile)
    accessesOf(&op, [&](Operation *, Value memref, bool) { arrays.insert(memref); });
  for (Value memref : arrays)
    if (isNear(memref, *times.cores)) {
      std::optional<int64_t> bytes = boxBytes(tile, memref, align);
      if (!bytes)
        return std::nullopt;
      taken += *bytes;
    }
  auto groups = [&] {
    return times.groupsOf(llvm::to_vector(tile.getOps<AffineForOp>()), {1, near->bytes - taken, tiling.placed});
  };
  // What is no contraction works on parts of arrays, if these fit, too.
  llvm::SmallSetVector<Value, 8> others;
  for (const NestGroup &group : groups())
    if (!group.isContraction)
      for (Operation *op : group.ops)
        accessesOf(op, [&](Operation *, Value memref, bool) {
          if (!isNear(memref, *times.cores))
            others.insert(memref);
        });
  for (Value memref : others) {
    std::optional<int64_t> bytes = boxBytes(tile, memref, align);
    if (bytes && taken + *bytes <= near->bytes * 3 / 4) {
      tiling.placed.push_back(memref);
      taken += *bytes;
    } else if (!times.cores->reachesGlobal) {
      return std::nullopt;
    }
  }
  tiling.bytes = taken;
  double seconds = 0;
  for (const NestGroup &group : groups())
    seconds += group.seconds;
  return seconds;
}

/// Finds the time of the range in such tiles: builds them beside the kernel, and asks what a tile takes. False where
/// they have no such form, `tiling.seconds` infinite where they do not fit.
bool ChainScheduler::secondsOf(const NestRange &range, Tiling &tiling) const {
  OpBuilder builder(context());
  Location loc = func::FuncOp(kernel).getLoc();
  OwningOpRef<func::FuncOp> trial = func::FuncOp::create(builder, loc, "trial", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(trial->addEntryBlock());
  IRMapping mapping;
  for (Value memref : range.between) {
    auto type = cast<MemRefType>(memref.getType());
    if (times.cores)
      type = MemRefType::get(type.getShape(), type.getElementType(), AffineMap(), builder.getStringAttr(near->name));
    mapping.map(memref, memref::AllocOp::create(builder, loc, type).getResult());
  }
  Operation *first = nullptr;
  for (AffineForOp nest : range.nests) {
    Operation *clone = builder.clone(*nest, mapping);
    first = first ? first : clone;
  }
  func::ReturnOp::create(builder, loc);
  tile::ScheduleAttr schedule = scheduleOf(range, tiling);
  first->setAttr(tile::scheduleAttr, schedule);
  std::string reason;
  FailureOr<tile::ParallelOp> tiles = tileNests(first, reason);
  if (failed(tiles))
    return false;
  if (times.blocks) {
    std::optional<double> seconds = secondsOnFragments(*tiles, schedule.getMembers());
    tiling.seconds = seconds.value_or(std::numeric_limits<double>::infinity());
    return true;
  }
  // The body of the first loop over whole tiles.
  AffineForOp innermost;
  tiles->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
    auto at = loop->getAttrOfType<IntegerAttr>(tile::atAttr);
    if (at && at.getInt() == schedule.getLoops().back().getLoop())
      innermost = innermost ? innermost : loop;
  });
  Nest last = *analyzeNest(range.nests.back());
  double all = 1, ofBusiest = 1; // tiles; those of the member with the most
  for (unsigned d = 0; d <= tiling.loop; ++d) {
    int64_t count = llvm::divideCeil(*last.tripCounts[d], d < tiling.loop ? 1 : tiling.tile);
    all *= double(count);
    ofBusiest *= double(schedule.getLoops()[d].getSpread() ? llvm::divideCeil(count, schedule.getMembers()) : count);
  }
  if (times.cores) {
    std::optional<double> seconds = secondsInScratchpad(tiling, innermost);
    tiling.seconds = seconds ? *seconds * ofBusiest : std::numeric_limits<double>::infinity();
    return true;
  }
  std::vector<NestGroup> groups = times.groupsOf(llvm::to_vector(innermost.getBody()->getOps<AffineForOp>()), {1});
  tiling.seconds = secondsOnCaches(range, groups, innermost, all, ofBusiest);
  return true;
}

void ChainScheduler::price(NestRange &range) const {
  for (Tiling &tiling : tilings(range)) {
    if (!secondsOf(range, tiling))
      return; // no other tile has another form
    if (!std::isfinite(tiling.seconds))
      continue;
    range.considered.push_back(tiling);
    if (tiling.seconds < (1 - leastGain) * range.apart && (!range.best || tiling.seconds < range.best->seconds))
      range.best = tiling;
  }
}

/// Makes the nests neighbours and gives the first its schedule.
void ChainScheduler::attach(const NestRange &range) const {
  AffineForOp first = range.nests.front();
  for (Operation *op = first->getNextNode(); op != range.nests.back();) {
    Operation *next = op->getNextNode();
    if (!isa<AffineForOp>(op))
      op->moveBefore(first);
    op = next;
  }
  first->setAttr(tile::scheduleAttr, scheduleOf(range, *range.best));
  if (DecisionLog *log = DecisionLog::of(context())) {
    auto describe = [](const Tiling &tiling) {
      return llvm::json::Object{{"loop", int64_t(tiling.loop)},
                                {"tile", tiling.tile},
                                {"step", tiling.step},
                                {"bytes", tiling.bytes},
                                {"seconds", tiling.seconds}};
    };
    llvm::json::Array candidates{llvm::json::Object{{"tile", nullptr}, {"seconds", range.apart}}};
    for (const Tiling &each : range.considered)
      candidates.push_back(describe(each));
    log->add("schedule-chain", first.getLoc(),
             llvm::json::Object{{"inputs", llvm::json::Object{{"nests", int64_t(range.nests.size())},
                                                              {"bytes_between", range.bytes},
                                                              {"near_bytes", near ? near->bytes : 0}}},
                                {"choice", describe(*range.best)},
                                {"candidates", std::move(candidates)}});
  }
}

/// What the contractions of the range take, and move of what lies between its nests.
static void addContractions(NestRange &range, ArrayRef<NestGroup> groups) {
  for (const NestGroup &group : groups) {
    if (!group.isContraction || !llvm::is_contained(range.nests, group.ops.front()))
      continue;
    range.contractions += group.seconds;
    for (Value memref : group.arrays)
      if (llvm::is_contained(range.between, memref)) {
        auto type = cast<MemRefType>(memref.getType());
        range.handedOn.push_back(double(type.getNumElements() * elementBytes(type.getElementType())));
      }
  }
}

/// Whether tiles of the range can save enough of `apart`.
bool ChainScheduler::mayGain(const NestRange &range, double apart, int64_t contractions) const {
  if (times.blocks) // an array between two contractions, which fragments keep
    return contractions > 1;
  // What fits a cache whole stays there, and at most its way out and in again is saved.
  if (!times.cores && range.bytes <= near->bytes / 2)
    return false;
  double bytes = double(range.bytes);
  return 2 * times.pass.caches().moveSeconds(bytes, bytes) >= leastGain * apart;
}

/// Looks at all ranges of `nests`, which stand in a row but for what computes nothing, and takes those that gain most.
void ChainScheduler::runSegment(ArrayRef<AffineForOp> nests) {
  bool isStatic = llvm::all_of(nests, [](AffineForOp root) {
    FailureOr<Nest> nest = analyzeNest(root);
    return succeeded(nest) && llvm::all_of(nest->tripCounts, [](auto trips) { return trips.value_or(0) > 0; });
  });
  if (nests.size() < 2 || !isStatic)
    return;
  std::vector<NestGroup> groups = times.groupsOf(nests, {times.options.threads, times.cores ? near->bytes : 0, {}});
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
  for (size_t begin = 0; begin < nests.size(); ++begin)
    for (size_t end = begin + 2; end <= std::min(nests.size(), begin + mostNests); ++end) {
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
      std::optional<NestRange> range = rangeOf(nests.slice(begin, end - begin), apart);
      if (range)
        addContractions(*range, groups);
      if (!range || !mayGain(*range, apart, contractions))
        continue;
      price(*range);
      if (range->best)
        ranges.push_back(std::move(*range));
    }
  llvm::stable_sort(ranges, [](const NestRange &a, const NestRange &b) { return a.gain() > b.gain(); });
  llvm::SmallPtrSet<Operation *, 16> taken;
  for (const NestRange &range : ranges) {
    if (llvm::any_of(range.nests, [&](AffineForOp nest) { return taken.contains(nest); }))
      continue;
    taken.insert(range.nests.begin(), range.nests.end());
    attach(range);
  }
}

void ChainScheduler::run() {
  if (!near && !times.blocks)
    for (const Memory *each : times.chip.caches())
      if (!near || each == times.chip.caches()[1])
        near = each;
  if (!near && !times.blocks)
    return;
  SmallVector<SmallVector<AffineForOp>> segments(1);
  for (Operation &op : kernel.front()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (loop && loop->hasAttr(tile::scheduleAttr))
      return; // somebody has decided already
    if (loop)
      segments.back().push_back(loop);
    else if (!isMemoryEffectFree(&op) && !isa<memref::AllocOp, memref::AllocaOp>(op))
      segments.emplace_back();
  }
  for (ArrayRef<AffineForOp> segment : segments)
    runSegment(segment);
}

namespace {
struct ScheduleChains : tilewright::impl::ScheduleChainsBase<ScheduleChains> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    auto chip = requireTarget(getOperation());
    if (failed(chip))
      return signalPassFailure();
    if ((*chip)->graph().parallelLevel())
      ChainScheduler(getOperation(), **chip).run();
  }
};
} // namespace
