//===- TileArrangement.cpp - Rows of a tile over banks --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the clocks of all swizzles and paddings.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TileArrangement.h"
#include "core/CostModel/Machine/BankClocks.h"
#include "core/CostModel/Machine/Sectors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <map>
#include <optional>
#include <set>

using namespace tilewright;

/// Where a lane that transposes blocks writes its first one, as row and byte: lanes along the array, then along the
/// row, then the rest of the array and of the row.
static std::pair<int64_t, int64_t> blockOf(int64_t lane, const StagedTile &tile, const TileUse &use) {
  int64_t blocks = std::max<int64_t>(1, use.rows / use.along);
  int64_t near = std::clamp<int64_t>(tile.near, 1, blocks), beside = near < blocks ? tile.beside : 1;
  int64_t block = lane % near + lane / near / beside * near;
  return {block % blocks * use.along, (lane / near % beside + block / blocks * beside) * use.pieceBytes};
}

double tilewright::sectorsTouched(const StagedTile &tile, const TileUse &use) {
  if (!use.transposed)
    return 1;
  std::set<std::pair<int64_t, int64_t>> sectors; // of one load: row of the array, sector of it
  int64_t width = use.along * use.elementBytes, loaded = 0;
  for (int64_t lane = 0; lane < use.lanes; ++lane) {
    auto [row, column] = blockOf(lane, tile, use);
    if (row >= use.rows || column >= use.rowBytes)
      continue;
    loaded += width;
    for (int64_t byte = 0; byte < width; byte += use.elementBytes)
      sectors.emplace(column, (row * use.elementBytes + byte) / use.sectorBytes);
  }
  return double(sectors.size()) * std::min(use.sectorBytes, use.rows * use.elementBytes) / loaded;
}

namespace {
/// Clocks of all arrangements of one tile that are looked at.
class Arrangements {
public:
  Arrangements(const TileUse &use, int64_t readBytes, const Memory &memory)
      : use(use), readBytes(readBytes), memory(memory) {}

  /// Of the writes of a copy and, twice, of the reads of a fragment; nullopt where they are no fewer than `most` even
  /// without conflicts.
  std::optional<BankClocks> clocksOf(const StagedTile &tile, int64_t most);

private:
  int64_t pitch(int64_t padding) const { return use.rowBytes + padding * use.elementBytes; }
  LaneAddresses writesOf(const StagedTile &tile, int64_t piece) const;
  LaneAddresses readsOf(int64_t padding) const;

  const TileUse &use;
  const int64_t readBytes;
  const Memory &memory;
  /// Before a swizzle: by padding, near, beside and bytes of a write; by padding.
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, LaneAddresses> writes;
  std::map<int64_t, LaneAddresses> reads;
};
} // namespace

LaneAddresses Arrangements::writesOf(const StagedTile &tile, int64_t piece) const {
  llvm::SmallVector<int64_t> addresses;
  for (int64_t lane = 0; lane < use.lanes; ++lane) {
    int64_t row = lane * piece / use.rowBytes, column = lane * piece % use.rowBytes;
    if (use.transposed)
      std::tie(row, column) = blockOf(lane, tile, use);
    if (row < use.rows && column < use.rowBytes)
      addresses.push_back(row * pitch(tile.padding) + column);
  }
  return LaneAddresses(std::move(addresses));
}

LaneAddresses Arrangements::readsOf(int64_t padding) const {
  llvm::SmallVector<int64_t> addresses;
  auto at = [&](int64_t row, int64_t bytes) { addresses.push_back(row * pitch(padding) + bytes); };
  if (use.matrices) {
    for (int64_t row = 0; row < std::min<int64_t>(8, use.rows); ++row)
      at(row, 0);
  } else if (use.columns) { // lanes of a group read segments of its rows
    int64_t piece = columnBytes / use.elementBytes, pieces = columnLanes / piece;
    for (int64_t lane = 0; lane < use.layout->numLanes(); ++lane) {
      Position p = use.layout->at(lane / columnLanes * columnLanes, 0);
      int64_t inside = lane % columnLanes, row = use.rowIsLayoutRow ? p.row : p.col,
              column = use.rowIsLayoutRow ? p.col : p.row;
      at(row + inside / pieces, (column + inside % pieces * piece) * use.elementBytes);
    }
  } else {
    for (int64_t lane = 0; lane < use.layout->numLanes(); ++lane) {
      Position p = use.layout->at(lane, 0);
      use.rowIsLayoutRow ? at(p.row, p.col * use.elementBytes) : at(p.col, p.row * use.elementBytes);
    }
  }
  return LaneAddresses(std::move(addresses));
}

std::optional<BankClocks> Arrangements::clocksOf(const StagedTile &tile, int64_t most) {
  // A write is as wide as its address is aligned for certain, and no wider than the segments that a swizzle moves.
  int64_t rows = pitch(tile.padding), piece = std::min<int64_t>(use.pieceBytes, rows & -rows);
  if (tile.swizzleBits)
    piece = std::min(piece, int64_t(1) << tile.swizzleBase);
  const int64_t readWidth = use.matrices ? 16 : readBytes;
  std::tuple place(tile.padding, tile.near, tile.beside, piece);
  auto write = writes.find(place);
  if (write == writes.end())
    write = writes.emplace(place, writesOf(tile, piece)).first;
  auto read = reads.find(tile.padding);
  if (read == reads.end())
    read = reads.emplace(tile.padding, readsOf(tile.padding)).first;
  // Narrower writes are as many more, none of them wasted; of a small tile lanes that would idle take a part.
  int64_t bytes = std::min(use.lanes * 16, use.rows * use.rowBytes), written = piece * int64_t(write->second.size());
  int64_t rounds = std::clamp<int64_t>(llvm::divideCeil(bytes, std::max<int64_t>(1, written)), 1, 16 / piece);
  if (write->second.leastClocks(piece, memory) * rounds + read->second.leastClocks(readWidth, memory) * 2 >= most)
    return std::nullopt;
  const int64_t mask = ((int64_t(1) << tile.swizzleBits) - 1) << tile.swizzleBase;
  auto swizzle = [&](int64_t offset) {
    int64_t high = (offset >> tile.swizzleShift) ^ (tile.swizzleAgain ? offset >> tile.swizzleAgain : 0);
    return offset ^ (high & mask);
  };
  return write->second.clocks(piece, memory, swizzle).times(rounds) +
         read->second.clocks(readWidth, memory, swizzle).times(2);
}

