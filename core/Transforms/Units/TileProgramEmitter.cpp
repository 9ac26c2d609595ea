//===- TileProgramEmitter.cpp - A program of rows on fragments ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Goes through the nests of a tile in their order and keeps, for each local array,
/// the fragments that hold it now: those of a row of units follow each other.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Units/TileProgramEmitter.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Transforms/Contraction/StagedBuffer.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include <memory>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
class TileProgramEmitter {
public:
  TileProgramEmitter(tile::ParallelOp tile, const TileProgram &program, const TileProgramPlan &plan,
                     const LaneHierarchy &hierarchy)
      : tile(tile), program(program), p(plan), unit(*plan.unit), hierarchy(hierarchy), builder(tile.getContext()),
        loc(tile.getLoc()) {}
  void emit();

private:
  using Fragments = SmallVector<Value>;
  /// Columns of a contraction that come from global memory.
  struct Staged {
    std::unique_ptr<ContractionOperand> operand; // as the copy that is written reads it
    std::unique_ptr<StagedBuffer> buffer;
    int64_t stages = 1;
  };
  /// A number of iterations that a body computes with: that of the fragment's first element, and what it grows by from
  /// row to row and from column to column.
  struct Number {
    Value value, first;
    int64_t perRow = 0, perColumn = 0;
  };
  /// A loop over steps, with the values of its bounds.
  struct StepRange {
    AffineForOp loop;
    Value first, end;
  };
  /// The space of one statement: its loops, and the subgroup's first row.
  struct Place {
    Place(TileProgramEmitter &emitter, const TileStatement &statement);
    IterationSpace space;
    AffineExpr row;
  };

  AffineExpr constant(int64_t value) { return builder.getAffineConstantExpr(value); }
  int64_t unitsAlong(int64_t columns) const { return columns / p.columnsOfUnit(); }
  tile::FragmentType typeOf(Type element, bool hasColumns) const;
  Access now(const Access &access, AffineForOp ahead = {}, int64_t steps = 0) const;
  AffineMap elementsOf(const Access &access, const TileStatement &statement, unsigned along) const;
  void write(Operation &op);
  bool isHandedOn(Value memref, AffineForOp loop);
  void steps(AffineForOp loop);
  void statement(const TileStatement &statement);
  void map(const TileStatement &statement);
  void reduction(const TileStatement &statement);
  void contraction(const TileStatement &statement);
  SmallVector<const TileStatement *> contractionsOf(Block &block) const;
  static Operation *rootOf(const TileStatement &statement) { return AffineForOp(statement.nest.loops.front()); }
  tile::FragmentType operandType(const UnitOperand &own, const ContractionOperand &operand) const;
  Value argument(const TileStatement &statement, const Access &load, int64_t row, int64_t column);
  SmallVector<Value> compute(const TileStatement &statement, ArrayRef<Value> results, int64_t row, int64_t column);
  Value combine(Operation *how, Value a, Value b);
  Value reduceColumns(Operation *how, Value fragment);
  Fragments rowsOf(const TileStatement &statement);
  bool isInvariant(const TileStatement &statement, AffineForOp loop) const;
  void stage(const TileStatement &statement, int64_t stages);
  Staged &stagedOf(const TileStatement &statement) {
    return staged.find(program.firstWithColumnsOf(rootOf(statement)))->second;
  }
  SmallVector<Value> copy(const TileStatement &statement, const StepRange *steps, Value from, int64_t distance);
  Value boundOf(AffineForOp loop, bool isLower);
  Number numberOf(const TileStatement &statement, Value value, int64_t row, int64_t column);
  Value accessed(const TileStatement &statement, const Access &access, tile::FragmentType type, int64_t row,
                 int64_t column, Value stored);

