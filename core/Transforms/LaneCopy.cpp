//===- LaneCopy.cpp - Copies shared out over the lanes of a block ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses the vector width and the order of threads, then loads and stores, or
/// hands the vectors to the chip's engine.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneCopy.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// The dimension of the box along which an array with these element offsets is contiguous; -1 if none.
static int contiguousDimension(AffineMap elements, ArrayRef<int64_t> shape) {
  unsigned inner = elements.getNumResults() - 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 || linearCoefficient(elements.getResult(inner), d) != 1)
      continue;
    bool alone = true;
    for (unsigned r = 0; r < inner; ++r)
      alone &= !elements.getResult(r).isFunctionOfDim(d);
    if (alone)
      return int(d);
  }
  return -1;
}

/// How a copy is shared out: each worker takes `width` elements along `vector` at once, neighbouring workers lie along
/// `workers`. Both are the same dimension unless the copy transposes.
struct CopyShape {
  unsigned vector, workers;
  int64_t width;
};

/// Shares the box out: the vector, then workers along their dimension and the others, innermost first, and what is left
/// as further elements. `workers` becomes the number of those that have work.
static Distribution share(ArrayRef<int64_t> shape, const CopyShape &how, Value number, int64_t &workers) {
  unsigned rank = shape.size();
  Distribution result;
  result.number = number;
  SmallVector<Point> vector, rest;
  auto steps = [&](unsigned d, int64_t from, int64_t end, SmallVectorImpl<Point> &to) {
    for (int64_t step = from; step < end; step *= 2) {
      Point point(rank, 0);
      point[d] = step;
      to.push_back(point);
    }
  };
  auto outside = [&](unsigned d) { steps(d, d == how.vector ? how.width : 1, shape[d], rest); };
  steps(how.vector, 1, how.width, vector);
  outside(how.workers);
  for (unsigned d = rank; d-- > 0;)
    if (d != how.workers)
      outside(d);
  unsigned log = std::min<size_t>(llvm::Log2_64(workers), rest.size());
  result.bits.assign(rest.begin(), rest.begin() + log);
  workers = int64_t(1) << log;
  vector.append(rest.begin() + log, rest.end());
  for (uint64_t e = 0; e < uint64_t(1) << vector.size(); ++e) {
    Point point(rank, 0);
    for (unsigned b = 0; b < vector.size(); ++b)
      for (unsigned d = 0; d < rank && ((e >> b) & 1); ++d)
        point[d] += vector[b][d];
    result.elements.push_back(point);
  }
  return result;
}

/// Every run of the access is at least `width` elements long.
static bool hasRuns(const LaneAccess &access, int64_t width) {
  return llvm::all_of(access.runs(width * access.elementBytes()),
                      [&](const LaneRun &run) { return int64_t(run.count) == width; });
}

/// Gives the vectors to the engine; false if the chip has none.
static bool issue(const LaneContext &context, const CopyRequest &request, const LaneAccess &source,
                  const LaneAccess &destination, const Distribution &distribution, int64_t width, unsigned along) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  int64_t bytes = width * source.elementBytes();
  bool checked = llvm::any_of(request.valid, [](Value extent) { return bool(extent); });
  for (unsigned e = 0; e < distribution.elements.size(); e += width) {
    Value valid, from = source.pointer(e);
    if (checked) {
      ValidExtents others = request.valid;
      Value extent = others[along];
      others[along] = nullptr;
      Value count = context.i32(bytes);
      if (extent) {
        SmallVector<int64_t> steps;
        for (const Point &bit : distribution.bits)
          steps.push_back(bit[along]);
        Value lane = context.fromBits(distribution.number, steps);
        Value position = lane ? context.toIndex(lane) : context.index(0);
        position = arith::AddIOp::create(builder, loc, position, context.index(distribution.elements[e][along]));
        Value left = arith::SubIOp::create(builder, loc, extent, position);
        left = arith::MaxSIOp::create(builder, loc, left, context.index(0));
        left = arith::MinSIOp::create(builder, loc, left, context.index(width));
        count = arith::MulIOp::create(builder, loc, context.toI32(left), context.i32(source.elementBytes()));
      }
      valid = count;
      if (Value inside = insideAll(context, distribution, others, e, 1))
        valid = arith::SelectOp::create(builder, loc, inside, count, context.i32(0));
      // Nothing is read, but the address shall be one of the array.
      Value reads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, valid, context.i32(0));
      from = arith::SelectOp::create(builder, loc, reads, from, request.source.pointer);
    }
    if (!context.ops.asyncCopy(builder, loc, destination.pointer(e), from, bytes, valid))
      return false;
  }
  return true;
}

