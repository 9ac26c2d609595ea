//===- MaskedSteps.cpp - Steps that masks leave out -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Comparisons of indices become conditions; a walk through the functions of all
/// states says what they are where a condition is violated.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/MaskedSteps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilewright;

//===-- Conditions --------------------------------------------------------===//

static AffineExpr simplified(const DependentReductions &chain, AffineExpr expr) {
  return simplifyAffineExpr(expr, chain.loops.size(), chain.symbols.size());
}

/// A number of iterations, or what is computed from some; null where it is not affine.
static AffineExpr affineOf(DependentReductions &chain, const Term *term) {
  MLIRContext *context = chain.symbols.empty() ? term->type.getContext() : chain.symbols.front().getContext();
  auto operand = [&](unsigned i) { return affineOf(chain, term->operands[i]); };
  switch (term->kind) {
  case Term::Kind::Index:
    return getAffineDimExpr(term->loop, context);
  case Term::Kind::Constant:
    if (auto number = dyn_cast<IntegerAttr>(term->attribute))
      return getAffineConstantExpr(number.getValue().getSExtValue(), context);
    return {};
  case Term::Kind::Outer: {
    if (!term->type.isIndex())
      return {};
    unsigned at = llvm::find(chain.symbols, term->value) - chain.symbols.begin();
    if (at == chain.symbols.size())
      chain.symbols.push_back(term->value);
    return getAffineSymbolExpr(at, context);
  }
  case Term::Kind::Load:
    return {};
  case Term::Kind::Op:
    break;
  }
  StringRef name = term->name;
  // Numbers of iterations fit an i32, as sizes of arrays do that are indexed by it.
  if (name == arith::IndexCastOp::getOperationName())
    return term->type.isIndex() || term->type.getIntOrFloatBitWidth() >= 32 ? operand(0) : AffineExpr();
  if (name == affine::AffineApplyOp::getOperationName()) {
    AffineMap map = cast<AffineMapAttr>(cast<DictionaryAttr>(term->attribute).get("map")).getValue();
    SmallVector<AffineExpr> dims, symbols;
    for (unsigned i = 0; i < term->operands.size(); ++i) {
      AffineExpr each = operand(i);
      if (!each)
        return {};
      (i < map.getNumDims() ? dims : symbols).push_back(each);
    }
    return simplified(chain, map.getResult(0).replaceDimsAndSymbols(dims, symbols));
  }
  bool isSum = name == arith::AddIOp::getOperationName(), isDifference = name == arith::SubIOp::getOperationName();
  if (!isSum && !isDifference && name != arith::MulIOp::getOperationName())
    return {};
  AffineExpr a = operand(0), b = operand(1);
  if (!a || !b)
    return {};
  if (isSum || isDifference)
    return simplified(chain, isSum ? a + b : a - b);
  return isa<AffineConstantExpr>(a) || isa<AffineConstantExpr>(b) ? simplified(chain, a * b) : AffineExpr();
}

/// The comparison as conditions that hold together where it is true, or where it is not; none where it is no comparison
/// of affine numbers. The larger of two is at most a number where both are.
static Conditions conditionsOf(DependentReductions &chain, const Term *comparison, bool isTrue) {
  Conditions result;
  if (comparison->kind != Term::Kind::Op || comparison->name != arith::CmpIOp::getOperationName())
    return result;
  bool areAffine = true;
  std::function<void(const Term *, const Term *, int64_t)> add = [&](const Term *less, const Term *more,
                                                                     int64_t distance) {
    if (less->kind == Term::Kind::Op && less->name == arith::MaxSIOp::getOperationName()) {
      for (const Term *each : less->operands)
        add(each, more, distance);
      return;
    }
    if (more->kind == Term::Kind::Op && more->name == arith::MinSIOp::getOperationName()) {
      for (const Term *each : more->operands)
        add(less, each, distance);
      return;
    }
    AffineExpr a = affineOf(chain, less), b = affineOf(chain, more);
    areAffine &= a && b;
    if (areAffine)
      result.push_back(simplified(chain, b - a - distance));
  };
  const Term *a = comparison->operands[0], *b = comparison->operands[1];
  auto attribute = cast<arith::CmpIPredicateAttr>(cast<DictionaryAttr>(comparison->attribute).get("predicate"));
  arith::CmpIPredicate predicate = attribute.getValue();
  switch (isTrue ? predicate : arith::invertPredicate(predicate)) {
  case arith::CmpIPredicate::sle:
    add(a, b, 0);
    break;
  case arith::CmpIPredicate::slt:
    add(a, b, 1);
    break;
  case arith::CmpIPredicate::sge:
    add(b, a, 0);
    break;
  case arith::CmpIPredicate::sgt:
    add(b, a, 1);
    break;
  case arith::CmpIPredicate::eq:
    add(b, a, 0);
    add(a, b, 0);
    break;
  default:
    break;
  }
  if (!areAffine)
    result.clear();
  return result;
}

