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
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/BatchLanes.h"
#include "core/CostModel/ContractionModel.h"
#include "core/CostModel/Footprint.h"
#include "core/CostModel/LanePrediction.h"
#include "core/Transforms/ContractionEmitter.h"
#include "core/Transforms/LaneContractionEmitter.h"
#include "core/Transforms/LaneRings.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/RequireTarget.h"
#include "core/Transforms/ScratchpadContractionEmitter.h"
#include "core/Transforms/TurnOperands.h"
#include "core/Transforms/WidenOperands.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/Explain.h"
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

/// The memref is a temporary of this kernel that nobody but `users` (top-level operations) touches.
bool isOnlyUsedBy(Value memref, Block *block, ArrayRef<Operation *> users) {
  if (!memref.getDefiningOp<memref::AllocOp>())
    return false;
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp, memref::DimOp>(user))
      return true;
    Operation *top = block->findAncestorOpInBlock(*user);
    return top && llvm::is_contained(users, top);
  });
}

bool touches(Operation *op, Value memref) {
  bool found = false;
  op->walk([&](Operation *inner) { found |= llvm::is_contained(inner->getOperands(), memref); });
  return found;
}

bool writes(Operation *op, Value memref) {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (!llvm::is_contained(inner->getOperands(), memref))
      return;
    auto store = dyn_cast<AffineStoreOp>(inner);
    found |= store ? store.getMemRef() == memref : !isa<AffineLoadOp, memref::DimOp>(inner);
  });
  return found;
}

/// The nest before `c` that sets all of its result to zero, with nothing between that touches the result.
AffineForOp findZeroInit(const Contraction &c) {
  for (Operation *op = c.nest.root()->getPrevNode(); op; op = op->getPrevNode()) {
    if (!touches(op, c.c.memref) || isa<memref::AllocOp>(op))
      continue;
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return nullptr;
    auto nest = analyzeNest(loop);
    if (failed(nest) || nest->stores.size() != 1 || nest->stores.front().memref != c.c.memref)
      return nullptr;
    Value value = cast<AffineStoreOp>(nest->stores.front().op).getValueToStore();
    if (!matchPattern(value, m_AnyZeroFloat()) && !matchPattern(value, m_Zero()))
      return nullptr;
    // The same elements: each result of both maps is one dimension of the same trip count, or both are equal.
    AffineMap init = nest->stores.front().map, result = c.c.map;
    for (auto [x, y] : llvm::zip(init.getResults(), result.getResults())) {
      auto dx = dyn_cast<AffineDimExpr>(x), dy = dyn_cast<AffineDimExpr>(y);
      if (dx && dy) {
        AffineForOp lx = nest->loops[dx.getPosition()], ly = c.nest.loops[dy.getPosition()];
        if (lx.getUpperBoundMap() != ly.getUpperBoundMap() ||
            !llvm::equal(lx.getUpperBoundOperands(), ly.getUpperBoundOperands()))
          return nullptr;
      } else if (dx || dy || x != y || !isa<AffineConstantExpr>(x)) {
        return nullptr;
      }
    }
    return nest->depth() == c.nest.depth() - c.k.size() ? loop : AffineForOp();
  }
  return nullptr;
}

