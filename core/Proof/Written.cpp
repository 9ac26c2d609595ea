//===- Written.cpp - Results are written, by one parallel iteration -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two questions. Is there, for each element of a result and all sizes, an iteration
/// that writes it? And is there an element that two iterations of a parallel operation
/// touch, of which one writes? Iterations of one thread may write an element again:
/// sums do.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Checks.h"

#include "llvm/ADT/STLExtras.h"
#include <set>

#include <isl/point.h>
#include <isl/set.h>

using namespace tilewright::proof;

/// Steps of isl for the coverage of one array: less than a second.
static constexpr unsigned long operationsOfCoverage = 300000;
/// Pairs of operations that are looked at one by one, of one array and parallel operation.
static constexpr size_t mostPairs = 2000;

//===-- Coverage ----------------------------------------------------------===//

namespace {

/// The coordinates of an element as variables, and the values that depend on it and on sizes alone.
struct Target {
  llvm::SmallVector<Linear> point;
  llvm::SmallVector<Variable> kept; // sizes
  Conditions conditions;            // of all elements
};

} // namespace

/// Asks whether the union of `writes` has all elements; `why` is the reason where not.
static Answer::Kind isCovered(Program &program, const Array &array, llvm::ArrayRef<const Access *> all,
                              std::string &why) {
  Space &space = program.space;
  std::vector<Access> writes = joined(program, all);
  Target target;
  for (Variable variable = 0, end = space.count(); variable < end; ++variable)
    if (space.kindOf(variable) == Space::Kind::Size)
      target.kept.push_back(variable);
  for (auto [d, extent] : llvm::enumerate(array.shape)) {
    Variable coordinate = space.add("element " + std::to_string(d), Space::Kind::Element);
    target.point.push_back(Linear::of(coordinate));
    target.conditions.all.push_back(target.point.back());
    target.conditions.all.push_back(extent - target.point.back() + -1);
  }
  target.conditions.add(program.facts);
  space.renewBudget(operationsOfCoverage);
  isl_set *elements = space.setOf(target.conditions, target.point, {}, target.kept);
  isl_set *written = nullptr;
  std::string unknown;
  for (const Access &write : writes) {
    llvm::SmallVector<Linear> around;
    for (const Step &step : write.time)
      if (step.iteration)
        around.push_back(*step.iteration);
    llvm::SmallVector<Linear> values(write.index);
    values.append(around);
    if (std::string opaque = space.firstOpaque(values, write.conditions, target.kept);
        !opaque.empty() || !write.isExact) { // perhaps it writes
      unknown = opaque.empty() ? "it depends on a condition that is not affine" : opaque;
      continue;
    }
    isl_set *one = space.setOf(write.conditions, write.index, around, target.kept);
    if (!one)
      unknown = "too large: more cases than are looked at";
    written = written && one ? isl_set_union(written, one) : (one ? one : written);
  }
  if (!written && elements && unknown.empty()) // nothing writes it
    written = isl_set_empty(isl_set_get_space(elements));
  Answer::Kind result = Answer::Unknown;
  if (!elements || !written) {
    why = unknown.empty() ? "too large: more cases than are looked at" : unknown;
  } else if (isl_bool isSubset = isl_set_is_subset(elements, written); isSubset == isl_bool_true) {
    result = Answer::Never;
  } else if (isSubset == isl_bool_error) {
    why = space.whyUnknown();
  } else if (!unknown.empty()) { // other writes may have what is left
    why = unknown;
  } else {
    result = Answer::Some;
    isl_point *point = isl_set_sample_point(isl_set_subtract(isl_set_copy(elements), isl_set_copy(written)));
    for (size_t d = 0; point && d < target.point.size(); ++d) {
      isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, d);
      why += (d ? ", " : "") + std::to_string(value ? isl_val_get_num_si(value) : 0);
      isl_val_free(value);
    }
    isl_point_free(point);
  }
  isl_set_free(elements);
  isl_set_free(written);
  return result;
}

