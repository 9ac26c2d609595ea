//===- ForcedFieldsTest.cpp - Fields of plans that a module forces --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which fields go with which chips and plans.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/ForcedFields.h"
#include "tilewright/Target.h"
#include "gtest/gtest.h"

namespace forced_fields_test {

using namespace tilewright;

namespace {

/// What `text` says; none of it may be wrong.
ForcedFields parsed(llvm::StringRef text) {
  llvm::Expected<ForcedFields> fields = ForcedFields::parse(text);
  EXPECT_TRUE(bool(fields)) << llvm::toString(fields.takeError());
  return fields ? *fields : ForcedFields();
}

/// Why fields are refused for a chip; empty: they are not.
std::string refusal(llvm::StringRef text, llvm::StringRef name) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto chip = TargetRegistry::get().describe(name);
  EXPECT_TRUE(bool(chip));
  return llvm::toString(parsed(text).checkFor(**chip));
}

} // namespace

TEST(ForcedFields, AgreeWithPlansThatHaveTheirValues) {
  const NamedFields forced = parsed("block_m=64,block_n=32").plans;
  EXPECT_TRUE(agree(forced, {{"block_m", 64}, {"block_n", 32}, {"block_k", 16}}));
  EXPECT_FALSE(agree(forced, {{"block_m", 64}, {"block_n", 64}}));
  EXPECT_TRUE(agree(forced, {{"block_k", 16}})) << "nothing is forced of it";
  EXPECT_TRUE(agree({}, {{"block_m", 1}}));
}

TEST(ForcedFields, OfBlocksAreRefusedElsewhere) {
  for (const char *field :
       {"split_k", "transpose_before", "chain_stages", "chain_engine", "chain_turns", "chain_persistent"}) {
    const std::string text = std::string("chain_rows=16,") + field + "=1";
    EXPECT_EQ(refusal(text, "cpu:zen4"),
              std::string("plan field '") + field + "' is for chips with blocks of lanes; cpu:zen4 has none");
    EXPECT_EQ(refusal(text, "nvidia:H200"), "");
  }
  EXPECT_EQ(refusal("rows=4,chain_rows=16,chain_step=8,chain_parts=2,fuse_producers=1", "cpu:zen4"), "");
}

} // namespace forced_fields_test
