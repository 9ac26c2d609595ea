//===- NestRuns.cpp - Neighbouring iterations in one lane -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known of each access, and the model's question.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/NestRuns.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/LoopDependence.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/Transforms/Nests/NestAccessMap.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include <numeric>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

//===-- What is known of the nest -----------------------------------------===//

/// Whether memory has a whole number of bytes for each element, which vectors have, too.
static bool isPlain(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8 &&
         llvm::isPowerOf2_32(element.getIntOrFloatBitWidth());
}

/// What divides the distance of neighbours in each dimension of a dense array, the last one being 1.
static SmallVector<int64_t> strideDivisors(MemRefType type) {
  SmallVector<int64_t> divisors(type.getRank(), 1);
  for (int64_t d = type.getRank() - 2; d >= 0; --d)
    divisors[d] = divisors[d + 1] * (type.isDynamicDim(d + 1) ? 1 : type.getDimSize(d + 1));
  return divisors;
}

/// Whether dimension `d` of `memref` may have as many elements as `loop`, number `which` of the band, has iterations;
/// what is dynamic is added to `spanned`.
static bool spans(AffineForOp loop, unsigned which, Value memref, int64_t d,
                  SmallVectorImpl<SpannedDimension> &spanned) {
  auto type = cast<MemRefType>(memref.getType());
  if (loop.hasConstantUpperBound() && !type.isDynamicDim(d))
    return type.getDimSize(d) == loop.getConstantUpperBound();
  auto isSame = [&](const SpannedDimension &each) {
    return each.memref == memref && each.dimension == d && each.loop == which;
  };
  if (llvm::none_of(spanned, isSame))
    spanned.push_back({memref, d, which});
  return true;
}

/// Whether the index is that loop's number.
static bool isNumberOf(AffineForOp loop, const std::optional<LinearIndex> &index) {
  return index && index->constant == 0 && index->terms.size() == 1 && index->terms[0].first == loop.getInductionVar() &&
         index->terms[0].second == 1;
}

/// Whether all accesses go through iterations of `outer` and `inner` as if these were one loop: the second one's
/// dimension is as long, and lies behind the first one's. `which` is the number of `inner` in the band.
static bool isOneLoop(AffineForOp outer, AffineForOp inner, unsigned which, ArrayRef<LinearAccess> accesses,
                      SmallVectorImpl<SpannedDimension> &spanned) {
  return llvm::all_of(accesses, [&](const LinearAccess &access) {
    AccessMap map(access.op);
    bool usesOuter = map.uses(outer.getInductionVar()), usesInner = map.uses(inner.getInductionVar());
    if (!usesOuter && !usesInner)
      return true;
    if (usesOuter != usesInner || !cast<MemRefType>(access.memref.getType()).getLayout().isIdentity())
      return false;
    unsigned found = 0;
    for (unsigned d = 0; d < access.indices.size(); ++d) {
      bool first = d + 1 < access.indices.size() && isNumberOf(outer, access.indices[d]) &&
                   isNumberOf(inner, access.indices[d + 1]) && spans(inner, which, access.memref, d + 1, spanned);
      bool second = d > 0 && isNumberOf(outer, access.indices[d - 1]) && isNumberOf(inner, access.indices[d]);
      if (!first && !second &&
          (occursIn(map.map, d, map.operands, outer.getInductionVar()) ||
           occursIn(map.map, d, map.operands, inner.getInductionVar())))
        return false;
      found += first;
    }
    return found == 1;
  });
}

/// What the model has to know of an access: `inner` is the loop that lanes take neighbours of, `run` the loops that are
/// one with it. nullopt if its elements can only be found one by one.
static std::optional<NestTask::Access> describe(const LinearAccess &access, AffineForOp inner,
                                                ArrayRef<AffineForOp> run, int64_t sectorBytes) {
  AccessMap map(access.op);
  auto type = cast<MemRefType>(access.memref.getType());
  NestTask::Access result;
  result.bytes = elementBytes(type.getElementType());
  result.step = 0;
  result.writes = access.isStore;
  if (!map.uses(inner.getInductionVar()))
    return access.isStore ? std::nullopt : std::optional(result);
  if (!isPlain(type.getElementType()) || !type.getLayout().isIdentity())
    return std::nullopt;
  SmallVector<int64_t> divisors = strideDivisors(type);
  int64_t divisor = 0, step = 0;
  bool known = true;
  for (auto [d, index] : llvm::enumerate(access.indices)) {
    if (!index) {
      if (occursIn(map.map, d, map.operands, inner.getInductionVar()))
        return std::nullopt;
      divisor = std::gcd(divisor, divisors[d]);
      continue;
    }
    divisor = std::gcd(divisor, index->constant * divisors[d]);
    for (auto [value, factor] : index->terms) {
      if (value == inner.getInductionVar()) {
        if (factor < 0) // fragments begin at their lowest element
          return std::nullopt;
        step += factor * divisors[d];
        known &= llvm::none_of(type.getShape().drop_front(d + 1), ShapedType::isDynamic);
      } else if (llvm::none_of(run, [&, value = value](AffineForOp loop) { return loop.getInductionVar() == value; })) {
        divisor = std::gcd(divisor, factor * divisors[d]);
      }
    }
  }
  result.step = known && step ? step * result.bytes : sectorBytes;
  result.run = known && step == 1 ? (divisor ? divisor & -divisor : mostIterations) : 1;
  return result;
}

