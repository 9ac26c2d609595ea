//===- LowerTileToVector.cpp - Fragments of one lane become vectors -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts tile ops on fragments whose layout has one lane, and the scf ops
/// that carry them, to vectors; matrix units become calls by record.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Lower/Vectors/RereadScalars.h"
#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTILETOVECTOR
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

//===-- Values ------------------------------------------------------------===//

namespace {
using Results = FailureOr<SmallVector<Value>>;

/// Writes what stands for the operations of a module from its start to its end, each before the operation that it
/// replaces; these go at the end. Each operation is looked at once, and nothing is asked of those that hold no
/// fragments.
class TileLowering {
public:
  TileLowering(ModuleOp module, const TargetDescription *target)
      : module(module), target(target), builder(module.getContext()) {}

  LogicalResult run();

private:
  LogicalResult lower(Region &region);
  LogicalResult lower(Operation *op);
  LogicalResult lowerCarrier(Operation *op);
  Results resultsOf(Operation *op);
  void takeArguments(Block &block);
  Type convert(Type type);
  Value value(Value old) { return values.lookupOrDefault(old); }
  SmallVector<Value> valuesOf(ValueRange old) {
    return llvm::map_to_vector(old, [&](Value each) { return value(each); });
  }
  void replace(Operation *op, ValueRange results);

  // Operations by their kind: what stands for their results.
  Results lower(tile::ZeroOp op);
  Results lower(tile::IndexOp op);
  Results lower(tile::BroadcastOp op);
  Results lower(tile::ConvertOp op);
  Results lower(tile::JoinOp op);
  Results lower(tile::SplitOp op);
  Results lower(tile::TransposeOp op);
  Results lower(tile::LoadOp op);
  Results lower(tile::StoreOp op);
  Results lower(tile::MapOp op);
  Results lower(tile::ReduceOp op);
  Results lower(tile::MmaOp op);

  ModuleOp module;
  const TargetDescription *target; // null where no operation asks the chip
  OpBuilder builder;
  SharedValues subscripts; // those of accesses are shared
  AccessPlans plans;
  IRMapping values;
  llvm::DenseMap<Type, Type> types;  // of fragments
  SmallVector<Operation *> replaced; // in the order of the program
  SmallVector<BlockArgument> arguments;
};
} // namespace

/// The type of what stands for a value, null where nothing can.
Type TileLowering::convert(Type type) {
  if (isa<tile::TokenType>(type))
    return builder.getI1Type();
  auto fragment = dyn_cast<tile::FragmentType>(type);
  if (!fragment)
    return type;
  auto [known, isNew] = types.try_emplace(type);
  if (isNew && fragment.getLayout().getNumLanes() == 1)
    known->second = fragment.isOpaque() ? registerValueType(UnknownLoc::get(type.getContext()), fragment, *target)
                                        : Type(vectorTypeOf(fragment));
  return known->second;
}

void TileLowering::replace(Operation *op, ValueRange results) {
  for (auto [old, result] : llvm::zip_equal(op->getResults(), results))
    if (old.getType() == result.getType())
      old.replaceAllUsesWith(result);
    else
      values.map(old, result);
  replaced.push_back(op);
}

/// `vector` holds the positions `held`; the vector of those that `wanted` lists.
static Value pick(OpBuilder &builder, Location loc, Value vector, ArrayRef<Position> held, ArrayRef<Position> wanted) {
  if (held.size() == 1)
    return repeatGroup(builder, loc, vector, wanted.size());
  SmallVector<int64_t> order;
  for (Position position : wanted)
    order.push_back(llvm::find(held, position) - held.begin());
  return vector::ShuffleOp::create(builder, loc, vector, vector, order);
}

static SmallVector<Value> one(Value value) { return {value}; }

Results TileLowering::lower(tile::ZeroOp op) {
  if (!op.getType().isOpaque())
    return one(arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(vectorTypeOf(op.getType()))));
  FailureOr<Value> value = lowerRegisterZero(builder, op, *target, module);
  return failed(value) ? Results(failure()) : one(*value);
}

