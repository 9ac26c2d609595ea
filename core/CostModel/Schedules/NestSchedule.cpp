//===- NestSchedule.cpp - Tiles of a nest between two memories ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Enumerates tiles of the band, prices those that fit; where none fits, cuts the
/// loops inside.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/NestSchedule.h"
#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/CoreAccess.h"
#include "core/CostModel/Machine/CoreInstructions.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/CostModel/Time/PipelineTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace tilewright;

/// Instructions of a tile: its loop, and for each array its stage, the test for a next tile, and the wait. The first
/// copies and the last waits of a pipeline take those of so many tiles.
static constexpr double tileInstructions = 8, tilesAround = 2;

llvm::json::Object NestSchedule::toJSON() const {
  llvm::json::Array loops, arrays;
  for (const Tile &tile : tiles)
    loops.push_back(llvm::json::Object{{"loop", tile.loop}, {"tile", tile.size}, {"spread", tile.spread}});
  for (const Place &place : places)
    arrays.push_back(llvm::json::Object{{"array", place.array}, {"at", place.at}, {"stages", place.stages}});
  return llvm::json::Object{{"members", members},        {"loops", std::move(loops)}, {"placements", std::move(arrays)},
                            {"scratchpad_bytes", bytes}, {"core_clocks", coreClocks}, {"in_clocks", inClocks},
                            {"out_clocks", outClocks},   {"clocks", clocks}};
}

