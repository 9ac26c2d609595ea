//===- TileProgramStatements.cpp - Statements of a tile on fragments ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Maps, reductions and the rows of contractions: what one nest becomes for each unit
/// of a subgroup's rows.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Guards.h"
#include "core/Transforms/Units/TileProgramWriter.h"
#include "core/Transforms/Utils/NestBody.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

TileProgramWriter::Place::Place(TileProgramWriter &emitter, const TileStatement &statement)
    : space(emitter.builder, emitter.loc), statement(statement), plan(emitter.p) {
  space.addDimensions(statement.nest.loops, emitter.values);
  firstRow = space.define(emitter.subgroup) * (plan.unitRows * plan.rowsOfUnit());
}

void TileProgramWriter::Place::goTo(int64_t row, int64_t column) {
  if (statement.row)
    space.at[*statement.row] = firstRow + row * plan.rowsOfUnit();
  if (statement.col)
    space.at[*statement.col] = getAffineConstantExpr(column * plan.columnsOfUnit(), firstRow.getContext());
}

/// A fragment of sums, or what its rows have once.
tile::FragmentType TileProgramWriter::typeOf(Type element, bool hasColumns) const {
  if (hasColumns)
    return tile::FragmentType::get(unit.m, unit.n, element, unit.c.layout);
  return tile::FragmentType::get(p.transposed ? 1 : unit.m, p.transposed ? unit.n : 1, element,
                                 layoutOfRows(unit.c.layout, p.transposed));
}

/// `access` in the loops that are being written, `steps` iterations of `ahead` later.
Access TileProgramWriter::now(const Access &access, AffineForOp ahead, int64_t steps) const {
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
/// Where a tile has one row, the other ones of the fragment, which are masked, come behind the columns.
AffineMap TileProgramWriter::elementsOf(const Access &access, const TileStatement &statement,
                                        std::optional<unsigned> along) const {
  MLIRContext *context = loc.getContext();
  AffineExpr row = getAffineDimExpr(p.transposed ? 1 : 0, context),
             column = getAffineDimExpr(p.transposed ? 0 : 1, context);
  SmallVector<AffineExpr> results;
  for (AffineExpr index : access.map.getResults()) {
    AffineExpr result = constant(0);
    if (statement.row)
      result = result + row * *linearCoefficient(index, *statement.row);
    if (along != statement.row) {
      const int64_t perColumn = *linearCoefficient(index, *along);
      result = result + column * perColumn;
      if (!statement.row)
        result = result + row * (perColumn * llvm::PowerOf2Ceil(statement.trips[*along]));
    }
    results.push_back(result);
  }
  if (!statement.row && !along && !results.empty())
    results.back() = results.back() + row;
  return AffineMap::get(2, 0, results, context);
}

/// The dimensions along which a read may be outside of its array; null: none.
static DenseI64ArrayAttr boundedOf(const Access &access) {
  auto test = dyn_cast<AffineIfOp>(access.op->getParentOp());
  std::optional<BoundedRead> read = test ? boundedRead(test) : std::nullopt;
  return read ? DenseI64ArrayAttr::get(access.op->getContext(), read->dimensions) : DenseI64ArrayAttr();
}

/// A global array: the fragment that is loaded, or stored where `stored` is one.
Value TileProgramWriter::accessed(const TileStatement &statement, const Access &access, tile::FragmentType type,
                                  int64_t row, int64_t column, Value stored) {
  Place place(*this, statement);
  place.goTo(row, column);
  auto [map, operands] = place.space.address(now(access));
  std::optional<unsigned> along = statement.col ? statement.col : statement.row;
  auto elements = AffineMapAttr::get(elementsOf(access, statement, along));
  SmallVector<Value> validOperands;
  AffineMapAttr valid = validOf(place, statement, along, p.hasFewerColumns(statement), validOperands);
  if (!stored)
    return tile::LoadOp::create(builder, loc, type, access.memref, operands, AffineMapAttr::get(map), elements, valid,
                                validOperands, boundedOf(access));
  tile::StoreOp::create(builder, loc, stored, access.memref, operands, AffineMapAttr::get(map), elements, valid,
                        validOperands, UnitAttr());
  return {};
}

/// How many rows and columns of the fragment at `place` there are, where loop `along` is that of the columns; null:
/// all. `endsAlong`: not all of those.
AffineMapAttr TileProgramWriter::validOf(Place &place, const TileStatement &statement, std::optional<unsigned> along,
                                         bool endsAlong, SmallVectorImpl<Value> &operands) const {
  if (!p.hasFewerRows(statement) && !endsAlong)
    return {};
  auto left = [&](std::optional<unsigned> d) { return d ? place.space.extent(*d) - place.space.at[*d] : constant(1); };
  AffineExpr rows = left(statement.row), columns = along == statement.row ? constant(1) : left(along);
  if (!p.hasFewerRows(statement))
    rows = constant(std::max(unit.m, unit.n));
  if (along != statement.row && !endsAlong)
    columns = constant(std::max({unit.m, unit.n, unit.k}));
  return place.space.validAttr(p.transposed ? columns : rows, p.transposed ? rows : columns, operands);
}

/// `fragment`, of the unit at `column` along loop `along` of the statement, with `other` beyond the loop's end.
Value TileProgramWriter::withoutMissing(const TileStatement &statement, unsigned along, Value fragment, int64_t column,
                                        TypedAttr other) {
  const std::optional<int64_t> trips = statement.nest.tripCounts[along];
  const int64_t first = column * p.columnsOfUnit();
  if (trips && *trips >= first + p.columnsOfUnit())
    return fragment;
  if (trips && *trips <= first)
    return tile::BroadcastOp::create(builder, loc, fragment.getType(), arith::ConstantOp::create(builder, loc, other));
  Place place(*this, statement);
  Value left = place.space.value(place.space.extent(along) - first);
  left = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), left);
  Value numbers = tile::IndexOp::create(builder, loc, typeOf(builder.getI32Type(), true), p.transposed ? 0 : 1);
  return tile::MapOp::create(builder, loc, fragment.getType(), ValueRange{fragment, numbers},
                             [&](OpBuilder &inner, Location where, ValueRange arguments) {
                               Value exists =
                                   arith::CmpIOp::create(inner, where, arith::CmpIPredicate::slt, arguments[1], left);
                               Value none = arith::ConstantOp::create(inner, where, other);
                               Value kept = arith::SelectOp::create(inner, where, exists, arguments[0], none);
                               tile::YieldOp::create(inner, where, kept);
                             })
      .getResult(0);
}

