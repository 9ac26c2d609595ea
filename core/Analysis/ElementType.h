//===- ElementType.h - MLIR types of element kinds ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H
#define TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {

/// MLIR's type for an element kind of a record; signedness is not part of it.
mlir::Type elementType(ElementKind kind, mlir::MLIRContext *context);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_ELEMENTTYPE_H
