//===- NameSizes.cpp - Which dynamic sizes are equal ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Groups dimensions of tensors that must be equal for the program to mean
/// anything (one loop of a linalg operation, an element-wise operation, a cast)
/// and writes each public function's dimensions as maps of its distinct sizes.
///
///   linalg.matmul ins(%A : tensor<?x?xf32>, %B : tensor<?x?xf32>) outs(%C : tensor<?x?xf32>)
///     A = (s0, s1), B = (s1, s2), C = (s0, s2)
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace tilewright {
#define GEN_PASS_DEF_NAMESIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct NameSizes : tilewright::impl::NameSizesBase<NameSizes> {
  void runOnOperation() override;
};

/// Dimension `second` of a shaped value; of an operation, its loop; -1: an index value.
using Dimension = std::pair<void *, int64_t>;

/// Equal dimensions within one function.
class SizeGroups {
public:
  explicit SizeGroups(func::FuncOp function) {
    function.walk([&](Operation *op) { visit(op); });
    // What loops pass on may change its size; where it does not is known when all else is. Inner loops tell of outer
    // ones, and the other way round.
    while (
        function.walk([&](Operation *op) { return joinCarried(op) ? WalkResult::interrupt() : WalkResult::advance(); })
            .wasInterrupted()) {
    }
  }

  /// The representative of a dimension's group.
  Dimension find(Value value, int64_t dim) {
    return groups.getOrInsertLeaderValue(Dimension(value.getAsOpaquePointer(), dim));
  }
  /// The constant that a member of the group has, if any.
  std::optional<int64_t> constantOf(Dimension leader) {
    for (auto [member, value] : constants)
      if (groups.getLeaderValue(member) == leader)
        return value;
    return std::nullopt;
  }

private:
  void join(Value a, int64_t dimA, void *b, int64_t dimB) {
    Dimension first(a.getAsOpaquePointer(), dimA), second(b, dimB);
    groups.unionSets(first, second);
    values[a.getAsOpaquePointer()] = a;
    auto type = dyn_cast<ShapedType>(a.getType());
    if (type && dimA >= 0 && !type.isDynamicDim(dimA))
      constants.push_back({first, type.getDimSize(dimA)});
  }
  void joinAll(Value a, Value b) {
    auto first = dyn_cast<ShapedType>(a.getType()), second = dyn_cast<ShapedType>(b.getType());
    if (!first || !second || !first.hasRank() || !second.hasRank() || first.getRank() != second.getRank())
      return;
    for (int64_t i = 0; i < first.getRank(); ++i) {
      join(a, i, b.getAsOpaquePointer(), i);
      join(b, i, a.getAsOpaquePointer(), i);
    }
  }
  /// Dimension `dim` of `shaped` is `size`.
  void joinSize(Value shaped, int64_t dim, OpFoldResult size) {
    if (auto value = dyn_cast<Value>(size)) {
      join(shaped, dim, value.getAsOpaquePointer(), -1);
      values[value.getAsOpaquePointer()] = value;
      if (std::optional<int64_t> constant = getConstantIntValue(size))
        constants.push_back({Dimension(value.getAsOpaquePointer(), -1), *constant});
    }
  }

  bool areEqual(Value a, Value b, int64_t dim) {
    return groups.isEquivalent(Dimension(a.getAsOpaquePointer(), dim), Dimension(b.getAsOpaquePointer(), dim));
  }
  /// Joins `dim` of `a` and `b`; whether that is news.
  bool joinNew(Value a, Value b, int64_t dim) {
    if (areEqual(a, b, dim))
      return false;
    join(a, dim, b.getAsOpaquePointer(), dim);
    join(b, dim, a.getAsOpaquePointer(), dim);
    return true;
  }
  /// Whether a size of `value`, which stands inside of `loop`, is one of a value outside: the same in each round.
  bool isInvariant(Operation *loop, Value value, int64_t dim) {
    Dimension inside(value.getAsOpaquePointer(), dim);
    return llvm::any_of(llvm::make_range(groups.findLeader(inside), groups.member_end()), [&](Dimension member) {
      Value other = values.lookup(member.first); // null: a loop of a linalg operation
      return other && !loop->isAncestor(other.getParentRegion()->getParentOp());
    });
  }

