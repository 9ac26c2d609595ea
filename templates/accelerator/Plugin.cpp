// Target accelerator: everything about its chips is in the records of Chips.td. Hooks that a target may override:
// tilewright/Target.h.
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

namespace {
class AcceleratorTarget : public tilewright::TableTarget {
public:
  AcceleratorTarget() : TableTarget("accelerator", "Chips of Accelerator", accelerator::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(accelerator, "0.1", AcceleratorTarget)