Results TileLowering::lower(tile::IndexOp op) {
  VectorType type = vectorTypeOf(op.getType());
  SmallVector<Attribute> numbers;
  for (Position position : op.getType().positions())
    numbers.push_back(
        builder.getIntegerAttr(type.getElementType(), op.getDimension() == 0 ? position.row : position.col));
  return one(arith::ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(type, numbers)));
}

Results TileLowering::lower(tile::BroadcastOp op) {
  auto source = dyn_cast<tile::FragmentType>(op.getSource().getType());
  if (!source)
    return one(vector::BroadcastOp::create(builder, op.getLoc(), vectorTypeOf(op.getType()), value(op.getSource())));
  SmallVector<Position> wanted = op.getType().positions();
  for (Position &position : wanted)
    position = {source.getRows() == 1 ? 0 : position.row, source.getCols() == 1 ? 0 : position.col};
  return one(pick(builder, op.getLoc(), value(op.getSource()), source.positions(), wanted));
}

Results TileLowering::lower(tile::ConvertOp op) {
  return one(pick(builder, op.getLoc(), value(op.getSource()), op.getSource().getType().positions(),
                  op.getType().positions()));
}

Results TileLowering::lower(tile::JoinOp op) {
  auto type = cast<VectorType>(convert(op.getType()));
  Value all = arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(type));
  int64_t count = type.getNumElements() / int64_t(op.getParts().size());
  for (auto [i, part] : llvm::enumerate(op.getParts()))
    all = vector::InsertStridedSliceOp::create(builder, op.getLoc(), value(part), all, int64_t(i) * count, 1);
  return one(all);
}

Results TileLowering::lower(tile::SplitOp op) {
  SmallVector<Value> parts;
  auto type = cast<VectorType>(convert(op.getParts().front().getType()));
  for (int64_t i = 0; i < int64_t(op.getParts().size()); ++i)
    parts.push_back(vector::ExtractStridedSliceOp::create(builder, op.getLoc(), value(op.getWhole()),
                                                          i * type.getNumElements(), type.getNumElements(), 1));
  return parts;
}

Results TileLowering::lower(tile::TransposeOp op) {
  return transposeVectors(builder, op.getLoc(), valuesOf(op.getInputs()));
}

Results TileLowering::lower(tile::LoadOp op) {
  if (!op.getBounded().empty())
    return op.emitOpError() << "is bounded by its array, which loads of lanes alone check";
  FailureOr<Value> value = op.getType().isOpaque() ? lowerRegisterLoad(builder, op, *target, module)
                                                   : lowerLoad(builder, op, subscripts, plans);
  return failed(value) ? Results(failure()) : one(*value);
}

Results TileLowering::lower(tile::StoreOp op) {
  if (!op.getValue().getType().isOpaque())
    lowerStore(builder, op, value(op.getValue()), subscripts, plans);
  else if (failed(lowerRegisterStore(builder, op, value(op.getValue()), *target, module)))
    return failure();
  return SmallVector<Value>();
}

//===-- Regions -----------------------------------------------------------===//

Results TileLowering::lower(tile::MapOp op) {
  Type first = op.getNumOperands() ? op.getOperand(0).getType() : op.getResult(0).getType();
  int64_t count = cast<tile::FragmentType>(first).getNumElements();
  return vectorizeRegion(builder, op.getLoc(), op.getBody().front(), valuesOf(op.getInputs()), count);
}

