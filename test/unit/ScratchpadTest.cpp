//===- ScratchpadTest.cpp - Programs on cores with engines, emulated ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whole programs compiled for the template's chip, executed by the emulator in
/// all its modes: right results, no findings; and what its engines' clocks say.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/EmulatedProgram.h"
#include "core/Pipelines/Run.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/Cores.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/TableTarget.h"
#include "tilewright/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

namespace scratchpad_test {

using namespace tilewright;
using llvm::formatv;

extern "C" const TargetPlugin *tilewrightTarget_accelerator();

namespace {

/// The accelerator with a cache, and with vectors whose elements are a level in lockstep.
ChipTable withCachesAndVectors(const TargetDescription &chip) {
  ChipTable table;
  table.name = "cores";
  table.clockMHz = chip.clockMHz();
  table.levels = chip.levels();
  table.levels.push_back({"element", LevelKind::Lockstep, 16});
  table.memories = chip.memories();
  Memory cache;
  cache.name = "cache";
  cache.level = table.levels.front().name;
  cache.kind = MemoryKind::Cache;
  cache.bytes = 1 << 20;
  cache.bytesPerClock = cache.writeBytesPerClock = 32;
  cache.latency = 20;
  cache.lineBytes = 64;
  cache.ways = 8;
  cache.source = "guess: a test";
  table.memories.push_back(cache);
  table.units = chip.units();
  for (MatrixUnit &unit : table.units)
    unit.name = "between." + llvm::StringRef(unit.name).split('.').second.str();
  table.copies = chip.copies();
  table.vectorOps = chip.vectorOps();
  table.numbers = chip.numbers();
  return table;
}

/// The same with units that read columns, which cores cannot give them.
ChipTable withUnitsOfColumns(const TargetDescription &chip) {
  ChipTable table = withCachesAndVectors(chip);
  table.name = "columns";
  for (MatrixUnit &unit : table.units)
    unit.b.majors = {"column"};
  return table;
}

mlir::MLIRContext &programContext() {
  static auto *context = [] {
    TargetRegistry &registry = TargetRegistry::get();
    if (registry.targets().empty())
      registerLinkedTargets();
    llvm::cantFail(registry.add(std::unique_ptr<Target>(tilewrightTarget_accelerator()->create())));
    auto chip = llvm::cantFail(registry.describe("accelerator:npu"));
    llvm::cantFail(registry.add(std::make_unique<TableTarget>(
        "between", "", std::vector<ChipTable>{withCachesAndVectors(*chip), withUnitsOfColumns(*chip)})));
    mlir::DialectRegistry dialects;
    registerAllDialects(dialects);
    for (const Target *target : registry.targets())
      target->registerDialects(dialects);
    return new mlir::MLIRContext(dialects, mlir::MLIRContext::Threading::DISABLED);
  }();
  return *context;
}

struct Outcome {
  std::vector<KernelCounters> counters; // of all runs, one for each mode
  std::string messages;                 // errors and remarks
};

/// Compiles, runs in every mode (or one), compares with float64; every failure is one of the test.
Outcome run(const std::string &text, std::vector<int64_t> sizes = {}, bool allModes = true,
            const char *target = "accelerator:npu") {
  Outcome outcome;
  mlir::ScopedDiagnosticHandler handler(&programContext(), [&](mlir::Diagnostic &diagnostic) {
    outcome.messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &programContext(), "program.mlir");
  if (!module) {
    ADD_FAILURE() << outcome.messages << text;
    return outcome;
  }
  RunOptions options;
  options.compile.target = target;
  options.sizes = std::move(sizes);
  options.place.emulator = true;
  options.referenceTarget = "cpu:host";
  auto program = Run::create(*module, options, {});
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError()) << outcome.messages << text;
    return outcome;
  }
  if (llvm::Error error = (*program)->execute())
    ADD_FAILURE() << llvm::toString(std::move(error));
  auto compared = (*program)->verify();
  if (!compared) {
    ADD_FAILURE() << llvm::toString(compared.takeError()) << outcome.messages;
    return outcome;
  }
  for (const Comparison &one : *compared)
    EXPECT_TRUE(one.passed) << "element " << one.worstIndex << " is " << one.got << ", not " << one.expected << text;
  if (allModes)
    if (llvm::Error error = (*program)->executeInAllModes())
      ADD_FAILURE() << llvm::toString(std::move(error));
  EmulatedProgram &emulated = *(*program)->executable().emulated();
  for (const Finding &finding : emulated.findings())
    ADD_FAILURE() << finding.str() << text;
  outcome.counters = emulated.counters();
  return outcome;
}

double engineCycles(const KernelCounters &counters, llvm::StringRef engine) {
  for (const EngineCounters &one : counters.engines)
    if (one.engine == engine)
      return one.busyCycles;
  return 0;
}
double unitCycles(const KernelCounters &counters) {
  double sum = 0;
  for (const UnitCounters &unit : counters.units)
    sum += unit.cycles;
  return sum;
}

/// relu(A B + bias); a size below 0 is dynamic.
std::string gemm(const char *type, int64_t m, int64_t n, int64_t k, bool tail = true, const char *a = "i, k",
                 const char *b = "k, j") {
  bool isFloating = llvm::StringRef(type) == "bf16";
  const char *sum = isFloating ? "f32" : "i32";
  auto size = [](int64_t extent) { return extent < 0 ? std::string("?") : std::to_string(extent); };
  auto matrix = [&](llvm::StringRef map, const char *element) {
    std::string shape;
    for (llvm::StringRef dim : llvm::split(map, ", "))
      shape += size(dim == "i" ? m : dim == "j" ? n : k) + "x";
    return "tensor<" + shape + element + ">";
  };
  std::string A = matrix(a, type), B = matrix(b, type), C = matrix("i, j", sum), V = matrix("j", sum);
  std::string text =
      formatv(R"(
    func.func @mm(%a: {0}, %b: {1}, %bias: {3}, %c: {2}) -> {2} {{
      %z = arith.constant {4} : {5}
      %f = linalg.fill ins(%z : {5}) outs(%c : {2}) -> {2}
      %p = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> ({6})>, affine_map<(i, j, k) -> ({7})>,
                                            affine_map<(i, j, k) -> (i, j)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
             ins(%a, %b : {0}, {1}) outs(%f : {2}) {{
      ^bb0(%x: {8}, %y: {8}, %s: {5}):
        %xw = {9} %x : {8} to {5}
        %yw = {9} %y : {8} to {5}
        %q = {10} %xw, %yw : {5}
        %t = {11} %s, %q : {5}
        linalg.yield %t : {5}
      } -> {2}
)",
              A, B, C, V, isFloating ? "0.0" : "0", sum, a, b, type, isFloating ? "arith.extf" : "arith.extsi",
              isFloating ? "arith.mulf" : "arith.muli", isFloating ? "arith.addf" : "arith.addi");
  if (tail)
    text += formatv(R"(
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                            affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
             ins(%p, %bias : {0}, {1}) outs(%c : {0}) {{
      ^bb0(%x: {2}, %y: {2}, %o: {2}):
        %s = {3} %x, %y : {2}
        %t = {4} %s, %z : {2}
        linalg.yield %t : {2}
      } -> {0}
)",
                    C, V, sum, isFloating ? "arith.addf" : "arith.addi", isFloating ? "arith.maximumf" : "arith.maxsi");
  return text + formatv("      return {0} : {1}\n    }\n", tail ? "%r" : "%p", C).str();
}

} // namespace

TEST(Scratchpad, ItsChipHasCoresWithEngines) {
  programContext();
  auto chip = llvm::cantFail(TargetRegistry::get().describe("accelerator:npu"));
  ASSERT_TRUE(chip->graph().threadMemory());
  CoreHierarchy cores = CoreHierarchy::of(*chip);
  EXPECT_EQ(cores.cores, 4);
  ASSERT_TRUE(cores.in && cores.out && cores.accumulator);
  EXPECT_EQ(cores.in->queueDepth, 8);
  EXPECT_TRUE(cores.reachesGlobal);
}

/// A chip between the kinds that a reader may have in mind gets the answer of each question by itself.
TEST(Scratchpad, CoresMayHaveCachesAndVectorsToo) {
  programContext();
  auto chip = llvm::cantFail(TargetRegistry::get().describe("between:cores"));
  EXPECT_EQ(chip->graph().caches().size(), 1u);
  EXPECT_TRUE(chip->graph().threadMemory() && chip->graph().lockstepLevel() && CoreHierarchy::of(*chip).reachesGlobal);
  auto usesEngines = [](const Outcome &outcome) {
    return llvm::all_of(outcome.counters, [](const KernelCounters &each) { return engineCycles(each, "copy") > 0; });
  };
  Outcome product = run(gemm("bf16", 96, 160, 64), {}, true, "between:cores");
  EXPECT_TRUE(usesEngines(product));
  EXPECT_GT(unitCycles(product.counters.front()), 0);
  Outcome rows = run(R"(
func.func @rows(%x: tensor<37x200xf32>) -> tensor<37x200xf32> {
  %e = tensor.empty() : tensor<37x200xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<37x200xf32>) outs(%e : tensor<37x200xf32>) -> tensor<37x200xf32>
  return %r : tensor<37x200xf32>
})",
                     {}, true, "between:cores");
  EXPECT_TRUE(usesEngines(rows)) << "its tiles come by copies";
}

