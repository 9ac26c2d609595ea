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
#include "tilewright/UnitModel.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

namespace {

/// Floats of 4 or 6 bits, which arrays hold in the low bits of bytes.
struct Narrow {
  const char *name;
  ElementKind kind;
};
constexpr Narrow fours{"f4E2M1FN", ElementKind::F4E2M1}, sixes{"f6E3M2FN", ElementKind::F6E3M2};

struct ScaledProduct {
  T a, b, scale; // A and B of I8: codes of `narrow`
  int64_t block;
  bool ofBAlone;
  Dim m, n, k;
  const Narrow *narrow = nullptr;

  Dim blocks() const { return {(k.size + block - 1) / block}; }
  /// Element `i` of an array of A or B.
  double get(const Array &array, int64_t i) const {
    if (!narrow)
      return array.get(i);
    const auto code = static_cast<unsigned char>(static_cast<int64_t>(array.get(i)));
    return readElement(narrow->kind, &code, 0);
  }
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
    auto wide = [&](size_t i) {
      if (!p.narrow || i > 1)
        return text.convert(v[i], operands[i].type, T::F32);
      const std::string bits = "i" + std::to_string(bitWidth(p.narrow->kind)), type = p.narrow->name;
      std::string code = text.add("arith.trunci " + v[i] + " : i8 to " + bits);
      code = text.add("arith.bitcast " + code + " : " + bits + " to " + type);
      return text.add("arith.extf " + code + " : " + type + " to f32");
    };
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
        const double x = p.get(inputs[0], i * k + l), y = p.get(inputs[1], j * k + l);
        const double ofB = inputs[2].get(j * blocks + l / p.block);
        const double ofA = p.ofBAlone ? 1 : inputs[3].get(i * blocks + l / p.block);
        sum += x * ofA * (y * ofB);
        magnitude += std::fabs(x * ofA * (y * ofB));
        open |= !p.narrow && dependsOnFlush(x, p.a, y, p.b);
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
  auto named = [&](T type) { return p.narrow ? p.narrow->name : nameOf(type); };
  std::string types = std::string(named(p.a)) + "." + named(p.b) + "." + nameOf(p.scale) + ".f32";
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
  for (auto [narrow, block, scale] :
       {std::tuple(&fours, int64_t(32), T::F8E8M0FNU), std::tuple(&fours, int64_t(16), T::F8E4M3FN),
        std::tuple(&sixes, int64_t(32), T::F8E8M0FNU)}) {
    ScaledProduct p{T::I8, T::I8, scale, block, /*ofBAlone=*/false, {33}, {47}, {544}, narrow};
    cases.push_back(scaledCase(p, /*quick=*/true));
  }
}
