//===- TargetDescription.cpp - Queries over a chip ---------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conveniences over the tables of a description, and the description that is a
/// table.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TargetDescription.h"
#include "core/Machine/NativeCode.h"
#include "tilewright/ChipTable.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/TargetParser/Host.h"

using namespace tilewright;

unsigned tilewright::bitWidth(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
    return 64;
  case ElementKind::F32:
  case ElementKind::TF32:
  case ElementKind::I32:
    return 32;
  case ElementKind::F16:
  case ElementKind::BF16:
  case ElementKind::I16:
    return 16;
  case ElementKind::F8E4M3:
  case ElementKind::F8E5M2:
  case ElementKind::F8E4M3FNUZ:
  case ElementKind::F8E5M2FNUZ:
  case ElementKind::F8E8M0:
  case ElementKind::I8:
  case ElementKind::U8:
    return 8;
  case ElementKind::F6E2M3:
  case ElementKind::F6E3M2:
    return 6;
  case ElementKind::F4E2M1:
  case ElementKind::I4:
  case ElementKind::U4:
    return 4;
  case ElementKind::I1:
    return 1;
  }
  llvm_unreachable("every element kind has a width");
}

bool tilewright::isFloat(ElementKind kind) {
  switch (kind) {
  case ElementKind::F64:
  case ElementKind::F32:
  case ElementKind::TF32:
  case ElementKind::F16:
  case ElementKind::BF16:
  case ElementKind::F8E4M3:
  case ElementKind::F8E5M2:
  case ElementKind::F8E4M3FNUZ:
  case ElementKind::F8E5M2FNUZ:
  case ElementKind::F8E8M0:
  case ElementKind::F6E2M3:
  case ElementKind::F6E3M2:
  case ElementKind::F4E2M1:
    return true;
  default:
    return false;
  }
}

bool tilewright::isSigned(ElementKind kind) {
  return kind != ElementKind::U8 && kind != ElementKind::U4 && kind != ElementKind::I1;
}

llvm::StringRef tilewright::elementName(ElementKind kind) {
  static constexpr const char *names[] = {"f64",        "f32",        "tf32",   "f16",    "bf16",   "f8e4m3", "f8e5m2",
                                          "i32",        "i16",        "i8",     "u8",     "i4",     "u4",     "i1",
                                          "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0", "f6e2m3", "f6e3m2", "f4e2m1"};
  return names[static_cast<int>(kind)];
}

llvm::ArrayRef<NumberField> tilewright::numberFields() {
  static constexpr NumberField fields[] = {
#define TW_NUMBER(enumerator, field, group, unit, key)                                                                 \
  {Number::enumerator, #field, NumberGroup::group, NumberUnit::unit, key},
#include "tilewright/Numbers.def"
  };
  return fields;
}

llvm::StringRef tilewright::unitName(NumberUnit unit) {
  static constexpr const char *names[] = {"per clock", "clocks", "count", "bytes", "part", "nanoseconds"};
  return names[static_cast<int>(unit)];
}

TargetDescription::~TargetDescription() = default;

const MachineGraph &TargetDescription::graph() const {
  std::call_once(graphMade, [&] { made = std::make_shared<MachineGraph>(*this); });
  return *made;
}

const MatrixUnit *TargetDescription::unit(llvm::StringRef name) const {
  const MatrixUnit *found = llvm::find_if(units(), [&](const MatrixUnit &unit) { return unit.name == name; });
  return found == units().end() ? nullptr : found;
}

const Memory *TargetDescription::memory(llvm::StringRef name) const {
  const Memory *found = llvm::find_if(memories(), [&](const Memory &memory) { return memory.name == name; });
  return found == memories().end() ? nullptr : found;
}

std::optional<double> TargetDescription::number(Number number) const {
  for (const Fact &fact : numbers())
    if (fact.number == number)
      return fact.value;
  return std::nullopt;
}

std::vector<const Memory *> TargetDescription::caches() const { return graph().caches(); }

std::pair<int64_t, int64_t> TargetDescription::vectorRegisters() const {
  const Memory *file = graph().vectorRegisters();
  return file ? std::pair(file->entries, file->entryBytes) : std::pair<int64_t, int64_t>(0, 0);
}

int64_t TargetDescription::parallelWidth() const {
  for (const Level &level : levels()) {
    if (level.kind == LevelKind::Parallel)
      return level.count;
  }
  return 1;
}

bool ChipTable::hasFeature(llvm::StringRef feature) const { return llvm::is_contained(features, feature); }

TableDescription::TableDescription(std::string target, ChipTable table)
    : targetName(std::move(target)), facts(std::move(table)) {
  llvm::erase_if(facts.units, [&](const MatrixUnit &unit) {
    return !llvm::all_of(unit.features, [&](const std::string &feature) { return facts.hasFeature(feature); });
  });
  llvm::stable_sort(facts.units,
                    [](const MatrixUnit &a, const MatrixUnit &b) { return a.flopsPerClock() > b.flopsPerClock(); });
  llvm::stable_sort(facts.memories, [](const Memory &a, const Memory &b) { return a.bytes > b.bytes; });
}

/// The words of the machine that this process runs on.
CodegenTarget tilewright::hostCodegen() {
  std::vector<std::string> words;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    words.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(words);
  return {llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), llvm::join(words, ",")};
}

CodegenTarget TableDescription::codegen() const {
  if (facts.triple == "host")
    return hostCodegen();
  std::vector<std::string> words;
  for (const std::string &feature : facts.features)
    words.push_back("+" + feature);
  for (const std::string &feature : facts.lacks)
    words.push_back("-" + feature);
  return {facts.triple, facts.cpu, llvm::join(words, ",")};
}
