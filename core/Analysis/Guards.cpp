//===- Guards.cpp - Reads that only some iterations do --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Constraints are linear in most programs, and loops are boxes: the least value of one is then the sum of the least
/// values of its terms, exactly.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Guards.h"
#include "core/Analysis/AffineAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The largest value of an induction variable of a loop from 0 in steps of 1; nullopt if it is none, or not constant.
static std::optional<int64_t> largestOf(Value value) {
  AffineForOp loop = getForInductionVarOwner(value);
  if (!loop || !loop.hasConstantBounds() || loop.getConstantLowerBound() != 0 || loop.getStepAsInt() != 1)
    return std::nullopt;
  return std::max<int64_t>(loop.getConstantUpperBound() - 1, 0);
}

std::optional<std::pair<int64_t, int64_t>> tilewright::boundsOf(AffineExpr expr, unsigned numDims,
                                                                ValueRange operands) {
  int64_t low = 0, high = 0;
  SmallVector<AffineExpr> zeros(numDims, getAffineConstantExpr(0, expr.getContext()));
  for (unsigned dim = 0; dim < numDims; ++dim) {
    std::optional<int64_t> factor = linearCoefficient(expr, dim);
    if (!factor)
      return std::nullopt;
    if (*factor == 0)
      continue;
    std::optional<int64_t> largest = largestOf(operands[dim]);
    if (!largest)
      return std::nullopt;
    (*factor < 0 ? low : high) += *factor * *largest;
  }
  auto constant =
      dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr.replaceDims(zeros), 0, operands.size() - numDims));
  if (!constant)
    return std::nullopt;
  return std::pair(low + constant.getValue(), high + constant.getValue());
}

GuardForm tilewright::simplifyGuard(IntegerSet &set, SmallVectorImpl<Value> &operands) {
  canonicalizeSetAndOperands(&set, &operands);
  SmallVector<AffineExpr> left;
  SmallVector<bool> isEquality;
  for (auto [constraint, equals] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
    AffineExpr expr = simplifyAffineExpr(constraint, set.getNumDims(), set.getNumSymbols());
    if (auto bounds = boundsOf(expr, set.getNumDims(), operands)) {
      if (bounds->second < 0 || (equals && bounds->first > 0))
        return GuardForm::Never;
      if (bounds->first >= 0 && (!equals || bounds->second == 0))
        continue;
    }
    left.push_back(expr);
    isEquality.push_back(equals);
  }
  if (left.empty())
    return GuardForm::Always;
  set = IntegerSet::get(set.getNumDims(), set.getNumSymbols(), left, isEquality);
  canonicalizeSetAndOperands(&set, &operands);
  return GuardForm::Some;
}

