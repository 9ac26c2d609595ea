//===- StepWriter.cpp - Arrays, nests and expressions of steps ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where steps keep what they compute, and how a term of the chain is written in them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Tile/StepWriter.h"
#include "core/Analysis/Guards.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

using Place = ReductionStatement::Place;

//===-- Arrays and nests --------------------------------------------------===//

StepArray StepWriter::allocate(ArrayRef<unsigned> loops, Type element, int64_t parts) {
  StepArray array;
  array.loops.assign(loops.begin(), loops.end());
  array.ofEachStep = parts != 0;
  SmallVector<int64_t> shape;
  if (parts)
    shape.push_back(parts);
  for (unsigned loop : loops)
    shape.push_back(loop == chain.common ? step : chain.loops[loop].trips);
  array.buffer = memref::AllocOp::create(buffers, loc, MemRefType::get(shape, element), buffers.getI64IntegerAttr(64));
  return array;
}

SmallVector<unsigned> tilewright::indexLoops(const DependentReductions &chain, AffineMap map,
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
  const bool isWhole = s.pairs.size() == 1;
  StepArray &array = isWhole ? ofArrays[s.memref] : parts[{statement, part}];
  if (array.buffer)
    return array;
  const llvm::SmallBitVector all(chain.loops.size(), true);
  Type element = isWhole ? cast<MemRefType>(s.memref.getType()).getElementType() : s.pairs[part].g->type;
  return array = allocate(indexLoops(chain, s.map, isWhole ? all : chain.loopsOf(s.pairs[part].g)), element, numParts);
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
    bool isStep = inStep && loop == chain.common;
    Value fewer = isStep ? rest : own.bound;
    AffineMap bound = inner.getConstantAffineMap(isStep ? size : own.trips);
    auto each =
        AffineForOp::create(inner, loc, {}, inner.getConstantAffineMap(0), fewer ? ValueRange(fewer) : ValueRange(),
                            fewer ? inner.getSymbolIdentityMap() : bound);
    positions[loop] = each.getInductionVar();
    inner = OpBuilder::atBlockBegin(each.getBody());
  }
  body(inner);
}

/// Indices of `array` in the nest that is written.
std::pair<AffineMap, SmallVector<Value>> StepWriter::placeIn(const StepArray &array) {
  if (array.map)
    return indices(array.map);
  SmallVector<Value> place = llvm::map_to_vector(array.loops, [&](unsigned loop) { return positions.lookup(loop); });
  if (array.ofEachStep)
    place.insert(place.begin(), stepNumber);
  return {AffineMap::getMultiDimIdentityMap(place.size(), buffers.getContext()), place};
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

/// An element of `memref`, of constant sizes, or zero where an index of `dimensions` is outside of it.
static Value boundedLoad(OpBuilder &builder, Location loc, Value memref, AffineMap map, ValueRange operands,
                         ArrayRef<int64_t> dimensions) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<AffineExpr> constraints;
  for (int64_t d : dimensions)
    llvm::append_values(constraints, map.getResult(d), type.getDimSize(d) - 1 - map.getResult(d));
  IntegerSet guard =
      IntegerSet::get(map.getNumDims(), map.getNumSymbols(), constraints, SmallVector<bool>(constraints.size(), false));
  SmallVector<Value> guarded(operands);
  if (simplifyGuard(guard, guarded) == GuardForm::Always)
    return AffineLoadOp::create(builder, loc, memref, map, operands);
  auto test = AffineIfOp::create(builder, loc, type.getElementType(), guard, guarded, /*withElseRegion=*/true);
  OpBuilder inside = test.getThenBodyBuilder(), outside = test.getElseBodyBuilder();
  AffineYieldOp::create(inside, loc, AffineLoadOp::create(inside, loc, memref, map, operands).getResult());
  Value zero = arith::ConstantOp::create(outside, loc, outside.getZeroAttr(type.getElementType()));
  AffineYieldOp::create(outside, loc, zero);
  return test.getResult(0);
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
  if (auto bounded = dyn_cast_or_null<DenseI64ArrayAttr>(term->attribute))
    return boundedLoad(builder, loc, term->value, map, operands, bounded.asArrayRef());
  return AffineLoadOp::create(builder, loc, term->value, map, operands);
}

/// Whether `term` is an exponential at a base of the steps. One of the terms is 1 then, and what is lost of others is
/// of their own size: only sums at the base and roundings of their terms read it (`SeparablePairs.h`), whose own error
/// is larger, so that the chip's shortest form of the function will do (`afn`).
bool StepWriter::standsAtBase(const Term *term) const {
  if (term->name != math::ExpOp::getOperationName() && term->name != math::Exp2Op::getOperationName())
    return false;
  SmallVector<const Term *> open(term->operands.begin(), term->operands.end());
  while (!open.empty()) {
    const Term *each = open.pop_back_val();
    if (each->kind == Term::Kind::Load && each->writer >= 0 && chain.statements[each->writer].isState &&
        bases.contains(each->writer))
      return true;
    open.append(each->operands.begin(), each->operands.end());
  }
  return false;
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
    if (inStep && standsAtBase(term))
      state.attributes.set("fastmath", arith::FastMathFlagsAttr::get(
                                           builder.getContext(),
                                           cast<arith::FastMathFlagsAttr>(state.attributes.get("fastmath")).getValue() |
                                               arith::FastMathFlags::afn));
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
