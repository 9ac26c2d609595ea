//===- Space.cpp - Integer variables and what is known of them ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Derived values, and the short search that answers most questions. Solve.cpp asks
/// isl the rest.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>
#include <set>

using namespace tilewright::proof;

//===-- Truth values ------------------------------------------------------===//

/// Conjunctions that one truth value may have; what has more is not known.
static constexpr size_t mostCases = 16;

static Truth unknownTruth() { return {{}, false}; }

Truth tilewright::proof::operator&&(const Truth &a, const Truth &b) {
  if (!a.isKnown || !b.isKnown || a.anyOf.size() * b.anyOf.size() > mostCases)
    return unknownTruth();
  Truth result;
  for (const Conjunction &left : a.anyOf)
    for (const Conjunction &right : b.anyOf) {
      Conjunction both = left;
      both.append(right.begin(), right.end());
      result.anyOf.push_back(std::move(both));
    }
  return result;
}

Truth tilewright::proof::operator||(const Truth &a, const Truth &b) {
  if (!a.isKnown || !b.isKnown || a.anyOf.size() + b.anyOf.size() > mostCases)
    return unknownTruth();
  Truth result = a;
  result.anyOf.insert(result.anyOf.end(), b.anyOf.begin(), b.anyOf.end());
  return result;
}

Truth tilewright::proof::operator!(const Truth &a) {
  if (!a.isKnown)
    return a;
  Truth result{{Conjunction()}, true};
  for (const Conjunction &each : a.anyOf) {
    Truth negated;
    for (const Linear &condition : each)
      negated.anyOf.push_back({condition * -1 + -1});
    result = result && negated;
  }
  return result;
}

//===-- Values ------------------------------------------------------------===//

Variable Space::add(llvm::StringRef name, Kind kind, llvm::StringRef reason) {
  infos.push_back({name.str(), reason.str(), kind, {}, {}, {}});
  return infos.size() - 1;
}

static std::string keyOf(llvm::StringRef name, llvm::ArrayRef<Linear> operands) {
  std::string key = name.str();
  llvm::raw_string_ostream os(key);
  for (const Linear &operand : operands) {
    os << "|" << operand.constant();
    for (auto [variable, factor] : operand.terms())
      os << "," << variable << "*" << factor;
  }
  return key;
}

Linear Space::derived(std::string key, llvm::StringRef name, Kind kind, llvm::ArrayRef<Linear> operands,
                      llvm::function_ref<void(Variable, Info &)> define) {
  auto found = interned.find(key);
  if (found != interned.end())
    return Linear::of(found->second);
  Variable variable = add(name, kind);
  interned[std::move(key)] = variable;
  Info info = infos[variable];
  for (const Linear &operand : operands)
    for (const auto &term : operand.terms())
      info.from.push_back(term.first);
  define(variable, info);
  infos[variable] = std::move(info);
  return Linear::of(variable);
}

Linear Space::floorDiv(const Linear &value, int64_t divisor) {
  Linear whole = value, rest;
  // Multiples of the divisor leave the quotient: (16 i + r) / 16 = i + r / 16.
  Linear multiple;
  for (auto [variable, factor] : value.terms())
    if (factor % divisor == 0)
      multiple += Linear::of(variable, factor / divisor);
  int64_t constant = llvm::divideFloorSigned(value.constant(), divisor);
  multiple += constant;
  rest = value - multiple * divisor;
  if (rest.isConstant() || divisor == 1)
    return divisor == 1 ? value : multiple;
  Linear quotient = derived(keyOf("floordiv " + std::to_string(divisor), rest), "quotient", Kind::Derived, rest,
                            [&](Variable variable, Info &info) {
                              Linear scaled = Linear::of(variable, divisor);
                              info.known.all.push_back(rest - scaled);
                              info.known.all.push_back(scaled - rest + (divisor - 1));
                              info.origin = {Origin::FloorDiv, {rest}, divisor, {}, "", ""};
                            });
  return multiple + quotient;
}

