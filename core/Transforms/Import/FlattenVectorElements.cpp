//===- FlattenVectorElements.cpp - Arrays of vectors hold numbers ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dimensions of the vectors become the last ones of the array. Types change
/// in place; ops that say where an element is say where its first number is:
///
///   %m = memref.alloc(%n) : memref<?xvector<4xf32>>     memref.alloc(%n) : memref<?x4xf32>
///   %v = memref.load %m[%i]                         ->  vector.load %m[%i, 0] : memref<?x4xf32>, vector<4xf32>
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_FLATTENVECTORELEMENTS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

//===-- Types -------------------------------------------------------------===//

/// The vectors that `type` is an array of; null if it is none.
static VectorType vectorOf(Type type) {
  auto array = dyn_cast<MemRefType>(type);
  return array ? dyn_cast<VectorType>(array.getElementType()) : VectorType();
}

static int64_t times(int64_t value, int64_t factor) { return ShapedType::isDynamic(value) ? value : value * factor; }

/// `type`, with numbers for vectors. Failure for layouts and sizes that are no strides.
static FailureOr<Type> flattened(Type type) {
  VectorType vector = vectorOf(type);
  if (!vector)
    return type;
  auto array = cast<MemRefType>(type);
  SmallVector<int64_t> shape(array.getShape()), strides;
  llvm::append_range(shape, vector.getShape());
  int64_t offset;
  if (vector.isScalable() || failed(array.getStridesAndOffset(strides, offset)))
    return failure();
  MemRefLayoutAttrInterface layout;
  if (!array.getLayout().isIdentity()) {
    for (int64_t &stride : strides)
      stride = times(stride, vector.getNumElements());
    llvm::append_range(strides, computeStrides(vector.getShape()));
    layout = StridedLayoutAttr::get(type.getContext(), times(offset, vector.getNumElements()), strides);
  }
  return Type(MemRefType::get(shape, vector.getElementType(), layout, array.getMemorySpace()));
}

//===-- Operations --------------------------------------------------------===//

namespace {

/// Rewrites one op; the types of its operands and results are the new ones already. `vector`: what its array, the
/// source of a view, had for elements.
class Rewriter {
public:
  Rewriter(Operation *op, VectorType vector) : op(op), b(op), vector(vector) {}

  void load(Value array, ValueRange indices) {
    op->replaceAllUsesWith(vector::LoadOp::create(b, op->getLoc(), op->getResultTypes()[0], array, inside(indices)));
    op->erase();
  }
  void store(Value value, Value array, ValueRange indices) {
    vector::StoreOp::create(b, op->getLoc(), value, array, inside(indices));
    op->erase();
  }
  void load(affine::AffineLoadOp load) {
    AffineMap map = inside(load.getAffineMap());
    op->replaceAllUsesWith(affine::AffineVectorLoadOp::create(b, op->getLoc(), cast<VectorType>(load.getType()),
                                                              load.getMemRef(), map, load.getMapOperands()));
    op->erase();
  }
  void store(affine::AffineStoreOp store) {
    affine::AffineVectorStoreOp::create(b, op->getLoc(), store.getValueToStore(), store.getMemRef(),
                                        inside(store.getAffineMap()), store.getMapOperands());
    op->erase();
  }
  void replace(Value value) {
    if (value.getType() != op->getResultTypes()[0])
      value = memref::CastOp::create(b, op->getLoc(), op->getResultTypes()[0], value);
    op->replaceAllUsesWith(ValueRange(value));
    op->erase();
  }
  void slice(memref::SubViewOp view) {
    SmallVector<OpFoldResult> offsets = view.getMixedOffsets(), sizes = view.getMixedSizes(),
                              strides = view.getMixedStrides();
    for (int64_t size : vector.getShape()) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(b.getIndexAttr(size));
      strides.push_back(b.getIndexAttr(1));
    }
    replace(memref::SubViewOp::create(b, op->getLoc(), view.getType(), view.getSource(), offsets, sizes, strides));
  }
  void reinterpret(memref::ReinterpretCastOp cast) {
    SmallVector<OpFoldResult> sizes = cast.getMixedSizes(), strides;
    for (OpFoldResult stride : cast.getMixedStrides())
      strides.push_back(scaled(stride));
    for (auto [size, stride] : llvm::zip(vector.getShape(), computeStrides(vector.getShape()))) {
      sizes.push_back(b.getIndexAttr(size));
      strides.push_back(b.getIndexAttr(stride));
    }
    replace(memref::ReinterpretCastOp::create(b, op->getLoc(), cast.getType(), cast.getSource(),
                                              scaled(cast.getMixedOffsets()[0]), sizes, strides));
  }
  /// Dimensions of vectors stay alone. `from`, `to`: the first of them on the finer and the coarser side.
  ArrayAttr groups(ArrayAttr old, int64_t finer) {
    SmallVector<Attribute> all(old.begin(), old.end());
    for (int64_t d = 0; d < vector.getRank(); ++d)
      all.push_back(b.getI64ArrayAttr({finer + d}));
    return b.getArrayAttr(all);
  }
  void reshape(memref::CollapseShapeOp view) {
    view.setReassociationAttr(groups(view.getReassociation(), view.getSrcType().getRank() - vector.getRank()));
  }
  void reshape(memref::ExpandShapeOp view) {
    SmallVector<int64_t> sizes(view.getStaticOutputShape());
    int64_t rank = sizes.size();
    llvm::append_range(sizes, vector.getShape());
    view.setStaticOutputShape(sizes);
    view.setReassociationAttr(groups(view.getReassociation(), rank));
  }

private:
  SmallVector<Value> inside(ValueRange indices) {
    SmallVector<Value> all(indices);
    if (vector.getRank())
      all.append(vector.getRank(), arith::ConstantIndexOp::create(b, op->getLoc(), 0));
    return all;
  }
  AffineMap inside(AffineMap map) {
    SmallVector<AffineExpr> results(map.getResults());
    results.append(vector.getRank(), b.getAffineConstantExpr(0));
    return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, b.getContext());
  }
  OpFoldResult scaled(OpFoldResult number) {
    int64_t factor = vector.getNumElements();
    if (std::optional<int64_t> known = getConstantIntValue(number))
      return b.getIndexAttr(*known * factor);
    return arith::MulIOp::create(b, op->getLoc(), cast<Value>(number),
                                 arith::ConstantIndexOp::create(b, op->getLoc(), factor))
        .getResult();
  }

  Operation *op;
  OpBuilder b;
  VectorType vector;
};

