//===- TileBufferLowering.cpp - Buffers and copies on the host ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops for tile.alloc, tile.fill, tile.copy and tile.multiply; the vector form of
/// a copy stands in TileCopyVectors.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/TargetDescription.h"

using namespace mlir;
using namespace tilewright;

//===-- Loops and subscripts ----------------------------------------------===//

void tilewright::buildLoops(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> extents,
                            function_ref<void(OpBuilder &, ValueRange)> body) {
  if (extents.empty())
    return body(builder, {});
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> lower(extents.size(), zero), steps(extents.size(), one), upper;
  for (OpFoldResult extent : extents)
    upper.push_back(getValueOrCreateConstantIndexOp(builder, loc, extent));
  scf::buildLoopNest(builder, loc, lower, upper, steps,
                     [&](OpBuilder &inner, Location, ValueRange point) { body(inner, point); });
}

SmallVector<Value> tilewright::subscriptsAt(OpBuilder &builder, Location loc, AffineMap map, ValueRange operands,
                                            AffineMap elements, ValueRange point) {
  // One map for the sum: the dimensions of the point, then those of the access, then its symbols.
  unsigned pointDims = elements.getNumDims();
  AffineMap shifted = map.shiftDims(pointDims);
  SmallVector<AffineExpr> results;
  for (auto [base, offset] : llvm::zip(shifted.getResults(), elements.getResults()))
    results.push_back(base + offset);
  auto sum = AffineMap::get(pointDims + map.getNumDims(), map.getNumSymbols(), results, map.getContext());
  SmallVector<Value> all(point);
  llvm::append_range(all, operands);
  auto values = affine::expandAffineMap(builder, loc, sum, all);
  return SmallVector<Value>(values->begin(), values->end());
}

Value tilewright::isValidAt(OpBuilder &builder, Location loc, std::optional<AffineMap> valid, ValueRange operands,
                            ValueRange point) {
  if (!valid)
    return {};
  Value inside;
  auto extents = affine::expandAffineMap(builder, loc, *valid, operands);
  for (auto [index, extent] : llvm::zip(point, *extents)) {
    Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index, extent);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, here).getResult() : here;
  }
  return inside;
}

//===-- Buffers -----------------------------------------------------------===//

void tilewright::lowerAlloc(RewriterBase &rewriter, tile::AllocOp op) {
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getMemref().getType());
  Value buffer =
      memref::AllocOp::create(rewriter, loc, type, op.getDynamicSizes(), rewriter.getI64IntegerAttr(64)).getResult();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op->getBlock()->getTerminator());
  memref::DeallocOp::create(rewriter, loc, buffer);
  rewriter.replaceOp(op, buffer);
}

void tilewright::lowerFill(RewriterBase &rewriter, tile::FillOp op) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> extents;
  for (int64_t dim = 0; dim < op.getMemRefType().getRank(); ++dim)
    extents.push_back(memref::getMixedSize(rewriter, loc, op.getMemref(), dim));
  buildLoops(rewriter, loc, extents, [&](OpBuilder &at, ValueRange point) {
    memref::StoreOp::create(at, loc, op.getValue(), op.getMemref(), point);
  });
  rewriter.eraseOp(op);
}

Value tilewright::isWithin(OpBuilder &builder, Location loc, Value memref, ValueRange indices,
                           ArrayRef<int64_t> dimensions, Value inside) {
  for (int64_t d : dimensions) { // not negative and below the size: one comparison without sign
    Value size = getValueOrCreateConstantIndexOp(builder, loc, memref::getMixedSize(builder, loc, memref, d));
    Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices[d], size);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, here).getResult() : here;
  }
  return inside;
}

