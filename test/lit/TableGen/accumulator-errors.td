//===- accumulator-errors.td - Accumulators that lanes read back -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -target=test -gen-tables -I %source %s | FileCheck %s
// RUN: not tw-tblgen -target=test -D NOBANKS -I %source %s 2>&1 | FileCheck %s --check-prefix=NOBANKS
// RUN: not tw-tblgen -target=test -D NARROW -I %source %s 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tw-tblgen -target=test -D GROUP -I %source %s 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not tw-tblgen -target=test -D ORDER -I %source %s 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not tw-tblgen -target=test -D ELSEWHERE -I %source %s 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// RUN: not tw-tblgen -target=test -D WIDE -I %source %s 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not tw-tblgen -target=test -D PARTS -I %source %s 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not tw-tblgen -target=test -D MIXED -I %source %s 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not tw-tblgen -target=test -D STORED -I %source %s 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: not tw-tblgen -target=test -D AWAY -I %source %s 2>&1 | FileCheck %s --check-prefix=AWAY
// RUN: not tw-tblgen -target=test -D BESIDE -I %source %s 2>&1 | FileCheck %s --check-prefix=BESIDE
// RUN: not tw-tblgen -target=test -D SHORT -I %source %s 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not tw-tblgen -target=test -D UNBROUGHT -I %source %s 2>&1 | FileCheck %s --check-prefix=UNBROUGHT

include "dialects/Chip/Chip.td"

defvar Test = Cited<"test">;
def Read : CopyEngine<"sums", "register"> {
  let bandwidth = PerClock<64>; let latency = Cycles<20>; let source = Test;
  let emit = MlirOp<"acme.read", ["Ptr"]>;
}
def Bring : CopyEngine<"shared", "sums"> {
  let completion = Barrier;
#ifndef UNBROUGHT
#ifdef SHORT
  let accessBytes = [2];
#else
  let accessBytes = [16];
#endif
#endif
  let bandwidth = PerClock<64>; let latency = Cycles<20>; let source = Test;
  let emit = MlirOp<"acme.bring", ["Ptr"]>;
}
def unit : MatrixUnit<8, 16, 16> {
  let a = Operand<f16, InScratchpad<"shared", ["row"], ["swizzle.128"]>>;
  let b = Operand<f16, InScratchpad<"shared", ["column"], ["swizzle.128"]>>;
  let c = Operand<f32, InAccumulator<"sums", Layout<[[1, 0], [2, 0], [4, 0]], [[0, 1], [0, 2], [0, 4], [0, 8]]>>>;
  let issue = Cycles<8>; let latency = Cycles<16>; let source = Test;
  let init = ZeroFlag;
#ifndef GROUP
  let completion = Barrier;
#endif
  let emit = MlirOp<"acme.multiply", ["C", "DescA", "DescB", "UseC"]>;
}
// Scales of 4 rows of the memory each.
#ifdef WIDE
defvar Power = f32;
#else
defvar Power = f8e8m0;
#endif
def scaled : MatrixUnit<8, 16, 32> {
  let a = Operand<f8e4m3, InScratchpad<"shared", ["row"], ["swizzle.128"]>>;
  let b = Operand<f8e4m3, InScratchpad<"shared", ["column"], ["swizzle.128"]>>;
  let c = unit.c;
  let scaleBlock = 16;
#ifdef ORDER
  let scaleA = Operand<Power, InAccumulator<"sums", Layout<[[1, 0], [2, 0]], [[4, 0], [0, 1]]>>>;
#else
  let scaleA = Operand<Power, InAccumulator<"sums", Layout<[[1, 0], [2, 0]], [[0, 1], [4, 0]]>>>;
#endif
#ifdef ELSEWHERE
  let scaleB = Operand<Power, InAccumulator<"others", Layout<[[0, 1], [0, 2]], [[1, 0], [0, 4], [0, 8]]>>>;
#else
  let scaleB = Operand<Power, InAccumulator<"sums", Layout<[[0, 1], [0, 2]], [[1, 0], [0, 4], [0, 8]]>>>;
#endif
  let issue = Cycles<8>; let latency = Cycles<16>; let source = Test;
  let init = ZeroFlag;
  let completion = Barrier;
  let emit = MlirOp<"acme.multiply_scaled", ["C", "DescA", "DescB", "UseC", "ScaleA", "ScaleB"]>;
}
// A keeps 2 of 4 elements: 16 places of 2 bits for each of 8 rows.
#ifdef PARTS
defvar Depth = 16;
#else
defvar Depth = 32;
#endif
class Home<string memory, list<int> first = [1, 0]>
    : InAccumulator<memory, Layout<[first, [2, 0], [4, 0]],
                                   [[0, 1], [0, 2], [0, 4]] # !if(!eq(Depth, 32), [[0, 8]], []<list<int>>)>>;
