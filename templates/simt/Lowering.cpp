// What one lane of target @NAME@ does, as ops of the LLVM dialect.
#include "Chips.h"
#include "tilewright/CallLaneOps.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// Each operation is a call of an external function `@NAME@.WORD`, which your back end or device library defines.
/// Override those that your chip spells otherwise, as the barrier here, whose instruction is written as assembly.
class @Name@LaneOps : public CallLaneOps {
public:
  explicit @Name@LaneOps(const TargetDescription &chip) : CallLaneOps(chip, "@NAME@.") {}

  void barrier(OpBuilder &builder, Location loc) const override {
    LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ValueRange(), "@NAME@.barrier", /*constraints=*/"",
                              /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  }
};

} // namespace

std::unique_ptr<LaneOps> @NAME@::laneOps(const TargetDescription &chip) {
  return std::make_unique<@Name@LaneOps>(chip);
}
