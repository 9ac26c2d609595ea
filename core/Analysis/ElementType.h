//===- ElementType.h - MLIR types of element kinds ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H
#define TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// MLIR's type for an element kind of a record; signedness is not part of it.
mlir::Type elementType(ElementKind kind, mlir::MLIRContext *context);

/// Bytes that one element takes in memory: i1 takes 1, index 8.
int64_t elementBytes(mlir::Type type);
inline int64_t elementBytes(ElementKind kind) { return std::max(1u, bitWidth(kind) / 8); }

/// Type of the elements of a memref.
inline mlir::Type elementOf(mlir::Value memref) {
  return mlir::cast<mlir::MemRefType>(memref.getType()).getElementType();
}

/// Whether `type` is one of the 8-bit floats that programs may have. f8E8M0FNU, a power of two that scales, is one of
/// them.
bool isFloat8(mlir::Type type);
/// Their names.
inline constexpr const char *float8Types[] = {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E8M0FNU"};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H
