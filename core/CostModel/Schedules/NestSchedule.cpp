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

#include "core/CostModel/Explain/WorkCounter.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/NestPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace tilewright;

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

/// The box of what `array` has below loop `at` for one tile of each loop that `schedule` cuts; nullopt where its size
/// is not known. Indices that are not linear, and accesses that move differently, take the whole dimension.
std::optional<NestBox> NestPlanner::box(int64_t array, int64_t at, const NestSchedule &schedule) const {
  const NestShape::Array &shape = nest.arrays[array];
  auto rangeOf = [&](int64_t loop) -> std::optional<int64_t> { // iterations while the tile is there
    for (const NestSchedule::Tile &tile : schedule.tiles)
      if (tile.loop == loop && (nest.isUnder(at, loop) || nest.loops[loop].isBand))
        return nest.loops[loop].trips ? std::min(tile.size, *nest.loops[loop].trips) : tile.size;
    if (isAround(at, loop))
      return 1;
    return nest.loops[loop].trips;
  };
  NestBox result;
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

/// TileTransfer's `testedBits` of a placement: what tiles, the iterations around them and the slices of the box `part`
/// move the first element by, and the rows and stages of its buffer. Sizes that are not known count as aligned.
int64_t NestPlanner::testedBits(const NestSchedule &schedule, const NestSchedule::Place &place,
                                const NestBox &part) const {
  const NestShape::Array &array = nest.arrays[place.array];
  int64_t bits = place.stages > 1 ? part.elements() * array.elementBytes : 0;
  const size_t rank = array.rank();
  if (rank >= 2 && part.elements() > part.size[rank - 1])
    bits |= part.size[rank - 1] * array.elementBytes;
  int64_t step = array.elementBytes; // bytes of one index
  for (size_t d = array.shape.size(); d-- > 0; step *= std::max<int64_t>(0, array.shape[d])) {
    if (part.size[d] > 1 && d + 2 < rank)
      bits |= step;
    for (const NestShape::Access &access : nest.accesses) {
      if (access.array != place.array || !nest.isUnder(access.loop, place.at) || part.size[d] == array.shape[d])
        continue;
      bits |= std::abs(access.indices[d].constant) * step;
      for (auto [loop, factor] : access.indices[d].terms) {
        auto cut = llvm::find_if(schedule.tiles, [loop = loop](const auto &tile) { return tile.loop == loop; });
        const bool isCut = cut != schedule.tiles.end() && (nest.isUnder(place.at, loop) || nest.loops[loop].isBand);
        if (isCut && cut->size < trips(loop))
          bits |= std::abs(factor) * (factor > 0 ? cut->size : 1) * step;
        else if (isAround(place.at, loop))
          bits |= std::abs(factor) * step;
      }
    }
  }
  return bits;
}

/// Adds the engines' clocks of all copies of one placement by one core, and to `commanded` what it commands.
void NestPlanner::addCopies(const NestSchedule &schedule, const NestSchedule::Place &place, IterationLoad &load,
                            CommandedCopies &commanded) const {
  const NestShape::Array &array = nest.arrays[place.array];
  NestBox part = *box(place.array, place.at, schedule);
  TileTransfer tile;
  tile.elementBytes = array.elementBytes;
  int64_t slices = 1;
  const size_t rank = array.rank();
  for (auto [d, size] : llvm::enumerate(part.size)) {
    if (d + 1 == rank)
      tile.cols = size;
    else if (d + 2 == rank)
      tile.rows = size;
    else
      slices *= size;
  }
  if (rank >= 2 && tile.rows > 1)
    tile.pitchBits = std::max<int64_t>(array.shape[rank - 1], 1) * array.elementBytes;
  tile.testedBits = testedBits(schedule, place, part);
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
      load.byCore += in && !plan.engine ? times * slices * plan.coreClocks : 0;
      plan.commands *= slices;
      plan.engineClocks *= slices;
      plan.coreClocks *= slices;
      (in ? commanded.in : commanded.out)[times].push_back(plan);
    }
}

/// Iterations of `loop` in one tile of it.
int64_t NestPlanner::inTile(int64_t loop, const NestSchedule &schedule) const {
  int64_t all = trips(loop);
  for (const NestSchedule::Tile &tile : schedule.tiles)
    if (tile.loop == loop)
      return std::min(all, tile.size);
  return all;
}

/// Shares out the tiles of the first loop of the band that has one for each core, else of that with the most.
void NestPlanner::spread(NestSchedule &schedule) const {
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
std::optional<NestSchedule> NestPlanner::placedAtBand(llvm::ArrayRef<int64_t> tiles, int64_t stages) const {
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
    std::optional<NestBox> part = box(i, band.empty() ? -1 : band.front(), schedule);
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
std::optional<NestSchedule> NestPlanner::inPlace(bool onAllCores) const {
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
bool NestPlanner::placeInside(int64_t at, llvm::SmallVector<int64_t> arrays, int64_t budget, NestSchedule &schedule,
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
  if (children.empty() || !llvm::all_of(children, [&](int64_t child) { return nest.loops[child].canBeCut; })) {
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
std::vector<llvm::SmallVector<int64_t>> NestPlanner::bandTiles() const {
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

/// What engines ask of rows, for people; empty where they take any.
static std::string alignmentNote(const CoreHierarchy &cores) {
  int64_t most = 1;
  for (const CopyEngine *engine : {cores.in, cores.out})
    most = std::max(most, engine ? engine->alignBytes : 1);
  return most == 1 ? "" : "; engines move rows that begin at multiples of " + std::to_string(most) + " bytes";
}

std::vector<NestSchedule> NestPlanner::all(std::string &reason) {
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
      reason = "no copy engine moves the tiles of an array" + alignmentNote(cores);
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
  const NestPlanner planner(nest, cores, chip);
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
  return NestPlanner(nest, cores, chip).computeClocks({});
}

std::optional<NestSchedule> tilewright::planNestSchedule(const NestShape &nest, const CoreHierarchy &cores,
                                                         const TargetDescription &chip, ScheduleCheck check,
                                                         std::string &reason, int64_t *considered) {
  NestPlanner planner(nest, cores, chip);
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
