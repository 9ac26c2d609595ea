//===- TileAccessLowering.cpp - Fragment accesses as vectors --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs of consecutive addresses, masks made from `valid`, and the shuffles
/// between the order of addresses and the order of a layout.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/TileAccessLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace tilewright;

//===-- Plan --------------------------------------------------------------===//

namespace {
/// An address relative to the base of an access: comparable where the offsets in dimensions of unknown stride agree.
struct Address {
  std::vector<int64_t> unknown;
  int64_t linear = 0;
  auto operator<=>(const Address &) const = default;
};

/// What is read or written at one address.
struct Cell {
  SmallVector<int64_t> offsets;
  Position position;
  SmallVector<int64_t> elements;
};
} // namespace

AccessPlan AccessPlan::of(tile::FragmentType fragment, MemRefType memref, AffineMap elements) {
  AccessPlan plan;
  SmallVector<int64_t> strides;
  int64_t base;
  int64_t rank = memref.getRank();
  if (failed(memref.getStridesAndOffset(strides, base)))
    strides.assign(rank, ShapedType::kDynamic);
  plan.unitStride = rank > 0 && strides.back() == 1;

  std::map<Address, Cell> cells;
  bool separate = false; // one cell an element: no position decides for all elements that share an address
  auto collect = [&] {
    cells.clear();
    Builder builder(memref.getContext());
    for (auto [element, position] : llvm::enumerate(fragment.positions())) {
      Cell cell;
      Address address;
      AffineExpr coordinates[] = {builder.getAffineConstantExpr(position.row),
                                  builder.getAffineConstantExpr(position.col)};
      for (auto [dim, expr] : llvm::enumerate(elements.getResults())) {
        int64_t offset = cast<AffineConstantExpr>(expr.replaceDims(coordinates)).getValue();
        cell.offsets.push_back(offset);
        if (ShapedType::isDynamic(strides[dim]))
          address.unknown.push_back(offset);
        else
          address.linear += offset * strides[dim];
      }
      if (separate)
        address.unknown.push_back(element);
      cell.position = position;
      Cell &entry = cells.try_emplace(address, std::move(cell)).first->second;
      entry.elements.push_back(element);
      // `valid` is closed downwards, so the smallest position of all that share an address decides.
      if (entry.position == position)
        continue;
      plan.shared = true;
      if (position.row <= entry.position.row && position.col <= entry.position.col)
        entry.position = position;
      else if (position.row < entry.position.row || position.col < entry.position.col)
        return false;
    }
    return true;
  };
  if (!collect()) {
    separate = true;
    plan.shared = false;
    (void)collect();
  }

  plan.source.assign(fragment.getNumElements(), 0);
  const Address *previous = nullptr;
  int64_t index = 0;
  for (auto &[address, cell] : cells) {
    bool continues =
        plan.unitStride && previous && previous->unknown == address.unknown && previous->linear + 1 == address.linear;
    if (!continues)
      plan.runs.push_back({cell.offsets, {}});
    plan.runs.back().positions.push_back(cell.position);
    for (int64_t element : cell.elements)
      plan.source[element] = index;
    previous = &address;
    ++index;
  }
  return plan;
}

const AccessPlan &AccessPlans::of(tile::FragmentType fragment, MemRefType memref, AffineMap elements) {
  std::unique_ptr<AccessPlan> &plan = known[{fragment, memref, elements}];
  if (!plan)
    plan = std::make_unique<AccessPlan>(AccessPlan::of(fragment, memref, elements));
  return *plan;
}

bool AccessPlan::isInOrder() const {
  for (auto [element, index] : llvm::enumerate(source))
    if (int64_t(element) != index)
      return false;
  return true;
}

VectorType tilewright::vectorTypeOf(tile::FragmentType fragment) {
  return VectorType::get({fragment.getNumElements()}, fragment.getElementType());
}

//===-- Masks -------------------------------------------------------------===//

namespace {
/// The extents of `valid`, as constants where they are.
struct Extents {
  std::optional<int64_t> constRows, constCols;
  Value rows, cols; // i32, clamped to [0, extent of the fragment]; null where constant
};
enum class Coverage { None, All, Some };
} // namespace

