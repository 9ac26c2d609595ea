//===- NestStatement.cpp - Nests as the model of schedules sees them ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the operations once; asks for dependences of a perfect chain of loops.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestStatement.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Analysis/TileSets.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/CostModel/Time/Launches.h"
#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

static NestShape::Index indexOf(const std::optional<LinearIndex> &linear, ArrayRef<AffineForOp> loops) {
  NestShape::Index index;
  index.isKnown = linear.has_value();
  if (!linear)
    return index;
  index.constant = linear->constant;
  for (auto [value, factor] : linear->terms) {
    auto loop = llvm::find_if(loops, [&, v = value](AffineForOp each) { return each.getInductionVar() == v; });
    if (loop != loops.end())
      index.terms.push_back({loop - loops.begin(), factor});
    else
      index.others.push_back({value.getAsOpaquePointer(), factor});
  }
  return index;
}

/// Arrays that are read only after the nest wrote them itself come from nowhere.
static void findOwnReads(NestStatement &statement) {
  for (auto [i, array] : llvm::enumerate(statement.shape.arrays)) {
    if (!array.isRead || !array.isWritten || array.localBytes)
      continue;
    SmallVector<Operation *> accesses;
    for (auto [op, access] : llvm::zip_equal(statement.accesses, statement.shape.accesses))
      if (access.array == int64_t(i))
        accesses.push_back(op);
    array.isRead = !readsOwn(accesses);
  }
}

/// Marks the band: loops of the perfect chain at the root whose bounds do not depend on the nest and that are parallel;
/// after one that is not, those whose tiles may stand outside of it.
static void markBand(NestStatement &statement, AffineForOp root) {
  size_t number = 0;
  bool isPrefix = true;
  const SmallVector<LinearAccess, 0> accesses(llvm::map_range(statement.accesses, linearAccess));
  for (AffineForOp loop = root; loop; ++number) {
    bool isFixed = llvm::all_of(loop.getUpperBoundOperands(), [&](Value operand) {
      return !root->isAncestor(operand.getParentRegion()->getParentOp());
    });
    if (loop.getUpperBoundMap().getNumResults() != 1 || !isFixed)
      break;
    bool isParallel = isPrefix ? isParallelLoop(loop) : isIndependentLoop(loop, root, accesses);
    isPrefix &= isParallel;
    statement.shape.loops[number].isBand = isParallel;
    loop = loopInside(loop);
  }
}

double tilewright::coreWorkOf(Operation *op) {
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return double(coreInstructionsOf(op));
  const ArithmeticWork work = arithmeticOf(op);
  return work.instructions + work.divisions;
}

