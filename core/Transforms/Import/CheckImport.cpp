//===- CheckImport.cpp - The contract at the end of stage 1 ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reports operations that stage 1 should have rewritten and could not.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKIMPORT
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct CheckImport : tilewright::impl::CheckImportBase<CheckImport> {
  void runOnOperation() override {
    static const llvm::StringSet<> dialects = {"builtin",       "func", "linalg", "tensor", "arith",  "math",
                                               "scf",           "ub",   "index",  "affine", "memref", "vector",
                                               "bufferization", "tile", "cf",     "llvm",   "omp"};
    static const llvm::StringSet<> left = {"tensor.scatter", "tensor.pack", "tensor.unpack", "tensor.bitcast"};
    WalkResult result = getOperation().walk([](Operation *op) {
      StringRef name = op->getName().getStringRef();
      bool aggregate = isa<linalg::LinalgDialect>(op->getDialect()) && op->getNumResults() != 0 &&
                       !isa<linalg::LinalgOp, linalg::IndexOp>(op);
      if (dialects.contains(op->getName().getDialectNamespace()) && !left.contains(name) && !aggregate)
        return WalkResult::advance();
      op->emitError("unsupported operation: '")
          << name << "' could not be brought to linalg.generic; write it as linalg, tensor or scf operations";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