/// Halves the reduced dimension until one row of results is left.
Results TileLowering::lower(tile::ReduceOp op) {
  Location loc = op.getLoc();
  tile::FragmentType input = op.getInput().getType(), result = op.getType();
  SmallVector<Position> held = input.positions();
  bool rows = op.getDimension() == 0;
  int64_t reduced = rows ? input.getRows() : input.getCols(), width = result.getNumElements();

  // Order of the elements: index of the reduced dimension outside, result elements inside.
  SmallVector<int64_t> order;
  for (int64_t k = 0; k < reduced; ++k)
    for (Position kept : result.positions()) {
      Position wanted = rows ? Position{k, kept.col} : Position{kept.row, k};
      order.push_back(llvm::find(held, wanted) - held.begin());
    }
  Value current = value(op.getInput());
  if (!llvm::equal(order, llvm::seq<int64_t>(0, held.size())))
    current = vector::ShuffleOp::create(builder, loc, current, current, order);
  auto slice = [&](Value vector, int64_t from, int64_t count) -> Value {
    return vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{from * width},
                                                 ArrayRef<int64_t>{count * width}, ArrayRef<int64_t>{1});
  };
  auto combine = [&](Value left, Value right, int64_t count) {
    return vectorizeRegion(builder, loc, op.getBody().front(), {left, right}, count * width).front();
  };
  Value rest; // one row that an odd count left over
  while (reduced > 1) {
    if (reduced % 2) {
      Value last = slice(current, reduced - 1, 1);
      rest = rest ? combine(rest, last, 1) : last;
    }
    int64_t half = reduced / 2;
    current = combine(slice(current, 0, half), slice(current, half, half), half);
    reduced = half;
  }
  return one(rest ? combine(current, rest, 1) : current);
}

//===-- Matrix units ------------------------------------------------------===//

Results TileLowering::lower(tile::MmaOp op) {
  FailureOr<const MatrixUnit *> unit = requireUnit(op, *target, op.getUnit());
  if (failed(unit))
    return failure();
  SmallVector<Value> besides = valuesOf(op.getScales());
  if (op.getIndex())
    besides.push_back(value(op.getIndex()));
  FailureOr<Value> result =
      callUnit(builder, op, **unit, module, value(op.getA()), value(op.getB()), value(op.getC()), besides);
  return failed(result) ? Results(failure()) : one(*result);
}

//===-- The program -------------------------------------------------------===//

/// Arguments that hold fragments or tokens get others beside them.
void TileLowering::takeArguments(Block &block) {
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    BlockArgument old = block.getArgument(i);
    Type type = convert(old.getType());
    if (!type || type == old.getType())
      continue;
    values.map(old, block.insertArgument(++i, type, old.getLoc()));
    arguments.push_back(old);
  }
}

Results TileLowering::resultsOf(Operation *op) {
  SmallVector<OpFoldResult> folded;
  if (succeeded(op->fold(folded)) && folded.size() == op->getNumResults() && !folded.empty())
    return llvm::map_to_vector(folded, [&](OpFoldResult each) { return value(cast<Value>(each)); });
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<tile::ZeroOp, tile::IndexOp, tile::BroadcastOp, tile::ConvertOp, tile::JoinOp, tile::SplitOp,
            tile::TransposeOp, tile::LoadOp, tile::StoreOp, tile::MapOp, tile::ReduceOp, tile::MmaOp>(
          [&](auto each) { return lower(each); })
      .Default([](Operation *each) -> Results { return each->emitOpError() << "has no form in vectors"; });
}

/// What is no operation of tiles keeps its regions, and carries vectors instead of fragments.
LogicalResult TileLowering::lowerCarrier(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (Value instead = values.lookupOrNull(operand.get()))
      operand.set(instead);
  auto types = llvm::map_to_vector(op->getResultTypes(), [&](Type type) { return convert(type); });
  if (!llvm::equal(types, op->getResultTypes())) {
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
        cast && llvm::equal(types, cast.getInputs().getTypes())) { // a token of a copy that is done
      replace(op, cast.getInputs());
      return success();
    }
    if (!llvm::all_of(types, [](Type type) { return bool(type); }))
      return op->emitOpError() << "carries a fragment that has no form in vectors";
    Operation *instead =
        Operation::create(op->getLoc(), op->getName(), types, op->getOperands(), op->getDiscardableAttrDictionary(),
                          op->getPropertiesStorage(), op->getSuccessors(), op->getNumRegions());
    builder.insert(instead);
    for (auto [to, from] : llvm::zip(instead->getRegions(), op->getRegions()))
      to.takeBody(from);
    replace(op, instead->getResults());
    op = instead;
  }
  for (Region &region : op->getRegions()) {
    if (!isa<FunctionOpInterface>(op))
      for (Block &block : region)
        takeArguments(block);
    if (failed(lower(region)))
      return failure();
  }
  return success();
}

