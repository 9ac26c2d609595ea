//===- PipelineTiles.cpp - Copies beside the work on a tile ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Moves copies of a loop over tiles to iterations before, and waits to those after.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright {
#define GEN_PASS_DEF_PIPELINETILES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

using Tokens = SmallVector<Value>;

/// The value of a map of one result; an operand where it is no more than that.
static Value folded(IterationSpace &space, AffineMap map, ValueRange operands) {
  SmallVector<OpFoldResult> values(operands.begin(), operands.end());
  return getValueOrCreateConstantIndexOp(space.builder, space.loc,
                                         makeComposedFoldedAffineApply(space.builder, space.loc, map, values));
}

static Value valueOf(IterationSpace &space, AffineExpr expr) {
  auto [map, operands] = space.map({expr});
  return folded(space, map, operands);
}

/// A condition that holds always, never, or where `value` is true.
struct Condition {
  bool never = false;
  Value value;
};

static Condition both(IterationSpace &space, Condition a, Condition b) {
  if (a.never || b.never)
    return {true, {}};
  if (!a.value || !b.value)
    return {false, a.value ? a.value : b.value};
  return {false, arith::AndIOp::create(space.builder, space.loc, a.value, b.value)};
}

/// `left` is below `right`; or the two are equal.
static Condition compare(IterationSpace &space, AffineExpr left, AffineExpr right, bool equal = false) {
  if (auto distance = dyn_cast<AffineConstantExpr>(right - left))
    return {equal ? distance.getValue() != 0 : distance.getValue() <= 0, {}};
  const auto predicate = equal ? arith::CmpIPredicate::eq : arith::CmpIPredicate::slt;
  return {false,
          arith::CmpIOp::create(space.builder, space.loc, predicate, valueOf(space, left), valueOf(space, right))};
}

/// The tokens, `count` of them, of `body` where the condition holds, else of `otherwise`.
static Tokens either(IterationSpace &space, Condition condition, size_t count, function_ref<Tokens()> body,
                     function_ref<Tokens()> otherwise) {
  OpBuilder &builder = space.builder;
  if (condition.never)
    return otherwise();
  if (!condition.value)
    return body();
  SmallVector<Type> types(count, tile::TokenType::get(builder.getContext()));
  auto choice = scf::IfOp::create(builder, space.loc, types, condition.value, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, write] : {std::pair(choice.thenBlock(), body), {choice.elseBlock(), otherwise}}) {
    builder.setInsertionPointToStart(block);
    Tokens results = write();
    if (count)
      scf::YieldOp::create(builder, space.loc, results);
  }
  return Tokens(choice.getResults());
}

/// The tokens of `body` where the condition holds, else `otherwise`.
static Tokens ifHolds(IterationSpace &space, Condition condition, ValueRange otherwise, function_ref<Tokens()> body) {
  return either(space, condition, otherwise.size(), body, [&] { return Tokens(otherwise); });
}

namespace {
/// A loop whose buffers have stages, taken apart. Its iterations, or those in all iterations of the loop around it, one
/// after the other, have positions: that of iteration i in iteration o of the loop around is o * steps + i.
class StagedLoop {
public:
  /// `around`: the loop around; null: none.
  StagedLoop(AffineForOp loop, int64_t stages, AffineForOp around = {}) : loop(loop), around(around), stages(stages) {}

  /// Failure with a message if the loop has no stages.
  LogicalResult takeApart();
  /// Whether an iteration leaves something to others.
  bool hasTokens() const { return !inTokens.empty() || !outTokens.empty(); }
  /// The positions are from 0 or, without a loop around, from `begin`, to `end`.
  void setRange(AffineExpr begin, AffineExpr stepsOfLoop, AffineExpr endOfAll) {
    first = begin;
    steps = stepsOfLoop;
    end = endOfAll;
  }

