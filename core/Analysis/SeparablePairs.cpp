//===- SeparablePairs.cpp - Functions as sums of g(x) h(r) ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One rule for each operation. The certificate does not use the rules: it expands
/// the function and the pairs as polynomials over what has no structure.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/SeparablePairs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include <map>

using namespace mlir;
using namespace tilewright;

/// States of one reduction; more is a sign that they grow with the data.
static constexpr size_t mostPairs = 4;

/// Of a product of distances from two means.
static constexpr int manyMeans = std::numeric_limits<int>::max();

using Pairs = SmallVector<SeparablePair, 2>;

//===-- Certificate -------------------------------------------------------===//

namespace {
/// Factors with their powers.
using Monomial = std::map<std::string, double>;
using Polynomial = std::map<Monomial, double>;

/// Terms as polynomials over what has no structure.
class Expansion {
public:
  explicit Expansion(const DependentReductions &chain) : chain(chain) {}
  /// `atBase`: maxima are those so far.
  Polynomial of(const Term *term, bool atBase) const;
  static Polynomial product(const Polynomial &a, const Polynomial &b);
  static Polynomial sum(Polynomial a, const Polynomial &b, double factor);
  static std::string text(const Monomial &monomial);
  /// exp of a polynomial, a product of exponentials of its monomials.
  static Polynomial exponential(StringRef name, const Polynomial &exponent);
  static Polynomial inverse(const Polynomial &a);
  /// One where the boolean is true, else zero.
  static Polynomial atomWhere(const Term *where) { return {{{{"where " + std::to_string(where->id), 1.0}}, 1.0}}; }

private:
  Polynomial ofLoad(const Term *term, bool atBase) const;
  const DependentReductions &chain;
};
} // namespace

std::string Expansion::text(const Monomial &monomial) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[atom, power] : monomial)
    os << atom << '^' << llvm::format("%.17g", power) << ' ';
  return text;
}

Polynomial Expansion::product(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[x, p] : a)
    for (const auto &[y, q] : b) {
      Monomial monomial = x;
      for (const auto &[atom, power] : y) {
        double &own = monomial[atom];
        own = StringRef(atom).starts_with("where ") ? 1 : own + power;
        if (own == 0)
          monomial.erase(atom);
      }
      double &factor = result[monomial];
      factor += p * q;
      if (factor == 0)
        result.erase(monomial);
    }
  return result;
}

Polynomial Expansion::sum(Polynomial a, const Polynomial &b, double factor) {
  for (const auto &[monomial, number] : b) {
    double &own = a[monomial];
    own += factor * number;
    if (own == 0)
      a.erase(monomial);
  }
  return a;
}

Polynomial Expansion::exponential(StringRef name, const Polynomial &exponent) {
  Monomial result;
  for (const auto &[monomial, number] : exponent)
    result[(name + "(" + text(monomial) + ")").str()] = number;
  return {{result, 1.0}};
}

Polynomial Expansion::inverse(const Polynomial &a) {
  Monomial result;
  if (a.size() == 1 && a.begin()->second != 0) {
    for (const auto &[atom, power] : a.begin()->first)
      result[atom] = StringRef(atom).starts_with("where ") ? power : -power;
    return {{result, 1 / a.begin()->second}};
  }
  std::string all;
  llvm::raw_string_ostream os(all);
  for (const auto &[monomial, number] : a)
    os << llvm::format("%.17g", number) << ' ' << text(monomial) << "+ ";
  result["(" + all + ")"] = -1;
  return {{result, 1.0}};
}

Polynomial Expansion::ofLoad(const Term *term, bool atBase) const {
  if (term->writer >= 0) {
    const ReductionStatement &from = chain.statements[term->writer];
    if (from.place == ReductionStatement::Place::Step && !from.isState && !from.combine) {
      if (term->part >= 0)
        return of(from.pairs[term->part].g, atBase);
      return of(from.term, atBase);
    }
    bool isBase = llvm::any_of(chain.bases, [&](const ReductionBase &base) { return base.value == term; }) ||
                  llvm::any_of(chain.means, [&](const MeanBase &mean) { return mean.value == term; });
    if (atBase && isBase)
      return {{{{"base " + std::to_string(term->id), 1.0}}, 1.0}};
  }
  return {{{{"t" + std::to_string(term->id), 1.0}}, 1.0}};
}

