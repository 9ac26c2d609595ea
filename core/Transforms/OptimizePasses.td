//===- OptimizePasses.td - Stage 3: units, vectors ---------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions get units and tiles; other nests are fused, vectorised or shared
// out.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_OPTIMIZEPASSES
#define TILEWRIGHT_OPTIMIZEPASSES

include "mlir/Pass/PassBase.td"

def MapContractions : Pass<"map-contractions", "::mlir::func::FuncOp"> {
  let summary = "Tile contractions for every memory level and map them to matrix units";
  let description = [{
    Recognises contractions by their access maps, lets the cost model choose unit, register tile, cache tiles,
    packing and loop order, and rewrites each with its initialisation and element-wise epilogue in one step.
    On chips that run lanes subgroups of a block may share out k: behind the loop they add their sums over a buffer
    that overlays the tiles (docs/lanes.md).
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

def MapNestsToLanes : Pass<"map-nests-to-lanes", "::mlir::func::FuncOp"> {
  let summary = "Run the iterations of parallel loops on the lanes of a grid";
  let description = [{
    Each affine nest of a kernel that is not mapped yet becomes one `tile.parallel` of level grid over block, subgroup and
    lane: the parallel loops outside are counted through by one number, the last loop fastest, so that neighbouring
    lanes take neighbouring elements; what is inside the first loop with a dependence runs in one lane. Loops whose
    iterations touch nothing of each other's whatever the others are at (those over columns, of sums of columns) move
    outside first, and an element that a lane's loops add to is loaded before them and stored behind.

    Reads at computed indices leave a loop parallel where it writes nothing of the arrays that they are from; opaque functions
    whose arrays are apart (docs/stages.md) are mapped, too, as far as they have such loops.

    A body without loops that reads or writes neighbours of a row can be done for several iterations at once: as many as
    the model (NestModel.h) finds fastest, by `tile.load`, `tile.map` and `tile.store` of fragments of one lane. Loops that
    all accesses go through as one are counted by one number.

    ```mlir
    affine.for %i = 0 to %m { affine.for %j = 0 to 256 { body } }
    // becomes, with 256 lanes a block
    tile.parallel (%b) to ((%m * 256) ceildiv 256) level "grid" {
      tile.parallel (%s) to (8) level "block" { tile.parallel (%l) to (32) level "subgroup" {
        number = %b * 256 + %s * 32 + %l;  if number < %m * 256 { %i = number / 256, %j = number mod 256; body } } } }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect"];
}

def FuseHalos : Pass<"fuse-halos", "::mlir::func::FuncOp"> {
  let summary = "Compute a stencil where another one reads it";
  let description = [{
    Where a nest reads several elements, side by side, of what another nest wrote, and moving the buffer between them
    costs more than the elements that are computed again, the second nest computes them itself:

    ```mlir
    for y: for x: t[y, x] = f(image[y, x], image[y, x + 1])
    for y: for x: out[y, x] = g(t[y, x], t[y + 1, x])
    // becomes
    for y: for x: out[y, x] = g(f(image[y, x], image[y, x + 1]), f(image[y + 1, x], image[y + 1, x + 1]))
    ```

    Rows that `vectorize-nests` takes at once share what they compute. Where even that is too much work, and the second
    nest reads neighbours in the rows, it takes them from a ring of rows, of which each step computes one:

    ```mlir
    for y: for x: ring[(y + 1) mod 2, x] = f(image[y + 1, x], image[y + 1, x + 1])
           for x: out[y, x] = g(ring[y mod 2, x], ring[(y + 1) mod 2, x])
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def UnrollTaps : Pass<"unroll-taps", "::mlir::func::FuncOp"> {
  let summary = "Let neighbouring results of a window be lanes, its taps be written out";
  let description = [{
    A nest that combines taps (loops that no result is indexed by) into results whose neighbours are contiguous is walked
    along a row of results. As many of its innermost tap loops are written out as the chip has vector registers, with
    the running value as a scalar, the others move around the row; the taps of each result keep their order. The cost model
    compares it with lanes over the taps, which long rows keep.

    ```mlir
    for y: for x: for ky < 2: for kx < 2: out[y, x] = max(out[y, x], in[2 y + ky, 2 x + kx])
    // becomes
    for y: for x: out[y, x] = max(max(max(max(out[y, x], in[2 y, 2 x]), in[2 y, 2 x + 1]), in[2 y + 1, 2 x]), in[2 y + 1, 2 x + 1])

    for y: for x: for ky < 7: for kx < 7: out[y, x] += in[y + ky, x + kx]
    // becomes
    for y: for ky < 7: for x: out[y, x] = out[y, x] + in[y + ky, x] + .. + in[y + ky, x + 6]
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
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

def VectorizeNests : Pass<"vectorize-nests", "::mlir::func::FuncOp"> {
  let summary = "Vectorise element-wise and reduction nests with proven bounds";
  let description = [{
    Chooses for each nest the loop whose iterations become lanes, from the strides of its accesses; writes a main loop
    of full vectors and one masked tail; reads every second to fourth element by contiguous loads and shuffles where that
    is faster than a gather, and what lies along another loop in squares that are transposed in registers; accesses arguments
    of bools as bytes; keeps several
    accumulators of a reduction in registers; takes four rows of sums at once that come from memory or read one row together;
    and stores past the caches what is too large to be read again from them.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MapNestsToCores : Pass<"map-nests-to-cores", "::mlir::func::FuncOp"> {
  let summary = "Run what no unit takes on the cores themselves";
  let description = [{
    For chips whose cores have a scratchpad: each nest of a kernel that is not mapped yet becomes one `tile.parallel` of the
    cores' level. Of its parallel loops outside the first with enough iterations is cut into one range for each core; a
    nest without one runs on one core.

    ```mlir
    affine.parallel (%i) = (0) to (%m) { body }
    // becomes, with four cores
    tile.parallel (%c) to (4) level "core" { affine.for %i = %c * (%m ceildiv 4) to min(%m, (%c + 1) * (%m ceildiv 4)) { body } }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::tilewright::tile::TileDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // TILEWRIGHT_OPTIMIZEPASSES
