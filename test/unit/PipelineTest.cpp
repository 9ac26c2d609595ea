//===- PipelineTest.cpp - Stages as text ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reproducers name a stage's passes as text: every stage must read back as it
/// was written.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "gtest/gtest.h"
#include <functional>

using namespace tilewright;

namespace {

std::string textOf(const mlir::OpPassManager &pm) {
  std::string text;
  llvm::raw_string_ostream os(text);
  pm.printAsTextualPipeline(os);
  return text;
}

TEST(Pipeline, EveryStageReadsBackAsWritten) {
  mlir::registerAllPasses();
  registerAllPasses();
  const std::pair<const char *, std::function<void(mlir::OpPassManager &)>> stages[] = {
      {"import", buildImportPipeline},
      {"affine", buildAffinePipeline},
      {"reference", buildReferencePipeline},
      {"optimise", [](mlir::OpPassManager &pm) { buildOptimizePipeline(pm); }},
      {"map", buildMapPipeline},
      {"lower", [](mlir::OpPassManager &pm) { buildLowerToLLVMPipeline(pm, {.packedCall = true}); }},
      {"reference lowering",
       [](mlir::OpPassManager &pm) { buildLowerToLLVMPipeline(pm, {.tileLoops = true, .libm = true}); }}};
  for (const auto &[name, build] : stages) {
    mlir::OpPassManager pm(mlir::ModuleOp::getOperationName(), mlir::OpPassManager::Nesting::Implicit);
    build(pm);
    std::string text = textOf(pm), messages;
    llvm::raw_string_ostream os(messages);
    auto parsed = mlir::parsePassPipeline(text, os);
    ASSERT_TRUE(mlir::succeeded(parsed)) << name << ": " << messages << "\n" << text;
    EXPECT_EQ(textOf(*parsed), text) << name;
  }
}

} // namespace
