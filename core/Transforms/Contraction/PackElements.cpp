//===- PackElements.cpp - Narrow elements side by side --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A few elements that fill whole bytes together, in each iteration of the nest.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/PackElements.h"
#include "core/CostModel/Copies/ElementPacking.h"
#include "core/Machine/PackedElements.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <climits>
#include <numeric>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Writes the nest of one operand.
class ElementPacker {
public:
  ElementPacker(OpBuilder &builder, Location loc, const Contraction &c, const LaneContractionPlan &plan, bool isA)
      : b(builder), loc(loc), c(c), operand(isA ? c.a : c.b), kDim(plan.kDim),
        packed(packedElements(isA ? plan.unit->a : plan.unit->b)),
        bits(bitWidth((isA ? plan.unit->a : plan.unit->b).element)), elements(byteBits / std::gcd(byteBits, bits)),
        takesSigns(plan.unit->scales && operand.scale &&
                   isUnsignedScale(isA ? plan.unit->scales->a : plan.unit->scales->b)) {
    const unsigned freeDim = isA ? plan.mDim : plan.nDim;
    for (unsigned dim : operand.access.dims().set_bits())
      if (dim != freeDim && dim != kDim)
        dims.push_back(dim);
    dims.push_back(freeDim);
  }
  Access run();

private:
  AffineExpr dim(unsigned d) { return b.getAffineDimExpr(d); }
  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, byteBits); }
  Value load(const Access &access, AffineExpr k, ValueRange indices);
  SmallVector<Value> codes(AffineExpr first, ValueRange indices);
  Value byteOf(ArrayRef<Value> codes, int64_t byte);

  static constexpr int64_t byteBits = CHAR_BIT;
  OpBuilder &b;
  Location loc;
  const Contraction &c;
  const ContractionOperand &operand;
  unsigned kDim;
  int64_t packed, bits;
  int64_t elements; // that fill whole bytes together
  bool takesSigns;
  SmallVector<unsigned> dims; // of the new array, but k
};

} // namespace

/// `access` where the loops of the nest are those of the new array's dimensions, and that of the sum is at `k`.
Value ElementPacker::load(const Access &access, AffineExpr k, ValueRange indices) {
  SmallVector<AffineExpr> at(access.map.getNumDims(), b.getAffineConstantExpr(0));
  for (auto [place, each] : llvm::enumerate(dims))
    at[each] = dim(unsigned(place));
  at[kDim] = k;
  AffineMap map = AffineMap::get(
      unsigned(indices.size()), 0,
      llvm::map_to_vector(access.map.getResults(), [&](AffineExpr result) { return result.replaceDims(at); }),
      b.getContext());
  return AffineLoadOp::create(b, loc, access.memref, map, indices);
}

/// The low bits of `elements` elements from `first` on, with the signs of their scales where units take none.
SmallVector<Value> ElementPacker::codes(AffineExpr first, ValueRange indices) {
  Value signs;
  if (takesSigns) { // all of them share a block
    const int64_t block = operand.scale->block;
    Value scale = load(operand.scale->access, block ? first.floorDiv(block) : b.getAffineConstantExpr(0), indices);
    Value code = arith::BitcastOp::create(b, loc, b.getI8Type(), scale);
    signs = arith::ShRSIOp::create(b, loc, code, constant(byteBits - 1));
    signs = arith::AndIOp::create(b, loc, signs, constant(int64_t(1) << (bits - 1)));
  }
  SmallVector<Value> result;
  for (int64_t e = 0; e < elements; ++e) {
    Value code = load(operand.access, first + e, indices);
    code = arith::AndIOp::create(b, loc, code, constant((int64_t(1) << bits) - 1));
    result.push_back(signs ? arith::XOrIOp::create(b, loc, code, signs).getResult() : code);
  }
  return result;
}

Value ElementPacker::byteOf(ArrayRef<Value> codes, int64_t byte) {
  Value result;
  for (auto [e, code] : llvm::enumerate(codes)) {
    const int64_t shift = int64_t(e) * bits - byte * byteBits;
    if (shift <= -bits || shift >= byteBits)
      continue;
    Value moved = code;
    if (shift > 0)
      moved = arith::ShLIOp::create(b, loc, code, constant(shift));
    else if (shift < 0)
      moved = arith::ShRUIOp::create(b, loc, code, constant(-shift));
    result = result ? arith::OrIOp::create(b, loc, result, moved).getResult() : moved;
  }
  return result;
}

Access ElementPacker::run() {
  const int64_t k = *c.nest.tripCounts[kDim];
  SmallVector<int64_t> shape;
  for (unsigned each : dims)
    shape.push_back(*c.nest.tripCounts[each]);
  SmallVector<int64_t> loops = shape;
  shape.push_back(packedRowBytes(k, packed));
  // Where elements fill all of `packBytes`, rows are one line of them.
  const bool isFull = packed * bits == packBytes * byteBits;
  if (isFull)
    loops.push_back(k / elements);
  else
    loops.append({k / packed, packed / elements});
  Value array = memref::AllocOp::create(b, loc, MemRefType::get(shape, b.getI8Type()));
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> indices = elementLoops(b, loc, loops);
  const auto rank = unsigned(dims.size());
  AffineExpr element = isFull ? dim(rank) * elements : dim(rank) * packed + dim(rank + 1) * elements;
  const int64_t bytes = elements * bits / byteBits;
  AffineExpr byte = isFull ? dim(rank) * bytes : dim(rank) * packBytes + dim(rank + 1) * bytes;
  SmallVector<Value> all = codes(element, indices);
  for (int64_t i = 0; i < bytes; ++i) {
    SmallVector<AffineExpr> to;
    for (unsigned d = 0; d < rank; ++d)
      to.push_back(dim(d));
    to.push_back(byte + i);
    AffineStoreOp::create(b, loc, byteOf(all, i), array,
                          AffineMap::get(unsigned(indices.size()), 0, to, b.getContext()), indices);
  }
  Access access = operand.access;
  access.memref = array;
  SmallVector<AffineExpr> from = llvm::map_to_vector(dims, [&](unsigned each) { return dim(each); });
  from.push_back(dim(kDim));
  access.map =
      AffineMap::get(operand.access.map.getNumDims(), operand.access.map.getNumSymbols(), from, b.getContext());
  return access;
}

Access tilewright::packElements(OpBuilder &builder, Location loc, const Contraction &c, const LaneContractionPlan &plan,
                                bool isA) {
  return ElementPacker(builder, loc, c, plan, isA).run();
}
