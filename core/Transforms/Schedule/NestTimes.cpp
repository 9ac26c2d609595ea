//===- NestTimes.cpp - Modelled time of nests as they stand ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups nests as map-contractions and fuse-nests will, and asks their models.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/NestTimes.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/CostModel/Schedules/BatchLanes.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Contraction/SharedOperands.h"
#include "core/Transforms/Contraction/UnitChoice.h"
#include "core/Transforms/Fusion/ContractionGroup.h"
#include "core/Transforms/Fusion/OperandProducer.h"
#include "core/Transforms/Utils/NestTime.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/MachineGraph.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

double tilewright::bytesOf(const Access &access, const Nest &nest) {
  double elements = 1;
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    if (access.map.isFunctionOfDim(dim))
      elements *= double(nest.tripCounts[dim].value_or(1));
  Type element = elementOf(access.memref);
  return elements * double(element.isIntOrFloat() ? elementBytes(element) : 8);
}

NestTimes::NestTimes(const TargetDescription &chip) : chip(chip), pass(chip) {
  if (chip.graph().threadMemory() && chip.graph().backing())
    cores = CoreHierarchy::of(chip);
  if (chip.graph().hasBlocks())
    blocks = LaneHierarchy::of(chip.graph());
}

double NestTimes::packSeconds(double bytes, int64_t elementBytes) const {
  const MemoryModel &model = pass.caches();
  int64_t lanes = std::max<int64_t>(1, model.vectorBytes() / elementBytes);
  double vectors = bytes / double(elementBytes * lanes);
  return model.moveSeconds(bytes, 0) + model.issueSeconds(0, vectors * model.turnedLoads(lanes));
}

namespace {
/// How often the body of a nest runs, what it does, and the elements of a vector of the core's that it computes.
struct NestWork {
  NestWork(const Nest &nest, const PassModel &model, int64_t instructionsOf(Operation *))
      : accesses(double(nest.loads.size() + nest.stores.size())) {
    for (auto trips : nest.tripCounts)
      iterations *= double(trips.value_or(1));
    for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores))
      if (Type element = elementOf(access.memref); element.isIntOrFloat())
        lanes = std::max(lanes, model.lanes(element.getIntOrFloatBitWidth()));
    for (Operation &each : nest.body->without_terminator())
      instructions += isa<AffineLoadOp, AffineStoreOp>(each) ? 0 : double(instructionsOf(&each));
  }
  double iterations = 1, instructions = 0, accesses;
  int64_t lanes = 1;
};

/// What neighbouring nests do together.
struct Touched {
  llvm::SmallMapVector<Value, double, 8> read, written; // bytes; of what is read, that which they do not write before
  PassWork work;
};
} // namespace

static Touched touchedBy(ArrayRef<Operation *> ops, const PassModel &model, int64_t instructionsOf(Operation *)) {
  Touched pass;
  for (Operation *op : ops) {
    FailureOr<Nest> nest = analyzeNest(cast<AffineForOp>(op), GuardedReads::Allowed);
    if (failed(nest))
      continue;
    const NestWork work(*nest, model, instructionsOf);
    pass.work.arithmetic += work.iterations * work.instructions / double(work.lanes);
    pass.work.accesses += work.iterations * work.accesses / double(work.lanes);
    for (const Access &load : nest->loads)
      if (!pass.written.count(load.memref))
        pass.read[load.memref] = std::max(pass.read[load.memref], bytesOf(load, *nest));
    for (const Access &store : nest->stores)
      pass.written[store.memref] = std::max(pass.written[store.memref], bytesOf(store, *nest));
  }
  return pass;
}

/// Clocks from the first to the last of the operations of `body` that wait for each other, each of `latency` clocks. Of
/// an elementary function half of the instructions do.
static double clocksAlong(Block &body, double latency) {
  llvm::DenseMap<Operation *, double> ends;
  double longest = 0;
  for (Operation &op : body.without_terminator()) {
    double begin = 0;
    for (Value operand : op.getOperands())
      begin = std::max(begin, ends.lookup(operand.getDefiningOp()));
    int64_t instructions = instructionsOf(&op);
    double own = op.hasTrait<OpTrait::ConstantLike>() ? 0 : latency * double(std::max<int64_t>(1, instructions / 2));
    longest = std::max(longest, ends[&op] = begin + own);
  }
  return longest;
}

/// Whether the innermost loop of `nest` sums up.
static bool sumsUpRows(const Nest &nest) {
  return llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(nest.depth() - 1); });
}

