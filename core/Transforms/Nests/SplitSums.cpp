//===- SplitSums.cpp - Sums in parts where there are few ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sum along rows has a lane for each column, a sum of a whole array one block.
/// Where that leaves most of the chip without work, the sums are cut into parts,
/// and a second nest adds the parts:
///
///   for %i, %j { s[%j] += f(x[%i, %j]) }                    for %i { s[] += f(x[%i]) }
///   ->                                                      ->
///   for %p, %j { part[%p, %j] = 0 }                         for %p { part[%p] = 0 }
///   for %p, %i, %j {                                        for %p, %i {
///     part[%p, %j] += f(x[%p * 128 + %i, %j]) }               part[%p] += f(x[%p * 4096 + %i]) }
///   for %p, %j { s[%j] += part[%p, %j] }                    for %p { s[] += part[%p] }
///
/// On cores with caches long sums of floats are cut so, too, since the error of a sum grows with the additions in a
/// row: of n terms sqrt(n) / 3 parts leave about 3 sqrt(n) of them.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/RowReduction.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/SumModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestInit.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "core/Transforms/Utils/SplitNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include <cmath>

namespace tilewright {
#define GEN_PASS_DEF_SPLITSUMS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// A nest that adds to one element, or to one for each column: then its loops are those of rows and of columns. The
/// first loop is cut into parts.
struct Sum {
  Nest nest;
  CombinedElement element;

  int64_t trips(unsigned loop) const { return *nest.tripCounts[loop]; }
  const Access &store() const { return nest.stores.front(); }
  bool isOfColumns() const { return store().dims().any(); }
};
} // namespace

/// The nest at `root` as such a sum; nullopt where it is none, or sums have one order.
static std::optional<Sum> findSum(AffineForOp root, bool mayReassociate) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->stores.size() != 1 || llvm::is_contained(nest->tripCounts, std::nullopt))
    return std::nullopt;
  std::optional<CombinedElement> element = combinedElement(*nest, nest->stores.front());
  if (!element || !element->combine->hasTrait<OpTrait::IsCommutative>() ||
      (isa<arith::AddFOp, arith::MulFOp>(element->combine) && !mayReassociate))
    return std::nullopt;
  Sum sum{std::move(*nest), *element};
  if (sum.isOfColumns() && (sum.nest.depth() != 2 || sum.store().dims().test(0) || sum.store().stride(1) != 1))
    return std::nullopt;
  return sum;
}

static int64_t iterationsAround(Operation *op) {
  int64_t iterations = 1;
  for (auto loop = op->getParentOfType<AffineForOp>(); loop; loop = loop->getParentOfType<AffineForOp>())
    iterations *= loop.hasConstantBounds() ? loop.getConstantUpperBound() : 1;
  return iterations;
}

/// Whether a nest beside the sum of a whole array runs over its elements, too: it computes what is summed up, or needs
/// the sum. One launch does all of them, with the row in its scratchpad.
static bool isStepOfRow(const Sum &sum) {
  AffineForOp root = sum.nest.root();
  const int64_t iterations = iterationsAround(sum.store().op);
  auto isOther = [&](Operation *user) { return !root->isAncestor(user) && iterationsAround(user) >= iterations; };
  auto isPartner = [&]<typename Op>(Value array) {
    return llvm::any_of(array.getUsers(), [&](Operation *user) { return isa<Op>(user) && isOther(user); });
  };
  auto isComputed = [&](const Access &load) { return isPartner.operator()<AffineStoreOp>(load.memref); };
  return isPartner.operator()<AffineLoadOp>(sum.store().memref) || llvm::any_of(sum.nest.loads, isComputed);
}

static void split(const Sum &sum, int64_t parts) {
  // What sets the beginning of the sums stays next to what adds the parts.
  Operation *before = sum.nest.root();
  if (std::optional<NestInit> init = findInit(sum.nest, sum.store(), sum.isOfColumns() ? 1 : 0)) {
    init->loop->moveBefore(before);
    before = init->loop;
  }
  computeInParts({sum.nest, {sum.element}, /*dim=*/0, /*partsInside=*/false}, parts, before);
}

