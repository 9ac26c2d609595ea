//===- MapRowProgramsToLanes.cpp - Soft-max and the like in one launch ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the model is asked about a row program, and the pass that has its grid
/// written.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/RowProgram.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/CostModel/Schedules/RowModel.h"
#include "core/Transforms/Nests/RowProgramEmitter.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Residency.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPROWPROGRAMSTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// What the model asks for; extents that only the run shows count as `assumedExtent`.
static RowProgramTask taskOf(const RowProgram &program, const TargetDescription &chip) {
  RowProgramTask task;
  task.length = program.length;
  task.phases = program.phases;
  for (AffineForOp loop : program.loops().drop_back()) {
    task.rowsAreKnown &= loop.hasConstantUpperBound();
    task.rows *= loop.hasConstantUpperBound() ? loop.getConstantUpperBound() : assumedExtent;
  }
  auto align = [&](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    task.vector = std::min(task.vector, 16 / elementBytes(type.getElementType()));
    while (task.vector > 1 && type.getRank() > 1 &&
           (type.isDynamicDim(type.getRank() - 1) || type.getShape().back() % task.vector != 0))
      task.vector /= 2;
  };
  for (const auto &[source, phases] : program.uses()) {
    int64_t bytes = elementBytes(elementOf(source.second->memref));
    if (source.first) {
      if (phases.size() > 1)
        task.between.push_back(bytes);
      task.accesses += phases.size() > 1 ? phases.size() : 0;
    } else {
      align(source.second->memref);
      task.bytes += bytes;
      if (phases.size() > 1)
        task.inputs.push_back(bytes);
      task.againBytes += (phases.size() - 1) * bytes;
      task.accesses += phases.size();
      task.keptAccesses += phases.size() > 1 ? 1 : 0;
    }
  }
  double bandwidth = chip.graph().backing()->bytesPerClock, elements = double(task.rows) * task.length;
  for (const auto &step : program.steps) {
    const Nest &nest = step->nest();
    int64_t moved = 0, alongRow = 0;
    for (const Access &load : nest.loads)
      if (step->isAlongRow(load)) {
        alongRow += std::max<int64_t>(4, elementBytes(load.op->getResult(0).getType()));
        moved += elementBytes(load.op->getResult(0).getType());
      }
    if (step->kind == RowStep::Kind::Elementwise)
      for (const Access &store : nest.stores) {
        alongRow += std::max<int64_t>(4, elementBytes(elementOf(store.memref)));
        moved += elementBytes(elementOf(store.memref));
        if (llvm::is_contained(program.results, store.memref) && program.lastWriter(store.memref) == step.get()) {
          align(store.memref);
          task.bytes += elementBytes(elementOf(store.memref));
          ++task.accesses;
        }
      }
    if (step->kind != RowStep::Kind::Scalar)
      for (Operation &op : nest.body->without_terminator())
        task.operations += instructionsOf(&op);
    if (step->reduction)
      task.sums += step->reduction->sums.size();
    task.registerBytes = std::max(task.registerBytes, alongRow);
    task.apartClocks += launchClocks(chip) + elements * moved / bandwidth;
  }
  return task;
}

//===-- Pass --------------------------------------------------------------===//

namespace {
struct MapRowProgramsToLanes : tilewright::impl::MapRowProgramsToLanesBase<MapRowProgramsToLanes> {
  void runOnOperation() override {
    BufferOrigins origins(getOperation());
    llvm::SmallPtrSet<Operation *, 16> mapped;
    auto map = [&](AffineForOp root, const LaunchTarget &target) {
      if (!mapped.contains(root.getOperation()))
        mapProgram(root, target, origins, mapped);
    };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }

  /// Maps the program that begins with the nest at `root`, if there is one and the model finds a way; its nests are
  /// erased and listed in `mapped`.
  void mapProgram(AffineForOp root, const LaunchTarget &target, const BufferOrigins &origins,
                  llvm::SmallPtrSetImpl<Operation *> &mapped) {
    if (target.hierarchy.scratchpad.empty() || !target.chip->graph().backing())
      return;
    std::unique_ptr<RowProgram> found = recognizeRowProgram(root, Settings::of(root).mayReassociate(), origins);
    // Blocks are counted by one number: all extents but the first are constant.
    if (!found ||
        !llvm::all_of(found->loops().drop_front(), [](AffineForOp loop) { return loop.hasConstantUpperBound(); }))
      return;
    const RowProgram &program = *found;
    const RowProgramTask task = taskOf(program, *target.chip);
    std::vector<RowProgramPlan> considered;
    std::optional<RowProgramPlan> plan = planRowProgram(task, *target.chip, target.hierarchy, &considered);
    if (!plan)
      return;
    AffineForOp last = program.steps.back()->nest().root();
    if (DecisionLog *log = DecisionLog::of(&getContext()))
      log->add("row-program", program.steps.front()->nest().root().getLoc(),
               llvm::json::Object{{"inputs", llvm::json::Object{{"rows", task.rows},
                                                                {"length", task.length},
                                                                {"nests", int64_t(program.steps.size())},
                                                                {"phases", task.phases},
                                                                {"clocks_of_a_launch_each", task.apartClocks}}},
                                  {"choice", plan->toJSON()},
                                  {"candidates", fastestFirst(std::move(considered), [](const RowProgramPlan &each) {
                                     return std::tuple(each.subgroups, each.rows, each.keepsInputs);
                                   })}});
    OpBuilder builder(last);
    RowProgramEmitter(builder, program, *plan, target.hierarchy).emit();
    last->getPrevNode()->setAttr(residencyAttr, builder.getI64IntegerAttr(plan->blocksAtATime));
    for (const auto &step : program.steps) {
      mapped.insert(step->nest().root());
      step->nest().root()->erase();
    }
  }
};
} // namespace
