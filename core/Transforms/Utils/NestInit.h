//===- NestInit.h - The nest that sets what another one adds to -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A nest before another one that stores one value into all elements which that
/// one adds to:
///
///   for %i { s[%i] = 0 }
///   for %i, %k { s[%i] += f(x[%i, %k]) }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTINIT_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTINIT_H

#include "core/Analysis/Nest.h"
#include <optional>

namespace tilewright {

struct NestInit {
  mlir::affine::AffineForOp loop; // root of the nest that stores
  mlir::Value value;              // a constant, or from outside of it
};

/// The nest that stores one value into the elements of `result`, an access of `nest` over `loops` of its loops, and
/// that touches its array last before it; nullopt where another one does.
std::optional<NestInit> findInit(const Nest &nest, const Access &result, unsigned loops);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_NESTINIT_H
