//===- PromoteFloats.cpp - Compute in float64, store as written -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference of `tw-run --verify`: scalar arithmetic happens in f64, arrays
/// keep their element types, so each store rounds once. Only what a loop
/// accumulates in memory is kept in a buffer of f64 beside the array.
///
///   %x = affine.load %A[%i] : memref<?xf32>     %x = affine.load ...; %X = arith.extf %x : f32 to f64
///   %y = math.exp %x : f32                      %Y = math.exp %X : f64
///   affine.store %y, %B[%i] : memref<?xf32>     %y = arith.truncf %Y : f64 to f32; affine.store %y ...
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {
#define GEN_PASS_DEF_PROMOTEFLOATS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct PromoteFloats : tilewright::impl::PromoteFloatsBase<PromoteFloats> {
  void runOnOperation() override;
};

bool isNarrow(Type type) {
  auto floating = dyn_cast<FloatType>(type);
  return floating && floating.getWidth() < 64;
}

/// Whether the operation works on values alone, so that its types may change. Others (memory, calls, bit patterns)
/// keep their types, with conversions around them.
bool worksOnValues(Operation *op) {
  if (isa<arith::BitcastOp>(op))
    return false;
  if (isa<affine::AffineForOp, affine::AffineIfOp, affine::AffineYieldOp, affine::AffineParallelOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect>(op->getDialect());
}

class Promoter {
public:
  explicit Promoter(MLIRContext *context) : builder(context), wide(builder.getF64Type()) {}

  void run(func::FuncOp function) {
    SmallVector<Operation *> operations;
    function.walk([&](Operation *op) { operations.push_back(op); });
    // What each keeping operation expects must be known before types change.
    SmallVector<std::pair<OpOperand *, Type>> kept;
    for (Operation *op : operations)
      if (!worksOnValues(op))
        for (OpOperand &operand : op->getOpOperands())
          if (isNarrow(operand.get().getType()))
            kept.push_back({&operand, operand.get().getType()});
    for (Operation *op : operations)
      promote(op);
    for (auto [operand, type] : kept) {
      builder.setInsertionPoint(operand->getOwner());
      operand->set(arith::TruncFOp::create(builder, operand->getOwner()->getLoc(), type, operand->get()));
    }
    for (arith::ExtFOp cast : casts) {
      cast.replaceAllUsesWith(cast.getIn());
      cast.erase();
    }
    casts.clear();
  }

private:
  /// Uses of `value` see it as f64.
  void widen(Value value) {
    auto extended = arith::ExtFOp::create(builder, value.getLoc(), wide, value);
    value.replaceAllUsesExcept(extended, extended);
  }

  void promote(Operation *op) {
    bool values = worksOnValues(op);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments()) {
          if (!isNarrow(argument.getType()))
            continue;
          if (values || !block.isEntryBlock()) {
            argument.setType(wide);
          } else {
            builder.setInsertionPointToStart(&block);
            widen(argument);
          }
        }
    if (!values) {
      builder.setInsertionPointAfter(op);
      for (Value result : op->getResults())
        if (isNarrow(result.getType()))
          widen(result);
      return;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto value = dyn_cast<FloatAttr>(constant.getValue()); value && isNarrow(value.getType())) {
        APFloat number = value.getValue();
        bool inexact;
        number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
        constant.setValueAttr(FloatAttr::get(wide, number));
        constant.getResult().setType(wide);
      }
      return;
    }
    if (auto cast = dyn_cast<arith::ExtFOp>(op)) {
      // Both sides are f64 at the end.
      if (isa<FloatType>(cast.getType())) {
        cast.getResult().setType(wide);
        casts.push_back(cast);
      }
      return;
    }
    if (auto cast = dyn_cast<arith::TruncFOp>(op)) {
      // A rounding that the program asks for.
      if (isNarrow(cast.getType())) {
        builder.setInsertionPointAfter(op);
        widen(cast.getResult());
      }
      return;
    }
    for (Value result : op->getResults())
      if (isNarrow(result.getType()))
        result.setType(wide);
  }

  OpBuilder builder;
  Type wide;
  SmallVector<arith::ExtFOp> casts;
};

Value zero(OpBuilder &builder, Location loc) { return arith::ConstantIndexOp::create(builder, loc, 0); }

/// Whether a loop around `store` repeats it at one address.
bool repeatsAtOneAddress(affine::AffineStoreOp store) {
  for (Operation *parent = store->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp())
    if (auto loop = dyn_cast<affine::AffineForOp>(parent))
      if (!llvm::is_contained(store.getMapOperands(), loop.getInductionVar()))
        return true;
  return false;
}