Polynomial Expansion::of(const Term *term, bool atBase) const {
  if (std::optional<double> number = numberOf(term)) {
    if (std::isinf(*number)) // no number that sums can be made of
      return {{{{"infinity", 1.0}}, *number < 0 ? -1.0 : 1.0}};
    return *number == 0 ? Polynomial() : Polynomial{{Monomial(), *number}};
  }
  if (term->kind == Term::Kind::Load)
    return ofLoad(term, atBase);
  if (llvm::any_of(chain.bases, [&](const ReductionBase &base) { return base.value == term; }))
    return {{{{(atBase ? "base " : "t") + std::to_string(term->id), 1.0}}, 1.0}};
  auto operand = [&](unsigned i) { return of(term->operands[i], atBase); };
  StringRef name = term->name;
  if (name == "arith.addf" || name == "arith.subf")
    return sum(operand(0), operand(1), name == "arith.addf" ? 1 : -1);
  if (name == "arith.mulf")
    return product(operand(0), operand(1));
  if (name == "arith.divf")
    return product(operand(0), inverse(operand(1)));
  if (name == "arith.negf")
    return sum({}, operand(0), -1);
  if (name == "arith.extf" || name == "arith.truncf")
    return operand(0);
  if (name == "math.exp" || name == "math.exp2")
    return exponential(name, operand(0));
  if (name == "arith.select") {
    Polynomial where = atomWhere(term->operands[0]);
    Polynomial other = sum({{Monomial(), 1.0}}, where, -1);
    return sum(product(where, operand(1)), product(other, operand(2)), 1);
  }
  return {{{{"t" + std::to_string(term->id), 1.0}}, 1.0}};
}

//===-- Signs -------------------------------------------------------------===//

static bool isAtLeastZero(const DependentReductions &chain, const Term *term);

/// Whether `term` is proved to be above zero, or NaN.
static bool isPositive(const DependentReductions &chain, const Term *term) {
  if (std::optional<double> number = numberOf(term))
    return *number > 0;
  if (term->kind == Term::Kind::Load && term->writer >= 0) {
    const ReductionStatement &from = chain.statements[term->writer];
    return !from.combine && isPositive(chain, from.term);
  }
  auto operand = [&](unsigned i) { return term->operands[i]; };
  if (term->name == "arith.addf")
    return (isPositive(chain, operand(0)) && isAtLeastZero(chain, operand(1))) ||
           (isPositive(chain, operand(1)) && isAtLeastZero(chain, operand(0)));
  if (term->name == "arith.maximumf" || term->name == "arith.maxnumf")
    return isPositive(chain, operand(0)) || isPositive(chain, operand(1));
  return term->name == "math.sqrt" && isPositive(chain, operand(0));
}

/// Whether `term` is proved not to be below zero.
static bool isAtLeastZero(const DependentReductions &chain, const Term *term) {
  if (isPositive(chain, term))
    return true;
  if (std::optional<double> number = numberOf(term))
    return *number >= 0;
  if (term->kind == Term::Kind::Load && term->writer >= 0) {
    const ReductionStatement &from = chain.statements[term->writer];
    bool keepsSign = !from.combine || isa<arith::AddFOp, arith::MaximumFOp>(from.combine);
    bool begins = !from.combine || (from.before >= 0 && isAtLeastZero(chain, chain.statements[from.before].term));
    return keepsSign && begins && isAtLeastZero(chain, from.term);
  }
  StringRef name = term->name;
  auto both = [&] { return isAtLeastZero(chain, term->operands[0]) && isAtLeastZero(chain, term->operands[1]); };
  if (name == "arith.mulf")
    return term->operands[0] == term->operands[1] || both();
  if (name == "arith.addf" || name == "arith.divf")
    return both();
  return name == "math.absf" || name == "math.exp" || name == "math.exp2" || name == "math.sqrt";
}