template <typename OpTy>
static Extents extentsOf(OpBuilder &builder, OpTy op, SharedValues &shared, tile::FragmentType fragment) {
  Extents extents;
  std::tie(extents.constRows, extents.constCols) = op.constantValid();
  if (extents.constRows && extents.constCols)
    return extents;
  Location loc = op.getLoc();
  SmallVector<Value> values = shared.of(builder, loc, *op.getValidMap(), op.getValidOperands());
  auto clamp = [&](Value value, int64_t extent) -> Value {
    Value limit = arith::ConstantIndexOp::create(builder, loc, extent);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    value = arith::MaxSIOp::create(builder, loc, arith::MinSIOp::create(builder, loc, value, limit), zero);
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
  };
  if (!extents.constRows)
    extents.rows = clamp(values[0], fragment.getRows());
  if (!extents.constCols)
    extents.cols = clamp(values[1], fragment.getCols());
  return extents;
}

/// Whether `valid` holds for none, all, or (possibly) some of the positions.
static Coverage coverageOf(const Extents &extents, ArrayRef<Position> positions) {
  bool all = true, none = true;
  for (Position position : positions) {
    bool outside = (extents.constRows && position.row >= *extents.constRows) ||
                   (extents.constCols && position.col >= *extents.constCols);
    bool inside = extents.constRows && extents.constCols && !outside;
    all &= inside;
    none &= outside;
  }
  return none ? Coverage::None : all ? Coverage::All : Coverage::Some;
}

/// A vector of i1: which of the positions are valid.
static Value maskOf(OpBuilder &builder, Location loc, const Extents &extents, ArrayRef<Position> positions) {
  auto type = VectorType::get({int64_t(positions.size())}, builder.getI1Type());
  if (extents.constRows && extents.constCols) {
    SmallVector<bool> bits;
    for (Position position : positions)
      bits.push_back(position.row < *extents.constRows && position.col < *extents.constCols);
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, bits));
  }
  Value mask;
  auto compare = [&](std::optional<int64_t> constant, Value extent, int64_t Position::*coordinate) {
    Value part;
    if (constant) {
      SmallVector<bool> bits;
      for (Position position : positions)
        bits.push_back(position.*coordinate < *constant);
      if (llvm::all_of(bits, [](bool bit) { return bit; }))
        return;
      part = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, bits));
    } else {
      SmallVector<int32_t> coordinates;
      for (Position position : positions)
        coordinates.push_back(position.*coordinate);
      auto wide = VectorType::get(type.getShape(), builder.getI32Type());
      Value lanes = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(wide, ArrayRef(coordinates)));
      Value limit = vector::BroadcastOp::create(builder, loc, wide, extent);
      part = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lanes, limit);
    }
    mask = mask ? arith::AndIOp::create(builder, loc, mask, part).getResult() : part;
  };
  compare(extents.constRows, extents.rows, &Position::row);
  compare(extents.constCols, extents.cols, &Position::col);
  return mask;
}

//===-- Segments ------------------------------------------------------------===//

static Value zeroOf(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// Subscripts of the first element of a run: the base plus its offsets.
static SmallVector<Value> subscripts(OpBuilder &builder, Location loc, SharedValues &shared, AffineMap map,
                                     ValueRange operands, ArrayRef<int64_t> offsets) {
  SmallVector<AffineExpr> results;
  for (auto [expr, offset] : llvm::zip(map.getResults(), offsets))
    results.push_back(expr + offset);
  AffineMap shifted = AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext());
  return shared.of(builder, loc, shifted, operands);
}

/// Joins runs of one element type end to end.
static Value concatenate(OpBuilder &builder, Location loc, ArrayRef<Value> pieces) {
  Value joined = pieces.front();
  for (Value piece : pieces.drop_front()) {
    int64_t left = cast<VectorType>(joined.getType()).getNumElements();
    int64_t right = cast<VectorType>(piece.getType()).getNumElements();
    if (left == right) {
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, left + right));
      joined = vector::ShuffleOp::create(builder, loc, joined, piece, order);
      continue;
    }
    auto type = VectorType::get({left + right}, cast<VectorType>(joined.getType()).getElementType());
    Value wide = zeroOf(builder, loc, type);
    wide = vector::InsertStridedSliceOp::create(builder, loc, joined, wide, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
    joined =
        vector::InsertStridedSliceOp::create(builder, loc, piece, wide, ArrayRef<int64_t>{left}, ArrayRef<int64_t>{1});
  }
  return joined;
}

/// Whether element e comes from segment e % segments, in turn: the order of packed groups.
static bool isInterleaved(ArrayRef<int64_t> source, int64_t pieces) {
  int64_t length = source.size() / pieces;
  if (pieces * length != int64_t(source.size()))
    return false;
  for (auto [element, index] : llvm::enumerate(source))
    if (index != int64_t(element) % pieces * length + int64_t(element) / pieces)
      return false;
  return true;
}

