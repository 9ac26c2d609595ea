//===- CountRoundings.cpp - How often a result has been rounded -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An upper bound on the floating-point operations that an element of a result has
/// passed through one after the other, which the tolerance of tw-launch grows
/// with (docs/runtime.md). An operation counts once; one that a loop hands its own
/// result counts as often as the loop runs:
///
///   generic {parallel, reduction over k} { %p = mulf %a, %b; %s = addf %acc, %p }     1 + k
///   generic {parallel} { exp }                                                        1
///   scf.for %i = 0 to n { y[0] = y[0] + x[i] }                                        n
///   scf.for %i = 0 to n { y[i] = y[i] + x[i] }                                        1
///
/// Loops on memory hand over what is in an array that they read and write, unless
/// one index of all these accesses is the loop's own. What is not known (iterations
/// of a while, a size made of data) counts as the longest extent of all arguments.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Analysis/SizeGroups.h"
#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright {
#define GEN_PASS_DEF_COUNTROUNDINGS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct CountRoundings : tilewright::impl::CountRoundingsBase<CountRoundings> {
  void runOnOperation() override;
};

/// Whether the result of `op` is rounded: float arithmetic but comparisons, signs, and moves between types.
bool rounds(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())) && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::SelectOp,
              arith::BitcastOp, arith::ExtFOp, arith::TruncFOp, math::AbsFOp, math::CopySignOp>(op);
}

/// The array behind views and casts.
Value rootOf(Value array) {
  while (auto view = array.getDefiningOp<ViewLikeOpInterface>())
    array = view.getViewSource();
  return array;
}

bool isMemory(Value value) { return isa<BaseMemRefType>(value.getType()); }

/// Whether `index` is another number in each iteration over `counter`: itself, moved or scaled by constants.
bool followsCounter(Value index, Value counter) {
  while (index != counter) {
    Operation *op = index.getDefiningOp();
    if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
      index = op->getOperand(0);
      continue;
    }
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return false;
    std::optional<int64_t> second = getConstantIntValue(op->getOperand(1)),
                           first = getConstantIntValue(op->getOperand(0));
    if (!first == !second || (isa<arith::MulIOp>(op) && first.value_or(second.value_or(0)) == 0))
      return false;
    index = op->getOperand(second ? 0 : 1);
  }
  return true;
}

/// Which dimensions of an access are another index in each iteration over `counter`; as numbers that tell different
/// indices apart, null elsewhere.
SmallVector<const void *> ownIndices(Operation *access, Value counter) {
  SmallVector<const void *> own;
  auto ofMap = [&](AffineMap map, ValueRange operands) {
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      own.push_back(dim && operands[dim.getPosition()] == counter ? counter.getAsOpaquePointer() : nullptr);
    }
  };
  auto ofValues = [&](ValueRange indices) {
    for (Value index : indices)
      own.push_back(followsCounter(index, counter) ? index.getAsOpaquePointer() : nullptr);
  };
  if (auto load = dyn_cast<affine::AffineLoadOp>(access))
    ofMap(load.getAffineMap(), load.getMapOperands());
  else if (auto store = dyn_cast<affine::AffineStoreOp>(access))
    ofMap(store.getAffineMap(), store.getMapOperands());
  else if (auto load = dyn_cast<memref::LoadOp>(access))
    ofValues(load.getIndices());
  else if (auto store = dyn_cast<memref::StoreOp>(access))
    ofValues(store.getIndices());
  return own;
}

