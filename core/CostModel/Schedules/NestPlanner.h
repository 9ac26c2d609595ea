//===- NestPlanner.h - The planner of schedules of nests --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What NestSchedule.cpp, which enumerates schedules, and NestClocks.cpp, which prices them, share.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTPLANNER_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTPLANNER_H

#include "core/CostModel/Machine/CoreAccess.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/NestSchedule.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/CostModel/Time/PipelineTime.h"
#include <map>
#include <numeric>
#include <set>

namespace tilewright {

/// The part of an array that a tile touches.
struct NestBox {
  llvm::SmallVector<int64_t, 4> size;
  int64_t elements() const { return std::accumulate(size.begin(), size.end(), int64_t(1), std::multiplies<>()); }
};

/// Copies of a schedule by how often they are commanded, those of one tile together.
struct CommandedCopies {
  std::map<double, llvm::SmallVector<TileCopyPlan, 4>> in, out;
};

class NestPlanner {
public:
  NestPlanner(const NestShape &nest, const CoreHierarchy &cores, const TargetDescription &chip)
      : nest(nest), cores(cores), chip(chip), access(chip), memory(chip), align(scratchpadAlignment(cores)) {
    for (auto [i, loop] : llvm::enumerate(nest.loops))
      if (loop.isBand)
        band.push_back(i);
    for (const NestShape::Array &array : nest.arrays)
      localBytes += llvm::alignTo(array.localBytes, align);
  }

  /// Every schedule that may be the best one, the fastest first.
  std::vector<NestSchedule> all(std::string &reason);
  double computeClocks(const NestSchedule &schedule) const;
  void price(NestSchedule &schedule) const;
  /// Whether the size is known of what all of the nest touches of `array`.
  bool isBox(int64_t array, const NestSchedule &schedule) const { return box(array, -1, schedule).has_value(); }
  int64_t priced = 0;

private:
  std::optional<NestBox> box(int64_t array, int64_t at, const NestSchedule &schedule) const;
  int64_t bytesOf(int64_t array, const NestBox &box) const {
    return llvm::alignTo(box.elements() * nest.arrays[array].elementBytes, align);
  }
  int64_t trips(int64_t loop) const { return nest.loops[loop].trips.value_or(assumedRowExtent); }
  /// Whether `loop`, which is not of the band, stands around a tile of loop `at`; tiles of the band stand outside of
  /// all.
  bool isAround(int64_t at, int64_t loop) const {
    return at >= 0 && at != loop && !nest.loops[at].isBand && !nest.loops[loop].isBand && nest.isUnder(at, loop);
  }
  /// The innermost loop from `loop` outwards that is not of the band, whose tiles stand outside of all others; -1:
  /// none.
  int64_t apartFromBand(int64_t loop) const {
    while (loop >= 0 && nest.loops[loop].isBand)
      loop = nest.loops[loop].parent;
    return loop;
  }
  /// The loop whose tile a placement at `at` is in; -1 at the band's.
  int64_t scopeOf(int64_t at) const { return at >= 0 && nest.loops[at].isBand ? -1 : at; }
  int64_t inTile(int64_t loop, const NestSchedule &schedule) const;
  /// Tiles of a loop, and of all loops that are cut, of one core.
  int64_t tilesOfCore(const NestSchedule::Tile &tile, int64_t members) const {
    return llvm::divideCeil(llvm::divideCeil(trips(tile.loop), tile.size), tile.spread ? members : 1);
  }
  double tilesOfCore(const NestSchedule &schedule) const {
    double count = 1;
    for (const NestSchedule::Tile &tile : schedule.tiles)
      count *= double(tilesOfCore(tile, schedule.members));
    return count;
  }
  std::optional<int64_t> stride(const NestShape::Access &access, int64_t loop) const;
  double accessClocks(int64_t loop, int64_t lanes, int64_t width, const NestSchedule &schedule) const;
  int64_t accessesOf(int64_t loop) const {
    return llvm::count_if(nest.accesses, [&](const NestShape::Access &each) { return each.loop == loop; });
  }
  /// The widest element of the accesses in the body of `loop` decides how many a vector has.
  int64_t widthOf(int64_t loop) const;
  bool combines(int64_t loop) const;
  /// `steps` iterations of `loop` between two tests of it.
  struct Jam {
    enum Kind { None, Sum, Square, Rows };
    int64_t loop = -1, steps = 1;
    Kind kind = None;
  };
  Jam jamOf(int64_t loop, int64_t width, const NestSchedule &schedule) const;
  bool readsNextRow(int64_t loop, int64_t outer) const;
  double readAgain(int64_t loop, const Jam &jam) const;
  using Addresses = llvm::SmallVector<const NestShape::Access *, 8>;
  Addresses addresses(int64_t loop, int64_t moving, std::optional<int64_t> apart) const;
  bool hasPartAround(const NestShape::Access &each, int64_t loop, const NestSchedule &schedule) const;
  double rowClocks(int64_t loop, int64_t steps, const NestSchedule &schedule) const;
  struct AddressClocks {
    double sideBySide = 0, apart = 0; // of vectors in rows, and of those across them
    double all() const { return sideBySide + apart; }
  };
  AddressClocks vectorAddressClocks(int64_t loop, int64_t lanes, const NestSchedule &schedule) const;
  double alongClocks(int64_t loop, double body, const Jam &jam, const NestSchedule &schedule) const;
  double acrossClocks(int64_t loop, int64_t lanes, double body, const NestSchedule &schedule) const;
  int64_t writtenOut(int64_t loop, int64_t lanes) const;
  double directClocks(const NestShape::Access &each, double times, const NestSchedule &schedule) const;
  int64_t testedBits(const NestSchedule &schedule, const NestSchedule::Place &place, const NestBox &part) const;
  void addCopies(const NestSchedule &schedule, const NestSchedule::Place &place, IterationLoad &load,
                 CommandedCopies &commanded) const;
  void spread(NestSchedule &schedule) const;
  std::optional<NestSchedule> placedAtBand(llvm::ArrayRef<int64_t> tiles, int64_t stages) const;
  std::optional<NestSchedule> inPlace(bool onAllCores) const;
  bool placeInside(int64_t at, llvm::SmallVector<int64_t> arrays, int64_t budget, NestSchedule &schedule,
                   std::string &reason) const;
  std::vector<llvm::SmallVector<int64_t>> bandTiles() const;

  const NestShape &nest;
  const CoreHierarchy &cores;
  const TargetDescription &chip;
  CoreAccess access;
  MemoryModel memory;
  int64_t align;
  int64_t localBytes = 0;
  llvm::SmallVector<int64_t> band;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_NESTPLANNER_H