namespace {
/// The part of an array that a tile touches.
struct Box {
  llvm::SmallVector<int64_t, 4> size;
  int64_t elements() const { return std::accumulate(size.begin(), size.end(), int64_t(1), std::multiplies<>()); }
};

class Planner {
public:
  Planner(const NestShape &nest, const CoreHierarchy &cores, const TargetDescription &chip)
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
  std::optional<Box> box(int64_t array, int64_t at, const NestSchedule &schedule) const;
  int64_t bytesOf(int64_t array, const Box &box) const {
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
  double alongClocks(int64_t loop, double body, const NestSchedule &schedule) const;
  double acrossClocks(int64_t loop, int64_t lanes, double body, const NestSchedule &schedule) const;
  int64_t writtenOut(int64_t loop, int64_t lanes) const;
  double directClocks(const NestShape::Access &each, double times, const NestSchedule &schedule) const;
  void addCopies(const NestSchedule &schedule, const NestSchedule::Place &place, IterationLoad &load) const;
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
} // namespace

/// The box of what `array` has below loop `at` for one tile of each loop that `schedule` cuts; nullopt where its size
/// is not known. Indices that are not linear, and accesses that move differently, take the whole dimension.
std::optional<Box> Planner::box(int64_t array, int64_t at, const NestSchedule &schedule) const {
  const NestShape::Array &shape = nest.arrays[array];
  auto rangeOf = [&](int64_t loop) -> std::optional<int64_t> { // iterations while the tile is there
    for (const NestSchedule::Tile &tile : schedule.tiles)
      if (tile.loop == loop && (nest.isUnder(at, loop) || nest.loops[loop].isBand))
        return nest.loops[loop].trips ? std::min(tile.size, *nest.loops[loop].trips) : tile.size;
    if (isAround(at, loop))
      return 1;
    return nest.loops[loop].trips;
  };
  Box result;
  for (size_t d = 0; d < shape.shape.size(); ++d) {
    std::optional<int64_t> least, most;
    bool isWhole = false;
    const NestShape::Index *first = nullptr;
    for (const NestShape::Access &access : nest.accesses) {
      if (access.array != array || !nest.isUnder(access.loop, at))
        continue;
      const NestShape::Index &index = access.indices[d];
      isWhole |= !index.isKnown;
      // What is fixed in a tile must move alike.
      auto fixed = [&](const NestShape::Index &each) {
        llvm::SmallVector<std::pair<const void *, int64_t>> terms(each.others.begin(), each.others.end());
        for (auto [loop, factor] : each.terms)
          if (isAround(at, loop) || loop == at || nest.loops[loop].isBand)
            terms.push_back({&nest.loops[loop], factor});
        llvm::sort(terms);
        return terms;
      };
      isWhole |= first && fixed(*first) != fixed(index);
      first = first ? first : &index;
      int64_t low = index.constant, high = index.constant;
      for (auto [loop, factor] : index.terms) {
        std::optional<int64_t> range = rangeOf(loop);
        isWhole |= !range;
        (factor < 0 ? low : high) += factor * (range.value_or(1) - 1);
      }
      least = least ? std::min(*least, low) : low;
      most = most ? std::max(*most, high) : high;
    }
    int64_t extent = least ? *most - *least + 1 : 0;
    if (isWhole || (shape.shape[d] >= 0 && extent > shape.shape[d]))
      extent = shape.shape[d];
    if (extent < 0)
      return std::nullopt;
    result.size.push_back(extent);
  }
  return result;
}

/// Adds the clocks of all copies of one placement by one core.
void Planner::addCopies(const NestSchedule &schedule, const NestSchedule::Place &place, IterationLoad &load) const {
  const NestShape::Array &array = nest.arrays[place.array];
  Box part = *box(place.array, place.at, schedule);
  TileTransfer tile;
  tile.elementBytes = array.elementBytes;
  double slices = 1;
  for (auto [d, size] : llvm::enumerate(part.size)) {
    if (d + 1 == part.size.size())
      tile.cols = size;
    else if (d + 2 == part.size.size())
      tile.rows = size;
    else
      slices *= size;
  }
  if (part.size.size() >= 2 && tile.rows > 1)
    tile.pitchBits = std::max<int64_t>(array.shape.back(), 1) * array.elementBytes;
  // How often: the tiles of all loops around the placement.
  double times = 1;
  for (int64_t loop = place.at; loop >= 0; loop = nest.loops[loop].parent) {
    auto cut = llvm::find_if(schedule.tiles, [&](const NestSchedule::Tile &each) { return each.loop == loop; });
    if (cut != schedule.tiles.end())
      times *= std::ceil(double(trips(loop)) / cut->size / (cut->spread ? schedule.members : 1));
    else if (isAround(place.at, loop))
      times *= trips(loop);
  }
  if (tile.rows * tile.cols == 0)
    return;
  for (bool in : {true, false})
    if (in ? array.isRead : array.isWritten) {
      TileCopyPlan plan = planTileCopy(tile, in, cores, chip);
      (in ? load.in : load.out) += times * slices * plan.engineClocks;
      (in ? load.commands : load.core) += times * slices * plan.coreClocks;
      load.byCore += in && !plan.engine ? times * slices * plan.coreClocks : 0;
    }
}

/// Iterations of `loop` in one tile of it.
int64_t Planner::inTile(int64_t loop, const NestSchedule &schedule) const {
  int64_t all = trips(loop);
  for (const NestSchedule::Tile &tile : schedule.tiles)
    if (tile.loop == loop)
      return std::min(all, tile.size);
  return all;
}

/// Elements that a step of `loop` moves the address of `access` by; nullopt where that is not known.
std::optional<int64_t> Planner::stride(const NestShape::Access &access, int64_t loop) const {
  int64_t sum = 0, step = 1;
  llvm::ArrayRef<int64_t> shape = nest.arrays[access.array].shape;
  for (size_t d = shape.size(); d-- > 0;) {
    if (!access.indices[d].isKnown)
      return std::nullopt;
    for (auto [term, factor] : access.indices[d].terms)
      if (term == loop)
        sum += factor * step;
    step = shape[d] < 0 ? assumedRowExtent : step * shape[d];
  }
  return sum;
}

/// Clocks of the accesses of global memory where the core computes on an array where it lies: by vectors along the loop
/// around the access; what is left of a row one by one, by a mask.
double Planner::directClocks(const NestShape::Access &each, double times, const NestSchedule &schedule) const {
  const NestShape::Array &array = nest.arrays[each.array];
  const double single = access.globalClocks(array.elementBytes, array.isRead);
  if (each.loop < 0 || stride(each, each.loop) != 1)
    return times * single;
  const int64_t iterations = std::max<int64_t>(1, inTile(each.loop, schedule));
  const int64_t width = std::min(widthOf(each.loop), int64_t(llvm::PowerOf2Ceil(iterations)));
  return times / iterations *
         (double(iterations / width) * access.globalClocks(width * array.elementBytes, array.isRead) +
          double(iterations % width) * single);
}

/// Clocks of the loads and stores of one vector of `width` iterations of `lanes`, for the body of `loop`: one for a
/// vector that lies side by side and for a scalar, one and the shuffles of a square for one that lies along another
/// loop of enough iterations, else those of each element. Infinite where results do not lie side by side, for which
/// vectorize-nests has no vectors.
double Planner::accessClocks(int64_t loop, int64_t lanes, int64_t width, const NestSchedule &schedule) const {
  double clocks = 0;
  for (const NestShape::Access &each : nest.accesses) {
    if (each.loop != loop)
      continue;
    std::optional<int64_t> step = stride(each, lanes);
    if (step == 0 || step == 1) {
      clocks += 1;
      continue;
    }
    if (nest.arrays[each.array].isWritten)
      return std::numeric_limits<double>::infinity();
    bool isSquare = false;
    for (int64_t around = loop; around >= 0 && step; around = nest.loops[around].parent) {
      if (around != loop && !nest.loops[around].isPerfect)
        break;
      isSquare |= stride(each, around) == 1 && std::min(inTile(around, schedule), inTile(lanes, schedule)) >= width;
    }
    // At computed indices it is an instruction of the chip, where it has one.
    const int64_t bytes = nest.arrays[each.array].elementBytes;
    auto gathered = step ? std::nullopt : access.elementClocks(bytes);
    clocks += isSquare   ? 1 + llvm::Log2_64(width)
              : gathered ? width * *gathered
                         : memory.stridedLoads(step.value_or(width), width, bytes);
  }
  return clocks;
}

int64_t Planner::widthOf(int64_t loop) const {
  int64_t widest = 1;
  for (const NestShape::Access &each : nest.accesses)
    if (each.loop == loop)
      widest = std::max(widest, nest.arrays[each.array].elementBytes);
  return std::max<int64_t>(1, chip.vectorRegisters().second / widest);
}

/// Whether the iterations of `loop` are combined into the same elements, as those of a reduction or the taps of a
/// window.
bool Planner::combines(int64_t loop) const {
  return llvm::any_of(nest.accesses, [&](const NestShape::Access &each) {
    return each.loop == loop && nest.arrays[each.array].isWritten && stride(each, loop) == 0;
  });
}

/// Clocks of all iterations of the innermost loop `loop` in vectors along it, several of them between two tests of the
/// loop (LaneChoice.cpp), unless squares are transposed.
double Planner::alongClocks(int64_t loop, double body, const NestSchedule &schedule) const {
  const int64_t iterations = inTile(loop, schedule);
  const int64_t width = std::min(widthOf(loop), int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(1, iterations))));
  const int64_t whole = iterations / width, left = iterations % width;
  int64_t loads = 0, together = 1;
  bool sideBySide = true;
  double masked = 0; // clocks of accesses whose elements a mask chooses, beyond those of whole vectors
  for (const NestShape::Access &each : nest.accesses)
    if (each.loop == loop) {
      const NestShape::Array &array = nest.arrays[each.array];
      loads += array.isRead;
      sideBySide &= stride(each, loop).value_or(2) < 2;
      if (left && stride(each, loop) == 1)
        masked += std::max(0.0, double(left) * access.elementClocks(array.elementBytes).value_or(0) - 1);
    }
  if (sideBySide) // a loop of unknown length may end in its first tile, whose code knows no length either
    together = combines(loop) || !nest.loops[loop].trips
                   ? std::clamp<int64_t>(whole, 1, 2)
                   : vectorsBetweenTests(whole, loads, chip.vectorRegisters().first);
  const int64_t rest = left != 0, tests = whole / together + whole % together + rest;
  const double accesses = accessClocks(loop, loop, width, schedule);
  if (double(whole + rest) * accesses >= double(iterations * accessesOf(loop))) // vectors would save nothing
    return std::numeric_limits<double>::infinity();
  return double(whole + rest) * (body + accesses) + masked + (tests > 1 ? double(tests + 1) * loopClocks : 0);
}