/// All fragments of a load of an array that others see, rows outermost.
TileProgramWriter::Fragments TileProgramWriter::loaded(const TileStatement &statement, const Access &load) {
  Type element = cast<MemRefType>(load.memref.getType()).getElementType();
  Fragments result;
  for (int64_t row = 0; row < p.unitRows; ++row)
    for (int64_t column = 0, columns = statement.col ? p.unitsOf(statement) : 1; column < columns; ++column)
      result.push_back(accessed(statement, load, typeOf(element, statement.col.has_value()), row, column, {}));
  return result;
}

/// What a load of a statement is for the unit at `row` and `column`.
Value TileProgramWriter::argument(const TileStatement &statement, const Access &load, int64_t row, int64_t column) {
  Type element = cast<MemRefType>(load.memref.getType()).getElementType();
  tile::FragmentType type = typeOf(element, statement.col.has_value());
  const TileArray *array = program.local(load.memref);
  if (auto given = loadedAhead.find(load.op); given != loadedAhead.end())
    return given->second[row * (int64_t(given->second.size()) / p.unitRows) + column];
  if (!array)
    return accessed(statement, load, type, row, column, {});
  ArrayRef<Value> fragments = held[load.memref];
  if (array->columns > 1)
    return fragments[row * (int64_t(fragments.size()) / p.unitRows) + column];
  if (!statement.col)
    return fragments[row];
  return tile::BroadcastOp::create(builder, loc, type, fragments[row]);
}

/// The number `value`, a loop's own or an affine.apply of some, for the unit at `row` and `column`.
TileProgramWriter::Number TileProgramWriter::numberOf(const TileStatement &statement, Value value, int64_t row,
                                                      int64_t column) {
  AffineMap map = AffineMap::getMultiDimIdentityMap(1, loc.getContext());
  SmallVector<Value> operands{value};
  if (auto apply = value.getDefiningOp<AffineApplyOp>()) {
    map = apply.getAffineMap();
    operands = llvm::to_vector_of<Value>(apply.getMapOperands());
  }
  Place place(*this, statement);
  place.goTo(row, column);
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
SmallVector<Value> TileProgramWriter::compute(const TileStatement &statement, ArrayRef<Value> results, int64_t row,
                                              int64_t column) {
  // Only what they follow from.
  llvm::SmallSetVector<Operation *, 16> needed;
  SmallVector<Value> open(results);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == statement.nest.body && needed.insert(op) && !isa<AffineIfOp>(op))
      llvm::append_range(open, op->getOperands());
  }
  auto isRead = [](Operation *op) { return isa<AffineLoadOp, AffineIfOp>(op); };
  SmallVector<Value> inputs, loaded;
  for (const Access &load : statement.nest.loads)
    if (Operation *giver = statement.nest.body->findAncestorOpInBlock(*load.op); needed.contains(giver)) {
      inputs.push_back(argument(statement, load, row, column));
      loaded.push_back(giver->getResult(0));
    }
  // Numbers of iterations are of 32 bits in lanes.
  SmallVector<Number> numbers;
  auto isLoop = [&](Value value) {
    return llvm::any_of(statement.nest.loops, [&](AffineForOp loop) { return loop.getInductionVar() == value; });
  };
  for (Operation *op : needed) {
    if (isa<AffineApplyOp>(op))
      numbers.push_back(numberOf(statement, op->getResult(0), row, column));
    else if (!isRead(op))
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
  auto isPlain = [&](Value result) { return result.getDefiningOp() && isRead(result.getDefiningOp()); };
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
        cloneBody(inner, statement.nest, mapping,
                  [&](Operation *op) { return !needed.contains(op) || isRead(op) || isa<AffineApplyOp>(op); });
        tile::YieldOp::create(inner, where,
                              llvm::map_to_vector(results, [&](Value each) { return mapping.lookupOrDefault(each); }));
      });
  return llvm::to_vector_of<Value>(mapped.getResults());
}

