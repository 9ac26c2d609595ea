//===- CallLaneOps.cpp - Lane operations as calls -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Declares the functions and calls them.
///
//===----------------------------------------------------------------------===//

#include "tilewright/CallLaneOps.h"
#include "core/Machine/ExternalCall.h"
#include "core/Machine/ScratchpadGlobal.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/MachineGraph.h"

using namespace mlir;
using namespace tilewright;

CallLaneOps::CallLaneOps(const TargetDescription &chip, StringRef prefix) : LaneOps(chip), prefix(prefix) {
  const Memory *from = chip.graph().backing(), *to = chip.graph().blockMemory();
  if (from && to)
    for (const MachineEdge *way : chip.graph().ways(*from, *to))
      copies |= way->way == Way::Engine && way->engine->asynchronous && way->completion == Completion::WaitGroup;
}

static Value constant(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(value));
}

Value CallLaneOps::call(OpBuilder &builder, Location loc, StringRef name, Type result, ValueRange operands) const {
  if (has(name))
    return make(builder, loc, name, operands);
  auto made = callExternal(builder, loc, prefix + name.str(), result, operands);
  return result ? made.getResult() : Value();
}

Value CallLaneOps::threadId(OpBuilder &builder, Location loc) const {
  return call(builder, loc, "lane_x", builder.getI32Type(), {});
}

Value CallLaneOps::blockId(OpBuilder &builder, Location loc, unsigned dim) const {
  static constexpr const char *names[] = {"block_x", "block_y", "block_z"};
  return call(builder, loc, names[dim], builder.getI32Type(), {});
}

void CallLaneOps::barrier(OpBuilder &builder, Location loc) const { call(builder, loc, "barrier", {}, {}); }

bool CallLaneOps::asyncCopy(OpBuilder &builder, Location loc, Value destination, Value source, int64_t bytes,
                            Value valid) const {
  if (!copies)
    return false;
  Value size = constant(builder, loc, bytes);
  call(builder, loc, "copy", {}, {destination, source, size, valid ? valid : size});
  return true;
}

void CallLaneOps::commitCopies(OpBuilder &builder, Location loc) const { call(builder, loc, "commit_copy", {}, {}); }

void CallLaneOps::waitCopies(OpBuilder &builder, Location loc, int64_t pending) const {
  call(builder, loc, "wait_copy", {}, constant(builder, loc, pending));
}

Value CallLaneOps::shuffle(OpBuilder &builder, Location loc, Value value, Value lane) const {
  return call(builder, loc, "shuffle_index", value.getType(), {value, lane});
}

Value CallLaneOps::scratchpad(OpBuilder &builder, Location loc, ModuleOp module, int64_t bytes) const {
  return scratchpadGlobal(builder, loc, module, prefix + "scratchpad_" + std::to_string(bytes), bytes);
}

void CallLaneOps::finishLaunch(LLVM::LLVMFuncOp function, const LaunchShape &shape) const {
  Builder builder(function.getContext());
  function->setAttr("device_kernel", builder.getUnitAttr());
  function.setPassthroughAttr(
      builder.getArrayAttr(builder.getStrArrayAttr({"device-kernel-lanes", std::to_string(shape.threads)})));
}
