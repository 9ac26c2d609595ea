//===- LanePlanTest.cpp - What a plan of a product assumes -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Questions that say nothing of results are about C alone, of its own type.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Analysis/Contraction.h"
#include "core/CostModel/LaneContractionModel.h"
#include "core/CostModel/SplitModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

constexpr const char *product = R"(
  func.func @f(%a: memref<512x64x{0}>, %b: memref<64x512x{0}>, %c: memref<512x512x{0}>) {{
    affine.for %i = 0 to 512 {{
      affine.for %j = 0 to 512 {{
        affine.for %k = 0 to 64 {{
          %x = affine.load %a[%i, %k] : memref<512x64x{0}>
          %y = affine.load %b[%k, %j] : memref<64x512x{0}>
          %s = affine.load %c[{1}] : memref<512x512x{0}>
          %p = arith.mulf %x, %y : {0}
          %t = arith.addf %s, %p : {0}
          affine.store %t, %c[{1}] : memref<512x512x{0}>
        }
      }
    }
    return
  })";

/// A product of f16 into f32 with 256 rows and columns, `%a` after `%b`: loops and arrays have a dimension more for
/// `matrices` > 1.
std::string halfProduct(int64_t matrices, int64_t k) {
  std::string outer = matrices > 1 ? llvm::formatv("{0}x", matrices).str() : "", index = matrices > 1 ? "%l, " : "";
  auto type = [&](StringRef rest) { return ("memref<" + outer + rest + ">").str(); };
  std::string a = type(llvm::formatv("256x{0}xf16", k).str()), b = type(llvm::formatv("{0}x256xf16", k).str()),
              c = type("256x256xf32");
  std::string text = "func.func @f(%a: " + a + ", %b: " + b + ", %c: " + c + ") {\n";
  if (matrices > 1)
    text += llvm::formatv("affine.for %l = 0 to {0} {{\n", matrices);
  text += llvm::formatv("affine.for %i = 0 to 256 {{ affine.for %j = 0 to 256 {{ affine.for %k = 0 to {0} {{\n", k);
  text += "%x = affine.load %a[" + index + "%i, %k] : " + a + "\n%y = affine.load %b[" + index + "%k, %j] : " + b +
          "\n%s = affine.load %c[" + index + "%i, %j] : " + c +
          "\n%v = arith.extf %x : f16 to f32\n%w = arith.extf %y : f16 to f32\n%p = arith.mulf %v, %w : f32\n"
          "%t = arith.addf %s, %p : f32\naffine.store %t, %c[" +
          index + "%i, %j] : " + c + "\n} } }\n";
  return text + (matrices > 1 ? "}\n" : "") + "return }";
}

/// Calls `ask` with the question for the product in `text` and what it is planned for.
template <typename Ask> auto withProduct(StringRef text, StringRef chipName, Ask ask) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, arith::ArithDialect, affine::AffineDialect, memref::MemRefDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  affine::AffineForOp root;
  module->walk<WalkOrder::PreOrder>([&](affine::AffineForOp loop) {
    root = loop;
    return WalkResult::interrupt();
  });
  FailureOr<Nest> nest = analyzeNest(root);
  FailureOr<Contraction> c = recognizeContraction(*nest);
  auto chip = llvm::cantFail(TargetRegistry::get().describe(chipName));
  return ask(LaneContractionQuestion{*c}, *chip, *laneHierarchy(*chip));
}

/// Seconds of the plan for `text`, and what is written: `results`, or none; of so many parts of k.
double secondsOf(StringRef text, StringRef chip, ArrayRef<StoredResult> results = {}, int64_t parts = 1) {
  return withProduct(text, chip, [&](LaneContractionQuestion question, const auto &chip, const auto &hierarchy) {
    question.results = results;
    question.parts = parts;
    std::string reason;
    auto plan = planLaneContraction(question, chip, hierarchy, reason);
    EXPECT_TRUE(plan) << reason;
    return plan ? plan->seconds : 0;
  });
}

/// Of a product of `element` that is stored at `place`.
double secondsOf(StringRef element, StringRef place, StringRef chip, ArrayRef<StoredResult> results) {
  return secondsOf(llvm::formatv(product, element, place).str(), chip, results);
}

} // namespace

TEST(LanePlan, ResultsHaveTheirOwnType) {
  for (const char *chip : {"nvidia:A100", "amd:MI300X"}) {
    EXPECT_EQ(secondsOf("f64", "%i, %j", chip, {}), secondsOf("f64", "%i, %j", chip, {{8, true}})) << chip;
    EXPECT_NE(secondsOf("f64", "%i, %j", chip, {}), secondsOf("f64", "%i, %j", chip, {{4, true}})) << chip;
    EXPECT_EQ(secondsOf("f32", "%i, %j", chip, {}), secondsOf("f32", "%i, %j", chip, {{4, true}})) << chip;
    EXPECT_EQ(secondsOf("f64", "%j, %i", chip, {}), secondsOf("f64", "%j, %i", chip, {{8, false}})) << chip;
  }
}

/// A part of k is planned as one of several matrices with so much of it.
TEST(LanePlan, PartsAreProductsOfTheirOwn) {
  for (const char *chip : {"nvidia:A100", "nvidia:H100", "amd:MI300X", "amd:RX7900"})
    for (int64_t parts : {1, 4, 16})
      EXPECT_DOUBLE_EQ(secondsOf(halfProduct(1, 16384), chip, {}, parts),
                       secondsOf(halfProduct(parts, 16384 / parts), chip))
          << chip << " " << parts;
}

/// Each number of parts has the time of its own best plan, and what is added for the sum of the parts grows with them.
TEST(LanePlan, SplitsAreComparedByTheirBestPlans) {
  for (const char *chip : {"nvidia:A100", "amd:MI300X"}) {
    std::string text = halfProduct(1, 65536);
    SplitPlan split =
        withProduct(text, chip, [](LaneContractionQuestion question, const auto &chip, const auto &hierarchy) {
          return planSplit(question, chip, hierarchy);
        });
    EXPECT_GT(split.parts, 1) << chip;
    ASSERT_GT(split.considered.size(), 3u) << chip;
    double added = 0;
    for (const SplitPlan &plan : split.considered) {
      double beside = plan.seconds - secondsOf(text, chip, {}, plan.parts);
      EXPECT_GE(beside, plan.parts == 1 ? 0 : added) << chip << " " << plan.parts;
      if (plan.parts == 1)
        EXPECT_DOUBLE_EQ(plan.seconds, secondsOf(text, chip)) << chip;
      else
        EXPECT_GT(beside, 0) << chip << " " << plan.parts;
      added = beside;
      EXPECT_LE(split.seconds, plan.seconds) << chip << " " << plan.parts;
    }
  }
}
