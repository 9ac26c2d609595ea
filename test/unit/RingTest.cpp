//===- RingTest.cpp - Products through rings between roles --------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chips whose units read the scratchpad and whose engine copies tiles: products
/// of all orders that the units take, edges, tiles that blocks take in turn. That
/// each wait and each arrival is needed: RingMutationTest.cpp.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace ring_test {

using namespace tilewright;
using namespace tilewright::test;

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
      Compiled compiled = compileFor(gemmText(g, m, n, k), chip, forceTile(128, 64));
      ASSERT_TRUE(usesRing(compiled)) << chip << " " << g.in << compiled.lanes;
      Product p(g, m, n, k, random);
      std::string what = llvm::formatv("{0} {1}{2}{3}", chip, g.in, g.transA ? " A^T" : "", g.transB ? " B^T" : "");
      check(compiled, what, {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
    }
}

/// All shapes of tiles, each unit once; whole tiles, one step, and many.
TEST(Ring, AllTiles) {
  const Gemm g = halfGemm(/*transB=*/true);
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
        Compiled compiled = compileFor(gemmText(g, m, n, k), chip, forceTile(bm, bn));
        ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
        Product p(g, m, n, k, random);
        std::string what = llvm::formatv("{0} {1}x{2} k {3}", chip, bm, bn, k);
        if (k == 128 || bm * bn == 64 * 16) // the others take long
          check(compiled, what, {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
      }
}

/// More tiles than blocks: stage and parity run on from tile to tile.
TEST(Ring, BlocksTakeTilesInTurn) {
  const Gemm g = halfGemm(/*transB=*/true);
  std::mt19937 random(7);
  for (const std::string &chip : ringChips()) {
    int64_t m = 1000, n = 160, k = 136;
    Compiled compiled = compileFor(gemmText(g, m, n, k), chip, forceTile(64, 16) + ",cluster=1");
    ASSERT_TRUE(usesRing(compiled));
    Product p(g, m, n, k, random);
    auto counters = check(compiled, chip + " in turn", {}, {p.a, p.b, p.c, p.c}, p.expected, 1e-6);
    ASSERT_FALSE(counters.empty());
    int64_t blocks = LaneHierarchy::of(llvm::cantFail(TargetRegistry::get().describe(chip))->graph()).blocks;
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
        const Gemm g = halfGemm(transposed);
        Product p(g, m, n, 136, random);
        std::string text = gemmText(g, m, n, 136);
        auto readBytes = [&](const char *cluster) {
          Compiled compiled = compileFor(text, chip, forceTile(64, 64) + cluster);
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
    Compiled compiled = compileFor(text, chip, forceTile(128, 64));
    ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
    const Gemm g = halfGemm();
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
    Compiled compiled = compileFor(text, chip, forceTile(128, 64));
    ASSERT_TRUE(usesRing(compiled)) << compiled.lanes;
    const Gemm g = halfGemm(/*transB=*/true);
    Product p(g, m, n, k, random);
    Array bias(ElementKind::F32, n, &random), x(ElementKind::F16, m * n, &random), c(ElementKind::F16, m * n, nullptr);
    for (int64_t i = 0; i < m * n; ++i)
      p.expected[i] = std::max(0.0, p.expected[i] + bias.values[i % n]) + x.values[i];
    check(compiled, chip + " epilogue", {}, {p.a, p.b, bias, x, c, c}, p.expected, 1e-3);
  }
}

} // namespace ring_test
