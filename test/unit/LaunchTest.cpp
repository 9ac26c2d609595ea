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

#include "core/Pipelines/LaunchProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/Emulator.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "tilewright/UnitModel.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace tilewright;

namespace {

mlir::MLIRContext &programContext() {
  static auto *context = [] {
    if (TargetRegistry::get().targets().empty())
      registerLinkedTargets();
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
    return new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return *context;
}

/// Chips that run lanes, one per distinct list of units, and those named in `also`.
std::vector<std::string> laneChips() {
  programContext();
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      if (!laneHierarchy(*description))
        continue;
      std::string units;
      for (const MatrixUnit &unit : description->units())
        units += unit.name + " ";
      if (seen.insert(units).second)
        names.push_back((target->name() + ":" + chip).str());
    }
  return names;
}

/// An array of small whole numbers over 4.
struct Array {
  ElementKind kind;
  std::vector<double> values;
  std::vector<char> bytes;

  Array(ElementKind kind, int64_t count, std::mt19937 *random)
      : kind(kind), values(count), bytes(count * bitWidth(kind) / 8) {
    for (int64_t i = 0; i < count && random; ++i) {
      int number = std::uniform_int_distribution<int>(isSigned(kind) ? -4 : 0, 4)(*random);
      values[i] = isFloat(kind) ? number / 4.0 : number;
      writeElement(kind, bytes.data(), i, values[i]);
    }
  }
  double at(int64_t i) const { return readElement(kind, bytes.data(), i); }
};

struct Compiled {
  std::shared_ptr<EmulatedKernels> kernels;
  std::optional<LaunchProgram> program;
};

/// Compiles `text` for `target`; failure is a failure of the test.
Compiled compileFor(const std::string &text, const std::string &target) {
  Compiled result;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&programContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &programContext(), "program.mlir");
  CompileOptions options;
  options.target = target;
  if (!module || mlir::failed(runStages(*module, 1, 5, options))) {
    ADD_FAILURE() << target << ": " << messages << text;
    return result;
  }
  auto manifests = (*module)->getAttrOfType<mlir::ArrayAttr>(manifestsAttr);
  auto program = LaunchProgram::read(mlir::cast<mlir::StringAttr>(manifests[0]).getValue());
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return result;
  }
  result.program = std::move(*program);
  auto chip = llvm::cantFail(TargetRegistry::get().describe(target));
  EmulationTable table;
  llvm::cantFail(TargetRegistry::get().target(chip->target()))->emulate(table);
  auto kernels = EmulatedKernels::compile(*module, chip, table);
  if (!kernels)
    ADD_FAILURE() << target << ": " << llvm::toString(kernels.takeError()) << messages;
  else
    result.kernels = *kernels;
  return result;
}

/// Runs in every mode; the last array is the result, compared with `expected`.
std::vector<KernelCounters> check(const Compiled &compiled, const std::string &what, std::vector<int64_t> sizes,
                                  std::vector<Array> arrays, const std::vector<double> &expected, double tolerance) {
  std::vector<KernelCounters> counters;
  if (!compiled.kernels)
    return counters;
  for (const EmulatorMode &mode : allModes(compiled.kernels->engines())) {
    Emulator device(compiled.kernels);
    device.mode = mode;
    std::string error;
    std::vector<void *> memory;
    for (Array &array : arrays) {
      memory.push_back(device.allocate(std::max<size_t>(1, array.bytes.size()), error));
      EXPECT_TRUE(memory.back()) << error;
      EXPECT_TRUE(device.copyIn(memory.back(), array.bytes.data(), array.bytes.size(), error)) << error;
    }
    EXPECT_TRUE(compiled.program->run(device, sizes, memory, error)) << what << ": " << error;
    for (const Finding &finding : device.findings())
      ADD_FAILURE() << what << ", " << mode.str() << ": " << finding.str();
    EXPECT_TRUE(device.copyOut(arrays.back().bytes.data(), memory.back(), arrays.back().bytes.size(), error)) << error;
    int wrong = 0;
    for (size_t i = 0; i < expected.size() && wrong < 3; ++i)
      if (!(std::abs(arrays.back().at(i) - expected[i]) <= tolerance * (1 + std::abs(expected[i])))) {
        ADD_FAILURE() << what << ", " << mode.str() << ": element " << i << " is " << arrays.back().at(i) << ", not "
                      << expected[i];
        ++wrong;
      }
    counters = device.counters();
    for (void *each : memory)
      device.release(each);
  }
  return counters;
}

/// C = A B with A of m x k and B of k x n, each maybe transposed in memory.
struct Gemm {
  const char *in, *out;
  ElementKind kind, result;
  bool transA = false, transB = false;
  bool dynamic = false;
};

std::string gemmText(const Gemm &g, int64_t m, int64_t n, int64_t k) {
  auto type = [&](int64_t r, int64_t c, const char *element) {
    return g.dynamic ? llvm::formatv("tensor<?x?x{0}>", element).str()
                     : llvm::formatv("tensor<{0}x{1}x{2}>", r, c, element).str();
  };
  std::string a = g.transA ? type(k, m, g.in) : type(m, k, g.in), b = g.transB ? type(n, k, g.in) : type(k, n, g.in);
  std::string c = type(m, n, g.out);
  bool isFloating = isFloat(g.result);
  std::string widenOp = !isFloating ? "arith.extsi" : "arith.extf";
  bool widens = std::string(g.in) != g.out;
  auto widen = [&](const char *name, const char *from) {
    return widens ? llvm::formatv("%{0} = {1} %{2} : {3} to {4}\n", name, widenOp, from, g.in, g.out).str()
                  : std::string();
  };
  return llvm::formatv(R"(
    func.func @mm(%a: {0}, %b: {1}, %c: {2}) -> {2} {{
      %z = arith.constant {3} : {4}
      %f = linalg.fill ins(%z : {4}) outs(%c : {2}) -> {2}
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> ({5})>, affine_map<(i, j, k) -> ({6})>,
                                            affine_map<(i, j, k) -> (i, j)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
             ins(%a, %b : {0}, {1}) outs(%f : {2}) {{
      ^bb0(%x: {7}, %y: {7}, %s: {4}):
        {8}{9}
        %p = {10} {11}, {12} : {4}
        %t = {13} %s, %p : {4}
        linalg.yield %t : {4}
      } -> {2}
      return %r : {2}
    })",
                       a, b, c, isFloating ? "0.0" : "0", g.out, g.transA ? "k, i" : "i, k", g.transB ? "j, k" : "k, j",
                       g.in, widen("xw", "x"), widen("yw", "y"), isFloating ? "arith.mulf" : "arith.muli",
                       widens ? "%xw" : "%x", widens ? "%yw" : "%y", isFloating ? "arith.addf" : "arith.addi");
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
  for (const std::string &chip : laneChips())
    for (const Gemm &g : gemms)
      for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>(64, 64, 32), {35, 72, 41}}) {
        // Whole tiles once a chip: edges take all paths.
        if (m == 64 && &g != &gemms[0])
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
