//===- Passes.td - Stage 3: what runs together -------------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nests that read what others write are computed together, with recomputation
// where that is cheaper.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_FUSION_PASSES
#define TILEWRIGHT_CORE_TRANSFORMS_FUSION_PASSES

include "mlir/Pass/PassBase.td"

def ReadThroughPadding : Pass<"read-through-padding", "::mlir::func::FuncOp"> {
  let summary = "Read arrays without the constants around them that a padded buffer has";
  let description = [{
    A nest that reads a buffer with a constant around an array reads the array where its indices are inside, and takes
    the constant elsewhere, if that is faster than writing the buffer: the comparisons of all reads take less time than
    the nests that fill the buffer and copy the array into it, shared by all that read it. Comparisons that hold for all
    iterations are left out. The buffer is gone when nobody reads it.

    ```mlir
    P = -inf;  P[y + 1] = x[y];  out[y] = max(P[y], P[y + 1], P[y + 2])
    // becomes
    out[y] = max(affine.if (y - 1 >= 0) { x[y - 1] } else { -inf }, x[y], affine.if (26 - y >= 0) { x[y + 1] } else { -inf })
    ```

    What is computed into the buffer gets an array of its own first, so that it can be the epilogue of a contraction or be
    fused. Nests that a matrix unit may compute are left to `map-contractions`, whose copies pad.

    Where caches keep what cores work on, nests read without guards and the buffer stays. What fills all of it then fills what
    is around the array, if sizes are known and that takes less time.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
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
    nest reads neighbours in the rows, it takes them from a circular buffer of rows, of which each step computes one:

    ```mlir
    for y: for x: buffer[(y + 1) mod 2, x] = f(image[y + 1, x], image[y + 1, x + 1])
           for x: out[y, x] = g(buffer[y mod 2, x], buffer[(y + 1) mod 2, x])
    ```

    Rows follow each other on chips with caches alone; there nests that units may compute count as any, elsewhere these
    stay as they are, and so do sums over whole dimensions. Where each nest is a launch, a window of up to 32 terms that
    is not fused begins its sums in registers, and the nest that set them to a constant is gone.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def SinkFactors : Pass<"sink-factors", "::mlir::func::FuncOp"> {
  let summary = "Apply factors that all terms of a sum have to the sum";
  let description = [{
    Where a nest scales an operand of a contraction by what does not depend on the reduced loops, and the result has
    fewer elements than the operand, the result is scaled instead, in the contraction's epilogue. What is left of the
    nest runs with the nests before it; if it only copies, it disappears:

    ```mlir
    p[i, j] = e[i, j] / l[i];  o[i, d] = 0;  o[i, d] += p[i, j] v[j, d]
    // becomes
    o[i, d] = 0;  o[i, d] += e[i, j] v[j, d];  o[i, d] = o[i, d] (1 / l[i])
    ```

    Not with `--fp=strict`, and not where the operand's type has a smaller exponent than the sum, unless what is left is
    at most one: an exponential of a distance from the maximum (`core/Analysis/SeparablePairs.h`).
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def ShareArrays : Pass<"share-arrays", "::mlir::func::FuncOp"> {
  let summary = "Let nests write over what they read last";
  let description = [{
    Where a nest is the last that reads an array, and writes another one of the same type for the first time, each
    element after it has read the one at the same place, both are one array. Tiles then hold one buffer instead of two,
    and what is written lies in the cache already. An array that only this nest reads stays: it may disappear.
  }];
}

def PermuteArrays : Pass<"permute-arrays", "::mlir::func::FuncOp"> {
  let summary = "Give temporaries of contractions the order of the arrays that they are copied from or to";
  let description = [{
    A temporary that a contraction reads or writes, and beside it element-wise nests alone, gets the order of dimensions
    of the arguments at the other side of these nests, if all of them agree. What was a transposition is then a copy in
    the order of memory, which an epilogue may take the place of:

    ```mlir
    affine.store %x[n, y, x, c], %padded[n, c, y + 1, x + 1]     %padded[n, y + 1, x + 1, c]
    %sum[n, o, y, x] += %padded[n, c, y + p, x + q] * %w[..]  ->  %sum[n, y, x, o]
    affine.store %sum[n, o, y, x], %z[n, y, x, o]                 the epilogue of the contraction
    ```

    A contraction with vectors along its batch (a depthwise convolution) needs all of its arrays to end with the same dimension of
    it: its temporaries change together, its loops follow, and a smaller operand of another order is copied.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

def UnrollTaps : Pass<"unroll-taps", "::mlir::func::FuncOp"> {
  let summary = "Let neighbouring results of a window be lanes, its taps be written out";
  let description = [{
    A nest that combines taps (loops that no result is indexed by) into results whose neighbours are contiguous is walked
    along a row of results. As many of its innermost tap loops are written out as the chip has vector registers, of windows
    that overlap up to four times as many (`vectorize-nests` takes four results at once then), with the running value as a scalar; the
    others move around the row; the taps of each result keep their order. The cost model
    compares it with lanes over the taps, which long rows keep.

    ```mlir
    for y: for x: for ky < 2: for kx < 2: out[y, x] = max(out[y, x], in[2 y + ky, 2 x + kx])
    // becomes
    for y: for x: out[y, x] = max(max(max(max(out[y, x], in[2 y, 2 x]), in[2 y, 2 x + 1]), in[2 y + 1, 2 x]), in[2 y + 1, 2 x + 1])

    for y: for x: for ky < 13: for kx < 13: out[y, x] += in[y + ky, x + kx]
    // becomes
    for y: for ky < 13: for x: out[y, x] = out[y, x] + in[y + ky, x] + .. + in[y + ky, x + 12]
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def FuseNests : Pass<"fuse-nests", "::mlir::func::FuncOp"> {
  let summary = "Fuse element-wise and reduction nests into fused row-wise reductions";
  let description = [{
    Merges neighbouring nests of equal trip counts, outermost loop first, wherever no dependence would run backwards;
    then forwards stored values to loads, drops temporaries that nothing reads any more, and shrinks those that live
    within one iteration of the fused loops by the dimensions that these loops index.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

#endif // TILEWRIGHT_CORE_TRANSFORMS_FUSION_PASSES
