//===- Passes.td - Stage 5: memory, signatures and LLVM's dialect -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_PASSES

include "mlir/Pass/PassBase.td"

def SplitKernels : Pass<"split-kernels", "::mlir::ModuleOp"> {
  let summary = "Make each nest of a kernel a function";
  let description = [{
    Of kernels with several nests, after everything is fused: each nest becomes a private function
    `@<kernel>_nest_<n>` with the attributes `tilewright.kernel` and `tilewright.nest`, which the kernel calls with the arrays
    and sizes that it uses. A nest is a loop, or a chain of operations that fragments link, which no call can pass: a tile
    that one loop over k computes is loaded, summed and stored by one function. Constants, views, fragments of zeros and
    stack buffers that only the nest uses are its own. Arrays of the kernel's own stay where they are and are passed. A
    kernel stays whole where a state of a unit would surround the calls: where
    not all of its uses are in such nests, or where the state is a property of the function.

    ```mlir
    func.func private @k(%a: memref<64xf32>, %b: memref<64xf32>) attributes {tilewright.kernel} {
      affine.for %i = 0 to 64 { .. %a .. }
      affine.for %i = 0 to 64 { .. %b .. }
    // becomes
    func.func private @k(%a: memref<64xf32>, %b: memref<64xf32>) attributes {tilewright.kernel} {
      call @k_nest_0(%a)
      call @k_nest_1(%b)
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
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
      int f_packed(const int64_t *slots)                                one 8-byte slot an argument of f
      int f_in(int64_t sizes..., inputs..., outputs..., void *workspace)
      int64_t f_workspace(int64_t sizes...)                             bytes

    with all distinct dynamic sizes in order of first appearance (`tilewright.shapes`, see `name-sizes`). They return
    0, 1 when sizes disagree, 2 when memory runs out. With `packed-call`, for callers in this process, instead of `f` and `f_packed`:
    `f_call(int64_t *slots)` with one 8-byte slot an argument of `f_in`.
  }];
  let options = [Option<"packedCall", "packed-call", "bool", "false",
                        "For callers in this process: f_call instead of f and f_packed">];
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

def LeaveInvariants : Pass<"leave-invariants"> {
  let summary = "Move what is the same in all iterations of a loop before it, also divisions by at least one";
  let description = [{
    Upstream's motion of loop-invariant code leaves an `arith.divsi` where it is unless its divisor is a constant: it may be by
    zero, and the loop may have no iteration. Here it leaves loops, too, where the divisor is an `arith.maxsi` with a constant of
    at least one:

    ```mlir
    %count = arith.maxsi %n, %c1
    scf.for .. {
      %row = arith.divsi %tile, %count
    // becomes
    %count = arith.maxsi %n, %c1
    %row = arith.divsi %tile, %count
    scf.for .. {
    ```
  }];
}

def LowerToLLVM : Pass<"lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert everything that is left to the LLVM dialect";
  let options = [Option<"fuseBfloatsInSingle", "fuse-bfloats-in-single", "bool", "false",
                        "math.fma of bf16 as one of f32, for chips without it, where LLVM would call a function">];
  let description = [{
    Vectors of several dimensions are broken down to vectors that LLVM has; then one full conversion of all dialects.
    Reductions of vectors may be re-associated unless `tilewright.fp` is "strict" or "reproducible".
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::ub::UBDialect",
                           "::mlir::index::IndexDialect", "::mlir::memref::MemRefDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_PASSES
