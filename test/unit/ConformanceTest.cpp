//===- ConformanceTest.cpp - Cases and verdicts of tw-conformance ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A verdict must see what is wrong and let pass what rounding allows; cases
/// have names of their own and expectations of the right size.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Conformance/Case.h"
#include "core/Conformance/Report.h"
#include "core/Conformance/Units.h"
#include "core/Emulator/FenceCheck.h"
#include "mlir/IR/Diagnostics.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace conformance_test {

using namespace tilewright;
using namespace tilewright::conformance;

static bool accepts(ElementType type, double got, double expected, double bound = 0) {
  Array array(type, {1});
  array.set(0, got);
  Expected one(1);
  one.value[0] = expected;
  one.bound[0] = bound;
  return judge(array, one).passed;
}

TEST(ConformanceJudge, RoundingOfTheTypeIsAllowedAndNoMore) {
  EXPECT_TRUE(accepts(ElementType::F16, 1, 1 + 0x1p-11));
  EXPECT_FALSE(accepts(ElementType::F16, 1, 1 + 0x1.1p-11));
  EXPECT_TRUE(accepts(ElementType::BF16, 1 + 0x1p-7, 1 + 0x1.8p-8));
  EXPECT_FALSE(accepts(ElementType::BF16, 1, 1 + 0x1.8p-8)) << "cut off instead of rounded";
  EXPECT_TRUE(accepts(ElementType::F32, 0x1p-149, 0x1.2p-149));
  EXPECT_FALSE(accepts(ElementType::F32, 0, 0x1p-149)) << "a denormal that became zero";
  EXPECT_TRUE(accepts(ElementType::F32, 3, 2, 1));
  EXPECT_TRUE(accepts(ElementType::I8, 4, 4));
  EXPECT_FALSE(accepts(ElementType::I8, 5, 4));
}

TEST(ConformanceJudge, SpecialValues) {
  double infinity = INFINITY;
  EXPECT_TRUE(accepts(ElementType::F32, NAN, NAN));
  EXPECT_FALSE(accepts(ElementType::F32, 0, NAN));
  EXPECT_FALSE(accepts(ElementType::F32, NAN, 0, 1));
  EXPECT_TRUE(accepts(ElementType::F32, infinity, infinity));
  EXPECT_FALSE(accepts(ElementType::F32, -infinity, infinity));
  EXPECT_FALSE(accepts(ElementType::F32, infinity, 1, 10));
  EXPECT_TRUE(accepts(ElementType::F16, infinity, 70000));
  EXPECT_FALSE(accepts(ElementType::F16, 65504, 70000)) << "saturated instead of infinite";
  EXPECT_TRUE(accepts(ElementType::F16, 65504, 65504, 32));
  EXPECT_TRUE(accepts(ElementType::F16, infinity, 65504, 32)) << "the bound reaches beyond the largest value";
}

TEST(ConformanceCases, HaveNamesOfTheirOwnAndExpectTheirOutput) {
  std::vector<Case> cases = programCases();
  std::set<std::string> names;
  std::set<std::string> quick, full;
  for (const Case &one : cases) {
    EXPECT_TRUE(names.insert(one.name()).second) << one.name();
    EXPECT_TRUE(llvm::is_contained(families, one.family)) << one.family;
    full.insert(one.family + " " + one.op);
    if (!one.quick)
      continue;
    quick.insert(one.family + " " + one.op);
    if (one.family == "performance")
      continue;
    for (Values values : one.program->values) {
      Arrays inputs;
      for (const CaseInput &input : one.program->inputs) {
        inputs.emplace_back(input.type, input.shape);
        fill(inputs.back(), values, input.domain, inputs.size());
      }
      Expected expected = one.program->expect(inputs);
      int64_t count = Array(one.program->outputType, one.program->outputShape).count();
      ASSERT_EQ(static_cast<int64_t>(expected.value.size()), count) << one.name();
      // An output that is zero everywhere is wrong: the case can fail.
      if (count > 8 && values == Values::Random)
        EXPECT_FALSE(judge(Array(one.program->outputType, one.program->outputShape), expected).passed) << one.name();
    }
  }
  EXPECT_EQ(quick, full) << "the quick run takes every operation";
}

