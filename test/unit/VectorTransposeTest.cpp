//===- VectorTransposeTest.cpp - Transposition in registers ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

namespace vector_transpose_test {

using namespace mlir;
using namespace tilewright;

namespace {

/// Transposes r vectors of c elements of `bits` bits, executes the shuffles on the numbers of the elements, and counts
/// them.
struct Transposed {
  Transposed(int64_t r, int64_t c, unsigned bits) {
    context.loadDialect<arith::ArithDialect, vector::VectorDialect>();
    OpBuilder builder(&context);
    Location loc = builder.getUnknownLoc();
    auto type = VectorType::get({c}, builder.getIntegerType(bits));
    Block block;
    llvm::DenseMap<Value, SmallVector<int64_t>> held;
    SmallVector<Value> rows;
    for (int64_t row = 0; row < r; ++row) {
      rows.push_back(block.addArgument(type, loc));
      for (int64_t column = 0; column < c; ++column)
        held[rows.back()].push_back(row * c + column);
    }
    builder.setInsertionPointToEnd(&block);
    SmallVector<Value> columns = transposeVectors(builder, loc, rows);
    for (Operation &op : block) {
      SmallVector<int64_t> result;
      llvm::TypeSwitch<Operation *>(&op)
          .Case([&](vector::ShuffleOp shuffle) {
            ++shuffles;
            result = held[shuffle.getV1()];
            result.append(held[shuffle.getV2()]);
            result = llvm::map_to_vector(shuffle.getMask(), [&, all = result](int64_t from) { return all[from]; });
          })
          .Case([&](vector::ExtractStridedSliceOp part) {
            const int64_t first = cast<IntegerAttr>(part.getOffsets()[0]).getInt();
            result.append(held[part.getSource()].begin() + first,
                          held[part.getSource()].begin() + first + part.getType().getNumElements());
          })
          .Case([&](vector::InsertStridedSliceOp part) {
            result = held[part.getDest()];
            llvm::copy(held[part.getValueToStore()], result.begin() + cast<IntegerAttr>(part.getOffsets()[0]).getInt());
          })
          .Case(
              [&](arith::ConstantOp zeros) { result.assign(cast<VectorType>(zeros.getType()).getNumElements(), -1); });
      held[op.getResult(0)] = result;
    }
    for (Value column : columns)
      numbers.push_back(held[column]);
  }

  MLIRContext context;
  int64_t shuffles = 0;
  std::vector<SmallVector<int64_t>> numbers;
};

TEST(VectorTranspose, RowsBecomeColumns) {
  for (unsigned bits : {8, 16, 32, 64})
    for (int64_t r = 1; r <= 32; r *= 2)
      for (int64_t c = 1; c <= 32; c *= 2) {
        if (std::max(r, c) * bits > 512)
          continue;
        Transposed transposed(r, c, bits);
        ASSERT_EQ(int64_t(transposed.numbers.size()), c) << r << " x " << c << " of " << bits;
        for (int64_t column = 0; column < c; ++column) {
          SmallVector<int64_t> expected;
          for (int64_t row = 0; row < r; ++row)
            expected.push_back(row * c + column);
          EXPECT_EQ(transposed.numbers[column], expected) << r << " x " << c << " of " << bits;
        }
        const int64_t least = std::min(r, c);
        EXPECT_EQ(transposed.shuffles, least * int64_t(llvm::Log2_64(least))) << r << " x " << c << " of " << bits;
      }
}

} // namespace

} // namespace vector_transpose_test