  tile::ParallelOp tile;
  const TileProgram &program;
  const TileProgramPlan &p;
  const MatrixUnit &unit;
  const LaneHierarchy &hierarchy;
  OpBuilder builder;
  Location loc;
  Value subgroup, step;        // the one that is written, null: outside of steps
  Operation *behind = nullptr; // the end of the tile's body: buffers stand there, before the loop over subgroups
  IRMapping values;            // steps
  llvm::DenseMap<Value, Fragments> held;
  llvm::DenseMap<Operation *, Fragments> rowOperands; // loaded before the steps
  llvm::DenseMap<Operation *, Staged> staged;
};
} // namespace

TileProgramEmitter::Place::Place(TileProgramEmitter &emitter, const TileStatement &statement)
    : space(emitter.builder, emitter.loc) {
  for (AffineForOp loop : statement.nest.loops)
    space.addDimension(loop);
  row = space.define(emitter.subgroup) * (emitter.p.unitRows * emitter.p.rowsOfUnit());
}

/// A fragment of sums, or what its rows have once.
tile::FragmentType TileProgramEmitter::typeOf(Type element, bool hasColumns) const {
  if (hasColumns)
    return tile::FragmentType::get(unit.m, unit.n, element, unit.c.layout);
  return tile::FragmentType::get(p.transposed ? 1 : unit.m, p.transposed ? unit.n : 1, element,
                                 layoutOfRows(unit.c.layout, p.transposed));
}

tile::FragmentType TileProgramEmitter::operandType(const UnitOperand &own, const ContractionOperand &operand) const {
  Type element = own.element == ElementKind::TF32 ? operand.element : elementType(own.element, loc.getContext());
  return tile::FragmentType::get(own.rows, own.cols, element, own.layout);
}

/// `access` in the loops that are being written, `steps` iterations of `ahead` later.
Access TileProgramEmitter::now(const Access &access, AffineForOp ahead, int64_t steps) const {
  Access result = access;
  SmallVector<AffineExpr> dims, symbols;
  MLIRContext *context = loc.getContext();
  for (unsigned d = 0; d < access.map.getNumDims(); ++d)
    dims.push_back(getAffineDimExpr(d, context));
  for (auto [i, symbol] : llvm::enumerate(result.symbols)) {
    AffineExpr own = getAffineSymbolExpr(i, context);
    symbols.push_back(ahead && symbol == ahead.getInductionVar() ? own + steps : own);
    symbol = values.lookupOrDefault(symbol);
  }
  result.map = access.map.replaceDimsAndSymbols(dims, symbols, dims.size(), symbols.size());
  return result;
}

/// Where the elements of a fragment lie whose columns go along loop `along` of the statement.
AffineMap TileProgramEmitter::elementsOf(const Access &access, const TileStatement &statement, unsigned along) const {
  MLIRContext *context = loc.getContext();
  AffineExpr row = getAffineDimExpr(p.transposed ? 1 : 0, context),
             column = getAffineDimExpr(p.transposed ? 0 : 1, context);
  SmallVector<AffineExpr> results;
  for (AffineExpr index : access.map.getResults()) {
    AffineExpr result = row * *linearCoefficient(index, statement.row);
    if (along != statement.row)
      result = result + column * *linearCoefficient(index, along);
    results.push_back(result);
  }
  return AffineMap::get(2, 0, results, context);
}

/// A global array: the fragment that is loaded, or stored where `stored` is one.
Value TileProgramEmitter::accessed(const TileStatement &statement, const Access &access, tile::FragmentType type,
                                   int64_t row, int64_t column, Value stored) {
  Place place(*this, statement);
  place.space.at[statement.row] = place.row + row * p.rowsOfUnit();
  if (statement.col)
    place.space.at[*statement.col] = constant(column * p.columnsOfUnit());
  auto [map, operands] = place.space.address(now(access));
  auto elements = AffineMapAttr::get(elementsOf(access, statement, statement.col.value_or(statement.row)));
  if (!stored)
    return tile::LoadOp::create(builder, loc, type, access.memref, operands, AffineMapAttr::get(map), elements,
                                AffineMapAttr(), ValueRange());
  tile::StoreOp::create(builder, loc, stored, access.memref, operands, AffineMapAttr::get(map), elements,
                        AffineMapAttr(), ValueRange(), UnitAttr());
  return {};
}

