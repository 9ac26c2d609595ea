//===- CompareIndices.cpp - Elements at computed indices as choices -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The element of a row whose column is read from memory is a choice, summed
/// over the columns:
///
///   y[i] = x[i, t[i]]           ->   y[i] = sum over j of (j == t[i] ? x[i, j] : 0)
///   x'[i, t[i]] = v             ->   x'[i, j] = j == t[i] ? v : x[i, j]
///
/// which nests over the same rows can be computed with. An index out of range
/// has no meaning in the left form; in the right one it chooses nothing.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/IndexCasts.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_COMPAREINDICES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using tilewright::withoutCasts;

namespace {
/// Where an element is read or written: for each dimension of the array the loop whose number is its index, or none
/// for the one dimension whose index is computed, and for a dimension of one element.
struct Place {
  SmallVector<std::optional<unsigned>> loops;
  unsigned computed = 0; // dimension
  Value index;           // of it
};
} // namespace

/// The place of an element of an array of `type` at `indices`; `loopOf` gives the loop that counts an index, and
/// `extents` how often loops run. nullopt where other than one index is computed, or a loop counts two dimensions or a
/// part of one.
static std::optional<Place> placeOf(RankedTensorType type, ValueRange indices, ArrayRef<int64_t> extents,
                                    llvm::function_ref<std::optional<unsigned>(Value)> loopOf) {
  Place place;
  llvm::SmallBitVector seen(extents.size());
  for (auto [dim, given] : llvm::enumerate(indices)) {
    Value index = withoutCasts(given);
    std::optional<unsigned> loop = loopOf(index);
    place.loops.push_back(loop);
    if (loop) {
      if (seen.test(*loop) || type.isDynamicDim(dim) || extents[*loop] != type.getDimSize(dim))
        return std::nullopt;
      seen.set(*loop);
    } else if (type.getDimSize(dim) != 1) {
      if (place.index || type.isDynamicDim(dim))
        return std::nullopt;
      place.computed = dim;
      place.index = index;
    }
  }
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (extent != 1 && !seen.test(loop))
      return std::nullopt;
  return place.index && !matchPattern(place.index, m_Constant()) ? std::optional(place) : std::nullopt;
}

/// Whether a reduction passes along dimension `dim` of `array`, of what it is computed from element by element, or of
/// what is computed from these.
static bool isPassedOver(Value array, unsigned dim) {
  SmallVector<std::pair<Value, unsigned>> worklist{{array, dim}};
  llvm::DenseSet<std::pair<Value, unsigned>> seen(worklist.begin(), worklist.end());
  auto follow = [&](Value value, unsigned along) {
    if (seen.insert({value, along}).second)
      worklist.push_back({value, along});
  };
  while (!worklist.empty()) {
    auto [value, along] = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!user || !user.isDpsInput(&use))
        continue;
      auto loop = dyn_cast<AffineDimExpr>(user.getMatchingIndexingMap(&use).getResult(along));
      if (loop && user.getIteratorTypesArray()[loop.getPosition()] == utils::IteratorType::reduction)
        return true;
    }
    auto reshaped = [&](Value source, ArrayRef<ReassociationIndices> groups, bool expands) {
      for (auto [group, dims] : llvm::enumerate(groups))
        if (dims.size() == 1 && (expands ? unsigned(dims[0]) : group) == along)
          follow(source, expands ? group : dims[0]);
    };
    if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
      reshaped(collapse.getSrc(), collapse.getReassociationIndices(), false);
    if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
      reshaped(expand.getSrc(), expand.getReassociationIndices(), true);
    auto producer = value.getDefiningOp<linalg::GenericOp>();
    if (!producer || producer.getNumReductionLoops() != 0)
      continue;
    AffineMap map = producer.getIndexingMapMatchingResult(cast<OpResult>(value));
    auto loop = dyn_cast<AffineDimExpr>(map.getResult(along));
    for (OpOperand *input : producer.getDpsInputOperands())
      for (auto [position, result] : llvm::enumerate(producer.getMatchingIndexingMap(input).getResults()))
        if (loop && result == loop)
          follow(input->get(), position);
  }
  return false;
}

/// Whether the iteration's number of `loop` is `index`.
static Value isChosen(OpBuilder &b, Location loc, unsigned loop, Value index) {
  Value column = linalg::IndexOp::create(b, loc, loop);
  if (!index.getType().isIndex())
    column = arith::IndexCastOp::create(b, loc, index.getType(), column);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, column, index);
}

/// Clones what `value` is computed by within `block`, and `value` itself.
static Value clonedSlice(OpBuilder &b, Value value, Block *block, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block)
    return value;
  for (Value operand : op->getOperands())
    mapping.map(operand, clonedSlice(b, operand, block, mapping));
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

