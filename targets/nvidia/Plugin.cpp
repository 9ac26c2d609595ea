//===- Plugin.cpp - The NVIDIA target -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NVIDIA's GPUs: their chips are the records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"
#include "Chips.inc"

using namespace tilewright;

namespace {
class NvidiaTarget : public TableTarget {
public:
  NvidiaTarget() : TableTarget("nvidia", "GPUs of NVIDIA", nvidia::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(nvidia, "1.0", NvidiaTarget)
