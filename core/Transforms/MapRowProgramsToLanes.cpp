//===- MapRowProgramsToLanes.cpp - Soft-max and the like in one launch ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Nests over the same rows (RowProgram.h) become one grid. A block takes a row,
/// or some, and goes through the phases; each is one tile.parallel over the
/// block's subgroups:
///
///   phase 0   x = load a             keep x      max: parts[subgroup] = reduce x
///   phase 1   m = all parts          e = exp(x - m)   keep e   sum: parts[subgroup] = reduce e
///   phase 2   s = all parts          store e / s
///
/// What is kept lies in the scratchpad, where each lane finds its own elements
/// again. Values of which a row has one are computed by every lane.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/RowProgram.h"
#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Candidates.h"
#include "core/CostModel/LaneContractionModel.h"
#include "core/CostModel/RowModel.h"
#include "core/Transforms/IterationSpace.h"
#include "core/Transforms/LanePasses.h"
#include "core/Transforms/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPROWPROGRAMSTOLANES
#include "core/Transforms/LanePasses.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Where a row's elements come from: the step that computes them, or an array as it was before the program.
using RowSource = std::pair<RowStep *, Value>;

static RowSource sourceOf(const RowStep &step, const Access &load) {
  return {step.definitions.lookup(load.op), load.memref};
}

/// Phases in which each row of elements is used, in the order of the program. The first one of a step's is its own.
static llvm::MapVector<RowSource, SmallVector<unsigned>> usesOf(const RowProgram &program) {
  llvm::MapVector<RowSource, SmallVector<unsigned>> uses;
  for (const auto &step : program.steps) {
    for (const Access &load : step->nest().loads)
      if (step->isAlongRow(load))
        if (auto &phases = uses[sourceOf(*step, load)]; phases.empty() || phases.back() != step->phase)
          phases.push_back(step->phase);
    if (step->kind == RowStep::Kind::Elementwise)
      for (const Access &store : step->nest().stores)
        uses[{step.get(), store.memref}].push_back(step->phase);
  }
  return uses;
}

static int64_t bytesOf(Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }
static Type elementOf(Value memref) { return cast<MemRefType>(memref.getType()).getElementType(); }

/// Instructions of a function that is expanded: a polynomial and what makes its argument small.
static constexpr int64_t expandedOperations = 16;

/// What the model asks for; extents that only the run shows count as `assumedExtent`.
static RowProgramTask taskOf(const RowProgram &program, const TargetDescription &chip, const LaneHierarchy &hierarchy) {
  RowProgramTask task;
  task.length = program.length;
  task.phases = program.phases;
  for (AffineForOp loop : program.loops().drop_back()) {
    task.rowsAreKnown &= loop.hasConstantUpperBound();
    task.rows *= loop.hasConstantUpperBound() ? loop.getConstantUpperBound() : assumedExtent;
  }
  auto align = [&](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    task.vector = std::min(task.vector, 16 / bytesOf(type.getElementType()));
    while (task.vector > 1 && type.getRank() > 1 &&
           (type.isDynamicDim(type.getRank() - 1) || type.getShape().back() % task.vector != 0))
      task.vector /= 2;
  };
  for (const auto &[source, phases] : usesOf(program)) {
    int64_t bytes = bytesOf(elementOf(source.second));
    if (source.first) {
      task.betweenBytes += phases.size() > 1 ? bytes : 0;
      task.accesses += phases.size() > 1 ? phases.size() : 0;
    } else {
      align(source.second);
      task.bytes += bytes;
      task.inputBytes += phases.size() > 1 ? bytes : 0;
      task.againBytes += (phases.size() - 1) * bytes;
      task.accesses += phases.size();
      task.keptAccesses += phases.size() > 1 ? 1 : 0;
    }
  }
  double bandwidth = chip.memory("global")->bytesPerClock, elements = double(task.rows) * task.length;
  for (const auto &step : program.steps) {
    const Nest &nest = step->nest();
    int64_t moved = 0, alongRow = 0;
    for (const Access &load : nest.loads)
      if (step->isAlongRow(load)) {
        alongRow += std::max<int64_t>(4, bytesOf(load.op->getResult(0).getType()));
        moved += bytesOf(load.op->getResult(0).getType());
      }
    if (step->kind == RowStep::Kind::Elementwise)
      for (const Access &store : nest.stores) {
        alongRow += std::max<int64_t>(4, bytesOf(elementOf(store.memref)));
        moved += bytesOf(elementOf(store.memref));
        if (llvm::is_contained(program.results, store.memref) && program.lastWriter(store.memref) == step.get()) {
          align(store.memref);
          task.bytes += bytesOf(elementOf(store.memref));
          ++task.accesses;
        }
      }
    if (step->kind != RowStep::Kind::Scalar)
      for (Operation &op : nest.body->without_terminator())
        task.operations += isa<math::MathDialect>(op.getDialect()) ? expandedOperations : 1;
    if (step->reduction)
      task.sums += step->reduction->sums.size();
    task.registerBytes = std::max(task.registerBytes, alongRow);
    task.apartClocks += launchClocks + elements * moved / bandwidth;
  }
  return task;
}

