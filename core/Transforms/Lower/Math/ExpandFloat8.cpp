//===- ExpandFloat8.cpp - Conversions of short floats by their bits -------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sign, an exponent, and `fraction` bits below the point; what differs:
///
///                 fraction  bias  largest          beyond it    infinity  NaN               -0
///   f8E4M3FN      3         7     448 (0x7e)       NaN          none      0x7f, 0xff        yes
///   f8E5M2        2         15    57344 (0x7b)     infinity     0x7c      0x7d .. 0x7f      yes
///   f8E4M3FNUZ    3         8     240 (0x7f)       NaN          none      0x80              no
///   f8E5M2FNUZ    2         16    57344 (0x7f)     NaN          none      0x80              no
///   f8E8M0FNU     0         127   2^127 (0xfe)     NaN          none      0xff              no
///   f6E2M3FN      3         1     7.5 (0x1f)       the largest  none      none              yes
///   f6E3M2FN      2         3     28 (0x1f)        the largest  none      none              yes
///   f4E2M1FN      1         1     6 (0x7)          the largest  none      none              yes
///
/// To f32 by way of f16, which chips convert: exponent and fraction move to their
/// place in an f16 whose bias is larger, so that it is 2^(15 - bias) too small;
/// the product is exact, subnormal numbers too. f8E5M2 is the upper half of an
/// f16. The largest exponent of f8E5M2FNUZ would be an infinity there: its fields
/// move into those of f32, and a subnormal number gets the exponent of the
/// smallest normal one, which is subtracted again. So do those of 4 and 6 bits. f8E8M0FNU, without a sign and a
/// zero, is the exponent of the wider float; an f64 is made of it directly, since its
/// smallest number is subnormal in f32.
///
/// From f32: rounded to nearest even by adding half a unit in the last place;
/// subnormal results by adding the number whose last place is theirs. To f8E8M0FNU:
/// the exponent alone, as in MLIR.
///
/// No step has a subnormal f32 as operand or result.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Lower/Math/NarrowDoubles.h"
#include "core/Transforms/Lower/Math/SingleArithmetic.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDFLOAT8
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct Format {
  int fraction, bias;
  int64_t largest; // its code
  int64_t beyond;  // code of what is larger
  bool hasInfinity = false, hasNegativeZero = true;
  unsigned width = 8;
  bool isFinite() const { return width < 8; } // neither infinities nor NaN
  int64_t signBit() const { return int64_t(1) << (width - 1); }
};

std::optional<Format> formatOf(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 7, 0x7E, 0x7F};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 15, 0x7B, 0x7C, /*hasInfinity=*/true};
  if (isa<Float8E4M3FNUZType>(type))
    return Format{3, 8, 0x7F, 0x80, false, /*hasNegativeZero=*/false};
  if (isa<Float8E5M2FNUZType>(type))
    return Format{2, 16, 0x7F, 0x80, false, /*hasNegativeZero=*/false};
  if (isa<Float8E8M0FNUType>(type))
    return Format{0, 127, 0xFE, 0xFF, false, /*hasNegativeZero=*/false};
  if (isa<Float6E2M3FNType>(type))
    return Format{3, 1, 0x1F, 0x1F, false, true, /*width=*/6};
  if (isa<Float6E3M2FNType>(type))
    return Format{2, 3, 0x1F, 0x1F, false, true, /*width=*/6};
  if (isa<Float4E2M1FNType>(type))
    return Format{1, 1, 0x7, 0x7, false, true, /*width=*/4};
  return std::nullopt;
}

/// Arithmetic on 32-bit words, one or a vector of them.
class Words {
public:
  Words(Operation *op, Format format)
      : b(op->getLoc(), op), f(format), shape(op->getOperand(0).getType()), i32(like(b.getI32Type())),
        f32(like(b.getF32Type())) {}

  Type like(Type element) const {
    if (auto shaped = dyn_cast<ShapedType>(shape))
      return shaped.clone(element);
    return element;
  }

