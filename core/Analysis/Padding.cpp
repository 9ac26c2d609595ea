//===- Padding.cpp - Arrays with zeros around them ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The two nests that write a padded buffer, and that nothing else does.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Padding.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Buffers.h"
#include "core/Analysis/Guards.h"
#include "core/Analysis/LoopTrips.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

Access PaddedArray::onSource(const Access &read) const {
  Access result = read;
  result.memref = source;
  SmallVector<AffineExpr> indices;
  for (auto [index, shift] : llvm::zip(read.map.getResults(), low))
    indices.push_back(simplifyAffineExpr(index - shift, read.map.getNumDims(), read.map.getNumSymbols()));
  result.map = AffineMap::get(read.map.getNumDims(), read.map.getNumSymbols(), indices, read.map.getContext());
  return result;
}

/// The constant that the only store of `nest` writes to each element of its buffer; null if it does anything else.
static TypedAttr filledWith(const Nest &nest) {
  if (nest.stores.size() != 1 || !nest.loads.empty())
    return {};
  const Access &store = nest.stores.front();
  Attribute value;
  if (!matchPattern(cast<AffineStoreOp>(store.op).getValueToStore(), m_Constant(&value)))
    return {};
  ArrayRef<int64_t> sizes = cast<MemRefType>(store.memref.getType()).getShape();
  llvm::SmallBitVector used(nest.depth());
  for (auto [index, size] : llvm::zip(store.map.getResults(), sizes)) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    if (!dim && size == 1 && index == getAffineConstantExpr(0, index.getContext()))
      continue;
    if (!dim || used.test(dim.getPosition()))
      return {};
    // What is not filled of a buffer of unknown size is not defined.
    if (!ShapedType::isDynamic(size) && nest.tripCounts[dim.getPosition()] != size)
      return {};
    used.set(dim.getPosition());
  }
  return dyn_cast<TypedAttr>(value);
}

/// Whether `value` is +0.
static bool isZero(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getValue().isZero();
}

/// Whether `size` is that of dimension `d` of `array`.
static bool isSizeOf(Value size, Value array, unsigned d) {
  auto dim = size.getDefiningOp<memref::DimOp>();
  return dim && dim.getSource() == array && dim.getConstantIndex() == d;
}

/// Whether `nest` writes a box of the buffer of `store`, each element once, which becomes the inside of `result`.
static bool writesBox(const Nest &nest, const Access &store, PaddedArray &result) {
  llvm::SmallBitVector used(nest.depth());
  if (!store.symbols.empty())
    return false;
  for (AffineExpr index : store.map.getResults()) {
    SmallVector<AffineExpr> zeros(nest.depth(), getAffineConstantExpr(0, index.getContext()));
    auto first = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(index.replaceDims(zeros), 0, 0));
    if (!first || first.getValue() < 0)
      return false;
    auto dim = dyn_cast<AffineDimExpr>(simplifyAffineExpr(index - first.getValue(), nest.depth(), 0));
    if (!dim && !isa<AffineConstantExpr>(index))
      return false;
    std::optional<int64_t> size = dim ? nest.tripCounts[dim.getPosition()] : 1;
    Value extent = size ? Value() : endOf(nest.loops[dim.getPosition()]);
    if ((dim && used.test(dim.getPosition())) || (!size && !extent))
      return false;
    if (dim)
      used.set(dim.getPosition());
    result.low.push_back(first.getValue());
    result.sizes.push_back(size.value_or(ShapedType::kDynamic));
    result.extents.push_back(extent);
  }
  for (unsigned loop = 0; loop < nest.depth(); ++loop)
    if (!used.test(loop) && nest.tripCounts[loop] != 1)
      return false;
  return true;
}

/// The array of `sizes` that `nest` copies as a whole by `store`, to `low`; null if it does anything else.
static Value copiedArray(const Nest &nest, const Access &store, ArrayRef<int64_t> low, ArrayRef<int64_t> sizes) {
  if (nest.stores.size() != 1 || nest.loads.size() != 1)
    return {};
  const Access &load = nest.loads.front();
  auto type = cast<MemRefType>(load.memref.getType());
  if (cast<AffineStoreOp>(store.op).getValueToStore() != load.op->getResult(0) || type.getShape() != sizes ||
      !type.getLayout().isIdentity() || !load.symbols.empty())
    return {};
  for (auto [from, to, first] : llvm::zip(load.map.getResults(), store.map.getResults(), low))
    if (simplifyAffineExpr(to - from, load.map.getNumDims(), 0) != getAffineConstantExpr(first, from.getContext()))
      return {};
  return load.memref;
}