  /// Starts the copies of the first iterations. The tokens that iterations hand on: of copies in, `stages` - 1
  /// iterations; of what goes out, as many iterations as it is under way.
  Tokens begin(IterationSpace &space) const;
  /// Writes one iteration; the tokens for the next one.
  Tokens iteration(IterationSpace &space, AffineExpr outer, AffineExpr inner, ValueRange carried) const;
  /// Writes one iteration, whose work falls into groups, and that at `inner` of `second` in iteration `before` of the
  /// loop around, if `finishes`: a group of each in turns. The tokens of both for the next one.
  Tokens alternate(IterationSpace &space, AffineExpr outer, AffineExpr inner, ValueRange carried,
                   const StagedLoop &second, AffineExpr before, Condition finishes, ValueRange rest) const;
  bool hasGroups() const { return bool(groups); }
  int64_t groupCount() const { return groups ? *getConstantTripCount(groups) : 1; }
  /// The work itself is what the last wait is for, such as that of a unit: it has read its stage one iteration later.
  bool isAsynchronous() const { return out.empty() && !outTokens.empty(); }
  /// Waits for what is under way after the last iteration.
  void finish(IterationSpace &space, ValueRange carried) const {
    if (!outTokens.empty())
      tile::WaitOp::create(space.builder, space.loc, carried.drop_front(tokensAhead()));
  }
  size_t carries() const { return tokensAhead() + outTokens.size() * (isAsynchronous() ? 1 : stages); }

  AffineForOp loop;

private:
  size_t tokensAhead() const { return inTokens.size() * (stages - 1); }
  void enter(IterationSpace &space, IRMapping &mapping, AffineExpr outer, AffineExpr inner) const;
  AffineExpr positionOf(AffineExpr outer, AffineExpr inner) const { return around ? outer * steps + inner : inner; }
  Tokens copyIn(IterationSpace &space, AffineExpr position, ValueRange otherwise) const;
  void enterShared(IterationSpace &space, IRMapping &mapping, AffineExpr outer, AffineExpr inner) const;
  Tokens group(IterationSpace &space, IRMapping mapping, AffineExpr number, ValueRange carried) const;

  AffineForOp around;
  int64_t stages;
  AffineExpr first, steps, end;
  SmallVector<Operation *> in, work, out; // of the body; waits and the terminator are in none
  AffineForOp groups = {};                // of the work; null: it is one
  int64_t copiesAfter = 0;                // the group
  Tokens inTokens, outTokens;
};
} // namespace

/// The body is: copies in, their wait, the work, copies out, their wait; either pair may be missing.
LogicalResult StagedLoop::takeApart() {
  Block *body = loop.getBody();
  auto isCopying = [](Operation *op) { // a copy, or loops of copies
    auto inner = dyn_cast<AffineForOp>(op);
    return isa<tile::CopyOp>(op) || (inner && !inner->hasAttr(groupsAttr) && inner->getNumResults() &&
                                     isa<tile::TokenType>(inner.getResult(0).getType()));
  };
  if (loop.getNumIterOperands() != 0 || stages < 2)
    return loop.emitError() << "has " << stages << " stages and carries " << loop.getNumIterOperands()
                            << " values; a pipeline has two stages or more, and its loop carries nothing";
  auto begin = body->begin(), end = std::prev(body->end());
  auto first = begin;
  while (first != end && (isCopying(&*first) || isa<tile::DoneOp, tile::AllocOp>(&*first)))
    ++first;
  if (first != end && first != begin && isa<tile::WaitOp>(&*first)) {
    for (Operation &op : llvm::make_range(begin, first))
      if (!isa<tile::AllocOp>(op))
        in.push_back(&op);
    inTokens.assign(first->getOperands().begin(), first->getOperands().end());
    begin = std::next(first);
  }
  if (begin != end && isa<tile::WaitOp>(&*std::prev(end))) {
    Operation *wait = &*std::prev(end);
    outTokens.assign(wait->getOperands().begin(), wait->getOperands().end());
    end = std::prev(end);
    while (end != begin && (isCopying(&*std::prev(end)) || isa<tile::DoneOp>(&*std::prev(end))))
      --end;
    for (Operation &op : llvm::make_range(end, wait->getIterator()))
      out.push_back(&op);
  }
  for (Operation &op : llvm::make_range(begin, end)) {
    work.push_back(&op);
    auto inner = dyn_cast<AffineForOp>(op);
    if (auto after = inner ? inner->getAttrOfType<IntegerAttr>(groupsAttr) : IntegerAttr()) {
      groups = inner;
      copiesAfter = after.getInt();
      inner->removeAttr(groupsAttr);
    }
  }
  if (groups && (!getConstantTripCount(groups) ||
                 !llvm::all_of(work, [&](Operation *op) { return op == groups.getOperation() || isPure(op); })))
    return loop.emitError("has groups, but not of a number that is known, or with other work beside them");
  return success();
}

