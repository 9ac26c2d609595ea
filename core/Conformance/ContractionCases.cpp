//===- ContractionCases.cpp - Products of matrices ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plain, batched, and with an epilogue. With g = |c| + sum |a b| of an element, in
/// any order of summation with one rounding a step in the type C that computes:
///
///   bound = (K + 2) (2 u(C) g + normal(C))
///
/// which also holds for units that cut off instead of rounding. Integers wrap.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;

namespace {

/// C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n] (+ C).
struct Product {
  ElementType a, b, c; // c: of the sum
  Dim batch{1}, m, n, k;
  bool batched = false, sharedB = false; // sharedB: one B for all batches
  bool transposedA = false, transposedB = false;
  bool accumulate = false; // a third input holds the start

  Dims dimsA() const { return dims(transposedA ? Dims{k, m} : Dims{m, k}, batched); }
  Dims dimsB() const { return dims(transposedB ? Dims{n, k} : Dims{k, n}, batched && !sharedB); }
  Dims dimsC() const { return dims({m, n}, batched); }
  std::string types() const { return std::string(nameOf(a)) + "." + nameOf(b) + "." + nameOf(c); }
  std::string layout() const {
    return std::string(transposedA ? "t" : "n") + (transposedB ? "t" : "n") + (sharedB ? "-shared" : "") +
           (accumulate ? "-accumulate" : "");
  }
  std::string shape() const { return shapeName(batched ? Dims{batch, m, n, k} : Dims{m, n, k}); }
  int64_t batches() const { return batched ? batch.size : 1; }

private:
  Dims dims(Dims dims, bool withBatch) const {
    if (withBatch)
      dims.insert(dims.begin(), batch);
    return dims;
  }
};

/// The text of the product: the value of the sum.
std::string writeProduct(ProgramText &text, const Product &p) {
  std::string a = text.input(p.a, p.dimsA()), b = text.input(p.b, p.dimsB());
  std::string start =
      p.accumulate ? text.input(p.c, p.dimsC()) : text.filled(p.c, p.dimsC(), isFloat(p.c) ? "0.0" : "0");
  int first = p.batched ? 1 : 0;
  auto d = [](int i) { return "d" + std::to_string(i); };
  std::string m = d(first), n = d(first + 1), k = d(first + 2), batch = p.batched ? "d0, " : "";
  Operand left{a, p.a, p.dimsA(), batch + (p.transposedA ? k + ", " + m : m + ", " + k)};
  Operand right{b, p.b, p.dimsB(), (p.sharedB ? "" : batch) + (p.transposedB ? n + ", " + k : k + ", " + n)};
  Operand sum{start, p.c, p.dimsC(), batch + m + ", " + n};
  return text.generic(first + 3, 1, {left, right}, sum, [&](const std::vector<std::string> &v) {
    std::string suffix = isFloat(p.c) ? "f " : "i ", type = " : " + mlirName(p.c);
    std::string product =
        text.add("arith.mul" + suffix + text.convert(v[0], p.a, p.c) + ", " + text.convert(v[1], p.b, p.c) + type);
    return text.add("arith.add" + suffix + product + ", " + v[2] + type);
  });
}

/// `value` as the integer type keeps it.
double wrapped(int64_t value, ElementType type) {
  return sizeOf(type) >= 4 ? static_cast<double>(static_cast<int32_t>(value))
                           : static_cast<double>(static_cast<int16_t>(value));
}

Expected expectProduct(const Product &p, const Arrays &inputs) {
  int64_t m = p.m.size, n = p.n.size, k = p.k.size;
  Expected expected(p.batches() * m * n);
  for (int64_t batch = 0; batch < p.batches(); ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t at = (batch * m + i) * n + j, startB = p.sharedB ? 0 : batch * k * n;
        double start = p.accumulate ? inputs[2].get(at) : 0;
        long double sum = start;
        double magnitude = std::fabs(start);
        bool open = false; // nothing can be said
        uint64_t whole = static_cast<uint64_t>(static_cast<int64_t>(isFloat(p.c) ? 0 : start));
        for (int64_t l = 0; l < k; ++l) {
          double x = inputs[0].get(batch * m * k + (p.transposedA ? l * m + i : i * k + l));
          double y = inputs[1].get(startB + (p.transposedB ? j * k + l : l * n + j));
          if (isFloat(p.c)) {
            sum += static_cast<long double>(x) * y;
            magnitude += std::fabs(x * y);
            open |= dependsOnFlush(x, p.a, y, p.b);
          } else {
            whole += static_cast<uint64_t>(static_cast<int64_t>(x) * static_cast<int64_t>(y));
          }
        }
        expected.value[at] = isFloat(p.c) ? static_cast<double>(sum) : wrapped(static_cast<int64_t>(whole), p.c);
        expected.bound[at] = open ? INFINITY : isFloat(p.c) ? sumBound(computeType(p.c), k, magnitude) : 0;
      }
  return expected;
}

std::vector<CaseInput> inputsOf(const Product &p) {
  std::vector<CaseInput> inputs = {{p.a, sizesOf(p.dimsA())}, {p.b, sizesOf(p.dimsB())}};
  if (p.accumulate)
    inputs.push_back({p.c, sizesOf(p.dimsC())});
  return inputs;
}

Case productCase(const Product &p, bool quick, std::vector<Values> values) {
  ProgramText text;
  std::string result = writeProduct(text, p);
  CaseProgram program{text.finish(result, p.c, p.dimsC()),
                      inputsOf(p),
                      p.c,
                      sizesOf(p.dimsC()),
                      [p](const Arrays &inputs) { return expectProduct(p, inputs); },
                      std::move(values)};
  program.operations = 2.0 * static_cast<double>(p.batches() * p.m.size * p.n.size * p.k.size);
  return {p.batched ? "batched" : "contraction", "matmul", p.types(), p.shape(), p.layout(), quick, program, {}};
}

using T = ElementType;
constexpr T types[][3] = {{T::F32, T::F32, T::F32},           {T::F16, T::F16, T::F32},
                          {T::BF16, T::BF16, T::F32},         {T::I8, T::I8, T::I32},
                          {T::F64, T::F64, T::F64},           {T::U8, T::I8, T::I32},
                          {T::F16, T::F16, T::F16},           {T::I16, T::I16, T::I32},
                          {T::BF16, T::BF16, T::BF16},        {T::I32, T::I32, T::I32},
                          {T::F8E4M3FN, T::F8E4M3FN, T::F32}, {T::F8E5M2, T::F8E5M2, T::F32},
                          {T::F8E4M3FN, T::F8E5M2, T::F32},   {T::F8E4M3FNUZ, T::F8E5M2FNUZ, T::F32}};

std::vector<Values> valuesFor(T type, bool special) {
  std::vector<Values> values = {Values::Random, Values::Extreme};
  if (special && isFloat(type))
    values.push_back(Values::Special);
  return values;
}

} // namespace

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

