//===- MatrixUnits.td - Multiplying instructions of AMD GPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named INSTRUCTION_SHAPE_ELEMENTS, with the architecture where one shape has
// several layouts or costs. In an MFMA of 64 lanes lane l holds row l mod T of
// A (column of B, of C), and a run of k; in C a lane holds runs of four rows:
//
//   T = 16     A: k = p (l / 16) + e     C: row = 4 (l / 16) + e
//   T = 32     A: k = p (l / 32) + e     C: row = 4 (l / 32) + e mod 4 + 8 (e / 4)
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_AMD_MATRIXUNITS
#define TILEWRIGHT_AMD_MATRIXUNITS

include "dialects/Chip/MatrixUnit.td"

defvar Calculator = Cited<"AMD matrix instruction calculator 1.3.2, execution cycles; a dependent one follows at once">;

/// Bases [1, 0] [2, 0] .. up to `count` positions, or with the columns' order exchanged.
class Steps<int count> {
  list<int> each = !filter(s, [1, 2, 4, 8, 16], !lt(s, count));
  list<list<int>> rows = !foreach(s, each, [s, 0]);
  list<list<int>> cols = !foreach(s, each, [0, s]);
}

/// An operand that LLVM's intrinsic takes as a vector of another type of the same bits.
class Carried<Elem e, Layout layout, string type> : Operand<e, InRegisters<layout>> { let storage = type; }

//===----------------------------------------------------------------------===//
// MFMA: CDNA, 64 lanes
//===----------------------------------------------------------------------===//

/// A of T x k: p = T k / 64 elements a lane.
class MfmaA<int t, int p>
    : Layout<Steps<t>.rows # !if(!eq(t, 16), [[0, p], [0, !mul(2, p)]], [[0, p]]), Steps<p>.cols>;
class MfmaB<int t, int p>
    : Layout<Steps<t>.cols # !if(!eq(t, 16), [[p, 0], [!mul(2, p), 0]], [[p, 0]]), Steps<p>.rows>;
class MfmaC<int t>
    : Layout<Steps<t>.cols # !if(!eq(t, 16), [[4, 0], [8, 0]], [[4, 0]]),
             !if(!eq(t, 16), [[1, 0], [2, 0]], [[1, 0], [2, 0], [8, 0], [16, 0]])>;
