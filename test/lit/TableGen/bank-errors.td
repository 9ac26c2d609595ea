//===- bank-errors.td - Banks that lie in the file of vectors -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bank of the name of a chip's file of vectors takes its registers
// out of it: of no other memory, not more than it has, and whole ones.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -D SOUND -I %source %s
// RUN: not tw-tblgen -check -target=test -D MEMORY -I %source %s 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not tw-tblgen -check -target=test -D ENTRIES -I %source %s 2>&1 | FileCheck %s --check-prefix=ENTRIES
// RUN: not tw-tblgen -check -target=test -D WHOLE -I %source %s 2>&1 | FileCheck %s --check-prefix=WHOLE

include "dialects/Chip/Chip.td"

class Sums<RegisterBank bank> : OpaqueRegister<bank, [], 4, 16> {
  let valueType = "<512 x i1>";
  let zero = ExternalCall<"sums_zero", []>;
  let store = ExternalCall<"sums_store", ["Tile", "Ptr", "Stride"]>;
}
class Outer<RegisterBank bank> : MatrixUnit<4, 4, 1> {
  let a = Operand<f32, VectorRegister<RowMajor>>;
  let b = Operand<f32, VectorRegister<RowMajor>>;
  let c = Operand<f32, Sums<bank>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = ExternalCall<"sums_add", ["C", "A", "B"]>;
}
class Cpu<int entries, int bytes> : Chip<"test"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>, Level<"lane", Lockstep, 4>];
  let memories = [
    Memory<"global", "core", 1073741824, PerClock<8>, Cycles<100>, Guess<"a test">>,
    RegisterFile<"vector", "core", entries, bytes>
  ];
}
def Lower : RegisterBank<"vector", 32>;
def Apart : RegisterBank<"sums", 8>;
def Array : RegisterBank<"global", 8>;

#ifdef SOUND
def inside : Outer<Lower>;
def outside : Outer<Apart> { let emit = ExternalCall<"sums_other", ["C", "A", "B"]>; }
def TestChip : Cpu<64, 16> { let units = [inside, outside]; }
#endif

#ifdef MEMORY
def faulty : Outer<Array>;
def TestChip : Cpu<64, 16> { let units = [faulty]; }
#endif
// MEMORY: error: chip 'TestChip': unit 'test.faulty': field 'c' lies in the bank 'global', which has the name of a memory, but not that of the file of vectors; only from that can a bank take its registers: give the bank another name

#ifdef ENTRIES
def faulty : Outer<Lower>;
def TestChip : Cpu<16, 16> { let units = [faulty]; }
#endif
// ENTRIES: error: chip 'TestChip': unit 'test.faulty': field 'c' lies in the bank 'vector', which takes 32 registers out of the file of its name, but that has 16 entries; make the number of the bank's granules smaller

#ifdef WHOLE
def faulty : Outer<Lower>;
def TestChip : Cpu<64, 128> { let units = [faulty]; }
#endif
// WHOLE: error: chip 'TestChip': unit 'test.faulty': field 'c' lies in the bank 'vector', whose registers lie in the file of its name, but the 64 bytes of 'anonymous_{{[0-9]+}}' are not whole registers of 128 bytes