/// The program around a unit of a group has the fences that the chip needs, which no run on the emulator shows for
/// certain.
TEST(ConformanceUnits, BoundsFollowWhatASumKeeps) {
  test::programContext();
  auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:H200"));
  const auto *found = llvm::find_if(chip->units(), [](const MatrixUnit &unit) { return unit.sumBits != 0; });
  ASSERT_NE(found, chip->units().end());
  MatrixUnit all = *found;
  EXPECT_EQ(all.sumBits, 14);
  all.sumBits = 0;
  UnitProblem few = unitProblem(*found, true, 0), whole = unitProblem(all, true, 0);
  ASSERT_EQ(few.expected.value, whole.expected.value);
  // An error of a multiple of 2^-6 beside a sum of 218 is one of 14 bits, and no error of f32.
  double ratio = 0;
  for (size_t i = 0; i < few.expected.bound.size(); ++i)
    ratio = std::max(ratio, few.expected.bound[i] / whole.expected.bound[i]);
  EXPECT_GT(ratio, 4);
  EXPECT_LT(ratio, 1 << 10);
}

TEST(ConformanceUnits, ProgramsOfGroupsAreFenced) {
  std::vector<std::string> chips = test::ringChips();
  test::programContext().loadAllAvailableDialects();
  for (const std::string &name : chips) {
    auto chip = llvm::cantFail(TargetRegistry::get().describe(name));
    EmulationTable table;
    llvm::cantFail(TargetRegistry::get().target(chip->target()))->emulate(table);
    int groups = 0, fences = 0;
    for (const MatrixUnit &unit : chip->units()) {
      if (!isOfGroup(unit))
        continue;
      ++groups;
      EXPECT_EQ(whyNoProgram(unit), "");
      auto program = unitProgram(unit, name, test::programContext());
      ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
      std::string message;
      mlir::ScopedDiagnosticHandler handler(&test::programContext(),
                                            [&](mlir::Diagnostic &diagnostic) { message += diagnostic.str(); });
      EXPECT_TRUE(mlir::succeeded(checkEngineFences(**program, chip, table)) && message.empty()) << message;
      llvm::SmallVector<mlir::Operation *> found;
      (*program)->walk([&](mlir::Operation *op) {
        if (op->getName().getStringRef().contains("fence"))
          found.push_back(op);
      });
      for (size_t which = 0; which < found.size() && groups == 1; ++which) {
        mlir::Operation *fence = found[which];
        mlir::Operation *next = fence->getNextNode();
        fence->remove();
        EXPECT_TRUE(mlir::failed(checkEngineFences(**program, chip, table))) << name << " " << unit.name;
        next->getBlock()->getOperations().insert(next->getIterator(), fence);
        ++fences;
      }
    }
    EXPECT_GT(groups, 0) << name;
    EXPECT_EQ(fences, 2) << name << ": before engines, and of registers";
  }
}

/// A report of one family, with so many results of each status.
static Report reportOf(const Case &one, size_t passed, size_t refused, size_t skipped, unsigned mostRefused) {
  Report report;
  report.mostRefused = mostRefused;
  for (auto [status, count] :
       {std::pair(Status::Passed, passed), {Status::Refused, refused}, {Status::Skipped, skipped}})
    for (size_t i = 0; i < count; ++i) {
      report.results.push_back({&one});
      report.results.back().outcome.status = status;
    }
  return report;
}

TEST(ConformanceReport, AFamilyThatIsMostlyRefusedHasFailed) {
  Case one;
  one.family = "contraction";
  EXPECT_TRUE(reportOf(one, 5, 5, 0, 50).refusedTooOften().empty());
  EXPECT_EQ(reportOf(one, 4, 5, 0, 50).refusedTooOften(), std::vector<std::string>{"contraction"});
  EXPECT_EQ(reportOf(one, 4, 5, 100, 50).refusedTooOften().size(), 1u) << "skipped cases were not asked";
  EXPECT_EQ(reportOf(one, 999, 1, 0, 0).refusedTooOften().size(), 1u) << "none may be refused";
  EXPECT_TRUE(reportOf(one, 1, 0, 9, 0).refusedTooOften().empty());
  EXPECT_TRUE(reportOf(one, 0, 9, 0, 100).refusedTooOften().empty());

  // What is refused of one family is not made good by another.
  Case other;
  other.family = "elementwise";
  Report report = reportOf(one, 0, 2, 0, 50);
  for (const Result &result : reportOf(other, 90, 1, 0, 50).results)
    report.results.push_back(result);
  EXPECT_EQ(report.refusedTooOften(), std::vector<std::string>{"contraction"});
}

} // namespace conformance_test
