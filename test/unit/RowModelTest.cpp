//===- RowModelTest.cpp - How lanes share rows ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/RowModel.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"
#include <limits>

namespace row_model_test {

using namespace tilewright;

namespace {

/// Soft-max of f32: the input is read by two phases, the exponentials by two.
RowProgramTask softmax(int64_t rows, int64_t length) {
  RowProgramTask task;
  task.rows = rows;
  task.length = length;
  task.phases = 3;
  task.sums = 2;
  task.bytes = 8;
  task.againBytes = 4;
  task.inputs = task.between = {4};
  task.registerBytes = 8;
  task.operations = 20;
  task.accesses = 5;
  task.keptAccesses = 1;
  task.vector = 4;
  task.apartClocks = std::numeric_limits<double>::infinity();
  return task;
}

std::optional<RowProgramPlan> plan(const RowProgramTask &task, llvm::StringRef name) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe(name);
  EXPECT_TRUE(bool(chip));
  return planRowProgram(task, **chip, LaneHierarchy::of((*chip)->graph()));
}

TEST(RowModel, FewRowsGetMoreSubgroupsThanMany) {
  std::optional<RowProgramPlan> few = plan(softmax(16, 4096), "nvidia:H200"),
                                many = plan(softmax(100000, 4096), "nvidia:H200");
  ASSERT_TRUE(few && many);
  EXPECT_GT(few->subgroups, many->subgroups);
  for (const RowProgramPlan &each : {*few, *many})
    EXPECT_GE(each.subgroups * 32 * each.elements, 4096);
}

TEST(RowModel, InputsAreReadAgainWhereTheScratchpadIsShort) {
  std::optional<RowProgramPlan> small = plan(softmax(256, 4096), "amd:MI300X"),
                                large = plan(softmax(256, 8192), "amd:MI300X");
  ASSERT_TRUE(small && large);
  EXPECT_TRUE(small->keepsInputs);
  EXPECT_FALSE(large->keepsInputs); // 2 x 32 KiB and the parts, of 64 KiB that a block has
  EXPECT_FALSE(plan(softmax(256, 16384), "amd:MI300X"));
}

TEST(RowModel, PartsOfSumsTakeWholeGranulesOfTheScratchpad) {
  // 5 rows of 32 KiB leave 3 KiB of the 163 KiB that a block has.
  RowProgramTask task = softmax(256, 8192);
  task.inputs = {};
  task.between.assign(5, 4);
  task.sums = 3;
  EXPECT_TRUE(plan(task, "nvidia:A100"));
  task.sums = 4;
  EXPECT_FALSE(plan(task, "nvidia:A100"));
}

TEST(RowModel, BlocksTakeSeveralRowsOnlyWhereTheyDivide) {
  for (int64_t rows : {1, 7, 1001}) {
    std::optional<RowProgramPlan> found = plan(softmax(rows, 64), "nvidia:A100");
    ASSERT_TRUE(found);
    EXPECT_EQ(rows % found->rows, 0);
  }
  RowProgramTask unknown = softmax(4096, 64);
  unknown.rowsAreKnown = false;
  EXPECT_EQ(plan(unknown, "nvidia:A100")->rows, 1);
}

TEST(RowModel, LaunchesApartStayWhereTheyAreFaster) {
  RowProgramTask task = softmax(256, 4096);
  task.apartClocks = 1;
  EXPECT_FALSE(plan(task, "nvidia:A100"));
}

} // namespace

} // namespace row_model_test
