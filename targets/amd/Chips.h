//===- Chips.h - What the files of this target share ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of the AMD target that its plugin puts together.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETS_AMD_CHIPS_H
#define TILEWRIGHT_TARGETS_AMD_CHIPS_H

#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

namespace tilewright::amd {

/// Assembly without an instruction: LLVM does not know that its result is its operand.
inline constexpr llvm::StringLiteral heldBase = "; base";
/// LLVM's address space of buffer descriptors.
inline constexpr unsigned resourceSpace = 8;

/// The operations of a lane of `chip` (Lowering.cpp).
std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip);

/// Takes out fences that release, each with the wait for `scratchpadWait` behind it, before barriers that need none:
/// where what a lane has done to LDS since the last one meets nothing that any lane does between it and the next
/// one (Releases.cpp). All lanes of a block come to the same barriers.
void dropIdleReleases(mlir::LLVM::LLVMFuncOp function, uint32_t scratchpadWait);

/// Code of one kind (Device.cpp): hsaco, s.
llvm::Expected<std::string> image(llvm::StringRef kind, llvm::Module &module, CodeGenerator &generator);

/// The ops of a lane as primitives of the emulator (Emulation.cpp).
void emulate(EmulationTable &table);

} // namespace tilewright::amd

#endif // TILEWRIGHT_TARGETS_AMD_CHIPS_H
