//===- LaneFragments.cpp - Fragments in the registers of a lane ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the elements of a fragment are shared out, and the ops on them.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ScaleImage.h"
#include "core/Transforms/Lower/Lanes/LaneReduce.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "core/Transforms/Lower/Vectors/TileRegionLowering.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

/// Positions are sums of bases where no two share a bit.
static bool addsUp(const Layout &layout) {
  for (int64_t l = 0; l < layout.numLanes(); ++l)
    for (int64_t e = 0; e < layout.numElements(); ++e) {
      Position own = layout.at(l, 0), p = layout.at(l, e), first = layout.at(0, e);
      if (p.row != own.row + first.row || p.col != own.col + first.col)
        return false;
    }
  return true;
}

FailureOr<Distribution> LaneWriter::distributionOf(Operation *op, tile::FragmentType type) {
  Distribution result;
  int64_t lanes = type.getLayout().getNumLanes();
  if (lanes != 1 && lanes != std::max(hierarchy.lanes, shape.groupLanes))
    return op->emitOpError() << "has a fragment over " << lanes << " lanes; a \"" << hierarchy.subgroup << "\" of "
                             << target.target() << ":" << target.chip() << " has " << hierarchy.lanes
                             << (shape.groupLanes ? " and the groups of this launch another number" : "");
  if (lanes != 1) {
    if (!lane)
      return op->emitOpError() << "has a fragment over lanes outside of a tile.parallel of level \"" << hierarchy.block
                               << "\"";
    result.number = lane;
  }
  auto [known, isNew] = points.try_emplace(type.getLayout());
  if (isNew)
    if (Layout layout = type.getLayout().getValue(); addsUp(layout))
      known->second = pointsOf(layout);
  if (!known->second)
    return op->emitOpError() << "has a layout whose lanes and elements share bits of a position";
  static_cast<SharedPoints &>(result) = *known->second;
  return result;
}

ValidExtents LaneWriter::extentsOf(std::optional<AffineMap> map, ValueRange operands,
                                   std::pair<std::optional<int64_t>, std::optional<int64_t>> constant,
                                   tile::FragmentType type) {
  ValidExtents extents(2);
  if (!map)
    return extents;
  std::optional<int64_t> known[] = {constant.first, constant.second};
  int64_t full[] = {type.getRows(), type.getCols()};
  SmallVector<Value> mapped = valuesOf(operands);
  for (unsigned d = 0; d < 2; ++d)
    if (!known[d] || *known[d] < full[d])
      extents[d] = validExtent(context, *map, d, mapped);
  return extents;
}

/// How lanes shuffle the elements of an access to a matrix in global memory; nullopt: not at all.
std::optional<LaneExchange> LaneWriter::exchangeFor(tile::FragmentType type, const LaneArray &array,
                                                    const LaneAccess &access, const Distribution &part,
                                                    AffineMap elements) {
  Type element = type.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0, lanes = llvm::Log2_64(hierarchy.lanes);
  if (array.scratchpad || !access.addsUp() || type.getRows() == 1 || type.getCols() == 1 || bits < 8 ||
      !llvm::isPowerOf2_32(bits) || part.bits.size() < lanes || elements.getNumResults() == 0)
    return std::nullopt;
  std::optional<SharedPoints> places = placesOf(part, elements);
  if (!places || llvm::any_of(places->bits, standsStill)) // lanes that ask for the same
    return std::nullopt;
  LaneExchange exchange =
      planExchange(*places, access.elementBytes(), lanes, exchangePrices(target, hierarchy),
                   [&](const LaneExchange &each) { return access.over(exchanged(part, each)).runs(mostAccessBytes); });
  return exchange.swaps.empty() ? std::nullopt : std::optional(exchange);
}

/// The lane's number in its subgroup; `lane` counts those of a group of several where units take one.
Value LaneWriter::laneOfSubgroup() {
  if (shape.groupLanes <= hierarchy.lanes)
    return lane;
  return arith::AndIOp::create(builder, context.loc, lane, context.i32(hierarchy.lanes - 1));
}

