//===- PlaceHostCode.cpp - What stands between launches gets a place ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels are inlined into the public functions. Control flow around grids and
/// integer arithmetic stay with the host; what touches arrays or computes with
/// other types runs in one lane; scalars that live across that boundary become
/// arrays of rank 0.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/Host/CarriedScalars.h"
#include "core/Transforms/Host/HostExpressions.h"
#include "core/Transforms/Host/HostForms.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Lower/LLVM/LowerAffine.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "core/Transforms/Utils/SymbolUsers.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright {
#define GEN_PASS_DEF_PLACEHOSTCODE
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

//===-- Kernels -----------------------------------------------------------===//

/// One name for each global, at the start: launches take it as an argument, once.
static void hoistGlobals(func::FuncOp function) {
  llvm::StringMap<memref::GetGlobalOp> first;
  SmallVector<memref::GetGlobalOp> all;
  function.walk([&](memref::GetGlobalOp op) { all.push_back(op); });
  for (memref::GetGlobalOp op : all) {
    auto [found, isNew] = first.try_emplace(op.getName(), op);
    if (isNew) {
      op->moveBefore(&function.front(), function.front().begin());
    } else {
      op.replaceAllUsesWith(found->second.getResult());
      op.erase();
    }
  }
}

/// Whether `function` may come to call itself.
static bool isRecursive(func::FuncOp function, ModuleOp module) {
  llvm::SetVector<Operation *> reached;
  auto reach = [&](Operation *from) {
    from->walk([&](func::CallOp call) {
      if (Operation *callee = module.lookupSymbol(call.getCallee()))
        reached.insert(callee);
    });
  };
  reach(function);
  for (size_t i = 0; i < reached.size(); ++i)
    reach(reached[i]);
  return reached.contains(function);
}

/// Replaces calls of private one-block functions by their bodies, of which the only caller takes the operations
/// themselves.
static LogicalResult inlineKernels(func::FuncOp function, ModuleOp module) {
  const SymbolUsers users(module);
  SmallVector<func::CallOp> calls;
  llvm::SetVector<Operation *> inLoops;
  function.walk([&](func::CallOp call) {
    calls.push_back(call);
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (kernel && call->getParentOp() != function)
      inLoops.insert(kernel);
  });
  // Under the host's loops their operands are no affine symbols any more.
  if (failed(lowerAffine(inLoops.getArrayRef(), module.getContext())))
    return failure();
  for (func::CallOp call : calls) {
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!kernel || kernel.isExternal() || !llvm::hasSingleElement(kernel.getBody()))
      return call.emitOpError() << "of a function that is no kernel cannot be launched";
    if (isRecursive(kernel, module))
      return call.emitOpError() << "of '" << call.getCallee()
                                << "', which calls itself; the host of a program on lanes launches, branches and "
                                   "loops: write it as a loop";
    Block &body = kernel.front();
    if (kernel.isPrivate() && llvm::hasSingleElement(users.getUsers(kernel))) {
      for (auto [argument, operand] : llvm::zip(body.getArguments(), call.getOperands()))
        argument.replaceAllUsesWith(operand);
      Operation *end = body.getTerminator();
      call->getBlock()->getOperations().splice(call->getIterator(), body.getOperations(), body.begin(),
                                               end->getIterator());
      call.replaceAllUsesWith(end->getOperands());
      call.erase();
      kernel.erase();
      continue;
    }
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(kernel.getArguments(), call.getOperands());
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
  return success();
}

//===-- The signature -----------------------------------------------------===//

namespace {

/// Rewrites one public function.
class HostPlacer {
public:
  HostPlacer(func::FuncOp function, const LaneHierarchy &hierarchy) : function(function), hierarchy(hierarchy) {}

  LogicalResult run();

private:
  /// Scalar arguments and results become arrays of rank 0, as C passes them anyway.
  LogicalResult signature();
  /// Moves what the host does not do into grids of one lane.
  void place(Block &block);
  /// Ops of one block that one lane executes.
  using Run = SmallVector<Operation *>;
  /// Moves `run` into a grid in the place of its last op. Members of `later` read what they need of it.
  void toGrid(Run &run, MutableArrayRef<Run> later);

  func::FuncOp function;
  const LaneHierarchy &hierarchy;
};

} // namespace

