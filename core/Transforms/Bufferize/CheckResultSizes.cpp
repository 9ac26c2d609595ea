//===- CheckResultSizes.cpp - Sizes that a program makes of its data ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The caller of a program gives its results memory and says how large they are.
/// What `name-sizes` ties to the sizes of the arguments is compared before the
/// call begins. The rest is known only to the running program, which compares it
/// where the result's buffer comes into being, before anything is written to it:
///
///   %n = .. read from an array ..
///   %r = memref.alloc(%n) : memref<?xf32>           the result, an out-parameter from the next pass on
///   tile.require_size %n, %dim output 0 dimension 0     %dim = memref.dim %r, 0: what the caller has
///
/// A result that no allocation of the function's own block makes, such as the
/// last tensor of a loop that shrinks it, gets one of its own at the end.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Analysis/SizeGroups.h"
#include "core/Transforms/Lower/LLVM/WorkspacePlanner.h"
#include "core/Transforms/Passes.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tilewright {
#define GEN_PASS_DEF_CHECKRESULTSIZES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct CheckResultSizes : tilewright::impl::CheckResultSizesBase<CheckResultSizes> {
  void runOnOperation() override;
};

/// The results of one public function.
class ResultChecker {
public:
  explicit ResultChecker(func::FuncOp function) : function(function), builder(function.getContext()) {
    auto maps = function->getAttrOfType<ArrayAttr>(tilewright::shapesAttr);
    if (maps && maps.size() == function.getNumArguments() + function.getNumResults())
      for (Attribute map : maps)
        shapes.push_back(cast<AffineMapAttr>(map).getValue());
    if (auto set = function->getAttrOfType<IntegerSetAttr>(tilewright::constraintsAttr))
      constraints = set.getValue();
  }

  void run() {
    Operation *end = function.front().getTerminator();
    for (OpOperand &operand : end->getOpOperands())
      if (auto type = dyn_cast<MemRefType>(operand.get().getType()); type && !type.hasStaticShape())
        check(operand, type);
  }

private:
  void check(OpOperand &result, MemRefType type);
  bool isTied(Value size, unsigned result, int64_t dim);

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<AffineMap> shapes; // of the arguments, then of the results; none where nobody named them
  IntegerSet constraints;
};

} // namespace

/// Whether callers pass `size` as dimension `dim` of `result`, or the call ends before it begins: `size` is an affine
/// function of the arguments' sizes, and the shapes or an equality of the signature say the same.
bool ResultChecker::isTied(Value size, unsigned result, int64_t dim) {
  if (shapes.empty())
    return false;
  Operation *def = size.getDefiningOp(); // of sizes that are equal, as broadcasts take them
  if (isa_and_nonnull<arith::MaxUIOp, arith::MaxSIOp, arith::MinUIOp, arith::MinSIOp>(def))
    return llvm::all_of(def->getOperands(), [&](Value each) { return isTied(each, result, dim); });
  std::optional<AffineExpr> produced = tilewright::sizeOfArguments({size}, function, shapes);
  if (!produced)
    return false;
  AffineMap shape = shapes[function.getNumArguments() + result];
  auto isZero = [&](AffineExpr expr) { return simplifyAffineExpr(expr, 0, shape.getNumSymbols()) == 0; };
  AffineExpr difference = shape.getResult(dim) - *produced;
  if (isZero(difference))
    return true;
  for (unsigned i = 0; constraints && i < constraints.getNumConstraints(); ++i)
    if (AffineExpr zero = constraints.getConstraint(i);
        constraints.isEq(i) && (isZero(zero - difference) || isZero(zero + difference)))
      return true;
  return false;
}

void ResultChecker::check(OpOperand &result, MemRefType type) {
  unsigned number = result.getOperandNumber();
  Location loc = function.getLoc();
  auto alloc = result.get().getDefiningOp<memref::AllocOp>();
  SmallVector<Value> sizes;
  builder.setInsertionPoint(result.getOwner());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(alloc ? alloc.getDynamicSizes()[sizes.size()]
                            : builder.createOrFold<memref::DimOp>(loc, result.get(), dim));
  SmallVector<std::pair<Value, int64_t>> untied;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      if (Value size = sizes[type.getDynamicDimIndex(dim)]; !isTied(size, number, dim))
        untied.push_back({size, dim});
  if (untied.empty())
    return;

  if (!alloc) {
    Value whole = result.get();
    alloc = memref::AllocOp::create(builder, loc, type, sizes);
    memref::CopyOp::create(builder, loc, whole, alloc);
    result.set(alloc);
  }
  // Sizes that are known when the call begins are compared then: a check between two nests parts their kernels.
  SetVector<Operation *> slice;
  if (llvm::all_of(sizes, [&](Value size) { return tilewright::sizeSlice(size, function, /*scalars=*/true, slice); })) {
    Block &entry = function.front();
    alloc->moveBefore(&entry, entry.begin());
    for (Operation *op : slice) {
      if (auto dim = dyn_cast<memref::DimOp>(op)) // its index is a constant, no part of the slice
        if (Operation *index = dim.getIndex().getDefiningOp())
          index->moveBefore(alloc);
      op->moveBefore(alloc);
    }
  }
  builder.setInsertionPointAfter(alloc);
  for (auto [size, dim] : untied) {
    Value given = memref::DimOp::create(builder, loc, alloc, dim);
    tilewright::tile::RequireSizeOp::create(builder, loc, size, given, builder.getI64IntegerAttr(number),
                                            builder.getI64IntegerAttr(dim));
  }
}

void CheckResultSizes::runOnOperation() {
  for (func::FuncOp function : tilewright::publicFunctions(getOperation()))
    if (function.getBody().hasOneBlock())
      ResultChecker(function).run();
}
