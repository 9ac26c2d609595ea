// Target @NAME@: its chips are the records of Chips.td. Hooks that a target may override: tilewright/Target.h.
#include "Chips.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

namespace {
class @Name@Target : public tilewright::TableTarget {
public:
  @Name@Target() : TableTarget("@NAME@", "Chips of @Name@", @NAME@::recordedChips()) {}
  std::unique_ptr<tilewright::LaneOps> laneOps(const tilewright::TargetDescription &chip) const override {
    return @NAME@::laneOps(chip);
  }
  void emulate(tilewright::EmulationTable &table) const override { @NAME@::emulate(table); }
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(@NAME@, "0.1", @Name@Target)
