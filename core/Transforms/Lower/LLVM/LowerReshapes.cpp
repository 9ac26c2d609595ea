//===- LowerReshapes.cpp - Reshapes with several unknown sizes -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes sizes and strides of memref.expand_shape explicit where one dimension
/// becomes several whose sizes are not known: upstream's expansion of views
/// takes the one unknown size from the others, and aborts on two.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERRESHAPES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// Whether a dimension of the source becomes several of unknown size.
bool hasSeveralUnknown(memref::ExpandShapeOp op) {
  MemRefType type = op.getResultType();
  return llvm::any_of(op.getReassociationIndices(), [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return type.isDynamicDim(dim); }) > 1;
  });
}

/// The product of two sizes, folded where both are constants.
OpFoldResult multiply(OpBuilder &b, Location loc, OpFoldResult x, OpFoldResult y) {
  std::optional<int64_t> a = getConstantIntValue(x), c = getConstantIntValue(y);
  if (a && c)
    return b.getIndexAttr(*a * *c);
  return arith::MulIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, x),
                               getValueOrCreateConstantIndexOp(b, loc, y))
      .getResult();
}

struct LowerReshapes : tilewright::impl::LowerReshapesBase<LowerReshapes> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](memref::ExpandShapeOp op) {
      if (!hasSeveralUnknown(op))
        return;
      rewriter.setInsertionPoint(op);
      Location loc = op.getLoc();
      auto source = memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
      auto [knownStrides, knownOffset] = op.getSrcType().getStridesAndOffset();
      auto mixed = [&](int64_t known, Value value) {
        return ShapedType::isDynamic(known) ? OpFoldResult(value) : OpFoldResult(rewriter.getIndexAttr(known));
      };
      SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(sizes.size());
      for (auto [position, group] : llvm::enumerate(op.getReassociationIndices())) {
        OpFoldResult stride = mixed(knownStrides[position], source.getStrides()[position]);
        for (int64_t dim : llvm::reverse(group)) {
          strides[dim] = stride;
          if (dim != group.front())
            stride = multiply(rewriter, loc, stride, sizes[dim]);
        }
      }
      rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, op.getResultType(), source.getBaseBuffer(),
                                                             mixed(knownOffset, source.getOffset()), sizes, strides);
    });
  }
};

} // namespace
