//===- FuseElementwise.cpp - Element-wise fusion on tensors ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's element-wise fusion under our control function: nothing is
/// computed twice, and contractions keep their form.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tilewright {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// A body larger than this gains no more from fusion, and its registers would spill.
constexpr size_t kMaxBodyOps = 64;
/// Operations of a body without inputs that each user computes again.
constexpr size_t kMostIndexOps = 12;

/// The argument of the body that `value` is, seen through casts; null if it is computed.
BlockArgument argumentBehindCasts(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncFOp, arith::TruncIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// Whether `op` sums the products of two different operands over a reduction loop (contractions, convolutions).
bool isSumOfProducts(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
    return false;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *add = yielded.getDefiningOp();
  if (!add || !isa<arith::AddFOp, arith::AddIOp, arith::OrIOp>(add))
    return false;
  BlockArgument accumulator = op.getRegionOutputArgs()[0];
  for (unsigned side : {0u, 1u}) {
    if (add->getOperand(side) != accumulator)
      continue;
    Value term = add->getOperand(1 - side);
    Operation *multiply = term.getDefiningOp();
    while (multiply && multiply->getNumOperands() == 1)
      multiply = multiply->getOperand(0).getDefiningOp();
    if (!multiply || !isa<arith::MulFOp, arith::MulIOp, arith::AndIOp>(multiply))
      return false;
    BlockArgument a = argumentBehindCasts(multiply->getOperand(0)), b = argumentBehindCasts(multiply->getOperand(1));
    return a && b && a != b;
  }
  return false;
}

/// Whether the body moves and converts values only: transpositions, broadcasts, fills, casts.
bool isDataMovement(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<arith::ConstantOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp,
               arith::TruncFOp, arith::TruncIOp, linalg::IndexOp, arith::IndexCastOp>(inner);
  });
}

/// Whether the body reads memory by computed indices.
bool readsTensors(linalg::GenericOp op) {
  return llvm::any_of(*op.getBody(), [](Operation &inner) { return isa<tensor::ExtractOp>(inner); });
}

/// Whether the elements follow from their indices alone, in a few operations: rather computed again than stored.
bool isOfIndices(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 0 && op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         op.getBody()->getOperations().size() <= kMostIndexOps && !readsTensors(op) &&
         llvm::all_of(op.getRegionOutputArgs(), [](BlockArgument held) { return held.use_empty(); });
}

/// Gives each use of a producer that only moves data a producer of its own, so that it can move into every user.
/// Backwards, so that chains of such producers are copied from their ends.
void duplicateDataMovement(func::FuncOp function) {
  SmallVector<linalg::GenericOp> producers;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op->getNumResults() == 1 && op.getNumReductionLoops() == 0 &&
        (isDataMovement(op) || isOfIndices(op)))
      producers.push_back(op);
  });
  for (linalg::GenericOp producer : llvm::reverse(producers)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : producer->getUses())
      if (auto user = dyn_cast<linalg::GenericOp>(use.getOwner()); user && user.isDpsInput(&use))
        uses.push_back(&use);
    for (OpOperand *use : uses) {
      if (producer->hasOneUse())
        break;
      OpBuilder b(producer);
      use->set(b.clone(*producer)->getResult(0));
    }
  }
}

/// Which dimension of the input each one of the result is, where `op` moves every element of one array to another place
/// by permuting dimensions.
std::optional<SmallVector<unsigned>> permutationOf(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 || op.getNumDpsInputs() != 1 || !isDataMovement(op) ||
      op.hasIndexSemantics() || op.getNumReductionLoops() != 0)
    return std::nullopt;
  AffineMap from = op.getMatchingIndexingMap(op.getDpsInputOperand(0)),
            to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!from.isPermutation() || !to.isPermutation())
    return std::nullopt;
  SmallVector<unsigned> result;
  for (AffineExpr place : to.getResults())
    result.push_back(*from.getResultPosition(place));
  return result;
}

