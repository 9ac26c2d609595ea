//===- SparseOperands.cpp - Multiplicands that keep some of k -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The choice and the product in the body, then the maps.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/SparseOperands.h"
#include "core/Analysis/Settings.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// A value that is `of` modulo `modulus`.
struct Remainder {
  Value of;
  int64_t modulus = 0;
};

/// Recognises one nest.
class SparseNest {
public:
  explicit SparseNest(const Nest &nest) : nest(nest) {}
  FailureOr<Contraction> run();

private:
  bool readBody();
  bool readChoice(arith::SelectOp choice);
  const Access *loadOf(Value value) const;
  std::optional<unsigned> loopOf(Value value) const;
  std::optional<unsigned> findElementLoop(const Access &access) const;
  Access compressed(const Access &access, unsigned element) const;
  AffineMap withoutLoop(AffineMap map, unsigned loop) const;

  const Nest &nest;
  Type accumulator;
  std::optional<ContractionOperand> factors[2];
  const Access *places = nullptr;
  unsigned k = 0;
  int64_t group = 0;
};

} // namespace

/// `value` before conversions that keep its bits below `modulus`.
static Value lowBits(Value value, int64_t modulus) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      break;
    Type from = op->getOperand(0).getType();
    if (!from.isIndex() && (from.getIntOrFloatBitWidth() >= 64 || int64_t(1) << from.getIntOrFloatBitWidth() < modulus))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What `value`, which is not negative then, is the remainder of.
static std::optional<Remainder> remainderOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    APInt number;
    int64_t modulus = 0;
    if (auto mask = dyn_cast<arith::AndIOp>(op); mask && matchPattern(mask.getRhs(), m_ConstantInt(&number)))
      modulus = number.getSExtValue() + 1;
    else if (auto rest = dyn_cast<arith::RemUIOp>(op); rest && matchPattern(rest.getRhs(), m_ConstantInt(&number)))
      modulus = number.getSExtValue();
    else if (auto cut = dyn_cast<arith::TruncIOp>(op); cut && cut.getType().getIntOrFloatBitWidth() < 8)
      modulus = int64_t(1) << cut.getType().getIntOrFloatBitWidth();
    if (modulus < 2 || !llvm::isPowerOf2_64(modulus))
      return std::nullopt;
    return Remainder{lowBits(op->getOperand(0), modulus), modulus};
  }
  return std::nullopt;
}

const Access *SparseNest::loadOf(Value value) const {
  for (const Access &load : nest.loads)
    if (load.op->getResult(0) == value)
      return &load;
  return nullptr;
}

std::optional<unsigned> SparseNest::loopOf(Value value) const {
  for (auto [number, loop] : llvm::enumerate(nest.loops))
    if (AffineForOp(loop).getInductionVar() == value)
      return number;
  return std::nullopt;
}

/// place mod group == k mod group ? a * b : 0
bool SparseNest::readChoice(arith::SelectOp choice) {
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  using arith::CmpIPredicate;
  if (!compare || !choice->hasOneUse() ||
      (compare.getPredicate() != CmpIPredicate::eq && compare.getPredicate() != CmpIPredicate::ne))
    return false;
  Value product = choice.getTrueValue(), zero = choice.getFalseValue();
  if (compare.getPredicate() == CmpIPredicate::ne)
    std::swap(product, zero);
  if (!matchPattern(zero, m_AnyZeroFloat()) && !matchPattern(zero, m_Zero()))
    return false;
  std::optional<Remainder> left = remainderOf(compare.getLhs()), right = remainderOf(compare.getRhs());
  if (!left || !right || left->modulus != right->modulus)
    return false;
  if (!loopOf(right->of))
    std::swap(left, right);
  places = loadOf(left->of);
  std::optional<unsigned> counted = loopOf(right->of);
  if (!places || !isPromised(places->memref, ascendingAttr) || !counted || !left->of.getType().isInteger(8))
    return false;
  k = *counted;
  group = left->modulus;
  Operation *multiply = product.getDefiningOp();
  if (!multiply || !isa<arith::MulFOp, arith::MulIOp>(multiply) || !multiply->hasOneUse())
    return false;
  for (int i : {0, 1})
    factors[i] = multiplicandOf(multiply->getOperand(i), nest);
  return factors[0] && factors[1];
}

bool SparseNest::readBody() {
  if (nest.stores.size() != 1)
    return false;
  Value stored = cast<AffineStoreOp>(nest.stores.front().op).getValueToStore();
  accumulator = stored.getType();
  Operation *sum = stored.getDefiningOp();
  if (!sum || !isa<arith::AddFOp, arith::AddIOp>(sum) || !sum->hasOneUse())
    return false;
  for (int side : {0, 1})
    if (auto choice = sum->getOperand(1 - side).getDefiningOp<arith::SelectOp>();
        choice && isAccumulator(sum->getOperand(side), nest))
      return readChoice(choice);
  return false;
}