Value tilewright::repeatGroup(OpBuilder &builder, Location loc, Value value, int64_t count) {
  auto type = cast<VectorType>(value.getType());
  int64_t group = type.getNumElements();
  Type element = type.getElementType();
  if (group == count)
    return value;
  auto wide = VectorType::get({count}, element);
  if (group == 1)
    return vector::BroadcastOp::create(builder, loc, wide, vector::ExtractOp::create(builder, loc, value, 0));
  int64_t bits = element.isIntOrFloat() ? group * element.getIntOrFloatBitWidth() : 0;
  if (bits == 16 || bits == 32 || bits == 64) {
    Type integer = builder.getIntegerType(bits);
    Value one = vector::BitCastOp::create(builder, loc, VectorType::get({1}, integer), value);
    one = vector::ExtractOp::create(builder, loc, one, 0);
    one = vector::BroadcastOp::create(builder, loc, VectorType::get({count / group}, integer), one);
    return vector::BitCastOp::create(builder, loc, wide, one);
  }
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.push_back(i % group);
  return vector::ShuffleOp::create(builder, loc, value, value, order);
}

/// Brings the concatenation of `pieces` into the order `source`.
static Value arrange(OpBuilder &builder, Location loc, ArrayRef<Value> pieces, ArrayRef<int64_t> source) {
  int64_t total = 0;
  for (Value piece : pieces)
    total += cast<VectorType>(piece.getType()).getNumElements();
  if (total == 1 && source.size() > 1)
    return repeatGroup(builder, loc, pieces.front(), source.size());
  bool sameLength = llvm::all_equal(llvm::map_range(pieces, [](Value piece) { return piece.getType(); }));
  bool repeats = int64_t(source.size()) % total == 0;
  for (auto [element, index] : llvm::enumerate(source))
    repeats &= index == int64_t(element) % total;
  if (repeats)
    return repeatGroup(builder, loc, concatenate(builder, loc, pieces), source.size());
  if (sameLength && total == int64_t(source.size()) && isInterleaved(source, pieces.size())) {
    auto interleave = [&](Value even, Value odd) -> Value {
      return vector::InterleaveOp::create(builder, loc, even, odd);
    };
    if (pieces.size() == 2)
      return interleave(pieces[0], pieces[1]);
    if (pieces.size() == 4)
      return interleave(interleave(pieces[0], pieces[2]), interleave(pieces[1], pieces[3]));
  }
  if (pieces.size() == 2 && sameLength)
    return vector::ShuffleOp::create(builder, loc, pieces[0], pieces[1], source);
  Value joined = concatenate(builder, loc, pieces);
  return vector::ShuffleOp::create(builder, loc, joined, joined, source);
}

//===-- Load --------------------------------------------------------------===//

/// One run as a vector of its length.
static Value loadRun(OpBuilder &builder, tile::LoadOp op, SharedValues &shared, const AccessRun &run,
                     const Extents &extents, bool unitStride) {
  Location loc = op.getLoc();
  auto type = VectorType::get({int64_t(run.positions.size())}, op.getType().getElementType());
  Coverage coverage = coverageOf(extents, run.positions);
  if (coverage == Coverage::None)
    return zeroOf(builder, loc, type);
  SmallVector<Value> indices = subscripts(builder, loc, shared, op.getMap(), op.getMapOperands(), run.offsets);
  auto scalar = [&](OpBuilder &at) -> Value { return memref::LoadOp::create(at, loc, op.getMemref(), indices); };
  if (coverage == Coverage::All) {
    if (type.getNumElements() == 1)
      return vector::BroadcastOp::create(builder, loc, type, scalar(builder));
    return vector::LoadOp::create(builder, loc, type, op.getMemref(), indices);
  }
  Value mask = maskOf(builder, loc, extents, run.positions);
  if (unitStride && type.getNumElements() > 1)
    return vector::MaskedLoadOp::create(builder, loc, type, op.getMemref(), indices, mask, zeroOf(builder, loc, type));
  Value inside = vector::ExtractOp::create(builder, loc, mask, 0);
  auto guarded = scf::IfOp::create(
      builder, loc, inside, [&](OpBuilder &at, Location) { scf::YieldOp::create(at, loc, scalar(at)); },
      [&](OpBuilder &at, Location) { scf::YieldOp::create(at, loc, zeroOf(at, loc, type.getElementType())); });
  return vector::BroadcastOp::create(builder, loc, type, guarded.getResult(0));
}

