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
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
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

/// Whether what `op` gives is the same for every nest: constants and what is made of them alone.
static bool isConstant(Operation *op) {
  return op->getNumRegions() == 0 && isPure(op) && llvm::all_of(op->getOperands(), [](Value each) {
           Operation *def = each.getDefiningOp();
           return def && isConstant(def);
         });
}

/// Whether a value of this type carries elements from one nest to another, as arrays, indices and tokens do not.
static bool carriesElements(Type type) {
  return isa<tile::FragmentType, VectorType, FloatType, IntegerType>(type) && !getElementTypeOrSelf(type).isIndex();
}

/// Lines and columns of the program in `location`.
static void addPlaces(Location location, std::set<std::pair<unsigned, unsigned>> &places) {
  location->walk([&](Location each) {
    if (auto place = dyn_cast<FileLineColLoc>(each))
      places.insert({place.getLine(), place.getColumn()});
    return WalkResult::advance();
  });
}

namespace {
/// One outermost nest.
struct OutermostNest {
  std::set<std::pair<unsigned, unsigned>> computed, all; // places of what computes, of every op
};
} // namespace

/// The nests of a kernel that compute, in order. Outermost ops that hand elements on in registers are one.
static SmallVector<OutermostNest> nestsOf(func::FuncOp kernel) {
  llvm::EquivalenceClasses<Operation *> joined;
  for (Operation &op : kernel.getOps()) {
    joined.insert(&op);
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && carriesElements(operand.getType()) && !isConstant(def))
        joined.unionSets(def, &op);
  }
  llvm::MapVector<Operation *, OutermostNest> nests;
  for (Operation &op : kernel.getOps()) {
    OutermostNest &nest = nests[joined.getLeaderValue(&op)];
    op.walk([&](Operation *inner) {
      addPlaces(inner->getLoc(), nest.all);
      if (computes(inner) && !isConstant(inner))
        addPlaces(inner->getLoc(), nest.computed);
    });
  }
  SmallVector<OutermostNest> result;
  for (auto &[op, nest] : nests)
    if (!nest.computed.empty())
      result.push_back(std::move(nest));
  return result;
}

/// `places` as "line:column".
static llvm::json::Array namesOf(const std::set<std::pair<unsigned, unsigned>> &places) {
  llvm::json::Array names;
  for (auto [line, column] : places)
    names.push_back(llvm::formatv("{0}:{1}", line, column).str());
  return names;
}

llvm::StringMap<llvm::json::Array> tilewright::statementsOf(ModuleOp module) {
  llvm::StringMap<llvm::json::Array> result;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(kernelAttr) && !function.isExternal())
      for (const OutermostNest &nest : nestsOf(function))
        result[function.getName()].push_back(namesOf(nest.all));
  return result;
}

void tilewright::explainFusionGroups(ModuleOp module, const llvm::StringMap<llvm::json::Array> &statements) {
  DecisionLog *log = DecisionLog::of(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(kernelAttr) || function.isExternal())
      continue;
    llvm::json::Array groups;
    for (const OutermostNest &nest : nestsOf(function))
      groups.push_back(namesOf(nest.computed));
    llvm::json::Object record{{"kernel", function.getName()}, {"groups", std::move(groups)}};
    if (auto found = statements.find(function.getName()); found != statements.end())
      record["statements"] = llvm::json::Array(found->second);
    log->add("fusion-groups", function.getLoc(), std::move(record));
  }
}
