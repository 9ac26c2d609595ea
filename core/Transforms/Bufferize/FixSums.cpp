//===- FixSums.cpp - The order of sums, for all chips ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums along rows become partial sums; products that are added fuse.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_FIXSUMS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Partial sums of a row: those of a vector register of f32 of the widest CPUs. Part of the order, so the same for all.
static constexpr int64_t partialSums = 16;

namespace {
/// One nest that adds up, or multiplies, floats.
class SumFixer {
public:
  explicit SumFixer(Nest nest) : nest(std::move(nest)), loc(this->nest.root().getLoc()) {}
  /// Rewrites the nest where its order is not the one for all chips.
  void run();

private:
  bool readSum();
  void fuseProduct();
  std::optional<unsigned> rowLoop() const;
  void writePartialSums(unsigned row);
  void writeSteps(OpBuilder &builder, unsigned row, bool isRest);
  void writeResult(OpBuilder &builder);
  AffineForOp loopOver(OpBuilder &builder, unsigned d, llvm::function_ref<AffineExpr(AffineExpr)> trips);
  Value combined(OpBuilder &builder, Value a, Value b) const;

  Nest nest;
  Location loc;
  AffineStoreOp store;
  Operation *combine = nullptr; // of the sum so far and one more term
  AffineLoadOp sum;             // .. which this loads
  SmallVector<unsigned> outer;  // loops that index the result
  SmallVector<unsigned> reduced;
  Value partial; // outer x partialSums
};
} // namespace

/// Whether each iteration combines one element of the result with one more float.
bool SumFixer::readSum() {
  if (nest.stores.size() != 1)
    return false;
  const Access &result = nest.stores.front();
  store = cast<AffineStoreOp>(result.op);
  combine = store.getValueToStore().getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp>(combine) || combine->getBlock() != nest.body)
    return false;
  for (unsigned d = 0; d < nest.depth(); ++d)
    (result.dims().test(d) ? outer : reduced).push_back(d);
  for (Value operand : combine->getOperands())
    for (const Access &load : nest.loads)
      if (load.op == operand.getDefiningOp() && load.memref == result.memref && load.map == result.map &&
          load.symbols == result.symbols && operand.hasOneUse())
        sum = cast<AffineLoadOp>(load.op);
  return sum && !reduced.empty();
}

/// sum + a b becomes fma(a, b, sum).
void SumFixer::fuseProduct() {
  if (!isa<arith::AddFOp>(combine))
    return;
  Value term = combine->getOperand(combine->getOperand(0) == sum.getResult() ? 1 : 0);
  auto product = term.getDefiningOp<arith::MulFOp>();
  if (!product || !product->hasOneUse())
    return;
  OpBuilder builder(combine);
  Operation *fused = math::FmaOp::create(builder, loc, product.getLhs(), product.getRhs(), sum.getResult());
  combine->replaceAllUsesWith(fused);
  combine->erase();
  product.erase();
  combine = fused;
}

/// The reduced loop along which rows of some array are read, the innermost one; nullopt where there is none, or too few
/// iterations for partial sums.
std::optional<unsigned> SumFixer::rowLoop() const {
  for (unsigned d : llvm::reverse(reduced)) {
    bool isRow = llvm::any_of(nest.loads, [&](const Access &load) { return load.op != sum && load.stride(d) == 1; });
    if (isRow && nest.tripCounts[d].value_or(2 * partialSums) >= 2 * partialSums)
      return d;
  }
  return std::nullopt;
}

/// A loop with as many iterations as `trips` makes of those of loop `d`.
AffineForOp SumFixer::loopOver(OpBuilder &builder, unsigned d, llvm::function_ref<AffineExpr(AffineExpr)> trips) {
  AffineForOp old = nest.loops[d];
  AffineMap bound = old.getUpperBoundMap();
  SmallVector<AffineExpr> results;
  for (AffineExpr each : bound.getResults())
    results.push_back(trips(each));
  bound = AffineMap::get(bound.getNumDims(), bound.getNumSymbols(), results, builder.getContext());
  return AffineForOp::create(builder, loc, {}, builder.getConstantAffineMap(0), old.getUpperBoundOperands(),
                             simplifyAffineMap(bound));
}

Value SumFixer::combined(OpBuilder &builder, Value a, Value b) const {
  if (isa<arith::MulFOp>(combine))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, a, b);
}

static AffineExpr all(AffineExpr trips) { return trips; }