void tilewright::emitCopyAsLoops(OpBuilder &builder, tile::CopyOp op) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> extents = getAsIndexOpFoldResult(builder.getContext(), op.getShape());
  Type element = elementOf(op.getSource());
  buildLoops(builder, loc, extents, [&](OpBuilder &at, ValueRange point) {
    SmallVector<Value> from =
        subscriptsAt(at, loc, op.getSourceMap(), op.getSourceOperands(), op.getSourceElements(), point);
    auto read = [&](OpBuilder &inner) -> Value { return memref::LoadOp::create(inner, loc, op.getSource(), from); };
    Value value, inside = isValidAt(at, loc, op.getValidMap(), op.getValidOperands(), point);
    inside = isWithin(at, loc, op.getSource(), from, op.getBounded(), inside);
    auto write = [&](OpBuilder &inner, Value value) {
      memref::StoreOp::create(inner, loc, value, op.getDestination(),
                              subscriptsAt(inner, loc, op.getDestinationMap(), op.getDestinationOperands(),
                                           op.getDestinationElements(), point));
    };
    if (inside && op.getClipped()) {
      scf::IfOp::create(at, loc, inside, [&](OpBuilder &inner, Location) {
        write(inner, read(inner));
        scf::YieldOp::create(inner, loc);
      });
      return;
    }
    if (inside) {
      auto choice = scf::IfOp::create(
          at, loc, inside, [&](OpBuilder &inner, Location) { scf::YieldOp::create(inner, loc, read(inner)); },
          [&](OpBuilder &inner, Location) {
            Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(element));
            scf::YieldOp::create(inner, loc, zero);
          });
      value = choice.getResult(0);
    } else {
      value = read(at);
    }
    write(at, value);
  });
}

LogicalResult tilewright::emitMultiplyAsLoops(OpBuilder &builder, tile::MultiplyOp op) {
  Location loc = op.getLoc();
  auto target = requireTarget(op); // only the record knows which factors are unsigned
  if (failed(target))
    return failure();
  FailureOr<const MatrixUnit *> named = requireUnit(op, **target, op.getUnit());
  if (failed(named))
    return failure();
  const MatrixUnit *unit = *named;
  Type sum = elementOf(op.getC());
  ArrayRef<int64_t> shape = op.getShape();
  auto number = [&](OpBuilder &at, int64_t value) -> Value { return arith::ConstantIndexOp::create(at, loc, value); };
  auto place = [&](OpBuilder &at, ValueRange base, Value row, Value col) {
    SmallVector<Value> indices(base);
    Value *last = indices.end();
    last[-2] = arith::AddIOp::create(at, loc, last[-2], row);
    last[-1] = arith::AddIOp::create(at, loc, last[-1], col);
    return indices;
  };
  auto widen = [&](OpBuilder &at, Value value, const UnitOperand &operand) -> Value {
    if (value.getType() == sum)
      return value;
    if (isa<FloatType>(sum))
      return arith::ExtFOp::create(at, loc, sum, value);
    return isSigned(operand.element) ? arith::ExtSIOp::create(at, loc, sum, value).getResult()
                                     : arith::ExtUIOp::create(at, loc, sum, value).getResult();
  };
  SmallVector<OpFoldResult> extents = getAsIndexOpFoldResult(builder.getContext(), shape);
  for (auto [extent, valid, all] : llvm::zip(extents, op.getValid(), shape))
    extent = arith::MinSIOp::create(builder, loc, valid, number(builder, all)).getResult();
  Value terms = getValueOrCreateConstantIndexOp(builder, loc, extents.pop_back_val());
  buildLoops(builder, loc, extents, [&](OpBuilder &at, ValueRange point) {
    SmallVector<Value> c = place(at, op.getCIndices(), point[0], point[1]);
    Value zero = arith::ConstantOp::create(at, loc, at.getZeroAttr(sum));
    auto first = scf::IfOp::create(
        at, loc, op.getAccumulate(),
        [&](OpBuilder &inner, Location) {
          scf::YieldOp::create(inner, loc, memref::LoadOp::create(inner, loc, op.getC(), c).getResult());
        },
        [&](OpBuilder &inner, Location) { scf::YieldOp::create(inner, loc, zero); });
    auto loop = scf::ForOp::create(
        at, loc, number(at, 0), terms, number(at, 1), first.getResults(),
        [&](OpBuilder &inner, Location, Value k, ValueRange sums) {
          Value a = memref::LoadOp::create(inner, loc, op.getA(), place(inner, op.getAIndices(), point[0], k));
          Value b = memref::LoadOp::create(inner, loc, op.getB(), place(inner, op.getBIndices(), k, point[1]));
          a = widen(inner, a, unit->a);
          b = widen(inner, b, unit->b);
          Value next;
          if (isa<FloatType>(sum))
            next = arith::AddFOp::create(inner, loc, sums[0], arith::MulFOp::create(inner, loc, a, b).getResult());
          else
            next = arith::AddIOp::create(inner, loc, sums[0], arith::MulIOp::create(inner, loc, a, b).getResult());
          scf::YieldOp::create(inner, loc, next);
        });
    memref::StoreOp::create(at, loc, loop.getResult(0), op.getC(), c);
  });
  return success();
}
