//===- LaneAccess.cpp - Addresses of one lane -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linear parts of an access per bit, vector runs, swizzles, predicates.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaneAccess.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

//===-- Small values ------------------------------------------------------===//

Value LaneContext::i32(int64_t value) const { return arith::ConstantIntOp::create(builder, loc, value, 32); }
Value LaneContext::index(int64_t value) const { return arith::ConstantIndexOp::create(builder, loc, value); }
Value LaneContext::toIndex(Value i32) const {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), i32);
}
Value LaneContext::toI32(Value index) const {
  return arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), index);
}

Value LaneContext::fromBits(Value number, ArrayRef<int64_t> bits) const {
  Value sum;
  for (size_t b = 0; b < bits.size();) {
    if (bits[b] == 0) {
      ++b;
      continue;
    }
    size_t end = b + 1; // a field whose bits move the address by doubling steps
    while (end < bits.size() && bits[end] == bits[b] << (end - b))
      ++end;
    Value field = number;
    if (b > 0)
      field = arith::ShRUIOp::create(builder, loc, field, i32(b));
    field = arith::AndIOp::create(builder, loc, field, i32((int64_t(1) << (end - b)) - 1));
    if (bits[b] != 1)
      field = arith::MulIOp::create(builder, loc, field, i32(bits[b]));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, field).getResult() : field;
    b = end;
  }
  return sum;
}

Type tilewright::carrierOf(Type element) {
  if (auto type = dyn_cast<FloatType>(element); type && type.getWidth() == 8)
    return IntegerType::get(element.getContext(), 8);
  return element;
}

SmallVector<LaneStride> tilewright::stridesOf(const LaneContext &context, const LaneArray &array) {
  ArrayRef<int64_t> shape = array.type.getShape();
  SmallVector<LaneStride> strides(shape.size());
  LaneStride step;
  unsigned dynamic = array.sizes.size();
  for (int64_t d = shape.size() - 1; d >= 0; --d) {
    strides[d] = step;
    if (ShapedType::isDynamic(shape[d])) {
      Value size = array.sizes[--dynamic];
      Value product = step.value ? step.value : Value();
      if (!product)
        product = step.constant == 1
                      ? size
                      : arith::MulIOp::create(context.builder, context.loc, size, context.index(step.constant));
      else
        product = arith::MulIOp::create(context.builder, context.loc, product, size);
      step = {0, product};
    } else {
      int64_t size = shape[d];
      if (array.arrangement && d == int64_t(shape.size()) - 1)
        size += array.arrangement.getPadding();
      if (step.value)
        step.value = arith::MulIOp::create(context.builder, context.loc, step.value, context.index(size));
      else
        step.constant *= size;
    }
  }
  return strides;
}

//===-- Building ----------------------------------------------------------===//

/// `elements` at `point`, one number per memref dimension.
static SmallVector<int64_t> evaluate(AffineMap elements, ArrayRef<int64_t> point) {
  SmallVector<Attribute> constants, results;
  Builder builder(elements.getContext());
  for (int64_t value : point)
    constants.push_back(builder.getIndexAttr(value));
  (void)elements.constantFold(constants, results);
  SmallVector<int64_t> offsets;
  for (Attribute result : results)
    offsets.push_back(cast<IntegerAttr>(result).getInt());
  return offsets;
}

static Point sum(const Point &a, const Point &b) {
  Point result = a;
  for (auto [x, y] : llvm::zip(result, b))
    x += y;
  return result;
}

/// True if the offsets of (worker, element) are the sum of those of its bits and of the element, for every pair of
/// bits.
static bool isLinear(AffineMap elements, const Distribution &distribution) {
  auto at = [&](const Point &point) { return evaluate(elements, point); };
  Point zero(elements.getNumDims(), 0);
  SmallVector<int64_t> origin = at(zero);
  auto moves = [&](const Point &base, const Point &step) {
    SmallVector<int64_t> from = at(base), to = at(sum(base, step)), alone = at(step);
    for (unsigned i = 0; i < from.size(); ++i)
      if (to[i] - from[i] != alone[i] - origin[i])
        return false;
    return true;
  };
  Point all = zero;
  for (const Point &bit : distribution.bits) {
    if (!moves(all, bit))
      return false;
    all = sum(all, bit);
  }
  for (const Point &element : distribution.elements)
    for (const Point &base : {zero, all})
      if (!moves(base, element))
        return false;
  for (const Point &bit : distribution.bits)
    for (const Point &element : distribution.elements)
      if (!moves(element, bit))
        return false;
  return true;
}

