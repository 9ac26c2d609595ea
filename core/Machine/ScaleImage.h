//===- ScaleImage.h - Operands in the memory of accumulators ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit that adds up in a memory of the block may find the scales of its operands there, too. Their layout has a row
/// of the memory for each lane and an entry for each further row of A (column of B); all rows of the memory hold them,
/// `lanes` of them after the other. An entry has a word of 32 bits for each row, so that a word holds the scales of
/// several blocks along k, of which an instruction takes its own:
///
///   entry e, row l      row e * lanes + l of A:  [k 0..31][k 32..63][k 64..95][k 96..127]    f8E8M0FNU, blocks of 32
///
/// An engine brings them from the scratchpad, `access` bytes of each row at a time. What it copies is an image: rows
/// of `access` bytes, lane after lane, entries side by side; further entries in further images.
///
/// A unit may find the index of a sparse A there, too. Its layout has a lane for each row of the memory. The places of
/// a lane lie side by side from the lowest bit of the first word on, and an access has those of several instructions
/// that follow each other along k:
///
///   row l   [k 0..31][k 32..63][k 64..95][k 96..127]    two of four, a word for the 16 kept ones of 32
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_SCALEIMAGE_H
#define TILEWRIGHT_CORE_MACHINE_SCALEIMAGE_H

#include "core/Machine/UnitOperands.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {

/// Whether the unit finds the scales of its operands in the memory that it adds up in.
inline bool findsScalesInBlock(const MatrixUnit &unit) {
  if (!unit.scales || !accumulatesInBlock(unit))
    return false;
  for (const UnitOperand *scale : unit.scales->operands())
    if (scale->residence != Residence::Accumulator)
      return false;
  return true;
}

/// Whether the unit finds the index of its sparse A there.
inline bool findsIndexInBlock(const MatrixUnit &unit) {
  return unit.sparsity && accumulatesInBlock(unit) && unit.sparsity->index.residence == Residence::Accumulator;
}
/// Whether it finds all that it takes beside A, B and C there, and takes something.
inline bool findsBesidesInBlock(const MatrixUnit &unit) {
  return unit.sparsity ? findsIndexInBlock(unit) && !unit.scales : findsScalesInBlock(unit);
}

/// How the scales of one operand of an instruction, or the index, lie in the scratchpad, from where an engine brings
/// them.
struct ScaleImage {
  static constexpr int64_t wordBytes = 4;

  int64_t lanes = 1;        // rows of an image
  int64_t entries = 1;      // that the operand takes, whole accesses
  int64_t access = 1;       // bytes of a row
  int64_t blocksOfWord = 1; // scales along k
  int64_t blocksOfUnit = 1; // of these, those of one instruction
  int64_t elementBytes = 1; // of an array of images
  int64_t numbered = 1; // bytes of what an instruction numbers to say where in a row its own begin: scales, or words
  int64_t depth = 1;    // of the sum, that an image of one word (access) of each row serves

  int64_t entriesOfAccess() const { return access / wordBytes; }
  /// Bytes of an image, and of all images of the operand.
  int64_t accessBytes() const { return access * lanes; }
  int64_t bytes() const { return entries * wordBytes * lanes; }
  int64_t accesses() const { return entries / entriesOfAccess(); }
  /// The byte of the scale of row (column) `free` for block `block` of a word's: integers, or affine expressions.
  template <typename Number, typename Quotient, typename Rest>
  Number place(Number free, Number block, Quotient quotient, Rest rest) const {
    Number entry = quotient(free, lanes), lane = rest(free, lanes);
    return quotient(entry, entriesOfAccess()) * accessBytes() + lane * access +
           rest(entry, entriesOfAccess()) * wordBytes + block * elementBytes;
  }
  int64_t place(int64_t free, int64_t block) const {
    return place(free, block, [](int64_t a, int64_t b) { return a / b; }, [](int64_t a, int64_t b) { return a % b; });
  }
};

/// The engine that brings scales from the scratchpad of a block to `unit`; null: there is none.
inline const CopyEngine *scaleEngine(const MatrixUnit &unit, const MachineGraph &graph) {
  const Memory *from = graph.blockMemory(), *to = graph.named(unit.c.memory);
  if (!from || !to)
    return nullptr;
  for (const MachineEdge *way : graph.ways(*from, *to))
    if (way->way == Way::Engine && way->engine->accessBytes.size() == 1)
      return way->engine;
  return nullptr;
}

/// Words of a row that the index of an instruction takes.
inline int64_t wordsOfIndex(const MatrixUnit &unit) {
  return unit.sparsity->index.layout.numElements() * unit.sparsity->placeBits() / (8 * ScaleImage::wordBytes);
}

/// The image of `operand`, scales or the index of a unit that finds them in a memory of the block, as `engine` copies
/// it.
inline ScaleImage imageOf(const MatrixUnit &unit, const UnitOperand &operand, const CopyEngine &engine) {
  ScaleImage image;
  image.lanes = operand.layout.numLanes();
  image.access = engine.accessBytes.front();
  if (unit.sparsity && &operand == &unit.sparsity->index) {
    image.entries = image.entriesOfAccess();
    image.numbered = ScaleImage::wordBytes;
    image.depth = image.entries / wordsOfIndex(unit) * unit.k;
    return image;
  }
  image.elementBytes = image.numbered = bitWidth(operand.element) / 8;
  image.blocksOfUnit = unit.k / unit.scales->block;
  image.blocksOfWord = ScaleImage::wordBytes / image.elementBytes;
  image.depth = unit.scales->block * image.blocksOfWord;
  image.entries = llvm::alignTo(operand.layout.numElements() / image.blocksOfUnit, image.entriesOfAccess());
  return image;
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_SCALEIMAGE_H
