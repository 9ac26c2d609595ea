//===- sparse-errors.td - An index that a record says wrongly -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit of four lanes whose A keeps two of four elements along k; each fault is
// an error at the record.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -check -target=test -I %source %s
// RUN: tw-tblgen -gen-reference -target=test -I %source %s | FileCheck %s --check-prefix=PAGE
// RUN: not tw-tblgen -check -target=test -D MISSING -I %source %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tw-tblgen -check -target=test -D GROUP -I %source %s 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not tw-tblgen -check -target=test -D KEPT -I %source %s 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: not tw-tblgen -check -target=test -D DENSE -I %source %s 2>&1 | FileCheck %s --check-prefix=DENSE
// RUN: not tw-tblgen -check -target=test -D COVER -I %source %s 2>&1 | FileCheck %s --check-prefix=COVER
// RUN: not tw-tblgen -check -target=test -D TAKEN -I %source %s 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not tw-tblgen -check -target=test -D UNKNOWN -I %source %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tw-tblgen -check -target=test -D FLOATS -I %source %s 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not tw-tblgen -check -target=test -D HOME -I %source %s 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: not tw-tblgen -check -target=test -D OWNER -I %source %s 2>&1 | FileCheck %s --check-prefix=OWNER
// RUN: not tw-tblgen -check -target=test -D WORD -I %source %s 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not tw-tblgen -check -target=test -D LANES -I %source %s 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not tw-tblgen -check -target=test -D NARROW -I %source %s 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tw-tblgen -check -target=test -D BOTH -I %source %s 2>&1 | FileCheck %s --check-prefix=BOTH

include "dialects/Chip/Chip.td"

class Sparse : MatrixUnit<2, 2, 4> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f16, InRegisters<Layout<[[1, 0], [0, 1]], []>>>;
  let b = Operand<f16, InRegisters<Layout<[[0, 1], [2, 0]], [[1, 0]]>>>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [1, 0]], []>>>;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = Operand<u8, InRegisters<Layout<[[1, 0], [0, 1]], []>>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a test">;
  let emit = ExternalCall<"product", ["A", "B", "C", "IndexA"]>;
}

def sound : Sparse;
// PAGE: | A | 2 x 2 | f16 |
// PAGE-NEXT: | B | 4 x 2 | f16 |
// PAGE-NEXT: | C | 2 x 2 | f32 |
// PAGE-NEXT: | index of A | 2 x 2 | u8 | registers over lanes | lanes (1, 0) (0, 1); |
// PAGE: A keeps 2 of 4 elements along k.

#ifdef MISSING
def faulty : Sparse {
  let indexA = ?;
}
#endif
// MISSING: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': fields 'sparseKept', 'sparseGroup' and 'indexA' belong together; field 'indexA' is missing

#ifdef GROUP
def faulty : Sparse {
  let sparseGroup = 8;
}
#endif
// GROUP: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'sparseGroup' is 8; it must be a power of two that divides the unit's k of 4

#ifdef KEPT
def faulty : Sparse {
  let sparseKept = 4;
}
#endif
// KEPT: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'sparseKept' is 4; of groups of 4 elements it must be 1 to 3

#ifdef DENSE
def faulty : Sparse {
  let a = Operand<f16, InRegisters<Layout<[[1, 0], [0, 2]], [[0, 1]]>>>;
}
#endif
// DENSE: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'a' disagrees with the unit's shape 2 x 2 x 4

#ifdef COVER
def faulty : Sparse {
  let indexA = Operand<u8, InRegisters<Layout<[[1, 0], [0, 0]], []>>>;
}
#endif
// COVER: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'indexA' disagrees with the unit's shape 2 x 2 x 4: no lane holds position (0, 1) of the 2 x 2 matrix

#ifdef TAKEN
def faulty : Sparse {
  let emit = ExternalCall<"product", ["A", "B", "C"]>;
}
#endif
// TAKEN: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'emit' does not take "IndexA", which field 'indexA' describes

#ifdef UNKNOWN
def faulty : Sparse {
  let a = Operand<f16, InRegisters<Layout<[[1, 0], [0, 2]], [[0, 1]]>>>;
  let sparseKept = 0;
  let sparseGroup = 0;
  let indexA = ?;
}
#endif
// UNKNOWN: sparse-errors.td:[[@LINE-7]]:5: error: unit 'faulty': field 'emit' takes "IndexA", but field 'indexA' does not say what that is

#ifdef FLOATS
def faulty : Sparse {
  let indexA = Operand<f16, InRegisters<Layout<[[1, 0], [0, 1]], []>>>;
}
#endif
// FLOATS: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'indexA' holds f16; places of elements in a group are bytes, u8

#ifdef HOME
def faulty : Sparse {
  let indexA = Operand<u8, VectorRegister<RowMajor>>;
}
#endif
// HOME: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'indexA' describes places of elements, but does not lie in registers over the lanes of a 'scope'; the index of a sparse operand is InRegisters<...> of a Group<...>

#ifdef OWNER
def faulty : Sparse {
  let a = Operand<f16, VectorRegister<RowMajor>>;
}
#endif
// OWNER: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'indexA' describes places of elements, but field 'a' lies neither in registers over lanes nor in a scratchpad; a sparse operand is InRegisters<...> or InScratchpad<...>

#ifdef WORD
def faulty : Sparse {
  let a = Operand<f16, InScratchpad<"shared", ["row"], ["none"]>>;
}
#endif
// WORD: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'indexA' has no 'storage', the register in which a unit that reads A in a scratchpad takes the places of a lane; give it one, such as "i32"

#ifdef LANES
def faulty : Sparse {
  let indexA = Operand<u8, InRegisters<Layout<[[1, 0]], [[0, 1]]>>>;
}
#endif
// LANES: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': the layout of field 'indexA' has 2 lanes, that of field 'c' 4

#ifdef NARROW
def narrow : Operand<u8, InRegisters<Layout<[[1, 0]], [[0, 1]]>>> { let storage = "i2"; }
def faulty : Sparse {
  let indexA = narrow;
}
#endif
// NARROW: sparse-errors.td:[[@LINE-4]]:5: error: unit 'faulty': field 'indexA' has the 'storage' "i2" of 2 bits, but a lane has 4 of them; write a wider type such as "i4"

#ifdef BOTH
def faulty : Sparse {
  let scaleBlock = 4;
  let scaleA = Operand<f32, InRegisters<Layout<[[1, 0], [0, 0]], []>>>;
  let emit = ExternalCall<"product", ["A", "B", "C", "ScaleA", "IndexA"]>;
}
#endif
// BOTH: sparse-errors.td:[[@LINE-6]]:5: error: unit 'faulty': fields 'indexA' and 'scaleA' both describe A: no stage scales a sparse operand; leave one out
