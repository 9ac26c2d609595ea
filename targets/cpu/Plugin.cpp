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
  if (chip == "host-generic")
    return std::make_shared<TableDescription>("cpu", cpu::detectGeneric());
  for (ChipTable &table : cpu::recordedChips()) {
    if (table.name == chip)
      return std::make_shared<TableDescription>("cpu", std::move(table));
  }
  std::vector<std::string> known = chips();
  known.insert(known.end(), {"host", "host-generic"});
  return unknownName("chip of target 'cpu'", chip, known);
}

/// Where rates are kept, in a folder that can be written: known before anything is measured.
static llvm::Expected<std::string> writableRatesPath() {
  std::string path = cpu::ratesPath();
  if (path.empty())
    return llvm::createStringError("no home directory to keep the rates in; set TILEWRIGHT_RATES to a file");
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  std::error_code code = folder.empty() ? std::error_code() : llvm::sys::fs::create_directories(folder);
  if (!code && !folder.empty() && !llvm::sys::fs::is_directory(folder))
    code = std::make_error_code(std::errc::not_a_directory);
  if (!code && !folder.empty())
    code = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  if (code)
    return llvm::createStringError(formatv("cannot write '{0}': {1}", path, code.message()));
  return path;
}

llvm::Expected<std::string> CpuTarget::measure(bool save) const {
  std::string path;
  if (save) {
    auto found = writableRatesPath();
    if (!found)
      return found.takeError();
    path = *found;
  }
  // The machine is measured by what it says of itself, whatever is known of its family.
  llvm::Expected<std::string> report = cpu::measureHost(cpu::detectGeneric());
  if (!report || !save)
    return report;
  if (llvm::Error error = writeFile(path, *report + "\n"))
    return error;
  return report;
}

TILEWRIGHT_TARGET_PLUGIN(cpu, "1.0", CpuTarget)
