//===- TileCanonicalization.h - Canonicalisation of tile programs -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's canonicalisation without one pattern, for programs whose loops carry fragments.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_TILECANONICALIZATION_H
#define TILEWRIGHT_CORE_PIPELINES_TILECANONICALIZATION_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tilewright {

/// A loop carries a fragment for each unit of a subgroup's tile, and as many for its operands: hundreds. The pattern
/// that looks for values carried twice compares each pair of them, which is half of all canonicalisation of a
/// contraction, and finds nothing: fragments that a plan carries are different ones. Loops have one block, so that
/// there are no blocks to join or to drop; operations without users go as patterns go through them.
inline std::unique_ptr<mlir::Pass> createTileCanonicalizer() {
  return mlir::createCanonicalizerPass(
      mlir::GreedyRewriteConfig().setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled),
      {"(anonymous namespace)::RemoveDuplicateSuccessorInputUses"});
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_TILECANONICALIZATION_H
