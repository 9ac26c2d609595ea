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
#include "core/Transforms/Utils/SizeVersions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Instructions of `op` where lanes run it, counted in machine code of one chip: divisions and elementary functions are
/// sequences.
static int64_t laneInstructionsOf(Operation &op) {
  if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return 10;
  return instructionsOf(&op) > 1 ? 20 : 1;
}

/// Adds what the step's operations cost: those that follow from elements of the row once for each element, those of
/// values that a row has once, once in each lane.
static void countInstructions(const RowStep &step, RowProgramTask &task) {
  llvm::SmallPtrSet<Value, 16> alongRow;
  for (const Access &load : step.nest().loads)
    if (step.isAlongRow(load))
      alongRow.insert(load.op->getResult(0));
  if (step.kind != RowStep::Kind::Scalar)
    alongRow.insert(AffineForOp(step.nest().loops.back()).getInductionVar());
  for (Operation &op : step.nest().body->without_terminator()) {
    if (isa<AffineLoadOp, AffineStoreOp>(op)) // `accesses` counts them
      continue;
    bool ofElement = llvm::any_of(op.getOperands(), [&](Value operand) { return alongRow.contains(operand); });
    if (ofElement)
      alongRow.insert_range(op.getResults());
    (ofElement ? task.operations : task.laneOperations) += laneInstructionsOf(op);
  }
}

