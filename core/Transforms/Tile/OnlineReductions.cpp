//===- OnlineReductions.cpp - Dependent reductions in one loop ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the statements of a chain anew: once before, in and after its steps.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/OnlineReductions.h"
#include "core/Analysis/DependentReductions.h"
#include "core/Analysis/MaskedSteps.h"
#include "core/Analysis/Settings.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

using Place = ReductionStatement::Place;

namespace {
/// An array in steps, with the loops that index it, each alone; `map`: an array of the program, at its indices.
struct StepArray {
  Value buffer;
  SmallVector<unsigned> loops;
  AffineMap map;
};

/// The three arrays of a maximum that exponentials stand at, and what states at it are multiplied by.
struct BaseArrays {
  StepArray old, base;
  llvm::SmallMapVector<unsigned, StepArray, 2> corrections; // of each base with this maximum
};

/// The mean so far, what it has moved by in this step, and of how many iterations it was.
struct MeanArrays {
  StepArray base, shift, count;
};

class StepWriter {
public:
  StepWriter(DependentReductions &chain, int64_t step, OpBuilder buffers)
      : chain(chain), step(std::min(step, chain.loops[chain.common].trips)), buffers(buffers),
        conditions(liveConditions(chain)), loc(chain.statements.front().root->getLoc()) {}
  void write(OpBuilder &builder);

private:
  using Body = llvm::function_ref<void(OpBuilder &)>;
  SmallVector<int64_t> trips(ArrayRef<unsigned> loops) const;
  StepArray allocate(ArrayRef<unsigned> loops, Type element);
  StepArray &partOf(unsigned statement, unsigned part);
  StepArray &stateOf(unsigned statement, unsigned part);
  void nest(OpBuilder &builder, ArrayRef<unsigned> loops, Body body);
  Value load(OpBuilder &builder, const StepArray &array);
  void store(OpBuilder &builder, Value value, const StepArray &array);
  std::pair<AffineMap, SmallVector<Value>> indices(AffineMap map);
  std::pair<AffineMap, SmallVector<Value>> placeIn(const StepArray &array);
  Value emit(OpBuilder &builder, const Term *term);
  Value emitLoad(OpBuilder &builder, const Term *term);
  Value constant(TypedAttr value);
  Value exponential(OpBuilder &builder, const ReductionBase &base, Value from, Value to);
  Value isAbove(OpBuilder &builder, const ReductionBase &base, Value value);

  void writeWhole(OpBuilder &builder, const ReductionStatement &s);
  void writeLocal(OpBuilder &builder, unsigned number);
  void writeState(OpBuilder &builder, unsigned number);
  void writeBase(OpBuilder &builder, unsigned number, BaseArrays &arrays);
  void scale(OpBuilder &builder, const StepArray &state, ArrayRef<unsigned> bases);
  void writeMean(OpBuilder &builder, const ReductionStatement &sum, MeanArrays &arrays);
  void moveMean(OpBuilder &builder, unsigned number, unsigned part);
  const Term *lowerTerm(const SeparablePair &pair, unsigned power);
  StepArray *lowerState(unsigned statement, unsigned part, unsigned power);
  Value lowerSum(OpBuilder &builder, unsigned statement, unsigned part, unsigned power, Value shift);
  void writeStep(OpBuilder &builder);
  void readOut(OpBuilder &builder, unsigned number);
  void writeBegin(OpBuilder &builder);
  void writeSteps(OpBuilder &builder);
  void writeLoop(OpBuilder &builder, const StepRange &range);

  DependentReductions &chain;
  int64_t step;
  OpBuilder buffers;
  Conditions conditions;                                               // of iterations of the common loop that count
  llvm::MapVector<unsigned, BaseArrays> bases;                         // by the statement of the maximum
  std::map<std::tuple<unsigned, unsigned, unsigned>, StepArray> lower; // of powers of distances from a mean
  llvm::MapVector<unsigned, MeanArrays> means;                         // by number
  std::map<std::pair<unsigned, unsigned>, StepArray> parts, states;    // of statements and their pairs
  llvm::DenseMap<Value, StepArray> ofArrays;                           // in steps, for arrays of the program
  llvm::DenseMap<Attribute, Value> constants;
  // Of the place that is written:
  Location loc;
  Value stepNumber;  // null: `whole`
  int64_t whole = 0; // whole steps
  int64_t size = 0;  // iterations of the step
  bool inStep = false;
  Conditions given;                          // that hold in all iterations of the step
  llvm::DenseMap<unsigned, Value> positions; // of loops
  llvm::DenseMap<const Term *, Value> emitted;
};
} // namespace

