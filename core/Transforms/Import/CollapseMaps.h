//===- CollapseMaps.h - Nests over fewer dimensions -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A layer of a network multiplies rows of [batch, tokens, features] as [batch tokens, features]. What is between two
/// such products can be computed in that shape as well, so that no view stands between a nest and its users:
///
///   p = a b : nx6;  s = expand p : bxtx6;  o = s + r : bxtx6   ->   o = expand (p + collapse r)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_IMPORT_COLLAPSEMAPS_H
#define TILEWRIGHT_CORE_TRANSFORMS_IMPORT_COLLAPSEMAPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tilewright {

/// Nests that read an expanded array, or whose result is collapsed, run over the collapsed dimensions, where each of
/// their arrays has all dimensions of such a group, one after the other, or none of them. Other arrays become views.
/// Groups of static sizes are left, but for maps that are alone after what they read: access maps of memrefs take
/// these views in, since their sizes are factors that maps may have. Fails where upstream's rewriting does.
llvm::LogicalResult collapseMaps(mlir::func::FuncOp function);

/// Whether the body reads memory by computed indices.
bool readsTensors(mlir::linalg::GenericOp op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_IMPORT_COLLAPSEMAPS_H
