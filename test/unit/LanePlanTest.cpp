//===- LanePlanTest.cpp - What a plan of a product assumes -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Questions that say nothing of results are about C alone, of its own type; where
/// loads may begin anywhere; what is considered.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Analysis/Contraction.h"
#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Schedules/KnownPlans.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/CostModel/Schedules/SplitModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

namespace lane_plan_test {

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
  return ask(LaneContractionQuestion{*c}, *chip, LaneHierarchy::of(chip->graph()));
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
          return planSplit(question, chip, hierarchy, /*all=*/true);
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

namespace {

/// A of f16, m x k, whose array is of `type` and read at `place`, in tiles of 64 x 64 x 32: at how many bytes its loads
/// begin (0: where vectors do), and whether they go over the ends of rows.
struct LoadedOperand {
  const char *type, *place;
  int64_t m, k, begin;
  bool over = false;
  std::function<void(Contraction &, LaneContractionPlan &)> change = nullptr;
  const char *chip = "amd:MI300X";
};

std::string readAt(const LoadedOperand &each) {
  return llvm::formatv(R"(
    func.func @f(%a: memref<{0}xf16>, %b: memref<{3}x64xf16>, %c: memref<{2}x64xf32>) {{
      affine.for %i = 0 to {2} {{ affine.for %j = 0 to 64 {{ affine.for %k = 0 to {3} {{
        %x = affine.load %a[{1}] : memref<{0}xf16>
        %y = affine.load %b[%k, %j] : memref<{3}x64xf16>
        %s = affine.load %c[%i, %j] : memref<{2}x64xf32>
        %v = arith.extf %x : f16 to f32
        %w = arith.extf %y : f16 to f32
        %p = arith.mulf %v, %w : f32
        %t = arith.addf %s, %p : f32
        affine.store %t, %c[%i, %j] : memref<{2}x64xf32>
      } } }
      return
    })",
                       each.type, each.place, each.m, each.k)
      .str();
}

} // namespace

/// Where the array goes on behind what a vector should have, or the last step, behind the loop, can shift it.
TEST(LanePlan, VectorsBeginAnywhereWhereTheArrayGoesOn) {
  const LoadedOperand operands[] = {
      {"64x101", "%i, %k", 64, 101, 1},         // along k no step of the loop ends inside
      {"64x104", "%i, %k", 64, 104, 0},         // rows begin at vectors anyway
      {"64x7", "%i, %k", 64, 7, 0},             // a row is shorter than a vector
      {"?x101", "%i, %k", 64, 101, 1},          //
      {"64x?", "%i, %k", 64, 101, 0},           // no offsets that no loop changes
      {"100x101", "%k, %i", 101, 100, 1, true}, // the next row follows
      {"100x104", "%k, %i", 101, 100, 1, true}, // though this one ends inside of a vector
      {"100x129", "%k, %i", 128, 100, 1},       // tiles divide what is read
      {"32x101", "%k, %i", 101, 32, 0},         // a single step is the last one
      {"32x129", "%k, %i", 128, 32, 1},         //
      {"100x7", "%k, %i", 7, 100, 0},           //
      {"100x101", "99 - %k, %i", 101, 100, 0},  // the next row lies before
      {"299", "%k * 2 + %i", 101, 100, 0},      // it begins before a vector ends
      {"64x101", "%i, %k", 64, 101, 0, false, [](auto &, auto &plan) { plan.lastApart = false; }},
      {"64x101", "%i, %k", 64, 101, 0, false, [](auto &, auto &plan) { plan.otherK = {plan.kDim}; }},
      {"64x101", "%i, %k", 64, 101, 0, false, [](auto &c, auto &) { c.a.bounded = {1}; }},
      {"64x101", "%i, %k", 64, 101, 1, false, [](auto &c, auto &) { c.a.bounded = {0}; }},
      {"100x101", "%k, %i", 101, 100, 0, false, [](auto &c, auto &) { c.a.bounded = {0}; }},
      {"64x101", "%i, %k", 64, 101, 0, false, nullptr, "nvidia:A100"}};
  for (const LoadedOperand &each : operands)
    withProduct(readAt(each), each.chip, [&](LaneContractionQuestion question, const auto &chip, const auto &lanes) {
      SCOPED_TRACE(llvm::formatv("{0} at [{1}], m {2}, k {3}", each.type, each.place, each.m, each.k).str());
      Contraction c = question.contraction;
      LaneContractionPlan plan;
      auto *unit = llvm::find_if(chip.units(), [](const MatrixUnit &unit) { // some unit of f16 into f32
        return unit.a.element == ElementKind::F16 && unit.c.element == ElementKind::F32 && unit.k > 1 &&
               unit.a.residence == Residence::LaneRegisters;
      });
      ASSERT_NE(unit, chip.units().end());
      plan.unit = unit;
      std::tie(plan.mDim, plan.nDim, plan.kDim, plan.depth) = std::tuple(0, 1, 2, 32);
      plan.tilesM = 64 / unit->m;
      plan.tilesN = 64 / unit->n;
      if (each.change)
        each.change(c, plan);
      StagedOperand a = StagedTiles(c, chip, lanes).operand(plan, /*isA=*/true);
      EXPECT_EQ(a.begin, each.begin);
      EXPECT_EQ(a.over, each.over);
    });
}

/// The plan that is taken stands first, with its final bytes, and each candidate once.
TEST(LanePlan, ConsideredPlansAreEachThereOnce) {
  for (const char *chip : {"amd:MI350", "nvidia:A100"})
    withProduct(halfProduct(1, 512), chip, [&](LaneContractionQuestion question, const auto &chip, const auto &lanes) {
      std::string reason;
      std::vector<LaneContractionPlan> considered;
      auto plan = planLaneContraction(question, chip, lanes, reason, &considered);
      ASSERT_TRUE(plan) << reason;
      ASSERT_GT(considered.size(), 10u);
      EXPECT_TRUE(considered.front().cutsLike(*plan));
      EXPECT_EQ(considered.front().sharedBytes, plan->sharedBytes);
      for (size_t i = 0; i < considered.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          EXPECT_FALSE(considered[i].cutsLike(considered[j])) << i << " and " << j;
    });
}

/// What a bound leaves out cannot have won: with a list of all plans, which leaves none out, the same one is taken.
TEST(LanePlan, BoundsKeepTheBestPlan) {
  std::vector<std::string> texts = {halfProduct(1, 64), halfProduct(1, 4096), halfProduct(8, 512),
                                    llvm::formatv(product, "f32", "%i, %j").str(),
                                    llvm::formatv(product, "f64", "%j, %i").str()};
  for (const char *chip : {"nvidia:A100", "nvidia:H100", "amd:MI300X", "amd:MI350", "amd:RX7900"})
    for (const std::string &text : texts)
      withProduct(text, chip, [&](const LaneContractionQuestion &question, const auto &chip, const auto &lanes) {
        std::string reason;
        std::vector<LaneContractionPlan> considered;
        auto all = planLaneContraction(question, chip, lanes, reason, &considered),
             bounded = planLaneContraction(question, chip, lanes, reason);
        ASSERT_EQ(bool(all), bool(bounded)) << text;
        if (all)
          EXPECT_EQ(llvm::json::Value(all->toJSON()), llvm::json::Value(bounded->toJSON())) << text;
        SplitPlan split = planSplit(question, chip, lanes), splitOfAll = planSplit(question, chip, lanes, /*all=*/true);
        EXPECT_EQ(split.parts, splitOfAll.parts) << text;
        EXPECT_EQ(split.seconds, splitOfAll.seconds) << text;
      });
}

/// A product is the same as another one only if shapes, types, orders, chip and what is asked are.
TEST(LanePlan, KnownPlansAreThoseOfTheirQuestions) {
  KnownPlans plans;
  /// Whether the planner is asked; it has no answer.
  auto isAsked = [](StringRef text, StringRef chip, std::pair<std::string, int64_t> forced = {"block_m", 64}) {
    return withProduct(text, chip, [&](LaneContractionQuestion product, const auto &chip, const auto &) {
      bool asked = false;
      std::string reason;
      KnownPlans::get<LaneContractionPlan>(PlanQuestion(product.contraction, chip).add(forced), reason,
                                           [&](std::string &why) {
                                             asked = true;
                                             why = "no unit";
                                             return std::optional<LaneContractionPlan>();
                                           });
      EXPECT_EQ(reason, "no unit");
      return asked;
    });
  };
  const std::string f32 = llvm::formatv(product, "f32", "%i, %j"), f64 = llvm::formatv(product, "f64", "%i, %j"),
                    turned = llvm::formatv(product, "f32", "%j, %i");
  for (const std::string &text : {f32, f64, turned, halfProduct(1, 64), halfProduct(1, 128), halfProduct(2, 64)})
    for (const char *chip : {"nvidia:A100", "amd:MI300X"}) {
      EXPECT_TRUE(isAsked(text, chip)) << text << chip;
      EXPECT_FALSE(isAsked(text, chip)) << text << chip;
    }
  EXPECT_TRUE(isAsked(f32, "nvidia:A100", {"block_m", 128}));
  EXPECT_TRUE(isAsked(f32, "nvidia:A100", {"block_n", 64}));
  EXPECT_FALSE(isAsked(f32, "nvidia:A100"));
}

TEST(LanePlan, KnownPlansChangeNoPlan) {
  const StoredResult wide{8, false};
  auto all = [&] {
    std::vector<double> seconds;
    for (int64_t parts : {1, 2, 1})
      for (ArrayRef<StoredResult> results : {ArrayRef<StoredResult>(), ArrayRef<StoredResult>(wide)})
        seconds.push_back(secondsOf(halfProduct(1, 128), "nvidia:A100", results, parts));
    return seconds;
  };
  const std::vector<double> alone = all();
  KnownPlans plans;
  EXPECT_EQ(all(), alone);
  EXPECT_EQ(std::set<double>(alone.begin(), alone.end()).size(), 4u); // each question has an answer of its own
}

/// Groups hand on registers that their block has been given, as many for each lane, rounded down: one that asks for
/// more waits for ever.
TEST(LanePlan, GroupsHandOnWhatTheBlockHas) {
  programContext(); // registers the targets
  auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:H200"));
  constexpr int64_t lanes = 128, step = 8;
  const int64_t file = chip->graph().registerPool()->entries;
  for (int64_t groups = 1; groups <= 6; ++groups) {
    const int64_t atStart = std::min<int64_t>(file / (lanes * (groups + 1)), 256) / step * step;
    const int64_t share = groupRegisters(*chip, lanes, groups);
    EXPECT_EQ(share % step, 0);
    EXPECT_LE(groups * share + copierRegisters, (groups + 1) * atStart) << groups << " groups";
  }
  EXPECT_EQ(groupRegisters(*chip, lanes, 2), 232);
  EXPECT_EQ(groupRegisters(*chip, lanes, 4), 104); // 112 of the whole file, of which a block of 640 lanes gets 96 each
}

} // namespace lane_plan_test
