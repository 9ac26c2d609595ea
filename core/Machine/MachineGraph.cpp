//===- MachineGraph.cpp - A chip by the roles of its parts ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Roles of memories, then edges: first those that records of copy engines
/// give, then fills of caches, then what threads reach by themselves.
///
//===----------------------------------------------------------------------===//

#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <utility>

using namespace tilewright;

llvm::StringRef tilewright::roleName(MemoryRole role) {
  static constexpr const char *names[] = {"Inferred",      "Backing",      "Cached",
                                          "Staging",       "Accumulators", "VectorRegisters",
                                          "LaneRegisters", "RegisterPool", "UniformRegisters"};
  return names[static_cast<int>(role)];
}

MemoryRole tilewright::inferRole(const Memory &memory, llvm::ArrayRef<Level> levels) {
  switch (memory.kind) {
  case MemoryKind::Global:
    return MemoryRole::Backing;
  case MemoryKind::Cache:
    return MemoryRole::Cached;
  case MemoryKind::Scratchpad:
    return MemoryRole::Staging;
  case MemoryKind::Accumulator:
    return MemoryRole::Accumulators;
  case MemoryKind::RegisterFile:
    break;
  }
  bool below = false;
  for (auto [depth, level] : llvm::enumerate(levels)) {
    bool isHome = level.name == memory.level;
    if (isHome && level.kind == LevelKind::Concurrent)
      return MemoryRole::RegisterPool;
    if (isHome && level.kind == LevelKind::Lockstep)
      return depth + 1 < levels.size() ? MemoryRole::UniformRegisters : MemoryRole::LaneRegisters;
    if (isHome && level.kind == LevelKind::Single)
      return below ? MemoryRole::LaneRegisters : MemoryRole::VectorRegisters;
    if (isHome)
      return llvm::any_of(levels.drop_front(depth),
                          [](const Level &inside) { return inside.kind == LevelKind::Concurrent; })
                 ? MemoryRole::Inferred
                 : MemoryRole::VectorRegisters;
    below |= level.kind == LevelKind::Lockstep;
  }
  return MemoryRole::Inferred;
}

MachineGraph::MachineGraph(const TargetDescription &chip) : allLevels(chip.levels()), memories(chip.memories()) {
  for (const Level &level : allLevels) {
    if (level.kind == LevelKind::Parallel)
      parallel = &level;
    if (level.kind == LevelKind::Concurrent)
      cluster = std::exchange(concurrent, &level);
    if (level.kind == LevelKind::Lockstep)
      lockstep = &level;
  }
  for (const Memory &memory : memories) {
    roles.push_back(memory.role == MemoryRole::Inferred ? inferRole(memory, allLevels) : memory.role);
    if (roles.back() == MemoryRole::Cached)
      cached.push_back(&memory);
  }
  llvm::stable_sort(cached, [](const Memory *a, const Memory *b) { return a->bytes < b->bytes; });
  addEngines(chip.copies());
  addFills();
  addThreads(chip);
  for (const MatrixUnit &unit : chip.units())
    homes.push_back({&unit, homeOf(unit.a), homeOf(unit.b), homeOf(unit.c)});
}

std::optional<size_t> MachineGraph::depth(llvm::StringRef level) const {
  const auto *found = llvm::find_if(levels(), [&](const Level &each) { return each.name == level; });
  return found == levels().end() ? std::nullopt : std::optional<size_t>(found - levels().begin());
}

MemoryRole MachineGraph::roleOf(const Memory &memory) const {
  return &memory >= memories.begin() && &memory < memories.end() ? roles[&memory - memories.begin()]
                                                                 : MemoryRole::Inferred;
}

const Memory *MachineGraph::named(llvm::StringRef name) const {
  const Memory *found = llvm::find_if(memories, [&](const Memory &memory) { return memory.name == name; });
  return found == memories.end() ? nullptr : found;
}

/// The largest memory of the role: they are sorted.
const Memory *MachineGraph::first(MemoryRole role) const {
  auto found = llvm::find(roles, role);
  return found == roles.end() ? nullptr : &memories[found - roles.begin()];
}

const Memory *MachineGraph::at(MemoryRole role, llvm::StringRef level) const {
  for (auto [memory, itsRole] : llvm::zip_equal(memories, roles))
    if (itsRole == role && memory.level == level)
      return &memory;
  return nullptr;
}

const Memory *MachineGraph::blockMemory() const {
  for (auto [memory, role] : llvm::zip_equal(memories, roles))
    if (concurrent && role == MemoryRole::Staging && memory.level == concurrent->name &&
        memory.access != MemoryAccess::EnginesOnly)
      return &memory;
  return nullptr;
}

