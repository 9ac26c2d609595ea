//===- Plugin.cpp - The CPU target -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CPUs with vector units: their chips from the records, and `host`, the CPU
/// that this process runs on.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"
#include "tilewright/ChipTable.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace tilewright;

namespace {
class CpuTarget : public Target {
public:
  llvm::StringRef name() const override { return "cpu"; }
  llvm::StringRef summary() const override { return "CPUs with vector and matrix units"; }
  std::string defaultChip() const override { return "host"; }
  std::vector<std::string> chips() const override;
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override;
};
} // namespace

std::vector<std::string> CpuTarget::chips() const {
  std::vector<std::string> names;
  for (const ChipTable &chip : cpu::recordedChips())
    names.push_back(chip.name);
  return names;
}

llvm::Expected<std::shared_ptr<const TargetDescription>> CpuTarget::describe(llvm::StringRef chip) const {
  if (chip == "host") {
    llvm::Expected<ChipTable> table = cpu::host();
    if (!table)
      return table.takeError();
    return std::make_shared<TableDescription>("cpu", std::move(*table));
  }
  for (ChipTable &table : cpu::recordedChips()) {
    if (table.name == chip)
      return std::make_shared<TableDescription>("cpu", std::move(table));
  }
  std::vector<std::string> known = chips();
  known.push_back("host");
  return unknownName("chip of target 'cpu'", chip, known);
}

TILEWRIGHT_TARGET_PLUGIN(cpu, "1.0", CpuTarget)
