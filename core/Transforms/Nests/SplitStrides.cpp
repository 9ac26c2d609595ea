//===- SplitStrides.cpp - Planes for the phases of a stride ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds temporaries whose innermost index is read in strides, divides that
// dimension into phases and neighbours, and lets the loops that fill it take
// one element of each phase at a time.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright {
#define GEN_PASS_DEF_SPLITSTRIDES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// The innermost index of an access: `factor` times a loop's number and `offset`.
struct InnerIndex {
  AffineForOp loop; // null: a constant
  int64_t factor = 0, offset = 0;
};

/// The index of `op` in this form; nullopt where it has another one.
std::optional<InnerIndex> innerIndexOf(Operation *op) {
  const AffineAccess access = affineAccess(op);
  const AffineMap map = access.map;
  if (map.getNumResults() == 0)
    return std::nullopt;
  AffineExpr expr = map.getResults().back();
  InnerIndex index;
  SmallVector<AffineExpr> zeros(map.getNumDims(), getAffineConstantExpr(0, map.getContext()));
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim) {
    const std::optional<int64_t> factor = linearCoefficient(expr, dim);
    if (!factor || (*factor != 0 && index.loop))
      return std::nullopt;
    if (*factor == 0)
      continue;
    index.loop = getForInductionVarOwner(access.operands[dim]);
    index.factor = *factor;
    if (!index.loop || *factor < 0)
      return std::nullopt;
  }
  auto offset = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr.replaceDims(zeros), 0, map.getNumSymbols()));
  if (!offset)
    return std::nullopt;
  index.offset = offset.getValue();
  return index;
}

/// Iterations of `op` and of the loops around it; nullopt where one has an unknown number of them.
std::optional<double> runsOf(Operation *op) {
  double runs = 1;
  for (Operation *parent = op->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(parent);
    if (!loop || !loop.hasConstantBounds())
      return std::nullopt;
    runs *= static_cast<double>(loop.getConstantUpperBound() - loop.getConstantLowerBound());
  }
  return runs;
}

/// An array that can be divided: its accesses, and the loops that fill it element by element, with the offset of the
/// index.
struct StridedArray {
  Operation *allocation;
  SmallVector<Operation *> accesses;
  llvm::MapVector<Operation *, int64_t> fills;
  int64_t stride = 0;
  double reads = 0, writes = 0; // vectors' worth of elements that are read in strides, now and then
};

/// Whether `loop` has a body of plain operations, which may be written out.
bool isPlain(AffineForOp loop) {
  return loop.hasConstantBounds() && loop.getStepAsInt() == 1 && loop.getNumIterOperands() == 0 &&
         llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) { return op.getNumRegions() == 0; });
}

std::optional<StridedArray> findStrides(Operation *allocation) {
  Value array = allocation->getResult(0);
  auto type = cast<MemRefType>(array.getType());
  if (!type.hasStaticShape() || type.getRank() == 0 || !type.getLayout().isIdentity())
    return std::nullopt;
  StridedArray found{allocation, {}, {}, 0, 0, 0};
  SmallVector<std::pair<Operation *, InnerIndex>> indices;
  for (Operation *user : array.getUsers()) {
    if (isa<memref::DeallocOp>(user))
      continue;
    std::optional<InnerIndex> index =
        isa<AffineLoadOp, AffineStoreOp>(user) && arrayOf(user) == array ? innerIndexOf(user) : std::nullopt;
    if (!index)
      return std::nullopt;
    found.accesses.push_back(user);
    indices.emplace_back(user, *index);
    if (isa<AffineLoadOp>(user) && index->loop && (found.stride == 0 || index->factor < found.stride))
      found.stride = index->factor;
  }
  if (found.stride < 2)
    return std::nullopt;
  for (auto &[user, index] : indices) {
    if (!index.loop || index.factor % found.stride == 0)
      continue;
    auto known = found.fills.insert({index.loop, index.offset});
    if (isa<AffineLoadOp>(user) || index.factor != 1 || !isPlain(index.loop) || known.first->second < 0)
      return std::nullopt;
  }
  return found;
}

/// Whether the access `op` of `loop` is one of neighbours: lanes of the loop need no shuffles.
bool isSideBySide(Operation *op, AffineForOp loop) {
  std::optional<InnerIndex> index = innerIndexOf(op);
  return index && index->loop == loop && index->factor == 1;
}

