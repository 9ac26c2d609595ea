//===- OnlineReductions.cpp - Dependent reductions in one loop ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The statements of a chain once before, in and after its steps.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/OnlineReductions.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Tile/StepWriter.h"
#include "core/Transforms/Utils/NestBody.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

using Place = ReductionStatement::Place;

//===-- Statements --------------------------------------------------------===//

Value StepWriter::combined(OpBuilder &builder, const ReductionStatement &s, Value sum, Value term) {
  if (!s.sumIsFirst)
    std::swap(sum, term);
  return cloneOf(builder, s.combine, {sum, term});
}

static Value converted(OpBuilder &builder, Value value, FloatType type) {
  if (value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getWidth())
    return arith::ExtFOp::create(builder, value.getLoc(), type, value);
  return arith::TruncFOp::create(builder, value.getLoc(), type, value);
}

/// The statement as it was.
void StepWriter::writeWhole(OpBuilder &builder, const ReductionStatement &s) {
  llvm::SaveAndRestore<Location> place(loc, s.root->getLoc());
  nest(builder, s.loops, [&](OpBuilder &inner) {
    auto [map, operands] = indices(s.map);
    Value value = emit(inner, s.term);
    if (s.combine)
      value = combined(inner, s, AffineLoadOp::create(inner, loc, s.memref, map, operands), value);
    AffineStoreOp::create(inner, loc, value, s.memref, map, operands);
  });
}

static SmallVector<unsigned> loopsAmong(ArrayRef<unsigned> loops, const llvm::SmallBitVector &used) {
  SmallVector<unsigned> result;
  llvm::copy_if(loops, std::back_inserter(result), [&](unsigned loop) { return used.test(loop); });
  return result;
}

void StepWriter::writeLocal(OpBuilder &builder, unsigned number) {
  llvm::SaveAndRestore<Location> place(loc, chain.statements[number].root->getLoc());
  const ReductionStatement &s = chain.statements[number];
  for (auto [part, pair] : llvm::enumerate(s.pairs)) {
    bool isThere = s.pairs.size() > 1 && pair.g && pair.bases.empty() &&
                   (pair.g->kind == Term::Kind::Load || pair.g->kind == Term::Kind::Constant);
    if (!pair.g || isThere)
      continue;
    StepArray &array = partOf(number, part);
    SmallVector<unsigned> loops(s.loops.begin(), s.loops.end());
    if (s.pairs.size() > 1)
      loops = loopsAmong(s.loops, chain.loopsOf(pair.g));
    nest(builder, loops, [&, &pair = pair](OpBuilder &inner) {
      Value sum = s.combine ? load(inner, array) : Value();
      Value value = emit(inner, pair.g);
      store(inner, s.combine ? combined(inner, s, sum, value) : value, array);
    });
  }
}

/// old = m; m = max(m, x); base = m > -inf ? m : 0; correction = old > -inf ? exp(old - base) : 0
void StepWriter::writeBase(OpBuilder &builder, unsigned number, BaseArrays &arrays) {
  const ReductionStatement &s = chain.statements[number];
  auto type = cast<FloatType>(s.term->type);
  Value zero = constant(builder.getFloatAttr(type, 0.0));
  auto own = [&](OpBuilder &inner) {
    auto [map, operands] = indices(s.map);
    return AffineLoadOp::create(inner, loc, s.memref, map, operands);
  };
  nest(builder, arrays.old.loops, [&](OpBuilder &inner) { store(inner, own(inner), arrays.old); });
  writeWhole(builder, s);
  nest(builder, arrays.old.loops, [&](OpBuilder &inner) {
    Value value = own(inner);
    Value above = isAbove(inner, chain.bases[arrays.corrections.front().first], value);
    store(inner, arith::SelectOp::create(inner, loc, above, value, zero), arrays.base);
  });
  for (auto &[base, correction] : arrays.corrections)
    nest(builder, arrays.old.loops, [&, base = base, &correction = correction](OpBuilder &inner) {
      Value before = load(inner, arrays.old);
      Value factor = exponential(inner, chain.bases[base], before, load(inner, arrays.base));
      Value above = isAbove(inner, chain.bases[base], before);
      store(inner, arith::SelectOp::create(inner, loc, above, factor, zero), correction);
    });
}

