//===- MatrixUnits.td - Outer products over ZA tiles -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number follows from one: the streaming vector length in 32-bit words.
// A ZA tile of 32-bit elements has that many rows and columns; an instruction
// adds the product of a column of A and a row of B, or for narrower elements of
// 2 or 4 columns and rows side by side in each word.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_ARM_SME_MATRIXUNITS
#define TILEWRIGHT_ARM_SME_MATRIXUNITS

include "dialects/Chip/MatrixUnit.td"

/// Streaming mode with a new ZA. Code for another vector length gives wrong results without a sign: checked at entry.
class Streaming<int words> : State {
  let requires = ["sme"];
  let attributes = ["arm_locally_streaming", "arm_new_za", "vscale_range=" # !div(words, 4)];
  let check = LlvmIntrinsic<"llvm.aarch64.sme.cntsd", []>; // in 64-bit words, legal outside of streaming mode
  let checkValue = !div(words, 2);
  let forbids = ["call", "libm", "alloc"];
  let cost = Cycles<500>;
  let source = Guess<"smstart, smstop and d8 to d15; no hardware was measured">;
}

/// A granule is one tile of 64-bit elements: tile t of 32-bit elements is those of t and t + 4.
class Za<State mode> : RegisterBank<"za", 8> { let needs = mode; }
class ZaWords<int words, RegisterBank za> : OpaqueRegister<za, [0x11, 0x22, 0x44, 0x88], words, !mul(words, 4)> {
  let slices = ByRow;
  let zero = LlvmIntrinsic<"llvm.aarch64.sme.zero", ["MaskUnion"]>;
  let fill = LlvmIntrinsic<"llvm.aarch64.sme.ld1w.horiz", ["AllTrue", "Ptr", "Tile", "Slice"]>;
  let store = LlvmIntrinsic<"llvm.aarch64.sme.st1w.horiz", ["AllTrue", "Ptr", "Tile", "Slice"]>;
}

/// C[words x words] += A[words x k] * B[k x words]; element r * k + i of A's register is (r, i), of B's (i, r).
class Lanes<Elem e, Layout layout, string type> : Operand<e, VectorRegister<layout, /*scalable=*/1>> {
  let storage = type;
}
class Mopa<int words, int k, Elem ea, Elem eb, Elem ec, string intrinsic, State mode, ZaWords home, string type = "">
    : MatrixUnit<words, words, k> {
  let a = Lanes<ea, RowMajor, type>;
  let b = Lanes<eb, ColumnMajor, type>;
  let c = Operand<ec, home>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"one outer product a clock, into four tiles in turn; no hardware was measured">;
  let requires = ["sme"];
  let states = [mode];
  let emit = LlvmIntrinsic<"llvm.aarch64.sme." # intrinsic, ["TileC", "ValidM", "ValidN", "A", "B"]>;
}

foreach words = [8, 16] in {
  defvar svl = !mul(words, 32);
  def Streaming # svl : Streaming<words>;
  defvar mode = !cast<State>("Streaming" # svl);
  def Za # svl : Za<mode>;
  def ZaWords # svl : ZaWords<words, !cast<RegisterBank>("Za" # svl)>;
  defvar home = !cast<ZaWords>("ZaWords" # svl);

  def fmopa_f32_ # svl : Mopa<words, 1, f32, f32, f32, "mopa", mode, home>;
  def fmopa_f16_ # svl : Mopa<words, 2, f16, f16, f32, "mopa.wide", mode, home>;
  // Carried as integers: LLVM 22 cannot select a fixed vector of bf16 that is inserted into a scalable one.
  def bfmopa_ # svl : Mopa<words, 2, bf16, bf16, f32, "mopa.wide", mode, home, "i16">;
  def smopa_i8_ # svl : Mopa<words, 4, i8, i8, i32, "smopa.wide", mode, home>;
  def umopa_i8_ # svl : Mopa<words, 4, u8, u8, i32, "umopa.wide", mode, home>;
  def sumopa_i8_ # svl : Mopa<words, 4, i8, u8, i32, "sumopa.wide", mode, home>;
  def usmopa_i8_ # svl : Mopa<words, 4, u8, i8, i32, "usmopa.wide", mode, home>;
}

/// Outside of streaming mode, for shapes that are not known: one row of C in a 128-bit vector.
def fmla_f32 : MatrixUnit<1, 4, 1> {
  let a = Operand<f32, BroadcastScalar>;
  let b = Operand<f32, VectorRegister<RowMajor>>;
  let c = Operand<f32, VectorRegister<RowMajor>>;
  let issue = Cycles<1, 2>;
  let latency = Cycles<4>;
  let source = Guess<"two pipes">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}

#endif // TILEWRIGHT_ARM_SME_MATRIXUNITS