TEST(Scratchpad, UnitsThatReadNoRowsAreLeftOut) {
  Outcome product = run(gemm("bf16", 64, 64, 64), {}, false, "between:columns");
  EXPECT_EQ(unitCycles(product.counters.front()), 0);
  EXPECT_NE(product.messages.find("field 'b' does not accept plain rows"), std::string::npos) << product.messages;
}

TEST(Scratchpad, ProductsAreRightInEveryMode) {
  for (const char *type : {"i8", "bf16"}) {
    for (auto [m, n, k] :
         {std::tuple(128, 128, 256), {96, 160, 64}, {33, 65, 95}, {96, 96, 32}, {1, 32, 32}, {5, 7, 3}})
      run(gemm(type, m, n, k));
    run(gemm(type, 64, 96, 128, /*tail=*/false));
  }
}

TEST(Scratchpad, OperandsInAnyOrder) {
  for (const char *a : {"i, k", "k, i"})
    for (const char *b : {"k, j", "j, k"})
      run(gemm("i8", 64, 96, 128, true, a, b));
}

TEST(Scratchpad, DynamicSizes) {
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>(64, 64, 64), {200, 48, 100}, {1, 1, 1}})
    run(gemm("i8", -1, -1, -1), {m, k, n});
  run(gemm("bf16", -1, 64, 96), {70});
}