//===-- Rules -------------------------------------------------------------===//

namespace tilewright {
class PairSplitter {
public:
  PairSplitter(DependentReductions &chain, ReductionStatement &statement, std::string &reason)
      : chain(chain), statement(statement), reason(reason) {}
  LogicalResult run();

private:
  LogicalResult refuse(const Twine &why) {
    if (reason.empty())
      reason = (why + " in " + chain.text(statement)).str();
    return failure();
  }
  FailureOr<Pairs> split(const Term *term);
  FailureOr<Pairs> splitLoad(const Term *term);
  FailureOr<Pairs> splitQuotient(const Term *term);
  FailureOr<Pairs> splitExponential(const Term *term);
  FailureOr<Pairs> splitSelect(const Term *term);
  FailureOr<Pairs> splitCast(const Term *term);
  std::optional<unsigned> meanOf(const Term *term);
  const Term *restOf(const SeparablePair &pair) const { return pair.mean < 0 ? pair.g : pair.rest; }
  Pairs products(const Pairs &a, const Pairs &b, const Term *like);
  FailureOr<Pairs> merged(const Pairs &pairs);
  unsigned baseOf(ReductionBase base);
  const Term *product(const SeparablePair &pair);
  LogicalResult checkState();
  bool isMonotone() const;
  LogicalResult certify();
  Polynomial moved(const Expansion &expansion, const SeparablePair &pair, const Polynomial &g);

  DependentReductions &chain;
  ReductionStatement &statement;
  std::string &reason;
};
} // namespace tilewright

static TypedAttr oneOf(Type type) { return cast<TypedAttr>(Builder(type.getContext()).getFloatAttr(type, 1.0)); }

/// Operands keep their order, so that products look as before.
Pairs PairSplitter::products(const Pairs &a, const Pairs &b, const Term *like) {
  Pairs result;
  for (const SeparablePair &x : a)
    for (const SeparablePair &y : b) {
      SeparablePair pair = x;
      pair.isNegative = x.isNegative != y.isNegative;
      pair.g = !x.g ? y.g : !y.g ? x.g : chain.operation(like->name, {x.g, y.g}, like->type, like->attribute);
      llvm::append_range(pair.h, y.h);
      llvm::append_range(pair.guards, y.guards);
      llvm::append_range(pair.bases, y.bases);
      pair.isAtMostOne = (!x.g || x.isAtMostOne) && (!y.g || y.isAtMostOne);
      if (x.mean >= 0 || y.mean >= 0) {
        const Term *a = restOf(x), *b = restOf(y);
        pair.mean = x.mean >= 0 && y.mean >= 0 && x.mean != y.mean ? manyMeans : std::max(x.mean, y.mean);
        pair.power = x.power + y.power;
        pair.rest = !a ? b : !b ? a : chain.operation(like->name, {a, b}, like->type, like->attribute);
      }
      result.push_back(pair);
    }
  return result;
}

FailureOr<Pairs> PairSplitter::splitLoad(const Term *term) {
  const ReductionStatement &from = chain.statements[term->writer];
  Pairs result;
  for (auto [part, pair] : llvm::enumerate(from.pairs)) {
    SeparablePair read = pair;
    // What is an element of an array already needs no other one.
    bool isThere = from.pairs.size() > 1 && pair.g && pair.bases.empty() &&
                   (pair.g->kind == Term::Kind::Load || pair.g->kind == Term::Kind::Constant);
    if (pair.g && !isThere) {
      Term load = *term;
      load.part = part;
      load.isDependent = false;
      load.type = pair.g->type;
      read.g = chain.intern(std::move(load));
    }
    result.push_back(read);
  }
  return result;
}

