//===- StaticCounts.cpp - Counts of launches before a program runs ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads grids and numbers out of the steps of manifests.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/StaticCounts.h"
#include "tilewright/LaneOps.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
namespace json = llvm::json;

/// Ops that are walked for one launch: tens of milliseconds at most.
static constexpr int64_t walkBudget = 200'000;

OwningOpRef<ModuleOp> tilewright::launchesOf(ModuleOp program) {
  OwningOpRef<ModuleOp> launches(program.clone());
  for (auto function : llvm::make_early_inc_range(launches->getOps<func::FuncOp>()))
    if (!launchShapeOf(function))
      function.erase();
  PassManager passes(launches->getContext());
  passes.addPass(createLowerAffinePass());
  return succeeded(passes.run(*launches)) ? std::move(launches) : nullptr;
}

/// Calls `work` with each step that launches a kernel, wherever it stands in a manifest.
static void forEachLaunch(json::Value &manifest, llvm::function_ref<void(json::Object &)> work) {
  if (json::Array *list = manifest.getAsArray())
    for (json::Value &each : *list)
      forEachLaunch(each, work);
  json::Object *object = manifest.getAsObject();
  if (!object)
    return;
  if (object->getString("launch"))
    return work(*object);
  for (auto &each : *object)
    forEachLaunch(each.second, work);
}

namespace {
/// Counts launches by the steps of manifests, equal ones once.
class StepCounter {
public:
  /// `launches` holds the kernels, with affine ops lowered.
  StepCounter(ModuleOp launches, const TargetDescription &chip) : launches(launches), chip(chip) {}

  /// Null where the grid or a number is no constant.
  const LaunchCounts *of(const json::Object &step) {
    auto function = launches.lookupSymbol<func::FuncOp>(*step.getString("launch"));
    const json::Array *extents = step.getArray("grid"), *arguments = step.getArray("arguments");
    if (!function || !extents || !arguments)
      return nullptr;
    std::array<uint32_t, 3> grid{1, 1, 1};
    for (auto [extent, given] : llvm::zip(grid, *extents)) {
      if (!given.getAsInteger())
        return nullptr;
      extent = *given.getAsInteger();
    }
    grid[0] *= launchShapeOf(function)->cluster;
    std::string key = function.getName().str() + llvm::formatv(" {0}", json::Value(json::Array(*extents))).str();
    bool isStatic = true;
    auto numbers = launchNumbers(function, [&](size_t argument) {
      const json::Value *value = (*arguments)[argument].getAsObject()->get("value");
      std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
      isStatic &= number.has_value();
      key += llvm::formatv(" {0}", number.value_or(0));
      return number.value_or(0);
    });
    if (!isStatic)
      return nullptr;
    auto [entry, isNew] = known.try_emplace(key);
    if (isNew)
      entry->second = countLaunch(function, chip, grid, numbers, walkBudget);
    return &entry->second;
  }

private:
  ModuleOp launches;
  const TargetDescription &chip;
  llvm::StringMap<LaunchCounts> known; // by kernel, grid and numbers
};
} // namespace

llvm::StringMap<LaunchCounts> tilewright::staticCounts(ModuleOp program, const TargetDescription &chip) {
  llvm::StringMap<const LaunchCounts *> found; // null: launches differ
  OwningOpRef<ModuleOp> launches = launchesOf(program);
  llvm::StringMap<LaunchCounts> result;
  if (!launches)
    return result;
  StepCounter counter(*launches, chip);
  for (auto function : program.getOps<func::FuncOp>()) {
    auto text = function->getAttrOfType<StringAttr>(manifestAttr);
    if (!text)
      continue;
    json::Value manifest = llvm::cantFail(json::parse(text.getValue()));
    forEachLaunch(manifest, [&](json::Object &step) {
      const LaunchCounts *counts = counter.of(step);
      auto [entry, isNew] = found.try_emplace(*step.getString("launch"), counts);
      if (!isNew && entry->second != counts)
        entry->second = nullptr;
    });
  }
  for (const auto &[kernel, counts] : found)
    if (counts)
      result[kernel] = *counts;
  return result;
}

void tilewright::addBytesToManifests(ModuleOp module, const TargetDescription &chip) {
  auto manifests = module->getAttrOfType<ArrayAttr>(manifestsAttr);
  if (!manifests)
    return;
  StepCounter counter(module, chip);
  SmallVector<Attribute> changed;
  for (Attribute text : manifests) {
    json::Value manifest = llvm::cantFail(json::parse(cast<StringAttr>(text).getValue()));
    forEachLaunch(manifest, [&](json::Object &step) {
      const LaunchCounts *counts = counter.of(step);
      if (!counts || !counts->unknown.empty())
        return;
      if (!step.getObject("predicted"))
        step["predicted"] = json::Object();
      (*step.getObject("predicted"))["bytes"] = counts->global.read + counts->global.written;
    });
    changed.push_back(StringAttr::get(module.getContext(), llvm::formatv("{0}", manifest).str()));
  }
  module->setAttr(manifestsAttr, ArrayAttr::get(module.getContext(), changed));
}