//===-- Emission ----------------------------------------------------------===//

namespace {

class RowProgramEmitter {
public:
  RowProgramEmitter(OpBuilder &builder, const RowProgram &program, const RowProgramPlan &plan,
                    const LaneHierarchy &hierarchy)
      : program(program), plan(plan), hierarchy(hierarchy), loc(program.steps.front()->nest().root().getLoc()),
        space(builder, loc), width(hierarchy.lanes * plan.elements), uses(usesOf(program)) {}
  void emit();

private:
  OpBuilder &builder() { return space.builder; }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, builder().getContext()); }
  /// Elements of one subgroup: lanes hold neighbouring vectors, then the same a subgroup's width of them further on.
  tile::FragmentType rowOf(Type element) {
    Layout layout;
    for (int64_t lane = 1; lane < hierarchy.lanes; lane *= 2)
      layout.lanes.push_back({0, lane * plan.vector});
    for (int64_t each = 1; each < plan.elements; each *= 2)
      layout.elements.push_back({0, each < plan.vector ? each : each * hierarchy.lanes});
    return tile::FragmentType::get(1, width, element, layout);
  }
  /// One value that all lanes hold.
  tile::FragmentType oneOf(Type element) {
    Layout layout;
    layout.lanes.assign(llvm::Log2_64(hierarchy.lanes), Position());
    return tile::FragmentType::get(1, 1, element, layout);
  }
  Value allocate(int64_t columns, Type element) {
    auto space = builder().getStringAttr(hierarchy.scratchpad);
    auto type = MemRefType::get({plan.rows, columns}, element, AffineMap(), space);
    return tile::AllocOp::create(builder(), loc, type, ValueRange(), tile::ArrangementAttr());
  }
  void allocateBuffers();
  void goTo(AffineExpr row);
  void phase(unsigned number);
  void reduce(RowStep &step);
  void compute(RowStep &step);
  void storeScalars();
  Value scalar(RowStep &user, const Access &load);
  Value scalarOf(RowStep &step, Value memref);
  Value row(RowStep &user, const Access &load);
  Value loadKept(Value buffer);
  void keep(RowSource source, Value fragment);
  SmallVector<Value> mapped(RowStep &step, TypeRange types, ArrayRef<Value> more,
                            function_ref<void(OpBuilder &, IRMapping &, ValueRange, SmallVectorImpl<Value> &)> results);
  AffineMap along(const Access &access);

  const RowProgram &program;
  const RowProgramPlan &plan;
  const LaneHierarchy &hierarchy;
  Location loc;
  IterationSpace space;
  int64_t width; // elements of one subgroup
  llvm::MapVector<RowSource, SmallVector<unsigned>> uses;
  llvm::DenseMap<RowSource, Value> kept;                      // rows in the scratchpad
  llvm::DenseMap<const RowSum *, Value> parts;                // of sums, one of each subgroup
  AffineExpr own, subgroup;                                   // of the block's rows, of the row's subgroups
  unsigned now = 0;                                           // the phase
  llvm::DenseMap<RowSource, Value> rows;                      // fragments of this phase
  llvm::DenseMap<std::pair<RowStep *, Value>, Value> scalars; // of this phase
};

} // namespace

void RowProgramEmitter::emit() {
  for (AffineForOp loop : program.loops())
    space.addDimension(loop);
  AffineExpr all = constant(1);
  for (unsigned dim = 0; dim < program.outer(); ++dim)
    all = all * space.extent(dim);
  space.parallel({plan.rows == 1 ? all : all.floorDiv(plan.rows)}, hierarchy.grid, [&](ArrayRef<AffineExpr> block) {
    allocateBuffers();
    auto region = [&](auto body) {
      space.parallel({constant(plan.rows * plan.subgroups)}, hierarchy.block, [&](ArrayRef<AffineExpr> place) {
        own = plan.rows == 1 ? constant(0) : place[0];
        subgroup = plan.subgroups == 1 ? constant(0) : place[0];
        goTo(block[0] * plan.rows + own);
        rows.clear();
        scalars.clear();
        body();
      });
    };
    for (now = 0; now < program.phases; ++now)
      region([&] {
        for (const auto &step : program.steps)
          if (step->kind == RowStep::Kind::Reduction && step->phase == now)
            reduce(*step);
          else if (step->kind == RowStep::Kind::Elementwise && step->phase == now)
            compute(*step);
      });
    if (llvm::any_of(program.results,
                     [&](Value result) { return program.lastWriter(result)->kind != RowStep::Kind::Elementwise; }))
      region([&] { storeScalars(); });
  });
}

