//===- PromoteFloats.cpp - Compute in float64, store as written -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference of `tw-run --verify`: scalar arithmetic happens in f64, arrays
/// keep their element types, so each store rounds once.
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

} // namespace

void PromoteFloats::runOnOperation() {
  Promoter promoter(&getContext());
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal())
      promoter.run(function);
}
