//===- LaneExchange.cpp - Elements that lanes shuffle ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lane shuffles, 4 bytes at a time.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneExchange.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

std::optional<SharedPoints> tilewright::placesOf(const SharedPoints &points, AffineMap elements) {
  SharedPoints places;
  for (auto [from, to] : {std::pair(&points.bits, &places.bits), {&points.elements, &places.elements}})
    for (const Point &point : *from) {
      Point &place = to->emplace_back(Point(elements.getNumResults(), 0));
      for (auto [r, result] : llvm::enumerate(elements.getResults()))
        for (unsigned d = 0; d < point.size(); ++d) {
          std::optional<int64_t> step = linearCoefficient(result, d);
          if (!step)
            return std::nullopt;
          place[r] += *step * point[d];
        }
    }
  return places;
}

Distribution tilewright::exchanged(const Distribution &distribution, const LaneExchange &exchange) {
  Distribution result;
  static_cast<SharedPoints &>(result) = exchanged(static_cast<const SharedPoints &>(distribution), exchange);
  result.number = distribution.number;
  return result;
}

namespace {
/// One swap of what all lanes have.
class Swapping {
public:
  Swapping(const LaneContext &context, Value lane, LaneSwap swap)
      : context(context), builder(context.builder), loc(context.loc), swap(swap) {
    int64_t mask = int64_t(1) << swap.lane;
    Value bit = arith::AndIOp::create(builder, loc, lane, context.i32(mask));
    upper = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, context.i32(0));
    partner = arith::XOrIOp::create(builder, loc, lane, context.i32(mask));
  }

  /// Elements without the bit are one half, those with it the other; a lane gives one of them, as words.
  Value apply(Value vector) {
    auto type = cast<VectorType>(vector.getType());
    int64_t count = type.getNumElements(), half = count / 2;
    SmallVector<int64_t> halves[2], together(count);
    for (int64_t e = 0; e < count; ++e) {
      bool isUpper = e >> swap.element & 1;
      together[e] = (isUpper ? half : 0) + int64_t(halves[isUpper].size());
      halves[isUpper].push_back(e);
    }
    SmallVector<Value> first = words(vector, halves[0]), second = words(vector, halves[1]);
    // The lower lane keeps its first half and gives the second one, the upper lane the other way round.
    for (auto [a, b] : llvm::zip(first, second)) {
      Value kept = choose(b, a), came = context.ops.shuffle(builder, loc, choose(a, b), partner);
      a = choose(came, kept);
      b = choose(kept, came);
    }
    auto halfType = VectorType::get(half, type.getElementType());
    return vector::ShuffleOp::create(builder, loc, elements(first, halfType), elements(second, halfType), together);
  }

private:
  Value choose(Value ofUpper, Value ofLower) { return arith::SelectOp::create(builder, loc, upper, ofUpper, ofLower); }
  /// These elements as values i32; fewer bytes than that have zeros after them.
  SmallVector<Value> words(Value vector, ArrayRef<int64_t> which) {
    Value some = vector::ShuffleOp::create(builder, loc, vector, vector, which);
    auto type = cast<VectorType>(some.getType());
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    if (bits < 32) {
      auto narrow = builder.getIntegerType(bits);
      Value raw = vector::BitCastOp::create(builder, loc, VectorType::get(1, narrow), some);
      raw = vector::ExtractOp::create(builder, loc, raw, 0);
      return {arith::ExtUIOp::create(builder, loc, builder.getI32Type(), raw)};
    }
    Value raw = vector::BitCastOp::create(builder, loc, VectorType::get(bits / 32, builder.getI32Type()), some);
    SmallVector<Value> result;
    for (int64_t i = 0; i < bits / 32; ++i)
      result.push_back(vector::ExtractOp::create(builder, loc, raw, i));
    return result;
  }
  Value elements(ArrayRef<Value> words, VectorType type) {
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    Type word = builder.getI32Type();
    SmallVector<Value> parts(words);
    if (bits < 32) {
      word = builder.getIntegerType(bits);
      parts = {arith::TruncIOp::create(builder, loc, word, words.front())};
    }
    Value raw = vector::FromElementsOp::create(builder, loc, VectorType::get(int64_t(parts.size()), word), parts);
    return vector::BitCastOp::create(builder, loc, type, raw);
  }

  const LaneContext &context;
  OpBuilder &builder;
  Location loc;
  LaneSwap swap;
  Value upper, partner;
};
} // namespace

Value tilewright::exchangeElements(const LaneContext &context, Value vector, Value lane, const LaneExchange &exchange,
                                   bool back) {
  SmallVector<int64_t> order = exchange.order;
  for (auto [i, e] : llvm::enumerate(exchange.order))
    if (back)
      order[e] = i;
  auto sort = [&] {
    if (!llvm::is_sorted(order))
      vector = vector::ShuffleOp::create(context.builder, context.loc, vector, vector, order);
  };
  if (back)
    sort();
  for (size_t i = 0; i < exchange.swaps.size(); ++i)
    vector = Swapping(context, lane, exchange.swaps[back ? exchange.swaps.size() - 1 - i : i]).apply(vector);
  if (!back)
    sort();
  return vector;
}
