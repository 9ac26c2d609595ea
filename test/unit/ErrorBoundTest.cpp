//===- ErrorBoundTest.cpp - Bounds of the errors of programs ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rules of bound-errors on programs whose bounds can be said by hand, and what an element may be within its own.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ErrorBound.h"
#include "LaunchFixture.h"
#include "core/Pipelines/Executable.h"

#include "mlir/Parser/Parser.h"
#include <cmath>
#include <limits>

namespace error_bound_test {

using namespace tilewright;

namespace {

constexpr double u = 0x1p-24, infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

/// What the reference says of the last argument.
struct Reference {
  std::vector<double> value, bound;
};

/// `@f(%x, %y, ..)` on the plain path: all arguments but the last, which `output` elements of f64 have, are inputs.
/// `carries`: whether the result may differ from the exact one, so that it has bounds.
Reference evaluate(const std::string &text, std::vector<Array> inputs, int64_t output, bool carries = true,
                   ElementType exactType = ElementType::F32) {
  CompileOptions options;
  options.target = "cpu:host";
  options.plain = options.bounded = true;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &test::programContext());
  Reference result;
  if (!module) {
    ADD_FAILURE() << text;
    return result;
  }
  auto code = Executable::compile(*module, 1, options);
  if (!code) {
    ADD_FAILURE() << llvm::toString(code.takeError());
    return result;
  }
  size_t expected = inputs.size() + (carries ? 2 : 1);
  EXPECT_EQ((*code)->signature().arguments.size(), expected);
  inputs.emplace_back(carries && isFloat(exactType) ? ElementType::F64 : exactType, std::vector<int64_t>{output});
  if (carries)
    inputs.emplace_back(ElementType::F64, std::vector<int64_t>{output});
  std::vector<void *> addresses;
  for (Array &array : inputs)
    addresses.push_back(array.data());
  if (expected != inputs.size() || (*code)->signature().arguments.size() != expected)
    return result;
  if (llvm::Error error = (*code)->call({}, addresses))
    ADD_FAILURE() << llvm::toString(std::move(error));
  for (int64_t i = 0; i < output; ++i) {
    result.value.push_back(inputs[expected - (carries ? 2 : 1)].get(i));
    result.bound.push_back(carries ? inputs.back().get(i) : 0);
  }
  return result;
}

Array array(std::vector<double> values, ElementType type = ElementType::F32) {
  Array result(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    result.set(static_cast<int64_t>(i), values[i]);
  return result;
}

/// An element-wise program of `in` elements %x and %y to %r of `out`.
std::string elementwise(int64_t count, const std::string &body, const std::string &in = "f32",
                        const std::string &out = "f32") {
  std::string n = std::to_string(count), a = "memref<" + n + "x" + in + ">", b = "memref<" + n + "x" + out + ">";
  return "func.func @f(%X: " + a + ", %Y: " + a + ", %Z: " + b + ") {\n affine.for %i = 0 to " + n +
         " {\n %x = affine.load %X[%i] : " + a + "\n %y = affine.load %Y[%i] : " + a + "\n" + body +
         "\n affine.store %r, %Z[%i] : " + b + "\n }\n return\n}";
}

/// A sum over %x of `count` elements, each term made by `body` as %t.
std::string sumOf(int64_t count, const std::string &body) {
  std::string n = std::to_string(count), a = "memref<" + n + "xf32>";
  return "func.func @f(%X: " + a + ", %Z: memref<1xf32>) {\n %zero = arith.constant 0.0 : f32\n" +
         " affine.store %zero, %Z[0] : memref<1xf32>\n affine.for %i = 0 to " + n +
         " {\n %x = affine.load %X[%i] : " + a + "\n" + body +
         "\n %s = affine.load %Z[0] : memref<1xf32>\n %n = arith.addf %s, %t : f32\n" +
         " affine.store %n, %Z[0] : memref<1xf32>\n }\n return\n}";
}

TEST(ErrorBound, OneOperationErrsByHalfAUnit) {
  Reference r = evaluate(
      elementwise(2, "%r = arith.mulf %x, %y : f32"),
      [] {
        std::vector<Array> in;
        in.push_back(array({1.5, -3}));
        in.push_back(array({3, 5}));
        return in;
      }(),
      2);
  ASSERT_EQ(r.value.size(), 2u);
  EXPECT_EQ(r.value[1], -15);
  EXPECT_NEAR(r.bound[0] / (4.5 * u), 1, 1e-6);
  EXPECT_NEAR(r.bound[1] / (15 * u), 1, 1e-6);
}

std::vector<Array> inputs(std::vector<double> x, std::vector<double> y, ElementType type = ElementType::F32) {
  std::vector<Array> result;
  result.push_back(array(std::move(x), type));
  result.push_back(array(std::move(y), type));
  return result;
}

TEST(ErrorBound, ErrorsGoThroughDifferencesAndQuotients) {
  // (x y) - x: the product's half unit, and one of the small difference.
  Reference r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%r = arith.subf %p, %x : f32"),
                         inputs({3}, {1.0000001192092896}), 1);
  EXPECT_NEAR(r.bound[0] / (3 * u), 1, 1e-3) << "the difference itself is 2^-22";
  // 1 / ((x y) - x): as much relative to a difference of 6 u as 3 u are: at least half.
  r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%d = arith.subf %p, %x : f32\n"
                              "%one = arith.constant 1.0 : f32\n%r = arith.divf %one, %d : f32"),
               inputs({3}, {1.0000001192092896}), 1);
  EXPECT_GT(r.bound[0], 0.5 * r.value[0]);
  EXPECT_TRUE(std::isfinite(r.bound[0]));
  // Of nothing but rounding errors nothing can be said.
  r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%q = arith.subf %p, %p : f32\n"
                              "%one = arith.constant 1.0 : f32\n%r = arith.divf %one, %q : f32"),
               inputs({3}, {1.1}), 1);
  EXPECT_TRUE(r.bound[0] == infinity || std::isinf(r.value[0]));
}