/// The state, times the corrections of its bases.
void StepWriter::scale(OpBuilder &builder, const StepArray &state, ArrayRef<unsigned> bases) {
  nest(builder, state.loops, [&](OpBuilder &inner) {
    Value value = load(inner, state);
    for (unsigned base : bases) {
      const StepArray &correction = this->bases[chain.bases[base].statement].corrections[base];
      value = arith::MulFOp::create(inner, loc, value, load(inner, correction));
    }
    store(inner, value, state);
  });
}

/// base = sum / (count + size); shift = count > 0 ? old base - base : 0
void StepWriter::writeMean(OpBuilder &builder, const ReductionStatement &sum, MeanArrays &arrays) {
  nest(builder, arrays.base.loops, [&](OpBuilder &inner) {
    auto type = cast<FloatType>(sum.term->type);
    Value count = load(inner, arrays.count), zero = constant(inner.getFloatAttr(type, 0.0));
    Value all = arith::AddFOp::create(inner, loc, count, constant(inner.getFloatAttr(type, double(size))));
    Value before = load(inner, arrays.base);
    Value now = arith::DivFOp::create(inner, loc, load(inner, StepArray{sum.memref, {}, sum.map}), all);
    store(inner, now, arrays.base);
    Value moved = arith::SubFOp::create(inner, loc, before, now);
    Value isFirst = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OGT, count, zero);
    store(inner, arith::SelectOp::create(inner, loc, isFirst, moved, zero), arrays.shift);
  });
}

/// (x - m)^power * rest of a pair at a mean; null: one.
const Term *StepWriter::lowerTerm(const SeparablePair &pair, unsigned power) {
  const Term *term = power == 0 ? pair.rest : nullptr, *distance = chain.means[pair.mean].distance;
  auto times = [&](const Term *by) { term = term ? chain.operation("arith.mulf", {term, by}, distance->type) : by; };
  for (unsigned i = 0; i < power; ++i)
    times(distance);
  if (power > 0 && pair.rest)
    times(pair.rest);
  return term;
}

/// Where the sum of a lower power is kept; null where it is zero, as that of distances from the mean so far.
StepArray *StepWriter::lowerState(unsigned statement, unsigned part, unsigned power) {
  const ReductionStatement &s = chain.statements[statement];
  const SeparablePair &pair = s.pairs[part];
  if (!pair.rest && power < 2)
    return power == 0 ? &means[pair.mean].count : nullptr;
  StepArray &array = lower[{statement, part, power}];
  if (!array.buffer)
    array = allocate(indexLoops(chain, s.map, chain.loopsOf(lowerTerm(pair, power))), s.term->type);
  return &array;
}

/// What a sum of (x - b)^power * rest grows by when b moves by -shift: binomial * shift^(power - k) * that of power k.
Value StepWriter::lowerSum(OpBuilder &builder, unsigned statement, unsigned part, unsigned power, Value shift) {
  auto times = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, loc, a, b); };
  Value sum, moved = shift;
  int64_t binomial = power; // of k = power - 1
  for (unsigned k = power; k-- > 0; moved = times(moved, shift)) {
    if (StepArray *state = lowerState(statement, part, k)) {
      Value each = times(moved, load(builder, *state));
      if (binomial > 1)
        each = times(each, constant(builder.getFloatAttr(each.getType(), double(binomial))));
      sum = sum ? Value(arith::AddFOp::create(builder, loc, sum, each)) : each;
    }
    binomial = binomial * k / (power - k + 1);
  }
  return sum;
}