/// What a load of a statement is for the unit at `row` and `column`.
Value TileProgramEmitter::argument(const TileStatement &statement, const Access &load, int64_t row, int64_t column) {
  Type element = cast<MemRefType>(load.memref.getType()).getElementType();
  tile::FragmentType type = typeOf(element, statement.col.has_value());
  const TileArray *array = program.local(load.memref);
  if (!array)
    return accessed(statement, load, type, row, column, {});
  ArrayRef<Value> fragments = held[load.memref];
  if (array->columns > 1)
    return fragments[row * unitsAlong(array->columns) + column];
  if (!statement.col)
    return fragments[row];
  return tile::BroadcastOp::create(builder, loc, type, fragments[row]);
}

/// The number `value`, a loop's own or an affine.apply of some, for the unit at `row` and `column`.
TileProgramEmitter::Number TileProgramEmitter::numberOf(const TileStatement &statement, Value value, int64_t row,
                                                        int64_t column) {
  AffineMap map = AffineMap::getMultiDimIdentityMap(1, loc.getContext());
  SmallVector<Value> operands{value};
  if (auto apply = value.getDefiningOp<AffineApplyOp>()) {
    map = apply.getAffineMap();
    operands = llvm::to_vector_of<Value>(apply.getMapOperands());
  }
  Place place(*this, statement);
  place.space.at[statement.row] = place.row + row * p.rowsOfUnit();
  if (statement.col)
    place.space.at[*statement.col] = constant(column * p.columnsOfUnit());
  Number result{value, {}, 0, 0};
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto &to = i < map.getNumDims() ? dims : symbols;
    auto loop =
        llvm::find_if(statement.nest.loops, [&](AffineForOp each) { return each.getInductionVar() == operand; });
    if (loop == statement.nest.loops.end()) {
      to.push_back(place.space.define(values.lookupOrDefault(operand)));
      continue;
    }
    unsigned d = loop - statement.nest.loops.begin();
    int64_t factor = *linearCoefficient(map.getResult(0), i);
    if (d == statement.row)
      result.perRow += factor;
    else if (statement.col == d)
      result.perColumn += factor;
    to.push_back(place.space.at[d]);
  }
  Value first = place.space.value(map.getResult(0).replaceDimsAndSymbols(dims, symbols));
  result.first = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), first);
  return result;
}

