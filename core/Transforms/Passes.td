//===- Passes.td - passes of the core ----------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass = one file in this folder = one entry here = one test in
// test/lit/Transforms, all of one name. Entries stand in the order of the
// stages (DESIGN 5), under a banner a stage.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "mlir/Pass/PassBase.td"

//===-- Stage 1: import ---------------------------------------------------===//

//===-- Stage 2: affine ---------------------------------------------------===//

//===-- Stage 3: optimise -------------------------------------------------===//

def MapContractions : Pass<"map-contractions", "::mlir::func::FuncOp"> {
  let summary = "Tile contractions for every memory level and map them to matrix units";
  let description = [{
    Recognises contractions by their access maps, lets the cost model choose unit, register tile, cache tiles,
    packing and loop order, and rewrites each with its initialisation and element-wise epilogue in one step.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

//===-- Stage 4: map ------------------------------------------------------===//

//===-- Stage 5: lower ----------------------------------------------------===//

//===-- Stage 6: emit -----------------------------------------------------===//

#endif // TILEWRIGHT_PASSES