Linear Space::extreme(llvm::ArrayRef<Linear> values, bool isLeast) {
  llvm::SmallVector<Linear> distinct;
  for (const Linear &value : values)
    if (!llvm::is_contained(distinct, value))
      distinct.push_back(value);
  // Of those that differ by a constant, one is left.
  for (size_t i = 0; i < distinct.size(); ++i)
    for (size_t j = distinct.size(); j-- > i + 1;)
      if (Linear difference = distinct[j] - distinct[i]; difference.isConstant()) {
        if ((difference.constant() < 0) == isLeast)
          distinct[i] = distinct[j];
        distinct.erase(distinct.begin() + j);
      }
  if (distinct.size() == 1)
    return distinct.front();
  return derived(keyOf(isLeast ? "min" : "max", distinct), isLeast ? "least" : "greatest", Kind::Derived, distinct,
                 [&](Variable variable, Info &info) {
                   Linear self = Linear::of(variable);
                   std::vector<Conjunction> cases;
                   for (const Linear &value : distinct) {
                     info.known.all.push_back(isLeast ? value - self : self - value);
                     cases.push_back({isLeast ? self - value : value - self});
                   }
                   info.known.oneOf.push_back(std::move(cases));
                   info.origin = {isLeast ? Origin::Least : Origin::Greatest, distinct, 1, {}, "", ""};
                 });
}

Linear Space::select(const Truth &condition, const Linear &yes, const Linear &no) {
  if (yes == no)
    return yes;
  Truth otherwise = !condition;
  std::string key = "select";
  llvm::SmallVector<Linear> operands{yes, no};
  for (const Conjunction &each : condition.anyOf) {
    key += ";" + std::to_string(each.size());
    operands.append(each.begin(), each.end());
  }
  if (!condition.isKnown || !otherwise.isKnown)
    // A value of its own: another condition chooses otherwise between the same numbers.
    return Linear::of(add("choice", Kind::Opaque, "chosen by a condition that is not affine"));
  return derived(keyOf(key, operands), "chosen", Kind::Derived, operands, [&](Variable variable, Info &info) {
    Linear self = Linear::of(variable);
    std::vector<Conjunction> cases;
    auto add = [&](const Truth &when, const Linear &value) {
      for (Conjunction each : when.anyOf) {
        each.push_back(self - value);
        each.push_back(value - self);
        cases.push_back(std::move(each));
      }
    };
    add(condition, yes);
    add(otherwise, no);
    info.known.oneOf.push_back(std::move(cases));
    info.origin = {Origin::Select, {yes, no}, 1, condition, "", ""};
  });
}

Linear Space::opaque(llvm::StringRef name, llvm::ArrayRef<Linear> operands, llvm::StringRef reason) {
  return derived(keyOf(name, operands), name, Kind::Opaque, operands, [&](Variable, Info &info) {
    info.reason = reason.str();
    info.origin = {Origin::Opaque, llvm::SmallVector<Linear>(operands), 1, {}, name.str(), reason.str()};
  });
}

Linear Space::product(const Linear &a, const Linear &b) {
  if (a.isConstant())
    return b * a.constant();
  if (b.isConstant())
    return a * b.constant();
  // (x + 3) n = x n + 3 n, and a common factor of all terms stays outside, so that the same products are one variable.
  if (a.constant() != 0)
    return product(a + -a.constant(), b) + b * a.constant();
  if (b.constant() != 0)
    return product(a, b + -b.constant()) + a * b.constant();
  if (a.terms().size() > 1) {
    Linear sum;
    for (auto [variable, factor] : a.terms())
      sum += product(Linear::of(variable), b) * factor;
    return sum;
  }
  if (b.terms().size() > 1)
    return product(b, a);
  auto [x, scaleX] = a.terms().front();
  auto [y, scaleY] = b.terms().front();
  if (y < x)
    return product(b, a);
  Linear first = Linear::of(x), second = Linear::of(y);
  bool isNew = false;
  Linear result =
      derived(keyOf("product", {first, second}), "product", Kind::Opaque, {first, second}, [&](Variable, Info &info) {
        info.reason = "a product of two values that vary";
        info.origin = {Origin::Product, {first, second}, 1, {}, "", ""};
        isNew = true;
      });
  if (isNew)
    learnProduct(result.terms().front().first, x, y);
  return result * scaleX * scaleY;
}

/// Of the products x = a c and y = b c with c >= 0: where a > b, x >= y + c; where a < b, y >= x + c; else x = y.
static std::vector<Conjunction> comparison(const Linear &x, const Linear &y, const Linear &a, const Linear &b,
                                           const Linear &c) {
  return {{a - b + -1, x - y - c}, {b - a + -1, y - x - c}, {a - b, b - a, x - y, y - x}};
}

