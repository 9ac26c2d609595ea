//===- Passes.td - passes of the core ----------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of contents: folders in the order of use. One pass = one file of a
// folder = one entry in that folder's Passes.td = one test in the folder of the
// same name under test/lit/Transforms, all of one name. core/Pipelines says in
// which order they run.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "core/Transforms/Import/Passes.td"
include "core/Transforms/Bufferize/Passes.td"
include "core/Transforms/Fusion/Passes.td"
include "core/Transforms/Contraction/Passes.td"
include "core/Transforms/Nests/Passes.td"
include "core/Transforms/Schedule/Passes.td"
include "core/Transforms/Tile/Passes.td"
include "core/Transforms/Place/Passes.td"
include "core/Transforms/Units/Passes.td"
include "core/Transforms/Pipeline/Passes.td"
include "core/Transforms/Host/Passes.td"
include "core/Transforms/Lower/Vectors/Passes.td"
include "core/Transforms/Lower/Lanes/Passes.td"
include "core/Transforms/Lower/Engines/Passes.td"
include "core/Transforms/Lower/Units/Passes.td"
include "core/Transforms/Lower/Math/Passes.td"
include "core/Transforms/Lower/LLVM/Passes.td"

#endif // TILEWRIGHT_PASSES