/// States at the new mean; higher powers first, since they read the lower ones as they were.
void StepWriter::moveMean(OpBuilder &builder, unsigned number, unsigned part) {
  const SeparablePair &pair = chain.statements[number].pairs[part];
  for (unsigned power = pair.power; power > 0; --power) {
    StepArray *state = power == pair.power ? &stateOf(number, part) : lowerState(number, part, power);
    if (!state)
      continue;
    nest(builder, state->loops, [&](OpBuilder &inner) {
      Value shift = load(inner, means[pair.mean].shift);
      Value move = lowerSum(inner, number, part, power, shift);
      store(inner, arith::AddFOp::create(inner, loc, load(inner, *state), move), *state);
    });
  }
}

void StepWriter::writeState(OpBuilder &builder, unsigned number) {
  llvm::SaveAndRestore<Location> place(loc, chain.statements[number].root->getLoc());
  const ReductionStatement &s = chain.statements[number];
  if (auto found = bases.find(number); found != bases.end())
    return writeBase(builder, number, found->second);
  for (auto [part, pair] : llvm::enumerate(s.pairs)) {
    if (!pair.g)
      continue; // a sum of ones is known
    StepArray &state = stateOf(number, part);
    if (!pair.bases.empty())
      scale(builder, state, pair.bases);
    if (pair.mean >= 0)
      moveMean(builder, number, part);
    auto sum = [&](const Term *term, const StepArray &to) {
      llvm::SmallBitVector used = chain.loopsOf(term);
      for (unsigned loop : s.reduced)
        used.set(loop);
      for (unsigned loop : to.loops)
        used.set(loop);
      nest(builder, loopsAmong(s.loops, used), [&](OpBuilder &inner) {
        Value before = load(inner, to);
        store(inner, combined(inner, s, before, emit(inner, term)), to);
      });
    };
    for (unsigned power = 0; power < pair.power; ++power)
      if (StepArray *state = lowerState(number, part, power); state && lowerTerm(pair, power))
        sum(lowerTerm(pair, power), *state);
    sum(pair.g, state);
  }
  for (auto [mean, arrays] : means)
    if (chain.means[mean].statement == number)
      writeMean(builder, s, arrays);
}

void StepWriter::writeStep(OpBuilder &builder) {
  for (auto [number, s] : llvm::enumerate(chain.statements))
    if (s.place == Place::Step)
      s.isState ? writeState(builder, number) : writeLocal(builder, number);
  for (auto &[number, arrays] : means)
    nest(builder, {}, [&, &arrays = arrays](OpBuilder &inner) {
      Value count = load(inner, arrays.count);
      Value more = constant(inner.getFloatAttr(cast<FloatType>(count.getType()), double(size)));
      store(inner, arith::AddFOp::create(inner, loc, count, more), arrays.count);
    });
}

Value StepWriter::sumOf(OpBuilder &builder, unsigned statement, unsigned part) {
  return load(builder, stateOf(statement, part));
}

Value StepWriter::lastCorrection(OpBuilder &builder, unsigned number) {
  return load(builder, bases[chain.bases[number].statement].corrections[number]);
}

