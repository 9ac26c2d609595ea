//===- BlockAccumulators.h - Accumulators in a memory of a block -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What lanes of some chips can do beside LaneOps: use units that add up in a
/// memory of the block. The operations of such a target are of both classes:
///
///   class AcmeLaneOps : public LaneOps, public BlockAccumulators { .. };
///
/// Units may find scales of their operands there, too: such operations are of the class BlockScales besides.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_BLOCKACCUMULATORS_H
#define TILEWRIGHT_BLOCKACCUMULATORS_H

#include "tilewright/LaneOps.h"

namespace tilewright {

/// Units that one lane issues, and that add up in a memory of the block: entries are columns of accumulators, with a
/// word of 32 bits for each row. An address (i32) names an entry; address + n is n entries on. Of what the memory holds
/// a lane sees nothing but what it reads into registers:
///
///   take entries | barrier | one lane: units, commit to a barrier object | all: wait for its phase, read, wait | free
///
/// Accesses to the memory, and what units read in the scratchpad, are in order across a barrier, or a barrier object,
/// only between `endAccesses` of those who come to it and `beginAccesses` of those who leave it. A commit needs no
/// `endAccesses`.
class BlockAccumulators {
public:
  virtual ~BlockAccumulators() = default;

  /// All lanes of a subgroup: takes `entries`, a power of two of the memory's banks, and writes their
  /// address to 4 aligned bytes of the scratchpad at `place`.
  virtual void takeAccumulators(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value place,
                                int64_t entries) const = 0;
  /// All lanes of a subgroup give them back: no block may end before.
  virtual void freeAccumulators(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value address,
                                int64_t entries) const = 0;
  /// The barrier object `phase` gets one arrival when all units are done that this lane has issued.
  virtual void commitUnitsTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value phase) const = 0;
  /// Before a barrier, for what this lane has read; and after one, or after a phase, for what comes then.
  virtual void endAccesses(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  virtual void beginAccesses(mlir::OpBuilder &builder, mlir::Location loc) const = 0;
  /// All lanes of a subgroup start to read `count` entries from `address` + `first` on, lane i the row `row` (i32, the
  /// same for all) + i of each: `count` words, undefined before the next `awaitReads`. A subgroup reaches the rows of
  /// its own place in its group only.
  virtual llvm::SmallVector<mlir::Value> readAccumulators(mlir::OpBuilder &builder, mlir::Location loc,
                                                          mlir::Value address, mlir::Value row, int64_t first,
                                                          int64_t count) const = 0;
  /// All reads of this lane are done; gives `words` as they are then.
  virtual llvm::SmallVector<mlir::Value> awaitReads(mlir::OpBuilder &builder, mlir::Location loc,
                                                    mlir::ValueRange words) const = 0;
  /// Stage 6: `unit` on described matrices, into the entries from `address` (i32) on, whose sums it adds to where
  /// `accumulates` (i1). False: no such unit.
  virtual bool emitUnitInto(mlir::OpBuilder &builder, mlir::Location loc, const MatrixUnit &unit, mlir::Value a,
                            bool aKInner, mlir::Value b, bool bKInner, mlir::Value address,
                            mlir::Value accumulates) const = 0;
};

/// Where a unit finds the scales of an operand: the first of their entries (i32), and which scale of a word, from its
/// lowest byte on, is the first that the instruction takes. The instructions whose scales share words follow each other
/// along k. Or where it finds the index of a sparse A: the first entry of what a copy has brought, for instructions
/// that follow each other along k, and which of these entries is the first that the instruction takes.
struct ScalesInBlock {
  mlir::Value address;
  int64_t first = 0;
};

/// Units that find scales of their operands, or the index of a sparse A, beside the accumulators. The lane that issues
/// them copies these there:
///
///   one lane: copies, units, commit to a barrier object, which is told of both
class BlockScales {
public:
  virtual ~BlockScales() = default;

  /// One lane starts to copy `rows` lines of `bytes` bytes of the scratchpad, which `described` (describeTile)
  /// describes, into the entries from `address` (i32) on, a word each: line l to row l, and to each `rows` rows after
  /// it. In order with the units that the lane issues after it; those before may be under way still. False: no such
  /// copy.
  virtual bool copyScales(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value described, mlir::Value address,
                          int64_t rows, int64_t bytes) const = 0;
  /// Stage 6: BlockAccumulators::emitUnitInto of a unit with `scales`: of A and of B, of those that it takes; or the
  /// one index of a sparse A. False: no such unit.
  virtual bool emitScaledUnitInto(mlir::OpBuilder &builder, mlir::Location loc, const MatrixUnit &unit, mlir::Value a,
                                  bool aKInner, mlir::Value b, bool bKInner, mlir::Value address,
                                  mlir::Value accumulates, llvm::ArrayRef<ScalesInBlock> scales) const = 0;
};

/// Those of `ops`; null: the chip's lanes have no such memory.
inline const BlockAccumulators *blockAccumulators(const LaneOps &ops) {
  return dynamic_cast<const BlockAccumulators *>(&ops);
}
/// Those of `ops`; null: no units find scales there.
inline const BlockScales *blockScales(const LaneOps &ops) { return dynamic_cast<const BlockScales *>(&ops); }

} // namespace tilewright

#endif // TILEWRIGHT_BLOCKACCUMULATORS_H
