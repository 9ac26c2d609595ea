//===- HostForms.cpp - Ops that hosts of launches have steps for ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/HostForms.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

void tilewright::switchToBranches(RewriterBase &b, scf::IndexSwitchOp op) {
  Location loc = op.getLoc();
  size_t count = op.getCases().size();
  if (count == 0) {
    Operation *yield = op.getDefaultBlock().getTerminator();
    b.inlineBlockBefore(&op.getDefaultBlock(), op, {});
    b.replaceOp(op, yield->getOperands());
    b.eraseOp(yield);
    return;
  }
  scf::IfOp outermost;
  for (size_t i = 0; i < count; ++i) {
    Value isCase = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, op.getArg(),
                                         arith::ConstantIndexOp::create(b, loc, op.getCases()[i]));
    auto branch = scf::IfOp::create(b, loc, op.getResultTypes(), isCase, /*addThenBlock=*/false,
                                    /*addElseBlock=*/false);
    if (outermost)
      scf::YieldOp::create(b, loc, branch.getResults());
    else
      outermost = branch;
    b.inlineRegionBefore(op.getCaseRegions()[i], branch.getThenRegion(), branch.getThenRegion().end());
    if (i + 1 < count)
      b.createBlock(&branch.getElseRegion());
    else
      b.inlineRegionBefore(op.getDefaultRegion(), branch.getElseRegion(), branch.getElseRegion().end());
  }
  b.replaceOp(op, outermost);
}

namespace {

struct SwitchToBranches : OpRewritePattern<scf::IndexSwitchOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::IndexSwitchOp op, PatternRewriter &b) const override {
    tilewright::switchToBranches(b, op);
    return success();
  }
};

/// The same memory in another shape, of dynamic sizes.
struct ReshapeToCast : OpRewritePattern<memref::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(memref::ReshapeOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = dyn_cast<MemRefType>(op.getType()), source = dyn_cast<MemRefType>(op.getSource().getType());
    if (!type || !source || !type.getLayout().isIdentity() || !source.getLayout().isIdentity())
      return failure();
    SmallVector<OpFoldResult> sizes(type.getRank()), strides(type.getRank());
    OpFoldResult stride = b.getIndexAttr(1);
    for (int64_t d = type.getRank(); d-- > 0;) {
      strides[d] = stride;
      if (!type.isDynamicDim(d)) {
        sizes[d] = b.getIndexAttr(type.getDimSize(d));
      } else {
        Value at = arith::ConstantIndexOp::create(b, loc, d);
        Value size = memref::LoadOp::create(b, loc, op.getShape(), at);
        if (!size.getType().isIndex())
          size = arith::IndexCastOp::create(b, loc, b.getIndexType(), size);
        sizes[d] = size;
      }
      if (auto known = dyn_cast<Attribute>(stride); known && isa<Attribute>(sizes[d])) {
        stride = b.getIndexAttr(cast<IntegerAttr>(known).getInt() * type.getDimSize(d));
        continue;
      }
      stride = arith::MulIOp::create(b, loc, getValueOrCreateConstantIndexOp(b, loc, stride),
                                     getValueOrCreateConstantIndexOp(b, loc, sizes[d]))
                   .getResult();
    }
    b.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, op.getSource(), b.getIndexAttr(0), sizes, strides);
    return success();
  }
};

/// What is known of a dense array without its descriptor.
struct MetadataToSizes : OpRewritePattern<memref::ExtractStridedMetadataOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(memref::ExtractStridedMetadataOp op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    MemRefType type = op.getSource().getType();
    bool asksStrides =
        llvm::any_of(op.getStrides(), [](Value each) { return !each.use_empty(); }) || !op.getOffset().use_empty();
    if (!op.getBaseBuffer().use_empty() || (asksStrides && !type.getLayout().isIdentity()))
      return failure();
    Value stride = arith::ConstantIndexOp::create(b, loc, 1);
    for (int64_t d = type.getRank(); d-- > 0;) {
      Value size = memref::DimOp::create(b, loc, op.getSource(), d);
      b.replaceAllUsesWith(op.getSizes()[d], size);
      b.replaceAllUsesWith(op.getStrides()[d], stride);
      if (asksStrides)
        stride = arith::MulIOp::create(b, loc, stride, size);
    }
    if (!op.getOffset().use_empty())
      b.replaceAllUsesWith(op.getOffset(), arith::ConstantIndexOp::create(b, loc, 0));
    b.eraseOp(op);
    return success();
  }
};

/// The host divides towards minus infinity. What is not known to be non-negative (a size less one) is divided by a
/// constant c > 1 as that, and in another way where it is negative. With 2^64 = q c + r:
///
///   divsi a, c   (max(a, 0) floordiv c) + (min(a, 0) ceildiv c)
///   divui a, c   of a < 0: a + 2^64 = q c + (a + r), so q + (a + r) floordiv c; each of these sums fits 64 bits
///   rem          what such divisions leave
template <typename Op> struct DivideTowardsMinusInfinity : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    constexpr bool isUnsigned = llvm::is_one_of<Op, arith::DivUIOp, arith::RemUIOp>::value;
    constexpr bool isRemainder = llvm::is_one_of<Op, arith::RemUIOp, arith::RemSIOp>::value;
    Location loc = op.getLoc();
    Value a = op.getLhs(), c = op.getRhs();
    Type type = a.getType();
    IntegerAttr divisor;
    if (!tilewright::isHostType(type) || type.isInteger(1) || tilewright::isHostArithmetic(op) ||
        !matchPattern(c, m_Constant(&divisor)) || !divisor.getValue().sgt(1) ||
        op->template getParentOfType<tilewright::tile::ParallelOp>())
      return failure();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
    };
    auto divide = [&](Value dividend, bool down) -> Value {
      Value quotient = down ? Value(arith::FloorDivSIOp::create(b, loc, dividend, c))
                            : Value(arith::CeilDivSIOp::create(b, loc, dividend, c));
      if (!isRemainder)
        return quotient;
      return arith::SubIOp::create(b, loc, dividend, arith::MulIOp::create(b, loc, quotient, c));
    };
    auto atLeast = [&](int64_t value) -> Value { return arith::MaxSIOp::create(b, loc, a, constant(value)); };
    auto atMost = [&](int64_t value) -> Value { return arith::MinSIOp::create(b, loc, a, constant(value)); };
    Value plain = divide(atLeast(0), true);
    if (!isUnsigned) {
      b.replaceOpWithNewOp<arith::AddIOp>(op, plain, divide(atMost(0), false));
      return success();
    }
    // Hosts evaluate both sides of a selection and their difference, and end the call where it leaves 64 bits.
    auto by = uint64_t(divisor.getInt());
    uint64_t q = ~uint64_t(0) / by, r = ~uint64_t(0) % by + 1; // r may be c
    Value other = divide(arith::AddIOp::create(b, loc, atMost(-1), constant(int64_t(r))), true);
    if (!isRemainder)
      other = arith::AddIOp::create(b, loc, other, constant(int64_t(q)));
    Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, a, constant(0));
    b.replaceOpWithNewOp<arith::SelectOp>(op, negative, other, plain);
    return success();
  }
};

} // namespace

void tilewright::populateHostForms(RewritePatternSet &patterns) {
  patterns.add<SwitchToBranches, ReshapeToCast, MetadataToSizes, DivideTowardsMinusInfinity<arith::DivUIOp>,
               DivideTowardsMinusInfinity<arith::DivSIOp>, DivideTowardsMinusInfinity<arith::RemUIOp>,
               DivideTowardsMinusInfinity<arith::RemSIOp>>(patterns.getContext());
}
