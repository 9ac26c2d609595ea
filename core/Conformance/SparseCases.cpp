//===- SparseCases.cpp - Products of operands that keep some of k ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// C[m, n] += P[m, k / 4, s] mod 4 == k mod 4 ? A[m, k / 4, s] * B[n, k] : 0 over k
/// and s of 2, and the same with B as the one that keeps two of four elements; one
/// of two of f32, as units of tf32 take it.
/// Units that take an index compute half of these products (docs/quantisation.md).
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

namespace {

struct SparseProduct {
  T element, sum;
  bool isOfB; // which one is sparse
  Dim m, n, k;
  int64_t kept = element == T::F32 ? 1 : 2, group = 2 * kept;

  Dims sparse() const { return {isOfB ? n : m, {k.size / group}, {kept}}; }
  Dims dense() const { return {isOfB ? m : n, k}; }
};

std::string writeSparse(ProgramText &text, const SparseProduct &p) {
  const std::string free = p.isOfB ? "d1" : "d0", other = p.isOfB ? "d0" : "d1";
  const std::string place = free + ", d2 floordiv " + std::to_string(p.group) + ", d3";
  std::string values = text.input(p.element, p.sparse());
  std::string places = text.input(T::I8, p.sparse(), "tilewright.ascending");
  std::vector<Operand> operands = {{values, p.element, p.sparse(), place},
                                   {places, T::I8, p.sparse(), place},
                                   {text.input(p.element, p.dense()), p.element, p.dense(), other + ", d2"}};
  const std::string zero = isFloat(p.sum) ? "0.0" : "0", type = mlirName(p.sum), kind = isFloat(p.sum) ? "f " : "i ";
  Operand sum{text.filled(p.sum, {p.m, p.n}, zero), p.sum, {p.m, p.n}, "d0, d1"};
  return text.generic(4, 2, operands, sum, [&](const std::vector<std::string> &v) {
    std::string mask = text.add("arith.constant " + std::to_string(p.group - 1) + " : i8");
    std::string k = text.add("arith.index_cast " + text.add("linalg.index 2 : index") + " : index to i8");
    std::string have = text.add("arith.andi " + v[1] + ", " + mask + " : i8");
    std::string want = text.add("arith.andi " + k + ", " + mask + " : i8");
    std::string isHere = text.add("arith.cmpi eq, " + have + ", " + want + " : i8");
    std::string product = text.add("arith.mul" + kind + text.convert(v[0], p.element, p.sum) + ", " +
                                   text.convert(v[2], p.element, p.sum) + " : " + type);
    std::string none = text.add("arith.constant " + zero + " : " + type);
    std::string chosen = text.add("arith.select " + isHere + ", " + product + ", " + none + " : " + type);
    return text.add("arith.add" + kind + v.back() + ", " + chosen + " : " + type);
  });
}

Expected expectSparse(const SparseProduct &p, const Arrays &inputs) {
  const int64_t m = p.m.size, n = p.n.size, k = p.k.size, kept = p.kept, group = p.group, depth = k / group * kept;
  Expected expected(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t sparse = (p.isOfB ? j : i) * depth, dense = (p.isOfB ? i : j) * k;
      double sum = 0, magnitude = 0;
      bool open = false; // nothing can be said
      for (int64_t e = 0; e < depth; ++e) {
        const int64_t place = static_cast<int64_t>(inputs[1].get(sparse + e)) & (group - 1);
        const double x = inputs[0].get(sparse + e), y = inputs[2].get(dense + e / kept * group + place);
        sum += x * y;
        magnitude += std::fabs(x * y);
        open |= isFloat(p.sum) && dependsOnFlush(x, p.element, y, p.element);
      }
      expected.value[i * n + j] = sum;
      expected.bound[i * n + j] = open ? INFINITY : isFloat(p.sum) ? sumBound(p.sum, k, magnitude) : 0;
    }
  return expected;
}

Case sparseCase(const SparseProduct &p, bool quick) {
  ProgramText text;
  std::string result = writeSparse(text, p);
  const Domain places = p.kept == 2 ? Domain::Places : Domain::Any; // one of a group always ascends
  CaseProgram program{
      text.finish(result, p.sum, {p.m, p.n}),
      {{p.element, sizesOf(p.sparse())}, {T::I8, sizesOf(p.sparse()), places}, {p.element, sizesOf(p.dense())}},
      p.sum,
      sizesOf({p.m, p.n}),
      [p](const Arrays &arrays) { return expectSparse(p, arrays); },
      {Values::Random, Values::Extreme}};
  const std::string element = nameOf(p.element);
  return {"contraction",
          "sparse-matmul",
          element + "." + element + "." + nameOf(p.sum),
          shapeName({p.m, p.n, p.k}),
          (p.isOfB ? "b-" : "a-") + std::to_string(p.kept) + "-of-" + std::to_string(p.group),
          quick,
          program,
          {}};
}

} // namespace

void conformance::addSparse(std::vector<Case> &cases) {
  const Dim shapes[][3] = {{{33}, {47}, {100}}, {{16}, {16}, {64}}, {{64}, {96}, {256}}, {{7}, {13}, {20}}};
  for (const auto &shape : shapes)
    for (bool isOfB : {false, true})
      for (auto [element, sum] : {std::pair(T::F16, T::F32), std::pair(T::BF16, T::F32), std::pair(T::I8, T::I32),
                                  std::pair(T::F8E4M3FNUZ, T::F32), std::pair(T::F8E4M3FN, T::F32),
                                  std::pair(T::F8E5M2, T::F32), std::pair(T::F32, T::F32)}) {
        const bool quick = &shape == &shapes[0] && !isOfB && (element == T::F16 || element == T::I8);
        cases.push_back(sparseCase({element, sum, isOfB, shape[0], shape[1], shape[2]}, quick));
      }
}
