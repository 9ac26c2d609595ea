//===- StatusTest.cpp - What the statuses of compiled code mean -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Executable.h"
#include "gtest/gtest.h"

namespace status_test {

using namespace tilewright;

namespace {

std::string message(int32_t status, llvm::ArrayRef<int64_t> sizes = {}) {
  return llvm::toString(statusError(status, sizes));
}

TEST(Status, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(message(0), "");
  EXPECT_EQ(message(1, {4, -1}),
            "status 1: the program refuses its sizes 4 -1: they disagree, are negative, or make an "
            "array that no memory holds");
  EXPECT_EQ(message(1), "status 1: the program refuses its data: sizes that it makes of it disagree, or an assertion "
                        "does not hold");
  EXPECT_EQ(message(2, {7}), "status 2: the program has no memory for its temporaries with its sizes 7");
  EXPECT_EQ(message(3),
            "status 3: this machine does not grant a state of registers that the program's units need (a limit "
            "of the kernel or of the virtual machine); run it for a chip without these units: tw-targets lists "
            "chips and units");
  EXPECT_EQ(message(77), "status 77: no compiled program returns it; its code or memory is damaged");
}

} // namespace

} // namespace status_test