LogicalResult HostPlacer::signature() {
  Block &entry = function.front();
  Location loc = function.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (BlockArgument argument : entry.getArguments()) {
    if (isa<MemRefType>(argument.getType()))
      continue;
    Type type = argument.getType();
    argument.setType(MemRefType::get({}, type));
    Value loaded = loadCell(builder, loc, argument, type);
    argument.replaceAllUsesExcept(loaded, loaded.getDefiningOp());
  }
  auto returned = cast<func::ReturnOp>(entry.getTerminator());
  if (returned.getNumOperands()) {
    auto isArray = function->getAttrOfType<DenseBoolArrayAttr>(arrayResultsAttr);
    if (!isArray)
      return function.emitOpError()
             << "returns a scalar and has arrays that it may write; on lanes such a program takes "
                "a memref of rank 0 for it";
    unsigned next = entry.getNumArguments() - llvm::count(isArray.asArrayRef(), true), scalar = 0;
    builder.setInsertionPoint(returned);
    for (bool array : isArray.asArrayRef()) {
      if (!array) {
        Value value = returned.getOperand(scalar++);
        storeCell(builder, loc, value, entry.insertArgument(next, MemRefType::get({}, value.getType()), loc));
      }
      ++next;
    }
    returned.getOperandsMutable().clear();
    function->setAttr(arrayResultsAttr, builder.getDenseBoolArrayAttr(SmallVector<bool>(isArray.size(), true)));
  }
  function.setType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  return success();
}

//===-- Places ------------------------------------------------------------===//

/// The host computes `op`: it and everything before it are integers that it knows.
static bool isOnHost(Operation *op) {
  auto known = [](Value value) {
    Operation *def = value.getDefiningOp();
    if (!def)
      return isHostType(value.getType()); // of a loop that the host walks
    if (isa<memref::LoadOp>(def))
      return value.getType().isIntOrIndex(); // read
    return def->hasTrait<OpTrait::ConstantLike>() || isHostControl(def) || isOnHost(def);
  };
  if (isa<memref::DimOp>(op))
    return isHostArithmetic(op); // of any array
  return isHostArithmetic(op) && llvm::all_of(op->getOperands(), known);
}

/// Only the host uses the element that `op` reads: it reads it itself.
static bool isReadByHost(memref::LoadOp op) {
  Type type = op.getType();
  if (!type.isIntOrIndex() || elementBytes(type) > 8 || isByteView(op.getMemRef()))
    return false;
  auto byHost = [](Operation *user) {
    bool selects = isa<arith::SelectOp>(user) && isa<MemRefType>(user->getResult(0).getType());
    return selects || isHostControl(user) || isOnHost(user) ||
           isa<memref::AllocOp, memref::ReinterpretCastOp, tile::ParallelOp, tile::RequireSizeOp, scf::ConditionOp>(
               user) ||
           (isa<scf::YieldOp>(user) && isHostControl(user->getParentOp()));
  };
  return llvm::all_of(op->getUsers(), byHost) &&
         (isHostType(type) || llvm::all_of(op->getUsers(), [](Operation *user) { return isOnHost(user); }));
}

void HostPlacer::toGrid(Run &run, MutableArrayRef<Run> later) {
  Location loc = run.front()->getLoc();
  OpBuilder builder(run.back());
  builder.setInsertionPointAfter(run.back());
  AffineMap one = AffineMap::get(0, 0, builder.getAffineConstantExpr(1));
  auto level = [&](StringRef name, llvm::function_ref<void(OpBuilder &)> body) {
    return tile::ParallelOp::create(builder, loc, one, ValueRange(), name, [&](OpBuilder &inner, Location, ValueRange) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(inner.getInsertionBlock(), inner.getInsertionPoint());
      body(builder);
    });
  };
  auto fill = [&](OpBuilder &inside) {
    for (Operation *each : run)
      each->moveBefore(inside.getInsertionBlock(), inside.getInsertionPoint());
  };
  Operation *grid = level(hierarchy.grid, [&](OpBuilder &inside) {
    if (hierarchy.block.empty()) // a core is one thread
      return fill(inside);
    level(hierarchy.block, [&](OpBuilder &) { level(hierarchy.subgroup, fill); });
  });

  // What others use goes through memory. Symbols of affine maps are read by the host: inside of a grid nothing but an
  // argument is one.
  for (Operation *each : run)
    for (Value result : each->getResults()) {
      Value memory, symbol;
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
        Operation *user = use.getOwner();
        if (grid->isAncestor(user))
          continue;
        if (!memory) {
          memory = scalarCell(function, result.getType(), loc);
          OpBuilder after(each);
          after.setInsertionPointAfter(each);
          storeCell(after, loc, result, memory);
        }
        if (isa<affine::AffineDialect>(user->getDialect()) && isHostType(result.getType())) {
          if (!symbol)
            symbol = loadCell(builder, loc, memory, result.getType());
          use.set(symbol);
          continue;
        }
        Operation *reader = user; // element-wise regions hold no loads
        while (isa<tile::MapOp, tile::ReduceOp>(reader->getParentOp()))
          reader = reader->getParentOp();
        OpBuilder before(reader);
        Operation *last = reader->getPrevNode();
        use.set(loadCell(before, user->getLoc(), memory, result.getType()));
        for (Run &other : later)
          for (Operation *op = reader->getPrevNode(); op != last; op = op->getPrevNode()) // loads, the last one first
            if (auto place = llvm::find(other, op->getNextNode()); place != other.end())
              other.insert(place, op);
      }
    }
}