/// Lets `mapping` have the loops' variables at an iteration.
void StagedLoop::enter(IterationSpace &space, IRMapping &mapping, AffineExpr outer, AffineExpr inner) const {
  mapping.map(AffineForOp(loop).getInductionVar(), valueOf(space, inner));
  if (around)
    mapping.map(AffineForOp(around).getInductionVar(), valueOf(space, outer));
}

/// Starts the copies of the iteration at `position`, if it runs; its tokens, else `otherwise`.
Tokens StagedLoop::copyIn(IterationSpace &space, AffineExpr position, ValueRange otherwise) const {
  if (in.empty())
    return {};
  return ifHolds(space, compare(space, position, end), otherwise, [&] {
    IRMapping mapping;
    if (around)
      enter(space, mapping, position.floorDiv(steps), position % steps);
    else
      enter(space, mapping, {}, position);
    for (Operation *op : in)
      space.builder.clone(*op, mapping);
    Tokens tokens;
    for (Value token : inTokens)
      tokens.push_back(mapping.lookup(token));
    return tokens;
  });
}

Tokens StagedLoop::begin(IterationSpace &space) const {
  Tokens none, tokens;
  for (size_t i = 0; i < std::max(inTokens.size(), outTokens.size()); ++i)
    none.push_back(tile::DoneOp::create(space.builder, space.loc));
  for (int64_t ahead = 0; ahead < stages - 1; ++ahead)
    llvm::append_range(tokens, copyIn(space, first + ahead, ArrayRef(none).take_front(inTokens.size())));
  while (tokens.size() < carries())
    llvm::append_range(tokens, ArrayRef(none).take_front(outTokens.size()));
  return tokens;
}

Tokens StagedLoop::iteration(IterationSpace &space, AffineExpr outer, AffineExpr inner, ValueRange carried) const {
  const size_t ahead = tokensAhead(), outs = outTokens.size();
  ValueRange arrived = carried.take_front(inTokens.size()), left = carried.drop_front(ahead).take_front(outs);
  Tokens next(carried.take_front(ahead).drop_front(inTokens.size())), awaited(arrived);
  auto copyAhead = [&] { llvm::append_range(next, copyIn(space, positionOf(outer, inner) + (stages - 1), arrived)); };
  auto wait = [&](ValueRange tokens) {
    if (!tokens.empty())
      tile::WaitOp::create(space.builder, space.loc, tokens);
  };
  // The stage that is filled is that of the iteration before, whose work is done, unless a unit still reads it.
  if (!isAsynchronous()) {
    copyAhead();
    llvm::append_range(awaited, left);
  }
  wait(awaited);
  IRMapping mapping;
  enter(space, mapping, outer, inner);
  for (Operation *op : llvm::concat<Operation *const>(work, out))
    space.builder.clone(*op, mapping);
  if (isAsynchronous()) {
    wait(left);
    copyAhead();
  }
  llvm::append_range(next, carried.drop_front(ahead + outs));
  for (Value token : outTokens)
    next.push_back(mapping.lookup(token));
  return next;
}

//===-- Iterations in groups ----------------------------------------------===//

/// Lets `mapping` have the loops' variables at an iteration, and what its groups share.
void StagedLoop::enterShared(IterationSpace &space, IRMapping &mapping, AffineExpr outer, AffineExpr inner) const {
  enter(space, mapping, outer, inner);
  if (groups)
    for (Operation *op : work)
      if (op != groups)
        space.builder.clone(*op, mapping);
}

