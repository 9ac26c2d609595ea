//===- Witness.cpp - Which iteration writes an element --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// That each element of a result is written is shown by naming the iteration that does
/// it, as a function of the element and of the sizes:
///
///   C[64 (g floordiv nt) + 16 s + e, 64 (g mod nt) + f]     is element (x, y) where
///     e = x mod 16, s = x mod 64 floordiv 16, f = y mod 64, g = (x floordiv 64) nt + y floordiv 64
///
/// How an iteration is guessed does not matter. What is proved is that it exists, that its conditions
/// hold and that its index is (x, y), for all elements and sizes. Several guesses
/// may share the elements.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Checks.h"

#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace tilewright::proof;

using Values = std::map<Variable, Linear>;
using Kind = Space::Kind;
using Origin = Space::Origin;

/// Guesses that are made for one write, and cases of what may be wrong with one.
static constexpr size_t mostGuesses = 8, mostWrongs = 32;

namespace {

/// Solves equations for the variables of a write, digit by digit.
class Guess {
public:
  Guess(Space &space, const Access &write, unsigned choices) : space(space), choices(choices) {
    for (const Step &step : write.time)
      if (step.iteration)
        enter(*step.iteration);
    for (const Linear &index : write.index)
      enter(index);
    for (const Linear &each : write.conditions.all)
      enter(each);
  }

  /// Gives values to iterations and elements so that each `index` is its `point`, as far as that shows.
  void solve(llvm::ArrayRef<Linear> index, llvm::ArrayRef<Linear> point) {
    std::vector<std::pair<Linear, Linear>> equations;
    for (auto [left, right] : llvm::zip(index, point))
      equations.push_back({chosen(left), right});
    for (bool changes = true; changes;) {
      changes = false;
      for (auto &[left, right] : equations)
        changes |= assign(left, right);
      if (!changes)
        changes = invert(equations);
    }
  }
  /// Iterations that bound those that are known from below: i >= c n leads to c = i floordiv n.
  void setBounding() {
    for (bool changes = true; changes;) {
      changes = false;
      for (const auto &[variable, value] : Values(values)) {
        const Conjunction known = space.knownOf(variable).all;
        for (const Linear &each : known)
          if (bound(each)) {
            changes = true;
            break;
          }
      }
    }
  }
  /// Other iterations: the first one, or the last one.
  void setOthers(const Access &write, bool isLast) {
    for (const Step &step : write.time) {
      if (!step.iteration)
        continue;
      Variable counter = step.iteration->terms().front().first;
      if (values.count(counter))
        continue;
      llvm::SmallVector<Linear> first{Linear(0)}, last;
      bool hasLower = false;
      const Conjunction known = space.knownOf(counter).all;
      for (const Linear &each : known)
        if (int64_t factor = each.factorOf(counter); factor == 1) {
          if (!hasLower)
            first.clear();
          hasLower = true;
          first.push_back(now(Linear::of(counter) - each));
        } else if (factor < 0)
          last.push_back(space.floorDiv(now(each - Linear::of(counter, factor)), -factor));
      values[counter] = isLast && !last.empty() ? space.extreme(last, true) : space.extreme(first, false);
    }
  }

