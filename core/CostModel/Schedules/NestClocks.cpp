//===- NestClocks.cpp - What a schedule of a nest takes -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The clocks of vectors, of a core's own accesses, and of a schedule with its copies.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/RowReuse.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/CoreInstructions.h"
#include "core/CostModel/Schedules/NestPlanner.h"
#include "core/CostModel/Time/PipelineTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace tilewright;

/// Instructions of a tile: its loop, and for each array its stage, the test for a next tile, and the wait. The first
/// copies and the last waits of a pipeline take those of so many tiles.
static constexpr double tileInstructions = 8, tilesAround = 2;

/// Elements that a step of `loop` moves the address of `access` by; nullopt where that is not known.
std::optional<int64_t> NestPlanner::stride(const NestShape::Access &access, int64_t loop) const {
  int64_t sum = 0, step = 1;
  llvm::ArrayRef<int64_t> shape = nest.arrays[access.array].shape;
  for (size_t d = shape.size(); d-- > 0;) {
    if (!access.indices[d].isKnown)
      return std::nullopt;
    sum += access.indices[d].factorOf(loop) * step;
    step = shape[d] < 0 ? assumedRowExtent : step * shape[d];
  }
  return sum;
}

/// Clocks of the accesses of global memory where the core computes on an array where it lies: by vectors along the loop
/// around the access; what is left of a row one by one, by a mask.
double NestPlanner::directClocks(const NestShape::Access &each, double times, const NestSchedule &schedule) const {
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
double NestPlanner::accessClocks(int64_t loop, int64_t lanes, int64_t width, const NestSchedule &schedule) const {
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
    double inSquares = 0; // the part of the rows that is transposed in squares; what is left of them is not
    for (int64_t around = loop; around >= 0 && step; around = nest.loops[around].parent) {
      if (around != loop && !nest.loops[around].isPerfect)
        break;
      const int64_t rows = inTile(around, schedule);
      if (stride(each, around) == 1 && std::min(rows, inTile(lanes, schedule)) >= width)
        inSquares = std::max(inSquares, double(rows - rows % width) / double(rows));
    }
    // At computed indices it is an instruction of the chip, where it has one.
    const int64_t bytes = nest.arrays[each.array].elementBytes;
    auto gathered = step ? std::nullopt : access.elementClocks(bytes);
    const double apart = gathered ? width * *gathered : memory.stridedLoads(step.value_or(width), width, bytes);
    clocks += inSquares * (1 + llvm::Log2_64(width)) + (1 - inSquares) * apart;
  }
  return clocks;
}

int64_t NestPlanner::widthOf(int64_t loop) const {
  int64_t widest = 1;
  for (const NestShape::Access &each : nest.accesses)
    if (each.loop == loop)
      widest = std::max(widest, nest.arrays[each.array].elementBytes);
  return std::max<int64_t>(1, chip.vectorRegisters().second / widest);
}

/// Whether two accesses share an address: of arrays of one shape, whose indices agree. Constants of indices that do not
/// move with `apart` count as none: what they add to an address is added where it is used.
static bool isSamePlace(const NestShape &nest, const NestShape::Access &a, const NestShape::Access &b,
                        std::optional<int64_t> apart) {
  if (nest.arrays[a.array].shape != nest.arrays[b.array].shape)
    return false;
  return llvm::all_of(llvm::zip_equal(a.indices, b.indices), [&](auto pair) {
    const auto &[x, y] = pair;
    const bool isApart = !apart || llvm::any_of(x.terms, [&](auto term) { return term.first == *apart; });
    return x.isKnown == y.isKnown && x.terms.size() == y.terms.size() && x.others == y.others &&
           llvm::all_of(x.terms, [&](auto term) { return llvm::is_contained(y.terms, term); }) &&
           (!isApart || x.constant == y.constant);
  });
}

/// One access for each address of those inside of `loop` that move with `moving`.
NestPlanner::Addresses NestPlanner::addresses(int64_t loop, int64_t moving, std::optional<int64_t> apart) const {
  Addresses places;
  for (const NestShape::Access &each : nest.accesses)
    if (nest.isUnder(each.loop, loop) && stride(each, moving) != 0 &&
        llvm::none_of(places, [&](const NestShape::Access *other) { return isSamePlace(nest, *other, each, apart); }))
      places.push_back(&each);
  return places;
}

/// Whether an index of `each` has a constant; `loop`: one that moves with it.
static bool hasConstant(const NestShape::Access &each, std::optional<int64_t> loop = std::nullopt) {
  return llvm::any_of(each.indices, [&](const NestShape::Index &index) {
    return index.constant != 0 && (!loop || llvm::any_of(index.terms, [&](auto term) { return term.first == *loop; }));
  });
}

