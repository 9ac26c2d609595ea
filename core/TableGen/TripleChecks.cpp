//===- TripleChecks.cpp - LLVM's words for a chip -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fields `triple`, `cpu`, `features` and `lacks` against the back ends of
/// this LLVM. LLVM itself takes a processor or feature that it does not know
/// for none, so that a mistyped word would give slower or other code.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/NearestNames.h"
#include "core/TableGen/RecordReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace tilewright;
using llvm::formatv;
using llvm::StringRef;

/// Back ends of this LLVM, by the name that begins a triple of theirs.
static std::vector<std::string> knownArchitectures() {
  std::vector<std::string> names;
  for (unsigned i = llvm::Triple::UnknownArch + 1; i <= llvm::Triple::LastArchType; ++i)
    names.push_back(llvm::Triple::getArchTypeName(llvm::Triple::ArchType(i)).str());
  return names;
}

/// Whether a part of the chip asks for `feature`: a word of the vendor's own, which LLVM need not know.
static bool isRequired(const ChipTable &chip, StringRef feature) {
  auto asks = [&](const auto &part) { return llvm::is_contained(part.features, feature); };
  return llvm::any_of(chip.copies, asks) || llvm::any_of(chip.vectorOps, asks) ||
         llvm::any_of(chip.units,
                      [&](const MatrixUnit &unit) { return asks(unit) || llvm::any_of(unit.states, asks); });
}

tablegen::TripleFaults tablegen::checkTriple(const ChipTable &chip) {
  static const bool hasTargets = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargetMCs();
    return true;
  }();
  (void)hasTargets;
  TripleFaults faults;
  if (chip.triple.empty() || chip.triple == "host")
    return faults;
  const llvm::Triple triple(llvm::Triple::normalize(chip.triple));
  std::string reason;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target) {
    const std::vector<std::string> known = knownArchitectures();
    const StringRef name = StringRef(chip.triple).split('-').first;
    const bool isKnown = triple.getArch() != llvm::Triple::UnknownArch;
    const std::string near = isKnown ? "" : nearestNames(name, known);
    if (!isKnown && llvm::any_of(known, [&](StringRef each) { return name.edit_distance(each) == 1; }))
      faults.errors.push_back(
          formatv("field 'triple' is '{0}', and LLVM knows no architecture '{1}'{2}", chip.triple, name, near));
    else
      faults.warnings.push_back(formatv("field 'triple' is '{0}', for which this LLVM has no back end, so that fields "
                                        "'cpu' and 'features' are not checked; only an LLVM of yours makes code of its "
                                        "programs{1}",
                                        chip.triple, near));
    return faults;
  }
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  if (!info)
    return faults;
  std::vector<std::string> cpus, features;
  for (const llvm::SubtargetSubTypeKV &each : info->getAllProcessorDescriptions())
    cpus.push_back(each.Key);
  for (const llvm::SubtargetFeatureKV &each : info->getAllProcessorFeatures())
    features.push_back(each.Key);
  if (!chip.cpu.empty() && !info->isCPUStringValid(chip.cpu))
    faults.errors.push_back(formatv("field 'cpu' is '{0}', which LLVM does not know for '{1}'{2}", chip.cpu,
                                    chip.triple, nearestNames(chip.cpu, cpus)));
  for (const auto &[field, words] : {std::pair("features", &chip.features), std::pair("lacks", &chip.lacks)})
    for (const std::string &word : *words)
      if (!llvm::is_contained(features, word) && !isRequired(chip, word))
        faults.errors.push_back(
            formatv("field '{0}' has '{1}', which neither LLVM knows for '{2}' nor a unit, state or "
                    "engine of the chip requires{3}",
                    field, word, chip.triple, nearestNames(word, features)));
  return faults;
}
