//===- RowCases.cpp - Reductions, soft-max, normalisations ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bounds, with n elements of a row, C the type that computes and T that of the array:
///
///   sum       n 2 u(C) sum |x|
///   product   n 2 u(C) |product|
///   max, min  0
///   soft-max  y (n + 16 + 2 d) 2 u(C) + y (3 + d) u(T)      d: distance to the maximum
///   norms     (n + 16) 2 u(C) times the sum of the magnitudes of the terms
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <algorithm>
#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {

/// Which of the dimensions [outer, middle, inner] of an array is summed up.
enum class Over { Inner, Outer, All, Middle };
const char *const overNames[] = {"row", "column", "all", "middle"};

struct Reduction {
  const char *name, *floatOp, *integerOp, *floatStart, *integerStart;
  Domain domain;
};
const Reduction reductions[] = {{"sum", "arith.addf", "arith.addi", "0.0", "0", Domain::Any},
                                {"max", "arith.maximumf", "arith.maxsi", "NEGATIVE", "LEAST", Domain::Any},
                                {"min", "arith.minimumf", "arith.minsi", "POSITIVE", "MOST", Domain::Any},
                                {"prod", "arith.mulf", "arith.muli", "1.0", "1", Domain::NearOne}};

/// The neutral element of a maximum or minimum.
std::string startOf(const Reduction &r, T type) {
  std::string word = isFloat(type) ? r.floatStart : r.integerStart;
  bool negative = word == "NEGATIVE";
  if (negative || word == "POSITIVE") {
    if (type == T::F64)
      return negative ? "0xFFF0000000000000" : "0x7FF0000000000000";
    if (type == T::F16)
      return negative ? "0xFC00" : "0x7C00";
    return std::string(negative ? "0xFF80" : "0x7F80") + (type == T::F32 ? "0000" : "");
  }
  if (word == "LEAST")
    return "-2147483648";
  return word == "MOST" ? "2147483647" : word;
}

double reduced(const Reduction &r, T type, const std::vector<double> &x, double &bound) {
  double sum = 0, product = 1, magnitude = 0, most = -INFINITY, least = INFINITY;
  uint64_t whole = 1; // of integers, which wrap
  bool nan = false, infinite = false, zero = false, denormal = false;
  for (double value : x) {
    whole *= isFloat(type) ? 1 : static_cast<uint64_t>(static_cast<int64_t>(value));
    sum += value;
    magnitude += std::fabs(value);
    product *= value;
    most = std::max(most, value);
    least = std::min(least, value);
    nan |= std::isnan(value);
    infinite |= std::isinf(value);
    zero |= value == 0;
    denormal |= isDenormal(value, type);
  }
  double units = (static_cast<double>(x.size()) + 1) * operationError(type);
  std::string name = r.name;
  bool isSum = name == "sum", isProduct = name == "prod";
  bound = isFloat(type) && (isSum || isProduct) ? units * (isSum ? magnitude : std::fabs(product)) : 0;
  if (!std::isfinite(bound))
    bound = 0;               // infinite or NaN in any order
  if (isProduct && denormal) // factors after it may be as large as all of them together
    bound += 1e3 * static_cast<double>(x.size()) * tiny(computeType(type));
  if (isProduct && infinite && denormal && !zero && !nan) {
    bound = product = INFINITY; // products of the others may fall to zero, depending on the order
  }
  if (name == "sum")
    return isFloat(type) ? sum : static_cast<int32_t>(static_cast<int64_t>(sum));
  if (name == "prod")
    return isFloat(type) ? product : static_cast<int32_t>(static_cast<int64_t>(whole));
  return nan ? NAN : name == "max" ? most : least;
}

Case reductionCase(const Reduction &r, T type, const Dims &dims, Over over, bool quick) {
  Dims out = over == Over::Inner    ? Dims{dims[0], dims[1]}
             : over == Over::Outer  ? Dims{dims[1], dims[2]}
             : over == Over::Middle ? Dims{dims[0], dims[2]}
                                    : Dims{};
  // Loops: the parallel ones first.
  const char *in = over == Over::Inner    ? "d0, d1, d2"
                   : over == Over::Outer  ? "d2, d0, d1"
                   : over == Over::Middle ? "d0, d2, d1"
                                          : "d0, d1, d2";
  ProgramText text;
  std::string a = text.input(type, dims);
  std::string start = text.filled(type, out, startOf(r, type));
  std::string result =
      text.generic(3, over == Over::All ? 3 : 1, {{a, type, dims, in}},
                   {start, type, out, over == Over::All ? "" : "d0, d1"}, [&](const std::vector<std::string> &v) {
                     return text.add(std::string(isFloat(type) ? r.floatOp : r.integerOp) + " " + v[0] + ", " + v[1] +
                                     " : " + mlirName(type));
                   });
  int64_t n0 = dims[0].size, n1 = dims[1].size, n2 = dims[2].size;
  auto expect = [=](const Arrays &arrays) {
    int64_t count = over == Over::Inner ? n0 * n1 : over == Over::Outer ? n1 * n2 : over == Over::Middle ? n0 * n2 : 1;
    std::vector<std::vector<double>> rows(count);
    for (int64_t i = 0; i < n0; ++i)
      for (int64_t j = 0; j < n1; ++j)
        for (int64_t k = 0; k < n2; ++k)
          rows[over == Over::Inner    ? i * n1 + j
               : over == Over::Outer  ? j * n2 + k
               : over == Over::Middle ? i * n2 + k
                                      : 0]
              .push_back(arrays[0].get((i * n1 + j) * n2 + k));
    Expected expected(count);
    for (int64_t i = 0; i < count; ++i)
      expected.value[i] = reduced(r, type, rows[i], expected.bound[i]);
    return expected;
  };
  std::vector<Values> values = {Values::Random};
  if (r.domain == Domain::Any || !isFloat(type))
    values.push_back(Values::Extreme);
  if (isFloat(type))
    values.push_back(Values::Special);
  CaseProgram program{text.finish(result, type, out),
                      {{type, sizesOf(dims), isFloat(type) ? r.domain : Domain::Any}},
                      type,
                      sizesOf(out),
                      expect,
                      values};
  return {"reduction", r.name, nameOf(type), shapeName(dims), overNames[static_cast<int>(over)], quick, program, {}};
}

