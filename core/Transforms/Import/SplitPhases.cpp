//===- SplitPhases.cpp - Sums over arrays with zeros in between -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A transposed convolution, and the gradient of one with a stride with respect
/// to its input, sums products over an array whose elements stand `s` apart,
/// with zeros in between. A result at position p meets elements at every s-th
/// tap alone, and which ones follows from the phase p mod s: the polyphase form
/// of signal processing. So each phase is a sum over its own taps and the
/// elements themselves.
///
/// Along one dimension of the array, the result at p = s q + r reads the index
///
///   a p + b k + c = low + s m       k: the tap, m: the element
///
/// The taps of phase r are k = first + t j with t = s / gcd(b, s), and
/// m = a q + (b t / s) j + origin.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Nest.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include <numeric>

namespace tilewright {
#define GEN_PASS_DEF_SPLITPHASES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
/// Zeros that hold the element at position i of `source` at low + stride * i.
struct SpreadArray {
  Value source, zero;
  SmallVector<int64_t> low, stride;
};

/// What results of one phase read along an axis: result firstResult + stride * q, tap firstTap + everyTap * j, element
/// a * q + step * j + origin.
struct Phase {
  int64_t firstResult = 0, results = 1;
  int64_t firstTap = 0, everyTap = 1, taps = 0;
  int64_t step = 0, origin = 0;
};

/// A dimension of the array whose elements stand apart, and the loops that move along it.
struct Axis {
  unsigned dim = 0;
  int64_t stride = 1, count = 0;       // of elements
  std::optional<unsigned> result, tap; // the loops, and their trip counts
  int64_t results = 1, taps = 1;
  int64_t resultStep = 0, tapStep = 0; // a and b of the file comment
  int64_t offset = 0;                  // c - low
  SmallVector<Phase> phases;

  void findPhases();
  /// Whether each phase reads the same elements by the same number of taps, so that the phases can be a loop.
  bool isUniform() const;
  /// Whether the tap of phase r is s - 1 - r of each group of s taps, and not r; where isUniform().
  bool isTurned() const { return phases.front().firstTap != 0; }
};

/// A sum of products over a spread array, and what it becomes.
class PhasedSum {
public:
  /// nullopt where the array stays as it is.
  static std::optional<PhasedSum> find(linalg::GenericOp op);
  void rewrite(RewriterBase &b);

private:
  bool addAxis(unsigned dim, ArrayRef<int64_t> trips);
  bool isAlongAxes(OpOperand &operand);
  Value elements(RewriterBase &b, Location loc);
  AffineMap elementMap(ArrayRef<Phase> phases);
  Value create(RewriterBase &b, ValueRange inputs, Value init, ArrayRef<AffineMap> maps, unsigned moreLoops);
  const Axis *axisOfResult(unsigned dim);
  Value resultsByPhase(RewriterBase &b, SmallVectorImpl<ReassociationIndices> &groups);
  Value expanded(RewriterBase &b, Value array, ArrayRef<ReassociationIndices> groups, ArrayRef<OpFoldResult> shape);
  Value collapsed(RewriterBase &b, Value results, ArrayRef<ReassociationIndices> groups);
  Value resized(RewriterBase &b, Value array, ArrayRef<OpFoldResult> shape);
  Value tapsOf(RewriterBase &b, OpOperand &operand, ArrayRef<Phase> phases);
  Value addPhase(RewriterBase &b, Value elements, ArrayRef<Phase> phases, Value stack);
  Value oneByOne(RewriterBase &b, Value elements);
  Value asLoops(RewriterBase &b, Value elements);

  linalg::GenericOp op;
  OpOperand *array = nullptr;
  SpreadArray spread;
  SmallVector<Axis, 3> axes;
  SmallVector<int64_t> before; // zeros in front of the elements, along each dimension of the array
  SmallVector<OpFoldResult> sizes;
};
} // namespace

/// The value that fills `array` where that is all that is in it, else null.
static Value filledWith(Value array) {
  auto fill = array.getDefiningOp<linalg::GenericOp>();
  if (!fill || fill.getNumDpsInits() != 1 || fill.getNumReductionLoops() != 0)
    return {};
  Value value = fill.getBody()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == fill.getBody() && argument.getArgNumber() < fill.getNumDpsInputs())
    value = fill.getDpsInputs()[argument.getArgNumber()];
  return isa<ShapedType>(value.getType()) || fill.getRegion().isAncestor(value.getParentRegion()) ? Value() : value;
}