/// What one iteration of a loop hands to later ones, and everything computed of it.
class Carried {
public:
  explicit Carried(Operation *loop) : loop(loop) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(loop)) {
      for (BlockArgument argument : linalg.getRegionOutputArgs())
        values.insert(argument);
    } else if (auto counted = dyn_cast<LoopLikeOpInterface>(loop)) {
      std::optional<SmallVector<Value>> counters = counted.getLoopInductionVars();
      bool isParallel = isa<scf::ParallelOp, scf::ForallOp, affine::AffineParallelOp>(loop);
      for (Region &region : loop->getRegions())
        for (Value argument : region.getArguments())
          if (!counters || (!isParallel && !llvm::is_contained(*counters, argument)))
            values.insert(argument);
      if (auto parallel = dyn_cast<scf::ParallelOp>(loop))
        for (Region &reduction : parallel.getBody()->getTerminator()->getRegions())
          values.insert_range(reduction.getArguments());
      if (isa<affine::AffineParallelOp>(loop) && loop->getNumResults() != 0) // sums that no operation stands for
        values.insert_range(*counters);
      if (!isParallel)
        addMemory(counters && counters->size() == 1 ? counters->front() : Value());
    }
    for (bool news = true; news;) {
      size_t before = values.size();
      loop->walk([&](Operation *op) { follow(op); });
      news = values.size() != before;
    }
  }

  bool contains(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value value) { return values.contains(value); });
  }

private:
  /// Arrays that are read and written, but those of which each iteration has its own part.
  void addMemory(Value counter) {
    llvm::MapVector<Value, SmallVector<Operation *>> users;
    loop->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (isMemory(operand) && !loop->isAncestor(rootOf(operand).getParentBlock()->getParentOp()))
          users[rootOf(operand)].push_back(op);
    });
    for (auto &[array, accesses] : users) {
      bool first = true;
      SmallVector<const void *> own;
      for (Operation *access : accesses) {
        SmallVector<const void *> here;
        if (counter && llvm::is_contained(access->getOperands(), array))
          here = ownIndices(access, counter);
        here.resize(std::max(here.size(), own.size()), nullptr);
        own.resize(here.size(), nullptr);
        for (auto [d, index] : llvm::enumerate(here))
          own[d] = first || own[d] == index ? index : nullptr;
        first = false;
      }
      if (llvm::all_of(own, [](const void *index) { return !index; }))
        shared.insert(array);
    }
  }

  void follow(Operation *op) {
    if (op == loop)
      return;
    bool carried = contains(op);
    for (Value operand : op->getOperands())
      if (isMemory(operand)) {
        Value array = rootOf(operand);
        bool isSource = shared.contains(array) && isWritten(array);
        carried |= isSource || values.contains(array);
      }
    if (!carried)
      return;
    values.insert_range(op->getResults());
    for (Region &region : op->getRegions())
      values.insert_range(region.getArguments());
    for (Value operand : op->getOperands())
      if (isMemory(operand) && writes(op))
        values.insert(rootOf(operand));
    if (op->hasTrait<OpTrait::IsTerminator>() && op->getParentOp() != loop)
      values.insert_range(op->getParentOp()->getResults());
  }

  static bool writes(Operation *op) { return !isa<memref::LoadOp, affine::AffineLoadOp>(op) && !isPure(op); }
  bool isWritten(Value array) {
    auto [known, isNew] = written.try_emplace(array, false);
    if (isNew)
      loop->walk([&](Operation *op) {
        if (llvm::any_of(op->getOperands(), [&](Value v) { return isMemory(v) && rootOf(v) == array; }) &&
            !isa<ViewLikeOpInterface>(op) && writes(op))
          known->second = true;
      });
    return known->second;
  }

  Operation *loop;
  DenseSet<Value> values, shared;
  DenseMap<Value, bool> written;
};

/// The terms of one public function.
class Counter {
public:
  explicit Counter(func::FuncOp function) : function(function), context(function.getContext()) {
    if (auto maps = function->getAttrOfType<ArrayAttr>(tilewright::shapesAttr))
      for (Attribute map : maps)
        shapes.push_back(cast<AffineMapAttr>(map).getValue());
    numSizes = shapes.empty() ? 0 : shapes.front().getNumSymbols();
  }