/// The outermost loop inside of `lanes` whose iterations are written out together with those of the innermost `loop`:
/// as the taps of a window, while there is a vector register for each.
int64_t Planner::writtenOut(int64_t loop, int64_t lanes) const {
  int64_t taps = trips(loop), outermost = loop;
  for (int64_t outer = nest.loops[loop].parent; outer >= 0 && outer != lanes; outer = nest.loops[outer].parent) {
    taps *= trips(outer);
    const bool isApart = llvm::any_of(nest.accesses, [&](const NestShape::Access &each) {
      return each.loop == loop && nest.arrays[each.array].isWritten && stride(each, outer) != 0;
    });
    if (taps > chip.vectorRegisters().first || isApart)
      break;
    outermost = outer;
  }
  return outermost;
}

/// The same for all iterations of `loop` and of the loop `lanes` around it, in vectors along the latter. Iterations
/// that are combined are written out (unroll-taps), as many as there are vector registers: what they are combined into
/// stays in a register; what does not move along the lanes is loaded and broadcast once for all vectors.
double Planner::acrossClocks(int64_t loop, int64_t lanes, double body, const NestSchedule &schedule) const {
  const int64_t width = widthOf(loop), iterations = inTile(loop, schedule);
  const double vectors = std::ceil(double(inTile(lanes, schedule)) / width);
  if (!combines(loop))
    return vectors * iterations * (body + loopClocks + accessClocks(loop, lanes, width, schedule));
  const int64_t written = std::clamp<int64_t>(chip.vectorRegisters().first, 1, std::max<int64_t>(1, iterations));
  double turns = std::ceil(double(iterations) / written), around = 1;
  for (int64_t outer = nest.loops[loop].parent; outer >= 0 && nest.isUnder(outer, writtenOut(loop, lanes));
       outer = nest.loops[outer].parent)
    around *= inTile(outer, schedule);
  double each = accessClocks(loop, lanes, width, schedule), once = turns > 1 ? turns * loopClocks : 0;
  double broadcasts = 0;
  for (const NestShape::Access &access : nest.accesses) {
    if (access.loop != loop)
      continue;
    std::optional<int64_t> step = stride(access, lanes);
    if (step == 0) {
      each -= 1;
      broadcasts += 2.0 * iterations * (turns > 1 ? vectors : 1);
    } else if (step == 1 && stride(access, loop) == 0) {
      each -= 1;
      once += turns / around;
    }
  }
  return vectors * (iterations * (body + each) + once) + broadcasts;
}

