//===- Sweep.h - Which designs are looked at --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Axes of a sweep, and the designs that they span. Fields are named as in ChipFields.h:
///
///   memory.scratchpad.bytes=256K:4M:x2     256K, 512K, 1M, 2M, 4M
///   levels.core.count=2:8:+2               2, 4, 6, 8
///   units.systolic_*.issue=16,32           two values, of all units of such a name
///   levels.core.count+copies.Dma.bytesPerClock=4,8   two fields that take the same value
///
/// Design 0 is the chip as it is; the others are all combinations, the last axis the fastest. Fields that depend on
/// others follow: `--set units.u.issue=units.u.m/2` is computed for each design.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_SWEEP_H
#define TILEWRIGHT_CORE_EXPLORE_SWEEP_H

#include "core/Machine/ChipFields.h"

namespace tilewright::explore {

struct Axis {
  std::vector<std::string> paths; // all take the value
  std::vector<double> values;

  /// "a + b".
  std::string name() const;
};

/// Reads "PATH[+PATH..]=VALUES" of `--vary`.
llvm::Expected<Axis> parseAxis(llvm::StringRef option);

/// The value of an expression over fields of a chip: numbers with K, M and G, paths, + - * / and parentheses.
llvm::Expected<double> evaluate(llvm::StringRef expression, const ChipTable &chip);

/// One chip of a sweep.
struct Design {
  size_t number = 0;
  std::vector<double> values; // one an axis; empty: the chip as it is
  std::string target;         // "acme:one@clockMHz=900", as `--target` takes it
  std::vector<double> costs;  // one an expression of the sweep
  std::string refusal;        // why it is no chip; empty: it is one
};

struct Sweep {
  std::string target; // "acme:one"
  std::vector<Axis> axes;
  std::vector<std::pair<std::string, std::string>> derived; // path, expression
  std::vector<std::string> costs;                           // expressions

  /// How many designs there are, the chip as it is among them.
  size_t size() const;
  /// All designs. An error where a field, an expression or the target is none; a design that breaks a rule of the
  /// records has a refusal.
  llvm::Expected<std::vector<Design>> designs() const;
};

/// A number as an option writes it, without loss: "524288", "1.5".
std::string text(double value);
/// The same, shorter where it is a multiple of 1024: "512K".
std::string shortText(double value);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_SWEEP_H
