//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Order: making fragments, memory accesses, matrix units, regions, buffers and copies, levels, the call.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TILE_OPS
#define TILEWRIGHT_TILE_OPS

include "dialects/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===-- Making fragments --------------------------------------------------===//

def Tile_ZeroOp : Tile_Op<"zero", [Pure]> {
  let summary = "A fragment of zeros";
  let description = [{
    Every element of the result is zero.

    ```mlir
    %c = tile.zero : !tile.fragment<1x16xf32, #row16>
    // lowers to
    %c = arith.constant dense<0.0> : vector<16xf32>
    ```
  }];
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "Row or column numbers";
  let description = [{
    Element (r, c) of the result is `r` (dimension 0) or `c` (dimension 1), as an integer or index.

    ```mlir
    %c = tile.index 1 : !tile.fragment<1x4xi32, #row4>     // 0, 1, 2, 3
    // lowers to
    %c = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
    ```
  }];
  let arguments = (ins I64Attr:$dimension);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$dimension attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "Repeat a scalar, a row or a column";
  let description = [{
    The source is a scalar of the result's element type, or a fragment with the result's extents but for those that
    are 1. Element (r, c) of the result is the scalar, or element (r, c) of the source with r or c taken as 0 where
    the extent is 1.

    ```mlir
    %b = tile.broadcast %row : !tile.fragment<1x16xf32, #row16> -> !tile.fragment<4x16xf32, #c>
    %s = tile.broadcast %x : f32 -> !tile.fragment<1x16xf32, #row16>
    ```

    Lowers to `vector.broadcast` or a shuffle.
  }];
  let arguments = (ins AnyType:$source);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_ConvertOp : Tile_Op<"convert", [Pure]> {
  let summary = "The same matrix in another layout";
  let description = [{
    Shape and element type stay; lanes and elements change places. C of one matrix unit becomes A of the next so. On
    one lane it is a shuffle, over lanes an exchange.

    ```mlir
    %b = tile.convert %a : !tile.fragment<4x4xf32, #rows> -> !tile.fragment<4x4xf32, #columns>
    // lowers to
    %b = vector.shuffle %a, %a [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15] : vector<16xf32>, vector<16xf32>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$source);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tile_JoinOp : Tile_Op<"join", [Pure, SameTypeOperands]> {
  let summary = "Matrices side by side as one";
  let description = [{
    The inputs are of one type, two or more; their columns follow each other, and so do the elements of a lane. What a
    lane has of units that are neighbours in a row can be finished and stored together.

    ```mlir
    %c = tile.join %a, %b : !tile.fragment<16x8xf32, #c8>, !tile.fragment<16x8xf32, #c8> -> !tile.fragment<16x16xf32, #c16>
    // #c8  = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
    // #c16 = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0, 0, 8]>
    ```

    Lowers to one vector of the elements of all.
  }];
  let arguments = (ins Variadic<Tile_FragmentType>:$parts);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$parts)>];
  let extraClassDeclaration = [{
    /// The type of `count` fragments of type `part` side by side.
    static FragmentType typeOf(FragmentType part, int64_t count);
  }];
  let hasVerifier = 1;
}

def Tile_SplitOp : Tile_Op<"split", [Pure]> {
  let summary = "A matrix as matrices side by side";
  let description = [{
    The inverse of `tile.join`: what one access loads for several products. The results are of one type, two or more.

    ```mlir
    %a, %b = tile.split %c : !tile.fragment<16x16xf16, #b16> -> !tile.fragment<16x8xf16, #b8>, !tile.fragment<16x8xf16, #b8>
    ```

    Lowers to parts of the vector.
  }];
  let arguments = (ins Tile_FragmentType:$whole);
  let results = (outs Variadic<Tile_FragmentType>:$parts);
  let assemblyFormat = "$whole attr-dict `:` type($whole) `->` type($parts)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "Rows as columns, or columns as rows";
  let description = [{
    The inputs are the rows of a matrix, r fragments of 1 x c, and the results its columns, c fragments of r x 1; or the
    inputs are columns and the results rows. Both numbers are powers of two. It stands between vectors along one
    dimension and an array in which the other one is contiguous:

    ```mlir
    %0, %1, %2, %3 = tile.transpose %a, %b : !tile.fragment<1x4xf32, #row4>, !tile.fragment<1x4xf32, #row4>
      -> !tile.fragment<2x1xf32, #col2>, !tile.fragment<2x1xf32, #col2>, !tile.fragment<2x1xf32, #col2>, !tile.fragment<2x1xf32, #col2>
    // a0 a1 a2 a3   ->   a0 b0 | a1 b1 | a2 b2 | a3 b3
    // b0 b1 b2 b3
    ```

    Lowers to shuffles of two vectors (VectorTranspose.h) and parts of their results.
  }];
  let arguments = (ins Variadic<Tile_FragmentType>:$inputs);
  let results = (outs Variadic<Tile_FragmentType>:$outputs);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($outputs)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs)>];
  let extraClassDeclaration = [{
    /// The type of the columns of `count` rows of type `input`, or of the rows of so many columns.
    static FragmentType typeOf(FragmentType input, int64_t count);
  }];
  let hasVerifier = 1;
}

//===-- Memory accesses ---------------------------------------------------===//

class Tile_AccessOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([AttrSizedOperandSegments], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  code accessDeclarations = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
    /// Offset of matrix element `position` from the base of the access, per memref dimension.
    ::llvm::SmallVector<int64_t> offsetsOf(::tilewright::Position position);
    /// The extents of `valid` where they are constants; {rows, cols} of the fragment without `valid`.
    std::pair<std::optional<int64_t>, std::optional<int64_t>> constantValid();
  }];
}

def Tile_LoadOp : Tile_AccessOp<"load"> {
  let summary = "Read a fragment from memory through an affine access";
  let description = [{
    Element (r, c) is read at `map(mapOperands) + elements(r, c)`, both with one result per dimension of the memref.
    An element map that ignores `r` or `c` broadcasts along it; one that swaps them transposes; div and mod express
    packed groups. `valid` (one affine map with two results on its own operands: rows, cols) gives the extents that
    lie inside the array: elements at r >= rows or c >= cols are not read and are zero. Extents of zero or less, and
    larger than the fragment, are fine.

    ```mlir
    %a = tile.load %A[%i + 3, %k] elements affine_map<(r, c) -> (r, c)> : memref<64x64xf32> -> !tile.fragment<1x1xf32, #one>
    %b = tile.load %B[%k, %j] elements affine_map<(r, c) -> (r, c)> valid(1, %n - %j)
       : memref<64x?xf32> -> !tile.fragment<1x16xf32, #row16>
    ```

    `bounded` names dimensions of the memref along which elements may lie outside, before its begin or behind its end, as
    that of `tile.copy` does; such elements are not read and are zero. It is for lanes.

    `reread` asks for a load in each iteration of the loop around the op, also where an iteration before it has read the
    same element: to keep it until then, registers would be needed that others have. It is for vectors.

    `lower-tile-to-vector` makes of it, in this order of preference: one scalar load and a broadcast (all elements
    have one address), one `vector.load` (consecutive addresses), `vector.maskedload` (consecutive, `valid` in the way),
    a small vector load broadcast as one integer (a group of elements repeated), a `vector.load` per run of at
    least four consecutive addresses, scalar loads and inserts.
  }];
  let arguments = (ins Arg<AnyMemRef, "source", [MemRead]>:$memref, Variadic<Index>:$mapOperands, AffineMapAttr:$map,
                       AffineMapAttr:$elements, OptionalAttr<AffineMapAttr>:$validMap, Variadic<Index>:$validOperands,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$bounded, UnitAttr:$reread);
  let results = (outs Tile_FragmentType:$result);
  let builders = [
    OpBuilder<(ins "FragmentType":$type, "::mlir::Value":$memref, "::mlir::AffineMap":$map,
                   "::mlir::ValueRange":$mapOperands, "::mlir::AffineMap":$elements,
                   CArg<"::mlir::AffineMap", "{}">:$validMap, CArg<"::mlir::ValueRange", "{}">:$validOperands)>
  ];
  let extraClassDeclaration = accessDeclarations;
}

def Tile_StoreOp : Tile_AccessOp<"store"> {
  let summary = "Write a fragment to memory through an affine access";
  let description = [{
    The mirror of `tile.load`; elements beyond `valid` are not written. The element map must not send two elements
    of the fragment to one address. `nontemporal` bypasses the caches: the address of each vector must then be
    aligned to the size of the vector.

    ```mlir
    tile.store %c, %C[%i, %j] elements affine_map<(r, c) -> (r, c)> valid(%rows, %cols) nontemporal
      : !tile.fragment<1x16xf32, #row16>, memref<?x?xf32>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$value, Arg<AnyMemRef, "destination", [MemWrite]>:$memref,
                       Variadic<Index>:$mapOperands, AffineMapAttr:$map, AffineMapAttr:$elements,
                       OptionalAttr<AffineMapAttr>:$validMap, Variadic<Index>:$validOperands, UnitAttr:$nontemporal);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$memref, "::mlir::AffineMap":$map,
                   "::mlir::ValueRange":$mapOperands, "::mlir::AffineMap":$elements,
                   CArg<"::mlir::AffineMap", "{}">:$validMap, CArg<"::mlir::ValueRange", "{}">:$validOperands,
                   CArg<"bool", "false">:$nontemporal)>
  ];
  let extraClassDeclaration = accessDeclarations;
}

