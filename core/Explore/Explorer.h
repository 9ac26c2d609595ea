//===- Explorer.h - All designs, planned ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans every program for every design of a sweep, in threads. A thread has a context of its own in which it reads the
/// programs once and runs stages 1 and 2 once, since no pass of these asks for the chip; where a target has passes of
/// its own there, they run again for each design. Each design then takes a copy through stage 3.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_EXPLORER_H
#define TILEWRIGHT_CORE_EXPLORE_EXPLORER_H

#include "core/Explore/Estimate.h"
#include "core/Explore/Sweep.h"
#include "tilewright/Compiler.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::explore {

struct ExploreOptions {
  std::vector<std::string> programs; // files
  std::string fp = "default";
  bool checkIndices = false;
  int64_t threads = 1; // of parallel loops
  unsigned jobs = 1;
};

/// One design with what each program takes on it.
struct Outcome {
  Design design;
  std::vector<Estimate> programs; // in their order; empty where the design is refused
  bool isOnFront = false;         // no other design is as good in time and all costs, and better in one

  /// Of all programs, one call each; nullopt where one of them has no estimate.
  std::optional<double> seconds() const;
  /// Why it has none; empty: it has.
  std::string refusal() const;
  /// Of all seconds, those in which a matrix unit is busy.
  double utilisation() const;
  /// Seconds in which each part binds, of all programs.
  std::map<std::string, double> binds() const;
};

struct Exploration {
  Sweep sweep;
  ExploreOptions options;
  std::vector<Outcome> outcomes; // by number of the design
  double elapsed = 0;            // seconds

  std::vector<const Outcome *> front() const; // the fastest first
};

/// Plans all. `done` is called from any thread after each design. Error: a sweep that names what does not exist, or a
/// program that cannot be read, or has dynamic sizes, whose time depends on the call.
llvm::Expected<Exploration> explore(const Sweep &sweep, const ExploreOptions &options,
                                    llvm::function_ref<void(size_t finished, size_t all)> done = {});

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_EXPLORER_H