static void checkCoverage(Program &program, Proof &proof) {
  for (unsigned number = 0; number < program.arrays.size(); ++number) {
    if (!program.arrays[number].isResult)
      continue;
    ++proof.asked[static_cast<int>(Property::Written)];
    llvm::SmallVector<const Access *> writes;
    bool isExact = program.gaps.empty();
    for (const Access &access : program.accesses)
      if (access.array == number && access.isWrite) {
        writes.push_back(&access);
        isExact &= access.isExact;
      }
    std::string why;
    const Array array = program.arrays[number];
    Answer::Kind covered = isCovered(program, array, writes, why);
    bool isShown = covered == Answer::Never || (covered == Answer::Unknown && isWrittenByGuess(program, array, writes));
    if (isShown)
      continue;
    bool isDisproved = covered == Answer::Some && isExact;
    std::string message = covered == Answer::Some ? "element [" + why + "] of " + array.name + " is " +
                                                        (isDisproved ? "never written" : "perhaps not written")
                                                  : array.name + " is perhaps not written whole: " + why;
    proof.findings.push_back(
        {Property::Written, isDisproved ? Verdict::Disproved : Verdict::Unproved, array.location, std::move(message)});
  }
}

//===-- Parallel iterations -----------------------------------------------===//

/// Asks whether two iterations of the loops from step `at` on, which are one parallel operation, touch an element.
static Answer conflict(Program &program, const Access &a, const Access &b, size_t at) {
  Space &space = program.space;
  llvm::SmallVector<Linear> used(b.index);
  for (size_t i = at; i < b.time.size() && b.time[i].iteration; ++i)
    used.push_back(*b.time[i].iteration);
  auto names = space.again(b.time[at].first, used, b.conditions);
  Conditions both = a.conditions;
  both.add(Space::renamed(b.conditions, names));
  for (auto [x, y] : llvm::zip(a.index, b.index))
    both.addEqual(x, Space::renamed(y, names));
  for (size_t i = at; i < a.time.size() && a.time[i].group == a.time[at].group && a.time[i].iteration; ++i) {
    Linear difference = Space::renamed(*b.time[i].iteration, names) - *a.time[i].iteration;
    for (int sign : {1, -1}) {
      if (sign < 0 && &a == &b)
        continue; // the same pair
      Answer answer = space.solve(both, difference * sign + -1);
      if (answer.kind != Answer::Never)
        return answer;
    }
    both.addEqual(difference, 0);
  }
  return {Answer::Never, "", ""};
}

/// Conflicts of parallel iterations among the accesses of one array.
static void checkParallel(Program &program, Proof &proof, unsigned array, llvm::ArrayRef<const Access *> accesses) {
  if (llvm::none_of(accesses, [](const Access *access) { return access->isWrite; }))
    return;
  std::vector<Family> families = familiesOf(program, accesses);
  size_t depth = program.arrays[array].depth;
  std::set<mlir::Operation *> isFound;
  for (auto [i, a] : llvm::enumerate(families))
    for (size_t j = i; j < families.size(); ++j) {
      const Family &b = families[j];
      if (!a.hull.isWrite && !b.hull.isWrite)
        continue;
      // Each parallel operation around both, and outside of which the array lies.
      for (size_t at = 0; at < a.hull.time.size() && at < b.hull.time.size(); ++at) {
        const Step &one = a.hull.time[at], &other = b.hull.time[at];
        if (!one.iteration || !other.iteration || one.group != other.group)
          break;
        bool isFirst = at == 0 || a.hull.time[at - 1].group != one.group;
        if (!one.isParallel || !isFirst || at < depth)
          continue;
        if (depth > 0) // a memory of a group, whose members wait for each other: Order.cpp
          continue;
        if (conflict(program, a.hull, i == j ? a.hull : b.hull, at).kind == Answer::Never)
          continue;
        // One by one.
        size_t pairs = 0;
        for (const Access *x : a.members)
          for (const Access *y : b.members) {
            if (++pairs > mostPairs || isFound.contains(x->op))
              continue;
            Answer answer = conflict(program, *x, *y, at);
            if (answer.kind == Answer::Never)
              continue;
            isFound.insert(x->op);
            report(proof, Property::Written, *x, answer, x->isExact && y->isExact,
                   describe(program, *x) + " where another iteration of \"" + one.level.str() + "\" " +
                       (y->isWrite ? "writes" : "reads"));
          }
        if (pairs > mostPairs)
          proof.findings.push_back(
              {Property::Written, Verdict::Unproved, a.hull.op->getLoc(),
               "too large: " + std::to_string(pairs) + " pairs of accesses to " + program.arrays[array].name});
      }
    }
}

void tilewright::proof::checkWritten(Program &program, Proof &proof) {
  checkCoverage(program, proof);
  std::vector<llvm::SmallVector<const Access *>> byArray(program.arrays.size());
  for (const Access &access : program.accesses)
    byArray[access.array].push_back(&access);
  for (auto [array, accesses] : llvm::enumerate(byArray))
    checkParallel(program, proof, array, accesses);
}
