//===- LaunchFixture.cpp - Programs on lanes, compiled and emulated ------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The stages, the devices, the comparison.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::test;

mlir::MLIRContext &test::programContext() {
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

Array::Array(ElementKind kind, int64_t count, std::mt19937 *random)
    : kind(kind), values(count), bytes(count * bitWidth(kind) / 8) {
  for (int64_t i = 0; i < count && random; ++i) {
    int number = std::uniform_int_distribution<int>(isSigned(kind) ? -4 : 0, 4)(*random);
    values[i] = isFloat(kind) ? number / 4.0 : number;
    writeElement(kind, bytes.data(), i, values[i]);
  }
}

Compiled test::compileFor(const std::string &text, const std::string &target, const std::string &force,
                          llvm::function_ref<void(mlir::ModuleOp)> edit) {
  Compiled result;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&programContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &programContext(), "program.mlir");
  if (module && !force.empty())
    (*module)->setAttr("tilewright.force", mlir::StringAttr::get(&programContext(), force));
  CompileOptions options;
  options.target = target;
  if (!module || mlir::failed(runStages(*module, 1, 5, options))) {
    ADD_FAILURE() << target << ": " << messages << text;
    return result;
  }
  edit(*module);
  llvm::raw_string_ostream(result.lanes) << *module;
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

void test::runOnce(const Compiled &compiled, Emulator &device, const std::vector<int64_t> &sizes,
                   std::vector<Array> &arrays) {
  std::string error;
  std::vector<void *> memory;
  for (Array &array : arrays) {
    memory.push_back(device.allocate(std::max<size_t>(1, array.bytes.size()), error));
    EXPECT_TRUE(memory.back()) << error;
    EXPECT_TRUE(device.copyIn(memory.back(), array.bytes.data(), array.bytes.size(), error)) << error;
  }
  EXPECT_TRUE(compiled.program->run(device, sizes, memory, error)) << error;
  Array &result = arrays.back();
  EXPECT_TRUE(device.copyOut(result.bytes.data(), memory.back(), result.bytes.size(), error)) << error;
  for (void *each : memory)
    device.release(each);
}

std::vector<KernelCounters> test::check(const Compiled &compiled, const std::string &what, std::vector<int64_t> sizes,
                                        std::vector<Array> arrays, const std::vector<double> &expected,
                                        double tolerance) {
  std::vector<KernelCounters> counters;
  if (!compiled.kernels)
    return counters;
  for (const EmulatorMode &mode : allModes(compiled.kernels->engines())) {
    Emulator device(compiled.kernels);
    device.mode = mode;
    SCOPED_TRACE(what);
    runOnce(compiled, device, sizes, arrays);
    for (const Finding &finding : device.findings())
      ADD_FAILURE() << what << ", " << mode.str() << ": " << finding.str();
    int wrong = 0;
    for (size_t i = 0; i < expected.size() && wrong < 3; ++i)
      if (!(std::abs(arrays.back().at(i) - expected[i]) <= tolerance * (1 + std::abs(expected[i])))) {
        ADD_FAILURE() << what << ", " << mode.str() << ": element " << i << " is " << arrays.back().at(i) << ", not "
                      << expected[i];
        ++wrong;
      }
    counters = device.counters();
  }
  return counters;
}

std::string test::gemmText(const Gemm &g, int64_t m, int64_t n, int64_t k) {
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

test::Product::Product(const Gemm &g, int64_t m, int64_t n, int64_t k, std::mt19937 &random)
    : a(g.kind, m * k, &random), b(g.kind, k * n, &random), c(g.result, m * n, nullptr), expected(m * n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        expected[i * n + j] += a.values[g.transA ? l * m + i : i * k + l] * b.values[g.transB ? j * k + l : l * n + j];
}

std::vector<std::string> test::ringChips() {
  programContext();
  std::vector<std::string> names;
  size_t units = 0;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &chip : target->chips()) {
      auto description = llvm::cantFail(target->describe(chip));
      bool groups = llvm::any_of(description->units(), [](const MatrixUnit &unit) {
        return unit.scopeCount > 1 && unit.a.residence == Residence::Scratchpad;
      });
      if (description->graph().hasBlocks() && groups && tileEngine(*description) &&
          description->units().size() != units) {
        units = description->units().size();
        names.push_back((target->name() + ":" + chip).str());
      }
    }
  return names;
}

std::string test::forceTile(int64_t m, int64_t n) {
  return llvm::formatv("group=4,block_m={0},block_n={1}", m, n).str();
}

bool test::usesRing(const Compiled &compiled) { return compiled.lanes.find("tensor_map") != std::string::npos; }