/// Whether something from `first` to `last`, operations of one block, may write `array` by another name.
static bool isWrittenByOtherName(Value array, Operation *first, Operation *last) {
  BufferOrigins origins(first->getParentOfType<func::FuncOp>());
  auto mayWrite = [&](Operation *op) {
    return !isa<AffineLoadOp, memref::LoadOp, memref::DimOp, memref::DeallocOp>(op) &&
           llvm::any_of(op->getOperands(), [&](Value other) {
             return other != array && isa<BaseMemRefType>(other.getType()) && origins.mayAlias(other, array);
           });
  };
  for (Operation *op = first; op; op = op == last ? nullptr : op->getNextNode())
    if (op->walk([&](Operation *inner) {
            return mayWrite(inner) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      return true;
  return false;
}

/// Whether nothing writes `array` from `after` on, an operation of `block`, and it lives until `last`.
static bool staysAsItIs(Value array, Operation *after, Operation *last) {
  Block *block = after->getBlock();
  if (isWrittenByOtherName(array, after, last))
    return false;
  if (!isa<BlockArgument>(array) && !array.getDefiningOp<memref::AllocOp>() &&
      !array.getDefiningOp<memref::GetGlobalOp>())
    return false;
  return llvm::all_of(array.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner(), *top = block->findAncestorOpInBlock(*user);
    if (!top)
      return false;
    if (isa<memref::DeallocOp>(user))
      return last->isBeforeInBlock(top);
    if (llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>)) // another name for it
      return false;
    if (isa<AffineLoadOp, memref::LoadOp, memref::DimOp>(user) || !after->isBeforeInBlock(top))
      return true;
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    return effects && !effects.getEffectOnValue<MemoryEffects::Write>(array) &&
           effects.getEffectOnValue<MemoryEffects::Read>(array);
  });
}

/// Whether all accesses of `nest` to the buffer are to what is inside of it, of constant sizes.
static bool staysInside(AffineForOp nest, const PaddedArray &array) {
  return !nest->walk([&](Operation *op) {
                if (!llvm::is_contained(op->getOperands(), array.buffer))
                  return WalkResult::advance();
                if (!isa<AffineLoadOp, AffineStoreOp>(op))
                  return WalkResult::interrupt();
                AffineAccess access = affineAccess(op);
                for (auto [index, low, size] : llvm::zip(access.map.getResults(), array.low, array.sizes)) {
                  auto bounds = boundsOf(index, access.map.getNumDims(), access.operands);
                  if (!bounds || ShapedType::isDynamic(size) || bounds->first < low || bounds->second >= low + size)
                    return WalkResult::interrupt();
                }
                return WalkResult::advance();
              })
              .wasInterrupted();
}

std::optional<PaddedArray> tilewright::findPadding(Value buffer, Operation *reader, std::string *reason,
                                                   bool mayCompute, Around around) {
  auto refuse = [&](StringRef why) -> std::optional<PaddedArray> {
    if (reason)
      *reason = why;
    return std::nullopt;
  };
  auto type = cast<MemRefType>(buffer.getType());
  auto alloc = buffer.getDefiningOp<memref::AllocOp>();
  if (!alloc || alloc->getBlock() != reader->getBlock() || !type.getLayout().isIdentity())
    return refuse("it is no buffer");
  PaddedArray result;
  result.buffer = buffer;
  llvm::SmallSetVector<Operation *, 4> found;
  for (Operation *user : buffer.getUsers()) {
    if (isa<AffineLoadOp, memref::DimOp, memref::DeallocOp>(user))
      continue;
    if (!isa<AffineStoreOp>(user))
      return refuse("it is used by more than loads and stores");
    found.insert(reader->getBlock()->findAncestorOpInBlock(*user));
  }
  SmallVector<Operation *> writers = found.takeVector();
  if (writers.size() < 2 || (writers.size() > 2 && !mayCompute) || !llvm::all_of(writers, llvm::IsaPred<AffineForOp>))
    return refuse("it is not written by two nests");
  llvm::sort(writers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  result.fill = dyn_cast<AffineForOp>(writers[0]);
  result.copy = dyn_cast<AffineForOp>(writers[1]);
  if (!result.fill || !result.copy || !writers.back()->isBeforeInBlock(reader))
    return refuse("it is not written by two nests before it is read");
  FailureOr<Nest> fill = analyzeNest(result.fill), copy = analyzeNest(result.copy);
  if (succeeded(fill))
    result.around = filledWith(*fill);
  if (failed(copy) || !result.around || (around == Around::Zero && !isZero(result.around)))
    return refuse(around == Around::Zero ? "it is not filled with zeros first"
                                         : "it is not filled with a constant first");
  auto isInside = [&](const Access &access) { return access.memref == buffer; };
  auto store = llvm::find_if(copy->stores, isInside);
  if (!writesBox(*copy, *store, result))
    return refuse("its inside is not written element by element");
  for (Operation *other : ArrayRef(writers).drop_front(2)) {
    result.others.push_back(cast<AffineForOp>(other));
    if (!staysInside(result.others.back(), result))
      return refuse("what is around its inside is written twice");
  }
  if (result.others.empty())
    result.source = copiedArray(*copy, *store, result.low, result.sizes);
  if (result.source == buffer || llvm::any_of(copy->loads, isInside))
    return refuse("its inside is computed from itself");
  if (!result.source && !mayCompute)
    return refuse("its inside is no copy of a whole array");
  if (result.source && !staysAsItIs(result.source, writers[1], reader))
    return refuse("the array inside it is written before it is read");
  unsigned nextSize = 0;
  for (unsigned d = 0; d < result.low.size(); ++d) {
    Value size = type.isDynamicDim(d) ? alloc.getDynamicSizes()[nextSize++] : Value();
    if (size && result.extents[d] == size && result.low[d] == 0)
      continue; // no padding
    if (result.extents[d]) {
      if (!size || !result.source || !isSizeOf(result.extents[d], result.source, d))
        return refuse("it is not known where the array inside it ends");
      result.dimensions.push_back(d);
      continue;
    }
    if (size)
      return refuse("the array inside it is a part of unknown size");
    if (result.low[d] + result.sizes[d] > type.getDimSize(d))
      return refuse("the array inside it goes beyond its end");
    if (result.sizes[d] != type.getDimSize(d))
      result.dimensions.push_back(d);
  }
  return result;
}