FailureOr<std::optional<StagedCopy>> tilewright::emitCopy(const LaneContext &context, const CopyRequest &request,
                                                          bool &asynchronous) {
  tile::CopyOp op = request.op;
  ArrayRef<int64_t> shape = op.getShape();
  for (int64_t extent : shape)
    if (!llvm::isPowerOf2_64(extent))
      return op.emitOpError() << "into a scratchpad has an extent of " << extent
                              << "; lanes share out boxes whose extents are powers of two";
  if (!llvm::isPowerOf2_64(request.threads))
    return op.emitOpError() << "is shared by " << request.threads << " lanes; their number must be a power of two";
  int to = contiguousDimension(op.getDestinationElements(), shape);
  int from = contiguousDimension(op.getSourceElements(), shape);
  unsigned along = from >= 0 ? from : to >= 0 ? to : shape.size() - 1;
  int64_t elementBytes = std::max(1u, request.source.type.getElementTypeBitWidth() / 8);
  CopyShape how{along, along, 1};
  if (to == from && to >= 0) {
    how.width = std::min<int64_t>(16 / elementBytes, shape[along]);
  } else if (to >= 0 && from >= 0 && !(context.ops.countsGroups() && elementBytes >= 4)) {
    // A transposition through registers: neighbouring lanes read neighbours, each writes a piece of a row. An engine
    // moves single elements, but no smaller ones than 4 bytes.
    how.vector = to;
    how.width = std::min<int64_t>(
        16 / elementBytes,
        std::min(shape[to], std::max<int64_t>(1, ShapedType::getNumElements(shape) / request.threads)));
  }
  int64_t &width = how.width;
  asynchronous = false;

  for (;; width /= 2) {
    int64_t workers = request.threads;
    Distribution distribution = share(shape, how, request.thread, workers);
    auto source = LaneAccess::create(context, request.source, op.getSourceMap(), request.sourceOperands,
                                     op.getSourceElements(), distribution);
    auto destination = LaneAccess::create(context, request.destination, op.getDestinationMap(),
                                          request.destinationOperands, op.getDestinationElements(), distribution);
    if (failed(source) || failed(destination))
      return op.emitOpError() << "has element maps that lanes cannot share out";
    // Into a swizzle, elements that wait in registers are written in its pieces; an engine writes what it reads.
    int64_t piece = width;
    if (tile::ArrangementAttr arrangement = request.destination.arrangement;
        arrangement && arrangement.getSwizzleBits() && !context.ops.countsGroups())
      piece = std::min(width, std::max<int64_t>(1, (int64_t(1) << arrangement.getSwizzleBase()) / elementBytes));
    bool transposes = how.vector != how.workers;
    if (width > 1 && !((transposes || hasRuns(*source, width)) && hasRuns(*destination, piece)))
      continue;

    OpBuilder &builder = context.builder;
    OpBuilder::InsertionGuard guard(builder);
    Value works; // null: all lanes
    if (workers < request.threads)
      works =
          arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, request.thread, context.i32(workers));
    auto type = VectorType::get(int64_t(distribution.elements.size()), request.source.type.getElementType());
    auto load = [&] { return loadElements(context, *source, distribution, request.valid, type); };
    if (request.mayStage) {
      if (!works)
        return std::optional<StagedCopy>({*destination, distribution, load(), works});
      auto branch = scf::IfOp::create(builder, context.loc, type, works, /*withElseRegion=*/true);
      builder.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(builder, context.loc, load());
      builder.setInsertionPointToStart(branch.elseBlock());
      Value none = arith::ConstantOp::create(builder, context.loc, builder.getZeroAttr(type));
      scf::YieldOp::create(builder, context.loc, none);
      return std::optional<StagedCopy>({*destination, distribution, branch.getResult(0), works});
    }
    if (works)
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, works).thenBlock());
    if (!transposes && width * elementBytes >= 4 &&
        issue(context, request, *source, *destination, distribution, width, along)) {
      asynchronous = true;
      return std::optional<StagedCopy>();
    }
    storeElements(context, *destination, distribution, {}, load());
    return std::optional<StagedCopy>();
  }
}
