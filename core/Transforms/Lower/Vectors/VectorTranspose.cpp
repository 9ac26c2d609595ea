//===- VectorTranspose.cpp - Transposition in registers -------------------===//
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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace {
/// Vectors of one length, and which element of the given matrix (by row and column) each of their elements is.
class Network {
public:
  Network(OpBuilder &builder, Location loc, ArrayRef<Value> vectors)
      : builder(builder), loc(loc), values(vectors), places(vectors.size()) {
    auto type = cast<VectorType>(vectors.front().getType());
    length = type.getNumElements();
    inLane = std::min<int64_t>(length, 128 / type.getElementTypeBitWidth());
    for (auto [row, place] : llvm::enumerate(places))
      for (int64_t column = 0; column < length; ++column)
        place.push_back({int64_t(row), column});
  }

  void interleaveInLanes(int64_t rows);
  void exchange(int64_t bit, int64_t unit);
  void mergeFourLanes();
  SmallVector<Value> columns(int64_t rows);

  int64_t length, inLane; // elements of a vector, and of the part of it in which shuffles are cheap

private:
  using Place = std::pair<int64_t, int64_t>;
  /// Vector `to` of the next stage.
  void shuffle(int64_t to, int64_t a, int64_t b, ArrayRef<int64_t> mask) {
    next[to] = vector::ShuffleOp::create(builder, loc, values[a], values[b], mask);
    for (int64_t from : mask)
      nextPlaces[to].push_back(from < length ? places[a][from] : places[b][from - length]);
  }
  void stage(function_ref<void()> body) {
    next.assign(values.size(), Value());
    nextPlaces.assign(values.size(), {});
    body();
    values = next;
    places = nextPlaces;
  }

  OpBuilder &builder;
  Location loc;

public:
  SmallVector<Value> values;

private:
  SmallVector<SmallVector<Place>> places, nextPlaces;
  SmallVector<Value> next;
};

/// At distance d = 1, 2, ... below `rows`, runs of d elements of rows i and i + d are interleaved in each lane.
void Network::interleaveInLanes(int64_t rows) {
  const int64_t count = values.size();
  for (int64_t d = 1; d < rows; d *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < length; lane += inLane)
      for (int64_t i = 0; i < inLane / 2; i += d)
        for (int64_t side = 0; side < 2; ++side)
          for (int64_t e = 0; e < d; ++e) {
            low.push_back(side * length + lane + i + e);
            high.push_back(side * length + lane + inLane / 2 + i + e);
          }
    stage([&] {
      for (int64_t base = 0; base < count; base += 2 * d)
        for (int64_t i = 0; i < d; ++i) {
          // After the stage, row base + 2 i holds the lower and row base + 2 i + 1 the upper halves.
          shuffle(base + 2 * i, base + i, base + d + i, low);
          shuffle(base + 2 * i + 1, base + i, base + d + i, high);
        }
    });
  }
}

/// Vectors whose numbers differ by `bit` units exchange the units whose numbers in the vector do.
void Network::exchange(int64_t bit, int64_t unit) {
  SmallVector<int64_t> first, second;
  for (int64_t at = 0; at < length; ++at) {
    const bool isUpper = at / unit & bit;
    first.push_back(isUpper ? length + at - bit * unit : at);
    second.push_back(isUpper ? length + at : at + bit * unit);
  }
  stage([&] {
    for (int64_t i = 0, count = values.size(); i < count; ++i)
      if (!(i / unit & bit)) {
        shuffle(i, i, i + bit * unit, first);
        shuffle(i + bit * unit, i, i + bit * unit, second);
      }
  });
}

/// The lanes of a square of four groups of rows: two groups merge their even and odd lanes, twice.
void Network::mergeFourLanes() {
  auto merge = [&](int64_t stride, int64_t upper, int64_t a, int64_t b, int64_t low, int64_t high) {
    SmallVector<int64_t> lowerLanes, upperLanes;
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t lane = 0; lane < 2; ++lane)
        for (int64_t e = 0; e < inLane; ++e) {
          lowerLanes.push_back(side * length + lane * stride * inLane + e);
          upperLanes.push_back(side * length + (lane * stride + upper) * inLane + e);
        }
    for (int64_t j = 0; j < inLane; ++j) {
      shuffle(low * inLane + j, a * inLane + j, b * inLane + j, lowerLanes);
      shuffle(high * inLane + j, a * inLane + j, b * inLane + j, upperLanes);
    }
  };
  stage([&] {
    merge(1, 2, 0, 1, 0, 1);
    merge(1, 2, 2, 3, 2, 3);
  });
  stage([&] {
    merge(2, 1, 0, 2, 0, 1);
    merge(2, 1, 1, 3, 2, 3);
  });
}

/// The columns, each of `rows` elements that lie together in one of the vectors.
SmallVector<Value> Network::columns(int64_t rows) {
  const int64_t count = values.size() * length / rows;
  SmallVector<Value> columns(count);
  for (auto [value, place] : llvm::zip(values, places))
    for (int64_t at = 0; at < length; at += rows)
      columns[place[at].second] =
          rows == length ? value : vector::ExtractStridedSliceOp::create(builder, loc, value, at, rows, 1).getResult();
  return columns;
}

/// Transposes each square of as many columns as there are vectors.
void transposeSquares(Network &network) {
  const int64_t rows = network.values.size(), unit = network.inLane;
  if (rows < unit) {
    for (int64_t bit = 1; bit < rows; bit *= 2)
      network.exchange(bit, 1);
    return;
  }
  network.interleaveInLanes(unit);
  if (rows == network.length && rows == 4 * unit)
    return network.mergeFourLanes();
  for (int64_t bit = 1; bit < rows / unit; bit *= 2)
    network.exchange(bit, unit);
}
} // namespace

namespace tilewright {

SmallVector<Value> transposeSquare(OpBuilder &builder, Location loc, ArrayRef<Value> rows) {
  Network network(builder, loc, rows);
  assert(network.length == int64_t(rows.size()) && "as many elements as vectors");
  transposeSquares(network);
  return network.values;
}

SmallVector<Value> transposeVectors(OpBuilder &builder, Location loc, ArrayRef<Value> vectors) {
  const int64_t count = vectors.size(), length = cast<VectorType>(vectors.front().getType()).getNumElements();
  if (count <= length) {
    Network network(builder, loc, vectors);
    if (count < network.inLane)
      network.interleaveInLanes(count);
    else
      transposeSquares(network);
    return network.columns(count);
  }
  // Vector i has the columns i, i + length, ... side by side.
  auto type = VectorType::get({count}, cast<VectorType>(vectors.front().getType()).getElementType());
  SmallVector<Value> wide;
  for (int64_t i = 0; i < length; ++i) {
    Value all = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t at = 0; at < count; at += length)
      all = vector::InsertStridedSliceOp::create(builder, loc, vectors[at + i], all, at, 1);
    wide.push_back(all);
  }
  Network network(builder, loc, wide);
  transposeSquares(network);
  return network.values;
}

} // namespace tilewright
