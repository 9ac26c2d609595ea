//===- PromoteAccumulators.cpp - Sum in f32, round once --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reductions of bf16, f16 and 8-bit floats accumulate in an f32 tensor; an element-wise
/// operation rounds at the end.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright {
#define GEN_PASS_DEF_PROMOTEACCUMULATORS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

bool isNarrow(Type type) { return type.isBF16() || type.isF16() || tilewright::isFloat8(type); }

/// Whether `op` means the same on f32 operands: arith and math operations that are polymorphic in their float type.
bool isPolymorphic(Operation *op) {
  return op->getNumRegions() == 0 && op->hasTrait<OpTrait::Elementwise>() &&
         !isa<arith::TruncFOp, arith::ExtFOp, arith::BitcastOp, arith::FPToSIOp, arith::FPToUIOp>(op) &&
         isa<arith::ArithDialect, math::MathDialect>(*op->getDialect());
}

/// An element-wise conversion of `value` to `elementType`.
Value convert(RewriterBase &b, Location loc, Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value), elementType);
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  bool widen = !isNarrow(elementType);
  return linalg::GenericOp::create(b, loc, TypeRange{empty.getType()}, ValueRange{value}, ValueRange{empty}, maps,
                                   iterators,
                                   [&](OpBuilder &nested, Location l, ValueRange args) {
                                     Value c = widen ? Value(arith::ExtFOp::create(nested, l, elementType, args[0]))
                                                     : Value(arith::TruncFOp::create(nested, l, elementType, args[0]));
                                     linalg::YieldOp::create(nested, l, c);
                                   })
      .getResult(0);
}

/// `value` (an init of a reduction) in f32: a fill by a constant is filled in f32 at once.
Value widenInit(RewriterBase &b, Location loc, Value value) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (generic && generic.getNumDpsInputs() == 1 && generic.getNumDpsInits() == 1 &&
      generic.getDpsInputs()[0].getType().isFloat() && llvm::hasSingleElement(*generic.getBody()) &&
      cast<linalg::YieldOp>(generic.getBody()->getTerminator()).getOperand(0) == generic.getBody()->getArgument(0)) {
    Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value), b.getF32Type());
    Value scalar = arith::ExtFOp::create(b, loc, b.getF32Type(), generic.getDpsInputs()[0]);
    return linalg::FillOp::create(b, loc, scalar, empty).getResult(0);
  }
  return convert(b, loc, value, b.getF32Type());
}

/// Rewrites `op` as the file's first sentence says.
void promote(linalg::GenericOp op, RewriterBase &b) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  Type f32 = b.getF32Type();
  SmallVector<Value> inits;
  SmallVector<Type> types;
  for (Value init : op.getDpsInits()) {
    bool narrow = isNarrow(getElementTypeOrSelf(init.getType()));
    inits.push_back(narrow ? widenInit(b, loc, init) : init);
    types.push_back(inits.back().getType());
  }
  Block *body = op.getBody();
  auto generic = linalg::GenericOp::create(
      b, loc, types, op.getDpsInputs(), inits, op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location l, ValueRange args) {
        IRMapping wide, plain; // values of the old body -> their f32 form; -> their form of unchanged type
        auto asPlain = [&](Value v) {
          if (plain.contains(v) || !wide.contains(v))
            return plain.lookupOrDefault(v);
          Value narrow = arith::TruncFOp::create(nested, l, v.getType(), wide.lookup(v));
          plain.map(v, narrow);
          return narrow;
        };
        auto asWide = [&](Value v) {
          if (wide.contains(v))
            return wide.lookup(v);
          Value extended = arith::ExtFOp::create(nested, l, f32, plain.lookupOrDefault(v));
          wide.map(v, extended);
          return extended;
        };
        for (auto [old, now] : llvm::zip_equal(body->getArguments(), args))
          (old.getType() == now.getType() ? plain : wide).map(old, now);
        for (Operation &inner : body->without_terminator()) {
          bool touchesNarrow =
              llvm::any_of(inner.getOperandTypes(), isNarrow) || llvm::any_of(inner.getResultTypes(), isNarrow);
          if (isa<arith::ExtFOp>(inner) && isNarrow(inner.getOperand(0).getType()) &&
              inner.getResult(0).getType() == f32) {
            plain.map(inner.getResult(0), asWide(inner.getOperand(0)));
            continue;
          }
          if (!touchesNarrow || !isPolymorphic(&inner)) {
            for (Value operand : inner.getOperands())
              plain.map(operand, asPlain(operand));
            nested.clone(inner, plain);
            continue;
          }
          if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
            double number = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
            wide.map(constant.getResult(), Value(arith::ConstantOp::create(nested, l, nested.getF32FloatAttr(number))));
            continue;
          }
          SmallVector<Value> operands;
          for (Value operand : inner.getOperands())
            operands.push_back(isNarrow(operand.getType()) ? asWide(operand) : asPlain(operand));
          SmallVector<Type> results;
          for (Type type : inner.getResultTypes())
            results.push_back(isNarrow(type) ? f32 : type);
          Operation *now = nested.create(l, inner.getName().getIdentifier(), operands, results, inner.getAttrs());
          for (auto [old, result] : llvm::zip_equal(inner.getResults(), now->getResults()))
            (old.getType() == result.getType() ? plain : wide).map(old, result);
        }
        SmallVector<Value> yielded;
        for (auto [value, type] : llvm::zip_equal(body->getTerminator()->getOperands(), types)) {
          bool widened = getElementTypeOrSelf(type) == f32 && isNarrow(value.getType());
          yielded.push_back(widened ? asWide(value) : asPlain(value));
        }
        linalg::YieldOp::create(nested, l, yielded);
      });
  SmallVector<Value> results;
  for (auto [old, now] : llvm::zip_equal(op.getResults(), generic.getResults())) {
    Type element = getElementTypeOrSelf(old.getType());
    results.push_back(element == getElementTypeOrSelf(now.getType()) ? Value(now) : convert(b, loc, now, element));
  }
  b.replaceOp(op, results);
}

