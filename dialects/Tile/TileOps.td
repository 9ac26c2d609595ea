//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Order: making fragments, memory accesses, matrix units, regions.
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

//===-- Memory accesses ---------------------------------------------------===//

class Tile_AccessOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([AttrSizedOperandSegments], traits)> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
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

    `lower-tile-to-vector` makes of it, in this order of preference: one scalar load and a broadcast (all elements
    have one address), one `vector.load` (consecutive addresses), `vector.maskedload` (consecutive, `valid` in the way),
    a small vector load broadcast as one integer (a group of elements repeated), a `vector.load` per run of at
    least four consecutive addresses, scalar loads and inserts.
  }];
  let arguments = (ins Arg<AnyMemRef, "source", [MemRead]>:$memref, Variadic<Index>:$mapOperands, AffineMapAttr:$map,
                       AffineMapAttr:$elements, OptionalAttr<AffineMapAttr>:$validMap, Variadic<Index>:$validOperands);
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

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>]> {
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
  }];
  let arguments = (ins Tile_FragmentType:$a, Tile_FragmentType:$b, Tile_FragmentType:$c, StrAttr:$unit);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

//===-- Regions -----------------------------------------------------------===//

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "ReduceOp"]>]> {
  let summary = "End of a tile region";
  let description = "Hands the scalars of a region to the op around it.";
  let arguments = (ins Variadic<AnyType>:$values);
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

#endif // TILEWRIGHT_TILE_OPS