/// Whether the address of `each` has a part that a loop around `loop` moves, or the stage of its buffer.
bool NestPlanner::hasPartAround(const NestShape::Access &each, int64_t loop, const NestSchedule &schedule) const {
  for (int64_t around = nest.loops[loop].parent; around >= 0; around = nest.loops[around].parent)
    if (inTile(around, schedule) > 1 && stride(each, around) != 0)
      return true;
  return llvm::any_of(schedule.places,
                      [&](const NestSchedule::Place &place) { return place.array == each.array && place.stages > 1; });
}

/// Instructions for the addresses of rows in one iteration of `loop`, of which `steps` are written out between two
/// tests: of each the number among these, and for each address the product with the bytes between its rows and the sums
/// with its constant and with what moves around.
double NestPlanner::rowClocks(int64_t loop, int64_t steps, const NestSchedule &schedule) const {
  double clocks = 0;
  for (const NestShape::Access *each : addresses(loop, loop, /*apart=*/loop)) {
    if (stride(*each, loop) == 1)
      continue; // vectors go along it
    clocks += 1 + hasConstant(*each, loop) + hasPartAround(*each, loop, schedule);
  }
  return clocks > 0 && steps > 1 ? clocks + 1 : clocks;
}

/// Instructions for the addresses of one vector of accesses in the body of `loop` that move with `lanes`: the sum of
/// its place in a row and the row; where rows lie along the vectors the number of each of several vectors, and its
/// product.
NestPlanner::AddressClocks NestPlanner::vectorAddressClocks(int64_t loop, int64_t lanes,
                                                            const NestSchedule &schedule) const {
  AddressClocks clocks;
  for (const NestShape::Access *each : addresses(loop, lanes, std::nullopt)) {
    const bool isRow = stride(*each, lanes) == 1;
    if (!isRow)
      clocks.apart += inTile(lanes, schedule) > widthOf(loop) ? 3 : 1;
    else if ((lanes != loop && stride(*each, loop) != 0) || hasConstant(*each) || hasPartAround(*each, lanes, schedule))
      clocks.sideBySide += 1;
  }
  return clocks;
}

/// The loop around the innermost `loop`, whose iterations are the elements of vectors, of which several iterations are
/// written out between two tests, as the vectoriser does (NestVectorizer): those that are combined into a row, those
/// that read rows which the next ones read again, and those whose rows are transposed in squares of `width`.
NestPlanner::Jam NestPlanner::jamOf(int64_t loop, int64_t width, const NestSchedule &schedule) const {
  for (int64_t outer = nest.loops[loop].parent; outer >= 0 && nest.loops[outer].isPerfect;
       outer = nest.loops[outer].parent) {
    const int64_t iterations = inTile(outer, schedule);
    if (iterations < 2)
      continue;
    auto inBody = [&](llvm::function_ref<bool(const NestShape::Access &)> test) {
      return llvm::any_of(nest.accesses,
                          [&](const NestShape::Access &each) { return each.loop == loop && test(each); });
    };
    const bool isSum = inBody([&](const NestShape::Access &each) {
      return nest.arrays[each.array].isWritten && stride(each, outer) == 0 && stride(each, loop) == 1;
    });
    if (isSum)
      return {outer, std::min(memory.outerReductionSteps(), iterations), Jam::Sum};
    const bool isSquare = inBody([&](const NestShape::Access &each) {
      const std::optional<int64_t> step = stride(each, loop);
      return step && *step > 1 && stride(each, outer) == 1;
    });
    if (isSquare && std::min(iterations, inTile(loop, schedule)) >= width)
      return {outer, width, Jam::Square};
    if (readsNextRow(loop, outer))
      return {outer, std::min(memory.rowsAtOnce(), iterations), Jam::Rows};
  }
  return {};
}

/// Whether an iteration of `outer` reads a row along the innermost `loop` that the next one reads again.
bool NestPlanner::readsNextRow(int64_t loop, int64_t outer) const {
  auto isNext = [&](const NestShape::Access &own, const NestShape::Access &other) {
    if (own.array != other.array)
      return false;
    llvm::SmallVector<IndexMove, 4> moves;
    for (const auto &[x, y] : llvm::zip_equal(own.indices, other.indices)) {
      if (!x.isKnown || !y.isKnown || x.terms != y.terms || x.others != y.others)
        return false;
      moves.push_back({x.factorOf(outer), 0, y.constant - x.constant});
    }
    return rereadAfter(moves) == 1;
  };
  auto isRow = [&](const NestShape::Access &each) {
    return each.loop == loop && nest.arrays[each.array].isRead && stride(each, loop) == 1 && stride(each, outer) != 0;
  };
  return llvm::any_of(nest.accesses, [&](const NestShape::Access &own) {
    return isRow(own) && llvm::any_of(nest.accesses, [&](const NestShape::Access &other) {
             return isRow(other) && isNext(own, other);
           });
  });
}

