//===- LanePasses.td - passes of chips that run lanes ------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of Passes.td are for all chips: one pass = one file = one
// entry = one test. Sorted by stage, and in a stage by the order in which they
// run.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LANEPASSES
#define TILEWRIGHT_LANEPASSES

include "mlir/Pass/PassBase.td"

//===-- Stage 3: optimise -------------------------------------------------===//

def SimplifyHostCode : Pass<"simplify-host-code", "::mlir::func::FuncOp"> {
  let summary = "Write what programs on memrefs have for CPUs with what lanes and their host have";
  let description = [{
    Around the kernels: affine control flow becomes that of scf; accesses of vectors become those of elements
    (VectorAccesses.h); memory of the stack becomes an array, one for all iterations of the loops around it; atomic updates
    become a load and a store, and the parallel loops around them sequential ones; hints and releases go.

    ```mlir
    %v = vector.load %a[%i] : memref<?xf32>, vector<2xf32>     // two memref.load, two vector.insert
    %o = memref.atomic_rmw addi %one, %h[%k]                   // memref.load, arith.addi, memref.store
    %s = memref.alloca() : memref<f32>                         // memref.alloc at the start of the function
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"];
}

def CopyByteViews : Pass<"copy-byte-views", "::mlir::ModuleOp"> {
  let summary = "Give kernels arrays of their own for what memref.view makes of bytes";
  let description = [{
    Kernels load vectors and tiles of arrays that begin where memory of the device does; what memref.view makes may begin at any
    byte. Lanes copy such an array before a kernel and, if the kernel writes it, back behind it. Loops of the program itself access
    it where it is.

    ```mlir
    %v = memref.view %bytes[%shift][%n] : memref<?xi8> to memref<?xf32>
    call @kernel(%v)
    // becomes
    %own = memref.alloc(%n)
    scf.parallel (%i) ... { %own[%i] = %v[%i] }
    call @kernel(%own)
    scf.parallel (%i) ... { %v[%i] = %own[%i] }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
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

def ShareSizes : Pass<"share-sizes", "::mlir::ModuleOp"> {
  let summary = "Give sizes that are equal the same value";
  let description = [{
    A kernel that is called once, by a public function: sizes of its arrays, and indices, that have one name in the
    function's `tilewright.shapes` become one value. Calls begin with the check that they are equal.

    ```mlir
    %m = memref.dim %a, %c0    // s0
    %n = memref.dim %b, %c0    // s0, too
    affine.for %i = 0 to %m { .. }
    affine.for %i = 0 to %n { .. }    // becomes: to %m
    ```
  }];
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
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
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

//===-- Stage 4: map ------------------------------------------------------===//

def PlaceHostCode : Pass<"place-host-code", "::mlir::ModuleOp"> {
  let summary = "Give what stands between launches a place: the host or one lane";
  let description = [{
    For chips that run lanes. Kernels are inlined into the public functions. There the host keeps control flow around
    grids, allocations and integer arithmetic; every run of other ops (accesses of elements, floating point, loops over
    elements) becomes a grid of one lane. Scalars that the rest of the program uses go through arrays of rank 0, and
    so do scalar arguments and results; an integer that decides for the host is read from such an array. A switch
    becomes branches, a reshape by data a view whose sizes the host reads (HostForms.h).

    ```mlir
    %x = memref.load %a[%i] : memref<?xf32>       // tile.parallel () to (1) level "grid" { .. block, subgroup ..
    %c = arith.cmpf olt, %x, %limit : f32         //   load, compare, memref.store %c, %cell[] : memref<i1> }
    scf.if %c { grid }                            // %d = memref.load %cell[] : memref<i1>   scf.if %d { grid }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::tilewright::tile::TileDialect"];
}

def DropSignedness : Pass<"drop-signedness", "::mlir::ModuleOp"> {
  let summary = "Drop the signs of integer types in launches";
  let description = [{
    Arrays of ui8 or si16 are arrays of i8 and i16 to a lane: which numbers their bits mean, the ops say. Manifests keep
    the program's types, which callers see.

    ```mlir
    func.func private @main_launch_0(%a: memref<8xui8>) { %x = memref.load %a[%i] : memref<8xui8> }
    // becomes
    func.func private @main_launch_0(%a: memref<8xi8>) { %x = memref.load %a[%i] : memref<8xi8> }
    ```
  }];
}

//===-- Stage 5: lower ----------------------------------------------------===//

def CheckEngineFences : Pass<"check-engine-fences", "::mlir::ModuleOp"> {
  let summary = "Prove that lanes publish what engines and units read";
  let description = [{
    On the final kernels of chips whose engines go their own way to the scratchpad: along each path of the control flow,
    what lanes write to the scratchpad, and the phase objects that they make, are behind a fence before engines, and handed
    on behind it, when an engine uses the scratchpad. What an op means tells the target's emulation table. A missing fence is
    an error, since no run on a host shows it for certain. Where units of a group work beside the lanes, each access of the
    lanes to registers that such a unit takes has a fence of units' registers behind it, and so has the kernel's beginning.

    ```mlir
    llvm.store %v, %tile : f32, !llvm.ptr<3>
    acme.fence                                  // without it: error at acme.store.tile, note at llvm.store
    acme.barrier
    acme.store.tile %map, %tile
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWRIGHT_LANEPASSES