bool tilewright::isGuardedRead(AffineIfOp test) {
  if (test.getNumResults() == 0 || !test.hasElse())
    return false;
  return !test->walk([&](Operation *op) {
                auto inner = dyn_cast<AffineIfOp>(op);
                bool isRead = inner ? inner.getNumResults() != 0 && inner.hasElse()
                                    : isa<AffineLoadOp, AffineYieldOp>(op) ||
                                          (op->getNumRegions() == 0 && isMemoryEffectFree(op));
                return isRead ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

IntegerSet tilewright::composedGuard(AffineIfOp test, SmallVectorImpl<Value> &operands) {
  IntegerSet set = test.getIntegerSet();
  AffineMap map = AffineMap::get(set.getNumDims(), set.getNumSymbols(), set.getConstraints(), test.getContext());
  operands.assign(test.getOperands().begin(), test.getOperands().end());
  fullyComposeAffineMapAndOperands(&map, &operands);
  return IntegerSet::get(map.getNumDims(), map.getNumSymbols(), map.getResults(), set.getEqFlags());
}

std::optional<BoundedRead> tilewright::boundedRead(AffineIfOp test) {
  if (!isGuardedRead(test) || test.getNumResults() != 1 || llvm::is_contained(test.getIntegerSet().getEqFlags(), true))
    return std::nullopt;
  BoundedRead result;
  auto yielded = [](Block &side) { return side.getTerminator()->getOperand(0); };
  result.load = yielded(*test.getThenBlock()).getDefiningOp<AffineLoadOp>();
  Value otherwise = yielded(*test.getElseBlock());
  if (!result.load || result.load->getBlock() != test.getThenBlock() ||
      (!matchPattern(otherwise, m_PosZeroFloat()) && !matchPattern(otherwise, m_Zero())))
    return std::nullopt;
  // Both over the same values.
  SmallVector<Value> values, operands;
  auto overValues = [&](AffineExpr expr, unsigned numDims, ValueRange own) {
    SmallVector<AffineExpr> places;
    for (Value value : own) {
      auto found = llvm::find(values, value);
      places.push_back(getAffineDimExpr(found - values.begin(), expr.getContext()));
      if (found == values.end())
        values.push_back(value);
    }
    ArrayRef<AffineExpr> all(places);
    return expr.replaceDimsAndSymbols(all.take_front(numDims), all.drop_front(numDims));
  };
  AffineAccess access = affineAccess(result.load);
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<AffineExpr> indices;
  for (AffineExpr index : access.map.getResults())
    indices.push_back(overValues(index, access.map.getNumDims(), access.operands));
  IntegerSet set = composedGuard(test, operands);
  llvm::SmallBitVector compared(type.getRank());
  for (AffineExpr constraint : set.getConstraints()) {
    AffineExpr own = overValues(constraint, set.getNumDims(), operands);
    auto isSame = [&](AffineExpr other) {
      return simplifyAffineExpr(own - other, values.size(), 0) == getAffineConstantExpr(0, test.getContext());
    };
    bool isFound = false;
    for (auto [d, index] : llvm::enumerate(indices)) {
      const int64_t size = type.getDimSize(d);
      if (isFound || !(isSame(index) || (!ShapedType::isDynamic(size) && isSame(size - 1 - index))))
        continue;
      compared.set(d);
      isFound = true;
    }
    if (!isFound)
      return std::nullopt;
  }
  llvm::append_range(result.dimensions, compared.set_bits());
  return result;
}

namespace {
/// Where a read of a padded buffer is in the array inside of it.
struct SourceRead {
  AffineMap map;
  SmallVector<Value> operands;
  IntegerSet guard; // over `guarded`
  SmallVector<Value> guarded;
  GuardForm form = GuardForm::Always;
};
} // namespace

static SourceRead sourceRead(AffineLoadOp load, const PaddedArray &array) {
  MLIRContext *context = load.getContext();
  auto [memref, map, operands, isStore] = affineAccess(load);
  SourceRead result;
  SmallVector<AffineExpr> indices, constraints;
  for (auto [index, low] : llvm::zip(map.getResults(), array.low))
    indices.push_back(simplifyAffineExpr(index - low, map.getNumDims(), map.getNumSymbols()));
  result.map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), indices, context);
  result.operands = operands;
  result.guarded = operands;
  unsigned numSymbols = map.getNumSymbols();
  for (unsigned d : array.dimensions) {
    AffineExpr size = getAffineConstantExpr(array.sizes[d], context);
    if (array.extents[d]) {
      size = getAffineSymbolExpr(numSymbols++, context);
      result.guarded.push_back(array.extents[d]);
    }
    constraints.push_back(indices[d]);
    constraints.push_back(size - 1 - indices[d]);
  }
  if (constraints.empty())
    return result;
  result.guard =
      IntegerSet::get(map.getNumDims(), numSymbols, constraints, SmallVector<bool>(constraints.size(), false));
  result.form = simplifyGuard(result.guard, result.guarded);
  return result;
}

unsigned tilewright::countTests(AffineLoadOp load, const PaddedArray &array) {
  SourceRead read = sourceRead(load, array);
  return read.form == GuardForm::Some ? read.guard.getNumConstraints() : 0;
}

void tilewright::readThrough(AffineLoadOp load, const PaddedArray &array) {
  SourceRead read = sourceRead(load, array);
  OpBuilder b(load);
  Location loc = load.getLoc();
  auto constant = [&](OpBuilder &at) -> Value { return arith::ConstantOp::create(at, loc, array.around); };
  auto element = [&](OpBuilder &at) -> Value {
    return AffineLoadOp::create(at, loc, array.source, read.map, read.operands);
  };
  Value value;
  if (read.form == GuardForm::Some) {
    auto test = AffineIfOp::create(b, loc, load.getType(), read.guard, read.guarded, /*withElseRegion=*/true);
    OpBuilder inside = test.getThenBodyBuilder(), outside = test.getElseBodyBuilder();
    AffineYieldOp::create(inside, loc, element(inside));
    AffineYieldOp::create(outside, loc, constant(outside));
    value = test.getResult(0);
  } else {
    value = read.form == GuardForm::Always ? element(b) : constant(b);
  }
  load.replaceAllUsesWith(value);
  load.erase();
}