static std::optional<SpreadArray> findSpread(Value array) {
  auto insert = array.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || insert.getSourceType().getRank() != insert.getType().getRank())
    return std::nullopt;
  Value zero = filledWith(insert.getDest());
  auto isKnown = [](int64_t number) { return !ShapedType::isDynamic(number); };
  if (!zero || !(matchPattern(zero, m_AnyZeroFloat()) || matchPattern(zero, m_Zero())) ||
      !llvm::all_of(insert.getStaticOffsets(), isKnown) || !llvm::all_of(insert.getStaticStrides(), isKnown))
    return std::nullopt;
  SpreadArray spread{insert.getSource(), zero, SmallVector<int64_t>(insert.getStaticOffsets()),
                     SmallVector<int64_t>(insert.getStaticStrides())};
  if (llvm::any_of(spread.stride, [](int64_t stride) { return stride > 1; }))
    return spread;
  std::optional<SpreadArray> inner = findSpread(insert.getSource()); // with more zeros around it
  if (!inner)
    return std::nullopt;
  for (auto [low, more] : llvm::zip_equal(inner->low, spread.low))
    low += more;
  return inner;
}

/// Whether `value` of the body is zero where `element` is (a factor of infinity aside).
static bool isZeroWith(Value value, Value element) {
  if (value == element)
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp, arith::MulIOp>(op))
    return isZeroWith(op->getOperand(0), element) || isZeroWith(op->getOperand(1), element);
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncFOp, arith::TruncIOp,
                         arith::NegFOp>(op) &&
         isZeroWith(op->getOperand(0), element);
}

/// Whether the body adds to its result what is zero where `element` is.
static bool addsNothingAtZero(linalg::GenericOp op, Value element) {
  Block *body = op.getBody();
  Value running = body->getArguments().back();
  Operation *sum = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum) || !running.hasOneUse() ||
      llvm::any_of(*body, llvm::IsaPred<linalg::IndexOp>))
    return false;
  unsigned place = sum->getOperand(0) == running ? 1 : 0;
  return sum->getOperand(1 - place) == running && isZeroWith(sum->getOperand(place), element);
}

void Axis::findPhases() {
  for (int64_t r = 0; r < (result ? std::min(stride, results) : 1); ++r) {
    Phase phase;
    phase.firstResult = r;
    phase.results = result ? llvm::divideCeil(results - r, stride) : 1;
    phase.everyTap = tap ? stride / std::gcd(std::abs(tapStep), stride) : 1;
    phase.step = tapStep * phase.everyTap / stride;
    auto indexOf = [&](int64_t k) { return resultStep * r + tapStep * k + offset; };
    int64_t first = 0;
    while (first < std::min(phase.everyTap, taps) && llvm::mod(indexOf(first), stride) != 0)
      ++first;
    if (first < std::min(phase.everyTap, taps)) {
      phase.firstTap = first;
      phase.taps = llvm::divideCeil(taps - first, phase.everyTap);
      phase.origin = indexOf(first) / stride;
    }
    phases.push_back(phase);
  }
}

bool Axis::isUniform() const {
  const Phase &first = phases.front();
  return result && tap && results % stride == 0 && first.everyTap == stride && taps % stride == 0 &&
         llvm::all_of(llvm::enumerate(phases), [&](const auto &each) {
           int64_t r = each.index();
           return each.value().origin == first.origin && each.value().taps == taps / stride &&
                  each.value().firstTap == (first.firstTap == 0 ? r : stride - 1 - r);
         });
}