//===-- Arrays and nests --------------------------------------------------===//

StepArray StepWriter::allocate(ArrayRef<unsigned> loops, Type element) {
  StepArray array;
  array.loops.assign(loops.begin(), loops.end());
  SmallVector<int64_t> shape;
  for (unsigned loop : loops)
    shape.push_back(loop == chain.common ? step : chain.loops[loop].trips);
  array.buffer = memref::AllocOp::create(buffers, loc, MemRefType::get(shape, element), buffers.getI64IntegerAttr(64));
  return array;
}

/// Loops that index `s.memref`, in the order of its dimensions, as far as `used`.
static SmallVector<unsigned> indexLoops(const DependentReductions &chain, AffineMap map,
                                        const llvm::SmallBitVector &used) {
  SmallVector<unsigned> loops;
  for (unsigned d = 0; d < map.getNumResults(); ++d)
    if (std::optional<unsigned> loop = chain.loopOfIndex(map, d); loop && used.test(*loop))
      loops.push_back(*loop);
  return loops;
}

/// Where steps keep g of a pair of what each iteration of the common loop computes.
StepArray &StepWriter::partOf(unsigned statement, unsigned part) {
  const ReductionStatement &s = chain.statements[statement];
  llvm::SmallBitVector all(chain.loops.size(), true);
  if (s.pairs.size() == 1) {
    StepArray &array = ofArrays[s.memref];
    if (!array.buffer)
      array = allocate(indexLoops(chain, s.map, all), cast<MemRefType>(s.memref.getType()).getElementType());
    return array;
  }
  StepArray &array = parts[{statement, part}];
  if (!array.buffer)
    array = allocate(indexLoops(chain, s.map, chain.loopsOf(s.pairs[part].g)), s.pairs[part].g->type);
  return array;
}

/// Where the sum of g of a pair is kept: of a single pair, where the program keeps the result.
StepArray &StepWriter::stateOf(unsigned statement, unsigned part) {
  const ReductionStatement &s = chain.statements[statement];
  StepArray &array = states[{statement, part}];
  llvm::SmallBitVector all(chain.loops.size(), true);
  if (s.pairs.size() == 1)
    return array = StepArray{s.memref, indexLoops(chain, s.map, all), s.map};
  if (!array.buffer)
    array = allocate(indexLoops(chain, s.map, chain.loopsOf(s.pairs[part].g)),
                     cast<MemRefType>(s.memref.getType()).getElementType());
  return array;
}

/// A perfect nest of `loops`; that over the common dimension has the iterations of the step.
void StepWriter::nest(OpBuilder &builder, ArrayRef<unsigned> loops, Body body) {
  OpBuilder inner = builder;
  positions.clear();
  emitted.clear();
  for (unsigned loop : loops) {
    const DependentReductions::Loop &own = chain.loops[loop];
    AffineMap bound = inner.getConstantAffineMap(inStep && loop == chain.common ? size : own.trips);
    if (own.bound)
      bound = inner.getSymbolIdentityMap();
    auto each = AffineForOp::create(inner, loc, {}, inner.getConstantAffineMap(0),
                                    own.bound ? ValueRange(own.bound) : ValueRange(), bound);
    positions[loop] = each.getInductionVar();
    inner = OpBuilder::atBlockBegin(each.getBody());
  }
  body(inner);
}

/// Indices of `array` in the nest that is written.
std::pair<AffineMap, SmallVector<Value>> StepWriter::placeIn(const StepArray &array) {
  if (array.map)
    return indices(array.map);
  return {AffineMap::getMultiDimIdentityMap(array.loops.size(), buffers.getContext()),
          llvm::map_to_vector(array.loops, [&](unsigned loop) { return positions.lookup(loop); })};
}

Value StepWriter::load(OpBuilder &builder, const StepArray &array) {
  auto [map, operands] = placeIn(array);
  return AffineLoadOp::create(builder, loc, array.buffer, map, operands);
}

void StepWriter::store(OpBuilder &builder, Value value, const StepArray &array) {
  auto [map, operands] = placeIn(array);
  AffineStoreOp::create(builder, loc, value, array.buffer, map, operands);
}

