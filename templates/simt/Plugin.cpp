// Target @NAME@: its chips are the records of Chips.td. Hooks that a target may override: tilewright/Target.h.
#include "tilewright/CallLaneOps.h"
#include "tilewright/Emulation.h"
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

namespace {
class @Name@Target : public tilewright::TableTarget {
public:
  @Name@Target() : TableTarget("@NAME@", "Chips of @Name@", @NAME@::recordedChips()) {}
  // What a lane does is an instruction of Chips.td, else a call of @NAME@.WORD, which a device library defines.
  std::unique_ptr<tilewright::LaneOps> laneOps(const tilewright::TargetDescription &chip) const override {
    return std::make_unique<tilewright::CallLaneOps>(chip, "@NAME@.");
  }
  void emulate(tilewright::EmulationTable &table) const override { table.calls("@NAME@."); }
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(@NAME@, "0.1", @Name@Target)
