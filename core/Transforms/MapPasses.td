//===- MapPasses.td - Stage 4: levels ----------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Levels become threads, or launches and the host program between them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_MAPPASSES
#define TILEWRIGHT_MAPPASSES

include "mlir/Pass/PassBase.td"

def LowerTileParallel : Pass<"lower-tile-parallel", "::mlir::func::FuncOp"> {
  let summary = "Turn levels into parallel loops or sequential ones";
  let description = [{
    `tile.parallel` of a level that the chip describes as parallel (independent threads) and that has more than one
    member becomes `affine.parallel`, of any other level a nest of `affine.for`. A level that the chip lacks is an
    error.

    ```mlir
    tile.parallel (%i) to (%n ceildiv 64) level "core" { ... }
    // becomes
    affine.parallel (%i) = (0) to (%n ceildiv 64) { ... }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def OutlineLaunches : Pass<"outline-launches", "::mlir::ModuleOp"> {
  let summary = "Make each grid of a program one launch";
  let description = [{
    Kernels are inlined into the public function, and each `tile.parallel` of level grid there becomes a function of its own
    with the attribute `tilewright.launch` (threads of a block, scratchpad bytes), called with the arrays and sizes that it
    uses. Dimensions of a grid that may have more blocks than devices can start become one before (`fitGrid`). What is left
    of the public function is its manifest: sizes, temporaries and launches in order. A program
    with control flow around launches, or with work between them, is refused: one diagnostic says what stands there.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect"];
}

#endif // TILEWRIGHT_MAPPASSES