/// Loads of the body of `loop` that read what another one of the iterations of `jam.loop` written out together reads,
/// in the mean over these: of rows that follow each other, whose numbers are known to be the same.
double NestPlanner::readAgain(int64_t loop, const Jam &jam) const {
  std::set<std::vector<int64_t>> rows;
  int64_t all = 0;
  for (const NestShape::Access &each : nest.accesses) {
    if (each.loop != loop || !nest.arrays[each.array].isRead)
      continue;
    for (int64_t k = 0; k < jam.steps; ++k, ++all) {
      std::vector<int64_t> row{each.array};
      for (const NestShape::Index &index : each.indices) {
        const int64_t step = index.factorOf(jam.loop);
        row.push_back(step == 1 ? index.constant + k : index.constant);
        row.push_back(step > 1 ? k : 0);
      }
      rows.insert(std::move(row));
    }
  }
  return double(all - int64_t(rows.size())) / double(jam.steps);
}

/// Whether the iterations of `loop` are combined into the same elements, as those of a reduction or the taps of a
/// window.
bool NestPlanner::combines(int64_t loop) const {
  return llvm::any_of(nest.accesses, [&](const NestShape::Access &each) {
    return each.loop == loop && nest.arrays[each.array].isWritten && stride(each, loop) == 0;
  });
}

/// Clocks of all iterations of the innermost loop `loop` in vectors along it, several of them between two tests of the
/// loop (LaneChoice.cpp), unless squares are transposed.
double NestPlanner::alongClocks(int64_t loop, double body, const Jam &jam, const NestSchedule &schedule) const {
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
  if (sideBySide && jam.kind == Jam::Sum)
    together = std::clamp<int64_t>(whole, 1, 2);
  else if (sideBySide) // a loop of unknown length may end in its first tile, whose code knows no length either
    together = combines(loop) || !nest.loops[loop].trips
                   ? std::clamp<int64_t>(whole, 1, 2)
                   : vectorsBetweenTests(whole, loads, chip.vectorRegisters().first);
  if (jam.kind == Jam::Rows)
    together = std::max<int64_t>(1, together / jam.steps);
  const int64_t rest = left != 0, tests = whole / together + whole % together + rest;
  double accesses = accessClocks(loop, loop, width, schedule);
  if (jam.kind == Jam::Sum) // what a row is added to is loaded and stored once for all that are written out
    for (const NestShape::Access &each : nest.accesses)
      if (each.loop == loop && nest.arrays[each.array].isWritten && stride(each, jam.loop) == 0)
        accesses -= 1 - 1 / double(jam.steps);
  if (double(whole + rest) * accesses >= double(iterations * accessesOf(loop))) // vectors would save nothing
    return std::numeric_limits<double>::infinity();
  // Once for a row: what all of its vectors read alike is loaded and copied into their elements; what they are combined
  // into is loaded and stored, and each register that it is spread over meets the others, and its elements one another.
  double once = 0;
  for (const NestShape::Access &each : nest.accesses) {
    if (each.loop != loop || stride(each, loop) != 0)
      continue;
    const bool isCarried =
        nest.arrays[each.array].isWritten && llvm::any_of(nest.accesses, [&](const NestShape::Access &other) {
          return other.loop == loop && other.array == each.array && &other != &each;
        });
    accesses -= 1;
    once += isCarried ? 1 + double(together) / 2 : 2 + (hasConstant(each) || hasPartAround(each, loop, schedule));
  }
  // Vectors between two tests are one of several registers side by side, with one address and fewer registers of
  // narrower elements, unless something is carried from one to the next.
  int64_t wide = 1;
  if (sideBySide && jam.kind == Jam::None && !combines(loop) && memory.takesWideVectors())
    for (wide = together & -together; wide > 1 && iterations % (width * wide) != 0;)
      wide /= 2;
  for (const NestShape::Access &each : nest.accesses)
    if (each.loop == loop && stride(each, loop) == 1) {
      const int64_t bytes = wide * width * nest.arrays[each.array].elementBytes;
      accesses -= 1 - double(llvm::divideCeil(bytes, chip.vectorRegisters().second)) / double(wide);
    }
  AddressClocks addresses = vectorAddressClocks(loop, loop, schedule);
  if (jam.kind == Jam::Rows) { // a row that several of those written out read is loaded once
    const double again = readAgain(loop, jam);
    accesses -= again;
    addresses.sideBySide -= again;
  }
  // The first vector of a row that is written out whole lies where the row does.
  const double first = tests == 1 ? addresses.sideBySide : 0;
  return double(whole + rest) * (body + accesses + addresses.all() / double(wide)) - first + once + masked +
         (tests > 1 ? double(tests + 1) * loopClocks / double(jam.steps) : 0);
}

