//===- Passes.td - Stage 5: tile ops become what each lane does -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_PASSES

include "mlir/Pass/PassBase.td"

def DistributeLanes : Pass<"distribute-lanes", "::mlir::ModuleOp"> {
  let summary = "Turn a launch into the code of one lane";
  let description = [{
    On functions with the attribute `tilewright.launch`, of chips whose blocks consist of subgroups of lanes: arrays become
    pointers and sizes, `tile.parallel` of grid, block and subgroup the indices of block, subgroup and lane, fragments the
    vector that one lane holds, scratchpad buffers addresses with their arrangement applied, copies into them accesses
    shared out over the lanes of the block (asynchronous where the chip has an engine), matrix units calls by record.
    Barriers stand exactly where one lane's writes to a scratchpad conflict with another's accesses.

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

def CheckEngineFences : Pass<"check-engine-fences", "::mlir::ModuleOp"> {
  let summary = "Prove that lanes publish what engines and units read";
  let description = [{
    On the final kernels of chips whose engines go their own way to the scratchpad: along each path of the control flow,
    what lanes write to the scratchpad, and the barrier objects that they make, are after a fence before engines, and handed
    on after it, when an engine uses the scratchpad. What an op means tells the target's emulation table. A missing fence is
    an error, since no run on a host shows it for certain. Where units of a group work beside the lanes, each access of the
    lanes to registers that such a unit takes has a fence of units' registers after it, and so has the kernel's beginning.

    ```mlir
    llvm.store %v, %tile : f32, !llvm.ptr<3>
    acme.fence                                  // without it: error at acme.store.tile, note at llvm.store
    acme.barrier
    acme.store.tile %map, %tile
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_PASSES