/// Adds the axis of dimension `dim` of the array; false where its index is no axis.
bool PhasedSum::addAxis(unsigned dim, ArrayRef<int64_t> trips) {
  AffineExpr index = op.getMatchingIndexingMap(array).getResult(dim);
  Axis axis;
  axis.dim = dim;
  axis.stride = spread.stride[dim];
  axis.count = cast<RankedTensorType>(spread.source.getType()).getDimSize(dim);
  if (axis.stride < 1 || ShapedType::isDynamic(axis.count))
    return false;
  SmallVector<AffineExpr> zeros(trips.size(), getAffineConstantExpr(0, index.getContext()));
  auto constant = dyn_cast<AffineConstantExpr>(index.replaceDims(zeros));
  if (!constant)
    return false;
  axis.offset = constant.getValue() - spread.low[dim];
  for (unsigned loop = 0; loop < trips.size(); ++loop) {
    std::optional<int64_t> step = linearCoefficient(index, loop);
    if (!step)
      return false;
    if (*step == 0)
      continue;
    bool isTap = op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
    std::optional<unsigned> &place = isTap ? axis.tap : axis.result;
    bool isTaken = llvm::any_of(axes, [&](const Axis &other) { return other.result == loop || other.tap == loop; });
    if (place || isTaken || ShapedType::isDynamic(trips[loop]))
      return false;
    place = loop;
    (isTap ? axis.taps : axis.results) = trips[loop];
    (isTap ? axis.tapStep : axis.resultStep) = *step;
  }
  axis.findPhases();
  axes.push_back(std::move(axis));
  return true;
}

/// Whether `operand` moves along the loops of the axes one dimension for each, or not at all.
bool PhasedSum::isAlongAxes(OpOperand &operand) {
  bool isResult = operand.getOperandNumber() >= op.getNumDpsInputs();
  for (AffineExpr index : op.getMatchingIndexingMap(&operand).getResults())
    for (const Axis &axis : axes) {
      bool moves =
          (axis.result && index.isFunctionOfDim(*axis.result)) || (axis.tap && index.isFunctionOfDim(*axis.tap));
      std::optional<unsigned> plain = isResult ? axis.result : axis.tap;
      if (moves && !(plain && index == getAffineDimExpr(*plain, index.getContext())))
        return false;
    }
  return true;
}

std::optional<PhasedSum> PhasedSum::find(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return std::nullopt;
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<SpreadArray> spread = findSpread(input->get());
    if (!spread || !addsNothingAtZero(op, op.getMatchingBlockArgument(input)))
      continue;
    PhasedSum sum;
    sum.op = op;
    sum.array = input;
    sum.spread = std::move(*spread);
    SmallVector<int64_t> trips = op.getStaticLoopRanges();
    bool fits = true;
    for (unsigned dim = 0; fits && dim < sum.spread.stride.size(); ++dim)
      fits = sum.spread.stride[dim] == 1 || sum.addAxis(dim, trips);
    for (OpOperand &operand : op->getOpOperands())
      fits = fits && (&operand == input || sum.isAlongAxes(operand));
    // Each tap is a dimension of another operand, which the verifier of linalg finds its extent by.
    for (const Axis &axis : sum.axes)
      fits = fits && (!axis.tap || llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *other) {
               return other != input && op.getMatchingIndexingMap(other).isFunctionOfDim(*axis.tap);
             }));
    if (fits)
      return sum;
  }
  return std::nullopt;
}

/// The elements alone, with as many zeros around them as the phases read.
Value PhasedSum::elements(RewriterBase &b, Location loc) {
  auto type = cast<RankedTensorType>(spread.source.getType());
  sizes = tensor::getMixedSizes(b, loc, array->get());
  before = spread.low;
  bool isWhole = llvm::all_of(llvm::seq<unsigned>(0, type.getRank()), [&](unsigned dim) {
    return spread.stride[dim] != 1 ||
           (spread.low[dim] == 0 && !type.isDynamicDim(dim) && getConstantIntValue(sizes[dim]) == type.getDimSize(dim));
  });
  for (const Axis &axis : axes) {
    int64_t begin = 0, end = axis.count;
    for (const Phase &phase : axis.phases) {
      if (phase.taps == 0)
        continue;
      int64_t lastResult = axis.resultStep * (phase.results - 1), lastTap = phase.step * (phase.taps - 1);
      begin = std::min(begin, phase.origin + std::min<int64_t>(lastResult, 0) + std::min<int64_t>(lastTap, 0));
      end = std::max(end, phase.origin + std::max<int64_t>(lastResult, 0) + std::max<int64_t>(lastTap, 0) + 1);
    }
    before[axis.dim] = -begin;
    sizes[axis.dim] = b.getIndexAttr(end - begin);
    isWhole &= begin == 0 && end == axis.count;
  }
  if (isWhole)
    return spread.source;
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  Value zeros = linalg::FillOp::create(b, loc, spread.zero, empty).getResult(0);
  SmallVector<OpFoldResult> offsets = getAsIndexOpFoldResult(b.getContext(), before);
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(b, loc, spread.source, zeros, offsets,
                                       tensor::getMixedSizes(b, loc, spread.source), strides);
}

