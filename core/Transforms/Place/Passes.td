//===- Passes.td - Stage 3: arrays in memories -------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tile touches gets a buffer, and copies around the tile.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_PLACE_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_PLACE_PASSES

include "mlir/Pass/PassBase.td"

def PlaceTiles : Pass<"place-tiles", "::mlir::func::FuncOp"> {
  let summary = "Keep what tiles touch in the memory that the schedule names";
  let description = [{
    For each placement of a schedule: a buffer in the placement's memory, as large as the box that a tile touches
    (integer sets), a copy into it before the tile and a copy back after it, and every access of the tile goes to the
    buffer. Nothing is copied in where the tile overwrites all of the box before it reads, nothing back where the tile
    only reads. Where a tile writes a part of its box, the box is copied in first.

    ```mlir
    affine.for %t = .. { affine.for %i = 0 to 16 { affine.for %j = 0 to 300 { .. affine.load %x[%t * 16 + %i, %j] .. } } } {tile.at = 0}
    // becomes
    %b = tile.alloc() : memref<16x300xf32, "scratchpad">
    affine.for %t = .. {
      %c = tile.copy %x[%t * 16, 0] elements (p, q) -> (p, q) to %b[0, 0] elements (p, q) -> (p, q) shape [16, 300]
      tile.wait %c
      affine.for %i = 0 to 16 { affine.for %j = 0 to 300 { .. affine.load %b[%i, %j] .. } }
    }
    ```

    An array of which no tile hands anything on is not copied: its buffer takes its place. Only such arrays can be placed
    in a cache, where a buffer is memory that is used again for each tile.

    Buffers that a nest allocates itself move to the memory of the level too. A placement that has no box is an error:
    nothing is decided here.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_PLACE_PASSES
