//===- Passes.td - Stage 3: contractions on matrix units ---*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions and the nests around them are tiled, placed and mapped to the
// units of the chip.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PASSES

include "mlir/Pass/PassBase.td"

def MapContractions : Pass<"map-contractions", "::mlir::func::FuncOp"> {
  let summary = "Tile contractions for every memory level and map them to matrix units";
  let description = [{
    Recognises contractions by their access maps, lets the cost model choose unit, register tile, cache tiles,
    packing and loop order, and rewrites each with its initialisation and element-wise epilogue in one step.
    On SIMT targets subgroups of a block may share out k: after the loop they add their sums over a buffer
    that overlays the tiles (docs/simt/split-k.md).
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"force", "force", "std::string", "", "Fields of the plan that override the model, `rows=6,vectors=4,...` "
           "(names as in --explain=json); for measuring how far the model is from the best. Without it the module's "
           "attribute `tilewright.force` is read">
  ];
}

def HoistPacking : Pass<"hoist-packing", "::mlir::func::FuncOp"> {
  let summary = "Pack what all tiles share before the first";
  let description = [{
    A copy in the body of a loop over tiles which fills a buffer from arrays that no tile writes, without the number of
    the tile, moves before the loop with its buffer. `map-contractions` plans such a copy whole where it pays
    (SharedOperands.h).

    ```mlir
    for tile: { pack b into p;  c[tile] += a[tile] * p }   ->   pack b into p;  for tile: c[tile] += a[tile] * p
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

def BindConstants : Pass<"bind-constants", "::mlir::ModuleOp"> {
  let summary = "Compute what follows from constant arguments alone in a function that is called once";
  let description = [{
    A public function marks arguments that are the same in many calls, such as weights, with `tilewright.constant`. Buffers
    that `map-contractions` packs of them (`bound_vectors` of a plan) move into one array of bytes: the function takes it
    as its last input, and a function of the name `NAME_bind` fills it from the constant arguments. Modules without the
    attribute `tilewright.bind` have no such buffers.

    ```mlir
    func @f(%x, %w {tilewright.constant}, %y) { call @k(%x, %w, %y) }     // @k packs %w, then multiplies
    // becomes
    func @f_bind(%w, %bound) { %b = memref.view %bound[0];  call @k_bind(%w, %b) }
    func @f(%x, %w, %bound {tilewright.bound}, %y) { %b = memref.view %bound[0];  call @k(%x, %y, %b) }
    ```

    What follows from large constants of the module alone (in modules with `tilewright.fold = true`) is filled by one function,
    `tilewright.fold`, into constants `tilewright.packed` without contents. The compiler runs it after stage 5.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect"];
}

def SplitReductions : Pass<"split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Share the sum of a contraction out over blocks";
  let description = [{
    Where the result of a contraction has too few tiles to occupy the chip (SplitModel.h), its sum is cut into equal
    parts: a batch of contractions into partial results, and a nest that adds them to C. The order of a sum changes, so the
    strict floating-point contract forbids it.

    ```mlir
    c[%i, %j] += a[%i, %k] * b[%k, %j]                       // k to 8192
    // becomes, with 16 parts
    p[%s, %i, %j] = 0;  p[%s, %i, %j] += a[%i, 512 %s + %k] * b[512 %s + %k, %j];  c[%i, %j] += p[%s, %i, %j]
    ```

    `tilewright.force = "split_k=16"` asks for so many parts (1: the sum stays whole), where they are whole steps of k.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_CONTRACTION_PASSES
