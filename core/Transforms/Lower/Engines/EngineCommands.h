//===- EngineCommands.h - Commands of copy engines and units ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the commands of one core as calls of primitives (Emulation.h has their
/// operands):
///
///   tile.copy      what TileCopies.h chooses (EngineCopies.cpp): rows that both sides hold contiguously are one
///   copy_2d,
///                  or several where a row is longer than the engine's burst; a tile that changes rows and columns is
///                  one copy_2d_transposed, or a copy_2d of single elements for each row. Where addresses or pitches
///                  are not aligned for the engine the core moves the tile itself: decided at run time, where not known
///                  before. Of a partial tile what exists is moved; the core writes the zeros around it.
///   tile.multiply  one call of the unit after the other; the operand that stays in the unit changes least often
///
/// Each op is one group of its engine, and its token the number of that group.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINECOMMANDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINECOMMANDS_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "tilewright/Cores.h"
#include "llvm/ADT/SmallSet.h"

namespace tilewright {

/// Engines in the words of the primitives: commit_copy, commit_unit, commit_store.
enum class EngineCommand { Copy, Unit, Store };
using EngineSet = llvm::SmallSet<EngineCommand, 3>;

/// "copy", "unit", "store".
llvm::StringRef nameOf(EngineCommand engine);

/// Whether the copy leaves the scratchpad.
bool isStore(tile::CopyOp op);

class EngineWriter {
public:
  /// Counters of the groups that were issued are made at the start of `function`.
  EngineWriter(mlir::func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores);

  /// Commands at the builder's insertion point; the number of their group (i32).
  mlir::FailureOr<mlir::Value> copy(mlir::OpBuilder &builder, tile::CopyOp op);
  mlir::FailureOr<mlir::Value> multiply(mlir::OpBuilder &builder, tile::MultiplyOp op);
  /// Waits until group `number` of `engine` is done.
  void wait(mlir::OpBuilder &builder, mlir::Location loc, EngineCommand engine, mlir::Value number);

  /// A call of the function `name` that is declared if need be; its result, null for none.
  static mlir::Value call(mlir::OpBuilder &builder, mlir::Operation *at, llvm::StringRef name, mlir::Type result,
                          mlir::ValueRange operands);

private:
  mlir::Value commit(mlir::OpBuilder &builder, mlir::Operation *op, EngineCommand engine);
  /// The number of the group that `engine` was last given, 0 if none.
  mlir::Value last(mlir::OpBuilder &builder, mlir::Location loc, EngineCommand engine);

  const TargetDescription &chip;
  const CoreHierarchy &cores;
  mlir::Operation *function;
  mlir::Value issued[3]; // addresses of the counters
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_ENGINECOMMANDS_H
