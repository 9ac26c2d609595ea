//===- WidenOperands.cpp - Operands that no unit takes as they are --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which type, and the nests that fill the buffers.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/WidenOperands.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Settings.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/Transforms/Contraction/PaddedOperands.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// `c` with its 8-bit floats as `wide`.
static Contraction widened(const Contraction &c, Type wide) {
  Contraction result = c;
  for (ContractionOperand *operand : {&result.a, &result.b})
    if (isFloat8(operand->element))
      operand->element = wide;
  return result;
}

static bool isTaken(const Contraction &c, const TargetDescription &chip) {
  const NumericFreedom freedom{/*fast=*/false, Settings::of(c.c.op).mayReassociate()};
  return llvm::any_of(chip.units(), [&](const MatrixUnit &unit) { return takesElements(unit, c, freedom); });
}

/// Whether each element of A and B is in more than one product.
static bool isUsedAgain(const Contraction &c) {
  auto many = [&](ArrayRef<unsigned> dims) {
    return llvm::any_of(dims, [&](unsigned dim) { return c.nest.tripCounts[dim].value_or(assumedExtent) > 1; });
  };
  return many(c.m) && many(c.n);
}

/// A buffer like `memref` in front of `root`, and the nest that fills it.
static Value widenArray(Value memref, Type wide, AffineForOp root) {
  OpBuilder b(root);
  Location loc = root.getLoc();
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> dynamic, extents(type.getRank());
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      dynamic.push_back(extents[d] = memref::DimOp::create(b, loc, memref, d));
  Value buffer = memref::AllocOp::create(b, loc, MemRefType::get(type.getShape(), wide), dynamic);
  SmallVector<Value> indices = elementLoops(b, loc, type.getShape(), extents);
  Value element = AffineLoadOp::create(b, loc, memref, indices);
  AffineStoreOp::create(b, loc, arith::ExtFOp::create(b, loc, wide, element), buffer, indices);
  return buffer;
}

bool tilewright::widenOperands(const Contraction &c, const TargetDescription &chip) {
  MLIRContext *context = c.accumulator.getContext();
  SmallVector<const ContractionOperand *> narrow;
  for (const ContractionOperand *operand : {&c.a, &c.b})
    if (isFloat8(operand->element))
      narrow.push_back(operand);
  if (narrow.empty() || !c.accumulator.isF32() || !isUsedAgain(c) || isTaken(c, chip))
    return false;
  Type wide;
  for (Type type : {Type(Float16Type::get(context)), Type(BFloat16Type::get(context))})
    if (!wide && isTaken(widened(c, type), chip))
      wide = type;
  auto mayReplace = [](const ContractionOperand *operand) {
    return cast<MemRefType>(operand->access.memref.getType()).getLayout().isIdentity() &&
           llvm::all_of(operand->access.op->getUsers(), llvm::IsaPred<arith::ExtFOp>);
  };
  if (!wide || !llvm::all_of(narrow, mayReplace))
    return false;

  llvm::SmallDenseMap<Value, Value> buffers;
  PaddedOperands padded;
  AffineForOp root = Nest(c.nest).root();
  for (const ContractionOperand *operand : narrow) {
    Value &buffer = buffers[operand->access.memref];
    if (!buffer) {
      root.emitRemark() << "operand " << (operand == &c.a ? "A" : "B") << " of a contraction is widened to " << wide
                        << " in a buffer: no unit of the chip computes " << operand->element;
      std::optional<PaddedArray> array = findPadding(operand->access.memref, root);
      buffer = widenArray(array ? array->source : operand->access.memref, wide, root);
      OpBuilder b(root);
      if (array)
        buffer = padArray(b, *array, buffer);
      if (array)
        padded.passedBy.push_back(*array);
    }
    auto load = cast<AffineLoadOp>(operand->access.op);
    OpBuilder b(load);
    Value element =
        AffineLoadOp::create(b, load.getLoc(), buffer, load.getAffineMap(), load.getMapOperands()).getResult();
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      user->setOperand(0, element);
    load.erase();
  }
  padded.eraseBuffers();
  return true;
}