/// Where neighbouring nests sum up rows and go on with the sums, a row is one chain: the lanes of each sum are combined
/// in halves, what has no columns is computed in one lane, and so on. As many rows are under way as fit the window of
/// instructions that the core reorders.
double NestTimes::secondsOfRows(ArrayRef<Operation *> ops) const {
  double rows = 0;
  for (Operation *op : ops)
    if (FailureOr<Nest> nest = analyzeNest(cast<AffineForOp>(op)); succeeded(nest) && nest->depth() > 1) {
      double outer = 1;
      for (auto trips : ArrayRef(nest->tripCounts).drop_back())
        outer *= double(trips.value_or(1));
      rows = sumsUpRows(*nest) ? std::max(rows, outer) : rows;
    }
  if (rows == 0)
    return 0;
  double latency = 0, chain = 0, instructions = 0;
  for (const MatrixUnit &unit : chip.units())
    if (unit.m == 1 && unit.c.element == ElementKind::F32 && unit.latency > 0 &&
        (latency == 0 || unit.latency < latency))
      latency = unit.latency;
  for (Operation *op : ops) {
    FailureOr<Nest> nest = analyzeNest(cast<AffineForOp>(op));
    if (failed(nest))
      continue;
    const NestWork work(*nest, pass, instructionsOf);
    bool hasColumns = work.iterations > rows;
    instructions += (work.accesses + work.instructions) * work.iterations / rows / double(hasColumns ? work.lanes : 1);
    chain += clocksAlong(*nest->body, latency);
    if (hasColumns && sumsUpRows(*nest)) {
      double halves = std::log2(double(work.lanes));
      instructions += 2 * halves;
      chain += 2 * halves * latency;
    }
  }
  double underWay = std::max(1.0, chip.number(Number::Window).value_or(0) / instructions);
  return secondsOf(rows * chain / underWay, chip);
}

/// Neighbouring nests are one pass over what they read and write: fuse-nests merges their loops over rows. What they
/// alone touch stays near.
double NestTimes::secondsOfPass(ArrayRef<Operation *> ops, const NestPlace &place) const {
  auto isOwn = [&](Value memref) {
    return isa_and_nonnull<memref::AllocOp>(memref.getDefiningOp()) &&
           llvm::all_of(memref.getUsers(), [&](Operation *user) {
             return isa<memref::DeallocOp>(user) ||
                    llvm::any_of(ops, [&](Operation *op) { return op->isAncestor(user); });
           });
  };
  auto stays = [&](Value memref) { return cores && isNear(memref, *cores); };
  Touched touched = touchedBy(ops, pass, cores ? coreInstructionsOf : instructionsOf);
  // Copies of a placed array are waited for; others come and go beside the work, as nests have that are scheduled
  // alone.
  PassWork work = touched.work, copiedIn, copiedOut;
  for (auto [memref, bytes] : touched.read)
    if (!stays(memref))
      (llvm::is_contained(place.placed, memref) ? copiedIn : work).read += bytes;
  for (auto [memref, bytes] : touched.written)
    if (!stays(memref) && !isOwn(memref)) {
      PassWork &copied = llvm::is_contained(place.placed, memref) ? copiedOut : work;
      copied.written += bytes;
      if (&copied == &work)
        work.again += std::min(bytes, touched.read.lookup(memref));
    }
  if (blocks) // one launch
    return pass.seconds(work);
  double seconds = pass.secondsOfMember(work);
  if (pass.onCaches())
    seconds = std::max(seconds, secondsOfRows(ops));
  for (const PassWork &copied : {copiedIn, copiedOut})
    if (copied.read + copied.written > 0)
      seconds += pass.secondsOfMember(copied);
  return onThreads(seconds, place.threads);
}

double NestTimes::onThreads(double seconds, int64_t threads) const {
  return pass.caches().parallel(seconds, threads) ? seconds / double(threads) : seconds;
}

/// What is computed of a result in the registers that hold it: what it reads is counted with the result.
double NestTimes::secondsOfEpilogue(const ContractionTask &task, int64_t threads) const {
  double seconds = 0;
  for (const EpilogueStep &step : task.epilogue) {
    PassWork work = passWork(step.nest.root(), pass);
    work.read = work.written = work.again = work.accesses = work.crossing = 0;
    seconds += pass.secondsOfMember(work);
  }
  return onThreads(seconds, threads);
}

