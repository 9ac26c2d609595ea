//===- Passes.td - Stage 3: nests that are no contractions -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise nests, reductions along rows and transpositions are mapped to
// vectors, lanes and cores.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_NESTS_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_NESTS_PASSES

include "mlir/Pass/PassBase.td"

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

def SplitStrides : Pass<"split-strides", "::mlir::func::FuncOp"> {
  let summary = "Keep arrays that are read in strides as one plane for each phase of the stride";
  let description = [{
    A temporary whose innermost index every read strides over, as the padded image of a depthwise convolution at a distance of two, is
    stored in planes: element `s q + p` of a row as element `q` of the plane `p`. Each read is then one of neighbours, without shuffles.
    What fills the array writes all planes in one iteration, so its own reads are those that stride: so it is done where fewer elements
    are stored than read.

    ```mlir
    for i < 60: %padded[y, i] = ..                  for q < 30: %planes[y, 0, q] = .. (i = 2 q); %planes[y, 1, q] = .. (i = 2 q + 1)
    for x < 28: .. %padded[2 y + ky, 2 x + 3]   ->  for x < 28: .. %planes[2 y + ky, 1, x + 1]
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ReadAtIndices : Pass<"read-at-indices", "::mlir::func::FuncOp"> {
  let summary = "Read the one element that a sum of choices takes";
  let description = [{
    A sum over columns of which one term is chosen by comparing the column with an index, and all others are 0, reads the element at the
    index. `compare-indices` writes such sums, so that they can be computed with other nests; those that no launch has taken become
    reads of one element again. An index out of range chooses nothing: the read is guarded.

    ```mlir
    affine.for %i = 0 to 8 { affine.for %j = 0 to 512 { y[%i] += select(%j == t[%i], x[%i, %j], 0) } }
    // becomes
    affine.for %i = 0 to 8 { %k = max(0, min(t[%i], 511)); y[%i] += select(%k == t[%i], memref.load x[%i, %k], 0) }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect"];
}

def SplitSums : Pass<"split-sums", "::mlir::func::FuncOp"> {
  let summary = "Sum in parts, where there are fewer sums than the chip has room for, or sums are long";
  let description = [{
    Sums along the rows, one for each column, are as parallel as there are columns, and one sum of a whole array is the work
    of one block. Where the model finds that more are faster, the sums are cut into parts
    that are computed at the same time, and a second nest adds the parts. Not where sums of floats have one order, and of
    one sum not where another nest runs over its elements, too: one launch does both then. Sums of several rows stay whole.

    On cores with caches, nests of sums of floats with 512 terms or more are cut so, since each addition in a row rounds: the longest
    loop of the sum, into the number of parts that divides its iterations and is nearest to a third of the root of the number of terms.

    ```mlir
    affine.for %i = 0 to 8192 { affine.for %j = 0 to 512 { s[%j] += f(x[%i, %j]) } }
    // becomes
    affine.for %p = 0 to 64 { affine.for %i = 0 to 128 { affine.for %j = 0 to 512 { part[%p, %j] += f(x[%p * 128 + %i, %j]) } } }
    affine.for %p = 0 to 64 { affine.for %j = 0 to 512 { s[%j] += part[%p, %j] } }
    ```
    ```mlir
    affine.for %i = 0 to 1048576 { s[] += f(x[%i]) }
    // becomes
    affine.for %p = 0 to 256 { affine.for %i = 0 to 4096 { part[%p] += f(x[%p * 4096 + %i]) } }
    affine.for %p = 0 to 256 { s[] += part[%p] }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect"];
}

def JoinNests : Pass<"join-nests", "::mlir::func::FuncOp"> {
  let summary = "Merge neighbouring nests whose iterations are independent into one launch";
  let description = [{
    Neighbouring nests with equal parallel loops become one nest, if each of its iterations touches nothing that another one
    writes: the start of a sum, the sum, and what is computed of its result are one launch. Loops inside, over the same rows, are merged
    too. So are sums of the same columns.

    ```mlir
    affine.for %j = 0 to 512 { s[%j] = 0 }
    affine.for %j = 0 to 512 { affine.for %i = 0 to 128 { s[%j] += x[%i, %j] } }
    affine.for %j = 0 to 512 { y[%j] = truncf s[%j] }
    // becomes
    affine.for %j = 0 to 512 { s[%j] = 0; affine.for %i = 0 to 128 { .. }; y[%j] = truncf s[%j] }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def MapParallelToLanes : Pass<"map-parallel-to-lanes", "::mlir::func::FuncOp"> {
  let summary = "Give each iteration of an scf.parallel a lane";
  let description = [{
    The outermost parallel loops of a program on memrefs become grids; inner ones are loops of a lane. A reduction is
    summed up by 1024 lanes, of which lane i takes iterations i, i + 1024, .., and one lane combines what they have: the
    order is the same on every chip. With the strict floating-point contract it is that of the iterations, in one lane.
    So are loops that hold what lanes do not have (calls, allocations).

    ```mlir
    %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%z) -> f32 { %v = f(%i); scf.reduce(%v) { addf } }
    // becomes
    tile.parallel (%b) to (min(%n, 1024) ceildiv 256) level "grid" { .. %id ..
      scf.if %id < %n { %p = f(%id) + f(%id + 1024) + ..; memref.store %p, %partial[%id] } }
    %s = scf.for %i = 0 to min(%n, 1024) iter_args(%x = %z) { %x + %partial[%i] }
    ```
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def MapRowProgramsToLanes : Pass<"map-row-programs-to-lanes", "::mlir::func::FuncOp"> {
  let summary = "Run nests over the same rows in one launch";
  let description = [{
    Soft-max, layer norm and the like: nests over the same rows of contiguous elements, of which no row reads what
    another one writes (RowProgram.h), become one grid. A block takes a row through all nests; rows that a later phase
    reads again are kept in the scratchpad. RowModel.h says how many subgroups share a row, or that a launch for each
    nest is faster; those are left to map-rows-to-lanes and map-nests-to-lanes. The length of a row must be known.

    ```mlir
    affine.for %i = 0 to %m { s[%i] = 0 }
    affine.for %i = 0 to %m { affine.for %j = 0 to 4096 { s[%i] += a[%i, %j] } }
    affine.for %i = 0 to %m { affine.for %j = 0 to 4096 { r[%i, %j] = a[%i, %j] / s[%i] } }
    // becomes, with 8 subgroups of 32 lanes
    tile.parallel (%i) to (%m) level "grid" {
      %k = tile.alloc() : memref<1x4096xf32, "shared">
      %p = tile.alloc() : memref<1x8xf32, "shared">
      tile.parallel (%w) to (8) level "block" {
        %x = tile.load a[%i, %w * 512]
        tile.store %x, %k[0, %w * 512]
        tile.store (tile.reduce %x), %p[0, %w] }
      tile.parallel (%w) to (8) level "block" {
        %s = 0 + %p[0, 0] + .. + %p[0, 7]
        tile.store (tile.load %k[0, %w * 512] / %s), r[%i, %w * 512] } }
    ```
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def MapRowsToLanes : Pass<"map-rows-to-lanes", "::mlir::func::FuncOp"> {
  let summary = "Share the rows of a reduction out over subgroups";
  let description = [{
    A nest that combines contiguous elements into one of memory (sum, product, maximum, ..) gets one subgroup a row, or
    several: RowModel.h says how many, or that one lane a row is faster, which is left to map-nests-to-lanes. Partial
    results are combined by `tile.reduce`, those of several subgroups over the scratchpad.

    ```mlir
    affine.for %i = 0 to %m { affine.for %j = 0 to 4096 { s[%i] += a[%i, %j] } }
    // becomes, with 8 subgroups of 32 lanes and 4 neighbouring elements
    tile.parallel (%i) to (%m) level "grid" {
      %s = tile.alloc() : memref<8xf32, "shared">
      tile.parallel (%w) to (8) level "block" {
        %sum = affine.for %k = 0 to 4 iter_args(%x = zeros) { %x + (tile.load a[%i, (%k * 8 + %w) * 128]) }
        tile.store (tile.reduce %sum), %s[%w]
      }
      tile.parallel (%w) to (8) level "block" { %t = tile.reduce (tile.load %s[0]); if %w == 0 { s[%i] += %t } } }
    ```
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def MapTransposesToLanes : Pass<"map-transposes-to-lanes", "::mlir::func::FuncOp"> {
  let summary = "Transpose through tiles in the scratchpad";
  let description = [{
    An element-wise nest that writes along one dimension and reads an array along another: blocks copy square tiles of
    that array into the scratchpad, with rows padded by one bank, and read their columns, so that global memory is
    read and written in whole sectors and no two lanes meet in a bank. Short dimensions that lie inside are taken whole
    (`Transposition.h`): a tile holds runs of them and of a part of the next one. Where the result has such runs, it
    leaves through the scratchpad, too.

    ```mlir
    affine.for %i = 0 to %m { affine.for %j = 0 to %n { b[%i, %j] = a[%j, %i] } }
    // becomes, with 32 lanes
    tile.parallel (%y, %x) to (%m ceildiv 32, %n ceildiv 32) level "grid" {
      %t = tile.alloc() {arrangement = #tile.arrangement<padding = 1>} : memref<32x32xf32, "shared">
      tile.parallel (%w) to (8) level "block" {
        tile.wait (tile.copy a[32 %x, 32 %y] to %t shape [32, 32])
        tile.store (tile.load %t[0, 4 %w] elements (r, c) -> (c, r)), b[32 %y + 4 %w, 32 %x] } }
    ```
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_NESTS_PASSES
