//===- TransposeTiles.cpp - Tiles of transpositions -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at tiles of powers of two and at arrangements of their buffers.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/TransposeTiles.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Machine/BankClocks.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

int64_t TileBuffer::bytes() const {
  int64_t padding = arrangement ? arrangement.getPadding() : 0;
  return llvm::alignTo(count * beside * (length * stretch + padding) * elementBytes(element), scratchpadGranule);
}

namespace {

class Planner {
public:
  Planner(const Transposition &task, const TargetDescription &chip, const LaneHierarchy &hierarchy,
          const Memory &memory, const LaneOps &ops, MLIRContext *context)
      : task(task), nest(task.nest), hierarchy(hierarchy), memory(memory), ops(ops), context(context) {
    const Memory *global = chip.graph().backing();
    sectorClocks =
        hierarchy.sectorBytes * double(hierarchy.blocks) / std::max<double>(1, global ? global->bytesPerClock : 0);
  }
  std::optional<TransposePlan> plan();

private:
  TileBuffer bufferOf(const Access &access, const TileRun &run);
  int64_t copyBytes(const TileBuffer &buffer);
  std::optional<double> clocksOf(const TileBuffer &buffer, tile::ArrangementAttr arrangement, bool mayMeet,
                                 bool &meets);
  void arrange(TileBuffer &buffer);
  void shapeBuffers();
  double sectorsOf(const Access &access, const TileRun &run, int64_t iterations, int64_t accessBytes);
  int64_t alignmentOf(const Access &access, const TileRun &run);
  bool mayTakeNear(int64_t near);
  SmallVector<TileBuffer *> allBuffers() {
    SmallVector<TileBuffer *> all = llvm::map_to_vector(buffers, [](TileBuffer &buffer) { return &buffer; });
    if (result)
      all.push_back(&*result);
    return all;
  }

  const Transposition &task;
  const Nest &nest;
  const LaneHierarchy &hierarchy;
  const Memory &memory;
  const LaneOps &ops;
  double sectorClocks;
  MLIRContext *context;
  TileShape shape; // that is looked at
  SmallVector<TileBuffer> buffers;
  std::optional<TileBuffer> result;
};

} // namespace

TileBuffer Planner::bufferOf(const Access &access, const TileRun &run) {
  TileBuffer buffer;
  buffer.run = &run;
  buffer.load = access.isStore ? nullptr : &access;
  buffer.element = elementOf(access.memref);
  buffer.alongRows = run.wide != task.columns;
  std::optional<unsigned> other = buffer.alongRows ? std::optional(task.columns) : task.rows;
  if (other && access.map.isFunctionOfDim(*other))
    buffer.beside = buffer.alongRows ? shape.columns : shape.rows;
  for (unsigned d : task.othersThan(run))
    if (access.map.isFunctionOfDim(d)) {
      buffer.others.push_back(d);
      buffer.count *= *task.trips(d);
    }
  buffer.length = (buffer.alongRows ? shape.rows : shape.columns) * run.factor;
  arrange(buffer);
  return buffer;
}

/// Bytes that a lane copies at a time: of aligned rows, and no more than lie inside of the array together where the
/// chip loads zeros beyond its end.
int64_t Planner::copyBytes(const TileBuffer &buffer) {
  int64_t bytes = elementBytes(buffer.element), width = std::min(mostAccessBytes / bytes, buffer.chunk());
  if (buffer.stretch > 1)
    return bytes;
  width = std::min(width, alignmentOf(*buffer.load, *buffer.run));
  if (ops.zerosBeyond()) {
    int64_t inside = task.trips(buffer.run->wide).value_or(1) * buffer.run->factor;
    width = std::min(width, inside & -inside);
  }
  return width * bytes;
}

