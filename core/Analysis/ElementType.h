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
/// Whether `type` is a float of 4 or 6 bits: f4E2M1FN, f6E2M3FN or f6E3M2FN. In memory each is the low bits of a byte.
bool isSubByteFloat(mlir::Type type);
/// The type of `type`'s elements in memory: i8 for floats of 4 and 6 bits, else `type`.
mlir::Type storedType(mlir::Type type);
/// The names of both.
inline constexpr const char *float8Types[] = {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E8M0FNU"};
inline constexpr const char *narrowFloatTypes[] = {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN"};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H
