//===- CallLaneOps.h - Lane operations as calls -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lane operations for a chip that has no dialect: each is a call of a function
/// PREFIX + the name of the emulator's primitive (docs/emulator.md), for a device
/// library or a back end to define, and for `EmulationTable::primitives(PREFIX)`.
///
///   threadId()                        %t = llvm.call @acme.lane_x() : () -> i32
///   barrier()                         llvm.call @acme.barrier()
///   asyncCopy(dst, src, 16, valid)    llvm.call @acme.copy(%dst, %src, %c16, %valid)
///
/// Where the chip has a `LaneInstruction` record, that stands in place of the call. A target derives from it and
/// overrides what its chip does in more than one instruction.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CALLLANEOPS_H
#define TILEWRIGHT_CALLLANEOPS_H

#include "tilewright/LaneOps.h"

namespace tilewright {

class CallLaneOps : public LaneOps {
public:
  /// Copies are asynchronous if `chip` has an engine from a global memory to the block's scratchpad that is awaited by
  /// groups.
  CallLaneOps(const TargetDescription &chip, llvm::StringRef prefix);

  mlir::Value threadId(mlir::OpBuilder &builder, mlir::Location loc) const override;
  mlir::Value blockId(mlir::OpBuilder &builder, mlir::Location loc, unsigned dim) const override;
  void barrier(mlir::OpBuilder &builder, mlir::Location loc) const override;
  bool asyncCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value destination, mlir::Value source,
                 int64_t bytes, mlir::Value valid) const override;
  bool countsGroups() const override { return copies; }
  void commitCopies(mlir::OpBuilder &builder, mlir::Location loc) const override;
  void waitCopies(mlir::OpBuilder &builder, mlir::Location loc, int64_t pending) const override;
  mlir::Value shuffle(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value lane) const override;
  /// A global array of the code itself, in `scratchpadSpace`.
  mlir::Value scratchpad(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                         int64_t bytes) const override;
  /// The attribute `device_kernel`, and LLVM's function attribute "device-kernel-lanes" = lanes of a block.
  void finishLaunch(mlir::LLVM::LLVMFuncOp function, const LaunchShape &shape) const override;

protected:
  /// The chip's record for `name`, else `result PREFIX + name(operands)`; null for no result.
  mlir::Value call(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name, mlir::Type result,
                   mlir::ValueRange operands) const;

private:
  std::string prefix;
  bool copies = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_CALLLANEOPS_H