  /// The f16 of the file's comment.
  Value half(Value narrow) {
    Type i16 = like(b.getI16Type());
    Value byte = arith::BitcastOp::create(b, like(b.getI8Type()), narrow), moved;
    if (f.fraction == 2) {
      moved = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i16, byte), number(8, i16));
    } else { // the sign goes up by one more than the rest
      moved = arith::ShLIOp::create(b, arith::ExtSIOp::create(b, i16, byte), number(7, i16));
      moved = arith::AndIOp::create(b, moved, number(0xBFFF, i16));
    }
    return bits(moved, like(b.getF16Type()));
  }

  /// Whether the 8-bit float is NaN, of a format without infinities.
  Value isNaN(Value narrow) {
    Type i8 = like(b.getI8Type());
    Value byte = arith::BitcastOp::create(b, i8, narrow);
    if (f.hasNegativeZero)
      byte = arith::AndIOp::create(b, byte, number(0x7F, i8));
    return arith::CmpIOp::create(b, P::eq, byte, number(f.beyond, i8));
  }

  /// An f32 of the 8-bit float's value; NaN may have become a number where the format has no infinities.
  Value widen(Value narrow) {
    if (f.isFinite() || (f.fraction == 2 && !f.hasInfinity))
      return widenFields(narrow);
    Value single = arith::ExtFOp::create(b, f32, half(narrow));
    if (f.bias == 15)
      return single;
    return arith::MulFOp::create(b, single, real(std::ldexp(1.0, 15 - f.bias)));
  }

  /// The bits of a short float as a word, of which the lower ones count. Those that lie in bytes are not moved.
  Value codeOf(Value narrow) {
    if (auto bits = narrow.getDefiningOp<arith::BitcastOp>())
      if (auto low = bits.getIn().getDefiningOp<arith::TruncIOp>();
          low && getElementTypeOrSelf(low.getIn().getType()).isInteger(8))
        return arith::ExtUIOp::create(b, i32, low.getIn());
    return arith::ExtUIOp::create(b, i32, arith::BitcastOp::create(b, like(b.getIntegerType(f.width)), narrow));
  }

  Value widenFields(Value narrow) {
    Value word = codeOf(narrow);
    Value sign = left(both(word, f.signBit()), 32 - f.width), magnitude = both(word, f.signBit() - 1);
    Value moved = left(magnitude, 23 - f.fraction);
    Value normal = add(moved, number(int64_t(127 - f.bias) << 23));
    Value lifted = arith::OrIOp::create(b, moved, number(int64_t(128 - f.bias) << 23));
    Value small = bits(arith::SubFOp::create(b, bits(lifted, f32), real(std::ldexp(1.0, 1 - f.bias))), i32);
    Value value = select(compare(P::ult, magnitude, int64_t(1) << f.fraction), small, normal);
    return bits(arith::OrIOp::create(b, value, sign), f32);
  }

  /// A float of `width` bits, `fraction` of them below the point, of an f8E8M0FNU; `bias` is that of its exponent.
  Value power(Value narrow, unsigned width, unsigned fraction, int bias) {
    Type word = like(b.getIntegerType(width)), i8 = like(b.getI8Type());
    Value byte = arith::BitcastOp::create(b, i8, narrow), exponent = arith::ExtUIOp::create(b, word, byte);
    if (bias != f.bias)
      exponent = add(exponent, number(bias - f.bias, word));
    Value bits = arith::ShLIOp::create(b, exponent, number(fraction, word));
    if (bias == f.bias) { // 2^-127, half of the smallest normal number
      Value isLeast = arith::CmpIOp::create(b, P::eq, byte, number(0, i8));
      bits = select(isLeast, number(int64_t(1) << (fraction - 1), word), bits);
    }
    int64_t nan = (((int64_t(2) * bias + 1) << 1) | 1) << (fraction - 1); // the exponent and the quiet bit
    return select(isNaN(narrow), number(nan, word), bits);
  }

  /// The 8-bit float from the bits of an f32.
  Value narrow(Value word, Type to) {
    if (f.fraction == 0)
      return arith::BitcastOp::create(b, to, arith::TruncIOp::create(b, like(b.getI8Type()), right(word, 23)));
    int drop = 23 - f.fraction;
    Value sign = both(right(word, 32 - f.width), f.signBit()), magnitude = both(word, 0x7FFFFFFF);
    Value odd = both(right(magnitude, drop), 1);
    Value rounded = add(add(magnitude, number((int64_t(1) << (drop - 1)) - 1)), odd);
    Value normal = right(add(rounded, number(-(int64_t(127 - f.bias) << 23))), drop);
    double unit = std::ldexp(1.0, 24 - f.bias - f.fraction); // its last place is that of subnormal results
    Value shifted = arith::AddFOp::create(b, bits(magnitude, f32), real(unit));
    Value small = add(bits(shifted, i32), number(-int64_t(llvm::bit_cast<uint32_t>(float(unit)))));
    Value finite = select(compare(P::ult, magnitude, int64_t(128 - f.bias) << 23), small, normal);
    Value tooLarge = compare(P::ugt, finite, f.largest), code;
    if (f.hasNegativeZero) {
      Value beyond = number(f.beyond);
      if (f.hasInfinity)
        beyond = select(compare(P::ugt, magnitude, 0x7F800000), number(f.beyond | 2), beyond);
      code = arith::OrIOp::create(b, select(tooLarge, beyond, finite), sign);
    } else {
      Value zero = compare(P::eq, finite, 0);
      code = select(tooLarge, number(f.beyond), select(zero, number(0), arith::OrIOp::create(b, finite, sign)));
    }
    return arith::BitcastOp::create(b, to, arith::TruncIOp::create(b, like(b.getIntegerType(f.width)), code));
  }

  Value bits(Value x, Type type) { return arith::BitcastOp::create(b, type, x); }
  Value right(Value x, int64_t y) { return arith::ShRUIOp::create(b, x, number(y)); }
  /// `number` in all elements of `type`, words of 32 bits or fewer.
  Value number(int64_t number, Type type) {
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    return splat(
        b.getIntegerAttr(b.getIntegerType(width), APInt(width, uint64_t(number), false, /*implicitTrunc=*/true)), type);
  }
  Value real(double value) { return splat(b.getF32FloatAttr(float(value)), f32); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }

  ImplicitLocOpBuilder b;
  Format f;
  Type shape, i32, f32;

