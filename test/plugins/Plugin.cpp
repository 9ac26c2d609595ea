//===- Plugin.cpp - A small target, sound or with one fault ---------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A target of one chip without records, as a loadable plugin. A FAULT_ macro
/// makes it one that this build must refuse; compiled against the headers of
/// the previous version (previous/) it must be refused too.
///
//===----------------------------------------------------------------------===//

#include "tilewright/ChipTable.h"
#include "tilewright/Target.h"
#ifdef FAULT_UNDEFINED
#include "tilewright/LaneOps.h"
#endif

using namespace tilewright;

#ifdef FAULT_UNDEFINED
namespace acme {
std::unique_ptr<tilewright::LaneOps> laneOps(const tilewright::TargetDescription &chip); // nowhere
} // namespace acme
#endif

namespace {
class AcmeTarget : public Target {
public:
  llvm::StringRef name() const override { return "acme"; }
  llvm::StringRef summary() const override { return "A target of the tests"; }
#if defined(FAULT_CHIPS)
  std::vector<std::string> chips() const override { return {}; }
#elif defined(FAULT_DESCRIBE)
  std::vector<std::string> chips() const override { return {"acme1", "acme2"}; }
#else
  std::vector<std::string> chips() const override { return {"acme1"}; }
#endif
#ifdef FAULT_UNDEFINED
  std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const override { return acme::laneOps(chip); }
#endif
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override {
    if (chip != "acme1")
      return unknownName("chip of target 'acme'", chip, chips());
    ChipTable table;
    table.name = "acme1";
    table.summary = "a chip of the tests";
    table.levels = {{"core", LevelKind::Parallel, 4}};
#ifdef FAULT_LANES
    table.levels = {
        {"grid", LevelKind::Parallel, 4}, {"block", LevelKind::Concurrent, 8}, {"warp", LevelKind::Lockstep, 32}};
#endif
#ifdef FAULT_INSTRUCTION
    table.laneInstructions = {{ "keep_order", { EmissionKind::MlirOp, "llvm.fence", {"ordering=7 : i6four"} } }};
#endif
    return std::make_shared<TableDescription>("acme", std::move(table));
  }
};
} // namespace

#ifndef FAULT_ENTRY
extern "C" const TargetPlugin *tilewrightTargetPlugin() {
  static TargetPlugin plugin = {sizeof(TargetPlugin),
                                targetApiVersion,
                                LLVM_VERSION_MAJOR,
                                LLVM_VERSION_MINOR,
                                builtWithRtti,
                                "acme",
                                "1.0",
#ifdef FAULT_CREATE
                                nullptr};
#else
                                []() -> Target * { return new AcmeTarget(); }};
#endif
#ifdef FAULT_SIZE
  plugin.size = 16;
#endif
#ifdef FAULT_API
  plugin.apiVersion = targetApiVersion + 7;
#endif
#ifdef FAULT_LLVM
  plugin.llvmMinor = LLVM_VERSION_MINOR + 1;
#endif
#ifdef FAULT_RTTI
  plugin.rtti = 1 - builtWithRtti;
#endif
  return &plugin;
}
#endif