FailureOr<Pairs> PairSplitter::splitQuotient(const Term *term) {
  FailureOr<Pairs> a = split(term->operands[0]), b = split(term->operands[1]);
  if (failed(a) || failed(b))
    return failure();
  if (b->size() != 1 || !b->front().bases.empty() || b->front().mean >= 0)
    return refuse("a divisor that is a sum of both");
  const SeparablePair &divisor = b->front();
  for (SeparablePair &pair : *a) {
    pair.isNegative ^= divisor.isNegative;
    if (divisor.g) {
      const Term *one = chain.constant(oneOf(term->type));
      pair.g = chain.operation(term->name, {pair.g ? pair.g : one, divisor.g}, term->type, term->attribute);
      if (pair.mean >= 0)
        pair.rest = chain.operation(term->name, {pair.rest ? pair.rest : one, divisor.g}, term->type, term->attribute);
      pair.isAtMostOne = false;
    }
    for (SeparablePair::Factor factor : divisor.h)
      pair.h.push_back({factor.term, !factor.isDivisor});
  }
  return a;
}

unsigned PairSplitter::baseOf(ReductionBase base) {
  for (auto [number, each] : llvm::enumerate(chain.bases))
    if (each.value == base.value && each.factor == base.factor && each.exp == base.exp &&
        each.isMinimum == base.isMinimum)
      return number;
  chain.bases.push_back(base);
  return chain.bases.size() - 1;
}

const Term *tilewright::guardedExtremum(const Term *value) {
  if (value->kind == Term::Kind::Load)
    return value;
  if (value->name != "arith.select" || value->operands[0]->name != "arith.cmpf")
    return nullptr;
  const Term *where = value->operands[0], *m = where->operands[0];
  auto predicate = cast<arith::CmpFPredicateAttr>(cast<DictionaryAttr>(where->attribute).get("predicate")).getValue();
  std::optional<double> limit = numberOf(where->operands[1]);
  bool isEqual = predicate == arith::CmpFPredicate::OEQ || predicate == arith::CmpFPredicate::UEQ;
  bool isBeyond = limit && predicate == (*limit < 0 ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT);
  bool isOther = isBeyond || predicate == arith::CmpFPredicate::ONE || predicate == arith::CmpFPredicate::UNE;
  std::optional<double> number = numberOf(value->operands[isEqual ? 1 : 2]);
  bool isGuard = (isEqual || isOther) && limit && std::isinf(*limit) && number && std::isfinite(*number) &&
                 value->operands[isEqual ? 2 : 1] == m && m->kind == Term::Kind::Load;
  return isGuard ? m : nullptr;
}

/// exp(c x - c m) where m is the maximum of x, c > 0; exp(c m - c x) where it is the minimum.
FailureOr<Pairs> PairSplitter::splitExponential(const Term *term) {
  FailureOr<Pairs> exponent = split(term->operands[0]);
  if (failed(exponent))
    return failure();
  const SeparablePair *x = nullptr, *r = nullptr;
  for (const SeparablePair &pair : *exponent) {
    if (!pair.bases.empty() || pair.mean >= 0)
      return refuse("an exponential of an exponential, or of a distance from a mean");
    bool isOfResult = pair.h.size() == 1 && !pair.h[0].isDivisor && (!pair.g || numberOf(pair.g));
    const SeparablePair *&place = isOfResult ? r : x;
    if (place || (!isOfResult && !pair.h.empty()))
      return refuse("an exponent that is not one term less one result");
    place = &pair;
  }
  const Term *value = r ? r->h[0].term : nullptr;
  const Term *extremum = value ? guardedExtremum(value) : nullptr;
  const ReductionStatement *reduction =
      extremum && extremum->writer >= 0 ? &chain.statements[extremum->writer] : nullptr;
  if (!x || !reduction || !reduction->isState || x->isNegative == r->isNegative)
    return refuse("an exponential without a bound: what is subtracted is no reduction");
  bool isMaximum = isa<arith::MaximumFOp, arith::MaxNumFOp>(reduction->combine);
  bool isMinimum = isa<arith::MinimumFOp, arith::MinNumFOp>(reduction->combine);
  const Term *of = reduction->term;
  bool isSame = r->g ? x->g->name == "arith.mulf" && llvm::is_contained(x->g->operands, r->g) &&
                           llvm::is_contained(x->g->operands, of) && *numberOf(r->g) > 0
                     : x->g == of;
  if (reduction->pairs.size() != 1 || !reduction->pairs.front().isPlain() || !isSame ||
      (x->isNegative ? !isMinimum : !isMaximum))
    return refuse("an exponential without a bound: what is subtracted is not the maximum of the exponents");
  SeparablePair pair;
  pair.g = chain.inlined(term);
  pair.bases.push_back(baseOf({unsigned(extremum->writer), value, r->g, term->name, isMinimum}));
  pair.isAtMostOne = true;
  return Pairs{pair};
}

