//===- ForcedFields.h - Fields of plans that a module forces ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fields of plans by the names that `--explain` prints: `module attributes {tilewright.force = "rows=6,lanes_on=n"}`.
/// Only candidates that agree are considered, by every decision that assumes a plan, so that what the chip or the
/// operands forbid stays forbidden.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_FORCEDFIELDS_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_FORCEDFIELDS_H

#include "mlir/IR/Operation.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The module attribute with the fields that are forced.
inline constexpr llvm::StringLiteral forceAttr = "tilewright.force";

/// Operands as the field `transpose_before` and JSON name them: the sum of these.
inline constexpr int64_t turnsA = 1, turnsB = 2;

using NamedFields = std::vector<std::pair<std::string, int64_t>>;

/// What is forced, by the decision that it is of.
struct ForcedFields {
  NamedFields plans;                 // tiles of contractions, their units and copies
  NamedFields chains;                // how chains of nests are tiled, and their programs: `chain_rows`, ...
  std::optional<bool> fuseProducers; // `fuse_producers`: all legal element-wise producers run while packing, or none
  std::optional<int64_t> turnBefore; // `transpose_before`: operands that a launch turns (TurnOperands.h)
  std::optional<int64_t> splitK;     // `split_k`: blocks that share a sum (SplitModel.h); 1: it stays whole

  /// An error names the field, and what it may be.
  static llvm::Expected<ForcedFields> parse(llvm::StringRef text);
  /// An error names a field of a decision that is not taken for chips like this one.
  llvm::Error checkFor(const TargetDescription &chip) const;
  /// Those of the module of `op`; nothing where the text is wrong, which `map-contractions` tells.
  static ForcedFields of(mlir::Operation *op);
};

/// The value of `field`; nullopt: the model decides.
std::optional<int64_t> forcedValue(llvm::ArrayRef<std::pair<std::string, int64_t>> fields, llvm::StringRef field);

/// Whether no values are forced but these, which a plan has, each under its name.
bool agree(llvm::ArrayRef<std::pair<std::string, int64_t>> fields,
           llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> own);

/// The words that fields print in place of numbers, by number; empty: numbers.
llvm::ArrayRef<llvm::StringLiteral> wordsOf(llvm::StringRef field);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_FORCEDFIELDS_H