//===----------------------------------------------------------------------===//
// Soft-max and normalisations
//===----------------------------------------------------------------------===//

Case softmaxCase(T type, const Dims &dims, int dimension, bool quick) {
  ProgramText text;
  std::string a = text.input(type, dims), target = text.empty(type, dims), tensor = tensorType(type, dims);
  std::string result = text.add("linalg.softmax dimension(" + std::to_string(dimension) + ") ins(" + a + " : " +
                                tensor + ") outs(" + target + " : " + tensor + ") -> " + tensor);
  int64_t m = dims[0].size, n = dims[1].size;
  auto expect = [=](const Arrays &arrays) {
    Expected expected(m * n);
    int64_t length = dimension ? n : m, step = dimension ? 1 : n;
    double units = operationError(type), narrow = unitRoundoff(type);
    for (int64_t row = 0; row < (dimension ? m : n); ++row) {
      int64_t first = dimension ? row * n : row;
      double most = -INFINITY, sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        double x = arrays[0].get(first + i * step);
        most = std::isnan(x) || std::isnan(most) ? NAN : std::max(most, x);
      }
      for (int64_t i = 0; i < length; ++i)
        sum += std::exp(arrays[0].get(first + i * step) - most);
      for (int64_t i = 0; i < length; ++i) {
        int64_t at = first + i * step;
        double distance = most - arrays[0].get(at), y = std::exp(-distance) / sum;
        expected.value[at] = y;
        expected.bound[at] =
            std::isfinite(distance)
                ? y * ((static_cast<double>(length) + 16 + 2 * distance) * units + (3 + distance) * narrow) +
                      4 * tiny(type)
                : 0;
        // What the exponential of a far element loses below the smallest normal number.
        expected.bound[at] += distance > 80 ? 0x1p-115 : 0;
      }
    }
    return expected;
  };
  CaseProgram program{text.finish(result, type, dims),
                      {{type, sizesOf(dims)}},
                      type,
                      sizesOf(dims),
                      expect,
                      {Values::Random, Values::Extreme, Values::Special}};
  return {"softmax", "softmax", nameOf(type), shapeName(dims), dimension ? "row" : "column", quick, program, {}};
}