namespace {

/// What follows a product, element by element: out = f(sum, other).
struct Epilogue {
  const char *op;
  T out;
  bool bias, residual; // a row of n, or an array like the sum
  /// Writes it; `sum` is f32 or i32.
  std::function<std::string(ProgramText &, std::string sum, std::string other)> write;
  std::function<double(double sum, double other)> value;
  double steepest;   // largest derivative with respect to the sum
  double operations; // roundings
};

std::string binary(ProgramText &text, const std::string &op, const std::string &a, const std::string &b) {
  return text.add("arith." + op + " " + a + ", " + b + " : f32");
}
std::string clamped(ProgramText &text, std::string value, const std::string &low, const std::string &high) {
  value = binary(text, "maximumf", value, text.constant(T::F32, low));
  return binary(text, "minimumf", value, text.constant(T::F32, high));
}
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

const std::vector<Epilogue> &epilogues() {
  static const std::vector<Epilogue> all = {
      {"bias-relu", T::F32, true, false,
       [](ProgramText &t, std::string s, std::string o) {
         return binary(t, "maximumf", binary(t, "addf", s, o), t.constant(T::F32, "0.0"));
       },
       [](double s, double o) { return std::isnan(s + o) ? s + o : std::max(s + o, 0.0); }, 1, 1},
      {"bias-gelu", T::F32, true, false,
       [](ProgramText &t, std::string s, std::string o) {
         std::string x = binary(t, "addf", s, o);
         std::string e =
             t.add("math.erf " + binary(t, "mulf", x, t.constant(T::F32, "0.70710678118654752")) + " : f32");
         return binary(t, "mulf", binary(t, "mulf", x, t.constant(T::F32, "0.5")),
                       binary(t, "addf", e, t.constant(T::F32, "1.0")));
       },
       [](double s, double o) { return gelu(s + o); }, 1.2, 8},
      {"residual", T::F32, false, true,
       [](ProgramText &t, std::string s, std::string o) { return binary(t, "addf", s, o); },
       [](double s, double o) { return s + o; }, 1, 1},
      {"bias-narrow", T::F16, true, false,
       [](ProgramText &t, std::string s, std::string o) { return t.convert(binary(t, "addf", s, o), T::F32, T::F16); },
       [](double s, double o) { return s + o; }, 1, 1},
  };
  return all;
}

/// out = i8(clamp(round(sum * scale) + zero point)): all of it in f32.
constexpr double requantizeScale = 0.0234375, zeroPoint = 3;

Case epilogueCase(const Product &p, const Epilogue &e, bool quick) {
  ProgramText text;
  std::string sum = writeProduct(text, p);
  Dims other = e.bias ? Dims{p.n} : p.dimsC();
  std::string second = text.input(T::F32, other);
  std::string result =
      text.generic(2, 0, {{sum, p.c, p.dimsC(), "d0, d1"}, {second, T::F32, other, e.bias ? "d1" : "d0, d1"}},
                   {text.empty(e.out, p.dimsC()), e.out, p.dimsC(), "d0, d1"},
                   [&](const std::vector<std::string> &v) { return e.write(text, v[0], v[1]); });
  std::vector<CaseInput> inputs = inputsOf(p);
  inputs.push_back({T::F32, sizesOf(other)});
  auto expect = [p, e](const Arrays &arrays) {
    Expected expected = expectProduct(p, arrays);
    for (size_t i = 0; i < expected.value.size(); ++i) {
      int64_t at = static_cast<int64_t>(i);
      double o = arrays[2].get(e.bias ? at % p.n.size : at), s = expected.value[i];
      expected.value[i] = e.value(s, o);
      if (std::isnan(expected.value[i]) && !std::isnan(s + o)) { // infinity times zero: or the limit
        expected.value[i] = 0;
        expected.bound[i] = INFINITY;
      }
      if (std::isfinite(s) && std::isfinite(o))
        expected.bound[i] =
            e.steepest * expected.bound[i] + e.operations * operationError(T::F32) * (std::fabs(s) + std::fabs(o));
    }
    return expected;
  };
  CaseProgram program{text.finish(result, e.out, p.dimsC()),
                      inputs,
                      e.out,
                      sizesOf(p.dimsC()),
                      expect,
                      {Values::Random, Values::Extreme, Values::Special}};
  return {"epilogue", e.op, p.types() + "." + nameOf(e.out), p.shape(), p.layout(), quick, program, {}};
}

Case requantizeCase(const Product &p, bool quick) {
  ProgramText text;
  std::string sum = writeProduct(text, p);
  std::string result =
      text.generic(2, 0, {{sum, p.c, p.dimsC(), "d0, d1"}}, {text.empty(T::I8, p.dimsC()), T::I8, p.dimsC(), "d0, d1"},
                   [&](const std::vector<std::string> &v) {
                     std::string x =
                         binary(text, "mulf", text.convert(v[0], T::I32, T::F32), text.constant(T::F32, "0.0234375"));
                     x = text.add("math.roundeven " + x + " : f32");
                     x = clamped(text, binary(text, "addf", x, text.constant(T::F32, "3.0")), "-128.0", "127.0");
                     return text.convert(x, T::F32, T::I8);
                   });
  auto expect = [p](const Arrays &arrays) {
    Expected expected = expectProduct(p, arrays);
    for (size_t i = 0; i < expected.value.size(); ++i) {
      auto finish = [](double x) { return std::min(std::max(std::nearbyint(x) + zeroPoint, -128.0), 127.0); };
      double x = expected.value[i] * requantizeScale, slack = 2 * operationError(T::F32) * std::fabs(x);
      expected.value[i] = finish(x);
      expected.bound[i] = finish(x + slack) - finish(x - slack); // a rounding that the error leaves open
    }
    return expected;
  };
  CaseProgram program{text.finish(result, T::I8, p.dimsC()), inputsOf(p), T::I8, sizesOf(p.dimsC()), expect,
                      {Values::Random, Values::Extreme}};
  return {"epilogue", "requantize", p.types() + ".i8", p.shape(), p.layout(), quick, program, {}};
}

} // namespace

