//===- TileOps.td - operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TILE_OPS
#define TILEWRIGHT_TILE_OPS

include "dialects/Tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_ZeroOp : Tile_Op<"zero", [Pure]> {
  let summary = "A fragment of zeros";
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "Read a fragment from memory through an affine access";
  let description = [{
    Element (r, c) is read at `map(operands) + elements(r, c)`. `valid` (one affine map with two results on its own
    operands: rows, cols) gives the extents that lie inside the array; beyond them the fragment is zero.
  }];
  let arguments = (ins AnyMemRef:$memref, Variadic<Index>:$mapOperands, AffineMapAttr:$map, AffineMapAttr:$elements,
                       OptionalAttr<AffineMapAttr>:$validMap, Variadic<Index>:$validOperands);
  let results = (outs Tile_FragmentType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Write a fragment to memory through an affine access";
  let description = "The mirror of `tile.load`; elements beyond `valid` are not written. `nontemporal` bypasses the caches.";
  let arguments = (ins Tile_FragmentType:$value, AnyMemRef:$memref, Variadic<Index>:$mapOperands, AffineMapAttr:$map,
                       AffineMapAttr:$elements, OptionalAttr<AffineMapAttr>:$validMap, Variadic<Index>:$validOperands,
                       UnitAttr:$nontemporal);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "result = a * b + c on one matrix unit";
  let arguments = (ins Tile_FragmentType:$a, Tile_FragmentType:$b, Tile_FragmentType:$c, StrAttr:$unit);
  let results = (outs Tile_FragmentType:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "ReduceOp"]>]> {
  let summary = "End of a tile region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tile_MapOp : Tile_Op<"map", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "Element-wise function of fragments of equal shape and layout";
  let description = [{
    The region gets one scalar per input and yields one scalar per result; only element-wise-mappable ops
    stand in it, so that it lowers to vectors.
  }];
  let arguments = (ins Variadic<Tile_FragmentType>:$inputs);
  let results = (outs Variadic<Tile_FragmentType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "Combine the rows (dimension 0) or columns (dimension 1) of a fragment";
  let arguments = (ins Tile_FragmentType:$input, I64Attr:$dimension);
  let results = (outs Tile_FragmentType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_TILE_OPS