LogicalResult TileLowering::lower(Operation *op) {
  builder.setInsertionPoint(op);
  if (!isa_and_nonnull<tile::TileDialect>(op->getDialect()))
    return lowerCarrier(op);
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (!convert(type))
      return op->emitOpError() << "has a fragment that has no form in vectors";
  for (Value operand : op->getOperands())
    if (isa<tile::FragmentType>(operand.getType()) && !values.contains(operand))
      return op->emitOpError() << "takes a fragment from outside of the function";
  Results results = resultsOf(op);
  if (failed(results))
    return failure();
  replace(op, *results);
  return success();
}

LogicalResult TileLowering::lower(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(lower(&op)))
        return failure();
  return success();
}

LogicalResult TileLowering::run() {
  if (failed(lower(module.getBodyRegion())))
    return failure();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (BlockArgument argument : llvm::reverse(arguments))
    argument.getOwner()->eraseArgument(argument.getArgNumber());
  return success();
}

//===-- Pass --------------------------------------------------------------===//

namespace {
struct LowerTileToVector : tilewright::impl::LowerTileToVectorBase<LowerTileToVector> {
  /// Beside those of the declaration: addresses of fragments in tile registers are pointers.
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerTileToVectorBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect>();
  }

  /// Buffers become memrefs, copies code that is done when it returns; tokens are left as casts for loops to carry.
  LogicalResult lowerBuffers(ModuleOp module, int64_t vectorBytes) {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<tile::AllocOp, tile::FillOp, tile::CopyOp, tile::MultiplyOp, tile::DoneOp, tile::WaitOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
        lowerAlloc(rewriter, alloc);
      } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
        lowerFill(rewriter, fill);
      } else if (isa<tile::WaitOp>(op)) {
        rewriter.eraseOp(op);
      } else {
        if (auto copy = dyn_cast<tile::CopyOp>(op))
          emitCopyAsVectors(rewriter, copy, vectorBytes);
        else if (auto multiply = dyn_cast<tile::MultiplyOp>(op);
                 multiply && failed(emitMultiplyAsLoops(rewriter, multiply)))
          return failure();
        Value done = arith::ConstantIntOp::create(rewriter, op->getLoc(), 1, 1);
        rewriter.replaceOpWithNewOp<UnrealizedConversionCastOp>(op, op->getResult(0).getType(), done);
      }
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasTileOps = false, needsTarget = false;
    module.walk([&](Operation *op) {
      hasTileOps |= isa_and_nonnull<tile::TileDialect>(op->getDialect());
      needsTarget |= isa<tile::MmaOp, tile::CopyOp>(op);
      for (Value value : llvm::concat<const Value>(op->getOperands(), op->getResults()))
        if (auto type = dyn_cast<tile::FragmentType>(value.getType()))
          needsTarget |= type.isOpaque();
    });
    if (!hasTileOps)
      return;
    std::shared_ptr<const TargetDescription> target;
    if (needsTarget) {
      auto found = requireTarget(module);
      if (failed(found))
        return signalPassFailure();
      target = *found;
    }
    hideRereadIndices(module);
    if (failed(lowerBuffers(module, target ? target->vectorRegisters().second : 0)))
      return signalPassFailure();

    if (failed(TileLowering(module, target.get()).run()))
      return signalPassFailure();
  }
};
} // namespace
