//===- LaneStaging.cpp - Buffers of the scratchpad and their copies -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where arrays lie for a lane, copies that lanes share out, and their waits.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/PointerOffset.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

FailureOr<LaneArray> LaneWriter::arrayOf(Operation *op, Value memref) {
  auto found = arrays.find(memref);
  if (found != arrays.end())
    return found->second;
  op->emitOpError() << "uses an array that a lane cannot reach: neither an argument of the launch nor a tile.alloc in "
                       "the memory \""
                    << hierarchy.scratchpad << "\"";
  return failure();
}

/// An array of another type that begins so many bytes behind the start of one.
LogicalResult LaneWriter::view(memref::ViewOp op) {
  FailureOr<LaneArray> source = arrayOf(op, op.getSource());
  if (failed(source))
    return failure();
  LaneArray array = *source;
  array.type = op.getType();
  array.pointer = LLVM::GEPOp::create(
      builder, op.getLoc(), source->pointer.getType(), builder.getI8Type(), source->pointer,
      ArrayRef<LLVM::GEPArg>{
          Value(arith::IndexCastOp::create(builder, op.getLoc(), builder.getI64Type(), value(op.getByteShift())))});
  array.sizes = valuesOf(op.getSizes());
  auto multiple = op->getAttrOfType<IntegerAttr>(shiftMultipleAttr);
  array.alignment = std::min(source->alignment, multiple ? multiple.getInt() : 1);
  arrays.try_emplace(op.getResult(), array);
  return success();
}

/// One of two arrays of the launch.
LogicalResult LaneWriter::select(arith::SelectOp op) {
  FailureOr<LaneArray> yes = arrayOf(op, op.getTrueValue()), no = arrayOf(op, op.getFalseValue());
  if (failed(yes) || failed(no))
    return failure();
  if (yes->scratchpad || no->scratchpad)
    return op.emitOpError() << "chooses a buffer of the scratchpad; lanes choose arrays of the launch";
  Value condition = value(op.getCondition());
  auto either = [&](Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, op.getLoc(), condition, a, b);
  };
  LaneArray array = *yes;
  array.pointer = either(yes->pointer, no->pointer);
  for (auto [size, other] : llvm::zip(array.sizes, no->sizes))
    size = either(size, other);
  array.alignment = std::min(yes->alignment, no->alignment);
  array.rowMultiple = std::gcd(yes->rowMultiple, no->rowMultiple);
  array.choice = std::make_shared<LaneChoice>(LaneChoice{condition, *yes, *no});
  arrays.try_emplace(op.getResult(), array);
  return success();
}

LogicalResult LaneWriter::alloc(tile::AllocOp op) {
  auto type = cast<MemRefType>(op.getMemref().getType());
  auto memory = dyn_cast_or_null<StringAttr>(type.getMemorySpace());
  if (!memory || memory.getValue() != hierarchy.scratchpad || !type.hasStaticShape())
    return op.emitOpError() << "must have a static shape and the memory space \"" << hierarchy.scratchpad
                            << "\" to be used by lanes";
  LaneArray array;
  array.type = type;
  array.scratchpad = true;
  array.arrangement = op.getArrangementAttr();
  if (array.arrangement && array.arrangement.getGroups() != 1)
    return op.emitOpError() << "has interleaved groups of rows, which lanes do not address";
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    elements *= extent;
  if (array.arrangement && type.getRank())
    elements += elements / type.getShape().back() * array.arrangement.getPadding();
  int64_t bytes = llvm::alignTo(elements * elementBytes(type.getElementType()), scratchpadGranule);
  if (!shared)
    shared = context.ops.scratchpad(builder, context.loc, module, shape.sharedBytes);
  array.pointer = shared;
  int64_t begin = op.getOverlays() ? 0 : sharedUsed;
  if (begin)
    array.pointer = elementBehind(builder, context.loc, shared, builder.getI8Type(), begin);
  sharedUsed = std::max(sharedUsed, begin + bytes);
  if (sharedUsed > shape.sharedBytes)
    return op.emitOpError() << "ends at byte " << sharedUsed << " of the scratchpad, but the launch has "
                            << shape.sharedBytes << " bytes";
  arrays.try_emplace(op.getMemref(), array);
  return success();
}

