//===- ChainTrials.cpp - What nests take in tiles -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds the tiles of candidates, and prices them.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/TileSets.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Transforms/Schedule/ChainScheduler.h"
#include "core/Transforms/Schedule/TileRuns.h"
#include "core/Transforms/Schedule/Tilings.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// Nests that run together, and how often.
struct WeightedGroup {
  NestGroup group;
  TileRuns runs;
};
} // namespace

/// The time of tiles that subgroups of blocks compute on fragments, infinite where these tiles do not.
TileForm ChainScheduler::secondsOnFragments(tile::ParallelOp tiles, double &seconds, std::string &reason) const {
  seconds = std::numeric_limits<double>::infinity();
  FailureOr<TileProgram> program = analyzeTileProgram(tiles, reason);
  if (failed(program))
    return TileForm::NoProgram;
  auto plan = planTileProgram(*program, tilewright::tilesOf(tiles), times.chip, *times.blocks, freedom, forced, reason);
  if (plan)
    seconds = plan->seconds;
  return plan || hasUnit(*program, times.chip, *times.blocks, freedom) ? TileForm::Some : TileForm::NoUnit;
}

/// The time of the nests behind `tiles`.
double ChainScheduler::secondsBehind(tile::ParallelOp tiles) const {
  SmallVector<AffineForOp> nests;
  for (Operation *op = tiles->getNextNode(); op; op = op->getNextNode())
    if (auto nest = dyn_cast<AffineForOp>(op))
      nests.push_back(nest);
  double seconds = 0;
  for (const NestGroup &group : times.groupsOf(nests, {}))
    seconds += group.seconds;
  return seconds;
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

/// The time of tiles whose caches keep what lies between.
double ChainScheduler::secondsOnCaches(const NestRange &range, const Tiling &tiling, tile::ScheduleAttr schedule,
                                       AffineForOp innermost) const {
  const SmallVector<int64_t> counts = tilesOf(range, tiling);
  const TileRuns tiles = runsOf(schedule, counts);
  std::vector<WeightedGroup> groups;
  auto add = [&](Block &block, TileRuns runs) {
    SmallVector<AffineForOp> nests;
    for (auto nest : block.getOps<AffineForOp>())
      if (!nest->hasAttr(tile::atAttr))
        nests.push_back(nest);
    for (NestGroup &group : times.groupsOf(nests, {1}))
      groups.push_back({std::move(group), runs});
  };
  add(*innermost.getBody(), tiles);
  double steps = 0; // in all tiles
  for (auto loop : innermost.getBody()->getOps<AffineForOp>())
    if (loop->hasAttr(tile::atAttr)) {
      TileRuns runs = runsOf(schedule, counts, loop);
      steps += runs.all;
      add(*loop.getBody(), runs);
    }
  double contractions = 0, others = 0, packing = 0;
  for (const auto &[group, runs] : groups) {
    (group.isContraction ? contractions : others) += group.seconds * runs.ofBusiest;
    for (const std::optional<ContractionOperand> &operand : group.packed) {
      if (!operand || llvm::is_contained(operand->access.symbols, innermost.getInductionVar()))
        continue;
      Value memref = operand->access.memref;
      auto nest = operand->access.op->getParentOfType<AffineForOp>();
      while (nest->getParentOp() != innermost && !nest->getParentOp()->hasAttr(tile::atAttr))
        nest = nest->getParentOfType<AffineForOp>();
      auto trial = innermost->getParentOfType<func::FuncOp>();
      if (!memref.getDefiningOp() || memref.getDefiningOp()->getParentOp() != trial)
        packing += times.packSeconds(bytesOf(operand->access, *analyzeNest(nest)), elementBytes(operand->element)) *
                   (runs.all - runs.all / tiles.all);
    }
  }
  // A contraction is not faster in tiles than whole but for what it moves, and what masks leave out: models differ by
  // more than that.
  double pieces =
      tiling.step ? tiles.all * std::ceil(double(longestSum(range.analysed)) / double(tiling.step)) : tiles.all;
  double live = tiling.step ? steps / pieces : 1;
  double whole = live * range.contractions -
                 (live * range.saved(times.pass.caches(), pieces) - packing) * tiles.ofBusiest / tiles.all;
  return others + std::max(contractions, whole);
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

/// A copy of `trial` whose arguments stand for what it takes from the kernel; an attribute says what each of these is.
static OwningOpRef<func::FuncOp> isolatedCopy(func::FuncOp trial) {
  OwningOpRef<func::FuncOp> copy = trial.clone();
  Builder builder(trial.getContext());
  SmallVector<Attribute> kinds;
  auto kindOf = [&](Value outside) -> Attribute {
    if (Operation *op = outside.getDefiningOp())
      return builder.getStringAttr(op->getName().getStringRef());
    auto argument = cast<BlockArgument>(outside);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    Attribute attributes = function ? function.getArgAttrDict(argument.getArgNumber()) : DictionaryAttr();
    return attributes ? attributes : builder.getUnitAttr();
  };
  Block &entry = copy->front();
  IRMapping arguments;
  copy->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (copy->getBody().isAncestor(value.getParentRegion()))
        continue;
      if (!arguments.contains(value)) {
        kinds.push_back(kindOf(value));
        arguments.map(value, entry.addArgument(value.getType(), value.getLoc()));
      }
      operand.set(arguments.lookup(value));
    }
  });
  copy->setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  copy->getOperation()->setAttr("kinds", builder.getArrayAttr(kinds));
  return copy;
}