void Space::learnProduct(Variable variable, Variable x, Variable y) {
  Linear result = Linear::of(variable), a = Linear::of(x), b = Linear::of(y);
  bool isA = isNonNegative({}, a), isB = isNonNegative({}, b);
  if (isA && isB)
    know(variable, result);
  // Both are at least 1, and it is at least as large as each; or one is 0; or one is negative.
  std::vector<Conjunction> cases{
      {a + -1, b + -1, result - a, result - b}, {a, a * -1, result, result * -1}, {b, b * -1, result, result * -1}};
  if (!isA)
    cases.push_back({a * -1 + -1});
  if (!isB)
    cases.push_back({b * -1 + -1});
  infos[variable].known.oneOf.push_back(std::move(cases));
  products[variable] = {variable, x, y, isA, isB};
}

/// Multiples of a factor that products are compared with.
static constexpr int64_t mostMultiple = 1 << 20;

/// Adds how products among `variables` compare that have a factor in common which is 0 or more, and how they compare
/// with multiples of it: a >= 4 makes a n >= 4 n, where `conditions` or `goals` have that bound.
void Space::comparisons(llvm::ArrayRef<Variable> variables, llvm::ArrayRef<Linear> goals,
                        Conditions &conditions) const {
  llvm::SmallVector<const Product *> present;
  for (Variable each : variables)
    if (auto found = products.find(each); found != products.end())
      present.push_back(&found->second);
  auto add = [&](const Product &x, const Product &y, Variable a, Variable b, Variable common) {
    conditions.oneOf.push_back(
        comparison(Linear::of(x.result), Linear::of(y.result), Linear::of(a), Linear::of(b), Linear::of(common)));
  };
  for (auto [i, x] : llvm::enumerate(present))
    for (const Product *y : llvm::ArrayRef(present).drop_front(i + 1)) {
      if (x->b == y->b && x->isB)
        add(*x, *y, x->a, y->a, x->b);
      else if (x->a == y->a && x->isA)
        add(*x, *y, x->b, y->b, x->a);
      else if (x->b == y->a && x->isB)
        add(*x, *y, x->a, y->b, x->b);
      else if (x->a == y->b && x->isA)
        add(*x, *y, x->b, y->a, x->a);
    }
  // From where on a variable is too large, or large enough.
  std::map<Variable, std::set<int64_t>> bounds;
  auto see = [&](const Linear &each) {
    if (each.terms().size() != 1 || std::abs(each.terms().front().second) != 1 ||
        std::abs(each.constant()) > mostMultiple)
      return;
    auto [variable, factor] = each.terms().front();
    bounds[variable].insert(factor > 0 ? -each.constant() : each.constant() + 1);
  };
  llvm::for_each(conditions.all, see);
  llvm::for_each(goals, see);
  for (const auto &clause : conditions.oneOf)
    for (const Conjunction &one : clause)
      llvm::for_each(one, see);
  auto bound = [&](Variable product, Variable factor, Variable common) {
    for (int64_t least : bounds[factor]) {
      Linear x = Linear::of(product), a = Linear::of(factor), c = Linear::of(common);
      conditions.oneOf.push_back({{a + -least, x - c * least}, {a * -1 + (least - 1), c * (least - 1) - x}});
    }
  };
  for (const Product *each : present) {
    if (each->isB)
      bound(each->result, each->a, each->b);
    if (each->isA)
      bound(each->result, each->b, each->a);
  }
}

Linear Space::quotient(const Linear &value, const Linear &divisor) {
  bool isNew = false;
  Linear result = derived(keyOf("quotient", {value, divisor}), "quotient", Kind::Opaque, {value, divisor},
                          [&](Variable, Info &info) {
                            info.reason = "a division by a value that varies";
                            info.origin = {Origin::Quotient, {value, divisor}, 1, {}, "", ""};
                            isNew = true;
                          });
  if (isNew) {
    // Where the divisor is positive: 0 <= value - result divisor < divisor.
    Linear rest = value - product(result, divisor);
    Conjunction positive{divisor + -1, rest, divisor - rest + -1};
    if (isNonNegative({}, value)) {
      positive.push_back(result);
      positive.push_back(value - result);
    }
    infos[result.terms().front().first].known.oneOf.push_back({std::move(positive), {divisor * -1}});
  }
  return result;
}