/// The outermost loop inside of `lanes` whose iterations are written out together with those of the innermost `loop`:
/// as the taps of a window, while there is a vector register for each.
int64_t NestPlanner::writtenOut(int64_t loop, int64_t lanes) const {
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
double NestPlanner::acrossClocks(int64_t loop, int64_t lanes, double body, const NestSchedule &schedule) const {
  const int64_t width = widthOf(loop), iterations = inTile(loop, schedule);
  const double vectors = std::ceil(double(inTile(lanes, schedule)) / width);
  if (!combines(loop))
    return vectors * iterations *
           (body + loopClocks + accessClocks(loop, lanes, width, schedule) +
            vectorAddressClocks(loop, lanes, schedule).all());
  const int64_t written = std::clamp<int64_t>(chip.vectorRegisters().first, 1, std::max<int64_t>(1, iterations));
  double turns = std::ceil(double(iterations) / written), around = 1;
  for (int64_t outer = nest.loops[loop].parent; outer >= 0 && nest.isUnder(outer, writtenOut(loop, lanes));
       outer = nest.loops[outer].parent)
    around *= inTile(outer, schedule);
  double each = accessClocks(loop, lanes, width, schedule), once = turns > 1 ? turns * loopClocks : 0;
  each += double(llvm::count_if(addresses(loop, lanes, std::nullopt),
                                [&](const NestShape::Access *own) { return stride(*own, loop) != 0; }));
  double broadcasts = 0;
  for (const NestShape::Access &access : nest.accesses) {
    if (access.loop != loop)
      continue;
    std::optional<int64_t> step = stride(access, lanes);
    if (step == 0) {
      each -= 1;
      // Its address, the load, the copy into all elements.
      broadcasts += 3.0 * iterations * (turns > 1 ? vectors : 1);
    } else if (step == 1 && stride(access, loop) == 0) {
      each -= 1;
      once += turns / around;
    }
  }
  return vectors * (iterations * (body + each) + once) + broadcasts;
}

/// Clocks of the core for all of the nest in one tile: vectors of the best loop around each innermost body, everything
/// else one by one.
double NestPlanner::computeClocks(const NestSchedule &schedule) const {
  const bool hasVectors = chip.vectorRegisters().second >= 4;
  llvm::SmallVector<int64_t> widths(nest.loops.size(), 1); // iterations of each loop that are elements of one vector
  llvm::SmallVector<int64_t> steps(nest.loops.size(), 1);  // of each loop between two tests
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
      const double turns = turnsOf(i), rows = widths[i] > 1 ? 0 : rowClocks(i, steps[i], schedule);
      const double tests = turns > 1 ? std::ceil(turns / double(steps[i])) + 1 : 0; // a loop of one turn is none
      clocks += timesOf(i) * (turns * (loop.instructions + rows) + tests * loopClocks);
      continue;
    }
    const int64_t accesses = accessesOf(i);
    const double body = std::max(0.0, loop.instructions - accesses), times = timesOf(i);
    const double single = inTile(i, schedule) * (body + loopClocks + accesses) + loopClocks;
    const Jam jam = jamOf(i, widthOf(i), schedule);
    const double along = alongClocks(i, body, jam, schedule);
    double best = times * std::min(single, along);
    int64_t chosen = i;
    // The lanes may be iterations of a loop around, of the band or not, with nothing else in it.
    for (int64_t lanes = loop.parent; lanes >= 0 && nest.loops[lanes].isPerfect; lanes = nest.loops[lanes].parent) {
      const double here = times / std::max(1.0, turnsOf(lanes)) * acrossClocks(i, lanes, body, schedule);
      if (here < best) {
        best = here;
        chosen = lanes;
      }
    }
    if (chosen == i && along < single && jam.loop >= 0)
      steps[jam.loop] = jam.steps;
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

void NestPlanner::price(NestSchedule &schedule) const {
  double tiles = tilesOfCore(schedule);
  StagedTime loop{{}, /*iterations=*/1, /*stages=*/1};
  IterationLoad &load = loop.load; // of all tiles, so far
  CommandedCopies commanded;
  llvm::SmallVector<bool> placed(nest.arrays.size());
  for (const NestSchedule::Place &place : schedule.places) {
    placed[place.array] = true;
    loop.stages = std::max(loop.stages, place.stages);
    addCopies(schedule, place, load, commanded);
  }
  for (const auto &[times, copies] : commanded.in)
    load.commands += times * coreClocksOf(copies);
  for (const auto &[times, copies] : commanded.out)
    load.core += times * coreClocksOf(copies);
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
