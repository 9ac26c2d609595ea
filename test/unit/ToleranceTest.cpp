//===- ToleranceTest.cpp - What may differ between two runs ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// 8-bit floats: where they widen the tolerance, and where not.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Tolerance.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

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
  return Tolerance(*module, arrays);
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

} // namespace
