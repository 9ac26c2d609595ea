//===- TensorCanonicalization.h - Canonicalisation of tensors ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Upstream's canonicalisation without one pattern, for programs on tensors that may be padded.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_TENSORCANONICALIZATION_H
#define TILEWRIGHT_CORE_PIPELINES_TENSORCANONICALIZATION_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tilewright {

/// A padded tensor that is inserted into a filled one becomes the tensor itself, inserted further in:
///
///   insert_slice (pad %x low[p]) into (fill)[o] [..] [s]   ->   insert_slice %x into (fill)[o + p] [..] [s]
///
/// The place is o + p s, so upstream's pattern is wrong wherever s is not 1, as in a transposed convolution of a padded
/// image. Without it, padding becomes an insertion of its own (`decompose-structured-ops`). The pipelines have no other
/// canonicalisation of tensors; `tw-opt --canonicalize` is upstream's.
inline std::unique_ptr<mlir::Pass> createTensorCanonicalizer() {
  return mlir::createCanonicalizerPass(
      mlir::GreedyRewriteConfig().setUseTopDownTraversal(true).setRegionSimplificationLevel(
          mlir::GreedySimplifyRegionLevel::Normal),
      {"(anonymous namespace)::FoldInsertPadIntoFill"});
}

/// The inliner, which canonicalises functions before it takes them.
inline std::unique_ptr<mlir::Pass> createTensorInliner() {
  return mlir::createInlinerPass({}, [](mlir::OpPassManager &pm) { pm.addPass(createTensorCanonicalizer()); });
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_TENSORCANONICALIZATION_H
