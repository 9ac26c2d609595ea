//===- EssentialChecks.cpp - What programs of a chip cannot do without ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Levels, register files and engines by the questions that stages ask of a
/// chip (MachineGraph.h): each message says what is missing, and which record
/// would give it.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CopyPaths.h"
#include "core/Machine/RecordChecks.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

using Messages = std::vector<std::string>;

/// Lanes that are threads: they wait for each other in blocks, and have registers that a block shares out.
static void checkLanes(const ChipTable &chip, const MachineGraph &graph, Messages &messages) {
  const Level &lanes = *graph.lockstepLevel();
  const std::string what = formatv("the members of level '{0}' are threads, with the registers of '{1}'", lanes.name,
                                   graph.laneRegisters()->name);
  if (!graph.concurrentLevel()) {
    std::vector<const Level *> outside;
    for (const Level &level : chip.levels)
      if (&level - chip.levels.data() < int64_t(*graph.depth(lanes.name)) && level.kind == LevelKind::Parallel)
        outside.push_back(&level);
    if (outside.size() > 1)
      messages.push_back(
          formatv("field 'levels': {0}, so the level around them whose members can wait for each other must "
                  "be Concurrent: level '{1}' is Parallel; write Level<\"{1}\", Concurrent, {2}>",
                  what, outside.back()->name, outside.back()->count));
    else
      messages.push_back(formatv("field 'levels': {0}, but no level around them is Concurrent; add the groups of lanes "
                                 "that can wait for each other, as Level<\"block\", Concurrent, ...>",
                                 what));
    return;
  }
  if (!graph.parallelLevel()) {
    messages.push_back(formatv("field 'levels': {0}, but no level around '{1}' is Parallel; add the members that run "
                               "independently of each other, as Level<\"grid\", Parallel, ...>",
                               what, graph.concurrentLevel()->name));
    return;
  }
  if (!graph.registerPool() && !chip.units.empty())
    messages.push_back(formatv("field 'memories' has no register file that the lanes of level '{0}' share out, without "
                               "which no contraction is mapped to a unit; add RegisterFile<..., \"{0}\", ...> with the "
                               "registers of one member of the level around it",
                               graph.concurrentLevel()->name));
}

void tilewright::checkEssentials(const ChipTable &chip, const MachineGraph &graph, Messages &messages) {
  const Level *lanes = graph.lockstepLevel();
  if (lanes && !graph.vectorRegisters() && !graph.laneRegisters()) {
    if (graph.concurrentLevel())
      messages.push_back(formatv("field 'memories' has no register file with the registers of one lane; add "
                                 "RegisterFile<..., \"{0}\", ...>",
                                 chip.levels.back().name));
    else
      messages.push_back(
          formatv("field 'memories' has no register file for the elements of the vectors that level '{0}' "
                  "stands for; add RegisterFile<..., \"{1}\", ...>",
                  lanes->name, graph.parallelLevel() ? graph.parallelLevel()->name : lanes->name));
    return;
  }
  if (graph.laneRegisters() && graph.lanesAreThreads())
    checkLanes(chip, graph, messages);
  for (const CopyEngine &copy : chip.copies) {
    const Memory *from = graph.named(copy.from), *to = graph.named(copy.to);
    if (graph.lanesAreThreads() && from && to && from->kind == MemoryKind::Global &&
        to->kind == MemoryKind::RegisterFile && copy.asynchronous)
      messages.push_back(formatv("copy engine '{0}': it leads from '{1}' to the registers '{2}', but lanes load global "
                                 "memory by their own instructions, and no stage uses such an engine; lead it to a "
                                 "scratchpad, or leave it out",
                                 copy.name, copy.from, copy.to));
  }
  const Memory *own = graph.threadMemory(), *global = graph.backing();
  if (!own || !global || graph.reaches(graph.threadLevel()->name, *global))
    return;
  for (auto [from, to] : {std::pair(global, own), std::pair(own, global)})
    if (!copyPath(chip.copies, from->name, to->name).rows)
      messages.push_back(formatv("field 'copies' has no engine from '{0}' to '{1}', and the cores do not reach '{2}' "
                                 "themselves; add a CopyEngine<\"{0}\", \"{1}\">, or one from '{2}' to a register file "
                                 "where cores load and store it",
                                 from->name, to->name, global->name));
}
