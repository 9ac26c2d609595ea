//===- VectorAccesses.cpp - Vectors of memory, element by element ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One pattern for each op; all of them say where an element is, whether it is there, and what stands for it if not.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/VectorAccesses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

/// One element of an access.
struct Element {
  SmallVector<int64_t> position; // in the vector
  SmallVector<Value> indices;    // in the array
  Value present;                 // i1; null: always
};

/// Writes elements of one access.
class ElementWriter {
public:
  ElementWriter(OpBuilder &b, Location loc, Value memref) : b(b), loc(loc), memref(memref) {}

  Value number(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value plus(Value index, int64_t distance) {
    return distance == 0 ? index : arith::AddIOp::create(b, loc, index, number(distance)).getResult();
  }
  Value both(Value a, Value b2) { return !a ? b2 : !b2 ? a : arith::AndIOp::create(b, loc, a, b2).getResult(); }
  Value at(Value vector, ArrayRef<int64_t> position) { return vector::ExtractOp::create(b, loc, vector, position); }

  /// The element, or `otherwise` where it is absent.
  Value load(const Element &element, Value otherwise) {
    if (!element.present)
      return memref::LoadOp::create(b, loc, memref, element.indices);
    auto branch = scf::IfOp::create(b, loc, TypeRange{otherwise.getType()}, element.present, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, Value(memref::LoadOp::create(b, loc, memref, element.indices)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    return branch.getResult(0);
  }
  void store(const Element &element, Value value) {
    OpBuilder::InsertionGuard guard(b);
    if (element.present)
      b.setInsertionPoint(scf::IfOp::create(b, loc, element.present).thenBlock()->getTerminator());
    memref::StoreOp::create(b, loc, value, memref, element.indices);
  }

  OpBuilder &b;
  Location loc;
  Value memref;
};

/// The positions in a vector, in order.
void forEachPosition(VectorType type, llvm::function_ref<void(SmallVector<int64_t>)> visit) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    visit(delinearize(i, strides));
}

/// A pattern for accesses of one kind.
template <typename Op> struct AccessPattern : OpRewritePattern<Op> {
  AccessPattern(MLIRContext *context, bool all) : OpRewritePattern<Op>(context), all(all) {}

  /// Whether `op` is written with elements: those are numbers, of a known count. `across`: it has an order of its own.
  bool applies(Op op, VectorType vector, Type array, bool across = false) const {
    auto memref = dyn_cast<MemRefType>(array);
    return memref && memref.getElementType().isIntOrIndexOrFloat() && !vector.isScalable() &&
           !isa<vector::MaskOp>(op->getParentOp()) &&
           (all || across || vector.getRank() != 1 || vector.getElementType().isInteger(1));
  }
  /// The same for a transfer.
  bool appliesTo(Op op) const {
    AffineMap map = op.getPermutationMap();
    return applies(op, op.getVectorType(), op.getShapedType(), !map.isMinorIdentity()) &&
           (!op.getMask() || inversePermutation(compressUnusedDims(map)));
  }

  bool all;
};

/// Replaces `op` by a vector of what `element` gives for each position.
void replaceByElements(PatternRewriter &b, Operation *op, VectorType type,
                       llvm::function_ref<Value(ArrayRef<int64_t>)> element) {
  Value result = arith::ConstantOp::create(b, op->getLoc(), b.getZeroAttr(type));
  forEachPosition(type, [&](SmallVector<int64_t> position) {
    result = vector::InsertOp::create(b, op->getLoc(), element(position), result, position);
  });
  b.replaceOp(op, result);
}

/// Element `position` of a transfer: its dimensions are those of the map, of which constants repeat one element.
template <typename Op> Element transferred(ElementWriter &w, Op op, ArrayRef<int64_t> position) {
  Element result{SmallVector<int64_t>(position), SmallVector<Value>(op.getIndices()), {}};
  AffineMap map = op.getPermutationMap();
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    Value &index = result.indices[dim.getPosition()];
    index = w.plus(index, position[d]);
    if (!op.isDimInBounds(d)) {
      Value size = memref::DimOp::create(w.b, w.loc, w.memref, dim.getPosition());
      result.present = w.both(result.present,
                              arith::CmpIOp::create(w.b, w.loc, arith::CmpIPredicate::slt, index, size));
    }
  }
  if (Value mask = op.getMask()) {
    AffineMap order = inversePermutation(compressUnusedDims(map)); // masks have the order of the array
    result.present = w.both(result.present, w.at(mask, order.compose(position)));
  }
  return result;
}

struct TransferRead : AccessPattern<vector::TransferReadOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::TransferReadOp op, PatternRewriter &b) const override {
    if (!appliesTo(op))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    replaceByElements(b, op, op.getVectorType(), [&](ArrayRef<int64_t> position) {
      return w.load(transferred(w, op, position), op.getPadding());
    });
    return success();
  }
};

struct TransferWrite : AccessPattern<vector::TransferWriteOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::TransferWriteOp op, PatternRewriter &b) const override {
    if (!appliesTo(op))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    forEachPosition(op.getVectorType(), [&](SmallVector<int64_t> position) {
      w.store(transferred(w, op, position), w.at(op.getVector(), position));
    });
    b.eraseOp(op);
    return success();
  }
};