/// Clocks of the banks for as many elements as a subgroup has lanes: those along the columns, and those along runs;
/// `meets`: lanes meet in banks. Nullopt where they do, though they need not (`mayMeet`): the rest is not looked at.
std::optional<double> Planner::clocksOf(const TileBuffer &buffer, tile::ArrangementAttr arrangement, bool mayMeet,
                                        bool &meets) {
  constexpr int64_t mostLooked = 8; // accesses of a kind: others repeat their pattern
  int64_t bytes = elementBytes(buffer.element), factor = buffer.run->factor, stretch = buffer.stretch;
  int64_t pitch = (buffer.length * stretch + (arrangement ? arrangement.getPadding() : 0)) * bytes;
  int64_t piece = mostAccessBytes, mask = 0, shift = 0;
  if (arrangement && arrangement.getSwizzleBits()) {
    piece = int64_t(1) << arrangement.getSwizzleBase();
    mask = ((int64_t(1) << arrangement.getSwizzleBits()) - 1) * piece;
    shift = arrangement.getSwizzleShift();
  }
  SmallVector<int64_t> addresses;
  int64_t taken = 0, moved = 0; // clocks, bytes
  auto access = [&](int64_t width, llvm::function_ref<std::optional<int64_t>(int64_t)> offsetOf) {
    if (meets && !mayMeet)
      return;
    addresses.clear();
    for (int64_t lane = 0; lane < hierarchy.lanes; ++lane)
      if (std::optional<int64_t> offset = offsetOf(lane))
        addresses.push_back(*offset ^ ((*offset >> shift) & mask));
    // Narrower elements take turns as words do.
    BankClocks clocks = bankClocks(addresses, std::max(width, memory.bankBytes), memory);
    taken += clocks.taken;
    meets |= clocks.taken > clocks.least;
    moved += width * int64_t(addresses.size());
  };
  auto rate = [&] { return double(std::exchange(taken, 0)) * hierarchy.lanes * bytes / std::exchange(moved, 0); };

  int64_t rows = shape.rows / (task.rows ? shape.subgroups : 1);
  int64_t columns = shape.columns / (task.rows ? 1 : shape.subgroups);
  int64_t along = std::min(hierarchy.lanes * shape.near, columns), beside = hierarchy.lanes * shape.near / along;
  int64_t together = buffer.alongRows || factor > 1 ? 1 : std::min(shape.near, piece / bytes);
  SmallVector<std::pair<int64_t, int64_t>> others = {{0, 0}}; // of a lane: its next columns and rows
  if (columns > along)
    others.push_back({0, along});
  if (rows > beside)
    others.push_back({beside, 0});
  for (int64_t subgroup = 1; subgroup < shape.subgroups && bytes < memory.bankBytes; ++subgroup)
    others.push_back(task.rows ? std::pair(subgroup * rows, int64_t(0)) : std::pair(int64_t(0), subgroup * columns));
  for (int64_t first = 0; first < std::min(mostLooked, factor); ++first)
    for (auto [row, column] : others)
      for (int64_t near = 0; near < shape.near; near += together)
        access(together * bytes, [&](int64_t lane) {
          int64_t r = row + lane * shape.near / along, c = column + lane * shape.near % along + near;
          int64_t outside = buffer.beside == 1 ? 0 : buffer.alongRows ? c : r;
          return outside * pitch + ((buffer.alongRows ? r : c) * factor + first) * stretch * bytes;
        });
  if (meets && !mayMeet)
    return std::nullopt;
  double clocks = rate();

  int64_t chunk = buffer.chunk(), chunks = std::min(mostLooked, buffer.length / chunk);
  int64_t width = bytes, outer = buffer.beside, inner = chunk;
  if (buffer.load) {
    width = std::min(copyBytes(buffer), pitch & -pitch);
    if (buffer.narrow || (ops.countsGroups() && std::min(width, piece) >= memory.bankBytes))
      width = std::min(width, piece); // an engine writes what it reads
  } else {
    outer = rows;
    inner = task.rows ? chunk : std::max<int64_t>(1, chunk / shape.subgroups);
  }
  for (int64_t first = 0; first < chunks; ++first)
    for (int64_t part = 0; part < width; part += piece)
      access(std::min(width, piece), [&](int64_t lane) -> std::optional<int64_t> {
        int64_t at = lane * (width / bytes), row = at / inner;
        if (row >= outer)
          return std::nullopt;
        return (buffer.beside == 1 ? 0 : row) * pitch + (first * chunk + at % inner) * stretch * bytes + part;
      });
  if (meets && !mayMeet)
    return std::nullopt;
  return clocks + rate();
}

