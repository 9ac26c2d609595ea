//===- LowerTileToEngines.cpp - Copies and products become commands -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The asynchronous ops of the tile dialect on a scratchpad target.
/// A token becomes the number of its command among those of its
/// engine; a wait leaves as many unfinished as were issued after it.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchManifest.h"
#include "core/Transforms/Host/StaticCounts.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERTILETOENGINES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// The engines that `token` may come from, through loops and branches.
static void enginesOf(Value token, llvm::DenseSet<Value> &seen, EngineSet &engines) {
  if (!seen.insert(token).second)
    return;
  auto yielded = [&](Block *block, unsigned i) { enginesOf(block->getTerminator()->getOperand(i), seen, engines); };
  if (auto argument = dyn_cast<BlockArgument>(token)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()); loop && argument.getArgNumber() > 0) {
      unsigned i = argument.getArgNumber() - 1;
      enginesOf(loop.getInitArgs()[i], seen, engines);
      yielded(loop.getBody(), i);
    }
    return;
  }
  Operation *def = token.getDefiningOp();
  unsigned number = cast<OpResult>(token).getResultNumber();
  if (auto copy = dyn_cast<tile::CopyOp>(def)) {
    engines.insert(isStore(copy) ? EngineCommand::Store : EngineCommand::Copy);
  } else if (isa<tile::MultiplyOp>(def)) {
    engines.insert(EngineCommand::Unit);
  } else if (auto loop = dyn_cast<scf::ForOp>(def)) {
    enginesOf(loop.getInitArgs()[number], seen, engines);
    yielded(loop.getBody(), number);
  } else if (auto choice = dyn_cast<scf::IfOp>(def)) {
    yielded(choice.thenBlock(), number);
    yielded(choice.elseBlock(), number);
  } else if (auto select = dyn_cast<arith::SelectOp>(def)) {
    enginesOf(select.getTrueValue(), seen, engines);
    enginesOf(select.getFalseValue(), seen, engines);
  }
}

/// The core's number, in place of the loop over cores.
static LogicalResult enterCore(tile::ParallelOp op, const CoreHierarchy &cores) {
  if (op.getLevel() != cores.level || op.getUpperBounds().getNumResults() != 1)
    return op.emitOpError() << "of level \"" << op.getLevel() << "\" with " << op.getUpperBounds().getNumResults()
                            << " indices; a program of cores has one loop of level \"" << cores.level
                            << "\" with one index";
  IRRewriter builder(op);
  Value number = EngineWriter::call(builder, op, "tilewright.primitive.block_x", builder.getI32Type(), {});
  number = arith::IndexCastOp::create(builder, op.getLoc(), builder.getIndexType(), number);
  Block &body = op.getBody().front();
  builder.eraseOp(body.getTerminator());
  builder.inlineBlockBefore(&body, op, number);
  builder.eraseOp(op);
  return success();
}