NestStatement tilewright::statementOf(ArrayRef<Operation *> work, const CoreHierarchy &cores) {
  NestStatement result;
  NestShape &shape = result.shape;
  DenseMap<Operation *, int64_t> number;
  auto around = [&](Operation *op) -> int64_t {
    auto loop = op->getParentOfType<AffineForOp>();
    return loop ? (number.count(loop) ? number.lookup(loop) : -1) : -1;
  };
  for (Operation *root : work)
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      int64_t at = around(op);
      if (auto loop = dyn_cast<AffineForOp>(op)) {
        number[op] = result.loops.size();
        result.loops.push_back(loop);
        NestShape::Loop &each = shape.loops.emplace_back();
        each.parent = at;
        each.isPerfect = bool(loopInside(loop));
        each.canBeCut =
            work.size() == 1 && loop.getUpperBoundMap().getNumResults() == 1 && loop.getNumIterOperands() == 0;
        if (loop.hasConstantBounds())
          each.trips =
              std::max<int64_t>(0, llvm::divideCeilSigned(loop.getConstantUpperBound() - loop.getConstantLowerBound(),
                                                          loop.getStepAsInt()));
        for (int64_t outer = at; outer >= 0; outer = shape.loops[outer].parent)
          shape.loops[outer].isInnermost = false;
        return;
      }
      if (isa<AffineLoadOp, AffineStoreOp>(op)) {
        LinearAccess access = linearAccess(op);
        auto found = llvm::find(result.arrays, access.memref);
        int64_t array = found - result.arrays.begin();
        if (found == result.arrays.end()) {
          result.arrays.push_back(access.memref);
          auto type = cast<MemRefType>(access.memref.getType());
          NestShape::Array &each = shape.arrays.emplace_back();
          each.elementBytes = elementBytes(type.getElementType());
          for (int64_t size : type.getShape())
            each.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
          if (Operation *def = access.memref.getDefiningOp();
              def && llvm::any_of(work, [&](Operation *root) { return root->isProperAncestor(def); }))
            each.localBytes =
                std::max<int64_t>(1, type.hasStaticShape() ? type.getNumElements() * each.elementBytes : 1);
          each.isNear = isNear(access.memref, cores);
          if (!type.getLayout().isIdentity())
            result.strange = access.memref;
        }
        (access.isStore ? shape.arrays[array].isWritten : shape.arrays[array].isRead) = true;
        NestShape::Access &each = shape.accesses.emplace_back();
        each.array = array;
        each.loop = at;
        for (auto &linear : access.indices)
          each.indices.push_back(indexOf(linear, result.loops));
        result.accesses.push_back(op);
      } else if (!isMemoryEffectFree(op) && !isa<memref::AllocOp, AffineParallelOp, AffineIfOp>(op) && !result.opaque &&
                 op->getNumRegions() == 0) {
        result.opaque = op;
      }
      if (at >= 0 && !op->hasTrait<OpTrait::IsTerminator>())
        shape.loops[at].instructions += coreWorkOf(op);
    });
  findOwnReads(result);
  if (auto root = work.size() == 1 ? dyn_cast<AffineForOp>(work.front()) : AffineForOp())
    markBand(result, root);
  return result;
}

/// What begins and what finishes a sum is another nest, until fuse-nests puts it into the loop around the sum.
static void leaveRoomAroundSums(NestShape &shape) {
  for (const NestShape::Access &access : shape.accesses) {
    int64_t loop = access.loop;
    auto moves = [&](const NestShape::Index &index) {
      return !index.isKnown || llvm::any_of(index.terms, [&](auto term) { return term.first == loop; });
    };
    if (!shape.arrays[access.array].isWritten)
      continue;
    while (loop >= 0 && llvm::none_of(access.indices, moves))
      loop = shape.loops[loop].parent;
    if (loop >= 0)
      shape.loops[loop].isPerfect = false;
  }
}

std::optional<double> tilewright::secondsOfNests(ArrayRef<Operation *> nests, const CoreHierarchy &cores,
                                                 const TargetDescription &chip, ArrayRef<Value> placed) {
  double clocks = 0;
  for (Operation *nest : nests) {
    NestStatement statement = statementOf(nest, cores);
    if (statement.opaque || statement.strange)
      return std::nullopt;
    leaveRoomAroundSums(statement.shape);
    for (NestShape::Loop &loop : statement.shape.loops) // as large as the planners of contractions take it for
      loop.trips = loop.trips.value_or(assumedExtent);
    if (nest->getParentOfType<tile::ParallelOp>()) {
      SmallVector<int64_t> copied;
      for (auto [i, array] : llvm::enumerate(statement.arrays))
        if (llvm::is_contained(placed, array))
          copied.push_back(i);
      clocks += clocksInPlace(statement.shape, copied, cores, chip);
      continue;
    }
    std::string reason;
    auto plan = planNestSchedule(statement.shape, cores, chip, [](const NestSchedule &) { return true; }, reason);
    if (!plan)
      return std::nullopt;
    clocks += plan->clocks;
  }
  if (!std::isfinite(clocks))
    return std::nullopt;
  return secondsOf(clocks, chip);
}