/// What a reduction is: the sum of h times the state, at the last maximum.
Value StepWriter::resultOf(OpBuilder &builder, unsigned number) {
  const ReductionStatement &s = chain.statements[number];
  auto type = cast<FloatType>(cast<MemRefType>(s.memref.getType()).getElementType());
  auto times = [&](Value a, Value b) -> Value { return arith::MulFOp::create(builder, loc, a, b); };
  Value sum;
  for (auto [part, pair] : llvm::enumerate(s.pairs)) {
    Value value =
        pair.g ? sumOf(builder, number, part) : constant(builder.getFloatAttr(type, double(chain.countOf(s))));
    for (unsigned base : pair.bases)
      value = times(value, lastCorrection(builder, base));
    if (pair.mean >= 0) {
      Value last = emit(builder, chain.means[pair.mean].value);
      Value shift = arith::SubFOp::create(builder, loc, load(builder, means[pair.mean].base), last);
      value = arith::AddFOp::create(builder, loc, value, lowerSum(builder, number, part, pair.power, shift));
    }
    for (SeparablePair::Factor factor : pair.h) {
      Value h = converted(builder, emit(builder, factor.term), type);
      value = factor.isDivisor ? Value(arith::DivFOp::create(builder, loc, value, h)) : times(value, h);
    }
    if (pair.isNegative)
      value = arith::NegFOp::create(builder, loc, value);
    Value zero = constant(builder.getFloatAttr(type, 0.0));
    for (SeparablePair::Guard guard : pair.guards)
      value = arith::SelectOp::create(builder, loc, emit(builder, guard.where), guard.isZeroIfTrue ? zero : value,
                                      guard.isZeroIfTrue ? value : zero);
    sum = sum ? Value(arith::AddFOp::create(builder, loc, sum, value)) : value;
  }
  if (any) // a sum of nothing is zero, whatever its factors are
    sum = arith::SelectOp::create(builder, loc, any, sum, emit(builder, chain.statements[s.before].term));
  return sum;
}

/// Gives the array of the program what it is to hold.
void StepWriter::readOut(OpBuilder &builder, unsigned number) {
  llvm::SaveAndRestore<Location> place(loc, chain.statements[number].root->getLoc());
  const ReductionStatement &s = chain.statements[number];
  if (bases.contains(number) || (s.pairs.size() == 1 && s.pairs.front().isPlain()))
    return;
  llvm::SmallBitVector all(chain.loops.size(), true);
  nest(builder, indexLoops(chain, s.map, all), [&](OpBuilder &inner) {
    Value result = resultOf(inner, number);
    store(inner, result, StepArray{s.memref, {}, s.map});
  });
}

/// States that are no array of the program begin as their reduction does.
void StepWriter::writeBegin(OpBuilder &builder) {
  auto begin = [&](const StepArray &state, const Term *first) {
    nest(builder, state.loops, [&](OpBuilder &inner) { store(inner, emit(inner, first), state); });
  };
  for (auto [number, s] : llvm::enumerate(chain.statements)) {
    if (!s.isState)
      continue;
    const Term *first = chain.statements[s.before].term;
    for (auto [part, pair] : llvm::enumerate(s.pairs)) {
      if (pair.g && s.pairs.size() > 1)
        begin(stateOf(number, part), first);
      for (unsigned power = 0; power < pair.power; ++power)
        if (StepArray *state = lowerState(number, part, power); state && lowerTerm(pair, power))
          begin(*state, first);
    }
  }
  if (!conditions.empty()) // perhaps there is no step
    for (auto &[number, arrays] : bases)
      nest(builder, arrays.base.loops, [&, &arrays = arrays](OpBuilder &inner) {
        auto type = cast<MemRefType>(arrays.base.buffer.getType()).getElementType();
        store(inner, constant(inner.getFloatAttr(type, 0.0)), arrays.base);
      });
  for (auto &[number, arrays] : means) {
    const Term *zero = chain.statements[chain.statements[chain.means[number].statement].before].term;
    begin(arrays.base, zero);
    begin(arrays.count, zero);
  }
}

/// A loop over neighbouring steps.
void StepWriter::writeLoop(OpBuilder &builder, const StepRange &range) {
  auto bound = [&](AffineMap map) {
    SmallVector<Value> operands(chain.symbols.begin(), chain.symbols.end());
    canonicalizeMapAndOperands(&map, &operands);
    return std::pair(simplifyAffineMap(map), operands);
  };
  auto [lower, lowerOperands] = bound(range.first);
  auto [upper, upperOperands] = bound(range.end);
  auto loop = AffineForOp::create(builder, loc, lowerOperands, lower, upperOperands, upper);
  loop->setAttr(tile::atAttr, builder.getI64IntegerAttr(stepLoop));
  stepNumber = loop.getInductionVar();
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  if (range.isFull)
    given = conditions;
  writeStep(inner);
  given.clear();
  stepNumber = {};
}