// Of f64, rows of C go to the lanes first.
def MfmaC64 : Layout<[[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], [[4, 0], [8, 0]]>;

class Mfma<int t, int depth, Elem ea, Elem eb, Elem ec, int cycles, string intrinsic> : MatrixUnit<t, t, depth> {
  defvar p = !div(!mul(t, depth), 64);
  let scope = Group<"subgroup", 1>;
  let a = Operand<ea, InRegisters<MfmaA<t, p>>>;
  let b = Operand<eb, InRegisters<MfmaB<t, p>>>;
  let c = Operand<ec, InRegisters<!if(!eq(ec.kind, "F64"), MfmaC64, MfmaC<t>)>>;
  let issue = Cycles<cycles>;
  let latency = Cycles<cycles>;
  let source = Calculator;
  let emit = LlvmIntrinsic<"llvm.amdgcn.mfma." # intrinsic, ["A", "B", "C", "i32:0", "i32:0", "i32:0"]>;
}

// cycles: 16 x 16, then 32 x 32
foreach t = [16, 32] in {
  defvar twice = !div(t, 16);
  defvar shape = "" # t # "x" # t # "x";
  def mfma_cdna2_ # t # x # t # _f16_f32
      : Mfma<t, !div(256, t), f16, f16, f32, !mul(32, twice), "f32." # shape # !div(256, t) # "f16">;
  def mfma_cdna2_ # t # x # t # _bf16_f32
      : Mfma<t, !div(256, t), bf16, bf16, f32, !mul(32, twice), "f32." # shape # !div(256, t) # "bf16.1k">;
  def mfma_cdna2_ # t # x # t # _i8_i32
      : Mfma<t, !div(256, t), i8, i8, i32, !mul(32, twice), "i32." # shape # !div(256, t) # "i8">;
  def mfma_ # t # x # t # _f32_f32
      : Mfma<t, !div(64, t), f32, f32, f32, !mul(32, twice), "f32." # shape # !div(64, t) # "f32">;

  def mfma_cdna3_ # t # x # t # _f16_f32
      : Mfma<t, !div(256, t), f16, f16, f32, !mul(16, twice), "f32." # shape # !div(256, t) # "f16">;
  def mfma_cdna3_ # t # x # t # _bf16_f32
      : Mfma<t, !div(256, t), bf16, bf16, f32, !mul(16, twice), "f32." # shape # !div(256, t) # "bf16.1k">;
  def mfma_cdna3_ # t # x # t # _i8_i32
      : Mfma<t, !div(512, t), i8, i8, i32, !mul(16, twice), "i32." # shape # !div(512, t) # ".i8">;
  def mfma_cdna3_ # t # x # t # _xf32_f32
      : Mfma<t, !div(128, t), tf32, tf32, f32, !mul(16, twice), "f32." # shape # !div(128, t) # ".xf32">;

  // CDNA4 doubles k at the same number of cycles (its ISA manual: 8 and 16 passes); layout by the rule above, no outside table.
  let source = Cited<"AMD Instinct CDNA4 instruction set architecture, 2025: passes of 4 clocks"> in {
    def mfma_cdna4_ # t # x # t # _f16_f32
        : Mfma<t, !div(512, t), f16, f16, f32, !mul(16, twice), "f32." # shape # !div(512, t) # ".f16">;
    def mfma_cdna4_ # t # x # t # _bf16_f32
        : Mfma<t, !div(512, t), bf16, bf16, f32, !mul(16, twice), "f32." # shape # !div(512, t) # ".bf16">;
    def mfma_cdna4_ # t # x # t # _i8_i32
        : Mfma<t, !div(1024, t), i8, i8, i32, !mul(16, twice), "i32." # shape # !div(1024, t) # ".i8">;
  }
}
def mfma_16x16_f64_f64 : Mfma<16, 4, f64, f64, f64, 32, "f64.16x16x4f64">;

/// CDNA4's product over 2048 / T of k, whose operands have one scale for 32 elements; the scale 0 stands for none. Formats:
/// 0 fp8, 1 bf8. Which k an element has is the same in A and B, so that any order of them sums alike: runs
/// of 32 here.
class MfmaScaled<int t, Elem ea, Elem eb, int formatA, int formatB>
    : Mfma<t, !div(2048, t), ea, eb, f32, !mul(32, !div(t, 16)), ""> {
  defvar p = 32;
  let a = Carried<ea, MfmaA<t, p>, "i32">;
  let b = Carried<eb, MfmaB<t, p>, "i32">;
  let source = Cited<"AMD Instinct CDNA4 instruction set architecture, 2025: passes of 4 clocks">;
  let emit = LlvmIntrinsic<"llvm.amdgcn.mfma.scale.f32." # t # "x" # t # "x" # !div(2048, t) # ".f8f6f4",
                           ["A", "B", "C", "i32:" # formatA, "i32:" # formatB, "i32:0", "i32:0", "i32:0", "i32:0"]>;
}

/// A of T x k in runs of 16, as the instruction counts k where it has scales: lane l has k = 16 (l / T) + e of each
/// half.
class MfmaHalvesA<int t>
    : Layout<Steps<t>.rows # !if(!eq(t, 16), [[0, 16], [0, 32]], [[0, 16]]), Steps<16>.cols # [[0, !div(1024, t)]]>;
class MfmaHalvesB<int t>
    : Layout<Steps<t>.cols # !if(!eq(t, 16), [[16, 0], [32, 0]], [[16, 0]]), Steps<16>.rows # [[!div(1024, t), 0]]>;

/// The same product with real scales: lane l has that of row (column) l mod T and block l / T of 32 along k, in the
/// lowest byte (opsel 0) of a register. That block's elements lie in several lanes, but for those of 4 and 6 bits: a lane has
/// 32 in a row. Layouts: Composable Kernel's test/mx_mfma_op/mx_mfma_op.hpp, register mappings of FP8, FP6 and FP4.
/// Without an 8-bit operand the product takes half of the passes. Formats: 2 fp6 (e2m3), 3 bf6 (e3m2), 4 fp4.
class MfmaWithScales<int t, Elem ea, Elem eb, int formatA, int formatB> : MfmaScaled<t, ea, eb, formatA, formatB> {
  let a = Carried<ea, !if(!lt(formatA, 2), MfmaHalvesA<t>, MfmaA<t, 32>), "i32">;
  let b = Carried<eb, !if(!lt(formatB, 2), MfmaHalvesB<t>, MfmaB<t, 32>), "i32">;
  defvar clocks = !mul(!if(!lt(!if(!lt(formatA, formatB), formatA, formatB), 2), 32, 16), !div(t, 16));
  let issue = Cycles<clocks>;
  let latency = Cycles<clocks>;
  let scaleBlock = 32;
  let scaleA = Carried<f8e8m0, Layout<Steps<t>.rows # Steps<!div(64, t)>.cols, []>, "i32">;
  let scaleB = Carried<f8e8m0, Layout<Steps<t>.cols # Steps<!div(64, t)>.rows, []>, "i32">;
  let emit = LlvmIntrinsic<"llvm.amdgcn.mfma.scale.f32." # t # "x" # t # "x" # !div(2048, t) # ".f8f6f4",
                           ["A", "B", "C", "i32:" # formatA, "i32:" # formatB, "i32:0", "ScaleA", "i32:0", "ScaleB"]>;
}

// 8-bit floats: those of CDNA3 have one zero, one NaN and no infinity, those of CDNA4 are OCP's.
foreach t = [16, 32] in
  foreach ea = ["fp8", "bf8"] in
    foreach eb = ["fp8", "bf8"] in {
      defvar shape = "f32." # t # "x" # t # "x" # !div(512, t) # "." # ea # "." # eb;
      defvar cycles = !mul(16, !div(t, 16));
      def mfma_cdna3_ # t # x # t # _ # ea # _ # eb # _f32
          : Mfma<t, !div(512, t), !if(!eq(ea, "fp8"), f8e4m3fnuz, f8e5m2fnuz),
                 !if(!eq(eb, "fp8"), f8e4m3fnuz, f8e5m2fnuz), f32, cycles, shape>;
      defvar a = !if(!eq(ea, "fp8"), f8e4m3, f8e5m2);
      defvar b = !if(!eq(eb, "fp8"), f8e4m3, f8e5m2);
      def mfma_cdna4_ # t # x # t # _ # ea # _ # eb # _f32 : Mfma<t, !div(512, t), a, b, f32, cycles, shape>;
      def mfma_cdna4_ # t # x # t # x # !div(2048, t) # _ # ea # _ # eb # _f32
          : MfmaScaled<t, a, b, !if(!eq(ea, "fp8"), 0, 1), !if(!eq(eb, "fp8"), 0, 1)>;
    }

/// What an operand of a product with scales holds: its name, element and format.
class Scaled<string name_, Elem element_, int format_> {
  string name = name_;
  Elem element = element_;
  int format = format_;
}
defvar scaledFormats = [Scaled<"mxfp8", f8e4m3, 0>, Scaled<"mxbf8", f8e5m2, 1>, Scaled<"mxfp6", f6e2m3, 2>,
                        Scaled<"mxbf6", f6e3m2, 3>, Scaled<"mxfp4", f4e2m1, 4>];
foreach t = [16, 32] in
  foreach a = scaledFormats in
    foreach b = scaledFormats in
      def mfma_cdna4_ # t # x # t # x # !div(2048, t) # _ # a.name # _ # b.name # _f32
          : MfmaWithScales<t, a.element, b.element, a.format, b.format>;
/// Of one shape, all pairs of them.
class ScaledProducts<string shape> {
  list<MatrixUnit> all = !foldl([]<MatrixUnit>, scaledFormats, sofar, a,
      !listconcat(sofar, !foreach(b, scaledFormats,
                                  !cast<MatrixUnit>("mfma_cdna4_" # shape # "_" # a.name # "_" # b.name # "_f32"))));
}

//===----------------------------------------------------------------------===//
// SMFMAC: CDNA3, A keeps two of four elements along k
//===----------------------------------------------------------------------===//

/// C += A * B with a dense k of 512 / T (bytes: 1024 / T) in the time of a dense product over half of it. A lane has p
/// elements of A and, of the same groups, 2 p of B; its places, two bits each, are the first set of a register (cbsz and abid
/// are 0).
class Smfmac<int t, int depth, Elem ea, Elem eb, Elem ec, string type> : MatrixUnit<t, t, depth> {
  defvar p = !div(!mul(t, depth), 128);
  let scope = Group<"subgroup", 1>;
  let a = Operand<ea, InRegisters<MfmaA<t, p>>>;
  let b = Operand<eb, InRegisters<MfmaB<t, !mul(2, p)>>>;
  let c = Operand<ec, InRegisters<MfmaC<t>>>;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = Carried<u8, MfmaA<t, p>, "i32">;
  let issue = Cycles<t>;
  let latency = Cycles<t>;
  let source = Calculator;
  let emit = LlvmIntrinsic<"llvm.amdgcn.smfmac." # !tolower(ec.kind) # "." # t # "x" # t # "x" # depth # "." # type,
                           ["A", "B", "C", "IndexA", "i32:0", "i32:0"]>;
}
foreach t = [16, 32] in {
  def smfmac_cdna3_ # t # x # t # _f16_f32 : Smfmac<t, !div(512, t), f16, f16, f32, "f16">;
  def smfmac_cdna3_ # t # x # t # _bf16_f32 : Smfmac<t, !div(512, t), bf16, bf16, f32, "bf16">;
  def smfmac_cdna3_ # t # x # t # _i8_i32 : Smfmac<t, !div(1024, t), i8, i8, i32, "i8">;
  foreach ea = ["fp8", "bf8"] in
    foreach eb = ["fp8", "bf8"] in
      def smfmac_cdna3_ # t # x # t # _ # ea # _ # eb # _f32
          : Smfmac<t, !div(1024, t), !if(!eq(ea, "fp8"), f8e4m3fnuz, f8e5m2fnuz),
                   !if(!eq(eb, "fp8"), f8e4m3fnuz, f8e5m2fnuz), f32, ea # "." # eb>;
}

//===----------------------------------------------------------------------===//
// WMMA: RDNA3 holds A and B twice, RDNA4 once; 32 lanes
//===----------------------------------------------------------------------===//

class Wmma<Elem ea, Elem eb, Elem ec, Layout la, Layout lb, Layout lc, int cycles, string intrinsic,
           list<string> roles, int depth = 16, string operation = "wmma"> : MatrixUnit<16, 16, depth> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<ea, InRegisters<la>>;
  let b = Operand<eb, InRegisters<lb>>;
  let c = Operand<ec, InRegisters<lc>>;
  let issue = Cycles<cycles>;
  let latency = Cycles<cycles>;
  let source = Calculator;
  let emit = LlvmIntrinsic<"llvm.amdgcn." # operation # "." # intrinsic, roles>;
}
defvar FloatRoles = ["A", "B", "C"];
defvar SignedRoles = ["i1:1", "A", "i1:1", "B", "C", "i1:0"];
defvar UnsignedRoles = ["i1:0", "A", "i1:0", "B", "C", "i1:0"];

def Wmma3A : Layout<Steps<16>.rows # [[0, 0]], Steps<16>.cols>;
def Wmma3B : Layout<Steps<16>.cols # [[0, 0]], Steps<16>.rows>;
def Wmma3C : Layout<Steps<16>.cols # [[1, 0]], [[2, 0], [4, 0], [8, 0]]>;
class Wmma3<Elem e, Elem ec, string intrinsic, list<string> roles>
    : Wmma<e, e, ec, Wmma3A, Wmma3B, Wmma3C, 32, intrinsic, roles>;
def wmma_rdna3_f16_f32 : Wmma3<f16, f32, "f32.16x16x16.f16", FloatRoles>;
def wmma_rdna3_bf16_f32 : Wmma3<bf16, f32, "f32.16x16x16.bf16", FloatRoles> {
  let a = Carried<bf16, Wmma3A, "i16">;
  let b = Carried<bf16, Wmma3B, "i16">;
}
foreach e = [i8, u8] in
  def wmma_rdna3_ # e # _i32 : Wmma3<e, i32, "i32.16x16x16.iu8", !if(!eq(e.kind, "I8"), SignedRoles, UnsignedRoles)> {
    let a = Carried<e, Wmma3A, "i32">;
    let b = Carried<e, Wmma3B, "i32">;
  }

def Wmma4A : Layout<Steps<16>.rows # [[0, 4]], [[0, 1], [0, 2], [0, 8]]>;
def Wmma4B : Layout<Steps<16>.cols # [[4, 0]], [[1, 0], [2, 0], [8, 0]]>;
def Wmma4A8 : Layout<Steps<16>.rows # [[0, 8]], Steps<8>.cols>;
def Wmma4B8 : Layout<Steps<16>.cols # [[8, 0]], Steps<8>.rows>;
def Wmma4C : Layout<Steps<16>.cols # [[8, 0]], Steps<8>.rows>;
class Wmma4<Elem ea, Elem eb, Elem ec, Layout la, Layout lb, int cycles, string intrinsic, list<string> roles,
            string storageA = "", string storageB = "">
    : Wmma<ea, eb, ec, la, lb, Wmma4C, cycles, intrinsic, roles> {
  let a = Carried<ea, la, storageA>;
  let b = Carried<eb, lb, storageB>;
}
def wmma_rdna4_f16_f32 : Wmma4<f16, f16, f32, Wmma4A, Wmma4B, 16, "f32.16x16x16.f16", FloatRoles>;
def wmma_rdna4_bf16_f32 : Wmma4<bf16, bf16, f32, Wmma4A, Wmma4B, 16, "f32.16x16x16.bf16", FloatRoles, "i16", "i16">;
foreach e = [i8, u8] in
  def wmma_rdna4_ # e # _i32 : Wmma4<e, e, i32, Wmma4A8, Wmma4B8, 8, "i32.16x16x16.iu8",
                                     !if(!eq(e.kind, "I8"), SignedRoles, UnsignedRoles), "i32", "i32">;
foreach ea = ["fp8", "bf8"] in
  foreach eb = ["fp8", "bf8"] in
    def wmma_rdna4_ # ea # _ # eb # _f32
        : Wmma4<!if(!eq(ea, "fp8"), f8e4m3, f8e5m2), !if(!eq(eb, "fp8"), f8e4m3, f8e5m2), f32, Wmma4A8, Wmma4B8, 8,
                "f32.16x16x16." # ea # "." # eb, FloatRoles, "i32", "i32">;

/// SWMMAC: A keeps two of four elements along k, so that it lies as WMMA's over half of that k. A lane's eight places are
/// half a register.
def Swmmac4B : Layout<Steps<16>.cols # [[8, 0]], [[1, 0], [2, 0], [4, 0], [16, 0]]>;
def Swmmac4B8 : Layout<Steps<16>.cols # [[16, 0]], Steps<16>.rows>;
class Swmmac4<Elem ea, Elem eb, Elem ec, Layout la, Layout lb, int cycles, string intrinsic, list<string> roles,
              string storage = "">
    : Wmma<ea, eb, ec, la, lb, Wmma4C, cycles, intrinsic, roles, 32, "swmmac"> {
  let a = Carried<ea, la, storage>;
  let b = Carried<eb, lb, storage>;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = Carried<u8, la, "i16">;
}
defvar SparseRoles = ["A", "B", "C", "IndexA"];
def swmmac_rdna4_f16_f32 : Swmmac4<f16, f16, f32, Wmma4A, Swmmac4B, 16, "f32.16x16x32.f16", SparseRoles>;
def swmmac_rdna4_bf16_f32 : Swmmac4<bf16, bf16, f32, Wmma4A, Swmmac4B, 16, "f32.16x16x32.bf16", SparseRoles, "i16">;
foreach e = [i8, u8] in {
  defvar sign = !if(!eq(e.kind, "I8"), "i1:1", "i1:0");
  def swmmac_rdna4_ # e # _i32 : Swmmac4<e, e, i32, Wmma4A8, Swmmac4B8, 8, "i32.16x16x32.iu8",
                                         [sign, "A", sign, "B", "C", "IndexA", "i1:0"], "i32">;
}
foreach ea = ["fp8", "bf8"] in
  foreach eb = ["fp8", "bf8"] in
    def swmmac_rdna4_ # ea # _ # eb # _f32
        : Swmmac4<!if(!eq(ea, "fp8"), f8e4m3, f8e5m2), !if(!eq(eb, "fp8"), f8e4m3, f8e5m2), f32, Wmma4A8, Swmmac4B8, 8,
                  "f32.16x16x32." # ea # "." # eb, SparseRoles, "i32">;

//===----------------------------------------------------------------------===//
// One multiply-add per lane, seen as an outer product
//===----------------------------------------------------------------------===//

class LaneFma<Elem e, int rows, list<list<int>> replicated> : MatrixUnit<rows, 8, 1> {
  defvar none = !foreach(s, Steps<8>.each, [0, 0]);
  let scope = Group<"subgroup", 1>;
  let a = Operand<e, InRegisters<Layout<none # Steps<rows>.rows, []>>>;
  let b = Operand<e, InRegisters<Layout<Steps<8>.cols # replicated, []>>>;
  let c = Operand<e, InRegisters<Layout<Steps<8>.cols # Steps<rows>.rows, []>>>;
  let issue = Cycles<4>;
  let latency = Cycles<4>;
  let source = Cited<"AMD instruction set manuals: 64 lanes on 16 in four clocks; 32 lanes of RDNA at once">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}
foreach e = [f16, f32, f64] in {
  def fma64_ # e : LaneFma<e, 8, [[0, 0], [0, 0], [0, 0]]>;
  let issue = Cycles<1> in
    def fma32_ # e : LaneFma<e, 4, [[0, 0], [0, 0]]>;
}

#endif // TILEWRIGHT_AMD_MATRIXUNITS
