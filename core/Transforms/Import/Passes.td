//===- Passes.td - Stage 1: tensors in one form ------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops and types that no stage compiles are refused, everything else becomes
// canonical linalg on tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_IMPORT_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def CheckSupported : Pass<"check-supported", "::mlir::ModuleOp"> {
  let summary = "Refuse types and operations that no stage compiles, with one diagnostic";
  let description = [{
    Walks the module once and reports the first value or operation that the compiler has no meaning for: complex,
    quantised, sparse and unranked types, integers wider than 64 bits, elements that are no numbers and memrefs with a layout at a
    public function's boundary, calls of functions without a body, dimensions that are not there, and operations of dialects that stage 1 does not know. The diagnostic names the type or operation, where it stands, and what would be accepted.
  }];
}

def CountWithIndex : Pass<"count-with-index", "::mlir::ModuleOp"> {
  let summary = "Let loops over integers of less than 64 bits count with index";
  let description = [{
    The last value of a loop plus the step may pass the end of the loop's type, where a counter of that type begins anew
    and a number of iterations in it is another one. Bounds are widened as the loop compares them, the step as the
    positive number that it is. Loops of 64 bits without a sign count their iterations.

    ```mlir
    scf.for unsigned %j = %first to %end step %step : i8 { use(%j) }
    // becomes
    %f = arith.index_castui %first : i8 to index // and so on
    scf.for %i = %f to %e step %s {
      %j = arith.index_cast %i : index to i8
      use(%j)
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FlattenVectorElements : Pass<"flatten-vector-elements", "::mlir::ModuleOp"> {
  let summary = "Make arrays of vectors arrays of numbers";
  let description = [{
    The dimensions of the vectors become the last ones of the array; its elements are loaded and stored as vectors of numbers. Views
    and what hands arrays on change their types. Other operations on such arrays are refused, and so are globals of vectors with a value.

    ```mlir
    %m = memref.alloc(%n) : memref<?xvector<4xf32>>
    %v = memref.load %m[%i] : memref<?xvector<4xf32>>
    // becomes
    %m = memref.alloc(%n) : memref<?x4xf32>
    %v = vector.load %m[%i, %c0] : memref<?x4xf32>, vector<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def PadIntegers : Pass<"pad-integers", "::mlir::ModuleOp"> {
  let summary = "Pass integers of odd widths as the next wider ones of C, and short floats as bytes";
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

    f4E2M1FN, f6E2M3FN and f6E3M2FN become bytes there: of an argument the low bits count, the others of a result are 0. Inside they
    are f8E4M3FN, which holds their numbers; what is rounded to them is rounded once.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SeparateScales : Pass<"separate-scales", "::mlir::func::FuncOp"> {
  let summary = "Multiply block-scaled operands by their scales in operations of their own";
  let description = [{
    `tosa.matmul_t_block_scaled`, `tosa.cast_from_block_scaled` and generics that sum products of operands and scales
    become one form: a generic for each scaled operand that multiplies it by its scale, one scale for 32 elements say, and
    a sum of products of the results. A factor is taken apart where its scale is read by fewer loops than its data, or by
    steps of one, and where each product is in more than one sum. `tosa.cast_to_block_scaled` becomes the largest magnitude
    of each block, the exponent of its scale, and the elements divided by it.

    ```mlir
    %c = linalg.generic {maps (i, k), (i, k floordiv 32), (j, k), (i, j)} ins(%a, %s, %b) {
      c += (extf(a) * extf(s)) * extf(b)
    }
    // becomes
    %w = linalg.generic {maps (i, k), (i, k floordiv 32), (i, k)} ins(%a, %s) { extf(a) * extf(s) }
    %c = linalg.generic {maps (i, k), (j, k), (i, j)} ins(%w, %b) { c += w * extf(b) }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def NarrowScaledOperands : Pass<"narrow-scaled-operands", "::mlir::func::FuncOp"> {
  let summary = "Store block-scaled operands of products as bf16, which holds them exactly";
  let description = [{
    An 8-bit float times a scale of f8E8M0FNU is exact in bf16 from 2^-126 on. Where both factors of a sum of products are
    such, or bf16 or 8-bit floats themselves, and the chip has a unit that multiplies bf16, scaled operands that only the
    sum reads are stored as bf16. Contracts that keep each operation (strict, reproducible) are left alone.

    ```mlir
    %w = linalg.generic ins(%a, %s) { yield extf(a) * extf(s) } -> tensor<64x64xf32>
    %c = linalg.generic ins(%w, %v) { c += w * v }
    // becomes
    %w = linalg.generic ins(%a, %s) { yield truncf(extf(a) * extf(s)) } -> tensor<64x64xbf16>
    %c = linalg.generic ins(%w, %v) { c += extf(w) * extf(v) }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
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

    With `lanes`, `and` and `or` of bools are computed in i32, which subgroups exchange.
  }];
  let options = [Option<"lanes", "lanes", "bool", "false", "For chips whose nests are launches of lanes">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def SplitPhases : Pass<"split-phases", "::mlir::func::FuncOp"> {
  let summary = "Sum over the elements of arrays with zeros in between, phase by phase";
  let description = [{
    A transposed convolution with stride s multiplies an array whose elements stand s apart, with zeros in between, and so does the
    gradient of a convolution with a stride. A result at position p meets elements at every s-th tap alone; which taps these are
    follows from p mod s, its phase. Each combination of phases becomes a sum over its own taps, into every s-th result. Where all phases
    read the same elements (as many taps as a multiple of s), they are a loop of one sum. Not with `--fp=strict`, since 0 times
    infinity counts there, and not in references.

    ```mlir
    %d = tensor.insert_slice %x into %zeros[1] [8] [2] : tensor<8xf32> into tensor<17xf32>
    %r[p] += %d[p + k] * %w[k]             // p < 16, k < 2: 32 products, 16 of them by zero
    // becomes
    %r2[q, r] += %x[q] * %w[1 - r]         // q < 8, r < 2: 16 products; %r2 is %r, expanded
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def CompareIndices : Pass<"compare-indices", "::mlir::func::FuncOp"> {
  let summary = "Write elements at computed indices as choices where nests pass over their rows";
  let description = [{
    One element of each row, whose column is read from memory, is a sum over the columns of which all but one term is 0, if a
    reduction passes over the same columns anyway, of the array or of what it is computed from; so it can be computed with that
    reduction. A loop that writes one element of each row into an array that is computed as a whole is a choice of each of its
    elements. Sizes are constant. What an index out of range reads or writes has no meaning before, and is nothing afterwards.
    So what the row is computed from is not stored for one element; `read-at-indices` reads at the index again what is computed with
    nothing else. A loop that writes stays one unless `writes` says otherwise: a pass over the array costs more than its rows' elements,
    where the array is not computed anew by that launch.

    ```mlir
    %y = linalg.generic ins(%t) { %e = tensor.extract %x[%i, %t_i]; linalg.yield %e } -> tensor<8xf32>
    // becomes
    %y = linalg.generic {sum over j} ins(%x, %t) { select(%j == %t_i, %x_ij, 0) + %sum } -> tensor<8xf32>
    ```
  }];
  let options = [Option<"writes", "writes", "bool", /*default=*/"true", "loops that write one element of each row become choices too">];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

def FuseElementwise : Pass<"fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse element-wise operations on tensors where no work is duplicated";
  let description = [{
    Element-wise producers move into element-wise consumers and into reductions that are not contractions, when the
    producer has one user and is computed once per element there. Cheap producers (fills, casts, transpositions,
    broadcasts, a few operations on indices alone, also behind a view) move into every element-wise user. Into a contraction only producers without arithmetic move.
    Values that initialise a reduction stay.

    Two rewritings come before. Maps behind another shape of what a nest computes take its shape; other
    operands become views. With dynamic sizes so do reductions along other dimensions, and nests before a view that makes dimensions
    one, since access maps cannot take these views in. Parts of a permuted array are parts of the array itself, each permuted where it is read:

    ```mlir
    p = a b : 8x6;  s = expand p : 2x4x6;  o = s + r : 2x4x6   ->   o = expand (p + collapse r)
    t = permute x;  q = t[0], k = t[1]                         ->   q = permute x[:, 0], k = permute x[:, 1]
    ```

    With `lanes`, where each nest that no launch takes together is a launch of its own, comparisons of integers move into each of their
    users, and so do cheap operations into sums over rows, if to read what they read takes no more bytes than to read their result:
    launches over rows do not reach those sums.
  }];
  let options = [Option<"lanes", "lanes", "bool", "false", "For chips whose nests are launches of lanes">];
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

def NameSizes : Pass<"name-sizes", "::mlir::ModuleOp"> {
  let summary = "Find which dynamic sizes of public functions are equal";
  let description = [{
    Runs on tensors. Each public function gets `tilewright.shapes`: for every argument, then every result, its
    dimensions as an affine map of the function's distinct sizes, in order of first appearance; a size of a result
    that follows from others is a size of its own, tied by `tilewright.constraints`. Sizes are equal where the
    operations between them require it. `tilewright.array_results` tells array results from scalar ones.
  }];
}

def CountRoundings : Pass<"count-roundings", "::mlir::ModuleOp"> {
  let summary = "Bound how often an element of a result has been rounded";
  let description = [{
    Runs on tensors, behind `name-sizes`. Each public function gets `tilewright.roundings`: the sum of the products of these maps
    over its sizes is at least the number of floating-point operations that an element of a result has passed through one behind
    the other. An operation counts once, and as often as the loops run that hand it its own result: reductions of linalg operations,
    values that loops carry, arrays that they read and write. A factor of -1 stands for a number that is not known.

    ```mlir
      linalg.matmul on tensor<?x?xf32>, sizes s0 x s1 and s1 x s2
    // has
      tilewright.roundings = [affine_map<()[s0, s1, s2] -> (1)>, affine_map<()[s0, s1, s2] -> (1, s1)>]
    ```
  }];
}

def CheckOperandSizes : Pass<"check-operand-sizes", "::mlir::ModuleOp"> {
  let summary = "Compare sizes made of data that operations take to be equal";
  let description = [{
    Runs on tensors, behind `name-sizes`. An operation on several tensors takes some of their dimensions to be equal. Those
    that are, by the definitions of the values, constants, sizes of arguments, or affine functions of these, are compared before
    the call begins. A dimension that is made of data is compared by `tile.require_size`, where it becomes known, and so is the
    product of the sizes that a dimension of an argument is expanded to. What a `cf.assert` says is compared in the same way;
    one in the body of a `linalg.generic` is moved in front of it, as a reduction over all elements.

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

def DelaySums : Pass<"delay-sums", "::mlir::func::FuncOp"> {
  let summary = "Put sums over rows after the operations of each row";
  let description = [{
    A sum along the outermost dimension of what it reads, and what follows from it, comes after the operations that need neither, up to
    the next contraction or effect. So the operations on each row are neighbours, which one launch can take, and the sums are others.
    For chips of lanes.
  }];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_IMPORT_PASSES
