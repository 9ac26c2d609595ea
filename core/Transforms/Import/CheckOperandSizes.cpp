//===- CheckOperandSizes.cpp - Sizes that operations take to be equal -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An operation on two tensors takes their sizes to be equal. Where one of them
/// is made of data (a slice of a size that is read, the result of a branch whose
/// sides differ), nobody has compared them, and a loop over one would leave the
/// other:
///
///   %s = tensor.extract_slice %a[0] [%n] [1]         %n is read from an array
///   tile.require_size %n, %dim                       %dim = tensor.dim %b, 0
///   %r = linalg.add ins(%s, %b)
///
/// tensor.expand_shape takes a size to be the product of several others, which is
/// compared where the size is one of an argument.
///
/// A check stands where the size becomes known, at the start of the function
/// where it follows from the arguments: between two nests it would part their
/// kernels. Of an operation in a branch or loop it stands in there, since nobody
/// asks for the size where the operation does not run.
///
/// cf.assert is compared in the same way: %p, as a number, with 1. One in the body of a linalg.generic holds where it
/// does for all elements, which a reduction finds out before the operation. An assertion is compared after the
/// operations that do what they do whether it holds or not.
///
/// With `--check-indices` indices made of data are compared with their arrays, too (CheckIndices.h).
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/IndexChecks.h"
#include "core/Analysis/Signature.h"
#include "core/Analysis/SizeGroups.h"
#include "core/Transforms/Import/CheckIndices.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKOPERANDSIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

struct CheckOperandSizes : tilewright::impl::CheckOperandSizesBase<CheckOperandSizes> {
  void runOnOperation() override;
};

/// The demands of one public function.
class DemandChecker {
public:
  explicit DemandChecker(func::FuncOp function)
      : function(function), builder(function.getContext()), groups(function), dominance(function) {
    if (auto maps = function->getAttrOfType<ArrayAttr>(shapesAttr))
      for (Attribute map : maps)
        shapes.push_back(cast<AffineMapAttr>(map).getValue());
  }

  void run() {
    for (const SizeDemand &demand : groups.demands())
      for (Dimension side : {demand.a, demand.b})
        if (!isKnown(side))
          check(demand, side);
    function.walk([&](tensor::ExpandShapeOp op) {
      for (auto [d, group] : llvm::enumerate(op.getReassociationIndices()))
        checkExpansion(op, d, group);
    });
  }

private:
  bool isEntryArgument(Dimension d) {
    auto argument = dyn_cast<BlockArgument>(d.first);
    return argument && argument.getOwner() == &function.front() && d.second >= 0;
  }
  bool isKnown(Dimension side);
  void check(const SizeDemand &demand, Dimension side);
  void checkExpansion(tensor::ExpandShapeOp op, int64_t d, ArrayRef<int64_t> group);
  void require(Location loc, Value size, Value required, SmallVector<Operation *> &done);
  Dimension first(Dimension side, Operation *op);
  Value sizeOf(Dimension d) {
    return d.second < 0 ? d.first : builder.createOrFold<tensor::DimOp>(function.getLoc(), d.first, d.second);
  }
  void moveToStart(Value value);
  void insertBehind(Value value, Operation *op);

  func::FuncOp function;
  OpBuilder builder;
  SizeGroups groups;
  DominanceInfo dominance;
  SmallVector<AffineMap> shapes;
  DenseMap<Dimension, SmallVector<Operation *>> checks; // by group of definitions
  DenseMap<std::pair<Dimension, Dimension>, SmallVector<Operation *>> pairs;
};

} // namespace

/// Whether `side` is, by definition, a constant, a size of an argument, or an affine function of such sizes that
/// `name-sizes` has made an equality: all of them are compared before the call begins.
bool DemandChecker::isKnown(Dimension side) {
  if (groups.constantDefined(side) ||
      llvm::any_of(groups.membersDefined(side), [&](Dimension d) { return isEntryArgument(d); }))
    return true;
  Operation *end = function.front().getTerminator();
  bool hasSymbol = llvm::any_of(groups.members(side), [&](Dimension d) {
    return isEntryArgument(d) || (d.second >= 0 && llvm::is_contained(end->getOperands(), d.first));
  });
  if (!hasSymbol || shapes.empty())
    return false;
  auto variable = side.second < 0 ? ValueBoundsConstraintSet::Variable(side.first)
                                  : ValueBoundsConstraintSet::Variable(side.first, side.second);
  return sizeOfArguments(variable, function, shapes).has_value();
}