/// The arrays of narrow floats that loops of `function` update in place, element by element: sums in memory.
SetVector<Value> accumulators(func::FuncOp function) {
  SetVector<Value> found;
  function.walk([&](affine::AffineStoreOp store) {
    Value memref = store.getMemRef();
    bool own = memref.getDefiningOp<memref::AllocOp>() || isa<BlockArgument>(memref);
    if (!own || !isNarrow(store.getMemRefType().getElementType()) || !repeatsAtOneAddress(store))
      return;
    bool read = false;
    for (Operation *user : memref.getUsers()) {
      if (!isa<affine::AffineLoadOp, affine::AffineStoreOp, memref::DimOp, memref::DeallocOp>(user))
        return;
      auto load = dyn_cast<affine::AffineLoadOp>(user);
      read |= load && load.getAffineMap() == store.getAffineMap() && load.getMapOperands() == store.getMapOperands();
    }
    if (read)
      found.insert(memref);
  });
  return found;
}

/// Keeps `memref` in a buffer of f64 throughout `function`, which was promoted before: an array of the caller is copied
/// in at the start and rounded once at the end.
void accumulateInDoubles(func::FuncOp function, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Location loc = memref.getLoc();
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(memref);
  Type wide = builder.getF64Type();
  SmallVector<Value> dynamic, extents;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    extents.push_back(memref::DimOp::create(builder, loc, memref, dim));
    if (type.isDynamicDim(dim))
      dynamic.push_back(extents.back());
  }
  SmallVector<Operation *> accesses;
  for (Operation *user : memref.getUsers())
    if (isa<affine::AffineLoadOp, affine::AffineStoreOp>(user))
      accesses.push_back(user);
  Value doubles = memref::AllocOp::create(builder, loc, MemRefType::get(type.getShape(), wide), ValueRange(dynamic));
  // All elements, one loop a dimension; a loop of one iteration holds an array of rank 0.
  auto forAll = [&](function_ref<void(OpBuilder &, ValueRange)> body) {
    if (extents.empty())
      affine::buildAffineLoopNest(builder, loc, {0}, {1}, {1},
                                  [&](OpBuilder &inner, Location, ValueRange) { body(inner, {}); });
    else
      affine::buildAffineLoopNest(builder, loc, SmallVector<Value>(extents.size(), zero(builder, loc)), extents,
                                  SmallVector<int64_t>(extents.size(), 1),
                                  [&](OpBuilder &inner, Location, ValueRange point) { body(inner, point); });
  };
  if (isa<BlockArgument>(memref)) {
    forAll([&](OpBuilder &inner, ValueRange point) {
      Value value = affine::AffineLoadOp::create(inner, loc, memref, point);
      affine::AffineStoreOp::create(inner, loc, arith::ExtFOp::create(inner, loc, wide, value), doubles, point);
    });
    builder.setInsertionPoint(function.front().getTerminator());
    forAll([&](OpBuilder &inner, ValueRange point) {
      Value value = affine::AffineLoadOp::create(inner, loc, doubles, point);
      Value rounded = arith::TruncFOp::create(inner, loc, type.getElementType(), value);
      affine::AffineStoreOp::create(inner, loc, rounded, memref, point);
    });
  }
  for (Operation *access : accesses) {
    builder.setInsertionPoint(access);
    if (auto load = dyn_cast<affine::AffineLoadOp>(access)) {
      Value value = affine::AffineLoadOp::create(builder, loc, doubles, load.getAffineMap(), load.getMapOperands());
      for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
        if (auto cast = dyn_cast<arith::ExtFOp>(user); cast && cast.getType() == wide) {
          cast.replaceAllUsesWith(value);
          cast.erase();
        }
      if (!load->use_empty())
        load.replaceAllUsesWith(arith::TruncFOp::create(builder, loc, type.getElementType(), value).getResult());
    } else {
      auto store = cast<affine::AffineStoreOp>(access);
      auto rounding = store.getValueToStore().getDefiningOp<arith::TruncFOp>();
      Value value = rounding && rounding.getIn().getType() == wide
                        ? rounding.getIn()
                        : arith::ExtFOp::create(builder, loc, wide, store.getValueToStore()).getResult();
      affine::AffineStoreOp::create(builder, loc, value, doubles, store.getAffineMap(), store.getMapOperands());
    }
    access->erase();
  }
}

} // namespace

void PromoteFloats::runOnOperation() {
  Promoter promoter(&getContext());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    promoter.run(function);
    if (function.getBody().hasOneBlock())
      for (Value memref : accumulators(function))
        accumulateInDoubles(function, memref);
  }
}
