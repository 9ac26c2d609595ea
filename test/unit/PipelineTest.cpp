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
#include "LaunchFixture.h"
#include "tilewright/ChipTable.h"
#include "tilewright/Compiler.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"
#include <functional>

namespace pipeline_test {

using namespace tilewright;

namespace {

std::string textOf(const mlir::OpPassManager &pm) {
  std::string text;
  llvm::raw_string_ostream os(text);
  pm.printAsTextualPipeline(os);
  return text;
}

ChipTable coresWithAScratchpad() {
  ChipTable table;
  table.name = "cores";
  table.levels = {{"core", LevelKind::Parallel, 2}};
  Memory global, scratchpad;
  global.name = "global";
  scratchpad.name = "scratchpad";
  global.level = scratchpad.level = "core";
  global.kind = MemoryKind::Global;
  scratchpad.kind = MemoryKind::Scratchpad;
  table.memories = {global, scratchpad};
  return table;
}

TEST(Pipeline, EveryStageReadsBackAsWritten) {
  mlir::registerAllPasses();
  registerAllPasses();
  test::programContext();
  using Builder = std::function<void(mlir::OpPassManager &)>;
  std::vector<std::pair<std::string, Builder>> stages = {
      {"import", [](mlir::OpPassManager &pm) { buildImportPipeline(pm, /*lanes=*/true); }},
      {"affine", buildAffinePipeline},
      {"reference", buildReferencePipeline}};
  std::shared_ptr<const TargetDescription> chips[] = {
      llvm::cantFail(TargetRegistry::get().describe("cpu:zen4")),
      llvm::cantFail(TargetRegistry::get().describe("nvidia:H200")),
      std::make_shared<TableDescription>("test", coresWithAScratchpad())};
  for (const auto &chip : chips) {
    const MachineGraph &graph = chip->graph();
    std::string on = " on " + chip->chip().str();
    stages.emplace_back("optimise" + on, [&](mlir::OpPassManager &pm) { buildOptimizePipeline(pm, graph); });
    stages.emplace_back("map" + on, [&](mlir::OpPassManager &pm) { buildMapPipeline(pm, graph); });
    for (LoweringOptions options : {LoweringOptions{.packedCall = true},
                                    LoweringOptions{.tileLoops = true, .libm = true}, LoweringOptions{.source = true}})
      stages.emplace_back("lower" + on,
                          [&graph, options](mlir::OpPassManager &pm) { buildLowerPipeline(pm, graph, options); });
  }
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

/// Blocks of the function that a loop of 16 stores becomes.
size_t blocksOfALoop(llvm::StringRef attributes) {
  std::string text = "module attributes {tilewright.target = \"cpu:x86-64-v3\"" + attributes.str() + R"(} {
    llvm.func @f(%p: !llvm.ptr) {
      %zero = llvm.mlir.constant(0 : i64) : i64
      %one = llvm.mlir.constant(1 : i64) : i64
      %n = llvm.mlir.constant(16 : i64) : i64
      llvm.br ^loop(%zero : i64)
    ^loop(%i: i64):
      %at = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store volatile %i, %at : i64, !llvm.ptr
      %next = llvm.add %i, %one : i64
      %more = llvm.icmp "ult" %next, %n : i64
      llvm.cond_br %more, ^loop(%next : i64), ^end
    ^end:
      llvm.return
    }
  })";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &test::programContext());
  EXPECT_TRUE(module);
  auto generator = CodeGenerator::create(*module);
  if (!generator) {
    ADD_FAILURE() << llvm::toString(generator.takeError());
    return 0;
  }
  llvm::LLVMContext target;
  auto code = (*generator)->translate(*module, target);
  if (!code) {
    ADD_FAILURE() << llvm::toString(code.takeError());
    return 0;
  }
  return (*code)->getFunction("f")->size();
}

TEST(Pipeline, LoopsOfReferencesStayLoops) {
  EXPECT_EQ(blocksOfALoop(""), 1u) << "unrolled where time counts";
  for (const char *kind : {"values", "bounds"})
    EXPECT_GT(blocksOfALoop(llvm::formatv(", tilewright.reference = \"{0}\"", kind).str()), 1u)
        << "a loop where only the result counts: " << kind;
}

/// Loops of a function after LLVM's optimiser that had `count` loops of four iterations in one loop.
size_t loopsLeftOf(unsigned count) {
  std::string text = R"(module attributes {tilewright.target = "cpu:zen4"} {
    llvm.func @f(%at: !llvm.ptr, %n: i64) {
      %zero = llvm.mlir.constant(0 : i64) : i64
      %one = llvm.mlir.constant(1 : i64) : i64
      %four = llvm.mlir.constant(4 : i64) : i64
      llvm.br ^outer(%zero : i64)
    ^outer(%i: i64):
      llvm.br ^inner0(%zero : i64)
)";
  for (unsigned k = 0; k < count; ++k)
    text += llvm::formatv(R"(
    ^inner{0}(%j{0}: i64):
      llvm.store volatile %j{0}, %at : i64, !llvm.ptr
      %next{0} = llvm.add %j{0}, %one : i64
      %more{0} = llvm.icmp "ult" %next{0}, %four : i64
      llvm.cond_br %more{0}, ^inner{0}(%next{0} : i64), ^inner{1}(%zero : i64)
)",
                          k, k + 1);
  text += llvm::formatv(R"(
    ^inner{0}(%unused: i64):
      %next = llvm.add %i, %one : i64
      %more = llvm.icmp "ult" %next, %n : i64
      llvm.cond_br %more, ^outer(%next : i64), ^end
    ^end:
      llvm.return
    }
  })",
                        count);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &test::programContext());
  EXPECT_TRUE(module);
  auto generator = CodeGenerator::create(*module);
  if (!generator) {
    ADD_FAILURE() << llvm::toString(generator.takeError());
    return 0;
  }
  llvm::LLVMContext target;
  auto code = (*generator)->translate(*module, target);
  if (!code) {
    ADD_FAILURE() << llvm::toString(code.takeError());
    return 0;
  }
  llvm::DominatorTree dominators(*(*code)->getFunction("f"));
  llvm::LoopInfo loops(dominators);
  return loops.getLoopsInPreorder().size();
}

TEST(Pipeline, LoopsBesideManyOthersStayLoops) {
  EXPECT_EQ(loopsLeftOf(40), 1u) << "those of four iterations are unrolled";
  EXPECT_EQ(loopsLeftOf(140), 141u);
}

} // namespace

} // namespace pipeline_test
