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

#include "core/Analysis/KnownMultiple.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Host/LaunchManifest.h"
#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "core/Transforms/Nests/LaneGrid.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/EqualFunctions.h"
#include "core/Transforms/Utils/RequireTarget.h"
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
#include "tilewright/Residency.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_OUTLINELAUNCHES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Up to this a launch looks for what divides the addresses of arrays, in bytes.
static constexpr int64_t widestAccess = 16;

/// Threads of a block and bytes of scratchpad that a grid needs.
static LaunchShape shapeOf(tile::ParallelOp grid, const TargetDescription &chip, const LaneHierarchy &hierarchy) {
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
      int64_t bytes = llvm::alignTo(elements * elementBytes(type.getElementType()), scratchpadGranule);
      shape.sharedBytes = alloc.getOverlays() ? std::max(shape.sharedBytes, bytes) : shape.sharedBytes + bytes;
    }
  });
  shape.threads = subgroups * hierarchy.lanes;
  addRoles(grid, chip, hierarchy, shape);
  return shape;
}

/// Globals that are no constants and that several public functions use.
static llvm::StringSet<> sharedStates(ModuleOp module) {
  llvm::StringSet<> shared;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    auto uses = [&](func::FuncOp function) { return !SymbolTable::symbolKnownUseEmpty(global, function); };
    if (!global.getConstant() && llvm::count_if(publicFunctions(module), uses) > 1)
      shared.insert(global.getName());
  }
  return shared;
}

