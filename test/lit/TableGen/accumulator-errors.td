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
  let accessBytes = [16];
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
    RegisterFile<"register", "lane", 64, 4>];
  let copies = [Read, Bring];
  let units = [unit, scaled];
}

// CHECK: unit.c.memory = "sums"
// NOBANKS: error: chip 'Acme': unit 'test.unit': 8 lanes read 16 words each, accumulators of field 'c' (f32) and scales, in the memory 'sums', which has 128 entries of 32 bytes in 0 banks; it must have as many entries at least, of 4 bytes for each lane, in banks that divide them, and the accumulators 32 bits
// NARROW: has 128 entries of 16 bytes in 8 banks
// GROUP: unit 'test.unit': lanes read back its field 'c', so one thread issues it ('scope'), it arrives at a barrier object ('completion' Barrier) and begins without a fill ('init' ZeroFlag)

// ORDER: unit 'scaled': the layout of field 'scaleA' has row 4, column 0 in element 1 of lane 0; in a memory of the block blocks along k lie side by side, and element e of lane l is number e / 2 * 4 + l
// ELSEWHERE: unit 'scaled': field 'scaleB' lies in the memory 'others' and field 'c' in 'sums'; a unit finds scales where it adds up
// WIDE: unit 'scaled': field 'scaleA' has 2 scales of 32 bits for a row of an instruction; they are whole bytes, and fit a word of 32 bits
// UNBROUGHT: unit 'test.scaled': it finds scales in the memory 'sums', but field 'copies' has no engine with one size of 'accessBytes' that brings them from the scratchpad of a block; add a CopyEngine<..., "sums">
