//===- CheckReport.h - What a check of a call has found ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A status says that an index or a size was refused. Which one is left behind by the code that leaves the call, for
/// its caller:
///
///   struct { const char *message; int64_t code, extent; }       null message: nothing to tell
///
/// In this process the caller reads it as the array NAME_failed_check. A library keeps one for each thread, one line
/// into the page before the thread's arena, and has a function that takes it:
///
///   const char *NAME_failure(int64_t found[2])                  found: the code and the extent
///
/// A program without checks that have messages has neither.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_CHECKREPORT_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_CHECKREPORT_H

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace tilewright {

/// Ends of the names of what a caller reads: NAME_failed_check, NAME_failure.
inline constexpr const char *failedCheckSuffix = "_failed_check", *failureSuffix = "_failure";

class CheckReport {
public:
  /// For the program `body`, called `name`. `arena`: the function that returns the thread's arena of a library, to
  /// which `pageBytes` belong before its begin; null: for callers in this process.
  CheckReport(mlir::func::FuncOp body, std::string name, mlir::func::FuncOp arena, int64_t pageBytes);

  /// Whether a check of `body` has a message.
  static bool isNeeded(mlir::func::FuncOp body);

  /// Writes into a fresh page of a thread that there is nothing to tell.
  static void initialise(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value page);

  /// Writes, at `builder`'s place, what `check` has found.
  void write(mlir::OpBuilder &builder, tile::RequireSizeOp check);
  /// Writes that there is nothing to tell.
  void clear(mlir::OpBuilder &builder, mlir::Location loc);

private:
  void makeReport(mlir::func::FuncOp arena);
  void makeTaker(mlir::func::FuncOp arena);
  mlir::Value slotOf(mlir::OpBuilder &builder, mlir::func::FuncOp arena);

  mlir::func::FuncOp body, report;
  std::string name;
  int64_t pageBytes;
  mlir::Location loc;
  mlir::Type pointer, i64;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_CHECKREPORT_H