namespace {
struct OutlineLaunches : tilewright::impl::OutlineLaunchesBase<OutlineLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<LaunchTarget> target = requireLaunches(module);
    if (failed(target))
      return signalPassFailure();
    if (!target->hierarchy.subgroup.empty()) {
      auto ops = laneOpsOf(module);
      if (!ops) {
        module.emitError() << llvm::toString(ops.takeError());
        return signalPassFailure();
      }
      dynamicScratchpad = (*ops)->dynamicScratchpad();
    }
    chip = target->chip;
    llvm::StringSet<> shared = sharedStates(module);
    for (func::FuncOp function : publicFunctions(module))
      if (failed(outline(function, module, target->hierarchy, shared)))
        return signalPassFailure();
  }

  LogicalResult outline(func::FuncOp function, ModuleOp module, const LaneHierarchy &hierarchy,
                        const llvm::StringSet<> &shared) {
    FailureOr<Signature> signature = Signature::of(function);
    if (failed(signature))
      return failure();
    SmallVector<tile::ParallelOp> grids;
    function.walk([&](tile::ParallelOp each) {
      if (each.getLevel() == hierarchy.grid)
        grids.push_back(each);
    });
    for (tile::ParallelOp grid : grids)
      if (failed(fitGrid(grid, hierarchy)))
        return failure();
    unsigned count = 0;
    LaunchManifest manifest(function, *signature, dynamicScratchpad, hierarchy.grid, shared);
    BufferOrigins origins(function);
    auto isTaken = [&](StringRef name) { return module.lookupSymbol(name) != nullptr; };
    auto toFunction = [&](tile::ParallelOp grid) -> FailureOr<OutlinedLaunch> {
      const unsigned before = count;
      auto name = SymbolTable::generateSymbolName<128>((function.getName() + "_launch").str(), isTaken, count);
      FailureOr<OutlinedLaunch> outlined = launch(grid, name, module, hierarchy, origins);
      if (failed(outlined))
        return outlined;
      auto made = module.lookupSymbol<func::FuncOp>(name);
      if (func::FuncOp first = launches.firstEqual(made); first != made) {
        outlined->kernel = first.getName().str();
        made.erase();
        count = before;
      }
      return outlined;
    };
    if (failed(manifest.write(toFunction)))
      return failure();
    // What the manifest says is done; which arrays it writes stays known.
    SmallVector<bool> written(function.getNumArguments(), false);
    for (const SignatureArgument &argument : signature->arguments)
      written[argument.position] = argument.isWritten;
    function->setAttr(writtenAttr, DenseBoolArrayAttr::get(&getContext(), written));
    Operation *end = function.front().getTerminator();
    while (Operation *op = end->getPrevNode())
      op->erase();
    return success();
  }

  /// Makes a function of one grid, which takes its body.
  FailureOr<OutlinedLaunch> launch(tile::ParallelOp grid, StringRef name, ModuleOp module,
                                   const LaneHierarchy &hierarchy, const BufferOrigins &origins) {
    Location loc = grid.getLoc();
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(grid->getRegions(), captured);
    LaunchShape shape = shapeOf(grid, *chip, hierarchy);
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}));
    function.setPrivate();
    SmallVector<NamedAttribute> fields;
    for (auto [field, number] : {std::pair("shared", shape.sharedBytes),
                                 {"threads", shape.threads},
                                 {"copiers", shape.copiers},
                                 {"group", shape.groupLanes},
                                 {"cluster", shape.cluster == 1 ? 0 : shape.cluster}})
      if (number || field == StringRef("shared"))
        fields.push_back(builder.getNamedAttr(field, builder.getI64IntegerAttr(number)));
    function->setAttr(launchAttr, builder.getDictionaryAttr(fields));
    for (StringRef name : {secondsAttr, residencyAttr})
      if (Attribute given = grid->getAttr(name))
        function->setAttr(name, given);
    Block *entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    IRMapping mapping;
    OutlinedLaunch result{name.str(), shape, {}};
    auto pass = [&](Value value) {
      if (!mapping.contains(value)) {
        // Integers of the host travel as 64 bits.
        bool isArray = isa<MemRefType>(value.getType());
        Value given = entry->addArgument(isArray ? value.getType() : builder.getIndexType(), loc);
        if (given.getType() != value.getType())
          given = arith::IndexCastUIOp::create(builder, loc, value.getType(), given);
        mapping.map(value, given);
        result.arguments.push_back(value);
      }
    };
    // Launches take memory and make views of bytes themselves: those are unaligned in it.
    SmallVector<Value> arrays;
    llvm::SetVector<Operation *> views;
    for (Value value : captured) {
      if (!isa<MemRefType>(value.getType()))
        continue;
      arrays.push_back(value);
      SmallVector<Operation *> chain;
      for (; isByteView(value); value = cast<ViewLikeOpInterface>(value.getDefiningOp()).getViewSource())
        chain.push_back(value.getDefiningOp());
      views.insert_range(llvm::reverse(chain));
      pass(value);
    }
    if (mayOverlap(grid, arrays, origins))
      function->setAttr(overlapsAttr, builder.getUnitAttr());
    for (Operation *view : views) {
      for (Value operand : view->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (mapping.contains(operand))
          continue;
        if (def && def->hasTrait<OpTrait::ConstantLike>())
          builder.clone(*def, mapping);
        else if (isHostType(operand.getType()))
          pass(operand);
        else
          return view->emitOpError() << "has an operand of type " << operand.getType()
                                     << ", which launches do not take";
      }
      Operation *own = builder.clone(*view, mapping);
      if (auto shifted = dyn_cast<memref::ViewOp>(view))
        own->setAttr(shiftMultipleAttr, builder.getI64IntegerAttr(knownMultiple(shifted.getByteShift(), widestAccess)));
    }
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
      } else if (isHostType(value.getType())) {
        pass(value);
      } else {
        return grid.emitOpError() << "uses a value of type " << value.getType()
                                  << " that is computed between launches; launches take arrays and 64-bit integers";
      }
    }
    // The bounds of the grid are the launch's business: inside they are not needed.
    auto inner = cast<tile::ParallelOp>(grid->cloneWithoutRegions(mapping));
    inner.getBoundOperandsMutable().clear();
    inner.setUpperBoundsAttr(AffineMapAttr::get(AffineMap::get(
        0, 0, SmallVector<AffineExpr>(grid.getUpperBounds().getNumResults(), builder.getAffineConstantExpr(1)),
        builder.getContext())));
    builder.insert(inner);
    inner.getBody().takeBody(grid.getBody());
    // Other grids capture the same values: going through all users of these would be a walk over the whole program.
    inner.getBody().walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (Value given = mapping.lookupOrNull(operand.get()))
          operand.set(given);
    });
    func::ReturnOp::create(builder, loc);
    function.setType(builder.getFunctionType(entry->getArgumentTypes(), {}));
    return result;
  }

  bool dynamicScratchpad = false;
  std::shared_ptr<const TargetDescription> chip;
  EqualFunctions launches;
};
} // namespace