private:
  using P = arith::CmpIPredicate;

  Value splat(TypedAttr scalar, Type type) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(shaped, Attribute(scalar)));
    return arith::ConstantOp::create(b, scalar);
  }
  Value number(int64_t value) { return number(value, i32); }
  Value compare(P predicate, Value x, int64_t y) { return arith::CmpIOp::create(b, predicate, x, number(y)); }
  Value both(Value x, int64_t y) { return arith::AndIOp::create(b, x, number(y)); }
  Value left(Value x, int64_t y) { return arith::ShLIOp::create(b, x, number(y)); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
};

/// `op`'s result; all values of 8-bit floats are exact in the other types.
Value expand(arith::ExtFOp op, Format format) {
  Words words(op, format);
  ImplicitLocOpBuilder &b = words.b;
  Type to = getElementTypeOrSelf(op.getType());
  if (format.fraction == 0) {
    if (to.isF64())
      return words.bits(words.power(op.getIn(), 64, 52, 1023), op.getType());
    if (to.isBF16())
      return words.bits(words.power(op.getIn(), 16, 7, 127), op.getType());
    Value single = words.bits(words.power(op.getIn(), 32, 23, 127), words.f32);
    return to.isF32() ? single : arith::TruncFOp::create(b, op.getType(), single).getResult();
  }
  if (to.isF16() && format.hasInfinity)
    return words.half(op.getIn());
  Value single = words.widen(op.getIn());
  if (to.isBF16()) { // the upper half
    Type i16 = words.like(b.getI16Type());
    Value upper = arith::TruncIOp::create(b, i16, words.right(words.bits(single, words.i32), 16));
    if (!format.hasInfinity && !format.isFinite())
      upper = words.select(words.isNaN(op.getIn()), words.number(0x7FC0, i16), upper);
    return words.bits(upper, op.getType());
  }
  if (!format.hasInfinity && !format.isFinite())
    single = words.select(words.isNaN(op.getIn()), words.real(std::numeric_limits<float>::quiet_NaN()), single);
  if (to.isF32())
    return single;
  if (std::optional<Format> wider = formatOf(to)) {
    Words held(op, *wider);
    return held.narrow(held.bits(single, held.i32), op.getType());
  }
  if (to.isF16())
    return arith::TruncFOp::create(b, op.getType(), single);
  return arith::ExtFOp::create(b, op.getType(), single);
}

Value expand(arith::TruncFOp op, Format format) {
  Words words(op, format);
  Value single = op.getIn();
  if (!getElementTypeOrSelf(single.getType()).isF32()) {
    auto wide = arith::ExtFOp::create(words.b, words.f32, single);
    single = wide;
    if (std::optional<Format> from = formatOf(getElementTypeOrSelf(op.getIn().getType()))) {
      single = expand(wide, *from);
      wide.erase();
    }
  }
  return words.narrow(words.bits(single, words.i32), op.getType());
}

struct ExpandFloat8 : tilewright::impl::ExpandFloat8Base<ExpandFloat8> {
  /// Numbers of 4 and 6 bits that an f8E4M3FN held between two operations are converted as they are: it holds them all.
  void skipExactConversions() {
    auto heldIn = [](Value value) -> Value { // null: no such number
      if (!isa<Float8E4M3FNType>(getElementTypeOrSelf(value.getType())))
        return {};
      if (auto held = value.getDefiningOp<arith::TruncFOp>())
        value = held.getIn();
      auto first = value.getDefiningOp<arith::ExtFOp>();
      return first && tilewright::isSubByteFloat(getElementTypeOrSelf(first.getIn().getType())) ? first.getIn()
                                                                                                : Value();
    };
    getOperation()->walk([&](Operation *op) {
      Value number = isa<arith::ExtFOp, arith::TruncFOp>(op) ? heldIn(op->getOperand(0)) : Value();
      if (!number)
        return;
      if (isa<arith::ExtFOp>(op))
        op->setOperand(0, number);
      else if (number.getType() == op->getResult(0).getType())
        op->getResult(0).replaceAllUsesWith(number);
    });
  }

  void runOnOperation() override {
    skipExactConversions();
    tilewright::narrowDoubles(getOperation(), /*mostBits=*/8);
    // The one operation that upstream's passes leave on 8-bit floats.
    tilewright::fuseInSingle(getOperation(), [](Type type) { return formatOf(type).has_value(); });
    SmallVector<Operation *> conversions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        conversions.push_back(op);
    });
    for (Operation *op : conversions) {
      Value result;
      if (auto ext = dyn_cast<arith::ExtFOp>(op)) {
        if (auto format = formatOf(getElementTypeOrSelf(ext.getIn().getType())))
          result = expand(ext, *format);
      } else if (auto trunc = cast<arith::TruncFOp>(op)) {
        if (auto format = formatOf(getElementTypeOrSelf(trunc.getType())))
          result = expand(trunc, *format);
      }
      if (!result)
        continue;
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};

} // namespace
