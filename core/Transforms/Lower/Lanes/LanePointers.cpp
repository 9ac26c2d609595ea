//===- LanePointers.cpp - Pointers of one lane --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sums, swizzles and matrices of an access.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tilewright/PointerOffset.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

static Value offsetPointer(const LaneContext &context, Value pointer, Type element, Value offset, int64_t constant) {
  Type type = pointer.getType();
  if (offset) {
    if (offset.getType().isIndex())
      offset = context.once<arith::IndexCastOp>(offset.getAsOpaquePointer(), nullptr, [&] {
        return arith::IndexCastOp::create(context.builder, context.loc, context.builder.getI64Type(), offset)
            .getResult();
      });
    pointer = context.once<LLVM::GEPOp>(pointer.getAsOpaquePointer(), offset.getAsOpaquePointer(),
                                        element.getAsOpaquePointer(), [&] {
                                          return LLVM::GEPOp::create(context.builder, context.loc, type, element,
                                                                     pointer, ArrayRef<LLVM::GEPArg>{offset})
                                              .getResult();
                                        });
  }
  if (constant)
    pointer = elementBehind(context.builder, context.loc, pointer, element, constant);
  return pointer;
}

namespace {
/// The swizzle of an arrangement, over offsets in bytes; below the period its parts are combined by XOR.
struct Swizzle {
  explicit Swizzle(tile::ArrangementAttr arrangement)
      : from(arrangement.getSwizzleBase()), shift(arrangement.getSwizzleShift()), again(arrangement.getSwizzleAgain()),
        mask(((int64_t(1) << arrangement.getSwizzleBits()) - 1) << from),
        period(int64_t(1) << (from + arrangement.getSwizzleBits() + std::max(shift, again))) {}
  int64_t flips(int64_t offset) const { return ((offset >> shift) ^ (again ? offset >> again : 0)) & mask; }
  /// The bits that lanes with the bits `lanes` have or flip.
  int64_t reached(int64_t lanes) const { return lanes | (((lanes >> shift) | (again ? lanes >> again : 0)) & mask); }

  int64_t from, shift, again, mask, period;
};
} // namespace

int64_t LaneAccess::flipped(unsigned e) const {
  if (!linear || !array.scratchpad || !array.arrangement || !array.arrangement.getSwizzleBits())
    return 0;
  Swizzle swizzle(array.arrangement);
  int64_t lanes = 0, low = (constant + elements[e]) * elementBytes() & (swizzle.period - 1);
  for (int64_t bit : bits)
    lanes |= bit * elementBytes();
  return (low ^ swizzle.flips(low)) & swizzle.reached(lanes);
}

Value LaneAccess::scratchpadPointer(ArrayRef<int64_t> bitBytes, int64_t constantBytes) const {
  OpBuilder &builder = context->builder;
  Type byte = builder.getI8Type();
  Value base;
  if (uniform) {
    base = context->toI32(uniform);
    if (elementBytes() != 1)
      base = context->make<arith::MulIOp>(base, context->i32(elementBytes()));
  }
  Value lanes = number ? context->fromBits(number, bitBytes) : Value();
  auto plus = [&](Value a, Value b) -> Value { return !a ? b : !b ? a : context->make<arith::AddIOp>(a, b); };
  int64_t width = array.arrangement ? array.arrangement.getSwizzleBits() : 0;
  if (width == 0)
    return offsetPointer(*context, array.pointer, byte, plus(base, lanes), constantBytes);

  Swizzle known(array.arrangement);
  auto swizzle = [&](Value offset) -> Value {
    Value high = context->make<arith::ShRUIOp>(offset, context->i32(known.shift));
    if (known.again)
      high = context->make<arith::XOrIOp>(high, context->make<arith::ShRUIOp>(offset, context->i32(known.again)));
    high = context->make<arith::AndIOp>(high, context->i32(known.mask));
    return context->make<arith::XOrIOp>(offset, high);
  };
  // Below the period all parts are combined by XOR if their bits are apart.
  int64_t laneMask = 0, low = constantBytes & (known.period - 1), high = constantBytes - low;
  bool apart = !uniform || (divisor * elementBytes()) % known.period == 0;
  if (!apart && this->apart) { // its bits are combined as those of lanes are
    apart = true;
    lanes = plus(base, lanes);
    base = nullptr;
    laneMask = uniformBits * elementBytes();
  }
  for (int64_t bit : bitBytes) {
    apart &= bit >= 0 && (bit == 0 || llvm::isPowerOf2_64(bit)) && (laneMask & bit) == 0;
    laneMask |= bit;
  }
  apart &= (laneMask & low) == 0;
  if (!apart) {
    Value offset = plus(base, lanes);
    if (constantBytes)
      offset = plus(offset, context->i32(constantBytes));
    return offsetPointer(*context, array.pointer, byte, offset ? swizzle(offset) : Value(), 0);
  }
  int64_t step = low ^ known.flips(low);
  if (!lanes)
    return offsetPointer(*context, array.pointer, byte, base, high + step);
  Value within = swizzle(lanes);
  // Bits of the constant that no lane has stand in the instruction; so all accesses share a few addresses, one for each
  // value of the others.
  int64_t common = step & known.reached(laneMask);
  if (common)
    within = context->make<arith::XOrIOp>(within, context->i32(common));
  return offsetPointer(*context, array.pointer, byte, plus(base, within), high + step - common);
}

