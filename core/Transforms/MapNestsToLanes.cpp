//===- MapNestsToLanes.cpp - Parallel loops on the lanes of a grid --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every nest that no other pass has mapped: its parallel loops outside are
/// counted through by one number, one lane an iteration.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/LoopDependence.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/RequireLanes.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"
#include "tilewright/LaneOps.h"
#include "tilewright/TargetDescription.h"

namespace tilewright {
#define GEN_PASS_DEF_MAPNESTSTOLANES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// Lanes of a block: enough to hide latencies, few enough for any register file.
static constexpr int64_t blockLanes = 256;

/// The parallel loops from `root` inwards, each the only op of the one before, whose bounds are known outside.
static SmallVector<affine::AffineForOp> parallelBand(affine::AffineForOp root) {
  SmallVector<affine::AffineForOp> band;
  for (affine::AffineForOp loop = root; loop;) {
    bool known = loop.hasConstantLowerBound() && loop.getConstantLowerBound() == 0 && loop.getStepAsInt() == 1 &&
                 loop.getNumIterOperands() == 0 && loop.getUpperBoundMap().getNumResults() == 1 &&
                 llvm::none_of(loop.getUpperBoundOperands(), [&](Value operand) {
                   return root->isAncestor(operand.getParentRegion()->getParentOp());
                 });
    if (!known || !isParallelLoop(loop))
      break;
    band.push_back(loop);
    Block *body = loop.getBody();
    loop = llvm::hasNItems(body->without_terminator(), 1) ? dyn_cast<affine::AffineForOp>(body->front())
                                                          : affine::AffineForOp();
  }
  return band;
}

/// Rewrites one nest.
static void mapNest(affine::AffineForOp root, const LaneHierarchy &hierarchy, SmallVectorImpl<Operation *> &bodies) {
  SmallVector<affine::AffineForOp> band = parallelBand(root);
  OpBuilder builder(root);
  Location loc = root.getLoc();
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };

  SmallVector<Value> extents;
  Value total = number(1);
  for (affine::AffineForOp loop : band) {
    AffineMap bound = loop.getUpperBoundMap();
    SmallVector<Value> operands(loop.getUpperBoundOperands());
    Value extent =
        affine::expandAffineExpr(builder, loc, bound.getResult(0), ValueRange(operands).take_front(bound.getNumDims()),
                                 ValueRange(operands).drop_front(bound.getNumDims()));
    extents.push_back(extent);
    total = total && extents.size() > 1 ? arith::MulIOp::create(builder, loc, total, extent).getResult() : extent;
  }

  // One block for each `lanes` iterations.
  int64_t lanes = std::min(blockLanes, hierarchy.subgroups * hierarchy.lanes);
  AffineExpr count = builder.getAffineSymbolExpr(0);
  tile::ParallelOp::create(builder, loc, AffineMap::get(0, 1, count.ceilDiv(lanes)), total, hierarchy.grid,
                           [&](OpBuilder &builder, Location loc, ValueRange block) {
                             auto constant = [&](int64_t value) { return builder.getAffineConstantExpr(value); };
                             tile::ParallelOp::create(
                                 builder, loc, AffineMap::get(0, 0, constant(lanes / hierarchy.lanes)), ValueRange(),
                                 hierarchy.block, [&](OpBuilder &builder, Location loc, ValueRange subgroup) {
                                   tile::ParallelOp::create(
                                       builder, loc, AffineMap::get(0, 0, constant(hierarchy.lanes)), ValueRange(),
                                       hierarchy.subgroup, [&](OpBuilder &builder, Location loc, ValueRange lane) {
                                         AffineExpr b = builder.getAffineDimExpr(0), s = builder.getAffineDimExpr(1),
                                                    l = builder.getAffineDimExpr(2);
                                         Value id = affine::AffineApplyOp::create(
                                             builder, loc, AffineMap::get(3, 0, b * lanes + s * hierarchy.lanes + l),
                                             ValueRange{block[0], subgroup[0], lane[0]});
                                         Value rest = id;
                                         SmallVector<Value> indices(band.size());
                                         for (size_t i = band.size(); i-- > 0;) {
                                           if (i == 0) {
                                             indices[0] = rest;
                                             break;
                                           }
                                           indices[i] = arith::RemUIOp::create(builder, loc, rest, extents[i]);
                                           rest = arith::DivUIOp::create(builder, loc, rest, extents[i]);
                                         }
                                         Value inside =
                                             arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, id, total);
                                         auto branch = scf::IfOp::create(builder, loc, inside);
                                         OpBuilder body(branch.thenBlock()->getTerminator());
                                         IRMapping mapping;
                                         for (auto [loop, index] : llvm::zip(band, indices))
                                           mapping.map(loop.getInductionVar(), index);
                                         if (band.empty())
                                           body.clone(*root, mapping);
                                         else
                                           for (Operation &op : band.back().getBody()->without_terminator())
                                             body.clone(op, mapping);
                                         bodies.push_back(branch);
                                       });
                                 });
                           });
  root.erase();
}

namespace {
struct MapNestsToLanes : tilewright::impl::MapNestsToLanesBase<MapNestsToLanes> {
  void getDependentDialects(DialectRegistry &registry) const override {
    MapNestsToLanesBase::getDependentDialects(registry);
    registry.insert<tile::TileDialect, memref::MemRefDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr("tilewright.kernel"))
      return;
    FailureOr<LaneHierarchy> hierarchy = requireLanes(function);
    if (failed(hierarchy))
      return signalPassFailure();
    SmallVector<affine::AffineForOp> roots(function.front().getOps<affine::AffineForOp>());
    SmallVector<Operation *> bodies;
    for (affine::AffineForOp root : roots)
      mapNest(root, *hierarchy, bodies);
    // Quotients and remainders are no affine indices: inside, accesses and loops are plain ones.
    RewritePatternSet patterns(&getContext());
    populateAffineToStdConversionPatterns(patterns);
    ConversionTarget legality(getContext());
    legality.markUnknownOpDynamicallyLegal(
        [](Operation *op) { return !isa_and_nonnull<affine::AffineDialect>(op->getDialect()); });
    if (failed(applyPartialConversion(bodies, legality, std::move(patterns))))
      return signalPassFailure();
  }
};
} // namespace
