//===- Passes.td - Stage 3: loops over tiles ---------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops become what their schedule says.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_TILE_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_TILE_PASSES

include "mlir/Pass/PassBase.td"

def TileAndFuse : Pass<"tile-and-fuse", "::mlir::func::FuncOp"> {
  let summary = "Cut the loops of scheduled nests into tiles and spread them over a level";
  let description = [{
    Each scheduled operation becomes a `tile.parallel` of its level that carries the schedule. Loops that the schedule cuts
    become a loop over whole tiles and one over the last, smaller tile, so that no loop inside a tile has a bound that
    depends on the tile; each is marked with the number of its loop (`tile.at`). Members of the level take neighbouring
    tiles of the loop that is spread; the last member takes the smaller one.

    A schedule of several operations cuts the last one. Nests before it are computed in its tiles: the elements that a
    tile touches are found by integer sets, and bound the loops that index what the nest writes. Where tiles touch the
    same elements, each computes them. A nest that cannot be cut so is an error.

    With `step`, reductions of a tile over one dimension that read each other's results become a loop over steps of that
    dimension (`OnlineReductions.h`). It carries `tile.at = -2`; arrays that the dimension indexes have the size of a step.
    A chain that cannot be computed so is an error with the reason.

    ```mlir
    affine.for %i = 0 to 100 { body(%i) } {tile.schedule = #tile.schedule<.. members = 4, loops = [<loop = 0, tile = 16, spread = true>]>}
    // becomes
    tile.parallel (%c) to (4) level "core" {
      affine.for %t = %c * 2 to min(6, %c * 2 + 2) { affine.for %i = 0 to 16 { body(%t * 16 + %i) } } {tile.at = 0}
      affine.for %t = 6 to %c floordiv 3 + 6       { affine.for %i = 0 to 4  { body(%t * 16 + %i) } } {tile.at = 0}
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_TILE_PASSES
