//===- LaneCopy.h - Copies shared out over the lanes of a block -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.copy into a scratchpad, executed by all threads of a block together:
/// neighbouring threads take neighbouring vectors of the source, so that reads
/// coalesce.
///
///   box 128 x 32 of f16, 128 threads:   vectors of 8 elements, 4 to a row
///   thread t: row t / 4, columns 8 (t mod 4) .. + 7, then rows + 32, + 64, + 96
///
/// Where the chip has an engine, the copy is left to it and awaited by groups;
/// else the elements are loaded at the copy and written at the wait. A copy that
/// transposes loads vectors of the array, transposes blocks of them in the registers of
/// each lane and writes vectors of the scratchpad's rows (CostModel/TurnedCopy.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANECOPY_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANECOPY_H

#include "core/CostModel/Copies/TurnedCopy.h"
#include "core/Transforms/Lower/Lanes/LaneAccess.h"

namespace tilewright {

/// On a tile.copy (unit): of vectors that the end of the array may cut, and which lanes then load in parts,
/// neighbouring lanes take the parts, so that each load fills sectors.
inline constexpr llvm::StringLiteral partsAttr = "parts";

/// On a tile.copy (unit): lanes load no more at a time than the swizzle of the destination keeps together, so that they
/// write the parts of a load side by side.
inline constexpr llvm::StringLiteral narrowAttr = "narrow";

/// A copy whose elements are staged in registers.
struct StagedCopy {
  LaneAccess destination;
  Distribution distribution; // as they are written
  mlir::Value elements;      // as they were loaded
  TurnShape turn;            // blocks that are transposed in between
  mlir::Value works;         // i1: lanes that have elements; null: all
};
/// Turns and writes them.
void storeStaged(const LaneContext &context, const StagedCopy &copy);

/// The blocks of `vector`, across x along elements each, as along x across: the elements of a block lie one after the
/// other, those of a row first. Words of 32 bits are permuted where segments are whole words.
mlir::Value turnBlocks(const LaneContext &context, mlir::Value vector, const TurnShape &turn);

/// What a copy needs of its surroundings.
struct CopyRequest {
  tile::CopyOp op;
  LaneArray source, destination;
  llvm::SmallVector<mlir::Value> sourceOperands, destinationOperands;
  ValidExtents valid;      // one per dimension of the box, then those of bounded dimensions of the source
  mlir::Value thread;      // i32
  mlir::Value firstThread; // i32, of the subgroup; null: the copy is not asynchronous
  int64_t lanes = 1;       // of a subgroup
  int64_t threads = 1;
  bool mayStage = false; // the wait is near: elements may stay in registers until then
};

/// Emits the copy. Result: the elements that the wait has to write, or none if it is done or under way in the engine
/// (`asynchronous` says which); `places` grows by the asynchronous copies (LaneOps::copyPlace). Failure with a
/// diagnostic for a box that cannot be shared out.
mlir::FailureOr<std::optional<StagedCopy>> emitCopy(const LaneContext &context, const CopyRequest &request,
                                                    bool &asynchronous, int64_t &places);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANECOPY_H
