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

include "dialects/Chip/Chip.td"

defvar Test = Cited<"test">;
def Read : CopyEngine<"sums", "register"> {
  let bandwidth = PerClock<64>; let latency = Cycles<20>; let source = Test;
  let emit = MlirOp<"acme.read", ["Ptr"]>;
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
  let copies = [Read];
  let units = [unit];
}

// CHECK: unit.c.memory = "sums"
// NOBANKS: error: chip 'Acme': unit 'test.unit': 8 lanes read 16 accumulators each of field 'c' (f32) in the memory 'sums', which has 128 entries of 32 bytes in 0 banks; it must have as many entries at least, of 4 bytes for each lane, in banks that divide them, and the accumulators 32 bits
// NARROW: has 128 entries of 16 bytes in 8 banks
// GROUP: unit 'test.unit': lanes read back its field 'c', so one thread issues it ('scope'), it arrives at a barrier object ('completion' Barrier) and begins without a fill ('init' ZeroFlag)
