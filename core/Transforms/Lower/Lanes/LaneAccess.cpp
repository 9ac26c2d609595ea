//===- LaneAccess.cpp - Addresses of one lane ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linear parts of an access for each bit, and runs that are one vector.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tilewright;

//===-- Small values ------------------------------------------------------===//

/// Whether all of the builder's block, but for the one operation that ends it, was written before.
bool LaneContext::isAtEnd() const {
  const Block::iterator place = builder.getInsertionPoint(), end = builder.getInsertionBlock()->end();
  return place == end || (std::next(place) == end && place->hasTrait<OpTrait::IsTerminator>());
}

Value LaneContext::expand(AffineExpr expr, ValueRange dims, ValueRange symbols) const {
  return isAtEnd() ? shared.of(builder, loc, expr, dims, symbols)
                   : affine::expandAffineExpr(builder, loc, expr, dims, symbols);
}

Value LaneContext::i32(int64_t value) const {
  return once<arith::ConstantOp>(reinterpret_cast<void *>(value), builder.getI32Type().getAsOpaquePointer(),
                                 [&] { return arith::ConstantIntOp::create(builder, loc, value, 32).getResult(); });
}
Value LaneContext::index(int64_t value) const {
  return once<arith::ConstantOp>(reinterpret_cast<void *>(value), builder.getIndexType().getAsOpaquePointer(),
                                 [&] { return arith::ConstantIndexOp::create(builder, loc, value).getResult(); });
}
static Value cast(const LaneContext &context, Value value, Type type) {
  return context.once<arith::IndexCastUIOp>(value.getAsOpaquePointer(), type.getAsOpaquePointer(), [&] {
    return arith::IndexCastUIOp::create(context.builder, context.loc, type, value).getResult();
  });
}
Value LaneContext::toIndex(Value i32) const { return cast(*this, i32, builder.getIndexType()); }
Value LaneContext::toI32(Value index) const { return cast(*this, index, builder.getI32Type()); }

bool LaneContext::allComeHere() const {
  for (Operation *around = builder.getInsertionBlock()->getParentOp(); around; around = around->getParentOp())
    if (isa<scf::IfOp>(around) && !around->hasAttr(oneWayAttr))
      return false;
  return true;
}

/// sum of bits[b] over the set bits b of `number`; null if it is zero for every number. `scale` makes a step of it: a
/// field of neighbouring bits (i32) times what its lowest one contributes.
static Value sumOfFields(const LaneContext &context, Value number, ArrayRef<int64_t> bits,
                         llvm::function_ref<Value(Value, int64_t)> scale) {
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
      field = context.make<arith::ShRUIOp>(field, context.i32(b));
    field = context.make<arith::AndIOp>(field, context.i32((int64_t(1) << (end - b)) - 1));
    field = scale(field, bits[b]);
    sum = sum ? context.make<arith::AddIOp>(sum, field) : field;
    b = end;
  }
  return sum;
}

Value LaneContext::fromBits(Value number, ArrayRef<int64_t> bits) const {
  return sumOfFields(*this, number, bits, [&](Value field, int64_t step) -> Value {
    return step == 1 ? field : make<arith::MulIOp>(field, i32(step));
  });
}

Value LaneContext::indexFromBits(Value number, ArrayRef<int64_t> bits) const {
  int64_t largest = 0;
  bool narrow = true;
  for (int64_t bit : bits) {
    largest += bit;
    narrow &= bit >= 0 && largest < int64_t(1) << 31;
  }
  if (narrow) {
    Value sum = fromBits(number, bits);
    return sum ? toIndex(sum) : Value();
  }
  return sumOfFields(*this, number, bits, [&](Value field, int64_t step) -> Value {
    field = toIndex(field);
    return step == 1 ? field : make<arith::MulIOp>(field, index(step));
  });
}

Type tilewright::carrierOf(Type element) {
  if (auto type = dyn_cast<FloatType>(element); type && type.getWidth() == 8)
    return IntegerType::get(element.getContext(), 8);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 64);
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