/// A tensor of `shape` in which each element is `value`.
static Value filled(OpBuilder &b, Location loc, ArrayRef<int64_t> shape, TypedAttr value) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, value.getType());
  Value element = arith::ConstantOp::create(b, loc, value);
  auto map = AffineMap::getMultiDimIdentityMap(shape.size(), b.getContext());
  SmallVector<utils::IteratorType> loops(shape.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), ValueRange(), empty, map, loops,
             [&](OpBuilder &inner, Location, ValueRange) { linalg::YieldOp::create(inner, loc, element); })
      .getResult(0);
}

namespace {
/// A generic that reads one element at a computed index for each of its iterations.
class RowChoice {
public:
  static std::optional<RowChoice> find(linalg::GenericOp op);
  void rewrite(RewriterBase &b);

private:
  Value indices(OpBuilder &b);
  Value sums(OpBuilder &b, Value indices);
  /// `map` of the generic's loops for the kept ones, those of one iteration being 0, with `more` loops after them.
  AffineMap ofKept(AffineMap map, unsigned more = 0);

  linalg::GenericOp op;
  tensor::ExtractOp read;
  Place place;
  SmallVector<unsigned> kept; // loops that index the array
  SmallVector<int64_t> rows;  // how often they run
};
} // namespace

/// The array, as it is before its elements are rounded to a smaller type, where that is the last that is done to them.
/// One element of it, rounded, is that of the array, so that what is chosen can be summed up as it is computed.
static Value beforeRounding(OpBuilder &b, Value array) {
  auto producer = array.getDefiningOp<linalg::GenericOp>();
  if (!producer || !producer.hasPureTensorSemantics() || producer->getNumResults() != 1 ||
      producer.getNumReductionLoops() != 0 || !producer.getRegionOutputArgs()[0].use_empty())
    return array;
  Operation *end = producer.getBody()->getTerminator();
  auto rounded = end->getOperand(0).getDefiningOp<arith::TruncFOp>();
  if (!rounded || !rounded->hasOneUse())
    return array;
  Location loc = producer.getLoc();
  Value empty =
      tensor::EmptyOp::create(b, loc, cast<RankedTensorType>(array.getType()).getShape(), rounded.getIn().getType());
  auto body = [&](OpBuilder &inner, Location, ValueRange elements) {
    IRMapping mapping;
    mapping.map(producer.getBody()->getArguments().drop_back(), elements.drop_back());
    for (Operation &each : producer.getBody()->without_terminator())
      if (&each != rounded)
        inner.clone(each, mapping);
    linalg::YieldOp::create(inner, loc, mapping.lookupOrDefault(rounded.getIn()));
  };
  return linalg::GenericOp::create(b, loc, empty.getType(), producer.getDpsInputs(), empty,
                                   producer.getIndexingMapsArray(), producer.getIteratorTypesArray(), body)
      .getResult(0);
}

std::optional<RowChoice> RowChoice::find(linalg::GenericOp op) {
  auto reads = op.getBody()->getOps<tensor::ExtractOp>();
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !llvm::hasSingleElement(reads) || op.hasDynamicShape() ||
      !op.getIndexingMapMatchingResult(op->getResult(0)).isPermutation())
    return std::nullopt;
  RowChoice choice;
  choice.op = op;
  choice.read = *reads.begin();
  Value array = choice.read.getTensor();
  auto type = cast<RankedTensorType>(array.getType());
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  if (array.getParentBlock() == op.getBody() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  std::optional<Place> place = placeOf(type, choice.read.getIndices(), extents, [](Value index) {
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    return loop ? std::optional<unsigned>(loop.getDim()) : std::nullopt;
  });
  if (!place || place->index.getParentBlock() != op.getBody() || !isPassedOver(array, place->computed))
    return std::nullopt;
  choice.place = *place;
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (llvm::is_contained(place->loops, std::optional<unsigned>(loop))) {
      choice.kept.push_back(loop);
      choice.rows.push_back(extent);
    }
  return choice;
}

AffineMap RowChoice::ofKept(AffineMap map, unsigned more) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> loops(op.getNumLoops(), getAffineConstantExpr(0, context));
  for (auto [number, loop] : llvm::enumerate(kept))
    loops[loop] = getAffineDimExpr(number, context);
  return map.replaceDimsAndSymbols(loops, {}, kept.size() + more, 0);
}

