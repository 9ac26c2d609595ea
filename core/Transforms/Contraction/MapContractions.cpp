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
  const Contraction &c = task.contraction;
  std::optional<OperandProducer> legal[2];
  AffineForOp roots[2];
  std::string reasons[2];
  for (int i : {0, 1}) {
    const ContractionOperand &operand = i == 0 ? c.a : c.b;
    if ((roots[i] = findProducer(c, operand)))
      legal[i] = asProducer(roots[i], c, operand, group, reasons[i]);
  }
  ProducerChoice choice =
      chooseProducers(c, plan, legal[0] ? &*legal[0] : nullptr, legal[1] ? &*legal[1] : nullptr, target, options);
  plan = choice.plan;
  if (choice.fuseA)
    task.producerOfA = std::move(legal[0]);
  if (choice.fuseB)
    task.producerOfB = std::move(legal[1]);
  for (int i : {0, 1})
    if (roots[i] && !(i == 0 ? choice.fuseA : choice.fuseB))
      roots[i].emitRemark() << "operand " << (i == 0 ? "A" : "B")
                            << " of a contraction is computed into a buffer, not while it is packed: "
                            << (reasons[i].empty()
                                    ? (options.fuseProducers ? "forced so"
                                                             : "the cost model expects the buffer to be faster")
                                    : reasons[i]);
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

