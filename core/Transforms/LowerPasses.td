//===- LowerPasses.td - Stage 5: to LLVM -------------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stage 4 left becomes the LLVM dialect, and calls of units instructions.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LOWERPASSES
#define TILEWRIGHT_LOWERPASSES

include "mlir/Pass/PassBase.td"

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
  let options = [Option<"fuseBfloatsInSingle", "fuse-bfloats-in-single", "bool", "false",
                        "math.fma of bf16 as one of f32, for chips without it, where LLVM would call a function">];
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

#endif // TILEWRIGHT_LOWERPASSES