  /// Sizes of what a loop carries, where each round keeps them. Whether one was found anew.
  bool joinCarried(Operation *op) {
    bool changed = false;
    auto forDimensions = [](Value value, llvm::function_ref<void(int64_t)> visit) {
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          visit(dim);
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
        forDimensions(init, [&, init = init, argument = argument, yielded = yielded, result = result](int64_t dim) {
          if (areEqual(yielded, argument, dim) || areEqual(yielded, init, dim)) {
            changed |= joinNew(init, argument, dim);
            changed |= joinNew(init, result, dim);
          }
        });
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [init, argument, yielded] :
           llvm::zip(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp()->getOperands()))
        forDimensions(init, [&, init = init, argument = argument, yielded = yielded](int64_t dim) {
          if (areEqual(yielded, argument, dim) || areEqual(yielded, init, dim))
            changed |= joinNew(init, argument, dim);
        });
      for (auto [passed, argument, result] :
           llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults()))
        forDimensions(result, [&, passed = passed, argument = argument, result = result](int64_t dim) {
          changed |= joinNew(passed, argument, dim); // of one round
          if (isInvariant(loop, passed, dim))
            changed |= joinNew(passed, result, dim);
        });
    }
    return changed;
  }

  void visit(Operation *op) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
      for (OpOperand &operand : op->getOpOperands()) {
        AffineMap map = linalg.getMatchingIndexingMap(&operand);
        if (!isa<ShapedType>(operand.get().getType()))
          continue;
        for (auto [d, expr] : llvm::enumerate(map.getResults()))
          if (auto loop = dyn_cast<AffineDimExpr>(expr))
            join(operand.get(), d, op, loop.getPosition());
      }
      for (auto [result, init] : llvm::zip(op->getResults(), linalg.getDpsInits()))
        joinAll(result, init);
      return;
    }
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
      for (auto [result, init] : llvm::zip(op->getResults(), destination.getDpsInits()))
        joinAll(result, init);
      return;
    }
    if (auto dim = dyn_cast<tensor::DimOp>(op)) {
      if (std::optional<int64_t> index = dim.getConstantIndex())
        join(dim.getSource(), *index, dim.getResult().getAsOpaquePointer(), -1);
    } else if (auto dim = dyn_cast<memref::DimOp>(op)) {
      if (std::optional<int64_t> index = dim.getConstantIndex())
        join(dim.getSource(), *index, dim.getResult().getAsOpaquePointer(), -1);
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      for (auto [d, size] : llvm::enumerate(empty.getMixedSizes()))
        joinSize(empty, d, size);
    } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
      auto extent = generate.getDynamicExtents().begin();
      for (int64_t d = 0; d < generate.getType().getRank(); ++d)
        if (generate.getType().isDynamicDim(d))
          joinSize(generate, d, *extent++);
    } else if (isa<tensor::CastOp>(op)) {
      joinAll(op->getResult(0), op->getOperand(0));
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      // The sides agree: what broadcasts a dynamic size looks so, and nothing tells that the result has one size.
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty())
          for (auto [result, yielded] : llvm::zip(op->getResults(), region->front().getTerminator()->getOperands()))
            joinAll(result, yielded);
    } else if (op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1) {
      for (Value operand : op->getOperands())
        joinAll(op->getResult(0), operand);
    }
  }

  llvm::EquivalenceClasses<Dimension> groups;
  SmallVector<std::pair<Dimension, int64_t>> constants;
  DenseMap<void *, Value> values; // by their pointers in `groups`
};