FailureOr<LaneAccess> LaneAccess::create(const LaneContext &context, const LaneArray &array, AffineMap map,
                                         ValueRange operands, AffineMap elements, const Distribution &distribution) {
  LaneAccess access(context, array);
  access.number = distribution.number;
  OpBuilder &builder = context.builder;
  if (!isLinear(elements, distribution)) {
    if (array.scratchpad)
      return failure();
    access.linear = false;
    access.map = map;
    access.elementMap = elements;
    access.operands = llvm::to_vector(operands);
    access.distribution = distribution;
    return access;
  }
  SmallVector<LaneStride> strides = stridesOf(context, array);
  MLIRContext *mlir = map.getContext();

  // The part that all workers share.
  auto add = [&](Value term, int64_t termDivisor) {
    access.uniform =
        access.uniform ? arith::AddIOp::create(builder, context.loc, access.uniform, term).getResult() : term;
    access.divisor = std::gcd(access.divisor, termDivisor);
  };
  SmallVector<int64_t> origin = evaluate(elements, Point(elements.getNumDims(), 0));
  for (unsigned d = 0; d < strides.size(); ++d) {
    AffineExpr expr = simplifyAffineExpr(map.getResult(d) + origin[d], map.getNumDims(), map.getNumSymbols());
    int64_t offset = 0;
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      offset = constant.getValue();
      expr = getAffineConstantExpr(0, mlir);
    } else if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr); binary && binary.getKind() == AffineExprKind::Add) {
      if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
        offset = constant.getValue();
        expr = binary.getLHS();
      }
    }
    Value value;
    if (!isa<AffineConstantExpr>(expr))
      value = affine::expandAffineExpr(builder, context.loc, expr, operands.take_front(map.getNumDims()),
                                       operands.drop_front(map.getNumDims()));
    if (!strides[d].value) {
      access.constant += offset * strides[d].constant;
      if (value)
        add(strides[d].constant == 1
                ? value
                : arith::MulIOp::create(builder, context.loc, value, context.index(strides[d].constant)),
            std::max<int64_t>(1, expr.getLargestKnownDivisor()) * strides[d].constant);
      continue;
    }
    if (offset != 0)
      value = value ? arith::AddIOp::create(builder, context.loc, value, context.index(offset)).getResult()
                    : context.index(offset);
    if (value)
      add(arith::MulIOp::create(builder, context.loc, value, strides[d].value), 1);
  }

  // What each bit and each element adds.
  SmallVector<unsigned> dynamic;
  for (unsigned d = 0; d < strides.size(); ++d)
    if (strides[d].value) {
      dynamic.push_back(d);
      access.strides.push_back(strides[d].value);
    }
  auto split = [&](const Point &point, SmallVectorImpl<int64_t> &fixed,
                   SmallVectorImpl<SmallVector<int64_t>> &multiples) {
    SmallVector<int64_t> offsets = evaluate(elements, point);
    int64_t total = 0;
    multiples.resize(dynamic.size());
    for (unsigned d = 0; d < offsets.size(); ++d)
      if (!strides[d].value)
        total += (offsets[d] - origin[d]) * strides[d].constant;
    for (auto [i, d] : llvm::enumerate(dynamic))
      multiples[i].push_back(offsets[d] - origin[d]);
    fixed.push_back(total);
  };
  for (const Point &bit : distribution.bits)
    split(bit, access.bits, access.dynamicBits);
  for (const Point &element : distribution.elements)
    split(element, access.elements, access.dynamicElements);
  return access;
}