/// Clocks of the core for all of the nest in one tile: vectors of the best loop around each innermost body, everything
/// else one by one.
double Planner::computeClocks(const NestSchedule &schedule) const {
  const bool hasVectors = chip.vectorRegisters().second >= 4;
  llvm::SmallVector<int64_t> widths(nest.loops.size(), 1); // iterations of each loop that are elements of one vector
  llvm::SmallVector<bool> isWrittenOut(nest.loops.size()); // a loop that the code does not have
  auto turnsOf = [&](int64_t loop) { return std::ceil(double(inTile(loop, schedule)) / widths[loop]); };
  auto timesOf = [&](int64_t loop) {
    double times = 1;
    for (int64_t around = nest.loops[loop].parent; around >= 0; around = nest.loops[around].parent)
      times *= turnsOf(around);
    return times;
  };
  auto bodiesIn = [&](int64_t loop) {
    return llvm::count_if(llvm::seq<int64_t>(0, nest.loops.size()),
                          [&](int64_t each) { return nest.loops[each].isInnermost && nest.isUnder(each, loop); });
  };
  double clocks = 0;
  // Bodies choose their lanes before the loops around them are counted.
  for (int64_t i = nest.loops.size() - 1; i >= 0; --i) {
    const NestShape::Loop &loop = nest.loops[i];
    if (isWrittenOut[i])
      continue;
    if (!loop.isInnermost || !hasVectors) {
      clocks += timesOf(i) * (turnsOf(i) * (loop.instructions + loopClocks) + loopClocks);
      continue;
    }
    const int64_t accesses = accessesOf(i);
    const double body = std::max(0.0, loop.instructions - accesses), times = timesOf(i);
    const double single = inTile(i, schedule) * (body + loopClocks + accesses) + loopClocks;
    double best = times * std::min(single, alongClocks(i, body, schedule));
    int64_t chosen = i;
    // The lanes may be iterations of a loop around, of the band or not, with nothing else in it.
    for (int64_t lanes = loop.parent; lanes >= 0 && nest.loops[lanes].isPerfect; lanes = nest.loops[lanes].parent) {
      const double here = times / std::max(1.0, turnsOf(lanes)) * acrossClocks(i, lanes, body, schedule);
      if (here < best) {
        best = here;
        chosen = lanes;
      }
    }
    if (chosen != i && combines(i) && bodiesIn(chosen) == 1) {
      widths[chosen] = widthOf(i);
      for (int64_t outer = loop.parent; outer >= 0 && nest.isUnder(outer, writtenOut(i, chosen));
           outer = nest.loops[outer].parent)
        isWrittenOut[outer] = true;
    }
    clocks += best;
  }
  return clocks;
}

