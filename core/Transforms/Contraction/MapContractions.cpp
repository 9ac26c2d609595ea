//===- MapContractions.cpp - Contractions to matrix units -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds contraction nests of a kernel together with the nest that zeroes the
// result and the element-wise nests that finish it, and rewrites each group
// in one step by the plan of the cost model.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/BatchLanes.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/CostModel/Time/Footprint.h"
#include "core/Machine/PackedElements.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"
#include "core/Transforms/Contraction/LaneContractionEmitter.h"
#include "core/Transforms/Contraction/LaneTail.h"
#include "core/Transforms/Contraction/PackElements.h"
#include "core/Transforms/Contraction/PaddedOperands.h"
#include "core/Transforms/Contraction/ScaledOperands.h"
#include "core/Transforms/Contraction/SharedOperands.h"
#include "core/Transforms/Contraction/SparseOperands.h"
#include "core/Transforms/Contraction/TurnOperands.h"
#include "core/Transforms/Contraction/UnitChoice.h"
#include "core/Transforms/Contraction/WidenOperands.h"
#include "core/Transforms/Fusion/ContractionGroup.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/NestTime.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Residency.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPCONTRACTIONS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {
namespace {

struct MapContractions : impl::MapContractionsBase<MapContractions> {
  using MapContractionsBase::MapContractionsBase;
  void runOnOperation() override;

private:
  llvm::DenseSet<Operation *> seen; // nests that were tried; those that stay must not be tried again
};

/// Moves what the group needs (allocations, constants) in front of `anchor`.
void hoistDefinitions(Operation *user, Operation *anchor) {
  user->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (def->getBlock() == anchor->getBlock() && anchor->isBeforeInBlock(def)) {
          hoistDefinitions(def, anchor);
          def->moveBefore(anchor);
        }
  });
}

/// Lets the packing copies compute what element-wise nests before the contraction computed for it alone, where the
/// model says so; a remark tells why not.
void fuseProducers(ContractionTask &task, ContractionPlan &plan, ArrayRef<Operation *> group,
                   const TargetDescription &target, const PlanOptions &options) {
  ProducerChoice choice = chooseProducers(task.contraction, plan, group, target, options);
  plan = choice.plan;
  for (auto *of : {&choice.a, &choice.b}) {
    const bool isA = of == &choice.a;
    if (of->isFused)
      (isA ? task.producerOfA : task.producerOfB) = std::move(of->work);
    else if (of->root)
      of->root.emitRemark() << "operand " << (isA ? "A" : "B")
                            << " of a contraction is computed into a buffer, not while it is packed: "
                            << (of->reason.empty()
                                    ? (options.fuseProducers ? "forced so"
                                                             : "the cost model expects the buffer to be faster")
                                    : of->reason);
  }
}

/// Arrays of what follows the sums, C among them, whose rows are apart as only the run shows.
int64_t unknownPitches(const ContractionTask &task) {
  llvm::SmallSetVector<Value, 4> arrays;
  for (const EpilogueStep &step : task.epilogue)
    for (const auto *accesses : {&step.nest.loads, &step.nest.stores})
      for (const Access &access : *accesses)
        if (auto type = cast<MemRefType>(access.memref.getType());
            type.getRank() > 1 && type.isDynamicDim(type.getRank() - 1))
          arrays.insert(access.memref);
  return arrays.size();
}

/// What is read and written beside C where its fragments are finished.
std::vector<Access> accessesBesideC(const ContractionTask &task) {
  std::vector<Access> accesses;
  for (const EpilogueStep &step : task.epilogue)
    for (const auto *each : {&step.nest.loads, &step.nest.stores})
      for (const Access &access : *each)
        accesses.push_back(onContraction(access, step, task.contraction));
  return accesses;
}

/// Whether an access beside C keeps dimensions apart that C goes on in, so that they are not one for rows or lanes.
bool separatesDims(const Contraction &c, const Access &beside) {
  return llvm::any_of(ArrayRef<ArrayRef<unsigned>>{c.m, c.n}, [&](ArrayRef<unsigned> dims) {
    return llvm::any_of(dims, [&](unsigned inner) {
      const std::optional<int64_t> trips = c.nest.tripCounts[inner];
      return trips && llvm::any_of(dims, [&](unsigned outer) {
               return outer != inner && c.nest.tripCounts[outer].value_or(1) > 1 &&
                      continuesIn(c.c, outer, inner, *trips) && !continuesIn(beside, outer, inner, *trips);
             });
    });
  });
}

