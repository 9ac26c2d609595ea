//===- Emulator.h - Kernels executed on the host ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an emulated launch tells: what is wrong with the kernel, and what the
/// memory system and the units would have seen. docs/emulator.md explains how to
/// read both.
///
///   auto kernels = EmulatedKernels::compile(module, chip, table);
///   Emulator emulator(*kernels);
///   emulator.launch(launch, error);
///   for (const Finding &finding : emulator.findings()) ...
///   emulator.counters().front().memories ...
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_EMULATOR_H
#define TILEWRIGHT_EMULATOR_H

#include "tilewright/Device.h"
#include "tilewright/Emulation.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

enum class FindingKind {
  Race,                // two accesses, one a write, in no order
  MissingWait,         // an access that does not wait for an asynchronous engine
  DivergentBarrier,    // lanes that should meet at a barrier do not
  DivergentCollective, // the same for an op of a whole subgroup
  Deadlock,            // all lanes wait
  OutOfBounds,
  Misaligned,
  Uninitialised, // a scratchpad is read before it is written
  Misuse,        // of a barrier object, group or descriptor
  InFlight,      // a block ends while an engine still works for it
  MissingFence   // an engine reads what a lane wrote and did not publish, or an access passes a bare barrier
};
llvm::StringRef findingName(FindingKind kind);

/// One fault, at most once for a pair of ops.
struct Finding {
  FindingKind kind = FindingKind::Race;
  std::string kernel;
  std::string op, location;           // where it showed: "llvm.load", "gemm.mlir:12:10"
  std::string otherOp, otherLocation; // the other side of a race; else empty
  std::string message;                // with lanes, addresses and numbers of the first occurrence
  uint64_t times = 1;
  std::string str() const; // one line
};

/// One order of events that a chip may show.
struct EmulatorMode {
  bool lifo = false;       // the lane that became ready last runs first: one subgroup runs as far ahead as it can
  unsigned late = 0;       // bit Engine: that engine works as late as allowed instead of at once
  std::string str() const; // "fifo, copies early, units late"
};
/// Both orders of lanes times {early, late} of each engine of `engines` (bits).
std::vector<EmulatorMode> allModes(unsigned engines);

/// What one op did, over all its executions.
struct SiteCounters {
  std::string op, location, memory;
  bool writes = false, asynchronous = false;
  uint64_t executions = 0;     // by a subgroup
  uint64_t bytes = 0;          // asked for by the lanes
  uint64_t transactions = 0;   // global: 32-byte sectors, once for each execution
  uint64_t cycles = 0;         // scratchpad: of its banks
  uint64_t conflictCycles = 0; // ... above what the bytes need
};
/// All accesses to one memory.
struct MemoryCounters {
  std::string memory;
  uint64_t reads = 0, writes = 0; // executions by a subgroup
  uint64_t readBytes = 0, writtenBytes = 0;
  uint64_t transactions = 0, cycles = 0, conflictCycles = 0;
};
struct UnitCounters {
  std::string unit;
  uint64_t issues = 0;
  double cycles = 0; // issues times the record's issue cycles
};
/// An engine of a chip whose kernel is one program a core: clocks by the description's rates.
struct EngineCounters {
  std::string engine;
  uint64_t commands = 0, bytes = 0;
  double busyCycles = 0; // summed over blocks
};
struct KernelCounters {
  std::string kernel;
  uint64_t launches = 0, blocks = 0, lanes = 0;
  std::vector<MemoryCounters> memories;
  std::vector<UnitCounters> units;
  std::vector<EngineCounters> engines;
  double cycles = 0;             // of all blocks, by the engines' clocks; 0 where there are none
  double slowestBlockCycles = 0; // of the block of each launch that ends last: how long the launches take
  /// By class: "integer", "float", "convert", "memory", "control", "special", "synchronise": executions by a subgroup.
  std::vector<std::pair<std::string, uint64_t>> instructions;
  std::vector<SiteCounters> sites;
  double seconds = 0; // of the emulation
};
/// A command on an engine, a stretch of the core's own instructions ("core"), or one in which the core waits ("wait"),
/// of a chip whose lanes are cores. Clocks since the first launch; launches follow each other, blocks of one launch run
/// side by side.
struct TraceEvent {
  std::string kernel, engine;
  uint64_t block = 0, lane = 0;
  double begin = 0, cycles = 0;
  uint64_t bytes = 0;
};
/// The events in the trace format that Chrome and Perfetto read: a process for each block, a row for each engine.
llvm::json::Object chromeTrace(llvm::ArrayRef<TraceEvent> events, double clockMHz);
llvm::json::Object toJson(const KernelCounters &counters);
llvm::json::Object toJson(const Finding &finding);

/// The kernels of a module, compiled for emulation.
class EmulatedKernels {
public:
  /// `module`: functions of the LLVM dialect before emission, also inside modules of another dialect. An op that the
  /// table does not know is an error with its location.
  static llvm::Expected<std::shared_ptr<EmulatedKernels>>
  compile(mlir::ModuleOp module, std::shared_ptr<const TargetDescription> chip, const EmulationTable &table);
  ~EmulatedKernels();
  const TargetDescription &chip() const;
  /// Engines that a kernel uses, as bits of Engine.
  unsigned engines() const;

  struct Impl;
  Impl &implementation() const { return *impl; }

private:
  explicit EmulatedKernels(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// The emulator as a device. Kernels run when they are launched, one block (or cluster) after the other.
class Emulator : public Device {
public:
  explicit Emulator(std::shared_ptr<EmulatedKernels> kernels);
  ~Emulator() override;

  std::string describe() const override;
  void *allocate(int64_t bytes, std::string &error) override;
  void release(void *memory) override;
  bool copyIn(void *to, const void *from, int64_t bytes, std::string &error) override;
  bool copyOut(void *to, const void *from, int64_t bytes, std::string &error) override;
  /// True also for a kernel with findings: its results are then not to be trusted. False: the launch itself is
  /// impossible.
  bool launch(const Launch &launch, std::string &error) override;
  bool wait(std::string &error) override { return true; }
  double seconds() const override;

  /// Of all launches since the last `reset`.
  const std::vector<Finding> &findings() const;
  std::vector<KernelCounters> counters() const;
  /// Barriers of whole blocks that these launches of a kernel passed, of all blocks together.
  uint64_t barriers(llvm::StringRef kernel) const;
  void reset();
  /// Counters begin anew, findings stay.
  void resetCounters();

  /// The order of events in the next launches.
  EmulatorMode mode;
  /// Check every access. Without: counters alone, faster, and a wild access is one of this process.
  bool checks = true;
  /// Count accesses and instructions.
  bool counting = true;
  /// Keep the commands of engines, for `trace`; at most two million.
  bool tracing = false;
  const std::vector<TraceEvent> &trace() const;
  /// When the last launch began and when its last block ended, by the engines' clocks since the first launch; both are
  /// 0 where the chip's lanes are threads, which have none.
  std::pair<double, double> launchClocks() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright

#endif // TILEWRIGHT_EMULATOR_H
