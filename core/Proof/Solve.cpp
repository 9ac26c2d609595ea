//===- Solve.cpp - Questions that isl answers -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conditions become isl's sets. isl's work is bounded: what takes longer is not
/// known.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

using namespace tilewright::proof;

/// Steps that isl may take for one question: some milliseconds.
static constexpr unsigned long operationsOfQuestion = 100000;
/// Choices, multiplied over the clauses, that one question may have.
static constexpr size_t mostChoices = 4096;

Space::Space() : ctx(isl_ctx_alloc()) { isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE); }
Space::~Space() { isl_ctx_free(ctx); }

void Space::renewBudget(unsigned long operations) {
  isl_ctx_reset_error(ctx);
  isl_ctx_reset_operations(ctx);
  isl_ctx_set_max_operations(ctx, operations);
}

std::string Space::whyUnknown() const {
  return isl_ctx_last_error(ctx) == isl_error_quota ? "too large: the solver's limit of steps is reached"
                                                    : "the solver gave no answer";
}

/// The points of `conditions` over dimensions given by `places`.
static isl_basic_set *basicSet(isl_ctx *ctx, unsigned dimensions, llvm::ArrayRef<Linear> conditions,
                               const llvm::DenseMap<Variable, unsigned> &places) {
  isl_space *space = isl_space_set_alloc(ctx, 0, dimensions);
  isl_local_space *local = isl_local_space_from_space(isl_space_copy(space));
  isl_basic_set *set = isl_basic_set_universe(space);
  for (const Linear &each : conditions) {
    isl_constraint *constraint = isl_constraint_alloc_inequality(isl_local_space_copy(local));
    for (auto [variable, factor] : each.terms())
      constraint = isl_constraint_set_coefficient_val(constraint, isl_dim_set, places.lookup(variable),
                                                      isl_val_int_from_si(ctx, factor));
    constraint = isl_constraint_set_constant_val(constraint, isl_val_int_from_si(ctx, each.constant()));
    set = isl_basic_set_add_constraint(set, constraint);
  }
  isl_local_space_free(local);
  return set;
}

isl_set *Space::build(const Conditions &conditions, llvm::ArrayRef<Variable> variables, unsigned before) {
  size_t choices = 1;
  bool isTooLarge = llvm::any_of(conditions.all, [](const Linear &each) { return each.isTooLarge(); });
  for (const auto &clause : conditions.oneOf) {
    choices *= std::max<size_t>(clause.size(), 1);
    for (const Conjunction &one : clause)
      isTooLarge |= llvm::any_of(one, [](const Linear &each) { return each.isTooLarge(); });
    if (choices > mostChoices)
      return nullptr;
  }
  if (isTooLarge)
    return nullptr;
  llvm::DenseMap<Variable, unsigned> places;
  for (auto [i, variable] : llvm::enumerate(variables))
    places[variable] = before + i;
  unsigned dimensions = before + variables.size();
  isl_set *set = isl_set_from_basic_set(basicSet(ctx, dimensions, conditions.all, places));
  for (const auto &clause : conditions.oneOf) {
    isl_set *any = isl_set_empty(isl_space_set_alloc(ctx, 0, dimensions));
    for (const Conjunction &one : clause)
      any = isl_set_union(any, isl_set_from_basic_set(basicSet(ctx, dimensions, one, places)));
    set = isl_set_intersect(set, any);
  }
  return set;
}

Answer Space::ask(const Conditions &conditions, llvm::ArrayRef<Variable> variables) {
  renewBudget(operationsOfQuestion);
  isl_set *set = build(conditions, variables);
  if (!set)
    return {Answer::Unknown, "", "too large: more cases than are looked at"};
  isl_bool isEmpty = isl_set_is_empty(set);
  if (isEmpty != isl_bool_false) {
    isl_set_free(set);
    return isEmpty == isl_bool_true ? Answer{Answer::Never, "", ""} : Answer{Answer::Unknown, "", whyUnknown()};
  }
  isl_point *point = isl_set_sample_point(set);
  Answer answer{Answer::Some, "", "", true};
  llvm::raw_string_ostream os(answer.values);
  for (auto [i, variable] : llvm::enumerate(variables)) {
    const Info &info = infos[variable];
    if (info.kind == Kind::Opaque) {
      answer.isReal = false;
      if (answer.reason.empty())
        answer.reason = info.reason;
    }
    if (info.kind == Kind::Derived || !point)
      continue;
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, i);
    if (value)
      os << (answer.values.empty() ? "" : ", ") << info.name << " = " << isl_val_get_num_si(value);
    isl_val_free(value);
  }
  isl_point_free(point);
  return answer;
}

isl_set *Space::setOf(const Conditions &conditions, llvm::ArrayRef<Linear> point, llvm::ArrayRef<Linear> around,
                      llvm::ArrayRef<Variable> kept) {
  std::vector<Variable> reached;
  llvm::SmallVector<Linear> goals(point);
  llvm::append_range(goals, around);
  for (Variable variable : kept)
    goals.push_back(Linear::of(variable));
  Conditions system = reach(conditions, goals, reached, /*everything=*/true);
  std::vector<Variable> order(kept.begin(), kept.end());
  llvm::copy_if(reached, std::back_inserter(order), [&](Variable each) { return !llvm::is_contained(kept, each); });
  // Dimensions: the point, the kept ones, the rest; the rest goes, and the point moves to the end.
  isl_set *set = build(system, order, point.size());
  if (!set)
    return nullptr;
  isl_local_space *local = isl_local_space_from_space(isl_set_get_space(set));
  for (auto [i, coordinate] : llvm::enumerate(point)) {
    isl_constraint *equal = isl_constraint_alloc_equality(isl_local_space_copy(local));
    equal = isl_constraint_set_coefficient_si(equal, isl_dim_set, i, -1);
    for (auto [variable, factor] : coordinate.terms()) {
      unsigned place = point.size() + (llvm::find(order, variable) - order.begin());
      equal = isl_constraint_set_coefficient_val(equal, isl_dim_set, place, isl_val_int_from_si(ctx, factor));
    }
    equal = isl_constraint_set_constant_val(equal, isl_val_int_from_si(ctx, coordinate.constant()));
    set = isl_set_add_constraint(set, equal);
  }
  isl_local_space_free(local);
  set = isl_set_project_out(set, isl_dim_set, point.size() + kept.size(), order.size() - kept.size());
  return isl_set_coalesce(set);
}