Linear Space::substituted(const Linear &value, std::map<Variable, Linear> &values) {
  auto all = [&](llvm::ArrayRef<Linear> operands) {
    return llvm::map_to_vector(operands, [&](const Linear &each) { return substituted(each, values); });
  };
  Linear result = value.constant();
  for (auto [variable, factor] : value.terms()) {
    auto found = values.find(variable);
    if (found == values.end()) {
      const Origin origin = infos[variable].origin;
      llvm::SmallVector<Linear> operands = all(origin.operands);
      Truth condition = origin.condition;
      bool isSame = llvm::equal(operands, origin.operands);
      for (Conjunction &one : condition.anyOf)
        for (Linear &each : one) {
          Linear other = substituted(each, values);
          isSame &= other == each;
          each = other;
        }
      Linear computed = Linear::of(variable);
      if (isSame || origin.way == Origin::Given)
        ;
      else if (origin.way == Origin::FloorDiv)
        computed = floorDiv(operands[0], origin.divisor);
      else if (origin.way == Origin::Least || origin.way == Origin::Greatest)
        computed = extreme(operands, origin.way == Origin::Least);
      else if (origin.way == Origin::Select)
        computed = select(condition, operands[0], operands[1]);
      else if (origin.way == Origin::Product)
        computed = product(operands[0], operands[1]);
      else if (origin.way == Origin::Quotient)
        computed = quotient(operands[0], operands[1]);
      else
        computed = opaque(origin.name, operands, origin.reason);
      found = values.insert({variable, computed}).first;
    }
    result += found->second * factor;
  }
  return result;
}

std::string Space::firstOpaque(llvm::ArrayRef<Linear> values, const Conditions &conditions,
                               llvm::ArrayRef<Variable> known) const {
  std::vector<Variable> reached;
  reach(conditions, values, reached, /*everything=*/true);
  for (Variable each : reached)
    if (infos[each].kind == Kind::Opaque && !llvm::is_contained(known, each))
      return infos[each].reason;
  return "";
}

//===-- Instances ---------------------------------------------------------===//

llvm::DenseMap<Variable, Variable> Space::again(Variable from, llvm::ArrayRef<Linear> used,
                                                const Conditions &conditions) {
  // Variables in use, and those that they are made of.
  std::vector<Variable> list;
  std::vector<bool> isSeen(infos.size());
  auto see = [&](const Linear &value) {
    for (const auto &term : value.terms())
      if (!isSeen[term.first]) {
        isSeen[term.first] = true;
        list.push_back(term.first);
      }
  };
  auto seeAll = [&](const Conditions &each) {
    llvm::for_each(each.all, see);
    for (const auto &clause : each.oneOf)
      for (const Conjunction &one : clause)
        llvm::for_each(one, see);
  };
  llvm::for_each(used, see);
  seeAll(conditions);
  for (size_t i = 0; i < list.size(); ++i) {
    seeAll(infos[list[i]].known);
    for (Variable each : infos[list[i]].from)
      see(Linear::of(each));
  }
  llvm::sort(list);
  // Those that depend on an iteration of `from` or later: themselves, or through what they are made of or bounded by.
  llvm::DenseMap<Variable, Variable> names;
  for (Variable variable : list) {
    const Info &info = infos[variable];
    bool depends = variable >= from && info.kind != Kind::Derived && info.kind != Kind::Size;
    if (info.kind == Kind::Opaque && !info.from.empty())
      depends = false;
    for (Variable each : info.from)
      depends |= names.contains(each);
    if (depends) {
      Variable copy = add(info.name + "'", info.kind, info.reason);
      names[variable] = copy;
    }
  }
  for (Variable variable : list)
    if (names.contains(variable)) {
      Variable copy = names.lookup(variable);
      infos[copy].known = renamed(infos[variable].known, names);
      for (Variable each : infos[variable].from)
        infos[copy].from.push_back(names.contains(each) ? names.lookup(each) : each);
    }
  for (Variable variable : list)
    if (names.contains(variable)) {
      Origin &origin = infos[names.lookup(variable)].origin;
      origin = infos[variable].origin;
      for (Linear &each : origin.operands)
        each = renamed(each, names);
      for (Conjunction &one : origin.condition.anyOf)
        for (Linear &each : one)
          each = renamed(each, names);
      if (auto found = products.find(variable); found != products.end()) {
        auto other = [&](Variable each) { return names.contains(each) ? names.lookup(each) : each; };
        Product copy = found->second;
        products[other(variable)] = {other(variable), other(copy.a), other(copy.b), copy.isA, copy.isB};
      }
    }
  return names;
}

