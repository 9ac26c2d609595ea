//===- LaneTiles.cpp - Tiles that an engine copies and units read ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The affine maps of a copy as a box of its array, those of a load as lines and
/// blocks of the scratchpad.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// Strides of a static memref, elements.
static SmallVector<int64_t> staticStrides(MemRefType type) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t d = type.getRank() - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * type.getDimSize(d + 1);
  return strides;
}

/// Bytes over which 16-byte segments are permuted, if the arrangement is one that engine and units know.
static std::optional<int64_t> swizzleOf(const LaneArray &array) {
  if (!array.arrangement)
    return 0;
  if (array.arrangement.getPadding() || array.arrangement.getGroups() != 1 || array.arrangement.getSwizzleAgain())
    return std::nullopt;
  int64_t bits = array.arrangement.getSwizzleBits();
  if (bits && (array.arrangement.getSwizzleBase() != 4 || array.arrangement.getSwizzleShift() != 3 || bits > 3))
    return std::nullopt;
  return bits ? int64_t(16) << bits : 0;
}

/// One linear sum of an affine map's result and its operands.
static Value expand(LaneContext &context, AffineExpr expr, AffineMap map, ValueRange operands) {
  return affine::expandAffineExpr(context.builder, context.loc, expr, operands.take_front(map.getNumDims()),
                                  operands.drop_front(map.getNumDims()));
}

//===-- Copies ------------------------------------------------------------===//

/// `a + b`, the second over operands of its own: a constant, or one operand as it is.
static OpFoldResult sumOf(AffineMap a, AffineExpr x, ValueRange aOperands, AffineMap b, AffineExpr y,
                          ValueRange bOperands, llvm::function_ref<Value(Value)> value) {
  MLIRContext *context = x.getContext();
  SmallVector<Value> all;
  auto over = [&](AffineMap map, AffineExpr expr, ValueRange operands) {
    SmallVector<AffineExpr> places;
    for (Value operand : operands) {
      auto found = llvm::find(all, operand);
      places.push_back(getAffineDimExpr(found - all.begin(), context));
      if (found == all.end())
        all.push_back(operand);
    }
    ArrayRef<AffineExpr> list(places);
    return expr.replaceDimsAndSymbols(list.take_front(map.getNumDims()), list.drop_front(map.getNumDims()));
  };
  AffineExpr first = over(a, x, aOperands), second = over(b, y, bOperands);
  AffineExpr sum = simplifyAffineExpr(first + second, all.size(), 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(sum))
    return IntegerAttr::get(IndexType::get(context), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(sum))
    return value(all[dim.getPosition()]);
  return {};
}

/// The tile of `array` at `map(operands)` whose box dimension p moves it as `elements` says, inside `valid`. `boxOf`:
/// the box dimension that moves each dimension of the array, -1 for none; `whole`: extents that `valid` speaks of.
/// Empty, or why no engine cuts it.
static std::string cut(LaneContext &context, const LaneArray &array, AffineMap map, ValueRange operands,
                       AffineMap elements, ArrayRef<int64_t> shape, ArrayRef<int64_t> whole,
                       std::optional<AffineMap> valid, ValueRange validOperands, llvm::function_ref<Value(Value)> value,
                       TileCopy &result, SmallVectorImpl<int> &boxOf) {
  auto argument = dyn_cast<BlockArgument>(array.pointer);
  if (!argument || array.scratchpad)
    return "it takes tiles of arrays of the launch";
  int64_t rank = array.type.getRank(), pitch = elementBytes(array.type.getElementType());
  result.map.array = argument.getArgNumber();
  result.map.element = array.type.getElementType();
  boxOf.assign(rank, -1);
  for (unsigned p = 0; p < shape.size(); ++p) {
    int moved = -1;
    for (int64_t d = 0; d < rank; ++d) {
      if (!elements.getResult(d).isFunctionOfDim(p))
        continue;
      if (moved >= 0 || boxOf[d] >= 0 || linearCoefficient(elements.getResult(d), p) != 1)
        return "a dimension of the box is no dimension of the array";
      moved = d;
    }
    if (moved < 0)
      return "a dimension of the box moves nothing";
    boxOf[moved] = p;
  }
  SmallVector<Value> mapped = llvm::map_to_vector(operands, value);
  unsigned nextSize = array.sizes.size();
  for (int64_t d = rank; d-- > 0;) {
    int64_t extent = boxOf[d] < 0 ? 1 : shape[boxOf[d]];
    bool isDynamic = array.type.isDynamicDim(d);
    OpFoldResult size = isDynamic ? OpFoldResult(array.sizes[--nextSize])
                                  : OpFoldResult(context.builder.getIndexAttr(array.type.getDimSize(d)));
    if (!isDynamic && !llvm::isInt<32>(array.type.getDimSize(d)))
      return "a dimension has more elements than coordinates of 32 bits tell apart";
    AffineExpr start = map.getResult(d);
    if (valid && boxOf[d] >= 0) {
      AffineExpr inside = valid->getResult(boxOf[d]);
      auto known = dyn_cast<AffineConstantExpr>(inside);
      if (!known || known.getValue() < whole[boxOf[d]]) {
        size = sumOf(map, start, operands, *valid, inside, validOperands, value);
        if (!size)
          return "the valid extent does not end at one place of the array";
      }
    }
    if (auto dynamic = dyn_cast<Value>(size); dynamic && !isa<BlockArgument>(dynamic))
      return "the launch does not know the valid extent";
    result.map.sizes.push_back(size);
    result.map.box.push_back(extent);
    if (d > 0) {
      if (isDynamic)
        return "rows of the array are apart by a dynamic size";
      pitch *= array.type.getDimSize(d);
      result.map.pitches.push_back(pitch);
    }
    result.coordinates.push_back(context.toI32(expand(context, start, map, mapped)));
  }
  return "";
}

