//===- chip-errors.td - Numbers that cannot be, and what stands twice -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sound chip with one fault each: what the message names, and what would be
// right. (record-errors.td has faults of units and of the ways between memories.)
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -target=test -I %source %s
// RUN: not tw-tblgen -target=test -D ALIGN -I %source %s 2>&1 | FileCheck %s --check-prefix=ALIGN
// RUN: not tw-tblgen -target=test -D BURST -I %source %s 2>&1 | FileCheck %s --check-prefix=BURST
// RUN: not tw-tblgen -target=test -D RANK -I %source %s 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not tw-tblgen -target=test -D QUEUE -I %source %s 2>&1 | FileCheck %s --check-prefix=QUEUE
// RUN: not tw-tblgen -target=test -D BANDWIDTH -I %source %s 2>&1 | FileCheck %s --check-prefix=BANDWIDTH
// RUN: not tw-tblgen -target=test -D SECOND -I %source %s 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: not tw-tblgen -target=test -D TURNED -I %source %s 2>&1 | FileCheck %s --check-prefix=TURNED
// RUN: not tw-tblgen -target=test -D BANKS -I %source %s 2>&1 | FileCheck %s --check-prefix=BANKS
// RUN: not tw-tblgen -target=test -D ROWS -I %source %s 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not tw-tblgen -target=test -D VECTOR -I %source %s 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not tw-tblgen -target=test -D NOROLE -I %source %s 2>&1 | FileCheck %s --check-prefix=NOROLE
// RUN: not tw-tblgen -target=test -D WRONGROLE -I %source %s 2>&1 | FileCheck %s --check-prefix=WRONGROLE
// RUN: not tw-tblgen -target=test -D TWOROLES -I %source %s 2>&1 | FileCheck %s --check-prefix=TWOROLES
// RUN: not tw-tblgen -target=test -D NOACCESS -I %source %s 2>&1 | FileCheck %s --check-prefix=NOACCESS
// RUN: tw-tblgen -target=test -D HYBRID -gen-tables -I %source %s | FileCheck %s --check-prefix=HYBRID
// RUN: not tw-tblgen -target=test -D LARGE -I %source %s 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not tw-tblgen -target=test -D STATIONARY -I %source %s 2>&1 | FileCheck %s --check-prefix=STATIONARY
// RUN: not tw-tblgen -target=test -D UNITQUEUE -I %source %s 2>&1 | FileCheck %s --check-prefix=UNITQUEUE
// RUN: not tw-tblgen -target=test -D ATONCE -I %source %s 2>&1 | FileCheck %s --check-prefix=ATONCE
// RUN: tw-tblgen -target=test -D HELD -gen-tables -I %source %s | FileCheck %s --check-prefix=HELD
// RUN: not tw-tblgen -target=test -D MAJOR -I %source %s 2>&1 | FileCheck %s --check-prefix=MAJOR
// RUN: not tw-tblgen -target=test -D NAME -I %source %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tw-tblgen -target=test -D CALL -I %source %s 2>&1 | FileCheck %s --check-prefix=CALL
// RUN: not tw-tblgen -target=test -D TWICE -I %source %s 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not tw-tblgen -target=test -D RATES -I %source %s 2>&1 | FileCheck %s --check-prefix=RATES
// RUN: not tw-tblgen -target=test -D UNIT -I %source %s 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not tw-tblgen -target=test -D NEGATIVE -I %source %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not tw-tblgen -target=test -D KIND -I %source %s 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not tw-tblgen -target=test -D ROUNDING -I %source %s 2>&1 | FileCheck %s --check-prefix=ROUNDING
// RUN: not tw-tblgen -target=test -D WIDER -I %source %s 2>&1 | FileCheck %s --check-prefix=WIDER
// RUN: not tw-tblgen -target=test -D CHIPS -I %source %s 2>&1 | FileCheck %s --check-prefix=CHIPS
// RUN: not tw-tblgen -target=test -D WORD -I %source %s 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not tw-tblgen -target=test -D OPERAND -I %source %s 2>&1 | FileCheck %s --check-prefix=OPERAND
// RUN: not tw-tblgen -target=test -D INTRINSIC -I %source %s 2>&1 | FileCheck %s --check-prefix=INTRINSIC
// RUN: not tw-tblgen -target=test -D ATTRIBUTE -I %source %s 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// RUN: not tw-tblgen -target=test -D ASSEMBLY -I %source %s 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
// RUN: tw-tblgen -target=test -gen-reference -D VARIANT -I %source %s | FileCheck %s --check-prefix=VARIANT
// RUN: echo "" > %t.td
// RUN: not tw-tblgen -target=test -I %source %t.td 2>&1 | FileCheck %s --check-prefix=NOCHIP
// NOCHIP: error: the file describes no chip: include "dialects/Chip/Chip.td" and define one, def Acme1 : Chip<"acme1"> { ... }