/// `condition` is violated where this holds.
static AffineExpr negated(const DependentReductions &chain, AffineExpr condition) {
  return simplified(chain, -condition - 1);
}

std::optional<bool> tilewright::decidedBy(DependentReductions &chain, const Term *where,
                                          ArrayRef<AffineExpr> conditions) {
  if (where->kind == Term::Kind::Constant)
    if (auto number = dyn_cast<IntegerAttr>(where->attribute))
      return !number.getValue().isZero();
  if (where->kind != Term::Kind::Op)
    return std::nullopt;
  bool isAnd = where->name == arith::AndIOp::getOperationName();
  if (isAnd || where->name == arith::OrIOp::getOperationName()) {
    std::optional<bool> a = decidedBy(chain, where->operands[0], conditions);
    std::optional<bool> b = decidedBy(chain, where->operands[1], conditions);
    if ((a && *a != isAnd) || (b && *b != isAnd))
      return !isAnd;
    return a && b ? std::optional(isAnd) : std::nullopt;
  }
  if (where->name == arith::XOrIOp::getOperationName()) {
    std::optional<bool> a = decidedBy(chain, where->operands[0], conditions);
    std::optional<bool> b = decidedBy(chain, where->operands[1], conditions);
    return a && b ? std::optional(*a != *b) : std::nullopt;
  }
  auto isGiven = [&](AffineExpr condition) { return llvm::is_contained(conditions, condition); };
  for (bool isTrue : {true, false}) {
    Conditions own = conditionsOf(chain, where, isTrue);
    if (!own.empty() && llvm::all_of(own, isGiven))
      return isTrue;
    if (llvm::any_of(own, [&](AffineExpr each) { return isGiven(negated(chain, each)); }))
      return !isTrue;
  }
  return std::nullopt;
}

//===-- What is neutral ---------------------------------------------------===//

namespace {
enum class Known { Nothing, Zero, Lowest, Highest }; // -inf, inf

/// What functions are where a condition is violated, for finite values of all else.
class MaskedValues {
public:
  MaskedValues(DependentReductions &chain, AffineExpr violated) : chain(chain), violated(negated(chain, violated)) {}
  /// Whether no state changes.
  bool areNeutral();

private:
  Known of(const Term *term);
  Known ofOperation(const Term *term);

  DependentReductions &chain;
  AffineExpr violated;
  llvm::DenseMap<const Term *, Known> known;
};
} // namespace

static Known opposite(Known value) {
  return value == Known::Lowest ? Known::Highest : value == Known::Highest ? Known::Lowest : value;
}

Known MaskedValues::ofOperation(const Term *term) {
  StringRef name = term->name;
  if (name == "arith.select") {
    std::optional<bool> isFirst = decidedBy(chain, term->operands[0], violated);
    if (isFirst)
      return of(term->operands[*isFirst ? 1 : 2]);
    Known a = of(term->operands[1]);
    return a == of(term->operands[2]) ? a : Known::Nothing;
  }
  if (name == "arith.extf" || name == "arith.truncf")
    return of(term->operands[0]);
  if (name == "arith.negf")
    return opposite(of(term->operands[0]));
  if (name == "math.exp" || name == "math.exp2")
    return of(term->operands[0]) == Known::Lowest ? Known::Zero : Known::Nothing;
  if (name == "arith.addf" || name == "arith.subf") {
    Known a = of(term->operands[0]), b = of(term->operands[1]);
    if (name == "arith.subf")
      b = opposite(b);
    if (a == Known::Zero && b == Known::Zero)
      return Known::Zero;
    bool isInfinite = a == Known::Lowest || a == Known::Highest;
    if (a == b || (isInfinite && b != Known::Lowest && b != Known::Highest))
      return a;
    return isInfinite || (b != Known::Lowest && b != Known::Highest) ? Known::Nothing : b;
  }
  if (name == "arith.mulf" || name == "arith.divf") {
    Known a = of(term->operands[0]), b = of(term->operands[1]);
    bool isProduct = name == "arith.mulf";
    for (auto [value, other] : {std::pair(a, 1), std::pair(b, 0)}) {
      if (value == Known::Nothing || (other == 0 && !isProduct))
        continue;
      if (value == Known::Zero)
        return value;
      if (std::optional<double> factor = numberOf(term->operands[other]))
        return *factor > 0 ? value : *factor < 0 ? opposite(value) : Known::Nothing;
    }
  }
  return Known::Nothing;
}