void Planner::price(NestSchedule &schedule) const {
  double tiles = tilesOfCore(schedule);
  StagedTime loop{{}, /*iterations=*/1, /*stages=*/1};
  IterationLoad &load = loop.load; // of all tiles, so far
  llvm::SmallVector<bool> placed(nest.arrays.size());
  for (const NestSchedule::Place &place : schedule.places) {
    placed[place.array] = true;
    loop.stages = std::max(loop.stages, place.stages);
    addCopies(schedule, place, load);
  }
  const double around = tileInstructions * (1 + schedule.places.size());
  load.core += tiles * (computeClocks(schedule) + around);
  // What is not placed the core reads and writes where it lies.
  for (const NestShape::Access &each : nest.accesses) {
    if (placed[each.array] || !nest.arrays[each.array].isPlaceable())
      continue;
    double times = tiles;
    for (int64_t loop = each.loop; loop >= 0; loop = nest.loops[loop].parent)
      times *= inTile(loop, schedule);
    load.core += directClocks(each, times, schedule);
  }
  schedule.coreClocks = load.core + load.commands;
  schedule.inClocks = load.in;
  schedule.outClocks = load.out;
  // The innermost loop over tiles has stages; it begins anew in each iteration of those around it.
  double pipelines = 1;
  if (loop.stages > 1) {
    loop.iterations = std::max<int64_t>(1, tilesOfCore(schedule.tiles.back(), schedule.members));
    pipelines = std::max(1.0, tiles / loop.iterations);
    load = load.over(pipelines * loop.iterations);
  }
  schedule.clocks = pipelines * (loop.clocks() + (loop.stages > 1 ? tilesAround * around : 0));
}

