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

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Import/CollapseMaps.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using tilewright::readsTensors;

namespace {

/// A body larger than this gains no more from fusion, and its registers would spill.
constexpr size_t kMaxBodyOps = 64;
/// Operations of a body without inputs that each user computes again, casts of indices not counted: they are computed
/// once for a row.
constexpr size_t kMostIndexOps = 12;
/// Operations of a body that sums over rows compute again rather than read its result.
constexpr size_t kMostRepeatedOps = 12;

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

/// Whether the elements follow from their indices alone, in a few operations: rather computed again than stored.
bool isOfIndices(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 0 && op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::count_if(*op.getBody(),
                        [](Operation &inner) {
                          return !isa<linalg::IndexOp, arith::IndexCastOp, arith::ConstantOp>(inner);
                        }) <= ptrdiff_t(kMostIndexOps) &&
         !readsTensors(op) &&
         llvm::all_of(op.getRegionOutputArgs(), [](BlockArgument held) { return held.use_empty(); });
}

/// Whether the body compares an integer with constants.
bool isComparison(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op->getNumResults() == 1 && op.getNumReductionLoops() == 0 &&
         op.hasPureTensorSemantics() && getElementTypeOrSelf(op->getResult(0)).isInteger(1) &&
         op.getBody()->getOperations().size() <= kMostIndexOps &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::ConstantOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(inner);
         });
}

/// Whether the reduction reads each element of its operands once, and sums along their outermost dimension.
bool sumsRowsOnce(linalg::GenericOp op) {
  return op.getNumReductionLoops() != 0 && op.hasPureTensorSemantics() &&
         llvm::all_of(op.getDpsInputOperands(),
                      [&](OpOperand *input) {
                        AffineMap map = op.getMatchingIndexingMap(input);
                        return map.isIdentity() || (map.isProjectedPermutation(/*allowZeroInResults=*/true) &&
                                                    map.getNumResults() < op.getNumLoops() && op.getNumDpsInputs() > 1);
                      }) &&
         llvm::any_of(op.getDpsInputOperands(),
                      [&](OpOperand *input) { return op.getMatchingIndexingMap(input).isIdentity(); }) &&
         op.getIteratorTypesArray()[0] == utils::IteratorType::reduction && op.getStaticLoopRanges()[0] != 1;
}

/// Whether a sum over rows had rather compute the elements than read them.
bool isCheaplyRepeated(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      op.getBody()->getOperations().size() > kMostRepeatedOps ||
      !op.getIndexingMapMatchingResult(op->getResult(0)).isIdentity())
    return false;
  unsigned bits = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(input).isPermutation())
      bits += getElementTypeOrSelf(input->get()).getIntOrFloatBitWidth();
  return bits <= getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth() &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
                      arith::NegFOp, arith::SelectOp, arith::CmpIOp, arith::CmpFOp>(inner);
         });
}

/// Whether the reduction takes terms by the number of their place (compare-indices writes such sums).
bool sumsChoices(linalg::GenericOp op) {
  return op.getNumReductionLoops() != 0 && op.hasPureTensorSemantics() &&
         llvm::any_of(*op.getBody(), llvm::IsaPred<linalg::IndexOp>);
}

/// Whether all of the result are `most` dimensions of more than one element, computed without a reduction.
bool hasDimensions(linalg::GenericOp op, int64_t most) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
  return type && op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; }) <= most;
}

/// Whether the producer computes an integer for each row: an index, from what is read at the row.
bool isOfRows(linalg::GenericOp op) {
  return hasDimensions(op, 1) && getElementTypeOrSelf(op->getResult(0)).isInteger() &&
         op.getBody()->getOperations().size() <= kMostRepeatedOps && op.getNumDpsInputs() != 0 &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::ConstantOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::AddIOp,
                      arith::SubIOp, arith::SelectOp, arith::MinSIOp, arith::MaxSIOp, arith::ExtSIOp, arith::ExtUIOp,
                      arith::TruncIOp, arith::IndexCastOp>(inner);
         });
}

/// Whether with lanes the user computes what the producer gives rather than read it.
bool isRepeatedBy(linalg::GenericOp user, linalg::GenericOp producer) {
  if (isSumOfProducts(user) && !sumsRowsOnce(user))
    return false;
  return isComparison(producer) || isOfRows(producer) || (hasDimensions(producer, 0) && hasDimensions(user, 1)) ||
         (isCheaplyRepeated(producer) && (sumsRowsOnce(user) || sumsChoices(user)));
}

/// Gives each user of which `takes(user, producer)` holds a producer of its own. Backwards, so that chains are copied
/// from their ends.
void copyForUsers(ArrayRef<linalg::GenericOp> producers,
                  llvm::function_ref<bool(linalg::GenericOp, linalg::GenericOp)> takes) {
  for (linalg::GenericOp producer : llvm::reverse(producers)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : producer->getUses())
      if (auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
          user && user.isDpsInput(&use) && takes(user, producer))
        uses.push_back(&use);
    for (OpOperand *use : uses) {
      if (producer->hasOneUse())
        break;
      OpBuilder b(producer);
      use->set(b.clone(*producer)->getResult(0));
    }
  }
}