Known MaskedValues::of(const Term *term) {
  if (auto found = known.find(term); found != known.end())
    return found->second;
  Known result = Known::Nothing;
  if (std::optional<double> number = numberOf(term)) {
    if (*number == 0)
      result = Known::Zero;
    else if (std::isinf(*number))
      result = *number < 0 ? Known::Lowest : Known::Highest;
  } else if (term->kind == Term::Kind::Load && term->writer >= 0) {
    // Of the same iteration.
    const ReductionStatement &from = chain.statements[term->writer];
    if (from.place == ReductionStatement::Place::Step && !from.combine && term->map == from.map)
      result = of(term->part < 0 || !from.pairs[term->part].g ? from.term : from.pairs[term->part].g);
  } else if (term->kind == Term::Kind::Op) {
    result = ofOperation(term);
  }
  return known[term] = result;
}

bool MaskedValues::areNeutral() {
  return llvm::all_of(chain.statements, [&](const ReductionStatement &s) {
    if (!s.isState)
      return true;
    return llvm::all_of(s.pairs, [&](const SeparablePair &pair) {
      Known value = pair.g ? of(pair.g) : Known::Nothing;
      if (isa<arith::AddFOp>(s.combine))
        return value == Known::Zero;
      bool isMaximum = isa<arith::MaximumFOp, arith::MaxNumFOp>(s.combine);
      bool isMinimum = isa<arith::MinimumFOp, arith::MinNumFOp>(s.combine);
      return (isMaximum && value == Known::Lowest) || (isMinimum && value == Known::Highest);
    });
  });
}

Conditions tilewright::liveConditions(DependentReductions &chain) {
  Conditions result;
  if (!chain.means.empty()) // of how many a mean is, is counted by steps
    return result;
  llvm::SmallPtrSet<const Term *, 16> seen;
  SmallVector<const Term *> todo;
  for (const ReductionStatement &s : chain.statements)
    if (s.place == ReductionStatement::Place::Step)
      todo.push_back(s.term);
  while (!todo.empty()) {
    const Term *term = todo.pop_back_val();
    if (!seen.insert(term).second)
      continue;
    todo.append(term->operands.begin(), term->operands.end());
    Conditions candidates = conditionsOf(chain, term, true);
    candidates.append(conditionsOf(chain, term, false));
    for (AffineExpr each : candidates)
      for (AffineExpr condition : {each, negated(chain, each)})
        if (condition.isFunctionOfDim(chain.common) && !llvm::is_contained(result, condition) &&
            MaskedValues(chain, condition).areNeutral())
          result.push_back(condition);
  }
  return result;
}

//===-- Bounds ------------------------------------------------------------===//

/// The largest, or smallest, value of `expr` over all iterations of the loops, over symbols; null where that is not
/// known.
static AffineExpr extremeOf(const DependentReductions &chain, AffineExpr expr, bool largest) {
  MLIRContext *context = expr.getContext();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getAffineConstantExpr(largest ? chain.loops[dim.getPosition()].trips - 1 : 0, context);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  if (expr.getKind() == AffineExprKind::Add) {
    AffineExpr a = extremeOf(chain, left, largest), b = extremeOf(chain, right, largest);
    return a && b ? a + b : AffineExpr();
  }
  auto by = dyn_cast<AffineConstantExpr>(right);
  if (!by)
    return expr.isSymbolicOrConstant() ? expr : AffineExpr();
  if (expr.getKind() == AffineExprKind::Mul) {
    AffineExpr a = extremeOf(chain, left, largest == (by.getValue() >= 0));
    return a ? a * by.getValue() : a;
  }
  if (by.getValue() <= 0)
    return {};
  if (expr.getKind() == AffineExprKind::Mod)
    return getAffineConstantExpr(largest ? by.getValue() - 1 : 0, context);
  AffineExpr a = extremeOf(chain, left, largest);
  if (!a)
    return a;
  return expr.getKind() == AffineExprKind::FloorDiv ? a.floorDiv(by.getValue()) : a.ceilDiv(by.getValue());
}

