//===- VectorAccesses.cpp - Vectors of memory, element by element ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pattern for loads, one for stores; what each op says of where an element is, whether it is there, and what stands
/// for it if not.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/VectorAccesses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tilewright;

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
  SmallVector<Value> next; // indices of the next of elements that lie side by side, whatever the mask leaves out
};

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
      result.present =
          w.both(result.present, arith::CmpIOp::create(w.b, w.loc, arith::CmpIPredicate::slt, index, size));
    }
  }
  if (Value mask = op.getMask()) {
    AffineMap order = inversePermutation(compressUnusedDims(map)); // masks have the order of the array
    result.present = w.both(result.present, w.at(mask, order.compose(position)));
  }
  return result;
}

/// Element `position` of a vector along the last dimensions of an array.
Element along(ElementWriter &w, ValueRange indices, Value mask, ArrayRef<int64_t> position) {
  Element result{SmallVector<int64_t>(position), SmallVector<Value>(indices), {}};
  for (auto [index, p] : llvm::zip(llvm::reverse(result.indices), llvm::reverse(position)))
    index = w.plus(index, p);
  if (mask)
    result.present = w.at(mask, position);
  return result;
}

/// Element `position` of a gather or scatter: that many elements behind the others.
template <typename Op> Element gathered(ElementWriter &w, Op op, ArrayRef<int64_t> position) {
  Element result{SmallVector<int64_t>(position), SmallVector<Value>(op.getOffsets()), w.at(op.getMask(), position)};
  Value distance = w.at(op.getIndices(), position);
  if (!distance.getType().isIndex())
    distance = arith::IndexCastOp::create(w.b, w.loc, w.b.getIndexType(), distance);
  result.indices.back() = arith::AddIOp::create(w.b, w.loc, result.indices.back(), distance);
  return result;
}

/// Element `position` of an access whose present elements lie side by side in the array.
template <typename Op> Element packed(ElementWriter &w, Op op, ArrayRef<int64_t> position) {
  if (w.next.empty())
    w.next = op.getIndices();
  Element result{SmallVector<int64_t>(position), w.next, w.at(op.getMask(), position)};
  Value one = arith::ExtUIOp::create(w.b, w.loc, w.b.getI64Type(), result.present);
  one = arith::IndexCastOp::create(w.b, w.loc, w.b.getIndexType(), one);
  w.next.back() = arith::AddIOp::create(w.b, w.loc, w.next.back(), one);
  return result;
}

template <typename Op>
constexpr bool isTransfer = llvm::is_one_of<Op, vector::TransferReadOp, vector::TransferWriteOp>::value;
template <typename Op> constexpr bool isGathered = llvm::is_one_of<Op, vector::GatherOp, vector::ScatterOp>::value;
template <typename Op>
constexpr bool isPacked = llvm::is_one_of<Op, vector::ExpandLoadOp, vector::CompressStoreOp>::value;
template <typename Op> constexpr bool isWhole = llvm::is_one_of<Op, vector::LoadOp, vector::StoreOp>::value;

/// A pattern for accesses of one kind.
template <typename Op> struct AccessPattern : OpRewritePattern<Op> {
  AccessPattern(MLIRContext *context, bool all) : OpRewritePattern<Op>(context), all(all) {}

  /// Whether `op` is written with elements: those are numbers, of a known count.
  bool applies(Op op) const {
    VectorType vector = op.getVectorType();
    auto memref = dyn_cast<MemRefType>(op.getBase().getType());
    bool across = false; // elements have an order of their own
    if constexpr (isTransfer<Op>) {
      AffineMap map = op.getPermutationMap();
      across = !map.isMinorIdentity();
      if (op.getMask() && !inversePermutation(compressUnusedDims(map)))
        return false;
    }
    if constexpr (isGathered<Op>)
      if (op.getOffsets().empty())
        return false;
    if (isPacked<Op> && vector.getRank() != 1)
      return false;
    return memref && memref.getElementType().isIntOrIndexOrFloat() && !vector.isScalable() &&
           !isa<vector::MaskOp>(op->getParentOp()) &&
           (all || across || vector.getRank() != 1 || vector.getElementType().isInteger(1));
  }
  Element element(ElementWriter &w, Op op, ArrayRef<int64_t> position) const {
    if constexpr (isTransfer<Op>)
      return transferred(w, op, position);
    else if constexpr (isGathered<Op>)
      return gathered(w, op, position);
    else if constexpr (isPacked<Op>)
      return packed(w, op, position);
    else if constexpr (isWhole<Op>)
      return along(w, op.getIndices(), {}, position);
    else
      return along(w, op.getIndices(), op.getMask(), position);
  }

  bool all;
};

/// A vector of what each element is, or of what stands for it.
template <typename Op> struct LoadPattern : AccessPattern<Op> {
  using AccessPattern<Op>::AccessPattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!this->applies(op))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    Value result = arith::ConstantOp::create(b, op.getLoc(), b.getZeroAttr(op.getVectorType()));
    forEachPosition(op.getVectorType(), [&](ArrayRef<int64_t> position) {
      Element element = this->element(w, op, position);
      result = vector::InsertOp::create(b, op.getLoc(), w.load(element, otherwise(w, op, position)), result, position);
    });
    b.replaceOp(op, result);
    return success();
  }

private:
  /// What stands for an element that is absent; null: none is.
  static Value otherwise(ElementWriter &w, Op op, ArrayRef<int64_t> position) {
    if constexpr (isTransfer<Op>)
      return op.getPadding();
    else if constexpr (isWhole<Op>)
      return {};
    else
      return w.at(op.getPassThru(), position);
  }
};

template <typename Op> struct StorePattern : AccessPattern<Op> {
  using AccessPattern<Op>::AccessPattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!this->applies(op))
      return failure();
    ElementWriter w(b, op.getLoc(), op.getBase());
    forEachPosition(op.getVectorType(), [&](ArrayRef<int64_t> position) {
      Element element = this->element(w, op, position);
      w.store(element, w.at(stored(op), position));
    });
    b.eraseOp(op);
    return success();
  }

private:
  static Value stored(Op op) {
    if constexpr (isTransfer<Op>)
      return op.getVector();
    else
      return op.getValueToStore();
  }
};

template <typename... Ops> void addLoads(RewritePatternSet &patterns, bool all) {
  patterns.add<LoadPattern<Ops>...>(patterns.getContext(), all);
}
template <typename... Ops> void addStores(RewritePatternSet &patterns, bool all) {
  patterns.add<StorePattern<Ops>...>(patterns.getContext(), all);
}

} // namespace

void tilewright::forEachPosition(VectorType type, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    visit(delinearize(i, strides));
}

LogicalResult tilewright::lowerVectorAccesses(func::FuncOp function, bool all) {
  bool any = false;
  function.walk([&](Operation *op) { any |= isa<vector::VectorDialect>(op->getDialect()); });
  if (!any)
    return success();
  MLIRContext *context = function.getContext();
  RewritePatternSet masks(context), accesses(context);
  vector::populateVectorMaskLoweringPatternsForSideEffectingOps(masks);
  addLoads<vector::TransferReadOp, vector::LoadOp, vector::MaskedLoadOp, vector::GatherOp, vector::ExpandLoadOp>(
      accesses, all);
  addStores<vector::TransferWriteOp, vector::StoreOp, vector::MaskedStoreOp, vector::ScatterOp,
            vector::CompressStoreOp>(accesses, all);
  return success(succeeded(applyPatternsGreedily(function, std::move(masks))) &&
                 succeeded(applyPatternsGreedily(function, std::move(accesses))));
}
