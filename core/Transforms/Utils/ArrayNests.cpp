//===- ArrayNests.cpp - Loops over arrays, and moved accesses -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops of constant and of dynamic sizes, accesses that move, arrays that go.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/ArrayNests.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

SmallVector<Value> tilewright::elementLoops(OpBuilder &builder, Location loc, ArrayRef<int64_t> sizes,
                                            ArrayRef<Value> extents) {
  SmallVector<Value> numbers;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    Value extent = d < extents.size() ? extents[d] : Value();
    auto loop = extent ? AffineForOp::create(builder, loc, ValueRange(), builder.getConstantAffineMap(0), extent,
                                             builder.getSymbolIdentityMap())
                       : AffineForOp::create(builder, loc, 0, size);
    numbers.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  return numbers;
}

void tilewright::eraseUnused(Value memref) {
  Operation *buffer = memref.getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, tile::AllocOp>(buffer) ||
      !llvm::all_of(buffer->getUsers(), llvm::IsaPred<memref::DeallocOp>))
    return;
  for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
    user->erase();
  buffer->erase();
}

void tilewright::moveAccess(Operation *access, Value memref, AffineMap map, ValueRange operands) {
  SmallVector<Value> all{memref};
  llvm::append_range(all, operands);
  if (auto load = dyn_cast<AffineLoadOp>(access)) {
    load.setMap(map);
  } else {
    auto store = cast<AffineStoreOp>(access);
    all.insert(all.begin(), store.getValueToStore());
    store.setMap(map);
  }
  access->setOperands(all);
}