int64_t LaneAccess::elementBytes() const { return std::max(1u, array.type.getElementTypeBitWidth() / 8); }

SmallVector<LaneRun> LaneAccess::runs(int64_t maxBytes) const {
  SmallVector<LaneRun> result;
  if (!linear) {
    for (unsigned e = 0; e < distribution.elements.size(); ++e)
      result.push_back({e, 1});
    return result;
  }
  // A swizzle moves pieces: no access may be wider.
  if (array.arrangement && array.arrangement.getSwizzleBits())
    maxBytes = std::min(maxBytes, int64_t(1) << array.arrangement.getSwizzleBase());
  auto fits = [&](unsigned first, unsigned count) {
    if (first + count > elements.size() || int64_t(count) * elementBytes() > maxBytes)
      return false;
    if ((elements[first] + constant) % count != 0 || divisor % count != 0)
      return false;
    if (llvm::any_of(bits, [&](int64_t bit) { return bit % count != 0; }))
      return false;
    for (ArrayRef<int64_t> multiples : dynamicBits)
      if (llvm::any_of(multiples, [](int64_t multiple) { return multiple != 0; }))
        return false; // a stride of unknown alignment
    for (unsigned i = 0; i < count; ++i) {
      if (elements[first + i] != elements[first] + i)
        return false;
      for (ArrayRef<int64_t> multiples : dynamicElements)
        if (multiples[first + i] != 0)
          return false;
    }
    return true;
  };
  for (unsigned e = 0; e < elements.size();) {
    unsigned count = 16;
    while (count > 1 && !fits(e, count))
      count /= 2;
    result.push_back({e, count});
    e += count;
  }
  return result;
}

//===-- Pointers ----------------------------------------------------------===//

static Value offsetPointer(const LaneContext &context, Value pointer, Type element, Value offset, int64_t constant) {
  Type type = pointer.getType();
  if (offset) {
    if (offset.getType().isIndex())
      offset = arith::IndexCastOp::create(context.builder, context.loc, context.builder.getI64Type(), offset);
    pointer = LLVM::GEPOp::create(context.builder, context.loc, type, element, pointer, ArrayRef<LLVM::GEPArg>{offset});
  }
  if (constant)
    pointer = LLVM::GEPOp::create(context.builder, context.loc, type, element, pointer,
                                  ArrayRef<LLVM::GEPArg>{int32_t(constant)});
  return pointer;
}

Value LaneAccess::scratchpadPointer(ArrayRef<int64_t> bitBytes, int64_t constantBytes) const {
  OpBuilder &builder = context->builder;
  Location loc = context->loc;
  Type byte = builder.getI8Type();
  Value base;
  if (uniform) {
    base = context->toI32(uniform);
    if (elementBytes() != 1)
      base = arith::MulIOp::create(builder, loc, base, context->i32(elementBytes()));
  }
  Value lanes = number ? context->fromBits(number, bitBytes) : Value();
  auto plus = [&](Value a, Value b) -> Value {
    return !a ? b : !b ? a : arith::AddIOp::create(builder, loc, a, b).getResult();
  };
  int64_t width = array.arrangement ? array.arrangement.getSwizzleBits() : 0;
  if (width == 0)
    return offsetPointer(*context, array.pointer, byte, plus(base, lanes), constantBytes);

  int64_t from = array.arrangement.getSwizzleBase(), shift = array.arrangement.getSwizzleShift();
  int64_t mask = ((int64_t(1) << width) - 1) << from, period = int64_t(1) << (from + width + shift);
  auto swizzled = [&](int64_t offset) { return offset ^ ((offset >> shift) & mask); };
  auto swizzle = [&](Value offset) -> Value {
    Value high = arith::ShRUIOp::create(builder, loc, offset, context->i32(shift));
    high = arith::AndIOp::create(builder, loc, high, context->i32(mask));
    return arith::XOrIOp::create(builder, loc, offset, high);
  };
  // Below the period all parts are combined by XOR if their bits are apart.
  int64_t laneMask = 0, low = constantBytes & (period - 1), high = constantBytes - low;
  bool apart = !uniform || (divisor * elementBytes()) % period == 0;
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
  int64_t step = swizzled(low);
  if (!lanes)
    return offsetPointer(*context, array.pointer, byte, base, high + step);
  Value within = swizzle(lanes);
  int64_t reached = laneMask | ((laneMask >> shift) & mask);
  if ((reached & step) == 0) // no carry: the constant can stand in the instruction
    return offsetPointer(*context, array.pointer, byte, plus(base, within), high + step);
  within = arith::XOrIOp::create(builder, loc, within, context->i32(step));
  return offsetPointer(*context, array.pointer, byte, plus(base, within), high);
}