/// One group of an iteration that `mapping` is at, all of its work if there is one; what the loop over groups carries.
Tokens StagedLoop::group(IterationSpace &space, IRMapping mapping, AffineExpr number, ValueRange carried) const {
  if (!groups) {
    for (Operation *op : work)
      space.builder.clone(*op, mapping);
    return {};
  }
  AffineForOp each = groups;
  mapping.map(each.getInductionVar(), valueOf(space, number));
  mapping.map(each.getRegionIterArgs(), carried);
  for (Operation &op : each.getBody()->without_terminator())
    space.builder.clone(op, mapping);
  return llvm::map_to_vector(each.getBody()->getTerminator()->getOperands(),
                             [&](Value token) { return mapping.lookupOrDefault(token); });
}

Tokens StagedLoop::alternate(IterationSpace &space, AffineExpr outer, AffineExpr inner, ValueRange carried,
                             const StagedLoop &second, AffineExpr before, Condition finishes, ValueRange rest) const {
  OpBuilder &builder = space.builder;
  auto wait = [&](ValueRange tokens) {
    if (!tokens.empty())
      tile::WaitOp::create(builder, space.loc, tokens);
  };
  const size_t ahead = tokensAhead(), outs = outTokens.size();
  ValueRange arrived = carried.take_front(inTokens.size()), left = carried.drop_front(ahead).take_front(outs);
  wait(arrived);
  IRMapping mapping;
  enterShared(space, mapping, outer, inner);
  // The first iteration's end is waited for at once: what it has computed is what the second loop begins with.
  AffineExpr zero = builder.getAffineConstantExpr(0), after = builder.getAffineConstantExpr(copiesAfter);
  Value copies = valueOf(space, after);
  if (Condition isFirst = compare(space, inner, zero, /*equal=*/true); isFirst.value && copiesAfter != 0)
    copies = arith::SelectOp::create(builder, space.loc, isFirst.value, valueOf(space, zero), copies);
  else if (!isFirst.never)
    copies = valueOf(space, zero);
  Tokens init;
  for (Value token : AffineForOp(groups).getInits())
    init.push_back(mapping.lookupOrDefault(token));
  const size_t own = init.size();
  llvm::append_range(init, arrived);
  // The loop over groups, with `between` after each of them.
  auto inTurns = [&](function_ref<void(AffineExpr)> between) {
    AffineExpr count = builder.getAffineConstantExpr(groupCount());
    return space.reduce(zero, count, init, [&](AffineExpr number, ValueRange tokens) {
      Tokens next = group(space, mapping, number, tokens.take_front(own));
      Condition copiesNow{
          false, arith::CmpIOp::create(builder, space.loc, arith::CmpIPredicate::eq, valueOf(space, number), copies)};
      llvm::append_range(next, ifHolds(space, copiesNow, tokens.drop_front(own), [&] {
                           wait(left);
                           return copyIn(space, positionOf(outer, inner) + (stages - 1), arrived);
                         }));
      between(number);
      return next;
    });
  };
  // Two loops instead of a test in one: what is the same for all groups of the second loop stands before them then.
  Tokens done = either(
      space, finishes, init.size() + rest.size(),
      [&] {
        const size_t aheadOfSecond = second.tokensAhead(), outsOfSecond = second.outTokens.size();
        ValueRange reads = rest.take_front(second.inTokens.size()), writes = rest.drop_front(aheadOfSecond);
        Tokens next(rest.take_front(aheadOfSecond).drop_front(reads.size())), awaited(reads);
        llvm::append_range(next, second.copyIn(space, second.positionOf(before, inner) + (second.stages - 1), awaited));
        llvm::append_range(awaited, writes.take_front(outsOfSecond));
        wait(awaited);
        IRMapping mappingOfSecond;
        second.enterShared(space, mappingOfSecond, before, inner);
        AffineExpr groupsOfSecond = builder.getAffineConstantExpr(second.groupCount());
        Tokens all = inTurns([&](AffineExpr number) {
          Condition has;
          if (second.groupCount() < groupCount())
            has = compare(space, number, groupsOfSecond);
          ifHolds(space, has, {}, [&] {
            second.group(space, mappingOfSecond, number, {});
            return Tokens();
          });
        });
        llvm::append_range(all, next);
        for (Operation *op : second.out)
          builder.clone(*op, mappingOfSecond);
        llvm::append_range(all, writes.drop_front(outsOfSecond));
        for (Value token : second.outTokens)
          all.push_back(mappingOfSecond.lookup(token));
        return all;
      },
      [&] {
        Tokens all = inTurns([](AffineExpr) {});
        llvm::append_range(all, rest);
        return all;
      });
  mapping.map(AffineForOp(groups).getResults(), ArrayRef(done).take_front(own));
  Tokens next(carried.take_front(ahead).drop_front(inTokens.size()));
  llvm::append_range(next, ArrayRef(done).drop_front(own).take_front(arrived.size()));
  for (Value token : outTokens)
    next.push_back(mapping.lookup(token));
  llvm::append_range(next, ArrayRef(done).drop_front(init.size()));
  return next;
}