/// The loop over the elements of a group, where the last two indices of `access` are k floordiv group and that loop,
/// and no other one has them.
std::optional<unsigned> SparseNest::findElementLoop(const Access &access) const {
  AffineMap map = access.map;
  const unsigned rank = map.getNumResults();
  auto type = cast<MemRefType>(access.memref.getType());
  if (rank < 2 || !type.getLayout().isIdentity() || type.isDynamicDim(rank - 1))
    return std::nullopt;
  AffineExpr number = getAffineDimExpr(k, map.getContext()).floorDiv(group);
  auto element = dyn_cast<AffineDimExpr>(map.getResult(rank - 1));
  if (!element || element.getPosition() == k || map.getResult(rank - 2) != number ||
      nest.tripCounts[element.getPosition()] != type.getDimSize(rank - 1))
    return std::nullopt;
  for (AffineExpr other : map.getResults().drop_back(2))
    if (other.isFunctionOfDim(k) || other.isFunctionOfDim(element.getPosition()))
      return std::nullopt;
  return element.getPosition();
}

/// `map` over the loops but `loop`, which it does not read.
AffineMap SparseNest::withoutLoop(AffineMap map, unsigned loop) const {
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < map.getNumDims(); ++d)
    dims.push_back(d == loop ? getAffineConstantExpr(0, map.getContext())
                             : getAffineDimExpr(d - (d > loop), map.getContext()));
  return map.replaceDimsAndSymbols(dims, {}, map.getNumDims() - 1, map.getNumSymbols());
}

/// `access`, whose last two indices are the group and the element in it, of a view where they are one, along which loop
/// k counts elements.
Access SparseNest::compressed(const Access &access, unsigned element) const {
  const unsigned rank = access.map.getNumResults();
  SmallVector<ReassociationIndices> dims;
  for (int64_t d = 0; d + 1 < rank; ++d)
    dims.push_back(d + 2 < rank ? ReassociationIndices{d} : ReassociationIndices{d, d + 1});
  OpBuilder builder(Nest(nest).root());
  Access result = access;
  result.memref = memref::CollapseShapeOp::create(builder, access.op->getLoc(), access.memref, dims);
  SmallVector<AffineExpr> indices(access.map.getResults().drop_back());
  indices.back() = builder.getAffineDimExpr(k);
  result.map = withoutLoop(
      AffineMap::get(access.map.getNumDims(), access.map.getNumSymbols(), indices, builder.getContext()), element);
  return result;
}

FailureOr<Contraction> SparseNest::run() {
  if (!readBody() || !ownDims(nest.stores.front().map) || !nest.tripCounts[k] || *nest.tripCounts[k] % group != 0)
    return failure();
  if (!findElementLoop(factors[0]->access))
    std::swap(factors[0], factors[1]);
  const ContractionOperand &dense = *factors[1];
  std::optional<unsigned> element = findElementLoop(factors[0]->access);
  // The places lie as the elements do.
  if (!element || *element == 0 || findElementLoop(*places) != element || places->map != factors[0]->access.map ||
      places->symbols != factors[0]->access.symbols)
    return failure();
  const Access &store = nest.stores.front();
  for (const Access *read : std::initializer_list<const Access *>{&factors[0]->access, &dense.access, places})
    if (read->memref == store.memref)
      return failure();
  if (dense.access.dims().test(*element) || store.dims().test(*element) || store.dims().test(k))
    return failure();

  Contraction result;
  result.nest = nest;
  result.accumulator = accumulator;
  result.a = *factors[0];
  result.b = dense;
  result.c = store;
  const int64_t kept = *nest.tripCounts[*element];
  result.a.access = compressed(factors[0]->access, *element);
  result.a.index = OperandIndex{compressed(*places, *element), kept, group};
  for (Access *access : {&result.b.access, &result.c})
    access->map = withoutLoop(access->map, *element);
  result.nest.loops.erase(result.nest.loops.begin() + *element);
  result.nest.tripCounts.erase(result.nest.tripCounts.begin() + *element);
  for (Access &load : result.nest.loads)
    load.map = withoutLoop(load.map, *element);
  for (Access &each : result.nest.stores)
    each.map = withoutLoop(each.map, *element);

  sortLoops(result);
  if (result.k.size() != 1 || result.m.empty() || result.n.empty())
    return failure();
  return result;
}

FailureOr<Contraction> tilewright::recognizeSparseContraction(const Nest &nest) { return SparseNest(nest).run(); }
