//===- LowerVectorAccesses.cpp - Accesses of vectors that LLVM lacks ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What programs on vectors have and no instruction does: boxes, columns, booleans in bytes.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/VectorAccesses.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERVECTORACCESSES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

namespace {
struct LowerVectorAccesses : tilewright::impl::LowerVectorAccessesBase<LowerVectorAccesses> {
  void runOnOperation() override {
    if (failed(tilewright::lowerVectorAccesses(getOperation(), /*all=*/false)))
      signalPassFailure();
  }
};
} // namespace