/// Whether `nest` runs element-wise over the result of `c` (in memref `source`, indexed like C) so that it can be
/// executed on its fragments.
std::optional<EpilogueStep> asEpilogue(const Nest &nest, const Contraction &c, ArrayRef<Value> available) {
  EpilogueStep step;
  step.nest = nest;
  if (nest.depth() != c.nest.depth() - c.k.size() || nest.stores.empty())
    return std::nullopt;
  // Body: element-wise scalars, no use of induction variables.
  for (AffineForOp loop : nest.loops)
    for (Operation *user : loop.getInductionVar().getUsers())
      if (!isa<AffineLoadOp, AffineStoreOp>(user))
        return std::nullopt;
  auto isPlain = [](Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8; };
  for (Operation &op : nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(op) && !OpTrait::hasElementwiseMappableTraits(&op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return std::nullopt;

  const Access *anchor = nullptr;
  for (const Access &load : nest.loads) {
    if (!isPlain(load.op->getResult(0).getType()))
      return std::nullopt;
    if (load.memref == c.c.memref)
      anchor = &load;
  }
  if (!anchor)
    for (const Access &load : nest.loads)
      if (llvm::is_contained(available, load.memref))
        anchor = &load;
  if (!anchor)
    return std::nullopt;
  step.toContraction.assign(nest.depth(), ~0u);
  for (auto [mine, theirs] : llvm::zip(anchor->map.getResults(), c.c.map.getResults())) {
    auto x = dyn_cast<AffineDimExpr>(mine), y = dyn_cast<AffineDimExpr>(theirs);
    if (!x && !y && mine == theirs && isa<AffineConstantExpr>(mine))
      continue;
    if (!x || !y || step.toContraction[x.getPosition()] != ~0u)
      return std::nullopt;
    AffineForOp lx = Nest(nest).loops[x.getPosition()], ly = Nest(c.nest).loops[y.getPosition()];
    if (lx.getUpperBoundMap() != ly.getUpperBoundMap() ||
        !llvm::equal(lx.getUpperBoundOperands(), ly.getUpperBoundOperands()))
      return std::nullopt;
    step.toContraction[x.getPosition()] = y.getPosition();
  }
  if (llvm::is_contained(step.toContraction, ~0u))
    return std::nullopt;
  // What the group has written is read and written exactly at this element.
  for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores)) {
    bool isAvailable = access.memref == c.c.memref || llvm::is_contained(available, access.memref);
    if (isAvailable && (access.map != anchor->map || access.symbols != anchor->symbols))
      return std::nullopt;
    for (AffineExpr result : access.map.getResults())
      for (unsigned dim = 0; dim < nest.depth(); ++dim)
        if (!linearCoefficient(result, dim))
          return std::nullopt;
  }
  for (const Access &store : nest.stores) {
    if (!isPlain(cast<AffineStoreOp>(store.op).getValueToStore().getType()))
      return std::nullopt;
    // Each iteration writes its own element, at the same place of each result as C.
    if (store.map != anchor->map)
      return std::nullopt;
    for (const Access &load : nest.loads)
      if (load.memref == store.memref && load.map != store.map)
        return std::nullopt;
  }
  return step;
}

/// Element-wise nests after `c` that can run on its fragments: each reads the result, and nothing between it and the
/// contraction conflicts with moving it up.
std::vector<EpilogueStep> collectEpilogue(const Contraction &c) {
  std::vector<EpilogueStep> steps;
  SmallVector<Value> available{c.c.memref};
  SmallVector<Operation *> skipped;
  for (Operation *op = c.nest.root()->getNextNode(); op; op = op->getNextNode()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop) {
      if (op->hasTrait<OpTrait::IsTerminator>())
        break;
      if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
        continue;
      break;
    }
    auto nest = analyzeNest(loop);
    std::optional<EpilogueStep> step = succeeded(nest) ? asEpilogue(*nest, c, available) : std::nullopt;
    auto conflicts = [&](const EpilogueStep &step) {
      return llvm::any_of(skipped, [&](Operation *other) {
        return llvm::any_of(step.nest.loads, [&](const Access &load) { return writes(other, load.memref); }) ||
               llvm::any_of(step.nest.stores, [&](const Access &store) { return touches(other, store.memref); });
      });
    };
    // Values that the step uses must be defined before the contraction.
    auto isDefinedLater = [&](Value value) {
      Operation *def = value.getDefiningOp();
      return def && def->getBlock() == c.nest.root()->getBlock() && c.nest.root()->isBeforeInBlock(def) &&
             !isa<memref::AllocOp>(def) && !def->hasTrait<OpTrait::ConstantLike>();
    };
    if (step) {
      bool late = false;
      op->walk([&](Operation *inner) { late |= llvm::any_of(inner->getOperands(), isDefinedLater); });
      if (late || conflicts(*step))
        step.reset();
    }
    if (!step) {
      skipped.push_back(op);
      continue;
    }
    for (const Access &store : step->nest.stores)
      available.push_back(store.memref);
    steps.push_back(std::move(*step));
  }
  return steps;
}

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

/// The trip count of each loop, null where it is not known.
llvm::json::Array tripCountsOf(const Contraction &c) {
  llvm::json::Array shape;
  for (auto trips : c.nest.tripCounts)
    shape.push_back(trips ? llvm::json::Value(*trips) : llvm::json::Value(nullptr));
  return shape;
}

