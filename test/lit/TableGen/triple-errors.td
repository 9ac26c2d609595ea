//===- triple-errors.td - LLVM's words for a chip, mistyped -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A triple, a processor, a feature, and a vector that no register holds: LLVM
// would ignore them, or end the program.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -I %source %s 2>&1 | count 0
// RUN: not tw-tblgen -check -target=test -D ARCHITECTURE -I %source %s 2>&1 | FileCheck %s --check-prefix=ARCHITECTURE
// RUN: tw-tblgen -check -target=test -D OWN -I %source %s 2>&1 | FileCheck %s --check-prefix=OWN
// RUN: not tw-tblgen -check -target=test -D CPU -I %source %s 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tw-tblgen -check -target=test -D FEATURE -I %source %s 2>&1 | FileCheck %s --check-prefix=FEATURE
// RUN: not tw-tblgen -check -target=test -D BITS -I %source %s 2>&1 | FileCheck %s --check-prefix=BITS

include "dialects/Chip/Chip.td"

defvar Test = Guess<"a test">;

#ifdef BITS
defvar depth = 16;
#else
defvar depth = 8;
#endif
def smmla : MatrixUnit<2, 2, depth> {
  let a = Operand<i8, VectorRegister<RowMajor>>;
  let b = Operand<i8, VectorRegister<ColumnMajor>>;
  let c = Operand<i32, VectorRegister<RowMajor>>;
  let issue = Cycles<1>;
  let latency = Cycles<3>;
  let source = Test;
  let requires = ["i8mm", "vendors-own"];
  let emit = LlvmIntrinsic<"llvm.aarch64.neon.smmla", ["C", "A", "B"]>;
}
def Cpu : Chip<"cpu"> {
#ifdef ARCHITECTURE
  let triple = "arch64-linux-gnu";
#else
#ifdef OWN
  let triple = "acmecore-none-elf";
#else
  let triple = "aarch64-linux-gnu";
#endif
#endif
#ifdef CPU
  let cpu = "neoverse-v9";
#else
  let cpu = "neoverse-v1";
#endif
#ifdef FEATURE
  let features = ["i8mm", "vendors-own", "fullfp61"];
  let lacks = ["svee2"];
#else
  let features = ["i8mm", "vendors-own", "fullfp16"];
  let lacks = ["sve"];
#endif
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, 4>];
  let memories = [Memory<"global", "core", 1048576, PerClock<8>, Cycles<100>, Test>, RegisterFile<"vector", "core", 32, 16>];
  let units = [smmla];
}

// ARCHITECTURE: error: chip 'Cpu': field 'triple' is 'arch64-linux-gnu', and LLVM knows no architecture 'arch64'; did you mean 'aarch64'
// OWN: warning: chip 'Cpu': field 'triple' is 'acmecore-none-elf', for which this LLVM has no back end, so that fields 'cpu' and 'features' are not checked; only an LLVM of yours makes code of its programs
// CPU: error: chip 'Cpu': field 'cpu' is 'neoverse-v9', which LLVM does not know for 'aarch64-linux-gnu'; did you mean {{.*}}'neoverse-v1' or 'neoverse-v2'
// FEATURE: error: chip 'Cpu': field 'features' has 'fullfp61', which neither LLVM knows for 'aarch64-linux-gnu' nor a unit, state or engine of the chip requires; did you mean 'fullfp16'
// FEATURE: error: chip 'Cpu': field 'lacks' has 'svee2', which neither LLVM knows for 'aarch64-linux-gnu' nor a unit, state or engine of the chip requires; did you mean {{.*}}'sve2'
// BITS: error: chip 'Cpu': unit 'test.smmla': field 'a' has 256 bits, but 'llvm.aarch64.neon.smmla' in field 'emit' is an instruction on registers, and those of 'vector' have 128 bits; make the unit's shape (2 x 2 x 16) that of one instruction (and the same of field 'b')
