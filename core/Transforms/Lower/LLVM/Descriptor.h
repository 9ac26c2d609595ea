//===- Descriptor.h - memrefs from pointers and back ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Crossing between memrefs and `!llvm.ptr` before the conversion to the LLVM
/// dialect: the descriptor is built in LLVM's types and cast, and the cast
/// disappears when the memref is converted to the same descriptor.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_DESCRIPTOR_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_DESCRIPTOR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright {

/// The memref of identity layout at `pointer`; `sizes` are its dynamic dimensions, of type index.
mlir::Value memrefFromPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::MemRefType type, mlir::Value pointer,
                              mlir::ValueRange sizes);

/// The address of the first element of a memref of identity layout.
mlir::Value pointerOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_DESCRIPTOR_H
