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

#include "core/Transforms/Lower/Lanes/LaneCopy.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// Whether `array`, whose offsets these are, is contiguous along dimension `d` of the box.
static bool isContiguous(MemRefType array, AffineMap elements, ArrayRef<int64_t> shape, unsigned d) {
  unsigned inner = elements.getNumResults() - 1; // but for dimensions of one element
  while (inner > 0 && array.getDimSize(inner) == 1)
    --inner;
  auto isElsewhere = [&](unsigned r) { return elements.getResult(r).isFunctionOfDim(d); };
  return shape[d] != 1 && linearCoefficient(elements.getResult(inner), d) == 1 &&
         llvm::none_of(llvm::seq(inner), isElsewhere);
}

/// The first dimension of the box along which `array` is contiguous; -1 if none.
static int contiguousDimension(MemRefType array, AffineMap elements, ArrayRef<int64_t> shape) {
  for (unsigned d = 0; d < shape.size(); ++d)
    if (isContiguous(array, elements, shape, d))
      return int(d);
  return -1;
}

/// How a copy is shared out: each worker takes `turn.across` elements along `vector` at once, neighbouring workers lie
/// along `workers`. Both are the same dimension unless the copy transposes; then a worker takes `turn.along` of them
/// that follow each other along `workers`; after `near` workers the next `beside` ones lie along `vector`, then along
/// `workers` again.
struct CopyShape {
  unsigned vector, workers;
  TurnShape turn;
  int64_t near, beside;
  bool transposes() const { return vector != workers; }
};

/// The sums of some of `steps`, that of number e of those whose bits are set in e.
static SmallVector<Point> allSums(ArrayRef<Point> steps, unsigned rank) {
  SmallVector<Point> points;
  for (uint64_t e = 0; e < uint64_t(1) << steps.size(); ++e) {
    Point point(rank, 0);
    for (unsigned b = 0; b < steps.size(); ++b)
      for (unsigned d = 0; d < rank && ((e >> b) & 1); ++d)
        point[d] += steps[b][d];
    points.push_back(point);
  }
  return points;
}

