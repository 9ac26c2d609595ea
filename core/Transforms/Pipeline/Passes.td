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
    A loop over tiles whose buffers have several pipeline stages (`tile.stages`, from `place-tiles` and `map-contractions`)
    copies the tiles of later iterations, one less than there are stages, before it waits for its own, and waits for what
    it copies out only when that stage is written again. Buffers have a stage for each, at `t mod stages`, already; only
    the order changes. Nothing is copied in for an iteration that does not run.

    ```mlir
    affine.for %t = 0 to %n {
      %in = tile.copy %x[%t * 16] to %b[%t mod 2, 0] ..
      tile.wait %in
      compute
      %out = tile.copy %d[%t mod 2, 0] to %y[%t * 16] ..
      tile.wait %out
    } {tile.stages = 2}
    // becomes
    %first = copy of tile 0, if there is one
    %last:3 = affine.for %t = 0 to %n iter_args(%in = %first, %old = none, %out = none) {
      %next = copy of tile %t + 1, if there is one
      tile.wait %in, %old      // the stage of %d was copied out one iteration before the last
      compute
      %new = tile.copy %d[%t mod 2, 0] to %y[%t * 16] ..
      affine.yield %next, %out, %new
    }
    tile.wait %last#1, %last#2
    ```

    Where the last wait is for the work itself, a unit's, that runs beside the next iteration too: the stage that it read
    is filled again after the next work has begun.

    **Two loops in one.** What the first loop of a tile computes in two stages, the second one finishes: it runs beside
    the first loop of the next tile, an iteration beside each one there, and what is left after these. Stages of both
    go on over the ends of tiles.

    ```mlir
    affine.for %t = 0 to %n {                            step of k      0    1    2 |  0    1    2 |
      affine.for %s = 0 to 3 {                           copies    c0   c1   c2   c0' c1'  c2'
        copies in; tile.wait                             unit           u0   u1   u2|  u0'  u1'  u2'|
        %u = tile.multiply .. ; tile.wait %u             vectors                    |  v0   v1      | v0'  v1'
      } {tile.stages = 2}
      affine.for %q = 0 to 2 { .. } {tile.stages = 2}
    } {tile.stages = 2}
    ```

    **Groups.** The unit's work of an iteration may be a loop over groups of its commands, and the work of the second
    loop one over at most as many groups: a group of each follows the other in turns. `tile.groups` of the first of these
    is the group after which the copies of a later iteration are commanded.

    ```mlir
    %u = affine.for %g = 0 to 4 iter_args(..) { tile.multiply .. } {tile.groups = 1}     affine.for %g = 0 to 4 {
    affine.for %g = 0 to 4 { vectors of rows } {tile.groups = 0}                     //    tile.multiply of group %g
                                                                                     //    %g = 1: wait, copies
                                                                                     //    vectors of group %g
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_PIPELINE_PASSES