void RowProgramEmitter::allocateBuffers() {
  for (const auto &[source, phases] : uses)
    if (phases.size() > 1 && (source.first || plan.keepsInputs))
      kept[source] = allocate(width * plan.subgroups, elementOf(source.second));
  for (const auto &step : program.steps)
    if (step->reduction)
      for (const RowSum &sum : step->reduction->sums)
        parts[&sum] = allocate(plan.subgroups, sum.type());
}

/// To the row of this number, the last dimension fastest.
void RowProgramEmitter::goTo(AffineExpr number) {
  for (unsigned dim = program.outer(); dim-- > 0;) {
    AffineExpr extent = space.extent(dim);
    space.at[dim] = dim == 0 ? number : number % extent;
    if (dim > 0)
      number = number.floorDiv(extent);
  }
  space.at[program.outer()] = subgroup * width;
}

/// Columns of a fragment as indices of the array behind `access`.
AffineMap RowProgramEmitter::along(const Access &access) {
  MLIRContext *context = builder().getContext();
  SmallVector<AffineExpr> steps;
  for (AffineExpr result : access.map.getResults())
    steps.push_back(getAffineDimExpr(1, context) * *linearCoefficient(result, program.outer()));
  return AffineMap::get(2, 0, steps, context);
}

//===-- Values ------------------------------------------------------------===//

/// The value of which the row has one, as `user` reads it.
Value RowProgramEmitter::scalar(RowStep &user, const Access &load) {
  if (RowStep *definition = user.definitions.lookup(load.op))
    return scalarOf(*definition, load.memref);
  llvm::SaveAndRestore column(space.at[program.outer()], constant(0));
  auto [map, operands] = space.address(load);
  return AffineLoadOp::create(builder(), loc, load.memref, map, operands);
}

/// What `step` writes to `memref`.
Value RowProgramEmitter::scalarOf(RowStep &step, Value memref) {
  if (Value known = scalars.lookup({&step, memref}))
    return known;
  Value result;
  const Access &store = *step.storeTo(memref);
  if (step.reduction) {
    const RowSum &sum = *step.reduction->sumOf(store.op);
    result = scalar(step, *sum.load);
    for (int64_t i = 0; i < plan.subgroups; ++i) {
      auto [map, operands] = space.map({own, constant(i)});
      Value part = AffineLoadOp::create(builder(), loc, parts[&sum], map, operands);
      Operation *combined = builder().clone(*sum.combine);
      combined->setOperands({result, part});
      result = combined->getResult(0);
    }
  } else {
    IRMapping mapping;
    for (Operation &op : step.nest().body->without_terminator())
      if (isa<AffineLoadOp>(op))
        mapping.map(op.getResult(0), scalar(step, *llvm::find_if(step.nest().loads,
                                                                 [&](const Access &load) { return load.op == &op; })));
      else if (!isa<AffineStoreOp>(op))
        builder().clone(op, mapping);
    result = mapping.lookupOrDefault(cast<AffineStoreOp>(store.op).getValueToStore());
  }
  return scalars[{&step, memref}] = result;
}

Value RowProgramEmitter::loadKept(Value buffer) {
  MLIRContext *context = builder().getContext();
  auto [map, operands] = space.map({own, subgroup * width});
  return tile::LoadOp::create(
      builder(), loc, rowOf(elementOf(buffer)), buffer, operands, AffineMapAttr::get(map),
      AffineMapAttr::get(AffineMap::get(2, 0, {constant(0), getAffineDimExpr(1, context)}, context)), AffineMapAttr(),
      ValueRange());
}

/// Writes the fragment to the scratchpad, the elements beyond the row's end, too, if a later phase reads it.
void RowProgramEmitter::keep(RowSource source, Value fragment) {
  rows[source] = fragment;
  Value buffer = kept.lookup(source);
  if (!buffer || uses[source].back() == now || (!source.first && uses[source].front() != now))
    return;
  MLIRContext *context = builder().getContext();
  auto [map, operands] = space.map({own, subgroup * width});
  tile::StoreOp::create(builder(), loc, fragment, buffer, operands, AffineMapAttr::get(map),
                        AffineMapAttr::get(AffineMap::get(2, 0, {constant(0), getAffineDimExpr(1, context)}, context)),
                        AffineMapAttr(), ValueRange(), UnitAttr());
}

