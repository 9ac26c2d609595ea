//===- TileDialect.td - the tile dialect, its types and attributes -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TILE_DIALECT
#define TILEWRIGHT_TILE_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "Fragments, matrix units, staged copies and levels of parallelism";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

class Tile_Attr<string name, string attrMnemonic> : AttrDef<Tile_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_LayoutAttr : Tile_Attr<"Layout", "layout"> {
  let summary = "Which lane and element of a fragment holds which matrix element";
  let description = [{
    Bases (row, col) of each bit of lane and element, XOR-ed, then strided repetitions
    (count, row step, col step), flattened: `#tile.layout<lanes = [0, 2, 1, 0], elements = [0, 1], repeats = [3, 0, 16]>`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$lanes,
                        OptionalArrayRefParameter<"int64_t">:$elements,
                        OptionalArrayRefParameter<"int64_t">:$repeats);
  let assemblyFormat = "`<` (`lanes` `=` `[` $lanes^ `]`)? (`elements` `=` `[` $elements^ `]`)? (`repeats` `=` `[` $repeats^ `]`)? `>`";
  let genVerifyDecl = 1;
}

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Tile_FragmentType : Tile_Type<"Fragment", "fragment"> {
  let summary = "A small matrix held in registers";
  let description = "`!tile.fragment<16x8xf32, #layout>`: rows x cols of an element type and the layout over lanes and elements.";
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType, "::tilewright::tile::LayoutAttr":$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // TILEWRIGHT_TILE_DIALECT
