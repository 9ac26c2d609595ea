//===- RowReuseTest.cpp - Rows that read an element again ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/RowReuse.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace row_reuse_test {

using namespace mlir;
using namespace tilewright;

namespace {
/// x[results], over loops i (d0), j (d1), t (d2) and a size (s0).
struct Loops {
  Loops() {
    i = getAffineDimExpr(0, &context);
    j = getAffineDimExpr(1, &context);
    t = getAffineDimExpr(2, &context);
    size = getAffineSymbolExpr(0, &context);
  }
  Access read(ArrayRef<AffineExpr> results) {
    Access access;
    access.map = AffineMap::get(3, 1, results, &context);
    return access;
  }
  MLIRContext context;
  AffineExpr i, j, t, size;
};
} // namespace

TEST(RereadAfter, RowsThatLieApart) {
  Loops l;
  const Access first = l.read({l.i, l.j});
  EXPECT_EQ(rereadAfter(first, l.read({l.i + 1, l.j}), 0), 1);
  EXPECT_EQ(rereadAfter(first, l.read({l.i + 2, l.j}), 0), 2);
  EXPECT_EQ(rereadAfter(l.read({l.i + 2, l.j}), first, 0), std::nullopt); // that was before
  EXPECT_EQ(rereadAfter(first, first, 0), std::nullopt);                  // that is now
  EXPECT_EQ(rereadAfter(first, l.read({l.i + 1, l.j + 1}), 0), std::nullopt);
  EXPECT_EQ(rereadAfter(l.read({l.i * 2, l.j}), l.read({l.i * 2 + 1, l.j}), 0), std::nullopt);
  EXPECT_EQ(rereadAfter(l.read({l.i * 2, l.j}), l.read({l.i * 2 + 4, l.j}), 0), 2);
  EXPECT_EQ(rereadAfter(l.read({l.i, l.i}), l.read({l.i + 1, l.i + 2}), 0), std::nullopt); // a diagonal, beside it
  EXPECT_EQ(rereadAfter(l.read({l.i, l.j}), l.read({l.i + l.size, l.j}), 0), std::nullopt);
}

TEST(RereadAfter, IndicesThatAreDivided) {
  Loops l;
  const AffineExpr half = l.j.floorDiv(2);
  EXPECT_EQ(rereadAfter(l.read({l.i, half}), l.read({l.i + 1, half}), 0), 1);
  EXPECT_EQ(rereadAfter(l.read({half, l.i}), l.read({half + 1, l.i}), 1), std::nullopt);
}

TEST(RereadAfter, Windows) {
  Loops l;
  EXPECT_EQ(rereadAfter(l.read({l.i + l.t, l.j}), 0, 2, 3), 1);
  EXPECT_EQ(rereadAfter(l.read({l.i * 2 + l.t, l.j}), 0, 2, 3), 1);
  EXPECT_EQ(rereadAfter(l.read({l.i * 2 + l.t, l.j}), 0, 2, 2), std::nullopt); // they lie side by side
  EXPECT_EQ(rereadAfter(l.read({l.i * 2 + l.t * 3, l.j}), 0, 2, 5), 3);
  EXPECT_EQ(rereadAfter(l.read({l.i - l.t, l.j}), 0, 2, 3), 1);
  EXPECT_EQ(rereadAfter(l.read({l.i * 8 + l.t, l.j}), 0, 2, std::nullopt), 1); // as many taps as it takes
  EXPECT_EQ(rereadAfter(l.read({l.i, l.t}), 0, 2, 3), std::nullopt);
  EXPECT_EQ(rereadAfter(l.read({l.i + l.t, l.t}), 0, 2, 3), std::nullopt);
  EXPECT_EQ(rereadAfter(l.read({l.i + l.t, l.i + l.t}), 0, 2, 3), 1);
}

} // namespace row_reuse_test
