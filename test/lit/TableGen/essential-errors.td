//===- essential-errors.td - What programs cannot do without -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chips of cores with vectors, of lanes in blocks, and of cores with
// scratchpads, each without one part that no program can do without.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -D SOUND -I %source %s
// RUN: not tw-tblgen -check -target=test -D NOVECTORS -I %source %s 2>&1 | FileCheck %s --check-prefix=NOVECTORS
// RUN: not tw-tblgen -check -target=test -D NOBLOCKS -I %source %s 2>&1 | FileCheck %s --check-prefix=NOBLOCKS
// RUN: not tw-tblgen -check -target=test -D NOLEVEL -I %source %s 2>&1 | FileCheck %s --check-prefix=NOLEVEL
// RUN: not tw-tblgen -check -target=test -D NOGRID -I %source %s 2>&1 | FileCheck %s --check-prefix=NOGRID
// RUN: not tw-tblgen -check -target=test -D NOPOOL -I %source %s 2>&1 | FileCheck %s --check-prefix=NOPOOL
// RUN: not tw-tblgen -check -target=test -D NOLANES -I %source %s 2>&1 | FileCheck %s --check-prefix=NOLANES
// RUN: not tw-tblgen -check -target=test -D INTOLANES -I %source %s 2>&1 | FileCheck %s --check-prefix=INTOLANES
// RUN: not tw-tblgen -check -target=test -D NOOUT -I %source %s 2>&1 | FileCheck %s --check-prefix=NOOUT

include "dialects/Chip/Chip.td"

defvar Test = Guess<"a test">;

def Global : Memory<"global", "core", 1048576, PerClock<8>, Cycles<100>, Test>;
def GlobalOfGrid : Memory<"global", "grid", 1048576, PerClock<8>, Cycles<100>, Test>;
def Local : Scratchpad<"scratchpad", "core", 65536, PerClock<64>, Cycles<2>, 4, 16, Test>;
def Shared : Scratchpad<"shared", "block", 65536, PerClock<64>, Cycles<2>, 4, 16, Test>;

def fma : MatrixUnit<4, 4, 1> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f32, InRegisters<Layout<[[0, 0], [0, 0], [1, 0], [2, 0]], []>>>;
  let b = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 0], [0, 0]], []>>>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [1, 0], [2, 0]], []>>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Test;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}
class Engine<string from, string to> : CopyEngine<from, to> {
  let bandwidth = PerClock<16>;
  let latency = Cycles<100>;
  let source = Test;
  let emit = ExternalCall<"copy", ["Ptr", "Ptr"]>;
}
def In : Engine<"global", "scratchpad">;
def Out : Engine<"scratchpad", "global">;
def IntoBlock : Engine<"global", "shared">;
def IntoLanes : Engine<"global", "own">;

class Vectors : Chip<"vectors"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>, Level<"vector", Lockstep, 4>];
  let memories = [Global, RegisterFile<"vector", "core", 16, 16>];
}
class Lanes : Chip<"lanes"> {
  let clockMHz = 1000;
  let levels = [Level<"grid", Parallel, 4>, Level<"block", Concurrent, 8>, Level<"subgroup", Lockstep, 16>,
                Level<"lane", Single, 1>];
  let memories = [GlobalOfGrid, Shared, RegisterFile<"pool", "block", 65536, 4>, RegisterFile<"own", "lane", 64, 4>];
  let copies = [IntoBlock];
  let units = [fma];
}
class Cores : Chip<"cores"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>];
  let memories = [Global, Local];
  let copies = [In, Out];
}

#ifdef SOUND
def AVectors : Vectors;
def ALanes : Lanes;
def ACores : Cores;
#endif

#ifdef NOVECTORS
def A : Vectors { let memories = [Global]; }
#endif
// NOVECTORS: error: chip 'A': field 'memories' has no register file for the elements of the vectors that level 'vector' stands for; add RegisterFile<..., "core", ...>

#ifdef NOBLOCKS
def A : Lanes {
  let levels = [Level<"grid", Parallel, 4>, Level<"block", Parallel, 8>, Level<"subgroup", Lockstep, 16>, Level<"lane", Single, 1>];
}
#endif
// NOBLOCKS: error: chip 'A': field 'levels': the members of level 'subgroup' are threads, with the registers of 'own', so the level around them whose members can wait for each other must be Concurrent: level 'block' is Parallel; write Level<"block", Concurrent, 8>

#ifdef NOLEVEL
def A : Lanes {
  let levels = [Level<"grid", Parallel, 4>, Level<"subgroup", Lockstep, 16>, Level<"lane", Single, 1>];
  let memories = [GlobalOfGrid, RegisterFile<"own", "lane", 64, 4>];
  let copies = [];
}
#endif
// NOLEVEL: error: chip 'A': field 'levels': the members of level 'subgroup' are threads, with the registers of 'own', but no level around them is Concurrent; add the groups of lanes that can wait for each other, as Level<"block", Concurrent, ...>

#ifdef NOGRID
def A : Lanes {
  let levels = [Level<"block", Concurrent, 8>, Level<"subgroup", Lockstep, 16>, Level<"lane", Single, 1>];
}
#endif
// NOGRID: error: chip 'A': field 'levels': the members of level 'subgroup' are threads, with the registers of 'own', but no level around 'block' is Parallel

#ifdef NOPOOL
def A : Lanes { let memories = [GlobalOfGrid, Shared, RegisterFile<"own", "lane", 64, 4>]; }
#endif
// NOPOOL: error: chip 'A': field 'memories' has no register file that the lanes of level 'block' share out, without which no contraction is mapped to a unit; add RegisterFile<..., "block", ...> with the registers of one member of the level around it

#ifdef NOLANES
def A : Lanes { let memories = [GlobalOfGrid, Shared, RegisterFile<"pool", "block", 65536, 4>]; }
#endif
// NOLANES: error: chip 'A': field 'memories' has no register file with the registers of one lane; add RegisterFile<..., "lane", ...>

#ifdef INTOLANES
def A : Lanes { let copies = [IntoBlock, IntoLanes]; }
#endif
// INTOLANES: error: chip 'A': copy engine 'IntoLanes': it leads from 'global' to the registers 'own', but lanes load global memory by their own instructions, and no stage uses such an engine; lead it to a scratchpad, or leave it out

#ifdef NOOUT
def A : Cores { let copies = [In]; }
#endif
// NOOUT-NOT: error: chip 'A': field 'copies' has no engine from 'global'
// NOOUT: error: chip 'A': field 'copies' has no engine from 'scratchpad' to 'global', and the cores do not reach 'global' themselves; add a CopyEngine<"scratchpad", "global">, or one from 'global' to a register file where cores load and store it