/// Shares the box out: the block of a worker, then workers along their dimension and the others, innermost first, and
/// what is left as further elements. `workers` becomes the number of those that have work. First the elements in the
/// order of loads, then in that of writes.
static std::pair<Distribution, Distribution> share(ArrayRef<int64_t> shape, const CopyShape &how, Value number,
                                                   int64_t &workers) {
  unsigned rank = shape.size();
  Distribution source;
  source.number = number;
  SmallVector<Point> piece, block, rest;
  auto steps = [&](unsigned d, int64_t from, int64_t end, SmallVectorImpl<Point> &to) {
    for (int64_t step = from; step < end; step *= 2) {
      Point point(rank, 0);
      point[d] = step;
      to.push_back(point);
    }
  };
  int64_t across = how.turn.across, along = how.turn.along;
  steps(how.vector, 1, across, piece);
  if (how.transposes()) {
    int64_t near = std::min(shape[how.workers], along * how.near);
    steps(how.workers, 1, along, block);
    steps(how.workers, along, near, rest);
    int64_t beside = near < shape[how.workers] ? std::min(shape[how.vector], across * how.beside) : across;
    steps(how.vector, across, beside, rest);
    steps(how.workers, near, shape[how.workers], rest);
    steps(how.vector, beside, shape[how.vector], rest);
  } else {
    steps(how.vector, across, shape[how.vector], rest);
  }
  for (unsigned d = rank; d-- > 0;)
    if (d != how.workers && d != how.vector)
      steps(d, 1, shape[d], rest);
  unsigned log = std::min<size_t>(llvm::Log2_64(workers), rest.size());
  source.bits.assign(rest.begin(), rest.begin() + log);
  workers = int64_t(1) << log;
  Distribution destination = source;
  auto order = [&](ArrayRef<Point> first, ArrayRef<Point> second) {
    SmallVector<Point> all(first);
    llvm::append_range(all, second);
    all.append(rest.begin() + log, rest.end());
    return allSums(all, rank);
  };
  source.elements = order(block, piece);
  destination.elements = order(piece, block);
  return {source, destination};
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
  bool checked = llvm::any_of(request.valid, [](const ValidExtent &extent) { return bool(extent); });
  ValidExtents bounds = request.valid; // of the array: vectors are inside or outside as a whole
  std::fill_n(bounds.begin(), tile::CopyOp(request.op).getShape().size(), ValidExtent());
  for (unsigned e = 0; e < distribution.elements.size(); e += width)
    if (!areTogether(distribution, bounds, e, width))
      return false;
  for (unsigned e = 0; e < distribution.elements.size(); e += width) {
    Value valid, from = source.pointer(e);
    if (checked) {
      ValidExtents others = request.valid;
      Value count = context.i32(bytes);
      if (ValidExtent extent = others[along]; extent && extent.multiple < width) { // a part of the vector
        others[along] = {};
        SmallVector<int64_t> steps;
        for (const Point &bit : distribution.bits)
          steps.push_back(bit[along]);
        Value position = context.indexFromBits(distribution.number, steps);
        if (!position)
          position = context.index(0);
        position = context.make<arith::AddIOp>(position, context.index(distribution.elements[e][along]));
        Value left = context.make<arith::SubIOp>(extent.end, position);
        left = context.make<arith::MaxSIOp>(left, context.index(0));
        left = context.make<arith::MinSIOp>(left, context.index(width));
        count = context.make<arith::MulIOp>(context.toI32(left), context.i32(source.elementBytes()));
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

/// Gives whole subgroups' segments to the engine that writes them one after the other; a subgroup's own follow each
/// other too. The swizzle of the scratchpad then decides what each lane reads: at place n belongs the segment with the
/// number n ^ ((n >> shift) & mask). Returns their number; 0: not such a copy.
static int64_t issueDirect(const LaneContext &context, const CopyRequest &request, const CopyShape &how) {
  constexpr int64_t piece = 16;
  tile::CopyOp op = request.op;
  ArrayRef<int64_t> shape = op.getShape();
  int64_t elementBytes = tilewright::elementBytes(request.source.type.getElementType()), width = how.turn.across;
  LaneArray plain = request.destination;
  if (how.transposes() || width * elementBytes != piece || how.vector != shape.size() - 1)
    return 0;
  // Rows of the box follow each other in the scratchpad.
  for (unsigned d = 0, outer = plain.type.getRank() - shape.size(); d < shape.size(); ++d)
    if (op.getDestinationElements().getResult(outer + d) != getAffineDimExpr(d, op.getContext()) ||
        (d > 0 && plain.type.getDimSize(outer + d) != shape[d]))
      return 0;
  // A lane's segment is inside or outside as a whole.
  if (request.valid[how.vector] && op.getValidMap()->getResult(how.vector).getLargestKnownDivisor() % width != 0)
    return 0;
  int64_t mask = 0, shift = 0, again = 0;
  if (tile::ArrangementAttr arrangement = plain.arrangement) {
    if (arrangement.getPadding() || (arrangement.getSwizzleBits() && arrangement.getSwizzleBase() < 4))
      return 0;
    mask = ((int64_t(1) << arrangement.getSwizzleBits()) - 1) << arrangement.getSwizzleBase();
    shift = arrangement.getSwizzleShift();
    again = arrangement.getSwizzleAgain();
    plain.arrangement = nullptr;
  }
  if (llvm::any_of(ArrayRef(request.valid).drop_front(shape.size()), [&](const ValidExtent &index) {
        return index.steps[how.vector] != 0 && index.multiple % width != 0;
      }))
    return 0;
  // Bits of a place: elements of the segment, lanes, the subgroup's other segments, subgroups.
  unsigned rank = shape.size(), lanes = llvm::Log2_64(request.lanes);
  SmallVector<Point> steps;
  for (unsigned d = rank; d-- > 0;)
    for (int64_t step = 1; step < shape[d]; step *= 2) {
      Point point(rank, 0);
      point[d] = step;
      steps.push_back(point);
    }
  unsigned inside = llvm::Log2_64(width), subgroups = llvm::Log2_64(request.threads) - lanes;
  if (steps.size() < inside + lanes + subgroups)
    return 0;
  ArrayRef<Point> all(steps), pieces = all.slice(inside + lanes, steps.size() - inside - lanes - subgroups);
  Distribution from;
  llvm::append_range(from.bits, all.slice(inside, lanes));
  llvm::append_range(from.bits, all.take_back(subgroups));
  from.elements = allSums(all.take_front(inside), rank);
  // Which bits of a place its bits flip, in bytes; of the worker's number, in the order of `from`.
  int64_t ownBytes = piece * request.lanes, pieceCount = int64_t(1) << pieces.size();
  auto flips = [&](int64_t bytes) { return ((bytes >> shift) ^ (again ? bytes >> again : 0)) & mask; };
  if (mask >= ownBytes)
    return 0;
  Value own = request.thread;
  auto flipped = [&](Value number, Value by) { return context.make<arith::XOrIOp>(number, by); };
  for (unsigned b = 0; b < from.bits.size(); ++b) {
    int64_t bytes = piece << b;
    int64_t flip = flips(b < lanes ? bytes : bytes * pieceCount) / piece;
    if (!flip)
      continue;
    Value bit = context.make<arith::ShRUIOp>(request.thread, context.i32(b));
    bit = context.make<arith::AndIOp>(bit, context.i32(1));
    own = flipped(own, context.make<arith::MulIOp>(bit, context.i32(flip)));
  }
  Distribution to = from;
  to.number = request.firstThread;
  auto destination = LaneAccess::create(context, plain, op.getDestinationMap(), request.destinationOperands,
                                        op.getDestinationElements(), to);
  if (failed(destination))
    return 0;
  Value first = destination->pointer(0);
  SmallVector<Point> offsets = allSums(pieces, rank);
  for (int64_t i = 0; i < pieceCount; ++i) {
    int64_t flip = flips(i * ownBytes) / piece;
    Distribution now = from;
    now.number = flip ? flipped(own, context.i32(flip)) : own;
    for (Point &element : now.elements)
      for (unsigned d = 0; d < rank; ++d)
        element[d] += offsets[i][d];
    auto source = LaneAccess::create(context, request.source, op.getSourceMap(), request.sourceOperands,
                                     op.getSourceElements(), now);
    if (failed(source) || !hasRuns(*source, width))
      return 0;
    std::optional<ArrayPlace> place = source->place(0);
    Value valid = insideAll(context, now, request.valid, 0, width);
    if (!place || !context.ops.copyPlace(context.builder, context.loc, first, i * ownBytes, *place, piece, valid))
      return 0;
  }
  return pieceCount;
}

FailureOr<std::optional<StagedCopy>> tilewright::emitCopy(const LaneContext &context, const CopyRequest &request,
                                                          bool &asynchronous, int64_t &places) {
  tile::CopyOp op = request.op;
  ArrayRef<int64_t> shape = op.getShape();
  for (int64_t extent : shape)
    if (!llvm::isPowerOf2_64(extent))
      return op.emitOpError() << "into a scratchpad has an extent of " << extent
                              << "; lanes share out boxes whose extents are powers of two";
  if (!llvm::isPowerOf2_64(request.threads))
    return op.emitOpError() << "is shared by " << request.threads << " lanes; their number must be a power of two";
  int to = contiguousDimension(request.destination.type, op.getDestinationElements(), shape);
  // Windows that lie in each other are contiguous along both dimensions: then nothing has to be transposed.
  bool isAlike = to >= 0 && isContiguous(request.source.type, op.getSourceElements(), shape, to);
  int from = isAlike ? to : contiguousDimension(request.source.type, op.getSourceElements(), shape);
  unsigned along = from >= 0 ? from : to >= 0 ? to : shape.size() - 1;
  int64_t elementBytes = tilewright::elementBytes(request.source.type.getElementType());
  int64_t perLane = std::max<int64_t>(1, ShapedType::getNumElements(shape) / request.threads);
  bool movesElements = context.ops.countsGroups() && elementBytes >= 4;
  CopyShape how{along, along, {}, shape[along], shape[along]};
  if (to == from && to >= 0) {
    how.turn.across = std::min<int64_t>(16 / elementBytes, shape[along]);
  } else if (to >= 0 && from >= 0) {
    how.vector = to;
    how.beside = shape[to];
    auto given = op->getAttrOfType<DenseI64ArrayAttr>(turnAttr);
    if (given && (given.size() != 4 || !llvm::all_of(given.asArrayRef(), llvm::isPowerOf2_64) ||
                  given[0] * given[1] > perLane || given[0] > shape[from] || given[1] > shape[to]))
      return op.emitOpError() << "has the attribute '" << turnAttr << "' = " << given
                              << "; four powers of two are right, the block of the first two with at most " << perLane
                              << " elements";
    // A transposition through registers. An engine moves single elements, but no smaller ones than 4 bytes.
    if (!movesElements)
      how.turn =
          given ? TurnShape{given[0], given[1]} : turnShapes(perLane, elementBytes, shape[from], shape[to]).front();
    if (given) {
      how.near = given[2];
      how.beside = given[3];
    }
  }
  asynchronous = false;
  if (int64_t issued = request.firstThread ? issueDirect(context, request, how) : 0) {
    places += issued;
    return std::optional<StagedCopy>();
  }

  for (;;) {
    int64_t workers = request.threads, width = how.turn.across;
    auto [loads, writes] = share(shape, how, request.thread, workers);
    auto source = LaneAccess::create(context, request.source, op.getSourceMap(), request.sourceOperands,
                                     op.getSourceElements(), loads);
    auto destination = LaneAccess::create(context, request.destination, op.getDestinationMap(),
                                          request.destinationOperands, op.getDestinationElements(), writes);
    if (failed(source) || failed(destination))
      return op.emitOpError() << "has element maps that lanes cannot share out";
    if (auto begin = op->getAttrOfType<IntegerAttr>(looseAttr)) {
      if (int64_t asked = context.ops.placeAlignment(); begin.getInt() <= 0 || begin.getInt() % asked != 0)
        return op.emitOpError() << "has the attribute '" << looseAttr << "' = " << begin.getInt()
                                << ", bytes at which its vectors begin; loads of this chip "
                                   "(LaneOps::placeAlignment) begin at multiples of "
                                << asked << ", and its field load_alignment must be one";
      source->loosen(begin.getInt());
    }
    bool mayBeCut = op->hasAttr(partsAttr) && context.ops.zerosBeyond() && source->hasPlace(0) &&
                    request.valid[along] && request.valid[along].multiple < width;
    // Into a swizzle, elements that are staged in registers are written in its segments; an engine writes what it
    // reads.
    int64_t piece = width;
    if (tile::ArrangementAttr arrangement = request.destination.arrangement;
        arrangement && arrangement.getSwizzleBits() && (request.mayStage || !context.ops.countsGroups()))
      piece = std::min(width, std::max<int64_t>(1, (int64_t(1) << arrangement.getSwizzleBase()) / elementBytes));
    mayBeCut |= op->hasAttr(narrowAttr) && piece < width;
    if (how.transposes()) { // shorter loads, or shorter writes, where longer ones are not proved aligned
      if (how.turn.along > 1 && !hasRuns(*source, how.turn.along)) {
        how.turn.along /= 2;
        continue;
      }
      if (width > 1 && !hasRuns(*destination, piece)) {
        how.turn.across /= 2;
        continue;
      }
    } else if (width > 1 && (mayBeCut || !(hasRuns(*source, width) && hasRuns(*destination, piece)))) {
      how.turn.across /= 2;
      continue;
    }

    OpBuilder &builder = context.builder;
    OpBuilder::InsertionGuard guard(builder);
    Value works; // null: all lanes
    if (workers < request.threads)
      works =
          arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ult, request.thread, context.i32(workers));
    Type element = request.source.type.getElementType();
    // Bytes of bools stay what they are.
    auto type = VectorType::get(int64_t(loads.elements.size()), element.isInteger(1) ? carrierOf(element) : element);
    auto load = [&] { return loadElements(context, *source, loads, request.valid, type, /*byPlace=*/true); };
    if (request.mayStage) {
      if (!works)
        return std::optional<StagedCopy>({*destination, writes, load(), how.turn, works});
      auto branch = scf::IfOp::create(builder, context.loc, type, works, /*withElseRegion=*/true);
      builder.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(builder, context.loc, load());
      builder.setInsertionPointToStart(branch.elseBlock());
      Value none = arith::ConstantOp::create(builder, context.loc, builder.getZeroAttr(type));
      scf::YieldOp::create(builder, context.loc, none);
      return std::optional<StagedCopy>({*destination, writes, branch.getResult(0), how.turn, works});
    }
    if (works)
      builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, works).thenBlock());
    if ((!how.transposes() || movesElements) && width * elementBytes >= 4 &&
        issue(context, request, *source, *destination, writes, width, along)) {
      asynchronous = true;
      return std::optional<StagedCopy>();
    }
    storeElements(context, *destination, writes, {}, turnBlocks(context, load(), how.turn));
    return std::optional<StagedCopy>();
  }
}

void tilewright::storeStaged(const LaneContext &context, const StagedCopy &copy) {
  OpBuilder::InsertionGuard guard(context.builder);
  if (copy.works)
    context.builder.setInsertionPointToStart(scf::IfOp::create(context.builder, context.loc, copy.works).thenBlock());
  storeElements(context, copy.destination, copy.distribution, {}, turnBlocks(context, copy.elements, copy.turn));
}
