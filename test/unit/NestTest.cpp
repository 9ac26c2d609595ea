//===- NestTest.cpp - What is known of affine indices -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Nest.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace nest_test {

using namespace mlir;
using namespace tilewright;

TEST(IsNeverNegative, Sums) {
  MLIRContext context;
  AffineExpr x = getAffineDimExpr(0, &context), r = getAffineDimExpr(1, &context);
  EXPECT_TRUE(isNeverNegative(x * 256 + r));
  EXPECT_TRUE(isNeverNegative(getAffineConstantExpr(0, &context)));
  EXPECT_FALSE(isNeverNegative(x - r)); // a window that is turned round
  EXPECT_FALSE(isNeverNegative(x - 1)); // padding
  EXPECT_FALSE(isNeverNegative(x * r));
}

TEST(IsNeverNegative, TilesInSweeps) {
  MLIRContext context;
  AffineExpr x = getAffineSymbolExpr(0, &context);
  EXPECT_TRUE(isNeverNegative(x * 256 + x.floorDiv(1024) * 4096 - x.floorDiv(16) * 4096));
  EXPECT_TRUE(isNeverNegative((x % 1024).floorDiv(16) * 128));
  EXPECT_FALSE(isNeverNegative(x * 255 - x.floorDiv(16) * 4096));
  EXPECT_FALSE(isNeverNegative(x % 16 - x % 8)); // it is not: the bound is of each by itself
  EXPECT_FALSE(isNeverNegative((x - 3).floorDiv(2)));
  EXPECT_TRUE(isNeverNegative((x + 3).floorDiv(2)));
}

} // namespace nest_test