/// y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta, or without mean and beta (root mean square).
Case normCase(T type, const Dims &dims, bool layerNorm, bool quick) {
  ProgramText text;
  Dims row = {dims[0]}, column = {dims[1]};
  int64_t m = dims[0].size, n = dims[1].size;
  std::string x = text.input(type, dims), gamma = text.input(T::F32, column);
  std::string beta = layerNorm ? text.input(T::F32, column) : "";
  auto op = [&](const char *name, const std::string &a, const std::string &b) {
    return text.add(std::string("arith.") + name + " " + a + ", " + b + " : f32");
  };
  std::string inverse = text.constant(
      T::F32, "0x" + [&] {
        float value = 1.0f / static_cast<float>(n);
        uint32_t word;
        static_assert(sizeof(word) == sizeof(value));
        std::copy_n(reinterpret_cast<const char *>(&value), sizeof(word), reinterpret_cast<char *>(&word));
        char digits[9];
        std::snprintf(digits, sizeof(digits), "%08X", word);
        return std::string(digits);
      }());
  std::string small = text.constant(T::F32, "1.0e-5");
  Operand in{x, type, dims, "d0, d1"};
  Operand mean;
  if (layerNorm) {
    std::string sum = text.generic(
        2, 1, {in}, {text.filled(T::F32, row, "0.0"), T::F32, row, "d0"},
        [&](const std::vector<std::string> &v) { return op("addf", text.convert(v[0], type, T::F32), v[1]); });
    mean = {text.generic(1, 0, {{sum, T::F32, row, "d0"}}, {text.empty(T::F32, row), T::F32, row, "d0"},
                         [&](const std::vector<std::string> &v) { return op("mulf", v[0], inverse); }),
            T::F32, row, "d0"};
  }
  auto centred = [&](const std::vector<std::string> &v) {
    std::string wide = text.convert(v[0], type, T::F32);
    return layerNorm ? op("subf", wide, v[1]) : wide;
  };
  std::vector<Operand> operands = {in};
  if (layerNorm)
    operands.push_back(mean);
  std::string squares = text.generic(2, 1, operands, {text.filled(T::F32, row, "0.0"), T::F32, row, "d0"},
                                     [&](const std::vector<std::string> &v) {
                                       std::string c = centred(v);
                                       return op("addf", op("mulf", c, c), v.back());
                                     });
  std::string scale = text.generic(1, 0, {{squares, T::F32, row, "d0"}}, {text.empty(T::F32, row), T::F32, row, "d0"},
                                   [&](const std::vector<std::string> &v) {
                                     std::string variance = op("addf", op("mulf", v[0], inverse), small);
                                     return text.add("math.rsqrt " + variance + " : f32");
                                   });
  operands.push_back({scale, T::F32, row, "d0"});
  operands.push_back({gamma, T::F32, column, "d1"});
  if (layerNorm)
    operands.push_back({beta, T::F32, column, "d1"});
  std::string result = text.generic(2, 0, operands, {text.empty(type, dims), type, dims, "d0, d1"},
                                    [&](const std::vector<std::string> &v) {
                                      size_t at = layerNorm ? 2 : 1;
                                      std::string y = op("mulf", op("mulf", centred(v), v[at]), v[at + 1]);
                                      return text.convert(layerNorm ? op("addf", y, v[at + 2]) : y, T::F32, type);
                                    });
  auto expect = [=](const Arrays &arrays) {
    Expected expected(m * n);
    double units = (static_cast<double>(n) + 16) * operationError(T::F32);
    for (int64_t i = 0; i < m; ++i) {
      double mean = 0, magnitude = 0, variance = 0;
      for (int64_t j = 0; j < n; ++j) {
        mean += arrays[0].get(i * n + j) / static_cast<double>(n);
        magnitude += std::fabs(arrays[0].get(i * n + j)) / static_cast<double>(n);
      }
      mean = layerNorm ? mean : 0;
      for (int64_t j = 0; j < n; ++j)
        variance += std::pow(arrays[0].get(i * n + j) - mean, 2) / static_cast<double>(n);
      double scale = 1 / std::sqrt(variance + 1e-5);
      for (int64_t j = 0; j < n; ++j) {
        double x = arrays[0].get(i * n + j), g = arrays[1].get(j), b = layerNorm ? arrays[2].get(j) : 0;
        expected.value[i * n + j] = (x - mean) * scale * g + b;
        double bound = units * ((std::fabs(x) + magnitude) * scale * std::fabs(g) + std::fabs(b));
        expected.bound[i * n + j] = std::isfinite(bound) ? bound : 0; // what is infinite makes an infinity, NaN or zero
      }
    }
    return expected;
  };
  std::vector<CaseInput> inputs = {{type, sizesOf(dims)}, {T::F32, sizesOf(column)}};
  if (layerNorm)
    inputs.push_back({T::F32, sizesOf(column)});
  CaseProgram program{text.finish(result, type, dims),
                      inputs,
                      type,
                      sizesOf(dims),
                      expect,
                      {Values::Random, Values::Extreme, Values::Special}};
  return {"norm", layerNorm ? "layer-norm" : "rms-norm", nameOf(type), shapeName(dims), "row", quick, program, {}};
}

} // namespace

void conformance::addRows(std::vector<Case> &cases) {
  const Dims cubes[] = {{{3}, {17}, {33}}, {{2}, {16}, {64}}, {{5, "a"}, {7, "b"}, {29, "c"}}, {{1}, {1}, {129}}};
  size_t number = 0;
  for (const Reduction &r : reductions)
    for (T type : {T::F32, T::F16, T::BF16, T::I32, T::F64})
      for (size_t s = 0; s < std::size(cubes); ++s)
        for (Over over : {Over::Inner, Over::Outer, Over::All, Over::Middle})
          cases.push_back(reductionCase(r, type, cubes[s], over, (number++) % 11 == 0));
  const Dims squares[] = {{{13}, {37}}, {{8}, {64}}, {{9, "m"}, {50, "n"}}, {{1}, {1}}, {{3}, {257}}};
  number = 0;
  for (T type : {T::F32, T::F16, T::BF16, T::F64})
    for (size_t s = 0; s < std::size(squares); ++s)
      for (int dimension : {1, 0})
        cases.push_back(softmaxCase(type, squares[s], dimension, (number++) % 5 == 0));
  number = 0;
  // The length of a row is a constant of the program; the number of rows may be dynamic.
  const Dims rows[] = {{{11}, {48}}, {{7, "m"}, {37}}, {{16}, {128}}};
  for (T type : {T::F32, T::F16, T::BF16})
    for (const Dims &dims : rows)
      for (bool layerNorm : {true, false})
        cases.push_back(normCase(type, dims, layerNorm, (number++) % 5 == 0));
}