/// All steps that masks do not leave out: those where some iterations may be masked, and, without a test, those where
/// none is.
void StepWriter::writeSteps(OpBuilder &builder) {
  const AffineExpr trips = chain.commonTrips(), count = trips.floorDiv(step);
  const StepBounds bounds = boundSteps(chain, conditions, step);
  inStep = true;
  size = step;
  for (const StepRange &range : rangesOf(chain, bounds, count))
    writeLoop(builder, range);
  std::optional<StepRange> last = rangeOfLast(chain, bounds, count, trips.ceilDiv(step));
  if (auto constant = dyn_cast<AffineConstantExpr>(trips)) {
    whole = constant.getValue() / step;
    size = constant.getValue() % step;
    if (size && last)
      writeLoop(builder, *last);
    else if (size)
      writeStep(builder);
  } else {
    AffineMap left = AffineMap::get(0, 1, {builder.getAffineConstantExpr(step), builder.getAffineSymbolExpr(0) % step},
                                    builder.getContext());
    Value bound = chain.loops[chain.common].bound;
    rest = AffineMinOp::create(buffers, loc, left, bound);
    writeLoop(builder, *last);
    rest = {};
    Value zero = arith::ConstantIndexOp::create(buffers, loc, 0);
    any = arith::CmpIOp::create(buffers, loc, arith::CmpIPredicate::sgt, bound, zero);
  }
  inStep = false;
  for (unsigned number = 0; number < chain.bases.size(); ++number) {
    const ReductionBase &base = chain.bases[number];
    BaseArrays &arrays = bases[base.statement];
    nest(builder, arrays.base.loops, [&](OpBuilder &inner) {
      store(inner, exponential(inner, base, load(inner, arrays.base), emit(inner, base.value)),
            arrays.corrections[number]);
    });
  }
}

void StepWriter::write(OpBuilder &builder) {
  llvm::SmallBitVector all(chain.loops.size(), true);
  for (auto [number, base] : llvm::enumerate(chain.bases)) {
    const ReductionStatement &s = chain.statements[base.statement];
    BaseArrays &arrays = bases[base.statement];
    SmallVector<unsigned> loops = indexLoops(chain, s.map, all);
    if (!arrays.old.buffer) {
      arrays.old = allocate(loops, s.term->type);
      arrays.base = allocate(loops, s.term->type);
    }
    arrays.corrections[number] = allocate(loops, s.term->type);
  }
  for (auto [number, mean] : llvm::enumerate(chain.means)) {
    const ReductionStatement &s = chain.statements[mean.statement];
    SmallVector<unsigned> loops = indexLoops(chain, s.map, all);
    means[number] = {allocate(loops, s.term->type), allocate(loops, s.term->type), allocate({}, s.term->type)};
  }
  for (const ReductionStatement &s : chain.statements)
    if (s.place == Place::Before)
      writeWhole(builder, s);
  writeBegin(builder);
  writeSteps(builder);
  for (auto [number, s] : llvm::enumerate(chain.statements))
    if (s.isState)
      readOut(builder, number);
    else if (s.place == Place::After)
      writeWhole(builder, s);
}

//===-- Entry -------------------------------------------------------------===//

