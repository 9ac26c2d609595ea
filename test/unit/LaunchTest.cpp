//===- LaunchTest.cpp - Programs on lanes, emulated --------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whole programs compiled for chips that run lanes, their launches executed by
/// the emulator in all its modes: right results, no findings.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

namespace launch_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// Chips that run lanes, one per distinct list of units, and those named in `also`.
std::vector<std::string> laneChips() {
  programContext();
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      if (!description->graph().hasBlocks())
        continue;
      std::string units;
      for (const MatrixUnit &unit : description->units())
        units += unit.name + " ";
      if (seen.insert(units).second)
        names.push_back((target->name() + ":" + chip).str());
    }
  return names;
}

} // namespace

TEST(Launch, ProductsOfAllTypesAndTranspositions) {
  using enum ElementKind;
  const Gemm gemms[] = {{"f16", "f32", F16, F32},
                        {"f16", "f32", F16, F32, false, true},
                        {"f16", "f32", F16, F32, true, false},
                        {"f16", "f32", F16, F32, true, true},
                        {"bf16", "f32", BF16, F32},
                        {"i8", "i32", I8, I32, false, true},
                        {"f32", "f32", F32, F32},
                        {"f64", "f64", F64, F64},
                        {"f16", "f32", F16, F32, false, false, true}};
  std::mt19937 random(3);
  for (auto [place, chip] : llvm::enumerate(laneChips()))
    for (auto [number, g] : llvm::enumerate(gemms))
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>(64, 64, 32), {35, 72, 41}}) {
        // Whole tiles once a chip; edges, which take all paths, in turn: test_lane_results.py has each type on each
        // chip.
        if (m == 64 ? number != 0 : (place + number) % 3 != 0)
          continue;
        Array a(g.kind, m * k, &random), b(g.kind, k * n, &random), c(g.result, m * n, nullptr);
        std::vector<double> expected(m * n);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l)
              expected[i * n + j] +=
                  a.values[g.transA ? l * m + i : i * k + l] * b.values[g.transB ? j * k + l : l * n + j];
        std::string what = llvm::formatv("{0} {1}x{2}x{3} {4}{5}{6}{7}", chip, m, n, k, g.in, g.transA ? " A^T" : "",
                                         g.transB ? " B^T" : "", g.dynamic ? " dynamic" : "");
        Compiled compiled = compileFor(gemmText(g, m, n, k), chip);
        std::vector<int64_t> sizes;
        if (g.dynamic)
          sizes = {m, k, n};
        // The result is a second array: the program's argument c is only its shape.
        check(compiled, what, sizes, {a, b, c, c}, expected, 1e-6);
      }
}

/// Nests without products: what no unit computes still runs, one lane an iteration.
TEST(Launch, ElementwiseAndRowSums) {
  std::mt19937 random(4);
  const int64_t rows = 37, cols = 50;
  for (const char *chip : {"nvidia:T4", "nvidia:H100", "amd:MI300X", "amd:RX9070"})
    for (bool dynamic : {false, true}) {
      std::string matrix = dynamic ? "tensor<?x?xf32>" : "tensor<37x50xf32>",
                  column = dynamic ? "tensor<?xf32>" : "tensor<37xf32>";
      std::string text = llvm::formatv(R"(
        func.func @rows(%a: {0}, %s: {1}) -> {1} {{
          %z = arith.constant 0.0 : f32
          %f = linalg.fill ins(%z : f32) outs(%s : {1}) -> {1}
          %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                               iterator_types = ["parallel", "reduction"]} ins(%a : {0}) outs(%f : {1}) {{
          ^bb0(%x: f32, %t: f32):
            %y = arith.mulf %x, %x : f32
            %u = arith.addf %t, %y : f32
            linalg.yield %u : f32
          } -> {1}
          return %r : {1}
        })",
                                       matrix, column);
      Array a(ElementKind::F32, rows * cols, &random), s(ElementKind::F32, rows, nullptr);
      std::vector<double> expected(rows);
      for (int64_t i = 0; i < rows * cols; ++i)
        expected[i / cols] += a.values[i] * a.values[i];
      std::vector<int64_t> sizes;
      if (dynamic)
        sizes = {rows, cols};
      Compiled compiled = compileFor(text, chip);
      check(compiled, std::string(chip) + " row sums", sizes, {a, s, s}, expected, 1e-6);
    }
}

} // namespace launch_test
