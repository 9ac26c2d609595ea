//===- TileArrangement.cpp - Rows of a tile over banks --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts the clocks of all swizzles and paddings.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/TileArrangement.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace llvm;
using namespace tilewright;

/// Clocks of one access of `width` bytes by lanes at these addresses: a group of lanes takes all banks once, more where
/// two of its words share a bank.
static int64_t bankClocks(ArrayRef<int64_t> addresses, int64_t width, const Memory &memory) {
  int64_t group = std::max<int64_t>(1, memory.banks * memory.bankBytes / width), clocks = 0;
  for (size_t first = 0; first < addresses.size(); first += group) {
    std::map<int64_t, std::set<int64_t>> words;
    for (size_t i = first; i < std::min(addresses.size(), first + group); ++i)
      for (int64_t byte = 0; byte < std::max<int64_t>(width, memory.bankBytes); byte += memory.bankBytes) {
        int64_t word = (addresses[i] + byte) / memory.bankBytes;
        words[word % memory.banks].insert(word);
      }
    int64_t most = 0;
    for (const auto &[bank, distinct] : words)
      most = std::max<int64_t>(most, distinct.size());
    clocks += most;
  }
  return clocks;
}

/// Clocks of the writes of a copy and, twice, of the reads of a fragment.
static int64_t clocksOf(const StagedTile &tile, const TileUse &use, int64_t readBytes, const Memory &memory) {
  int64_t pitch = use.rowBytes + tile.padding * use.elementBytes;
  auto at = [&](int64_t row, int64_t bytes) {
    int64_t offset = row * pitch + bytes;
    return offset ^ ((offset >> tile.swizzleShift) & (((int64_t(1) << tile.swizzleBits) - 1) << tile.swizzleBase));
  };
  SmallVector<int64_t> writes, reads;
  // A write is as wide as its address is aligned for certain, and no wider than the pieces that a swizzle moves.
  int64_t piece = std::min<int64_t>(use.pieceBytes, pitch & -pitch);
  if (tile.swizzleBits)
    piece = std::min(piece, int64_t(1) << tile.swizzleBase);
  for (int64_t lane = 0; lane < use.lanes; ++lane) {
    int64_t row = use.transposed ? lane % use.rows : lane * piece / use.rowBytes;
    int64_t column = use.transposed ? lane / use.rows * use.pieceBytes : lane * piece % use.rowBytes;
    if (row < use.rows && column < use.rowBytes)
      writes.push_back(at(row, column));
  }
  if (use.matrices) {
    for (int64_t row = 0; row < std::min<int64_t>(8, use.rows); ++row)
      reads.push_back(at(row, 0));
  } else {
    for (int64_t lane = 0; lane < use.layout->numLanes(); ++lane) {
      Position p = use.layout->at(lane, 0);
      reads.push_back(use.rowIsLayoutRow ? at(p.row, p.col * use.elementBytes) : at(p.col, p.row * use.elementBytes));
    }
  }
  return 16 / piece * bankClocks(writes, piece, memory) + 2 * bankClocks(reads, use.matrices ? 16 : readBytes, memory);
}

void tilewright::arrangeTile(StagedTile &tile, const TileUse &use, const Memory &memory) {
  int64_t run = contiguousElements(*use.layout, !use.rowIsLayoutRow);
  int64_t readBytes = std::min<int64_t>(16, run * use.elementBytes);
  StagedTile plain;
  plain.kInner = tile.kInner;
  plain.swizzleBase = 4;
  StagedTile best = plain;
  int64_t clocks = clocksOf(plain, use, readBytes, memory);
  auto consider = [&](const StagedTile &candidate) {
    if (int64_t now = clocksOf(candidate, use, readBytes, memory); now < clocks) {
      clocks = now;
      best = candidate;
    }
  };
  // Pieces of 16 bytes, larger ones, or as small as the reads; moved by the number of the row, of pairs of rows, of
  // fours, or of as many as fill all banks.
  int64_t log = Log2_64(use.rowBytes);
  int64_t skips = std::max<int64_t>(2, int64_t(Log2_64(std::max<int64_t>(1, memory.banks * memory.bankBytes))) - log);
  for (int64_t base : {4, 5, 6, 3, 2}) {
    if (base != 4 && (use.matrices || (int64_t(1) << base) < readBytes))
      continue;
    for (int64_t bits = 1; bits <= 5 && (int64_t(1) << (base + bits)) <= use.rowBytes; ++bits)
      for (int64_t skip = 0; skip <= skips; ++skip) {
        StagedTile candidate = plain;
        candidate.swizzleBits = bits;
        candidate.swizzleBase = base;
        candidate.swizzleShift = log + skip - base;
        if (candidate.swizzleShift >= bits)
          consider(candidate);
      }
  }
  if (use.mayPad && !use.matrices)
    for (int64_t bytes = std::max(readBytes, use.elementBytes); bytes <= 16; bytes *= 2) {
      StagedTile candidate = plain;
      candidate.padding = bytes / use.elementBytes;
      consider(candidate);
    }
  if (!best.swizzleBits)
    best.swizzleBase = 0;
  tile = best;
}
