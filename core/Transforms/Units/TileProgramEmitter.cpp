//===- TileProgramEmitter.cpp - A program of rows on fragments ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Steps, and the copies that run ahead of them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Units/TileProgramEmitter.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Transforms/Units/TileProgramWriter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Whether what a contraction reads of its rows is the same in all steps of `loop`.
bool TileProgramWriter::isInvariant(const TileStatement &statement, AffineForOp loop) const {
  const Access &access = statement.ofRows().access;
  return !program.local(access.memref) && llvm::none_of(access.symbols, [&](Value symbol) {
    auto argument = dyn_cast<BlockArgument>(symbol);
    return argument && loop->isAncestor(argument.getOwner()->getParentOp());
  });
}

/// Makes the buffer of a side, where no contraction before reads the same.
void TileProgramWriter::stage(Side side) {
  const auto &[statement, isRows] = side;
  Operation *root = rootOf(*statement);
  if (firstWith(side) != root)
    return;
  Staged &own = staged[{root, isRows}];
  own.stages = p.stagesOf(program, root, isRows);
  own.operand = std::make_unique<ContractionOperand>(isRows ? statement->ofRows() : statement->ofColumns());
  const StagedTile &tile = (isRows ? p.stagedRows : p.staged).find(root)->second;
  own.buffer = std::make_unique<StagedBuffer>(
      *own.operand, tile, isRows != p.transposed, isRows ? *statement->row : *statement->col, statement->k,
      isRows ? p.rowsOfStage() : p.stagedColumns(*statement), p.stagedDepth(*statement), p.engine);
  OpBuilder before(behind);
  own.buffer->allocate(before, loc, own.stages, hierarchy.scratchpad);
}

/// Copies a side of the step that comes `distance` after `from`; without steps what there is.
SmallVector<Value> TileProgramWriter::copy(Side side, const StepRange *steps, Value from, int64_t distance) {
  const auto &[statement, isRows] = side;
  AffineForOp loop = steps ? steps->loop : AffineForOp();
  Staged &own = stagedOf(side);
  {
    IRMapping before(values);
    if (loop)
      values.map(loop.getInductionVar(), from);
    own.operand->access = now((isRows ? statement->ofRows() : statement->ofColumns()).access, loop, distance);
    values = before;
  }
  Place place(*this, *statement);
  StagedPlace at{constant(0), constant(0), constant(0)};
  const int64_t free = isRows ? statement->rows() : statement->columns();
  at.freeEnds = !(isRows ? statement->hasFewerRows() : statement->hasFewerColumns()) &&
                (isRows ? p.rowsOfStage() : p.stagedColumns(*statement)) == free;
  at.kEnds = !statement->hasFewerSummands() && p.stagedDepth(*statement) == statement->depth();
  if (loop) {
    AffineExpr number = place.space.define(from) + distance;
    at.stage = number % own.stages;
    std::optional<int64_t> count;
    if (loop.hasConstantBounds())
      count = loop.getConstantUpperBound() - loop.getConstantLowerBound();
    bool isThere = from == step && distance == 0;
    if (!isThere && (from == step || distance >= count.value_or(0))) { // nothing comes behind the last step
      AffineExpr end = count ? constant(loop.getConstantUpperBound()) : place.space.define(steps->end);
      bool isAlongFree = at.freeEnds; // else that says how many there are
      (isAlongFree ? at.freeEnds : at.kEnds) = false;
      (isAlongFree ? at.freeLeft : at.kLeft) = (end - number) * (isAlongFree ? free : statement->depth());
    }
  }
  SmallVector<Value> tokens;
  for (int64_t block = 0; block < own.buffer->blocks(); ++block)
    tokens.push_back(own.buffer->copy(place.space, at, block));
  return tokens;
}

/// The contractions of `block`, in order.
SmallVector<const TileStatement *> TileProgramWriter::contractionsOf(Block &block) const {
  SmallVector<const TileStatement *> result;
  for (const auto &[op, statement] : program.statements)
    if (op->getBlock() == &block && statement.kind == TileStatement::Kind::Contraction)
      result.push_back(&statement);
  return result;
}