  Values values;
  unsigned extremes = 0; // that were met, of which each is one of its operands

private:
  void enter(const Linear &value) {
    for (const auto &term : value.terms())
      if (space.kindOf(term.first) == Kind::Iteration || space.kindOf(term.first) == Kind::Element)
        unknown[term.first] = true;
      else
        for (const Linear &each : llvm::SmallVector<Linear>(space.originOf(term.first).operands))
          enter(each);
  }
  bool isUnknown(Variable variable) const {
    if (values.count(variable))
      return false;
    if (unknown.count(variable))
      return true;
    return llvm::any_of(space.originOf(variable).operands, [&](const Linear &each) {
      return llvm::any_of(each.terms(), [&](const auto &term) { return isUnknown(term.first); });
    });
  }
  /// `value` by what is known by now.
  Linear now(const Linear &value) {
    Values scratch = values;
    return space.substituted(value, scratch);
  }
  /// `value` with one of the operands for each minimum and maximum.
  Linear chosen(const Linear &value) {
    Linear result = value.constant();
    for (auto [variable, factor] : value.terms()) {
      const Origin origin = space.originOf(variable);
      bool isExtreme = origin.way == Origin::Least || origin.way == Origin::Greatest;
      if (!isExtreme || !isUnknown(variable)) {
        result += Linear::of(variable, factor);
        continue;
      }
      unsigned number = extremes++;
      result += chosen(origin.operands[(choices >> number) % origin.operands.size()]) * factor;
    }
    return result;
  }
  int64_t leastOf(Variable variable) const {
    for (const Linear &each : space.knownOf(variable).all)
      if (each.terms().size() == 1 && each.factorOf(variable) == 1)
        return -each.constant();
    return 0;
  }
  bool assign(const Linear &left, const Linear &right) {
    Linear rest = right - left.constant();
    std::vector<std::pair<int64_t, Variable>> digits;
    for (auto [variable, factor] : left.terms())
      if (isUnknown(variable)) {
        digits.push_back({factor, variable});
        rest += leastOf(variable) * -factor;
      } else
        rest += now(Linear::of(variable)) * -factor;
    if (digits.empty())
      return false;
    // One of them, or all with positive factors, the greatest first.
    bool isReversed = digits.size() == 1 && digits.front().first < 0;
    if (isReversed) {
      rest *= -1;
      digits.front().first *= -1;
    }
    if (llvm::any_of(digits, [](const auto &digit) { return digit.first <= 0; }))
      return false;
    llvm::stable_sort(digits, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto [factor, variable] : digits) {
      Linear digit = space.floorDiv(rest, factor);
      values[variable] = digit + leastOf(variable);
      rest += digit * -factor;
    }
    return true;
  }
  /// Guesses the unknowns of `rest - factor unknown - .. >= 0`, of which one may be a factor of a product.
  bool bound(const Linear &condition) {
    Linear rest = condition.constant();
    std::vector<std::pair<int64_t, Variable>> digits;
    for (auto [variable, factor] : condition.terms()) {
      if (!isUnknown(variable))
        rest += now(Linear::of(variable)) * factor;
      else if (factor < 0)
        digits.push_back({-factor, variable});
      else
        return false;
    }
    llvm::stable_sort(digits, [](const auto &a, const auto &b) { return a.first > b.first; });
    bool changes = false;
    for (auto [factor, variable] : digits) {
      Linear digit = space.floorDiv(rest, factor);
      const Origin origin = space.originOf(variable);
      bool isGuessed = unknown.count(variable);
      if (isGuessed)
        values[variable] = digit;
      for (bool isFirst : {true, false}) {
        if (origin.way != Origin::Product || isGuessed)
          continue;
        Variable one = origin.operands[isFirst ? 0 : 1].terms().front().first;
        const Linear &other = origin.operands[isFirst ? 1 : 0];
        if (unknown.count(one) && !values.count(one) && !isUnknown(other.terms().front().first)) {
          values[one] = space.quotient(digit, now(other));
          isGuessed = true;
        }
      }
      if (!isGuessed)
        return changes;
      rest += now(Linear::of(variable)) * -factor;
      changes = true;
    }
    return changes;
  }
  /// Equations for what values that were guessed are computed of: q = i floordiv 4 leads to i = 4 q.
  bool invert(std::vector<std::pair<Linear, Linear>> &equations) {
    bool changes = false;
    for (const auto &[variable, value] : Values(values)) {
      const Origin origin = space.originOf(variable);
      if (origin.operands.empty() || inverted.count(variable))
        continue;
      inverted[variable] = changes = true;
      if (origin.way == Origin::FloorDiv)
        equations.push_back({origin.operands[0], value * origin.divisor});
      else if (origin.way == Origin::Quotient)
        equations.push_back({origin.operands[0], space.product(value, now(origin.operands[1]))});
      else
        equations.push_back({origin.operands[0], value});
    }
    return changes;
  }

  Space &space;
  unsigned choices;
  std::map<Variable, bool> unknown, inverted;
};

} // namespace