  void run() {
    add(function.getBody(), {}, 0);
    std::vector<AffineMap> maps;
    for (auto &[product, count] : terms) {
      SmallVector<AffineExpr> factors{getAffineConstantExpr(count, context)};
      llvm::append_range(factors, product.getResults());
      maps.push_back(AffineMap::get(0, numSizes, factors, context));
    }
    function->setAttr(tilewright::roundingsAttr, Builder(context).getAffineMapArrayAttr(maps));
  }

private:
  void add(Region &body, ArrayRef<AffineExpr> outer, unsigned depth) {
    body.walk([&](Operation *op) {
      auto call = dyn_cast<func::CallOp>(op);
      if (!call && !rounds(op))
        return;
      SmallVector<AffineExpr> factors(outer);
      for (Operation *loop = op->getParentOp(); loop && !isa<func::FuncOp>(loop); loop = loop->getParentOp())
        if (isa<linalg::LinalgOp, LoopLikeOpInterface>(loop) && carriedBy(loop).contains(op))
          addIterations(loop, factors);
      auto callee = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr()) : nullptr;
      if (callee && !callee.isExternal() && depth < mostCalls)
        return add(callee.getBody(), factors, depth + 1);
      if (call) // of itself, or of something unknown
        factors.push_back(unknown());
      ++terms[AffineMap::get(0, numSizes, factors, context)];
    });
  }

  const Carried &carriedBy(Operation *loop) {
    std::unique_ptr<Carried> &known = carried[loop];
    if (!known)
      known = std::make_unique<Carried>(loop);
    return *known;
  }

  AffineExpr unknown() { return getAffineConstantExpr(tilewright::unknownExtent, context); }

  AffineExpr sizeOf(const ValueBoundsConstraintSet::Variable &variable) {
    std::optional<AffineExpr> size;
    if (!shapes.empty())
      size = tilewright::sizeOfArguments(variable, function, shapes);
    return size ? *size : unknown();
  }

  void addIterations(Operation *loop, SmallVector<AffineExpr> &factors) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(loop)) {
      SmallVector<int64_t> ranges = linalg.getStaticLoopRanges();
      for (auto [d, kind] : llvm::enumerate(linalg.getIteratorTypesArray())) {
        if (kind != utils::IteratorType::reduction)
          continue;
        Value operand;
        unsigned dimension;
        if (!ShapedType::isDynamic(ranges[d]))
          factors.push_back(getAffineConstantExpr(ranges[d], context));
        else if (succeeded(linalg.mapIterationSpaceDimToOperandDim(d, operand, dimension)))
          factors.push_back(sizeOf({operand, dimension}));
        else
          factors.push_back(unknown());
      }
      return;
    }
    auto counted = cast<LoopLikeOpInterface>(loop);
    std::optional<SmallVector<OpFoldResult>> lower = counted.getLoopLowerBounds(), upper = counted.getLoopUpperBounds(),
                                             step = counted.getLoopSteps();
    if (!lower || !upper || !step || step->empty())
      return factors.push_back(unknown());
    for (auto [from, to, by] : llvm::zip_equal(*lower, *upper, *step)) {
      std::optional<int64_t> first = getConstantIntValue(from), last = getConstantIntValue(to),
                             stride = getConstantIntValue(by);
      AffineExpr end = unknown();
      if (last)
        end = getAffineConstantExpr(*last, context);
      else if (auto bound = dyn_cast<Value>(to); bound && bound.getType().isIndex())
        end = sizeOf(bound);
      if (first && stride && *stride > 0 && end != unknown())
        factors.push_back((end - *first).ceilDiv(*stride));
      else
        factors.push_back(end);
    }
  }

  static constexpr unsigned mostCalls = 8;
  func::FuncOp function;
  MLIRContext *context;
  std::vector<AffineMap> shapes;
  unsigned numSizes;
  llvm::MapVector<AffineMap, int64_t> terms;
  DenseMap<Operation *, std::unique_ptr<Carried>> carried;
};

} // namespace

void CountRoundings::runOnOperation() {
  for (func::FuncOp function : tilewright::publicFunctions(getOperation()))
    if (function.getBody().hasOneBlock())
      Counter(function).run();
}