Value tilewright::toCarrier(const LaneContext &context, Value elements) {
  Type type = elements.getType(), carrier = carrierOf(getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    carrier = VectorType::get(vector.getShape(), carrier);
  if (carrier == type)
    return elements;
  if (getElementTypeOrSelf(type).isIndex())
    return arith::IndexCastOp::create(context.builder, context.loc, carrier, elements);
  if (getElementTypeOrSelf(type).isInteger(1))
    return arith::ExtUIOp::create(context.builder, context.loc, carrier, elements);
  return arith::BitcastOp::create(context.builder, context.loc, carrier, elements);
}

Value tilewright::fromCarrier(const LaneContext &context, Value carrier, Type type) {
  if (carrier.getType() == type)
    return carrier;
  OpBuilder &builder = context.builder;
  if (getElementTypeOrSelf(type).isIndex())
    return arith::IndexCastOp::create(builder, context.loc, type, carrier);
  if (getElementTypeOrSelf(type).isInteger(1)) {
    Value zero =
        arith::ConstantOp::create(builder, context.loc, cast<TypedAttr>(builder.getZeroAttr(carrier.getType())));
    return arith::CmpIOp::create(builder, context.loc, arith::CmpIPredicate::ne, carrier, zero);
  }
  return arith::BitcastOp::create(builder, context.loc, type, carrier);
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
        product = step.constant == 1 ? size : context.make<arith::MulIOp>(size, context.index(step.constant));
      else
        product = context.make<arith::MulIOp>(product, size);
      int64_t known = d == int64_t(shape.size()) - 1 ? array.rowMultiple : 1;
      step = {0, product, (step.value ? step.divisor : step.constant) * known};
    } else {
      int64_t size = shape[d];
      if (array.arrangement && d == int64_t(shape.size()) - 1)
        size += array.arrangement.getPadding();
      if (step.value) {
        step.value = context.make<arith::MulIOp>(step.value, context.index(size));
        step.divisor *= size;
      } else {
        step.constant *= size;
      }
    }
  }
  return strides;
}

//===-- Building ----------------------------------------------------------===//

/// The value of `expr` where its dimensions are those of `point`.
static int64_t valueAt(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const int64_t left = valueAt(binary.getLHS(), point), right = valueAt(binary.getRHS(), point);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::Mod:
    return llvm::mod(left, right);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  default:
    return llvm::divideCeilSigned(left, right);
  }
}

/// `elements` at `point`, one number per memref dimension.
static SmallVector<int64_t> evaluate(AffineMap elements, ArrayRef<int64_t> point) {
  return llvm::map_to_vector(elements.getResults(), [&](AffineExpr each) { return valueAt(each, point); });
}

static Point sum(const Point &a, const Point &b) {
  Point result = a;
  for (auto [x, y] : llvm::zip(result, b))
    x += y;
  return result;
}

/// Whether `expr` is a sum of multiples of its dimensions.
static bool isSumOfMultiples(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return true;
  return (binary.getKind() == AffineExprKind::Add || binary.getKind() == AffineExprKind::Mul) &&
         isSumOfMultiples(binary.getLHS()) && isSumOfMultiples(binary.getRHS());
}

/// True if the offsets of (worker, element) are the sum of those of its bits and of the element, for every pair of
/// bits.
static bool isLinear(AffineMap elements, const Distribution &distribution) {
  if (llvm::all_of(elements.getResults(), isSumOfMultiples))
    return true;
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
    access.uniform = access.uniform ? context.make<arith::AddIOp>(access.uniform, term) : term;
    access.divisor = std::gcd(access.divisor, termDivisor);
  };
  SmallVector<int64_t> origin = evaluate(elements, Point(elements.getNumDims(), 0));
  access.apart = array.scratchpad;
  // Below which multiples of the shared part the rest of the position in dimension `d` stays.
  auto tellApart = [&](unsigned d, AffineExpr shared, int64_t offset) {
    auto extent = [&](ArrayRef<Point> points, bool sum) {
      int64_t total = 0;
      for (const Point &point : points) {
        int64_t at = evaluate(elements, point)[d] - origin[d];
        access.apart &= at >= 0;
        total = sum ? total + at : std::max(total, at);
      }
      return total;
    };
    int64_t known = shared.getLargestKnownDivisor(), multiple = known & -known, size = array.type.getDimSize(d);
    int64_t rest = extent(distribution.bits, true) + extent(distribution.elements, false) + offset;
    access.apart &= offset >= 0 && rest < multiple && llvm::isPowerOf2_64(strides[d].constant);
    for (int64_t bit = multiple; bit < size; bit *= 2)
      access.uniformBits |= bit * strides[d].constant;
  };
  access.constants.assign(strides.size(), 0);
  for (unsigned d = 0; d < strides.size(); ++d) {
    AffineExpr expr = context.shared.simplified(map.getResult(d) + origin[d], map.getNumDims(), map.getNumSymbols());
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
    access.hasSign |= !isNeverNegative(expr);
    Value value;
    if (!isa<AffineConstantExpr>(expr))
      value = context.expand(expr, operands.take_front(map.getNumDims()), operands.drop_front(map.getNumDims()));
    if (array.scratchpad && value)
      tellApart(d, expr, offset);
    if (!strides[d].value) {
      access.constants[d] = offset * strides[d].constant;
      access.constant += access.constants[d];
      if (value)
        add(strides[d].constant == 1 ? value : context.make<arith::MulIOp>(value, context.index(strides[d].constant)),
            std::max<int64_t>(1, expr.getLargestKnownDivisor()) * strides[d].constant);
      continue;
    }
    if (offset != 0)
      value = value ? context.make<arith::AddIOp>(value, context.index(offset)) : context.index(offset);
    if (value)
      add(context.make<arith::MulIOp>(value, strides[d].value), strides[d].divisor);
  }

  for (const LaneStride &stride : strides) {
    access.constantStrides.push_back(stride.value ? ShapedType::kDynamic : stride.constant);
    if (stride.value) {
      access.strides.push_back(stride.value);
      access.strideDivisors.push_back(stride.divisor);
    }
  }
  access.elementMap = elements;
  access.distribute(distribution);
  return access;
}

