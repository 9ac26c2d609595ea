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
#include "core/Transforms/Fusion/ContractionGroup.h"
#include "core/Transforms/Fusion/OperandProducer.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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

double tilewright::packSeconds(double bytes, int64_t elementBytes, const MemoryModel &model) {
  int64_t lanes = std::max<int64_t>(1, model.vectorBytes() / elementBytes);
  double vectors = bytes / double(elementBytes * lanes);
  return model.moveSeconds(bytes, 0) + model.issueSeconds(0, vectors * model.turnedLoads(lanes));
}

/// Neighbouring nests are one pass over what they read and write: fuse-nests merges their loops over rows. What they
/// alone touch stays near.
static double secondsOfPass(ArrayRef<Operation *> ops, const MemoryModel &model) {
  llvm::SmallMapVector<Value, double, 8> read, written;
  double arithmetic = 0, accesses = 0;
  for (Operation *op : ops) {
    FailureOr<Nest> nest = analyzeNest(cast<AffineForOp>(op));
    if (failed(nest))
      continue;
    double iterations = 1, instructions = 0;
    for (auto trips : nest->tripCounts)
      iterations *= double(trips.value_or(1));
    int64_t lanes = 1;
    for (const Access &access : llvm::concat<const Access>(nest->loads, nest->stores))
      if (Type element = elementOf(access.memref); element.isIntOrFloat())
        lanes = std::max(lanes, model.lanes(element.getIntOrFloatBitWidth()));
    for (Operation &each : nest->body->without_terminator())
      instructions += isa<AffineLoadOp, AffineStoreOp>(each) ? 0 : double(instructionsOf(&each));
    arithmetic += iterations * instructions / double(lanes);
    accesses += iterations * double(nest->loads.size() + nest->stores.size()) / double(lanes);
    for (const Access &load : nest->loads)
      if (!written.count(load.memref))
        read[load.memref] = std::max(read[load.memref], bytesOf(load, *nest));
    for (const Access &store : nest->stores)
      written[store.memref] = std::max(written[store.memref], bytesOf(store, *nest));
  }
  auto isOwn = [&](Value memref) {
    return memref.getDefiningOp<memref::AllocOp>() && llvm::all_of(memref.getUsers(), [&](Operation *user) {
             return isa<memref::DeallocOp>(user) ||
                    llvm::any_of(ops, [&](Operation *op) { return op->isAncestor(user); });
           });
  };
  double in = 0, out = 0;
  for (auto [memref, bytes] : read)
    in += bytes;
  for (auto [memref, bytes] : written)
    out += isOwn(memref) ? 0 : bytes;
  return std::max(model.moveSeconds(in, out), model.issueSeconds(arithmetic, accesses));
}

/// The nests that are computed while `plan` packs; the plan becomes that with them.
static void absorbProducers(const Contraction &c, ContractionPlan &plan, ArrayRef<Operation *> group,
                            const TargetDescription &chip, const PlanOptions &options,
                            llvm::SmallPtrSetImpl<Operation *> &absorbed) {
  std::optional<OperandProducer> legal[2];
  AffineForOp roots[2];
  std::string reason;
  for (int i : {0, 1}) {
    const ContractionOperand &operand = i == 0 ? c.a : c.b;
    if ((roots[i] = findProducer(c, operand)))
      legal[i] = asProducer(roots[i], c, operand, group, reason);
  }
  if (!legal[0] && !legal[1])
    return;
  ProducerChoice choice =
      chooseProducers(c, plan, legal[0] ? &*legal[0] : nullptr, legal[1] ? &*legal[1] : nullptr, chip, options);
  plan = choice.plan;
  if (choice.fuseA)
    absorbed.insert(roots[0]);
  if (choice.fuseB)
    absorbed.insert(roots[1]);
}

std::vector<NestGroup> tilewright::groupNests(ArrayRef<AffineForOp> roots, const TargetDescription &chip,
                                              const MemoryModel &model, const PlanOptions &options) {
  std::vector<NestGroup> groups;
  llvm::SmallPtrSet<Operation *, 16> absorbed;
  for (AffineForOp root : roots) {
    FailureOr<Nest> nest = analyzeNest(root);
    if (failed(nest))
      continue;
    FailureOr<Contraction> contraction = recognizeContraction(*nest);
    if (failed(contraction))
      continue;
    std::string reason;
    std::optional<ContractionPlan> plan = planContraction(*contraction, chip, options, reason);
    if (!plan)
      continue;
    ContractionTask task;
    task.contraction = *contraction;
    task.mayReassociate = options.mayReassociate;
    NestGroup &group = groups.emplace_back();
    group.isContraction = true;
    group.ops = gatherGroup(task);
    llvm::SmallPtrSet<Operation *, 4> packed;
    absorbProducers(*contraction, *plan, group.ops, chip, options, packed);
    group.ops.append(packed.begin(), packed.end());
    group.seconds = plan->seconds;
    if (plan->packVectors)
      group.packed[0] = plan->vectorOperand(*contraction);
    if (plan->packScalars)
      group.packed[1] = plan->scalarOperand(*contraction);
    for (const Access *access : {&contraction->a.access, &contraction->b.access, &contraction->c})
      group.arrays.push_back(access->memref);
    absorbed.insert(group.ops.begin(), group.ops.end());
  }
  bool isRun = false; // whether the nest before belongs to the last group
  for (AffineForOp root : roots) {
    if (absorbed.contains(root)) {
      isRun = false;
      continue;
    }
    if (!isRun)
      groups.emplace_back();
    groups.back().ops.push_back(root);
    isRun = true;
  }
  for (NestGroup &group : groups)
    if (!group.isContraction) {
      group.seconds = secondsOfPass(group.ops, model);
      if (model.parallel(group.seconds, options.threads))
        group.seconds /= double(options.threads);
    }
  return groups;
}
