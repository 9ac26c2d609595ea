//===- Chips.h - Tables of the CPU chips ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tables of this folder's chips, the one of the machine we run on, and its
/// measured rates:
///
///   features, cores, cache sizes   found (what is legal)
///   rates, bandwidths, unit costs  measured and saved, else of the family, else generic (HostFacts.h)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETS_CPU_CHIPS_H
#define TILEWRIGHT_TARGETS_CPU_CHIPS_H

#include "tilewright/ChipTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Triple.h"

namespace tilewright::cpu {

// Generated from Chips.td.
std::vector<MatrixUnit> recordedUnits();
std::vector<ChipTable> recordedChips();

/// The CPU that this process runs on. Error: a saved rates file that cannot be read.
llvm::Expected<ChipTable> host();
/// The same without the saved rates.
ChipTable detectHost();
/// The same as if no table knew its family: the chip `host-generic`.
ChipTable detectGeneric();
/// The record of an instruction set, as all machines of it have: "x86-64-v4", "x86-64-v3", "x86-64" or "armv8-a".
std::string instructionSetOf(const llvm::StringMap<bool> &features, const llvm::Triple &triple);
/// A chip of this folder by its name, which is one.
ChipTable recordOf(llvm::StringRef name);
/// The record whose numbers fit a machine: by its features, since the name that LLVM finds for it (`processor`) follows
/// from a model number that hypervisors make up; the name decides only between families of the same features.
std::string familyOf(llvm::StringRef processor, const llvm::StringMap<bool> &features, const llvm::Triple &triple);

/// Where measured rates lie: $TILEWRIGHT_RATES, else $XDG_CONFIG_HOME/tilewright/cpu-rates.json, else below ~/.config.
std::string ratesPath();
/// Replaces the numbers of `chip` by those of the file's text; false if the file is of another processor. The format
/// is that which `measureHost` writes.
llvm::Expected<bool> applyRates(ChipTable &chip, llvm::StringRef text);

/// Runs generated loops on this machine: unit costs, instruction rates and bandwidths, as JSON.
llvm::Expected<std::string> measureHost(const ChipTable &host);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGETS_CPU_CHIPS_H
