//===- record-errors.td - Records that do not agree with themselves -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each fault stops the build with a message at the record that names the two
// fields that disagree.
//
//===----------------------------------------------------------------------===//

// RUN: not tw-tblgen -target=test -D COVER -I %source %s 2>&1 | FileCheck %s --check-prefix=COVER
// RUN: not tw-tblgen -target=test -D OUTSIDE -I %source %s 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not tw-tblgen -target=test -D BASIS -I %source %s 2>&1 | FileCheck %s --check-prefix=BASIS
// RUN: not tw-tblgen -target=test -D BROADCAST -I %source %s 2>&1 | FileCheck %s --check-prefix=BROADCAST
// RUN: not tw-tblgen -target=test -D MIXED -I %source %s 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not tw-tblgen -target=test -D WIDER -I %source %s 2>&1 | FileCheck %s --check-prefix=WIDER
// RUN: not tw-tblgen -target=test -D LATENCY -I %source %s 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not tw-tblgen -target=test -D QUEUED -I %source %s 2>&1 | FileCheck %s --check-prefix=QUEUED
// RUN: not tw-tblgen -target=test -D SOURCE -I %source %s 2>&1 | FileCheck %s --check-prefix=SOURCE
// RUN: not tw-tblgen -target=test -D ISSUE -I %source %s 2>&1 | FileCheck %s --check-prefix=ISSUE
// RUN: not tw-tblgen -target=test -D DENOMINATOR -I %source %s 2>&1 | FileCheck %s --check-prefix=DENOMINATOR
// RUN: not tw-tblgen -target=test -D ROLE -I %source %s 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not tw-tblgen -target=test -D OPERAND -I %source %s 2>&1 | FileCheck %s --check-prefix=OPERAND
// RUN: not tw-tblgen -target=test -D NOINTRINSIC -I %source %s 2>&1 | FileCheck %s --check-prefix=NOINTRINSIC
// RUN: not tw-tblgen -target=test -D BITS -I %source %s 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not tw-tblgen -target=test -D ARGUMENTS -I %source %s 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: not tw-tblgen -target=test -D SCOPE -I %source %s 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not tw-tblgen -target=test -D MASK -I %source %s 2>&1 | FileCheck %s --check-prefix=MASK
// RUN: not tw-tblgen -target=test -D FITS -I %source %s 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: not tw-tblgen -target=test -D FEATURE -I %source %s 2>&1 | FileCheck %s --check-prefix=FEATURE
// RUN: not tw-tblgen -target=test -D LEVEL -I %source %s 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not tw-tblgen -target=test -D CACHE -I %source %s 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not tw-tblgen -target=test -D MEMSOURCE -I %source %s 2>&1 | FileCheck %s --check-prefix=MEMSOURCE
// RUN: not tw-tblgen -target=test -D PRICE -I %source %s 2>&1 | FileCheck %s --check-prefix=PRICE
// RUN: not tw-tblgen -target=test -D LANES -I %source %s 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not tw-tblgen -target=test -D DOUBLE -I %source %s 2>&1 | FileCheck %s --check-prefix=DOUBLE
// RUN: not tw-tblgen -target=test -D TOOLARGE -I %source %s 2>&1 | FileCheck %s --check-prefix=TOOLARGE
// RUN: not tw-tblgen -target=test -D REGISTERS -I %source %s 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not tw-tblgen -target=test -D KIND -I %source %s 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not tw-tblgen -target=test -D NOMEMORY -I %source %s 2>&1 | FileCheck %s --check-prefix=NOMEMORY
// RUN: not tw-tblgen -target=test -D ENGINE -I %source %s 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not tw-tblgen -target=test -D LOOP -I %source %s 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: not tw-tblgen -target=test -D NOPATH -I %source %s 2>&1 | FileCheck %s --check-prefix=NOPATH
// RUN: not tw-tblgen -target=test -D NOEXIT -I %source %s 2>&1 | FileCheck %s --check-prefix=NOEXIT

include "dialects/Chip/Chip.td"

class Sound<int m, int n, int k> : MatrixUnit<m, n, k> {
  let a = Operand<f32, BroadcastScalar>;
  let b = Operand<f32, VectorRegister<ColumnMajor>>;
  let c = Operand<f32, VectorRegister<RowMajor>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = MlirOp<"vector.fma", ["A", "B", "C"]>;
}
class SoundChip : Chip<"faulty"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>];
}