static void record(const DependentReductions &chain, int64_t step, Location loc) {
  DecisionLog *log = DecisionLog::of(loc.getContext());
  if (!log)
    return;
  llvm::json::Array statements, states;
  for (const ReductionStatement &s : chain.statements) {
    if (s.place == Place::Step)
      statements.push_back(chain.text(s));
    if (s.isState)
      states.push_back(llvm::json::Object{
          {"result", chain.text(s)}, {"certificate", chain.pairsText(s)}, {"rank", int64_t(chain.rankOf(s))}});
  }
  const DependentReductions::Loop &common = chain.loops[chain.common];
  llvm::json::Value iterations = nullptr; // not constant
  if (!common.bound)
    iterations = common.trips;
  log->add("dependent-reductions", loc,
           llvm::json::Object{{"inputs", llvm::json::Object{{"iterations", std::move(iterations)},
                                                            {"statements", std::move(statements)}}},
                              {"choice", llvm::json::Object{{"step", step}, {"states", std::move(states)}}}});
}

/// The chain of `ops`; null with a reason where steps cannot compute it.
static std::unique_ptr<DependentReductions>
chainOf(ArrayRef<Operation *> ops, llvm::function_ref<bool(Operation *)> isInside, bool mayBeOne, std::string &reason) {
  const bool mayReassociate = Settings::of(ops.front()).mayReassociate();
  auto chain = DependentReductions::find(ops, isInside, mayReassociate, reason, mayBeOne);
  if (!chain)
    return nullptr;
  bool counts = !chain->means.empty() || llvm::any_of(chain->statements, [](const ReductionStatement &s) {
    return s.isState && llvm::any_of(s.pairs, [](const SeparablePair &pair) { return !pair.g; });
  });
  if (counts && chain->loops[chain->common].bound) {
    reason = "how many elements a sum has that a mean or a constant is part of is not known";
    return nullptr;
  }
  return chain;
}

using Chains = SmallVector<std::unique_ptr<DependentReductions>, 2>;

/// The chains of two passes: `ops` up to the first place where both parts are chains, and the others.
static Chains twoPassesOf(ArrayRef<Operation *> ops, llvm::function_ref<bool(Operation *)> isInside,
                          std::string &reason) {
  auto partOf = [&](ArrayRef<Operation *> part) {
    auto isInPart = [&](Operation *op) {
      auto isAround = [&](Operation *each) { return each->isAncestor(op); };
      return llvm::any_of(part, isAround) || (isInside(op) && llvm::none_of(ops, isAround));
    };
    return chainOf(part, isInPart, /*mayBeOne=*/true, reason);
  };
  for (size_t cut = 1; cut < ops.size(); ++cut)
    if (auto first = partOf(ops.take_front(cut)))
      if (auto second = partOf(ops.drop_front(cut))) {
        Chains chains;
        chains.push_back(std::move(first));
        chains.push_back(std::move(second));
        return chains;
      }
  return {};
}

LogicalResult tilewright::stepReductions(ArrayRef<Operation *> ops, int64_t step, int64_t passes,
                                         llvm::function_ref<bool(Operation *)> isInside, OpBuilder buffers,
                                         std::string &reason) {
  if (ops.empty()) {
    reason = "there are no nests";
    return failure();
  }
  Chains chains;
  if (passes == 1) {
    if (auto chain = chainOf(ops, isInside, /*mayBeOne=*/false, reason))
      chains.push_back(std::move(chain));
  } else if (passes == 2) {
    chains = twoPassesOf(ops, isInside, reason);
  } else {
    reason = "there are " + std::to_string(passes) + " passes, and two are the most";
  }
  if (chains.empty())
    return failure();
  OpBuilder builder(ops.back());
  builder.setInsertionPointAfter(ops.back());
  for (const auto &chain : chains) {
    if (ops.front()->getParentOfType<ModuleOp>()) // no trial of a schedule
      record(*chain, step, ops.front()->getLoc());
    StepWriter(*chain, step, buffers).write(builder);
  }
  for (Operation *op : llvm::reverse(ops))
    if (isa<AffineForOp, AffineStoreOp>(op) || (isMemoryEffectFree(op) && op->use_empty()) ||
        (isa<AffineLoadOp>(op) && op->use_empty()))
      op->erase();
  return success();
}