Value tilewright::lowerLoad(OpBuilder &builder, tile::LoadOp op, SharedValues &shared, AccessPlans &plans) {
  Location loc = op.getLoc();
  tile::FragmentType fragment = op.getType();
  const AccessPlan &plan = plans.of(fragment, op.getMemRefType(), op.getElements());
  Extents extents = extentsOf(builder, op, shared, fragment);
  SmallVector<Value> pieces;
  for (const AccessRun &run : plan.runs)
    pieces.push_back(loadRun(builder, op, shared, run, extents, plan.unitStride));

  Value result;
  if (pieces.size() == 1 && plan.isInOrder()) {
    result = pieces.front();
  } else if (pieces.size() > 2 &&
             llvm::all_of(plan.runs, [](const AccessRun &run) { return run.positions.size() == 1; })) {
    SmallVector<Value> scalars;
    for (int64_t index : plan.source)
      scalars.push_back(vector::ExtractOp::create(builder, loc, pieces[index], 0));
    result = vector::FromElementsOp::create(builder, loc, vectorTypeOf(fragment), scalars);
  } else {
    result = arrange(builder, loc, pieces, plan.source);
  }
  SmallVector<Position> positions = fragment.positions();
  if (!plan.shared || coverageOf(extents, positions) != Coverage::Some)
    return result;
  // An address that a valid element needs was read for all that share it.
  Value mask = maskOf(builder, loc, extents, positions);
  return arith::SelectOp::create(builder, loc, mask, result, zeroOf(builder, loc, result.getType()));
}

//===-- Store -------------------------------------------------------------===//

void tilewright::lowerStore(OpBuilder &builder, tile::StoreOp op, Value value, SharedValues &shared,
                            AccessPlans &plans) {
  Location loc = op.getLoc();
  tile::FragmentType fragment = op.getValue().getType();
  const AccessPlan &plan = plans.of(fragment, op.getMemRefType(), op.getElements());
  Extents extents = extentsOf(builder, op, shared, fragment);
  SmallVector<int64_t> elementAt(plan.source.size(), -1); // address index -> one element that holds it
  for (auto [element, index] : llvm::enumerate(plan.source))
    if (elementAt[index] < 0)
      elementAt[index] = element;

  int64_t begin = 0;
  for (const AccessRun &run : plan.runs) {
    int64_t length = run.positions.size();
    ArrayRef<int64_t> order = ArrayRef(elementAt).slice(begin, length);
    begin += length;
    Coverage coverage = coverageOf(extents, run.positions);
    if (coverage == Coverage::None)
      continue;
    SmallVector<Value> indices = subscripts(builder, loc, shared, op.getMap(), op.getMapOperands(), run.offsets);
    if (length == 1) {
      Value scalar = vector::ExtractOp::create(builder, loc, value, order.front());
      auto store = [&](OpBuilder &at) {
        memref::StoreOp::create(at, loc, scalar, op.getMemref(), indices, op.getNontemporal());
      };
      if (coverage == Coverage::All) {
        store(builder);
        continue;
      }
      Value inside = vector::ExtractOp::create(builder, loc, maskOf(builder, loc, extents, run.positions), 0);
      scf::IfOp::create(builder, loc, inside, [&](OpBuilder &at, Location) {
        store(at);
        scf::YieldOp::create(at, loc);
      });
      continue;
    }
    Value piece = value;
    bool whole = length == fragment.getNumElements();
    for (int64_t i = 0; i < length; ++i)
      whole &= order[i] == i;
    if (!whole)
      piece = vector::ShuffleOp::create(builder, loc, value, value, order);
    if (coverage == Coverage::Some) {
      Value mask = maskOf(builder, loc, extents, run.positions);
      vector::MaskedStoreOp::create(builder, loc, op.getMemref(), indices, mask, piece);
      continue;
    }
    Type element = fragment.getElementType();
    llvm::MaybeAlign alignment;
    int64_t bytes = element.isIntOrFloat() ? length * element.getIntOrFloatBitWidth() / 8 : 0;
    if (op.getNontemporal() && llvm::isPowerOf2_64(bytes))
      alignment = llvm::Align(bytes);
    vector::StoreOp::create(builder, loc, piece, op.getMemref(), indices, op.getNontemporal() && alignment.has_value(),
                            alignment);
  }
}