/// The index of each row's element.
Value RowChoice::indices(OpBuilder &b) {
  Location loc = read.getLoc();
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands())
    maps.push_back(ofKept(op.getMatchingIndexingMap(input)));
  maps.push_back(AffineMap::getMultiDimIdentityMap(kept.size(), b.getContext()));
  Value empty = tensor::EmptyOp::create(b, loc, rows, place.index.getType());
  SmallVector<utils::IteratorType> loops(kept.size(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &inner, Location, ValueRange elements) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments().drop_back(), elements.drop_back());
    for (auto index : op.getBody()->getOps<linalg::IndexOp>()) {
      auto *at = llvm::find(kept, index.getDim());
      mapping.map(index.getResult(), at != kept.end()
                                         ? linalg::IndexOp::create(inner, loc, at - kept.begin()).getResult()
                                         : arith::ConstantIndexOp::create(inner, loc, 0).getResult());
    }
    linalg::YieldOp::create(inner, loc, clonedSlice(inner, place.index, op.getBody(), mapping));
  };
  return linalg::GenericOp::create(b, loc, empty.getType(), op.getDpsInputs(), empty, maps, loops, body).getResult(0);
}

/// The sum over the columns of each row, of which one is chosen.
Value RowChoice::sums(OpBuilder &b, Value indices) {
  Location loc = read.getLoc();
  MLIRContext *context = b.getContext();
  Value array = beforeRounding(b, read.getTensor());
  Type element = cast<RankedTensorType>(array.getType()).getElementType();
  unsigned column = kept.size();
  SmallVector<AffineExpr> at;
  for (auto [dim, loop] : llvm::enumerate(place.loops))
    at.push_back(dim == place.computed ? getAffineDimExpr(column, context)
                 : loop                ? getAffineDimExpr(llvm::find(kept, *loop) - kept.begin(), context)
                                       : getAffineConstantExpr(0, context));
  AffineMap row = AffineMap::getMultiDimIdentityMap(column, context).shiftDims(0);
  row = AffineMap::get(column + 1, 0, row.getResults(), context);
  SmallVector<AffineMap> maps{AffineMap::get(column + 1, 0, at, context), row, row};
  SmallVector<utils::IteratorType> loops(column, utils::IteratorType::parallel);
  loops.push_back(utils::IteratorType::reduction);
  Value start = filled(b, loc, rows, b.getZeroAttr(element));
  auto body = [&](OpBuilder &inner, Location, ValueRange elements) {
    Value none = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(element));
    Value chosen = arith::SelectOp::create(inner, loc, isChosen(inner, loc, column, elements[1]), elements[0], none);
    Value sum = isa<FloatType>(element) ? arith::AddFOp::create(inner, loc, elements[2], chosen).getResult()
                                        : arith::AddIOp::create(inner, loc, elements[2], chosen).getResult();
    linalg::YieldOp::create(inner, loc, sum);
  };
  return linalg::GenericOp::create(b, loc, start.getType(), ValueRange{array, indices}, start, maps, loops, body)
      .getResult(0);
}

void RowChoice::rewrite(RewriterBase &b) {
  b.setInsertionPoint(op);
  Value chosen = sums(b, indices(b));
  // What the body does with the element, for which it has an input.
  SmallVector<Value> inputs(op.getDpsInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<AffineExpr> at;
  for (unsigned loop : kept)
    at.push_back(b.getAffineDimExpr(loop));
  maps.insert(maps.begin() + inputs.size(), AffineMap::get(op.getNumLoops(), 0, at, b.getContext()));
  inputs.push_back(chosen);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange elements) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments().drop_back(), elements.drop_back(2));
    mapping.map(op.getBody()->getArguments().back(), elements.back());
    Value element = elements[elements.size() - 2];
    if (element.getType() != read.getType())
      element = arith::TruncFOp::create(inner, loc, read.getType(), element);
    mapping.map(read.getResult(), element);
    Value result = op.getBody()->getTerminator()->getOperand(0);
    linalg::YieldOp::create(inner, loc, clonedSlice(inner, result, op.getBody(), mapping));
  };
  auto rest = linalg::GenericOp::create(b, op.getLoc(), op->getResultTypes(), inputs, op.getDpsInits(), maps,
                                        op.getIteratorTypesArray(), body);
  b.replaceOp(op, rest);
}

//===-- Writes ------------------------------------------------------------===//

namespace {
/// A loop over rows that writes one element of each, at a computed index.
class RowWrite {
public:
  static std::optional<RowWrite> find(scf::ForOp loop);
  void rewrite(RewriterBase &b);

private:
  scf::ForOp loop;
  tensor::InsertOp write;
  Place place;
  SmallVector<tensor::ExtractOp> reads; // of the body, each at the loop's number
};
} // namespace

