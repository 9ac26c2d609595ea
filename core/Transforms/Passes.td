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

def CheckSupported : Pass<"check-supported", "::mlir::ModuleOp"> {
  let summary = "Refuse types and operations that no stage compiles, with one diagnostic";
  let description = [{
    Walks the module once and reports the first value or operation that the compiler has no meaning for: complex,
    quantised, sparse and unranked types, integers wider than 64 bits, elements that are no numbers and memrefs with a layout at a
    public function's boundary, calls of functions without a body, dimensions that are not there, and operations of dialects that stage 1 does not know. The diagnostic names the type or operation, where it stands, and what would be accepted.
  }];
}

def PadIntegers : Pass<"pad-integers", "::mlir::ModuleOp"> {
  let summary = "Pass integers of odd widths as the next wider ones of C";
  let description = [{
    Tensors and single values of i2 to i7, i9 to i15 and so on become i8, i16, i32 or i64 where they are arguments or results of
    public functions: of an argument the low bits count, a result is sign-extended. Inside they keep their width. Where such
    a function is called in the module, the call converts.

    ```mlir
    func.func @f(%a: tensor<8xi4>) -> tensor<8xi4> { ... return %y }
    // becomes
    func.func @f(%a: tensor<8xi8>) -> tensor<8xi8> {
      %x = arith.trunci %a : tensor<8xi8> to tensor<8xi4>
      ...
      %r = arith.extsi %y : tensor<8xi4> to tensor<8xi8>
      return %r
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DecomposeStructuredOps : Pass<"decompose-structured-ops", "::mlir::func::FuncOp"> {
  let summary = "Rewrite aggregate and tensor operations to linalg.generic and slices";
  let description = [{
    Softmax, pack, unpack and Winograd operations become the linalg operations that they stand for; tensor.pad,
    concat, splat, generate, gather and element-wise arithmetic on tensors become linalg.generic, fills and insertions of
    slices; every named linalg operation becomes a linalg.generic. What is left are generics, views (slices, reshapes,
    casts), single elements and control flow.

    ```mlir
    %p = tensor.pad %x low[1] high[1] {...} : tensor<8xf32> to tensor<10xf32>
    // becomes
    %f = linalg.generic ... { linalg.yield %pad } -> tensor<10xf32>
    %p = tensor.insert_slice %x into %f[1] [8] [1]
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::affine::AffineDialect",
                           "::mlir::scf::SCFDialect"];
}

def PromoteAccumulators : Pass<"promote-accumulators", "::mlir::func::FuncOp"> {
  let summary = "Accumulate reductions of narrow floats in f32 and round once";
  let description = [{
    A reduction or contraction whose result is narrower than f32 is computed in an f32 tensor, and an element-wise
    operation rounds it at the end: the floating-point contract of DESIGN 6.

    ```mlir
    %r = linalg.generic {sum over k} ins(%a, %b : bf16) outs(%c : bf16)
    // becomes
    %c32 = linalg.generic {extend} ins(%c) -> f32
    %r32 = linalg.generic {sum over k, in f32} ins(%a, %b : bf16) outs(%c32 : f32)
    %r   = linalg.generic {truncate} ins(%r32) -> bf16
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def FuseElementwise : Pass<"fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse element-wise operations on tensors where no work is duplicated";
  let description = [{
    Element-wise producers move into element-wise consumers and into reductions that are not contractions, when the
    producer has one user and is computed once per element there. Cheap producers (fills, casts, transpositions,
    broadcasts) move into every element-wise user. Into a contraction only producers without arithmetic move.
    Values that initialise a reduction stay.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def CheckImport : Pass<"check-import", "::mlir::ModuleOp"> {
  let summary = "The contract at the end of stage 1";
  let description = [{
    Only linalg.generic, tensor, arith, math, scf, affine, memref, func and bufferization operations are left; an
    operation of another dialect is reported with its location.
  }];
}

//===-- Stage 2: affine ---------------------------------------------------===//

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
    loops, and allocations stand at the top of the kernel.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def CheckKernels : Pass<"check-kernels", "::mlir::ModuleOp"> {
  let summary = "The contract at the end of stage 2";
  let description = [{
    No tensor is left. A kernel holds allocations, index arithmetic and affine nests with scalar accesses to memrefs
    of identity layout; whatever else is found is reported with its location.
  }];
}

def NameSizes : Pass<"name-sizes", "::mlir::ModuleOp"> {
  let summary = "Find which dynamic sizes of public functions are equal";
  let description = [{
    Runs on tensors. Each public function gets `tilewright.shapes`: for every argument, then every result, its
    dimensions as an affine map of the function's distinct sizes, in order of first appearance; a size of a result
    that follows from others is a size of its own, tied by `tilewright.constraints`. Sizes are equal where the
    operations between them require it. `tilewright.array_results` tells array results from scalar ones.
  }];
}

def CheckOperandSizes : Pass<"check-operand-sizes", "::mlir::ModuleOp"> {
  let summary = "Compare sizes made of data that operations take to be equal";
  let description = [{
    Runs on tensors, behind `name-sizes`. An operation on several tensors takes some of their dimensions to be equal. Those
    that are, by the definitions of the values, constants, sizes of arguments, or affine functions of these, are compared before
    the call begins. A dimension that is made of data is compared by `tile.require_size`, where it becomes known, and so is the
    product of the sizes that a dimension of an argument is expanded to. What a `cf.assert` says is compared in the same way.

    ```mlir
      %s = tensor.extract_slice %a[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>      // %n: read
      %r = linalg.add ins(%s, %b : tensor<?xf32>, tensor<?xf32>) outs(%b : tensor<?xf32>) -> tensor<?xf32>
    // becomes
      %dim = tensor.dim %b, %c0 : tensor<?xf32>
      tile.require_size %n, %dim
      %s = ...
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::tilewright::tile::TileDialect"];
}

def PromoteFloats : Pass<"promote-floats", "::mlir::ModuleOp"> {
  let summary = "Compute in float64, keep the types of arrays";
  let description = [{
    Scalar floating-point values become f64; arrays keep their element types, so that each store rounds once, and
    conversions to a narrower type that the program asks for still round. The reference of `--verify`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

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

//===-- Stage 4: map ------------------------------------------------------===//

//===-- Stage 5: lower ----------------------------------------------------===//

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

def OutlineLaunches : Pass<"outline-launches", "::mlir::ModuleOp"> {
  let summary = "Make each grid of a program one launch";
  let description = [{
    Kernels are inlined into the public function, and each `tile.parallel` of level grid there becomes a function of its own
    with the attribute `tilewright.launch` (threads of a block, scratchpad bytes), called with the arrays and sizes that it
    uses. What is left of the public function is its manifest: sizes, temporaries and launches in order. A program
    with control flow around launches, or with work between them, is refused: one diagnostic says what stands there.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect"];
}

def LowerTileToLoops : Pass<"lower-tile-to-loops", "::mlir::func::FuncOp"> {
  let summary = "Execute the sequential meaning of tile ops with scalar loops";
  let description = [{
    The reference lowering, for any chip and any layout: a fragment is a small buffer that holds its matrix row by
    row, each op a loop nest over scalars, a copy is done when it returns, a wait is nothing, levels are loops. It
    shares no code with the vector lowering, so that the two check each other. Runs after lower-affine. Integer
    matrix units need the module's target: their records say which factors are unsigned.

    ```mlir
    %d = tile.mma %a, %b, %c {unit = "acme.fma_f32"} : ...
    // becomes
    scf.for %i ... scf.for %j ... { %s = scf.for %k ... iter_args(%x = c[i, j]) { x + a[i, k] * b[k, j] } ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def LowerTileToVector : Pass<"lower-tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "Turn fragments of one lane into vectors and matrix units into calls";
  let description = [{
    A fragment whose layout has one lane becomes a vector of its elements. Runs after lower-affine: loops that carry
    fragments are scf loops by then. `tile.mma` becomes a call of `@tilewright.unit.<record>` with the operand types
    of the record's emission, an operand that the record calls a broadcast scalar repeated to the full width; stage 6
    (emit-units) or the emulator binds that symbol. Buffers become memrefs that are freed at the end of their block,
    copies vector code (`tile.copy` lists the forms).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ExpandMath : Pass<"expand-math"> {
  let summary = "Write elementary functions as arithmetic on scalars and vectors";
  let description = [{
    Replaces exponential, logarithmic, trigonometric, hyperbolic functions, their inverses, powers, roots and the error
    function by arithmetic with minimax polynomials, for f32 and f64 and, through f32, narrower floats. It is free of
    branches, except that angles above 2^17 (f64: 2^30) have a reduction of their own. `1 + erf(x / sqrt 2)` and the GELU around it are taken as a whole, since the sum
    cancels.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def PlanWorkspace : Pass<"plan-workspace", "::mlir::ModuleOp"> {
  let summary = "Put temporaries of a program into one aligned arena";
  let description = [{
    Allocations at the top of private functions move to their callers, those whose sizes follow from the sizes of
    the public function's arguments become views of one arena, placed by lifetime (first fit). The public function
    gets the arena as a last argument of type `memref<?xi8>` and the attribute `tilewright.workspace`, the name of a
    private function that returns its size in bytes. What cannot be planned (allocation under control flow with sizes
    known only there) stays an allocation of its own, released at the end of its block.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect"];
}

def MakeCInterface : Pass<"make-c-interface", "::mlir::ModuleOp"> {
  let summary = "Give public functions a C calling convention";
  let description = [{
    A public function `f` becomes a private body and

      int f(int64_t sizes..., const T *inputs..., T *outputs...)        keeps its workspace per thread
      int f_in(int64_t sizes..., inputs..., outputs..., void *workspace)
      int64_t f_workspace(int64_t sizes...)                             bytes

    with all distinct dynamic sizes in order of first appearance (`tilewright.shapes`, see `name-sizes`). They return
    0, 1 when sizes disagree, 2 when memory runs out. With `packed-call`, for callers in this process, instead of `f`:
    `f_call(int64_t *slots)` with one 8-byte slot an argument of `f_in`.
  }];
  let options = [Option<"packedCall", "packed-call", "bool", "false",
                        "For callers in this process: f_call instead of f">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect",
                           "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerReshapes : Pass<"lower-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Make sizes and strides of reshapes with several unknown sizes explicit";
  let description = [{
    A memref.expand_shape that splits one dimension into several of unknown size becomes a memref.reinterpret_cast:

    ```mlir
    %e = memref.expand_shape %m [[0, 1]] output_shape [%a, %b] : memref<?xf32> into memref<?x?xf32>
    // becomes
    %base, %offset, %size, %stride = memref.extract_strided_metadata %m
    %e = memref.reinterpret_cast %base to offset: [0], sizes: [%a, %b], strides: [%b, 1]
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def FlattenSignatures : Pass<"flatten-signatures", "::mlir::ModuleOp"> {
  let summary = "Pass memrefs between private functions as pointer and sizes";
  let description = [{
    A memref argument of identity layout of a private function becomes a pointer and its dynamic sizes. Arguments of
    kernels and of bodies of public functions do not overlap, which their pointers say (`llvm.noalias`).
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def AssignTileRegisters : Pass<"assign-tile-registers", "::mlir::ModuleOp"> {
  let summary = "Give fragments in numbered tile registers their numbers";
  let description = [{
    On scf loops: each fragment whose type names a register class of a numbered bank gets the number of a register. What
    an instruction or a loop carries on stays where it is; registers whose granule masks overlap are not used at once.
    Too many at once, or a fragment that is needed after it was overwritten, is an error: nothing is spilled or copied.

    ```mlir
    %z = tile.zero : !tile.fragment<16x16xf32, #rows, "AcmeTile">
    %r = scf.for %k = ... iter_args(%c = %z) -> (!tile.fragment<16x16xf32, #rows, "AcmeTile">) { ... }
    // becomes
    %z = tile.zero : !tile.fragment<16x16xf32, #rows, "AcmeTile" : 0>
    %r = scf.for %k = ... iter_args(%c = %z) -> (!tile.fragment<16x16xf32, #rows, "AcmeTile" : 0>) { ... }
    ```
  }];
}

def EnterStates : Pass<"enter-states", "::mlir::ModuleOp"> {
  let summary = "Enter and leave the states of matrix units";
  let description = [{
    Calls of units and of their registers (`@tilewright.unit.*`, `@tilewright.register.*`) are surrounded by the
    calls `@tilewright.state.<record>.enter` and `.leave` of the states that their records name: around the first and the
    last use in a function, or in the body of a parallel loop, never inside of another loop. What the state forbids
    there (calls, functions of libm, allocations) is an error at the op.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def LowerParallel : Pass<"lower-parallel", "::mlir::ModuleOp"> {
  let summary = "Parallel loops to OpenMP threads, or to plain loops";
  let description = [{
    With `tilewright.threads` above 1 the outermost `scf.parallel` loops without reductions become OpenMP loops, all
    others sequential ones. A parallel reduction runs in the order of its iterations: results never depend on the
    number of threads.
  }];
  let dependentDialects = ["::mlir::omp::OpenMPDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerToLLVM : Pass<"lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert everything that is left to the LLVM dialect";
  let description = [{
    Vectors of several dimensions are broken down to vectors that LLVM has; then one full conversion of all dialects.
    Reductions of vectors may be re-associated unless `tilewright.fp` is "strict".
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::ub::UBDialect",
                           "::mlir::index::IndexDialect", "::mlir::memref::MemRefDialect"];
}

def DistributeLanes : Pass<"distribute-lanes", "::mlir::ModuleOp"> {
  let summary = "Turn a launch into the code of one lane";
  let description = [{
    On functions with the attribute `tilewright.launch`, of chips whose blocks consist of subgroups of lanes: arrays become
    pointers and sizes, `tile.parallel` of grid, block and subgroup the indices of block, subgroup and lane, fragments the
    vector that one lane holds, scratchpad buffers addresses with their arrangement applied, copies into them accesses
    shared out over the lanes of the block (asynchronous where the chip has an engine), matrix units calls by record.
    Barriers stand exactly where one lane's writes to a scratchpad meet another's accesses.

    ```mlir
    %a = tile.load %s[%k, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x16xf16, "shared"> -> !tile.fragment<16x16xf16, #a>
    // becomes, with lane = thread mod 32
    %row = (lane / 4), %col = (lane mod 4) * 2
    %v0 = llvm.load %shared[((%k + %row) * 16 + %col) * 2] : vector<2xf16>  ... one per run of contiguous elements
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def PlanScratchpad : Pass<"plan-scratchpad", "::mlir::ModuleOp"> {
  let summary = "Give each buffer of a core its place";
  let description = [{
    On functions with the attribute `tilewright.launch`, of chips whose cores have a scratchpad: each `tile.alloc` becomes a
    range of its memory, aligned to a row of banks and to what the copy engines ask for. Buffers of one block that do not
    live at the same time share a place; one that an engine works on lives to the end of its block. What does not fit is
    one error that shows the map of the memory.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

def LowerTileToEngines : Pass<"lower-tile-to-engines", "::mlir::ModuleOp"> {
  let summary = "Turn copies and products of a core into commands";
  let description = [{
    On functions with the attribute `tilewright.launch`, after `plan-scratchpad` and `lower-affine`: `tile.copy` and
    `tile.multiply` become calls of primitives and units by record, `tile.wait` a wait for all but the commands that were
    issued after the token's, the `tile.parallel` of the cores' level the number of the core. What the engine cannot
    do (alignment, some orders of elements, zeros around an edge) are loops of the core: `TileCopies.h`.

    ```mlir
    %t = tile.copy %A[%i, %k] ... to %a[%s, 0, 0] ... shape [64, 32] : memref<?x512xi8>, memref<2x64x32xi8>
    // becomes
    call @tilewright.primitive.copy_2d(%to, %c32, %from, %c512, %c64, %c32)
    call @tilewright.primitive.commit_copy()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect",
                           "::mlir::affine::AffineDialect"];
}

def UseVectorOpsInLoops : Pass<"use-vector-ops-in-loops", "::mlir::ModuleOp"> {
  let summary = "Use instructions of the vector unit in scalar loops";
  let description = [{
    For programs that are given out without vectors: the innermost loop around a chain that a `VectorOp` record computes
    (Requantisation.h) is distributed. Operands of as many steps as the instruction has lanes go to arrays, the record
    is called with the addresses of result and operands, and the rest of these steps follows. Steps that are left over
    compute the chain as it stands.

    ```mlir
    scf.for %i = %a to %b step %1 { %x = memref.load %X[%i] ... %q = arith.fptosi %c : f32 to i8  memref.store %q, %Q[%i] }
    // becomes
    scf.for %o = %a to %m step %16 {
      scf.for %l = %0 to %16 step %1 { %x = memref.load %X[%o + %l]  memref.store %x, %from[%l] }
      call @tilewright.vector.acme.requantize(%to, %from, %scale, %zero)
      scf.for %l = %0 to %16 step %1 { %q = memref.load %to[%l]  memref.store %q, %Q[%o + %l] }
    }
    scf.for %i = %m to %b step %1 { ... }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ExpandHalfs : Pass<"expand-halfs", "::mlir::ModuleOp"> {
  let summary = "Write conversions of f16 as integer arithmetic";
  let description = [{
    Scalar `arith.extf` from and `arith.truncf` to f16 become arithmetic on 32-bit words, rounded to nearest even, with
    subnormal numbers, infinities and quiet NaNs: for code that has no such type, and no library with the functions that
    compilers call. Narrowing from f64 is rounded once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandFloat8 : Pass<"expand-float8", "::mlir::ModuleOp"> {
  let summary = "Write conversions of 8-bit floats as integer arithmetic";
  let description = [{
    `arith.extf` from and `arith.truncf` to f8E4M3FN, f8E5M2, f8E4M3FNUZ and f8E5M2FNUZ, of scalars and vectors, become
    shifts, comparisons and a conversion of f16 one way, arithmetic on 32-bit words the other: for chips without instructions for them. Values are rounded once, to nearest even; what
    is too large becomes infinity (f8E5M2) or NaN (the others), never the largest number. `math.fma` of these types is
    computed in f32.

    ```mlir
    %y = arith.extf %x : vector<16xf8E5M2> to vector<16xf32>
    // ->
    %b = arith.bitcast %x : vector<16xf8E5M2> to vector<16xi8>
    %w = arith.extui %b : vector<16xi8> to vector<16xi16>
    %s = arith.shli %w, %eight : vector<16xi16>
    %h = arith.bitcast %s : vector<16xi16> to vector<16xf16>
    %y = arith.extf %h : vector<16xf16> to vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
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

//===-- Stage 6: emit -----------------------------------------------------===//

def EmitUnits : Pass<"emit-units", "::mlir::ModuleOp"> {
  let summary = "Replace calls of matrix units by their instructions";
  let description = [{
    On the LLVM dialect: each call of `@tilewright.unit.<record>` becomes the emission of the record of the module's
    chip, and the declarations go. An emission lists its arguments by role: `A`, `B`, `C`, a constant `i32:7`, and
    `constraints:...` for inline assembly. Where an intrinsic has a fixed signature, operands are bit-cast to it. The
    calls that move fragments in tile registers (`@tilewright.register.*`) become the emissions of the register class,
    slice by slice where the class says so, the calls of states (`@tilewright.state.*`) those of the state, whose function
    attributes go to the functions that use its units. A unit that the chip lacks is an error.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWRIGHT_PASSES
