//===- LaunchCountsTest.cpp - What tile programs say of launches ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts of small launches by hand: what is walked, what is multiplied, and what follows
/// from data. Compiled programs are in test/integration/test_conformance.py.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchCounts.h"
#include "EmulatorFixture.h"
#include "core/Transforms/Host/IndexValues.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

namespace launch_counts_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// A context of its own, with all that tile programs have.
mlir::MLIRContext &tileContext() {
  static mlir::MLIRContext context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
  }();
  return context;
}

/// The counts of the launch @k with this body, of two subgroups of a chip with 32 lanes; nullopt where the chip is
/// missing. `%x`: memref<?xf32> of `size` elements; `%n`: an index.
std::optional<LaunchCounts> countsOf(const std::string &body, uint32_t blocks, int64_t size, int64_t n,
                                     int64_t budget = 100000) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe("nvidia:A100");
  if (!chip) {
    llvm::consumeError(chip.takeError());
    return std::nullopt;
  }
  const std::string text = R"(module attributes {tilewright.target = "nvidia:A100"} {
func.func private @k(%x: memref<?xf32>, %n: index)
    attributes {tilewright.launch = {shared = 1024 : i64, threads = 64 : i64}} {
)" + body + "\nreturn } }";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &tileContext());
  EXPECT_TRUE(module);
  if (!module)
    return std::nullopt;
  return countLaunch(module->lookupSymbol<mlir::func::FuncOp>("k"), **chip, {blocks, 1, 1}, {{size}, {n}}, budget);
}

} // namespace

TEST(LaunchCounts, LanesThatAreInsideAskForTheirElements) {
  auto counts = countsOf(R"(tile.parallel (%b) to (1) level "grid" {
    tile.parallel (%s) to (2) level "block" { tile.parallel (%l) to (32) level "subgroup" {
      %i = affine.apply affine_map<()[b, s, l] -> (b * 64 + s * 32 + l)>()[%b, %s, %l]
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside { %v = memref.load %x[%i] : memref<?xf32>  memref.store %v, %x[%i] : memref<?xf32> }
    } } })",
                         /*blocks=*/2, /*size=*/100, /*n=*/100);
  if (!counts)
    GTEST_SKIP() << "target nvidia is not linked into this build";
  EXPECT_EQ(counts->unknown, "");
  EXPECT_EQ(counts->blocks, 2);
  EXPECT_EQ(counts->global.read, 400);
  EXPECT_EQ(counts->global.written, 400);
}

TEST(LaunchCounts, WhatDecidesNothingIsMultiplied) {
  // Of a million blocks with a loop each none is walked: less than 100 ops are.
  auto counts = countsOf(R"(tile.parallel (%b) to (1) level "grid" {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.parallel (%s) to (2) level "block" { tile.parallel (%l) to (32) level "subgroup" {
      scf.for %k = %c0 to %n step %c1 { %v = memref.load %x[%k] : memref<?xf32> } } } })",
                         /*blocks=*/1000000, /*size=*/10, /*n=*/10, /*budget=*/100);
  if (!counts)
    GTEST_SKIP() << "target nvidia is not linked into this build";
  EXPECT_EQ(counts->unknown, "");
  EXPECT_EQ(counts->global.read, int64_t(1000000) * 64 * 10 * 4);
}

TEST(LaunchCounts, LoopsWalkWhatTheirIndexDecides) {
  // In each of 20 iterations the condition and the branch are walked, the four accesses beside them once for all.
  auto counts = countsOf(R"(tile.parallel (%b) to (1) level "grid" {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.parallel (%s) to (2) level "block" { tile.parallel (%l) to (32) level "subgroup" {
      scf.for %k = %c0 to %n step %c1 {
        %v = memref.load %x[%c0] : memref<?xf32>
        %w = memref.load %x[%c0] : memref<?xf32>
        memref.store %v, %x[%c0] : memref<?xf32>
        memref.store %w, %x[%c0] : memref<?xf32>
        %first = arith.cmpi eq, %k, %c0 : index
        scf.if %first { memref.store %v, %x[%c1] : memref<?xf32> } } } } })",
                         /*blocks=*/1, /*size=*/10, /*n=*/20, /*budget=*/60);
  if (!counts)
    GTEST_SKIP() << "target nvidia is not linked into this build";
  EXPECT_EQ(counts->unknown, "");
  EXPECT_EQ(counts->global.read, 64 * 2 * 20 * 4);
  EXPECT_EQ(counts->global.written, 64 * (2 * 20 + 1) * 4);
}

TEST(LaunchCounts, WhatFollowsFromDataIsUnknown) {
  auto counts = countsOf(R"(tile.parallel (%b) to (1) level "grid" {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %v = memref.load %x[%c0] : memref<?xf32>
    %some = arith.cmpf ogt, %v, %zero : f32
    scf.if %some { memref.store %v, %x[%c0] : memref<?xf32> } })",
                         /*blocks=*/1, /*size=*/1, /*n=*/0);
  if (!counts)
    GTEST_SKIP() << "target nvidia is not linked into this build";
  EXPECT_NE(counts->unknown.find("its condition follows from data"), std::string::npos) << counts->unknown;
}

TEST(LaunchCounts, WalksThatAreTooLongSaySo) {
  auto counts = countsOf(R"(tile.parallel (%b) to (1) level "grid" {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %even = arith.cmpi eq, %k, %c0 : index
      scf.if %even { %v = memref.load %x[%k] : memref<?xf32> } } })",
                         /*blocks=*/1, /*size=*/10, /*n=*/1000, /*budget=*/100);
  if (!counts)
    GTEST_SKIP() << "target nvidia is not linked into this build";
  EXPECT_NE(counts->unknown.find("the walk is too long"), std::string::npos) << counts->unknown;
}

TEST(IndexValues, FollowsAffineAndArith) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(func.func @f(%a: index, %x: f32) {
    %0 = affine.min affine_map<(d0) -> (d0 * 3 - 1, 7)>(%a)
    %c5 = arith.constant 5 : index
    %1 = arith.remsi %0, %c5 : index
    %2 = arith.cmpi slt, %1, %c5 : index
    %3 = arith.select %2, %1, %0 : index
    %4 = arith.fptosi %x : f32 to i32
    return })",
                                                        &tileContext());
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
  IndexValues values;
  values.set(function.getArgument(0), 6);
  llvm::SmallVector<Known> results;
  for (mlir::Operation &op : function.front().without_terminator()) {
    values.visit(op);
    results.push_back(values.get(op.getResult(0)));
  }
  EXPECT_EQ(results, (llvm::SmallVector<Known>{7, 5, 2, 1, 2, std::nullopt}));
}

} // namespace launch_counts_test