def Stored : Operand<u8, Home<"sums">> { let storage = "i32"; }
def sparse : MatrixUnit<8, 16, Depth> {
  let a = Operand<f16, InScratchpad<"shared", ["row"], ["swizzle.64"]>>;
  let b = Operand<f16, InScratchpad<"shared", ["column"], ["swizzle.128"]>>;
  let c = unit.c;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = Operand<u8, Home<"sums">>;
  let issue = Cycles<8>; let latency = Cycles<16>; let source = Test;
  let init = ZeroFlag;
  let completion = Barrier;
  let emit = MlirOp<"acme.multiply_sparse", ["C", "DescA", "DescB", "IndexA", "UseC"]>;
#ifdef MIXED
  let indexA = Operand<u8, Home<"sums", [3, 0]>>;
#endif
#ifdef AWAY
  let indexA = Operand<u8, Home<"others">>;
#endif
#ifdef STORED
  let indexA = Stored;
#endif
#ifdef BESIDE
  let scaleBlock = 16;
  let scaleB = scaled.scaleB;
  let emit = MlirOp<"acme.multiply_sparse", ["C", "DescA", "DescB", "IndexA", "ScaleB", "UseC"]>;
#endif
}
def Sums : AccumulatorMemory<"sums", "block", 4096, PerClock<64>, Cycles<10>, Test> {
  let entries = 128;
#ifdef NARROW
  let entryBytes = 16;
#else
  let entryBytes = 32;
#endif
#ifndef NOBANKS
  let banks = 8;
#endif
  let access = EnginesOnly;
}
def Acme : Chip<"Acme"> {
  let clockMHz = 1000;
  let levels = [Level<"grid", Parallel, 4>, Level<"block", Concurrent, 8>, Level<"subgroup", Lockstep, 8>,
                Level<"lane", Single, 1>];
  let memories = [
    Memory<"global", "grid", 1073741824, PerClock<64>, Cycles<100>, Test>,
    Scratchpad<"shared", "block", 65536, PerClock<64>, Cycles<10>, 32, 4, Test>,
    Sums,
    RegisterFile<"registers", "block", 65536, 4>,
    RegisterFile<"register", "lane", 64, 4>];
  let copies = [Read, Bring];
  let units = [unit, scaled, sparse];
}

// CHECK: unit.c.memory = "sums"
// NOBANKS: error: chip 'Acme': unit 'test.unit': 8 lanes read 16 words each, accumulators of field 'c' (f32) and what is beside them, in the memory 'sums', which has 128 entries of 32 bytes in 0 banks; it must have as many entries at least, of 4 bytes for each lane, in banks that divide them, and the accumulators 32 bits
// NARROW: has 128 entries of 16 bytes in 8 banks
// GROUP: unit 'test.unit': lanes read back its field 'c', so one thread issues it ('scope'), it arrives at a barrier object ('completion' Barrier) and begins without a fill ('init' ZeroFlag)

// ORDER: unit 'scaled': the layout of field 'scaleA' has row 4, column 0 in element 1 of lane 0; in a memory of the block blocks along k lie side by side, and element e of lane l is number e / 2 * 4 + l
// ELSEWHERE: unit 'scaled': field 'scaleB' lies in the memory 'others' and field 'c' in 'sums'; a unit finds scales where it adds up
// WIDE: unit 'scaled': field 'scaleA' has 2 scales of 32 bits for a row of an instruction; they are whole bytes, and fit a word of 32 bits
// UNBROUGHT: unit 'test.scaled': it finds scales or an index in the memory 'sums', but field 'copies' has no engine with one size of 'accessBytes' that brings them from the scratchpad of a block; add a CopyEngine<..., "sums">

// PARTS: unit 'sparse': field 'indexA' has 16 bits of places for a row of the memory; they are words of 32 bits, a power of two of them
// MIXED: unit 'sparse': the layout of field 'indexA' has repetitions, or bases that are not one bit of a row or column; in a memory of the block an index is in the order of bits
// STORED: unit 'sparse': field 'indexA' has the 'storage' "i32"; in a memory of the block places lie side by side in words, without one
// AWAY: unit 'sparse': field 'indexA' lies in the memory 'others' and field 'c' in 'sums'; a unit finds an index where it adds up
// BESIDE: unit 'sparse': fields 'indexA' and 'scaleB' are both found in a memory of the block, which no stage plans; leave one out
// SHORT: unit 'test.sparse': its index takes 1 words of a row, but engine 'Bring' brings 2 bytes of it; it brings whole indexes