void TileProgramWriter::contraction(const TileStatement &statement) {
  const bool rowsMove = program.rowsMove(rootOf(statement));
  Staged &ofColumns = stagedOf({&statement}), *ofRows = rowsMove ? &stagedOf({&statement, /*isRows=*/true}) : nullptr;
  Fragments rows = rowsMove ? Fragments() : rowsOf(statement);
  Fragments &sums = held[statement.sum->c.memref];
  const MatrixUnit &own = p.unitFor(rowsMove);
  const tile::FragmentType type = operandType(p.transposed ? own.a : own.b, statement.ofColumns());
  const tile::FragmentType rowType = operandType(p.transposed ? own.b : own.a, statement.ofRows());
  const int64_t depth = p.depthOf(statement), along = p.unitsOf(statement), together = p.columnsTogether(along);
  auto name = builder.getStringAttr(own.name);
  auto stageOf = [&](const Staged &buffer, Place &place) {
    return buffer.stages > 1 ? place.space.define(step) % buffer.stages : constant(0);
  };
  for (int64_t k = 0; k < depth; ++k) {
    Fragments mine;
    for (int64_t row = 0; row < p.unitRows; ++row)
      if (ofRows) {
        Place place(*this, statement);
        mine.push_back(ofRows->buffer->load(place.space, rowType, stageOf(*ofRows, place),
                                            place.firstRow + row * p.rowsOfUnit(), constant(k * unit.k)));
      } else {
        mine.push_back(rows[row * depth + k]);
      }
    for (int64_t first = 0; first < along; first += together) {
      Place place(*this, statement);
      Value loaded =
          ofColumns.buffer->load(place.space, together == 1 ? type : tile::JoinOp::typeOf(type, together),
                                 stageOf(ofColumns, place), constant(first * p.columnsOfUnit()), constant(k * unit.k));
      Fragments others{loaded};
      if (together > 1)
        others = llvm::to_vector_of<Value>(
            tile::SplitOp::create(builder, loc, SmallVector<Type>(together, type), loaded).getParts());
      for (auto [i, other] : llvm::enumerate(others))
        for (int64_t row = 0; row < p.unitRows; ++row) {
          Value &sum = sums[row * along + first + int64_t(i)];
          sum = tile::MmaOp::create(builder, loc, sum.getType(), p.transposed ? other : mine[row],
                                    p.transposed ? mine[row] : other, sum, name);
        }
    }
  }
}

void TileProgramWriter::statement(const TileStatement &statement) {
  llvm::SaveAndRestore<Location> place(loc, statement.nest.stores.front().op->getLoc()); // of what it computes
  switch (statement.kind) {
  case TileStatement::Kind::Contraction:
    return contraction(statement);
  case TileStatement::Kind::Reduction:
    return reduction(statement);
  case TileStatement::Kind::Map:
    return map(statement);
  }
}

/// The arrays that steps of `loop` hand on, each of which holds something before the first: zeros, if nothing yet.
SmallVector<Value> TileProgramWriter::handedOn(AffineForOp loop) {
  SmallVector<Value> arrays = program.handedOn(loop);
  for (Value memref : arrays) {
    if (held.contains(memref))
      continue;
    const TileArray &array = *program.local(memref);
    int64_t columns = array.columns > 1 ? p.unitsAlong(array.columns, array.isOperand) : 1;
    Value zero = tile::ZeroOp::create(builder, loc, typeOf(array.element, array.columns > 1));
    held[memref] = Fragments(p.unitRows * columns, zero);
  }
  return arrays;
}

