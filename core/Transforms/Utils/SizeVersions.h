//===- SizeVersions.h - Nests of which one runs -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the tests of sizes that choose among versions of a nest
/// (CostModel/Schedules/SizeVersions.h), and the versions:
///
///   %small = arith.cmpi sle, %m, %c96
///   %version = arith.select %small, %c1, %c0
///   %first = arith.cmpi eq, %version, %c0
///   scf.if %first { version 0 } else { version 1 }
///
/// In the host program each version is a launch, of which one is made.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_SIZEVERSIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_SIZEVERSIONS_H

#include "core/Analysis/Nest.h"
#include "core/CostModel/Schedules/SizeVersions.h"
#include "mlir/IR/Builders.h"

namespace tilewright {

/// At the builder's insertion point; the dimensions of `tests` are loops of `nest`. `emit` writes a version, numbered
/// from 0 to `versions` - 1, at the insertion point that the builder then has.
void emitVersions(mlir::OpBuilder &builder, mlir::Location loc, const Nest &nest, llvm::ArrayRef<SizeTest> tests,
                  unsigned versions, llvm::function_ref<void(unsigned)> emit);

/// Branches at the builder's insertion point: of `count` conditions, each asked for where those before it fail, the
/// number of the first that holds is written by `emit`, and `count` where none does.
void emitBranches(mlir::OpBuilder &builder, mlir::Location loc, unsigned count,
                  llvm::function_ref<mlir::Value(unsigned)> condition, llvm::function_ref<void(unsigned)> emit);

/// Whether sizes are multiples of a tile's, and not 0, in each of `tiles` (loops of `nest`, elements), one at least.
mlir::Value areWhole(mlir::OpBuilder &builder, mlir::Location loc, const Nest &nest,
                     llvm::ArrayRef<std::pair<unsigned, int64_t>> tiles);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_SIZEVERSIONS_H
