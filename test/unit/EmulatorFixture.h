//===- EmulatorFixture.h - Kernels of the emulator's tests ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A small SIMT chip as a table, and a function that compiles a kernel's text and
/// runs it once in each mode.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TEST_UNIT_EMULATORFIXTURE_H
#define TILEWRIGHT_TEST_UNIT_EMULATORFIXTURE_H

#include "mlir/IR/MLIRContext.h"
#include "tilewright/ChipTable.h"
#include "tilewright/Emulator.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>

namespace tilewright::test {

/// A memory of a chip's table.
Memory memoryOf(const char *name, MemoryKind kind, int64_t bytes, int64_t banks = 0, int64_t bankBytes = 0);
/// Lanes in subgroups of 32, a scratchpad of 32 banks of 4 bytes.
std::shared_ptr<const TargetDescription> simtChip(std::vector<MatrixUnit> units = {});

/// A context with the dialects that kernels use.
mlir::MLIRContext &kernelContext();

/// Compiles a kernel module; a failure is a test failure with its messages.
std::shared_ptr<EmulatedKernels> compileKernels(const std::string &text,
                                                std::shared_ptr<const TargetDescription> chip = simtChip(),
                                                const EmulationTable &table = EmulationTable());
/// The first message of a compilation that must fail.
std::string compileFailure(const std::string &text, const EmulationTable &table = EmulationTable());

/// Runs `body` on a fresh device in every mode of the engines that the kernels use; gives the kinds that were found
/// with the number of modes.
std::map<FindingKind, int> inAllModes(const std::shared_ptr<EmulatedKernels> &kernels,
                                      const std::function<void(Emulator &)> &body,
                                      std::vector<Finding> *findings = nullptr);

/// An array on the device that nobody has written.
void *blank(Emulator &device, size_t bytes);
/// One that holds `values`.
template <typename T> void *upload(Emulator &device, const std::vector<T> &values) {
  std::string error;
  void *memory = blank(device, values.size() * sizeof(T));
  EXPECT_TRUE(device.copyIn(memory, values.data(), values.size() * sizeof(T), error)) << error;
  return memory;
}
/// What an array on the device holds.
template <typename T> std::vector<T> download(Emulator &device, const void *memory, size_t count) {
  std::string error;
  std::vector<T> values(count);
  EXPECT_TRUE(device.copyOut(values.data(), memory, count * sizeof(T), error)) << error;
  return values;
}
/// Launches a kernel whose arguments are these pointers; a failure of the test if it does not run.
void launch(Emulator &device, Launch launch, std::initializer_list<const void *> arguments);

/// `text` without what stands in a line from `begin` on, the one behind `skip` others.
std::string without(std::string text, const std::string &begin, int skip = 0);
/// How often `part` stands in it.
int countOf(const std::string &text, const std::string &part);
inline constexpr const char *primitiveCall = "llvm.call @tilewright.primitive.";

/// A kernel of 64 lanes around `body`; %lane, %out, %in (global) and %tile (64 words of scratchpad) are known.
std::string kernel(const std::string &body);
inline constexpr const char *barrierCall = "llvm.call @tilewright.primitive.barrier() : () -> ()\n";
/// Runs the kernel on 64 lanes and two arrays of 64 words, %in holding 0, 1, ...; `blocks` of them.
void runKernel(Emulator &device, unsigned blocks = 1, std::vector<int32_t> *result = nullptr, unsigned cluster = 1);

} // namespace tilewright::test

#endif // TILEWRIGHT_TEST_UNIT_EMULATORFIXTURE_H