/// `results`, values of the statement's body, for the unit at `row` and `column`.
SmallVector<Value> TileProgramEmitter::compute(const TileStatement &statement, ArrayRef<Value> results, int64_t row,
                                               int64_t column) {
  // Only what they follow from.
  llvm::SmallSetVector<Operation *, 16> needed;
  SmallVector<Value> open(results);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == statement.nest.body && needed.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  SmallVector<Value> inputs, loaded;
  for (const Access &load : statement.nest.loads)
    if (needed.contains(load.op)) {
      inputs.push_back(argument(statement, load, row, column));
      loaded.push_back(load.op->getResult(0));
    }
  // Numbers of iterations are of 32 bits in lanes.
  SmallVector<Number> numbers;
  auto isLoop = [&](Value value) {
    return llvm::any_of(statement.nest.loops, [&](AffineForOp loop) { return loop.getInductionVar() == value; });
  };
  for (Operation *op : needed) {
    if (isa<AffineApplyOp>(op))
      numbers.push_back(numberOf(statement, op->getResult(0), row, column));
    else if (!isa<AffineLoadOp>(op))
      for (Value operand : op->getOperands())
        if (isLoop(operand))
          numbers.push_back(numberOf(statement, operand, row, column));
  }
  const tile::FragmentType numberType = typeOf(builder.getI32Type(), statement.col.has_value());
  auto addNumbers = [&](unsigned dimension, int64_t Number::*distance) -> std::optional<unsigned> {
    if (llvm::none_of(numbers, [&](const Number &each) { return each.*distance != 0; }))
      return std::nullopt;
    inputs.push_back(tile::IndexOp::create(builder, loc, numberType, dimension));
    return inputs.size() - 1;
  };
  std::optional<unsigned> rowNumbers = addNumbers(p.transposed ? 1 : 0, &Number::perRow);
  std::optional<unsigned> columnNumbers = addNumbers(p.transposed ? 0 : 1, &Number::perColumn);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(typeOf(result.getType(), statement.col.has_value()));
  auto isPlain = [&](Value result) { return isa_and_nonnull<AffineLoadOp>(result.getDefiningOp()); };
  if (llvm::all_of(results, isPlain)) {
    SmallVector<Value> same;
    for (Value result : results)
      same.push_back(inputs[llvm::find(loaded, result) - loaded.begin()]);
    return same;
  }
  if (inputs.empty() &&
      llvm::all_of(results, [&](Value each) { return each.getParentBlock() != statement.nest.body; })) {
    SmallVector<Value> same;
    for (auto [result, type] : llvm::zip(results, types))
      same.push_back(tile::BroadcastOp::create(builder, loc, type, values.lookupOrDefault(result)));
    return same;
  }
  auto mapped =
      tile::MapOp::create(builder, loc, types, inputs, [&](OpBuilder &inner, Location where, ValueRange arguments) {
        IRMapping mapping(values);
        for (auto [value, given] : llvm::zip(loaded, arguments)) // those of numbers come behind
          mapping.map(value, given);
        for (const Number &each : numbers) {
          Value number = each.first;
          auto add = [&](std::optional<unsigned> argument, int64_t distance) {
            if (distance == 0)
              return;
            Value more = arguments[*argument];
            if (distance != 1)
              more = arith::MulIOp::create(inner, where, more,
                                           arith::ConstantIntOp::create(inner, where, distance, /*width=*/32));
            number = arith::AddIOp::create(inner, where, number, more);
          };
          add(rowNumbers, each.perRow);
          add(columnNumbers, each.perColumn);
          mapping.map(each.value, arith::IndexCastOp::create(inner, where, inner.getIndexType(), number).getResult());
        }
        for (Operation &op : statement.nest.body->without_terminator())
          if (needed.contains(&op) && !isa<AffineLoadOp, AffineApplyOp>(op))
            inner.clone(op, mapping);
        tile::YieldOp::create(inner, where,
                              llvm::map_to_vector(results, [&](Value each) { return mapping.lookupOrDefault(each); }));
      });
  return llvm::to_vector_of<Value>(mapped.getResults());
}