/// Indices of an array of the program: iterations of the common loop begin at those of the step.
std::pair<AffineMap, SmallVector<Value>> StepWriter::indices(AffineMap map) {
  MLIRContext *context = map.getContext();
  SmallVector<Value> dims;
  SmallVector<AffineExpr> expressions;
  for (unsigned loop = 0; loop < chain.loops.size(); ++loop) {
    Value position = positions.lookup(loop);
    AffineExpr expression = getAffineConstantExpr(0, context);
    if (position) {
      expression = getAffineDimExpr(dims.size(), context);
      dims.push_back(position);
    }
    if (inStep && loop == chain.common) {
      if (stepNumber) {
        expression = getAffineDimExpr(dims.size(), context) * step + expression;
        dims.push_back(stepNumber);
      } else {
        expression = expression + whole * step;
      }
    }
    expressions.push_back(expression);
  }
  SmallVector<AffineExpr> symbols;
  for (unsigned symbol = 0; symbol < chain.symbols.size(); ++symbol)
    symbols.push_back(getAffineSymbolExpr(symbol, context));
  AffineMap own = map.replaceDimsAndSymbols(expressions, symbols, dims.size(), symbols.size());
  SmallVector<Value> operands(dims);
  llvm::append_range(operands, chain.symbols);
  canonicalizeMapAndOperands(&own, &operands);
  return {simplifyAffineMap(own), operands};
}

//===-- Expressions -------------------------------------------------------===//

Value StepWriter::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known)
    known = arith::ConstantOp::create(buffers, loc, value);
  return known;
}

Value StepWriter::emitLoad(OpBuilder &builder, const Term *term) {
  if (inStep && term->writer >= 0) {
    const ReductionStatement &from = chain.statements[term->writer];
    if (from.place == Place::Step && !from.isState)
      return load(builder, partOf(term->writer, std::max(term->part, 0)));
    for (auto [number, mean] : llvm::enumerate(chain.means))
      if (mean.value == term)
        return load(builder, means[number].base);
    if (from.isState)
      return load(builder, bases[term->writer].base);
  }
  auto [map, operands] = indices(term->map);
  return AffineLoadOp::create(builder, loc, term->value, map, operands);
}

Value StepWriter::emit(OpBuilder &builder, const Term *term) {
  if (Value known = emitted.lookup(term))
    return known;
  Value value;
  switch (term->kind) {
  case Term::Kind::Load:
    value = emitLoad(builder, term);
    break;
  case Term::Kind::Constant:
    return constant(cast<TypedAttr>(term->attribute));
  case Term::Kind::Outer:
    return term->value;
  case Term::Kind::Index: {
    AffineMap own = AffineMap::get(chain.loops.size(), chain.symbols.size(), builder.getAffineDimExpr(term->loop));
    auto [map, operands] = indices(own);
    value = AffineApplyOp::create(builder, loc, map, operands);
    break;
  }
  case Term::Kind::Op: {
    if (term->name == arith::SelectOp::getOperationName() && !given.empty())
      if (std::optional<bool> isFirst = decidedBy(chain, term->operands[0], given))
        return emitted[term] = emit(builder, term->operands[*isFirst ? 1 : 2]);
    SmallVector<Value> operands;
    for (const Term *operand : term->operands)
      operands.push_back(emit(builder, operand));
    OperationState state(loc, term->name, operands, term->type, cast<DictionaryAttr>(term->attribute).getValue());
    value = builder.create(state)->getResult(0);
    break;
  }
  }
  return emitted[term] = value;
}

/// `value`, a maximum, is one of terms above -inf; of a minimum, below inf.
Value StepWriter::isAbove(OpBuilder &builder, const ReductionBase &base, Value value) {
  auto type = cast<FloatType>(value.getType());
  Value none = constant(cast<TypedAttr>(
      builder.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/!base.isMinimum))));
  return arith::CmpFOp::create(builder, loc, base.isMinimum ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT,
                               value, none);
}

/// What states at maximum `from` are multiplied by to stand at `to`.
Value StepWriter::exponential(OpBuilder &builder, const ReductionBase &base, Value from, Value to) {
  Value difference =
      base.isMinimum ? arith::SubFOp::create(builder, loc, to, from) : arith::SubFOp::create(builder, loc, from, to);
  if (base.factor)
    difference = arith::MulFOp::create(builder, loc, difference, constant(cast<TypedAttr>(base.factor->attribute)));
  return base.exp == "math.exp" ? Value(math::ExpOp::create(builder, loc, difference))
                                : Value(math::Exp2Op::create(builder, loc, difference));
}

//===-- Statements --------------------------------------------------------===//