LogicalResult LaneWriter::load(tile::LoadOp op) {
  // A matrix that units read in the scratchpad is described where it is multiplied.
  auto isRead = [&](OpOperand &use) {
    auto mma = dyn_cast<tile::MmaOp>(use.getOwner());
    const MatrixUnit *unit = mma ? unitOf(mma) : nullptr;
    if (!unit || use.get() == mma.getC())
      return false;
    if (llvm::is_contained(mma.getScales(), use.get())) // copied there
      return findsScalesInBlock(*unit);
    if (use.get() == mma.getIndex())
      return findsIndexInBlock(*unit);
    return (use.get() == mma.getA() ? unit->a : unit->b).residence == Residence::Scratchpad;
  };
  if (!op->use_empty() && llvm::all_of(op->getUses(), isRead))
    return success();
  if (leavesInParts(op))
    return success();
  FailureOr<Value> loaded = loadSome(op, allElements(op.getType()));
  if (failed(loaded))
    return failure();
  values.map(op.getResult(), *loaded);
  readsStages |= ring && llvm::any_of(op.getMemref().getUsers(), [](Operation *user) {
                   return isa<tile::CopyOp>(user) && user->hasAttr(engineAttr);
                 });
  return success();
}

/// These elements of what the lane loads.
FailureOr<Value> LaneWriter::loadSome(tile::LoadOp op, ArrayRef<int64_t> elements) {
  FailureOr<LaneArray> array = arrayOf(op, op.getMemref());
  FailureOr<Distribution> distribution = distributionOf(op, op.getType());
  if (failed(array) || failed(distribution))
    return failure();
  if (auto multiple = op->getAttrOfType<IntegerAttr>(rowMultipleAttr))
    array->rowMultiple = multiple.getInt();
  Distribution part = partOf(*distribution, elements);
  auto access = LaneAccess::create(context, *array, op.getMap(), valuesOf(op.getMapOperands()), op.getElements(), part);
  if (failed(access))
    return op.emitOpError() << "has an element map that is not linear over the lanes";
  ValidExtents valid = extentsOf(op.getValidMap(), op.getValidOperands(), op.constantValid(), op.getType());
  for (int64_t d : op.getBounded()) {
    FailureOr<ValidExtent> index =
        indexExtent(context, *array, d, op.getMap(), valuesOf(op.getMapOperands()), op.getElements());
    if (failed(index))
      return op.emitOpError() << "is bounded in dimension " << d
                              << " of the array, along which its element map is not linear; lanes check sums of "
                                 "constant steps";
    valid.push_back(*index);
  }
  auto type = VectorType::get(int64_t(elements.size()), op.getType().getElementType());
  if (std::optional<LaneExchange> exchange = exchangeFor(op.getType(), *array, *access, part, op.getElements())) {
    part = exchanged(part, *exchange);
    Value loaded = loadElements(context, access->over(part), part, valid, type);
    return exchangeElements(context, loaded, laneOfSubgroup(), *exchange, /*back=*/true);
  }
  return loadElements(context, *access, part, valid, type);
}

LogicalResult LaneWriter::map(tile::MapOp op) {
  if (leavesInParts(op))
    return success();
  auto type = cast<tile::FragmentType>((op.getNumOperands() ? op.getOperand(0) : Value(op.getResult(0))).getType());
  values.map(op.getResults(), vectorizeRegion(builder, op.getLoc(), op.getBody().front(), valuesOf(op.getInputs()),
                                              type.getNumElements(), values));
  return success();
}

