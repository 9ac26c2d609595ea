//===- Nest.cpp - An affine loop nest seen as a statement -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a perfect nest into loops and access maps. Everything that the later
// passes may rely on is checked here once.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Nest.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Guards.h"
#include "mlir/Dialect/Affine/Analysis/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

llvm::SmallBitVector Access::dims() const {
  llvm::SmallBitVector used(map.getNumDims());
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    if (map.isFunctionOfDim(dim))
      used.set(dim);
  return used;
}

std::optional<int64_t> linearCoefficient(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  if (isa<AffineDimExpr>(expr))
    return 1;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    auto lhs = linearCoefficient(binary.getLHS(), dim), rhs = linearCoefficient(binary.getRHS(), dim);
    return lhs && rhs ? std::optional(*lhs + *rhs) : std::nullopt;
  }
  if (binary.getKind() == AffineExprKind::Mul)
    if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      if (auto lhs = linearCoefficient(binary.getLHS(), dim))
        return *lhs * constant.getValue();
  return std::nullopt;
}

std::optional<ShiftedDim> shiftedDim(AffineExpr expr, AffineMap map) {
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    AffineExpr shift =
        simplifyAffineExpr(expr - getAffineDimExpr(dim, map.getContext()), map.getNumDims(), map.getNumSymbols());
    if (shift.isSymbolicOrConstant())
      return ShiftedDim{dim, shift};
    break;
  }
  return std::nullopt;
}

namespace {
/// A linear lower bound of a sum of affine expressions over values that are not negative.
struct LowerBound {
  llvm::DenseMap<AffineExpr, double> factors; // of dimensions and symbols
  double constant = 0;

  /// Adds a bound of `factor` * `expr`; false if there is none.
  bool add(AffineExpr expr, double factor) {
    if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
      constant += factor * double(value.getValue());
      return true;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary) {
      factors[expr] += factor;
      return true;
    }
    if (binary.getKind() == AffineExprKind::Add)
      return add(binary.getLHS(), factor) && add(binary.getRHS(), factor);
    auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!right)
      return false;
    double number = double(right.getValue());
    switch (binary.getKind()) {
    case AffineExprKind::Mul:
      return add(binary.getLHS(), factor * number);
    case AffineExprKind::Mod: // 0 .. number - 1
      constant += std::min(0.0, factor * (number - 1));
      return true;
    case AffineExprKind::FloorDiv: // (x - number + 1) / number .. x / number
      if (factor > 0 && isNeverNegative(binary.getLHS()))
        return true;
      constant -= std::max(0.0, factor * (number - 1) / number);
      return add(binary.getLHS(), factor / number);
    default:
      return false;
    }
  }
};
} // namespace

bool isNeverNegative(AffineExpr expr) {
  LowerBound bound;
  return bound.add(expr, 1) && bound.constant >= 0 &&
         llvm::all_of(bound.factors, [](const auto &factor) { return factor.second >= 0; });
}

bool Access::isOwn(unsigned dims) const {
  llvm::SmallBitVector seen(dims);
  for (AffineExpr result : map.getResults()) {
    if (isa<AffineConstantExpr>(result))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || dim.getPosition() >= dims || seen.test(dim.getPosition()))
      return false;
    seen.set(dim.getPosition());
  }
  return seen.all();
}

std::optional<int64_t> Access::stride(unsigned dim) const {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getLayout().isIdentity())
    return std::nullopt;
  int64_t total = 0, step = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    auto factor = linearCoefficient(map.getResult(i), dim);
    if (!factor)
      return std::nullopt;
    if (*factor != 0) {
      if (step == ShapedType::kDynamic)
        return std::nullopt;
      total += *factor * step;
    }
    if (step != ShapedType::kDynamic)
      step = type.isDynamicDim(i) ? ShapedType::kDynamic : step * type.getDimSize(i);
  }
  return total;
}

AffineExpr overLoops(AffineExpr expr, unsigned numDims, ValueRange operands, ArrayRef<AffineForOp> loops,
                     SmallVectorImpl<Value> &symbols) {
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> dims, others;
  for (auto [i, value] : llvm::enumerate(operands)) {
    AffineExpr own;
    for (auto [d, loop] : llvm::enumerate(loops))
      if (value == AffineForOp(loop).getInductionVar())
        own = getAffineDimExpr(d, context);
    if (!own) {
      if (AffineForOp(loops.front())->isAncestor(value.getParentRegion()->getParentOp()))
        return nullptr;
      auto found = llvm::find(symbols, value);
      own = getAffineSymbolExpr(found - symbols.begin(), context);
      if (found == symbols.end())
        symbols.push_back(value);
    }
    (i < numDims ? dims : others).push_back(own);
  }
  return expr.replaceDimsAndSymbols(dims, others);
}