void TileProgramEmitter::map(const TileStatement &statement) {
  SmallVector<Value> stored;
  for (const Access &store : statement.nest.stores)
    stored.push_back(cast<AffineStoreOp>(store.op).getValueToStore());
  int64_t columns = statement.col ? unitsAlong(statement.columns()) : 1;
  SmallVector<Fragments> results(stored.size());
  for (int64_t row = 0; row < p.unitRows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      for (auto [i, value] : llvm::enumerate(compute(statement, stored, row, column))) {
        const Access &store = statement.nest.stores[i];
        if (program.local(store.memref))
          results[i].push_back(value);
        else
          accessed(statement, store, cast<tile::FragmentType>(value.getType()), row, column, value);
      }
  for (auto [i, store] : llvm::enumerate(statement.nest.stores))
    if (program.local(store.memref))
      held[store.memref] = std::move(results[i]);
}

Value TileProgramEmitter::combine(Operation *how, Value a, Value b) {
  return tile::MapOp::create(builder, loc, a.getType(), ValueRange{a, b},
                             [&](OpBuilder &inner, Location where, ValueRange arguments) {
                               Operation *own = inner.clone(*how);
                               own->setOperands(arguments);
                               tile::YieldOp::create(inner, where, own->getResults());
                             })
      .getResult(0);
}

/// The columns of one fragment combined.
Value TileProgramEmitter::reduceColumns(Operation *how, Value fragment) {
  Type element = how->getResult(0).getType();
  return tile::ReduceOp::create(builder, loc, typeOf(element, false), fragment, p.transposed ? 0 : 1,
                                [&](OpBuilder &inner, Location where, ValueRange arguments) {
                                  Operation *own = inner.clone(*how);
                                  own->setOperands(arguments);
                                  tile::YieldOp::create(inner, where, own->getResults());
                                });
}

void TileProgramEmitter::reduction(const TileStatement &statement) {
  const Access &result = statement.nest.stores.front();
  Fragments &sums = held[result.memref];
  for (int64_t row = 0; row < p.unitRows; ++row) {
    SmallVector<Value> parts;
    for (int64_t column = 0; column < unitsAlong(statement.columns()); ++column)
      parts.push_back(compute(statement, statement.term, row, column).front());
    for (; parts.size() > 1; parts.resize(llvm::divideCeil(parts.size(), 2)))
      for (size_t i = 0, half = llvm::divideCeil(parts.size(), 2); i + half < parts.size(); ++i)
        parts[i] = combine(statement.combine, parts[i], parts[i + half]);
    sums[row] = combine(statement.combine, sums[row], reduceColumns(statement.combine, parts.front()));
  }
}

/// The operand of a contraction that has the rows: for each unit along them those along the sum.
TileProgramEmitter::Fragments TileProgramEmitter::rowsOf(const TileStatement &statement) {
  if (auto found = rowOperands.find(rootOf(statement)); found != rowOperands.end())
    return found->second;
  const ContractionOperand &operand = statement.ofRows();
  tile::FragmentType type = operandType(p.transposed ? unit.b : unit.a, operand);
  int64_t depth = *statement.nest.tripCounts[statement.k] / unit.k;
  Fragments result;
  if (!program.local(operand.access.memref)) {
    for (int64_t row = 0; row < p.unitRows; ++row)
      for (int64_t k = 0; k < depth; ++k) {
        Place place(*this, statement);
        place.space.at[statement.row] = place.row + row * p.rowsOfUnit();
        place.space.at[statement.k] = constant(k * unit.k);
        auto [map, operands] = place.space.address(now(operand.access));
        auto elements = AffineMapAttr::get(elementsOf(operand.access, statement, statement.k));
        result.push_back(tile::LoadOp::create(builder, loc, type, operand.access.memref, operands,
                                              AffineMapAttr::get(map), elements, AffineMapAttr(), ValueRange()));
      }
    return result;
  }
  ArrayRef<Value> sums = held[operand.access.memref];
  int64_t together = unit.k / p.columnsOfUnit();
  for (int64_t row = 0; row < p.unitRows; ++row)
    for (int64_t k = 0; k < depth; ++k) {
      ArrayRef<Value> parts = sums.slice((row * depth + k) * together, together);
      Value joined = together == 1 ? parts.front() : tile::JoinOp::create(builder, loc, ValueRange(parts)).getResult();
      result.push_back(tile::ConvertOp::create(builder, loc, type, joined));
    }
  return result;
}

/// Whether what a contraction reads of its rows is the same in all steps of `loop`.
bool TileProgramEmitter::isInvariant(const TileStatement &statement, AffineForOp loop) const {
  const Access &access = statement.ofRows().access;
  return !program.local(access.memref) && llvm::none_of(access.symbols, [&](Value symbol) {
    auto argument = dyn_cast<BlockArgument>(symbol);
    return argument && loop->isAncestor(argument.getOwner()->getParentOp());
  });
}

/// Makes the buffer for the columns of a contraction.
void TileProgramEmitter::stage(const TileStatement &statement, int64_t stages) {
  const StagedTile &tile = p.staged.find(rootOf(statement))->second;
  if (program.firstWithColumnsOf(rootOf(statement)) != rootOf(statement))
    return;
  Staged &own = staged[rootOf(statement)];
  own.stages = stages;
  own.operand = std::make_unique<ContractionOperand>(statement.ofColumns());
  own.buffer = std::make_unique<StagedBuffer>(*own.operand, tile, p.transposed, *statement.col, statement.k,
                                              statement.columns(), *statement.nest.tripCounts[statement.k]);
  OpBuilder before(behind);
  own.buffer->allocate(before, loc, stages, hierarchy.scratchpad);
}

/// Copies the columns of a contraction, of the step that comes `distance` after `from`; without steps those that there
/// are.
SmallVector<Value> TileProgramEmitter::copy(const TileStatement &statement, const StepRange *steps, Value from,
                                            int64_t distance) {
  AffineForOp loop = steps ? steps->loop : AffineForOp();
  Staged &own = stagedOf(statement);
  {
    IRMapping before(values);
    if (loop)
      values.map(loop.getInductionVar(), from);
    own.operand->access = now(statement.ofColumns().access, loop, distance);
    values = before;
  }
  Place place(*this, statement);
  StagedPlace at{constant(0), constant(0), constant(0)};
  at.freeEnds = at.kEnds = true;
  if (loop) {
    AffineExpr number = place.space.define(from) + distance;
    at.stage = number % own.stages;
    std::optional<int64_t> count;
    if (loop.hasConstantBounds())
      count = loop.getConstantUpperBound() - loop.getConstantLowerBound();
    if (from == step || distance >= count.value_or(0)) { // nothing comes behind the last step
      at.freeEnds = false;
      AffineExpr end = count ? constant(loop.getConstantUpperBound()) : place.space.define(steps->end);
      at.freeLeft = (end - number) * statement.columns();
    }
  }
  SmallVector<Value> tokens;
  for (int64_t block = 0; block < own.buffer->blocks(); ++block)
    tokens.push_back(own.buffer->copy(place.space, at, block));
  return tokens;
}

/// The contractions of `block`, in order.
SmallVector<const TileStatement *> TileProgramEmitter::contractionsOf(Block &block) const {
  SmallVector<const TileStatement *> result;
  for (const auto &[op, statement] : program.statements)
    if (op->getBlock() == &block && statement.kind == TileStatement::Kind::Contraction)
      result.push_back(&statement);
  return result;
}

void TileProgramEmitter::contraction(const TileStatement &statement) {
  Staged &own = stagedOf(statement);
  Fragments rows = rowsOf(statement);
  Fragments &sums = held[statement.sum->c.memref];
  tile::FragmentType type = operandType(p.transposed ? unit.a : unit.b, statement.ofColumns());
  int64_t depth = *statement.nest.tripCounts[statement.k] / unit.k, along = unitsAlong(statement.columns());
  auto name = builder.getStringAttr(unit.name);
  const int64_t together = p.columnsTogether(along);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t first = 0; first < along; first += together) {
      Place place(*this, statement);
      AffineExpr stage = own.stages > 1 ? place.space.define(step) % own.stages : constant(0);
      Value loaded = own.buffer->load(place.space, together == 1 ? type : tile::JoinOp::typeOf(type, together), stage,
                                      constant(first * p.columnsOfUnit()), constant(k * unit.k));
      Fragments others{loaded};
      if (together > 1)
        others = llvm::to_vector_of<Value>(
            tile::SplitOp::create(builder, loc, SmallVector<Type>(together, type), loaded).getParts());
      for (auto [i, other] : llvm::enumerate(others))
        for (int64_t row = 0; row < p.unitRows; ++row) {
          Value &sum = sums[row * along + first + int64_t(i)];
          Value mine = rows[row * depth + k];
          sum = tile::MmaOp::create(builder, loc, sum.getType(), p.transposed ? other : mine,
                                    p.transposed ? mine : other, sum, name);
        }
    }
}