/// Offset of element `e`, from its position.
Value LaneAccess::general(unsigned e) const {
  SmallVector<Value> position;
  for (unsigned d = 0; d < elementMap.getNumDims(); ++d) {
    SmallVector<int64_t> steps;
    for (const Point &bit : distribution.bits)
      steps.push_back(bit[d]);
    Value lane = distribution.number ? context->indexFromBits(distribution.number, steps) : Value();
    Value fixed = context->index(distribution.elements[e][d]);
    position.push_back(lane ? context->make<arith::AddIOp>(lane, fixed) : fixed);
  }
  Value offset;
  for (auto [d, stride] : llvm::enumerate(stridesOf(*context, array))) {
    ValueRange all(operands);
    Value base = context->expand(map.getResult(d), all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
    Value own = context->expand(elementMap.getResult(d), position, {});
    Value term = context->make<arith::AddIOp>(base, own);
    term = context->make<arith::MulIOp>(term, stride.value ? stride.value : context->index(stride.constant));
    offset = offset ? context->make<arith::AddIOp>(offset, term) : term;
  }
  return offset;
}

Value LaneAccess::pointer(unsigned e) const {
  if (!linear)
    return offsetPointer(*context, array.pointer, carrierOf(array.type.getElementType()), general(e), 0);
  if (array.scratchpad) {
    SmallVector<int64_t> bytes;
    for (int64_t bit : bits)
      bytes.push_back(bit * elementBytes());
    return scratchpadPointer(bytes, (constant + elements[e]) * elementBytes());
  }
  Value offset = uniform;
  auto add = [&](Value term) { offset = offset ? context->make<arith::AddIOp>(offset, term) : term; };
  if (number)
    if (Value lanes = context->indexFromBits(number, bits))
      add(lanes);
  for (auto [i, stride] : llvm::enumerate(strides)) {
    Value total = number ? context->indexFromBits(number, dynamicBits[i]) : Value();
    if (int64_t fixed = dynamicElements[i][e])
      total = total ? context->make<arith::AddIOp>(total, context->index(fixed)) : context->index(fixed);
    if (total)
      add(context->make<arith::MulIOp>(total, stride));
  }
  return offsetPointer(*context, array.pointer, carrierOf(array.type.getElementType()), offset, constant + elements[e]);
}

/// Of offsets that 32 bits hold with a sign to spare.
static constexpr int64_t limit = int64_t(1) << 31;

bool LaneAccess::hasPlace(unsigned e, int64_t before) const {
  if (!linear || array.scratchpad || !strides.empty() || llvm::any_of(bits, [](int64_t bit) { return bit < 0; }))
    return false;
  int64_t first = (std::max<int64_t>(constant, 0) + elements[e] + before) * elementBytes();
  return first >= 0 && std::accumulate(bits.begin(), bits.end(), first / elementBytes()) * elementBytes() + 16 <= limit;
}

int64_t LaneAccess::unchecked(const ValidExtents &valid) const {
  if (llvm::any_of(elements, [](int64_t element) { return element < 0; }))
    return 0; // what is left would have a sign
  auto compares = [&](unsigned d) {
    for (auto [p, extent] : llvm::enumerate(valid))
      if (extent && (extent.start ? extent.dimension == d : elementMap.getResult(d).isFunctionOfDim(p)))
        return true;
    return false;
  };
  int64_t total = 0;
  for (auto [d, own] : llvm::enumerate(constants))
    total += compares(d) ? 0 : own;
  return std::clamp<int64_t>(total, 0, std::max<int64_t>(constant, 0)) * elementBytes();
}

/// `index`, whose value has no more than 32 bits, by sums and products of 32 bits: what a loop adds to it is one
/// register then, where compilers would hold and advance two. Not in a branch that only some lanes take: what stands
/// there would be theirs where branches join. For unaligned vectors: rows of two arrays that tiles divide
/// move by the same bytes, and share those registers.
static Value lowBits(const LaneContext &context, Value index) {
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return context.i32(int32_t(*number));
  Operation *op = index.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::MulIOp>(op))
    return context.toI32(index);
  Value a = lowBits(context, op->getOperand(0)), b = lowBits(context, op->getOperand(1));
  return isa<arith::AddIOp>(op) ? context.make<arith::AddIOp>(a, b) : context.make<arith::MulIOp>(a, b);
}

