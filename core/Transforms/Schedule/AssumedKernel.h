//===- AssumedKernel.h - A kernel as if its sizes were known ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Models ask how long nests take whose sizes are known. Of a kernel with dynamic
/// sizes they look at a copy with assumed ones, and what they choose is done to the
/// kernel itself.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_ASSUMEDKERNEL_H
#define TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_ASSUMEDKERNEL_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

/// A copy of `kernel` whose dynamic sizes all are `assumedRowExtent`; it stands in no module. `originals`: for each
/// loop at its top the one of `kernel`. Null where no loop at the top has a dynamic bound.
mlir::OwningOpRef<mlir::func::FuncOp>
assumeSizes(mlir::func::FuncOp kernel, llvm::DenseMap<mlir::Operation *, mlir::affine::AffineForOp> &originals);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_SCHEDULE_ASSUMEDKERNEL_H
