//===- Kernels.h - Kernels compiled for emulation ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the rewriter knows of a kernel and the machine needs: one Site for each op
/// that became a call of the runtime, one entry for each kernel, the units, and
/// the code.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_KERNELS_H
#define TILEWRIGHT_CORE_EMULATOR_KERNELS_H

#include "core/CostModel/Machine/CoreAccess.h"
#include "core/Emulator/KernelCode.h"
#include "core/Emulator/Shadow.h"
#include "core/Emulator/UnitRunner.h"
#include "tilewright/Emulator.h"

namespace tilewright {

/// Where compiled code finds what it needs of a Lane, in bytes.
inline constexpr unsigned laneFactsOffset = 0, laneBlockCountsOffset = 96, laneScratchpadOffset = 104;

/// Bytes that the swizzles of tensor transfers move together.
inline constexpr uint64_t tensorVectorBytes = 16;

/// An op of a kernel that calls the runtime.
struct Site {
  std::string op, location;
  AccessKind kind = AccessKind::Read;
  Space space = Space::Generic;
  uint32_t bytes = 0, align = 1;
  bool asynchronous = false;
  int unit = -1; // number in `units`
};

/// Classes of instructions, in the order of their counters.
inline constexpr const char *instructionClasses[] = {"integer", "float",   "convert",    "memory",
                                                     "control", "special", "synchronise"};
inline constexpr unsigned numInstructionClasses = std::size(instructionClasses);

/// A basic block of compiled code: how many instructions of each class it has.
struct BlockCost {
  uint32_t instructions[numInstructionClasses] = {};
  double cycles = 0; // on a core that executes one after the other
};

struct KernelParameter {
  uint32_t bytes = 8;
  bool inMemory = false; // the kernel takes the address of a block of memory
};

struct KernelEntry {
  std::string name;
  std::vector<KernelParameter> parameters;
  uint64_t staticScratchpadBytes = 0; // where what the launch adds begins
};

/// How fast an engine works, on scratchpad targets.
struct EngineRate {
  double bytesPerClock = 1, latency = 0;
  int64_t burstBytes = 0, queueDepth = 0; // 0: any
  int64_t alignBytes = 1;
};

struct EmulatedKernels::Impl {
  std::shared_ptr<const TargetDescription> chip;
  EmulationTable table;
  std::vector<Site> sites;
  std::vector<BlockCost> blocks;
  std::vector<KernelEntry> kernels;
  std::vector<UnitRunner> units;
  bool dynamicScratchpad = false;                      // the launch adds some
  uint64_t scratchpadLimit = 0;                        // of the chip: scratchpad and accumulator memory
  unsigned scratchpadGranule = 16, globalGranule = 16; // smallest access
  unsigned scratchpadLine = 1, globalLine = 1;         // widest access up to 16 bytes, a power of two
  uint64_t sectorBytes = 1;                            // of global memory
  unsigned engines = 0;
  uint32_t subgroupSize = 1;
  bool timed = false; // lanes are cores: engines have clocks
  EngineRate rates[numEngines];
  EngineRate transposing[numEngines]; // of commands that transpose
  CoreAccess coreAccess;              // of cores, by loads and stores of their own
  const Memory *scratchpad = nullptr, *global = nullptr;
  std::unique_ptr<KernelCode> code;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_KERNELS_H
