//===- RingTest.cpp - Products through rings between roles --------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chips whose units read the scratchpad and whose engine copies tiles: products
/// of all orders that the units take, edges, tiles that blocks take in turn; and
/// that each wait and each arrival is needed.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/CostModel/LaneContractionModel.h"
#include "core/Emulator/FenceCheck.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// Chips whose units are issued by a group of subgroups on matrices that an engine copies: one for each list of units.
std::vector<std::string> ringChips() {
  programContext();
  std::vector<std::string> names;
  size_t units = 0;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      auto hierarchy = laneHierarchy(*description);
      bool groups = llvm::any_of(description->units(), [](const MatrixUnit &unit) {
        return unit.scopeCount > 1 && unit.a.residence == Residence::Scratchpad;
      });
      if (hierarchy && groups && tileEngine(*description, *hierarchy) && description->units().size() != units) {
        units = description->units().size();
        names.push_back((target->name() + ":" + chip).str());
      }
    }
  return names;
}

struct Product {
  Array a, b, c;
  std::vector<double> expected;
  Product(const Gemm &g, int64_t m, int64_t n, int64_t k, std::mt19937 &random)
      : a(g.kind, m * k, &random), b(g.kind, k * n, &random), c(g.result, m * n, nullptr), expected(m * n) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          expected[i * n + j] +=
              a.values[g.transA ? l * m + i : i * k + l] * b.values[g.transB ? j * k + l : l * n + j];
  }
};

std::string force(int64_t m, int64_t n) { return llvm::formatv("group=4,block_m={0},block_n={1}", m, n).str(); }

/// What a program for the ring must contain, or the test is about something else.
bool usesRing(const Compiled &compiled) { return compiled.lanes.find("tensor_map") != std::string::npos; }

} // namespace