/// Of what is equal to `side` by definition, the value that is there before all others that `op` can see.
Dimension DemandChecker::first(Dimension side, Operation *op) {
  auto isBefore = [&](Value a, Value b) {
    if (Operation *def = b.getDefiningOp())
      return dominance.properlyDominates(a, def);
    return a != b && dominance.properlyDominates(a, &b.getParentBlock()->front());
  };
  Dimension best = side;
  for (Dimension member : groups.membersDefined(side))
    if (isBefore(member.first, best.first) && dominance.properlyDominates(member.first, op))
      best = member;
  return best;
}

/// What computes `value` moves to the start of the function if it needs nothing but arguments.
void DemandChecker::moveToStart(Value value) {
  llvm::SetVector<Operation *> slice;
  std::function<bool(Value)> collect = [&](Value each) {
    Operation *op = each.getDefiningOp();
    if (!op)
      return cast<BlockArgument>(each).getOwner() == &function.front();
    if (slice.contains(op))
      return true;
    bool always = op->getBlock() == &function.front(); // what a branch guards stays after it
    if (!always || !isPure(op) || op->getNumRegions() != 0 || !llvm::all_of(op->getOperands(), collect))
      return false;
    slice.insert(op);
    return true;
  };
  if (collect(value))
    for (Operation *op : llvm::reverse(slice))
      op->moveBefore(&function.front(), function.front().begin());
}

/// From here on `value` is known, and `op` runs.
void DemandChecker::insertBehind(Value value, Operation *op) {
  Block *block = op->getBlock();
  if (value.getParentBlock() != block && value.getParentRegion()->isProperAncestor(block->getParent()))
    builder.setInsertionPointToStart(block);
  else
    builder.setInsertionPointAfterValue(value);
}

void DemandChecker::require(Location loc, Value size, Value required, SmallVector<Operation *> &done) {
  done.push_back(tile::RequireSizeOp::create(builder, loc, size, required, IntegerAttr(), IntegerAttr()));
}

/// Compares `side`, which is not known, with the size that all of its group must have.
void DemandChecker::check(const SizeDemand &demand, Dimension side) {
  Location loc = demand.op->getLoc();
  // What a side of a branch or the body of a loop gives out is asked for there.
  Block *block = side.first.getParentBlock();
  bool inside = demand.op->isProperAncestor(block->getParentOp()) || block->getParentOp() == demand.op;
  Operation *user = inside ? block->getTerminator() : demand.op;
  auto isDone = [&](ArrayRef<Operation *> checks) {
    return llvm::any_of(checks, [&](Operation *check) { return dominance.properlyDominates(check, user); });
  };
  Dimension here = first(side, user);
  SmallVector<Dimension> members = groups.members(side);
  auto argument = llvm::find_if(members, [&](Dimension d) { return isEntryArgument(d); });
  std::optional<int64_t> constant = groups.constantOf(side);
  if (argument != members.end() || constant) {
    SmallVector<Operation *> &done = checks[groups.findDefined(side)];
    if (isDone(done))
      return;
    moveToStart(here.first);
    insertBehind(here.first, user);
    Value required = constant ? arith::ConstantIndexOp::create(builder, loc, *constant) : sizeOf(*argument);
    return require(loc, sizeOf(here), required, done);
  }
  // Nobody knows the size of the group: the two of this operation are compared, where both are there.
  bool isSecond = side == demand.b;
  if (isSecond && !isKnown(demand.a))
    return; // done for the first
  Dimension other = first(isSecond ? demand.a : demand.b, user);
  SmallVector<Operation *> &done = pairs[{groups.findDefined(side), groups.findDefined(other)}];
  if (isDone(done))
    return;
  auto follows = [&](Value later, Value earlier) {
    insertBehind(later, user);
    Block *block = builder.getInsertionBlock();
    return builder.getInsertionPoint() != block->end() &&
           dominance.properlyDominates(earlier, &*builder.getInsertionPoint());
  };
  // Values of the two sides of a branch are compared by what has made them one group.
  if (follows(here.first, other.first) || follows(other.first, here.first))
    require(loc, sizeOf(here), sizeOf(other), done);
}

