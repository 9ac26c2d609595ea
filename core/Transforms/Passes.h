//===- Passes.h - passes of the core ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_PASSES_H
#define TILEWRIGHT_CORE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright {

#define GEN_PASS_DECL
#include "core/Transforms/Passes.h.inc"

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_PASSES_H
