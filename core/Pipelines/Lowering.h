//===- Lowering.h - Parts of the stages, for other orders -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sequences of passes that stages consist of, for who runs a program as a pass in the middle of a stage left it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LOWERING_H
#define TILEWRIGHT_CORE_PIPELINES_LOWERING_H

#include "llvm/ADT/SmallVector.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tilewright {

struct LoweringOptions;

/// Stage 5 of functions in two parts: what sees all functions at once, and what looks at one function at a time.
void lowerInterfaces(mlir::OpPassManager &pm, const LoweringOptions &options);
void lowerBodies(mlir::OpPassManager &pm, const LoweringOptions &options);

/// TOSA by upstream's conversions; functions without TOSA stay as they are.
void convertTosa(mlir::OpPassManager &pm);

/// Arithmetic on types without arithmetic of their own (`types`, 8-bit floats) becomes arithmetic on f32; conversions
/// become integer arithmetic, since LLVM would call functions that the system's libraries lack.
void emulateFloats(mlir::OpPassManager &pm, llvm::SmallVector<std::string> types = {"bf16"});
/// The same, with maxima, minima and rounding divisions written out.
void expandArithmetic(mlir::OpPassManager &pm, llvm::SmallVector<std::string> types = {"bf16"});

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LOWERING_H
