// Target @NAME@: its chips are the records of Chips.td. Hooks that a target may override: tilewright/Target.h.
#include "tilewright/TableTarget.h"

#include "Chips.inc" // the tables of Chips.td, in terms of the header above

namespace {
class @Name@Target : public tilewright::TableTarget {
public:
  @Name@Target() : TableTarget("@NAME@", "Chips of @Name@", @NAME@::recordedChips()) {}
};
} // namespace

TILEWRIGHT_TARGET_PLUGIN(@NAME@, "0.1", @Name@Target)
