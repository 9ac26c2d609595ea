// What the ops that Lowering.cpp makes mean, for the emulator. Matrix units need no line: it executes their records.
#include "tilewright/Emulation.h"
#include "Chips.h"
#include "tilewright/LaneOps.h"

using namespace tilewright;

void @NAME@::emulate(EmulationTable &table) {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
  table.primitives("@NAME@."); // @NAME@.lane_x, @NAME@.copy, ...: docs/emulator.md
  table.on("asm:@NAME@.barrier", [](mlir::Operation *, EmulationBuilder &builder) {
    builder.barrier();
    return mlir::success();
  });
}