StepBounds tilewright::boundSteps(const DependentReductions &chain, ArrayRef<AffineExpr> conditions, int64_t step) {
  StepBounds bounds;
  for (AffineExpr condition : conditions) {
    // factor * j + rest >= 0, with j = step * t + a number below step
    std::optional<int64_t> factor = linearCoefficient(condition, chain.common);
    AffineExpr common = getAffineDimExpr(chain.common, condition.getContext());
    AffineExpr rest = factor ? simplified(chain, condition - common * *factor) : AffineExpr();
    if (!rest || *factor == 0 || rest.isFunctionOfDim(chain.common)) {
      bounds.areExact = false;
      continue;
    }
    AffineExpr most = extremeOf(chain, rest, true), least = extremeOf(chain, rest, false);
    if (!most || !least) {
      bounds.areExact = false;
      continue;
    }
    int64_t each = std::abs(*factor) * step, within = std::abs(*factor) * (step - 1);
    auto add = [&](SmallVector<AffineExpr, 2> &to, AffineExpr expr) { to.push_back(simplified(chain, expr)); };
    if (*factor < 0) { // t <= rest / each
      add(bounds.end, most.floorDiv(each) + 1);
      add(bounds.endFull, (least - within).floorDiv(each) + 1);
    } else { // t >= -rest / each
      add(bounds.first, (-most - within).ceilDiv(each));
      add(bounds.firstFull, (-least).ceilDiv(each));
    }
  }
  return bounds;
}

/// The largest, or smallest, of `limits` and all of `exprs`. Of constants the one that binds stays: a loop with a
/// negative number among several upper bounds is taken for one that runs.
static AffineMap boundOf(const DependentReductions &chain, ArrayRef<AffineExpr> limits,
                         ArrayRef<ArrayRef<AffineExpr>> exprs, bool isLower) {
  SmallVector<AffineExpr> results;
  std::optional<int64_t> limit;
  auto add = [&](AffineExpr expr) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      int64_t value = constant.getValue();
      limit = !limit ? value : isLower ? std::max(*limit, value) : std::min(*limit, value);
    } else if (!llvm::is_contained(results, expr)) {
      results.push_back(expr);
    }
  };
  for (AffineExpr each : limits)
    add(each);
  for (ArrayRef<AffineExpr> each : exprs)
    for (AffineExpr expr : each)
      add(expr);
  MLIRContext *context = chain.statements.front().root->getContext();
  if (limit)
    results.insert(results.begin(), getAffineConstantExpr(*limit, context));
  return AffineMap::get(0, chain.symbols.size(), results, context);
}

SmallVector<StepRange, 3> tilewright::rangesOf(const DependentReductions &chain, const StepBounds &bounds,
                                               AffineExpr count) {
  SmallVector<StepRange, 3> ranges;
  AffineExpr zero = getAffineConstantExpr(0, count.getContext());
  auto add = [&](ArrayRef<ArrayRef<AffineExpr>> first, ArrayRef<ArrayRef<AffineExpr>> end, bool isFull) {
    AffineMap low = boundOf(chain, zero, first, /*isLower=*/true);
    AffineMap high = boundOf(chain, count, end, /*isLower=*/false);
    auto least = dyn_cast<AffineConstantExpr>(low.getResult(0)), most = dyn_cast<AffineConstantExpr>(high.getResult(0));
    if (!most || least.getValue() < most.getValue())
      ranges.push_back({low, high, isFull});
  };
  ArrayRef<AffineExpr> first = bounds.first, end = bounds.end, firstFull = bounds.firstFull, endFull = bounds.endFull;
  // An end that is the larger of two is no bound of a loop.
  if (!bounds.areExact || firstFull.size() > 1 || endFull.size() > 1) {
    add({first}, {end}, /*isFull=*/false);
    return ranges;
  }
  if (!firstFull.empty())
    add({first}, {end, firstFull}, /*isFull=*/false);
  add({first, firstFull}, {end, endFull}, /*isFull=*/true);
  if (!endFull.empty())
    add({first, firstFull, endFull}, {end}, /*isFull=*/false);
  return ranges;
}

std::optional<StepRange> tilewright::rangeOfLast(const DependentReductions &chain, const StepBounds &bounds,
                                                 AffineExpr whole, AffineExpr count) {
  if (bounds.first.empty() && bounds.end.empty() && isa<AffineConstantExpr>(count))
    return std::nullopt;
  ArrayRef<AffineExpr> first = bounds.first, end = bounds.end;
  // That it is one step at most is seen from the second limit alone.
  return StepRange{boundOf(chain, whole, first, /*isLower=*/true),
                   boundOf(chain, {count, whole + 1}, end, /*isLower=*/false), /*isFull=*/false};
}