/// Whether the nests behind the sums stay nests of their own: one writes where dimensions of the result do not follow
/// each other, as into an array with a border, and a plan that has these dimensions as one saves more than the nests
/// take, by more than plans that differ in nothing. `plan`, and what was considered, is then that without them.
bool leavesEpilogue(const ContractionTask &task, ContractionPlan &plan, const TargetDescription &target,
                    PlanOptions options) {
  constexpr double alike = 0.99;
  if (llvm::none_of(options.besideC, [&](const Access &access) { return separatesDims(task.contraction, access); }))
    return false;
  options.besideC.clear();
  std::vector<ContractionPlan> considered, *ofPlan = options.considered;
  if (ofPlan)
    options.considered = &considered;
  std::string reason;
  std::optional<ContractionPlan> apart = planContraction(task.contraction, target, options, reason);
  if (!apart)
    return false;
  const PassModel model(target);
  double nests = 0;
  for (const EpilogueStep &step : task.epilogue)
    nests += model.seconds(passWork(step.nest.root(), model));
  const bool isFaster = apart->seconds + nests < alike * plan.seconds;
  AffineForOp root = task.contraction.nest.root();
  if (DecisionLog *log = DecisionLog::of(root.getContext())) {
    llvm::json::Object fused{{"form", "in registers"}, {"seconds", plan.seconds}},
        own{{"form", "nests"}, {"seconds", apart->seconds + nests}};
    log->add("place-epilogue", root,
             llvm::json::Object{{"choice", llvm::json::Object{{"form", isFaster ? "nests" : "in registers"}}},
                                {"candidates", llvm::json::Array{std::move(fused), std::move(own)}}});
  }
  if (!isFaster)
    return false;
  plan = *apart;
  if (ofPlan)
    *ofPlan = std::move(considered);
  return true;
}

/// Whether an element-wise nest before the contraction may run while an operand is packed.
bool hasLegalProducer(const ContractionTask &task, ArrayRef<Operation *> group) {
  const Contraction &c = task.contraction;
  return llvm::any_of(ArrayRef<const ContractionOperand *>{&c.a, &c.b}, [&](const ContractionOperand *operand) {
    AffineForOp root = findProducer(c, *operand);
    std::string reason;
    return root && asProducer(root, c, *operand, group, reason);
  });
}

/// The trip count of each loop, null where it is not known.
llvm::json::Array tripCountsOf(const Contraction &c) {
  llvm::json::Array shape;
  for (auto trips : c.nest.tripCounts)
    shape.push_back(trips ? llvm::json::Value(*trips) : llvm::json::Value(nullptr));
  return shape;
}

/// Which operands of `c` are among `turned.buffers`.
int64_t turnedBefore(const Contraction &c, const TurnedOperands &turned) {
  return (llvm::is_contained(turned.buffers, c.a.access.memref) ? turnsA : 0) +
         (llvm::is_contained(turned.buffers, c.b.access.memref) ? turnsB : 0);
}

/// Where operands of units are held.
struct ContractionPlace {
  explicit ContractionPlace(const TargetDescription &chip) {
    const MachineGraph &graph = chip.graph();
    if (graph.hasBlocks())
      lanes = LaneHierarchy::of(graph);
    if (graph.threadMemory() && graph.backing())
      cores = CoreHierarchy::of(chip);
  }

  std::optional<LaneHierarchy> lanes; // in registers of the lanes of a block, and its memory
  std::optional<CoreHierarchy> cores; // in a memory of the one thread; without both, in its vector and tile registers
};

/// What was decided about the operands of a contraction before it is planned.
struct OperandDecisions {
  TurnedOperands turned;
  PaddedOperands padded;
  std::optional<ScaledOperands> scaled;
};

/// How the operands of `c` reach the memory of a block: as they are with scales that a unit applies, widened, read past
/// their padding, or transposed before. `c` reads them so; failure, with an error, where a forced way is none.
FailureOr<OperandDecisions> decideOperands(Contraction &c, const PaddingOptions &place, const PlanOptions &options) {
  OperandDecisions decided;
  auto &[turned, padded, scaled] = decided;
  if (c.a.index) // as they are: the unit takes the compressed one
    return decided;
  AffineForOp root = c.nest.root();
  Contraction oriented = c;
  orientToResult(oriented);
  scaled = findScaledOperands(oriented, place.chip, place.hierarchy, place.freedom, place.overrides);
  if (scaled) {
    c = scaled->contraction;
    return decided;
  }
  if (widenOperands(c, place.chip))
    c = *recognizeContraction(*analyzeNest(root));
  orientToResult(c);
  padded = findPaddedOperands(c, place);
  padded.apply(c);
  auto done = turnOperands(c, place.chip, place.hierarchy, place.freedom, place.overrides, options.turnBefore);
  if (failed(done))
    return failure();
  turned = std::move(*done);
  if (!turned.buffers.empty()) {
    c = *recognizeContraction(*analyzeNest(root));
    orientToResult(c);
    padded.apply(c);
  }
  return decided;
}

