//===- Worker.h - Work in a process of its own ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A compiler or program that crashes or never ends is what a bisection looks for. Each attempt is a child process that
/// begins as a copy of this one, answers with numbers and arrays, and shows in shared memory how far it is:
///
///   parent   run(10 s, work) ----------------- waits ------------------> Answer: answered, crashed or timed out
///   child            \-> work() --- marks steps in `progress()` --- message -/
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_WORKER_H
#define TILEWRIGHT_CORE_BISECT_WORKER_H

#include "core/Runtime/Array.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tilewright::bisect {

/// One pass on one function or on the module.
struct Step {
  static constexpr size_t nameBytes = 96;
  uint32_t stage = 0;
  bool changed = false;          // whether the pass changed anything
  char pass[nameBytes] = {};     // "fuse-nests"
  char function[nameBytes] = {}; // empty: the module
};

/// What a child shows while it runs.
struct Progress {
  static constexpr size_t most = 32768;
  enum Phase : uint32_t { Compiling, Finishing, Running } phase = Compiling;
  uint32_t begun = 0, ended = 0; // steps
  Step steps[most];              // those that have begun
};

/// What a child says: numbers and texts, then arrays.
struct Message {
  llvm::json::Object head;
  std::vector<Array> arrays; // one without memory stays so
};

struct Answer {
  enum End { Answered, Crashed, TimedOut } end = Answered;
  int signal = 0;      // that ended it
  Message message;     // if it answered
  std::string printed; // on standard error, diagnostics for instance
};

class Worker {
public:
  /// An error: the system grants no shared memory.
  static llvm::Expected<std::unique_ptr<Worker>> create();
  ~Worker();

  /// Calls `work` in a child, which ends with it. After `seconds` the child and what it started are ended.
  llvm::Expected<Answer> run(double seconds, llvm::function_ref<Message()> work);
  /// Of the child that runs or ran last.
  Progress &progress() { return *shared; }
  /// Called by the child: ends it with this message, from wherever it is.
  [[noreturn]] void answer(const Message &message);
  /// Children so far.
  unsigned runs() const { return count; }
  /// Seconds of the longest one that answered.
  double longest() const { return longestSeconds; }

private:
  explicit Worker(Progress *shared) : shared(shared) {}
  Progress *shared;
  int output = -1; // the child's side
  unsigned count = 0;
  double longestSeconds = 0;
};

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_WORKER_H