/// Offset of element `e`, from its position.
Value LaneAccess::general(unsigned e) const {
  OpBuilder &builder = context->builder;
  Location loc = context->loc;
  SmallVector<Value> position;
  for (unsigned d = 0; d < elementMap.getNumDims(); ++d) {
    SmallVector<int64_t> steps;
    for (const Point &bit : distribution.bits)
      steps.push_back(bit[d]);
    Value lane = distribution.number ? context->fromBits(distribution.number, steps) : Value();
    Value fixed = context->index(distribution.elements[e][d]);
    position.push_back(lane ? arith::AddIOp::create(builder, loc, context->toIndex(lane), fixed).getResult() : fixed);
  }
  Value offset;
  for (auto [d, stride] : llvm::enumerate(stridesOf(*context, array))) {
    ValueRange all(operands);
    Value base = affine::expandAffineExpr(builder, loc, map.getResult(d), all.take_front(map.getNumDims()),
                                          all.drop_front(map.getNumDims()));
    Value own = affine::expandAffineExpr(builder, loc, elementMap.getResult(d), position, {});
    Value term = arith::AddIOp::create(builder, loc, base, own);
    term = arith::MulIOp::create(builder, loc, term, stride.value ? stride.value : context->index(stride.constant));
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term).getResult() : term;
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
  OpBuilder &builder = context->builder;
  Location loc = context->loc;
  Value offset = uniform;
  auto add = [&](Value term) {
    offset = offset ? arith::AddIOp::create(builder, loc, offset, term).getResult() : term;
  };
  if (number)
    if (Value lanes = context->fromBits(number, bits))
      add(context->toIndex(lanes));
  for (auto [i, stride] : llvm::enumerate(strides)) {
    Value multiple = number ? context->fromBits(number, dynamicBits[i]) : Value();
    Value total = multiple ? context->toIndex(multiple) : Value();
    if (int64_t fixed = dynamicElements[i][e])
      total =
          total ? arith::AddIOp::create(builder, loc, total, context->index(fixed)).getResult() : context->index(fixed);
    if (total)
      add(arith::MulIOp::create(builder, loc, total, stride));
  }
  return offsetPointer(*context, array.pointer, carrierOf(array.type.getElementType()), offset, constant + elements[e]);
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
  auto type = VectorType::get(int64_t(words.size()), context->builder.getI32Type());
  Value joined = vector::FromElementsOp::create(context->builder, context->loc, type, words);
  auto result = cast<VectorType>(resultType);
  joined = vector::BitCastOp::create(context->builder, context->loc,
                                     VectorType::get(result.getShape(), carrierOf(result.getElementType())), joined);
  if (joined.getType() != resultType)
    joined = arith::BitcastOp::create(context->builder, context->loc, resultType, joined);
  return joined;
}

//===-- Vectors -----------------------------------------------------------===//

Value tilewright::insideAll(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
                            unsigned first, unsigned count) {
  Value inside;
  for (auto [d, extent] : llvm::enumerate(valid)) {
    if (!extent)
      continue;
    SmallVector<int64_t> bits;
    for (const Point &bit : distribution.bits)
      bits.push_back(bit[d]);
    int64_t last = 0;
    for (unsigned e = first; e < first + count; ++e)
      last = std::max(last, distribution.elements[e][d]);
    Value lane = distribution.number ? context.fromBits(distribution.number, bits) : Value();
    Value position = lane ? context.toIndex(lane) : context.index(0);
    if (last)
      position = arith::AddIOp::create(context.builder, context.loc, position, context.index(last));
    Value below = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::slt, position, extent);
    inside = inside ? arith::AndIOp::create(context.builder, context.loc, inside, below).getResult() : below;
  }
  return inside;
}

