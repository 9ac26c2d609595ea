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

#include "core/Proof/Cases.h"

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

/// Choices, multiplied over the clauses, that one set may have.
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

isl_basic_set *tilewright::proof::basicSet(isl_ctx *ctx, unsigned dimensions, llvm::ArrayRef<Linear> conditions,
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

/// Whether a number of `conditions` did not fit.
static bool hasTooLarge(const Conditions &conditions) {
  auto isTooLarge = [](const Linear &each) { return each.isTooLarge(); };
  return llvm::any_of(conditions.all, isTooLarge) || llvm::any_of(conditions.oneOf, [&](const auto &clause) {
           return llvm::any_of(clause, [&](const Conjunction &one) { return llvm::any_of(one, isTooLarge); });
         });
}

isl_set *Space::build(const Conditions &conditions, llvm::ArrayRef<Variable> variables, unsigned before) {
  size_t choices = 1;
  for (const auto &clause : conditions.oneOf)
    if ((choices *= std::max<size_t>(clause.size(), 1)) > mostChoices)
      return nullptr;
  if (hasTooLarge(conditions))
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
  if (hasTooLarge(conditions))
    return {Answer::Unknown, "", "too large: a number has more than 64 bits"};
  Found found = findPoint(ctx, conditions, variables);
  if (found.kind == Found::Nothing)
    return {Answer::Never, "", ""};
  if (found.kind == Found::Unknown)
    return {Answer::Unknown, "", "too large: more cases than are looked at"};
  Answer answer{Answer::Some, "", "", true};
  llvm::raw_string_ostream os(answer.values);
  for (auto [variable, value] : llvm::zip(variables, found.point)) {
    const Info &info = infos[variable];
    if (info.kind == Kind::Opaque) {
      answer.isReal = false;
      if (answer.reason.empty())
        answer.reason = info.reason;
    }
    if (info.kind != Kind::Derived)
      os << (answer.values.empty() ? "" : ", ") << info.name << " = " << value;
  }
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