/// The index map of elements() in one phase of each axis.
AffineMap PhasedSum::elementMap(ArrayRef<Phase> phases) {
  AffineMap map = op.getMatchingIndexingMap(array);
  SmallVector<AffineExpr> indices(map.getResults());
  MLIRContext *context = map.getContext();
  for (auto [dim, index] : llvm::enumerate(indices))
    if (spread.stride[dim] == 1)
      index = index - spread.low[dim] + before[dim];
  for (auto [axis, phase] : llvm::zip_equal(axes, phases)) {
    AffineExpr index = getAffineConstantExpr(phase.origin + before[axis.dim], context);
    if (axis.result)
      index = index + getAffineDimExpr(*axis.result, context) * axis.resultStep;
    if (axis.tap)
      index = index + getAffineDimExpr(*axis.tap, context) * phase.step;
    indices[axis.dim] = index;
  }
  return AffineMap::get(map.getNumDims(), 0, indices, context);
}

/// The sum itself, over other arrays, with `moreLoops` parallel loops behind its own.
Value PhasedSum::create(RewriterBase &b, ValueRange inputs, Value init, ArrayRef<AffineMap> maps, unsigned moreLoops) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.append(moreLoops, utils::IteratorType::parallel);
  auto sum =
      linalg::GenericOp::create(b, op.getLoc(), TypeRange{init.getType()}, inputs, ValueRange{init}, maps, iterators);
  b.cloneRegionBefore(op.getRegion(), sum.getRegion(), sum.getRegion().begin());
  return sum.getResult(0);
}

/// The results with a dimension for the phases behind each that an axis moves along; each of `groups` is a dimension of
/// the results. Filled, or as they were before the sum.
Value PhasedSum::resultsByPhase(RewriterBase &b, SmallVectorImpl<ReassociationIndices> &groups) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  SmallVector<OpFoldResult> whole = tensor::getMixedSizes(b, loc, init), shape;
  for (unsigned dim = 0; dim < whole.size(); ++dim) {
    groups.push_back({static_cast<int64_t>(shape.size())});
    shape.push_back(whole[dim]);
    if (const Axis *axis = axisOfResult(dim)) {
      int64_t count = llvm::divideCeil(axis->results, axis->stride);
      groups.back().push_back(shape.size());
      shape.back() = b.getIndexAttr(count);
      shape.push_back(b.getIndexAttr(axis->stride));
      whole[dim] = b.getIndexAttr(count * axis->stride);
    }
  }
  Value value = filledWith(init);
  if (!value)
    return expanded(b, resized(b, init, whole), groups, shape);
  Value empty = tensor::EmptyOp::create(b, loc, shape, getElementTypeOrSelf(init.getType()));
  return linalg::FillOp::create(b, loc, value, empty).getResult(0);
}

/// The axis that moves along dimension `dim` of the results, or null.
const Axis *PhasedSum::axisOfResult(unsigned dim) {
  AffineExpr index = op.getIndexingMapsArray().back().getResult(dim);
  const Axis *found = llvm::find_if(axes, [&](const Axis &axis) {
    return axis.result && index == getAffineDimExpr(*axis.result, index.getContext());
  });
  return found == axes.end() ? nullptr : found;
}

Value PhasedSum::expanded(RewriterBase &b, Value array, ArrayRef<ReassociationIndices> groups,
                          ArrayRef<OpFoldResult> shape) {
  auto type = cast<RankedTensorType>(array.getType());
  SmallVector<int64_t> sizes = decomposeMixedValues(shape).first;
  if (static_cast<int64_t>(sizes.size()) == type.getRank())
    return array;
  return tensor::ExpandShapeOp::create(b, op.getLoc(), RankedTensorType::get(sizes, type.getElementType()), array,
                                       groups, shape);
}

