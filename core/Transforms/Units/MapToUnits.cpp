//===- MapToUnits.cpp - The nests of a tile on fragments ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans and writes each tile that a schedule has given to blocks.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Units/TileProgramEmitter.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Residency.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPTOUNITS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct MapToUnits : tilewright::impl::MapToUnitsBase<MapToUnits> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    auto chip = requireTarget(getOperation());
    if (failed(chip))
      return signalPassFailure();
    if (!(*chip)->graph().hasBlocks())
      return;
    const LaneHierarchy hierarchy = LaneHierarchy::of((*chip)->graph());
    for (auto tile : llvm::to_vector(getOperation().getOps<tile::ParallelOp>()))
      if (tile.getLevel() == hierarchy.grid && tile.getSchedule() && failed(rewrite(tile, **chip, hierarchy)))
        return signalPassFailure();
  }

  LogicalResult rewrite(tile::ParallelOp tile, const TargetDescription &chip, const LaneHierarchy &hierarchy) {
    std::string reason;
    FailureOr<TileProgram> program = analyzeTileProgram(tile, reason);
    if (failed(program))
      return tile.emitError() << "the schedule's tiles cannot be computed on fragments: " << reason;
    const int64_t blocks = tilesOf(tile);
    std::optional<TileProgramPlan> plan =
        planTileProgram(*program, blocks, chip, hierarchy, NumericFreedom::of(Settings::of(getOperation())),
                        ForcedFields::of(tile).chains, reason);
    if (plan && !llvm::all_of(tile.getUpperBounds().getResults(), llvm::IsaPred<AffineConstantExpr>))
      plan->workers = 0;
    if (!plan)
      return tile.emitError() << "the schedule's tiles cannot be computed on fragments: " << reason;
    if (DecisionLog *log = DecisionLog::of(&getContext()))
      log->add("tile-program", tile,
               llvm::json::Object{{"inputs", llvm::json::Object{{"rows", program->rows}, {"blocks", blocks}}},
                                  {"choice", plan->toJSON()}});
    tile->setAttr(residencyAttr, Builder(&getContext()).getI64IntegerAttr(plan->blocksAtATime));
    emitTileProgram(tile, *program, *plan, hierarchy);
    return success();
  }
};
} // namespace