TEST(Ring, ProductsOfAllOrders) {
  using enum ElementKind;
  const Gemm gemms[] = {{"f16", "f32", F16, F32},
                        {"f16", "f32", F16, F32, false, true},
                        {"f16", "f32", F16, F32, true, false},
                        {"f16", "f32", F16, F32, true, true},
                        {"bf16", "f32", BF16, F32, false, true},
                        {"i8", "i32", I8, I32, false, true},
                        {"f8E4M3FN", "f32", F8E4M3, F32, false, true},
                        {"f8E5M2", "f32", F8E5M2, F32, false, true}};
  std::mt19937 random(5);
  for (const std::string &chip : ringChips())
    for (const Gemm &g : gemms) {
      int64_t m = 200, n = 144, k = 208; // no multiple of a tile
      Compiled compiled = compileFor(gemmText(g, m, n, k), chip, force(128, 64));
      ASSERT_TRUE(usesRing(compiled)) << chip << " " << g.in << compiled.lanes;
      Product p(g, m, n, k, random);
      std::string what = llvm::formatv("{0} {1}{2}{3}", chip, g.in, g.transA ? " A^T" : "", g.transB ? " B^T" : "");
      check(compiled, what, {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
    }
}

/// All shapes of tiles, each unit once; whole tiles, one step, and many.
TEST(Ring, AllTiles) {
  const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, true};
  std::mt19937 random(6);
  for (const std::string &chip : ringChips())
    for (auto [bm, bn] : {std::pair<int64_t, int64_t>(64, 16),
                          {64, 256},
                          {128, 32},
                          {128, 96},
                          {128, 256},
                          {256, 128},
                          {128, 192},
                          {256, 64}})
      for (int64_t k : {128, 1096}) {
        int64_t m = k == 128 ? bm : bm + 8, n = k == 128 ? bn : bn + 8;
        Compiled compiled = compileFor(gemmText(g, m, n, k), chip, force(bm, bn));
        ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
        Product p(g, m, n, k, random);
        std::string what = llvm::formatv("{0} {1}x{2} k {3}", chip, bm, bn, k);
        if (k == 128 || bm * bn == 64 * 16) // the others take long
          check(compiled, what, {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
      }
}

/// More tiles than blocks: stage and parity run on from tile to tile.
TEST(Ring, BlocksTakeTilesInTurn) {
  const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, true};
  std::mt19937 random(7);
  for (const std::string &chip : ringChips()) {
    int64_t m = 1000, n = 160, k = 136;
    Compiled compiled = compileFor(gemmText(g, m, n, k), chip, force(64, 16) + ",cluster=1");
    ASSERT_TRUE(usesRing(compiled));
    Product p(g, m, n, k, random);
    auto counters = check(compiled, chip + " in turn", {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
    ASSERT_FALSE(counters.empty());
    int64_t blocks = laneHierarchy(*llvm::cantFail(TargetRegistry::get().describe(chip)))->blocks;
    EXPECT_EQ(counters.front().blocks, uint64_t(blocks));
    // What units read in the scratchpad takes the banks' least time.
    std::string units = chip.substr(0, chip.find(':')) + ".";
    int sites = 0;
    for (const SiteCounters &site : counters.front().sites)
      if (site.op.rfind(units, 0) == 0) {
        ++sites;
        EXPECT_GT(site.cycles, 0u) << site.op;
        EXPECT_EQ(site.conflictCycles, 0u) << site.op;
      }
    EXPECT_GT(sites, 0);
  }
}

/// Blocks of a cluster copy halves of B for each other; an odd number of row tiles leaves one block without rows.
TEST(Ring, ClustersShareCopies) {
  std::mt19937 random(11);
  for (const std::string &chip : ringChips())
    for (bool transposed : {true, false})
      for (auto [m, n] : {std::pair<int64_t, int64_t>(200, 144), {328, 64}}) {
        const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, transposed};
        Product p(g, m, n, 136, random);
        std::string text = gemmText(g, m, n, 136);
        auto readBytes = [&](const char *cluster) {
          Compiled compiled = compileFor(text, chip, force(64, 64) + cluster);
          EXPECT_TRUE(usesRing(compiled));
          auto counters = check(compiled, chip + cluster, {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
          uint64_t bytes = 0;
          for (const MemoryCounters &memory : counters.empty() ? std::vector<MemoryCounters>() : counters[0].memories)
            bytes += memory.memory == "global" ? memory.readBytes : 0;
          return bytes;
        };
        uint64_t alone = readBytes(",cluster=1"), shared = readBytes(",cluster=2");
        int64_t tilesM = llvm::divideCeil(m, 64), tilesN = llvm::divideCeil(n, 64);
        uint64_t rows = m * 136 * 2 * tilesN, columns = n * 136 * 2;
        EXPECT_EQ(alone, rows + columns * tilesM);
        EXPECT_EQ(shared, rows + columns * llvm::divideCeil(tilesM, 2));
      }
}

/// The number of rows is known at the launch only.
TEST(Ring, DynamicRows) {
  std::mt19937 random(8);
  for (const std::string &chip : ringChips()) {
    std::string text = R"(
      func.func @mm(%a: tensor<?x72xf16>, %b: tensor<72x64xf16>, %c: tensor<?x64xf32>) -> tensor<?x64xf32> {
        %z = arith.constant 0.0 : f32
        %f = linalg.fill ins(%z : f32) outs(%c : tensor<?x64xf32>) -> tensor<?x64xf32>
        %r = linalg.matmul ins(%a, %b : tensor<?x72xf16>, tensor<72x64xf16>) outs(%f : tensor<?x64xf32>)
          -> tensor<?x64xf32>
        return %r : tensor<?x64xf32>
      })";
    Compiled compiled = compileFor(text, chip, force(128, 64));
    ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
    const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32};
    for (int64_t m : {1, 130}) {
      Product p(g, m, 64, 72, random);
      check(compiled, chip + " dynamic rows", {m}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
    }
  }
}

/// Bias, a non-linear function, a residual: on the registers of the units.
TEST(Ring, Epilogue) {
  std::mt19937 random(9);
  const int64_t m = 136, n = 72, k = 80;
  std::string text = R"(
    func.func @mm(%a: tensor<136x80xf16>, %b: tensor<72x80xf16>, %bias: tensor<72xf32>, %x: tensor<136x72xf16>,
                  %c: tensor<136x72xf16>) -> tensor<136x72xf16> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<136x72xf32>
      %f = linalg.fill ins(%z : f32) outs(%e : tensor<136x72xf32>) -> tensor<136x72xf32>
      %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                                            affine_map<(i, j, k) -> (i, j)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
             ins(%a, %b : tensor<136x80xf16>, tensor<72x80xf16>) outs(%f : tensor<136x72xf32>) {
      ^bb0(%u: f16, %v: f16, %s: f32):
        %uw = arith.extf %u : f16 to f32
        %vw = arith.extf %v : f16 to f32
        %m = arith.mulf %uw, %vw : f32
        %t = arith.addf %s, %m : f32
        linalg.yield %t : f32
      } -> tensor<136x72xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                            affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
             ins(%p, %bias, %x : tensor<136x72xf32>, tensor<72xf32>, tensor<136x72xf16>) outs(%c : tensor<136x72xf16>) {
      ^bb0(%u: f32, %v: f32, %w: f16, %o: f16):
        %s = arith.addf %u, %v : f32
        %zero = arith.constant 0.0 : f32
        %q = arith.maximumf %s, %zero : f32
        %ww = arith.extf %w : f16 to f32
        %y = arith.addf %q, %ww : f32
        %h = arith.truncf %y : f32 to f16
        linalg.yield %h : f16
      } -> tensor<136x72xf16>
      return %r : tensor<136x72xf16>
    })";
  for (const std::string &chip : ringChips()) {
    Compiled compiled = compileFor(text, chip, force(128, 64));
    ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
    const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, true};
    Product p(g, m, n, k, random);
    Array bias(ElementKind::F32, n, &random), x(ElementKind::F16, m * n, &random), c(ElementKind::F16, m * n, nullptr);
    for (int64_t i = 0; i < m * n; ++i)
      p.expected[i] = std::max(0.0, p.expected[i] + bias.values[i % n]) + x.values[i];
    check(compiled, chip + " epilogue", {}, {p.a, p.b, bias, x, c, c}, p.expected, 1e-3);
  }
}

namespace {

/// Ops whose removal must show, by number; `take` removes the one of number `which`, -1 none. Returns how many there
/// are.
int visitSteps(mlir::ModuleOp module, int which, std::string &what) {
  int count = 0, made = 0;
  llvm::SmallVector<mlir::Operation *> steps;
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().getStringRef();
    auto assembly = llvm::dyn_cast<mlir::LLVM::InlineAsmOp>(op);
    bool waits = assembly && assembly.getAsmString().contains("wait");
    for (llvm::StringRef part :
         {"arrive", "try_wait", "commit", "barrier0", "wait_group", "cluster.wait", "fence.proxy"})
      waits |= name.contains(part);
    bool makes = name.contains("mbarrier.init"); // the objects of one stage stand for all
    if (waits || name == "nvvm.barrier" || (makes && made++ < 2))
      steps.push_back(op);
  });
  count = steps.size();
  if (which < 0)
    return count;
  mlir::Operation *op = steps[which];
  what = op->getName().getStringRef().str() + " " + std::to_string(which);
  mlir::OpBuilder builder(op);
  if (op->getNumResults() && !op->getResult(0).use_empty()) { // a wait that carries registers: they go past it
    mlir::Value result = mlir::LLVM::UndefOp::create(builder, op->getLoc(), op->getResult(0).getType());
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      result = mlir::LLVM::InsertValueOp::create(builder, op->getLoc(), result, value, int64_t(i));
    op->getResult(0).replaceAllUsesWith(result);
  }
  op->erase();
  return count;
}

