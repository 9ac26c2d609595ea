//===- FusionGroups.cpp - What is computed together -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Places of what each outermost nest of a kernel computes.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/FusionGroups.h"
#include "core/Analysis/Settings.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/Explain.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace tilewright;

/// Whether `op` computes elements: it is no constant, and no arithmetic of indices and conditions.
static bool computes(Operation *op) {
  if (isa<tile::MmaOp, tile::MultiplyOp>(op))
    return true;
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::ConstantLike>() || op->getNumResults() != 1)
    return false;
  auto isPlace = [](Type type) {
    return getElementTypeOrSelf(type).isIndex() || getElementTypeOrSelf(type).isInteger(1);
  };
  return !isPlace(op->getResult(0).getType()) && !llvm::all_of(op->getOperandTypes(), isPlace);
}

/// Lines and columns of the program in `location`.
static void addPlaces(Location location, std::set<std::pair<unsigned, unsigned>> &places) {
  location->walk([&](Location each) {
    if (auto place = dyn_cast<FileLineColLoc>(each))
      places.insert({place.getLine(), place.getColumn()});
    return WalkResult::advance();
  });
}

void tilewright::explainFusionGroups(ModuleOp module) {
  DecisionLog *log = DecisionLog::of(module.getContext());
  if (!log)
    return;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(kernelAttr) || function.isExternal())
      continue;
    llvm::json::Array groups;
    for (Operation &nest : function.getOps()) {
      std::set<std::pair<unsigned, unsigned>> places;
      nest.walk([&](Operation *op) {
        if (op != &nest && computes(op))
          addPlaces(op->getLoc(), places);
      });
      llvm::json::Array group;
      for (auto [line, column] : places)
        group.push_back(llvm::formatv("{0}:{1}", line, column).str());
      if (!group.empty())
        groups.push_back(std::move(group));
    }
    llvm::json::Object record{{"kernel", function.getName()}, {"groups", std::move(groups)}};
    log->add("fusion-groups", function.getLoc(), std::move(record));
  }
}
