//===- InstructionClass.h - What an op costs a lane -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sorts the ops of a kernel into the classes that the counters show.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_INSTRUCTIONCLASS_H
#define TILEWRIGHT_CORE_EMULATOR_INSTRUCTIONCLASS_H

#include "core/Emulator/Kernels.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// Adds `op` to its block: one instruction for each 32 bits of a vector's lane registers (`vectorBytes` = 0), or for
/// each vector register of `vectorBytes`. Constants, address arithmetic folded into accesses, and moves between values
/// and aggregates are none; matrix units are counted as units.
/// Gathers of cores take what `kernels.coreAccess` says of their elements.
void addInstruction(BlockCost &cost, mlir::Operation *op, int64_t vectorBytes, const EmulatedKernels::Impl &kernels);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_INSTRUCTIONCLASS_H