//===-- Matrix units ------------------------------------------------------===//

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>, AttrSizedOperandSegments]> {
  let summary = "result = a * b + c on one matrix unit";
  let description = [{
    `a` is m x k, `b` k x n, `c` and the result m x n. `unit` names the record ("target.record"), the only place
    where IR of this dialect names a chip: it parses and verifies without the target.

    ```mlir
    %d = tile.mma %a, %b, %c {unit = "acme.fma_f32"} : !tile.fragment<1x1xf32, #one>, !tile.fragment<1x16xf32, #row16>,
                                                       !tile.fragment<1x16xf32, #row16>
    // lower-tile-to-vector: a call that emit-units replaces by the record's emission
    %d = func.call @tilewright.unit.acme.fma_f32(%av, %b, %c) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    ```

    `scales` are factors of `a`, of m x k/s elements, and of `b`, of k/s x n: each multiplies s elements along k.

    ```mlir
    // d[i, j] = c[i, j] + sum over k of (a[i, k] * sa[i, k / 32]) * (b[k, j] * sb[k / 32, j])
    %d = tile.mma %a, %b, %c scales(%sa, %sb) {unit = "acme.mx"}
       : !tile.fragment<16x128xf8E4M3FN, #a>, !tile.fragment<128x16xf8E4M3FN, #b>, !tile.fragment<16x16xf32, #c>
         scales(!tile.fragment<16x4xf8E8M0FNU, #sa>, !tile.fragment<4x16xf8E8M0FNU, #sb>)
    ```

    With an `index` A is sparse: it keeps some elements of each group along k, and the index, of A's shape, says in its
    lowest bits where in its group each one stands. Of 2:4, A has half as many columns as B has rows.

    ```mlir
    // d[i, j] = c[i, j] + sum over e of a[i, e] * b[e floordiv 2 * 4 + index[i, e] mod 4, j]
    %d = tile.mma %a, %b, %c index(%p) {unit = "acme.sparse"}
       : !tile.fragment<16x16xf16, #a>, !tile.fragment<32x16xf16, #b>, !tile.fragment<16x16xf32, #c>
         index(!tile.fragment<16x16xi8, #a>)
    ```
  }];
  let arguments = (ins Tile_FragmentType:$a, Tile_FragmentType:$b, Tile_FragmentType:$c, StrAttr:$unit,
                       Variadic<Tile_FragmentType>:$scales, Optional<Tile_FragmentType>:$index);
  let results = (outs Tile_FragmentType:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$c,
                                 "::mlir::StringAttr":$unit),
                            [{ build($_builder, $_state, type, a, b, c, unit, ::mlir::ValueRange(), ::mlir::Value()); }]>];
  let assemblyFormat = [{
    $a `,` $b `,` $c (`scales` `(` $scales^ `)`)? (`index` `(` $index^ `)`)? attr-dict `:` type($a) `,` type($b) `,`
    type($c) (`scales` `(` type($scales)^ `)`)? (`index` `(` type($index)^ `)`)?
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===-- Regions -----------------------------------------------------------===//

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "ReduceOp", "ParallelOp"]>]> {
  let summary = "End of a tile region";
  let description = "Hands the scalars of a region to the op around it.";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tile_MapOp : Tile_Op<"map", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Element-wise function of fragments of equal shape and layout";
  let description = [{
    The region gets one scalar per input and yields one scalar per result; only ops without side effects that are
    element-wise mappable stand in it (arith, math), and constants, so that it lowers to the same ops on vectors.
    Scalars from outside may be used; they are broadcast. All inputs and results have one shape and layout, their
    element types are free.

    ```mlir
    %r = tile.map(%x = %acc, %y = %bias) : (!tile.fragment<1x16xf32, #row16>, !tile.fragment<1x16xf32, #row16>)
           -> !tile.fragment<1x16xf32, #row16> {
      %s = arith.addf %x, %y : f32
      tile.yield %s : f32
    }
    // lowers to
    %r = arith.addf %acc, %bias : vector<16xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_FragmentType>:$inputs);
  let results = (outs Variadic<Tile_FragmentType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs,
                   "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Combine the rows (dimension 0) or columns (dimension 1) of a fragment";
  let description = [{
    The region combines two scalars; it has to be associative and commutative, and the order of combination is free.
    Dimension 0 of an m x n fragment gives 1 x n, dimension 1 gives m x 1.

    ```mlir
    %s = tile.reduce %x dimension 1 : !tile.fragment<1x16xf32, #row16> -> !tile.fragment<1x1xf32, #one> {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      tile.yield %t : f32
    }
    ```
  }];
  let arguments = (ins Tile_FragmentType:$input, I64Attr:$dimension);
  let results = (outs Tile_FragmentType:$result);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "FragmentType":$type, "::mlir::Value":$input, "int64_t":$dimension,
                   "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$body)>
  ];
  let skipDefaultBuilders = 1;
  let assemblyFormat = "$input `dimension` $dimension attr-dict `:` type($input) `->` type($result) $body";
  let hasVerifier = 1;
}

//===-- Buffers and copies ------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc"> {
  let summary = "A buffer that lives until the end of its block";
  let description = [{
    Contents are undefined at first. The memory space of the memref says which memory holds it, `arrangement` how its
    elements are placed; of an arranged buffer only `tile.copy`, `tile.load`, `tile.store` and `tile.fill` may touch
    the elements, because they know the arrangement.

    With `overlays` the buffer may lie where the buffers of its memory that are allocated before it lie: what those hold
    is undefined from the first write to it on. Whoever lowers accesses to both keeps their order; a copy into one of
    them has been waited for before the other is touched.

    ```mlir
    %s = tile.alloc() {arrangement = #tile.arrangement<padding = 8>} : memref<64x32xf16, "shared">
    %p = tile.alloc(%n) : memref<?x16xf32>
    // reference lowering
    %p = memref.alloc(%n) {alignment = 64 : i64} : memref<?x16xf32> ... memref.dealloc %p   // before the end of the block
    ```
  }];
  let arguments = (ins Variadic<Index>:$dynamicSizes, OptionalAttr<Tile_ArrangementAttr>:$arrangement,
                       UnitAttr:$overlays);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$memref);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::ValueRange":$dynamicSizes,
                                 "::tilewright::tile::ArrangementAttr":$arrangement),
                            [{ build($_builder, $_state, type, dynamicSizes, arrangement, ::mlir::UnitAttr()); }]>];
  let assemblyFormat = "`(` $dynamicSizes `)` attr-dict `:` type($memref)";
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "Copy a block between two buffers, asynchronously";
  let description = [{
    For each point p of the box `shape`, from 0 up:

        destination[destinationMap(...) + destinationElements(p)] = source[sourceMap(...) + sourceElements(p)]

    The element maps say transposition, gathering (im2col), broadcast, and packing into panels and groups. `valid` has
    one extent per dimension of the box: beyond it the source is not read and the destination becomes zero. The copy
    may run while the program goes on; source and destination may be used after `tile.wait` of the token. Points must
    not share a destination.

    ```mlir
    // A panel of 16 columns with groups of two rows: dot-product units read pairs.
    %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (p, q)>
           to %panel[0, 0, 0] elements affine_map<(p, q) -> (p floordiv 2, q, p mod 2)>
           shape [64, 16] valid(%rows, %cols) : memref<?x?xbf16>, memref<32x16x2xbf16>
    tile.wait %t
    ```

    `lower-tile-to-vector` makes vector code of it, by how a step in each dimension of the box moves the addresses:
    where one dimension is contiguous on both sides, rows of full vectors with a masked tail; where the destination
    interleaves groups of rows, a load per row of the group and `vector.interleave`; where the two
    sides are contiguous in different dimensions, square blocks that are transposed in registers; else scalars.

    With `clipped` points beyond `valid` are left alone on both sides: a tile that leaves a scratchpad for the edge of
    an array.

    `bounded` names dimensions of the source along which points of the box may lie outside, before its begin or behind
    its end. Such points are not read and become zero, as those beyond `valid` do; it is how a copy pads. Here point p
    is zero where %h - 1 is not in [0, 13) or %w - 1 + p not in [0, 11):

    ```mlir
    %t = tile.copy %x[%h - 1, %w - 1] elements affine_map<(p) -> (0, p)> to %tile[0] elements affine_map<(p) -> (p)>
           shape [16] {bounded = array<i64: 0, 1>} : memref<13x11xf32>, memref<16xf32>
    ```

    All other points lie inside of the source, and of the destination all do.

    `padTo`, one positive number for each dimension of the box, says how far zeros have to go: up to the next multiple
    of it beyond what is `valid`, at least to the first one. What the destination holds behind that is not defined. It
    is for readers that take blocks of that size, such as a matrix unit.
  }];
  let arguments = (ins Arg<AnyMemRef, "source", [MemRead]>:$source, Variadic<Index>:$sourceOperands,
                       Arg<AnyMemRef, "destination", [MemWrite]>:$destination, Variadic<Index>:$destinationOperands,
                       Variadic<Index>:$validOperands, AffineMapAttr:$sourceMap, AffineMapAttr:$sourceElements,
                       AffineMapAttr:$destinationMap, AffineMapAttr:$destinationElements, DenseI64ArrayAttr:$shape,
                       OptionalAttr<AffineMapAttr>:$validMap, UnitAttr:$clipped,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$bounded,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$padTo);
  let results = (outs Tile_TokenType:$token);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$source, "::mlir::AffineMap":$sourceMap, "::mlir::ValueRange":$sourceOperands,
                   "::mlir::AffineMap":$sourceElements, "::mlir::Value":$destination,
                   "::mlir::AffineMap":$destinationMap, "::mlir::ValueRange":$destinationOperands,
                   "::mlir::AffineMap":$destinationElements, "::llvm::ArrayRef<int64_t>":$shape,
                   CArg<"::mlir::AffineMap", "{}">:$validMap, CArg<"::mlir::ValueRange", "{}">:$validOperands,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$bounded)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_DoneOp : Tile_Op<"done", [Pure]> {
  let summary = "A token of nothing";
  let description = [{
    What a loop carries before the first copy or product is under way; waiting for it is nothing.

    ```mlir
    %t = tile.done
    ```
  }];
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = "attr-dict";
}

def Tile_MultiplyOp : Tile_Op<"multiply", [AttrSizedOperandSegments]> {
  let summary = "C += A * B on tiles in memory, asynchronously";
  let description = [{
    For units that read their operands from a scratchpad and keep C in an accumulator memory: the tile of `shape`
    [m, n, k] at the given indices, whose last two dimensions are rows and columns of A (m x k), B (k x n) and C (m x n).
    C is added where `accumulate` is true, else overwritten. `unit` names the record; the shape is a multiple of its own.
    The operands may be used after `tile.wait` of the token. Integers are widened by the signs of the record.

    `valid` gives how many rows m, columns n and terms k of the tile exist: those of C that do not are not defined
    afterwards, and further terms are not added. Up to the next multiples of the unit's own shape A and B hold zeros
    where they do not exist. Without rows, columns or terms (none, or less than none) nothing is done.

    ```mlir
    %t = tile.multiply %a[%s, %c0, %c0], %b[%s, %c0, %c0] to %acc[%h, %c0, %c0] accumulate %more shape [64, 64, 32]
           {unit = "acme.array_i8"} : memref<2x64x32xi8, "scratchpad">, memref<2x32x64xi8, "scratchpad">,
                                      memref<2x64x64xi32, "accumulator">
    %t = tile.multiply %a[%s, %c0, %c0], %b[%s, %c0, %c0] to %acc[%h, %c0, %c0] accumulate %more shape [64, 64, 32]
           valid [%rows, %cols, %terms] {unit = "acme.array_i8"} : ...
    ```

    `lower-tile-to-engines` issues one instruction of the unit after the other, so that its stationary operand stays as
    long as possible; the reference lowering is three loops.
  }];
  let arguments = (ins Arg<AnyMemRef, "A", [MemRead]>:$a, Variadic<Index>:$aIndices,
                       Arg<AnyMemRef, "B", [MemRead]>:$b, Variadic<Index>:$bIndices,
                       Arg<AnyMemRef, "C", [MemRead, MemWrite]>:$c, Variadic<Index>:$cIndices, I1:$accumulate,
                       Variadic<Index>:$valid, DenseI64ArrayAttr:$shape, StrAttr:$unit);
  let results = (outs Tile_TokenType:$token);
  let assemblyFormat = [{
    $a `[` $aIndices `]` `,` $b `[` $bIndices `]` `to` $c `[` $cIndices `]` `accumulate` $accumulate
    `shape` $shape (`valid` `[` $valid^ `]`)? attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait until copies are complete";
  let description = [{
    After it the copies that gave the tokens are done. In sequential meaning, and on a chip whose copies are done when they
    return, it is nothing.

    ```mlir
    tile.wait %t0, %t1
    ```
  }];
  let arguments = (ins Variadic<Tile_TokenType>:$tokens);
  let assemblyFormat = "$tokens attr-dict";
  let hasCanonicalizer = 1;
}

def Tile_FillOp : Tile_Op<"fill"> {
  let summary = "Write one value to all elements of a buffer";
  let description = [{
    ```mlir
    tile.fill %buffer, %zero : memref<64x32xf32>, f32
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "destination", [MemWrite]>:$memref, AnyType:$value);
  let assemblyFormat = "$memref `,` $value attr-dict `:` type($memref) `,` type($value)";
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemRefType() { return ::llvm::cast<::mlir::MemRefType>(getMemref().getType()); }
  }];
  let hasVerifier = 1;
}