#ifdef COVER
def faulty : Sound<1, 16, 2> {
  let b = Operand<f32, VectorRegister<Layout<[], [[0, 1], [0, 2], [0, 4], [0, 8]]>>>;
}
#endif
// COVER: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'b' disagrees with the unit's shape 1 x 16 x 2: no lane holds position (1, 0) of the 2 x 16 matrix; change the bases of the layout or the shape until every position is held equally often

#ifdef DOUBLE
def faulty : Sound<1, 12, 1> {
  let c = Operand<f32, VectorRegister<Layout<[], [[0, 1], [0, 2], [0, 4]], [Repeat<2, 0, 4>]>>>;
}
#endif
// DOUBLE: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'c' disagrees with the unit's shape 1 x 12 x 1: position (0, 4) is held 2 times, position (0, 0) 1 times; change the bases of the layout or the shape until every position is held equally often

#ifdef OUTSIDE
def faulty : Sound<1, 16, 1> {
  let c = Operand<f32, VectorRegister<Layout<[], [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]]>>>;
}
#endif
// OUTSIDE: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'c' disagrees with the unit's shape 1 x 16 x 1: lane 0, element 16 holds position (0, 16) outside the 1 x 16 matrix

#ifdef BASIS
def faulty : Sound<1, 16, 1> {
  let c = Operand<f32, VectorRegister<Layout<[], [[1]]>>>;
}
#endif
// BASIS: record-errors.td:[[@LINE-4]]:5: error: record 'faulty': a layout basis must be a pair [row, column], not [1]

#ifdef BROADCAST
def faulty : Sound<4, 16, 1> {
}
#endif
// BROADCAST: record-errors.td:[[@LINE-3]]:5: error: unit 'faulty': field 'a' is a broadcast scalar, but field 'm' is 4, not 1

#ifdef MIXED
def faulty : Sound<1, 16, 1> {
  let a = Operand<i8, BroadcastScalar>;
}
#endif
// MIXED: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': fields 'a' (i8) and 'c' (f32) mix integers and floats

#ifdef WIDER
def faulty : Sound<1, 16, 1> {
  let b = Operand<f64, VectorRegister<ColumnMajor>>;
}
#endif
// WIDER: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'b' (f64) is wider than the accumulator in field 'c' (f32)

#ifdef LATENCY
def faulty : Sound<1, 16, 1> {
  let latency = Cycles<1, 2>;
}
#endif
// LATENCY: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'latency' (0.50 clocks) is below field 'issue' (1.00 clocks)

#ifdef QUEUED
def faulty : Sound<1, 16, 1> {
  let queueDepth = 4;
}
#endif
// QUEUED: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'queueDepth' is 4, but the unit is no command of a core: only one thread that gives addresses in memories has commands in a queue; leave it out

#ifdef SOURCE
def faulty : Sound<1, 16, 1> {
  let source = ?;
}
#endif
// SOURCE: record-errors.td:[[@LINE-4]]:5: error: record 'faulty': field 'source' is not set

#ifdef ISSUE
def faulty : Sound<1, 16, 1> {
  let issue = ?;
}
#endif
// ISSUE: record-errors.td:[[@LINE-4]]:5: error: record 'faulty': field 'issue' is not set

#ifdef DENOMINATOR
def faulty : Sound<1, 16, 1> {
  let issue = Cycles<1, 0>;
}
#endif
// DENOMINATOR: record-errors.td:[[@LINE-4]]:5: error: record 'faulty': the denominator of field 'issue' must be above 0

#ifdef ROLE
def faulty : Sound<1, 16, 1> {
  let emit = MlirOp<"vector.fma", ["A", "B", "C", "D"]>;
}
#endif
// ROLE: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' has the unknown argument role 'D'

#ifdef OPERAND
def faulty : Sound<1, 16, 1> {
  let emit = MlirOp<"vector.fma", ["A", "C"]>;
}
#endif
// OPERAND: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' does not take operand B, which field 'b' describes

#ifdef NOINTRINSIC
def faulty : Sound<1, 16, 1> {
  let emit = LlvmIntrinsic<"llvm.x86.no.such", ["C", "A", "B"]>;
}
#endif
// NOINTRINSIC: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' names 'llvm.x86.no.such', which is no intrinsic of this LLVM

