//===- NestTurn.cpp - Transpositions in register blocks -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is read across the lanes but lies side by side along another loop: that
// loop takes as many steps at once as there are lanes, each lane loads a vector
// along it, and a square of registers is transposed.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "core/Transforms/Nests/NestVectorizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

/// Operations of a square's code, of which there are four (the last lanes, the last steps): beyond, they leave the
/// instruction cache, and LLVM takes a second for them.
static constexpr int64_t mostOperations = 512;

/// Operations of the body in one iteration.
static int64_t operationsOf(Block &body) {
  int64_t sum = 0;
  for (Operation &op : body.without_terminator())
    sum += instructionsOf(&op);
  return sum;
}

static unsigned bitsOf(const Access &access) {
  Type element = elementOf(access.memref);
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

/// Whether `side` x `side` elements of `bits` are whole 128-bit lanes, one, two or four a vector.
static bool isSquare(int64_t side, unsigned bits) {
  return bits >= 8 && bits <= 64 && llvm::is_contained({128, 256, 512}, side * static_cast<int64_t>(bits));
}

std::optional<NestVectorizer::Turn> NestVectorizer::turnOver(unsigned lane) const {
  if (!accumulations.empty() || lanes < 2)
    return std::nullopt;
  std::optional<Turn> best;
  for (unsigned dim = 0; dim < nest.depth(); ++dim) {
    if (dim == lane || !llvm::all_of(nest.stores, [&](const Access &store) { return store.dims().test(dim); }))
      continue;
    Turn turn{dim, lanes, {}};
    for (unsigned each : {lane, dim})
      if (auto trips = nest.tripCounts[each])
        turn.side = std::min<int64_t>(turn.side, llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(*trips, 1))));
    for (const Access &load : nest.loads) {
      std::optional<int64_t> across = load.stride(lane);
      if (load.stride(dim) != 1 || !load.dims().test(lane) || across == 0 || across == 1)
        continue;
      // Where shuffles of neighbouring loads are as good, the lanes stay in one row.
      int64_t width = elementBytes(elementOf(load.memref));
      double apart = across ? model.stridedLoads(*across, lanes, width) : model.gatherLoads(lanes, width);
      bool pays = model.turnedLoads(turn.side) < apart * static_cast<double>(turn.side) / static_cast<double>(lanes);
      bool isWritten = llvm::any_of(nest.stores, [&](const Access &store) { return store.memref == load.memref; });
      if (pays && !isWritten && isSquare(turn.side, bitsOf(load)))
        turn.loads.push_back(&load);
    }
    if (!turn.loads.empty() && turn.side * operationsOf(*nest.body) <= mostOperations &&
        (!best || turn.loads.size() > best->loads.size()))
      best = turn;
  }
  return best;
}

void NestVectorizer::chooseTurn() {
  auto turn = turnOver(laneLoop);
  if (!turn)
    return;
  turned = std::move(turn->loads);
  jamLoop = turn->loop;
  jam = lanes = turn->side;
  unroll = 1;
  // A row of the streamed store starts where the one before does, seen from the start of a line.
  if (streamed && (streamed->stride(*jamLoop).value_or(1) * (bitsOf(*streamed) / 8) % model.lineBytes() != 0 ||
                   lanes * (bitsOf(*streamed) / 8) != model.lineBytes()))
    streamed = nullptr;
  // What the lanes read and what the steps write are rows on pages of their own, all of which must stay translated
  // while the transposed loop walks along them.
  const int64_t most = std::max<int64_t>((model.translatedPages() * 3 / 4 - jam) / lanes, 1) * lanes;
  if (nest.tripCounts[laneLoop].value_or(most + 1) > most)
    laneBlock = most;
}

void NestVectorizer::emitTurned(OpBuilder &b, ArrayRef<Step> steps, Value base, Value limit,
                                MutableArrayRef<IRMapping> values) const {
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value).getResult(); };
  // The last steps come with those before them, which have been written.
  const int64_t before = lanes - static_cast<int64_t>(steps.size());
  SmallVector<Value> ivs = steps.front().ivs;
  if (before)
    ivs[*jamLoop] = arith::SubIOp::create(b, loc, ivs[*jamLoop], index(before));
  for (const Access *load : turned) {
    Type element = elementOf(load->memref);
    VectorType type = vectorOf(element), bits = vectorOf(b.getIntegerType(bitsOf(*load)));
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      ivs[laneLoop] = lane ? arith::AddIOp::create(b, loc, base, index(lane)).getResult() : base;
      if (limit && lane) // lanes beyond the end read the last element's row again
        ivs[laneLoop] = arith::MinUIOp::create(b, loc, ivs[laneLoop], limit);
      Value row = vector::LoadOp::create(b, loc, type, load->memref, indices(b, *load, ivs));
      rows.push_back(isa<FloatType>(element) ? vector::BitCastOp::create(b, loc, bits, row).getResult() : row);
    }
    rows = transposeSquare(b, loc, rows);
    for (auto [step, mapped] : llvm::enumerate(values)) {
      Value row = rows[before + step];
      mapped.map(load->op->getResult(0),
                 isa<FloatType>(element) ? vector::BitCastOp::create(b, loc, type, row).getResult() : row);
    }
  }
}

} // namespace tilewright
