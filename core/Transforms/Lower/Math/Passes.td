//===- Passes.td - Stages 5 and 6: arithmetic that a chip lacks becomes arithmetic that it has -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_PASSES

include "mlir/Pass/PassBase.td"

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

def ExpandHalfs : Pass<"expand-halfs", "::mlir::ModuleOp"> {
  let summary = "Write conversions of f16 as integer arithmetic";
  let description = [{
    Scalar `arith.extf` from and `arith.truncf` to f16 become arithmetic on 32-bit words, rounded to nearest even, with
    subnormal numbers, infinities and quiet NaNs: for code that has no such type, and no library with the functions that
    compilers call. Narrowing from f64 is rounded once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandBfloats : Pass<"expand-bfloats", "::mlir::ModuleOp"> {
  let summary = "Write conversions of bf16 as integer arithmetic";
  let description = [{
    `arith.extf` from and `arith.truncf` to bf16, of scalars and vectors, become shifts and sums of 32-bit words, rounded to nearest
    even. A chip whose record has `convert_f32_bf16` has instructions, which may take numbers below the smallest normal one
    for zero: there conversions stay with `--fp=fast`.

    ```mlir
    %y = arith.extf %x : vector<16xbf16> to vector<16xf32>
    // ->
    %b = arith.bitcast %x : vector<16xbf16> to vector<16xi16>
    %w = arith.extui %b : vector<16xi16> to vector<16xi32>
    %s = arith.shli %w, %sixteen : vector<16xi32>
    %y = arith.bitcast %s : vector<16xi32> to vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandFloat8 : Pass<"expand-float8", "::mlir::ModuleOp"> {
  let summary = "Write conversions of 8-bit floats as integer arithmetic";
  let description = [{
    `arith.extf` from and `arith.truncf` to f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ and f8E8M0FNU, of scalars and
    vectors, become shifts, comparisons and a conversion of f16 one way, arithmetic on 32-bit words the other: for chips
    without instructions for them. Values are rounded once, to nearest even; what is too large becomes infinity (f8E5M2)
    or NaN (the others), never the largest number. f8E8M0FNU gets the exponent of its operand. `math.fma` of these types
    is computed in f32.

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

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_MATH_PASSES
