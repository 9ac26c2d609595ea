//===- Passes.td - passes of the core ----------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass = one file in this folder = one entry in the file of its stage = one
// test in test/lit/Transforms, all of one name. core/Pipelines says in which
// order they run.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "core/Transforms/ImportPasses.td"
include "core/Transforms/AffinePasses.td"
include "core/Transforms/OptimizePasses.td"
include "core/Transforms/MapPasses.td"
include "core/Transforms/LowerPasses.td"

#endif // TILEWRIGHT_PASSES