/// Whether the product of `sizes` is the size of dimension `d` of what `op` expands, whatever the arguments are.
static bool isProduct(tensor::ExpandShapeOp op, int64_t d, ArrayRef<OpFoldResult> sizes) {
  using Bounds = ValueBoundsConstraintSet;
  int64_t factor = 1;
  SmallVector<Value> dynamic;
  for (OpFoldResult size : sizes) {
    std::optional<int64_t> number = getConstantIntValue(size);
    factor *= number.value_or(1);
    if (!number)
      dynamic.push_back(cast<Value>(size));
  }
  if (dynamic.size() > 1)
    return false; // no affine expression
  Builder b(op.getContext());
  AffineExpr expr = dynamic.empty() ? b.getAffineConstantExpr(factor) : b.getAffineSymbolExpr(0) * factor;
  FailureOr<bool> equal = Bounds::areEqual(
      Bounds::Variable(AffineMap::get(0, dynamic.size(), expr), ValueRange(dynamic)), Bounds::Variable(op.getSrc(), d));
  return succeeded(equal) && *equal;
}

/// Compares dimension `d`, which is one of an argument's, with the product of those that it becomes: it is the caller
/// who may be wrong. At the start of the function, where the product follows from the arguments.
void DemandChecker::checkExpansion(tensor::ExpandShapeOp op, int64_t d, ArrayRef<int64_t> group) {
  SmallVector<OpFoldResult> all = op.getMixedOutputShape(), sizes;
  for (int64_t dim : group)
    sizes.push_back(all[dim]);
  bool known = llvm::all_of(sizes, [](OpFoldResult size) { return getConstantIntValue(size).has_value(); });
  SmallVector<Dimension> members = groups.membersDefined({op.getSrc(), d});
  auto argument = llvm::find_if(members, [&](Dimension each) { return isEntryArgument(each); });
  bool isDynamic = op.getSrcType().isDynamicDim(d);
  if ((isDynamic && argument == members.end()) || (known && !isDynamic) || isProduct(op, d, sizes))
    return;
  if (auto size = dyn_cast<Value>(sizes.front());
      size && sizes.size() == 1 && groups.findDefined({size, -1}) == groups.findDefined({op.getSrc(), d}))
    return;
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  Value product;
  for (OpFoldResult size : sizes) {
    Value each = getValueOrCreateConstantIndexOp(builder, loc, size);
    product = product ? builder.createOrFold<arith::MulIOp>(loc, product, each) : each;
  }
  Value given = sizeOf(argument != members.end() ? *argument : Dimension{op.getSrc(), d});
  for (Value each : {given, product})
    moveToStart(each);
  // At the start where both are known there, else before the operation.
  builder.setInsertionPoint(op);
  Block *start = &function.front();
  if (given.getParentBlock() == start && product.getParentBlock() == start) {
    Operation *computed = product.getDefiningOp();
    Value later = computed && dominance.properlyDominates(given, computed) ? product : given;
    builder.setInsertionPointAfterValue(later);
  }
  tile::RequireSizeOp::create(builder, loc, product, given, IntegerAttr(), IntegerAttr());
}

/// The operations of a body that a value of it is computed by, in their order; nothing where one of them has effects.
static std::optional<SetVector<Operation *>> computationOf(Value value, Block &body) {
  SetVector<Operation *> operations;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return op->getBlock() == &body; };
  if (failed(getBackwardSlice(value, &operations, options)))
    return std::nullopt;
  for (Operation *op : operations)
    if (!isMemoryEffectFree(op))
      return std::nullopt;
  return operations;
}