/// Parts of an array whose dimensions a nest permutes are parts of what it permutes, each permuted by a nest of its own
/// that can move into who reads the part:  t(i, j) = x(j, i), t[2, :]  ->  x[:, 2]
void sliceBeforePermuting(func::FuncOp function) {
  SmallVector<tensor::ExtractSliceOp> slices;
  function.walk([&](tensor::ExtractSliceOp slice) { slices.push_back(slice); });
  for (tensor::ExtractSliceOp slice : slices) {
    auto move = slice.getSource().getDefiningOp<linalg::GenericOp>();
    auto of = move ? permutationOf(move) : std::nullopt;
    RankedTensorType type = slice.getResultType();
    if (!of || !type.hasStaticShape())
      continue;
    OpBuilder b(slice);
    const size_t rank = of->size();
    SmallVector<OpFoldResult> offsets(rank), sizes(rank), strides(rank);
    const llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<int64_t> shape(rank, ShapedType::kDynamic); // of the part, in the order of the input
    SmallVector<AffineExpr> places(rank);                   // in it, by loops of the part
    for (unsigned r = 0, loop = 0; r < rank; ++r) {
      const unsigned d = (*of)[r];
      offsets[d] = slice.getMixedOffsets()[r];
      sizes[d] = slice.getMixedSizes()[r];
      strides[d] = slice.getMixedStrides()[r];
      if (dropped.test(r))
        continue;
      shape[d] = type.getDimSize(loop);
      places[d] = b.getAffineDimExpr(loop++);
    }
    llvm::erase(shape, ShapedType::kDynamic);
    llvm::erase(places, AffineExpr());
    auto input = cast<RankedTensorType>(move.getDpsInputs()[0].getType());
    Value part = tensor::ExtractSliceOp::create(b, slice.getLoc(), RankedTensorType::get(shape, input.getElementType()),
                                                move.getDpsInputs()[0], offsets, sizes, strides);
    Value empty = tensor::EmptyOp::create(b, slice.getLoc(), type.getShape(), type.getElementType());
    const AffineMap maps[] = {AffineMap::get(type.getRank(), 0, places, b.getContext()),
                              b.getMultiDimIdentityMap(type.getRank())};
    SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
    auto own = linalg::GenericOp::create(b, slice.getLoc(), type, part, empty, maps, loops);
    IRMapping none;
    move.getRegion().cloneInto(&own.getRegion(), none);
    slice.getResult().replaceAllUsesWith(own->getResult(0));
    slice.erase();
  }
}

/// Views of what follows from indices follow from other indices: no reshape keeps it from its users.
LogicalResult reshapeIndices(func::FuncOp function) {
  SmallVector<OpOperand *> views;
  function.walk([&](tensor::ExpandShapeOp view) {
    auto producer = view.getSrc().getDefiningOp<linalg::GenericOp>();
    if (producer && isOfIndices(producer) && !producer->hasOneUse())
      views.push_back(&view.getSrcMutable());
  });
  for (OpOperand *use : views) {
    Operation *producer = use->get().getDefiningOp();
    use->set(OpBuilder(producer).clone(*producer)->getResult(cast<OpResult>(use->get()).getResultNumber()));
  }
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, [](OpOperand *operand) {
    auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
    return producer && isa<tensor::ExpandShapeOp>(operand->getOwner()) && isOfIndices(producer);
  });
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns, function.getContext());
  return applyPatternsGreedily(function, std::move(patterns));
}

/// Whether `operand` is another shape of what a nest computes, which its owner, a map over the same elements, could
/// take as it is: y(i, j) behind x(b, t, j) = y(b t, j).
bool isViewForMap(OpOperand *operand) {
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  auto view = operand->get().getDefiningOp<tensor::ExpandShapeOp>();
  if (!consumer || !view || !view->hasOneUse() || !consumer.hasPureTensorSemantics() ||
      consumer.getNumReductionLoops() != 0 || consumer.hasIndexSemantics() || readsTensors(consumer))
    return false;
  auto producer = view.getSrc().getDefiningOp<linalg::LinalgOp>();
  auto isStatic = [](Type type) { return cast<ShapedType>(type).hasStaticShape(); };
  return producer && producer->hasOneUse() && consumer.getMatchingIndexingMap(operand).isIdentity() &&
         llvm::all_of(consumer->getOperandTypes(), [&](Type type) { return !isa<ShapedType>(type) || isStatic(type); });
}

/// Maps over the elements of what a nest computes take its shape, so that both can be one.
LogicalResult collapseMaps(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByCollapsingPatterns(patterns, isViewForMap);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  return applyPatternsGreedily(function, std::move(patterns));
}

/// The control function: whether the producer of `operand` moves into its owner.
bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock())
    return false;
  if (!producer->hasOneUse() || readsTensors(producer) || readsTensors(consumer))
    return false;
  if (producer.getBody()->getOperations().size() + consumer.getBody()->getOperations().size() > kMaxBodyOps)
    return false;
  bool cheap = isDataMovement(producer) || isOfIndices(producer);
  if (isSumOfProducts(consumer)) {
    // A narrowing cast or an index would hide the product's operands; widening casts and views do not.
    return cheap &&
           llvm::all_of(producer.getBody()->without_terminator(),
                        [](Operation &inner) { return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(inner); }) &&
           producer.getNumDpsInputs() == 1 && isa<RankedTensorType>(producer.getDpsInputs()[0].getType());
  }
  if (cheap)
    return true;
  // Arithmetic: only where it runs once per element, and nobody else needs the value.
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  return producer->getNumResults() == 1 && map.isPermutation();
}

struct FuseElementwise : tilewright::impl::FuseElementwiseBase<FuseElementwise> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    if (failed(reshapeIndices(getOperation())) || failed(collapseMaps(getOperation())))
      return signalPassFailure();
    sliceBeforePermuting(getOperation());
    duplicateDataMovement(getOperation());
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    tensor::DimOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().setUseTopDownTraversal(true))))
      signalPassFailure();
  }
};

} // namespace
