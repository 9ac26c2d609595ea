//===- AccumulatorMemory.h - Accumulators in a memory of a block -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A memory of a block in which units add up and which lanes read: entries, each a
/// column of accumulators with a word of 32 bits for each row. An address has a row in its high
/// half, an entry in its low one.
///
///   take 64 entries            filled with NaN; nobody may touch what was not taken
///   copy, unit, unit, commit   late engines copy and multiply when nobody else can go on; a unit comes after
///                              the copies before it, but a copy not after the units before it: that is a finding
///   phase of the commit ends   whoever waited for it, and then began its accesses, knows the units
///   read                       gives NaN with a number until the lane waits for its reads
///   free                       of all, before the block ends
///
/// Accesses are in order as in Shadow.h, but only as far as fences carry them: a lane
/// knows of units and reads what it knew when it last began accesses, and others
/// know of its reads from when it ended them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_ACCUMULATORMEMORY_H
#define TILEWRIGHT_CORE_EMULATOR_ACCUMULATORMEMORY_H

#include "core/Emulator/Shadow.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace tilewright {

struct Lane;
struct Cluster;
class UnitRunner;

/// A negative quiet NaN, which stands in a word until what comes there has been awaited; the low bits number an
/// accumulator of registers, or a word that a lane reads.
inline constexpr uint32_t handleBits = 0xffc00000, numberMask = 0x003fffff;

/// The memory of one block. Vectors are by entry, and those of words by row inside.
struct AccumulatorMemory {
  struct Entry {
    uint32_t first = 0, count = 0;           // of the entries that were taken together; 0: nobody has it
    uint32_t agent = 0, stamp = 0, site = 0; // of the last unit or copy that writes it; 0: none
    bool isCopy = false;                     // a copy does
    uint32_t readBy = 0, readAt = 0;         // the last unit that finds scales in it: its agent and stamp; 0: none
  };
  /// The last read of a word: its lane and that lane's clock, `notEnded` before the lane ended its accesses; 0: none.
  struct Read {
    uint32_t lane = 0, clock = 0;
  };
  static constexpr uint32_t notEnded = ~0u;

  uint32_t rows = 0;
  std::vector<Entry> entries;
  std::vector<uint32_t> words;
  std::vector<Read> reads;
};

/// What a lane has read, and what it knows of others' accesses.
struct AccumulatorReads {
  llvm::DenseMap<uint32_t, uint32_t> coming; // words by number: started, not awaited
  uint32_t last = 0;                         // number
  std::vector<uint32_t> started, awaited;    // places of words, in the memory of the block
  Clocks known;                              // when it last began accesses; null: it has not
};

/// All lanes of a subgroup take `count` entries; their address goes to `place`. Or give them back.
void takeAccumulators(Lane &lane, uint32_t site, void *place, uint32_t count);
void freeAccumulators(Lane &lane, uint32_t site, uint32_t address, uint32_t count);
/// One lane: lines of the scratchpad go to entries from `address` on, a word each (EmulationBuilder).
void copyToAccumulators(Lane &lane, uint32_t site, uint32_t address, uint64_t descriptor, uint32_t rows,
                        uint32_t bytes);
/// One lane: an instruction of the site's unit; `frame` as UnitRunner has it, the address as that of C.
void issueAccumulatorUnit(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame);
/// One arrival at the barrier object at `phase` when all that the lane has issued is done.
void commitAccumulatorUnits(Lane &lane, uint32_t site, void *phase);
/// All lanes of a subgroup read a row each of `count` entries.
void readAccumulators(Lane &lane, uint32_t site, uint32_t address, uint32_t count, uint32_t *words);
/// All reads of the lane are done: fills `words` with what they are of.
void awaitAccumulatorReads(Lane &lane, uint32_t *words, uint32_t count);
void fenceAccumulators(Lane &lane, bool begins);
/// Runs what the oldest commit awaits; false: there is none.
bool runAccumulatorUnits(Cluster &cluster);
/// Reports what lanes left behind, and forgets it.
void finishAccumulators(Cluster &cluster);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_ACCUMULATORMEMORY_H
