//===- FirstFitTest.cpp - The lowest free place of a memory -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gaps between buffers, and every place of a small memory tried one by one.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/FirstFit.h"
#include <gtest/gtest.h>

namespace first_fit_test {

using namespace tilewright;

using Taken = llvm::SmallVector<TakenBytes>;

TEST(FirstFit, GapsAreFilledWhereTheyAreLargeEnough) {
  EXPECT_EQ(firstFit(8, 16, {}), 0);
  EXPECT_EQ(firstFit(8, 4, {{8, 16}}), 0);
  EXPECT_EQ(firstFit(9, 4, {{8, 16}}), 16);
  EXPECT_EQ(firstFit(8, 4, {{24, 32}, {0, 16}}), 16); // in any order
  EXPECT_EQ(firstFit(8, 32, {{0, 4}, {40, 48}}), 32);
  EXPECT_EQ(firstFit(8, 16, {{0, 4}, {20, 48}}), 48); // the gap begins at no multiple of 16 that leaves 8 bytes
  EXPECT_EQ(firstFit(4, 4, {{0, 64}, {8, 16}}), 64);  // buffers that live at other times may overlap each other
}

TEST(FirstFit, NoLowerPlaceIsFree) {
  const Taken buffers[] = {{{0, 5}, {7, 12}}, {{3, 4}, {9, 17}, {10, 30}}, {{1, 2}, {4, 5}, {8, 9}, {16, 17}}};
  for (const Taken &taken : buffers)
    for (int64_t bytes : {1, 2, 3, 4, 7, 8})
      for (int64_t align : {1, 2, 4, 8}) {
        auto isFree = [&](int64_t offset) {
          return llvm::none_of(
              taken, [&](const TakenBytes &each) { return offset < each.second && each.first < offset + bytes; });
        };
        int64_t lowest = 0;
        while (!isFree(lowest))
          lowest += align;
        EXPECT_EQ(firstFit(bytes, align, taken), lowest) << bytes << " bytes at multiples of " << align;
      }
}

} // namespace first_fit_test