include "dialects/Chip/Chip.td"

defvar Test = Guess<"a test">;

def In : CopyEngine<"global", "scratchpad"> {
#ifdef ALIGN
  let alignBytes = 24;
#else
  let alignBytes = 16;
#endif
#ifdef LARGE
  let alignBytes = 131072;
#endif
#ifdef BURST
  let burstBytes = 100;
#endif
#ifdef RANK
  let maxRank = 0;
#endif
#ifdef QUEUE
  let queueDepth = -1;
#endif
#ifdef BANDWIDTH
  let bandwidth = PerClock<0>;
#else
  let bandwidth = PerClock<16>;
#endif
  let latency = Cycles<100>;
  let source = Test;
  let emit = ExternalCall<"copy", ["Ptr", "Ptr"]>;
}
def Out : CopyEngine<"scratchpad", "global"> {
  let bandwidth = PerClock<16>;
  let latency = Cycles<100>;
  let source = Test;
  let emit = ExternalCall<"store", ["Ptr", "Ptr"]>;
}

class Array<Elem factor, Elem sum, string call> : MatrixUnit<8, 8, 8> {
#ifdef MAJOR
  let a = Operand<factor, InScratchpad<"scratchpad", ["diagonal"], []>>;
#else
  let a = Operand<factor, InScratchpad<"scratchpad", ["row"], []>>;
#endif
  let b = Operand<factor, InScratchpad<"scratchpad", ["row"], []>>;
  let c = Operand<sum, InAccumulator<"accumulator">>;
  let issue = Cycles<8>;
  let latency = Cycles<24>;
#ifdef STATIONARY
  let stationary = "B";
#endif
#ifdef UNITQUEUE
  let queueDepth = -2;
#endif
#ifdef HELD
  let queueDepth = 4;
#endif
  let init = ZeroFlag;
#ifdef ATONCE
  let queueDepth = 4;
#else
  let completion = WaitGroup;
#endif
  let source = Test;
  let emit = ExternalCall<call, ["A", "B", "C", "UseC"]>;
}
#ifdef NAME
def array : Array<i8, i32, "multiply i8">;
#else
def array : Array<i8, i32, "multiply_i8">;
#endif
#ifdef CALL
def other : Array<bf16, f32, "multiply_i8">;
#else
def other : Array<bf16, f32, "multiply_bf16">;
#endif

#ifdef KIND
class Op : VectorOp<"gelu", f32, f32, 16>;
#else
#ifdef WIDER
class Op : VectorOp<"requantize", i8, i32, 16>;
#else
class Op : VectorOp<"requantize", i32, i8, 16>;
#endif
#endif
def operation : Op {
#ifdef ROUNDING
  let rounding = "stochastic";
#endif
  let issue = Cycles<1>;
  let latency = Cycles<6>;
  let source = Test;
  let emit = ExternalCall<"requantize", ["Vec"]>;
}

