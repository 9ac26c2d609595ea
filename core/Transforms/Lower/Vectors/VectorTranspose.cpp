//===- VectorTranspose.cpp - Square transposition in registers ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network is written so that each shuffle is one instruction on vector
// units whose shuffles are cheap inside 128-bit lanes and move whole lanes:
//
//   rows a b c d  --unpack elements-->  a0 b0 a1 b1 | a2 b2 a3 b3 | c0 d0 ...
//                 --unpack pairs----->  a0 b0 c0 d0 | a1 b1 c1 d1 | ...
//                 --merge lanes------>  columns
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright {

SmallVector<Value> transposeSquare(OpBuilder &builder, Location loc, ArrayRef<Value> input) {
  int64_t n = input.size();
  auto type = cast<VectorType>(input.front().getType());
  int64_t inLane = 128 / type.getElementTypeBitWidth(), lanes = n / inLane;
  SmallVector<Value> rows(input);
  assert((lanes == 1 || lanes == 2 || lanes == 4) && "vectors of 128, 256 or 512 bits");
  auto shuffle = [&](Value a, Value b, ArrayRef<int64_t> mask) {
    return vector::ShuffleOp::create(builder, loc, a, b, mask).getResult();
  };

  // Inside lanes: at distance d, runs of d elements of rows i and i + d are interleaved.
  for (int64_t d = 1; d < inLane; d *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t i = 0; i < inLane / 2; i += d)
        for (int64_t side = 0; side < 2; ++side)
          for (int64_t e = 0; e < d; ++e) {
            low.push_back(side * n + lane * inLane + i + e);
            high.push_back(side * n + lane * inLane + inLane / 2 + i + e);
          }
    SmallVector<Value> next(n);
    for (int64_t base = 0; base < n; base += 2 * d)
      for (int64_t i = 0; i < d; ++i) {
        // After the stage, row base + 2 i holds the lower and row base + 2 i + 1 the upper halves.
        next[base + 2 * i] = shuffle(rows[base + i], rows[base + d + i], low);
        next[base + 2 * i + 1] = shuffle(rows[base + i], rows[base + d + i], high);
      }
    rows = next;
  }
  // Between lanes: rows g * inLane + j of the groups g now hold, in lane l, column l * inLane + j. Two groups merge
  // their lower and upper lanes; with four lanes a second stage merges every second lane.
  auto merge = [&](unsigned stride, unsigned offset, unsigned upperOffset, unsigned a, unsigned b, unsigned low,
                   unsigned high, SmallVectorImpl<Value> &next) {
    SmallVector<int64_t> lower, upper;
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t lane = 0; lane < lanes / 2; ++lane)
        for (int64_t e = 0; e < inLane; ++e) {
          lower.push_back(side * n + (lane * stride + offset) * inLane + e);
          upper.push_back(side * n + (lane * stride + upperOffset) * inLane + e);
        }
    for (int64_t j = 0; j < inLane; ++j) {
      next[low * inLane + j] = shuffle(rows[a * inLane + j], rows[b * inLane + j], lower);
      next[high * inLane + j] = shuffle(rows[a * inLane + j], rows[b * inLane + j], upper);
    }
  };
  SmallVector<Value> next(n);
  if (lanes == 2) {
    merge(1, 0, 1, 0, 1, 0, 1, next);
    rows = next;
  } else if (lanes == 4) {
    merge(1, 0, 2, 0, 1, 0, 1, next);
    merge(1, 0, 2, 2, 3, 2, 3, next);
    rows = next;
    SmallVector<Value> last(n);
    merge(2, 0, 1, 0, 2, 0, 1, last);
    merge(2, 0, 1, 1, 3, 2, 3, last);
    rows = last;
  }
  return rows;
}

} // namespace tilewright
