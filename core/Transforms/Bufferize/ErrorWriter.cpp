//===- ErrorWriter.cpp - Bounds beside values -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accesses, arrays, arithmetic.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/ErrorWriter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilewright;

static constexpr const char *unsureName = "tilewright_unsure";

bool tilewright::isNarrowFloat(Type type) {
  auto floating = dyn_cast<FloatType>(type);
  return floating && floating.getWidth() < 64;
}

void tilewright::forAllElements(OpBuilder &builder, Location loc, ValueRange extents,
                                llvm::function_ref<void(ValueRange)> body) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto inside = [&](OpBuilder &inner, Location, ValueRange point) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
    body(extents.empty() ? ValueRange() : point);
  };
  if (extents.empty())
    affine::buildAffineLoopNest(builder, loc, {0}, {1}, {1}, inside);
  else
    affine::buildAffineLoopNest(builder, loc, SmallVector<Value>(extents.size(), zero), extents,
                                SmallVector<int64_t>(extents.size(), 1), inside);
}

SmallVector<Value> tilewright::extentsOf(OpBuilder &builder, Location loc, Value array) {
  SmallVector<Value> extents;
  for (int64_t dim = 0; dim < cast<MemRefType>(array.getType()).getRank(); ++dim)
    extents.push_back(memref::DimOp::create(builder, loc, array, dim));
  return extents;
}

/// Uses of `value`, which keeps its type, see it as f64.
Value ErrorWriter::widen(Value value) {
  auto extended = arith::ExtFOp::create(builder, value.getLoc(), wide, value);
  value.replaceAllUsesExcept(extended, extended);
  origins[extended] = value;
  types[extended] = cast<FloatType>(value.getType());
  return extended;
}

/// A narrow float becomes an f64, as do the elements of an array of them that carry errors.
void ErrorWriter::widenInPlace(Value value) {
  auto array = dyn_cast<MemRefType>(value.getType());
  if (isNarrowFloat(value.getType()) || (array && carries(value) && isNarrowFloat(array.getElementType())))
    value.setType(companionType(value.getType()));
}

LogicalResult ErrorWriter::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (failed(visit(&op)))
      return failure();
  return success();
}

/// What `value` decides cannot be said of anything where it is not sure.
void ErrorWriter::suspect(Value value) {
  Twin twin = finished(value);
  if (twin.isExact())
    return;
  Location loc = value.getLoc();
  if (!unsure) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = MemRefType::get({}, wide);
    unsure = memref::GlobalOp::create(builder, loc, unsureName, builder.getStringAttr("private"), type,
                                      builder.getUnitAttr(), /*constant=*/false, IntegerAttr());
  }
  Value flag = memref::GetGlobalOp::create(builder, loc, unsure.getType(), unsureName);
  Value before = memref::LoadOp::create(builder, loc, flag, ValueRange());
  Value now = rules.unknownWhere(rules.isUnsure(twin), {before, before, {}, {}}).bound;
  memref::StoreOp::create(builder, loc, now, flag, ValueRange());
}

/// A load or store of `array` in place of that of `op`.
static Operation *accessLike(OpBuilder &builder, Operation *op, Value array, Value stored) {
  if (auto load = dyn_cast<affine::AffineLoadOp>(op))
    return affine::AffineLoadOp::create(builder, op->getLoc(), array, load.getAffineMap(), load.getMapOperands());
  if (auto store = dyn_cast<affine::AffineStoreOp>(op))
    return affine::AffineStoreOp::create(builder, op->getLoc(), stored, array, store.getAffineMap(),
                                         store.getMapOperands());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return memref::LoadOp::create(builder, op->getLoc(), array, load.getIndices());
  return memref::StoreOp::create(builder, op->getLoc(), stored, array, cast<memref::StoreOp>(op).getIndices());
}

LogicalResult ErrorWriter::visitAccess(Operation *op, const ArrayAccess &access) {
  Value array = access.array;
  SmallVector<Value> companions = carries(array) ? valuesOf(twins.lookup(array)) : SmallVector<Value>();
  if (access.stored) {
    for (Value index : access.indices)
      if (carries(index))
        suspect(index);
    if (companions.empty()) { // exact
      if (isNarrowFloat(cast<MemRefType>(array.getType()).getElementType()))
        op->setOperand(0, arith::TruncFOp::create(builder, op->getLoc(),
                                                  cast<MemRefType>(array.getType()).getElementType(), access.stored));
      return success();
    }
    for (auto [companion, value] : llvm::zip_equal(companions, handed(access.stored, companions.size())))
      accessLike(builder, op, companion, value);
    return success();
  }
  Value result = op->getResult(0);
  builder.setInsertionPointAfter(op);
  if (companions.empty()) {
    Value read = isNarrowFloat(result.getType()) ? widen(result) : result;
    Value unknown;
    for (Value index : access.indices)
      if (Twin twin = finished(index); !twin.isExact()) {
        Value condition = rules.isUnsure(twin);
        unknown = unknown ? arith::OrIOp::create(builder, op->getLoc(), unknown, condition) : condition;
      }
    if (unknown)
      twins[read] = rules.unknownWhere(unknown, {});
    return success();
  }
  if (isNarrowFloat(result.getType()))
    result.setType(wide);
  SmallVector<Value> values;
  for (Value companion : companions)
    values.push_back(accessLike(builder, op, companion, {})->getResult(0));
  Twin twin = twinOf(values);
  if (FloatType type = types.lookup(result); type && !twin.isSum())
    twin = rules.loaded(result, twin, type);
  for (Value index : access.indices)
    if (Twin from = finished(index); !from.isExact())
      twin = rules.unknownWhere(rules.isUnsure(from), rules.finished(result, twin, typeOf(result)));
  twins[result] = twin;
  return success();
}

