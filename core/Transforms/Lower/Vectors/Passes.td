//===- Passes.td - Stages 4 and 5: tile ops become vectors and loops -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PASSES

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

def LowerParallel : Pass<"lower-parallel", "::mlir::ModuleOp"> {
  let summary = "Parallel loops to OpenMP threads, or to plain loops";
  let description = [{
    With `tilewright.threads` above 1 the outermost `scf.parallel` loops without reductions become OpenMP loops, all
    others sequential ones. A parallel reduction runs in the order of its iterations: results never depend on the
    number of threads. In a module with `tilewright.traced` kernels then call `@tilewright_trace_kernel` when they, and each
    thread's part of them, begin and end (TraceKernels.h).
  }];
  let dependentDialects = ["::mlir::omp::OpenMPDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_VECTORS_PASSES
