//===- Stencil.cpp - Nests that compute an element from a few others ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Stencil.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

/// For each dimension of the stored buffer the loop that runs over all of it; failure if the store is of another form.
static FailureOr<SmallVector<unsigned>> wholeBuffer(const Nest &nest) {
  const Access &store = nest.stores.front();
  auto type = cast<MemRefType>(store.memref.getType());
  SmallVector<unsigned> space;
  for (auto [dim, index] : llvm::enumerate(store.map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(index);
    if (!loop || llvm::is_contained(space, loop.getPosition()))
      return failure();
    if (nest.tripCounts[loop.getPosition()] != type.getDimSize(dim) || type.isDynamicDim(dim))
      return failure();
    space.push_back(loop.getPosition());
  }
  return space;
}

/// The nest before `stencil` that sets its whole buffer to a constant, with nothing between that touches the buffer.
static bool findBeginning(Stencil &stencil) {
  for (Operation *op = stencil.nest.root()->getPrevNode(); op; op = op->getPrevNode()) {
    bool touches = false;
    op->walk([&](Operation *inner) { touches |= llvm::is_contained(inner->getOperands(), stencil.target()); });
    if (!touches)
      continue;
    auto loop = dyn_cast<AffineForOp>(op);
    auto nest = loop ? analyzeNest(loop) : FailureOr<Nest>(failure());
    if (failed(nest) || nest->stores.size() != 1 || !nest->loads.empty() ||
        nest->stores.front().memref != stencil.target() || nest->depth() != stencil.space.size() ||
        failed(wholeBuffer(*nest)))
      return false;
    Attribute value;
    if (!matchPattern(cast<AffineStoreOp>(nest->stores.front().op).getValueToStore(), m_Constant(&value)))
      return false;
    stencil.init = loop;
    stencil.beginning = dyn_cast<TypedAttr>(value);
    return bool(stencil.beginning);
  }
  return false;
}

bool Stencil::isAlongLanes(const Access &load) const {
  constexpr int64_t mostStep = 4; // of a strided window
  unsigned row = space.back();
  return !load.dims().test(row) || std::abs(load.stride(row).value_or(INT64_MAX)) <= mostStep;
}

std::optional<Stencil> recognizeStencil(AffineForOp root, int64_t mostPoints) {
  auto nest = analyzeNest(root, GuardedReads::Allowed);
  if (failed(nest) || nest->stores.size() != 1 || nest->stores.front().map.getNumResults() == 0)
    return std::nullopt;
  auto space = wholeBuffer(*nest);
  if (failed(space))
    return std::nullopt;
  Stencil stencil;
  stencil.nest = std::move(*nest);
  stencil.space = std::move(*space);
  for (unsigned dim = 0; dim < stencil.nest.depth(); ++dim) {
    if (llvm::is_contained(stencil.space, dim))
      continue;
    auto trips = stencil.nest.tripCounts[dim];
    if (!trips || *trips < 1 || *trips > mostPoints)
      return std::nullopt;
    stencil.taps.push_back(dim);
    stencil.points *= *trips;
    if (stencil.points > mostPoints)
      return std::nullopt;
  }
  // Its own buffer is read as the running sum alone.
  unsigned sums = 0;
  for (const Access &load : stencil.nest.loads) {
    if (load.memref != stencil.target())
      continue;
    if (load.map != stencil.store().map || load.op->getBlock() != stencil.nest.body)
      return std::nullopt;
    ++sums;
  }
  if (sums != (stencil.taps.empty() ? 0 : 1))
    return std::nullopt;
  for (AffineForOp loop : stencil.nest.loops)
    for (Operation *user : loop.getInductionVar().getUsers())
      stencil.usesIndices |= !isa<AffineLoadOp, AffineStoreOp, AffineIfOp>(user);
  if (!stencil.taps.empty() && !findBeginning(stencil))
    return std::nullopt;
  return stencil;
}

} // namespace tilewright
