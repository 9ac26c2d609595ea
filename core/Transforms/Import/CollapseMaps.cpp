//===- CollapseMaps.cpp - Nests over fewer dimensions ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Static sizes by upstream's patterns, dynamic ones by rounds over all nests,
/// each of which takes loops away.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/CollapseMaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using tilewright::readsTensors;

bool tilewright::readsTensors(linalg::GenericOp op) {
  return llvm::any_of(*op.getBody(), llvm::IsaPred<tensor::ExtractOp>);
}

namespace {

/// Loops of a nest that become one, outermost first.
using LoopGroup = SmallVector<unsigned>;

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

/// Whether the product of a group's sizes is no factor that an access map may have.
bool isDynamicGroup(RankedTensorType expanded, ArrayRef<int64_t> group) {
  auto isDynamic = [&](int64_t dim) { return expanded.isDynamicDim(dim); };
  return llvm::any_of(group, isDynamic) &&
         llvm::count_if(group, [&](int64_t dim) { return expanded.getDimSize(dim) != 1; }) > 1;
}

/// The sizes of `value`, as far as possible without reading them from it.
SmallVector<OpFoldResult> sizesOf(OpBuilder &b, Value value) {
  while (auto op = value.getDefiningOp<linalg::GenericOp>())
    value = op.getDpsInits()[cast<OpResult>(value).getResultNumber()];
  if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    return expand.getMixedOutputShape();
  return tensor::getMixedSizes(b, value.getLoc(), value);
}

OpFoldResult productOf(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes) {
  int64_t factor = 1;
  Value product;
  for (OpFoldResult size : sizes)
    if (std::optional<int64_t> number = getConstantIntValue(size))
      factor *= *number;
    else
      product = product ? arith::MulIOp::create(b, loc, product, cast<Value>(size)) : cast<Value>(size);
  if (!product)
    return b.getIndexAttr(factor);
  if (factor != 1)
    product = arith::MulIOp::create(b, loc, product, arith::ConstantIndexOp::create(b, loc, factor));
  return product;
}

/// Makes loops of one nest one.
class Collapser {
public:
  explicit Collapser(linalg::GenericOp op) : op(op) {}

  /// Whether the loops run over all elements of their part of each array in its order, or over none of them.
  bool mayCollapse(const LoopGroup &group) {
    auto kinds = op.getIteratorTypesArray();
    auto isOfGroup = [&](unsigned loop) { return llvm::is_contained(group, loop); };
    if (!llvm::all_of(group, [&](unsigned loop) { return kinds[loop] == kinds[group.front()]; }))
      return false;
    if (kinds[group.front()] == utils::IteratorType::reduction) // terms keep their order
      for (auto [inner, outer] : llvm::zip(ArrayRef(group).drop_front(), group))
        if (inner != outer + 1)
          return false;
    if (op.getBody()
            ->walk([&](linalg::IndexOp index) {
              return isOfGroup(index.getDim()) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted())
      return false;
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (llvm::none_of(group, [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
        return true;
      std::optional<unsigned> first = positionOf(map, group.front());
      if (!first || *first + group.size() > map.getNumResults() || !isContiguous(operand.get()))
        return false;
      for (auto [i, result] : llvm::enumerate(map.getResults())) {
        bool isInside = i >= *first && i < *first + group.size();
        if (isInside ? result != getAffineDimExpr(group[i - *first], map.getContext())
                     : llvm::any_of(group, [&](unsigned loop) { return result.isFunctionOfDim(loop); }))
          return false;
      }
      return true;
    });
  }

  /// Replaces the nest by one in which each of `groups` is one loop.
  void collapse(ArrayRef<LoopGroup> groups) {
    OpBuilder b(op);
    MLIRContext *context = op.getContext();
    // The new number of each loop, and which are the first of theirs.
    SmallVector<unsigned> numbers(op.getNumLoops());
    SmallVector<utils::IteratorType> kinds;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      auto own = llvm::find_if(groups, [&](const LoopGroup &group) { return llvm::is_contained(group, loop); });
      if (own == groups.end() || own->front() == loop) {
        numbers[loop] = kinds.size();
        kinds.push_back(kind);
      }
    }
    for (const LoopGroup &group : groups)
      for (unsigned loop : group)
        numbers[loop] = numbers[group.front()];

    SmallVector<AffineExpr> replacements;
    for (unsigned number : numbers)
      replacements.push_back(getAffineDimExpr(number, context));
    SmallVector<AffineMap> maps;
    SmallVector<Value> operands;
    SmallVector<SmallVector<ReassociationIndices>> shapes;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      SmallVector<ReassociationIndices> shape;
      SmallVector<AffineExpr> results;
      for (auto [i, result] : llvm::enumerate(map.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(result);
        bool follows = dim && llvm::any_of(groups, [&](const LoopGroup &group) {
                         return llvm::is_contained(ArrayRef(group).drop_front(), dim.getPosition());
                       });
        if (follows) {
          shape.back().push_back(i);
          continue;
        }
        shape.push_back({int64_t(i)});
        results.push_back(result.replaceDims(replacements));
      }
      maps.push_back(AffineMap::get(kinds.size(), 0, results, context));
      operands.push_back(collapsed(b, operand.get(), shape));
      shapes.push_back(std::move(shape));
    }
    ValueRange inputs = ValueRange(operands).take_front(op.getNumDpsInputs());
    ValueRange inits = ValueRange(operands).drop_front(op.getNumDpsInputs());
    auto fewer = linalg::GenericOp::create(b, op.getLoc(), inits.getTypes(), inputs, inits, maps, kinds);
    fewer.getRegion().takeBody(op.getRegion());
    fewer.getBody()->walk([&](linalg::IndexOp index) { index.setDim(numbers[index.getDim()]); });
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      Value value = fewer->getResult(i);
      if (value.getType() != result.getType())
        value = tensor::ExpandShapeOp::create(b, op.getLoc(), result.getType(), value, shapes[op.getNumDpsInputs() + i],
                                              sizesOf(b, op.getDpsInits()[i]));
      result.replaceAllUsesWith(value);
    }
    op.erase();
  }

private:
  static std::optional<unsigned> positionOf(AffineMap map, unsigned loop) {
    return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
  }

  /// Whether the elements lie one after the other, so that another shape is a view.
  static bool isContiguous(Value value) { return !value.getDefiningOp<tensor::ExtractSliceOp>(); }

  static Value collapsed(OpBuilder &b, Value value, ArrayRef<ReassociationIndices> shape) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || shape.size() == size_t(type.getRank()))
      return value;
    if (auto view = value.getDefiningOp<tensor::ExpandShapeOp>();
        view && ArrayRef<ReassociationIndices>(view.getReassociationIndices()) == shape)
      return view.getSrc();
    Location loc = value.getLoc();
    auto empty = value.getDefiningOp<tensor::EmptyOp>();
    auto view = value.getDefiningOp<tensor::ExpandShapeOp>();
    std::optional<SmallVector<int64_t>> places = view ? unitPlaces(view) : std::nullopt;
    if (!empty && !places)
      return tensor::CollapseShapeOp::create(b, loc, value, shape);
    SmallVector<OpFoldResult> all = sizesOf(b, value), sizes;
    for (const ReassociationIndices &group : shape)
      sizes.push_back(productOf(b, loc, ArrayRef(all).slice(group.front(), group.size())));
    if (empty)
      return tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    // The view adds dimensions of one element to what is collapsed.
    SmallVector<ReassociationIndices> inner, outer;
    ReassociationIndices units;
    for (auto [d, group] : llvm::enumerate(shape)) {
      ReassociationIndices own;
      for (auto [dim, place] : llvm::enumerate(*places))
        if (llvm::is_contained(group, place))
          own.push_back(dim);
      if (!own.empty()) {
        inner.push_back(std::move(own));
        outer.push_back(std::move(units));
        units.clear();
      }
      (outer.empty() ? units : outer.back()).push_back(d);
    }
    return tensor::ExpandShapeOp::create(b, loc, tensor::CollapseShapeOp::inferCollapsedType(type, shape),
                                         collapsed(b, view.getSrc(), inner), outer, sizes);
  }

