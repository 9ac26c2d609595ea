//===- Kernels.h - Micro-benchmarks of a core with engines ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels for one core of a scratchpad target, as the code generator leaves them after stage 5: straight-line code of
/// commands of engines, instructions of units, loads and stores. Two kernels that differ in one number give a slope, in
/// which all that they share is gone:
///
///   clocks of 24 copies of 4 rows - clocks of 8 copies of 4 rows = 16 x (latency + 4 x beats of a row)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CALIBRATE_KERNELS_H
#define TILEWRIGHT_CORE_CALIBRATE_KERNELS_H

#include "tilewright/Cores.h"

namespace tilewright::calibrate {

/// Collects kernels of one module in the LLVM dialect. Each takes the address of `arrayBytes` of global memory.
class KernelWriter {
public:
  explicit KernelWriter(const CoreHierarchy &cores) : cores(cores) {}
  static constexpr int64_t arrayBytes = 1 << 20;

  /// Starts a kernel; what is added next belongs to it. Names are unique.
  void begin(llvm::StringRef name);
  /// A command that moves `rows` of `rowBytes` without gaps; `in`: towards the scratchpad.
  void copy(bool in, int64_t rows, int64_t rowBytes);
  /// Ends a group of copies in, copies out or units, and waits for all of them.
  enum class Engine { In, Out, Unit };
  void await(Engine engine);
  /// A load or store of `bytes` (1 to a register) in global memory or the scratchpad.
  void access(bool isLoad, bool inGlobal, int64_t bytes);
  /// Elements of the scratchpad by addresses in a vector.
  void gather(int64_t elements, int64_t elementBytes);
  /// An instruction on A at row pitch `pitchA`, B at `pitchB`, one of two tiles of B by `tile`.
  void multiply(const MatrixUnit &unit, int64_t pitchA, int64_t pitchB, int64_t tile);

  /// The module with all kernels.
  std::string module() const;
  const std::vector<std::string> &kernels() const { return names; }

private:
  std::string constant(int64_t value, int bits);
  std::string address(llvm::StringRef base, int64_t offset, int space);
  std::string fresh() { return "%v" + std::to_string(number++); }

  const CoreHierarchy &cores;
  std::vector<std::string> names;
  std::string text, units; // kernels; declarations of units
  std::vector<std::string> declared;
  int64_t number = 0, offset = 0;
};

} // namespace tilewright::calibrate

#endif // TILEWRIGHT_CORE_CALIBRATE_KERNELS_H
