// The parts that Plugin.cpp puts together.
#pragma once
#include <memory>

namespace tilewright {
class EmulationTable;
class LaneOps;
class TargetDescription;
} // namespace tilewright

namespace @NAME@ {
std::unique_ptr<tilewright::LaneOps> laneOps(const tilewright::TargetDescription &chip); // Lowering.cpp
void emulate(tilewright::EmulationTable &table);                                         // Emulation.cpp
} // namespace @NAME@