/// Whether the body can be done for several iterations at once, and what it costs: accesses but for `task.accesses`.
static bool countOperations(Block &body, Value iv, NestTask &task) {
  llvm::DenseSet<Value> different{iv}; // in iterations of a lane
  int64_t widest = 0;
  for (Operation &op : body.without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (AccessMap(&op).uses(iv)) {
        different.insert(load.getResult());
        task.registerBytes += elementBytes(load.getType());
      }
      continue;
    }
    if (isa<AffineStoreOp>(op))
      continue;
    if (op.getNumRegions() != 0 || !isPure(&op))
      return false;
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return different.contains(operand); }))
      continue;
    auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
    if (!OpTrait::hasElementwiseMappableTraits(&op) || !llvm::all_of(op.getResultTypes(), isNumber) ||
        !llvm::all_of(op.getOperandTypes(), isNumber))
      return false;
    different.insert(op.result_begin(), op.result_end());
    task.operations += instructionsOf(&op);
    for (Type type : op.getResultTypes())
      widest = std::max(widest, std::max<int64_t>(4, elementBytes(type)));
  }
  task.registerBytes += 2 * widest;
  return true;
}

std::optional<NestRuns> tilewright::planRuns(ArrayRef<AffineForOp> band, ArrayRef<unsigned> order,
                                             const LaunchTarget &target, bool &isPlanned) {
  if (band.empty())
    return std::nullopt;
  AffineForOp root = band.front();
  auto accesses = accessesBelow(root);
  if (!accesses || accesses->empty())
    return std::nullopt;
  NestRuns runs{band, {order.back()}, 1, true, {}};
  SmallVector<AffineForOp> loops{runs.inner()};
  for (unsigned loop : llvm::reverse(order.drop_back())) {
    AffineForOp outer = band[loop];
    SmallVector<SpannedDimension> spanned(runs.spanned);
    if (usesNumber(outer) || usesNumber(loops.front()) ||
        !isOneLoop(outer, loops.front(), runs.loops.front(), *accesses, spanned))
      break;
    runs.spanned = spanned;
    runs.loops.insert(runs.loops.begin(), loop);
    loops.insert(loops.begin(), outer);
  }

  NestTask task;
  auto trips = [](AffineForOp loop) {
    return loop.hasConstantUpperBound() ? loop.getConstantUpperBound() : assumedRowExtent;
  };
  bool isKnown = true;
  for (unsigned i = 0; i < band.size(); ++i) {
    (runs.counts(i) ? task.length : task.rows) *= trips(runs.loop(i));
    isKnown &= !runs.counts(i) || runs.loop(i).hasConstantUpperBound();
  }
  if (llvm::any_of(band, [](AffineForOp loop) { return !loop.hasConstantUpperBound(); })) {
    int64_t &unknown = isKnown ? task.rows : task.length,
            known = std::max<int64_t>(1, isKnown ? task.length : task.rows);
    unknown = std::max<int64_t>(unknown, assumedIterations / known);
  }
  task.partial = true;
  task.most = 1; // where no access is wider, neighbours are better off in different lanes
  for (const LinearAccess &access : *accesses) {
    std::optional<NestTask::Access> known = describe(access, runs.inner(), loops, target.hierarchy.sectorBytes);
    if (!known)
      return std::nullopt;
    // Taps of a window differ in constants alone.
    known->again = llvm::any_of(ArrayRef(*accesses).take_front(task.accesses.size()), [&](const LinearAccess &before) {
      return before.memref == access.memref && !before.isStore && !access.isStore &&
             llvm::all_of(llvm::zip_equal(before.indices, access.indices), [](auto pair) {
               auto &[a, b] = pair;
               return a && b && a->terms == b->terms;
             });
    });
    task.accesses.push_back(*known);
    if (known->step != 0)
      task.most = std::max(task.most, known->run);
  }
  if (!countOperations(runs.body(), runs.inner().getInductionVar(), task))
    return std::nullopt;
  std::vector<NestPlan> considered;
  NestPlan plan = planNest(task, *target.chip, target.hierarchy, &considered);
  isPlanned = true;
  if (DecisionLog *log = DecisionLog::of(root.getContext()))
    log->add("nest", root,
             llvm::json::Object{{"inputs", llvm::json::Object{{"rows", task.rows},
                                                              {"length", task.length},
                                                              {"accesses", int64_t(task.accesses.size())},
                                                              {"operations", task.operations}}},
                                {"choice", plan.toJSON()},
                                {"candidates", fastestFirst(std::move(considered))}});
  if (plan.iterations == 1)
    return std::nullopt;
  runs.iterations = plan.iterations;
  runs.whole = isKnown && runs.spanned.empty() && task.length % plan.iterations == 0;
  return runs;
}
