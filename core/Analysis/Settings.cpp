//===- Settings.cpp - What a module is compiled for -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the attributes.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace tilewright;

/// The module that `op` is or stands in; null: there is none.
static mlir::ModuleOp moduleOf(mlir::Operation *op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  return module ? module : op->getParentOfType<mlir::ModuleOp>();
}

Reference tilewright::referenceOf(mlir::Operation *op) {
  mlir::ModuleOp module = moduleOf(op);
  auto kind = module ? module->getAttrOfType<mlir::StringAttr>(referenceAttr) : mlir::StringAttr();
  return llvm::StringSwitch<Reference>(kind ? kind.getValue() : "")
      .Case("values", Reference::Values)
      .Case("bounds", Reference::Bounds)
      .Default(Reference::None);
}

Settings Settings::of(mlir::Operation *op) {
  Settings settings;
  mlir::ModuleOp module = moduleOf(op);
  if (!module)
    return settings;
  if (auto threads = module->getAttrOfType<mlir::IntegerAttr>(threadsAttr))
    settings.threads = std::max<int64_t>(1, threads.getInt());
  if (auto contract = module->getAttrOfType<mlir::StringAttr>(contractAttr))
    settings.contract = llvm::StringSwitch<FloatContract>(contract.getValue())
                            .Case("strict", FloatContract::Strict)
                            .Case("reproducible", FloatContract::Reproducible)
                            .Case("fast", FloatContract::Fast)
                            .Default(FloatContract::Default);
  return settings;
}