void HostPlacer::place(Block &block) {
  SmallVector<Run> runs(1);
  SmallVector<Operation *> controls;
  auto uses = [&](Operation *op, const Run &run) {
    return op
        ->walk([&](Operation *inner) {
          bool found = llvm::any_of(inner->getOperands(), [&](Value operand) {
            return operand.getDefiningOp() && llvm::is_contained(run, operand.getDefiningOp());
          });
          return found ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation &op : block.without_terminator()) {
    bool control = isHostControl(&op);
    if (control)
      controls.push_back(&op);
    auto load = dyn_cast<memref::LoadOp>(op);
    bool selects = isa<arith::SelectOp>(op) && isa<MemRefType>(op.getResult(0).getType());
    bool acts = control || selects || isa<tile::ParallelOp, tile::RequireSizeOp>(op) || (load && isReadByHost(load));
    bool computes = isa<memref::AllocOp, memref::DeallocOp, memref::GetGlobalOp, ViewLikeOpInterface>(op) ||
                    op.hasTrait<OpTrait::ConstantLike>() || isOnHost(&op);
    if (acts || (computes && uses(&op, runs.back())))
      runs.emplace_back();
    else if (!computes)
      runs.back().push_back(&op);
  }
  for (Run &run : runs)
    if (!run.empty())
      toGrid(run, MutableArrayRef<Run>(runs).drop_front(&run - runs.begin() + 1));
  for (Operation *op : controls)
    for (Region &region : op->getRegions())
      if (!region.empty())
        place(region.front());
}

/// The operations of `function` that change where elements of views become elements of arrays, and where the host has
/// no steps for operations: all of the host's own, and those of grids that take a view or what tells of one. Grids are
/// simplified already.
static SmallVector<Operation *> rewrittenForHost(func::FuncOp function) {
  SmallVector<Operation *> ops;
  auto isView = [](Value value) { return isa_and_nonnull<ViewLikeOpInterface>(value.getDefiningOp()); };
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->getParentOfType<tile::ParallelOp>() || llvm::any_of(op->getOperands(), isView) ||
        isa<ViewLikeOpInterface, scf::IndexSwitchOp, memref::ExtractStridedMetadataOp>(op))
      ops.push_back(op);
  });
  return ops;
}

LogicalResult HostPlacer::run() {
  if (failed(signature()))
    return failure();
  RewritePatternSet patterns(function.getContext());
  memref::populateFoldMemRefAliasOpPatterns(patterns);
  populateHostForms(patterns);
  if (failed(applyOpPatternsGreedily(rewrittenForHost(function), std::move(patterns))))
    return failure();
  carryThroughCells(function);
  place(function.front());
  return success();
}

namespace {
struct PlaceHostCode : tilewright::impl::PlaceHostCodeBase<PlaceHostCode> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<LaunchTarget> target = requireLaunches(module);
    if (failed(target))
      return signalPassFailure();
    for (func::FuncOp function : publicFunctions(module)) {
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError() << "has several blocks; the host of a program on lanes walks structured control flow";
        return signalPassFailure();
      }
      if (failed(inlineKernels(function, module)))
        return signalPassFailure();
      hoistGlobals(function);
      if (failed(HostPlacer(function, target->hierarchy).run()))
        return signalPassFailure();
    }
    SmallVector<func::FuncOp> privates;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPublic())
        privates.push_back(function);
    for (size_t before = privates.size() + 1; !privates.empty() && privates.size() < before;) { // then those they call
      before = privates.size();
      const SymbolUsers users(module);
      llvm::erase_if(privates, [&](func::FuncOp function) {
        bool isUnused = !users.isUsed(function);
        if (isUnused)
          function.erase();
        return isUnused;
      });
    }
  }
};
} // namespace