/// Cuts the sums of a nest, all of the same terms, where they have many.
static void splitLongSums(AffineForOp root) {
  constexpr int64_t fewTerms = 512, fewParts = 8;
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->stores.empty() || llvm::is_contained(nest->tripCounts, std::nullopt))
    return;
  const llvm::SmallBitVector kept = nest->stores.front().dims();
  NestToSplit task{*nest, {}, 0, /*partsInside=*/false};
  for (const Access &store : nest->stores) {
    std::optional<CombinedElement> element = combinedElement(*nest, store);
    if (!element || !isa<arith::AddFOp>(element->combine) || store.dims() != kept)
      return;
    task.elements.push_back(*element);
  }
  int64_t terms = 1, trips = 0;
  for (unsigned dim = 0; dim < nest->depth(); ++dim) {
    if (kept.test(dim))
      continue;
    terms *= *nest->tripCounts[dim];
    if (*nest->tripCounts[dim] > trips)
      trips = *nest->tripCounts[task.dim = dim];
  }
  if (terms < fewTerms)
    return;
  const double ideal = std::sqrt(double(terms)) / 3; // fewer cost less, and leave little longer rows
  int64_t parts = 1;
  auto distance = [&](int64_t count) { return std::abs(std::log(double(count) / ideal)); };
  for (int64_t count = 2; count <= trips && double(count) <= 2 * ideal; ++count)
    if (trips % count == 0 && distance(count) < distance(parts))
      parts = count;
  if (parts >= fewParts)
    computeInParts(task, parts, root);
}

namespace {
struct SplitSums : tilewright::impl::SplitSumsBase<SplitSums> {
  void splitNest(AffineForOp root, const LaunchTarget &target) {
    const bool mayReassociate = Settings::of(root).mayReassociate();
    const std::optional<Sum> sum = findSum(root, mayReassociate);
    if (!sum)
      return;
    const int64_t partialBytes = elementBytes(sum->element.combine->getResult(0).getType()), rows = sum->trips(0),
                  columns = sum->isOfColumns() ? sum->trips(1) : 1;
    std::vector<SumPlan> considered;
    SumPlan plan;
    llvm::json::Object inputs;
    std::unique_ptr<RowReduction> row;
    if (!sum->isOfColumns()) {
      if (isStepOfRow(*sum))
        return;
      row = recognizeRows(root, mayReassociate);
      if (!row && sum->nest.depth() > 1)
        return;
      int64_t length = 1;
      for (unsigned loop = 0; loop < sum->nest.depth(); ++loop)
        length *= sum->trips(loop);
      inputs = llvm::json::Object{{"rows", 1}, {"length", length}};
    } else {
      inputs = llvm::json::Object{{"rows", rows}, {"columns", columns}};
    }
    if (row) {
      plan = planRowSums(rowTaskOf(*row, target.hierarchy.sectorBytes), rows, partialBytes, *target.chip,
                         target.hierarchy, &considered);
    } else {
      // Elements of a sum lie apart: a lane for each sum of a part.
      ColumnTask task{rows, columns, 0, partialBytes};
      for (const Access &load : sum->nest.loads)
        if (load.dims().all())
          task.bytes += elementBytes(elementOf(load.memref));
      plan = planColumnSums(task, *target.chip, target.hierarchy, &considered);
    }
    if (DecisionLog *log = DecisionLog::of(&getContext()))
      log->add(sum->isOfColumns() ? "column-sums" : "row-sums", root,
               llvm::json::Object{{"inputs", std::move(inputs)},
                                  {"choice", plan.toJSON()},
                                  {"candidates", fastestFirst(std::move(considered))}});
    if (plan.parts > 1)
      split(*sum, plan.parts);
  }

  void runOnOperation() override {
    auto chip = requireTarget(getOperation());
    if (failed(chip))
      return signalPassFailure();
    if (const MachineGraph &graph = (*chip)->graph(); !graph.lanesAreThreads()) {
      if (!graph.threadMemory() && isKernel(getOperation()) && Settings::of(getOperation()).mayReassociate())
        for (AffineForOp root : llvm::to_vector(getOperation().getOps<AffineForOp>()))
          splitLongSums(root);
      return;
    }
    auto map = [&](AffineForOp root, const LaunchTarget &target) { splitNest(root, target); };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
