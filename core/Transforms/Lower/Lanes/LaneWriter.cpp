//===- LaneWriter.cpp - The code of one lane ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arguments of a launch, its roles, and which member of the writer takes which op.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tilewright/BlockAccumulators.h"

using namespace mlir;
using namespace tilewright;

LogicalResult LaneWriter::run() {
  Block *old = &function.front();
  FailureOr<std::optional<LaneRing>> found = findRing(function);
  if (failed(found) || failed(accumulators.find(function, target)) ||
      failed(barriers.analyze(function, hierarchy, context.ops.countsGroups())))
    return failure();
  ring = *found;
  blockOps = blockAccumulators(context.ops);
  if (accumulators.any() && !blockOps)
    return function.emitOpError() << "uses units that add up in a memory of the block, which the operations of "
                                  << target.target() << ":" << target.chip() << " do not know (BlockAccumulators.h)";
  Block *entry = new Block;
  function.getBody().push_front(entry);
  builder.setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(function.getContext(), globalSpace);
  for (BlockArgument argument : old->getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      values.map(argument, entry->addArgument(argument.getType(), argument.getLoc()));
      continue;
    }
    if (!type.getLayout().isIdentity())
      return function.emitOpError() << "has an argument with the layout " << type.getLayout()
                                    << "; launches take arrays of identity layout";
    LaneArray array;
    array.type = type;
    array.pointer = entry->addArgument(pointer, argument.getLoc());
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        array.sizes.push_back(entry->addArgument(builder.getIndexType(), argument.getLoc()));
    arrays.try_emplace(argument, array);
  }
  thread = context.ops.threadId(builder, context.loc);
  if (failed(lower(*old)))
    return failure();
  func::ReturnOp::create(builder, context.loc);
  old->dropAllReferences();
  old->erase();
  bool overlaps = bool(function->removeAttr(overlapsAttr));
  SmallVector<DictionaryAttr> attributes;
  NamedAttribute apart = builder.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  for (Type type : entry->getArgumentTypes())
    attributes.push_back(type == pointer && !overlaps ? builder.getDictionaryAttr(apart) : DictionaryAttr());
  for (size_t i = attributes.size() - maps.size(); i < attributes.size(); ++i) {
    constexpr int64_t words = 16, align = 64; // a description of tiles, by value
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), words);
    attributes[i] = builder.getDictionaryAttr(
        {builder.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type)),
         builder.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(align))});
  }
  function.setType(builder.getFunctionType(entry->getArgumentTypes(), {}));
  function.setAllArgAttrs(attributes);
  return success();
}

LogicalResult LaneWriter::lower(Block &block) {
  for (Operation &op : block.without_terminator()) {
    Location before = context.loc;
    context.loc = op.getLoc();
    auto levelOf = [](Operation *op) {
      auto parallel = dyn_cast<tile::ParallelOp>(op);
      return parallel ? parallel.getLevel() : StringRef();
    };
    StringRef around = levelOf(block.getParentOp());
    if (ring && role == Role::All && ring->isAround(&op) && !around.empty() &&
        (around == hierarchy.grid || around == hierarchy.cluster) &&
        (hierarchy.cluster.empty() || levelOf(&op) != hierarchy.cluster))
      return split(&op);
    if (awaitsUnits(op))
      finishUnits(/*givesTurn=*/true);
    if (accumulators.any() && !issues && failed(finishAccumulators(op)))
      return failure();
    if (barriers.needs(&op))
      barrier();
    if (op.hasAttr(arrivedAttr))
      context.ops.awaitFragments(builder, context.loc);
    if (op.hasAttr(behindLoadsAttr))
      context.ops.keepOrder(builder, context.loc);
    if (failed(lower(op)))
      return failure();
    if (barriers.needsBehind(&op))
      barrier();
    context.loc = before;
  }
  if (!carriesUnits(block.getParentOp()))
    finishUnits();
  return success();
}