TEST(ErrorBound, SumsMayBeAddedInAnyOrder) {
  // Terms of magnitude 1 whose sum is 0: n u n, or 4 root(n) u n if that is less.
  for (int64_t n : {8, 1024}) {
    std::vector<double> terms;
    for (int64_t i = 0; i < n; ++i)
      terms.push_back(i % 2 ? -1 : 1);
    std::vector<Array> in;
    in.push_back(array(terms));
    Reference r = evaluate(sumOf(n, "%t = arith.negf %x : f32"), std::move(in), 1);
    ASSERT_EQ(r.value.size(), 1u);
    EXPECT_EQ(r.value[0], 0);
    double count = static_cast<double>(n);
    EXPECT_NEAR(r.bound[0] / (std::min(count, 4 * std::sqrt(count)) * u * count), 1, 1e-3);
  }
}

TEST(ErrorBound, IndependentErrorsOfTermsAddAsSquares) {
  constexpr int64_t n = 4096;
  std::vector<Array> in;
  in.push_back(array(std::vector<double>(n, 2)));
  // exp(x) errs by 6 u of itself: 4 root(n) (6 u e^2 + u n e^2 / root(n) ..): far less than the sum of n errors.
  Reference r = evaluate(sumOf(n, "%t = math.exp %x : f32"), std::move(in), 1);
  double term = std::exp(2.0), own = 4 * 64 * u * n * term, terms = 4 * 64 * 6 * u * term;
  EXPECT_NEAR(r.bound[0] / (own + terms), 1, 1e-3);
}

TEST(ErrorBound, AnErrorThatAllTermsHaveAddsUp) {
  constexpr int64_t n = 4096;
  // A scale made once, 1000 u wrong, in each of n terms.
  std::string text = "func.func @f(%X: memref<4096xf32>, %Z: memref<1xf32>) {\n"
                     "%zero = arith.constant 0.0 : f32\n%S = memref.alloc() : memref<1xf32>\n"
                     "%big = arith.constant 1000.0 : f32\n%x0 = affine.load %X[0] : memref<4096xf32>\n"
                     "%p = arith.mulf %x0, %big : f32\n%less = arith.constant 999.0 : f32\n"
                     "%d = arith.subf %p, %less : f32\naffine.store %d, %S[0] : memref<1xf32>\n"
                     "affine.store %zero, %Z[0] : memref<1xf32>\naffine.for %i = 0 to 4096 {\n"
                     "%x = affine.load %X[%i] : memref<4096xf32>\n%s = affine.load %S[0] : memref<1xf32>\n"
                     "%t = arith.mulf %x, %s : f32\n%a = affine.load %Z[0] : memref<1xf32>\n"
                     "%n = arith.addf %a, %t : f32\naffine.store %n, %Z[0] : memref<1xf32>\n}\n"
                     "memref.dealloc %S : memref<1xf32>\nreturn\n}";
  std::vector<Array> in;
  in.push_back(array(std::vector<double>(n, 1)));
  Reference r = evaluate(text, std::move(in), 1);
  EXPECT_EQ(r.value[0], n);
  EXPECT_GT(r.bound[0], 1000 * u * n);
}