/// The terms of whole steps of partialSums elements, or those that are left, each added to its partial sum.
void SumFixer::writeSteps(OpBuilder &builder, unsigned row, bool isRest) {
  OpBuilder at = builder;
  IRMapping mapping;
  SmallVector<Value> place;
  auto enter = [&](AffineForOp loop) {
    at = OpBuilder::atBlockBegin(loop.getBody());
    return loop.getInductionVar();
  };
  for (unsigned d : outer) {
    place.push_back(enter(loopOver(at, d, all)));
    mapping.map(AffineForOp(nest.loops[d]).getInductionVar(), place.back());
  }
  for (unsigned d : reduced)
    if (d != row)
      mapping.map(AffineForOp(nest.loops[d]).getInductionVar(), enter(loopOver(at, d, all)));
  AffineForOp old = nest.loops[row];
  AffineExpr lane = at.getAffineDimExpr(0);
  SmallVector<Value> operands;
  AffineMap position;
  if (isRest) {
    place.push_back(enter(loopOver(at, row, [](AffineExpr trips) { return trips % partialSums; })));
    AffineMap bound = old.getUpperBoundMap();
    SmallVector<AffineExpr> dims;
    for (unsigned d = 0; d < bound.getNumDims(); ++d)
      dims.push_back(at.getAffineDimExpr(d + 1));
    AffineExpr trips = bound.getResult(0).replaceDims(dims);
    position =
        AffineMap::get(bound.getNumDims() + 1, bound.getNumSymbols(), trips.floorDiv(partialSums) * partialSums + lane);
    operands = {place.back()};
    llvm::append_range(operands, old.getUpperBoundOperands());
  } else {
    Value step = enter(loopOver(at, row, [](AffineExpr trips) { return trips.floorDiv(partialSums); }));
    place.push_back(enter(AffineForOp::create(at, loc, 0, partialSums)));
    position = AffineMap::get(2, 0, at.getAffineDimExpr(1) * partialSums + lane);
    operands = {place.back(), step};
  }
  position = simplifyAffineMap(position);
  canonicalizeMapAndOperands(&position, &operands);
  mapping.map(old.getInductionVar(), AffineApplyOp::create(at, loc, position, operands));
  for (Operation &op : nest.body->without_terminator()) {
    if (&op == store.getOperation())
      AffineStoreOp::create(at, loc, mapping.lookup(store.getValueToStore()), partial, place);
    else if (&op == sum.getOperation())
      mapping.map(sum.getResult(), AffineLoadOp::create(at, loc, partial, place));
    else
      at.clone(op, mapping);
  }
}

/// The partial sums in pairs, those of halves first, and what the result held.
void SumFixer::writeResult(OpBuilder &builder) {
  OpBuilder at = builder;
  IRMapping mapping;
  SmallVector<Value> place;
  for (unsigned d : outer) {
    AffineForOp loop = loopOver(at, d, all);
    at = OpBuilder::atBlockBegin(loop.getBody());
    place.push_back(loop.getInductionVar());
    mapping.map(AffineForOp(nest.loops[d]).getInductionVar(), place.back());
  }
  const unsigned dims = place.size();
  SmallVector<Value> sums;
  for (int64_t lane = 0; lane < partialSums; ++lane) {
    SmallVector<AffineExpr> indices;
    for (unsigned d = 0; d < dims; ++d)
      indices.push_back(at.getAffineDimExpr(d));
    indices.push_back(at.getAffineConstantExpr(lane));
    sums.push_back(AffineLoadOp::create(at, loc, partial, AffineMap::get(dims, 0, indices, at.getContext()), place));
  }
  for (size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i)
      sums[i] = combined(at, sums[i], sums[i + half]);
    sums.resize(half);
  }
  Value before = at.clone(*sum, mapping)->getResult(0);
  mapping.map(store.getValueToStore(), combined(at, before, sums.front()));
  at.clone(*store, mapping);
}

void SumFixer::writePartialSums(unsigned row) {
  OpBuilder builder(nest.root());
  auto element = cast<FloatType>(combine->getResult(0).getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  for (unsigned d : outer) {
    shape.push_back(nest.tripCounts[d].value_or(ShapedType::kDynamic));
    AffineForOp loop = nest.loops[d];
    if (!nest.tripCounts[d])
      sizes.push_back(AffineMinOp::create(builder, loc, loop.getUpperBoundMap(), loop.getUpperBoundOperands()));
  }
  shape.push_back(partialSums);
  partial =
      memref::AllocOp::create(builder, loc, MemRefType::get(shape, element), sizes, builder.getI64IntegerAttr(64));
  // Neutral: what each partial sum begins with.
  OpBuilder at = builder;
  SmallVector<Value> place;
  Value neutral =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element, isa<arith::MulFOp>(combine) ? 1.0 : 0.0));
  for (unsigned d : outer) {
    AffineForOp loop = loopOver(at, d, all);
    at = OpBuilder::atBlockBegin(loop.getBody());
    place.push_back(loop.getInductionVar());
  }
  AffineForOp lanes = AffineForOp::create(at, loc, 0, partialSums);
  at = OpBuilder::atBlockBegin(lanes.getBody());
  place.push_back(lanes.getInductionVar());
  AffineStoreOp::create(at, loc, neutral, partial, place);
  writeSteps(builder, row, /*isRest=*/false);
  if (nest.tripCounts[row].value_or(1) % partialSums != 0)
    writeSteps(builder, row, /*isRest=*/true);
  writeResult(builder);
  nest.root().erase();
}

void SumFixer::run() {
  if (!readSum())
    return;
  FailureOr<Contraction> contraction = recognizeContraction(nest);
  fuseProduct();
  std::optional<unsigned> row;
  if (failed(contraction) || contraction->m.empty() || contraction->n.empty()) // else many at a time, each in order
    row = rowLoop();
  if (DecisionLog *log = DecisionLog::of(store.getContext()))
    log->add("sum", nest.root(),
             llvm::json::Object{{"choice", llvm::json::Object{{"partial_sums", row ? partialSums : 1},
                                                              {"fused", isa<math::FmaOp>(combine)}}}});
  if (row)
    writePartialSums(*row);
}

namespace {
struct FixSums : tilewright::impl::FixSumsBase<FixSums> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function) || !Settings::of(function).isReproducible())
      return;
    for (AffineForOp root : llvm::to_vector(function.getOps<AffineForOp>()))
      if (FailureOr<Nest> nest = analyzeNest(root); succeeded(nest))
        SumFixer(std::move(*nest)).run();
  }
};
} // namespace
