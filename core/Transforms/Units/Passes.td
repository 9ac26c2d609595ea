//===- Passes.td - Stage 3: tiles on the fragments of units *- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The nests of a tile become operations on fragments.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UNITS_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_UNITS_PASSES

include "mlir/Pass/PassBase.td"

def MapToUnits : Pass<"map-to-units", "::mlir::func::FuncOp"> {
  let summary = "Compute the nests of a tile on fragments in the registers of subgroups";
  let description = [{
    Of a `tile.parallel` over blocks whose body is a program of rows (TileProgram.h): subgroups share out the rows,
    arrays that only the tile touches are fragments in the layout of a matrix unit's sums, contractions are products of
    that unit, reductions of columns combine what the lanes of a row hold, and a sum becomes an operand of the next
    product without leaving its lane. Operands without rows come through multi-stage buffers, ahead of the step that
    reads them. The model (TileProgramModel.h) chooses the unit, how many rows a subgroup has, and the stages. A tile
    that has no such form is an error: a schedule has asked for it.

    ```mlir
    tile.parallel (%h, %i) to (8, 16) level "grid" {
      affine.for %j = 0 to 16 { s += q k; m = max(m, s); p = exp(s - m); o += p v }
    }
    // becomes
    tile.parallel (%h, %i) to (8, 16) level "grid" {
      %kk = tile.alloc() .. memref<2x64x64xf16, "shared">
      tile.parallel (%w) to (4) level "block" {
        %q = tile.load ..
        affine.for %j = 0 to 16 iter_args(%m, %l, %o, %tokens) {
          tile.wait %tokens; tile.copy ..; tile.load ..; tile.mma ..; tile.reduce ..; tile.map ..; tile.convert ..; tile.mma ..
    ```
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::affine::AffineDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_UNITS_PASSES