/// Whether the user takes one element of each row of what is cheap to compute: then the others need not be stored for
/// it.
bool choosesOf(linalg::GenericOp user, linalg::GenericOp producer) {
  return sumsChoices(user) && !isSumOfProducts(user) && isCheaplyRepeated(producer);
}

/// Gives each user that rather computes what a producer gives a producer of its own.
void duplicateForSums(func::FuncOp function, bool lanes) {
  SmallVector<linalg::GenericOp> producers;
  function.walk([&](linalg::GenericOp op) {
    if (!readsTensors(op))
      producers.push_back(op);
  });
  copyForUsers(producers, lanes ? isRepeatedBy : choosesOf);
}

/// Whether the operation narrows what is computed for it alone: then that is better computed in its narrow form.
bool endsNarrow(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1)
    return false;
  Value input = op.getDpsInputs()[0];
  auto producer = input.getDefiningOp<linalg::GenericOp>();
  return producer && input.hasOneUse() && producer.getNumReductionLoops() == 0 && !isDataMovement(producer) &&
         getElementTypeOrSelf(input).getIntOrFloatBitWidth() >
             getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth();
}

/// Gives each use of a producer that only moves data a producer of its own, so that it can move into every user.
void duplicateDataMovement(func::FuncOp function, bool lanes) {
  SmallVector<linalg::GenericOp> producers;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics() && op->getNumResults() == 1 && op.getNumReductionLoops() == 0 &&
        (isDataMovement(op) || isOfIndices(op)) && !(lanes && endsNarrow(op)))
      producers.push_back(op);
  });
  copyForUsers(producers, [](linalg::GenericOp, linalg::GenericOp) { return true; });
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
    if (!of)
      continue;
    OpBuilder b(slice);
    const size_t rank = of->size();
    SmallVector<OpFoldResult> offsets(rank), sizes(rank), strides(rank);
    const llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<std::optional<int64_t>> kept(rank); // sizes of the part, in the order of the input
    SmallVector<AffineExpr> places(rank);           // in it, by loops of the part
    SmallVector<OpFoldResult> own;                  // sizes of the part, in its own order
    for (unsigned r = 0, loop = 0; r < rank; ++r) {
      const unsigned d = (*of)[r];
      offsets[d] = slice.getMixedOffsets()[r];
      sizes[d] = slice.getMixedSizes()[r];
      strides[d] = slice.getMixedStrides()[r];
      if (dropped.test(r))
        continue;
      kept[d] = type.getDimSize(loop);
      own.push_back(sizes[d]);
      places[d] = b.getAffineDimExpr(loop++);
    }
    SmallVector<int64_t> shape;
    for (std::optional<int64_t> size : kept)
      if (size)
        shape.push_back(*size);
    llvm::erase(places, AffineExpr());
    auto input = cast<RankedTensorType>(move.getDpsInputs()[0].getType());
    Value part = tensor::ExtractSliceOp::create(b, slice.getLoc(), RankedTensorType::get(shape, input.getElementType()),
                                                move.getDpsInputs()[0], offsets, sizes, strides);
    Value empty = tensor::EmptyOp::create(b, slice.getLoc(), own, type.getElementType());
    const AffineMap maps[] = {AffineMap::get(type.getRank(), 0, places, b.getContext()),
                              b.getMultiDimIdentityMap(type.getRank())};
    SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
    auto permuted = linalg::GenericOp::create(b, slice.getLoc(), type, part, empty, maps, loops);
    IRMapping none;
    move.getRegion().cloneInto(&permuted.getRegion(), none);
    slice.getResult().replaceAllUsesWith(permuted->getResult(0));
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

/// The source of a view that only adds or drops dimensions of one element, and `map`, that of a read of the view, for
/// it.
std::optional<std::pair<Value, AffineMap>> behindUnitView(Value value, AffineMap map) {
  Value source;
  SmallVector<ReassociationIndices> groups;
  bool expands = false;
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>()) {
    source = expand.getSrc();
    groups = expand.getReassociationIndices();
    expands = true;
  } else if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    source = collapse.getSrc();
    groups = collapse.getReassociationIndices();
  }
  auto wide = source ? cast<RankedTensorType>(expands ? value.getType() : source.getType()) : RankedTensorType();
  if (!wide)
    return std::nullopt;
  SmallVector<AffineExpr> results;
  AffineExpr zero = getAffineConstantExpr(0, map.getContext());
  if (!expands && groups.empty()) // a view without dimensions
    results.assign(wide.getRank(), zero);
  for (auto [narrow, group] : llvm::enumerate(groups)) {
    int64_t own = group.front();
    for (int64_t dim : group)
      if (wide.getDimSize(dim) != 1) {
        if (wide.getDimSize(own) != 1 && own != dim)
          return std::nullopt;
        own = dim;
      }
    for (int64_t dim : group)
      if (!expands)
        results.push_back(dim == own ? map.getResult(narrow) : zero);
      else if (dim == own)
        results.push_back(map.getResult(dim));
  }
  return std::pair(source, AffineMap::get(map.getNumDims(), 0, results, map.getContext()));
}

