//===- scale-errors.td - Scales that a record says wrongly ---*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit of four lanes whose operands have one scale for two elements along k;
// each fault is an error at the record.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -I %source %s
// RUN: tw-tblgen -gen-reference -target=test -I %source %s | FileCheck %s --check-prefix=PAGE
// RUN: not tw-tblgen -check -target=test -D MISSING -I %source %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tw-tblgen -check -target=test -D ALONE -I %source %s 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not tw-tblgen -check -target=test -D OTHER -I %source %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tw-tblgen -check -target=test -D BLOCK -I %source %s 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not tw-tblgen -check -target=test -D COVER -I %source %s 2>&1 | FileCheck %s --check-prefix=COVER
// RUN: not tw-tblgen -check -target=test -D TAKEN -I %source %s 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not tw-tblgen -check -target=test -D UNKNOWN -I %source %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tw-tblgen -check -target=test -D INTEGERS -I %source %s 2>&1 | FileCheck %s --check-prefix=INTEGERS
// RUN: not tw-tblgen -check -target=test -D HOME -I %source %s 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: not tw-tblgen -check -target=test -D NARROW -I %source %s 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tw-tblgen -check -target=test -D ELEMENT -I %source %s 2>&1 | FileCheck %s --check-prefix=ELEMENT

include "dialects/Chip/Chip.td"

class Scaled : MatrixUnit<2, 2, 4> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f8e4m3, InRegisters<Layout<[[1, 0], [0, 2]], [[0, 1]]>>>;
  let b = Operand<f8e4m3, InRegisters<Layout<[[0, 1], [2, 0]], [[1, 0]]>>>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [1, 0]], []>>>;
  let scaleBlock = 2;
  let scaleA = Operand<f8e8m0, InRegisters<Layout<[[1, 0], [0, 1]], []>>>;
  let scaleB = Operand<f8e8m0, InRegisters<Layout<[[0, 1], [1, 0]], []>>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = ExternalCall<"product", ["A", "B", "C", "ScaleA", "ScaleB"]>;
}

def sound : Scaled;
// PAGE: | C | 2 x 2 | f32 |
// PAGE-NEXT: | scales of A | 2 x 2 | f8e8m0 | registers over lanes | lanes (1, 0) (0, 1); |
// PAGE-NEXT: | scales of B | 2 x 2 | f8e8m0 | registers over lanes | lanes (0, 1) (1, 0); |
// PAGE: A scale multiplies 2 elements along k.

// Of one operand alone.
def sound_b : Scaled {
  let scaleA = ?;
  let emit = ExternalCall<"product", ["A", "B", "C", "ScaleB"]>;
}
// PAGE: `test.sound_b`
// PAGE: | C | 2 x 2 | f32 |
// PAGE-NEXT: | scales of B | 2 x 2 | f8e8m0 |

#ifdef MISSING
def faulty : Scaled {
  let scaleA = ?;
  let scaleB = ?;
}
#endif
// MISSING: scale-errors.td:[[@LINE-5]]:5: error: unit 'faulty': field 'scaleBlock' belongs to 'scaleA', 'scaleB' or both; neither is there

#ifdef ALONE
def faulty : Scaled {
  let scaleBlock = 0;
}
#endif
// ALONE: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'scaleBlock' belongs to 'scaleA', 'scaleB' or both; it is missing

#ifdef OTHER
def faulty : Scaled {
  let scaleA = ?;
}
#endif
// OTHER: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' takes "ScaleA", but field 'scaleA' does not say what that is

#ifdef BLOCK
def faulty : Scaled {
  let scaleBlock = 3;
}
#endif
// BLOCK: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'scaleBlock' is 3, which does not divide the unit's k of 4 into whole blocks; give a divisor of k

#ifdef COVER
def faulty : Scaled {
  let scaleA = Operand<f8e8m0, InRegisters<Layout<[[1, 0], [0, 0]], []>>>;
}
#endif
// COVER: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'scaleA' disagrees with the unit's shape 2 x 2 x 4: no lane holds position (0, 1) of the 2 x 2 matrix; change the bases of the layout or the shape until every position is held equally often

#ifdef TAKEN
def faulty : Scaled {
  let emit = ExternalCall<"product", ["A", "B", "C", "ScaleA"]>;
}
#endif
// TAKEN: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' does not take "ScaleB", which field 'scaleB' describes

#ifdef UNKNOWN
def faulty : Scaled {
  let scaleBlock = 0;
  let scaleA = ?;
  let scaleB = ?;
}
#endif
// UNKNOWN: scale-errors.td:[[@LINE-6]]:5: error: unit 'faulty': field 'emit' takes "ScaleA", but field 'scaleA' does not say what that is

#ifdef INTEGERS
def faulty : Scaled {
  let scaleA = Operand<i8, InRegisters<Layout<[[1, 0], [0, 1]], []>>>;
}
#endif
// INTEGERS: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'scaleA' holds i8; scales are floats no wider than field 'c' (f32)

#ifdef HOME
def faulty : Scaled {
  let scaleA = Operand<f8e8m0, VectorRegister<RowMajor>>;
}
#endif
// HOME: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'scaleA' describes scales, but field 'scaleA' does not lie in registers over lanes; scaled operands and their scales are InRegisters<...>

#ifdef NARROW
def Pairs : Operand<f8e8m0, InRegisters<Layout<[[1, 0], [0, 0]], [[0, 1]]>>> {
  let storage = "i8";
}
def faulty : Scaled {
  let scaleA = Pairs;
}
#endif
// NARROW: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'scaleA' has the 'storage' "i8" of 8 bits, but a lane has 16 of them; write a wider type such as "i16"

#ifdef ELEMENT
def faulty : Scaled {
  let a = Operand<f8e8m0, InRegisters<Layout<[[1, 0], [0, 2]], [[0, 1]]>>>;
}
#endif
// ELEMENT: scale-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'a' holds f8e8m0, which has neither sign nor zero: only scales do