/// The plan of a contraction, of one of three forms, and those that it was chosen from.
struct PlannedContraction {
  std::optional<ContractionPlan> plan;         // in registers of a thread
  std::optional<LaneContractionPlan> lanePlan; // of a block's lanes
  UnitChoice onCores;                          // in a memory of the one thread
  std::vector<ContractionPlan> considered;
  std::vector<LaneContractionPlan> consideredLanes;
  std::string reason; // why there is none

  bool exists() const { return plan || lanePlan || onCores.unit; }
  double seconds() const { return plan ? plan->seconds : lanePlan ? lanePlan->seconds : onCores.unit->seconds; }
  llvm::json::Object choice() const {
    return plan ? plan->toJSON() : lanePlan ? lanePlan->toJSON() : onCores.unit->toJSON();
  }
  llvm::json::Array candidates() {
    return lanePlan       ? fastestFirst(std::move(consideredLanes))
           : onCores.unit ? onCores.toJSON()
                          : fastestFirst(std::move(considered));
  }
  llvm::json::Object trafficOf(const Contraction &c, const TargetDescription &target) const {
    return plan       ? traffic(c, *plan, target)
           : lanePlan ? traffic(c, *lanePlan, target)
                      : traffic(c, *onCores.unit, target);
  }
};

/// Plans `task` where `place` holds its operands; `group`, the nests that it replaces, loses those behind the sums
/// where they stay nests of their own.
PlannedContraction planAt(const ContractionPlace &place, ContractionTask &task, SmallVectorImpl<Operation *> &group,
                          const TargetDescription &target, PlanOptions options, TurnedOperands &turned, bool isListed) {
  const Contraction &c = task.contraction;
  PlannedContraction planned;
  if (place.lanes) {
    const int64_t pitches = unknownPitches(task);
    SmallVector<StoredResult> results =
        llvm::map_to_vector(resultsOf(task), [&](const Access &access) { return storedResult(c, access); });
    // Planned with one array behind the sums, like C.
    const bool asTurned = pitches == 0 && results.size() == 1 && results.front() == storedResult(c, c.c);
    const NumericFreedom freedom = NumericFreedom::of(Settings::of(Nest(c.nest).root()));
    if (turned.plan && !isListed && asTurned)
      planned.lanePlan = std::move(turned.plan);
    else
      planned.lanePlan = planLaneContraction({c, freedom, options.overrides, pitches, results}, target, *place.lanes,
                                             planned.reason, isListed ? &planned.consideredLanes : nullptr);
    if (planned.lanePlan)
      planned.lanePlan->turnedBefore = turnedBefore(c, turned);
    for (LaneContractionPlan &each : planned.consideredLanes)
      each.turnedBefore = planned.lanePlan->turnedBefore;
  } else if (place.cores) {
    planned.onCores = chooseUnit(task, group, target, *place.cores, shareOf(c, *place.cores), options, isListed);
    planned.reason = planned.onCores.reason;
  } else {
    options.considered = isListed ? &planned.considered : nullptr;
    planned.plan = planContraction(c, target, options, planned.reason);
    if (planned.plan && options.overrides.empty() && leavesEpilogue(task, *planned.plan, target, options))
      group = gatherGroup(task, /*withEpilogue=*/false);
  }
  return planned;
}

/// What plain nests take that compute the contraction in less time than `planned`; nullopt: they do not.
std::optional<llvm::json::Object> fasterAsNests(const Contraction &c, const PlannedContraction &planned,
                                                const TargetDescription &target, const PlanOptions &options) {
  if (planned.onCores.unit && !planned.onCores.takesUnit())
    return llvm::json::Object{{"runs_on", "vectors"}, {"seconds", *planned.onCores.vectorSeconds}};
  if (planned.plan && options.overrides.empty())
    if (std::optional<double> seconds = secondsOverBatchLanes(c, target); seconds && *seconds < planned.plan->seconds)
      return llvm::json::Object{{"lanes_on", "batch"}, {"seconds", *seconds}};
  return std::nullopt;
}

