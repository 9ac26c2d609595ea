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
  infos.push_back({name.str(), reason.str(), kind, {}, {}, false});
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
                 });
}

Linear Space::select(const Truth &condition, const Linear &yes, const Linear &no) {
  if (yes == no)
    return yes;
  Truth otherwise = !condition;
  std::string key = "select";
  llvm::SmallVector<Linear> operands{yes, no};
  for (const Conjunction &each : condition.anyOf) {
    key += ";";
    operands.append(each.begin(), each.end());
  }
  if (!condition.isKnown || !otherwise.isKnown)
    return opaque("select of an unknown condition", operands, "chosen by a condition that is not affine");
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
  });
}

Linear Space::opaque(llvm::StringRef name, llvm::ArrayRef<Linear> operands, llvm::StringRef reason) {
  return derived(keyOf(name, operands), name, Kind::Opaque, operands,
                 [&](Variable, Info &info) { info.reason = reason.str(); });
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
        isNew = true;
      });
  if (isNew)
    learnProduct(result, first, second);
  return result * scaleX * scaleY;
}

/// Of the products x = a c and y = b c with c >= 0: where a > b, x >= y + c; where a < b, y >= x + c; else x = y.
static std::vector<Conjunction> comparison(const Linear &x, const Linear &y, const Linear &a, const Linear &b,
                                           const Linear &c) {
  return {{a - b + -1, x - y - c}, {b - a + -1, y - x - c}, {a - b, b - a, x - y, y - x}};
}

void Space::learnProduct(const Linear &result, const Linear &a, const Linear &b) {
  auto &clauses = infos[result.terms().front().first].known.oneOf;
  bool isA = isNonNegative({}, a), isB = isNonNegative({}, b);
  if (isA && isB)
    know(result.terms().front().first, result);
  // Both are at least 1, and it is at least as large as each; or one is 0; or one is negative.
  std::vector<Conjunction> cases{
      {a + -1, b + -1, result - a, result - b}, {a, a * -1, result, result * -1}, {b, b * -1, result, result * -1}};
  if (!isA)
    cases.push_back({a * -1 + -1});
  if (!isB)
    cases.push_back({b * -1 + -1});
  clauses.push_back(std::move(cases));
  auto compare = [&](const Linear &other, const Linear &mine, const Linear &theirs, const Linear &common) {
    clauses.push_back(comparison(other, result, theirs, mine, common));
  };
  for (const Product &each : products) {
    if (each.b == b && isB)
      compare(each.result, a, each.a, b);
    else if (each.a == a && isA)
      compare(each.result, b, each.b, a);
    else if (each.a == b && isB)
      compare(each.result, a, each.b, b);
    else if (each.b == a && isA)
      compare(each.result, b, each.a, a);
  }
  products.push_back({result, a, b});
}

Linear Space::quotient(const Linear &value, const Linear &divisor) {
  bool isNew = false;
  Linear result = derived(keyOf("quotient", {value, divisor}), "quotient", Kind::Opaque, {value, divisor},
                          [&](Variable, Info &info) {
                            info.reason = "a division by a value that varies";
                            info.divides = true;
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

bool Space::isProduct(Variable variable) const {
  return llvm::any_of(products, [&](const Product &each) { return each.result.terms().front().first == variable; });
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
  // A product and its copy have a factor in common, if one alone is another.
  for (const Product &each : products)
    if (Variable variable = each.result.terms().front().first; names.contains(variable)) {
      Linear copy = renamed(each.result, names), a = renamed(each.a, names), b = renamed(each.b, names);
      auto &clauses = infos[names.lookup(variable)].known.oneOf;
      if (b == each.b && isNonNegative({}, b))
        clauses.push_back(comparison(each.result, copy, each.a, a, b));
      else if (a == each.a && isNonNegative({}, a))
        clauses.push_back(comparison(each.result, copy, each.b, b, a));
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
  Conditions all = reach(conditions, goal, variables);
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