static Value combined(OpBuilder &builder, const ReductionStatement &s, Value sum, Value term) {
  Operation *op = builder.clone(*s.combine);
  op->setOperand(s.sumIsFirst ? 0 : 1, sum);
  op->setOperand(s.sumIsFirst ? 1 : 0, term);
  return op->getResult(0);
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

/// What the array of the program is to hold: the sum of h times the state, at the last maximum.
void StepWriter::readOut(OpBuilder &builder, unsigned number) {
  const ReductionStatement &s = chain.statements[number];
  if (bases.contains(number) || (s.pairs.size() == 1 && s.pairs.front().isPlain()))
    return;
  auto type = cast<FloatType>(cast<MemRefType>(s.memref.getType()).getElementType());
  auto count = [&](OpBuilder &inner) { return constant(inner.getFloatAttr(type, double(chain.countOf(s)))); };
  llvm::SmallBitVector all(chain.loops.size(), true);
  nest(builder, indexLoops(chain, s.map, all), [&](OpBuilder &inner) {
    auto times = [&](Value a, Value b) -> Value { return arith::MulFOp::create(inner, loc, a, b); };
    Value sum;
    for (auto [part, pair] : llvm::enumerate(s.pairs)) {
      Value value = pair.g ? load(inner, stateOf(number, part)) : count(inner);
      for (unsigned base : pair.bases)
        value = times(value, load(inner, bases[chain.bases[base].statement].corrections[base]));
      if (pair.mean >= 0) {
        Value last = emit(inner, chain.means[pair.mean].value);
        Value shift = arith::SubFOp::create(inner, loc, load(inner, means[pair.mean].base), last);
        value = arith::AddFOp::create(inner, loc, value, lowerSum(inner, number, part, pair.power, shift));
      }
      for (SeparablePair::Factor factor : pair.h) {
        Value h = converted(inner, emit(inner, factor.term), type);
        value = factor.isDivisor ? Value(arith::DivFOp::create(inner, loc, value, h)) : times(value, h);
      }
      if (pair.isNegative)
        value = arith::NegFOp::create(inner, loc, value);
      Value zero = constant(inner.getFloatAttr(type, 0.0));
      for (SeparablePair::Guard guard : pair.guards)
        value = arith::SelectOp::create(inner, loc, emit(inner, guard.where), guard.isZeroIfTrue ? zero : value,
                                        guard.isZeroIfTrue ? value : zero);
      sum = sum ? Value(arith::AddFOp::create(inner, loc, sum, value)) : value;
    }
    store(inner, sum, StepArray{s.memref, {}, s.map});
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
  int64_t trips = chain.loops[chain.common].trips;
  whole = trips / step;
  inStep = true;
  size = step;
  const StepBounds bounds = boundSteps(chain, conditions, step);
  for (const StepRange &range : rangesOf(chain, bounds, whole))
    writeLoop(builder, range);
  size = trips % step;
  std::optional<StepRange> last = rangeOfLast(chain, bounds, whole);
  if (size && last)
    writeLoop(builder, *last);
  else if (size)
    writeStep(builder);
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
  log->add("dependent-reductions", loc,
           llvm::json::Object{{"inputs", llvm::json::Object{{"iterations", chain.loops[chain.common].trips},
                                                            {"statements", std::move(statements)}}},
                              {"choice", llvm::json::Object{{"step", step}, {"states", std::move(states)}}}});
}

LogicalResult tilewright::stepReductions(ArrayRef<Operation *> ops, int64_t step,
                                         llvm::function_ref<bool(Operation *)> isInside, OpBuilder buffers,
                                         std::string &reason) {
  if (ops.empty()) {
    reason = "there are no nests";
    return failure();
  }
  bool mayReassociate = Settings::of(ops.front()).mayReassociate();
  std::unique_ptr<DependentReductions> chain = DependentReductions::find(ops, isInside, mayReassociate, reason);
  if (!chain)
    return failure();
  if (ops.front()->getParentOfType<ModuleOp>()) // no trial of a schedule
    record(*chain, step, ops.front()->getLoc());
  OpBuilder builder(ops.back());
  builder.setInsertionPointAfter(ops.back());
  StepWriter(*chain, step, buffers).write(builder);
  for (Operation *op : llvm::reverse(ops))
    if (isa<AffineForOp, AffineStoreOp>(op) || (isMemoryEffectFree(op) && op->use_empty()) ||
        (isa<AffineLoadOp>(op) && op->use_empty()))
      op->erase();
  return success();
}