TEST(Scratchpad, SumsThatGoOnAndSeveralDimensions) {
  // C += A B: what was in C arrives with the tail.
  run(R"(
    func.func @update(%a: memref<64x96xi8>, %b: memref<96x32xi8>, %c: memref<64x32xi32>) {
      linalg.matmul ins(%a, %b : memref<64x96xi8>, memref<96x32xi8>) outs(%c : memref<64x32xi32>)
      return
    })");
  // Batches, and a convolution: its taps are dimensions of the sum, its operand is gathered by copies.
  run(R"(
    func.func @batch(%a: tensor<3x40x64xbf16>, %b: tensor<3x64x48xbf16>, %c: tensor<3x40x48xf32>)
        -> tensor<3x40x48xf32> {
      %z = arith.constant 0.0 : f32
      %f = linalg.fill ins(%z : f32) outs(%c : tensor<3x40x48xf32>) -> tensor<3x40x48xf32>
      %r = linalg.batch_matmul ins(%a, %b : tensor<3x40x64xbf16>, tensor<3x64x48xbf16>)
                               outs(%f : tensor<3x40x48xf32>) -> tensor<3x40x48xf32>
      return %r : tensor<3x40x48xf32>
    })",
      {}, /*allModes=*/false);
  run(R"(
    func.func @conv(%x: tensor<1x10x10x32xi8>, %w: tensor<3x3x32x32xi8>, %c: tensor<1x8x8x32xi32>)
        -> tensor<1x8x8x32xi32> {
      %z = arith.constant 0 : i32
      %f = linalg.fill ins(%z : i32) outs(%c : tensor<1x8x8x32xi32>) -> tensor<1x8x8x32xi32>
      %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x10x10x32xi8>, tensor<3x3x32x32xi8>)
                                    outs(%f : tensor<1x8x8x32xi32>) -> tensor<1x8x8x32xi32>
      return %r : tensor<1x8x8x32xi32>
    })",
      {}, /*allModes=*/false);
}

TEST(Scratchpad, WhatNoUnitTakesRunsOnTheCores) {
  // f32 products, a transposition, row sums and soft-max.
  run(R"(
    func.func @rest(%a: tensor<33x47xf32>, %b: tensor<47x20xf32>, %s: tensor<33x20xf32>, %t: tensor<20x33xf32>)
        -> (tensor<20x33xf32>, tensor<33x20xf32>) {
      %z = arith.constant 0.0 : f32
      %f = linalg.fill ins(%z : f32) outs(%s : tensor<33x20xf32>) -> tensor<33x20xf32>
      %p = linalg.matmul ins(%a, %b : tensor<33x47xf32>, tensor<47x20xf32>) outs(%f : tensor<33x20xf32>)
          -> tensor<33x20xf32>
      %r = linalg.transpose ins(%p : tensor<33x20xf32>) outs(%t : tensor<20x33xf32>) permutation = [1, 0]
      %e = tensor.empty() : tensor<33x20xf32>
      %m = linalg.softmax dimension(1) ins(%p : tensor<33x20xf32>) outs(%e : tensor<33x20xf32>) -> tensor<33x20xf32>
      return %r, %m : tensor<20x33xf32>, tensor<33x20xf32>
    })");
  // Dynamic sizes, a recurrence along a row.
  run(R"(
    func.func @scan(%x: memref<?x?xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %x, %c0 : memref<?x?xf32>
      %n = memref.dim %x, %c1 : memref<?x?xf32>
      affine.for %i = 0 to %m {
        affine.for %j = 1 to %n {
          %a = affine.load %x[%i, %j - 1] : memref<?x?xf32>
          %b = affine.load %x[%i, %j] : memref<?x?xf32>
          %s = arith.addf %a, %b : f32
          affine.store %s, %x[%i, %j] : memref<?x?xf32>
        }
      }
      return
    })",
      {9, 17});
}