#ifdef BITS
def faulty : Sound<1, 8, 2> {
  let a = Operand<bf16, BroadcastScalar>;
  let b = Operand<bf16, VectorRegister<ColumnMajor>>;
  let emit = LlvmIntrinsic<"llvm.x86.avx512bf16.dpbf16ps.512", ["C", "A", "B"]>;
}
#endif
// BITS: record-errors.td:[[@LINE-6]]:5: error: unit 'faulty': field 'c' has 256 bits, but the argument of 'llvm.x86.avx512bf16.dpbf16ps.512' in field 'emit' has 512 (and the same of field 'a'; field 'b')

#ifdef ARGUMENTS
def faulty : Sound<1, 16, 2> {
  let a = Operand<bf16, BroadcastScalar>;
  let b = Operand<bf16, VectorRegister<ColumnMajor>>;
  let emit = LlvmIntrinsic<"llvm.x86.avx512bf16.dpbf16ps.512", ["C", "A", "B", "i32:0"]>;
}
#endif
// ARGUMENTS: record-errors.td:[[@LINE-6]]:5: error: unit 'faulty': field 'emit' gives 'llvm.x86.avx512bf16.dpbf16ps.512' 4 arguments, LLVM's intrinsic has 3

#ifdef SCOPE
def faulty : Sound<1, 16, 1> {
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 4], [0, 8]], []>>>;
}
#endif
// SCOPE: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'c' lies in the registers of 16 lanes, but field 'scope' is one thread

#ifdef MASK
def Za : RegisterBank<"za", 8>;
def Wide : OpaqueRegister<Za, [0x1, 0x100], 1, 64> { let store = MlirOp<"store", ["Ptr", "Tile"]>; }
def faulty : Sound<1, 16, 1> {
  let c = Operand<f32, Wide>;
}
#endif
// MASK: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': register 1 of 'Wide' has the granule mask 0x100, but the bank 'za' has 8 granules

#ifdef FITS
def Za : RegisterBank<"za", 8>;
def Narrow : OpaqueRegister<Za, [0x1], 1, 32> { let store = MlirOp<"store", ["Ptr", "Tile"]>; }
def faulty : Sound<1, 16, 1> {
  let c = Operand<f32, Narrow>;
}
#endif
// FITS: record-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'c' needs 512 bits, but the register 'Narrow' holds 256; make its 'rows' and 'rowBytes' larger or the unit's shape smaller

#ifdef FEATURE
def special : Sound<1, 16, 1> { let requires = ["fp9"]; }
def faulty : SoundChip {
  let units = [special];
}
#endif
// FEATURE: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': unit 'test.special' requires 'fp9', which field 'features' does not have

#ifdef LEVEL
def faulty : SoundChip {
  let memories = [Cache<"l1", "tile", 32768, PerClock<64>, Cycles<4>, 64, 8, Guess<"a test">>];
}
#endif
// LEVEL: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': memory 'l1' belongs to level 'tile', which field 'levels' does not have; name one of its levels ('core') or add this one

#ifdef CACHE
def faulty : SoundChip {
  let memories = [Cache<"l1", "core", 32769, PerClock<64>, Cycles<4>, 64, 8, Guess<"a test">>];
}
#endif
// CACHE: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': cache 'l1': 'bytes' (32769) does not divide into 8 ways of lines of 64 bytes

#ifdef MEMSOURCE
def faulty : SoundChip {
  let memories = [Cache<"l1", "core", 32768, PerClock<64>, Cycles<4>, 64, 8>];
}
#endif
// MEMSOURCE: error: record '{{.*}}': field 'source' is not set

#ifdef PRICE
def other : Sound<1, 16, 1>;
def faulty : SoundChip {
  let costs = [UnitCost<other, Cycles<1>, Cycles<4>, Guess<"a test">>];
}
#endif
// PRICE: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': field 'costs' prices the unit 'other', which field 'units' does not have

#ifdef LANES
def grouped : Sound<1, 16, 1> {
  let scope = Group<"subgroup", 1>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 4], [0, 8]], []>>>;
}
def faulty : SoundChip {
  let levels = [Level<"core", Parallel, 1>, Level<"subgroup", Lockstep, 32>];
  let units = [grouped];
}
#endif
// LANES: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.grouped': the layout of field 'c' has 16 lanes, but its 'scope' has 32 on this chip

