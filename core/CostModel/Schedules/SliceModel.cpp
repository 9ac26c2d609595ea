//===- SliceModel.cpp - Subgroups that share out k ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of an exchange bit by bit, and its price.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/SliceModel.h"
#include "core/Analysis/ElementType.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// Bytes of a lane's widest access.
static constexpr int64_t accessBytes = 16;

std::optional<AffineExpr> tilewright::exchangeOrder(const Layout &layout, int64_t elementBytes, MLIRContext *context) {
  int64_t count = layout.numElements();
  SmallVector<Position> elements; // bits of their number
  for (int64_t bit = 1; bit < count; bit *= 2)
    elements.push_back(layout.at(0, bit));
  for (int64_t e = 0; e < count; ++e) {
    Position sum;
    for (auto [b, position] : llvm::enumerate(elements))
      if (e >> b & 1)
        sum = {sum.row + position.row, sum.col + position.col};
    if (!llvm::isPowerOf2_64(count) || layout.at(0, e) != sum)
      return std::nullopt;
  }
  size_t together = std::min<size_t>(elements.size(), llvm::Log2_64(std::max<int64_t>(1, accessBytes / elementBytes)));
  SmallVector<Position> order(ArrayRef(elements).take_front(together));
  order.append(layout.lanes.begin(), layout.lanes.end());
  order.append(elements.begin() + together, elements.end());
  llvm::erase(order, Position{0, 0}); // lanes that hold the same
  AffineExpr place = getAffineConstantExpr(0, context);
  for (size_t b = 0; b < order.size();) {
    auto [row, column] = order[b];
    if ((row != 0) == (column != 0) || !llvm::isPowerOf2_64(row + column))
      return std::nullopt;
    size_t end = b + 1; // bits that follow each other in one index
    while (end < order.size() && order[end] == Position{row << (end - b), column << (end - b)})
      ++end;
    AffineExpr index = getAffineDimExpr(row ? 0 : 1, context);
    place = place + index.floorDiv(row + column) % (int64_t(1) << (end - b)) * (int64_t(1) << b);
    b = end;
  }
  return place;
}

bool tilewright::maySlice(const MatrixUnit &unit, const Contraction &c, const NumericFreedom &freedom) {
  return unit.k > 1 && (freedom.mayReassociate || !isa<FloatType>(c.accumulator)) &&
         exchangeOrder(unit.c.layout, elementBytes(c.accumulator), c.accumulator.getContext());
}

SliceExchange tilewright::planSliceExchange(const LaneContractionPlan &plan) {
  SliceExchange result;
  int64_t slices = plan.subgroupsK;
  if (slices == 1)
    return result;
  const UnitOperand &sums = plan.unit->c;
  int64_t all = plan.tilesM * plan.tilesN,
          words = sums.layout.numElements() * llvm::divideCeil(bitWidth(sums.element), 32);
  // Of one unit of all subgroups.
  int64_t unitBytes = (slices - 1) * plan.subgroupsM * plan.subgroupsN * sums.rows * sums.cols *
                      llvm::divideCeil(bitWidth(sums.element), 8);
  // As many as the multi-stage buffer's bytes hold, which nobody reads any more.
  result.units = all;
  while (result.units > 1 && result.units * unitBytes > plan.sharedBytes)
    result.units /= 2;
  result.bytes = result.units * unitBytes;
  result.rounds = all / result.units;
  result.moved = double(all) * unitBytes;
  // A sum of each word, and vectors of four that are written and read.
  result.subgroups = plan.subgroupsM * plan.subgroupsN;
  result.instructions = double(slices - 1) * all * words * 1.5;
  return result;
}

double SliceExchange::clocks(const Memory &scratchpad, double issueSlots, double blocks) const {
  if (units == 0)
    return 0;
  double issued = blocks * subgroups * instructions / std::min(issueSlots, blocks * subgroups);
  return blocks * 2 * moved / scratchpad.bytesPerClock + issued + 2.0 * rounds * scratchpad.latency;
}
