//===- Plugin.cpp - A chip whose unit always adds to C --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"

#include "Chips.inc"

namespace {
class AdderTarget : public tilewright::TableTarget {
public:
  AdderTarget() : TableTarget("adder", "A chip of the tests", adder::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(adder, "0.1", AdderTarget)