LogicalResult LaneWriter::copy(tile::CopyOp op) {
  if (op->hasAttr(engineAttr))
    return role == Role::Copies ? engineCopy(op) : success();
  FailureOr<LaneArray> source = arrayOf(op, op.getSource()), destination = arrayOf(op, op.getDestination());
  if (failed(source) || failed(destination))
    return failure();
  if (source->scratchpad || !destination->scratchpad)
    return op.emitOpError() << "goes from \"" << (source->scratchpad ? hierarchy.scratchpad : "global") << "\" to \""
                            << (destination->scratchpad ? hierarchy.scratchpad : "global")
                            << "\"; lanes share out copies into the scratchpad";
  CopyRequest request;
  request.op = op;
  request.source = *source;
  request.destination = *destination;
  request.sourceOperands = valuesOf(op.getSourceOperands());
  request.destinationOperands = valuesOf(op.getDestinationOperands());
  request.valid.resize(op.getShape().size());
  if (std::optional<AffineMap> valid = op.getValidMap()) {
    SmallVector<Value> operands = valuesOf(op.getValidOperands());
    for (unsigned d = 0; d < request.valid.size(); ++d) {
      auto known = dyn_cast<AffineConstantExpr>(valid->getResult(d));
      if (!known || known.getValue() < op.getShape()[d])
        request.valid[d] = validExtent(context, *valid, d, operands);
    }
  }
  for (int64_t d : op.getBounded()) {
    FailureOr<ValidExtent> index =
        indexExtent(context, *source, d, op.getSourceMap(), request.sourceOperands, op.getSourceElements());
    if (failed(index))
      return op.emitOpError() << "is bounded in dimension " << d
                              << " of the source, along which its element map is not linear; lanes check sums of "
                                 "constant steps";
    request.valid.push_back(*index);
  }
  request.thread = thread;
  request.threads = shape.threads;
  request.mayStage = barriers.landsAtWait(op);
  if (barriers.isDirect(op) && request.threads % hierarchy.lanes == 0) {
    if (!firstThread) { // at the entry: it is the same in all of the launch
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(thread);
      firstThread = arith::AndIOp::create(builder, op.getLoc(), thread, context.i32(-hierarchy.lanes));
      firstThread = context.ops.uniform(builder, op.getLoc(), firstThread);
    }
    request.firstThread = firstThread;
    request.lanes = hierarchy.lanes;
  }
  bool asynchronous = false;
  FailureOr<std::optional<StagedCopy>> pending = emitCopy(context, request, asynchronous, places);
  if (failed(pending))
    return failure();
  if (barriers.isDirect(op) && LaneBarriers::closesGroup(op))
    placesOfGroup = std::min(placesOfGroup.value_or(places), std::exchange(places, 0));
  // A copy that took the synchronous way still closes a group: waits count them.
  if ((asynchronous || context.ops.countsGroups()) && LaneBarriers::closesGroup(op))
    context.ops.commitCopies(builder, op.getLoc());
  if (*pending)
    staged.try_emplace(op.getToken(), **pending);
  return success();
}

LogicalResult LaneWriter::wait(tile::WaitOp op) {
  if (ring && ring->isWait(op)) {
    position->awaitFull();
    copiedScales.clear();
    if (accumulators.any())
      blockOps->beginAccesses(builder, op.getLoc());
    else if (ring->defers)
      context.ops.beginUnits(builder, op.getLoc());
    return success();
  }
  bool engine = false;
  SmallVector<tile::CopyOp> copies;
  for (Value token : op.getTokens())
    if (tile::CopyOp copy = LaneBarriers::firstCopy(token))
      copies.push_back(copy);
  if (!context.ops.countsGroups() && !copies.empty()) {
    // Younger asynchronous copies may stay, where all groups are of such.
    auto other = [&](tile::CopyOp copy) {
      return barriers.isDirect(copy) ? WalkResult::advance() : WalkResult::interrupt();
    };
    bool direct = !op->getParentOfType<func::FuncOp>().walk(other).wasInterrupted();
    if (int64_t younger = direct ? barriers.pendingAt(op) * placesOfGroup.value_or(0) : 0)
      context.ops.waitCopies(builder, op.getLoc(), younger);
    else
      context.ops.awaitPlaces(builder, op.getLoc());
  }
  for (Value token : op.getTokens()) {
    auto pending = staged.find(token);
    if (pending == staged.end()) {
      engine = true;
      continue;
    }
    storeStaged(context, pending->second);
    staged.erase(pending);
  }
  if (engine && context.ops.countsGroups())
    context.ops.waitCopies(builder, op.getLoc(), barriers.pendingAt(op));
  return success();
}
