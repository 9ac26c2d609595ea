//===- Passes.td - Stage 3: what runs beside what ----------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of other tiles run beside the work on one.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_PIPELINE_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def PipelineTiles : Pass<"pipeline-tiles", "::mlir::func::FuncOp"> {
  let summary = "Copy the next tile in, and the last one out, beside the work on this tile";
  let description = [{
    A loop over tiles whose buffers have several pipeline stages (`tile.stages`, from `place-tiles`) copies the tile of its
    next iteration before it waits for its own, and waits for what it copies out only when that stage is written again.
    Buffers have a stage for each, at `t mod stages`, already; only the order changes. Nothing is copied in for an
    iteration that does not run.

    ```mlir
    affine.for %t = 0 to %n {
      %in = tile.copy %x[%t * 16] to %b[%t mod 2, 0] ..
      tile.wait %in
      compute
      %out = tile.copy %d[%t mod 2, 0] to %y[%t * 16] ..
      tile.wait %out
    }
    // becomes
    %first = copy of tile 0, if there is one
    %last:2 = affine.for %t = 0 to %n iter_args(%in = %first, %out = none) {
      %next = copy of tile %t + 1, if there is one
      tile.wait %in, %out      // the stage of %d was copied out one iteration before the last
      compute
      %new = tile.copy %d[%t mod 2, 0] to %y[%t * 16] ..
      affine.yield %next, %new
    }
    tile.wait %last#0, %last#1
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_PIPELINE_PASSES
