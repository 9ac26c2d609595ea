//===- SplitReductions.cpp - Sums over more blocks than C has tiles -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A contraction whose result has too few tiles for the chip becomes a batch of
/// contractions over parts of the sum, and a nest that adds the parts up.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ForcedFields.h"
#include "core/CostModel/Schedules/SplitModel.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/SplitNest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
struct SplitReductions : tilewright::impl::SplitReductionsBase<SplitReductions> {
  /// Splits the sum of the contraction at `root`, if it is one and the model finds that worth it.
  void splitNest(AffineForOp root, const LaunchTarget &target) {
    const Settings settings = Settings::of(root);
    FailureOr<Nest> nest = analyzeNest(root);
    FailureOr<Contraction> c = succeeded(nest) ? recognizeContraction(*nest) : FailureOr<Contraction>(failure());
    if (failed(c) || (!settings.mayReassociate() && isa<FloatType>(c->accumulator)))
      return;
    orientToResult(*c);
    DecisionLog *log = DecisionLog::of(&getContext());
    const ForcedFields forced = ForcedFields::of(root);
    SplitPlan choice = planSplit({*c, NumericFreedom::of(settings), forced.plans}, *target.chip, target.hierarchy,
                                 /*all=*/log && log->listsCandidates(), forced.splitK);
    if (choice.parts == 1)
      return;
    if (log)
      log->add("split", root,
               llvm::json::Object{{"choice", choice.toJSON()}, {"candidates", fastestFirst(choice.considered)}});
    const Access *load = llvm::find_if(c->nest.loads, [&](const Access &each) { return each.memref == c->c.memref; });
    Operation *sum = cast<AffineStoreOp>(c->c.op).getValueToStore().getDefiningOp();
    computeInParts(
        {c->nest, {{load->op, c->c.op, sum, cast<TypedAttr>(Builder(root).getZeroAttr(c->accumulator))}}, choice.kDim},
        choice.parts, root);
  }

  void runOnOperation() override {
    auto map = [&](AffineForOp root, const LaunchTarget &target) { splitNest(root, target); };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }
};
} // namespace