void TileProgramEmitter::statement(const TileStatement &statement) {
  switch (statement.kind) {
  case TileStatement::Kind::Contraction:
    return contraction(statement);
  case TileStatement::Kind::Reduction:
    return reduction(statement);
  case TileStatement::Kind::Map:
    return map(statement);
  }
}

/// Whether a step takes `memref`, which it writes, from the one before, or what follows the steps of `loop` reads it:
/// then it holds something, zeros at first.
bool TileProgramEmitter::isHandedOn(Value memref, AffineForOp loop) {
  if (held.contains(memref))
    return true;
  if (llvm::all_of(memref.getUsers(),
                   [&](Operation *user) { return isa<memref::DeallocOp>(user) || loop->isAncestor(user); }))
    return false;
  const TileArray &array = *program.local(memref);
  int64_t columns = array.columns > 1 ? unitsAlong(array.columns) : 1;
  Value zero = tile::ZeroOp::create(builder, loc, typeOf(array.element, array.columns > 1));
  held[memref] = Fragments(p.unitRows * columns, zero);
  return true;
}

/// The number of the first step, or that behind the last.
Value TileProgramEmitter::boundOf(AffineForOp loop, bool isLower) {
  AffineMap map = isLower ? loop.getLowerBoundMap() : loop.getUpperBoundMap();
  if (map.isSingleConstant())
    return arith::ConstantIndexOp::create(builder, loc, map.getSingleConstantResult());
  SmallVector<Value> operands;
  for (Value operand : isLower ? loop.getLowerBoundOperands() : loop.getUpperBoundOperands())
    operands.push_back(values.lookupOrDefault(operand));
  if (isLower)
    return AffineMaxOp::create(builder, loc, map, operands);
  return AffineMinOp::create(builder, loc, map, operands);
}