/// Type of one run: a scalar, or a vector.
static Type runType(Type element, unsigned count) {
  return count == 1 ? element : VectorType::get(int64_t(count), element);
}

Value tilewright::loadElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, VectorType type) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  bool checked = llvm::any_of(valid, [](Value extent) { return bool(extent); });
  if (!checked)
    if (Value matrices = access.loadMatrices(type))
      return matrices;
  Type carrier = carrierOf(type.getElementType());
  auto vectorType = VectorType::get(type.getShape(), carrier);
  auto load = [&](unsigned e, unsigned count) -> Value {
    return LLVM::LoadOp::create(builder, loc, runType(carrier, count), access.pointer(e),
                                access.elementBytes() * count);
  };
  auto insert = [&](Value run, Value vector, unsigned e, unsigned count) -> Value {
    if (count == 1)
      return vector::InsertOp::create(builder, loc, run, vector, e);
    return vector::InsertStridedSliceOp::create(builder, loc, run, vector, ArrayRef<int64_t>{int64_t(e)},
                                                ArrayRef<int64_t>{1});
  };
  Value result;
  SmallVector<LaneRun> runs = access.runs(16);
  for (LaneRun run : runs) {
    auto guarded = [&](unsigned e, unsigned count, auto &&otherwise) -> Value {
      Value inside = insideAll(context, distribution, valid, e, count);
      if (!inside)
        return load(e, count);
      auto branch = scf::IfOp::create(builder, loc, runType(carrier, count), inside, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(builder, loc, load(e, count));
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, loc, otherwise());
      return branch.getResult(0);
    };
    auto zero = [&](unsigned count) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(runType(carrier, count)));
    };
    Value value = guarded(run.first, run.count, [&]() -> Value {
      if (run.count == 1)
        return zero(1);
      Value vector = zero(run.count);
      for (unsigned i = 0; i < run.count; ++i)
        vector = insert(guarded(run.first + i, 1, [&] { return zero(1); }), vector, i, 1);
      return vector;
    });
    if (runs.size() == 1 && run.count > 1) {
      result = value;
      break;
    }
    if (!result)
      result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    result = insert(value, result, run.first, run.count);
  }
  return result.getType() == type ? result : arith::BitcastOp::create(builder, loc, type, result).getResult();
}

void tilewright::storeElements(const LaneContext &context, const LaneAccess &access, const Distribution &distribution,
                               const ValidExtents &valid, Value vector) {
  OpBuilder &builder = context.builder;
  Location loc = context.loc;
  auto type = cast<VectorType>(vector.getType());
  Type carrier = carrierOf(type.getElementType());
  if (carrier != type.getElementType())
    vector = arith::BitcastOp::create(builder, loc, VectorType::get(type.getShape(), carrier), vector);
  auto store = [&](unsigned e, unsigned count) {
    Value value = count == 1
                      ? vector::ExtractOp::create(builder, loc, vector, int64_t(e)).getResult()
                      : vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{int64_t(e)},
                                                              ArrayRef<int64_t>{int64_t(count)}, ArrayRef<int64_t>{1})
                            .getResult();
    LLVM::StoreOp::create(builder, loc, value, access.pointer(e), access.elementBytes() * count);
  };
  for (LaneRun run : access.runs(16)) {
    Value inside = insideAll(context, distribution, valid, run.first, run.count);
    if (!inside) {
      store(run.first, run.count);
      continue;
    }
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/run.count > 1);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    store(run.first, run.count);
    if (run.count == 1)
      continue;
    builder.setInsertionPointToStart(branch.elseBlock());
    for (unsigned i = 0; i < run.count; ++i) {
      auto single = scf::IfOp::create(builder, loc, insideAll(context, distribution, valid, run.first + i, 1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(single.thenBlock());
      store(run.first + i, 1);
    }
  }
}
