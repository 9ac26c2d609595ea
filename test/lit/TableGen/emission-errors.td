//===- emission-errors.td - Emissions that the compiler would refuse -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The check writes each emission once, by the code that the compiler writes it
// with. What that refuses is reported at the record, by the field.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -D SOUND -I %source %s
// RUN: tw-tblgen -gen-reference -target=test -D SOUND -I %source %s | FileCheck %s --check-prefix=PAGE
// RUN: tw-tblgen -gen-tables -target=test -D SOUND -I %source %s | FileCheck %s --check-prefix=TABLE
// RUN: not tw-tblgen -check -target=test -D NOFILE -I %source %s 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not tw-tblgen -check -target=test -D SUFFIX -I %source %s 2>&1 | FileCheck %s --check-prefix=SUFFIX
// RUN: not tw-tblgen -check -target=test -D NONAME -I %source %s 2>&1 | FileCheck %s --check-prefix=NONAME
// RUN: not tw-tblgen -check -target=test -D SYNTAX -I %source %s 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not tw-tblgen -check -target=test -D OPS -I %source %s 2>&1 | FileCheck %s --check-prefix=OPS
// RUN: not tw-tblgen -check -target=test -D DECLARED -I %source %s 2>&1 | FileCheck %s --check-prefix=DECLARED
// RUN: not tw-tblgen -check -target=test -D BRANCHES -I %source %s 2>&1 | FileCheck %s --check-prefix=BRANCHES
// RUN: not tw-tblgen -check -target=test -D CALLS -I %source %s 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not tw-tblgen -check -target=test -D STACK -I %source %s 2>&1 | FileCheck %s --check-prefix=STACK
// RUN: not tw-tblgen -check -target=test -D OPERAND -I %source %s 2>&1 | FileCheck %s --check-prefix=OPERAND
// RUN: not tw-tblgen -check -target=test -D COUNT -I %source %s 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tw-tblgen -check -target=test -D RESULT -I %source %s 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not tw-tblgen -check -target=test -D NOTHING -I %source %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not tw-tblgen -check -target=test -D ORDER -I %source %s 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not tw-tblgen -check -target=test -D PART -I %source %s 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not tw-tblgen -check -target=test -D ROLE -I %source %s 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not tw-tblgen -check -target=test -D STRIDE -I %source %s 2>&1 | FileCheck %s --check-prefix=STRIDE
// RUN: not tw-tblgen -check -target=test -D INTRINSIC -I %source %s 2>&1 | FileCheck %s --check-prefix=INTRINSIC
// RUN: not tw-tblgen -check -target=test -D OVERLOADED -I %source %s 2>&1 | FileCheck %s --check-prefix=OVERLOADED
// RUN: not tw-tblgen -check -target=test -D OP -I %source %s 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not tw-tblgen -check -target=test -D SCRATCHPAD -I %source %s 2>&1 | FileCheck %s --check-prefix=SCRATCHPAD
// RUN: not tw-tblgen -check -target=test -D ENGINE -I %source %s 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not tw-tblgen -check -target=test -D LANE -I %source %s 2>&1 | FileCheck %s --check-prefix=LANE

include "dialects/Chip/Chip.td"

def Bank : RegisterBank<"sums", 8>;
class Moves : OpaqueRegister<Bank, [], 4, 16> {
  let valueType = "{ <8 x float>, <8 x float> }";
  let zero = IrFunction<"Inputs/functions.ll", "zero", []>;
  let fill = IrFunction<"Inputs/functions.ll", "fill", ["Vec"]>;
  let read = IrFunction<"Inputs/functions.ll", "read", ["Tile", "result:1,0"]>;
}
def Sums : Moves;
class Outer<Emission emission, OpaqueRegister sums = Sums> : MatrixUnit<4, 4, 2> {
  let a = Operand<f32, VectorRegister<RowMajor>>;
  let b = Operand<f32, VectorRegister<RowMajor>>;
  let c = Operand<f32, sums>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = emission;
}
class Shipped<string name, list<string> arguments = ["C", "A", "B"]>
    : Outer<IrFunction<"Inputs/functions.ll", name, arguments>>;
