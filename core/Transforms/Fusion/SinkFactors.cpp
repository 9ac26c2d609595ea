//===- SinkFactors.cpp - Factors of a sum are applied to the sum ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A term x(j) h of a contraction's sum over j is separable with rank 1: its sum
/// is h times the sum of x(j), whatever h is. Nothing is inverted, so h may be
/// zero, infinite or NaN. The factor is looked for in the nest that computes an
/// operand, and written after the contraction, where it is an epilogue.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/DependentReductions.h"
#include "core/Transforms/Fusion/ContractionGroup.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_SINKFACTORS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// The nest that computes an operand as `x * factor` or `x / factor`, perhaps rounded.
struct FactoredOperand {
  AffineForOp root;
  Operation *combine = nullptr;     // arith.mulf or arith.divf
  Value rest;                       // x
  Access factor;                    // over the loops of the nest
  SmallVector<AffineExpr> ofResult; // its indices, over the contraction's loops
};
} // namespace

/// `factor`, a load of the producer `nest` that fills `operand`, with the contraction's loops for the producer's;
/// nothing where an index is none of its results.
static std::optional<SmallVector<AffineExpr>> onResult(const Access &factor, const Access &store,
                                                       const ContractionOperand &operand, const Contraction &c) {
  SmallVector<AffineExpr> loops(store.map.getNumDims());
  for (auto [index, position] : llvm::zip(store.map.getResults(), operand.access.map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(index))
      loops[dim.getPosition()] = position;
  SmallVector<AffineExpr> result;
  for (AffineExpr index : factor.map.getResults()) {
    if (isa<AffineConstantExpr>(index)) {
      result.push_back(index);
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(index);
    AffineExpr position = dim ? loops[dim.getPosition()] : AffineExpr();
    auto loop = dyn_cast_if_present<AffineDimExpr>(position);
    if (!loop || llvm::is_contained(c.k, loop.getPosition()))
      return std::nullopt;
    result.push_back(loop);
  }
  return result;
}

/// Whether `memref` is not written between `from` and `to`, both included.
static bool staysAsIs(Value memref, Operation *from, Operation *to) {
  return llvm::none_of(memref.getUsers(), [&](Operation *user) {
    if (isa<AffineLoadOp, memref::DimOp, memref::DeallocOp>(user))
      return false;
    Operation *top = from->getBlock()->findAncestorOpInBlock(*user);
    return !top || (!top->isBeforeInBlock(from) && !to->isBeforeInBlock(top));
  });
}

/// Whether what the nest `root`, which computes an operand of `c`, stores is at most one in absolute value without its
/// only factor: an exponential of what is not above zero.
static bool isAtMostOne(const Contraction &c, AffineForOp root) {
  // The nests that the operand depends on.
  AffineForOp product = Nest(c.nest).root();
  SmallVector<Operation *> ops{product};
  llvm::SmallDenseSet<Value, 8> read;
  for (Operation *op = product; op; op = op->getPrevNode()) {
    bool writes = op == product;
    op->walk(
        [&](AffineStoreOp store) { writes |= read.contains(store.getMemRef()) || store.getMemRef() == c.c.memref; });
    if (!writes || !isa<AffineForOp>(op))
      continue;
    if (op != product)
      ops.push_back(op);
    op->walk([&](AffineLoadOp load) { read.insert(load.getMemRef()); });
  }
  std::reverse(ops.begin(), ops.end());
  std::string reason;
  auto isInside = [](Operation *) { return true; }; // nothing is rewritten
  auto chain = DependentReductions::find(ops, isInside, /*mayReassociate=*/true, reason);
  return chain && llvm::any_of(chain->statements, [&](const ReductionStatement &s) {
           return s.root == root && s.pairs.size() == 1 && s.pairs.front().h.size() == 1 && s.pairs.front().isAtMostOne;
         });
}

/// The factor of `operand`, if all is such that the sum may take it.
static std::optional<FactoredOperand> findFactor(const Contraction &c, const ContractionOperand &operand) {
  // A sum of nothing is zero, whatever the factor is.
  if (llvm::any_of(c.k, [&](unsigned d) { return c.nest.tripCounts[d].value_or(0) == 0; }))
    return std::nullopt;
  FactoredOperand found;
  found.root = findProducer(c, operand);
  Operation *product = Nest(c.nest).root();
  if (!found.root || c.a.access.memref == c.b.access.memref || !operand.access.symbols.empty())
    return std::nullopt;
  Nest nest = *analyzeNest(found.root);
  if (nest.stores.size() != 1 || !nest.stores.front().symbols.empty())
    return std::nullopt;
  const Access &store = nest.stores.front();
  std::optional<llvm::SmallBitVector> dims = ownDims(store.map);
  if (!dims || !dims->all())
    return std::nullopt;
  for (Operation *user : store.memref.getUsers())
    if (Operation *top = found.root->getBlock()->findAncestorOpInBlock(*user);
        top != found.root && top != product && !isa<memref::DeallocOp>(user))
      return std::nullopt;
  Value value = cast<AffineStoreOp>(store.op).getValueToStore();
  while (value.hasOneUse() && isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  found.combine = value.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(found.combine) || !value.hasOneUse() ||
      value.getType().getIntOrFloatBitWidth() > c.accumulator.getIntOrFloatBitWidth())
    return std::nullopt;
  // A narrower exponent may not hold what the factor has not scaled yet, unless that is at most one.
  auto exponentOf = [](Type type) { return APFloat::semanticsMaxExponent(cast<FloatType>(type).getFloatSemantics()); };
  bool isNarrow = llvm::any_of(TypeRange{store.op->getOperand(0).getType(), value.getType()},
                               [&](Type type) { return exponentOf(type) < exponentOf(c.accumulator); });
  if (isNarrow && !isAtMostOne(c, found.root))
    return std::nullopt;
  for (unsigned at : {1u, 0u}) {
    if (at == 0 && !isa<arith::MulFOp>(found.combine))
      break;
    Operation *load = found.combine->getOperand(at).getDefiningOp();
    const Access *factor = llvm::find_if(nest.loads, [&](const Access &each) { return each.op == load; });
    if (factor == nest.loads.end() || !factor->symbols.empty() || !staysAsIs(factor->memref, found.root, product))
      continue;
    std::optional<SmallVector<AffineExpr>> indices = onResult(*factor, store, operand, c);
    if (!indices)
      continue;
    found.rest = found.combine->getOperand(1 - at);
    found.factor = *factor;
    found.ofResult = *indices;
    return found;
  }
  return std::nullopt;
}

/// C = C * factor (or C * (1 / factor)), after the contraction.
static void writeScaling(const Contraction &c, const FactoredOperand &found) {
  AffineForOp product = Nest(c.nest).root();
  OpBuilder builder(product->getContext());
  builder.setInsertionPointAfter(product);
  Location loc = found.combine->getLoc();
  SmallVector<AffineExpr> dims(c.nest.depth());
  SmallVector<Value> loops;
  for (auto [dim, each] : llvm::enumerate(c.nest.loops)) {
    AffineForOp loop = each;
    if (llvm::is_contained(c.k, dim))
      continue;
    auto own = AffineForOp::create(builder, loc, loop.getLowerBoundOperands(), loop.getLowerBoundMap(),
                                   loop.getUpperBoundOperands(), loop.getUpperBoundMap());
    dims[dim] = builder.getAffineDimExpr(loops.size());
    loops.push_back(own.getInductionVar());
    builder = OpBuilder::atBlockBegin(own.getBody());
  }
  auto mapOf = [&](ArrayRef<AffineExpr> indices) {
    SmallVector<AffineExpr> results;
    for (AffineExpr index : indices)
      results.push_back(index.replaceDims(dims));
    return AffineMap::get(loops.size(), 0, results, builder.getContext());
  };
  AffineMap place = mapOf(c.c.map.getResults());
  Value sum = AffineLoadOp::create(builder, loc, c.c.memref, place, loops);
  Value factor = AffineLoadOp::create(builder, loc, found.factor.memref, mapOf(found.ofResult), loops);
  if (factor.getType() != sum.getType())
    factor = arith::ExtFOp::create(builder, loc, sum.getType(), factor);
  if (isa<arith::DivFOp>(found.combine)) { // the inverse is one for all elements that have the factor
    Value one = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(sum.getType(), 1.0));
    factor = arith::DivFOp::create(builder, loc, one, factor);
  }
  Value scaled = arith::MulFOp::create(builder, loc, sum, factor);
  AffineStoreOp::create(builder, loc, scaled, c.c.memref, place, loops);
}

/// The operand without its factor: what the nest still computes, or where that is a copy, its source.
static void dropFactor(const Contraction &c, const ContractionOperand &operand, const FactoredOperand &found) {
  Operation *combine = found.combine;
  combine->getResult(0).replaceAllUsesWith(found.rest);
  Operation *factor = found.factor.op;
  combine->erase();
  if (factor->use_empty())
    factor->erase();
  Nest nest = *analyzeNest(found.root);
  const Access &store = nest.stores.front();
  Value stored = cast<AffineStoreOp>(store.op).getValueToStore();
  const Access *source = llvm::find_if(nest.loads, [&](const Access &each) { return each.op->getResult(0) == stored; });
  AffineForOp product = Nest(c.nest).root();
  if (source == nest.loads.end() || source->map != store.map || !source->symbols.empty() ||
      source->memref.getType() != store.memref.getType() || source->memref == c.c.memref ||
      !staysAsIs(source->memref, found.root, product))
    return;
  operand.access.op->replaceUsesOfWith(operand.access.memref, source->memref);
  found.root->erase();
  eraseUnused(store.memref);
}

static double trips(const Contraction &c, llvm::function_ref<bool(unsigned)> counts) {
  double all = 1;
  for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
    if (counts(dim))
      all *= double(tripsOf(c, dim));
  return all;
}

/// Applies factors of the operands of the contraction at `root` to its result.
static void sinkFactors(AffineForOp root) {
  FailureOr<Nest> nest = analyzeNest(root);
  FailureOr<Contraction> c = failed(nest) ? FailureOr<Contraction>(failure()) : recognizeContraction(*nest);
  if (failed(c) || !isa<FloatType>(c->accumulator) || !c->c.symbols.empty() || !findZeroInit(*c))
    return;
  for (const ContractionOperand *operand : {&c->a, &c->b}) {
    std::optional<FactoredOperand> found = findFactor(*c, *operand);
    if (!found)
      continue;
    // Once an element of the result instead of once an element of the operand.
    double ofResult = trips(*c, [&](unsigned dim) { return !llvm::is_contained(c->k, dim); });
    double ofOperand = trips(*c, [&](unsigned dim) { return operand->access.dims().test(dim); });
    if (ofResult >= ofOperand)
      continue;
    if (DecisionLog *log = DecisionLog::of(root.getContext()))
      log->add("sink-factor", found->combine,
               llvm::json::Object{{"inputs", llvm::json::Object{{"operand_elements", int64_t(ofOperand)},
                                                                {"result_elements", int64_t(ofResult)}}},
                                  {"choice", llvm::json::Object{{"applied_to", "result"}}}});
    writeScaling(*c, *found);
    dropFactor(*c, *operand, *found);
    return;
  }
}

namespace {
struct SinkFactors : tilewright::impl::SinkFactorsBase<SinkFactors> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function) || !Settings::of(function).mayReassociate())
      return;
    if (isScheduled(function))
      return;
    for (auto root : llvm::make_early_inc_range(function.front().getOps<AffineForOp>()))
      sinkFactors(root);
  }
};
} // namespace