/// An op that the types of its operands concern.
struct Affected {
  Operation *op;
  VectorType vector;
};

struct FlattenVectorElements : tilewright::impl::FlattenVectorElementsBase<FlattenVectorElements> {
  void runOnOperation() override;
};

} // namespace

/// Whether changed types are all that `op` needs.
static bool onlyCarries(Operation *op) {
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp, memref::DimOp, memref::CastOp, memref::CopyOp,
             memref::GetGlobalOp, memref::ViewOp, memref::AssumeAlignmentOp, memref::ExtractAlignedPointerAsIndexOp,
             arith::SelectOp, func::CallOp, func::ReturnOp, func::FuncOp, RegionBranchOpInterface,
             RegionBranchTerminatorOpInterface>(op);
}

/// Whether `rewrite` below has a case for `op`.
static bool isRewritten(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, affine::AffineLoadOp, affine::AffineStoreOp, vector::LoadOp,
             vector::StoreOp, vector::TypeCastOp, memref::SubViewOp, memref::ReinterpretCastOp, memref::CollapseShapeOp,
             memref::ExpandShapeOp>(op);
}

static void rewrite(const Affected &affected) {
  Rewriter rewriter(affected.op, affected.vector);
  Operation *op = affected.op;
  if (auto each = dyn_cast<memref::LoadOp>(op))
    rewriter.load(each.getMemRef(), each.getIndices());
  else if (auto each = dyn_cast<memref::StoreOp>(op))
    rewriter.store(each.getValueToStore(), each.getMemRef(), each.getIndices());
  else if (auto each = dyn_cast<affine::AffineLoadOp>(op))
    rewriter.load(each);
  else if (auto each = dyn_cast<affine::AffineStoreOp>(op))
    rewriter.store(each);
  else if (auto each = dyn_cast<vector::LoadOp>(op))
    rewriter.load(each.getBase(), each.getIndices());
  else if (auto each = dyn_cast<vector::StoreOp>(op))
    rewriter.store(each.getValueToStore(), each.getBase(), each.getIndices());
  else if (auto each = dyn_cast<vector::TypeCastOp>(op))
    rewriter.replace(each.getMemref());
  else if (auto each = dyn_cast<memref::SubViewOp>(op))
    rewriter.slice(each);
  else if (auto each = dyn_cast<memref::ReinterpretCastOp>(op))
    rewriter.reinterpret(each);
  else if (auto each = dyn_cast<memref::CollapseShapeOp>(op))
    rewriter.reshape(each);
  else if (auto each = dyn_cast<memref::ExpandShapeOp>(op))
    rewriter.reshape(each);
}

void FlattenVectorElements::runOnOperation() {
  SmallVector<Affected> affected;
  SmallVector<Value> arrays;
  auto note = [&](Value value) {
    if (vectorOf(value.getType()))
      arrays.push_back(value);
  };
  WalkResult result = getOperation()->walk([&](Operation *op) {
    VectorType vector;
    Type refused;
    for (Type type : llvm::concat<const Type>(op->getResultTypes(), op->getOperandTypes())) {
      VectorType found = vectorOf(type);
      if (!found)
        continue;
      vector = found;
      if (failed(flattened(type)))
        refused = type;
    }
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
    auto global = dyn_cast<memref::GlobalOp>(op);
    if (global && vectorOf(global.getType()) && global.getInitialValue() && !global.isUninitialized()) {
      op->emitError("unsupported operation: '")
          << op->getName() << "' of vectors with a value; make it an array of numbers";
      return WalkResult::interrupt();
    }
    if (!vector)
      return WalkResult::advance();
    if (refused) {
      op->emitError("unsupported type: ") << refused << " has a layout that is no strides; make it an array of numbers";
      return WalkResult::interrupt();
    }
    if (isRewritten(op)) {
      affected.push_back({op, vector});
    } else if (!onlyCarries(op)) {
      op->emitError("unsupported operation: '")
          << op->getName()
          << "' of an array of vectors; make it an array of numbers, with vector.load and vector.store";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  for (Value array : arrays)
    array.setType(*flattened(array.getType()));
  getOperation()->walk([](Operation *op) {
    auto changed = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type type) { return *flattened(type); });
    };
    if (auto function = dyn_cast<func::FuncOp>(op))
      function.setType(FunctionType::get(op->getContext(), changed(function.getArgumentTypes()),
                                         changed(function.getResultTypes())));
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      global.setType(cast<MemRefType>(*flattened(global.getType())));
  });
  llvm::for_each(affected, rewrite);
}
