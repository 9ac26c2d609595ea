//===- LaneScales.cpp - Scales in a memory of the block -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fragments of scales, or of an index, that such a unit takes are no values of a lane. An engine has put images of
/// them into a stage of the multi-stage buffer (ScaleImage.h); the lane that issues the units copies them on, before
/// the first unit that takes them:
///
///   wait full[s]
///   copy image -> entries of group and stage s      in order with the units after it
///   unit, byte 0; unit, byte 1; ..                  the instructions whose scales share a word
///   commit to empty[s]                              tells of the copies, too
///
/// Copies are in no order with the units before them. So each stage has entries of its own: those are free when the
/// stage is.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ScaleImage.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "tilewright/BlockAccumulators.h"

using namespace mlir;
using namespace tilewright;

std::optional<StagedScales> tilewright::stagedScales(tile::LoadOp load) {
  AffineMap map = load.getMap();
  if (load.getMemRefType().getRank() != 3 || load.getValidMap())
    return std::nullopt;
  auto element = dyn_cast<AffineConstantExpr>(map.getResult(2));
  if (!element)
    return std::nullopt;
  StagedScales result;
  result.element = element.getValue();
  AffineExpr line = simplifyAffineExpr(map.getResult(1), map.getNumDims(), map.getNumSymbols());
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(line); sum && sum.getKind() == AffineExprKind::Add)
    if (auto number = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      result.line = number.getValue();
      line = sum.getLHS();
    }
  if (auto number = dyn_cast<AffineConstantExpr>(line))
    result.line = number.getValue();
  else
    result.dynamic = line;
  return result;
}

/// What the unit of `mma` takes beside A, B and C: operands of the record, and fragments.
static SmallVector<std::pair<const UnitOperand *, Value>> besidesOf(tile::MmaOp mma, const MatrixUnit &unit) {
  SmallVector<Value> fragments(mma.getScales());
  if (mma.getIndex())
    fragments.push_back(mma.getIndex());
  SmallVector<std::pair<const UnitOperand *, Value>> besides;
  for (auto [operand, fragment] : llvm::zip_equal(unit.besides(), fragments))
    besides.push_back({operand, fragment});
  return besides;
}

//===-- Entries -----------------------------------------------------------===//

LogicalResult AccumulatorPlaces::findScales(tile::MmaOp mma, const MatrixUnit &unit, const TargetDescription &chip) {
  const CopyEngine *engine = scaleEngine(unit, chip.graph());
  for (auto [operand, scale] : besidesOf(mma, unit)) {
    auto load = scale.getDefiningOp<tile::LoadOp>();
    auto staged = load ? stagedScales(load) : std::nullopt;
    if (!staged || !engine)
      return mma.emitOpError() << "multiplies by unit " << unit.name << ", which finds "
                               << (unit.sparsity ? "the index of A" : "scales") << " in the memory \"" << unit.c.memory
                               << "\": they must be a tile.load of an image in a stage of a multi-stage buffer, and an "
                                  "engine must bring them there";
    if (llvm::any_of(scales,
                     [&](const Scales &each) { return each.buffer == load.getMemref() && each.line == staged->line; }))
      continue;
    scales.push_back({load.getMemref(), staged->line, scaleEntries});
    scaleEntries += imageOf(unit, *operand, *engine).entries;
  }
  return success();
}

int64_t AccumulatorPlaces::scalesOf(tile::LoadOp load) const {
  const StagedScales staged = *stagedScales(load);
  return llvm::find_if(scales,
                       [&](const Scales &each) { return each.buffer == load.getMemref() && each.line == staged.line; })
      ->entry;
}

//===-- Copies ------------------------------------------------------------===//

LogicalResult LaneWriter::findScales(tile::MmaOp op, const MatrixUnit &unit, SmallVectorImpl<Value> &operands) {
  if (!findsBesidesInBlock(unit))
    return success();
  auto add = [&](Value a, Value b) { return arith::AddIOp::create(builder, context.loc, a, b).getResult(); };
  auto times = [&](Value a, int64_t b) {
    return arith::MulIOp::create(builder, context.loc, a, context.i32(b)).getResult();
  };
  const CopyEngine &engine = *scaleEngine(unit, target.graph());
  const BlockScales *scaleOps = blockScales(context.ops);
  for (auto [operand, scale] : besidesOf(op, unit)) {
    auto load = scale.getDefiningOp<tile::LoadOp>();
    FailureOr<LaneArray> array = arrayOf(load, load.getMemref());
    if (failed(array))
      return failure();
    const ScaleImage image = imageOf(unit, *operand, engine);
    const StagedScales staged = *stagedScales(load);
    const int64_t entry = accumulators.scalesOf(load);
    // Behind the accumulators of all groups.
    Value stage = add(times(group, ring->stages), position->slot);
    Value address = add(accumulatorsAt, times(stage, accumulators.scaleEntries));
    address = add(address, context.i32(members() * accumulators.entriesOfGroup + entry));
    const int64_t first = staged.element * image.elementBytes / image.numbered;
    operands.append({address, arith::ConstantIntOp::create(builder, context.loc, first, 64)});
    if (llvm::is_contained(copiedScales, entry))
      continue;
    copiedScales.push_back(entry);
    const int64_t lineBytes = array->type.getDimSize(2) * image.elementBytes;
    Value offset = times(position->slot, array->type.getDimSize(1) * lineBytes);
    if (staged.dynamic) {
      AffineMap map = load.getMap();
      SmallVector<Value> given = valuesOf(load.getMapOperands());
      Value line =
          affine::expandAffineExpr(builder, context.loc, staged.dynamic, ValueRange(given).take_front(map.getNumDims()),
                                   ValueRange(given).drop_front(map.getNumDims()));
      offset = add(offset, times(context.toI32(line), lineBytes));
    }
    for (int64_t access = 0; access < image.accesses(); ++access) {
      Value lines =
          describeLines(context, *array, offset, staged.line * lineBytes + access * image.accessBytes(), image.access);
      Value to = access ? add(address, context.i32(access * image.entriesOfAccess())) : address;
      if (!lines || !scaleOps || !scaleOps->copyScales(builder, context.loc, lines, to, image.lanes, image.access))
        return op.emitOpError() << "takes operands that engine \"" << engine.name << "\" brings to the memory \""
                                << unit.c.memory << "\", " << image.lanes << " lines of " << image.access
                                << " bytes, which the operations of " << target.target() << ":" << target.chip()
                                << " do not copy (BlockScales::copyScales)";
    }
  }
  return success();
}
