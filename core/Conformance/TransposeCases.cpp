//===- TransposeCases.cpp - Transposes ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Permutations of two and three dimensions; every element arrives unchanged.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

static Case transposeCase(T type, const Dims &dims, const std::vector<int> &order, bool quick) {
  Dims out;
  std::string permutation, layout;
  for (int d : order) {
    out.push_back(dims[d]);
    permutation += (permutation.empty() ? "" : ", ") + std::to_string(d);
    layout += std::to_string(d);
  }
  ProgramText text;
  std::string a = text.input(type, dims), target = text.empty(type, out);
  std::string from = tensorType(type, dims), to = tensorType(type, out);
  std::string result = text.add("linalg.transpose ins(" + a + " : " + from + ") outs(" + target + " : " + to +
                                ") permutation = [" + permutation + "]");
  auto expect = [=](const Arrays &arrays) {
    Expected expected(arrays[0].count());
    std::vector<int64_t> step(dims.size(), 1);
    for (size_t d = dims.size() - 1; d > 0; --d)
      step[d - 1] = step[d] * dims[d].size;
    for (int64_t i = 0; i < arrays[0].count(); ++i) {
      int64_t rest = i, from = 0;
      for (size_t d = out.size(); d-- > 0;) {
        from += rest % out[d].size * step[order[d]];
        rest /= out[d].size;
      }
      expected.value[i] = arrays[0].get(from);
    }
    return expected;
  };
  std::vector<Values> values = {Values::Random, isFloat(type) ? Values::Special : Values::Extreme};
  CaseProgram program{text.finish(result, type, out), {{type, sizesOf(dims)}}, type, sizesOf(out), expect, values};
  return {"transpose", "transpose", nameOf(type), shapeName(dims), layout, quick, program, {}};
}

void conformance::addTransposes(std::vector<Case> &cases) {
  const Dims squares[] = {{{33}, {47}}, {{32}, {64}}, {{19, "m"}, {70, "n"}}, {{1}, {53}}};
  const Dims cubes[] = {{{3}, {17}, {29}}, {{4, "a"}, {16}, {24, "b"}}};
  size_t number = 0;
  for (T type : {T::F32, T::I8, T::F16, T::BF16, T::F64, T::I32, T::F8E4M3FN}) {
    for (const Dims &dims : squares)
      cases.push_back(transposeCase(type, dims, {1, 0}, (number++) % 3 == 0));
    for (const Dims &dims : cubes)
      for (const std::vector<int> &order :
           {std::vector<int>{0, 2, 1}, std::vector<int>{2, 0, 1}, std::vector<int>{2, 1, 0}, std::vector<int>{1, 0, 2}})
        cases.push_back(transposeCase(type, dims, order, (number++) % 13 == 0));
  }
}

std::vector<Case> conformance::programCases() {
  std::vector<Case> cases;
  addContractions(cases);
  addConvolutions(cases);
  addElementwise(cases);
  addRows(cases);
  addTransposes(cases);
  addScaled(cases);
  addSparse(cases);
  addPerformance(cases);
  return cases;
}