FailureOr<Pairs> PairSplitter::splitSelect(const Term *term) {
  const Term *where = term->operands[0];
  if (where->isDependent) {
    // Zero or a product: so is its sum.
    bool isZeroIfTrue = numberOf(term->operands[1]) == 0.0;
    if (where->isReduced || (!isZeroIfTrue && numberOf(term->operands[2]) != 0.0))
      return refuse("a choice by a result of another reduction");
    FailureOr<Pairs> pairs = split(term->operands[isZeroIfTrue ? 2 : 1]);
    if (succeeded(pairs))
      for (SeparablePair &pair : *pairs)
        pair.guards.push_back({where, isZeroIfTrue});
    return pairs;
  }
  FailureOr<Pairs> a = split(term->operands[1]), b = split(term->operands[2]);
  if (failed(a) || failed(b))
    return failure();
  const Term *zero = chain.constant(cast<TypedAttr>(Builder(term->type.getContext()).getZeroAttr(term->type)));
  const Term *one = chain.constant(oneOf(term->type));
  Pairs result;
  for (bool isFirst : {true, false})
    for (SeparablePair pair : isFirst ? *a : *b) {
      if (pair.g == zero && pair.h.empty())
        continue;
      auto chosen = [&](const Term *g) {
        g = g ? g : one;
        return chain.operation(term->name, {where, isFirst ? g : zero, isFirst ? zero : g}, term->type,
                               term->attribute);
      };
      pair.g = chosen(pair.g);
      if (pair.mean >= 0)
        pair.rest = chosen(pair.rest);
      result.push_back(pair);
    }
  return result;
}

FailureOr<Pairs> PairSplitter::splitCast(const Term *term) {
  FailureOr<Pairs> pairs = split(term->operands[0]);
  auto to = cast<FloatType>(term->type), from = cast<FloatType>(term->operands[0]->type);
  if (failed(pairs) || to == from)
    return pairs;
  bool isNarrow =
      APFloat::semanticsMaxExponent(to.getFloatSemantics()) < APFloat::semanticsMaxExponent(from.getFloatSemantics());
  if (to.getWidth() < from.getWidth() && APFloat::semanticsMaxExponent(to.getFloatSemantics()) < 15)
    return refuse("a rounding to fewer than 5 bits of exponent");
  if (isNarrow && pairs->size() > 1)
    return refuse("a rounding of a sum to a smaller exponent");
  for (SeparablePair &pair : *pairs) {
    if (isNarrow && pair.g && !pair.isAtMostOne)
      return refuse("a rounding to a smaller exponent of what has no bound");
    for (const Term **each : {&pair.g, &pair.rest})
      if (*each)
        *each = chain.operation(term->name, {*each}, term->type, term->attribute);
  }
  return pairs;
}