TEST(ErrorBound, ComparisonsMayBeTheOtherOneNearATie) {
  // x y > 1 ? 100 : -100, for products near one and far from it.
  Reference r = evaluate(elementwise(3, "%p = arith.mulf %x, %y : f32\n%one = arith.constant 1.0 : f32\n"
                                        "%c = arith.cmpf ogt, %p, %one : f32\n%a = arith.constant 100.0 : f32\n"
                                        "%b = arith.constant -100.0 : f32\n%r = arith.select %c, %a, %b : f32"),
                         inputs({1, 2, 0.25}, {1, 2, 2}), 3);
  EXPECT_EQ(r.bound[0], 200) << "a tie";
  EXPECT_EQ(r.bound[1], 0);
  EXPECT_EQ(r.bound[2], 0);
}

TEST(ErrorBound, StepsAreExactOffTheStep) {
  Reference r =
      evaluate(elementwise(2, "%p = arith.mulf %x, %y : f32\n%r = math.floor %p : f32"), inputs({1.5, 3}, {1.5, 1}), 2);
  EXPECT_EQ(r.bound[0], 0) << "floor(2.25)";
  EXPECT_EQ(r.bound[1], 1) << "3 may be a little less";
  r = evaluate(elementwise(2, "%p = arith.mulf %x, %y : f32\n%r = arith.fptosi %p : f32 to i32", "f32", "i32"),
               inputs({1.5, 3}, {1.5, 1}), 2, true, ElementType::I32);
  EXPECT_EQ(r.value[1], 3);
  EXPECT_EQ(r.bound[0], 0);
  EXPECT_EQ(r.bound[1], 1);
}

TEST(ErrorBound, RoundingsOfTheProgramAreExactOffTies) {
  const char *body = "%p = arith.mulf %x, %y : f32\n%r = arith.truncf %p : f32 to bf16";
  Reference r = evaluate(elementwise(2, body, "f32", "bf16"), inputs({1.25, 1}, {1.25, 1 + 0x1p-8}), 2);
  EXPECT_EQ(r.value[0], 1.5625);
  EXPECT_EQ(r.bound[0], 0);
  EXPECT_EQ(r.bound[1], 0x1p-7) << "half way between two numbers";
}

TEST(ErrorBound, WhatRoundsNotIsExact) {
  Reference r = evaluate(elementwise(2, "%m = arith.maximumf %x, %y : f32\n%r = arith.negf %m : f32"),
                         inputs({1.5, -3}, {3, 5}), 2, false);
  EXPECT_EQ(r.value, (std::vector<double>{-3, -5}));
}

TEST(ErrorBound, TermsThatAMaskDropsAreExact) {
  // exp(-inf) is 0, and its argument's size rounds nothing.
  Reference r = evaluate(elementwise(2, "%p = arith.mulf %x, %y : f32\n%r = math.exp %p : f32"),
                         inputs({-infinity, -500}, {1, 1}), 2);
  EXPECT_EQ(r.value[0], 0);
  EXPECT_LE(r.bound[0], 0x1p-120);
  EXPECT_LE(r.bound[1], 0x1p-120);
}

