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
    Bases (row, col) of each bit of lane and element, XOR-ed, then strided repetitions (count, row step, col step),
    each list flattened; an empty list is left out:

    ```mlir
    #row = #tile.layout<elements = [0, 1, 0, 2]>                                  // one lane, a row of 4 elements
    #c = #tile.layout<lanes = [0, 2, 0, 4, 1, 0], elements = [0, 1], repeats = [3, 0, 8]>  // 8 lanes, 2 x 3 elements each
    ```

    Element index e of a lane: its low bits select `elements` bases, the rest counts through `repeats`, the first
    one fastest. `tilewright::Layout` is the same thing as a C++ value.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$lanes,
                        OptionalArrayRefParameter<"int64_t">:$elements,
                        OptionalArrayRefParameter<"int64_t">:$repeats);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The attribute form of a layout value.
    static LayoutAttr get(::mlir::MLIRContext *context, const ::tilewright::Layout &layout);
    ::tilewright::Layout getValue() const;
    int64_t getNumLanes() const { return int64_t(1) << (getLanes().size() / 2); }
    /// Elements that one lane holds.
    int64_t getNumElements() const;
  }];
}

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Tile_FragmentType : Tile_Type<"Fragment", "fragment"> {
  let summary = "A small matrix held in registers";
  let description = [{
    `!tile.fragment<16x8xf32, #layout>`: rows x cols of an integer or floating-point element type and the layout over
    lanes and elements. The layout covers every matrix element the same number of times (once, or more often where
    the hardware wants copies). A fragment whose layout has one lane becomes a vector of `getNumElements()`
    elements in the layout's order.

    Where `registers` names a register class of the chip (a record), the fragment lives in tile or accumulator registers
    that only emissions of their own can touch; its layout then says the order in the register. `assign-tile-registers`
    gives those of a numbered bank their `number`.

    ```mlir
    !tile.fragment<16x16xf32, #rows, "AcmeTile">       // in some register of the class
    !tile.fragment<16x16xf32, #rows, "AcmeTile" : 3>   // in its register 3
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType, "::tilewright::tile::LayoutAttr":$layout,
                        StringRefParameter<"register class">:$registers, "int64_t":$number);
  let builders = [
    TypeBuilderWithInferredContext<(ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                                        "::tilewright::tile::LayoutAttr":$layout), [{
      return $_get(elementType.getContext(), rows, cols, elementType, layout, "", -1);
    }]>,
    TypeBuilderWithInferredContext<(ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                                        "const ::tilewright::Layout &":$layout,
                                        CArg<"::llvm::StringRef", "{}">:$registers, CArg<"int64_t", "-1">:$number), [{
      ::mlir::MLIRContext *context = elementType.getContext();
      return $_get(context, rows, cols, elementType, LayoutAttr::get(context, layout), registers, number);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Elements that one lane holds.
    int64_t getNumElements() const { return getLayout().getNumElements(); }
    /// Matrix position of each element of `lane`, in the layout's order.
    ::llvm::SmallVector<::tilewright::Position> positions(int64_t lane = 0) const;
    /// Whether it lives in tile or accumulator registers.
    bool isOpaque() const { return !getRegisters().empty(); }
    /// The same matrix in register `number` of its class.
    FragmentType numbered(int64_t number) const {
      return get(getContext(), getRows(), getCols(), getElementType(), getLayout(), getRegisters(), number);
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_TokenType : Tile_Type<"Token", "token"> {
  let summary = "Completion of an asynchronous copy";
  let description = "What `tile.copy` gives and `tile.wait` takes. In sequential meaning a copy is done when it returns.";
}

def Tile_ArrangementAttr : Tile_Attr<"Arrangement", "arrangement"> {
  let summary = "How the elements of a buffer are placed in its memory";
  let description = [{
    The memref of an arranged buffer keeps its identity layout and its meaning; only the addresses differ, and appear at
    stage 5. Each part may be left out:

    * `swizzleBits = b, swizzleBase = m, swizzleShift = s`: the `b` address bits from bit `m` on are XOR-ed with the
      `b` bits that lie `s` bits higher (bytes; a conflict-free scratchpad), and with `swizzleAgain = t` also with those
      that lie `t` bits higher: neighbouring rows and rows that are some apart then differ both;
    * `padding = p`: `p` elements after each row of the innermost dimension;
    * `groups = g`: `g` consecutive rows of the second innermost dimension are interleaved element by element, as
      dot-product units read them.

    ```mlir
    #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$swizzleBits,
                        DefaultValuedParameter<"int64_t", "0">:$swizzleBase,
                        DefaultValuedParameter<"int64_t", "0">:$swizzleShift,
                        DefaultValuedParameter<"int64_t", "0">:$swizzleAgain,
                        DefaultValuedParameter<"int64_t", "0">:$padding,
                        DefaultValuedParameter<"int64_t", "1">:$groups);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===-- Schedules ---------------------------------------------------------===//

def Tile_TiledLoopAttr : Tile_Attr<"TiledLoop", "loop"> {
  let summary = "A loop that is cut into tiles";
  let description = [{
    `loop` counts the loops of the scheduled operations in the order in which they are written, from 0. `tile` iterations
    are one tile; the last tile may be smaller. Tiles of the loop that is `spread` are shared out to the members of the
    schedule's level. Several loops are spread where each member has one tile and nothing is placed.

    ```mlir
    #tile.loop<loop = 0, tile = 16, spread = true>
    ```
  }];
  let parameters = (ins "int64_t":$loop, "int64_t":$tile, DefaultValuedParameter<"bool", "false">:$spread);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_PlacementAttr : Tile_Attr<"Placement", "place"> {
  let summary = "Where the part of an array that a tile touches is kept";
  let description = [{
    `array` counts the arrays that the scheduled operations access, in the order of their first access, from 0. A buffer
    in `memory` is filled before each tile of loop `at` begins and written back after it ends; -1: once for all that a
    member of the level does. With `stages` > 1 the buffer of the next tile is filled while this tile is computed.

    ```mlir
    #tile.place<array = 1, at = 0, memory = "scratchpad", stages = 2>
    ```
  }];
  let parameters = (ins "int64_t":$array, "int64_t":$at, StringRefParameter<"a memory of the chip">:$memory,
                        DefaultValuedParameter<"int64_t", "1">:$stages);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "How operations of a kernel are tiled, spread over a level, and placed in memories";
  let description = [{
    Stands on the first of `ops` neighbouring operations of a kernel (`schedule-kernels` writes it, `tile-and-fuse` and
    `place-tiles` do what it says and decide nothing again). `members` of level `level` run them, 0: one for each tile,
    of which sizes that are not constant say how many there are; the loops are cut in the order of `loops`, outermost first. Of several operations the last one's loops are cut, and those before it are
    computed in its tiles, as far as a tile reads what they write. With `step` > 0 reductions of a tile that depend on each
    other run in one loop, `step` iterations of the dimension that they have in common at a time (`tile-and-fuse`). With
    `parts` > 1 that dimension is cut into so many parts first, whose nests, with the parts as the outermost loop, are
    what the rest of the schedule is about; nests that put the parts together follow. With `passes` > 1 the reductions run
    in so many loops of steps, each of which reads the results of those before it as they are.

    ```mlir
    #tile.schedule<level = "core", members = 4, loops = [<loop = 0, tile = 25, spread = true>],
                   placements = [<array = 0, at = 0, memory = "scratchpad">]>
    ```
  }];
  let parameters = (ins StringRefParameter<"a level of the chip">:$level, "int64_t":$members,
                        DefaultValuedParameter<"int64_t", "1">:$ops,
                        OptionalArrayRefParameter<"TiledLoopAttr">:$loops,
                        OptionalArrayRefParameter<"PlacementAttr">:$placements,
                        DefaultValuedParameter<"int64_t", "0">:$step,
                        DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"int64_t", "1">:$passes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The tiled form of loop `loop`; null where it is not cut.
    TiledLoopAttr tiled(int64_t loop) const;
    /// The schedule with other placements.
    ScheduleAttr withPlacements(::llvm::ArrayRef<PlacementAttr> placements) const;
  }];
  let genVerifyDecl = 1;
}

#endif // TILEWRIGHT_TILE_DIALECT