TEST(Scratchpad, RequantisationIsOneInstruction) {
  // Per-column scales, a zero point, and a clamp at 0 that is tighter than i8.
  Outcome outcome = run(R"(
    #ij = affine_map<(i, j) -> (i, j)>
    #j = affine_map<(i, j) -> (j)>
    func.func @quantised(%a: tensor<64x64xi8>, %b: tensor<64x96xi8>, %scale: tensor<96xf32>, %c: tensor<64x96xi32>,
                         %q: tensor<64x96xi8>) -> tensor<64x96xi8> {
      %z = arith.constant 0 : i32
      %zero = arith.constant 3.0 : f32
      %least = arith.constant 0.0 : f32
      %most = arith.constant 127.0 : f32
      %f = linalg.fill ins(%z : i32) outs(%c : tensor<64x96xi32>) -> tensor<64x96xi32>
      %p = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x96xi8>) outs(%f : tensor<64x96xi32>)
          -> tensor<64x96xi32>
      %r = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
          ins(%p, %scale : tensor<64x96xi32>, tensor<96xf32>) outs(%q : tensor<64x96xi8>) {
        ^bb0(%x: i32, %s: f32, %o: i8):
          %w = arith.sitofp %x : i32 to f32
          %v = arith.mulf %w, %s : f32
          %n = math.roundeven %v : f32
          %y = arith.addf %n, %zero : f32
          %l = arith.maximumf %y, %least : f32
          %h = arith.minimumf %l, %most : f32
          %t = arith.fptosi %h : f32 to i8
          linalg.yield %t : i8
      } -> tensor<64x96xi8>
      return %r : tensor<64x96xi8>
    })");
  ASSERT_EQ(outcome.counters.size(), 1u);
  uint64_t special = 0, converted = 0;
  for (auto &[name, count] : outcome.counters.front().instructions) {
    special += name == "special" ? count : 0;
    converted += name == "convert" ? count : 0;
  }
  uint64_t vectors =
      outcome.counters.front().blocks / 4 * (64 * 96 / 16); // of sixteen elements, in all runs of 4 cores
  EXPECT_GE(special, vectors);
  EXPECT_LT(converted, vectors); // of indices alone
}

TEST(Scratchpad, TheUnitIsBusyAsThePlanSays) {
  // With a place in the unit's queue for any command, and with those of the chip, for which the core waits.
  for (auto [type, target, least] : {std::tuple("i8", "accelerator:npu@units.systolic_i8.queueDepth=0", 0.70),
                                     {"i8", "accelerator:npu", 0.55},
                                     {"bf16", "accelerator:npu", 0.50}}) {
    DecisionLog log(&programContext());
    Outcome outcome = run(gemm(type, 512, 512, 512), {}, /*allModes=*/false, target);
    ASSERT_EQ(outcome.counters.size(), 1u);
    const KernelCounters &counters = outcome.counters.front();
    EXPECT_EQ(unitCycles(counters), 512.0 * 512 * 512 / (32 * 32)); // 32 clocks for 32^3 products
    double busy = engineCycles(counters, "unit") / counters.cycles;
    EXPECT_GT(busy, least) << type << " " << target; // of 1024 cubed more, test_scratchpads.py
    double predicted = 0;
    for (const llvm::json::Value &decision : log.take())
      if (const llvm::json::Object *choice = decision.getAsObject()->getObject("choice"))
        predicted = choice->getNumber("clocks").value_or(predicted);      // its vectors are a decision without clocks
    EXPECT_NEAR(counters.cycles / 4, predicted, 0.1 * predicted) << type; // of one core
    // All engines together worked longer than the program took.
    EXPECT_GT(engineCycles(counters, "unit") + engineCycles(counters, "copy") + engineCycles(counters, "core"),
              1.3 * counters.cycles);
  }
}

} // namespace scratchpad_test