void ErrorWriter::visitAllocation(Operation *op) {
  Value array = op->getResult(0);
  if (!carries(array))
    return;
  widenInPlace(array);
  builder.setInsertionPointAfter(op);
  SmallVector<Value> arrays;
  for (unsigned i = 0; i < companions(array); ++i) {
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(cast<MemRefType>(companionType(array.getType())));
    arrays.push_back(copy->getResult(0));
  }
  twins[array] = twinOf(arrays);
}

/// A constant array that carries errors, since what takes it takes others that do: a copy in f64.
void ErrorWriter::visitGlobal(memref::GetGlobalOp op) {
  Value array = op.getResult();
  if (!carries(array))
    return;
  builder.setInsertionPointAfter(op);
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(array.getType());
  Value copy = memref::AllocOp::create(builder, loc, cast<MemRefType>(companionType(type)));
  SmallVector<Value> arrays;
  for (unsigned i = 0; i < companions(array); ++i)
    arrays.push_back(memref::AllocOp::create(builder, loc, cast<MemRefType>(companionType(type))));
  array.replaceAllUsesWith(copy);
  SmallVector<Value> all{copy};
  llvm::append_range(all, arrays);
  forAllElements(builder, loc, extentsOf(builder, loc, array), [&](ValueRange point) {
    Value value = affine::AffineLoadOp::create(builder, loc, array, point);
    if (isNarrowFloat(value.getType()))
      value = arith::ExtFOp::create(builder, loc, wide, value);
    Value zero = rules.number(0);
    affine::AffineStoreOp::create(builder, loc, value, copy, point);
    for (auto [index, companion] : llvm::enumerate(arrays))
      affine::AffineStoreOp::create(builder, loc, index == 2 ? rules.magnitudeOf(value) : zero, companion, point);
  });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op->getBlock()->getTerminator());
  for (Value value : all)
    memref::DeallocOp::create(builder, loc, value);
  origins[copy] = array;
  types[copy] = types.lookup(array);
  twins[copy] = twinOf(arrays);
}

/// A rounding that the program asks for: exact where all that the operand may be round to one number.
LogicalResult ErrorWriter::visitTruncation(arith::TruncFOp op) {
  Type narrow = op.getType();
  Value operand = op.getIn(), result = op.getResult();
  FloatType type = cast<FloatType>(narrow);
  builder.setInsertionPointAfter(op);
  Twin twin = finished(operand);
  Location loc = op.getLoc();
  auto round = [&](Value value) -> Value {
    return arith::ExtFOp::create(builder, loc, wide, arith::TruncFOp::create(builder, loc, narrow, value).getResult());
  };
  Value rounded = round(operand);
  result.replaceAllUsesWith(rounded);
  origins[rounded] = result;
  types[rounded] = type;
  if (flow.scalesLater(op)) {
    twins[rounded] = rules.roundedBeforeScaling(rounded, twin, type);
  } else if (!twin.isExact()) {
    Value error = rules.error(twin);
    Value up = arith::SubFOp::create(builder, loc, round(arith::AddFOp::create(builder, loc, operand, error)), rounded);
    Value down =
        arith::SubFOp::create(builder, loc, round(arith::SubFOp::create(builder, loc, operand, error)), rounded);
    Value moved = arith::MaximumFOp::create(builder, loc, rules.magnitudeOf(up), rules.magnitudeOf(down));
    // Both ends may be one infinity.
    Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, moved, moved);
    moved = arith::SelectOp::create(builder, loc, isNone, rules.number(0), moved);
    twins[rounded] = {moved, moved, {}, {}};
  }
  return success();
}

