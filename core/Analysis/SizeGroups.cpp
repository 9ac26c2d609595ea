//===- SizeGroups.cpp - Dimensions that must be equal ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One walk for what operations say, then rounds for what follows for loops,
/// branches and maxima until nothing is new.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/SizeGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

SizeGroups::SizeGroups(func::FuncOp function) {
  function.walk([&](Operation *op) { visit(op); });
  // Inner loops tell of outer ones, and the other way round.
  for (bool changed = true; changed;) {
    changed = false;
    Products products;
    function.walk([&](Operation *op) {
      changed |= conclude(op);
      changed |= multiply(op, products);
    });
  }
}

//===-- Groups ------------------------------------------------------------===//

/// Makes the dimension known, with its constant if it has one.
SizeGroups::Key SizeGroups::key(Dimension dimension) {
  auto [value, dim] = dimension;
  Key key(value.getAsOpaquePointer(), dim);
  if (all.classes.contains(key))
    return key;
  std::optional<int64_t> constant;
  if (dim < 0)
    constant = getConstantIntValue(value);
  else if (auto type = cast<ShapedType>(value.getType()); !type.isDynamicDim(dim))
    constant = type.getDimSize(dim);
  for (Groups *groups : {&all, &defined}) {
    groups->classes.insert(key);
    if (constant)
      groups->constants.push_back({key, *constant});
  }
  return key;
}

std::optional<int64_t> SizeGroups::constantOf(Groups &groups, Dimension dimension) {
  Key leader = groups.classes.getOrInsertLeaderValue(key(dimension));
  for (auto [member, value] : groups.constants)
    if (groups.classes.getLeaderValue(member) == leader)
      return value;
  return std::nullopt;
}

SmallVector<Dimension> SizeGroups::members(Groups &groups, Dimension dimension) {
  SmallVector<Dimension> result;
  for (Key member : llvm::make_range(groups.classes.findLeader(key(dimension)), groups.classes.member_end()))
    result.push_back(original(member));
  return result;
}

bool SizeGroups::areEqual(Groups &groups, Dimension a, Dimension b) {
  return groups.classes.isEquivalent(key(a), key(b));
}

bool SizeGroups::join(Groups &groups, Dimension a, Dimension b) {
  if (areEqual(groups, a, b))
    return false;
  groups.classes.unionSets(key(a), key(b));
  return true;
}

/// Nothing has to be said of dimensions that have constants as sizes: the types agree.
static bool isStatic(Dimension d) {
  return d.second >= 0 && !cast<ShapedType>(d.first.getType()).isDynamicDim(d.second);
}

bool SizeGroups::define(Dimension a, Dimension b) {
  if (isStatic(a) && isStatic(b))
    return false;
  bool news = join(all, a, b);
  return join(defined, a, b) || news;
}

bool SizeGroups::demand(Operation *op, Dimension a, Dimension b) {
  if ((isStatic(a) && isStatic(b)) || areEqual(defined, a, b) || !known.insert({op, key(a), key(b)}).second)
    return false;
  demanded.push_back({op, a, b});
  join(all, a, b);
  return true;
}

bool SizeGroups::defineOneOf(Operation *op, Dimension result, Dimension first, Dimension second) {
  bool news = define(result, first);
  return demand(op, first, second) || news;
}

void SizeGroups::defineAll(Value a, Value b) {
  auto first = dyn_cast<ShapedType>(a.getType()), second = dyn_cast<ShapedType>(b.getType());
  if (first && second && first.hasRank() && second.hasRank() && first.getRank() == second.getRank())
    for (int64_t i = 0; i < first.getRank(); ++i)
      define({a, i}, {b, i});
}

void SizeGroups::defineSizes(Value shaped, ArrayRef<OpFoldResult> sizes) {
  for (auto [d, size] : llvm::enumerate(sizes))
    if (auto value = dyn_cast<Value>(size))
      define({shaped, int64_t(d)}, {value, -1});
}

SmallVector<SizeDemand> SizeGroups::demands() {
  SmallVector<SizeDemand> result;
  for (const SizeDemand &each : demanded) {
    auto isMemRef = [](Dimension d) { return isa<BaseMemRefType>(d.first.getType()); };
    if (!areEqual(defined, each.a, each.b) && !isMemRef(each.a) && !isMemRef(each.b))
      result.push_back(each);
  }
  return result;
}

//===-- What operations say -----------------------------------------------===//