/// `array` with more or fewer elements at the end of its dimensions; those that it has not are undefined.
Value PhasedSum::resized(RewriterBase &b, Value array, ArrayRef<OpFoldResult> shape) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> from = tensor::getMixedSizes(b, loc, array);
  SmallVector<OpFoldResult> offsets(from.size(), b.getIndexAttr(0)), strides(from.size(), b.getIndexAttr(1));
  bool isSmaller = false, isLarger = false;
  for (auto [before, now] : llvm::zip_equal(from, shape)) {
    auto had = getConstantIntValue(before), has = getConstantIntValue(now);
    isSmaller |= had && has && *has < *had;
    isLarger |= had && has && *has > *had;
  }
  if (isSmaller)
    return tensor::ExtractSliceOp::create(b, loc, array, offsets, shape, strides);
  if (!isLarger)
    return array;
  Value empty = tensor::EmptyOp::create(b, loc, shape, getElementTypeOrSelf(array.getType()));
  return tensor::InsertSliceOp::create(b, loc, array, empty, offsets, from, strides);
}

/// Writes the results of one phase of each axis into `stack`, whose outermost dimensions are the phases.
Value PhasedSum::addPhase(RewriterBase &b, Value elements, ArrayRef<Phase> phases, Value stack) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  SmallVector<OpFoldResult> own = tensor::getMixedSizes(b, loc, init), offsets, sizes;
  for (auto [axis, phase] : llvm::zip_equal(axes, phases))
    if (axis.result)
      offsets.push_back(b.getIndexAttr(phase.firstResult));
  sizes.append(offsets.size(), b.getIndexAttr(1));
  for (unsigned dim = 0; dim < own.size(); ++dim)
    if (const Axis *axis = axisOfResult(dim))
      own[dim] = b.getIndexAttr(phases[axis - axes.begin()].results);
  offsets.append(own.size(), b.getIndexAttr(0));
  sizes.append(own);
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  auto type = RankedTensorType::get(decomposeMixedValues(own).first, getElementTypeOrSelf(init.getType()));
  Value sum = tensor::ExtractSliceOp::create(b, loc, type, stack, offsets, sizes, strides);
  if (Value value = filledWith(init))
    sum = linalg::FillOp::create(b, loc, value, sum).getResult(0);
  if (llvm::all_of(phases, [](const Phase &phase) { return phase.taps != 0; })) {
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps[array->getOperandNumber()] = elementMap(phases);
    for (OpOperand *input : op.getDpsInputOperands())
      inputs.push_back(input == array ? elements : tapsOf(b, *input, phases));
    sum = create(b, inputs, sum, maps, 0);
  }
  return tensor::InsertSliceOp::create(b, loc, sum, stack, offsets, sizes, strides);
}

/// The part of `operand` that is read in one phase of each axis.
Value PhasedSum::tapsOf(RewriterBase &b, OpOperand &operand, ArrayRef<Phase> phases) {
  auto one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, op.getLoc(), operand.get());
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)), strides(sizes.size(), one);
  for (auto [dim, index] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
    for (auto [axis, phase] : llvm::zip_equal(axes, phases))
      if (axis.tap && index == getAffineDimExpr(*axis.tap, b.getContext())) {
        offsets[dim] = b.getIndexAttr(phase.firstTap);
        sizes[dim] = b.getIndexAttr(phase.taps);
        strides[dim] = b.getIndexAttr(phase.everyTap);
      }
  return tensor::ExtractSliceOp::create(b, op.getLoc(), operand.get(), offsets, sizes, strides);
}