def TestChip : Chip<"test"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>];
}

#ifdef SOUND
def shipped : Shipped<"add">;
def pairs : Shipped<"add_pairs", ["C", "A.1", "A.0", "B"]>;
#endif
// PAGE: Emitted as `add_pairs` (C, A.1, A.0, B). Issue
// TABLE: unit.emit = {tilewright::EmissionKind::ExternalCall, "add", {"ir:Inputs/functions.ll\n{{.*}}", "C", "A", "B"}};

#ifdef NOFILE
def faulty : Outer<IrFunction<"lost.ll", "add", ["C", "A", "B"]>>;
#endif
// NOFILE: error: the file 'lost.ll' of an IrFunction stands neither beside this one nor in a folder of -I

#ifdef SUFFIX
def faulty : Outer<IrFunction<"emission-errors.td", "add", ["C", "A", "B"]>>;
#endif
// SUFFIX: error: the file 'emission-errors.td' of an IrFunction is neither LLVM IR (.ll) nor MLIR (.mlir); its name says which

#ifdef NONAME
def faulty : Shipped<"subtract">;
#endif
// NONAME: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/functions.ll has no function '@subtract' (it has '@zero', '@fill', '@read', '@add', '@add_pairs', '@branches', '@calls', '@stack', '@nothing', '@quarter', '@short')

#ifdef SYNTAX
def faulty : Outer<IrFunction<"Inputs/broken.ll", "add", ["C", "A", "B"]>>;
#endif
// SYNTAX: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/broken.ll:2:29: use of undefined value '%c'

#ifdef OPS
def faulty : Outer<IrFunction<"Inputs/broken.mlir", "add", ["C", "A", "B"]>>;
#endif
// OPS: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/broken.mlir:2:8: Dialect `acme' not found for custom op 'acme.negate'

#ifdef DECLARED
def faulty : Shipped<"declared">;
#endif
// DECLARED: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/functions.ll: function '@declared' is only declared; define it there

#ifdef BRANCHES
def faulty : Shipped<"branches">;
#endif
// BRANCHES: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/functions.ll: function '@branches' has 2 blocks; write straight-line code, with 'select' in place of branches

#ifdef CALLS
def faulty : Shipped<"calls">;
#endif
// CALLS: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/functions.ll: function '@calls' uses '@add', which stands outside of it; only intrinsics of LLVM can be called

#ifdef STACK
def faulty : Shipped<"stack">;
#endif
// STACK: error: unit 'faulty': field 'emit' ships a function that cannot be used: Inputs/functions.ll: function '@stack' has an 'alloca'; a loop around its use would allocate again and again

#ifdef OPERAND
def faulty : Shipped<"add", ["A", "C", "B"]>;
#endif
// OPERAND: error: unit 'faulty': field 'emit' gives "A" of the type 'vector<8xf32>' to parameter 0 of "add", which is '!llvm.struct<(vector<8xf32>, vector<8xf32>)>': 256 bits do not fill parameters of 512

#ifdef COUNT
def faulty : Shipped<"add_pairs", ["C", "A.1", "B"]>;
#endif
// COUNT: error: unit 'faulty': field 'emit' gives "B" of the type 'vector<8xf32>' to parameter 2 of "add_pairs", which is 'vector<4xf32>': 256 bits do not fill parameters of 128

#ifdef RESULT
def faulty : Shipped<"quarter">;
#endif
// RESULT: error: unit 'faulty': field 'emit' gets 'vector<4xf32>' from "quarter", but its value is '!llvm.struct<(vector<8xf32>, vector<8xf32>)>'

#ifdef NOTHING
def faulty : Shipped<"nothing">;
#endif
// NOTHING: error: unit 'faulty': field 'emit' ships the function "nothing", which returns nothing; a value of the type '!llvm.struct<(vector<8xf32>, vector<8xf32>)>' is needed

#ifdef ORDER
def faulty : Shipped<"add", ["C", "A", "B", "result:0,2"]>;
#endif
// ORDER: error: unit 'faulty': field 'emit' has the argument "result:0,2" in the emission "add", whose result has 2 members; name each of them once, from 0 on