/// The steps of `loop`: copies run ahead of the products by all stages but the one that is read.
void TileProgramEmitter::steps(AffineForOp loop) {
  const int64_t most = mostTrips(loop).value_or(2), stages = most > 1 ? p.stages : 1, ahead = stages - 1;
  const StepRange range{loop, boundOf(loop, /*isLower=*/true), boundOf(loop, /*isLower=*/false)};
  SmallVector<const TileStatement *> moving;
  SmallVector<Value> fixed;
  for (const TileStatement *each : contractionsOf(*loop.getBody())) {
    bool moves = llvm::is_contained(each->ofColumns().access.symbols, loop.getInductionVar());
    stage(*each, moves ? stages : 1);
    if (moves)
      moving.push_back(each);
    else
      llvm::append_range(fixed, copy(*each, nullptr, {}, 0));
    if (!isInvariant(*each, loop))
      continue;
    // Steps before may have read the same rows.
    const auto &first = *program.statements.find(program.firstWithColumnsOf(rootOf(*each)));
    const Access &mine = each->ofRows().access, &theirs = first.second.ofRows().access;
    bool isSame = mine.memref == theirs.memref && mine.map == theirs.map && mine.symbols == theirs.symbols &&
                  rowOperands.contains(first.first);
    rowOperands[rootOf(*each)] = isSame ? Fragments(rowOperands[first.first]) : rowsOf(*each);
  }
  if (!fixed.empty())
    tile::WaitOp::create(builder, loc, fixed);
  SmallVector<Value> arrays = program.writtenIn(loop), carried;
  llvm::erase_if(arrays, [&](Value memref) { return !isHandedOn(memref, loop); });
  for (Value memref : arrays)
    llvm::append_range(carried, held[memref]);
  const size_t sums = carried.size();
  for (int64_t first = 0; first < ahead; ++first)
    for (const TileStatement *each : moving)
      llvm::append_range(carried, copy(*each, &range, range.first, first));
  const size_t each = ahead ? (carried.size() - sums) / ahead : 0; // tokens of a step
  auto take = [&](ValueRange given) {
    for (Value memref : arrays) {
      Fragments &own = held[memref];
      own = llvm::to_vector(given.take_front(own.size()));
      given = given.drop_front(own.size());
    }
  };
  auto mapped = [&](ValueRange operands) {
    return llvm::map_to_vector(operands, [&](Value operand) { return values.lookupOrDefault(operand); });
  };
  auto over = AffineForOp::create(builder, loc, mapped(loop.getLowerBoundOperands()), loop.getLowerBoundMap(),
                                  mapped(loop.getUpperBoundOperands()), loop.getUpperBoundMap(), 1, carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(over.getBody());
    ValueRange given = over.getRegionIterArgs();
    step = over.getInductionVar();
    values.map(loop.getInductionVar(), step);
    take(given);
    if (each)
      tile::WaitOp::create(builder, loc, given.slice(sums, each));
    SmallVector<Value> next, tokens(given.drop_front(sums + each));
    for (const TileStatement *statement : moving)
      llvm::append_range(tokens, copy(*statement, &range, step, ahead));
    if (!ahead && !tokens.empty())
      tile::WaitOp::create(builder, loc, std::exchange(tokens, {}));
    for (Operation &op : loop.getBody()->without_terminator())
      write(op);
    for (Value memref : arrays)
      llvm::append_range(next, held[memref]);
    llvm::append_range(next, tokens);
    AffineYieldOp::create(builder, loc, next);
    step = {};
  }
  take(over.getResults());
  if (each) // nothing may be under way when the block ends
    tile::WaitOp::create(builder, loc, over.getResults().drop_front(sums));
}