/// Shares out the tiles of the first loop of the band that has one for each core, else of that with the most.
void Planner::spread(NestSchedule &schedule) const {
  NestSchedule::Tile *best = nullptr;
  int64_t most = 1;
  for (NestSchedule::Tile &tile : schedule.tiles) {
    if (!nest.loops[tile.loop].isBand)
      continue;
    int64_t tiles = llvm::divideCeil(trips(tile.loop), tile.size);
    if (tiles > most) {
      most = tiles;
      best = &tile;
    }
    if (tiles >= cores.cores)
      break;
  }
  if (!best || cores.cores < 2)
    return;
  best->spread = true;
  schedule.members = nest.loops[best->loop].trips ? std::min(most, cores.cores) : cores.cores;
}

/// Everything placed at the innermost loop of the band that is cut.
std::optional<NestSchedule> Planner::placedAtBand(llvm::ArrayRef<int64_t> tiles, int64_t stages) const {
  NestSchedule schedule;
  for (auto [loop, size] : llvm::zip_equal(band, tiles))
    if (size > 0)
      schedule.tiles.push_back({loop, size, false});
  spread(schedule);
  int64_t at = schedule.tiles.empty() ? -1 : schedule.tiles.back().loop;
  int64_t bytes = localBytes;
  // Boxes see the whole band as cut: loops of the band that are not are inside of the tile.
  for (auto [i, array] : llvm::enumerate(nest.arrays)) {
    if (!array.isPlaceable())
      continue;
    std::optional<Box> part = box(i, band.empty() ? -1 : band.front(), schedule);
    if (!part)
      return std::nullopt;
    // Copies of a loop run ahead together, and the next tile's must not fill the buffer that this one's leaves from.
    if (stages > 1 && array.isRead && array.isWritten)
      return std::nullopt;
    int64_t kept = at >= 0 ? stages : 1;
    bytes += kept * bytesOf(i, *part);
    schedule.places.push_back({int64_t(i), at, kept});
  }
  if (bytes > cores.scratchpad->bytes)
    return std::nullopt;
  schedule.bytes = bytes;
  return schedule;
}

/// Cores that reach the arrays may compute on them where they lie.
std::optional<NestSchedule> Planner::inPlace(bool onAllCores) const {
  if (!cores.reachesGlobal || localBytes > cores.scratchpad->bytes)
    return std::nullopt;
  NestSchedule schedule;
  schedule.bytes = localBytes;
  if (!onAllCores)
    return schedule;
  for (int64_t loop : band) {
    std::optional<int64_t> count = nest.loops[loop].trips;
    int64_t size = count ? llvm::divideCeil(std::max<int64_t>(*count, 1), cores.cores) : 16;
    schedule.tiles.assign({{loop, size, false}});
    if (!count || *count >= cores.cores)
      break;
  }
  spread(schedule);
  if (schedule.members == 1)
    schedule.tiles.clear();
  return schedule;
}