/// Generics read through views that only add or drop dimensions of one element, so that no view keeps a producer from
/// its users.
void readThroughUnitViews(func::FuncOp function) {
  function.walk([](linalg::GenericOp op) {
    if (!op.hasPureTensorSemantics())
      return;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (OpOperand *input : op.getDpsInputOperands())
      while (auto behind = behindUnitView(input->get(), maps[input->getOperandNumber()])) {
        SmallVector<AffineMap> changed = maps;
        changed[input->getOperandNumber()] = behind->second;
        if (!inversePermutation(concatAffineMaps(changed, op.getContext())))
          break; // a loop that nothing else gives a size
        maps = std::move(changed);
        input->set(behind->first);
      }
    op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
  });
}

/// Whether `producer` rounds numbers that `consumer`, reading them at `operand`, multiplies by scales of blocks:
/// another of its inputs is read at steps of a loop.
bool quantisesBlocks(linalg::GenericOp producer, linalg::GenericOp consumer, OpOperand *operand) {
  auto isWide = [](Value input) {
    Type element = getElementTypeOrSelf(input.getType());
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() > 8;
  };
  return llvm::any_of(producer.getDpsInputs(), isWide) &&
         llvm::any_of(consumer.getDpsInputOperands(), [&](OpOperand *other) {
           AffineMap map = consumer.getMatchingIndexingMap(other);
           return other != operand && llvm::any_of(map.getResults(), [](AffineExpr result) {
                    return result.getKind() == AffineExprKind::FloorDiv;
                  });
         });
}

/// The control function: whether the producer of `operand` moves into its owner; `lanes` as the pass's option, `scaled`
/// the elements that units of the chip scale.
bool shouldFuse(OpOperand *operand, bool lanes, ArrayRef<Type> scaled) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getBlock() != consumer->getBlock())
    return false;
  // Where indices follow from the places of what they read, no array of them is written.
  if (!producer->hasOneUse() || readsTensors(producer) || (readsTensors(consumer) && !isOfIndices(producer)))
    return false;
  if (producer.getBody()->getOperations().size() + consumer.getBody()->getOperations().size() > kMaxBodyOps)
    return false;
  bool cheap = isDataMovement(producer) || isOfIndices(producer);
  if (lanes && isRepeatedBy(consumer, producer))
    return true;
  if (isSumOfProducts(consumer)) {
    // A narrowing cast or an index would hide the product's operands; widening casts and views do not.
    return cheap &&
           llvm::all_of(producer.getBody()->without_terminator(),
                        [](Operation &inner) { return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(inner); }) &&
           producer.getNumDpsInputs() == 1 && isa<RankedTensorType>(producer.getDpsInputs()[0].getType());
  }
  if (cheap)
    return true;
  // What a unit scales is stored, so that the unit can read it.
  if (llvm::is_contained(scaled, getElementTypeOrSelf(operand->get().getType())) &&
      quantisesBlocks(producer, consumer, operand))
    return false;
  // Arithmetic: only where it runs once per element, and nobody else needs the value.
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  return producer->getNumResults() == 1 && map.isPermutation();
}

struct FuseElementwise : tilewright::impl::FuseElementwiseBase<FuseElementwise> {
  using FuseElementwiseBase::FuseElementwiseBase;

  void runOnOperation() override {
    scaled.clear();
    if (auto chip = tilewright::targetOf(getOperation())) {
      for (const tilewright::MatrixUnit &unit : (*chip)->units())
        if (unit.scales)
          for (const tilewright::UnitOperand *each : {&unit.a, &unit.b})
            scaled.push_back(tilewright::elementType(each->element, &getContext()));
    } else {
      llvm::consumeError(chip.takeError()); // compiled for no chip
    }
    if (failed(reshapeIndices(getOperation())) || failed(tilewright::collapseMaps(getOperation())))
      return signalPassFailure();
    sliceBeforePermuting(getOperation());
    duplicateDataMovement(getOperation(), lanes);
    if (failed(fuse()))
      return signalPassFailure();
    if (lanes)
      readThroughUnitViews(getOperation());
    duplicateForSums(getOperation(), lanes); // what stands behind the products of sums is known now
    if (failed(fuse()))
      signalPassFailure();
  }

  LogicalResult fuse() {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [this](OpOperand *operand) { return shouldFuse(operand, lanes, scaled); });
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
    tensor::DimOp::getCanonicalizationPatterns(patterns, context);
    return applyPatternsGreedily(getOperation(), std::move(patterns),
                                 GreedyRewriteConfig().setUseTopDownTraversal(true));
  }

private:
  SmallVector<Type> scaled; // elements that units of the chip multiply by scales
};

} // namespace
