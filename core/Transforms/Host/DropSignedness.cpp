//===- DropSignedness.cpp - Integers of launches have no sign -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Signs of integer types inside of launches are dropped; manifests keep them for callers.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/LaneOps.h"

namespace tilewright {
#define GEN_PASS_DEF_DROPSIGNEDNESS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

/// Whether a value of `function` has a type with a sign. Few have one, and a search of all attributes takes long.
static bool hasSigns(func::FuncOp function) {
  llvm::DenseMap<Type, bool> known;
  auto isSigned = [&](Type type) {
    auto [entry, isNew] = known.try_emplace(type, false);
    if (isNew)
      type.walk([&](IntegerType each) { entry->second |= !each.isSignless(); });
    return entry->second;
  };
  return function
      ->walk([&](Operation *op) {
        bool found = llvm::any_of(op->getResultTypes(), isSigned);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            found |= llvm::any_of(block.getArgumentTypes(), isSigned);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct DropSignedness : tilewright::impl::DropSignednessBase<DropSignedness> {
  void runOnOperation() override {
    AttrTypeReplacer replacer;
    replacer.addReplacement([](IntegerType type) -> Type {
      return type.isSignless() ? type : IntegerType::get(type.getContext(), type.getWidth());
    });
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(tilewright::launchAttr) || !hasSigns(function))
        continue;
      replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                            /*replaceTypes=*/true);
      // What brought a number from one sign to the other does nothing now.
      function.walk([](UnrealizedConversionCastOp cast) {
        if (cast->getNumOperands() != 1 || cast->getNumResults() != 1 ||
            cast.getOperand(0).getType() != cast.getResult(0).getType())
          return;
        cast.getResult(0).replaceAllUsesWith(cast.getOperand(0));
        cast.erase();
      });
    }
  }
};
} // namespace