TEST(ErrorBound, RoundingsMayComeBeforeTheFactorOfARow) {
  // round(x / h), summed over x: the compiled program may sum round(x) and divide then. Off by one rounding each.
  std::string text = "func.func @f(%X: memref<8xf32>, %H: memref<1xf32>, %Z: memref<1xf32>) {\n"
                     "%zero = arith.constant 0.0 : f32\n%T = memref.alloc() : memref<8xf16>\n"
                     "affine.for %i = 0 to 8 {\n%x = affine.load %X[%i] : memref<8xf32>\n"
                     "%h = affine.load %H[0] : memref<1xf32>\n%q = arith.divf %x, %h : f32\n"
                     "%t = arith.truncf %q : f32 to f16\naffine.store %t, %T[%i] : memref<8xf16>\n}\n"
                     "affine.store %zero, %Z[0] : memref<1xf32>\naffine.for %i = 0 to 8 {\n"
                     "%t = affine.load %T[%i] : memref<8xf16>\n%w = arith.extf %t : f16 to f32\n"
                     "%s = affine.load %Z[0] : memref<1xf32>\n%n = arith.addf %s, %w : f32\n"
                     "affine.store %n, %Z[0] : memref<1xf32>\n}\nmemref.dealloc %T : memref<8xf16>\nreturn\n}";
  Reference r = evaluate(text, inputs(std::vector<double>(8, 1.25), {1}), 1);
  ASSERT_EQ(r.value.size(), 1u);
  EXPECT_EQ(r.value[0], 10);
  EXPECT_NEAR(r.bound[0] / (10 * 2 * 0x1p-11), 1, 1e-2);
}

TEST(ErrorBound, FunctionsMakeOfErrorsWhatTheyMakeOfValues) {
  // exp(30 (x y)): the product's half unit of 30 is 30 times as much of the result.
  Reference r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%r = math.exp %p : f32"), inputs({5}, {6}), 1);
  EXPECT_NEAR(r.bound[0] / (r.value[0] * u * (30 + 30 + 4)), 1, 1e-3);
  // tanh of large numbers errs by its own error alone.
  r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%r = math.tanh %p : f32"), inputs({5}, {6}), 1);
  EXPECT_NEAR(r.bound[0] / (6 * u), 1, 1e-3);
  // What is beyond f32 is not judged, nor what is made of it.
  r = evaluate(elementwise(1, "%p = arith.mulf %x, %y : f32\n%r = math.exp %p : f32"), inputs({20}, {6}), 1);
  EXPECT_EQ(r.bound[0], infinity);
}

TEST(ErrorBound, ElementsWithinTheirBounds) {
  using T = ElementType;
  EXPECT_EQ(judge(T::F32, 1, 1, 0).ratio, 0);
  EXPECT_EQ(judge(T::F32, 1.5, 1, 0.5).ratio, 1);
  EXPECT_EQ(judge(T::F32, 1.5, 1, 0.25).ratio, 2);
  EXPECT_EQ(judge(T::F32, 1.5, 1, 0).ratio, infinity) << "exact results must be equal";
  EXPECT_EQ(judge(T::F32, nan, 1, 10).ratio, infinity);
  EXPECT_EQ(judge(T::F32, nan, nan, 0).ratio, infinity) << "NaN can be compared with nothing";
  EXPECT_EQ(judge(T::F32, 1, nan, infinity).ratio, infinity);
  EXPECT_EQ(judge(T::F32, infinity, infinity, 0).ratio, 0);
  EXPECT_EQ(judge(T::F32, -infinity, infinity, 0).ratio, infinity);
  EXPECT_EQ(judge(T::F32, infinity, 1, 10).ratio, infinity);
  EXPECT_FALSE(judge(T::F32, 7, 1, infinity).isJudged);
  EXPECT_TRUE(judge(T::F32, 7, 1, 10).isJudged);
  EXPECT_EQ(judge(T::I32, 3, 4, 0).ratio, infinity);
  EXPECT_EQ(judge(T::I32, 3, 4, 1).ratio, 1);
}

TEST(ErrorBound, TooLargeForTheType) {
  using T = ElementType;
  EXPECT_EQ(judge(T::F16, infinity, 70000, 40).ratio, 0);
  EXPECT_EQ(judge(T::F16, 65504, 70000, 40).ratio, infinity);
  EXPECT_EQ(judge(T::F16, infinity, 65500, 40).ratio, 0) << "may be";
  EXPECT_LT(judge(T::F16, 65504, 65500, 40).ratio, 1);
  EXPECT_EQ(judge(T::F16, -infinity, 70000, 40).ratio, infinity);
  EXPECT_EQ(judge(T::F8E4M3FN, nan, 600, 20).ratio, 0) << "has no infinity";
  EXPECT_EQ(judge(T::F8E4M3FN, nan, nan, 0).ratio, 0);
  EXPECT_EQ(judge(T::F8E4M3FN, 448, nan, 0).ratio, infinity);
  EXPECT_EQ(judge(T::F8E4M3FN, nan, 300, 20).ratio, infinity);
}

} // namespace

} // namespace error_bound_test
