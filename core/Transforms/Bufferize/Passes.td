//===- Passes.td - Stage 2: tensors become affine nests ----*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors become buffers, ops become affine nests with scalar accesses, each
// maximal region a function of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_PASSES

include "mlir/Pass/PassBase.td"

def PrepareBufferization : Pass<"prepare-bufferization", "::mlir::ModuleOp"> {
  let summary = "State at function boundaries and loops which tensors may be written";
  let description = [{
    Tensor arguments of public functions are inputs that nobody may write (`bufferization.writable = false`); scalar
    results become tensors of rank 0, so that every result can be an out-parameter; tensors that a loop carries are written
    into one buffer where their size cannot change. The functions get `tilewright.inputs` and `tilewright.outputs`, the
    numbers of their arguments that are read and that are results.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::tensor::TensorDialect"];
}

def ReturnWholeArrays : Pass<"return-whole-arrays", "::mlir::func::FuncOp"> {
  let summary = "Compute a result that is a view in the array that the caller gives";
  let description = [{
    A result that is a reshaped view of what the function computes would be computed in an array of its own and copied:
    the caller's array has another shape. So the array is allocated in the shape of the result, and what was returned
    through a view is computed in the opposite view of it. Dynamic sizes of the result must be known where the array is
    allocated; where two results look at one array, both stay as they are. Stands before `buffer-results-to-out-params`.

    ```mlir
      %a = memref.alloc() : memref<2x3x4xf32>
      %r = memref.collapse_shape %a [[0, 1], [2]] : memref<2x3x4xf32> into memref<6x4xf32>
      return %r : memref<6x4xf32>
    // becomes
      %r = memref.alloc() : memref<6x4xf32>
      %a = memref.expand_shape %r [[0, 1], [2]] output_shape [2, 3, 4] : memref<6x4xf32> into memref<2x3x4xf32>
      return %r : memref<6x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect"];
}

def CopyYieldedSlices : Pass<"copy-yielded-slices", "::mlir::func::FuncOp"> {
  let summary = "Let branches and loops yield whole buffers";
  let description = [{
    A kernel folds slices into its access maps. Behind an `scf.if`, `scf.for` or `scf.while` it cannot see where a slice was
    taken, so a tensor that they yield, or begin with, becomes a copy where bufferization would place it in a slice of
    another buffer: one that `tensor.extract_slice` takes, or an operation's result that is written there. Stands
    behind the elimination of empty tensors, which makes results slices of what they are inserted into.

    ```mlir
      scf.yield %slice : tensor<4xf32>
    // becomes
      %whole = bufferization.alloc_tensor() copy(%slice) : tensor<4xf32>
      scf.yield %whole : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def CheckResultSizes : Pass<"check-result-sizes", "::mlir::ModuleOp"> {
  let summary = "Compare results whose size follows from data with the caller's arrays";
  let description = [{
    Stands between bufferization and the rewriting of results to out-parameters. A dimension of a result that
    `tilewright.shapes` and `tilewright.constraints` (see `name-sizes`) do not tie to the arguments' sizes is compared with
    that of the caller's array by `tile.require_size`, where the result's buffer is allocated, which is before anything is
    written to it; as the call begins where the size follows from the arguments. Results that are no allocation of the
    function's own block are copied into one at the end.

    ```mlir
      %n = memref.load %sizes[%c0] : memref<1xindex>
      %r = memref.alloc(%n) : memref<?xf32>
      ...
      return %r : memref<?xf32>
    // becomes
      %r = memref.alloc(%n) : memref<?xf32>
      %given = memref.dim %r, %c0 : memref<?xf32>       // of the out-parameter that takes the place of %r
      tile.require_size %n, %given output 0 dimension 0
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::tilewright::tile::TileDialect"];
}

def ExpandCopies : Pass<"expand-copies", "::mlir::func::FuncOp"> {
  let summary = "Write copies of buffers as structured operations";
  let description = [{
    Each `memref.copy` becomes a `linalg.copy`, of which the reference path makes loops; upstream's lowering would call
    its own runtime library for a strided buffer.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def LowerVectorAccesses : Pass<"lower-vector-accesses", "::mlir::func::FuncOp"> {
  let summary = "Write accesses of vectors that LLVM lacks with elements";
  let description = [{
    Loads, stores and transfers of vectors of several dimensions, across the order of the array, or of i1, in programs on
    vectors. All others become LLVM's; on chips with lanes `simplify-host-code` writes those with elements, too.

    ```mlir
    %v = vector.load %a[%i, %j] : memref<?x?xf32>, vector<2x2xf32>   // four memref.load, four vector.insert
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

def OutlineKernels : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Outline maximal sequences of linalg operations and affine nests into kernels";
  let description = [{
    Each maximal sequence of linalg operations, copies and affine nests on memrefs becomes a private function
    `@<host>_kernel_<n>` with the attribute `tilewright.kernel`; control flow, single elements and sizes stay in the
    host function, which calls it. Inside a kernel every size and index is a symbol, since a function is an affine scope.
    Slices move into the kernel, where later passes fold them into access maps; buffers that only one kernel uses are
    allocated inside it. No two memref arguments of a kernel alias if one of them is written: a sequence ends where
    another view of a written buffer is needed, and an operation that uses two such views reads a copy.

    ```mlir
    func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) {
      linalg.generic ins(%x) outs(%y)
    // becomes
    func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) { call @main_kernel_0(%x, %y) }
    func.func private @main_kernel_0(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tilewright.kernel} {
      linalg.generic ins(%x) outs(%y)
    ```

    Operations whose body reads memory (data-dependent gathers) go into functions of their own with the attribute
    `tilewright.opaque`, which no later pass of stage 3 touches.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def FoldViews : Pass<"fold-views", "::mlir::func::FuncOp"> {
  let summary = "Fold slices, reshapes and casts into the access maps of affine loads and stores";
  let description = [{
    Accesses to a view become accesses to its source with the view's offsets, strides and reassociation composed
    into the access map, so that a kernel knows one memref per buffer.

    ```mlir
    %v = memref.subview %a[%o, 0] [4, 8] [2, 1] : memref<?x8xf32> to memref<4x8xf32, strided<[16, 1], offset: ?>>
    affine.load %v[%i, %j]
    // becomes
    affine.load %a[%i * 2 + symbol(%o), %j]
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def NormalizeNests : Pass<"normalize-nests", "::mlir::func::FuncOp"> {
  let summary = "Lower bound 0, step 1, at least one loop, allocations first";
  let description = [{
    Brings the nests of a kernel to the form that stage 3 reads: loops begin at 0 with step 1, statements outside of
    any loop get a loop of one iteration, computations of indices stand with the nest that uses them only if they depend on its
    loops, and allocations stand at the top of the kernel. Loops of one iteration in others are dropped, but where a nest
    that sums has one.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def FixSums : Pass<"fix-sums", "::mlir::func::FuncOp"> {
  let summary = "Write down the order of sums, for results that are the same everywhere";
  let description = [{
    With `--fp=reproducible` alone: results do not depend on the chip, on sizes of tiles or on the number of threads. Stages
    behind keep each sum as it is written, as with `--fp=strict`; so here sums are written as all chips compute them at speed:

    - products that are summed are added by `math.fma`, which rounds once;
    - a sum along the elements of a row is 16 sums of every 16th element, which are added in pairs.

    ```mlir
    for i: for j: s[i] += x[i, j]
    // becomes
    for i: for l < 16: p[i, l] = 0
    for i: for t < n / 16: for l < 16: p[i, l] += x[i, 16 t + l]
    for i: for l < n mod 16: p[i, l] += x[i, n / 16 * 16 + l]
    for i: s[i] += ((p[i, 0] + p[i, 8]) + (p[i, 4] + p[i, 12])) + ..
    ```

    Sums of contractions with rows and columns stay in order: chips compute many of them at a time. Maxima and minima are the
    same in any order.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ShareSizes : Pass<"share-sizes", "::mlir::ModuleOp"> {
  let summary = "Give sizes that are equal the same value";
  let description = [{
    Sizes of a kernel's arrays, and indices, that are one size in every call become one value: they have one name in the
    public function's `tilewright.shapes`, or are one value of the caller. Sizes that `tilewright.constraints` ties to
    a constant become that constant. Calls begin with the check that names hold. So loops that run equally often have
    equal bounds, which fusion asks for.

    ```mlir
    func.func private @kernel(%a: memref<?x4xf32>, %b: memref<?xf32>, %size: index)    // s0 in all three
    %m = memref.dim %a, %c0
    %n = memref.dim %b, %c0
    affine.for %i = 0 to %m { .. }    // becomes: to %size
    affine.for %i = 0 to %n { .. }    // becomes: to %size
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShareKernels : Pass<"share-kernels", "::mlir::ModuleOp"> {
  let summary = "Keep one of kernels that are equal";
  let description = [{
    Kernels that differ in nothing but their names and locations are one function, the first, which the calls of all of them
    call: equal layers of a network are planned and compiled once. Types, constants and attributes must be equal, and
    the order of arguments is that of their first use, which `outline-kernels` makes the same for equal bodies.

    ```mlir
    call @main_kernel_0(%x, %w0, %y)
    call @main_kernel_1(%y, %w1, %z)      // its body is that of @main_kernel_0
    // becomes
    call @main_kernel_0(%x, %w0, %y)
    call @main_kernel_0(%y, %w1, %z)
    ```

    Runs at the end of stage 2, and on processors once more at the end of stage 4, on the nests that `split-kernels` makes
    functions; `outline-launches` does the same for launches. `--explain` prints a decision `shared-kernel` with the
    number of calls for each kernel that stands for others.
  }];
}

def CheckKernels : Pass<"check-kernels", "::mlir::ModuleOp"> {
  let summary = "The contract at the end of stage 2";
  let description = [{
    No tensor is left. A kernel holds allocations, index arithmetic and affine nests with scalar accesses to memrefs
    of identity layout; whatever else is found is reported with its location.
  }];
}

def BoundErrors : Pass<"bound-errors", "::mlir::ModuleOp"> {
  let summary = "Compute in float64, with a bound of the error beside each value";
  let description = [{
    The reference of `--verify`. Scalar floating-point values become f64, and so do the elements of arrays that may
    differ from the exact ones; conversions to a narrower type that the program asks for still round. Beside each of
    these values goes what the compiled program's may differ by: `core/Transforms/Bufferize/ErrorRules.h`. Sums may be
    added in any order. A public function takes an array of bounds for each array of this kind, after its other
    arguments (`tilewright.bounds`: where, by argument; -1: exact), and has a bound after each scalar result.

    ```mlir
      %y = arith.mulf %x, %x : f32          // of an input
      affine.store %y, %b[%i] : memref<?xf32>
    // becomes, with u = 2^-24
      %y = arith.mulf %x, %x : f64          // and %e = u |%y| + 2^-126
      affine.store %y, %b[%i] : memref<?xf64>
      affine.store %e, %bound[%i] : memref<?xf64>
    ```
  }];
  let options = [
    Option<"operandSpacing", "operand-spacing", "double", "0",
           "Spacing around 1 of the numbers to which matrix units round factors of f32; 0: they do not">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_BUFFERIZE_PASSES
