//===- TileAndFuse.cpp - Scheduled nests become tiles ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Applies the schedule of each operation that has one.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "core/Transforms/Tile/TileNests.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {
#define GEN_PASS_DEF_TILEANDFUSE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct TileAndFuse : tilewright::impl::TileAndFuseBase<TileAndFuse> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    SmallVector<Operation *> scheduled;
    for (Operation &op : function.front())
      if (op.hasAttr(tile::scheduleAttr))
        scheduled.push_back(&op);
    for (Operation *op : scheduled) {
      Location loc = op->getLoc();
      TileRefusal refusal;
      if (failed(tileNests(op, refusal))) {
        emitError(loc) << refusal.reason;
        return signalPassFailure();
      }
    }
  }
};
} // namespace
