//===- type-errors.td - Fields that name types -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `valueType` and `storage` are types of LLVM, in its spelling or MLIR's, and
// have the bits of what they carry. The message names the field and what would be right.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -D SOUND -I %source %s
// RUN: not tw-tblgen -check -target=test -D NOTYPE -I %source %s 2>&1 | FileCheck %s --check-prefix=NOTYPE
// RUN: not tw-tblgen -check -target=test -D FEWBITS -I %source %s 2>&1 | FileCheck %s --check-prefix=FEWBITS
// RUN: not tw-tblgen -check -target=test -D NOSTORAGE -I %source %s 2>&1 | FileCheck %s --check-prefix=NOSTORAGE
// RUN: not tw-tblgen -check -target=test -D WHOLE -I %source %s 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not tw-tblgen -check -target=test -D POINTER -I %source %s 2>&1 | FileCheck %s --check-prefix=POINTER
// RUN: not tw-tblgen -check -target=test -D ODD -I %source %s 2>&1 | FileCheck %s --check-prefix=ODD

include "dialects/Chip/Chip.td"

def Bank : RegisterBank<"sums", 8>;
class Sums<string type> : OpaqueRegister<Bank, [], 4, 16> {
  let valueType = type;
  let zero = ExternalCall<"sums_zero", []>;
  let fill = ExternalCall<"sums_fill", ["Ptr", "Stride"]>;
  let store = ExternalCall<"sums_store", ["Tile", "Ptr", "Stride"]>;
}
class Carried<string type> : Operand<bf16, VectorRegister<RowMajor>> { let storage = type; }
class Outer<string sums, string storage = ""> : MatrixUnit<4, 4, 1> {
  let a = Carried<storage>;
  let b = Operand<bf16, VectorRegister<RowMajor>>;
  let c = Operand<f32, Sums<sums>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = ExternalCall<"sums_add", ["A", "B", "C"]>;
}
def TestChip : Chip<"test"> {
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 1>];
}

#ifdef SOUND
def mlir : Outer<"vector<512xi1>", "i16">;
def llvm : Outer<"<512 x i1>", "half">;
def members : Outer<"{ <4 x float>, <4 x float>, <4 x float>, <4 x float> }", "i32">;
def named : Outer<"struct<(vector<8xi32>, vector<8xi32>)>", "f16">;
def array : Outer<"array<4 x vector<4xf32>>">;
def targets : Outer<"target(\"acme.sums\", 4)">;
#endif

#ifdef NOTYPE
def faulty : Outer<"vector<512xbit>">;
#endif
// NOTYPE: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': the register 'anonymous_{{[0-9]+}}' of field 'c' has the 'valueType' "vector<512xbit>", which is no type; write one of 512 bits as LLVM IR does, such as "<512 x i1>", or as MLIR does, such as "vector<512xi1>"

#ifdef FEWBITS
def faulty : Outer<"<256 x i1>">;
#endif
// FEWBITS: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': the register '{{.*}}' of field 'c' has the 'valueType' "<256 x i1>" of 256 bits, but its 'rows' x 'rowBytes' (4 x 16 bytes) are 512; change one of them

#ifdef NOSTORAGE
def faulty : Outer<"<512 x i1>", "short">;
#endif
// NOSTORAGE: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': field 'a' has the 'storage' "short", which is no type; write the type of one element of the register that carries it, such as "i16"

#ifdef WHOLE
def faulty : Outer<"<512 x i1>", "<4 x i16>">;
#endif
// WHOLE: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': field 'a' has the 'storage' "<4 x i16>", a whole register's type; it is that of one element: write "i16"

#ifdef POINTER
def faulty : Outer<"<512 x i1>", "ptr">;
#endif
// POINTER: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': field 'a' has the 'storage' "ptr", which is neither an integer nor a float; write one such as "i16"

#ifdef ODD
def faulty : Outer<"<512 x i1>", "i48">;
#endif
// ODD: type-errors.td:[[@LINE-2]]:5: error: unit 'faulty': field 'a' has the 'storage' "i48" of 48 bits, into which the 64 bits of the operand do not divide; write a narrower type such as "i16"
