//===- ScaleStaging.cpp - Scales on their way to a unit -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes, entries and clocks of images.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/ScaleStaging.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/Machine/ScaleImage.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// Dimensions of an array of images beside those of outer loops: tiles of the free dimension, steps, lines, bytes.
constexpr int64_t imageRank = 4;

/// The scales of one operand, or the index of A.
struct ScaledSide {
  const Access *access; // of their array
  double bytes;         // of it, each once
  ScaleImage image;
  unsigned freeDim;
  int64_t images; // of a block's tile and a step
  int64_t own;    // of these, those that a group takes
  int64_t block;  // rows (columns) of the tile
};
} // namespace

static SmallVector<ScaledSide, 2> sidesOf(const LaneContractionPlan &plan, const Contraction &c,
                                          const CopyEngine &engine) {
  SmallVector<ScaledSide, 2> sides;
  auto add = [&](const Access &access, double bytes, const UnitOperand &operand, bool isA) {
    const ScaleImage image = imageOf(*plan.unit, operand, engine);
    const int64_t own = (isA ? plan.tilesM : plan.tilesN) * llvm::divideCeil(plan.depth, image.depth);
    const int64_t groups = isA ? plan.subgroupsM : plan.subgroupsN;
    sides.push_back(
        {&access, bytes, image, isA ? plan.mDim : plan.nDim, groups * own, own, isA ? plan.blockM() : plan.blockN()});
  };
  if (c.a.scale)
    add(c.a.scale->access, scaleBytes(c, c.a), plan.unit->scales->a, true);
  if (c.b.scale)
    add(c.b.scale->access, scaleBytes(c, c.b), plan.unit->scales->b, false);
  if (c.a.index)
    add(c.a.index->access, indexBytes(c, c.a), plan.unit->sparsity->index, true);
  return sides;
}

/// Whether the array is indexed by single loops, of known sizes, that an array of images has a dimension for.
static bool isPlain(const ScaledSide &side, const LaneContractionPlan &plan, const Contraction &c,
                    const CopyEngine &engine) {
  const Access &access = *side.access;
  auto type = cast<MemRefType>(access.memref.getType());
  int64_t outer = 0;
  for (AffineExpr result : access.map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim && !isa<AffineConstantExpr>(result))
      return false;
    if (!dim)
      continue;
    if (dim.getPosition() == side.freeDim || dim.getPosition() == plan.kDim)
      continue;
    if (!llvm::is_contained(plan.outer, dim.getPosition()) || !c.nest.tripCounts[dim.getPosition()])
      return false;
    ++outer;
  }
  return type.getLayout().isIdentity() && c.nest.tripCounts[side.freeDim] && c.nest.tripCounts[plan.kDim] &&
         imageRank + outer <= engine.maxRank;
}

std::optional<ScaleStaging> tilewright::stageScales(const LaneContractionPlan &plan, const Contraction &c,
                                                    const TargetDescription &chip, const CopyEngine &engine,
                                                    int64_t lineBytes) {
  if (!findsBesidesInBlock(*plan.unit))
    return ScaleStaging();
  const CopyEngine *into = scaleEngine(*plan.unit, chip.graph());
  if (!into || !plan.otherK.empty() || plan.cluster > 1)
    return std::nullopt;
  ScaleStaging staging;
  int64_t copied = 0; // bytes
  for (const ScaledSide &side : sidesOf(plan, c, *into)) {
    // Images are whole lines, and a line whole rows of them; the lanes of whole subgroups write an image.
    const int64_t image = side.image.accessBytes();
    if ((plan.unit->scales && plan.depth % side.image.depth != 0) || !isPlain(side, plan, c, engine) ||
        image % lineBytes != 0 || lineBytes % side.image.access != 0 ||
        image / ScaleImage::wordBytes % chip.graph().lockstepLevel()->count != 0)
      return std::nullopt;
    staging.stageBytes += side.images * side.image.bytes();
    staging.entries += side.own * side.image.entries;
    copied += plan.subgroupsM * plan.subgroupsN * side.own * side.image.bytes();
  }
  staging.clocks = double(copied) / into->bytesPerClock;
  return staging;
}

double tilewright::imageSeconds(const LaneContractionPlan &plan, const Contraction &c, const TargetDescription &chip) {
  const CopyEngine *into = findsBesidesInBlock(*plan.unit) ? scaleEngine(*plan.unit, chip.graph()) : nullptr;
  const Memory *global = chip.graph().backing();
  if (!into || !global)
    return 0;
  const int64_t steps = llvm::divideCeil(ContractionExtents::of(c, plan.kDim), plan.depth);
  double clocks = 0;
  for (const ScaledSide &side : sidesOf(plan, c, *into)) {
    double images = double(llvm::divideCeil(ContractionExtents::of(c, side.freeDim), side.block) * side.images * steps);
    for (unsigned dim : plan.outer)
      images *= side.access->dims().test(dim) ? double(ContractionExtents::of(c, dim)) : 1;
    const double bytes = side.bytes + images * double(side.image.bytes());
    clocks += bytes / global->bytesPerClock + launchClocks(chip);
  }
  return secondsOf(clocks, chip);
}