void TileProgramWriter::map(const TileStatement &statement) {
  SmallVector<Value> stored;
  for (const Access &store : statement.nest.stores)
    stored.push_back(cast<AffineStoreOp>(store.op).getValueToStore());
  int64_t columns = statement.col ? p.unitsOf(statement) : 1;
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

/// The columns of one fragment combined.
Value TileProgramWriter::reduceColumns(Operation *how, Value fragment) {
  Type element = how->getResult(0).getType();
  return tile::ReduceOp::create(builder, loc, typeOf(element, false), fragment, p.transposed ? 0 : 1,
                                [&](OpBuilder &inner, Location where, ValueRange arguments) {
                                  tile::YieldOp::create(inner, where, cloneOf(inner, how, arguments));
                                });
}

void TileProgramWriter::reduction(const TileStatement &statement) {
  const Access &result = statement.nest.stores.front();
  Fragments &sums = held[result.memref];
  // Units beyond the last column have nothing to add.
  const int64_t units = llvm::divideCeil(statement.columns(), p.columnsOfUnit());
  for (int64_t row = 0; row < p.unitRows; ++row) {
    SmallVector<Value> parts;
    for (int64_t column = 0; column < units; ++column)
      parts.push_back(withoutMissing(statement, *statement.col, compute(statement, statement.term, row, column).front(),
                                     column, *arith::getNeutralElement(statement.combine)));
    for (; parts.size() > 1; parts.resize(llvm::divideCeil(parts.size(), 2)))
      for (size_t i = 0, half = llvm::divideCeil(parts.size(), 2); i + half < parts.size(); ++i)
        parts[i] = combineTiles(builder, loc, {parts[i], parts[i + half]}, statement.combine);
    sums[row] =
        combineTiles(builder, loc, {sums[row], reduceColumns(statement.combine, parts.front())}, statement.combine);
  }
}

/// The operand of a contraction that has the rows: for each unit along them those along the sum.
TileProgramWriter::Fragments TileProgramWriter::rowsOf(const TileStatement &statement) {
  if (auto found = rowOperands.find(rootOf(statement)); found != rowOperands.end())
    return found->second;
  const ContractionOperand &operand = statement.ofRows();
  tile::FragmentType type = operandType(p.transposed ? unit.b : unit.a, operand);
  int64_t depth = p.depthOf(statement);
  Fragments result;
  if (!program.local(operand.access.memref)) {
    for (int64_t row = 0; row < p.unitRows; ++row)
      for (int64_t k = 0; k < depth; ++k) {
        Place place(*this, statement);
        place.goTo(row, 0);
        place.space.at[statement.k] = constant(k * unit.k);
        auto [map, operands] = place.space.address(now(operand.access));
        auto elements = AffineMapAttr::get(elementsOf(operand.access, statement, statement.k));
        SmallVector<Value> validOperands;
        AffineMapAttr valid = validOf(place, statement, statement.k, p.endsInUnit(statement), validOperands);
        result.push_back(tile::LoadOp::create(builder, loc, type, operand.access.memref, operands,
                                              AffineMapAttr::get(map), elements, valid, validOperands));
      }
    return result;
  }
  ArrayRef<Value> sums = held[operand.access.memref];
  const int64_t together = unit.k / p.columnsOfUnit(), parts = p.columnsOfUnit() / unit.k;
  TypedAttr zero = builder.getZeroAttr(cast<tile::FragmentType>(sums.front().getType()).getElementType());
  if (parts > 1) { // the sums of one unit are several operands side by side
    const int64_t units = llvm::divideCeil(depth, parts), all = int64_t(sums.size()) / p.unitRows;
    for (int64_t row = 0; row < p.unitRows; ++row)
      for (int64_t i = 0; i < units; ++i) {
        Value whole = withoutMissing(statement, statement.k, sums[row * all + i], i, zero);
        whole = tile::ConvertOp::create(builder, loc, tile::JoinOp::typeOf(type, parts), whole);
        auto split = tile::SplitOp::create(builder, loc, SmallVector<Type>(parts, type), whole);
        llvm::append_range(result, split.getParts().take_front(std::min(parts, depth - i * parts)));
      }
    return result;
  }
  for (int64_t row = 0; row < p.unitRows; ++row)
    for (int64_t k = 0; k < depth; ++k) {
      Fragments parts;
      for (int64_t i = 0; i < together; ++i)
        parts.push_back(
            withoutMissing(statement, statement.k, sums[(row * depth + k) * together + i], k * together + i, zero));
      Value joined = together == 1 ? parts.front() : tile::JoinOp::create(builder, loc, parts).getResult();
      result.push_back(tile::ConvertOp::create(builder, loc, type, joined));
    }
  return result;
}