/// Element `position` of a vector along the last dimensions of an array.
Element along(ElementWriter &w, ValueRange indices, Value mask, ArrayRef<int64_t> position) {
  Element result{SmallVector<int64_t>(position), SmallVector<Value>(indices), {}};
  for (auto [index, p] : llvm::zip(llvm::reverse(result.indices), llvm::reverse(position)))
    index = w.plus(index, p);
  if (mask)
    result.present = w.at(mask, position);
  return result;
}

struct Load : AccessPattern<vector::LoadOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::LoadOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    replaceByElements(b, op, op.getVectorType(), [&](ArrayRef<int64_t> position) {
      return w.load(along(w, op.getIndices(), {}, position), {});
    });
    return success();
  }
};

struct Store : AccessPattern<vector::StoreOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::StoreOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    forEachPosition(op.getVectorType(), [&](SmallVector<int64_t> position) {
      w.store(along(w, op.getIndices(), {}, position), w.at(op.getValueToStore(), position));
    });
    b.eraseOp(op);
    return success();
  }
};

struct MaskedLoad : AccessPattern<vector::MaskedLoadOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::MaskedLoadOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    replaceByElements(b, op, op.getVectorType(), [&](ArrayRef<int64_t> position) {
      return w.load(along(w, op.getIndices(), op.getMask(), position), w.at(op.getPassThru(), position));
    });
    return success();
  }
};

struct MaskedStore : AccessPattern<vector::MaskedStoreOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::MaskedStoreOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    forEachPosition(op.getVectorType(), [&](SmallVector<int64_t> position) {
      w.store(along(w, op.getIndices(), op.getMask(), position), w.at(op.getValueToStore(), position));
    });
    b.eraseOp(op);
    return success();
  }
};

/// Element `position` of a gather or scatter: that many elements behind the others.
Element gathered(ElementWriter &w, ValueRange offsets, Value distances, Value mask, ArrayRef<int64_t> position) {
  Element result{SmallVector<int64_t>(position), SmallVector<Value>(offsets), w.at(mask, position)};
  Value distance = w.at(distances, position);
  if (!distance.getType().isIndex())
    distance = arith::IndexCastOp::create(w.b, w.loc, w.b.getIndexType(), distance);
  result.indices.back() = arith::AddIOp::create(w.b, w.loc, result.indices.back(), distance);
  return result;
}

struct Gather : AccessPattern<vector::GatherOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::GatherOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getBase().getType()) || op.getOffsets().empty())
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    replaceByElements(b, op, op.getVectorType(), [&](ArrayRef<int64_t> position) {
      return w.load(gathered(w, op.getOffsets(), op.getIndices(), op.getMask(), position),
                    w.at(op.getPassThru(), position));
    });
    return success();
  }
};

struct Scatter : AccessPattern<vector::ScatterOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::ScatterOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getBase().getType()) || op.getOffsets().empty())
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    forEachPosition(op.getVectorType(), [&](SmallVector<int64_t> position) {
      w.store(gathered(w, op.getOffsets(), op.getIndices(), op.getMask(), position),
              w.at(op.getValueToStore(), position));
    });
    b.eraseOp(op);
    return success();
  }
};

/// The elements that a mask lets through lie side by side in the array.
class Packed {
public:
  Packed(ElementWriter &w, ValueRange indices) : w(w), indices(indices) {}
  /// The next element of the vector.
  Element next(Value mask, int64_t i) {
    Element result{{i}, indices, w.at(mask, {i})};
    Value one = arith::ExtUIOp::create(w.b, w.loc, w.b.getI64Type(), result.present);
    one = arith::IndexCastOp::create(w.b, w.loc, w.b.getIndexType(), one);
    indices.back() = arith::AddIOp::create(w.b, w.loc, indices.back(), one);
    return result;
  }

private:
  ElementWriter &w;
  SmallVector<Value> indices;
};

struct ExpandLoad : AccessPattern<vector::ExpandLoadOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::ExpandLoadOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()) || op.getVectorType().getRank() != 1)
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    Packed packed(w, op.getIndices());
    replaceByElements(b, op, op.getVectorType(), [&](ArrayRef<int64_t> position) {
      return w.load(packed.next(op.getMask(), position[0]), w.at(op.getPassThru(), position));
    });
    return success();
  }
};

struct CompressStore : AccessPattern<vector::CompressStoreOp> {
  using AccessPattern::AccessPattern;
  LogicalResult matchAndRewrite(vector::CompressStoreOp op, PatternRewriter &b) const override {
    if (!applies(op, op.getVectorType(), op.getMemRefType()) || op.getVectorType().getRank() != 1)
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    Packed packed(w, op.getIndices());
    forEachPosition(op.getVectorType(), [&](SmallVector<int64_t> position) {
      w.store(packed.next(op.getMask(), position[0]), w.at(op.getValueToStore(), position));
    });
    b.eraseOp(op);
    return success();
  }
};

} // namespace

LogicalResult tilewright::lowerVectorAccesses(func::FuncOp function, bool all) {
  bool any = false;
  function.walk([&](Operation *op) { any |= isa<vector::VectorDialect>(op->getDialect()); });
  if (!any)
    return success();
  MLIRContext *context = function.getContext();
  RewritePatternSet masks(context), accesses(context);
  vector::populateVectorMaskLoweringPatternsForSideEffectingOps(masks);
  accesses.add<TransferRead, TransferWrite, Load, Store, MaskedLoad, MaskedStore, Gather, Scatter, ExpandLoad,
               CompressStore>(context, all);
  return success(succeeded(applyPatternsGreedily(function, std::move(masks))) &&
                 succeeded(applyPatternsGreedily(function, std::move(accesses))));
}