FailureOr<TileCopy> tilewright::asTile(LaneContext &context, tile::CopyOp op, const LaneArray &source,
                                       const LaneArray &destination, llvm::function_ref<Value(Value)> value) {
  auto refuse = [&](const Twine &why) -> LogicalResult {
    return op.emitOpError() << "cannot be left to the engine \"" << op->getAttrOfType<StringAttr>(engineAttr).getValue()
                            << "\": " << why;
  };
  std::optional<int64_t> swizzle = swizzleOf(destination);
  if (!destination.scratchpad || !swizzle)
    return refuse("the destination is no buffer of the scratchpad in an arrangement of its own");
  TileCopy result;
  result.map.swizzleBytes = *swizzle;
  SmallVector<int> boxOf;
  std::string why = cut(context, source, op.getSourceMap(), op.getSourceOperands(), op.getSourceElements(),
                        op.getShape(), op.getShape(), op.getValidMap(), op.getValidOperands(), value, result, boxOf);
  if (!why.empty())
    return refuse(why);

  // The engine knows one end of each dimension: that of the array, or that of `valid`.
  if (std::optional<AffineMap> valid = op.getValidMap())
    for (int64_t d : op.getBounded())
      if (boxOf[d] >= 0) {
        auto known = dyn_cast<AffineConstantExpr>(valid->getResult(boxOf[d]));
        if (!known || known.getValue() < op.getShape()[boxOf[d]])
          return refuse("it is bounded by the array where `valid` ends too");
      }

  // In the scratchpad the box is dense, in the order of the array.
  AffineMap to = op.getDestinationElements(), into = op.getDestinationMap();
  SmallVector<int64_t> strides = staticStrides(destination.type);
  int64_t bytes = elementBytes(source.type.getElementType()), dense = 1;
  for (int64_t d = boxOf.size(); d-- > 0;) {
    int64_t extent = boxOf[d] < 0 ? 1 : op.getShape()[boxOf[d]], step = 0;
    if (extent == 1)
      continue;
    for (auto [place, stride] : llvm::zip(to.getResults(), strides))
      step += linearCoefficient(place, boxOf[d]).value_or(0) * stride;
    if (step != dense)
      return refuse("the box does not lie densely in the scratchpad");
    result.outer = boxOf.size() - 1 - d;
    result.outerStep = dense * bytes;
    dense *= extent;
  }
  for (unsigned d = 1; d < strides.size(); ++d) {
    auto constant = dyn_cast<AffineConstantExpr>(into.getResult(d));
    if (!constant)
      return refuse("its place in the stage is not constant");
    result.offset += constant.getValue() * strides[d] * bytes;
  }
  return result;
}

//===-- Stores ------------------------------------------------------------===//

int64_t tilewright::storeLine(tile::StoreOp op, int64_t subgroupLanes) {
  tile::FragmentType fragment = op.getValue().getType();
  MemRefType type = op.getMemRefType();
  int64_t rank = type.getRank(), bytes = elementBytes(type.getElementType()), pitch = bytes;
  if (fragment.getLayout().getNumLanes() <= subgroupLanes || rank < 2 || !type.getLayout().isIdentity() ||
      isa_and_nonnull<StringAttr>(type.getMemorySpace()))
    return 0;
  for (int64_t d = rank - 1; d > 0; --d) {
    pitch *= type.getDimSize(d);
    if (type.isDynamicDim(d) || pitch % 16)
      return 0;
  }
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) && !llvm::isInt<32>(size))
      return 0; // coordinates of tiles have 32 bits
  AffineMap elements = op.getElements();
  if (linearCoefficient(elements.getResult(rank - 1), 1) != 1 || elements.getResult(rank - 1).isFunctionOfDim(0))
    return 0;
  // Lanes of a layout hold columns within one line, of which a buffer takes one of each row.
  for (int64_t line : {128, 64, 32})
    if (fragment.getCols() * bytes % line == 0 && fragment.getRows() * line <= storeBytes)
      return line;
  return 0;
}

FailureOr<TileCopy> tilewright::asTile(LaneContext &context, tile::StoreOp op, const LaneArray &array, int64_t line,
                                       llvm::function_ref<Value(Value)> value) {
  TileCopy result;
  result.map.swizzleBytes = line;
  SmallVector<int> boxOf;
  tile::FragmentType type = op.getValue().getType();
  int64_t shape[] = {type.getRows(), line / elementBytes(array.type.getElementType())};
  int64_t whole[] = {type.getRows(), type.getCols()};
  std::string why = cut(context, array, op.getMap(), op.getMapOperands(), op.getElements(), shape, whole,
                        op.getValidMap(), op.getValidOperands(), value, result, boxOf);
  if (!why.empty() || boxOf.back() != 1)
    return failure();
  return result;
}

