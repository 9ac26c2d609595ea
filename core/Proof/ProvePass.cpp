//===- ProvePass.cpp - The checks on a program that is given as text ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-opt --prove`: each finding is a diagnostic, an error where something is
/// disproved and a warning where it is not proved. It changes nothing.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Proof.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace tilewright::proof;

namespace {

class ProvePass : public mlir::PassWrapper<ProvePass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProvePass)
  llvm::StringRef getArgument() const final { return "prove"; }
  llvm::StringRef getDescription() const final { return "Check bounds, writes and waits of a program after stage 4"; }
  void runOnOperation() override {
    Proof proof = prove(getOperation());
    for (const Finding &finding : proof.findings) {
      std::string text = (nameOf(finding.property) + ": " + nameOf(finding.verdict) + ": " + finding.message).str();
      if (finding.verdict == Verdict::Disproved) {
        mlir::emitError(finding.location, text);
        signalPassFailure();
      } else
        mlir::emitWarning(finding.location, text);
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

void tilewright::proof::registerProvePass() { mlir::PassRegistration<ProvePass>(); }