/// The subgroup's elements of the row that `load` reads.
Value RowProgramEmitter::row(RowStep &user, const Access &load) {
  RowSource source = sourceOf(user, load);
  if (Value known = rows.lookup(source))
    return known;
  Value buffer = kept.lookup(source);
  if (buffer && uses[source].front() != now)
    return rows[source] = loadKept(buffer);
  AffineMapAttr valid;
  SmallVector<Value> validOperands;
  if (program.length != width * plan.subgroups)
    valid = space.validAttr(constant(1), constant(program.length) - space.at[program.outer()], validOperands);
  auto [map, operands] = space.address(load);
  Value fragment = tile::LoadOp::create(builder(), loc, rowOf(elementOf(load.memref)), load.memref, operands,
                                        AffineMapAttr::get(map), AffineMapAttr::get(along(load)), valid, validOperands);
  keep(source, fragment);
  return fragment;
}

//===-- Steps -------------------------------------------------------------===//

/// The step's body for the subgroup's elements; `results` says what it yields, from the mapping of its values and the
/// elements of `more`.
SmallVector<Value>
RowProgramEmitter::mapped(RowStep &step, TypeRange types, ArrayRef<Value> more,
                          function_ref<void(OpBuilder &, IRMapping &, ValueRange, SmallVectorImpl<Value> &)> results) {
  IRMapping outside;
  SmallVector<Value> loaded, inputs;
  for (const Access &load : step.nest().loads) {
    if (step.isSum(load))
      continue;
    if (step.isAlongRow(load)) {
      loaded.push_back(load.op->getResult(0));
      inputs.push_back(row(step, load));
    } else {
      outside.map(load.op->getResult(0), scalar(step, load));
    }
  }
  llvm::append_range(inputs, more);
  auto map =
      tile::MapOp::create(builder(), loc, types, inputs, [&](OpBuilder &inside, Location loc, ValueRange arguments) {
        IRMapping mapping = outside;
        mapping.map(loaded, arguments.take_front(loaded.size()));
        for (Operation &op : step.nest().body->without_terminator()) {
          bool combines = step.reduction &&
                          llvm::any_of(step.reduction->sums, [&](const RowSum &sum) { return sum.combine == &op; });
          if (!isa<AffineLoadOp, AffineStoreOp>(op) && !combines)
            inside.clone(op, mapping);
        }
        SmallVector<Value> yielded;
        results(inside, mapping, arguments.drop_front(loaded.size()), yielded);
        tile::YieldOp::create(inside, loc, yielded);
      });
  return SmallVector<Value>(map.getResults());
}

/// The subgroup's parts of the step's sums.
void RowProgramEmitter::reduce(RowStep &step) {
  const RowReduction &reduction = *step.reduction;
  SmallVector<Type> types;
  for (const RowSum &sum : reduction.sums)
    types.push_back(rowOf(sum.type()));
  SmallVector<Value> columns;
  Value left;
  if (program.length != width * plan.subgroups) {
    columns.push_back(tile::IndexOp::create(builder(), loc, rowOf(builder().getI32Type()), 1));
    left = arith::IndexCastOp::create(builder(), loc, builder().getI32Type(),
                                      space.value(constant(program.length) - space.at[program.outer()]));
  }
  SmallVector<Value> values =
      mapped(step, types, columns,
             [&](OpBuilder &inside, IRMapping &mapping, ValueRange column, SmallVectorImpl<Value> &yielded) {
               for (const RowSum &sum : reduction.sums) {
                 bool first = sum.combine->getOperand(0) == sum.load->op->getResult(0);
                 Value element = mapping.lookupOrDefault(sum.combine->getOperand(first ? 1 : 0));
                 if (left) {
                   Value exists = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, column[0], left);
                   Value neutral = arith::ConstantOp::create(inside, loc, sum.neutral);
                   element = arith::SelectOp::create(inside, loc, exists, element, neutral);
                 }
                 yielded.push_back(element);
               }
             });
  for (auto [sum, value] : llvm::zip(reduction.sums, values)) {
    Value total = tile::ReduceOp::create(builder(), loc, oneOf(sum.type()), value, 1,
                                         [&](OpBuilder &inside, Location loc, ValueRange pair) {
                                           Operation *combined = inside.clone(*sum.combine);
                                           combined->setOperands(pair);
                                           tile::YieldOp::create(inside, loc, combined->getResults());
                                         });
    auto [map, operands] = space.map({own, subgroup});
    tile::StoreOp::create(builder(), loc, total, parts[&sum], operands, AffineMapAttr::get(map),
                          AffineMapAttr::get(AffineMap::get(2, 0, {constant(0), constant(0)}, builder().getContext())),
                          AffineMapAttr(), ValueRange(), UnitAttr());
  }
}

