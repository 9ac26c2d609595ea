//===- RoundingsTest.cpp - How often a result has been rounded --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What count-roundings says of programs, which the tolerance of tw-launch grows with.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Analysis/Signature.h"
#include "tilewright/Compiler.h"

#include "mlir/Parser/Parser.h"
#include <cmath>

namespace roundings_test {

using namespace tilewright;

namespace {

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

TEST(Roundings, SumsCountByTheirLength) {
  EXPECT_EQ(roundings(elementwise), 1) << "however long the array is";
  EXPECT_EQ(roundings(product, {8, 4096, 100000}), 4097) << "the multiplications are one behind the other with one sum";
  EXPECT_EQ(roundings(sum, {100000000}), 1e8);
  double rows = roundings(softmax);
  EXPECT_GE(rows, 128256);
  EXPECT_LE(rows, 128256 + 8);
}

TEST(Roundings, LoopsOnMemoryCount) {
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

} // namespace roundings_test
