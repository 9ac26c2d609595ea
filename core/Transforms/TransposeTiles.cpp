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

#include "core/Transforms/TransposeTiles.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/BankClocks.h"
#include "core/CostModel/Sectors.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

int64_t TileBuffer::bytes() const {
  int64_t padding = arrangement ? arrangement.getPadding() : 0;
  return llvm::alignTo(count * beside * (length + padding) * elementBytes(element), scratchpadGranule);
}

namespace {

class Planner {
public:
  Planner(const Transposition &task, const LaneHierarchy &hierarchy, const Memory &memory, MLIRContext *context)
      : task(task), nest(task.nest), hierarchy(hierarchy), memory(memory), context(context) {}
  std::optional<TransposePlan> plan();

private:
  TileBuffer bufferOf(const Access &access, const TileRun &run);
  void arrange(TileBuffer &buffer);
  void shapeBuffers();
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
  MLIRContext *context;
  TileShape shape; // that is looked at
  SmallVector<TileBuffer> buffers;
  std::optional<TileBuffer> result;
};

} // namespace

TileBuffer Planner::bufferOf(const Access &access, const TileRun &run) {
  TileBuffer buffer;
  buffer.run = &run;
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

/// Padding of one bank or a swizzle, if lanes meet in fewer banks then: those along the columns, and those along runs.
void Planner::arrange(TileBuffer &buffer) {
  int64_t bytes = elementBytes(buffer.element), word = std::max(bytes, memory.bankBytes);
  int64_t base = llvm::Log2_64(word), line = llvm::Log2_64(memory.banks * memory.bankBytes);
  auto clocks = [&](tile::ArrangementAttr arrangement) {
    int64_t pitch = buffer.length + (arrangement ? arrangement.getPadding() : 0);
    int64_t mask = arrangement ? ((int64_t(1) << arrangement.getSwizzleBits()) - 1) << base : 0;
    SmallVector<int64_t> addresses;
    auto access = [&](llvm::function_ref<int64_t(int64_t)> elementOf) {
      addresses.clear();
      for (int64_t lane = 0; lane < hierarchy.lanes; ++lane) {
        int64_t offset = elementOf(lane) * bytes;
        addresses.push_back(offset ^ ((offset >> (line - base)) & mask));
      }
      return bankClocks(addresses, word, memory).taken; // narrower elements take turns as words do
    };
    int64_t taken = 0, places = std::min<int64_t>(8, buffer.run->factor);
    for (int64_t first = 0; first < places; ++first)
      taken += access([&](int64_t lane) {
        int64_t place = lane * shape.near, factor = buffer.run->factor;
        int64_t row = place / shape.columns, column = place % shape.columns;
        return first + (buffer.alongRows ? column * pitch + row * factor : row * pitch + column * factor);
      });
    // Lanes copy words, or write words of longer pieces that a swizzle cuts.
    int64_t chunk = buffer.chunk(), words = word / bytes, piece = mask ? std::max<int64_t>(words, 16 / bytes) : words;
    for (int64_t apart : {words, piece})
      taken += places * access([&](int64_t lane) { return lane * apart / chunk * pitch + lane * apart % chunk; });
    return taken;
  };
  auto arrangement = [&](int64_t bits, int64_t padding) {
    return tile::ArrangementAttr::get(context, bits, bits ? base : 0, bits ? line - base : 0, 0, padding, 1);
  };
  buffer.clocks = clocks({});
  auto consider = [&](tile::ArrangementAttr candidate) {
    if (int64_t taken = clocks(candidate); taken < buffer.clocks) {
      buffer.clocks = taken;
      buffer.arrangement = candidate;
    }
  };
  consider(arrangement(0, std::max<int64_t>(1, memory.bankBytes / bytes)));
  for (int64_t bits = 1; bits <= line - base; ++bits)
    consider(arrangement(bits, 0));
}

void Planner::shapeBuffers() {
  buffers.clear();
  result.reset();
  for (const StagedLoad &staged : task.staged)
    buffers.push_back(bufferOf(*staged.load, staged.run));
  if (task.stored.factor > 1)
    result = bufferOf(nest.stores.front(), task.stored);
  shape.bytes = shape.clocks = 0;
  for (const TileBuffer *buffer : allBuffers()) {
    shape.bytes += buffer->bytes();
    shape.clocks += buffer->clocks;
  }
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
  std::optional<TileShape> best;
  auto consider = [&](int64_t rows, int64_t columns, int64_t subgroups) {
    for (int64_t near = 1; near == 1 || (smaller && near * narrowest <= memory.bankBytes); near *= 2) {
      if (near > 1 && (rows * columns < hierarchy.lanes * near * subgroups || !mayTakeNear(near)))
        break;
      shape = {rows, columns, subgroups, near};
      shapeBuffers();
      if (2 * shape.bytes <= memory.bytes && (!best || shape.clocks < best->clocks))
        best = shape;
    }
  };
  int64_t subgroups = std::min<int64_t>(8, hierarchy.subgroups);
  if (task.rows) {
    for (int64_t columns = side; columns == side || (smaller && columns >= memory.banks); columns /= 2)
      for (int64_t rows = side;
           rows == side || (smaller && rows * columns >= subgroups * std::max(hierarchy.lanes, columns)); rows /= 2)
        consider(rows, columns, subgroups);
  } else {
    int64_t most = hierarchy.lanes * std::max<int64_t>(1, memory.bankBytes / narrowest);
    int64_t all =
        std::max(hierarchy.lanes, int64_t(llvm::PowerOf2Ceil(task.trips(task.columns).value_or(subgroups * most))));
    for (int64_t columns = most; columns >= hierarchy.lanes; columns /= 2)
      for (int64_t own = subgroups; own >= 1; own /= 2)
        if (own * columns <= all)
          consider(1, own * columns, own);
  }
  if (!best)
    return std::nullopt;
  shape = *best;
  shapeBuffers();
  return TransposePlan{shape, buffers, result};
}

std::optional<TransposePlan> tilewright::planTransposition(const Transposition &task, const LaneHierarchy &hierarchy,
                                                           const Memory &memory, MLIRContext *context) {
  return Planner(task, hierarchy, memory, context).plan();
}