void SizeGroups::visit(Operation *op) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    SmallVector<std::optional<Dimension>> loops(linalg.getNumLoops());
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<ShapedType>(operand.get().getType()))
        continue;
      for (auto [d, expr] : llvm::enumerate(linalg.getMatchingIndexingMap(&operand).getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        if (!loop)
          continue;
        Dimension here(operand.get(), d);
        if (std::optional<Dimension> &first = loops[loop.getPosition()])
          demand(op, *first, here);
        else
          first = here;
      }
    }
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    int64_t dim = 0;
    for (auto [d, size] : llvm::enumerate(insert.getMixedSizes())) {
      if (dropped[d])
        continue;
      if (auto value = dyn_cast<Value>(size))
        demand(op, {insert.getSource(), dim}, {value, -1});
      ++dim;
    }
  }
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (auto [result, init] : llvm::zip(op->getResults(), destination.getDpsInits()))
      defineAll(result, init);
  } else if (isa<tensor::DimOp, memref::DimOp>(op)) {
    if (std::optional<int64_t> index = getConstantIntValue(op->getOperand(1));
        index && *index >= 0 && *index < cast<ShapedType>(op->getOperand(0).getType()).getRank())
      define({op->getOperand(0), *index}, {op->getResult(0), -1});
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    defineSizes(empty, empty.getMixedSizes());
  } else if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    auto extent = generate.getDynamicExtents().begin();
    for (int64_t d = 0; d < generate.getType().getRank(); ++d)
      if (generate.getType().isDynamicDim(d))
        define({generate, d}, {*extent++, -1});
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<OpFoldResult> sizes;
    for (auto [d, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped[d])
        sizes.push_back(size);
    defineSizes(slice, sizes);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    defineSizes(expand, expand.getMixedOutputShape());
    SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
    for (auto [d, group] : llvm::enumerate(groups))
      if (group.size() == 1)
        define({expand.getSrc(), int64_t(d)}, {expand, group[0]});
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
    for (auto [d, group] : llvm::enumerate(groups))
      if (group.size() == 1)
        define({collapse.getSrc(), group[0]}, {collapse, int64_t(d)});
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    auto from = dyn_cast<RankedTensorType>(cast.getSource().getType()), to = dyn_cast<RankedTensorType>(cast.getType());
    for (int64_t d = 0; from && to && d < to.getRank(); ++d)
      if (from.isDynamicDim(d) && !to.isDynamicDim(d))
        demand(op, {cast, d}, {cast.getSource(), d});
      else
        define({cast, d}, {cast.getSource(), d});
  } else if (op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
             isa<RankedTensorType>(op->getOperand(0).getType())) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    for (int64_t d = 0; type && d < type.getRank(); ++d) {
      define({op->getResult(0), d}, {op->getOperand(0), d});
      for (Value operand : op->getOperands().drop_front())
        demand(op, {op->getOperand(0), d}, {operand, d});
    }
  }
}

//===-- What follows ------------------------------------------------------===//

/// Whether a size inside of `loop` is one of a value outside: the same in each round.
bool SizeGroups::isInvariant(Operation *loop, Dimension inside) {
  return llvm::any_of(members(all, inside), [&](Dimension member) {
    return !loop->isAncestor(member.first.getParentRegion()->getParentOp());
  });
}

/// Whether `no` is taken where it is not 1, and `yes` is what a broadcast makes of it where it is: a dynamic size that
/// may be 1 is written so, and nothing else tells that the result is of one size.
bool SizeGroups::isBroadcast(Value condition, Dimension yes, Dimension no) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || !matchPattern(compare.getRhs(), m_One()))
    return false;
  if (compare.getPredicate() == arith::CmpIPredicate::ne)
    std::swap(yes, no);
  else if (compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  auto broadcast = yes.first.getDefiningOp<linalg::LinalgOp>();
  return broadcast && areEqual(all, {compare.getLhs(), -1}, no) &&
         llvm::any_of(broadcast.getIndexingMapsArray(),
                      [](AffineMap map) { return llvm::any_of(map.getResults(), llvm::IsaPred<AffineConstantExpr>); });
}

bool SizeGroups::concludeOfSides(Operation *op, Value condition, Value result, Value yes, Value no) {
  bool news = false;
  auto type = dyn_cast<RankedTensorType>(result.getType());
  for (int64_t d = 0; type && d < type.getRank(); ++d)
    if (areEqual(all, {yes, d}, {no, d}) || isBroadcast(condition, {yes, d}, {no, d}))
      news |= defineOneOf(op, {result, d}, {no, d}, {yes, d});
  return news;
}