/// Takes down what was decided for `task`.
void logDecision(DecisionLog &log, const ContractionTask &task, PlannedContraction &planned, OperandDecisions &decided,
                 const TargetDescription &target) {
  const Contraction &c = task.contraction;
  llvm::json::Object decision{
      {"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
      {"choice", planned.choice()},
      {"candidates", planned.candidates()},
      {"traffic", planned.trafficOf(c, target)},
      {"fused_steps", int64_t(task.epilogue.size())},
      {"fused_producers", int64_t(task.producerOfA.has_value()) + int64_t(task.producerOfB.has_value())}};
  if (planned.plan && !task.epilogue.empty() && !planned.plan->unit->c.opaque)
    decision["epilogue"] = task.tail.toJSON();
  if (!decided.turned.considered.empty())
    decision["operand_orders"] = std::move(decided.turned.considered);
  if (!decided.padded.considered.empty())
    decision["padding"] = std::move(decided.padded.considered);
  if (decided.scaled)
    decision["scales"] = std::move(decided.scaled->considered);
  log.add("contraction", Nest(c.nest).root(), std::move(decision));
}

/// Writes the contraction of lanes, with what its operands need before it.
void emitOnLanes(OpBuilder &builder, AffineForOp root, ContractionTask &task, const LaneContractionPlan &plan,
                 const LaneHierarchy &lanes, const TargetDescription &target) {
  if (findsBesidesInBlock(*plan.unit)) {
    const CopyEngine &into = *scaleEngine(*plan.unit, target.graph());
    for (auto [operand, images, isA] : {std::tuple(&task.contraction.a, &task.scalesOfA, true),
                                        std::tuple(&task.contraction.b, &task.scalesOfB, false)})
      if (operand->scale)
        images->emplace(builder, root.getLoc(), task.contraction, plan, isA, into, lanes);
    if (task.contraction.a.index)
      task.indexOfA.emplace(builder, root.getLoc(), task.contraction, plan, into, lanes);
  }
  for (auto [operand, slot, isA] :
       {std::tuple(&task.contraction.a, &plan.unit->a, true), std::tuple(&task.contraction.b, &plan.unit->b, false)})
    if (packedElements(*slot))
      operand->access = packElements(builder, root.getLoc(), task.contraction, plan, isA);
  emitLaneContraction(builder, root.getLoc(), task, plan, lanes, hasCopyEngine(target));
  if (plan.engine.empty())
    root->getPrevNode()->setAttr(residencyAttr, builder.getI64IntegerAttr(plan.blocksAtATime));
}

/// Erases the nests that the contraction replaces, `group` and producers, and the buffers that nobody reads any more.
void eraseReplaced(const ContractionTask &task, ArrayRef<Operation *> group, OperandDecisions &decided,
                   llvm::DenseSet<Operation *> &erased) {
  SmallVector<Operation *> replaced(group);
  llvm::SmallSetVector<Value, 8> touched;
  touched.insert(task.contraction.c.memref);
  SmallVector<const OperandProducer *> done;
  for (const std::optional<OperandProducer> *producer : {&task.producerOfA, &task.producerOfB})
    if (*producer)
      done.push_back(&**producer);
  if (decided.scaled)
    for (const OperandProducer &nest : decided.scaled->nests)
      done.push_back(&nest);
  for (const OperandProducer *producer : done) {
    replaced.push_back(Nest(producer->nest).root());
    touched.insert(producer->nest.stores.front().memref);
  }
  for (const EpilogueStep &step : task.epilogue)
    for (const Access &store : step.nest.stores)
      touched.insert(store.memref);
  for (Operation *op : replaced) {
    erased.insert(op);
    op->erase();
  }
  decided.padded.eraseBuffers();
  llvm::for_each(touched, eraseUnused);
}

/// `erased` gets the nests that have gone.
void rewrite(Contraction &c, const TargetDescription &target, const PlanOptions &options, OperandDecisions decided,
             llvm::DenseSet<Operation *> &erased) {
  AffineForOp root = c.nest.root();
  const ContractionPlace place(target);
  ContractionTask task;
  task.contraction = c;
  task.mayReassociate = options.mayReassociate;
  SmallVector<Operation *> group = gatherGroup(task);
  DecisionLog *log = DecisionLog::of(root.getContext());
  PlanOptions asked = options;
  asked.besideC = accessesBesideC(task);
  asked.mergesDims = options.mergesDims && !hasLegalProducer(task, group);
  PlannedContraction planned = planAt(place, task, group, target, asked, decided.turned, log && log->listsCandidates());
  auto &[plan, lanePlan, onCores, considered, consideredLanes, reason] = planned;
  if (!planned.exists()) {
    root.emitRemark() << "contraction is not mapped to a matrix unit: " << reason;
    return;
  }
  // What plain nests compute in less time stays such nests.
  if (std::optional<llvm::json::Object> asNests = fasterAsNests(c, planned, target, options)) {
    if (log)
      log->add("contraction", root,
               llvm::json::Object{{"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
                                  {"choice", std::move(*asNests)},
                                  {"candidates", planned.candidates()}});
    return;
  }
  if (plan) {
    fuseProducers(task, *plan, group, target, asked);
    task.plan = *plan;
    task.lineBytes = MemoryModel(target).lineBytes();
    if (!task.epilogue.empty()) {
      task.sumsIn = findPlaceOfSums(task);
      task.tail = planTail(plan->rows * plan->vectors, constantsOfEpilogue(task), target.vectorRegisters().first);
    }
  }
  if (lanePlan)
    lanePlan->together = unitsTogether(task, *lanePlan, target, *place.lanes);
  if (log)
    logDecision(*log, task, planned, decided, target);

  OpBuilder builder(root);
  for (EpilogueStep &step : task.epilogue)
    hoistDefinitions(step.nest.root(), root);
  if (lanePlan)
    emitOnLanes(builder, root, task, *lanePlan, *place.lanes, target);
  else if (onCores.unit)
    emitScratchpadContraction(builder, root.getLoc(), task, *onCores.unit, *place.cores);
  else
    emitContraction(builder, root.getLoc(), task);
  if (auto level = dyn_cast<tile::ParallelOp>(root->getPrevNode());
      level && !plan && !llvm::is_contained(c.nest.tripCounts, std::nullopt))
    level->setAttr(secondsAttr, builder.getF64FloatAttr(planned.seconds()));
  eraseReplaced(task, group, decided, erased);
}

void MapContractions::runOnOperation() {
  auto target = requireTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  // The option, or where the whole compiler runs, the module's attribute.
  std::string fields = force;
  if (auto module = getOperation()->getParentOfType<ModuleOp>(); module && fields.empty())
    if (auto attribute = module->getAttrOfType<StringAttr>(forceAttr))
      fields = attribute.str();
  // All functions see the same fields; the first one says what is wrong with them.
  auto refuse = [&](const Twine &message) {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (!module || *module.getOps<func::FuncOp>().begin() == getOperation())
      getOperation().emitError() << message;
    signalPassFailure();
  };
  llvm::Expected<ForcedFields> forced = ForcedFields::parse(fields);
  if (!forced)
    return refuse(llvm::toString(forced.takeError()));
  if (llvm::Error error = forced->checkFor(**target))
    return refuse(llvm::toString(std::move(error)));
  PlanOptions options;
  options.overrides = forced->plans;
  options.fuseProducers = forced->fuseProducers;
  options.turnBefore = forced->turnBefore;
  const Settings settings = Settings::of(getOperation());
  const NumericFreedom freedom = NumericFreedom::of(settings);
  options.threads = settings.threads;
  options.mayReassociate = settings.mayReassociate();
  // Operands that come by copies into a block's memory are widened, turned and freed of padding before or while they
  // come.
  const ContractionPlace place(**target);
  const std::optional<LaneHierarchy> &lanes = place.lanes;
  if (lanes)
    separateInsides(getOperation(), {**target, *lanes, freedom, options.overrides, options.turnBefore.value_or(0)});
  const bool takesIndex =
      lanes && llvm::any_of((*target)->units(), [](const MatrixUnit &unit) { return unit.sparsity.has_value(); });
  // A rewrite erases nests that another could have named. Where operands are turned and widened before, it makes nests,
  // too: then all are looked for anew after each.
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Operation *> erased;
    for (AffineForOp root : nestRoots(getOperation())) {
      if (erased.contains(root))
        continue;
      auto nest = analyzeNest(root);
      if (failed(nest))
        continue;
      if (seen.contains(root))
        continue;
      auto contraction = recognizeContraction(*nest);
      if (failed(contraction) && takesIndex)
        contraction = recognizeSparseContraction(*nest);
      if (failed(contraction))
        continue;
      seen.insert(root);
      FailureOr<OperandDecisions> decided = OperandDecisions();
      if (lanes)
        decided = decideOperands(
            *contraction, {**target, *lanes, freedom, options.overrides, options.turnBefore.value_or(0)}, options);
      if (failed(decided))
        return signalPassFailure();
      // What a schedule has spread over a level already is the program of one member.
      PlanOptions ofMember = options;
      if (root->getParentOfType<tile::ParallelOp>())
        ofMember.threads = 1;
      rewrite(*contraction, **target, withSharedOperands(ofMember, *contraction), std::move(*decided), erased);
      for (Operation *gone : erased) // another nest may come to lie at its address
        seen.erase(gone);
      if (!lanes)
        continue;
      changed = true;
      break;
    }
  }
}

} // namespace
} // namespace tilewright