/// Moves an assertion from the body of a linalg.generic on tensors in front of it, where it says that its condition
/// holds for all elements:
///
///   linalg.generic ins(%a) {                      %all = linalg.generic ins(%a) outs(true) { and of all (%x >= 0) }
///     cf.assert (%x >= 0)           becomes       cf.assert (tensor.extract %all[])
///     ... }                                       linalg.generic ins(%a) { ... }
///
/// Inputs that only the results need are left out where the others give the extents of all loops. A condition that is
/// the same for all elements is computed once, and holds where there are no elements.
static void assertBefore(cf::AssertOp op) {
  auto generic = dyn_cast<linalg::GenericOp>(op->getParentOp());
  if (!generic || !generic.hasPureTensorSemantics())
    return;
  std::optional<SetVector<Operation *>> computation = computationOf(op.getArg(), *generic.getBody());
  if (!computation)
    return;
  MLIRContext *context = op.getContext();
  OpBuilder builder(generic);
  Location loc = op.getLoc();
  auto ofElement = [&](Value value) { return value.getParentBlock() == generic.getBody() && !value.getDefiningOp(); };
  bool varies =
      ofElement(op.getArg()) || llvm::any_of(*computation, [&](Operation *each) {
        return isa<linalg::IndexOp>(each) || each->getNumRegions() > 0 || llvm::any_of(each->getOperands(), ofElement);
      });
  if (!varies) {
    IRMapping mapping;
    for (Operation *each : *computation)
      builder.clone(*each, mapping);
    Value holds = mapping.lookupOrDefault(op.getArg());
    for (Range &loop : cast<linalg::LinalgOp>(*generic).createLoopRanges(builder, loc)) {
      if (std::optional<int64_t> size = getConstantIntValue(loop.size); size && *size > 0)
        continue;
      Value size = getValueOrCreateConstantIndexOp(builder, loc, loop.size);
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size, zero);
      holds = arith::OrIOp::create(builder, loc, holds, isEmpty);
    }
    cf::AssertOp::create(builder, loc, holds, op.getMsg());
    op.erase();
    return;
  }
  auto isNeeded = [&](OpOperand &operand) {
    BlockArgument element = generic.getMatchingBlockArgument(&operand);
    return element == op.getArg() || llvm::any_of(*computation, [&](Operation *each) {
             return llvm::is_contained(each->getOperands(), Value(element)) || each->getNumRegions() > 0;
           });
  };
  SmallVector<OpOperand *> read;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : generic->getOpOperands())
    if (isNeeded(operand)) {
      read.push_back(&operand);
      maps.push_back(generic.getMatchingIndexingMap(&operand));
    }
  if (maps.empty() || !inversePermutation(concatAffineMaps(maps, context))) {
    read = llvm::map_to_vector(generic->getOpOperands(), [](OpOperand &operand) { return &operand; });
    maps = generic.getIndexingMapsArray();
  }
  maps.push_back(AffineMap::get(generic.getNumLoops(), 0, context));

  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value start = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, builder.getI1Type());
  start = linalg::FillOp::create(builder, loc, yes, start).getResult(0);
  SmallVector<Value> inputs = llvm::map_to_vector(read, [](OpOperand *operand) { return operand->get(); });
  SmallVector<utils::IteratorType> loops(generic.getNumLoops(), utils::IteratorType::reduction);
  auto all = linalg::GenericOp::create(
      builder, loc, start.getType(), inputs, start, maps, loops, [&](OpBuilder &inner, Location, ValueRange elements) {
        IRMapping mapping;
        for (auto [operand, element] : llvm::zip(read, elements))
          mapping.map(generic.getMatchingBlockArgument(operand), element);
        for (Operation *each : *computation)
          inner.clone(*each, mapping);
        Value both = arith::AndIOp::create(inner, loc, elements.back(), mapping.lookupOrDefault(op.getArg()));
        linalg::YieldOp::create(inner, loc, both);
      });
  Value holds = tensor::ExtractOp::create(builder, loc, all.getResult(0), ValueRange{});
  cf::AssertOp::create(builder, loc, holds, op.getMsg());
  op.erase();
}