/// Modes in which something is found or a result is wrong.
int modesThatShow(const Compiled &compiled, const Product &p) {
  int modes = 0;
  for (const EmulatorMode &mode : allModes(compiled.kernels->engines())) {
    Emulator device(compiled.kernels);
    device.mode = mode;
    device.counting = false;
    std::string error;
    std::vector<Array> arrays{p.a, p.b, p.c, p.c};
    std::vector<void *> memory;
    for (Array &array : arrays) {
      memory.push_back(device.allocate(array.bytes.size(), error));
      device.copyIn(memory.back(), array.bytes.data(), array.bytes.size(), error);
    }
    EXPECT_TRUE(compiled.program->run(device, {}, memory, error)) << error;
    device.copyOut(arrays.back().bytes.data(), memory.back(), arrays.back().bytes.size(), error);
    bool wrong = !device.findings().empty();
    for (size_t i = 0; i < p.expected.size() && !wrong; ++i)
      wrong = arrays.back().at(i) != p.expected[i];
    modes += wrong;
    for (void *each : memory)
      device.release(each);
  }
  return modes;
}

void eachStepIsNeeded(const std::string &chip, int64_t m, int64_t n, int64_t k, const std::string &plan) {
  const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, true};
  std::mt19937 random(10);
  Product p(g, m, n, k, random);
  int steps = 0;
  std::string what;
  Compiled whole = compileFor(gemmText(g, m, n, k), chip, plan,
                              [&](mlir::ModuleOp module) { steps = visitSteps(module, -1, what); });
  ASSERT_TRUE(usesRing(whole));
  EXPECT_EQ(modesThatShow(whole, p), 0);
  EXPECT_GE(steps, 8);
  for (int which = 0; which < steps; ++which) {
    Compiled without =
        compileFor(gemmText(g, m, n, k), chip, plan, [&](mlir::ModuleOp module) { visitSteps(module, which, what); });
    ASSERT_TRUE(without.kernels);
    EXPECT_GT(modesThatShow(without, p), 0) << chip << " without " << what;
  }
}

} // namespace

