//===- BuilderParts.h - What the builder's primitives share ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory of one lane for the operands of a call, and the accesses to it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_BUILDERPARTS_H
#define TILEWRIGHT_CORE_EMULATOR_BUILDERPARTS_H

#include "core/Emulator/Rewriter.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace tilewright {

mlir::LLVM::LLVMPointerType plainPointer(mlir::OpBuilder &builder);
/// `pointer` in the address space of all.
mlir::Value plainAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer);
/// A pointer `offset` bytes after `base`.
mlir::Value at(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, int64_t offset);
/// Accesses of the emulation itself, which nobody checks.
mlir::Value loadInternal(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::Value address);
void storeInternal(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value address);
/// Bytes of a value in memory; vectors are dense, whatever their number of elements.
int64_t bytesOf(const mlir::DataLayout &layout, mlir::Type type);
/// Memory of one lane for the operands of a call. All calls of a function share it: each has done with it when it
/// returns, and an unrolled kernel has thousands.
mlir::Value frame(mlir::Operation *op, int64_t bytes);
/// On the allocation of that memory.
inline constexpr llvm::StringLiteral frameAttr = "tilewright.frame";

/// In a method of EmulationBuilder: a call of the runtime, whose first operand is the lane.
#define CALL(name, result, ...)                                                                                        \
  impl.call(builder, loc(), (runtimePrefix + name).str(), result, mlir::ValueRange{impl.lane(op), __VA_ARGS__})

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_BUILDERPARTS_H
