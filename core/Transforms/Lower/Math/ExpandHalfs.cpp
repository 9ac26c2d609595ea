//===- ExpandHalfs.cpp - Conversions of f16 by their bits -------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// f16 to f32: exponent and fraction as an f32 that is 2^112 too small; the
/// product is exact, subnormal numbers too. f32 to f16: rounded to nearest even by
/// adding half a unit in the last place; subnormal results by adding 0.5, whose
/// last place is theirs.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Math/NarrowDoubles.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDHALFS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {
/// Integer arithmetic on 32 bits.
struct HalfWords {
  ImplicitLocOpBuilder b;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();

  Value number(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value operator()(arith::CmpIPredicate predicate, Value x, int64_t y) {
    return arith::CmpIOp::create(b, predicate, x, number(y));
  }
  Value bits(Value x, Type type) { return arith::BitcastOp::create(b, type, x); }
  Value both(Value x, int64_t y) { return arith::AndIOp::create(b, x, number(y)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value left(Value x, int64_t y) { return arith::ShLIOp::create(b, x, number(y)); }
  Value right(Value x, int64_t y) { return arith::ShRUIOp::create(b, x, number(y)); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value real(double value) { return arith::ConstantFloatOp::create(b, b.getF32Type(), llvm::APFloat(float(value))); }

  Value widen(Value half) {
    Value word = arith::ExtUIOp::create(b, i32, arith::BitcastOp::create(b, b.getI16Type(), half));
    Value sign = left(both(word, 0x8000), 16), magnitude = both(word, 0x7FFF);
    Value scaled = arith::MulFOp::create(b, bits(left(magnitude, 13), f32), real(0x1p112));
    Value plain = bits(scaled, i32);
    Value special = (*this)(arith::CmpIPredicate::ugt, magnitude, 0x7BFF); // infinity or NaN
    return bits(either(select(special, either(plain, number(0x7F800000)), plain), sign), f32);
  }
  Value narrow(Value x) {
    Value word = bits(x, i32), sign = both(right(word, 16), 0x8000), magnitude = both(word, 0x7FFFFFFF);
    Value last = right(magnitude, 13);
    Value rounded = add(add(magnitude, number(0xFFF)), both(last, 1));
    Value normal = right(add(rounded, number(-(112 << 23))), 13);
    Value shifted = arith::AddFOp::create(b, bits(magnitude, f32), real(0.5));
    Value subnormal = add(bits(shifted, i32), number(-0x3F000000));
    using P = arith::CmpIPredicate;
    Value finite = select((*this)(P::ult, magnitude, 113 << 23), subnormal, normal);
    Value numeric = select((*this)(P::uge, magnitude, 0x477FF000), number(0x7C00), finite); // rounds to infinity
    Value quiet = either(both(last, 0x1FF), number(0x7E00));
    Value value = either(select((*this)(P::ugt, magnitude, 0x7F800000), quiet, numeric), sign);
    return arith::BitcastOp::create(b, b.getF16Type(), arith::TruncIOp::create(b, b.getI16Type(), value));
  }
};

struct ExpandHalfs : tilewright::impl::ExpandHalfsBase<ExpandHalfs> {
  void runOnOperation() override {
    tilewright::narrowDoubles(getOperation());
    SmallVector<Operation *> conversions;
    getOperation().walk([&](Operation *op) {
      if ((isa<arith::ExtFOp>(op) && op->getOperand(0).getType().isF16()) ||
          (isa<arith::TruncFOp>(op) && op->getResult(0).getType().isF16()))
        conversions.push_back(op);
    });
    for (Operation *op : conversions) {
      HalfWords words{ImplicitLocOpBuilder(op->getLoc(), op)};
      Value from = op->getOperand(0), result;
      Type to = op->getResult(0).getType();
      if (isa<arith::ExtFOp>(op)) {
        result = words.widen(from);
        if (to != words.f32)
          result = arith::ExtFOp::create(words.b, to, result);
      } else {
        result = words.narrow(from);
      }
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};
} // namespace