/// Places `arrays` below loop `at`: those that are small here, the others at the loops inside, which are cut.
bool Planner::placeInside(int64_t at, llvm::SmallVector<int64_t> arrays, int64_t budget, NestSchedule &schedule,
                          std::string &reason) const {
  llvm::SmallVector<std::pair<int64_t, int64_t>> here; // (bytes, array)
  auto isUsedDirectly = [&](int64_t array) {
    return llvm::any_of(nest.accesses, [&](const NestShape::Access &access) {
      return access.array == array && apartFromBand(access.loop) == scopeOf(at);
    });
  };
  int64_t scope = at < 0 && !band.empty() ? band.front() : at;
  for (int64_t array : arrays)
    if (auto part = box(array, scope, schedule))
      here.push_back({bytesOf(array, *part), array});
  llvm::sort(here);
  int64_t taken = 0;
  for (auto [bytes, array] : here) {
    bool must = isUsedDirectly(array);
    if (taken + bytes > (must ? budget : budget / 2))
      continue;
    taken += bytes;
    schedule.places.push_back({array, at, 1});
    llvm::erase(arrays, array);
  }
  schedule.bytes += taken;
  budget -= taken;
  if (arrays.empty())
    return true;
  for (int64_t array : arrays)
    if (isUsedDirectly(array)) {
      reason = "array " + std::to_string(array) + " is needed whole, and has no place in the " +
               std::to_string(cores.scratchpad->bytes) + " bytes of the memory \"" + cores.scratchpad->name + "\"";
      return false;
    }
  llvm::SmallVector<int64_t> children;
  for (auto [i, loop] : llvm::enumerate(nest.loops)) {
    bool isChild = !loop.isBand && apartFromBand(loop.parent) == scopeOf(at);
    if (isChild && llvm::any_of(nest.accesses, [&](const NestShape::Access &access) {
          return llvm::is_contained(arrays, access.array) && nest.isUnder(access.loop, i);
        }))
      children.push_back(i);
  }
  if (children.empty()) {
    reason = "no loop can be cut so that the arrays fit";
    return false;
  }
  int64_t each = budget / children.size();
  for (int64_t child : children) {
    llvm::SmallVector<int64_t> used;
    for (int64_t array : arrays)
      if (llvm::any_of(nest.accesses, [&](const NestShape::Access &access) {
            return access.array == array && nest.isUnder(access.loop, child);
          }))
        used.push_back(array);
    int64_t size = llvm::bit_ceil(uint64_t(std::clamp<int64_t>(nest.loops[child].trips.value_or(4096), 1, 1 << 20)));
    bool fits = false;
    for (; size >= 1 && !fits; size /= 2) {
      NestSchedule attempt = schedule;
      int64_t length = nest.loops[child].trips ? std::min(size, *nest.loops[child].trips) : size;
      attempt.tiles.push_back({child, std::max<int64_t>(1, length), false});
      int64_t bytes = 0;
      bool known = true;
      for (int64_t array : used) {
        auto part = box(array, child, attempt);
        known &= part.has_value();
        bytes += part ? bytesOf(array, *part) : 0;
      }
      if (!known || bytes > each)
        continue;
      fits = true;
      for (int64_t array : used)
        attempt.places.push_back({array, child, 1});
      attempt.bytes += bytes;
      schedule = attempt;
    }
    if (fits)
      continue;
    schedule.tiles.push_back({child, 1, false});
    if (!placeInside(child, used, each, schedule, reason))
      return false;
  }
  return true;
}

/// Tiles of the band to look at: 0 leaves a loop uncut. Either whole rows (everything outside of one loop is single,
/// everything inside whole), or, where arrays lie along different loops, squares of two of them.
std::vector<llvm::SmallVector<int64_t>> Planner::bandTiles() const {
  std::vector<llvm::SmallVector<int64_t>> result;
  auto sizes = [&](int64_t loop) {
    llvm::SmallVector<int64_t> list;
    int64_t count = nest.loops[loop].trips.value_or(0);
    for (int64_t size = 1; size <= (count ? count : 4096); size *= 2)
      list.push_back(size);
    for (int64_t parts = 1; count && parts <= 64; parts *= 2)
      list.push_back(llvm::divideCeil(count, parts * cores.cores));
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
    return list;
  };
  auto add = [&](llvm::SmallVector<int64_t> tiles) { // a tile of all iterations is no cut
    for (auto [i, loop] : llvm::enumerate(band))
      if (nest.loops[loop].trips && tiles[i] >= *nest.loops[loop].trips)
        tiles[i] = 0;
    if (!llvm::is_contained(result, tiles))
      result.push_back(std::move(tiles));
  };
  result.push_back(llvm::SmallVector<int64_t>(band.size(), 0));
  for (size_t cut = 0; cut < band.size(); ++cut)
    for (int64_t size : sizes(band[cut])) {
      llvm::SmallVector<int64_t> tiles(band.size(), 0);
      for (size_t outer = 0; outer < cut; ++outer)
        tiles[outer] = 1;
      tiles[cut] = size;
      add(tiles);
    }
  // Loops along which an array is contiguous.
  llvm::SmallVector<size_t> along;
  for (auto [i, loop] : llvm::enumerate(band))
    if (llvm::any_of(nest.accesses, [&](const NestShape::Access &access) {
          return !access.indices.empty() &&
                 llvm::is_contained(access.indices.back().terms, std::pair<int64_t, int64_t>(loop, 1));
        }))
      along.push_back(i);
  if (along.size() >= 2)
    for (int64_t first : {16, 32, 64, 128, 256})
      for (int64_t second : {16, 32, 64, 128, 256}) {
        llvm::SmallVector<int64_t> tiles(band.size(), 1);
        tiles[along[along.size() - 2]] = first;
        tiles[along.back()] = second;
        add(tiles);
      }
  return result;
}

