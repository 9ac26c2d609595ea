//===- LaneOps.cpp - Lanes of a launch ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the levels of a launch, and the operations of its lanes.
///
//===----------------------------------------------------------------------===//

#include "tilewright/LaneOps.h"
#include "core/Machine/ModuleTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/MachineGraph.h"

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

LaneHierarchy LaneHierarchy::of(const MachineGraph &graph) {
  LaneHierarchy result;
  result.grid = graph.parallelLevel()->name;
  result.blocks = graph.parallelLevel()->count;
  const Memory *scratchpad = graph.threadMemory();
  if (graph.hasBlocks()) {
    result.block = graph.concurrentLevel()->name;
    result.subgroups = graph.concurrentLevel()->count;
    if (const Level *cluster = graph.clusterLevel()) {
      result.cluster = cluster->name;
      result.clusterBlocks = cluster->count;
    }
    result.subgroup = graph.lockstepLevel()->name;
    result.lanes = graph.lockstepLevel()->count;
    result.sectorBytes = graph.sectorBytes();
    scratchpad = graph.blockMemory();
  }
  if (scratchpad) {
    result.scratchpad = scratchpad->name;
    result.scratchpadBytes = scratchpad->bytes;
  }
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
