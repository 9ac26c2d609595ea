//===- Mutations.h - All places at which a program can be made wrong - C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// TILEWRIGHT_PLANT=PASS:site=N changes place N of what PASS left, and says on
/// standard error what it did; a number beyond the last place changes nothing:
///
///   mutation 3 of 17: wait: tile.wait at product.mlir:7:8
///
///   wait       a wait for copies or products, or the commit of a group, is gone
///   barrier    a barrier is gone
///   fence      a fence is gone
///   bound      a loop goes on for one iteration, a mask or a `valid` lets one more element pass, a guard is always
///   true offset     an access is one element farther along its last dimension swizzle    an exclusive or of an address
///   with a constant is gone zero-fill  an accumulator or buffer begins with one scale      a factor that is neither 0
///   nor 1 is doubled scale-lane lanes get the scales of the next row (of A) or column (of B)
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TEST_PLUGINS_MUTATIONS_H
#define TILEWRIGHT_TEST_PLUGINS_MUTATIONS_H

#include "mlir/IR/Operation.h"

/// Changes place `number` of `root`.
void mutate(mlir::Operation *root, unsigned number);

#endif // TILEWRIGHT_TEST_PLUGINS_MUTATIONS_H
