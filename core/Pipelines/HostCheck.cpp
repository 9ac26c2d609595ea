//===- HostCheck.cpp - Whether this machine executes a chip's code --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares a chip's architecture and features with those of this machine.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/HostCheck.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace tilewright;

std::string tilewright::whyNotHere(const CodegenTarget &code, llvm::StringRef arch,
                                   const llvm::StringMap<bool> &features) {
  if (code.triple.empty())
    return "its code is not generated for processors";
  const llvm::Triple triple(code.triple);
  if (triple.getArchName() != arch)
    return llvm::formatv("its code is for {0}, this machine is {1}", triple.getArchName(), arch);
  std::vector<std::string> missing;
  for (llvm::StringRef feature : llvm::split(code.features, ',')) {
    if (!feature.consume_front("+"))
      continue;
    auto known = features.find(feature);
    if (known != features.end() && !known->second)
      missing.push_back(feature.str());
  }
  return missing.empty() ? "" : "this machine lacks " + llvm::join(missing, ", ");
}

llvm::Error tilewright::checkRunsHere(llvm::StringRef targetAndChip) {
  auto description = TargetRegistry::get().describe(targetAndChip);
  if (!description)
    return description.takeError();
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const std::string arch = llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
  auto whyNot = [&](const TargetDescription &chip) -> std::string {
    return chip.graph().startsLaunches() ? "its programs are launches" : whyNotHere(chip.codegen(), arch, features);
  };
  std::string reason = whyNot(**description);
  if (reason.empty())
    return llvm::Error::success();

  std::vector<std::string> runnable;
  auto target = TargetRegistry::get().target((*description)->target());
  if (!target)
    return target.takeError();
  std::vector<std::string> chips = (*target)->chips();
  if (!llvm::is_contained(chips, (*target)->defaultChip()))
    chips.insert(chips.begin(), (*target)->defaultChip());
  for (const std::string &name : chips) {
    auto chip = (*target)->describe(name);
    if (!chip)
      llvm::consumeError(chip.takeError());
    else if (whyNot(**chip).empty())
      runnable.push_back(((*target)->name() + ":" + name).str());
  }
  std::string offer = runnable.empty() ? "" : ", or run it here for " + llvm::join(runnable, ", ");
  const char *instead = (*description)->graph().startsLaunches() ? "emulator" : "model";
  return llvm::createStringError(llvm::formatv(
      "code for '{0}:{1}' does not run here: {2}; run it with --device {3}, or with --device exec:PROG on a "
      "simulator or board that has it, or compile it for such a machine with tw-compile{4}",
      (*description)->target(), (*description)->chip(), reason, instead, offer));
}

llvm::Expected<std::string> tilewright::defaultDevice(llvm::StringRef targetAndChip) {
  auto description = TargetRegistry::get().describe(targetAndChip);
  if (!description)
    return description.takeError();
  if ((*description)->graph().startsLaunches())
    return "emulator";
  llvm::Error here = checkRunsHere(targetAndChip);
  const bool runsHere = !here;
  llvm::consumeError(std::move(here));
  return runsHere ? "host" : "model";
}