std::optional<ArrayPlace> LaneAccess::place(unsigned e, int64_t before) const {
  if (!hasPlace(e, before))
    return std::nullopt;
  SmallVector<int64_t> bytes;
  for (int64_t bit : bits)
    bytes.push_back(bit * elementBytes());
  ArrayPlace place;
  // What lies before the array, where lanes check indices, is behind a base that lies there too: offsets have no sign.
  int64_t base = std::min<int64_t>(constant, 0) - before;
  place.constant = (constant - base + elements[e]) * elementBytes();
  OpBuilder &builder = context->builder;
  place.lane = number ? context->fromBits(number, bytes) : Value();
  {
    // In no branch: descriptions of arrays stand where their base does.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(array.pointer);
    place.base = offsetPointer(*context, array.pointer, carrierOf(array.type.getElementType()), {}, base);
  }
  place.range = limit;
  if (!uniform)
    return place;
  int64_t size = limit + 1;
  if (array.type.hasStaticShape() && array.type.getNumElements() - base <= limit)
    size = (array.type.getNumElements() - base) * elementBytes();
  if (size > limit || hasSign) { // the shared part needs a pointer
    place.base = offsetPointer(*context, array.pointer, carrierOf(array.type.getElementType()), uniform, base);
    return place;
  }
  place.uniform = loosened && context->allComeHere() ? lowBits(*context, uniform) : context->toI32(uniform);
  if (elementBytes() != 1)
    place.uniform = context->make<arith::MulIOp>(place.uniform, context->i32(elementBytes()));
  return place;
}

//===-- Matrices of the subgroup ------------------------------------------===//

