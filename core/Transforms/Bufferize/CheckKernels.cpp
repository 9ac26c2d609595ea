//===- CheckKernels.cpp - The contract at the end of stage 2 ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// No tensors anywhere; in kernels only allocations, index arithmetic and
/// affine nests with scalar accesses to memrefs of identity layout.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKKERNELS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

/// What `op` breaks in a kernel, or an empty string.
std::string objection(Operation *op) {
  if (isa<affine::AffineForOp, affine::AffineIfOp, affine::AffineYieldOp, func::ReturnOp, func::FuncOp, memref::AllocOp,
          memref::DeallocOp>(op))
    return {};
  if (isa<affine::AffineLoadOp, affine::AffineStoreOp>(op)) {
    Value memref = isa<affine::AffineLoadOp>(op) ? op->getOperand(0) : op->getOperand(1);
    if (!cast<MemRefType>(memref.getType()).getLayout().isIdentity())
      return "accesses a memref whose layout is not the identity";
    if (auto *producer = memref.getDefiningOp(); producer && isa<ViewLikeOpInterface>(producer))
      return "accesses a view that was not folded into the access map";
    return {};
  }
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return "is not affine; only affine loops with scalar loads and stores may stand in a kernel";
  return {};
}

struct CheckKernels : tilewright::impl::CheckKernelsBase<CheckKernels> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      auto isTensor = [](Type type) { return isa<TensorType>(type); };
      if (llvm::any_of(op->getResultTypes(), isTensor)) {
        op->emitError("'") << op->getName() << "' could not be bufferized: it still computes a tensor";
        return WalkResult::interrupt();
      }
      auto kernel = op->getParentOfType<func::FuncOp>();
      if (!kernel || !kernel->hasAttr(tilewright::kernelAttr))
        return WalkResult::advance();
      std::string why = objection(op);
      if (why.empty())
        return WalkResult::advance();
      op->emitError("kernel '") << kernel.getName() << "': '" << op->getName() << "' " << why;
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