Linear Space::renamed(const Linear &value, const llvm::DenseMap<Variable, Variable> &names) {
  Linear result = value.constant();
  for (auto [variable, factor] : value.terms()) {
    auto found = names.find(variable);
    result += Linear::of(found == names.end() ? variable : found->second, factor);
  }
  return result;
}

Conditions Space::renamed(const Conditions &conditions, const llvm::DenseMap<Variable, Variable> &names) {
  Conditions result;
  for (const Linear &each : conditions.all)
    result.all.push_back(renamed(each, names));
  for (const auto &clause : conditions.oneOf) {
    auto &copy = result.oneOf.emplace_back();
    for (const Conjunction &one : clause) {
      copy.emplace_back();
      for (const Linear &each : one)
        copy.back().push_back(renamed(each, names));
    }
  }
  return result;
}

//===-- The short search --------------------------------------------------===//

Conditions Space::reach(const Conditions &conditions, llvm::ArrayRef<Linear> goals, std::vector<Variable> &variables,
                        bool everything) const {
  Conditions result;
  std::vector<bool> isIn(infos.size()), isTaken(conditions.all.size()), isClauseTaken(conditions.oneOf.size());
  auto enter = [&](const Linear &value) {
    for (const auto &term : value.terms())
      if (!isIn[term.first]) {
        isIn[term.first] = true;
        variables.push_back(term.first);
      }
  };
  auto touches = [&](const Linear &value) {
    return everything || value.isConstant() ||
           llvm::any_of(value.terms(), [&](const auto &term) { return isIn[term.first]; });
  };
  auto enterAll = [&](const Conditions &each) {
    llvm::for_each(each.all, enter);
    for (const auto &clause : each.oneOf)
      for (const Conjunction &one : clause)
        llvm::for_each(one, enter);
  };
  llvm::for_each(goals, enter);
  size_t next = 0;
  for (bool grows = true; grows;) {
    grows = false;
    for (; next < variables.size(); ++next) {
      const Conditions &known = infos[variables[next]].known;
      result.add(known);
      enterAll(known);
    }
    for (auto [i, each] : llvm::enumerate(conditions.all))
      if (!isTaken[i] && touches(each)) {
        isTaken[i] = grows = true;
        result.all.push_back(each);
        enter(each);
      }
    for (auto [i, clause] : llvm::enumerate(conditions.oneOf)) {
      auto oneTouches = [&](const Conjunction &one) { return llvm::any_of(one, touches); };
      if (isClauseTaken[i] || !llvm::any_of(clause, oneTouches))
        continue;
      isClauseTaken[i] = grows = true;
      result.oneOf.push_back(clause);
      for (const Conjunction &one : clause)
        llvm::for_each(one, enter);
    }
  }
  llvm::sort(variables);
  comparisons(variables, goals, result);
  return result;
}

namespace {

/// Conditions by their youngest variable, and a search that combines them with a goal.
class Search {
public:
  explicit Search(llvm::ArrayRef<Linear> conditions) {
    llvm::for_each(conditions, [&](const Linear &each) { add(each); });
  }