class Another : CopyEngine<"global", "scratchpad"> {
  let bandwidth = PerClock<64>;
  let latency = Cycles<10>;
  let source = Test;
  let emit = None;
}
def Second : Another;
def Turned : Another { let arrangements = ["transpose"]; }
def TurnedToo : Another { let arrangements = ["transpose"]; }

def Npu : Chip<"npu"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>];
#ifdef BANKS
  defvar banks = 0;
#else
#ifdef ROWS
  defvar banks = 3;
#else
  defvar banks = 4;
#endif
#endif
  let memories = [
    Memory<"global", "core", 1048576, PerClock<8>, Cycles<100>, Test>,
    Scratchpad<"scratchpad", "core", 65536, PerClock<64>, Cycles<2>, banks, 16, Test>,
#ifdef VECTOR
    RegisterFile<"vector", "core", 16, 24>,
#endif
    AccumulatorMemory<"accumulator", "core", 65536, PerClock<64>, Cycles<2>, Test>
  ];
#ifdef SECOND
  let copies = [In, Out, Second];
#else
#ifdef TURNED
  let copies = [In, Out, Turned, TurnedToo];
#else
  let copies = [In, Out];
#endif
#endif
#ifdef TWICE
  let units = [array, other, array];
#else
  let units = [array, other];
#endif
  let vectorOps = [operation];
#ifdef RATES
  let rates = [Rate<"misses.store", PerClock<1>, Test>, Rate<"lost", PerClock<2>, Test>];
#endif
#ifdef WORD
  let laneInstructions = [LaneInstruction<"leap", ExternalCall<"leap", []>>, LaneInstruction<"barrier", ExternalCall<"meet", []>>,
                          LaneInstruction<"barrier", ExternalCall<"meet", []>>];
#endif
#ifdef OPERAND
  let laneInstructions = [LaneInstruction<"phase_init", ExternalCall<"init", ["$0", "$2", "count=$1"]>>];
#endif
#ifdef INTRINSIC
  let laneInstructions = [LaneInstruction<"wait_copy", LlvmIntrinsic<"llvm.nvvm.cp.async.wait.groups", ["$0"]>>,
                          LaneInstruction<"wait_store", LlvmIntrinsic<"llvm.nvvm.cp.async.bulk.wait.group", ["$0", "$0"]>>];
#endif
#ifdef ATTRIBUTE
  let laneInstructions = [LaneInstruction<"keep_order", MlirOp<"acme.hold", ["mask="]>>];
#endif
#ifdef ASSEMBLY
  let laneInstructions = [LaneInstruction<"wait_copy", InlineAsm<"wait $0", ["$0"]>>];
#endif
#ifdef UNIT
  let load = Fact<Cycles<2>, Test>;
#endif
#ifdef NEGATIVE
  let load = Fact<PerClock<0>, Test>;
#endif
}
#ifdef CHIPS
def Npu2 : Variant<"npu", Npu>;
#endif