/// Whether `op` does what it does whatever data is: it reads and writes elements at the numbers of iterations, or at
/// indices that it keeps inside of the array, and has no size and no condition that follows from data.
static bool isSafeForAllData(Operation *op) {
  if (!isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto isInside = [](tensor::ExtractOp read) {
    return llvm::all_of(llvm::enumerate(read.getIndices()), [&](auto each) {
      auto [d, index] = each;
      auto type = read.getTensor().getType();
      return index.template getDefiningOp<linalg::IndexOp>() || matchPattern(index, m_Constant()) ||
             (!type.isDynamicDim(d) && isClamped(index, type.getDimSize(d) - 1));
    });
  };
  return !op->walk([&](Operation *inner) {
              if (auto read = dyn_cast<tensor::ExtractOp>(inner))
                return isInside(read) ? WalkResult::advance() : WalkResult::interrupt();
              bool isOfValues =
                  isa<arith::ArithDialect, math::MathDialect>(inner->getDialect()) && isSpeculatable(inner);
              bool isOfSizes = llvm::all_of(inner->getOperandTypes(), [](Type type) { return !type.isIndex(); });
              return isOfValues || (isOfSizes && isa<linalg::GenericOp, linalg::YieldOp, linalg::IndexOp,
                                                     tensor::EmptyOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                                                     tensor::ExtractSliceOp, tensor::InsertSliceOp>(inner))
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Moves an assertion of what an operation on tensors computes after what follows it and does not rely on it, with what
/// computes its condition alone: between two nests it would part their kernels.
static void assertLater(cf::AssertOp op) {
  SmallVector<Operation *> condition{op};
  bool isComputed = false;
  for (unsigned i = 0; i < condition.size(); ++i)
    for (Value operand : condition[i]->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      isComputed |= isa_and_nonnull<linalg::GenericOp>(definition);
      if (definition && definition->getBlock() == op->getBlock() && operand.hasOneUse() &&
          !isa<RankedTensorType>(operand.getType()) && isMemoryEffectFree(definition) &&
          definition->getNumRegions() == 0)
        condition.push_back(definition);
    }
  if (!isComputed)
    return;
  Operation *place = op->getNextNode();
  while (isSafeForAllData(place))
    place = place->getNextNode();
  for (Operation *each : llvm::reverse(condition))
    each->moveBefore(place);
}

/// What the program asserts is a demand like those of its operations: the call ends with the same status, where
/// upstream's lowering ends the process. Failure inside of what several cores or lanes run at once, which cannot end
/// the call.
static LogicalResult requireAssertions(func::FuncOp function) {
  SmallVector<cf::AssertOp> assertions;
  auto collect = [&] {
    assertions.clear();
    function.walk([&](cf::AssertOp op) { assertions.push_back(op); });
  };
  collect();
  llvm::for_each(assertions, assertBefore);
  collect();
  llvm::for_each(llvm::reverse(assertions), assertLater);
  for (cf::AssertOp op : assertions) {
    for (Operation *parent = op->getParentOp(); parent != function; parent = parent->getParentOp())
      if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(parent))
        return op.emitError("unsupported operation: an assertion inside of '")
               << parent->getName() << "', from which a call cannot be left; assert in front of it";
    OpBuilder builder(op);
    Value one = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
    Value holds = arith::IndexCastUIOp::create(builder, op.getLoc(), builder.getIndexType(), op.getArg());
    auto check = tile::RequireSizeOp::create(builder, op.getLoc(), holds, one, IntegerAttr(), IntegerAttr());
    check->setAttr(messageAttr, op.getMsgAttr());
    op.erase();
  }
  return success();
}

void CheckOperandSizes::runOnOperation() {
  for (func::FuncOp function : publicFunctions(getOperation())) {
    if (failed(requireAssertions(function)) ||
        (getOperation()->hasAttr(checkIndicesAttr) && failed(checkIndices(function))))
      return signalPassFailure();
    if (function.getBody().hasOneBlock())
      DemandChecker(function).run();
  }
}
