//===- ShareSizes.cpp - One value for sizes that are equal ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `name-sizes` found out about a public function's arguments, brought to
/// the kernels that it calls: sizes of the same name get the same value, so that
/// passes see that loops over them run equally often.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright {
#define GEN_PASS_DEF_SHARESIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// The name of dimension `dim` of `array`, over the public function's sizes; null if it is none of its arguments, or
/// the size is constant.
static AffineExpr nameOf(Value array, int64_t dim, ArrayAttr shapes) {
  auto argument = dyn_cast<BlockArgument>(array);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) || argument.getArgNumber() >= shapes.size())
    return nullptr;
  AffineMap shape = cast<AffineMapAttr>(shapes[argument.getArgNumber()]).getValue();
  if (dim < 0 || dim >= int64_t(shape.getNumResults()) || isa<AffineConstantExpr>(shape.getResult(dim)))
    return nullptr;
  return shape.getResult(dim);
}

/// The same for an index value of the public function.
static AffineExpr nameOf(Value size, ArrayAttr shapes) {
  auto dim = size.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  return index ? nameOf(dim.getSource(), *index, shapes) : AffineExpr();
}

/// Gives the sizes of `kernel`, which `call` alone calls, their names' values.
static void share(func::FuncOp kernel, func::CallOp call, ArrayAttr shapes) {
  llvm::DenseMap<AffineExpr, Value> values;
  for (auto [argument, operand] : llvm::zip(kernel.getArguments(), call.getOperands()))
    if (isa<IndexType>(operand.getType()))
      if (AffineExpr name = nameOf(operand, shapes)) {
        Value shared = values.try_emplace(name, argument).first->second;
        if (shared != argument)
          Value(argument).replaceAllUsesWith(shared);
      }
  for (auto dim : llvm::to_vector(kernel.getOps<memref::DimOp>())) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!argument || !index)
      continue;
    AffineExpr name = nameOf(call.getOperand(argument.getArgNumber()), *index, shapes);
    if (!name)
      continue;
    // The first of a name stands before the others, which are of the same block.
    Value shared = values.try_emplace(name, dim.getResult()).first->second;
    if (shared != dim.getResult()) {
      dim.replaceAllUsesWith(shared);
      dim.erase();
    }
  }
}

namespace {
struct ShareSizes : tilewright::impl::ShareSizesBase<ShareSizes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernel : module.getOps<func::FuncOp>()) {
      std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(kernel, module);
      if (!isKernel(kernel) || !uses || !llvm::hasSingleElement(*uses))
        continue;
      auto call = dyn_cast<func::CallOp>(uses->begin()->getUser());
      auto caller = call ? call->getParentOfType<func::FuncOp>() : func::FuncOp();
      if (auto shapes = caller ? caller->getAttrOfType<ArrayAttr>(shapesAttr) : ArrayAttr())
        share(kernel, call, shapes);
    }
  }
};
} // namespace
