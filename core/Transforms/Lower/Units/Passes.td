//===- Passes.td - Stages 5 and 6: registers, states and calls of matrix units -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_PASSES