LogicalResult LaneWriter::lower(Operation &op) {
  if (auto each = dyn_cast<tile::ParallelOp>(op))
    return parallel(each);
  if (auto each = dyn_cast<scf::ForOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::WhileOp>(op))
    return loop(each);
  if (auto each = dyn_cast<scf::IfOp>(op))
    return branch(each);
  if (auto each = dyn_cast<tile::AllocOp>(op))
    return alloc(each);
  if (auto each = dyn_cast<tile::CopyOp>(op))
    return copy(each);
  if (auto each = dyn_cast<tile::WaitOp>(op))
    return wait(each);
  if (auto each = dyn_cast<tile::LoadOp>(op))
    return load(each);
  if (auto each = dyn_cast<tile::StoreOp>(op))
    return store(each);
  if (auto each = dyn_cast<tile::ConvertOp>(op))
    return convert(each);
  if (auto each = dyn_cast<tile::JoinOp>(op))
    return join(each);
  if (auto each = dyn_cast<tile::SplitOp>(op))
    return split(each);
  if (auto each = dyn_cast<tile::IndexOp>(op))
    return index(each);
  if (auto each = dyn_cast<tile::ReduceOp>(op))
    return reduce(each);
  if (auto each = dyn_cast<tile::ZeroOp>(op)) {
    if (accumulators.entryOf(each.getResult())) {
      beginAccumulators();
      values.map(each.getResult(), constant(builder.getI1Type(), builder.getBoolAttr(false)));
      return success();
    }
    VectorType type = vectorOf(each.getType());
    values.map(each.getResult(), constant(type, builder.getZeroAttr(type)));
    return success();
  }
  if (auto each = dyn_cast<tile::BroadcastOp>(op); each && !isa<tile::FragmentType>(each.getSource().getType())) {
    values.map(each.getResult(),
               vector::BroadcastOp::create(builder, op.getLoc(), vectorOf(each.getType()), value(each.getSource())));
    return success();
  }
  if (auto each = dyn_cast<tile::BroadcastOp>(op))
    return repeat(each);
  if (auto each = dyn_cast<tile::MapOp>(op))
    return map(each);
  if (auto each = dyn_cast<tile::MmaOp>(op)) {
    const MatrixUnit *unit = unitOf(each);
    if (!unit)
      return requireUnit(each, target, each.getUnit());
    if (readsScratchpad(*unit))
      return groupUnit(each, *unit);
    SmallVector<Value> besides = valuesOf(each.getScales());
    if (each.getIndex())
      besides.push_back(value(each.getIndex()));
    FailureOr<Value> result =
        callUnit(builder, each, *unit, module, value(each.getA()), value(each.getB()), value(each.getC()), besides);
    if (failed(result))
      return failure();
    values.map(each.getResult(), *result);
    return success();
  }
  if (auto each = dyn_cast<memref::DimOp>(op)) {
    FailureOr<LaneArray> array = arrayOf(&op, each.getSource());
    std::optional<int64_t> d = each.getConstantIndex();
    if (failed(array))
      return failure();
    if (!d)
      return op.emitOpError() << "asks for a dimension that is not constant";
    if (!array->type.isDynamicDim(*d)) {
      values.map(each.getResult(), context.index(array->type.getDimSize(*d)));
      return success();
    }
    values.map(each.getResult(), array->sizes[array->type.getDynamicDimIndex(*d)]);
    return success();
  }
  if (auto each = dyn_cast<memref::ViewOp>(op))
    return view(each);
  if (auto each = dyn_cast<arith::SelectOp>(op); each && isa<MemRefType>(each.getType()))
    return select(each);
  if (auto each = dyn_cast<memref::LoadOp>(op))
    return plainAccess(op, each.getMemRef(), each.getIndices(), {});
  if (auto each = dyn_cast<memref::StoreOp>(op))
    return plainAccess(op, each.getMemRef(), each.getIndices(), each.getValueToStore());
  if (isa_and_nonnull<tile::TileDialect, memref::MemRefDialect>(op.getDialect()) || op.getNumRegions() != 0 ||
      llvm::any_of(op.getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return op.emitOpError() << "cannot be distributed over the lanes of " << target.target() << ":" << target.chip()
                            << " yet";
  builder.clone(op, values);
  return success();
}
