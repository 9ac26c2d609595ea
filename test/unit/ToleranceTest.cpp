//===- ToleranceTest.cpp - What may differ between two runs ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// 8-bit floats: where they widen the tolerance, and where not. What is wrong in each class of programs: zeros, and
/// errors that no order of a sum explains.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Tolerance.h"
#include "LaunchFixture.h"
#include "core/Analysis/Signature.h"
#include "tilewright/Compiler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace tilewright;

namespace {

/// An element-wise program from `from` to `to` whose body is `body`, %x to %y.
Tolerance toleranceOf(const std::string &from, const std::string &to, const std::string &body,
                      const std::vector<Array> &arrays) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                      mlir::tensor::TensorDialect>();
  std::string text = "#id = affine_map<(i) -> (i)>\nfunc.func @f(%a: tensor<8x" + from + ">) -> tensor<8x" + to +
                     "> {\n%e = tensor.empty() : tensor<8x" + to +
                     ">\n%r = linalg.generic {indexing_maps = [#id, #id], iterator_types = [\"parallel\"]} ins(%a : "
                     "tensor<8x" +
                     from + ">) outs(%e : tensor<8x" + to + ">) {\n^bb0(%x: " + from + ", %o: " + to + "):\n" + body +
                     "\nlinalg.yield %y : " + to + "\n} -> tensor<8x" + to + ">\nreturn %r : tensor<8x" + to + ">\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << text;
  return Tolerance(*module, arrays, 1);
}

std::vector<Array> arrays(ElementType in, ElementType out) {
  std::vector<Array> result;
  result.emplace_back(in, std::vector<int64_t>{8});
  result.emplace_back(out, std::vector<int64_t>{8});
  return result;
}

TEST(Tolerance, OperandsOfEightBitsAreExact) {
  Tolerance tolerance = toleranceOf("f8E4M3FN", "f32", "%y = arith.extf %x : f8E4M3FN to f32",
                                    arrays(ElementType::F8E4M3FN, ElementType::F32));
  double error;
  EXPECT_LT(tolerance.ratio(ElementType::F32, 1, 1 + 0x1p-22, 1, error), 1);
  EXPECT_EQ(error, 0x1p-22);
  EXPECT_GT(tolerance.ratio(ElementType::F32, 1, 1 + 0x1p-10, 1, error), 1);
}

TEST(Tolerance, ResultsMayBeTheNeighbour) {
  Tolerance tolerance = toleranceOf("f32", "f8E4M3FN", "%y = arith.truncf %x : f32 to f8E4M3FN",
                                    arrays(ElementType::F32, ElementType::F8E4M3FN));
  double error, nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_LT(tolerance.ratio(ElementType::F8E4M3FN, 256, 1.125, 1, error), 1);
  EXPECT_GT(tolerance.ratio(ElementType::F8E4M3FN, 256, 1.25, 1, error), 1) << "two steps";
  EXPECT_GT(tolerance.ratio(ElementType::F8E4M3FN, 256, 0, 1, error), 1);
  EXPECT_LT(tolerance.ratio(ElementType::F8E4M3FN, 256, 0x1p-9, 0, error), 1) << "the smallest number is next to zero";
  EXPECT_EQ(tolerance.ratio(ElementType::F8E4M3FN, 256, nan, nan, error), 0) << "too large in both";
  EXPECT_TRUE(std::isinf(tolerance.ratio(ElementType::F8E4M3FN, 256, nan, 448, error)));
  EXPECT_TRUE(std::isinf(tolerance.ratio(ElementType::F32, 256, nan, nan, error)));
}

TEST(Tolerance, RoundingInsideIsSeen) {
  Tolerance tolerance =
      toleranceOf("f32", "f32", "%s = arith.truncf %x : f32 to f8E5M2\n%y = arith.extf %s : f8E5M2 to f32",
                  arrays(ElementType::F32, ElementType::F32));
  double error;
  EXPECT_LT(tolerance.ratio(ElementType::F32, 1, 1.25, 1, error), 1) << "a tie that falls to the other side";
}

/// Operations that a result of the program has passed through, at these sizes.
double roundings(const std::string &text, llvm::ArrayRef<int64_t> sizes = {}) {
  CompileOptions options;
  options.target = "cpu:x86-64-v3";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &test::programContext());
  if (!module || failed(runStages(*module, 1, 2, options))) {
    ADD_FAILURE() << text;
    return NAN;
  }
  auto signature = Signature::of(publicFunctions(*module).front());
  EXPECT_TRUE(succeeded(signature));
  return signature->roundingsAt(sizes);
}

/// Of f32 programs whose results have passed through so many operations.
Tolerance ofF32(double roundings) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> none = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  return Tolerance(*none, arrays(ElementType::F32, ElementType::F32), roundings);
}

/// Whether `got` passes for `expected` in an output whose largest magnitude is `scale`.
bool passes(double roundings, double got, double expected, double scale) {
  double error;
  return ofF32(roundings).ratio(ElementType::F32, scale, got, expected, error) <= 1;
}

