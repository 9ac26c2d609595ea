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
  let options = [
    Option<"force", "force", "std::string", "", "Fields of the plan that override the model, `rows=6,vectors=4,...` "
           "(names as in --explain=json); for measuring how far the model is from the best">
  ];
}

def FuseNests : Pass<"fuse-nests", "::mlir::func::FuncOp"> {
  let summary = "Fuse element-wise and reduction nests into row programs";
  let description = [{
    Merges neighbouring nests of equal trip counts, outermost loop first, wherever no dependence would run backwards;
    then forwards stored values to loads, drops temporaries that nothing reads any more, and shrinks those that live
    within one iteration of the fused loops by the dimensions that these loops index.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

//===-- Stage 4: map ------------------------------------------------------===//

//===-- Stage 5: lower ----------------------------------------------------===//

def LowerTileToVector : Pass<"lower-tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "Turn fragments of one lane into vectors and matrix units into calls";
  let description = [{
    A fragment whose layout has one lane becomes a vector of its elements. Runs after lower-affine: loops that carry
    fragments are scf loops by then. `tile.mma` becomes a call of `@tilewright.unit.<record>` with the operand types
    of the record's emission, an operand that the record calls a broadcast scalar repeated to the full width; stage 6
    (emit-units) or the emulator binds that symbol.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ExpandMath : Pass<"expand-math"> {
  let summary = "Write elementary functions as arithmetic on scalars and vectors";
  let description = [{
    Replaces exp, log, tanh, erf and their relatives by branch-free arithmetic with minimax polynomials, for f32 and f64
    and, through f32, narrower floats. `1 + erf(x / sqrt 2)` and the GELU around it are taken as a whole, since the sum
    cancels. What has no expansion stays as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect"];
}

//===-- Stage 6: emit -----------------------------------------------------===//

def EmitUnits : Pass<"emit-units", "::mlir::ModuleOp"> {
  let summary = "Replace calls of matrix units by their instructions";
  let description = [{
    On the LLVM dialect: each call of `@tilewright.unit.<record>` becomes the emission of the record of the module's
    chip, and the declarations go. An emission lists its arguments by role: `A`, `B`, `C`, a constant `i32:7`, and for
    inline assembly `constraints:...`. Where an intrinsic has a fixed signature, operands are bit-cast to it. A unit
    that the chip lacks is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWRIGHT_PASSES
