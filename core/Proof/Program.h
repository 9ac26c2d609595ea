//===- Program.h - What a program touches, and when -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program after stage 4, read into arrays, accesses and waits. An access is an
/// operation with all of its iterations:
///
///   affine.for %i = 0 to 8 {                      time: [clock of the loop, i, clock of the store]
///     tile.store %v, %C[%i, 0] elements (r, c)    index: (i + r, c), 0 <= r < 1, 0 <= c < 16
///       valid(1, %n)                              conditions: c < n
///
/// Calls of functions are followed, each with its own variables. Launches are those of
/// the manifest that the runtime executes (core/Transforms/Host/LaunchManifest.h).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_PROGRAM_H
#define TILEWRIGHT_CORE_PROOF_PROGRAM_H

#include "core/Proof/Space.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace tilewright::proof {

/// Memory that accesses name by indices.
struct Array {
  std::string name; // "argument 2", "buffer of line 7"
  mlir::Location location;
  llvm::SmallVector<Linear> shape;
  bool isResult = false; // the program has to write all of it
  size_t depth = 0;      // steps of time around it: each iteration of these has its own
  mlir::Type element;
  bool isRowMajor = true; // rows lie next to each other, in the order of the indices
};

/// One part of a time: the operations of a block by their clock, then the iterations of the loop that stands there.
struct Step {
  int64_t clock = 0;
  std::optional<Linear> iteration; // missing: the operation itself
  bool isParallel = false;
  Variable first = 0;      // of the variables of this loop
  unsigned group = 0;      // iterations of one parallel operation have one group
  llvm::StringRef level{}; // of a parallel operation
  mlir::Operation *op = nullptr;
  Linear lower; // the first iteration
};

struct Access {
  mlir::Operation *op = nullptr;
  unsigned array = 0;
  bool isWrite = false;
  llvm::SmallVector<Linear> index; // one for each dimension of the array
  Conditions conditions;
  /// False where it may touch less than `conditions` say: what it reads is found, but it does not count as written.
  bool isExact = true;
  std::vector<Step> time;
  /// The token that is waited for, of asynchronous ones.
  mlir::Value token;
  llvm::StringRef what; // "reads", "writes"
};

/// A wait with its time.
struct Wait {
  mlir::Operation *op = nullptr;
  std::vector<Step> time;
};

/// A condition that chooses one of two tokens: of a branch that yields them, or of a selection.
struct Choice {
  mlir::Operation *op = nullptr;
  std::vector<Step> time; // the loops around it
  Truth condition;
};

/// Something that the checker does not understand, so that nothing about it is proved.
struct Gap {
  mlir::Location location;
  std::string reason;
};

/// A whole program. It lives as long as its module.
class Program {
public:
  Program() = default;
  Program(const Program &) = delete;

  /// Reads the public functions of `module`.
  void read(mlir::ModuleOp module);

  Space space;
  std::vector<Array> arrays;
  std::vector<Access> accesses;
  std::vector<Wait> waits;
  /// Each loop, as the last step of a time.
  std::vector<std::vector<Step>> loops;
  std::vector<Choice> choices;
  std::vector<Gap> gaps;
  /// What holds for all runs: sizes that the entry compares.
  Conditions facts;
  std::string name;
};

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_PROGRAM_H
