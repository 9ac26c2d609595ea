//===- LaneOps.cpp - SIMT targets -----------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the levels of a SIMT target, and its target's operations.
///
//===----------------------------------------------------------------------===//

#include "tilewright/LaneOps.h"
#include "core/Machine/ModuleTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/Cores.h"

using namespace mlir;
using namespace tilewright;

LaneOps::~LaneOps() = default;

Value LaneOps::permuteBytes(OpBuilder &builder, Location loc, Value low, Value high,
                            std::array<unsigned, 4> bytes) const {
  auto type = VectorType::get(4, builder.getI8Type());
  SmallVector<int32_t> order(bytes.begin(), bytes.end());
  Value permuted = LLVM::ShuffleVectorOp::create(builder, loc, LLVM::BitcastOp::create(builder, loc, type, low),
                                                 LLVM::BitcastOp::create(builder, loc, type, high), order);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), permuted);
}

std::optional<LaneHierarchy> tilewright::laneHierarchy(const TargetDescription &chip) {
  LaneHierarchy result;
  for (const Level &level : chip.levels()) {
    if (level.kind == LevelKind::Parallel && result.grid.empty()) {
      result.grid = level.name;
      result.blocks = level.count;
    } else if (level.kind == LevelKind::Concurrent) { // the innermost one: subgroups of a block; around it clusters
      result.cluster = result.block;
      result.clusterBlocks = result.block.empty() ? 1 : result.subgroups;
      result.block = level.name;
      result.subgroups = level.count;
    } else if (level.kind == LevelKind::Lockstep) {
      result.subgroup = level.name;
      result.lanes = level.count;
    }
  }
  if (result.grid.empty() || result.block.empty() || result.subgroup.empty())
    return std::nullopt;
  for (const Memory &memory : chip.memories()) {
    if (memory.kind == MemoryKind::Scratchpad && memory.level == result.block) {
      result.scratchpad = memory.name;
      result.scratchpadBytes = memory.bytes;
    }
  }
  return result;
}

std::optional<LaneHierarchy> tilewright::launchHierarchy(const TargetDescription &chip) {
  if (auto lanes = laneHierarchy(chip))
    return lanes;
  std::optional<CoreHierarchy> cores = coreHierarchy(chip);
  if (!cores)
    return std::nullopt;
  LaneHierarchy result;
  result.grid = cores->level;
  result.blocks = cores->cores;
  result.scratchpad = cores->scratchpad->name;
  result.scratchpadBytes = cores->scratchpad->bytes;
  return result;
}

llvm::Expected<std::unique_ptr<LaneOps>> tilewright::laneOpsOf(mlir::Operation *op) {
  auto found = moduleTargetOf(op);
  if (!found)
    return found.takeError();
  std::unique_ptr<LaneOps> ops = found->target->laneOps(*found->chip);
  if (!ops)
    return llvm::createStringError("chip '" + found->name() + "' has no operations of lanes");
  return ops;
}

std::optional<LaunchShape> tilewright::launchShapeOf(mlir::Operation *function) {
  auto attribute = function->getAttrOfType<mlir::DictionaryAttr>(launchAttr);
  if (!attribute)
    return std::nullopt;
  auto number = [&](llvm::StringRef name) {
    auto value = attribute.getAs<mlir::IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  return LaunchShape{std::max<int64_t>(1, number("threads")), number("shared"), number("copiers"), number("group"),
                     std::max<int64_t>(1, number("cluster"))};
}