std::optional<RowWrite> RowWrite::find(scf::ForOp loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || loop->getNumResults() != 1 || !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()))
    return std::nullopt;
  RowWrite rows;
  rows.loop = loop;
  rows.write = loop.getYieldedValues()[0].getDefiningOp<tensor::InsertOp>();
  BlockArgument array = loop.getRegionIterArg(0);
  if (!rows.write || rows.write->getBlock() != loop.getBody() || rows.write.getDest() != array || !array.hasOneUse())
    return std::nullopt;
  // An array that is computed as a whole, and read by what can compare as well.
  auto start = loop.getInitArgs()[0].getDefiningOp<linalg::GenericOp>();
  if (!start || start.getNumReductionLoops() != 0 || !start.hasPureTensorSemantics() ||
      !llvm::all_of(loop->getUsers(), llvm::IsaPred<linalg::GenericOp>))
    return std::nullopt;
  int64_t extent = trips->getSExtValue();
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto read = dyn_cast<tensor::ExtractOp>(op);
    if (!isPure(&op) && !read)
      return std::nullopt;
    if (&op == rows.write || !read)
      continue;
    auto type = cast<RankedTensorType>(read.getTensor().getType());
    if (type.getRank() != 1 || type.getDimSize(0) != extent || read.getTensor() == array ||
        withoutCasts(read.getIndices()[0]) != loop.getInductionVar())
      return std::nullopt;
    rows.reads.push_back(read);
  }
  auto type = cast<RankedTensorType>(array.getType());
  std::optional<Place> place = placeOf(type, rows.write.getIndices(), {extent}, [&](Value index) {
    return index == loop.getInductionVar() ? std::optional<unsigned>(0) : std::nullopt;
  });
  if (!place || !llvm::is_contained(place->loops, std::optional<unsigned>(0)) ||
      place->index.getParentBlock() != loop.getBody())
    return std::nullopt;
  rows.place = *place;
  return rows;
}

void RowWrite::rewrite(RewriterBase &b) {
  b.setInsertionPoint(loop);
  Location loc = write.getLoc();
  MLIRContext *context = b.getContext();
  auto type = cast<RankedTensorType>(loop.getResult(0).getType());
  unsigned row = llvm::find(place.loops, std::optional<unsigned>(0)) - place.loops.begin();
  // Index and value of each row.
  SmallVector<Value> inputs, starts;
  for (tensor::ExtractOp read : reads)
    inputs.push_back(read.getTensor());
  Value index = place.index, value = write.getScalar();
  bool varies = value.getParentBlock() == loop.getBody();
  for (Value result : varies ? SmallVector<Value>{index, value} : SmallVector<Value>{index})
    starts.push_back(tensor::EmptyOp::create(b, loc, type.getDimSize(row), result.getType()));
  SmallVector<AffineMap> maps(inputs.size() + starts.size(), AffineMap::getMultiDimIdentityMap(1, context));
  auto ofRows = linalg::GenericOp::create(
      b, loc, ValueRange(starts).getTypes(), inputs, starts, maps, utils::IteratorType::parallel,
      [&](OpBuilder &inner, Location, ValueRange elements) {
        IRMapping mapping;
        mapping.map(loop.getInductionVar(), linalg::IndexOp::create(inner, loc, 0).getResult());
        for (auto [read, element] : llvm::zip(reads, elements))
          mapping.map(read.getResult(), element);
        SmallVector<Value> yielded{clonedSlice(inner, index, loop.getBody(), mapping)};
        if (varies)
          yielded.push_back(clonedSlice(inner, value, loop.getBody(), mapping));
        linalg::YieldOp::create(inner, loc, yielded);
      });
  // The array, with the value where the index is a column's.
  AffineMap all = AffineMap::getMultiDimIdentityMap(type.getRank(), context);
  AffineMap ofRow = all.getSubMap({row});
  SmallVector<Value> choices{loop.getInitArgs()[0]};
  llvm::append_range(choices, ofRows.getResults());
  SmallVector<AffineMap> choiceMaps{all};
  choiceMaps.append(ofRows.getNumResults(), ofRow);
  choiceMaps.push_back(all);
  Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto written = linalg::GenericOp::create(
      b, loc, type, choices, empty, choiceMaps, loops, [&](OpBuilder &inner, Location, ValueRange elements) {
        Value chosen = isChosen(inner, loc, place.computed, elements[1]);
        linalg::YieldOp::create(
            inner, loc,
            arith::SelectOp::create(inner, loc, chosen, varies ? elements[2] : value, elements[0]).getResult());
      });
  b.replaceOp(loop, written);
}

namespace {
struct CompareIndices : tilewright::impl::CompareIndicesBase<CompareIndices> {
  using CompareIndicesBase::CompareIndicesBase;

  void runOnOperation() override {
    if (getOperation()->getParentOp()->hasAttr(
            tilewright::checkIndicesAttr)) // a choice says of no index that it was outside
      return;
    SmallVector<linalg::GenericOp> generics;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](Operation *op) {
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        generics.push_back(generic);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : generics)
      if (std::optional<RowChoice> choice = RowChoice::find(op))
        choice->rewrite(rewriter);
    for (scf::ForOp loop : loops)
      if (std::optional<RowWrite> rows = writes ? RowWrite::find(loop) : std::nullopt)
        rows->rewrite(rewriter);
  }
};
} // namespace