void rewrite(Contraction &c, const TargetDescription &target, const PlanOptions &options) {
  AffineForOp root = c.nest.root();
  std::string reason;
  std::optional<LaneHierarchy> lanes = laneHierarchy(target);
  std::optional<CoreHierarchy> cores = coreHierarchy(target);
  ContractionTask task;
  task.contraction = c;
  task.mayReassociate = options.mayReassociate;
  AffineForOp init = findZeroInit(c);
  task.zeroInit = bool(init);
  task.epilogue = collectEpilogue(c);

  SmallVector<Operation *> group{root};
  if (init)
    group.push_back(init);
  for (EpilogueStep &step : task.epilogue)
    group.push_back(step.nest.root());
  Block *block = root->getBlock();
  auto isPrivate = [&](Value memref) { return isOnlyUsedBy(memref, block, group); };
  bool cOnlyInGroup = isPrivate(c.c.memref) && init;
  task.keepC = !(cOnlyInGroup && !task.epilogue.empty());
  for (EpilogueStep &step : task.epilogue)
    for (const Access &store : step.nest.stores)
      step.keepStore.push_back(!isPrivate(store.memref));

  std::optional<ContractionPlan> plan;
  std::optional<LaneContractionPlan> lanePlan;
  std::optional<ScratchpadContractionPlan> corePlan;
  DecisionLog *log = DecisionLog::of(root.getContext());
  std::vector<ContractionPlan> considered;
  std::vector<LaneContractionPlan> consideredLanes;
  std::vector<ScratchpadContractionPlan> consideredTiles;
  PlanOptions asked = options;
  asked.considered = log ? &considered : nullptr;
  if (lanes)
    lanePlan = planLaneContraction(c, target, *lanes, Settings::of(root).mayRoundOperands(), options.overrides, reason,
                                   log ? &consideredLanes : nullptr);
  else if (cores)
    corePlan = planScratchpadContraction(c, target, *cores, tailShapeOf(task), options, reason,
                                         log ? &consideredTiles : nullptr);
  else
    plan = planContraction(c, target, asked, reason);
  if (!plan && !lanePlan && !corePlan) {
    root.emitRemark() << "contraction is not mapped to a matrix unit: " << reason;
    return;
  }
  if (plan && options.overrides.empty())
    if (std::optional<double> seconds = secondsOverBatchLanes(c, target); seconds && *seconds < plan->seconds) {
      if (log)
        log->add("contraction", root.getLoc(),
                 llvm::json::Object{{"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
                                    {"choice", llvm::json::Object{{"lanes_on", "batch"}, {"seconds", *seconds}}},
                                    {"candidates", bestCandidates(std::move(considered))}});
      return;
    }
  if (plan && !plan->note.empty())
    root.emitRemark() << "contraction is mapped to \"" << plan->unit->name << "\": " << plan->note;
  if (plan) {
    fuseProducers(task, *plan, group, target, options);
    task.plan = *plan;
    if (!task.epilogue.empty()) {
      task.sumsIn = findPlaceOfSums(task);
      task.tail = planTail(plan->rows * plan->vectors, constantsOfEpilogue(task), target.vectorRegisters().first);
    }
  }

  if (log) {
    llvm::json::Object decision{
        {"inputs", llvm::json::Object{{"trip_counts", tripCountsOf(c)}}},
        {"choice", plan       ? plan->toJSON()
                   : lanePlan ? lanePlan->toJSON()
                              : corePlan->toJSON()},
        {"candidates", lanePlan   ? bestCandidates(std::move(consideredLanes))
                       : corePlan ? bestCandidates(std::move(consideredTiles))
                                  : bestCandidates(std::move(considered))},
        {"traffic", plan       ? traffic(c, *plan, target)
                    : lanePlan ? traffic(c, *lanePlan, target)
                               : traffic(c, *corePlan, target)},
        {"fused_steps", int64_t(task.epilogue.size())},
        {"fused_producers", int64_t(task.producerOfA.has_value()) + int64_t(task.producerOfB.has_value())}};
    if (plan && !task.epilogue.empty() && !plan->unit->c.opaque)
      decision["tail"] = task.tail.toJSON();
    log->add("contraction", root.getLoc(), std::move(decision));
  }

  OpBuilder builder(root);
  for (EpilogueStep &step : task.epilogue)
    hoistDefinitions(step.nest.root(), root);
  if (lanePlan) {
    bool engine = hasCopyEngine(target, *lanes);
    emitLaneContraction(builder, root.getLoc(), task, *lanePlan, *lanes, engine);
    Operation *grid = root->getPrevNode();
    int64_t resultBytes = 0;
    grid->walk([&](tile::StoreOp store) {
      if (storeLine(store, lanes->lanes))
        resultBytes += elementBytes(store.getMemRefType().getElementType());
    });
    // One group's tile is stored by as many ops.
    resultBytes /= lanePlan->tilesM * lanePlan->tilesN;
    if (lanePlan->engine.empty())
      grid->setAttr(residencyAttr, builder.getI64IntegerAttr(lanePlan->blocksAtATime));
    if (std::optional<LanePrediction> prediction = predictLaunch(*lanePlan, c, engine, resultBytes))
      grid->setAttr(predictedAttr, toAttribute(*prediction, root.getContext()));
  } else if (corePlan) {
    emitScratchpadContraction(builder, root.getLoc(), task, *corePlan, *cores);
  } else {
    emitContraction(builder, root.getLoc(), task);
  }
  SmallVector<Value> touched{c.c.memref};
  for (std::optional<OperandProducer> *producer : {&task.producerOfA, &task.producerOfB})
    if (*producer) {
      group.push_back((*producer)->nest.root());
      touched.push_back((*producer)->nest.stores.front().memref);
    }
  for (const EpilogueStep &step : task.epilogue)
    for (const Access &store : step.nest.stores)
      if (!llvm::is_contained(touched, store.memref))
        touched.push_back(store.memref);
  for (Operation *op : group)
    op->erase();
  // Buffers that nobody reads any more take no memory.
  for (Value memref : touched)
    if (auto buffer = memref.getDefiningOp<memref::AllocOp>();
        buffer && llvm::all_of(buffer->getUsers(), [](Operation *user) { return isa<memref::DeallocOp>(user); })) {
      for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
        user->erase();
      buffer.erase();
    }
}

void MapContractions::runOnOperation() {
  auto target = requireTarget(getOperation());
  if (failed(target))
    return signalPassFailure();
  // The option, or where the whole compiler runs, the module's attribute.
  std::string fields = force;
  if (auto module = getOperation()->getParentOfType<ModuleOp>(); module && fields.empty())
    if (auto attribute = module->getAttrOfType<StringAttr>("tilewright.force"))
      fields = attribute.str();
  auto overrides = parsePlanOverrides(fields);
  if (!overrides) {
    getOperation().emitError() << llvm::toString(overrides.takeError());
    return signalPassFailure();
  }
  PlanOptions options;
  for (auto &[name, value] : *overrides)
    if (name == "fuse_producers")
      options.fuseProducers = value != 0;
    else
      options.overrides.emplace_back(name, value);
  const Settings settings = Settings::of(getOperation());
  options.threads = settings.threads;
  options.mayReassociate = settings.mayReassociate();
  // One at a time: a rewrite erases nests that another could have named.
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<AffineForOp> roots;
    getOperation().walk([&](AffineForOp loop) {
      if (!isa<AffineForOp>(loop->getParentOp()) && !isa<AffineParallelOp>(loop->getParentOp()))
        roots.push_back(loop);
    });
    for (AffineForOp root : roots) {
      auto nest = analyzeNest(root);
      if (failed(nest))
        continue;
      auto contraction = recognizeContraction(*nest);
      if (failed(contraction) || seen.contains(root))
        continue;
      seen.insert(root);
      if (std::optional<LaneHierarchy> lanes = laneHierarchy(**target)) {
        if (widenOperands(*contraction, **target))
          contraction = recognizeContraction(*analyzeNest(root));
        if (turnOperands(*contraction, **target, *lanes, settings.mayRoundOperands(), options.overrides))
          contraction = recognizeContraction(*analyzeNest(root));
      }
      rewrite(*contraction, **target, options);
      changed = true;
      break;
    }
  }
}

} // namespace
} // namespace tilewright
