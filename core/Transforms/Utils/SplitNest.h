//===- SplitNest.h - A reduction in parts -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A nest that combines into elements of an array, with one of its loops in parts, which are then combined:
///
///   for %i, %k, %j { c[%i, %j] += f(..) }            in 4 parts of %k
///   ->
///   for %p, %i, %j     { part[%p, %i, %j] = neutral }
///   for %p, %i, %k, %j { part[%p, %i, %j] += f(.. %p * (K / 4) + %k ..) }
///   for %i, %j, %p     { c[%i, %j] += part[%p, %i, %j] }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_SPLITNEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_SPLITNEST_H

#include "core/Analysis/Nest.h"
#include <optional>

namespace tilewright {

/// An element that iterations combine something with: `combine` takes both it and what an iteration gives.
struct CombinedElement {
  mlir::Operation *load, *store, *combine;
  mlir::TypedAttr neutral;
};

/// What the nest combines the element of `store` with: the one that it loads at the same place, of no other use.
/// nullopt where it does something else, or there is no value that changes nothing.
std::optional<CombinedElement> combinedElement(const Nest &nest, const Access &store);

/// What is split. All trip counts of `nest` are known, and all its stores are of such elements.
struct NestToSplit {
  const Nest &nest;
  llvm::SmallVector<CombinedElement, 2> elements;
  unsigned dim = 0;        // the loop, which does not index the elements
  bool partsInside = true; // the loop over the parts is the innermost one where they are combined, else the outermost
};

/// Replaces the nest; `parts` divides the iterations of its loop. The parts are computed before `before`, which stands
/// before the nest or is its root; they are combined where the nest was.
void computeInParts(const NestToSplit &task, int64_t parts, mlir::Operation *before);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_SPLITNEST_H
