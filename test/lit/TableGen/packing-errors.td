//===- packing-errors.td - Narrow elements in a scratchpad -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit that reads floats of 4 bits side by side, with scales that have no
// sign; each fault is an error at the record.
//
//===----------------------------------------------------------------------===//

// RUN: tw-tblgen -target=test -gen-tables -I %source %s | FileCheck %s
// RUN: not tw-tblgen -check -target=test -D UNSAID -I %source %s 2>&1 | FileCheck %s --check-prefix=UNSAID
// RUN: not tw-tblgen -check -target=test -D CROWDED -I %source %s 2>&1 | FileCheck %s --check-prefix=CROWDED
// RUN: not tw-tblgen -check -target=test -D OTHER -I %source %s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tw-tblgen -check -target=test -D ACROSS -I %source %s 2>&1 | FileCheck %s --check-prefix=ACROSS
// RUN: not tw-tblgen -check -target=test -D SHORT -I %source %s 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not tw-tblgen -check -target=test -D ALONE -I %source %s 2>&1 | FileCheck %s --check-prefix=ALONE

include "dialects/Chip/Chip.td"

#ifdef ACROSS
defvar Orders = ["row", "column"];
#else
defvar Orders = ["row"];
#endif
#ifdef SHORT
defvar Magnitude = "i6";
#else
defvar Magnitude = "i7";
#endif

class Held<Elem e, list<string> majors, string held> : Operand<e, InScratchpad<"shared", majors, ["swizzle.128"]>> {
  let storage = held;
}
class Scale<Layout layout> : Operand<f8e4m3, InAccumulator<"sums", layout>> { let storage = Magnitude; }

def unit : MatrixUnit<8, 16, 32> {
#ifdef UNSAID
  let a = Held<f4e2m1, Orders, "">;
#else
#ifdef CROWDED
  let a = Held<f4e2m1, Orders, "<64 x i4>">;
#else
#ifdef OTHER
  let a = Held<f4e2m1, Orders, "<16 x i6>">;
#else
#ifdef ALONE
  let a = Operand<f8e4m3, InScratchpad<"shared", ["row"], ["swizzle.128"]>>;
#else
  let a = Held<f4e2m1, Orders, "<32 x i4>">;
#endif
#endif
#endif
#endif
  let b = Held<f6e2m3, ["column"], "<16 x i6>">;
  let c = Operand<f32, InAccumulator<"sums", Layout<[[1, 0], [2, 0], [4, 0]], [[0, 1], [0, 2], [0, 4], [0, 8]]>>>;
  let scaleBlock = 16;
  let scaleA = Scale<Layout<[[1, 0], [2, 0]], [[0, 1], [4, 0]]>>;
  let scaleB = Scale<Layout<[[0, 1], [0, 2]], [[1, 0], [0, 4], [0, 8]]>>;
  let issue = Cycles<8>;
  let latency = Cycles<16>;
  let source = Guess<"a test">;
  let init = ZeroFlag;
  let completion = Barrier;
  let emit = MlirOp<"acme.multiply", ["C", "DescA", "DescB", "UseC", "ScaleA", "ScaleB"]>;
}
// CHECK: unit.a.storage = "<32 x i4>"
// CHECK: unit.b.storage = "<16 x i6>"
// CHECK: unit.scales->a.storage = "i7"

// UNSAID: field 'a' holds f4e2m1 in a scratchpad, but no 'storage' says how many lie in 16 bytes; write "<32 x i4>" where that many lie side by side, or "<16 x i4>"
// CROWDED: field 'a' has the 'storage' "<64 x i4>"; in a scratchpad it says how many floats of 4 or 6 bits lie in 16 bytes, a multiple of 16 that these have room for and that divides k (32), such as "<16 x i4>"
// OTHER: field 'a' has the 'storage' "<16 x i6>"; in a scratchpad it says how many
// ACROSS: field 'a' has elements packed along k, so its one storage order is "row"
// SHORT: field 'scaleA' has the 'storage' "i6"; of scales in a memory of the block it can say that they have no sign, by an integer one bit narrower: "i7"
// ALONE: field 'scaleA' has scales without signs, which go to the elements where those are packed; give field 'a' a 'storage' such as "<32 x i4>"
