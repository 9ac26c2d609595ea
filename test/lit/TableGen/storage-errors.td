//===- storage-errors.td - Orders and words that no stage takes -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core gives its unit the address of a tile's rows, operands in the order of
// the emission. What a record says beside that is refused, not ignored.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -I %source %s
// RUN: not tw-tblgen -check -target=test -D COLUMN -I %source %s 2>&1 | FileCheck %s --check-prefix=COLUMN
// RUN: not tw-tblgen -check -target=test -D NOORDER -I %source %s 2>&1 | FileCheck %s --check-prefix=NOORDER
// RUN: not tw-tblgen -check -target=test -D SWIZZLE -I %source %s 2>&1 | FileCheck %s --check-prefix=SWIZZLE
// RUN: not tw-tblgen -check -target=test -D WORD -I %source %s 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not tw-tblgen -check -target=test -D NOFLAG -I %source %s 2>&1 | FileCheck %s --check-prefix=NOFLAG
// RUN: not tw-tblgen -check -target=test -D FLAG -I %source %s 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not tw-tblgen -check -target=test -D ROLE -I %source %s 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not tw-tblgen -check -target=test -D ENGINE -I %source %s 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not tw-tblgen -check -target=test -D ONETILE -I %source %s 2>&1 | FileCheck %s --check-prefix=ONETILE

include "dialects/Chip/Chip.td"

defvar Test = Guess<"a test">;

#ifdef COLUMN
def Tile : InScratchpad<"scratchpad", ["column"], []>;
#else
#ifdef NOORDER
def Tile : InScratchpad<"scratchpad", [], []>;
#else
#ifdef SWIZZLE
def Tile : InScratchpad<"scratchpad", ["row", "column"], ["swizzle.128", "swizzle.64"]>;
#else
#ifdef WORD
def Tile : InScratchpad<"scratchpad", ["row"], ["fractal.16x16"]>;
#else
def Tile : InScratchpad<"scratchpad", ["row", "column"], ["swizzle.128", "none"]>;
#endif
#endif
#endif
#endif

class Cube<Elem factor, Elem sum, string function> : MatrixUnit<8, 8, 8> {
  let a = Operand<factor, Tile>;
  let b = Operand<factor, Tile>;
  let c = Operand<sum, InAccumulator<"accumulator">>;
  let issue = Cycles<8>;
  let latency = Cycles<24>;
  let completion = WaitGroup;
  let source = Test;
#ifdef FLAG
  let emit = ExternalCall<function, ["C", "A", "i1:1", "B", "UseC"]>;
#else
  let init = ZeroFlag;
#ifdef NOFLAG
  let emit = ExternalCall<function, ["C", "A", "B"]>;
#else
#ifdef ROLE
  let emit = ExternalCall<function, ["C", "DescA", "B", "UseC"]>;
#else
  let emit = ExternalCall<function, ["C", "A", "i1:1", "B", "UseC"]>;
#endif
#endif
#endif
}
def cube_i8 : Cube<i8, i32, "cube_i8">;
def cube_f16 : Cube<f16, f32, "cube_f16">;

class Dma<string from, string to> : CopyEngine<from, to> {
#ifdef ENGINE
  let arrangements = ["transposed"];
  let accessBytes = [4, 3];
#else
  let arrangements = ["transpose"];
  let accessBytes = [4, 16];
#endif
  let alignBytes = 4;
  let bandwidth = PerClock<16>;
  let latency = Cycles<100>;
  let source = Test;
  let emit = ExternalCall<"copy", ["Ptr", "Ptr"]>;
}
def In : Dma<"global", "scratchpad">;
def Out : Dma<"scratchpad", "global">;

#ifdef ONETILE
defvar accumulatorBytes = 256;
#else
defvar accumulatorBytes = 512;
#endif
def Npu : Chip<"npu"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>];
  let memories = [
    Memory<"global", "core", 1048576, PerClock<8>, Cycles<100>, Test>,
    Scratchpad<"scratchpad", "core", 65536, PerClock<64>, Cycles<2>, 4, 16, Test>,
    AccumulatorMemory<"accumulator", "core", accumulatorBytes, PerClock<64>, Cycles<2>, Test>,
    RegisterFile<"vector", "core", 16, 32>
  ];
  let copies = [In, Out];
  let units = [cube_i8, cube_f16];
}

// A class has the mistake: one message, which names all operands and records that have it.
// COLUMN: error: chip 'Npu': unit 'test.cube_i8': field 'a' accepts only the storage order "column", but cores keep tiles as plain rows in their scratchpad: a unit is given the address of the first row and the bytes between rows; where the instruction takes rows, write ["row"]; where it takes columns, no stage can use it (and the same of field 'b'; unit 'test.cube_f16'; unit 'test.cube_f16', field 'b')
// COLUMN-NOT: error:
// NOORDER: error: unit 'cube_f16': field 'a' accepts no storage order; give "row", "column" or both (and the same of field 'b'; unit 'cube_i8'; unit 'cube_i8', field 'b')
// NOORDER-NOT: error:
// SWIZZLE: error: chip 'Npu': unit 'test.cube_i8': field 'a' accepts only the arrangements "swizzle.128", "swizzle.64", but cores keep tiles as plain rows in their scratchpad: a unit is given the address of the first row and the bytes between rows; leave the list empty, or add "none", where the instruction takes that
// WORD: error: unit 'cube_f16': field 'a' accepts the arrangement 'fractal.16x16', which no stage writes; the words are "none", "swizzle.32", "swizzle.64", "swizzle.128" (and the same of
// WORD-NOT: error:
// NOFLAG: error: unit 'cube_f16': field 'init' is ZeroFlag, but field 'emit' does not take the flag; add "UseC" where the function has it, or give init = AccumulateAlways (and the same of unit 'cube_i8')
// FLAG: error: unit 'cube_f16': field 'emit' takes "UseC", but field 'init' is not ZeroFlag: C is always read the same way; leave "UseC" out, or give init = ZeroFlag
// ROLE: error: unit 'cube_f16': field 'emit' takes "DescA", but the unit is a command of a core, whose operands lie in memories; it can take "A", "B", "C" (an address and a pitch each), "UseC" and constants such as "i32:0"
// ENGINE: error: chip 'Npu': copy engine 'In': field 'arrangements' has 'transposed', which no stage asks for; the words are "none", "swizzle.32", "swizzle.64", "swizzle.128", "any", "subgroup", "transpose", "columns" (and the same of copy engine 'Out')
// ENGINE: error: chip 'Npu': copy engine 'In': field 'accessBytes' has 3; the bytes of an access are a power of two, and an empty list stands for any
// ONETILE: error: chip 'Npu': unit 'test.cube_i8': field 'c' needs 256 bytes of the memory 'accumulator', which has 256; programs keep two tiles of accumulators, so that one is finished while the unit computes the next: give field 'bytes' of that memory 512 or more, or make the shape smaller