#ifdef PART
def faulty : Shipped<"add_pairs", ["C", "A.2", "A.0", "B"]>;
#endif
// PART: error: unit 'faulty': field 'emit' has the argument "A.2" in the emission "add_pairs", which is neither an operand nor a constant such as i32:0

#ifdef ROLE
def faulty : Shipped<"add", ["C", "A", "B.high"]>;
#endif
// ROLE: error: unit 'faulty': field 'emit' has the unknown argument role 'B.high'

#ifdef STRIDE
def Short : Moves { let fill = IrFunction<"Inputs/functions.ll", "short", ["Ptr", "Stride"]>; }
def faulty : Outer<IrFunction<"Inputs/functions.ll", "add", ["C", "A", "B"]>, Short>;
#endif
// STRIDE: error: unit 'faulty': field 'fill' of the register 'Short' of field 'c' gives "Stride" of the type 'i64' to parameter 1 of "short", which is 'i32': 64 bits do not fill parameters of 32

#ifdef INTRINSIC
def Wide : Moves { let zero = LlvmIntrinsic<"llvm.x86.tilezero.internal", ["Rows", "RowBytes"]>; }
def faulty : Outer<IrFunction<"Inputs/functions.ll", "add", ["C", "A", "B"]>, Wide>;
#endif
// INTRINSIC: error: unit 'faulty': field 'zero' of the register 'Wide' of field 'c' gets '!llvm.x86_amx' from "llvm.x86.tilezero.internal", but its value is '!llvm.struct<(vector<8xf32>, vector<8xf32>)>'

#ifdef OVERLOADED
def faulty : Outer<LlvmIntrinsic<"llvm.fma", ["A", "B", "C"]>>;
#endif
// OVERLOADED: error: unit 'faulty': field 'emit' call intrinsic signature { <8 x float>, <8 x float> } (<8 x float>, <8 x float>, { <8 x float>, <8 x float> }) to overloaded intrinsic "llvm.fma" does not match any of the overloads

#ifdef OP
def faulty : Outer<MlirOp<"llvm.intr.fmuladd", ["A", "B", "C"]>>;
#endif
// OP: error: unit 'faulty': field 'emit' 'llvm.intr.fmuladd' op operand #2 must be floating point LLVM type or LLVM dialect-compatible vector of floating point LLVM type, but got '!llvm.struct<(vector<8xf32>, vector<8xf32>)>'

#ifdef SCRATCHPAD
def faulty : Outer<IrFunction<"Inputs/functions.ll", "add", ["A", "B", "C"]>> {
  let a = Operand<f32, InScratchpad<"scratchpad", ["row"], []>>;
}
#endif
// SCRATCHPAD: error: unit 'faulty': field 'emit' is an IrFunction, but operands lie in a memory: such a unit is a command of the core; name an ExternalCall, or an op of the target

#ifdef ENGINE
def In : CopyEngine<"global", "scratchpad"> {
  let bandwidth = PerClock<8>;
  let latency = Cycles<10>;
  let source = Guess<"a test">;
  let emit = IrFunction<"Inputs/functions.ll", "zero", ["Ptr"]>;
}
def OtherChip : Chip<"other"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>];
  let memories = [
    Memory<"global", "core", 1073741824, PerClock<8>, Cycles<100>, Guess<"a test">>,
    Scratchpad<"scratchpad", "core", 65536, PerClock<8>, Cycles<2>, 4, 16, Guess<"a test">>
  ];
  let copies = [In];
}
#endif
// ENGINE: error: chip 'OtherChip': copy engine 'In': field 'emit' is an IrFunction, which units, the moves of their registers and states take; name an ExternalCall or an op

#ifdef LANE
def OtherChip : Chip<"other"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>, Level<"lane", Lockstep, 8>];
  let laneInstructions = [LaneInstruction<"barrier", IrFunction<"Inputs/functions.ll", "nothing", []>>];
}
#endif
// LANE: error: chip 'OtherChip': field 'laneInstructions': 'barrier' is an IrFunction, which units, the moves of their registers and states take; name an ExternalCall or an op