const char *const elementwise = R"(func.func @f(%x: tensor<10000000xf32>) -> tensor<10000000xf32> {
  %e = tensor.empty() : tensor<10000000xf32>
  %r = linalg.exp ins(%x : tensor<10000000xf32>) outs(%e : tensor<10000000xf32>) -> tensor<10000000xf32>
  return %r : tensor<10000000xf32>
})";
const char *const product =
    R"(
func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
})";
const char *const sum = R"(func.func @f(%x: tensor<?xf32>) -> tensor<f32> {
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<?xf32>) outs(%z : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
})";
const char *const softmax = R"(func.func @f(%x: tensor<4x128256xf32>) -> tensor<4x128256xf32> {
  %e = tensor.empty() : tensor<4x128256xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x128256xf32>) outs(%e : tensor<4x128256xf32>)
         -> tensor<4x128256xf32>
  return %r : tensor<4x128256xf32>
})";

TEST(Tolerance, LongArraysDoNotMakeItWide) {
  double n = roundings(elementwise);
  EXPECT_EQ(n, 1);
  EXPECT_FALSE(passes(n, 150.15, 150, 151)) << "relative error 1e-3";
  EXPECT_FALSE(passes(n, 0, 1, 151)) << "zeros, at the least of the large elements";
  EXPECT_TRUE(passes(n, 150 + 0x1p-16, 150, 151)) << "the neighbour";
}

TEST(Tolerance, ProductsGrowWithTheReduction) {
  EXPECT_EQ(roundings(product, {8, 4096, 100000}), 4097) << "the multiplications are one behind the other with one sum";
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  double worst = 0, scale = 200; // about 3 sqrt(k)
  for (int element = 0; element < 20; ++element) {
    float forward = 0, chunks = 0, chunk = 0;
    double exact = 0;
    for (int k = 0; k < 4096; ++k) {
      float a = normal(generator), b = normal(generator);
      forward += a * b;
      chunk += a * b;
      exact += static_cast<double>(a) * b;
      if (k % 64 == 63) {
        chunks += chunk;
        chunk = 0;
      }
    }
    for (float sum : {forward, chunks}) {
      double error;
      worst = std::max(worst, ofF32(4097).ratio(ElementType::F32, scale, sum, exact, error));
    }
  }
  EXPECT_LT(worst, 0.5);
  EXPECT_GT(worst, 0.001) << "not beyond what such sums err by";
  EXPECT_FALSE(passes(4097, 0, 1, scale)) << "zeros";
  EXPECT_FALSE(passes(4097, 100.1, 100, scale)) << "relative error 1e-3";
}

TEST(Tolerance, ZerosPassInNoSum) {
  double n = roundings(sum, {100000000});
  EXPECT_EQ(n, 1e8);
  EXPECT_FALSE(passes(n, 0, 1000, 1000)) << "zeros";
  EXPECT_TRUE(passes(n, 1000.01, 1000, 1000));
  double rows = roundings(softmax);
  EXPECT_GE(rows, 128256);
  EXPECT_LE(rows, 128256 + 8);
  EXPECT_FALSE(passes(rows, 0, 1e-3, 2e-2)) << "zeros";
}

TEST(Tolerance, LoopsOnMemoryCount) {
  const char *loops = R"(func.func @f(%x: memref<?x?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %x, %c0 : memref<?x?xf32>
    %n = memref.dim %x, %c1 : memref<?x?xf32>
    scf.for %i = %c0 to %m step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %j] : memref<?x?xf32>
        %s = memref.load %y[%i] : memref<?xf32>
        %e = math.exp %a : f32
        %t = arith.addf %s, %e : f32
        memref.store %t, %y[%i] : memref<?xf32>
      }
    }
    return
  })";
  EXPECT_EQ(roundings(loops, {1000, 30, 1000}), 31) << "rows have sums of their own, exp is no part of it";
  const char *carried = R"(func.func @f(%x: memref<64xf32>, %y: memref<f32>) {
    %z = arith.constant 0.0 : f32
    %s = affine.for %i = 0 to 64 iter_args(%a = %z) -> f32 {
      %v = affine.load %x[%i] : memref<64xf32>
      %t = arith.addf %a, %v : f32
      affine.yield %t : f32
    }
    memref.store %s, %y[] : memref<f32>
    return
  })";
  EXPECT_EQ(roundings(carried), 64);
  const char *unknown = R"(func.func @f(%x: tensor<50xf32>) -> tensor<50xf32> {
    %r = scf.while (%a = %x) : (tensor<50xf32>) -> tensor<50xf32> {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %v = tensor.extract %a[%c0] : tensor<50xf32>
      %go = arith.cmpf olt, %v, %one : f32
      scf.condition(%go) %a : tensor<50xf32>
    } do {
    ^bb0(%b: tensor<50xf32>):
      %t = linalg.add ins(%b, %x : tensor<50xf32>, tensor<50xf32>) outs(%x : tensor<50xf32>) -> tensor<50xf32>
      scf.yield %t : tensor<50xf32>
    }
    return %r : tensor<50xf32>
  })";
  EXPECT_EQ(roundings(unknown), 50) << "the longest extent where nobody knows";
}

} // namespace