//===-- Levels ------------------------------------------------------------===//

def Tile_ParallelOp : Tile_Op<"parallel", [AffineScope, SingleBlockImplicitTerminator<"YieldOp">,
                                           RecursiveMemoryEffects]> {
  let summary = "Iterations that one level of the chip runs in any order";
  let description = [{
    Runs the body for all index tuples from 0 to the upper bounds, one affine map over its operands with one result per
    index. `level` names a level of the chip ("core", "block", "subgroup"); it is an inherent attribute, so that no
    pass loses it. Iterations must not depend on each other, in whatever order they run.

    ```mlir
    tile.parallel (%i, %j) to (%m ceildiv 64, 4) level "core" {
      ...
    }
    // lower-tile-parallel
    affine.parallel (%i, %j) = (0, 0) to (%m ceildiv 64, 4) { ... }
    ```
  }];
  let arguments = (ins Variadic<Index>:$boundOperands, AffineMapAttr:$upperBounds, StrAttr:$level,
                       OptionalAttr<Tile_ScheduleAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "::mlir::AffineMap":$upperBounds, "::mlir::ValueRange":$boundOperands, "::llvm::StringRef":$level,
                   CArg<"::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>",
                        "nullptr">:$body)>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===-- The call ----------------------------------------------------------===//

def Tile_RequireSizeOp : Tile_Op<"require_size", [MemoryEffects<[MemWrite]>]> {
  let summary = "End the call where two sizes differ";
  let description = [{
    Where `produced` differs from `given` nothing behind it happens: the call frees its memory and ends with the status of
    sizes that disagree. With `output` and `dimension`: a size that the program makes of its data, of a result, and the
    caller's. Without: sizes that an operation of the program takes to be equal. Stands in the control flow of a public
    function, in no parallel loop. Two operands that are one value, or equal constants, fold away.

    ```mlir
    tile.require_size %n, %given output 0 dimension 1
    tile.require_size %n, %m
    // make-c-interface
    %wrong = arith.cmpi ne, %n, %given : index
    scf.if %wrong {
      func.call @tilewright.refuse_sizes() : () -> ()     // jumps out of the body, see TrackAllocations.cpp
    }
    ```
  }];
  let arguments = (ins Index:$produced, Index:$given, OptionalAttr<I64Attr>:$output, OptionalAttr<I64Attr>:$dimension);
  let assemblyFormat = "$produced `,` $given (`output` $output^ `dimension` $dimension)? attr-dict";
  let hasCanonicalizeMethod = 1;
}

#endif // TILEWRIGHT_TILE_OPS