/// `erased` gets the nests that have gone.
void rewrite(Contraction &c, const TargetDescription &target, const PlanOptions &options, OperandDecisions decided,
             llvm::DenseSet<Operation *> &erased) {
  auto &[turned, padded, scaled] = decided;
  AffineForOp root = c.nest.root();
  std::string reason;
  const ContractionPlace place(target);
  const std::optional<LaneHierarchy> &lanes = place.lanes;
  const std::optional<CoreHierarchy> &cores = place.cores;
  ContractionTask task;
  task.contraction = c;
  task.mayReassociate = options.mayReassociate;
  SmallVector<Operation *> group = gatherGroup(task);

  std::optional<ContractionPlan> plan;
  std::optional<LaneContractionPlan> lanePlan;
  UnitChoice onCores;
  DecisionLog *log = DecisionLog::of(root.getContext());
  std::vector<ContractionPlan> considered;
  std::vector<LaneContractionPlan> consideredLanes;
  PlanOptions asked = options;
  const bool isListed = log && log->listsCandidates();
  asked.considered = isListed ? &considered : nullptr;
  asked.besideC = accessesBesideC(task);
  asked.mergesDims = options.mergesDims && !hasLegalProducer(task, group);
  int64_t pitches = unknownPitches(task);
  SmallVector<StoredResult> results =
      llvm::map_to_vector(resultsOf(task), [&](const Access &access) { return storedResult(c, access); });
  // Planned with one array behind the sums, like C.
  bool asTurned = pitches == 0 && results.size() == 1 && results.front() == storedResult(c, c.c);
  if (turned.plan && !isListed && asTurned)
    lanePlan = std::move(turned.plan);
  else if (lanes)
    lanePlan = planLaneContraction({c, NumericFreedom::of(Settings::of(root)), options.overrides, pitches, results},
                                   target, *lanes, reason, isListed ? &consideredLanes : nullptr);
  else if (cores)
    onCores = chooseUnit(task, group, target, *cores, shareOf(c, *cores), options, isListed);
  else
    plan = planContraction(c, target, asked, reason);
  if (plan && options.overrides.empty() && leavesEpilogue(task, *plan, target, asked))
    group = gatherGroup(task, /*withEpilogue=*/false);
  const std::optional<ScratchpadContractionPlan> &corePlan = onCores.unit;
  if (!plan && !lanePlan && !corePlan) {
    root.emitRemark() << "contraction is not mapped to a matrix unit: " << (cores ? onCores.reason : reason);
    return;
  }
  if (lanePlan)
    lanePlan->turnedBefore = turnedBefore(c, turned);
  for (LaneContractionPlan &each : consideredLanes)
    each.turnedBefore = lanePlan->turnedBefore;
  // What plain nests compute in less time stays such nests.
  std::optional<llvm::json::Object> asNests;
  if (corePlan && !onCores.takesUnit())
    asNests = llvm::json::Object{{"runs_on", "vectors"}, {"seconds", *onCores.vectorSeconds}};
  if (plan && options.overrides.empty())
    if (std::optional<double> seconds = secondsOverBatchLanes(c, target); seconds && *seconds < plan->seconds)
      asNests = llvm::json::Object{{"lanes_on", "batch"}, {"seconds", *seconds}};
  if (asNests) {
    if (log)
      log->add("contraction", root,
               llvm::json::Object{{"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
                                  {"choice", std::move(*asNests)},
                                  {"candidates", plan ? bestCandidates(std::move(considered)) : onCores.toJSON()}});
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
    lanePlan->together = unitsTogether(task, *lanePlan, target, *lanes);

  if (log) {
    llvm::json::Object decision{
        {"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
        {"choice", plan       ? plan->toJSON()
                   : lanePlan ? lanePlan->toJSON()
                              : corePlan->toJSON()},
        {"candidates", lanePlan   ? bestCandidates(std::move(consideredLanes))
                       : corePlan ? onCores.toJSON()
                                  : bestCandidates(std::move(considered))},
        {"traffic", plan       ? traffic(c, *plan, target)
                    : lanePlan ? traffic(c, *lanePlan, target)
                               : traffic(c, *corePlan, target)},
        {"fused_steps", int64_t(task.epilogue.size())},
        {"fused_producers", int64_t(task.producerOfA.has_value()) + int64_t(task.producerOfB.has_value())}};
    if (plan && !task.epilogue.empty() && !plan->unit->c.opaque)
      decision["epilogue"] = task.tail.toJSON();
    if (!turned.considered.empty())
      decision["operand_orders"] = std::move(turned.considered);
    if (!padded.considered.empty())
      decision["padding"] = std::move(padded.considered);
    if (scaled)
      decision["scales"] = std::move(scaled->considered);
    log->add("contraction", root, std::move(decision));
  }

  OpBuilder builder(root);
  for (EpilogueStep &step : task.epilogue)
    hoistDefinitions(step.nest.root(), root);
  if (lanePlan) {
    if (findsScalesInBlock(*lanePlan->unit)) {
      const CopyEngine &into = *scaleEngine(*lanePlan->unit, target.graph());
      for (auto [operand, images, isA] : {std::tuple(&task.contraction.a, &task.scalesOfA, true),
                                          std::tuple(&task.contraction.b, &task.scalesOfB, false)})
        if (operand->scale)
          images->emplace(builder, root.getLoc(), task.contraction, *lanePlan, isA, into, *lanes);
    }
    for (auto [operand, slot, isA] : {std::tuple(&task.contraction.a, &lanePlan->unit->a, true),
                                      std::tuple(&task.contraction.b, &lanePlan->unit->b, false)})
      if (packedElements(*slot))
        operand->access = packElements(builder, root.getLoc(), task.contraction, *lanePlan, isA);
    bool engine = hasCopyEngine(target);
    emitLaneContraction(builder, root.getLoc(), task, *lanePlan, *lanes, engine);
    if (lanePlan->engine.empty())
      root->getPrevNode()->setAttr(residencyAttr, builder.getI64IntegerAttr(lanePlan->blocksAtATime));
  } else if (corePlan) {
    emitScratchpadContraction(builder, root.getLoc(), task, *corePlan, *cores);
  } else {
    emitContraction(builder, root.getLoc(), task);
  }
  if (auto level = dyn_cast<tile::ParallelOp>(root->getPrevNode());
      level && !plan && !llvm::is_contained(c.nest.tripCounts, std::nullopt))
    level->setAttr(secondsAttr, builder.getF64FloatAttr(lanePlan ? lanePlan->seconds : corePlan->seconds));
  SmallVector<Value> touched{c.c.memref};
  SmallVector<const OperandProducer *> done;
  for (std::optional<OperandProducer> *producer : {&task.producerOfA, &task.producerOfB})
    if (*producer)
      done.push_back(&**producer);
  if (scaled)
    for (const OperandProducer &nest : scaled->nests)
      done.push_back(&nest);
  for (const OperandProducer *producer : done) {
    group.push_back(Nest(producer->nest).root());
    touched.push_back(producer->nest.stores.front().memref);
  }
  for (const EpilogueStep &step : task.epilogue)
    for (const Access &store : step.nest.stores)
      if (!llvm::is_contained(touched, store.memref))
        touched.push_back(store.memref);
  for (Operation *op : group) {
    erased.insert(op);
    op->erase();
  }
  padded.eraseBuffers();
  // Buffers that nobody reads any more take no memory.
  for (Value memref : touched)
    if (Operation *buffer = memref.getDefiningOp();
        isa_and_nonnull<memref::AllocOp, tile::AllocOp>(buffer) &&
        llvm::all_of(buffer->getUsers(), [](Operation *user) { return isa<memref::DeallocOp>(user); })) {
      for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
        user->erase();
      buffer->erase();
    }
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
  auto overrides = parsePlanOverrides(fields);
  if (!overrides)
    return refuse(llvm::toString(overrides.takeError()));
  PlanOptions options;
  for (auto &[name, value] : *overrides)
    if (name == "fuse_producers")
      options.fuseProducers = value != 0;
    else if (name == "transpose_before")
      options.turnBefore = value;
    else if (!StringRef(name).starts_with("chain_"))
      options.overrides.emplace_back(name, value);
  if (options.turnBefore && (*options.turnBefore < 0 || *options.turnBefore > turnsA + turnsB))
    return refuse("plan field 'transpose_before' is " + Twine(*options.turnBefore) +
                  "; it is 0 (no operand), 1 (A), 2 (B) or 3 (both)");
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
