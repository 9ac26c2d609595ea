//===- ElementwiseCases.cpp - Element by element --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One operation a case, over arrays of one shape, with rows or columns repeated, and
/// transposed. The bound is the error that the operation may have, in units of the
/// type that it is computed in (functions: those of test_math_accuracy.py, with room
/// for chips that have instructions for them), relative to the result.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Case.h"
#include "core/Conformance/ProgramText.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::conformance;
using T = ElementType;

namespace {

struct Op {
  const char *name, *text; // text: "arith.addf", or with % where the type stands
  int arity;
  double (*value)(double a, double b);
  double units; // error allowed, in operations (operationError) relative to the result
  Domain domain = Domain::Any, second = Domain::Any;
};

const Op floatOps[] = {
    {"add", "arith.addf", 2, [](double a, double b) { return a + b; }, 1},
    {"sub", "arith.subf", 2, [](double a, double b) { return a - b; }, 1},
    {"mul", "arith.mulf", 2, [](double a, double b) { return a * b; }, 1},
    {"div", "arith.divf", 2, [](double a, double b) { return a / b; }, 2, Domain::Any, Domain::Positive},
    {"max", "arith.maximumf", 2,
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }, 0},
    {"min", "arith.minnumf", 2, [](double a, double b) { return std::fmin(a, b); }, 0},
    {"neg", "arith.negf", 1, [](double a, double) { return -a; }, 0},
    {"abs", "math.absf", 1, [](double a, double) { return std::fabs(a); }, 0},
    {"sqrt", "math.sqrt", 1, [](double a, double) { return std::sqrt(a); }, 2, Domain::Positive},
    {"rsqrt", "math.rsqrt", 1, [](double a, double) { return 1 / std::sqrt(a); }, 4, Domain::Positive},
    {"exp", "math.exp", 1, [](double a, double) { return std::exp(a); }, 4, Domain::Small},
    {"log", "math.log", 1, [](double a, double) { return std::log(a); }, 4, Domain::Positive},
    {"tanh", "math.tanh", 1, [](double a, double) { return std::tanh(a); }, 6, Domain::Small},
    {"erf", "math.erf", 1, [](double a, double) { return std::erf(a); }, 6, Domain::Small},
    {"floor", "math.floor", 1, [](double a, double) { return std::floor(a); }, 0},
};

double bits(double a, double b, uint32_t (*op)(uint32_t, uint32_t)) {
  return static_cast<int32_t>(
      op(static_cast<uint32_t>(static_cast<int64_t>(a)), static_cast<uint32_t>(static_cast<int64_t>(b))));
}
const Op integerOps[] = {
    {"add", "arith.addi", 2,
     [](double a, double b) { return bits(a, b, [](uint32_t x, uint32_t y) { return x + y; }); }, 0},
    {"mul", "arith.muli", 2,
     [](double a, double b) { return bits(a, b, [](uint32_t x, uint32_t y) { return x * y; }); }, 0},
    {"max", "arith.maxsi", 2, [](double a, double b) { return std::max(a, b); }, 0},
    {"xor", "arith.xori", 2,
     [](double a, double b) { return bits(a, b, [](uint32_t x, uint32_t y) { return x ^ y; }); }, 0},
    {"shift", "arith.shrsi", 2, [](double a, double b) { return std::floor(std::ldexp(a, -static_cast<int>(b))); }, 0,
     Domain::Any, Domain::Shift},
};

struct Access {
  const char *name, *second; // indices of the second (or only) operand
  bool row, column, transposed;
};
const Access layouts[] = {{"same", "d0, d1", false, false, false},
                          {"row", "d1", true, false, false},
                          {"column", "d0", false, true, false},
                          {"transposed", "d1, d0", false, false, true}};

double storedAs(T type, double value) {
  if (type == T::I8)
    return static_cast<int8_t>(static_cast<int64_t>(value));
  return value;
}

Case elementwiseCase(const Op &op, T type, const Dims &dims, const Access &layout, bool quick) {
  ProgramText text;
  Dims other = layout.row          ? Dims{dims[1]}
               : layout.column     ? Dims{dims[0]}
               : layout.transposed ? Dims{dims[1], dims[0]}
                                   : dims;
  // The first operand decides the dynamic sizes; of one operand it is the one that has the layout.
  bool one = op.arity == 1;
  std::vector<Operand> operands;
  std::vector<CaseInput> inputs;
  if (!one) {
    operands.push_back({text.input(type, dims), type, dims, "d0, d1"});
    inputs.push_back({type, sizesOf(dims), op.domain});
  }
  operands.push_back({text.input(type, other), type, other, layout.second});
  inputs.push_back({type, sizesOf(other), one ? op.domain : op.second});
  std::string result = text.generic(
      2, 0, operands, {text.empty(type, dims), type, dims, "d0, d1"}, [&](const std::vector<std::string> &v) {
        return text.add(std::string(op.text) + " " + v[0] + (one ? "" : ", " + v[1]) + " : " + mlirName(type));
      });
  int64_t rows = dims[0].size, columns = dims[1].size;
  auto expect = [=](const Arrays &arrays) {
    Expected expected(rows * columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        int64_t at = i * columns + j;
        int64_t second = layout.row ? j : layout.column ? i : layout.transposed ? j * rows + i : at;
        double b = arrays.back().get(second), a = one ? b : arrays[0].get(at);
        double value = storedAs(type, op.value(a, b));
        expected.value[at] = value;
        expected.bound[at] = op.units * (operationError(type) * std::fabs(value) + tiny(computeType(type)));
        if (std::isinf(value))
          expected.bound[at] = 0;
      }
    return expected;
  };
  std::vector<Values> values = {Values::Random, Values::Extreme};
  if (isFloat(type))
    values.push_back(Values::Special);
  CaseProgram program{text.finish(result, type, dims), inputs, type, sizesOf(dims), expect, values};
  return {"elementwise", op.name, nameOf(type), shapeName(dims), layout.name, quick, program, {}};
}