// Files of registers whose role does not follow from kind and level.
class File<string name, string level> : RegisterFile<name, level, 64, 4>;
class Grouped<string name> : Variant<name, Npu> {
  let levels = [Level<"core", Parallel, 4>, Level<"group", Concurrent, 8>, Level<"lanes", Lockstep, 16>, Level<"lane", Single, 1>];
}
#ifdef NOROLE
def Bad : Grouped<"bad"> { let memories = Npu.memories # [File<"window", "core">]; }
#endif
#ifdef WRONGROLE
def Wrong : Scratchpad<"wrong", "core", 65536, PerClock<64>, Cycles<2>, 4, 16, Test> { let role = Backing; }
def Bad : Variant<"bad", Npu> { let memories = Npu.memories # [Wrong]; }
#endif
#ifdef TWOROLES
def Bad : Grouped<"bad"> { let memories = Npu.memories # [File<"own", "lane">, File<"sums", "lane">]; }
#endif
#ifdef NOACCESS
def NoAccess : File<"own", "lane"> { let access = EnginesOnly; }
def Bad : Grouped<"bad"> { let memories = Npu.memories # [NoAccess]; }
#endif
#ifdef HYBRID
def Sums : File<"sums", "lane"> { let role = Accumulators; }
def Window : File<"window", "core"> { let role = RegisterPool; }
def Host : Memory<"host", "core", 2097152, PerClock<1>, Cycles<900>, Test> { let access = EnginesOnly; }
def Good : Grouped<"good"> { let memories = Npu.memories # [File<"own", "lane">, Sums, Window, Host]; }
#endif
#ifdef VARIANT
def NpuLite : Variant<"npu-lite", Npu> {
  let levels = [Level<"core", Parallel, 2>];
}
#endif

// ALIGN: chip-errors.td:[[@LINE-97]]:5: error: chip 'Npu': copy engine 'In': field 'alignBytes' is 24; it must be a power of two, 1 for any address
// BURST: error: chip 'Npu': copy engine 'In': field 'burstBytes' (100) is no multiple of field 'alignBytes' (16), so that a second burst could not start
// RANK: error: chip 'Npu': copy engine 'In': field 'maxRank' is 0; a command moves at least 1 dimension
// QUEUE: error: chip 'Npu': copy engine 'In': field 'queueDepth' is -1; 0 stands for no limit
// BANDWIDTH: error: chip 'Npu': copy engine 'In': field 'bandwidth' is 0{{.*}}; it must be above 0
// SECOND: error: chip 'Npu': copy engines 'In' and 'Second' of field 'copies' both move rows from 'global' to 'scratchpad', so that 'Second' would be ignored: a path has one record for rows, and one with arrangements = ["transpose"] for tiles that change rows and columns; keep the faster one, or give one record the bandwidth of both
// TURNED-NOT: 'Turned' both move rows
// TURNED: error: chip 'Npu': copy engines 'Turned' and 'TurnedToo' of field 'copies' both move transposed tiles from 'global' to 'scratchpad', so that 'TurnedToo' would be ignored
// BANKS: error: chip 'Npu': scratchpad 'scratchpad': fields 'banks' (0) and 'bankBytes' (16) must be at least 1
// ROWS: error: chip 'Npu': scratchpad 'scratchpad': field 'bytes' (65536) is no multiple of a row of its banks, fields 'banks' (3) times 'bankBytes' (16); all banks are equally long: make the size a multiple of 48
// VECTOR: error: chip 'Npu': register file 'vector': field 'entryBytes' is 24; vectors that the compiler plans have a power of two of bytes: describe the part of a register that has 16
// NOROLE: error: chip 'Bad': memory 'window': field 'role' is not given, and does not follow from its level 'core', inside of which a Concurrent level lies; give one of VectorRegisters, LaneRegisters, RegisterPool, UniformRegisters, Accumulators
// WRONGROLE: error: chip 'Bad': memory 'wrong': field 'role' is Backing, which goes with another kind of memory; leave it out, or give Staging
// TWOROLES: error: chip 'Bad': memories 'own' and 'sums' both have the role LaneRegisters at level 'lane', and the compiler could not tell them apart; give field 'role' in one of them: Accumulators for a file that holds only accumulators, UniformRegisters for one value of all lanes
// NOACCESS: error: chip 'Bad': memory 'own': field 'access' is EnginesOnly, but threads name the registers of a register file; leave it out
// HYBRID: memory.name = "sums";
// HYBRID: memory.role = tilewright::MemoryRole::Accumulators;
// HYBRID: memory.name = "window";
// HYBRID: memory.role = tilewright::MemoryRole::RegisterPool;
// HYBRID: memory.access = tilewright::MemoryAccess::EnginesOnly;
// LARGE: error: chip 'Npu': copy engine 'In': field 'alignBytes' (131072) is above field 'bytes' (65536) of the memory 'scratchpad', so that no second buffer could lie in it; give the engine's real alignment
// STATIONARY: chip-errors.td:{{[0-9]+}}:5: error: unit 'array': field 'stationary' is 'B', but field 'load' does not say how many clocks it takes to load that operand; give it, or leave 'stationary' out
// UNITQUEUE: error: unit 'array': field 'queueDepth' is -2; 0 stands for no limit
// ATONCE: error: unit 'array': field 'queueDepth' is 4, but field 'completion' is AtOnce: a core that waits for each result has no second command in a queue; leave it out, or give completion = WaitGroup
// HELD: unit.queueDepth = 4;
// MAJOR: error: unit 'array': field 'a' accepts the storage order 'diagonal'; it must be "row" or "column"
// NAME: error: unit 'array': field 'emit' calls 'multiply i8', which is no name of a function
// CALL: error: chip 'Npu': units 'test.array' and 'test.other' both call 'multiply_i8' in field 'emit': one function cannot compute two products; give each a name of its own
// TWICE: error: chip 'Npu': field 'units' has the unit 'test.array' twice
// RATES: error: chip 'Npu': field 'rates' has the key 'misses.store', which is a field of its own now: let store_misses = Fact<Count<...>, ...>;
// RATES: error: chip 'Npu': field 'rates' has the key 'lost', which no stage uses; the numbers that count are fields of a chip
// WORD: error: chip 'Npu': field 'laneInstructions': 'leap' is nothing that a lane does by a record; the words are lane_x, block_x,
// WORD: error: chip 'Npu': field 'laneInstructions': 'barrier' stands twice
// OPERAND: error: chip 'Npu': field 'laneInstructions': 'phase_init' has the argument "$2"; it has 2 operands, "$0" the first, and attributes "NAME=VALUE"
// OPERAND: error: chip 'Npu': field 'laneInstructions': 'phase_init' has the argument "count=$1", but attributes are for MLIR ops
// OPERAND: error: chip 'Npu': field 'laneInstructions': 'phase_init' has 2 operands, of which its emission takes only some
// INTRINSIC: error: chip 'Npu': field 'laneInstructions': 'wait_copy' names 'llvm.nvvm.cp.async.wait.groups', which is no intrinsic of this LLVM
// INTRINSIC: error: chip 'Npu': field 'laneInstructions': 'wait_store' gives 'llvm.nvvm.cp.async.bulk.wait.group' 2 arguments, LLVM's intrinsic has 1
// ATTRIBUTE: error: chip 'Npu': field 'laneInstructions': 'keep_order' has the argument "mask="; attributes are "NAME=VALUE", the value as MLIR writes it
// ASSEMBLY: error: chip 'Npu': field 'laneInstructions': 'wait_copy' has operands or a result, which assembly of a record cannot name; use an intrinsic or an op
// UNIT: error: chip 'Npu': field 'load' has another unit; write PerClock<...>
// NEGATIVE: error: chip 'Npu': field 'load' is 0{{.*}} per clock; it must be above 0
// KIND: error: chip 'Npu': vector operation 'test.operation': field 'kind' is 'gelu', which no stage uses; the compiler knows 'requantize'
// ROUNDING: error: chip 'Npu': vector operation 'test.operation': field 'rounding' is 'stochastic'; it must be 'nearest-even', 'nearest-away' or 'down'
// WIDER: error: chip 'Npu': vector operation 'test.operation': field 'to' (i32) is no integer narrower than field 'from' (i8)
// CHIPS: error: chip 'Npu2': another record describes a chip of the name 'npu'; the name selects the chip on the command line

// A variant has the memories, engines and units of the chip that it is like, and the levels of its own record.
// VARIANT: ## {{.*}}npu-lite
// VARIANT: 2 x core
// VARIANT: test.array
