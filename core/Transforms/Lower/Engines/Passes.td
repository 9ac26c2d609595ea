//===- Passes.td - Stage 5: tile ops become commands to the engines of a core -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_PASSES

include "mlir/Pass/PassBase.td"

def PlanScratchpad : Pass<"plan-scratchpad", "::mlir::ModuleOp"> {
  let summary = "Give each buffer of a core its place";
  let description = [{
    On functions with the attribute `tilewright.launch`, of scratchpad targets, whose cores have a scratchpad: each `tile.alloc` becomes a
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

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_ENGINES_PASSES