int64_t MachineGraph::sectorBytes() const {
  const Memory *from = cached.empty() ? backing() : cached.back();
  return std::max<int64_t>(1, !from ? 1 : from->sectorBytes ? from->sectorBytes : from->lineBytes);
}

const Memory *MachineGraph::accumulatorMemoryOf(llvm::StringRef level) const {
  for (auto [memory, role] : llvm::zip_equal(memories, roles))
    if (role == MemoryRole::Accumulators && memory.kind == MemoryKind::Accumulator && memory.level == level)
      return &memory;
  return nullptr;
}

const Memory *MachineGraph::accumulatorRegisters() const {
  for (auto [memory, role] : llvm::zip_equal(memories, roles))
    if (role == MemoryRole::Accumulators && memory.kind == MemoryKind::RegisterFile)
      return &memory;
  return nullptr;
}

void MachineGraph::addEngines(llvm::ArrayRef<CopyEngine> copies) {
  for (const CopyEngine &engine : copies) {
    const Memory *from = named(engine.from), *to = named(engine.to);
    if (!from || !to)
      continue;
    bool registers = from->kind == MemoryKind::RegisterFile || to->kind == MemoryKind::RegisterFile;
    allEdges.push_back({from, to, registers && !engine.asynchronous ? Way::LoadsAndStores : Way::Engine, &engine,
                        engine.completion, engine.bytesPerClock, engine.latency});
  }
}

void MachineGraph::addFills() {
  const Memory *outer = backing();
  for (const Memory *cache : llvm::reverse(cached)) {
    if (outer)
      allEdges.push_back({outer, cache, Way::Fill, nullptr, Completion::AtOnce, outer->bytesPerClock, outer->latency});
    outer = cache;
  }
}

/// Whether threads load and store `memory` at all.
bool MachineGraph::loads(const Memory &memory) const {
  if (memory.access != MemoryAccess::Inferred)
    return memory.access == MemoryAccess::LoadsAndStores;
  // A core with a memory of its own and without caches leaves it to engines, unless a record says that it loads.
  if (roleOf(memory) != MemoryRole::Backing || !threadMemory() || !cached.empty())
    return true;
  return llvm::any_of(allEdges, [&](const MachineEdge &edge) {
    return edge.from == &memory && edge.to->kind == MemoryKind::RegisterFile && edge.engine;
  });
}

void MachineGraph::addThreads(const TargetDescription &chip) {
  for (auto [file, role] : llvm::zip_equal(memories, roles)) {
    if (role != MemoryRole::VectorRegisters && role != MemoryRole::LaneRegisters)
      continue;
    for (const Memory &memory : memories) {
      if (memory.kind == MemoryKind::RegisterFile || memory.kind == MemoryKind::Cache || !reaches(file.level, memory))
        continue;
      if (llvm::none_of(ways(memory, file), [](const MachineEdge *edge) { return edge->way == Way::LoadsAndStores; }))
        allEdges.push_back(
            {&memory, &file, Way::LoadsAndStores, nullptr, Completion::AtOnce, memory.bytesPerClock, memory.latency});
      allEdges.push_back(
          {&file, &memory, Way::LoadsAndStores, nullptr, Completion::AtOnce, memory.writeBytesPerClock, 0});
    }
    if (role == MemoryRole::LaneRegisters && lockstep)
      allEdges.push_back(
          {&file, &file, Way::Exchange, nullptr, Completion::AtOnce,
           chip.number(Number::Shuffle).value_or(0) * static_cast<double>(lockstep->count * file.entryBytes), 0});
  }
}

llvm::SmallVector<const MachineEdge *> MachineGraph::ways(const Memory &from, const Memory &to) const {
  llvm::SmallVector<const MachineEdge *> result;
  for (bool engines : {true, false})
    for (const MachineEdge &edge : allEdges)
      if (edge.from == &from && edge.to == &to && (edge.way == Way::Engine) == engines)
        result.push_back(&edge);
  return result;
}

bool MachineGraph::reaches(llvm::StringRef level, const Memory &memory) const {
  std::optional<size_t> own = depth(level), home = depth(memory.level);
  if (!own || !home || !loads(memory))
    return false;
  MemoryRole role = roleOf(memory);
  return role == MemoryRole::Backing || role == MemoryRole::Cached || *own >= *home;
}

const Memory *MachineGraph::homeOf(const UnitOperand &operand) const {
  switch (operand.residence) {
  case Residence::BroadcastScalar:
  case Residence::VectorRegister:
    return vectorRegisters();
  case Residence::LaneRegisters:
    return laneRegisters();
  case Residence::OpaqueRegister:
    return nullptr;
  case Residence::Scratchpad:
  case Residence::Accumulator:
    return named(operand.memory);
  }
  return nullptr;
}
