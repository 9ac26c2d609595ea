//===- HostFacts.h - What a machine says of itself --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Facts of a processor that are the same question for every vendor: CPUID and the kernel's lists answer them, and 0 or
/// an empty list says that they do not. The record of a machine whose family no table knows is made of them:
///
///   CPUID, /sys, features  -->  HostFacts  -->  genericChip(): facts first, then guesses of the instruction set
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETS_CPU_HOSTFACTS_H
#define TILEWRIGHT_TARGETS_CPU_HOSTFACTS_H

#include "tilewright/ChipTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Triple.h"
#include <array>
#include <map>

namespace tilewright::cpu {

/// EAX, EBX, ECX and EDX by leaf and subleaf.
using CpuidLeaves = std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>>;

/// A cache that holds data, of the first core.
struct CacheFact {
  int64_t level = 0, bytes = 0, lineBytes = 0, ways = 0;
};

struct HostFacts {
  llvm::Triple triple;
  std::string processor;          // LLVM's name
  llvm::StringMap<bool> features; // usable ones are true
  std::string vendor;             // CPUID's twelve letters
  bool isVirtual = false;         // a hypervisor says that it is there
  int64_t cores = 1, memoryBytes = 0;
  double clockMHz = 0;                             // the highest that is said
  int64_t datapathBits = 0;                        // in which vector instructions run: wider ones take several turns
  int64_t firstTranslations = 0, translations = 0; // pages of 4 KiB that both levels keep for data
  std::vector<CacheFact> caches;                   // nearest first

  bool isAmd() const { return vendor == "AuthenticAMD" || vendor == "HygonGenuine"; }
};

/// The leaves of this processor that `addCpuid` reads; none on other processors than x86.
CpuidLeaves readCpuid();
/// Vendor, hypervisor, datapath, clock, pages that stay translated, and caches where there are none yet.
void addCpuid(HostFacts &facts, const CpuidLeaves &leaves);
/// Caches and clock of the first core as the kernel lists them below `folder`, "/sys/devices/system/cpu".
void addKernel(HostFacts &facts, const std::string &folder);
/// All of this machine.
HostFacts findFacts();

/// Bytes of a cache that this machine's cores find. A virtual machine sees the whole last cache, and not the other
/// cores that share it. Of an AMD complex, which has 4 MiB for each core (Zen 2 to Zen 5), half as much again: two
/// cores of a Zen 3 that saw 32 MiB read 11 MiB at 42 GB/s and 16 MiB at 18 while the other one rested, 6 MiB at 39 and
/// 8 MiB at 24 while it worked. One core of a Granite Rapids found 48 of 480 MiB.
int64_t usableBytes(const HostFacts &facts, const CacheFact &cache);

/// The record of a machine that no table knows, as chip `name`. Its sources tell facts from guesses.
ChipTable genericChip(const HostFacts &facts, llvm::StringRef name);
/// What every record of a machine takes of it: name, features, the units that these allow, cores, bytes of memory.
/// `record`: whose LLVM name counts where that of the processor lacks features.
void addMachine(ChipTable &chip, const HostFacts &facts, llvm::StringRef name);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGETS_CPU_HOSTFACTS_H