/// The access of `op` over `ivs` as dimensions; failure if it depends on a value inside the nest that is no
/// induction variable of it.
static FailureOr<Access> readAccess(Operation *op, ArrayRef<AffineForOp> loops) {
  Access access;
  access.op = op;
  auto [memref, map, operands, isStore] = affineAccess(op);
  access.memref = memref;
  access.isStore = isStore;
  canonicalizeMapAndOperands(&map, &operands);
  SmallVector<AffineExpr> indices;
  for (AffineExpr index : map.getResults()) {
    indices.push_back(overLoops(index, map.getNumDims(), operands, loops, access.symbols));
    if (!indices.back())
      return failure();
  }
  access.map = simplifyAffineMap(AffineMap::get(loops.size(), access.symbols.size(), indices, op->getContext()));
  return access;
}

/// Appends the reads below `test` to `loads`; failure if it is no guarded read, or a test or an index follows another
/// value inside the nest than the loops.
static LogicalResult readGuarded(AffineIfOp test, ArrayRef<AffineForOp> loops, SmallVectorImpl<Access> &loads) {
  if (!isGuardedRead(test))
    return failure();
  return success(!test->walk([&](Operation *op) {
                        if (auto inner = dyn_cast<AffineIfOp>(op)) {
                          SmallVector<Value> symbols, operands;
                          IntegerSet set = composedGuard(inner, operands);
                          AffineExpr any = getAffineConstantExpr(0, op->getContext());
                          return overLoops(any, set.getNumDims(), operands, loops, symbols) ? WalkResult::advance()
                                                                                            : WalkResult::interrupt();
                        }
                        if (!isa<AffineLoadOp>(op))
                          return WalkResult::advance();
                        FailureOr<Access> access = readAccess(op, loops);
                        if (failed(access))
                          return WalkResult::interrupt();
                        loads.push_back(*access);
                        return WalkResult::advance();
                      })
                      .wasInterrupted());
}

FailureOr<Nest> analyzeNest(AffineForOp root, GuardedReads guarded) {
  Nest nest;
  for (AffineForOp loop = root;;) {
    if (loop.getNumIterOperands() != 0 || !loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0 ||
        loop.getStepAsInt() != 1)
      return failure();
    std::optional<int64_t> trips;
    if (loop.hasConstantUpperBound()) {
      trips = std::max<int64_t>(loop.getConstantUpperBound(), 0);
    } else {
      AffineMap bound = loop.getUpperBoundMap();
      if (bound.getNumResults() != 1)
        return failure();
      for (Value operand : loop.getUpperBoundOperands())
        if (root->isAncestor(operand.getParentRegion()->getParentOp()))
          return failure();
    }
    nest.loops.push_back(loop);
    nest.tripCounts.push_back(trips);
    nest.body = loop.getBody();
    auto inner = dyn_cast<AffineForOp>(nest.body->front());
    if (!inner || !isa<AffineYieldOp>(inner->getNextNode()))
      break;
    loop = inner;
  }
  for (Operation &op : nest.body->without_terminator()) {
    if (isa<AffineLoadOp, AffineStoreOp>(op)) {
      auto access = readAccess(&op, nest.loops);
      if (failed(access))
        return failure();
      (access->isStore ? nest.stores : nest.loads).push_back(*access);
      continue;
    }
    if (auto test = dyn_cast<AffineIfOp>(op); test && guarded == GuardedReads::Allowed) {
      if (failed(readGuarded(test, nest.loops, nest.loads)))
        return failure();
      continue;
    }
    if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
      return failure();
  }
  return nest;
}

std::optional<llvm::SmallBitVector> ownDims(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  for (AffineExpr result : map.getResults()) {
    if (result.isSymbolicOrConstant())
      continue;
    std::optional<ShiftedDim> index = shiftedDim(result, map);
    if (!index || seen.test(index->dim))
      return std::nullopt;
    seen.set(index->dim);
  }
  return seen;
}

SmallVector<Operation *> accessesBetween(Value memref, Operation *from, Operation *to) {
  SmallVector<Operation *> found;
  for (Operation *op = from->getNextNode(); op && op != to; op = op->getNextNode()) {
    bool touches = false;
    op->walk([&](Operation *inner) {
      if (llvm::is_contained(inner->getOperands(), memref) && !isMemoryEffectFree(inner))
        touches = true;
    });
    if (touches)
      found.push_back(op);
  }
  return found;
}

} // namespace tilewright
