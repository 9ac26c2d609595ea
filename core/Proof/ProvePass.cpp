//===- ProvePass.cpp - The checks on a program that is given as text ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-opt --prove`: each finding is a diagnostic, an error where something is
/// disproved and a warning where it is not proved. `tw-opt --count-sums` prints the
/// additions in a row at each place. Both change nothing.
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

class CountSumsPass : public mlir::PassWrapper<CountSumsPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountSumsPass)
  CountSumsPass() = default;
  CountSumsPass(const CountSumsPass &other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const final { return "count-sums"; }
  llvm::StringRef getDescription() const final {
    return "Print the longest chain of additions at each place of a program after stage 2 or 4";
  }
  void runOnOperation() override {
    Sums sums = countSums(getOperation(), size);
    for (const auto &[name, place] : sums.places)
      if (place.additions)
        llvm::outs() << name << ": " << place.additions << (place.isAnyOrder ? " in any order" : "")
                     << (place.isFused ? " with products" : "") << "\n";
    for (const std::string &gap : sums.gaps)
      llvm::outs() << gap << "\n";
    markAllAnalysesPreserved();
  }

private:
  Option<int64_t> size{*this, "size", llvm::cl::desc("Of dynamic dimensions"), llvm::cl::init(sampleSize)};
};

} // namespace

void tilewright::proof::registerProvePass() {
  mlir::PassRegistration<ProvePass>();
  mlir::PassRegistration<CountSumsPass>();
}