LogicalResult ErrorWriter::visitBitcast(arith::BitcastOp op) {
  Value in = op.getIn(), out = op.getOut();
  Twin twin = finished(in);
  if (FloatType type = types.lookup(in); type && isNarrowFloat(type))
    op.getInMutable().set(arith::TruncFOp::create(builder, op.getLoc(), type, in));
  builder.setInsertionPointAfter(op);
  Value read = isNarrowFloat(out.getType()) ? widen(out) : out;
  if (!twin.isExact())
    twins[read] = rules.unknownWhere(rules.isUnsure(twin), {});
  return success();
}

LogicalResult ErrorWriter::visitArithmetic(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = dyn_cast<FloatAttr>(constant.getValue()); value && isNarrowFloat(value.getType())) {
      APFloat number = value.getValue();
      bool inexact;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
      constant.setValueAttr(FloatAttr::get(wide, number));
      constant.getResult().setType(wide);
    }
    return success();
  }
  if (auto cast = dyn_cast<arith::TruncFOp>(op); cast && isa<FloatType>(cast.getType()))
    return visitTruncation(cast);
  if (auto cast = dyn_cast<arith::BitcastOp>(op))
    return visitBitcast(cast);
  if (auto cast = dyn_cast<arith::ExtFOp>(op); cast && isa<FloatType>(cast.getType())) {
    // Both sides are f64.
    cast.getResult().replaceAllUsesWith(cast.getIn());
    cast.erase();
    return success();
  }
  if (op->getNumResults() != 1) {
    for (Value result : op->getResults())
      if (carries(result) || isNarrowFloat(result.getType()))
        return op->emitError("is no operation whose errors can be bounded");
    return success();
  }
  Value result = op->getResult(0);
  if (isNarrowFloat(result.getType()))
    result.setType(wide);
  if (!carries(result))
    return success();
  builder.setInsertionPointAfter(op);
  bool grows = isa<arith::AddFOp, arith::SubFOp, arith::SelectOp, math::FmaOp>(op);
  SmallVector<ErrorRules::Operand> operands;
  for (Value operand : op->getOperands())
    operands.push_back({operand, grows ? twins.lookup(operand) : finished(operand)});
  if (isa<math::FmaOp>(op))
    for (unsigned i : {0, 1})
      operands[i].twin = finished(operands[i].value);
  Twin twin = rules.result(op, operands, typeOf(result),
                           [&](unsigned operand) { return flow.isShared(op->getOpOperand(operand)); });
  if (!twin.isExact())
    twins[result] = twin;
  return success();
}

/// One of two arrays: so are their companions.
void ErrorWriter::visitArrayChoice(arith::SelectOp op) {
  Value result = op.getResult();
  if (carries(op.getCondition()))
    suspect(op.getCondition());
  if (!carries(result))
    return;
  widenInPlace(result);
  builder.setInsertionPointAfter(op);
  SmallVector<Value> arrays;
  for (auto [first, second] :
       llvm::zip_equal(valuesOf(twins.lookup(op.getTrueValue())), valuesOf(twins.lookup(op.getFalseValue()))))
    arrays.push_back(arith::SelectOp::create(builder, op.getLoc(), op.getCondition(), first, second));
  twins[result] = twinOf(arrays);
}

LogicalResult ErrorWriter::visit(Operation *op) {
  builder.setInsertionPoint(op);
  if (auto access = arrayAccess(op))
    return visitAccess(op, *access);
  if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
    visitAllocation(op);
    return success();
  }
  if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
    for (Value companion : valuesOf(twins.lookup(dealloc.getMemref())))
      memref::DeallocOp::create(builder, op->getLoc(), companion);
    return success();
  }
  if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
    visitGlobal(global);
    return success();
  }
  if (Value viewed = viewedArray(op)) {
    Value result = op->getResult(0);
    if (!carries(result))
      return success();
    widenInPlace(result);
    builder.setInsertionPointAfter(op);
    SmallVector<Value> arrays;
    for (Value companion : valuesOf(twins.lookup(viewed))) {
      Operation *copy = builder.clone(*op);
      copy->setOperand(0, companion);
      copy->getResult(0).setType(companionType(result.getType()));
      arrays.push_back(copy->getResult(0));
    }
    twins[result] = twinOf(arrays);
    return success();
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    visitCall(call);
    return success();
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return visitLoop(loop);
  if (isa<scf::IfOp, affine::AffineIfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op))
    return visitBranch(op);
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<BaseMemRefType>(select.getType())) {
    visitArrayChoice(select);
    return success();
  }
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(op))
    return visitArithmetic(op);
  auto touches = [&](Value value) { return isNarrowFloat(value.getType()) || carries(value); };
  bool reads = !isa<memref::DimOp>(op) && llvm::any_of(op->getOperands(), touches);
  if (op->getNumRegions() || llvm::any_of(op->getResults(), touches) ||
      (reads && !isa<cf::AssertOp>(op) && op->getName().getDialectNamespace() != "tile"))
    return op->emitError("is no operation whose errors can be bounded");
  return success();
}
