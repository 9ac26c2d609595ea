//===- CopyByteViews.cpp - Kernels on lanes take arrays of their own ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels load vectors and tiles, and take it for granted that arrays begin where
/// memory of the device does. memref.view makes arrays that begin at any byte:
///
///   %v = memref.view %bytes[%shift][%n] : memref<?xi8> to memref<?xf32>
///   call @kernel(%v)
///   ->
///   %own = memref.alloc(%n);  scf.parallel: %own = %v;  call @kernel(%own);  scf.parallel: %v = %own
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {
#define GEN_PASS_DEF_COPYBYTEVIEWS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Whether a kernel only reads its argument.
static bool isRead(BlockArgument argument) {
  return llvm::all_of(argument.getUsers(), llvm::IsaPred<affine::AffineLoadOp, memref::LoadOp, memref::DimOp>);
}

/// All elements of one array, to another of its shape.
static void copy(OpBuilder &b, Location loc, Value from, Value to) {
  int64_t rank = cast<MemRefType>(from.getType()).getRank();
  if (rank == 0) {
    memref::StoreOp::create(b, loc, memref::LoadOp::create(b, loc, from, ValueRange()), to, ValueRange());
    return;
  }
  SmallVector<Value> begin(rank, arith::ConstantIndexOp::create(b, loc, 0)), end,
      step(rank, arith::ConstantIndexOp::create(b, loc, 1));
  for (int64_t d = 0; d < rank; ++d)
    end.push_back(memref::DimOp::create(b, loc, from, d));
  scf::ParallelOp::create(b, loc, begin, end, step, [&](OpBuilder &inside, Location, ValueRange indices) {
    memref::StoreOp::create(inside, loc, memref::LoadOp::create(inside, loc, from, indices), to, indices);
  });
}

namespace {
struct CopyByteViews : tilewright::impl::CopyByteViewsBase<CopyByteViews> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk([&](func::CallOp call) {
      auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (!kernel || !isKernelOrGathers(kernel))
        return;
      for (OpOperand &operand : call->getOpOperands()) {
        Value view = operand.get();
        auto type = dyn_cast<MemRefType>(view.getType());
        if (!type || !isByteView(view))
          continue;
        OpBuilder b(call);
        Location loc = call.getLoc();
        SmallVector<Value> sizes;
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (type.isDynamicDim(d))
            sizes.push_back(memref::DimOp::create(b, loc, view, d));
        Value own = memref::AllocOp::create(b, loc, type, sizes);
        copy(b, loc, view, own);
        operand.set(own);
        b.setInsertionPointAfter(call);
        if (!isRead(kernel.getArgument(operand.getOperandNumber())))
          copy(b, loc, own, view);
      }
    });
  }
};
} // namespace