/// The cases in which an iteration does not write `point`, of those that `known` leaves; nullopt: too many.
static std::optional<std::vector<Conjunction>> wrongs(Space &space, const Access &write, llvm::ArrayRef<Linear> point,
                                                      const Values &guessed, const Conditions &known) {
  Values values; // of iterations and elements alone: all else is computed of them
  for (const auto &[variable, value] : guessed)
    if (space.originOf(variable).way == Origin::Given)
      values[variable] = value;
  Conditions needed = write.conditions;
  for (const auto &[variable, value] : values)
    needed.add(Conditions(space.knownOf(variable)));
  for (auto [index, coordinate] : llvm::zip(write.index, point))
    needed.addEqual(index, coordinate);
  // All that is left are elements of the array, sizes, and what is computed of them.
  std::map<Variable, bool> isGiven;
  for (const Linear &coordinate : point)
    isGiven[coordinate.terms().front().first] = true;
  std::function<bool(const Linear &)> isFixed = [&](const Linear &value) {
    return llvm::all_of(value.terms(), [&](const auto &term) {
      auto [found, isNew] = isGiven.insert({term.first, space.kindOf(term.first) == Kind::Size});
      if (isNew && !found->second) {
        const Origin &origin = space.originOf(term.first);
        found->second =
            origin.way != Origin::Given && llvm::all_of(origin.operands, isFixed) &&
            llvm::all_of(origin.condition.anyOf, [&](const auto &one) { return llvm::all_of(one, isFixed); });
      }
      return found->second;
    });
  };
  std::vector<Conjunction> result;
  for (const Linear &each : needed.all) {
    Linear wrong = space.substituted(each, values) * -1 + -1;
    if (!isFixed(wrong))
      return std::nullopt;
    if (!space.isNever(known, wrong))
      result.push_back({wrong});
    if (result.size() > mostWrongs)
      return std::nullopt;
  }
  for (const auto &clause : needed.oneOf) {
    Truth holds{clause, true};
    for (Conjunction &one : holds.anyOf)
      for (Linear &each : one)
        each = space.substituted(Linear(each), values);
    if (!llvm::all_of(holds.anyOf, [&](const auto &one) { return llvm::all_of(one, isFixed); }))
      return std::nullopt;
    Truth fails = !holds;
    if (!fails.isKnown)
      return std::nullopt;
    for (const Conjunction &one : fails.anyOf) {
      Conditions all = known;
      llvm::append_range(all.all, one);
      if (one.empty() || !space.isNever(all, one.front()))
        result.push_back(one);
    }
    if (result.size() > mostWrongs)
      return std::nullopt;
  }
  return result;
}

/// Whether values that an iteration of `write` has cannot be guessed: they are data.
static bool dependsOnData(const Space &space, const Access &write) {
  std::map<Variable, bool> isSeen;
  std::function<bool(const Linear &)> isData = [&](const Linear &value) {
    return llvm::any_of(value.terms(), [&](const auto &term) {
      if (!isSeen.insert({term.first, true}).second)
        return false;
      const Origin &origin = space.originOf(term.first);
      if (origin.way == Origin::Given && space.kindOf(term.first) == Kind::Opaque)
        return true;
      return llvm::any_of(origin.operands, isData) ||
             llvm::any_of(origin.condition.anyOf, [&](const auto &one) { return llvm::any_of(one, isData); }) ||
             llvm::any_of(space.knownOf(term.first).all, isData);
    });
  };
  auto isDataIn = [&](const Conditions &conditions) {
    return llvm::any_of(conditions.all, isData) || llvm::any_of(conditions.oneOf, [&](const auto &clause) {
             return llvm::any_of(clause, [&](const Conjunction &one) { return llvm::any_of(one, isData); });
           });
  };
  return llvm::any_of(write.index, isData) || isDataIn(write.conditions) ||
         llvm::any_of(write.time, [&](const Step &step) { return step.iteration && isData(*step.iteration); });
}

bool tilewright::proof::isWrittenByGuess(Program &program, const Array &array, llvm::ArrayRef<const Access *> writes) {
  Space &space = program.space;
  Conditions known = program.facts;
  llvm::SmallVector<Linear> point;
  for (auto [d, extent] : llvm::enumerate(array.shape)) {
    Variable coordinate = space.add("element " + std::to_string(d), Kind::Element);
    point.push_back(Linear::of(coordinate));
    space.know(coordinate, point.back());
    known.all.push_back(extent - point.back() + -1);
  }
  for (const Access &write : joined(program, writes)) {
    if (!write.isExact || dependsOnData(space, write))
      continue;
    unsigned guesses = 1;
    for (unsigned choices = 0; choices < guesses; ++choices)
      for (bool isLast : {false, true}) {
        Guess guess(space, write, choices);
        guess.solve(write.index, point);
        guess.setBounding();
        size_t solved = guess.values.size();
        guess.setOthers(write, isLast);
        guesses = std::min<unsigned>(1U << std::min(guess.extremes, 3U), mostGuesses);
        std::optional<std::vector<Conjunction>> wrong = wrongs(space, write, point, guess.values, known);
        if (wrong && wrong->empty())
          return true;
        if (wrong)
          known.oneOf.push_back(std::move(*wrong));
        if (guess.values.size() == solved) // nothing to choose
          break;
      }
  }
  return !known.oneOf.empty() && space.isNever(known, Linear(0));
}
