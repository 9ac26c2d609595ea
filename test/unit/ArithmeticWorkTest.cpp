//===- ArithmeticWorkTest.cpp - Instructions of elementary functions ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "gtest/gtest.h"

namespace arithmetic_work_test {

using namespace mlir;
using namespace tilewright;

namespace {

template <typename Function> ArithmeticWork workOf(MLIRContext &context, Type type) {
  OpBuilder b(&context);
  Block block;
  b.setInsertionPointToStart(&block);
  Value x = block.addArgument(type, b.getUnknownLoc());
  return arithmeticOf(Function::create(b, b.getUnknownLoc(), x));
}

TEST(ArithmeticWork, FunctionsCountWhatTheyBecome) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, math::MathDialect>();
  const Type f32 = Float32Type::get(&context), bf16 = BFloat16Type::get(&context);
  const ArithmeticWork exp = workOf<math::ExpOp>(context, f32), tanh = workOf<math::TanhOp>(context, f32),
                       erf = workOf<math::ErfOp>(context, f32);
  EXPECT_GT(exp.instructions, 12); // a polynomial and the range reduction
  EXPECT_LT(exp.instructions, 24);
  EXPECT_EQ(exp.divisions, 0);
  EXPECT_EQ(tanh.divisions, 1);
  EXPECT_GT(tanh.instructions, 12);
  EXPECT_GT(erf.instructions, 1.5 * exp.instructions);
  EXPECT_EQ(workOf<math::ExpOp>(context, bf16).instructions, exp.instructions + 2); // converted there and back
  EXPECT_EQ(workOf<math::AbsFOp>(context, f32).instructions, 1);
  EXPECT_EQ(workOf<math::SqrtOp>(context, f32).divisions, 1);
}

} // namespace

} // namespace arithmetic_work_test
