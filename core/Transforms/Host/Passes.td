//===- Passes.td - Stages 4 and 6: launches and the program around them -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids become launches; what is left is the host program.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_PASSES

include "mlir/Pass/PassBase.td"

def OutlineLaunches : Pass<"outline-launches", "::mlir::ModuleOp"> {
  let summary = "Make each grid of a program one launch";
  let description = [{
    Kernels are inlined into the public function, and each `tile.parallel` of level grid there becomes a function of its own
    with the attribute `tilewright.launch` (threads of a block, scratchpad bytes), called with the arrays and sizes that it
    uses; grids that are equal are one function, launched several times. Dimensions of a grid that may have more blocks than devices can start become one before (`fitGrid`). What is left
    of the public function is its manifest: sizes, temporaries and launches in order. A program
    with control flow around launches, or with work between them, is refused: one diagnostic says what stands there.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect"];
}

def JoinLaunches : Pass<"join-launches", "::mlir::ModuleOp"> {
  let summary = "Make one grid of equal grids";
  let description = [{
    For lanes. Grids of the public function that do the same with other arrays, of the same types, become one with so many
    times the blocks, if none of them writes what another one touches and nothing between needs their order: the products
    of one input with three weights are one launch. A new first index says to which of them a block belongs; where the grid
    has three already, it is a part of the first one. Blocks are as before, so that no model is asked; the modelled seconds
    are those of one launch (`core/CostModel/Time/Launches.h`).

    ```mlir
    tile.parallel (%i) to (8) level "grid" { .. tile.copy %wq .. tile.store %c, %q }
    tile.parallel (%i) to (8) level "grid" { .. tile.copy %wk .. tile.store %c, %k }
    // becomes
    tile.parallel (%n, %i) to (2, 8) level "grid" {
      %first = arith.cmpi eq, %n, %c0 : index
      %w = arith.select %first, %wq, %wk : memref<64x64xf16>
      %r = arith.select %first, %q, %k : memref<64x64xf16>
      .. tile.copy %w .. tile.store %c, %r
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tilewright::tile::TileDialect"];
}

def BindIntrinsics : Pass<"bind-intrinsics", "::mlir::ModuleOp"> {
  let summary = "Give the commands of a core the names of the vendor's functions";
  let description = [{
    For programs that are given out as source (writeC and writeLLVM in Compiler.h): units, copies and vector instructions become calls of
    what field `emit` of their records names (an ExternalCall), commits, waits and the addresses of memories calls of
    `TARGET_NAME`, the number of the core the first argument of each launch, arrays that it allocates arrays of its stack. The
    names and their types are those of the header that `tw-tblgen -gen-c-header` makes.

    ```mlir
    func.func private @launch(%A: !llvm.ptr) attributes {tilewright.launch = ...} {
      call @tilewright.primitive.copy_2d(...)   %s = llvm.mlir.addressof @tilewright_scratchpad : !llvm.ptr<3>
    // becomes
    func.func private @launch(%core: i32, %A: !llvm.ptr) attributes {tilewright.launch = ...} {
      call @npu_load(...)                       %s = call @acme_scratchpad() : () -> !llvm.ptr
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def WriteHostProgram : Pass<"write-host-program", "::mlir::ModuleOp"> {
  let summary = "Write the manifest of a program as a function";
  let description = [{
    The public function of each manifest: it takes sizes and arrays, checks that the sizes agree (1), allocates temporaries
    (2 where memory is missing), runs the launches core by core, and returns 0. A size that follows from data and is not as
    required ends it with 1 wherever it is compared; arrays of such sizes are allocated on the way and freed with their last
    use. Constants are arrays of the module. Runs after `bind-intrinsics`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def FinishLaunches : Pass<"finish-launches", "::mlir::ModuleOp"> {
  let summary = "Mark launches as kernels of their chip";
  let description = [{
    After the conversion to the LLVM dialect: what the chip's back end must know about a launch (that it is an entry, its
    number of threads) is attached to the function by the target.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

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

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_PASSES
