//===- Plugin.cpp - A chip whose accumulators are vectors of bits ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"

#include "Chips.inc"

namespace {
class PowerTarget : public tilewright::TableTarget {
public:
  PowerTarget() : TableTarget("power", "Power10 by its manual, for the tests", power::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(power, "0.1", PowerTarget)