/// Finds the time of the range in such tiles: builds them beside the kernel, and asks what a tile takes;
/// `tiling.seconds` is infinite where they do not fit.
TileForm ChainScheduler::secondsOf(const NestRange &range, Tiling &tiling, TileRefusal &refusal) {
  std::string &reason = refusal.reason;
  OpBuilder builder(context());
  Location loc = func::FuncOp(kernel).getLoc();
  OwningOpRef<func::FuncOp> trial = func::FuncOp::create(builder, loc, "trial", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(trial->addEntryBlock());
  IRMapping mapping;
  const SmallVector<AffineForOp> nests = originalsOf(range.nests);
  auto isInside = [&](Operation *user) {
    return llvm::any_of(nests, [&](AffineForOp nest) { return nest->isAncestor(user); });
  };
  for (AffineForOp nest : nests)
    accessesOf(nest, [&](Operation *, Value memref, bool) {
      auto array = memref.getDefiningOp<memref::AllocOp>();
      if (!array || mapping.contains(memref) || !llvm::all_of(memref.getUsers(), [&](Operation *user) {
            return isa<memref::DeallocOp>(user) || isInside(user);
          }))
        return;
      auto copy = cast<memref::AllocOp>(builder.clone(*array));
      if (MemRefType type = copy.getType(); times.cores)
        copy.getResult().setType(
            MemRefType::get(type.getShape(), type.getElementType(), AffineMap(), builder.getStringAttr(near->name)));
      mapping.map(memref, copy.getResult());
    });
  Operation *first = nullptr;
  for (AffineForOp nest : nests) {
    Operation *clone = builder.clone(*nest, mapping);
    first = first ? first : clone;
  }
  func::ReturnOp::create(builder, loc);
  tile::ScheduleAttr schedule =
      tiling.parts > 1 ? scheduleOfParts(first, range.nests.size(), tiling, reason) : scheduleOf(range, tiling);
  if (!schedule)
    return TileForm::None;
  first->setAttr(tile::scheduleAttr, schedule);
  if (times.cores) // a tile's other arrays in the scratchpad are those of this range
    return secondsOfTrial(range, tiling, first, schedule, refusal);
  OwningOpRef<func::FuncOp> copy = isolatedCopy(*trial);
  auto [known, isNew] = trials.try_emplace(tried.firstEqual(*copy));
  Trial &same = known->second;
  if (isNew || same.contractions != range.contractions || same.handedOn != range.handedOn) {
    const TileForm form = secondsOfTrial(range, tiling, first, schedule, refusal);
    if (isNew)
      same.nests = std::move(copy);
    same.contractions = range.contractions;
    same.handedOn = range.handedOn;
    same.form = form;
    same.seconds = tiling.seconds;
    same.refusal = refusal;
  }
  tiling.seconds = same.seconds;
  refusal = same.refusal;
  return same.form;
}

/// The same of the nests from `first` on, which disappear.
TileForm ChainScheduler::secondsOfTrial(const NestRange &range, Tiling &tiling, Operation *first,
                                        tile::ScheduleAttr schedule, TileRefusal &refusal) const {
  countWork("trials", 1);
  FailureOr<tile::ParallelOp> tiles = tileNests(first, refusal);
  if (failed(tiles))
    return TileForm::None;
  if (times.blocks) {
    TileForm form = secondsOnFragments(*tiles, tiling.seconds, refusal.reason);
    if (tiling.parts > 1 && std::isfinite(tiling.seconds))
      tiling.seconds += secondsBehind(*tiles);
    return form;
  }
  // The body of the first loop over whole tiles.
  AffineForOp innermost;
  tiles->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
    auto at = loop->getAttrOfType<IntegerAttr>(tile::atAttr);
    if (at && at.getInt() == schedule.getLoops().back().getLoop())
      innermost = innermost ? innermost : loop;
  });
  if (times.cores) {
    std::optional<double> seconds = secondsInScratchpad(tiling, innermost);
    double ofBusiest = runsOf(schedule, tilesOf(range, tiling)).ofBusiest;
    tiling.seconds = seconds ? *seconds * ofBusiest : std::numeric_limits<double>::infinity();
    return TileForm::Some;
  }
  tiling.seconds = secondsOnCaches(range, tiling, schedule, innermost);
  return TileForm::Some;
}