// A scratchpad chip whose parts do not fit together.
class Array<int m, int n, int k> : Sound<m, n, k> {
  let a = Operand<f32, InScratchpad<"scratchpad", ["row"], []>>;
  let b = Operand<f32, InScratchpad<"scratchpad", ["row"], []>>;
  let c = Operand<f32, InAccumulator<"accumulator">>;
}
class Engine<string from, string to> : CopyEngine<from, to> {
  let bandwidth = PerClock<16>;
  let latency = Cycles<100>;
  let source = Guess<"a test">;
  let emit = ExternalCall<"copy", ["Ptr", "Ptr"]>;
}
class ScratchpadChip : SoundChip {
  let memories = [
    Memory<"global", "core", 1048576, PerClock<8>, Cycles<100>, Guess<"a test">>,
    Scratchpad<"scratchpad", "core", 2048, PerClock<64>, Cycles<2>, 4, 16, Guess<"a test">>,
    AccumulatorMemory<"accumulator", "core", 1024, PerClock<64>, Cycles<2>, Guess<"a test">>
  ];
}
def In : Engine<"global", "scratchpad">;
def Out : Engine<"accumulator", "global">;

#ifdef TOOLARGE
def array : Array<16, 16, 20>;
def faulty : ScratchpadChip {
  let copies = [In, Out];
  let units = [array];
}
#endif
// TOOLARGE: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.array': one instruction needs 2560 bytes of 'scratchpad' for its fields 'a' and 'b', but field 'bytes' of that memory is 2048: its tile fits nowhere; make the shape smaller or the memory larger

#ifdef REGISTERS
def grouped : Sound<1, 32, 1> {
  let scope = Group<"subgroup", 1>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], []>>>;
}
def faulty : SoundChip {
  let levels = [Level<"core", Parallel, 1>, Level<"subgroup", Lockstep, 32>];
  let memories = [RegisterFile<"register", "subgroup", 1, 2>];
  let units = [grouped];
}
#endif
// REGISTERS: record-errors.td:[[@LINE-6]]:5: error: chip 'faulty': unit 'test.grouped': one instruction needs 4 bytes of 'register' for its fields 'c', but field 'bytes' of that memory is 2: its tile fits nowhere

#ifdef KIND
def array : Array<8, 8, 8> { let a = Operand<f32, InScratchpad<"global", ["row"], []>>; }
def faulty : ScratchpadChip {
  let copies = [In, Out];
  let units = [array];
}
#endif
// KIND: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.array': field 'a' lies in a scratchpad, but field 'memories' has 'global' as another kind; declare it as Scratchpad<...>

#ifdef NOMEMORY
def array : Array<8, 8, 8> { let a = Operand<f32, InScratchpad<"local", ["row"], []>>; }
def faulty : ScratchpadChip {
  let copies = [In, Out];
  let units = [array];
}
#endif
// NOMEMORY: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.array': field 'a' lies in the memory 'local', which field 'memories' does not have; add it there, or name one of its memories in the unit

#ifdef ENGINE
def Lost : Engine<"global", "nowhere">;
def faulty : ScratchpadChip {
  let copies = [Lost];
}
#endif
// ENGINE: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': copy engine 'Lost': field 'to' names the memory 'nowhere', which field 'memories' does not have; name one of 'global', 'scratchpad', 'accumulator'

#ifdef LOOP
def Round : Engine<"global", "global">;
def faulty : ScratchpadChip {
  let copies = [Round];
}
#endif
// LOOP: record-errors.td:[[@LINE-4]]:5: error: chip 'faulty': copy engine 'Round': fields 'from' and 'to' are both 'global': it has no path; name two memories

#ifdef NOPATH
def array : Array<8, 8, 8>;
def faulty : ScratchpadChip {
  let copies = [Out];
  let units = [array];
}
#endif
// NOPATH: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.array': field 'a' lies in the memory 'scratchpad', but field 'copies' has no path of engines from a global memory to it; add a CopyEngine<..., "scratchpad">

#ifdef NOEXIT
def array : Array<8, 8, 8>;
def faulty : ScratchpadChip {
  let copies = [In];
  let units = [array];
}
#endif
// NOEXIT: record-errors.td:[[@LINE-5]]:5: error: chip 'faulty': unit 'test.array': field 'c' lies in the memory 'accumulator', but field 'copies' has no engine that takes results out of it, and the chip has neither 'vectorOps' nor a register file; add a CopyEngine<"accumulator", ...>