/// A conversion, with the value kept inside what the result can hold.
Case conversionCase(T from, T to, const Dims &dims, bool quick) {
  ProgramText text;
  std::string in = text.input(from, dims);
  bool clamps = isFloat(from) && !isFloat(to);
  double low = to == T::U8 ? 0 : -128, high = to == T::U8 ? 255 : 127;
  std::string result = text.generic(2, 0, {{in, from, dims, "d0, d1"}}, {text.empty(to, dims), to, dims, "d0, d1"},
                                    [&](const std::vector<std::string> &v) {
                                      std::string value = v[0];
                                      if (clamps) {
                                        std::string type = " : " + mlirName(from);
                                        value = text.add("math.roundeven " + value + type);
                                        value = text.add("arith.maxnumf " + value + ", " +
                                                         text.constant(from, to == T::U8 ? "0.0" : "-128.0") + type);
                                        value = text.add("arith.minnumf " + value + ", " +
                                                         text.constant(from, to == T::U8 ? "255.0" : "127.0") + type);
                                      }
                                      return text.convert(value, from, to);
                                    });
  auto expect = [=](const Arrays &arrays) {
    Expected expected(arrays[0].count());
    for (int64_t i = 0; i < arrays[0].count(); ++i) {
      double value = arrays[0].get(i);
      if (clamps) // saturation; the lower limit takes the place of NaN
        value = std::isnan(value) ? low : std::min(std::max(std::nearbyint(value), low), high);
      else if (!isFloat(from) && !isFloat(to))
        value = storedAs(to, value);
      expected.value[i] = value;
    }
    return expected;
  };
  std::vector<Values> values = {Values::Random, Values::Extreme};
  if (isFloat(from))
    values.push_back(Values::Special);
  CaseProgram program{text.finish(result, to, dims), {{from, sizesOf(dims)}}, to, sizesOf(dims), expect, values};
  return {"elementwise", "convert", std::string(nameOf(from)) + "." + nameOf(to), shapeName(dims), "same", quick,
          program,       {}};
}

} // namespace

void conformance::addElementwise(std::vector<Case> &cases) {
  const Dims shapes[] = {{{19}, {37}}, {{16}, {64}}, {{23, "m"}, {41, "n"}},
                         {{1}, {131}}, {{257}, {1}}, {{0, "m"}, {8}}};
  const T floats[] = {T::F32, T::F16, T::BF16, T::F64};
  size_t number = 0, opNumber = 0;
  for (const Op &op : floatOps) {
    for (const T &type : floats)
      for (size_t s = 0; s < std::size(shapes); ++s)
        for (const Access &layout : layouts) {
          // One shape and layout a type, another one each time; f64 in every fifth operation.
          size_t t = static_cast<size_t>(&type - floats), l = static_cast<size_t>(&layout - layouts);
          bool quick = s == (opNumber + t) % 5 &&
                       l == (op.arity == 1 ? 3 * ((opNumber + t) % 2) : (opNumber + 2 * t) % 4) &&
                       (t < 2 || opNumber % 5 == t);
          // A dimension that the operands do not have is not known.
          if (op.arity == 1 && (layout.row || layout.column) && s >= 2 && s != 3 && s != 4)
            continue;
          cases.push_back(elementwiseCase(op, type, shapes[s], layout, quick));
        }
    ++opNumber;
  }
  for (const Op &op : integerOps)
    for (T type : {T::I32, T::I8})
      for (const Dims &dims : shapes)
        for (const Access &layout : layouts)
          cases.push_back(elementwiseCase(op, type, dims, layout, (number++) % 17 == 0));
  const std::pair<T, T> conversions[] = {
      {T::F32, T::F16},    {T::F32, T::BF16},    {T::F16, T::F32},        {T::BF16, T::F32},
      {T::F32, T::I8},     {T::F32, T::U8},      {T::I8, T::F32},         {T::U8, T::F32},
      {T::I32, T::F32},    {T::I8, T::I32},      {T::U8, T::I32},         {T::I32, T::I8},
      {T::F64, T::F32},    {T::F32, T::F64},     {T::F32, T::F8E4M3FN},   {T::F8E4M3FN, T::F32},
      {T::F32, T::F8E5M2}, {T::F8E5M2, T::BF16}, {T::F16, T::F8E4M3FNUZ}, {T::F8E5M2FNUZ, T::F32}};
  number = 0;
  for (auto [from, to] : conversions) {
    for (size_t s = 0; s < std::size(shapes); ++s)
      cases.push_back(conversionCase(from, to, shapes[s], s == number % 5));
    ++number;
  }
}
