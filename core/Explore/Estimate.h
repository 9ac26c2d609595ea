//===- Estimate.h - What a program takes on a chip --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Adds up what the cost models said while stage 3 planned a program:
///
///   program  -- stages 1 and 2, once -->  kernels, and how often each is called
///            -- stage 3, per chip    -->  decisions with seconds, clocks and traffic
///            -- stage 4              -->  launches, whose bytes and issues are counted
///            -- this                 -->  seconds, busy seconds of each part of the chip, bytes by edge
///
/// A part that is busy for most of a kernel's time binds it; where none is, latency does: launches, waits, dependent
/// instructions.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_ESTIMATE_H
#define TILEWRIGHT_CORE_EXPLORE_ESTIMATE_H

#include "mlir/IR/BuiltinOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace tilewright::explore {

/// How often one call of the program calls each of its functions.
llvm::StringMap<double> callsOf(mlir::ModuleOp module);

/// One planned kernel or nest.
struct Piece {
  std::string kernel, location, decision, unit;
  double seconds = 0, runs = 1;        // of one run; runs in one call of the program
  double operations = 0;               // of one run, on `unit` or without one
  std::map<std::string, double> busy;  // seconds of one run, by part of the chip
  std::map<std::string, double> bytes; // of one run, by edge: "hbm read", "shared written"
  std::string binds;
};

/// One program on one chip.
struct Estimate {
  double seconds = 0, operations = 0, unitOperations = 0;
  std::map<std::string, double> units; // busy seconds of each matrix unit
  std::map<std::string, double> bytes; // by edge
  std::map<std::string, double> binds; // seconds in which each part binds
  std::vector<Piece> pieces;
  std::vector<std::string> unknown; // locations of loops whose number of iterations is not known: counted once
  std::string refusal;              // why there is none

  /// Of all seconds, those in which a matrix unit is busy.
  double utilisation() const;
  /// Bytes of the edges to and from the backing memory of `chip`.
  double backingBytes(const TargetDescription &chip) const;
};

/// The part that binds longest, of the seconds in which each does.
std::string bindsMost(const std::map<std::string, double> &binds);

/// From the decisions of stage 3 and the program after stage 4, whose launches are counted, or after stage 3, where an
/// array counts once. `calls` are those after stage 2.
Estimate estimate(const llvm::json::Array &decisions, mlir::ModuleOp program, const llvm::StringMap<double> &calls,
                  const TargetDescription &chip);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_ESTIMATE_H
