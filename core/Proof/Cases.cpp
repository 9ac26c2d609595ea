//===- Cases.cpp - A search over cases ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The simplex method is MLIR's, whose numbers do not overflow. A rational point only
/// says which clause is looked at first; "no solution" is said where the simplex method or isl
/// says so of conditions that hold.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Cases.h"

#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/STLExtras.h"

#include <isl/ctx.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>

using namespace tilewright::proof;
using mlir::presburger::Simplex;

/// Conditions that are added to the tableau for one question, and steps that isl may take for one point.
static constexpr unsigned mostAdditions = 12000;
static constexpr unsigned long stepsOfPoint = 100000;

namespace {

class CaseSearch {
public:
  CaseSearch(isl_ctx *ctx, const Conditions &conditions, llvm::ArrayRef<Variable> variables)
      : ctx(ctx), conditions(conditions), simplex(variables.size()) {
    for (auto [i, variable] : llvm::enumerate(variables))
      places[variable] = i;
  }

  Found run() {
    for (const Linear &each : conditions.all)
      add(each);
    Clauses open;
    for (const auto &clause : conditions.oneOf)
      open.push_back(&clause);
    return search(std::move(open));
  }

private:
  using Clauses = llvm::SmallVector<const std::vector<Conjunction> *>;

  void add(const Linear &condition) {
    llvm::SmallVector<llvm::DynamicAPInt> row(places.size() + 1, llvm::DynamicAPInt(0));
    for (auto [variable, factor] : condition.terms())
      row[places.lookup(variable)] = llvm::DynamicAPInt(factor);
    row.back() = llvm::DynamicAPInt(condition.constant());
    if (!simplex.isEmpty())
      simplex.addInequality(row);
    chosen.push_back(condition);
    ++additions;
  }
  void assume(const Conjunction &one) {
    for (const Linear &each : one)
      add(each);
  }
  bool leavesPoint(const Conjunction &one) {
    unsigned snapshot = simplex.getSnapshot();
    size_t before = chosen.size();
    assume(one);
    bool result = !simplex.isEmpty();
    back(snapshot, before);
    return result;
  }
  void back(unsigned snapshot, size_t before) {
    simplex.rollback(snapshot);
    chosen.resize(before);
  }

  /// Whether a rational point fulfils one case: a hint, in floating point.
  bool isFulfilled(const std::vector<Conjunction> &clause) const {
    return llvm::any_of(clause, [&](const Conjunction &one) {
      return llvm::all_of(one, [&](const Linear &each) {
        double value = each.constant();
        for (auto [variable, factor] : each.terms())
          value += static_cast<double>(factor) * sample[places.lookup(variable)];
        return value > -1e-6;
      });
    });
  }
  void takeSample() {
    sample.assign(places.size(), 0.0);
    if (auto point = simplex.getRationalSample())
      for (auto [value, fraction] : llvm::zip(sample, *point))
        value = static_cast<double>(int64_t(fraction.num)) / static_cast<double>(int64_t(fraction.den));
  }

  /// A point with all that is assumed and one case of each of `open`.
  Found search(Clauses open) {
    size_t before = chosen.size();
    unsigned snapshot = simplex.getSnapshot();
    Found found = searchHere(std::move(open));
    back(snapshot, before);
    return found;
  }
  Found searchHere(Clauses open) {
    llvm::SmallVector<const Conjunction *> best;
    const std::vector<Conjunction> *split = nullptr;
    for (bool changes = true; changes;) {
      changes = false;
      if (simplex.isEmpty())
        return {Found::Nothing, {}};
      takeSample();
      split = nullptr;
      for (size_t i = 0; i < open.size() && !changes;) {
        if (isFulfilled(*open[i])) {
          ++i;
          continue;
        }
        if (additions > mostAdditions)
          return {Found::Unknown, {}};
        llvm::SmallVector<const Conjunction *> left;
        for (const Conjunction &one : *open[i])
          if (leavesPoint(one))
            left.push_back(&one);
        if (left.empty())
          return {Found::Nothing, {}};
        if (left.size() == 1) {
          assume(*left.front());
          open.erase(open.begin() + i);
          changes = true;
          continue;
        }
        if (!split || left.size() < best.size())
          best = left, split = open[i];
        ++i;
      }
    }
    if (!split) {
      Found found = pointOfChosen();
      if (found.kind != Found::Point)
        return found;
      auto broken = llvm::find_if(open, [&](const auto *clause) { return !holds(*clause, found.point); });
      if (broken == open.end())
        return found;
      split = *broken;
      best.clear();
      for (const Conjunction &one : *split)
        best.push_back(&one);
    }
    llvm::erase(open, split);
    bool isKnown = true;
    for (const Conjunction *one : best) {
      size_t before = chosen.size();
      unsigned snapshot = simplex.getSnapshot();
      assume(*one);
      Found found = search(open);
      back(snapshot, before);
      if (found.kind == Found::Point)
        return found;
      isKnown &= found.kind == Found::Nothing;
    }
    return {isKnown ? Found::Nothing : Found::Unknown, {}};
  }

  bool holds(const std::vector<Conjunction> &clause, const std::vector<int64_t> &point) const {
    return llvm::any_of(clause, [&](const Conjunction &one) {
      return llvm::all_of(one, [&](const Linear &each) {
        __int128 value = each.constant();
        for (auto [variable, factor] : each.terms())
          value += static_cast<__int128>(factor) * point[places.lookup(variable)];
        return value >= 0;
      });
    });
  }
  /// An integer point with all that is assumed, by isl.
  Found pointOfChosen() {
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
    isl_ctx_set_max_operations(ctx, stepsOfPoint);
    isl_basic_set *set = basicSet(ctx, places.size(), chosen, places);
    isl_point *point = isl_basic_set_sample_point(set);
    if (!point)
      return {Found::Unknown, {}};
    Found found{Found::Point, {}};
    if (isl_point_is_void(point) == isl_bool_true)
      found.kind = Found::Nothing;
    for (unsigned i = 0; found.kind == Found::Point && i < places.size(); ++i) {
      isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, i);
      // Beyond 62 bits sums of them are not computed here.
      if (!value || isl_val_is_int(value) != isl_bool_true || isl_val_cmp_si(value, INT64_MAX / 2) > 0 ||
          isl_val_cmp_si(value, -(INT64_MAX / 2)) < 0)
        found.kind = Found::Unknown;
      else
        found.point.push_back(isl_val_get_num_si(value));
      isl_val_free(value);
    }
    isl_point_free(point);
    return found;
  }

  isl_ctx *ctx;
  const Conditions &conditions;
  Simplex simplex;
  llvm::DenseMap<Variable, unsigned> places;
  Conjunction chosen; // all that is assumed
  std::vector<double> sample;
  unsigned additions = 0;
};

} // namespace

Found tilewright::proof::findPoint(isl_ctx *ctx, const Conditions &conditions, llvm::ArrayRef<Variable> variables) {
  return CaseSearch(ctx, conditions, variables).run();
}
