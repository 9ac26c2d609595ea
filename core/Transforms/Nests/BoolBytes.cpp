//===- BoolBytes.cpp - Arrays of bools as arrays of bytes -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites scalar accesses, before they become vectors.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/BoolBytes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;

void tilewright::accessBoolsAsBytes(func::FuncOp kernel) {
  Block &entry = kernel.front();
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.getElementType().isInteger(1) || argument.use_empty() ||
        !llvm::all_of(argument.getUsers(), llvm::IsaPred<AffineLoadOp, AffineStoreOp, memref::DimOp>))
      continue;
    OpBuilder b = OpBuilder::atBlockBegin(&entry);
    Type byte = b.getI8Type();
    Location loc = argument.getLoc();
    Value bytes =
        UnrealizedConversionCastOp::create(b, loc, MemRefType::get(type.getShape(), byte, type.getLayout()), argument)
            .getResult(0);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(byte));
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      b.setInsertionPoint(user);
      if (auto load = dyn_cast<AffineLoadOp>(user)) {
        Value read = AffineLoadOp::create(b, load.getLoc(), bytes, load.getAffineMap(), load.getMapOperands());
        load.getResult().replaceAllUsesWith(
            arith::CmpIOp::create(b, load.getLoc(), arith::CmpIPredicate::ne, read, zero).getResult());
        load.erase();
      } else if (auto store = dyn_cast<AffineStoreOp>(user)) {
        Value written = arith::ExtUIOp::create(b, store.getLoc(), byte, store.getValueToStore());
        AffineStoreOp::create(b, store.getLoc(), written, bytes, store.getAffineMap(), store.getMapOperands());
        store.erase();
      }
    }
  }
}