void conformance::addContractions(std::vector<Case> &cases) {
  const Dim shapes[][3] = {
      {{7}, {13}, {5}},                  // primes
      {{32}, {32}, {64}},                // powers of two
      {{33}, {47}, {29}},                // multiples of nothing
      {{1}, {64}, {40}},                 // a vector times a matrix
      {{20, "m"}, {36, "n"}, {50, "k"}}, // dynamic
      {{64}, {1}, {33}},                 // a matrix times a vector
      {{1}, {1}, {1}},
      {{37, "m"}, {64}, {31}},
      {{128}, {96}, {160}},
      {{5}, {7}, {0}}, // an empty sum
      {{127}, {129}, {131}},
      {{16}, {40}, {17, "k"}},
  };
  constexpr size_t quickShapes = 7;
  // The quick run takes each type in every kind of shape, the layouts in turn; the full run takes all of them.
  size_t turn = 0;
  for (const auto &type : types)
    for (size_t s = 0; s < std::size(shapes); ++s)
      for (size_t layout = 0; layout < 4; ++layout) {
        Product p{type[0], type[1], type[2], {}, shapes[s][0], shapes[s][1], shapes[s][2]};
        p.transposedA = layout & 1;
        p.transposedB = layout & 2;
        p.accumulate = (s + layout) % 3 == 1;
        bool common = &type - types < 4;
        bool quick = s < quickShapes && layout == (turn + s) % 4 && (common || s % 2 == 0);
        cases.push_back(productCase(p, quick, valuesFor(p.a, s == 2 || s == 4)));
        turn += layout == 3 && s + 1 == std::size(shapes);
      }
  for (const auto &type : types)
    for (size_t layout = 0; layout < 4; ++layout)
      for (bool dynamic : {false, true}) {
        Product p{type[0], type[1], type[2], {3}, {17}, {24}, {19}};
        p.batched = true;
        p.batch = dynamic ? Dim{3, "b"} : Dim{3};
        p.m = dynamic ? Dim{17, "m"} : Dim{17};
        p.sharedB = layout == 3;
        p.transposedA = layout == 1;
        p.transposedB = layout == 2;
        size_t index = static_cast<size_t>(&type - types);
        cases.push_back(productCase(p, index < 4 && layout == index && dynamic == (index == 2), valuesFor(p.a, true)));
      }
  const Dim epilogueShapes[][3] = {{{33}, {48}, {31}}, {{32}, {64}, {32}}, {{18, "m"}, {35}, {27}}};
  size_t number = 0;
  for (const auto &shape : epilogueShapes) {
    for (const Epilogue &epilogue : epilogues())
      for (T type : {T::F32, T::F16, T::BF16}) {
        Product p{type, type, T::F32, {}, shape[0], shape[1], shape[2]};
        cases.push_back(epilogueCase(p, epilogue, number++ % 4 == 0));
      }
    for (T type : {T::I8, T::U8}) {
      Product p{type, T::I8, T::I32, {}, shape[0], shape[1], shape[2]};
      p.transposedB = true;
      cases.push_back(requantizeCase(p, (number++) % 2 == 0));
    }
  }
  number = 0;
  for (const auto &shape : epilogueShapes)
    for (const Epilogue &epilogue : epilogues()) {
      Product p{T::F8E4M3FN, T::F8E4M3FN, T::F32, {}, shape[0], shape[1], shape[2]};
      cases.push_back(epilogueCase(p, epilogue, number++ % 6 == 0));
    }
}

void conformance::addPerformance(std::vector<Case> &cases) {
  for (T type : {T::F32, T::BF16, T::I8}) {
    Product p{type, type, isFloat(type) ? T::F32 : T::I32, {}, {256}, {256}, {256}};
    Case one = productCase(p, true, {Values::Random});
    one.family = "performance";
    cases.push_back(one);
  }
}