/// Whether `term` is x - m with m the mean of x over the common loop.
std::optional<unsigned> PairSplitter::meanOf(const Term *term) {
  if (term->name != "arith.subf" || term->operands[0]->isDependent || term->operands[1]->isReduced)
    return std::nullopt;
  const Term *value = term->operands[1];
  for (auto [number, mean] : llvm::enumerate(chain.means))
    if (mean.distance == term)
      return number;
  if (value->kind != Term::Kind::Load || value->writer < 0)
    return std::nullopt;
  const ReductionStatement &row = chain.statements[value->writer];
  bool isQuotient = row.term->name == "arith.divf";
  if (row.place != ReductionStatement::Place::After || row.combine || (!isQuotient && row.term->name != "arith.mulf"))
    return std::nullopt;
  const Term *sum = row.term->operands[0], *factor = row.term->operands[1];
  if (!isQuotient && numberOf(sum))
    std::swap(sum, factor);
  std::optional<double> number = numberOf(factor);
  if (!number || sum->kind != Term::Kind::Load || sum->writer < 0)
    return std::nullopt;
  const ReductionStatement &reduction = chain.statements[sum->writer];
  if (!reduction.isState || !isa<arith::AddFOp>(reduction.combine) || reduction.reduced.size() != 1 ||
      reduction.term != term->operands[0] || reduction.before < 0)
    return std::nullopt;
  double count = double(chain.countOf(reduction)), shares = isQuotient ? *number / count : *number * count;
  std::optional<double> begin = numberOf(chain.statements[reduction.before].term);
  if (std::abs(shares - 1) > 1e-6 || !begin || *begin != 0)
    return std::nullopt;
  chain.means.push_back({unsigned(sum->writer), value, term});
  return chain.means.size() - 1;
}

FailureOr<Pairs> PairSplitter::split(const Term *term) {
  SeparablePair whole;
  if (!term->isDependent) {
    whole.g = term;
    return Pairs{whole};
  }
  if (!term->isReduced) {
    whole.h.push_back({term, false});
    return Pairs{whole};
  }
  if (term->kind == Term::Kind::Load)
    return splitLoad(term);
  StringRef name = term->name;
  if (name == "arith.divf")
    return splitQuotient(term);
  if (name == "math.exp" || name == "math.exp2")
    return splitExponential(term);
  if (name == "arith.select")
    return splitSelect(term);
  if (name == "arith.extf" || name == "arith.truncf")
    return splitCast(term);
  bool isSummed = !statement.isState || isa<arith::AddFOp>(statement.combine);
  if (std::optional<unsigned> mean = isSummed ? meanOf(term) : std::nullopt) {
    whole.g = term;
    whole.mean = *mean;
    whole.power = 1;
    return Pairs{whole};
  }
  if (name == "arith.addf" || name == "arith.subf" || name == "arith.mulf") {
    FailureOr<Pairs> a = split(term->operands[0]), b = split(term->operands[1]);
    if (failed(a) || failed(b))
      return failure();
    if (name == "arith.mulf")
      return merged(products(*a, *b, term));
    for (SeparablePair &pair : *b) {
      pair.isNegative ^= name == "arith.subf";
      a->push_back(pair);
    }
    for (SeparablePair &pair : *a)
      pair.isAtMostOne &= a->size() == 1;
    return merged(*a);
  }
  if (name == "arith.negf") {
    FailureOr<Pairs> pairs = split(term->operands[0]);
    if (succeeded(pairs))
      for (SeparablePair &pair : *pairs)
        pair.isNegative ^= true;
    return pairs;
  }
  for (const Term *operand : term->operands)
    if (operand->isDependent && failed(split(operand)))
      return failure();
  std::string why = llvm::StringSwitch<std::string>(name)
                        .Cases({"arith.cmpf", "arith.cmpi"}, "a comparison with a result of another reduction")
                        .Cases({"arith.fptosi", "arith.fptoui", "math.roundeven", "math.round", "math.floor",
                                "math.ceil", "math.trunc"},
                               "a rounding of what depends on a result of another reduction")
                        .Default(name.str() + " of what depends on a result of another reduction");
  return refuse(why);
}