std::vector<NestSchedule> Planner::all(std::string &reason) {
  std::vector<NestSchedule> result;
  auto add = [&](std::optional<NestSchedule> schedule) {
    if (!schedule)
      return;
    ++priced;
    countWork("candidates", 1);
    price(*schedule);
    if (std::isfinite(schedule->clocks))
      result.push_back(std::move(*schedule));
    else if (reason.empty())
      reason = "no copy engine moves the tiles of an array";
  };
  add(inPlace(/*onAllCores=*/true));
  add(inPlace(/*onAllCores=*/false));
  if (llvm::all_of(band, [&](int64_t loop) { return nest.loops[loop].trips != 0; }))
    for (const llvm::SmallVector<int64_t> &tiles : bandTiles()) {
      add(placedAtBand(tiles, 1));
      if (llvm::any_of(tiles, [](int64_t size) { return size > 0; }))
        add(placedAtBand(tiles, 2));
    }
  if (result.empty() || (cores.reachesGlobal && result.size() == 2)) {
    NestSchedule schedule;
    for (int64_t loop : band)
      schedule.tiles.push_back({loop, 1, false});
    spread(schedule);
    schedule.bytes = localBytes;
    llvm::SmallVector<int64_t> arrays;
    for (auto [i, array] : llvm::enumerate(nest.arrays))
      if (array.isPlaceable())
        arrays.push_back(i);
    if (placeInside(band.empty() ? -1 : band.back(), arrays, cores.scratchpad->bytes - localBytes, schedule, reason))
      add(schedule);
  }
  llvm::stable_sort(result, [](const NestSchedule &a, const NestSchedule &b) { return a.clocks < b.clocks; });
  return result;
}

double tilewright::clocksInPlace(const NestShape &nest, llvm::ArrayRef<int64_t> placed, const CoreHierarchy &cores,
                                 const TargetDescription &chip) {
  NestSchedule schedule;
  const Planner planner(nest, cores, chip);
  for (auto [i, array] : llvm::enumerate(nest.arrays)) {
    if (!array.isPlaceable())
      continue;
    if (llvm::is_contained(placed, int64_t(i)) && planner.isBox(i, schedule))
      schedule.places.push_back({int64_t(i), /*at=*/-1, /*stages=*/1});
    else if (!cores.reachesGlobal)
      return std::numeric_limits<double>::infinity();
  }
  planner.price(schedule);
  return schedule.clocks;
}

double tilewright::coreClocks(const NestShape &nest, const CoreHierarchy &cores, const TargetDescription &chip) {
  return Planner(nest, cores, chip).computeClocks({});
}

std::optional<NestSchedule> tilewright::planNestSchedule(const NestShape &nest, const CoreHierarchy &cores,
                                                         const TargetDescription &chip, ScheduleCheck check,
                                                         std::string &reason, int64_t *considered) {
  Planner planner(nest, cores, chip);
  std::vector<NestSchedule> ranked = planner.all(reason);
  if (considered)
    *considered = planner.priced;
  for (const NestSchedule &schedule : ranked)
    if (check(schedule))
      return schedule;
  if (reason.empty())
    reason = "no tile of it fits the memory \"" + cores.scratchpad->name + "\"";
  return std::nullopt;
}