/// The number of the first step, or that behind the last.
Value TileProgramWriter::boundOf(AffineForOp loop, bool isLower) {
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

/// Loads of nests in `loop` that run one step ahead.
SmallVector<std::pair<const TileStatement *, const Access *>> TileProgramWriter::loadsAheadOf(AffineForOp loop) const {
  for (const TileSteps &steps : program.steps)
    if (steps.loop == loop && p.loadsAheadIn(steps))
      return program.loadsOfSteps(loop);
  return {};
}

/// Makes the buffers of what contractions in `loop` read, and loads or copies what is the same in all steps. The sides
/// that differ between steps, each buffer once.
SmallVector<TileProgramWriter::Side> TileProgramWriter::stageSides(AffineForOp loop) {
  SmallVector<Side> moving;
  SmallVector<Value> fixed;
  auto add = [&](Side side, bool moves) {
    stage(side);
    Operation *first = firstWith(side);
    if (first != rootOf(*side.statement) && first->getParentOp() == loop)
      return;
    if (moves)
      moving.push_back(side);
    else
      llvm::append_range(fixed, copy(side, nullptr, {}, 0));
  };
  for (const TileStatement *each : contractionsOf(*loop.getBody())) {
    add({each}, llvm::is_contained(each->ofColumns().access.symbols, loop.getInductionVar()));
    if (program.rowsMove(rootOf(*each)))
      add({each, /*isRows=*/true}, /*moves=*/true);
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
  return moving;
}

/// What the loads that run ahead give in step `at` of `loop`.
SmallVector<Value> TileProgramWriter::loadAhead(AffineForOp loop, LoadsOfSteps loads, Value at) {
  if (loads.empty())
    return {};
  const Value now = values.lookupOrNull(loop.getInductionVar());
  values.map(loop.getInductionVar(), at);
  SmallVector<Value> result;
  for (auto [statement, load] : loads)
    llvm::append_range(result, loaded(*statement, *load));
  if (now)
    values.map(loop.getInductionVar(), now);
  return result;
}

/// Takes what steps of `loop` hand to each other, `arrays` first, then what was loaded ahead.
void TileProgramWriter::take(AffineForOp loop, ArrayRef<Value> arrays, LoadsOfSteps loads, ValueRange given) {
  for (Value memref : arrays) {
    Fragments &own = held[memref];
    own = llvm::to_vector(given.take_front(own.size()));
    given = given.drop_front(own.size());
  }
  for (auto [statement, load] : loads) {
    const int64_t count = p.unitRows * (statement->col ? p.unitsOf(*statement) : 1);
    const Fragments own = llvm::to_vector(given.take_front(count));
    given = given.drop_front(count);
    for (const auto &[op, other] : program.statements)
      for (const Access &same : other.nest.loads)
        if (op->getBlock() == loop.getBody() && TileProgram::readSame(*statement, *load, other, same))
          loadedAhead[same.op] = own;
  }
}

/// The steps of `loop`: copies run ahead of the products by all stages but the one that is read, loads by one step.
void TileProgramWriter::steps(AffineForOp loop) {
  // An engine's copies run ahead by themselves.
  const int64_t ahead = mostTrips(loop).value_or(2) > 1 && p.engine.empty() ? p.stages - 1 : 0;
  const StepRange range{loop, boundOf(loop, /*isLower=*/true), boundOf(loop, /*isLower=*/false)};
  const SmallVector<Side> moving = stageSides(loop);
  const SmallVector<Value> arrays = handedOn(loop);
  const auto loads = loadsAheadOf(loop);
  SmallVector<Value> carried;
  for (Value memref : arrays)
    llvm::append_range(carried, held[memref]);
  llvm::append_range(carried, loadAhead(loop, loads, range.first));
  const size_t kept = carried.size();
  for (int64_t first = 0; first < ahead; ++first)
    for (Side each : moving)
      llvm::append_range(carried, copy(each, &range, range.first, first));
  const size_t each = ahead ? (carried.size() - kept) / ahead : 0; // tokens of a step
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
    take(loop, arrays, loads, given);
    if (each)
      tile::WaitOp::create(builder, loc, given.slice(kept, each));
    SmallVector<Value> next, tokens(given.drop_front(kept + each));
    for (Side side : moving)
      llvm::append_range(tokens, copy(side, &range, step, ahead));
    if (!ahead && !tokens.empty()) {
      auto wait = tile::WaitOp::create(builder, loc, std::exchange(tokens, {}));
      if (p.inTurns)
        wait->setAttr(inTurnsAttr, builder.getUnitAttr());
    }
    SmallVector<Value> nextLoads;
    if (!loads.empty()) { // behind the last step what is there already
      AffineExpr more = builder.getAffineDimExpr(0) + 1, last = builder.getAffineSymbolExpr(0) - 1;
      AffineMap map = AffineMap::get(1, 1, {more, last}, builder.getContext());
      nextLoads = loadAhead(loop, loads, AffineMinOp::create(builder, loc, map, ValueRange{step, range.end}));
    }
    for (Operation &op : loop.getBody()->without_terminator())
      write(op);
    for (Value memref : arrays)
      llvm::append_range(next, held[memref]);
    llvm::append_range(next, nextLoads);
    llvm::append_range(next, tokens);
    AffineYieldOp::create(builder, loc, next);
    step = {};
  }
  take(loop, arrays, loads, over.getResults());
  loadedAhead.clear();
  if (each) // nothing may be under way when the block ends
    tile::WaitOp::create(builder, loc, over.getResults().drop_front(kept));
}

void TileProgramWriter::write(Operation &op) {
  auto found = program.statements.find(&op);
  if (found == program.statements.end()) {
    if (auto loop = dyn_cast<AffineForOp>(op))
      steps(loop);
    else if (!isa<memref::AllocOp, memref::DeallocOp>(op))
      builder.clone(op, values);
    return;
  }
  const TileStatement &own = found->second;
  if (own.kind == TileStatement::Kind::Contraction && !staged.contains({firstWith({&own}), false})) {
    stage({&own});
    tile::WaitOp::create(builder, loc, copy({&own}, nullptr, {}, 0));
  }
  statement(own);
}

void TileProgramWriter::emit() {
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

/// `workers` blocks for the tiles of `grid`, which has constant bounds: each takes one after the other, so that copies
/// of the next one run while results of this one leave.
///
///   grid (i, j) { buffers; block {..} }  ->  grid (w) { buffers; for r { (i, j) = r workers + w; block {..} } }
static void shareOutTiles(tile::ParallelOp grid, int64_t workers) {
  OpBuilder builder(grid);
  Location loc = grid.getLoc();
  SmallVector<int64_t> extents;
  int64_t count = 1;
  for (AffineExpr bound : grid.getUpperBounds().getResults()) {
    extents.push_back(cast<AffineConstantExpr>(bound).getValue());
    count *= extents.back();
  }
  Block &old = grid.getBody().front();
  auto shared = tile::ParallelOp::create(builder, loc, AffineMap::getConstantMap(workers, builder.getContext()),
                                         ValueRange(), grid.getLevel(), nullptr);
  shared.setScheduleAttr(grid.getScheduleAttr());
  for (NamedAttribute each : grid->getDiscardableAttrs())
    shared->setDiscardableAttr(each.getName(), each.getValue());
  Block &body = shared.getBody().front();
  builder.setInsertionPoint(body.getTerminator());
  const AffineExpr worker = builder.getAffineDimExpr(0), round = builder.getAffineDimExpr(1);
  auto rounds = AffineForOp::create(builder, loc, {}, builder.getConstantAffineMap(0), body.getArguments(),
                                    AffineMap::get(1, 0, (count - 1 - worker).floorDiv(workers) + 1), 1);
  builder.setInsertionPointToStart(rounds.getBody());
  AffineExpr number = round * workers + worker;
  for (size_t i = extents.size(); i-- > 0;) {
    AffineExpr own = i == 0 ? number : number % extents[i];
    number = number.floorDiv(extents[i]);
    Value index = AffineApplyOp::create(builder, loc, AffineMap::get(2, 0, own),
                                        ValueRange{body.getArgument(0), rounds.getInductionVar()});
    old.getArgument(i).replaceAllUsesWith(index);
  }
  for (Operation &op : llvm::make_early_inc_range(old.without_terminator()))
    op.moveBefore(isa<tile::AllocOp>(op) ? rounds.getOperation() : rounds.getBody()->getTerminator());
  grid.erase();
}

void tilewright::emitTileProgram(tile::ParallelOp tile, const TileProgram &program, const TileProgramPlan &plan,
                                 const LaneHierarchy &hierarchy) {
  TileProgramWriter(tile, program, plan, hierarchy).emit();
  if (plan.workers)
    shareOutTiles(tile, plan.workers);
}