/// h as one term.
const Term *PairSplitter::product(const SeparablePair &pair) {
  const Term *result = nullptr;
  for (SeparablePair::Factor factor : pair.h) {
    Type type = factor.term->type;
    if (!result && factor.isDivisor)
      result = chain.constant(oneOf(type));
    result = result ? chain.operation(factor.isDivisor ? "arith.divf" : "arith.mulf", {result, factor.term}, type)
                    : factor.term;
  }
  return result ? result : chain.constant(oneOf(statement.term->type));
}

/// Pairs of one g, in whatever order its factors stand, are one pair.
FailureOr<Pairs> PairSplitter::merged(const Pairs &pairs) {
  if (llvm::any_of(pairs, [](const SeparablePair &pair) { return pair.mean == manyMeans; }))
    return refuse("a product of distances from two means");
  Pairs result;
  Expansion expansion(chain);
  auto isSame = [&](const SeparablePair &a, const SeparablePair &b) {
    return a.bases == b.bases && a.guards == b.guards && a.mean == b.mean && bool(a.g) == bool(b.g) &&
           (a.g == b.g || expansion.of(a.g, true) == expansion.of(b.g, true));
  };
  for (const SeparablePair &pair : pairs) {
    auto same = llvm::find_if(result, [&](const SeparablePair &other) { return isSame(other, pair); });
    if (same == result.end()) {
      result.push_back(pair);
      continue;
    }
    const Term *a = product(*same), *b = product(pair);
    bool isDifference = same->isNegative != pair.isNegative;
    const Term *both = chain.operation(isDifference ? "arith.subf" : "arith.addf", {a, b}, a->type);
    same->h.assign(1, {both, false});
  }
  if (result.size() > mostPairs)
    return refuse(Twine(result.size()) + " states, more than " + Twine(mostPairs));
  return result;
}

/// Whether the reduction is a maximum or minimum of x + r, or of x times factors that are proved positive: r and
/// factors apply to that of x.
bool PairSplitter::isMonotone() const {
  bool isMaximum = isa<arith::MaximumFOp, arith::MaxNumFOp>(statement.combine);
  std::optional<double> begin = numberOf(chain.statements[statement.before].term);
  if ((!isMaximum && !isa<arith::MinimumFOp, arith::MinNumFOp>(statement.combine)) || !begin || std::isfinite(*begin) ||
      (std::isinf(*begin) && (*begin < 0) != isMaximum))
    return false;
  unsigned terms = 0;
  llvm::SmallBitVector used(chain.loops.size());
  for (const SeparablePair &pair : statement.pairs) {
    terms += pair.g != nullptr;
    if (!pair.bases.empty() || !pair.guards.empty() || pair.mean >= 0 || (pair.g && pair.isNegative))
      return false;
    for (SeparablePair::Factor factor : pair.h) {
      used |= chain.loopsOf(factor.term);
      if (pair.g && (statement.pairs.size() > 1 || !isPositive(chain, factor.term)))
        return false;
    }
  }
  return terms == 1 && !used.test(chain.loopsOf(statement.map));
}

/// What a reduction needs of its pairs.
LogicalResult PairSplitter::checkState() {
  if (statement.pairs.size() == 1 && statement.pairs.front().isPlain())
    return success();
  if (isMonotone())
    return success();
  if (!isa<arith::AddFOp>(statement.combine))
    return refuse(statement.combine->getName().getStringRef() + " of what depends on a result of another reduction");
  const ReductionStatement &begin = chain.statements[statement.before];
  std::optional<double> zero = numberOf(begin.term);
  if (begin.combine || begin.map != statement.map || !zero || *zero != 0)
    return refuse("a sum that does not begin at zero");
  llvm::SmallBitVector named = chain.loopsOf(statement.map);
  for (const SeparablePair &pair : statement.pairs) {
    llvm::SmallBitVector used(chain.loops.size());
    for (SeparablePair::Factor factor : pair.h)
      used |= chain.loopsOf(factor.term);
    for (SeparablePair::Guard guard : pair.guards)
      used |= chain.loopsOf(guard.where);
    for (unsigned base : pair.bases)
      used |= chain.loopsOf(chain.bases[base].value);
    if (pair.mean >= 0 && (pair.power >= mostPairs || !pair.bases.empty()))
      return refuse("a power of a distance from a mean above 3, or an exponential beside one");
    if (pair.mean >= 0)
      used |= chain.loopsOf(chain.means[pair.mean].value);
    if (used.test(named)) // any that is not named
      return refuse("a result of another reduction that differs in what is summed");
  }
  return success();
}

