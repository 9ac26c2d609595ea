//===- Faulty.cpp - A target whose passes go wrong on request -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The chip `faulty:host` is this machine, with one pass at each slot of the
/// pipeline. At the slot that a function names, the pass crashes or spoils the
/// program: the tests see whether the tools notice, and where.
///
///   func.func @f(...) attributes {faulty.crash = "after-affine"}
///   func.func @f(...) attributes {faulty.spoil = "after-affine"}     the first addition becomes a subtraction
///
//===----------------------------------------------------------------------===//

#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace tilewright;

namespace {

constexpr const char *slotNames[] = {"after-import", "after-affine", "after-optimise", "after-map"};

struct FaultPass : mlir::PassWrapper<FaultPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FaultPass)
  FaultPass() = default;
  FaultPass(const FaultPass &other) : PassWrapper(other) {}
  explicit FaultPass(llvm::StringRef name) { slot = name.str(); }

  llvm::StringRef getArgument() const final { return "faulty-test-pass"; }
  llvm::StringRef getDescription() const final { return "Crash or spoil the program where a function asks for it"; }
  Option<std::string> slot{*this, "slot", llvm::cl::desc("Where in the pipeline this pass stands")};

  bool isMeant(mlir::func::FuncOp function, llvm::StringRef what) {
    auto where = function->getAttrOfType<mlir::StringAttr>(what);
    return where && where.getValue() == slot;
  }

  void runOnOperation() final {
    bool spoil = false;
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (isMeant(function, "faulty.crash"))
        *static_cast<volatile int *>(nullptr) = 0;
      spoil |= isMeant(function, "faulty.spoil");
    }
    if (spoil)
      getOperation().walk([](mlir::arith::AddFOp add) {
        mlir::OpBuilder builder(add);
        add.replaceAllUsesWith(
            mlir::arith::SubFOp::create(builder, add.getLoc(), add.getLhs(), add.getRhs()).getResult());
        add.erase();
        return mlir::WalkResult::interrupt();
      });
  }
};

class FaultyTarget : public Target {
public:
  FaultyTarget() { mlir::PassRegistration<FaultPass>(); }
  llvm::StringRef name() const override { return "faulty"; }
  std::vector<std::string> chips() const override { return {"host"}; }
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override {
    if (chip != "host")
      return unknownName("chip of target 'faulty'", chip, chips());
    return TargetRegistry::get().describe("cpu:host");
  }
  void extendPipeline(PipelineSlot slot, mlir::OpPassManager &pm, const TargetDescription &) const override {
    pm.addPass(std::make_unique<FaultPass>(slotNames[static_cast<int>(slot)]));
  }
};

} // namespace

TILEWRIGHT_TARGET_PLUGIN(faulty, "1.0", FaultyTarget)