LogicalResult LaneWriter::store(tile::StoreOp op) {
  tile::FragmentType type = op.getValue().getType();
  FailureOr<LaneArray> array = arrayOf(op, op.getMemref());
  FailureOr<Distribution> distribution = distributionOf(op, type);
  if (failed(array) || failed(distribution))
    return failure();
  FailureOr<bool> leaves = storeTiles(op, *array, *distribution);
  if (failed(leaves) || *leaves)
    return success(succeeded(leaves));
  ValidExtents valid = extentsOf(op.getValidMap(), op.getValidOperands(), op.constantValid(), type);
  SmallVector<int64_t> elements = allElements(type);
  int64_t together = partOfResult(op.getValue()).value_or(elements.size());
  if (isInBlock(op.getValue()))
    together = std::gcd(together, accumulatorsTogether);
  // Of lanes that hold the same elements the first writes.
  int64_t same = 0;
  for (auto [b, bit] : llvm::enumerate(distribution->bits))
    if (standsStill(bit))
      same |= int64_t(1) << b;
  OpBuilder::InsertionGuard guard(builder);
  if (same) {
    Value number = arith::AndIOp::create(builder, context.loc, distribution->number, context.i32(same));
    Value first = arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::eq, number, context.i32(0));
    builder.setInsertionPointToStart(scf::IfOp::create(builder, context.loc, first).thenBlock());
  }
  for (int64_t at = 0; at < int64_t(elements.size()); at += together) {
    ArrayRef<int64_t> some = ArrayRef(elements).slice(at, together);
    Distribution part = partOf(*distribution, some);
    auto access =
        LaneAccess::create(context, *array, op.getMap(), valuesOf(op.getMapOperands()), op.getElements(), part);
    if (failed(access))
      return op.emitOpError() << "has an element map that is not linear over the lanes";
    FailureOr<Value> stored = someOf(op.getValue(), some);
    if (failed(stored))
      return failure();
    if (std::optional<LaneExchange> exchange =
            same ? std::nullopt : exchangeFor(type, *array, *access, part, op.getElements())) {
      part = exchanged(part, *exchange);
      access = access->over(part);
      *stored = exchangeElements(context, *stored, laneOfSubgroup(), *exchange);
    }
    storeElements(context, *access, part, valid, *stored);
  }
  return success();
}

LogicalResult LaneWriter::convert(tile::ConvertOp op) {
  tile::FragmentType from = op.getSource().getType(), to = op.getType();
  Layout source = from.getLayout().getValue(), result = to.getLayout().getValue();
  SmallVector<int64_t> order;
  auto slots = conversion(source, result, to.getRows(), to.getCols());
  if (!slots)
    return op.emitOpError() << llvm::toString(slots.takeError());
  int64_t count = result.numElements();
  for (int64_t l = 0; l < result.numLanes(); ++l)
    for (int64_t e = 0; e < count; ++e) {
      Slot slot = (*slots)[l * count + e];
      if (l == 0)
        order.push_back(slot.element);
      if ((source.numLanes() != 1 && slot.lane != l) || slot.element != order[e])
        return op.emitOpError() << "moves elements between lanes, which is not lowered yet; go through a scratchpad";
    }
  Value vector = value(op.getSource());
  values.map(op.getResult(), vector::ShuffleOp::create(builder, op.getLoc(), vector, vector, order));
  return success();
}

LogicalResult LaneWriter::join(tile::JoinOp op) {
  SmallVector<Value> parts = valuesOf(op.getParts());
  Value all = constant(vectorOf(op.getType()), builder.getZeroAttr(vectorOf(op.getType())));
  int64_t count = cast<VectorType>(parts.front().getType()).getNumElements();
  for (auto [i, part] : llvm::enumerate(parts))
    all = vector::InsertStridedSliceOp::create(builder, op.getLoc(), part, all, int64_t(i) * count, 1);
  values.map(op.getResult(), all);
  return success();
}

LogicalResult LaneWriter::split(tile::SplitOp op) {
  int64_t count = cast<tile::FragmentType>(op.getParts().front().getType()).getNumElements();
  for (auto [i, part] : llvm::enumerate(op.getParts()))
    values.map(part, vector::ExtractStridedSliceOp::create(builder, op.getLoc(), value(op.getWhole()),
                                                           int64_t(i) * count, count, 1));
  return success();
}

