//===- Bounds.cpp - Every access lies in its array ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For each access and each dimension: no iteration and no element has an index below
/// zero, and none one of the extent or more. A vector may go on from the end of a row
/// into the next one where rows lie next to each other; then its element lies at
///
///   place = (i extent_1 + j) extent_2 + k,     0 <= place < extent_0 extent_1 extent_2
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Checks.h"

#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace tilewright::proof;

/// Replaces indices that go beyond rows by those of the element in memory; false where that is not proved.
static bool foldRows(Program &program, Access &access) {
  const Array &array = program.arrays[access.array];
  Space &space = program.space;
  if (!array.isRowMajor || access.index.size() < 2)
    return false;
  Linear place, total = 1;
  for (auto [index, extent] : llvm::zip(access.index, array.shape)) {
    place = space.product(place, extent) + index;
    total = space.product(total, extent);
  }
  if (!space.isNever(access.conditions, place * -1 + -1) || !space.isNever(access.conditions, place - total))
    return false;
  for (size_t d = access.index.size(); d-- > 1;) {
    const Linear &extent = array.shape[d];
    if (extent.isConstant() && extent.constant() <= 0)
      return true; // it has no elements: nothing runs
    Linear next = extent.isConstant() ? space.floorDiv(place, extent.constant()) : space.quotient(place, extent);
    access.index[d] = place - space.product(next, extent);
    place = next;
  }
  access.index[0] = place;
  return true;
}

void tilewright::proof::checkBounds(Program &program, Proof &proof) {
  Space &space = program.space;
  std::set<std::pair<mlir::Operation *, std::string>> isFound; // once for an operation, however often it is called
  for (Access &access : program.accesses) {
    ++proof.asked[static_cast<int>(Property::Bounds)];
    const Array &array = program.arrays[access.array];
    llvm::SmallVector<std::pair<std::string, Answer>> wrong;
    for (auto [d, index] : llvm::enumerate(access.index)) {
      auto ask = [&](const Linear &goal, const char *side) {
        Answer answer = space.solve(access.conditions, goal);
        if (answer.kind != Answer::Never)
          wrong.push_back({describe(program, access) + " " + side + " in dimension " + std::to_string(d), answer});
      };
      ask(index * -1 + -1, "before its begin");
      ask(index - array.shape[d], "beyond its end");
    }
    if (wrong.empty() || foldRows(program, access))
      continue;
    for (const auto &[where, answer] : wrong)
      if (isFound.insert({access.op, where}).second)
        report(proof, Property::Bounds, access, answer, access.isExact, where);
  }
}