/// Padding, a swizzle or elements that are a word apart: one in which no lanes meet if there is one, of those that with
/// the fewest clocks, and of equal ones the first.
void Planner::arrange(TileBuffer &buffer) {
  int64_t bytes = elementBytes(buffer.element), word = std::max(bytes, memory.bankBytes);
  int64_t line = llvm::Log2_64(memory.banks * memory.bankBytes);
  buffer.clocks = std::numeric_limits<double>::max();
  bool bestMeets = true;
  TileBuffer best = buffer;
  auto consider = [&](int64_t bits, int64_t base, int64_t skip, int64_t padding) {
    auto candidate =
        tile::ArrangementAttr::get(context, bits, bits ? base : 0, bits ? line - base + skip : 0, 0, padding, 1);
    if (!bits && !padding)
      candidate = nullptr;
    bool meets = false;
    std::optional<double> taken = clocksOf(buffer, candidate, bestMeets, meets);
    if (taken && (meets < bestMeets || *taken < best.clocks * betterTile)) {
      bestMeets = meets;
      best = buffer;
      best.clocks = *taken;
      best.arrangement = candidate;
    }
  };
  int64_t copied = buffer.load ? copyBytes(buffer) : bytes;
  for (; buffer.stretch == 1 || buffer.stretch * bytes <= memory.bankBytes; buffer.stretch *= 2) {
    consider(0, 0, 0, 0);
    for (int64_t words = 1; words <= 4; words *= 2)
      consider(0, 0, 0, std::max<int64_t>(1, words * memory.bankBytes / bytes));
    for (int64_t base = llvm::Log2_64(word); (int64_t(1) << base) <= mostAccessBytes; ++base)
      for (int64_t bits = 1; bits <= line - base; ++bits)
        for (int64_t skip = 0; skip <= 3; ++skip)
          for (bool narrow : {false, true}) {
            buffer.narrow = narrow;
            if (!narrow || copied > int64_t(1) << base)
              consider(bits, base, skip, 0);
          }
    buffer.narrow = false;
  }
  buffer = best;
}

void Planner::shapeBuffers() {
  buffers.clear();
  result.reset();
  for (const StagedLoad &staged : task.staged)
    buffers.push_back(bufferOf(*staged.load, staged.run));
  if (task.stored.factor > 1)
    result = bufferOf(nest.stores.front(), task.stored);
  shape.bytes = 0;
  shape.clocks = shape.sectors = 0;
  for (const TileBuffer *buffer : allBuffers()) {
    shape.bytes += buffer->bytes();
    shape.clocks += buffer->clocks;
  }
  for (const TileBuffer &buffer : buffers)
    shape.sectors += sectorsOf(*buffer.load, *buffer.run, buffer.alongRows ? shape.rows : shape.columns,
                               hierarchy.lanes * copyBytes(buffer));
  auto whole = [&](std::optional<unsigned> dim, int64_t size) { // places of a tile for each of its iterations
    std::optional<int64_t> trips = dim ? task.trips(*dim) : 1;
    return trips && *trips < size ? double(size) / double(*trips) : 1;
  };
  shape.clocks *= whole(task.rows, shape.rows) * whole(task.columns, task.rows ? shape.columns : hierarchy.lanes);
  const TileRun columns = {{}, task.columns, 1, 0};
  for (const Access &load : nest.loads) {
    auto isLoad = [&](const StagedLoad &staged) { return staged.load == &load; };
    if (load.stride(task.columns) == 0 || llvm::any_of(task.staged, isLoad))
      continue;
    shape.sectors += load.stride(task.columns) == 1
                         ? sectorsOf(load, columns, shape.columns,
                                     hierarchy.lanes * elementBytes(elementOf(load.memref)) * shape.near)
                         : double(hierarchy.lanes);
  }
  const Access &store = nest.stores.front();
  shape.sectors += sectorsOf(store, task.stored, shape.columns,
                             hierarchy.lanes * elementBytes(elementOf(store.memref)) * (result ? 1 : shape.near));
  shape.clocks += shape.sectors * sectorClocks;
}

/// Sectors for as many elements as a subgroup has lanes: of a run of `iterations` of its long dimension, of which
/// accesses take `accessBytes`.
double Planner::sectorsOf(const Access &access, const TileRun &run, int64_t iterations, int64_t accessBytes) {
  int64_t bytes = elementBytes(elementOf(access.memref));
  int64_t length = std::min(iterations, task.trips(run.wide).value_or(iterations)) * run.factor * bytes;
  int64_t piece = std::min(length, accessBytes);
  int64_t aligned = std::min(alignmentOf(access, run) * bytes, piece & -piece);
  return double(piece + hierarchy.sectorBytes - std::min(aligned, hierarchy.sectorBytes)) / hierarchy.sectorBytes *
         hierarchy.lanes * bytes / piece;
}

/// A power of two of elements that divides where runs of an array begin, where tiles do not matter.
int64_t Planner::alignmentOf(const Access &access, const TileRun &run) {
  int64_t multiple = int64_t(1) << 16;
  if (!access.symbols.empty())
    return 1;
  SmallVector<unsigned> along(run.shorts);
  along.push_back(run.wide);
  auto isAlong = [&](unsigned d) {
    return llvm::any_of(along, [&](unsigned a) { return a == d || llvm::is_contained(task.merged[a], d); });
  };
  auto type = cast<MemRefType>(access.memref.getType());
  int64_t pitch = 1; // what is known to divide it
  for (unsigned r = type.getRank(); r-- > 0; pitch *= type.isDynamicDim(r) ? 1 : type.getDimSize(r))
    for (unsigned d = 0; d < nest.depth(); ++d)
      if (int64_t step = *linearCoefficient(access.map.getResult(r), d) * pitch; step != 0 && !isAlong(d))
        multiple = std::min(multiple, step & -step);
  return multiple;
}

