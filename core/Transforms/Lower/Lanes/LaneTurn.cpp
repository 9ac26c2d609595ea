//===- LaneTurn.cpp - Blocks transposed in the registers of a lane --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Blocks as wide as a word of 32 bits are transposed by permutations of two words, the
/// halves in one stage, bytes in two; larger blocks consist of such ones:
///
///   rows    a0 a1 a2 a3      a0 b0 a2 b2      a0 b0 c0 d0
///           b0 b1 b2 b3      a1 b1 a3 b3      a1 b1 c1 d1
///           c0 c1 c2 c3  ->  c0 d0 c2 d2  ->  a2 b2 c2 d2
///           d0 d1 d2 d3      c1 d1 c3 d3      a3 b3 c3 d3
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/Lanes/LaneCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;

static constexpr int64_t wordBytes = 4;

/// One word of each of as many rows as a word has elements, transposed.
static void turnWords(const LaneContext &context, MutableArrayRef<Value> rows) {
  auto permute = [&](Value &low, Value &high, std::array<unsigned, 4> even, std::array<unsigned, 4> odd) {
    Value first = context.ops.permuteBytes(context.builder, context.loc, low, high, even);
    high = context.ops.permuteBytes(context.builder, context.loc, low, high, odd);
    low = first;
  };
  if (rows.size() == wordBytes)
    for (unsigned i : {0, 2})
      permute(rows[i], rows[i + 1], {0, 4, 2, 6}, {1, 5, 3, 7});
  for (unsigned i = 0; i < rows.size() / 2; ++i)
    permute(rows[i], rows[i + rows.size() / 2], {0, 1, 4, 5}, {2, 3, 6, 7});
}

Value tilewright::turnBlocks(const LaneContext &context, Value vector, const TurnShape &turn) {
  if (turn.along == 1)
    return vector;
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  auto type = cast<VectorType>(vector.getType());
  Type carrier = carrierOf(type.getElementType());
  int64_t count = type.getNumElements(), block = turn.along * turn.across;
  int64_t bytes = elementBytes(type.getElementType()), word = wordBytes / bytes;
  auto carried = VectorType::get(type.getShape(), carrier);
  if (carried != type)
    vector = arith::BitcastOp::create(builder, loc, carried, vector);
  if (word < 2 || turn.along < word || turn.across < word) {
    SmallVector<int64_t> order;
    for (int64_t e = 0; e < count; ++e) {
      int64_t inside = e % block;
      order.push_back(e - inside + inside % turn.across * turn.along + inside / turn.across);
    }
    vector = vector::ShuffleOp::create(builder, loc, vector, vector, order);
  } else {
    auto words = VectorType::get(count / word, builder.getI32Type());
    vector = vector::BitCastOp::create(builder, loc, words, vector);
    SmallVector<Value> from(vector::ToElementsOp::create(builder, loc, vector).getResults()), to(from.size());
    int64_t rowWords = turn.along / word, columnWords = turn.across / word, blockWords = block / word;
    for (int64_t first = 0; first < count / word; first += blockWords)
      for (int64_t column = 0; column < columnWords; ++column)
        for (int64_t row = 0; row < rowWords; ++row) {
          SmallVector<Value, 4> square;
          for (int64_t i = 0; i < word; ++i)
            square.push_back(from[first + (column * word + i) * rowWords + row]);
          turnWords(context, square);
          for (int64_t i = 0; i < word; ++i)
            to[first + (row * word + i) * columnWords + column] = square[i];
        }
    vector = vector::FromElementsOp::create(builder, loc, words, to);
    vector = vector::BitCastOp::create(builder, loc, carried, vector);
  }
  return carried == type ? vector : arith::BitcastOp::create(builder, loc, type, vector).getResult();
}