/// Assigns the sizes of one function and writes its attributes.
class Namer {
public:
  explicit Namer(func::FuncOp function)
      : function(function), context(function.getContext()), builder(context), groups(function) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      addShape(argument);
    Operation *end = function.front().getTerminator();
    SmallVector<bool> arrays;
    for (Value result : end->getOperands()) {
      addShape(result);
      arrays.push_back(isa<ShapedType>(result.getType()));
    }
    SmallVector<Attribute> maps;
    for (auto &shape : shapes)
      maps.push_back(AffineMapAttr::get(AffineMap::get(0, leaders.size(), shape, context)));
    function->setAttr(tilewright::shapesAttr, builder.getArrayAttr(maps));
    function->setAttr(tilewright::arrayResultsAttr, builder.getDenseBoolArrayAttr(arrays));
    for (auto [value, dim, symbol] : results)
      tie(value, dim, symbol);
    for (auto [index, leader] : llvm::enumerate(leaders))
      if (std::optional<int64_t> constant = groups.constantOf(leader))
        equalities.push_back(getAffineSymbolExpr(index, context) - *constant);
    if (!equalities.empty())
      function->setAttr(tilewright::constraintsAttr,
                        IntegerSetAttr::get(IntegerSet::get(0, leaders.size(), equalities,
                                                            SmallVector<bool>(equalities.size(), true))));
  }

private:
  void addShape(Value value) {
    SmallVector<AffineExpr> &shape = shapes.emplace_back();
    auto type = dyn_cast<ShapedType>(value.getType());
    if (!type || !type.hasRank())
      return;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d)) {
        shape.push_back(getAffineConstantExpr(type.getDimSize(d), context));
        continue;
      }
      Dimension leader = groups.find(value, d);
      auto known = llvm::find(leaders, leader);
      unsigned symbol = known - leaders.begin();
      if (known == leaders.end()) {
        leaders.push_back(leader);
        if (!isa<BlockArgument>(value))
          results.push_back({value, d, symbol});
      }
      shape.push_back(getAffineSymbolExpr(symbol, context));
    }
  }

  /// A size of a result that is an affine function of the arguments' sizes becomes an equality.
  void tie(Value value, int64_t dim, unsigned symbol) {
    Block *entry = &function.front();
    auto isArgument = [&](Value v, std::optional<int64_t> d, ValueBoundsConstraintSet &) {
      auto argument = dyn_cast<BlockArgument>(v);
      return argument && argument.getOwner() == entry && d;
    };
    AffineMap bound;
    ValueDimList operands;
    if (failed(ValueBoundsConstraintSet::computeBound(bound, operands, presburger::BoundType::EQ, {value, dim},
                                                      isArgument)))
      return;
    SmallVector<AffineExpr> dims, symbols;
    for (auto [index, operand] : llvm::enumerate(operands)) {
      auto argument = dyn_cast<BlockArgument>(operand.first);
      if (!argument || argument.getOwner() != entry || !operand.second)
        return;
      AffineExpr size = shapes[argument.getArgNumber()][*operand.second];
      (index < bound.getNumDims() ? dims : symbols).push_back(size);
    }
    AffineExpr expr = bound.getResult(0).replaceDimsAndSymbols(dims, symbols);
    equalities.push_back(getAffineSymbolExpr(symbol, context) - expr);
  }

  struct ResultSize {
    Value value;
    int64_t dim;
    unsigned symbol;
  };
  func::FuncOp function;
  MLIRContext *context;
  Builder builder;
  SizeGroups groups;
  SmallVector<Dimension> leaders; // one a symbol
  SmallVector<SmallVector<AffineExpr>> shapes;
  SmallVector<ResultSize> results;
  SmallVector<AffineExpr> equalities;
};

} // namespace

void NameSizes::runOnOperation() {
  for (func::FuncOp function : tilewright::publicFunctions(getOperation()))
    if (function.getBody().hasOneBlock())
      Namer(function).run();
}
