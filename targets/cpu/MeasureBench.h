//===- MeasureBench.h - Loops compiled and timed -------------- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the measurements share: loops `void f(ptr buffer, i64 count)` that are
/// built in LLVM's IR, compiled for this machine and timed. Clocks are counted by
/// a chain of dependent additions; every time is the best of several runs, so
/// that other work on the machine does not count.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETS_CPU_MEASUREBENCH_H
#define TILEWRIGHT_TARGETS_CPU_MEASUREBENCH_H

#include "targets/cpu/Chips.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace tilewright::cpu {

/// What one iteration of a loop does; `next` receives the accumulators' next values.
using Body = llvm::function_ref<void(llvm::IRBuilder<> &, llvm::Value *buffer, llvm::Value *index,
                                     llvm::SmallVectorImpl<llvm::PHINode *> &accumulators,
                                     llvm::SmallVectorImpl<llvm::Value *> &next)>;
using Loop = void (*)(void *, int64_t);

/// Seconds of one call.
double seconds(Loop loop, void *buffer, int64_t count);

/// Compiles and times loops for one chip.
class Bench {
public:
  static llvm::Expected<std::unique_ptr<Bench>> create(const ChipTable &host);

  /// Compiles a loop whose `accumulators` of `type` start as what lies in the buffer.
  llvm::Expected<Loop> compile(llvm::Type *type, unsigned accumulators, Body body);
  /// Clocks of `count` iterations, the best of nine runs.
  double clocks(Loop loop, void *buffer, int64_t count);

  llvm::LLVMContext &context() { return *ownContext; }
  double hertz = 0;
  void *buffer = nullptr; // huge pages where the system has them
  static constexpr int64_t bufferBytes = int64_t(256) << 20;
  ~Bench();

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::orc::ThreadSafeContext safe;
  llvm::LLVMContext *ownContext = nullptr;
  std::string features;
  std::string cpu;
  int serial = 0;
};

/// LLVM's type of a vector that holds `count` elements.
llvm::Type *vectorType(ElementKind kind, int64_t count, llvm::LLVMContext &context);

//===-- What is measured --------------------------------------------------===//

/// Clocks per issue with `chains` independent accumulators; nullopt if the unit cannot be measured this way.
llvm::Expected<std::optional<double>> unitClocks(Bench &bench, const MatrixUnit &unit, unsigned chains);
/// Clocks of one element-wise instruction on whole registers of f32.
llvm::Expected<double> instructionClocks(Bench &bench, int64_t registerBytes, llvm::StringRef op, unsigned chains);
enum class Stream { Read, Write, StreamingWrite };
/// Bytes per clock of one pass after another over the first `bytes` of the buffer, a power of two.
llvm::Expected<double> streamRate(Bench &bench, int64_t registerBytes, int64_t bytes, Stream kind);
/// The same while every other core reads as much of its own, as a part of the rate alone.
llvm::Expected<double> streamShare(Bench &bench, int64_t registerBytes, int64_t bytes);
/// Traffic of vectors that cross lines in the first `bytes`: what they take over what aligned ones take.
llvm::Expected<double> crossingTraffic(Bench &bench, int64_t registerBytes, int64_t bytes);
/// Clocks of one load that depends on the last, of lines in random order: nearer ones would follow each other within a
/// page, where prefetchers bring them. (The buffer asks for huge pages, so walks of page tables are few.)
llvm::Expected<double> loadLatency(Bench &bench, int64_t bytes, int64_t lineBytes);
/// Clocks of one of many independent loads from (stores to) random lines of the first `bytes`, a power of two: latency
/// over this is the number of misses that are under way at once.
llvm::Expected<double> missClocks(Bench &bench, int64_t bytes, int64_t lineBytes, bool stores);

/// What prefetchers do with rows that are walked together: how many rows they follow, how many lines one miss brings at
/// least where there are more (lines beside and behind it that nobody wants yet), and what rows that they follow get of
/// the rate that prefetches by the program get.
struct Prefetchers {
  double streams, lines, followed;
};
llvm::Expected<Prefetchers> measurePrefetchers(Bench &bench, int64_t bytes, int64_t lineBytes);

/// Translations of pages: how many are kept at no cost, what one of the others costs (clocks), how many of these are
/// kept, what a page walk costs, and how many walks that do not wait for each other are under way at once.
struct Translations {
  double first, translate, all, walk, walks;
};
llvm::Expected<Translations> measureTranslations(Bench &bench, int64_t pageBytes, int64_t lineBytes);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGETS_CPU_MEASUREBENCH_H