Value LaneAccess::loadMatrices(Type resultType) const {
  int64_t bytes = elementBytes();
  if (!linear || !array.scratchpad || bits.size() != 5 || bytes > 4 || !llvm::isPowerOf2_64(elements.size()) ||
      !strides.empty())
    return {};
  if ((array.arrangement && array.arrangement.getSwizzleBits() && array.arrangement.getSwizzleBase() < 4) ||
      (divisor * bytes) % 16 != 0 || (constant * bytes) % 16 != 0)
    return {};
  // Elements by their bits.
  unsigned log = llvm::Log2_64(elements.size());
  SmallVector<int64_t> steps;
  for (unsigned b = 0; b < log; ++b)
    steps.push_back(elements[1u << b]);
  for (unsigned e = 0; e < elements.size(); ++e) {
    int64_t total = 0;
    for (unsigned b = 0; b < log; ++b)
      total += (e >> b) & 1 ? steps[b] : 0;
    if (total != elements[e])
      return {};
  }
  int64_t word = 4 / bytes; // elements of 32 bits
  unsigned inWord = llvm::Log2_64(word);
  if (steps.size() < inWord || steps.size() - inWord > 2)
    return {};
  SmallVector<int64_t> rows; // steps of the three bits of the stored row
  bool transposed = false;
  bool straight = bits[0] == word && bits[1] == 2 * word;
  for (unsigned b = 0; b < inWord; ++b)
    straight &= steps[b] == int64_t(1) << b;
  if (straight) {
    rows = {bits[2], bits[3], bits[4]};
  } else if (bytes == 2 && bits[0] == 2 * steps[0] && bits[1] == 4 * steps[0] && bits[2] == 1 && bits[3] == 2 &&
             bits[4] == 4) {
    rows = {steps[0], bits[0], bits[1]};
    transposed = true;
  } else {
    return {};
  }
  SmallVector<int64_t> address(rows);
  unsigned matrices = steps.size() - inWord;
  for (unsigned i = 0; i < 2; ++i)
    address.push_back(i < matrices ? steps[inWord + i] : 0);
  for (int64_t &step : address) {
    step *= bytes;
    if (step % 16 != 0)
      return {};
  }
  SmallVector<Value> words = context->ops.loadMatrices(
      context->builder, context->loc, scratchpadPointer(address, constant * bytes), 1u << matrices, transposed);
  if (words.empty())
    return {};
  return fromWords(words, resultType);
}

Value LaneAccess::loadColumns(Type resultType) const {
  constexpr int64_t group = 16, pieceBytes = 8;
  int64_t bytes = elementBytes(), piece = pieceBytes / bytes;
  if (!linear || !array.scratchpad || bits.size() < 4 || bytes > 2 || elements.size() % piece || !strides.empty())
    return {};
  if ((array.arrangement && array.arrangement.getSwizzleBits() && array.arrangement.getSwizzleBase() < 3) ||
      (divisor * bytes) % pieceBytes || (constant * bytes) % pieceBytes)
    return {};
  // The first lanes go along a row, the first elements from row to row.
  for (unsigned b = 0; b < 4; ++b)
    if (bits[b] != int64_t(1) << b)
      return {};
  int64_t pitch = elements[1] - elements[0];
  for (unsigned e = 0; e < elements.size(); ++e)
    if (elements[e] != elements[e - e % piece] + int64_t(e % piece) * pitch)
      return {};
  SmallVector<int64_t> address;
  for (int64_t step = piece; step < group; step *= 2)
    address.push_back(step * bytes);
  for (int64_t row = 1; row < piece; row *= 2)
    address.push_back(row * pitch * bytes);
  for (int64_t bit : ArrayRef(bits).drop_front(4))
    address.push_back(bit * bytes);
  for (unsigned e = 0; e < elements.size(); e += piece)
    address.push_back(elements[e] * bytes);
  if (llvm::any_of(address, [](int64_t step) { return step % pieceBytes != 0; }))
    return {};
  address.truncate(bits.size());
  SmallVector<Value> words;
  for (unsigned e = 0; e < elements.size(); e += piece) {
    Value from = scratchpadPointer(address, (constant + elements[e]) * bytes);
    Value column = context->ops.loadColumns(context->builder, context->loc, from, bytes);
    if (!column)
      return {};
    auto parts = vector::ToElementsOp::create(context->builder, context->loc, column);
    llvm::append_range(words, parts.getResults());
  }
  return fromWords(words, resultType);
}

Value LaneAccess::fromWords(ValueRange words, Type resultType) const {
  auto type = VectorType::get(int64_t(words.size()), context->builder.getI32Type());
  Value joined = vector::FromElementsOp::create(context->builder, context->loc, type, words);
  auto result = cast<VectorType>(resultType);
  joined = vector::BitCastOp::create(context->builder, context->loc,
                                     VectorType::get(result.getShape(), carrierOf(result.getElementType())), joined);
  return fromCarrier(*context, joined, resultType);
}
