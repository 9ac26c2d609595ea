//===- tw-opt.cpp - Runs passes one by one --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mlir-opt` with Tilewright's dialects and passes, and upstream's passes
/// beside them: reads IR, runs the passes named on the command line, prints.
/// Targets of TILEWRIGHT_TARGET_PATH are loaded first, so that their passes are known.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilewright::registerAllDialects(registry);
  mlir::registerAllPasses();
  tilewright::registerAllPasses();
  tilewright::registerLinkedTargets();
  if (llvm::Error error = tilewright::TargetRegistry::get().loadSearchPath())
    llvm::errs() << "tw-opt: warning: " << llvm::toString(std::move(error)) << "\n";
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tilewright's passes one by one\n", registry));
}
