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

/// Runs `body` on a fresh device in every mode of the engines that the kernels use; gives the kinds that were found with the
/// number of modes.
std::map<FindingKind, int> inAllModes(const std::shared_ptr<EmulatedKernels> &kernels,
                                      const std::function<void(Emulator &)> &body,
                                      std::vector<Finding> *findings = nullptr);

/// A kernel of 64 lanes around `body`; %lane, %out, %in (global) and %tile (64 words of scratchpad) are known.
std::string kernel(const std::string &body);
inline constexpr const char *barrierCall = "llvm.call @tilewright.primitive.barrier() : () -> ()\n";
/// Runs the kernel on 64 lanes and two arrays of 64 words, %in holding 0, 1, ...; `blocks` of them.
void runKernel(Emulator &device, unsigned blocks = 1, std::vector<int32_t> *result = nullptr, unsigned cluster = 1);

} // namespace tilewright::test

#endif // TILEWRIGHT_TEST_UNIT_EMULATORFIXTURE_H
