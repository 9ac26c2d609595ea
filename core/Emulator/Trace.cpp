//===- Trace.cpp - Engines over time --------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Events of engines, and the file that a trace viewer reads.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Machine.h"

#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace tilewright;

/// More would be no trace that anyone reads.
static constexpr size_t mostEvents = 2000000;

void Machine::record(const Lane &lane, unsigned engine, double end, double cycles, uint64_t bytes) {
  if (!tracing || cycles <= 0 || events.size() >= mostEvents)
    return;
  const uint32_t *at = lane.block->coordinates;
  uint64_t number = at[0] + uint64_t(grid[0]) * (at[1] + uint64_t(grid[1]) * at[2]);
  events.push_back({kernel->name, engineNames[engine], number, lane.number, launchStart + end - cycles, cycles, bytes});
}

llvm::json::Object tilewright::chromeTrace(llvm::ArrayRef<TraceEvent> events, double clockMHz) {
  llvm::json::Array list;
  std::set<uint64_t> blocks;
  std::set<std::pair<uint64_t, int64_t>> rows;
  std::vector<std::string> engines;
  for (const TraceEvent &event : events) {
    auto found = llvm::find(engines, event.engine);
    auto row = static_cast<int64_t>(found - engines.begin());
    if (found == engines.end())
      engines.push_back(event.engine);
    auto block = static_cast<int64_t>(event.block);
    auto name = [&](const char *what, std::string text) {
      list.push_back(llvm::json::Object{{"ph", "M"},
                                        {"name", what},
                                        {"pid", block},
                                        {"tid", row},
                                        {"args", llvm::json::Object{{"name", std::move(text)}}}});
    };
    if (blocks.insert(event.block).second)
      name("process_name", llvm::formatv("block {0}", event.block));
    if (rows.insert({event.block, row}).second)
      name("thread_name", event.engine);
    list.push_back(llvm::json::Object{
        {"ph", "X"},
        {"name", event.kernel},
        {"cat", event.engine},
        {"pid", block},
        {"tid", row},
        {"ts", event.begin / clockMHz},
        {"dur", event.cycles / clockMHz},
        {"args", llvm::json::Object{{"clocks", event.cycles}, {"bytes", static_cast<int64_t>(event.bytes)}}}});
  }
  return llvm::json::Object{{"traceEvents", std::move(list)}, {"displayTimeUnit", "ns"}};
}