double tilewright::arrangeTile(StagedTile &tile, const TileUse &use, const Memory &memory) {
  int64_t run = contiguousElements(*use.layout, !use.rowIsLayoutRow);
  int64_t readBytes = use.columns ? columnBytes : std::min<int64_t>(16, run * use.elementBytes);
  StagedTile plain;
  plain.kInner = tile.kInner;
  plain.swizzleBase = 4;
  plain.near = use.transposed ? std::max<int64_t>(1, use.rows / use.along) : 0;
  int64_t pieces = std::max<int64_t>(1, use.rowBytes / use.pieceBytes);
  plain.beside = use.transposed ? pieces : 0;
  StagedTile best = plain;
  Arrangements arrangements(use, readBytes, memory);
  BankClocks clocks = *arrangements.clocksOf(plain, std::numeric_limits<int64_t>::max());
  auto consider = [&](const StagedTile &candidate) {
    if (auto now = arrangements.clocksOf(candidate, clocks.taken); now && now->taken < clocks.taken) {
      clocks = *now;
      best = candidate;
    }
  };
  // Segments of 16 bytes, larger ones, or as small as the reads; moved by the number of the row, of pairs of rows, of
  // fours, or of as many as fill all banks. They stay inside a row; or, where lanes write blocks into rows that are
  // apart, inside as many rows as all banks hold.
  int64_t log = llvm::Log2_64(use.rowBytes);
  int64_t skips =
      std::max<int64_t>(2, int64_t(llvm::Log2_64(std::max<int64_t>(1, memory.banks * memory.bankBytes))) - log);
  auto swizzles = [&](int64_t near, int64_t beside, int64_t span, bool again = false) {
    for (int64_t base : {4, 5, 6, 3, 2}) {
      if ((int64_t(1) << base) < (use.matrices ? 16 : readBytes)) // reads stay whole
        continue;
      if (use.placed && base < 4)
        continue;
      for (int64_t bits = 1; bits <= 5 && (int64_t(1) << (base + bits)) <= span; ++bits)
        for (int64_t skip = 0; skip <= skips; ++skip) {
          StagedTile candidate = plain;
          candidate.near = near;
          candidate.beside = beside;
          candidate.swizzleBits = bits;
          candidate.swizzleBase = base;
          candidate.swizzleShift = log + skip - base;
          // Copies that lie one after the other are arranged by which lane of a subgroup reads which segment.
          if (candidate.swizzleShift < bits || (use.placed && int64_t(1) << (base + bits) > use.placed))
            continue;
          if (!again)
            consider(candidate);
          // Rows of one access that are some apart: their numbers' upper bits flip the same bits once more.
          for (int64_t apart = 1; again && apart <= 4; ++apart) {
            candidate.swizzleAgain = candidate.swizzleShift + apart;
            consider(candidate);
          }
        }
    }
  };
  auto paddings = [&](int64_t near, int64_t beside) {
    if (!use.mayPad || use.matrices || use.placed)
      return;
    for (int64_t bytes = std::max(readBytes, use.elementBytes); bytes <= 16; bytes *= 2) {
      StagedTile candidate = plain;
      candidate.near = near;
      candidate.beside = beside;
      candidate.padding = bytes / use.elementBytes;
      consider(candidate);
    }
  };
  swizzles(plain.near, plain.beside, use.rowBytes);
  if (clocks.taken > clocks.least)
    paddings(plain.near, plain.beside);
  int64_t sector =
      std::max<int64_t>(1, use.sectorBytes / (use.along * use.elementBytes)); // lanes that fill one of global memory
  auto nearer = [&](int64_t first, int64_t beside, bool again) {
    for (int64_t near = first; use.transposed && clocks.taken > clocks.least && near >= 1; near /= 2) {
      // Fewer lanes along the array only where others of the same access fill its sectors.
      if (use.wholeSectors && near < plain.near && near < sector && use.lanes / beside < sector)
        break;
      int64_t span = std::max(use.rowBytes, memory.banks * memory.bankBytes);
      swizzles(near, beside, again && near == plain.near ? use.rowBytes : span, again);
      if (again)
        continue;
      if (near < plain.near) {
        StagedTile candidate = plain;
        candidate.near = near;
        candidate.beside = beside;
        consider(candidate);
      }
      paddings(near, beside);
    }
  };
  nearer(plain.near, pieces, /*again=*/false);
  // Reads of matrices keep neighbouring rows apart, writes of blocks those that are blocks apart. Last, since the rows
  // of neighbouring fragments may then need addresses of their own.
  nearer(plain.near, pieces, /*again=*/true);
  // A part of a row, then the array again: lanes that share banks' clocks write the one, all lanes fill sectors.
  for (int64_t beside = pieces / 2; beside > 1; beside /= 2)
    nearer(plain.near / 2, beside, /*again=*/false);
  if (!best.swizzleBits)
    best.swizzleBase = 0;
  tile = best;
  return clocks.least ? double(clocks.taken) / clocks.least : 1;
}