LogicalResult LaneWriter::index(tile::IndexOp op) {
  FailureOr<Distribution> distribution = distributionOf(op, op.getType());
  if (failed(distribution))
    return failure();
  VectorType type = vectorOf(op.getType());
  unsigned d = op.getDimension();
  SmallVector<Attribute> numbers;
  for (const Point &point : distribution->elements)
    numbers.push_back(builder.getIntegerAttr(type.getElementType(), point[d]));
  Value result = constant(type, DenseElementsAttr::get(type, numbers));
  SmallVector<int64_t> bits;
  for (const Point &bit : distribution->bits)
    bits.push_back(bit[d]);
  if (Value own = distribution->number ? context.fromBits(distribution->number, bits) : Value()) {
    Type element = type.getElementType();
    if (element.isIndex())
      own = context.toIndex(own);
    else if (element.getIntOrFloatBitWidth() > 32)
      own = arith::ExtUIOp::create(builder, op.getLoc(), element, own);
    else if (element.getIntOrFloatBitWidth() < 32)
      own = arith::TruncIOp::create(builder, op.getLoc(), element, own);
    result = arith::AddIOp::create(builder, op.getLoc(), result,
                                   vector::BroadcastOp::create(builder, op.getLoc(), type, own));
  }
  values.map(op.getResult(), result);
  return success();
}

LogicalResult LaneWriter::reduce(tile::ReduceOp op) {
  FailureOr<Distribution> distribution = distributionOf(op, op.getInput().getType());
  if (failed(distribution))
    return failure();
  // Lanes shuffle within a subgroup, of which a group of several has more.
  const size_t bits = llvm::Log2_64(hierarchy.lanes);
  if (distribution->bits.size() > bits) {
    const unsigned along = op.getDimension() == 1 ? 1 : 0;
    if (llvm::any_of(ArrayRef(distribution->bits).drop_front(bits), [&](const Point &bit) { return bit[along] != 0; }))
      return op.emitOpError() << "combines elements of several members of level \"" << hierarchy.subgroup
                              << "\", which lanes do not exchange; go through a scratchpad";
    distribution->number = laneOfSubgroup();
  }
  FailureOr<Value> result = emitReduce(context, op, value(op.getInput()), *distribution, values);
  if (failed(result))
    return failure();
  values.map(op.getResult(), *result);
  return success();
}

/// A row or column that each lane repeats out of its own elements.
LogicalResult LaneWriter::repeat(tile::BroadcastOp op) {
  auto from = cast<tile::FragmentType>(op.getSource().getType());
  tile::FragmentType to = op.getType();
  Layout source = from.getLayout().getValue(), result = to.getLayout().getValue();
  auto placeOf = [&](Position position) {
    return Position{from.getRows() == 1 ? 0 : position.row, from.getCols() == 1 ? 0 : position.col};
  };
  SmallVector<int64_t> order;
  for (int64_t e = 0; e < result.numElements(); ++e)
    for (int64_t lane = 0; lane < result.numLanes(); ++lane) {
      int64_t own = 0;
      while (own < source.numElements() &&
             !(source.at(source.numLanes() == 1 ? 0 : lane, own) == placeOf(result.at(lane, e))))
        ++own;
      if (own == source.numElements() || (lane > 0 && own != order.back()))
        return op.emitOpError() << "repeats elements that other lanes hold, which is not lowered yet";
      if (lane == 0)
        order.push_back(own);
    }
  Value vector = value(op.getSource());
  values.map(op.getResult(), vector::ShuffleOp::create(builder, op.getLoc(), vector, vector, order));
  return success();
}

/// memref.load (`stored` null) or memref.store of one element.
LogicalResult LaneWriter::plainAccess(Operation &op, Value memref, ValueRange indices, Value stored) {
  FailureOr<LaneArray> array = arrayOf(&op, memref);
  if (failed(array))
    return failure();
  unsigned rank = array->type.getRank();
  Distribution one;
  one.elements.push_back(Point());
  auto access = LaneAccess::create(
      context, *array, builder.getMultiDimIdentityMap(rank), valuesOf(indices),
      AffineMap::get(0, 0, SmallVector<AffineExpr>(rank, builder.getAffineConstantExpr(0)), builder.getContext()), one);
  Value address = access->pointer(0);
  Type element = array->type.getElementType(), carrier = carrierOf(element);
  Location loc = op.getLoc();
  int64_t alignment = std::min(access->elementBytes(), array->alignment);
  if (!stored) {
    Value result = LLVM::LoadOp::create(builder, loc, carrier, address, alignment);
    values.map(op.getResult(0), fromCarrier(context, result, element));
    return success();
  }
  Value written = toCarrier(context, value(stored));
  LLVM::StoreOp::create(builder, loc, written, address, alignment);
  return success();
}
