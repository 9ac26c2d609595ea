//===- OutlineLaunches.cpp - Each grid of a program is one launch ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels are inlined, grids become functions, and what the public function
/// still does is written down as its manifest.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/LaunchManifest.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_OUTLINELAUNCHES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Replaces calls of private one-block functions at the top of `function` by their bodies.
static LogicalResult inlineKernels(func::FuncOp function, ModuleOp module) {
  for (auto call : llvm::make_early_inc_range(function.front().getOps<func::CallOp>())) {
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!kernel || kernel.isExternal() || !llvm::hasSingleElement(kernel.getBody()))
      return call.emitOpError() << "of a function that is no kernel cannot be launched";
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(kernel.getArguments(), call.getOperands());
    for (Operation &op : kernel.front().without_terminator())
      builder.clone(op, mapping);
    for (auto [result, value] : llvm::zip(call.getResults(), kernel.front().getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
  return success();
}

/// Threads of a block and bytes of scratchpad that a grid needs.
static LaunchShape shapeOf(tile::ParallelOp grid, const LaneHierarchy &hierarchy) {
  LaunchShape shape;
  int64_t subgroups = 1;
  grid.walk([&](Operation *op) {
    if (auto parallel = dyn_cast<tile::ParallelOp>(op); parallel && parallel.getLevel() == hierarchy.block) {
      int64_t count = 1;
      for (AffineExpr bound : parallel.getUpperBounds().getResults())
        if (auto number = dyn_cast<AffineConstantExpr>(bound))
          count *= number.getValue();
      subgroups = std::max(subgroups, count);
    }
    if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      auto type = cast<MemRefType>(alloc.getMemref().getType());
      if (!type.hasStaticShape())
        return;
      int64_t elements = type.getNumElements();
      if (std::optional<tile::ArrangementAttr> arrangement = alloc.getArrangement(); arrangement && type.getRank())
        elements += elements / type.getShape().back() * arrangement->getPadding();
      shape.sharedBytes += llvm::alignTo(elements * elementBytes(type.getElementType()), 1024);
    }
  });
  shape.threads = subgroups * hierarchy.lanes;
  return shape;
}

namespace {
struct OutlineLaunches : tilewright::impl::OutlineLaunchesBase<OutlineLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = targetOf(module);
    if (!target) {
      module.emitError() << llvm::toString(target.takeError());
      return signalPassFailure();
    }
    std::optional<LaneHierarchy> hierarchy = laneHierarchy(**target);
    if (!hierarchy) {
      module.emitError() << "chip " << (*target)->target() << ":" << (*target)->chip()
                         << " runs no lanes: it lacks levels grid, block and subgroup";
      return signalPassFailure();
    }
    auto ops = laneOpsOf(module);
    if (!ops) {
      module.emitError() << llvm::toString(ops.takeError());
      return signalPassFailure();
    }
    dynamicScratchpad = (*ops)->dynamicScratchpad();
    SmallVector<func::FuncOp> publics = publicFunctions(module), privates;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPublic())
        privates.push_back(function);
    for (func::FuncOp function : publics)
      if (failed(outline(function, module, *hierarchy)))
        return signalPassFailure();
    for (func::FuncOp function : privates)
      if (SymbolTable::symbolKnownUseEmpty(function, module))
        function.erase();
  }

  LogicalResult outline(func::FuncOp function, ModuleOp module, const LaneHierarchy &hierarchy) {
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError() << "has several blocks; lanes run straight sequences of launches";
    if (failed(inlineKernels(function, module)))
      return failure();
    FailureOr<Signature> signature = Signature::of(function);
    if (failed(signature))
      return failure();
    LaunchManifest manifest(function, *signature, dynamicScratchpad);
    unsigned count = 0;
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      auto grid = dyn_cast<tile::ParallelOp>(op);
      if (!grid || grid.getLevel() != hierarchy.grid) {
        if (failed(manifest.host(&op)))
          return failure();
        continue;
      }
      std::string name = (function.getName() + "_launch_" + Twine(count++)).str();
      if (failed(launch(grid, name, module, hierarchy, manifest)))
        return failure();
    }
    if (failed(manifest.finish()))
      return failure();
    return success();
  }

  /// Moves one grid into a function of its own and notes the launch.
  LogicalResult launch(tile::ParallelOp grid, StringRef name, ModuleOp module, const LaneHierarchy &hierarchy,
                       LaunchManifest &manifest) {
    Location loc = grid.getLoc();
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(grid->getRegions(), captured);
    LaunchShape shape = shapeOf(grid, hierarchy);
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
    function.setPrivate();
    function->setAttr(launchAttr, builder.getDictionaryAttr(
                                      {builder.getNamedAttr("shared", builder.getI64IntegerAttr(shape.sharedBytes)),
                                       builder.getNamedAttr("threads", builder.getI64IntegerAttr(shape.threads))}));
    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    IRMapping mapping;
    SmallVector<Value> arguments;
    auto pass = [&](Value value) {
      if (!mapping.contains(value)) {
        mapping.map(value, entry->addArgument(value.getType(), loc));
        arguments.push_back(value);
      }
    };
    for (Value value : captured)
      if (isa<MemRefType>(value.getType()))
        pass(value);
    for (Value value : captured) {
      Operation *def = value.getDefiningOp();
      if (mapping.contains(value))
        continue;
      if (def && def->hasTrait<OpTrait::ConstantLike>()) {
        builder.clone(*def, mapping);
      } else if (auto dim = dyn_cast_or_null<memref::DimOp>(def);
                 dim && mapping.contains(dim.getSource()) && dim.getConstantIndex()) {
        mapping.map(
            value,
            memref::DimOp::create(builder, loc, mapping.lookup(dim.getSource()), *dim.getConstantIndex()).getResult());
      } else if (value.getType().isIndex()) {
        pass(value);
      } else {
        return grid.emitOpError() << "uses a value of type " << value.getType()
                                  << " that is computed between launches; launches take arrays and sizes";
      }
    }
    // The bounds of the grid are the launch's business: inside they are not needed.
    auto inner = cast<tile::ParallelOp>(grid->cloneWithoutRegions(mapping));
    inner.getBoundOperandsMutable().clear();
    inner.setUpperBoundsAttr(AffineMapAttr::get(AffineMap::get(
        0, 0, SmallVector<AffineExpr>(grid.getUpperBounds().getNumResults(), builder.getAffineConstantExpr(1)),
        builder.getContext())));
    builder.insert(inner);
    grid.getBody().cloneInto(&inner.getBody(), mapping);
    func::ReturnOp::create(builder, loc);
    function.setType(builder.getFunctionType(entry->getArgumentTypes(), {}));
    if (failed(manifest.launch(grid, name, shape, arguments)))
      return failure();
    grid.erase();
    return success();
  }

  bool dynamicScratchpad = false;
};
} // namespace
