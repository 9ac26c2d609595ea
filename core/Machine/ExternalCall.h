//===- ExternalCall.h - Calls of functions of the vendor --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A call in the LLVM dialect, and the declaration that it needs; and the names of calls that stand for records until
/// a target's own code, or the emulator's, replaces them.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_EXTERNALCALL_H
#define TILEWRIGHT_CORE_MACHINE_EXTERNALCALL_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// Each is followed by the name of the record.
inline constexpr llvm::StringLiteral unitPrefix = "tilewright.unit.", vectorPrefix = "tilewright.vector.",
                                     registerPrefix = "tilewright.register.", statePrefix = "tilewright.state.",
                                     primitivePrefix = "tilewright.primitive.";

/// `result name(operands)`, null for no result. The function is declared where it is not yet.
mlir::LLVM::CallOp callExternal(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name, mlir::Type result,
                                mlir::ValueRange operands);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_EXTERNALCALL_H