  /// Of each dimension of what `view` expands, where it is in the view, which adds dimensions of one element alone.
  static std::optional<SmallVector<int64_t>> unitPlaces(tensor::ExpandShapeOp view) {
    SmallVector<int64_t> places;
    for (const ReassociationIndices &group : view.getReassociationIndices()) {
      auto isWide = [&](int64_t dim) { return view.getResultType().getDimSize(dim) != 1; };
      if (llvm::count_if(group, isWide) > 1)
        return std::nullopt;
      auto wide = llvm::find_if(group, isWide);
      places.push_back(wide == group.end() ? group.front() : *wide);
    }
    if (places.empty())
      return std::nullopt;
    return places;
  }

  linalg::GenericOp op;
};

/// The loops that run over dimension after dimension of `group` of an array read or written by `map`; empty if others
/// do.
LoopGroup loopsOf(AffineMap map, ArrayRef<int64_t> group) {
  LoopGroup loops;
  for (int64_t dim : group) {
    auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
    if (!loop || llvm::is_contained(loops, loop.getPosition()))
      return {};
    loops.push_back(loop.getPosition());
  }
  return loops;
}

/// Groups of loops of `op` that a view of an operand or of a result makes one, as far as they may be.
SmallVector<LoopGroup> groupsOf(linalg::GenericOp op) {
  SmallVector<LoopGroup> groups;
  Collapser collapser(op);
  auto propose = [&](AffineMap map, RankedTensorType expanded, ArrayRef<ReassociationIndices> shape) {
    for (const ReassociationIndices &group : shape) {
      if (!isDynamicGroup(expanded, group))
        continue;
      LoopGroup loops = loopsOf(map, group);
      bool isFree = llvm::none_of(groups, [&](const LoopGroup &other) {
        return llvm::any_of(loops, [&](unsigned loop) { return llvm::is_contained(other, loop); });
      });
      if (loops.size() > 1 && isFree && collapser.mayCollapse(loops))
        groups.push_back(std::move(loops));
    }
  };
  for (OpOperand *input : op.getDpsInputOperands())
    if (auto view = input->get().getDefiningOp<tensor::ExpandShapeOp>())
      propose(op.getMatchingIndexingMap(input), view.getResultType(), view.getReassociationIndices());
  for (OpResult result : op->getResults())
    for (Operation *user : result.getUsers())
      if (auto view = dyn_cast<tensor::CollapseShapeOp>(user))
        propose(op.getIndexingMapMatchingResult(result), view.getSrcType(), view.getReassociationIndices());
  return groups;
}

/// Collapses groups of dynamic sizes until no view proposes another one.
void collapseDynamic(func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<linalg::GenericOp> nests;
    function.walk([&](linalg::GenericOp op) { nests.push_back(op); });
    for (linalg::GenericOp op : nests) {
      if (!op.hasPureTensorSemantics() || readsTensors(op))
        continue;
      SmallVector<LoopGroup> groups = groupsOf(op);
      if (groups.empty())
        continue;
      Collapser(op).collapse(groups);
      changed = true;
    }
  }
}

} // namespace

LogicalResult tilewright::collapseMaps(func::FuncOp function) {
  collapseDynamic(function);
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByCollapsingPatterns(patterns, isViewForMap);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, function.getContext());
  return applyPatternsGreedily(function, std::move(patterns));
}