/// Whether `op` is one `and` or `or` of bools.
bool combinesBools(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 || op->getNumResults() != 1 ||
      !getElementTypeOrSelf(op->getResult(0)).isInteger(1))
    return false;
  Operation *combine = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument held = op.getRegionOutputArgs()[0];
  return isa_and_nonnull<arith::AndIOp, arith::OrIOp>(combine) && held.hasOneUse() && *held.user_begin() == combine;
}

/// `map` of the loops of `op` for those that are kept: reduction loops of one iteration are 0. Such loops are
/// dimensions of 1 of what is reduced, and would keep it from being one row.
SmallVector<AffineMap> withoutSingleReductions(linalg::GenericOp op, SmallVector<utils::IteratorType> &kept) {
  SmallVector<int64_t> trips = op.getStaticLoopRanges();
  SmallVector<AffineExpr> loops;
  bool counts = llvm::any_of(*op.getBody(), llvm::IsaPred<linalg::IndexOp>);
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isSingle = !counts && trips[loop] == 1 && iterator == utils::IteratorType::reduction;
    loops.push_back(isSingle ? getAffineConstantExpr(0, op.getContext())
                             : getAffineDimExpr(kept.size(), op.getContext()));
    if (!isSingle)
      kept.push_back(iterator);
  }
  return llvm::map_to_vector(op.getIndexingMapsArray(),
                             [&](AffineMap map) { return map.replaceDimsAndSymbols(loops, {}, kept.size(), 0); });
}

/// The same in i32.
void widenBools(linalg::GenericOp op, RewriterBase &b) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  Block *body = op.getBody();
  Operation *combine = body->getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument held = op.getRegionOutputArgs()[0];
  auto elementWise = [&](Value value, Type element, auto cast) {
    unsigned rank = llvm::cast<RankedTensorType>(value.getType()).getRank();
    Value empty = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value), element);
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    return linalg::GenericOp::create(b, loc, empty.getType(), value, empty, maps, loops,
                                     [&](OpBuilder &inner, Location, ValueRange elements) {
                                       linalg::YieldOp::create(inner, loc, cast(inner, elements[0]));
                                     })
        .getResult(0);
  };
  Type wide = b.getI32Type();
  auto widened = [&](OpBuilder &inner, Value value) {
    return arith::ExtUIOp::create(inner, loc, wide, value).getResult();
  };
  Value start = elementWise(op.getDpsInits()[0], wide, widened);
  SmallVector<utils::IteratorType> loops;
  SmallVector<AffineMap> maps = withoutSingleReductions(op, loops);
  auto sum = linalg::GenericOp::create(
      b, loc, start.getType(), op.getDpsInputs(), start, maps, loops,
      [&](OpBuilder &inner, Location, ValueRange elements) {
        IRMapping mapping;
        mapping.map(body->getArguments().drop_back(), elements.drop_back());
        for (Operation &each : body->without_terminator())
          if (&each != combine)
            inner.clone(each, mapping);
        Value other = combine->getOperand(combine->getOperand(0) == held ? 1 : 0);
        SmallVector<Value> operands{elements.back(), widened(inner, mapping.lookupOrDefault(other))};
        Operation *both = inner.create(loc, combine->getName().getIdentifier(), operands, wide);
        linalg::YieldOp::create(inner, loc, both->getResult(0));
      });
  auto isTrue = [&](OpBuilder &inner, Value value) {
    Value none = arith::ConstantIntOp::create(inner, loc, wide, 0);
    return arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ne, value, none).getResult();
  };
  // Who asks for one element, as an assertion does, reads it as it was summed up: no array of bools is written for it.
  for (Operation *user : llvm::make_early_inc_range(op.getResult(0).getUsers()))
    if (auto read = dyn_cast<tensor::ExtractOp>(user)) {
      b.setInsertionPoint(read);
      Value element = tensor::ExtractOp::create(b, read.getLoc(), sum.getResult(0), read.getIndices());
      b.replaceOp(read, isTrue(b, element));
    }
  if (op->use_empty())
    return b.eraseOp(op);
  b.setInsertionPoint(op);
  b.replaceOp(op, elementWise(sum.getResult(0), b.getI1Type(), isTrue));
}

struct PromoteAccumulators : tilewright::impl::PromoteAccumulatorsBase<PromoteAccumulators> {
  using PromoteAccumulatorsBase::PromoteAccumulatorsBase;

  void runOnOperation() override {
    widenNarrow();
    SmallVector<linalg::GenericOp> work;
    if (lanes)
      getOperation().walk([&](linalg::GenericOp op) {
        if (combinesBools(op))
          work.push_back(op);
      });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : work)
      widenBools(op, rewriter);
  }

  void widenNarrow() {
    SmallVector<linalg::GenericOp> work;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureTensorSemantics() && op.getNumReductionLoops() != 0 && op.getBody()->getNumArguments() != 0 &&
          llvm::any_of(op.getResultTypes(), [](Type type) { return isNarrow(getElementTypeOrSelf(type)); }) &&
          llvm::none_of(*op.getBody(), [](Operation &inner) { return inner.getNumRegions() != 0; }))
        work.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : work)
      promote(op, rewriter);
  }
};

} // namespace