/// g = (x - b)^power * rest, from base b to the mean m: the binomial sum of (x - b)^k (b - m)^(power - k). Empty where
/// g is another function.
Polynomial PairSplitter::moved(const Expansion &expansion, const SeparablePair &pair, const Polynomial &g) {
  const MeanBase &mean = chain.means[pair.mean];
  const Polynomial one{{Monomial(), 1.0}};
  auto power = [&](const Polynomial &of, unsigned n) {
    Polynomial result = one;
    for (unsigned i = 0; i < n; ++i)
      result = Expansion::product(result, of);
    return result;
  };
  Polynomial rest = pair.rest ? expansion.of(pair.rest, true) : one;
  Polynomial distance = expansion.of(mean.distance, true);
  if (!Expansion::sum(Expansion::product(power(distance, pair.power), rest), g, -1).empty())
    return {};
  Polynomial move = Expansion::sum(expansion.of(mean.value, true), expansion.of(mean.value, false), -1);
  Polynomial result;
  double binomial = 1;
  for (unsigned k = 0; k <= pair.power; ++k) {
    Polynomial each = Expansion::product(power(distance, k), power(move, pair.power - k));
    result = Expansion::sum(result, Expansion::product(each, rest), binomial);
    binomial = binomial * (pair.power - k) / (k + 1);
  }
  return result;
}

/// The pairs multiplied out are the function; at a base, what is to be multiplied by when it moves is part of them.
LogicalResult PairSplitter::certify() {
  Expansion expansion(chain);
  Polynomial all = expansion.of(statement.term, /*atBase=*/false);
  for (const SeparablePair &pair : statement.pairs) {
    Polynomial each = pair.g ? expansion.of(pair.g, /*atBase=*/true) : Polynomial{{Monomial(), 1.0}};
    if (pair.mean >= 0)
      each = moved(expansion, pair, each);
    for (SeparablePair::Factor factor : pair.h) {
      Polynomial h = expansion.of(factor.term, false);
      each = Expansion::product(each, factor.isDivisor ? Expansion::inverse(h) : h);
    }
    for (SeparablePair::Guard guard : pair.guards) {
      Polynomial where = Expansion::atomWhere(guard.where);
      each = Expansion::product(each,
                                guard.isZeroIfTrue ? Expansion::sum({{Monomial(), 1.0}}, where, -1) : std::move(where));
    }
    for (unsigned number : pair.bases) {
      const ReductionBase &base = chain.bases[number];
      Polynomial moved = Expansion::sum(expansion.of(base.value, true), expansion.of(base.value, false), -1);
      Polynomial factor{{Monomial(), (base.isMinimum ? -1 : 1) * (base.factor ? *numberOf(base.factor) : 1.0)}};
      each = Expansion::product(each, Expansion::exponential(base.exp, Expansion::product(moved, factor)));
    }
    all = Expansion::sum(all, each, pair.isNegative ? 1 : -1);
  }
  if (!all.empty())
    return refuse("pairs whose product is another function: " + chain.pairsText(statement));
  return success();
}

LogicalResult PairSplitter::run() {
  FailureOr<Pairs> pairs = split(statement.term);
  if (failed(pairs))
    return failure();
  statement.pairs = *pairs;
  if (statement.isState && failed(checkState()))
    return failure();
  return certify();
}

LogicalResult tilewright::splitStatement(DependentReductions &chain, ReductionStatement &statement,
                                         std::string &reason) {
  reason.clear();
  return PairSplitter(chain, statement, reason).run();
}
