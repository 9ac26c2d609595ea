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
#include "tilewright/Compiler.h"
#include "tilewright/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace tilewright;
using llvm::formatv;

namespace {
class CpuTarget : public Target {
public:
  llvm::StringRef name() const override { return "cpu"; }
  llvm::StringRef summary() const override { return "CPUs with vector and matrix units"; }
  std::string defaultChip() const override { return "host"; }
  std::vector<std::string> chips() const override;
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override;
  llvm::Expected<std::string> measure(bool save) const override;
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

llvm::Expected<std::string> CpuTarget::measure(bool save) const {
  llvm::Expected<std::string> report = cpu::measureHost(cpu::detectHost());
  if (!report || !save)
    return report;
  std::string path = cpu::ratesPath();
  if (path.empty())
    return llvm::createStringError("no home directory to keep the rates in; set TILEWRIGHT_RATES to a file");
  auto failure = [&](const std::string &reason) {
    return llvm::createStringError(formatv("cannot write the rates to '{0}': {1}", path, reason));
  };
  if (std::error_code code = llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)))
    return failure(code.message());
  if (llvm::Error error = writeFile(path, *report + "\n"))
    return error;
  return report;
}

TILEWRIGHT_TARGET_PLUGIN(cpu, "1.0", CpuTarget)
