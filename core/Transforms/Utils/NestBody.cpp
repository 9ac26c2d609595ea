//===- NestBody.cpp - What a nest computes, written elsewhere -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Clones operation by operation.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestBody.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

void tilewright::cloneBody(OpBuilder &builder, const Nest &nest, IRMapping &mapping,
                           function_ref<bool(Operation *)> without) {
  for (Operation &op : nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(op) && !(without && without(&op)))
      builder.clone(op, mapping);
}

Value tilewright::cloneOf(OpBuilder &builder, Operation *how, ValueRange operands) {
  Operation *own = builder.clone(*how);
  own->setOperands(operands);
  return own->getResult(0);
}