//===-- Operands of units -------------------------------------------------===//

Value tilewright::describeLines(LaneContext &context, const LaneArray &array, Value offset, int64_t constant,
                                int64_t lineBytes) {
  ScratchpadTile tile;
  tile.lineBytes = lineBytes;
  tile.groupBytes = 8 * lineBytes;
  tile.blockBytes = tile.groupBytes; // lines are one block wide
  return context.ops.describeTile(context.builder, context.loc, array.pointer, offset, constant, tile);
}

FailureOr<std::pair<Value, bool>> tilewright::describeOperand(LaneContext &context, tile::LoadOp load,
                                                              const LaneArray &array, bool isA, Value slot,
                                                              llvm::function_ref<Value(Value)> value) {
  auto refuse = [&](const Twine &why) -> LogicalResult {
    return load.emitOpError() << "gives a matrix to a unit that reads the scratchpad itself, but " << why;
  };
  std::optional<int64_t> swizzle = swizzleOf(array);
  if (!array.scratchpad || !swizzle || load.getValidMap())
    return refuse("it is no plain access to a buffer of the scratchpad in an arrangement that units know");
  int64_t bytes = elementBytes(array.type.getElementType());
  SmallVector<int64_t> strides = staticStrides(array.type);
  AffineMap elements = load.getElements();
  unsigned kDim = isA ? 1 : 0;
  auto at = [&](int64_t free, int64_t k) { // byte of an element; of packed ones, where the first of those in it lies
    SmallVector<Attribute> point(2), folded;
    point[kDim] = context.builder.getIndexAttr(k);
    point[1 - kDim] = context.builder.getIndexAttr(free);
    (void)elements.constantFold(point, folded);
    int64_t offset = 0;
    for (auto [place, stride] : llvm::zip(folded, strides))
      offset += cast<IntegerAttr>(place).getInt() * stride;
    return offset * bytes;
  };
  tile::FragmentType type = load.getType();
  int64_t extents[] = {kDim ? type.getRows() : type.getCols(), kDim ? type.getCols() : type.getRows()}; // free, k
  int64_t packed = 1; // elements along k in one of the buffer's
  while (packed < extents[1] && at(0, packed) == 0)
    packed *= 2;
  extents[1] /= packed;
  ScratchpadTile tile;
  tile.lineBytes = *swizzle ? *swizzle : 16;
  tile.kInner = extents[1] > 1 && at(0, packed) == bytes;
  int64_t line = tile.lineBytes / bytes, inner = extents[tile.kInner], outer = extents[!tile.kInner];
  auto place = [&](int64_t i, int64_t o) { return tile.kInner ? at(o, i * packed) : at(i, o * packed); };
  tile.groupBytes = outer > 8 ? place(0, 8) : 8 * tile.lineBytes;
  tile.blockBytes = inner > line ? place(line, 0) : tile.lineBytes;
  for (int64_t o = 0; o < outer; o = o ? 2 * o : 1)
    for (int64_t i = 0; i < inner; i = i ? 2 * i : 1)
      if (place(i, o) !=
          o / 8 * tile.groupBytes + o % 8 * tile.lineBytes + i / line * tile.blockBytes + i % line * bytes)
        return refuse("its elements do not lie in lines of " + Twine(tile.lineBytes) + " bytes");

  AffineMap map = load.getMap();
  SmallVector<Value> operands = llvm::map_to_vector(load.getMapOperands(), value);
  int64_t constant = 0;
  Value offset;
  if (slot)
    offset = arith::MulIOp::create(context.builder, context.loc, slot, context.i32(strides[0] * bytes));
  for (unsigned d = slot ? 1 : 0; d < strides.size(); ++d) {
    AffineExpr expr = simplifyAffineExpr(map.getResult(d), map.getNumDims(), map.getNumSymbols());
    if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
      constant += number.getValue() * strides[d] * bytes;
      continue;
    }
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr); sum && sum.getKind() == AffineExprKind::Add)
      if (auto number = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        constant += number.getValue() * strides[d] * bytes;
        expr = sum.getLHS();
      }
    if (expr.getLargestKnownDivisor() * strides[d] * bytes % 16)
      return refuse("does not begin at a multiple of 16 bytes");
    Value place = context.toI32(expand(context, expr, map, operands));
    place = arith::MulIOp::create(context.builder, context.loc, place, context.i32(strides[d] * bytes));
    offset = offset ? arith::AddIOp::create(context.builder, context.loc, offset, place).getResult() : place;
  }
  if (constant % 16)
    return refuse("does not begin at a multiple of 16 bytes");
  Value descriptor = context.ops.describeTile(context.builder, context.loc, array.pointer, offset, constant, tile);
  if (!descriptor)
    return refuse("the chip's operations describe none");
  return std::pair(descriptor, tile.kInner);
}