namespace {
struct LowerTileToEngines : tilewright::impl::LowerTileToEnginesBase<LowerTileToEngines> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    takeManifests(module);
    FailureOr<CoreTarget> target = requireCores(module);
    if (failed(target))
      return signalPassFailure();
    addBytesToManifests(module, *target->chip);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && launchShapeOf(function) &&
          failed(lower(function, *target->chip, target->hierarchy)))
        return signalPassFailure();

    // Tokens in loops and branches are numbers too.
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](tile::TokenType type) -> Type { return IntegerType::get(type.getContext(), 32); });
    auto cast = [](OpBuilder &builder, Type type, ValueRange inputs, Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs).getResult(0);
    };
    converter.addTargetMaterialization(cast);
    converter.addSourceMaterialization(cast);
    ConversionTarget legality(getContext());
    legality.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    RewritePatternSet patterns(&getContext());
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, legality);
    if (failed(applyPartialConversion(module, legality, std::move(patterns))))
      return signalPassFailure();
    SmallVector<UnrealizedConversionCastOp> casts;
    module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
  }

  /// What a core would load or store in a memory that it does not reach: all but copies by its engines.
  static LogicalResult checkReach(func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores) {
    if (cores.reachesGlobal)
      return success();
    WalkResult walk = function.walk([&](Operation *op) {
      if (isa<tile::CopyOp, ViewLikeOpInterface>(op) || op->getNumRegions() || isMemoryEffectFree(op))
        return WalkResult::advance();
      for (Value operand : op->getOperands()) {
        while (auto view = operand.getDefiningOp<ViewLikeOpInterface>())
          operand = view.getViewSource();
        auto argument = dyn_cast<BlockArgument>(operand);
        if (!isa<MemRefType>(operand.getType()) || !argument || argument.getOwner() != &function.front())
          continue;
        op->emitError()
            << "is a load or store of the core, at indices that are computed or in what stands between kernels; "
               "the cores of "
            << chip.target() << ":" << chip.chip() << " do not reach the memory \"" << cores.global->name
            << "\", and no copy engine can do it";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  static LogicalResult lower(func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores) {
    if (failed(checkReach(function, chip, cores)))
      return failure();
    SmallVector<tile::ParallelOp> parallel;
    SmallVector<Operation *> ops;
    llvm::DenseMap<Operation *, SmallVector<EngineSet>> awaited; // by token of a wait
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto level = dyn_cast<tile::ParallelOp>(op))
        parallel.push_back(level);
      bool selects = isa<arith::SelectOp>(op) && isa<tile::TokenType>(op->getResult(0).getType());
      if (selects || isa<tile::CopyOp, tile::MultiplyOp, tile::DoneOp, tile::WaitOp>(op))
        ops.push_back(op);
      if (auto wait = dyn_cast<tile::WaitOp>(op))
        for (Value token : wait.getTokens()) {
          llvm::DenseSet<Value> seen;
          enginesOf(token, seen, awaited[op].emplace_back());
        }
    });
    EngineWriter writer(function, chip, cores);
    IRRewriter rewriter(function.getContext());
    auto number = [&](Value token) -> Value {
      return UnrealizedConversionCastOp::create(rewriter, token.getLoc(), rewriter.getI32Type(), token).getResult(0);
    };
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (auto wait = dyn_cast<tile::WaitOp>(op)) {
        for (EngineCommand engine : {EngineCommand::Copy, EngineCommand::Unit, EngineCommand::Store}) {
          Value latest;
          for (auto [token, engines] : llvm::zip(wait.getTokens(), awaited[op]))
            if (engines.contains(engine)) {
              Value own = number(token);
              latest = latest ? arith::MaxSIOp::create(rewriter, op->getLoc(), latest, own).getResult() : own;
            }
          if (latest)
            writer.wait(rewriter, op->getLoc(), engine, latest);
        }
        rewriter.eraseOp(op);
        continue;
      }
      FailureOr<Value> issued;
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        issued = writer.copy(rewriter, copy);
      else if (auto multiply = dyn_cast<tile::MultiplyOp>(op))
        issued = writer.multiply(rewriter, multiply);
      else if (auto select = dyn_cast<arith::SelectOp>(op))
        issued = arith::SelectOp::create(rewriter, op->getLoc(), select.getCondition(), number(select.getTrueValue()),
                                         number(select.getFalseValue()))
                     .getResult();
      else
        issued = arith::ConstantIntOp::create(rewriter, op->getLoc(), 0, 32).getResult();
      if (failed(issued))
        return failure();
      rewriter.setInsertionPoint(op);
      rewriter.replaceOpWithNewOp<UnrealizedConversionCastOp>(op, op->getResult(0).getType(), *issued);
    }
    for (tile::ParallelOp level : parallel)
      if (failed(enterCore(level, cores)))
        return failure();
    return success();
  }
};
} // namespace