/// The subgroup's elements of what the step stores.
void RowProgramEmitter::compute(RowStep &step) {
  SmallVector<Type> types;
  for (const Access &store : step.nest().stores)
    types.push_back(rowOf(elementOf(store.memref)));
  SmallVector<Value> values =
      mapped(step, types, {}, [&](OpBuilder &, IRMapping &mapping, ValueRange, SmallVectorImpl<Value> &yielded) {
        for (const Access &store : step.nest().stores)
          yielded.push_back(mapping.lookupOrDefault(cast<AffineStoreOp>(store.op).getValueToStore()));
      });
  for (auto [store, value] : llvm::zip(step.nest().stores, values)) {
    keep({&step, store.memref}, value);
    if (!llvm::is_contained(program.results, store.memref) || program.lastWriter(store.memref) != &step)
      continue;
    AffineMapAttr valid;
    SmallVector<Value> validOperands;
    if (program.length != width * plan.subgroups)
      valid = space.validAttr(constant(1), constant(program.length) - space.at[program.outer()], validOperands);
    auto [map, operands] = space.address(store);
    tile::StoreOp::create(builder(), loc, value, store.memref, operands, AffineMapAttr::get(map),
                          AffineMapAttr::get(along(store)), valid, validOperands, UnitAttr());
  }
}

/// One lane writes the values of which a row has one and which others use.
void RowProgramEmitter::storeScalars() {
  OpBuilder::InsertionGuard guard(builder());
  SmallVector<std::pair<const Access *, Value>> stored;
  for (Value result : program.results)
    if (RowStep *step = program.lastWriter(result); step->kind != RowStep::Kind::Elementwise)
      stored.push_back({step->storeTo(result), scalarOf(*step, result)});
  if (plan.subgroups > 1) {
    Value first = arith::CmpIOp::create(builder(), loc, arith::CmpIPredicate::eq, space.value(subgroup),
                                        arith::ConstantIndexOp::create(builder(), loc, 0));
    builder().setInsertionPointToStart(scf::IfOp::create(builder(), loc, first).thenBlock());
  }
  space.parallel({constant(1)}, hierarchy.subgroup, [&](ArrayRef<AffineExpr>) {
    llvm::SaveAndRestore column(space.at[program.outer()], constant(0));
    for (auto [store, value] : stored) {
      auto [map, operands] = space.address(*store);
      AffineStoreOp::create(builder(), loc, value, store->memref, map, operands);
    }
  });
}

//===-- Pass --------------------------------------------------------------===//

namespace {
struct MapRowProgramsToLanes : tilewright::impl::MapRowProgramsToLanesBase<MapRowProgramsToLanes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function))
      return;
    FailureOr<LaunchTarget> target = requireLanes(function);
    if (failed(target))
      return signalPassFailure();
    const LaneHierarchy &hierarchy = target->hierarchy;
    if (hierarchy.scratchpad.empty() || !target->chip->memory("global"))
      return;
    const bool mayReassociate = Settings::of(function).mayReassociate();
    BufferOrigins origins(function);
    SmallVector<AffineForOp> roots = llvm::to_vector(function.front().getOps<AffineForOp>());
    for (size_t i = 0; i < roots.size();) {
      std::unique_ptr<RowProgram> program = recognizeRowProgram(roots[i], mayReassociate, origins);
      // Blocks are counted by one number: all extents but the first are constant.
      bool counts = program && llvm::all_of(program->loops().drop_front(),
                                            [](AffineForOp loop) { return loop.hasConstantUpperBound(); });
      i += counts ? lower(*program, *target) : 1;
    }
  }

  /// Replaces the nests; how many it has replaced, or 1 where launches for each are left to other passes.
  size_t lower(const RowProgram &program, const LaunchTarget &target) {
    const RowProgramTask task = taskOf(program, *target.chip, target.hierarchy);
    std::vector<RowProgramPlan> considered;
    std::optional<RowProgramPlan> plan = planRowProgram(task, *target.chip, target.hierarchy, &considered);
    if (!plan)
      return 1;
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
    for (const auto &step : program.steps)
      step->nest().root()->erase();
    return program.steps.size();
  }
};
} // namespace
