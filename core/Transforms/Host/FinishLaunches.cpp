//===- FinishLaunches.cpp - Launches become kernels of their chip ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asks the target to mark each launch in the LLVM dialect.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "tilewright/Cores.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

namespace tilewright {
#define GEN_PASS_DEF_FINISHLAUNCHES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct FinishLaunches : tilewright::impl::FinishLaunchesBase<FinishLaunches> {
  /// The ops of lanes belong to dialects of the targets.
  void getDependentDialects(DialectRegistry &registry) const override {
    FinishLaunchesBase::getDependentDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::unique_ptr<LaneOps> ops;
    auto target = targetOf(module);
    if (!target)
      llvm::consumeError(target.takeError()); // reported below, if there is a launch
    // A launch is one program on each core: nobody has to say what a lane does.
    bool isOneThread = target && !(*target)->graph().lanesAreThreads();
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      std::optional<LaunchShape> shape = launchShapeOf(function);
      if (!shape || function.isExternal())
        continue;
      if (isOneThread) {
        function.setLinkage(LLVM::Linkage::External);
        function->setAttr(coreKernelAttr, UnitAttr::get(function.getContext()));
        continue;
      }
      if (!ops) {
        auto found = laneOpsOf(module);
        if (!found) {
          module.emitError() << llvm::toString(found.takeError());
          return signalPassFailure();
        }
        ops = std::move(*found);
      }
      function.setLinkage(LLVM::Linkage::External);
      ops->finishLaunch(function, *shape);
    }
  }
};
} // namespace