/// Each fence before engines, removed or put behind the barrier that follows it, is found by the static check alone.
TEST(Ring, EachFenceIsNeededStatically) {
  const Gemm g{"f16", "f32", ElementKind::F16, ElementKind::F32, false, true};
  for (const std::string &chipName : ringChips())
    for (const char *cluster : {",cluster=1", ",cluster=2"}) {
      auto chip = llvm::cantFail(TargetRegistry::get().describe(chipName));
      EmulationTable table;
      llvm::cantFail(TargetRegistry::get().target(chip->target()))->emulate(table);
      auto fencesOf = [](mlir::ModuleOp module) {
        llvm::SmallVector<mlir::Operation *> fences;
        module.walk([&](mlir::Operation *op) {
          if (op->getName().getStringRef().contains("fence.proxy"))
            fences.push_back(op);
        });
        return fences;
      };
      int faults = 0;
      compileFor(gemmText(g, 128, 128, 128), chipName, force(64, 128) + cluster, [&](mlir::ModuleOp module) {
        auto messageOf = [&](mlir::ModuleOp changed) {
          std::string message;
          mlir::ScopedDiagnosticHandler handler(
              changed.getContext(), [&](mlir::Diagnostic &diagnostic) { message += diagnostic.str() + "\n"; });
          bool sound = mlir::succeeded(checkEngineFences(changed, chip, table));
          EXPECT_EQ(sound, message.empty()) << message;
          return message;
        };
        EXPECT_EQ(messageOf(module), "");
        size_t fences = fencesOf(module).size();
        EXPECT_GE(fences, 2u) << "of the phase objects and of what leaves";
        for (size_t which = 0; which < fences; ++which) {
          auto without = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
          fencesOf(*without)[which]->erase();
          EXPECT_NE(messageOf(*without).find("is missing behind the write"), std::string::npos) << chipName << which;
          auto late = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
          mlir::Operation *fence = fencesOf(*late)[which];
          for (mlir::Operation *next = fence->getNextNode(); next; next = next->getNextNode())
            if (next->getName().getStringRef().starts_with("nvvm.barrier")) {
              fence->moveAfter(next);
              EXPECT_NE(messageOf(*late).find("stands behind the barrier"), std::string::npos) << chipName << which;
              ++faults;
              break;
            }
        }
      });
      EXPECT_GT(faults, 0);
    }
}

/// More steps than stages, two groups.
TEST(Ring, EachStepIsNeeded) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 16, 256, force(128, 16) + ",cluster=1,stages=3");
}

/// Results leave through two buffers in turn.
TEST(Ring, EachStepOfStoresIsNeeded) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 64, 128, 256, force(64, 128) + ",stages=2");
}

/// Two blocks that share what they copy.
TEST(Ring, EachStepIsNeededInClusters) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 16, 256, force(64, 16) + ",cluster=2,stages=2");
}

/// What hands the ring on from one tile to the next.
TEST(Ring, EachStepIsNeededBetweenTiles) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 32, 192, force(64, 16) + ",cluster=1,stages=2,workers=2");
}
