//===- LaunchFixture.h - Programs on lanes, compiled and emulated ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles a program through stage 5 for a chip that runs lanes and executes its
/// launches on the emulator in every order of events.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TEST_UNIT_LAUNCHFIXTURE_H
#define TILEWRIGHT_TEST_UNIT_LAUNCHFIXTURE_H

#include "core/Pipelines/LaunchProgram.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "tilewright/Emulator.h"
#include "tilewright/UnitModel.h"
#include <gtest/gtest.h>
#include <random>

namespace tilewright::test {

/// A context with all dialects, and those of every target that is linked.
mlir::MLIRContext &programContext();

/// An array of small whole numbers over 4.
struct Array {
  ElementKind kind;
  std::vector<double> values;
  std::vector<char> bytes;

  Array(ElementKind kind, int64_t count, std::mt19937 *random);
  double at(int64_t i) const { return readElement(kind, bytes.data(), i); }
};

struct Compiled {
  std::shared_ptr<EmulatedKernels> kernels;
  std::optional<LaunchProgram> program;
  std::string lanes; // the module after stage 5
};

/// Compiles `text` for `target`; failure is a failure of the test. `force`: fields of plans, as tw-opt takes them.
/// `edit`: changes the module after stage 5.
Compiled compileFor(
    const std::string &text, const std::string &target, const std::string &force = "",
    llvm::function_ref<void(mlir::ModuleOp)> edit = [](mlir::ModuleOp) {});

/// Runs once, with these arrays; the last one holds the result then.
void runOnce(const Compiled &compiled, Emulator &device, const std::vector<int64_t> &sizes, std::vector<Array> &arrays);

/// Runs in every mode; the last array is the result, compared with `expected`.
std::vector<KernelCounters> check(const Compiled &compiled, const std::string &what, std::vector<int64_t> sizes,
                                  std::vector<Array> arrays, const std::vector<double> &expected, double tolerance);

/// C = A B with A of m x k and B of k x n, each maybe transposed in memory.
struct Gemm {
  const char *in, *out;
  ElementKind kind, result;
  bool transA = false, transB = false;
  bool dynamic = false;
};
/// Of f16 with sums in f32.
inline Gemm halfGemm(bool transB = false) {
  return {"f16", "f32", ElementKind::F16, ElementKind::F32, /*transA=*/false, transB};
}
std::string gemmText(const Gemm &g, int64_t m, int64_t n, int64_t k);

/// The arrays of a product, and its result in float64.
struct Product {
  Array a, b, c;
  std::vector<double> expected;
  Product(const Gemm &g, int64_t m, int64_t n, int64_t k, std::mt19937 &random);
};

/// Chips whose units are issued by a group of subgroups on matrices that an engine copies: one for each list of units.
std::vector<std::string> ringChips();
/// The plan of a ring with tiles of `m` x `n`.
std::string forceTile(int64_t m, int64_t n);
/// What a program for the ring must contain, or the test is about something else.
bool usesRing(const Compiled &compiled);

} // namespace tilewright::test

#endif // TILEWRIGHT_TEST_UNIT_LAUNCHFIXTURE_H
