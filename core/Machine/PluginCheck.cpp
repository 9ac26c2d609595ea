//===- PluginCheck.cpp - Whether this build can use a plugin --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a plugin says about itself against this build, and whether its target
/// has the hooks that its own chips need. The rule of versions stands in
/// docs/api-changes.md.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/LaneChecks.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

std::string tilewright::incompatibility(const TargetPlugin &plugin) {
  if (plugin.size < sizeof(TargetPlugin))
    return formatv("its plugin structure has {0} bytes, this build expects {1}", plugin.size, sizeof(TargetPlugin));
  if (plugin.apiVersion != targetApiVersion)
    return formatv("it was built for target API version {0}, this build has version {1}; build the plugin against this "
                   "build's headers (docs/api-changes.md says what changed)",
                   plugin.apiVersion, targetApiVersion);
  if (plugin.llvmMajor != LLVM_VERSION_MAJOR || plugin.llvmMinor != LLVM_VERSION_MINOR)
    return formatv("it was built with LLVM {0}.{1}, this build uses LLVM {2}.{3}", plugin.llvmMajor, plugin.llvmMinor,
                   LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR);
  if (plugin.rtti != builtWithRtti) {
    auto word = [](uint32_t rtti) { return rtti ? "with" : "without"; };
    return formatv("it was built {0} RTTI, this build {1}", word(plugin.rtti), word(builtWithRtti));
  }
  if (!plugin.create)
    return "its plugin structure lacks the hook 'create'";
  return "";
}

std::string tilewright::missingHook(const Target &target) {
  if (target.name().empty())
    return "the hook 'name' gives no name";
  std::vector<std::string> chips = target.chips();
  if (chips.empty())
    return "the hook 'chips' lists no chip";
  for (const std::string &name : chips) {
    auto chip = target.describe(name);
    if (!chip)
      return formatv("the hook 'describe' does not know the chip '{0}', which the hook 'chips' lists: {1}", name,
                     llvm::toString(chip.takeError()));
    if (!*chip)
      return formatv("the hook 'describe' gives no description of the chip '{0}'", name);
    const MachineGraph &graph = (*chip)->graph();
    if (graph.hasBlocks() && !target.laneOps(**chip))
      return formatv(
          "the hook 'laneOps' gives no operations for the chip '{0}', which runs lanes (its levels are '{1}', "
          "'{2}' and '{3}')",
          name, graph.parallelLevel()->name, graph.concurrentLevel()->name, graph.lockstepLevel()->name);
    if (std::string fault = laneFault(target, **chip); !fault.empty())
      return formatv("chip '{0}': {1}", name, fault);
  }
  std::string preferred = target.defaultChip();
  if (auto chip = target.describe(preferred); !chip)
    return formatv("the hook 'defaultChip' names '{0}', which the hook 'describe' does not know: {1}", preferred,
                   llvm::toString(chip.takeError()));
  return "";
}