//===-- One loop ----------------------------------------------------------===//

/// The value that the bounds of a loop give, or their constant; `isLower`: the largest of several.
static AffineExpr boundOf(IterationSpace &space, AffineMap map, ValueRange operands, bool isLower) {
  if (map.isSingleConstant())
    return map.getResult(0);
  OpBuilder &builder = space.builder;
  if (map.getNumResults() == 1)
    return space.define(folded(space, map, operands));
  return space.define(isLower ? AffineMaxOp::create(builder, space.loc, map, operands).getResult()
                              : AffineMinOp::create(builder, space.loc, map, operands).getResult());
}

static LogicalResult pipelineLoop(AffineForOp loop, int64_t stages) {
  StagedLoop staged(loop, stages);
  if (failed(staged.takeApart()))
    return failure();
  if (!staged.hasTokens())
    return loop.emitError() << "has " << stages << " stages but no copies around its work";
  OpBuilder builder(loop);
  IterationSpace space(builder, loop.getLoc());
  AffineExpr begin = boundOf(space, loop.getLowerBoundMap(), loop.getLowerBoundOperands(), /*isLower=*/true),
             end = boundOf(space, loop.getUpperBoundMap(), loop.getUpperBoundOperands(), /*isLower=*/false);
  staged.setRange(begin, end, end);
  Tokens tokens = space.reduce(begin, end, staged.begin(space), [&](AffineExpr position, ValueRange carried) {
    return staged.iteration(space, {}, position, carried);
  });
  staged.finish(space, tokens);
  loop.erase();
  return success();
}

//===-- Two loops in one --------------------------------------------------===//

/// The loops of a loop whose body is two of them with stages, one after the other; none if it is another one.
static SmallVector<AffineForOp> partsOf(AffineForOp loop) {
  SmallVector<AffineForOp> parts;
  for (Operation &op : loop.getBody()->without_terminator())
    if (auto part = dyn_cast<AffineForOp>(op); part && part->hasAttr(tile::stagesAttr))
      parts.push_back(part);
    else
      return {};
  return parts.size() == 2 ? parts : SmallVector<AffineForOp>();
}

static int64_t stagesOf(AffineForOp loop) { return loop->getAttrOfType<IntegerAttr>(tile::stagesAttr).getInt(); }