/// Counts what is read in strides, as the array is and as planes; false where it is not known, or where lanes would
/// not be neighbours of the strided loop.
bool countReads(StridedArray &array) {
  for (Operation *op : array.accesses) {
    auto load = dyn_cast<AffineLoadOp>(op);
    std::optional<InnerIndex> index = innerIndexOf(op);
    if (!load || !index->loop)
      continue;
    const std::optional<double> runs = runsOf(op);
    if (!runs || op->getParentOp() != index->loop ||
        !llvm::all_of(index->loop.getBody()->getOps<AffineStoreOp>(),
                      [&](AffineStoreOp store) { return isSideBySide(store, index->loop); }))
      return false;
    array.reads += *runs;
  }
  for (auto &[loop, offset] : array.fills)
    for (Operation &op : *cast<AffineForOp>(loop).getBody())
      if (isa<AffineLoadOp>(op) && isSideBySide(&op, cast<AffineForOp>(loop))) {
        const std::optional<double> runs = runsOf(&op);
        if (!runs)
          return false;
        array.writes += *runs;
      }
  return array.reads > array.writes;
}

/// Lets `loop` take `stride` elements at a time, from one whose index, the number and `offset`, is a multiple of the
/// stride; what is before the first such and behind the last group is written out, and a single group.
void takeTogether(AffineForOp loop, int64_t offset, int64_t stride) {
  const int64_t begin = loop.getConstantLowerBound(), end = loop.getConstantUpperBound();
  int64_t first = llvm::divideCeilSigned(begin + offset, stride) * stride - offset;
  int64_t last = llvm::divideFloorSigned(end + offset, stride) * stride - offset;
  if (last <= first + stride)
    first = last = begin;
  OpBuilder b(loop);
  auto iterations = [&](int64_t from, int64_t to) {
    auto part = cast<AffineForOp>(b.clone(*loop));
    part.setConstantLowerBound(from);
    part.setConstantUpperBound(to);
    return part;
  };
  if (begin < first)
    (void)loopUnrollFull(iterations(begin, first));
  if (first < last) {
    AffineForOp groups = iterations(first, last);
    (void)loopUnrollByFactor(groups, stride);
    (void)normalizeAffineFor(groups);
  }
  if (last < end)
    (void)loopUnrollFull(iterations(last, end));
  Operation *around = loop->getParentOp();
  loop.erase();
  composeAccesses(around);
}

/// Divides the innermost dimension of `array` into phases and neighbours.
LogicalResult divide(StridedArray &array) {
  const int64_t stride = array.stride;
  Value old = array.allocation->getResult(0);
  auto type = cast<MemRefType>(old.getType());
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({stride, llvm::divideCeilSigned(type.getShape().back(), stride)});
  OpBuilder b(array.allocation);
  Value planes = b.clone(*array.allocation)->getResult(0);
  planes.setType(MemRefType::get(shape, type.getElementType(), MemRefLayoutAttrInterface(), type.getMemorySpace()));
  for (auto &[loop, offset] : array.fills)
    takeTogether(cast<AffineForOp>(loop), offset, stride);
  SmallVector<AffineExpr> places(b.getMultiDimIdentityMap(type.getRank()).getResults());
  AffineExpr index = places.pop_back_val();
  places.append({index % stride, index.floorDiv(stride)});
  if (failed(replaceAllMemRefUsesWith(old, planes, /*extraIndices=*/{},
                                      AffineMap::get(type.getRank(), 0, places, b.getContext()), /*extraOperands=*/{},
                                      /*symbolOperands=*/{}, /*userFilterFn=*/nullptr,
                                      /*allowNonDereferencingOps=*/true, /*replaceInDeallocOp=*/true)))
    return array.allocation->emitOpError("has a use that cannot be one of planes");
  array.allocation->erase();
  return success();
}

struct SplitStrides : tilewright::impl::SplitStridesBase<SplitStrides> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || isScheduled(function))
      return;
    SmallVector<Operation *> allocations;
    function.walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op) && findStrides(op))
        allocations.push_back(op);
    });
    if (allocations.empty())
      return;
    bool isDivided = true; // all that are to be
    LogicalResult done = withMemoryModel(function, [&](const NestContext &context) {
      for (Operation *allocation : allocations) {
        std::optional<StridedArray> array = findStrides(allocation); // loops that fill several may be others now
        if (!array)
          continue;
        Type element = cast<MemRefType>(allocation->getResult(0).getType()).getElementType();
        if (!element.isIntOrFloat() ||
            !context.model.deinterleaves(array->stride, context.model.lanes(element.getIntOrFloatBitWidth()),
                                         elementBytes(element)))
          continue;
        const bool pays = countReads(*array);
        if (DecisionLog *log = DecisionLog::of(&getContext()))
          log->add("split-strides", allocation,
                   llvm::json::Object{{"inputs", llvm::json::Object{{"stride", array->stride},
                                                                    {"strided_reads", array->reads},
                                                                    {"strided_reads_of_planes", array->writes}}},
                                      {"choice", llvm::json::Object{{"planes", pays ? array->stride : 1}}}});
        if (pays)
          isDivided &= succeeded(divide(*array));
      }
    });
    if (failed(done) || !isDivided)
      signalPassFailure();
  }
};

} // namespace