/// What each bit and each element adds.
void LaneAccess::distribute(const Distribution &distribution) {
  SmallVector<int64_t> origin = evaluate(elementMap, Point(elementMap.getNumDims(), 0));
  auto split = [&](ArrayRef<Point> points, SmallVectorImpl<int64_t> &fixed,
                   SmallVectorImpl<SmallVector<int64_t>> &multiples) {
    fixed.clear();
    multiples.assign(strides.size(), {});
    for (const Point &point : points) {
      SmallVector<int64_t> offsets = evaluate(elementMap, point);
      int64_t total = 0;
      unsigned dynamic = 0;
      for (unsigned d = 0; d < offsets.size(); ++d)
        if (!ShapedType::isDynamic(constantStrides[d]))
          total += (offsets[d] - origin[d]) * constantStrides[d];
        else
          multiples[dynamic++].push_back(offsets[d] - origin[d]);
      fixed.push_back(total);
    }
  };
  split(distribution.bits, bits, dynamicBits);
  split(distribution.elements, elements, dynamicElements);
}

LaneAccess LaneAccess::over(const Distribution &distribution) const {
  assert(linear && !array.scratchpad && "places that add up, of an array");
  LaneAccess result = *this;
  result.distribute(distribution);
  return result;
}

int64_t LaneAccess::elementBytes() const { return tilewright::elementBytes(array.type.getElementType()); }

int64_t LaneAccess::alignment(LaneRun run) const {
  int64_t bytes = run.count * elementBytes();
  return loosened && hasPlace(run.first) ? std::min(bytes, std::max(loosened, elementBytes())) : bytes;
}

SmallVector<LaneRun> LaneAccess::runs(int64_t maxBytes) const {
  if (!linear)
    return longestRuns(distribution.elements.size(), [](LaneRun) { return false; });
  // A swizzle moves segments: no access may be wider.
  if (array.arrangement && array.arrangement.getSwizzleBits())
    maxBytes = std::min(maxBytes, int64_t(1) << array.arrangement.getSwizzleBase());
  return longestRuns(elements.size(), [&](LaneRun run) {
    auto [first, count] = run;
    if (int64_t(count) * elementBytes() > maxBytes)
      return false;
    int64_t whole = alignment(run) / elementBytes();
    if ((elements[first] + constant) % whole != 0 || divisor % whole != 0)
      return false;
    if (llvm::any_of(bits, [&](int64_t bit) { return bit % whole != 0; }))
      return false;
    for (auto [divisor, ofBits, ofElements] : llvm::zip(strideDivisors, dynamicBits, dynamicElements)) {
      auto moves = [](int64_t multiple) { return multiple != 0; };
      if (divisor % whole != 0 && (moves(ofElements[first]) || llvm::any_of(ofBits, moves)))
        return false; // a stride of unknown alignment
      if (!llvm::all_equal(ArrayRef(ofElements).slice(first, count)))
        return false; // in several rows
    }
    for (unsigned i = 0; i < count; ++i)
      if (elements[first + i] != elements[first] + i)
        return false;
    return true;
  });
}
