//===- RoleChecks.cpp - Memories whose role can be told -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The core finds memories by role: each has one that goes with its kind, and
/// no two register files of one level have the same.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/RecordChecks.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
using llvm::formatv;

using Messages = std::vector<std::string>;

/// The roles that a memory of this kind may have.
static std::vector<MemoryRole> rolesOf(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Global:
    return {MemoryRole::Backing};
  case MemoryKind::Cache:
    return {MemoryRole::Cached};
  case MemoryKind::Scratchpad:
    return {MemoryRole::Staging};
  case MemoryKind::Accumulator:
    return {MemoryRole::Accumulators};
  case MemoryKind::RegisterFile:
    return {MemoryRole::VectorRegisters, MemoryRole::LaneRegisters, MemoryRole::RegisterPool,
            MemoryRole::UniformRegisters, MemoryRole::Accumulators};
  }
  return {};
}

MemoryRole tilewright::roleIn(const ChipTable &chip, const Memory &memory) {
  return memory.role == MemoryRole::Inferred ? inferRole(memory, chip.levels) : memory.role;
}

const Memory *tilewright::memoryOfRole(const ChipTable &chip, MemoryRole role) {
  for (const Memory &memory : chip.memories)
    if (roleIn(chip, memory) == role)
      return &memory;
  return nullptr;
}

static void checkRole(const ChipTable &chip, const Memory &memory, Messages &messages) {
  std::vector<MemoryRole> fitting = rolesOf(memory.kind);
  std::vector<std::string> names;
  for (MemoryRole role : fitting)
    names.push_back(roleName(role).str());
  MemoryRole role = roleIn(chip, memory);
  bool hasLevel = llvm::any_of(chip.levels, [&](const Level &level) { return level.name == memory.level; });
  if (role == MemoryRole::Inferred && hasLevel)
    messages.push_back(formatv("memory '{0}': field 'role' is not given, and does not follow from its level '{1}', "
                               "inside of which a Concurrent level lies; give one of {2}",
                               memory.name, memory.level, llvm::join(names, ", ")));
  else if (role != MemoryRole::Inferred && !llvm::is_contained(fitting, role))
    messages.push_back(formatv("memory '{0}': field 'role' is {1}, which goes with another kind of memory; {2} {3}",
                               memory.name, roleName(role), names.size() == 1 ? "leave it out, or give" : "give one of",
                               llvm::join(names, ", ")));
  if (memory.kind == MemoryKind::RegisterFile && memory.access == MemoryAccess::EnginesOnly)
    messages.push_back(formatv("memory '{0}': field 'access' is EnginesOnly, but threads name the registers of a "
                               "register file; leave it out",
                               memory.name));
}

void tilewright::checkMemoryRoles(const ChipTable &chip, Messages &messages) {
  for (const Memory &memory : chip.memories) {
    checkRole(chip, memory, messages);
    if (memory.kind != MemoryKind::RegisterFile)
      continue;
    MemoryRole role = roleIn(chip, memory);
    if (role == MemoryRole::VectorRegisters && memory.entryBytes > 0 && !llvm::isPowerOf2_64(memory.entryBytes))
      messages.push_back(
          formatv("register file '{0}': field 'entryBytes' is {1}; vectors that the compiler plans have a "
                  "power of two of bytes: describe the part of a register that has {2}",
                  memory.name, memory.entryBytes, llvm::bit_floor(uint64_t(memory.entryBytes))));
    for (const Memory &other : chip.memories)
      if (&other < &memory && other.kind == memory.kind && other.level == memory.level &&
          role != MemoryRole::Inferred && roleIn(chip, other) == role)
        messages.push_back(formatv("memories '{0}' and '{1}' both have the role {2} at level '{3}', and the compiler "
                                   "could not tell them apart; give field 'role' in one of them: Accumulators for a "
                                   "file that holds only accumulators, UniformRegisters for one value of all lanes",
                                   other.name, memory.name, roleName(role), memory.level));
  }
}
