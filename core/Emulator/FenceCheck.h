//===- FenceCheck.h - Fences before engines, proved statically --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Engines with a way of their own to a scratchpad (`EmulationTable::fencedEngines`)
/// see what a lane wrote only after its fence. Results on a host are right
/// without it, so that no run shows a missing one for certain:
///
///   llvm.store %v, %tile         unfenced: the lane itself may not start an engine on it
///   acme.barrier                 handed on without a fence: nobody may
///   acme.fence                   fenced late: what others handed on still is not
///   acme.barrier                 fenced, then handed on: engines see it
///   acme.store.tile %tile
///
/// The kernel is one program for all lanes, so that the state of each write along
/// each path of the control flow says what an engine may read.
///
/// Units of a group that work beside the lanes take registers, too
/// (`EmulationTable::fencedRegisters`): what lanes did with them needs a fence
/// before the unit, and so does the first unit of a kernel.
///
///   %0 = llvm.fadd %x, %y        lanes write an accumulator
///   acme.fence.units             without it: an error at the unit, a note here
///   %1 = acme.unit %a, %b, %0
///   %2 = acme.unit %c, %d, %1    in order by itself
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_FENCECHECK_H
#define TILEWRIGHT_CORE_EMULATOR_FENCECHECK_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/Emulation.h"

namespace tilewright {

/// Proves for the kernels of `module` (after stage 5) that each write of a lane to a scratchpad, and each barrier
/// object that it makes, is fenced before engines use the scratchpad, and each access of a lane to registers before a
/// unit of a group takes them. An error at the engine's op, with a note at the write or access, where a path has no
/// fence. What the table tells decides what an op is; where it lacks an op, a remark says that nothing was checked.
llvm::LogicalResult checkEngineFences(mlir::ModuleOp module, std::shared_ptr<const TargetDescription> chip,
                                      const EmulationTable &table);

/// The constant operand `index` of a call.
int64_t constantAt(mlir::LLVM::CallOp call, unsigned index);

struct RewrittenKernels;
/// The second half, for one function of the kernels as the emulator would run them.
llvm::LogicalResult checkRegisterFences(RewrittenKernels &kernels, mlir::LLVM::LLVMFuncOp function);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_FENCECHECK_H