/// Whether arrays that lanes access past the scratchpad let a lane take `near` columns at once.
bool Planner::mayTakeNear(int64_t near) {
  auto isAligned = [&](const Access &access) {
    auto type = cast<MemRefType>(access.memref.getType());
    if (!type.hasStaticShape() || !access.symbols.empty())
      return false;
    for (unsigned d = 0; d < nest.depth(); ++d)
      if (d != task.columns && !llvm::is_contained(task.merged[task.columns], d) && *access.stride(d) % near != 0)
        return false;
    return access.stride(task.columns) == 1 && llvm::all_of(access.map.getResults(), [](AffineExpr result) {
             return isa<AffineDimExpr>(result) || result == 0;
           });
  };
  if (task.stored.factor == 1 && !isAligned(nest.stores.front()))
    return false;
  for (const Access &load : nest.loads)
    if (load.stride(task.columns) == 1 && !isAligned(load))
      return false;
  return true;
}

std::optional<TransposePlan> Planner::plan() {
  int64_t narrowest = elementBytes(elementOf(nest.stores.front().memref));
  if (!task.staged.empty())
    narrowest = std::numeric_limits<int64_t>::max();
  for (const StagedLoad &staged : task.staged)
    narrowest = std::min(narrowest, elementBytes(elementOf(staged.load->memref)));
  // A run of the narrowest array fills the banks once, so that it is written without conflicts, too. With short
  // dimensions inside it is as long with fewer iterations of the long one.
  int64_t side = std::max(hierarchy.lanes, memory.banks * memory.bankBytes / narrowest);
  bool smaller = !task.shorts.empty();
  PlanSearch<TileShape, &TileShape::clocks> search(nullptr, betterTile);
  auto consider = [&](int64_t rows, int64_t columns, int64_t subgroups) {
    for (int64_t near = 1; near == 1 || (smaller && near * narrowest <= memory.bankBytes); near *= 2) {
      if (rows * columns < hierarchy.lanes * near * subgroups || (near > 1 && !mayTakeNear(near)))
        break;
      shape = {rows, columns, subgroups, near};
      shapeBuffers();
      if (2 * shape.bytes <= memory.bytes)
        search.offer(shape);
    }
  };
  int64_t subgroups = std::min<int64_t>(8, hierarchy.subgroups);
  auto mostOf = [&](unsigned dim) {
    return std::min(side, int64_t(llvm::PowerOf2Ceil(task.trips(dim).value_or(side))));
  };
  auto leastOf = [&](int64_t most) { return std::min(most, std::max<int64_t>(1, hierarchy.sectorBytes / narrowest)); };
  if (task.rows) {
    int64_t mostColumns = mostOf(task.columns), mostRows = mostOf(*task.rows);
    for (int64_t columns = mostColumns; columns >= leastOf(mostColumns); columns /= 2)
      for (int64_t rows = mostRows; rows >= leastOf(mostRows); rows /= 2)
        if (int64_t own = std::min({subgroups, rows, rows * columns / hierarchy.lanes}))
          consider(rows, columns, own);
  } else {
    int64_t most = hierarchy.lanes * std::max<int64_t>(1, memory.bankBytes / narrowest);
    int64_t all =
        std::max(hierarchy.lanes, int64_t(llvm::PowerOf2Ceil(task.trips(task.columns).value_or(subgroups * most))));
    for (int64_t columns = most; columns >= hierarchy.lanes; columns /= 2)
      for (int64_t own = subgroups; own >= 1; own /= 2)
        if (own * columns <= all)
          consider(1, own * columns, own);
  }
  if (!search.best)
    return std::nullopt;
  shape = *search.best;
  shapeBuffers();
  return TransposePlan{shape, buffers, result};
}

std::optional<TransposePlan> tilewright::planTransposition(const Transposition &task, const TargetDescription &chip,
                                                           const LaneHierarchy &hierarchy, const Memory &memory,
                                                           const LaneOps &ops, MLIRContext *context) {
  Stopwatch stopwatch("planning");
  return Planner(task, chip, hierarchy, memory, ops, context).plan();
}
