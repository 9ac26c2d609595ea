//===- ScratchpadGlobal.h - The scratchpad of a block as a global -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How LaneOps and CallLaneOps give kernels the memory of their block.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_SCRATCHPADGLOBAL_H
#define TILEWRIGHT_CORE_MACHINE_SCRATCHPADGLOBAL_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/LaneOps.h"

namespace tilewright {

/// The address of the global `name` of `bytes` bytes in the scratchpad's address space, which is made where it is not
/// there yet.
inline mlir::Value scratchpadGlobal(mlir::OpBuilder &builder, mlir::Location loc, mlir::ModuleOp module,
                                    llvm::StringRef name, int64_t bytes) {
  namespace LLVM = mlir::LLVM;
  if (!module.lookupSymbol(name)) {
    mlir::OpBuilder top = mlir::OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
                           LLVM::UndefAttr::get(builder.getContext()), /*alignment=*/1024, scratchpadSpace);
  }
  return LLVM::AddressOfOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), scratchpadSpace),
                                   name);
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_SCRATCHPADGLOBAL_H
