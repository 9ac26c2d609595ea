//===- RereadScalars.cpp - Loads that stay one for each iteration ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An empty assembly statement between the index of a loop and the addresses of its loads.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/RereadScalars.h"

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

/// `index`, an argument of a block, as LLVM cannot follow it.
static Value hide(BlockArgument index) {
  OpBuilder builder = OpBuilder::atBlockBegin(index.getOwner());
  const Location loc = index.getLoc();
  Type word = builder.getI64Type();
  Value number = arith::IndexCastOp::create(builder, loc, word, index);
  auto hidden = LLVM::InlineAsmOp::create(builder, loc, TypeRange(word), ValueRange(number), /*asm_string=*/"",
                                          /*constraints=*/"=r,0", /*has_side_effects=*/false, /*is_align_stack=*/false,
                                          LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), hidden.getResult(0));
}

void tilewright::hideRereadIndices(ModuleOp module) {
  llvm::DenseMap<Value, Value> hidden;
  module.walk([&](tile::LoadOp load) {
    if (!load.getReread())
      return;
    for (OpOperand &operand : load.getMapOperandsMutable()) {
      auto index = dyn_cast<BlockArgument>(operand.get());
      if (!index || index.getOwner() != load->getBlock())
        continue;
      Value &instead = hidden[index];
      if (!instead)
        instead = hide(index);
      operand.set(instead);
    }
  });
}
