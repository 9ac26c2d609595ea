//===- TileRuns.cpp - How often the parts of tiles run -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Goes through the loops over tiles that bounds of steps read.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/TileRuns.h"
#include "core/Analysis/LoopTrips.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The loop of the schedule whose tile `operand` numbers.
static std::optional<unsigned> cutLoopOf(Value operand, tile::ScheduleAttr schedule) {
  AffineForOp loop = getForInductionVarOwner(operand);
  auto number = loop ? loop->getAttrOfType<IntegerAttr>(tile::atAttr) : IntegerAttr();
  for (auto [d, cut] : llvm::enumerate(schedule.getLoops()))
    if (number && cut.getLoop() == number.getInt())
      return d;
  return std::nullopt;
}

TileRuns tilewright::runsOf(tile::ScheduleAttr schedule, ArrayRef<int64_t> tiles, AffineForOp steps) {
  // Others than the loop that is shared out, and those that bounds read, are but counted.
  unsigned spread = 0;
  llvm::SmallBitVector read(tiles.size());
  for (auto [d, cut] : llvm::enumerate(schedule.getLoops()))
    if (cut.getSpread())
      spread = d;
  if (steps)
    for (Value operand : steps->getOperands())
      if (std::optional<unsigned> d = cutLoopOf(operand, schedule))
        read.set(*d);
  double others = 1;
  for (unsigned d = 0; d < tiles.size(); ++d)
    if (d != spread && !read.test(d))
      others *= double(tiles[d]);
  const int64_t share = llvm::divideCeil(tiles[spread], schedule.getMembers());
  std::vector<double> ofMembers(schedule.getMembers());
  SmallVector<int64_t> at(tiles.size());
  auto here = [&]() -> double {
    return !steps ? 1 : double(tripsAt(steps, [&](Value operand) {
      std::optional<unsigned> d = cutLoopOf(operand, schedule);
      return d ? at[*d] : 0;
    }));
  };
  std::function<void(unsigned)> visit = [&](unsigned d) {
    if (d == tiles.size()) {
      ofMembers[at[spread] / share] += others * here();
      return;
    }
    for (at[d] = 0; at[d] < (d == spread || read.test(d) ? tiles[d] : 1); ++at[d])
      visit(d + 1);
  };
  visit(0);
  TileRuns runs;
  for (double each : ofMembers) {
    runs.all += each;
    runs.ofBusiest = std::max(runs.ofBusiest, each);
  }
  return runs;
}
