//===- ScaledCases.cpp - Products of block-scaled operands ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// C[m, n] += (A[m, k] * S[m, k / block]) * (B[n, k] * T[n, k / block]), and the same
/// with scales of B alone. Judged as a product; where a scale has a fraction, each
/// scaled operand is rounded once more.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

namespace {

struct ScaledProduct {
  T a, b, scale;
  int64_t block;
  bool ofBAlone;
  Dim m, n, k;

  Dim blocks() const { return {(k.size + block - 1) / block}; }
};

std::string writeScaled(ProgramText &text, const ScaledProduct &p) {
  const std::string number = "d2 floordiv " + std::to_string(p.block);
  std::vector<Operand> operands;
  auto add = [&](T type, const Dims &dims, const std::string &indices) {
    operands.push_back({text.input(type, dims), type, dims, indices});
  };
  add(p.a, {p.m, p.k}, "d0, d2");
  add(p.b, {p.n, p.k}, "d1, d2");
  add(p.scale, {p.n, p.blocks()}, "d1, " + number);
  if (!p.ofBAlone)
    add(p.scale, {p.m, p.blocks()}, "d0, " + number);
  Operand sum{text.filled(T::F32, {p.m, p.n}, "0.0"), T::F32, {p.m, p.n}, "d0, d1"};
  return text.generic(3, 1, operands, sum, [&](const std::vector<std::string> &v) {
    auto wide = [&](size_t i) { return text.convert(v[i], operands[i].type, T::F32); };
    auto times = [&](const std::string &x, const std::string &y) {
      return text.add("arith.mulf " + x + ", " + y + " : f32");
    };
    std::string x = wide(0);
    if (!p.ofBAlone)
      x = times(x, wide(3));
    return text.add("arith.addf " + times(x, times(wide(1), wide(2))) + ", " + v.back() + " : f32");
  });
}

Expected expectScaled(const ScaledProduct &p, const Arrays &inputs) {
  const int64_t m = p.m.size, n = p.n.size, k = p.k.size, blocks = p.blocks().size;
  const int64_t roundings = p.scale == T::F8E8M0FNU ? 0 : 2;
  Expected expected(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      bool open = false; // nothing can be said
      for (int64_t l = 0; l < k; ++l) {
        const double x = inputs[0].get(i * k + l), y = inputs[1].get(j * k + l);
        const double ofB = inputs[2].get(j * blocks + l / p.block);
        const double ofA = p.ofBAlone ? 1 : inputs[3].get(i * blocks + l / p.block);
        sum += x * ofA * (y * ofB);
        magnitude += std::fabs(x * ofA * (y * ofB));
        open |= dependsOnFlush(x, p.a, y, p.b);
      }
      expected.value[i * n + j] = sum;
      expected.bound[i * n + j] = open ? INFINITY : sumBound(T::F32, k + roundings, magnitude);
    }
  return expected;
}

Case scaledCase(const ScaledProduct &p, bool quick) {
  ProgramText text;
  std::string result = writeScaled(text, p);
  std::vector<CaseInput> inputs = {
      {p.a, sizesOf({p.m, p.k})}, {p.b, sizesOf({p.n, p.k})}, {p.scale, sizesOf({p.n, p.blocks()}), Domain::Positive}};
  if (!p.ofBAlone)
    inputs.push_back({p.scale, sizesOf({p.m, p.blocks()}), Domain::Positive});
  CaseProgram program{text.finish(result, T::F32, {p.m, p.n}),
                      inputs,
                      T::F32,
                      sizesOf({p.m, p.n}),
                      [p](const Arrays &arrays) { return expectScaled(p, arrays); },
                      {Values::Random, Values::Extreme}};
  std::string types = std::string(nameOf(p.a)) + "." + nameOf(p.b) + "." + nameOf(p.scale) + ".f32";
  return {"contraction",
          "scaled-matmul",
          types,
          shapeName({p.m, p.n, p.k}),
          "blocks" + std::to_string(p.block) + (p.ofBAlone ? "-of-b" : ""),
          quick,
          program,
          {}};
}

} // namespace

void conformance::addScaled(std::vector<Case> &cases) {
  const Dim shapes[][3] = {{{33}, {47}, {100}}, {{16}, {16}, {128}}, {{64}, {96}, {256}}, {{7}, {13}, {20}}};
  for (const auto &shape : shapes)
    for (int64_t block : {32, 16, 128})
      for (bool ofBAlone : {false, true})
        for (auto [a, b, scale] :
             {std::tuple(T::F8E4M3FN, T::F8E5M2, T::F8E8M0FNU), std::tuple(T::F8E4M3FN, T::F8E4M3FN, T::F8E4M3FN),
              std::tuple(T::F8E5M2, T::F8E5M2, T::F32)}) {
          ScaledProduct p{a, b, scale, block, ofBAlone, shape[0], shape[1], shape[2]};
          cases.push_back(scaledCase(p, &shape == &shapes[0] && (block == 32 || scale == T::F8E8M0FNU) && !ofBAlone));
        }
}
