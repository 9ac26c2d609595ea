//===- Plugin.cpp - The AMD target -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// AMD's GPUs: their chips are the records of Chips.td.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"
#include "Chips.inc"

using namespace tilewright;

namespace {
class AmdTarget : public TableTarget {
public:
  AmdTarget() : TableTarget("amd", "GPUs of AMD", amd::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(amd, "1.0", AmdTarget)