/// A sum for each combination of phases, then the phases interleaved.
Value PhasedSum::oneByOne(RewriterBase &b, Value elements) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  SmallVector<ReassociationIndices> groups;
  Value interleaved = resultsByPhase(b, groups);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, interleaved), shape;
  // Dimension i of the stack is dimension order[i] of `interleaved`.
  SmallVector<int64_t> order, counts;
  for (const ReassociationIndices &group : groups)
    counts.push_back(group.front());
  for (const Axis &axis : axes)
    for (unsigned dim = 0; axis.result && dim < groups.size(); ++dim)
      if (axisOfResult(dim) == &axis)
        order.push_back(groups[dim].back());
  order.append(counts);
  for (int64_t dim : order)
    shape.push_back(sizes[dim]);
  Type element = getElementTypeOrSelf(init.getType());
  Value stack = tensor::EmptyOp::create(b, loc, shape, element);
  if (!filledWith(init)) // else each phase fills its own part
    stack = linalg::TransposeOp::create(b, loc, interleaved, stack, order)->getResult(0);

  SmallVector<int64_t> phaseCounts =
      llvm::map_to_vector(axes, [](const Axis &axis) { return int64_t(axis.phases.size()); });
  for (int64_t each = 0; each < computeProduct(phaseCounts); ++each) {
    SmallVector<Phase> phases;
    for (auto [axis, number] : llvm::zip_equal(axes, delinearize(each, computeSuffixProduct(phaseCounts))))
      phases.push_back(axis.phases[number]);
    stack = addPhase(b, elements, phases, stack);
  }
  Value results = tensor::EmptyOp::create(b, loc, sizes, element);
  results = linalg::TransposeOp::create(b, loc, stack, results, invertPermutationVector(order))->getResult(0);
  return collapsed(b, results, groups);
}

/// One sum with a loop for the phases of each axis, where all of them read the same elements.
Value PhasedSum::asLoops(RewriterBase &b, Value elements) {
  Location loc = op.getLoc();
  unsigned loops = op.getNumLoops();
  MLIRContext *context = b.getContext();
  SmallVector<Phase> first = llvm::map_to_vector(axes, [](const Axis &axis) { return axis.phases.front(); });
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isResult = !op.isDpsInput(&operand);
    SmallVector<AffineExpr> indices;
    SmallVector<ReassociationIndices> groups;
    SmallVector<OpFoldResult> shape = tensor::getMixedSizes(b, loc, operand.get());
    for (AffineExpr index : op.getMatchingIndexingMap(&operand).getResults()) {
      groups.push_back({static_cast<int64_t>(indices.size())});
      indices.push_back(index);
      for (auto [number, axis] : llvm::enumerate(axes)) {
        if (index != getAffineDimExpr(isResult ? *axis.result : *axis.tap, context))
          continue;
        AffineExpr phase = getAffineDimExpr(loops + number, context);
        shape[indices.size() - 1] = b.getIndexAttr(axis.taps / axis.stride);
        shape.insert(shape.begin() + indices.size(), b.getIndexAttr(axis.stride));
        groups.back().push_back(indices.size());
        indices.push_back(isResult || !axis.isTurned() ? phase : axis.stride - 1 - phase);
      }
    }
    if (&operand == array)
      llvm::copy(elementMap(first).getResults(), indices.begin());
    maps.push_back(AffineMap::get(loops + axes.size(), 0, indices, context));
    if (!isResult)
      inputs.push_back(&operand == array ? elements : expanded(b, operand.get(), groups, shape));
  }
  SmallVector<ReassociationIndices> groups;
  Value results = resultsByPhase(b, groups);
  return collapsed(b, create(b, inputs, results, maps, axes.size()), groups);
}

/// What resultsByPhase() took apart, put together.
Value PhasedSum::collapsed(RewriterBase &b, Value results, ArrayRef<ReassociationIndices> groups) {
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  if (groups.size() != static_cast<size_t>(cast<RankedTensorType>(results.getType()).getRank()))
    results = tensor::CollapseShapeOp::create(b, loc, results, groups);
  return resized(b, results, tensor::getMixedSizes(b, loc, init));
}

void PhasedSum::rewrite(RewriterBase &b) {
  b.setInsertionPoint(op);
  Value source = elements(b, op.getLoc());
  bool isUniform = llvm::all_of(axes, [](const Axis &axis) { return axis.isUniform(); });
  b.replaceOp(op, isUniform ? asLoops(b, source) : oneByOne(b, source));
}

namespace {
struct SplitPhases : tilewright::impl::SplitPhasesBase<SplitPhases> {
  void runOnOperation() override {
    if (referenceOf(getOperation()) == Reference::Values ||
        Settings::of(getOperation()).contract == FloatContract::Strict)
      return;
    SmallVector<linalg::GenericOp> sums;
    getOperation().walk([&](linalg::GenericOp op) { sums.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : sums)
      if (std::optional<PhasedSum> sum = PhasedSum::find(op))
        sum->rewrite(rewriter);
  }
};
} // namespace
