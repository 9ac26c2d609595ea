//===- DistributeLanes.cpp - A launch becomes the code of one lane ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the launches, has their lane code written (LaneWriter.h), and adds what
/// engines need to know of arrays to the manifests. Where barriers stand is decided
/// before, on the sequential program (LaneBarriers.h).
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Host/LaunchManifest.h"
#include "core/Transforms/Host/StaticCounts.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace tilewright {
#define GEN_PASS_DEF_DISTRIBUTELANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct DistributeLanes : tilewright::impl::DistributeLanesBase<DistributeLanes> {
  /// The ops of lanes belong to dialects of the targets.
  void getDependentDialects(DialectRegistry &registry) const override {
    DistributeLanesBase::getDependentDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
  }

  /// Appends the tile maps of a kernel to the arguments of its launches, wherever they stand in a manifest, and tells
  /// their clusters.
  static void describeTiles(llvm::json::Value &manifest, StringRef kernel, ArrayRef<TileMap> maps, int64_t cluster) {
    if (llvm::json::Array *list = manifest.getAsArray())
      for (llvm::json::Value &each : *list)
        describeTiles(each, kernel, maps, cluster);
    llvm::json::Object *object = manifest.getAsObject();
    if (!object)
      return;
    llvm::json::Array *arguments = object->getArray("arguments");
    if (!arguments || object->getString("launch") != kernel) {
      for (auto &each : *object)
        describeTiles(each.second, kernel, maps, cluster);
      return;
    }
    if (llvm::json::Array *grid = object->getArray("grid"); grid && cluster > 1) {
      (*object)["cluster"] = cluster;
      (*grid)[0] = llvm::json::Array{"*", (*grid)[0], cluster};
    }
    for (const TileMap &map : maps) {
      llvm::json::Object described = *(*arguments)[map.array].getAsObject(); // which array
      llvm::json::Array sizes;
      for (OpFoldResult size : map.sizes)
        if (auto value = dyn_cast<Value>(size))
          sizes.push_back(*(*arguments)[cast<BlockArgument>(value).getArgNumber()].getAsObject()->get("value"));
        else
          sizes.push_back(cast<IntegerAttr>(cast<Attribute>(size)).getInt());
      std::string type;
      llvm::raw_string_ostream(type) << map.element;
      described["type"] = type;
      described["bytes"] = elementBytes(map.element);
      described["sizes"] = std::move(sizes);
      described["pitches"] = llvm::json::Array(map.pitches);
      described["box"] = llvm::json::Array(map.box);
      described["swizzle"] = map.swizzleBytes;
      arguments->push_back(llvm::json::Object{{"tensor_map", std::move(described)}});
    }
  }
  static void describeTiles(ModuleOp module, StringRef kernel, ArrayRef<TileMap> maps, int64_t cluster) {
    auto manifests = module->getAttrOfType<ArrayAttr>(manifestsAttr);
    if (!manifests || maps.empty())
      return;
    SmallVector<Attribute> changed;
    for (Attribute manifest : manifests) {
      llvm::json::Value json = llvm::cantFail(llvm::json::parse(cast<StringAttr>(manifest).getValue()));
      describeTiles(json, kernel, maps, cluster);
      changed.push_back(StringAttr::get(module.getContext(), llvm::formatv("{0}", json).str()));
    }
    module->setAttr(manifestsAttr, ArrayAttr::get(module.getContext(), changed));
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    takeManifests(module);
    SmallVector<func::FuncOp> launches;
    for (auto function : module.getOps<func::FuncOp>())
      if (launchShapeOf(function) && !function.isExternal())
        launches.push_back(function);
    if (launches.empty())
      return;
    FailureOr<LaunchTarget> target = requireLanes(module);
    if (failed(target))
      return signalPassFailure();
    auto ops = laneOpsOf(module);
    if (!ops) {
      module.emitError() << llvm::toString(ops.takeError());
      return signalPassFailure();
    }
    addBytesToManifests(module, *target->chip);
    for (func::FuncOp launch : launches) {
      LaneWriter writer(launch, *target->chip, target->hierarchy, **ops, *launchShapeOf(launch));
      if (failed(writer.run()))
        return signalPassFailure();
      describeTiles(module, launch.getName(), writer.tileMaps(), launchShapeOf(launch)->cluster);
    }
  }
};
} // namespace
