//===- HostCheckTest.cpp - Which chips' code this machine runs ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The refusal of code that the machine cannot execute, and its words.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/HostCheck.h"
#include "tilewright/TargetDescription.h"

#include "gtest/gtest.h"

namespace host_check_test {

using namespace tilewright;

namespace {

const llvm::StringMap<bool> machine = {{"wide", true}, {"matrix", false}, {"half", false}};

TEST(HostCheck, FeaturesThatTheMachineHasRun) {
  EXPECT_EQ(whyNotHere({"riscv64-unknown-linux-gnu", "acme1", "+wide,-matrix"}, "riscv64", machine), "");
}

TEST(HostCheck, FeaturesThatNobodyKnowsOfAreTrusted) {
  EXPECT_EQ(whyNotHere({"riscv64-unknown-linux-gnu", "acme1", "+new"}, "riscv64", machine), "");
}

TEST(HostCheck, MissingFeaturesAreNamed) {
  EXPECT_EQ(whyNotHere({"riscv64-unknown-linux-gnu", "acme1", "+wide,+matrix,+half"}, "riscv64", machine),
            "this machine lacks matrix, half");
}

TEST(HostCheck, AnotherArchitecture) {
  EXPECT_EQ(whyNotHere({"riscv64-unknown-linux-gnu", "acme1", ""}, "loongarch64", machine),
            "its code is for riscv64, this machine is loongarch64");
}

TEST(HostCheck, AChipWithoutCodeOfAProcessor) {
  EXPECT_EQ(whyNotHere({}, "riscv64", machine), "its code is not generated for processors");
}

} // namespace

} // namespace host_check_test
