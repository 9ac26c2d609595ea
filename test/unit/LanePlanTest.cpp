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

/// Seconds of the plan for a product of `element` that is stored at `place`, and what is written: `results`, or none.
double secondsOf(StringRef element, StringRef place, StringRef chipName, ArrayRef<StoredResult> results) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, arith::ArithDialect, affine::AffineDialect, memref::MemRefDialect>();
  auto module = parseSourceString<ModuleOp>(llvm::formatv(product, element, place).str(), &context);
  affine::AffineForOp root;
  module->walk<WalkOrder::PreOrder>([&](affine::AffineForOp loop) {
    root = loop;
    return WalkResult::interrupt();
  });
  FailureOr<Nest> nest = analyzeNest(root);
  FailureOr<Contraction> c = recognizeContraction(*nest);
  auto chip = llvm::cantFail(TargetRegistry::get().describe(chipName));
  std::string reason;
  auto plan = planLaneContraction({*c, {}, {}, 0, results}, *chip, *laneHierarchy(*chip), reason);
  EXPECT_TRUE(plan) << reason;
  return plan ? plan->seconds : 0;
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
