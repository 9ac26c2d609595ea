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
  std::string reason = whyNotHere((*description)->codegen(), arch, features);
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
    else if (whyNotHere((*chip)->codegen(), arch, features).empty())
      runnable.push_back(((*target)->name() + ":" + name).str());
  }
  std::string offer = runnable.empty() ? "" : ", or run it here for " + llvm::join(runnable, ", ");
  return llvm::createStringError(
      llvm::formatv("code for '{0}:{1}' does not run here: {2}; compile it with tw-compile for "
                    "a machine that has it{3}",
                    (*description)->target(), (*description)->chip(), reason, offer));
}
