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

#include "core/Proof/Proof.h"
#include "core/Tools/Command.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;

/// Runs the passes that the command line names; the output appears complete or not at all.
static int run(const std::string &input, const std::string &output, mlir::DialectRegistry &registry) {
  std::string error, text;
  std::unique_ptr<llvm::MemoryBuffer> buffer = mlir::openInputFile(input, &error);
  if (!buffer)
    return fail(error);
  llvm::raw_string_ostream os(text);
  bool failed =
      mlir::failed(mlir::MlirOptMain(os, std::move(buffer), registry, mlir::MlirOptMainConfig::createFromCLOptions()));
  if (failed && output != "-")
    return 1;
  if (llvm::Error problem = writeFile(output, text))
    return fail(std::move(problem));
  return failed;
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::registerAllPasses();
  registerAllPasses();
  proof::registerProvePass();
  registerLinkedTargets();
  if (llvm::Error error = TargetRegistry::get().loadSearchPath())
    llvm::errs() << "tw-opt: warning: " << llvm::toString(std::move(error)) << "\n";
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "Tilewright's passes one by one\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return finish(mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry)));
  return finish(run(input, output, registry));
}