/// What the model asks for of rows of `length` elements; other dynamic extents count as `assumedExtent`. With
/// `computesAgain`, phases compute what they can of the rows of earlier ones.
static RowProgramTask taskOf(const RowProgram &program, int64_t length, const TargetDescription &chip,
                             bool computesAgain) {
  RowProgramTask task;
  task.length = length;
  task.computesAgain = computesAgain;
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
  SmallVector<const RowStep *> again;
  for (const auto &[source, phases] : program.uses(computesAgain ? &again : nullptr)) {
    int64_t bytes = elementBytes(elementOf(source.second->memref));
    if (source.first) {
      if (phases.size() > 1)
        task.between.push_back(bytes);
      task.accesses += phases.size() > 1 ? phases.size() : 0;
    } else {
      align(source.second->memref);
      // Where the place does not follow from the row's number, all rows read the same.
      bool shared = unsigned(source.second->dims().find_first()) >= program.outer();
      (shared ? task.sharedBytes : task.bytes) += bytes;
      if (phases.size() > 1)
        task.inputs.push_back(bytes);
      task.againBytes += (phases.size() - 1) * bytes;
      task.accesses += phases.size();
      task.keptAccesses += phases.size() > 1 ? 1 : 0;
    }
  }
  for (const RowStep *step : again)
    countInstructions(*step, task);
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
        if (program.results.contains(store.memref) && program.lastWriters.lookup(store.memref) == step.get()) {
          align(store.memref);
          task.bytes += elementBytes(elementOf(store.memref));
          ++task.accesses;
        }
      }
    countInstructions(*step, task);
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
    RowProgramReader reader(origins, Settings::of(getOperation()).mayReassociate());
    llvm::SmallPtrSet<Operation *, 16> mapped;
    auto map = [&](AffineForOp root, const LaunchTarget &target) {
      if (mapped.contains(root.getOperation()) || mapProgram(root, target, reader, mapped))
        return;
      mapOneRow(root, target, origins, mapped);
    };
    if (failed(overLaneNests(getOperation(), map)))
      signalPassFailure();
  }

  static constexpr size_t fewestSteps = 32; // of a beginning: a launch counts for little by then

  /// A plan for rows of up to so many elements.
  struct Version {
    RowProgramTask task;
    RowProgramPlan plan;
    std::vector<RowProgramPlan> considered;
  };
  /// A program and its versions; without a program, the nest begins none that the model finds a way for.
  struct Planned {
    std::unique_ptr<RowProgram> program;
    std::vector<Version> versions;

    double secondsOfNest() const { return versions.front().plan.seconds / double(program->steps.size()); }
  };

  static Planned planUpTo(size_t mostSteps, AffineForOp root, const LaunchTarget &target, RowProgramReader &reader) {
    Planned planned{reader.read(root, mostSteps), {}};
    // Blocks are counted by one number: all extents of rows but the first are constant.
    if (planned.program && llvm::all_of(planned.program->loops().drop_front().drop_back(),
                                        [](AffineForOp loop) { return loop.hasConstantUpperBound(); }))
      planned.versions = planVersions(*planned.program, target);
    if (planned.versions.empty())
      planned.program = nullptr;
    return planned;
  }

  /// The whole program that begins with the nest at `root`. Where a block has no place for all of it, that of its
  /// beginnings, each of twice as many nests as the one before, which takes the least time a nest.
  static Planned choose(AffineForOp root, const LaunchTarget &target, RowProgramReader &reader) {
    Planned best = planUpTo(fewestSteps, root, target, reader), longer;
    for (size_t most = 2 * fewestSteps; best.program && (longer.program ? longer : best).program->mayGoOn; most *= 2) {
      longer = planUpTo(most, root, target, reader);
      if (!longer.program)
        return best;
      if (!longer.program->mayGoOn || longer.secondsOfNest() < best.secondsOfNest())
        best = std::move(longer);
    }
    return best;
  }

  /// Maps the program that begins with the nest at `root`, if there is one and the model finds a way; its nests are
  /// erased and listed in `mapped`.
  bool mapProgram(AffineForOp root, const LaunchTarget &target, RowProgramReader &reader,
                  llvm::SmallPtrSetImpl<Operation *> &mapped) {
    if (target.hierarchy.scratchpad.empty() || !target.chip->graph().backing())
      return false;
    Planned planned = choose(root, target, reader);
    if (!planned.program)
      return false;
    const RowProgram &program = *planned.program;
    const std::vector<Version> &versions = planned.versions;
    AffineForOp last = program.steps.back()->nest().root();
    OpBuilder builder(last);
    AffineForOp lane = program.loops().back();
    const Location loc = lane.getLoc();
    auto fits = [&](unsigned i) -> Value {
      Value size = AffineApplyOp::create(builder, loc, lane.getUpperBoundMap(), lane.getUpperBoundOperands());
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, size,
                                   arith::ConstantIndexOp::create(builder, loc, versions[i].task.length));
    };
    const bool isDynamic = program.length == 0;
    emitBranches(builder, loc, isDynamic ? versions.size() : 0, fits, [&](unsigned i) {
      if (i == versions.size()) { // longer rows
        for (const auto &step : program.steps)
          step->nest().root()->moveBefore(builder.getInsertionBlock()->getTerminator());
        return;
      }
      log(program, versions[i]);
      RowProgramEmitter(builder, program, versions[i].plan, target.hierarchy).emit();
      std::prev(builder.getInsertionPoint())
          ->setAttr(residencyAttr, builder.getI64IntegerAttr(versions[i].plan.blocksAtATime));
    });
    for (const auto &step : program.steps) {
      AffineForOp nest = step->nest().root();
      mapped.insert(nest);
      if (!isDynamic)
        nest->erase();
    }
    return true;
  }

  /// Maps nests over the elements of one array, which are sums of all of them and what follows from these: a program of
  /// one row, which a loop of one iteration counts.
  void mapOneRow(AffineForOp root, const LaunchTarget &target, const BufferOrigins &origins,
                 llvm::SmallPtrSetImpl<Operation *> &mapped) {
    const bool mayReassociate = Settings::of(getOperation()).mayReassociate();
    std::optional<uint64_t> length;
    SmallVector<AffineForOp> nests;
    for (Operation *op = root; op && nests.size() < fewestSteps; op = op->getNextNode()) {
      auto nest = dyn_cast<AffineForOp>(op);
      if (!nest && (isa<memref::AllocOp>(op) || isMemoryEffectFree(op)) && !op->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (!nest || !nest.hasConstantBounds() || !nest.getBody()->getOps<AffineForOp>().empty())
        break;
      nests.push_back(nest);
      if (!length && recognizeRows(nest, mayReassociate, /*mayCount=*/true))
        length = nest.getConstantUpperBound();
    }
    if (!length || *length == 1)
      return;
    SmallVector<AffineForOp> rows;
    for (AffineForOp nest : nests) {
      if (uint64_t(nest.getConstantUpperBound()) != *length)
        continue;
      OpBuilder builder(nest);
      auto row = AffineForOp::create(builder, nest.getLoc(), 0, 1);
      nest->moveBefore(row.getBody()->getTerminator());
      rows.push_back(row);
    }
    // Nests of the program are erased: note first which loops are theirs.
    RowProgramReader reader(origins, mayReassociate, /*fewest=*/1);
    auto around = dyn_cast<AffineForOp>(nests.front()->getParentOp());
    AffineForOp first = around ? around : nests.front();
    llvm::DenseMap<Operation *, Operation *> inner;
    for (AffineForOp row : rows)
      inner[row] = &row.getBody()->front();
    llvm::SmallPtrSet<Operation *, 8> taken;
    if (mapProgram(first, target, reader, taken))
      for (Operation *each : taken) {
        mapped.insert(each);
        if (Operation *nest = inner.lookup(each))
          mapped.insert(nest);
      }
    for (AffineForOp row : rows)
      if (!taken.contains(row))
        (void)promoteIfSingleIteration(row);
  }

  /// One for rows of a known length; of a dynamic one for those of usual length, and for the longest that fit a block.
  /// None where launches for each nest are faster.
  static std::vector<Version> planVersions(const RowProgram &program, const LaunchTarget &target) {
    std::vector<Version> versions;
    auto plan = [&](int64_t length) {
      // Rows are computed again where no block holds them. The model has been measured for rows that are kept: there it
      // says up to twice what they take (1024 rows of 32768 on an H200: 203 us, measured 102), more than the forms
      // differ by.
      Version version;
      std::optional<RowProgramPlan> found;
      for (bool computesAgain : {false, true}) {
        version.task = taskOf(program, length, *target.chip, computesAgain);
        found = planRowProgram(version.task, *target.chip, target.hierarchy, &version.considered);
        // A long program is cut instead: each phase would compute all that stands before it.
        if (found || version.task.between.empty() || program.steps.size() > fewestSteps)
          break;
      }
      if (found) {
        version.plan = *found;
        versions.push_back(std::move(version));
      }
      return found.has_value();
    };
    if (program.length != 0) {
      plan(program.length);
      return versions;
    }
    constexpr int64_t longest = assumedRowExtent * 64;
    plan(assumedRowExtent);
    for (int64_t length = longest; length > assumedRowExtent && !plan(length);)
      length /= 2;
    return versions;
  }

  void log(const RowProgram &program, const Version &version) {
    DecisionLog *log = DecisionLog::of(&getContext());
    if (!log)
      return;
    const RowProgramTask &task = version.task;
    log->add("row-program", program.steps.front()->nest().root(),
             llvm::json::Object{{"inputs", llvm::json::Object{{"rows", task.rows},
                                                              {"length", task.length},
                                                              {"nests", int64_t(program.steps.size())},
                                                              {"phases", task.phases},
                                                              {"clocks_of_a_launch_each", task.apartClocks}}},
                                {"choice", version.plan.toJSON()},
                                {"candidates", fastestFirst(version.considered)}});
  }
};
} // namespace