/// What becomes of one operation of a tile or of a step.
void TileProgramEmitter::write(Operation &op) {
  auto found = program.statements.find(&op);
  if (found == program.statements.end()) {
    if (auto loop = dyn_cast<AffineForOp>(op))
      steps(loop);
    else if (!isa<memref::AllocOp, memref::DeallocOp>(op))
      builder.clone(op, values);
    return;
  }
  const TileStatement &own = found->second;
  if (own.kind == TileStatement::Kind::Contraction && !staged.contains(program.firstWithColumnsOf(&op))) {
    stage(own, 1);
    tile::WaitOp::create(builder, loc, copy(own, nullptr, {}, 0));
  }
  statement(own);
}

void TileProgramEmitter::emit() {
  Block &old = tile.getBody().front();
  SmallVector<Operation *> before(llvm::make_pointer_range(old.without_terminator()));
  behind = old.getTerminator();
  builder.setInsertionPoint(behind);
  tile::ParallelOp::create(builder, loc, AffineMap::get(0, 0, constant(p.subgroups)), ValueRange(), hierarchy.block,
                           [&](OpBuilder &own, Location, ValueRange indices) {
                             OpBuilder::InsertionGuard guard(builder);
                             builder.setInsertionPoint(own.getInsertionBlock(), own.getInsertionPoint());
                             subgroup = indices.front();
                             for (Operation *op : before)
                               write(*op);
                           });
  llvm::SmallSetVector<Value, 8> arrays;
  for (const auto &[memref, array] : program.locals)
    if (Operation *parent = memref.getDefiningOp()->getParentOp(); parent == tile || parent->isProperAncestor(tile))
      arrays.insert(memref); // the others go with their loops
  for (Operation *op : llvm::reverse(before))
    if (!isa<memref::AllocOp, memref::DeallocOp>(op) && op->use_empty())
      op->erase();
  for (Value memref : arrays) {
    for (Operation *user : llvm::make_early_inc_range(memref.getUsers()))
      user->erase();
    memref.getDefiningOp()->erase();
  }
}

void tilewright::emitTileProgram(tile::ParallelOp tile, const TileProgram &program, const TileProgramPlan &plan,
                                 const LaneHierarchy &hierarchy) {
  TileProgramEmitter(tile, program, plan, hierarchy).emit();
}