  /// Whether `goal` >= 0 contradicts the conditions in every case that the `clauses` leave, as far as a number of
  /// combinations shows.
  bool contradicts(const Linear &goal, llvm::ArrayRef<std::vector<Conjunction>> clauses) {
    if (isRefuted(goal))
      return true;
    if (clauses.empty())
      return false;
    add(goal);
    goals.push_back(goal);
    llvm::SmallVector<const std::vector<Conjunction> *> open;
    for (const auto &clause : clauses)
      open.push_back(&clause);
    return refute(std::move(open));
  }

private:
  void add(const Linear &condition) {
    if (!condition.isConstant() && !condition.isTooLarge())
      byYoungest[condition.terms().back().first].push_back(condition);
  }
  void drop(const Linear &condition) {
    if (!condition.isConstant() && !condition.isTooLarge())
      byYoungest[condition.terms().back().first].pop_back();
  }
  void assume(const Conjunction &one) {
    for (const Linear &each : one) {
      add(each);
      goals.push_back(each);
    }
  }
  void forget(const Conjunction &one) {
    for (const Linear &each : llvm::reverse(one)) {
      drop(each);
      goals.pop_back();
    }
  }
  bool isImpossible(const Conjunction &one) {
    assume(one);
    bool result = llvm::any_of(one, [&](const Linear &each) { return isRefuted(each); });
    forget(one);
    return result;
  }
  /// Assumes what each clause leaves, until one leaves nothing; else splits one that leaves two cases.
  bool refute(llvm::SmallVector<const std::vector<Conjunction> *> open) {
    llvm::SmallVector<const Conjunction *> assumed;
    llvm::SmallVector<const Conjunction *> best;
    bool isDone = false;
    for (bool changes = true; changes && !isDone;) {
      changes = false;
      best.clear();
      for (size_t i = 0; i < open.size() && !isDone && total > 0;) {
        llvm::SmallVector<const Conjunction *> left;
        for (const Conjunction &one : *open[i])
          if (!isImpossible(one))
            left.push_back(&one);
        if (left.size() > 1) {
          if (best.empty() || left.size() < best.size())
            best = left, bestOf = open[i];
          ++i;
          continue;
        }
        isDone = left.empty();
        open.erase(open.begin() + i);
        if (isDone)
          break;
        assumed.push_back(left.front());
        assume(*left.front());
        changes = true;
      }
      if (!isDone && changes) // what was asked may be impossible by now
        isDone = llvm::any_of(goals, [&](const Linear &each) { return isRefuted(each); });
    }
    if (!isDone && !best.empty() && total > 0 && depth < deepest) {
      ++depth;
      llvm::erase(open, bestOf);
      isDone = llvm::all_of(best, [&](const Conjunction *one) {
        assume(*one);
        bool isNever = refute(open);
        forget(*one);
        return isNever;
      });
      --depth;
    }
    for (const Conjunction *one : llvm::reverse(assumed))
      forget(*one);
    return isDone;
  }
  bool isRefuted(const Linear &goal) {
    if (total == 0)
      return false;
    steps = stepsOfGoal;
    return combine(goal);
  }
  bool combine(Linear goal) {
    goal.tighten();
    if (goal.isTooLarge())
      return false;
    if (goal.isConstant())
      return goal.constant() < 0;
    auto [variable, factor] = goal.terms().back();
    auto found = byYoungest.find(variable);
    if (found == byYoungest.end())
      return false;
    for (size_t i = found->second.size(); i-- > 0;) {
      const Linear each = found->second[i];
      int64_t other = each.terms().back().second;
      if ((other > 0) == (factor > 0))
        continue;
      if (steps == 0 || total == 0)
        return false;
      --steps, --total;
      int64_t common = std::gcd(other, factor);
      if (combine(goal * (std::abs(other) / common) + each * (std::abs(factor) / common)))
        return true;
    }
    return false;
  }

  llvm::DenseMap<Variable, llvm::SmallVector<Linear, 4>> byYoungest;
  Conjunction goals; // the goal, and what is assumed
  const std::vector<Conjunction> *bestOf = nullptr;
  static constexpr unsigned stepsOfGoal = 200, deepest = 4;
  unsigned steps = 0, total = 20000, depth = 0;
};

} // namespace

Answer Space::solve(const Conditions &conditions, const Linear &goal) {
  if (goal.isConstant() && goal.constant() < 0)
    return {Answer::Never, "", ""};
  std::vector<Variable> variables;
  Conditions all = reach(conditions, goal, variables, /*everything=*/goal.isConstant());
  if (Search(all.all).contradicts(goal, all.oneOf)) {
    ++quick;
    return {Answer::Never, "", ""};
  }
  ++slow;
  all.all.push_back(goal);
  Answer answer = ask(all, variables);
  if (answer.kind != Answer::Some)
    return answer;
  // A solution has to fulfil the conditions about other variables, too.
  variables.clear();
  all = reach(conditions, goal, variables, /*everything=*/true);
  all.all.push_back(goal);
  return ask(all, variables);
}