bool SizeGroups::conclude(Operation *op) {
  bool news = false;
  auto forDimensions = [](Value value, llvm::function_ref<void(int64_t)> visit) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        visit(dim);
  };
  // What a loop carries is of one size where each round keeps it.
  auto carried = [&](Value init, Value argument, Value yielded, int64_t dim) {
    if (!areEqual(all, {yielded, dim}, {argument, dim}) && !areEqual(all, {yielded, dim}, {init, dim}))
      return false;
    news |= defineOneOf(op, {argument, dim}, {init, dim}, {yielded, dim});
    return true;
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults()))
      forDimensions(init, [&, init = init, argument = argument, yielded = yielded, result = result](int64_t dim) {
        if (carried(init, argument, yielded, dim))
          news |= define({init, dim}, {result, dim});
      });
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [init, argument, yielded] :
         llvm::zip(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp()->getOperands()))
      forDimensions(init, [&, init = init, argument = argument, yielded = yielded](int64_t dim) {
        carried(init, argument, yielded, dim);
      });
    for (auto [passed, argument, result] :
         llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults()))
      forDimensions(result, [&, passed = passed, argument = argument, result = result](int64_t dim) {
        news |= define({passed, dim}, {argument, dim}); // of one round
        if (isInvariant(loop, {passed, dim}))
          news |= define({passed, dim}, {result, dim});
      });
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      news |= concludeOfSides(op, branch.getCondition(), result, branch.thenYield().getOperand(i),
                              branch.elseYield().getOperand(i));
  } else if (auto select = dyn_cast<arith::SelectOp>(op); select && select.getCondition().getType().isInteger(1)) {
    news |=
        concludeOfSides(op, select.getCondition(), select.getResult(), select.getTrueValue(), select.getFalseValue());
  } else if (isa<arith::MaxUIOp, arith::MaxSIOp, arith::MinUIOp, arith::MinSIOp>(op) &&
             op->getResult(0).getType().isIndex()) {
    Dimension a(op->getOperand(0), -1), b(op->getOperand(1), -1);
    if (areEqual(all, a, b))
      news |= defineOneOf(op, {op->getResult(0), -1}, a, b);
  }
  return news;
}

/// Products of the same sizes are equal: those of index values and of the dimensions that a view makes one.
bool SizeGroups::multiply(Operation *op, Products &products) {
  bool news = false;
  auto define = [&](Dimension result, ArrayRef<Dimension> factors) {
    Product product{1, {}};
    for (Dimension factor : factors) {
      Key leader = defined.classes.getOrInsertLeaderValue(key(factor));
      if (std::optional<int64_t> number = constantDefined(factor)) {
        product.first *= *number;
      } else if (auto known = products.factors.find(leader); known != products.factors.end()) {
        product.first *= known->second.first;
        product.second.insert(product.second.end(), known->second.second.begin(), known->second.second.end());
      } else {
        product.second.push_back(leader);
      }
    }
    llvm::sort(product.second);
    if (product.first == 1 && product.second.size() == 1)
      news |= this->define(original(product.second.front()), result);
    auto [first, isNew] = products.values.try_emplace(product, result);
    if (!isNew)
      news |= this->define(first->second, result);
    products.factors.try_emplace(defined.classes.getOrInsertLeaderValue(key(result)), std::move(product));
  };
  if (auto product = dyn_cast<arith::MulIOp>(op); product && product.getType().isIndex()) {
    define({product.getResult(), -1}, {Dimension(product.getLhs(), -1), Dimension(product.getRhs(), -1)});
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    for (auto [d, group] : llvm::enumerate(collapse.getReassociationIndices()))
      if (group.size() > 1 && collapse.getResultType().isDynamicDim(d))
        define({collapse.getResult(), int64_t(d)},
               llvm::map_to_vector(group, [&](int64_t dim) { return Dimension(collapse.getSrc(), dim); }));
  }
  return news;
}

//===-- Sizes of arguments ------------------------------------------------===//

std::optional<AffineExpr> tilewright::sizeOfArguments(const ValueBoundsConstraintSet::Variable &size,
                                                      func::FuncOp function, ArrayRef<AffineMap> shapes) {
  Block *entry = &function.front();
  auto isArgument = [&](Value value, std::optional<int64_t> d, ValueBoundsConstraintSet &) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == entry && d;
  };
  AffineMap bound;
  ValueDimList operands;
  if (failed(ValueBoundsConstraintSet::computeBound(bound, operands, presburger::BoundType::EQ, size, isArgument)))
    return std::nullopt;
  SmallVector<AffineExpr> dims, symbols;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    auto argument = dyn_cast<BlockArgument>(operand.first);
    if (!argument || argument.getOwner() != entry || !operand.second)
      return std::nullopt;
    AffineExpr extent = shapes[argument.getArgNumber()].getResult(*operand.second);
    (index < bound.getNumDims() ? dims : symbols).push_back(extent);
  }
  return bound.getResult(0).replaceDimsAndSymbols(dims, symbols);
}