/// The second loop of each iteration runs beside the first loop of the next one.
static LogicalResult pipelineParts(AffineForOp loop, ArrayRef<AffineForOp> parts) {
  for (AffineForOp each : {loop, parts[0], parts[1]}) {
    bool isFixed = llvm::all_of(each.getUpperBoundOperands(), [&](Value operand) {
      return !loop->isAncestor(operand.getParentRegion()->getParentOp());
    });
    if (!each.hasConstantLowerBound() || each.getConstantLowerBound() != 0 || each.getStepAsInt() != 1 ||
        each.getUpperBoundMap().getNumResults() != 1 || !isFixed)
      return each.emitError("of a pipeline of two loops runs from 0 to one value that is known outside, in steps of 1");
  }
  if (stagesOf(loop) != 2 || loop.getNumIterOperands() != 0)
    return loop.emitError() << "has " << stagesOf(loop)
                            << " stages; what its first loop hands to the second one has two";
  StagedLoop first(parts[0], stagesOf(parts[0]), loop), second(parts[1], stagesOf(parts[1]), loop);
  if (failed(first.takeApart()) || failed(second.takeApart()))
    return failure();
  if (first.hasGroups() && !first.isAsynchronous())
    return AffineForOp(parts[0]).emitError("has groups of work that no unit does: nothing is waited for at its end");
  if (first.hasGroups() && second.groupCount() > first.groupCount())
    return AffineForOp(parts[1]).emitError() << "has " << second.groupCount() << " groups; at most the "
                                             << first.groupCount() << " of the loop before it run beside them";
  OpBuilder builder(loop);
  IterationSpace space(builder, loop.getLoc());
  AffineExpr tiles, steps, slices, zero = builder.getAffineConstantExpr(0), together; // iterations of both loops
  for (auto [each, count] : {std::pair(loop, &tiles), {parts[0], &steps}, {parts[1], &slices}})
    *count = boundOf(space, each.getUpperBoundMap(), each.getUpperBoundOperands(), /*isLower=*/false);
  auto known = dyn_cast<AffineConstantExpr>(steps - slices);
  if (known)
    together = known.getValue() >= 0 ? slices : steps;
  else
    together =
        space.define(arith::MinSIOp::create(builder, space.loc, space.value(steps), space.value(slices)).getResult());
  first.setRange(zero, steps, tiles * steps);
  second.setRange(zero, slices, tiles * slices);
  Tokens tokens = first.begin(space);
  llvm::append_range(tokens, second.begin(space));
  const size_t ofFirst = first.carries();
  tokens = space.reduce(zero, tiles, tokens, [&](AffineExpr tile, ValueRange outside) {
    Tokens done = space.reduce(zero, steps, outside, [&](AffineExpr step, ValueRange carried) {
      auto finishes = [&] {
        Condition later = compare(space, zero, tile);
        return together != steps ? both(space, later, compare(space, step, slices)) : later;
      };
      ValueRange own = carried.take_front(ofFirst), rest = carried.drop_front(ofFirst);
      if (first.hasGroups())
        return first.alternate(space, tile, step, own, second, tile - 1, finishes(), rest);
      Tokens next = first.iteration(space, tile, step, own);
      llvm::append_range(
          next, ifHolds(space, finishes(), rest, [&] { return second.iteration(space, tile - 1, step, rest); }));
      return next;
    });
    if (together == slices)
      return done;
    // What the steps of the first loop left of the second one.
    Tokens rest(ArrayRef(done).drop_front(ofFirst));
    done.truncate(ofFirst);
    llvm::append_range(done, ifHolds(space, compare(space, zero, tile), rest, [&] {
                         return space.reduce(together, slices, rest, [&](AffineExpr slice, ValueRange carried) {
                           return second.iteration(space, tile - 1, slice, carried);
                         });
                       }));
    return done;
  });
  first.finish(space, ArrayRef(tokens).take_front(ofFirst));
  Tokens rest(ArrayRef(tokens).drop_front(ofFirst));
  rest = ifHolds(space, compare(space, zero, tiles), rest, [&] {
    return space.reduce(zero, slices, rest, [&](AffineExpr slice, ValueRange carried) {
      return second.iteration(space, tiles - 1, slice, carried);
    });
  });
  second.finish(space, rest);
  loop.erase();
  return success();
}

namespace {
struct PipelineTiles : tilewright::impl::PipelineTilesBase<PipelineTiles> {
  void getDependentDialects(DialectRegistry &registry) const override {
    PipelineTilesBase::getDependentDialects(registry);
    registry.insert<scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<AffineForOp> loops;
    getOperation().walk([&](AffineForOp loop) {
      auto around = dyn_cast<AffineForOp>(loop->getParentOp());
      bool isPart = around && around->hasAttr(tile::stagesAttr) && !partsOf(around).empty();
      if (loop->hasAttr(tile::stagesAttr) && !isPart)
        loops.push_back(loop);
    });
    for (AffineForOp loop : loops) {
      SmallVector<AffineForOp> parts = partsOf(loop);
      if (failed(parts.empty() ? pipelineLoop(loop, stagesOf(loop)) : pipelineParts(loop, parts)))
        return signalPassFailure();
    }
  }
};
} // namespace