/// The group of a contraction; nullopt where no unit computes it, nor, on cores with a scratchpad, vectors. `absorbed`
/// gets what is computed while it packs.
std::optional<NestGroup> NestTimes::contractionOf(const Contraction &contraction, const NestPlace &place,
                                                  llvm::SmallPtrSetImpl<Operation *> &absorbed) const {
  NestGroup group;
  group.isContraction = true;
  for (const Access *access : {&contraction.a.access, &contraction.b.access, &contraction.c})
    group.arrays.push_back(access->memref);
  ContractionTask task;
  task.contraction = contraction;
  task.mayReassociate = options.mayReassociate;
  std::string reason;
  if (cores) {
    group.ops = gatherGroup(task);
    const UnitChoice choice =
        chooseUnit(task, group.ops, chip, *cores, {place.threads, place.scratchpadBytes, place.threads > 1}, options,
                   /*lists=*/false, place.placed);
    if (!choice.unit && !choice.vectorSeconds)
      return std::nullopt;
    group.isContraction = choice.takesUnit();
    group.seconds = choice.takesUnit() ? choice.unit->seconds : *choice.vectorSeconds;
    return group;
  }
  if (blocks) {
    NumericFreedom freedom;
    freedom.mayReassociate = options.mayReassociate;
    auto plan = planLaneContraction({contraction, freedom}, chip, *blocks, reason);
    if (!plan)
      return std::nullopt;
    group.ops = gatherGroup(task);
    group.seconds = plan->seconds;
    return group;
  }
  PlanOptions ofThreads = withSharedOperands(options, contraction);
  ofThreads.threads = place.threads;
  std::optional<ContractionPlan> plan = planContraction(contraction, chip, ofThreads, reason);
  if (!plan)
    return std::nullopt;
  group.ops = gatherGroup(task);
  group.seconds = secondsOfEpilogue(task, ofThreads.threads);
  if (std::optional<double> seconds = secondsOverBatchLanes(contraction, chip); seconds && *seconds < plan->seconds) {
    group.isContraction = false;
    group.seconds += onThreads(*seconds, place.threads);
    return group;
  }
  const ProducerChoice choice = chooseProducers(contraction, *plan, group.ops, chip, ofThreads);
  *plan = choice.plan;
  for (const auto *of : {&choice.a, &choice.b})
    if (of->isFused)
      absorbed.insert(of->root);
  group.ops.append(absorbed.begin(), absorbed.end());
  group.seconds += plan->seconds;
  // A copy of the whole operand is made once for the tiles that share it, which its plan has counted.
  bool isShared = ofThreads.tilesSharing[plan->lanesOnM ? 0 : 1] > 1 && plan->laneBlock == 0 && plan->kBlock == 0;
  if (plan->packVectors && !isShared)
    group.packed[0] = plan->vectorOperand(contraction);
  if (plan->packScalars)
    group.packed[1] = plan->scalarOperand(contraction);
  return group;
}

/// Whether the nest computes rows, more than one: what sums along its outermost loop, or has one iteration, is a launch
/// after that of the rows, and the other way round.
static bool hasRows(AffineForOp root) {
  FailureOr<Nest> nest = analyzeNest(root, GuardedReads::Allowed);
  return failed(nest) || (nest->tripCounts.front() != 1 &&
                          llvm::all_of(nest->stores, [](const Access &store) { return store.dims().test(0); }));
}

std::vector<NestGroup> NestTimes::groupsOf(ArrayRef<AffineForOp> roots, const NestPlace &place) const {
  std::vector<NestGroup> groups;
  llvm::SmallPtrSet<Operation *, 16> taken;
  for (AffineForOp root : roots) {
    FailureOr<Nest> nest = analyzeNest(root);
    if (failed(nest))
      continue;
    FailureOr<Contraction> contraction = recognizeContraction(*nest);
    if (failed(contraction))
      continue;
    llvm::SmallPtrSet<Operation *, 4> absorbed;
    std::optional<NestGroup> group = contractionOf(*contraction, place, absorbed);
    if (!group)
      continue;
    taken.insert(group->ops.begin(), group->ops.end());
    groups.push_back(std::move(*group));
  }
  const size_t contractions = groups.size();
  bool isRun = false, ofRows = true; // whether the nest before belongs to the last group, and computes rows
  for (AffineForOp root : roots) {
    if (taken.contains(root)) {
      isRun = false;
      continue;
    }
    const bool rows = !blocks || hasRows(root);
    if (!isRun || rows != ofRows)
      groups.emplace_back();
    groups.back().ops.push_back(root);
    isRun = true;
    ofRows = rows;
  }
  for (NestGroup &group : llvm::drop_begin(groups, contractions))
    group.seconds = secondsOfPass(group.ops, place);
  return groups;
}
