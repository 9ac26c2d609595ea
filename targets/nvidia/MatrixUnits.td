//===- MatrixUnits.td - Multiplying instructions of NVIDIA GPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named INSTRUCTION_SHAPE_ELEMENTS, and _a where a group's unit takes A from registers. In an `mma` of 32 lanes, lane l = 4 g + t:
// row g of A and C (and g + 8), column g of B, and of k or the columns of C the
// elements that one 32-bit register of lane t holds:
//
//   A 16 x 16 f16     t: 0   1   2   3   0   1   2   3
//             row 0     01  23  45  67  89  ..           registers 0, 2
//             row 8     01  23  45  67  89  ..           registers 1, 3
//
// The costs are those of one quarter of an A100's multiprocessor where nothing
// else is said; Chips.td prices the units per chip.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_NVIDIA_MATRIXUNITS
#define TILEWRIGHT_NVIDIA_MATRIXUNITS

include "dialects/Chip/MatrixUnit.td"

defvar MmaPeak = Cited<"NVIDIA A100 whitepaper: peak rates / (108 multiprocessors x 4 x 1410 MHz); latency guessed">;

/// `pack` elements of a register and then `more` bases.
class Packed<int pack, list<list<int>> along, list<list<int>> more> {
  list<list<int>> elements = !if(!eq(pack, 1), [], !if(!eq(pack, 2), [along[0]], [along[0], along[1]])) # more;
}
/// A (m x k) and B (k x 8), `pack` elements to a register; k is `pack` times 4 or 8, of B also 16.
class MmaA<int m, int k, int pack>
    : Layout<[[0, pack], [0, !mul(2, pack)], [1, 0], [2, 0], [4, 0]],
             Packed<pack, [[0, 1], [0, 2]],
                    !if(!eq(m, 16), [[8, 0]], []<list<int>>)
                        # !if(!eq(k, !mul(8, pack)), [[0, !mul(4, pack)]], []<list<int>>)>.elements>;
class MmaB<int k, int pack>
    : Layout<[[pack, 0], [!mul(2, pack), 0], [0, 1], [0, 2], [0, 4]],
             Packed<pack, [[1, 0], [2, 0]],
                    !foreach(s, !filter(s, [4, 8], !lt(!mul(s, pack), k)), [!mul(s, pack), 0])>.elements>;
class MmaC<int m>
    : Layout<[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], [[0, 1]] # !if(!eq(m, 16), [[8, 0]], []<list<int>>)>;

/// C[m x 8] += A[m x k] * B[k x 8] by one warp.
class Mma<int m, int k, Elem ea, Elem eb, Elem ec, int pack, int cycles, string intrinsic> : MatrixUnit<m, 8, k> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<ea, InRegisters<MmaA<m, k, pack>>>;
  let b = Operand<eb, InRegisters<MmaB<k, pack>>>;
  let c = Operand<ec, InRegisters<MmaC<m>>>;
  let issue = Cycles<cycles>;
  let latency = Cycles<!add(cycles, 17)>;
  let source = MmaPeak;
  let emit = LlvmIntrinsic<"llvm.nvvm.mma.m" # m # "n8k" # k # ".row.col." # intrinsic, ["A", "B", "C"]>;
}

def mma_m16n8k8_f16_f32 : Mma<16, 8, f16, f16, f32, 2, 4, "f32.f32">;
def mma_m16n8k16_f16_f32 : Mma<16, 16, f16, f16, f32, 2, 8, "f32.f32">;
def mma_m16n8k8_f16_f16 : Mma<16, 8, f16, f16, f16, 2, 4, "f16.f16">;
def mma_m16n8k16_f16_f16 : Mma<16, 16, f16, f16, f16, 2, 8, "f16.f16">;
def mma_m16n8k16_bf16_f32 : Mma<16, 16, bf16, bf16, f32, 2, 8, "bf16">;
def mma_m16n8k4_tf32_f32 : Mma<16, 4, tf32, tf32, f32, 1, 4, "tf32">;
def mma_m16n8k8_tf32_f32 : Mma<16, 8, tf32, tf32, f32, 1, 8, "tf32">;
def mma_m8n8k16_i8_i32 : Mma<8, 16, i8, i8, i32, 4, 2, "s8">;
def mma_m16n8k16_i8_i32 : Mma<16, 16, i8, i8, i32, 4, 4, "s8">;
foreach e = [i8, u8] in
  def mma_m16n8k32_ # e # _i32 : Mma<16, 32, e, e, i32, 4, 8, !if(!eq(e.kind, "I8"), "s8", "u8")>;
/// 8-bit floats: A and B of one format, or one of each.
foreach ea = [f8e4m3, f8e5m2] in {
  defvar a = !if(!eq(ea.kind, "F8E4M3"), "e4m3", "e5m2");
  foreach eb = [f8e4m3, f8e5m2] in {
    defvar b = !if(!eq(eb.kind, "F8E4M3"), "e4m3", "e5m2");
    def mma_m16n8k32_ # a # !if(!eq(a, b), "", "_" # b) # _f32
        : Mma<16, 32, ea, eb, f32, 4, 16, "f32." # a # "." # b # ".f32">;
  }
}

/// mma.sp: A keeps two of four elements along k, of tf32 one of two, so that it lies as that of a dense `mma` of half the k,
/// which takes the same time. The places, two bits each, are a word of each lane. Of 8-bit elements that is 16 of a row; else
/// lanes t of 0 and 1 have a half of k of two rows, and lanes of 2 and 3, which sparsity selector 1 would name, the same.
/// Layouts: CuTe's traits of sparse MMA of SM80, SM90 and SM120 (test/unit/MatrixOracles.csv). `warps`: bits of their number.
class MmaPlaces<int pack, list<list<int>> warps = []>
    : Layout<!if(!eq(pack, 4), [[8, 0], [0, 16]], [[0, !mul(4, pack)], [0, 0]]) # [[1, 0], [2, 0], [4, 0]] # warps,
             [[0, 1], [0, 2]] # !if(!eq(pack, 4), [[0, 4], [0, 8]], !if(!eq(pack, 2), [[0, 4], [8, 0]], [[8, 0]]))>;
class InWord<Layout layout> : Operand<u8, InRegisters<layout>> { let storage = "i32"; }
class MmaSparse<string variant, int k, Elem ea, Elem eb, Elem ec, int pack, string types, int cycles = 8>
    : Mma<16, k, ea, eb, ec, pack, cycles, types> {
  let a = Operand<ea, InRegisters<MmaA<16, !div(k, 2), pack>>>;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = InWord<MmaPlaces<pack>>;
  let emit = LlvmIntrinsic<"llvm.nvvm.mma.sp" # variant # ".m16n8k" # k # ".row.col." # types, ["A", "B", "C", "IndexA", "i32:0"]>;
}
/// `mma.sp` of PTX 7.1, and `mma.sp::ordered_metadata` of PTX 8.5, which chips since Hopper are fast with. Of both, places ascend.
foreach variant = ["", ".ordered.metadata"] in {
  defvar name = "mma_sp" # !if(!empty(variant), "", "_ordered");
  def name # _m16n8k32_f16_f32 : MmaSparse<variant, 32, f16, f16, f32, 2, "f32.f32">;
  def name # _m16n8k32_f16_f16 : MmaSparse<variant, 32, f16, f16, f16, 2, "f16.f16">;
  def name # _m16n8k32_bf16_f32 : MmaSparse<variant, 32, bf16, bf16, f32, 2, "bf16">;
  def name # _m16n8k64_i8_i32 : MmaSparse<variant, 64, i8, i8, i32, 4, "s8">;
  def name # _m16n8k64_u8_i32 : MmaSparse<variant, 64, u8, u8, i32, 4, "u8">;
  foreach ea = [f8e4m3, f8e5m2] in {
    defvar a = !if(!eq(ea.kind, "F8E4M3"), "e4m3", "e5m2");
    foreach eb = [f8e4m3, f8e5m2] in {
      defvar b = !if(!eq(eb.kind, "F8E4M3"), "e4m3", "e5m2");
      def name # _m16n8k64_ # a # !if(!eq(a, b), "", "_" # b) # _f32
          : MmaSparse<variant, 64, ea, eb, f32, 4, "f32." # a # "." # b # ".f32", 16>;
    }
  }
  def name # _m16n8k16_tf32_f32 : MmaSparse<variant, 16, tf32, tf32, f32, 1, "tf32"> {
    let sparseKept = 1;
    let sparseGroup = 2;
    let indexA = Operand<u8, InRegisters<MmaPlaces<1>>>;
    let emit = IrFunction<"SparseTf32.ll", name # "_m16n8k16_tf32", ["A", "B", "C", "IndexA"]>;
  }
}

def mma_m8n8k4_f64_f64 : Mma<8, 4, f64, f64, f64, 1, 16, "f64">;

/// One multiply-add per lane, seen as a 4 x 8 outer product: what contractions of other types use. 8 lanes of f32 along a
/// row of C are a whole sector of it.
class LaneFma<Elem e> : MatrixUnit<4, 8, 1> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<e, InRegisters<Layout<[[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], []>>>;
  let b = Operand<e, InRegisters<Layout<[[0, 1], [0, 2], [0, 4], [0, 0], [0, 0]], []>>>;
  let c = Operand<e, InRegisters<Layout<[[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], []>>>;
  let issue = Cycles<2>;
  let latency = Cycles<4>;
  let source = Cited<"CUDA C++ programming guide, throughput of arithmetic instructions; latency of 4 clocks since Volta">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}
foreach e = [f16, f32, f64] in
  def fma_ # e : LaneFma<e>;

//===----------------------------------------------------------------------===//
// wgmma: four warps, operands behind descriptors, asynchronous
//===----------------------------------------------------------------------===//

defvar Swizzles = ["swizzle.128", "swizzle.64", "swizzle.32", "none"];
/// 16-bit elements in both orders; others with lines along k: rows of A, columns of B.
class SharedA<int width> : InScratchpad<"shared", !if(!eq(width, 16), ["row", "column"], ["row"]), Swizzles>;
class SharedB<int width> : InScratchpad<"shared", !if(!eq(width, 16), ["row", "column"], ["column"]), Swizzles>;
/// k fills 32 bytes.
class Wgmma<int n, Elem ea, Elem eb, Elem sum, int width> : MatrixUnit<64, n, !div(256, width)> {
  let scope = Group<"subgroup", 4>;
  let a = Operand<ea, SharedA<width>>;
  let b = Operand<eb, SharedB<width>>;
  let c = Operand<sum, InRegisters<Layout<[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [16, 0], [32, 0]],
                                          [[0, 1], [8, 0]], [Repeat<!div(n, 8), 0, 8>]>>>;
  let issue = Cycles<!div(n, 2)>; // of all four quarters together
  let latency = Cycles<!add(!div(n, 2), 32)>;
  let source = Cited<"NVIDIA H100 whitepaper: 989.4 TFLOP/s / (132 x 1830 MHz) = 4096 a clock; latency guessed">;
  let init = ZeroFlag;
  let sumBits = !if(!and(!eq(width, 8), !eq(sum.kind, "F32")), 14, 0); // read on an H200: 217.995 + .. gives 217.984
  let completion = WaitGroup;
  let emit = MlirOp<"nvvm.wgmma.mma_async", ["C", "DescA", "DescB", "UseC"]>;
}
/// A comes from registers, as C would give it in 16 bits: rows of a quarter, two columns in each.
class WgmmaOfRegisters<int n, Elem e> : Wgmma<n, e, e, f32, 16> {
  let a = Operand<e, InRegisters<Layout<[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [16, 0], [32, 0]],
                                        [[0, 1], [8, 0], [0, 8]]>>>;
  let emit = InlineAsm<"wgmma.mma_async.sync.aligned", ["C", "A", "DescB", "UseC"]>;
}
foreach n = [16, 32, 64, 128, 256] in
  foreach e = [f16, bf16] in
    def wgmma_m64n # n # k16_ # e # _f32_a : WgmmaOfRegisters<n, e>;
foreach n = [16, 32, 64, 96, 128, 192, 256] in {
  foreach e = [f16, bf16] in
    def wgmma_m64n # n # k16_ # e # _f32 : Wgmma<n, e, e, f32, 16>;
  foreach e = [i8, u8] in
    def wgmma_m64n # n # k32_ # e # _i32 : Wgmma<n, e, e, i32, 8>;
  def wgmma_m64n # n # k32_e4m3_f32 : Wgmma<n, f8e4m3, f8e4m3, f32, 8>;
  def wgmma_m64n # n # k32_e5m2_f32 : Wgmma<n, f8e5m2, f8e5m2, f32, 8>;
  def wgmma_m64n # n # k32_e4m3_e5m2_f32 : Wgmma<n, f8e4m3, f8e5m2, f32, 8>;
  def wgmma_m64n # n # k32_e5m2_e4m3_f32 : Wgmma<n, f8e5m2, f8e4m3, f32, 8>;
}

/// wgmma.mma_async.sp: A keeps two of four elements along k, so that its lines are those of a dense unit of half the k, which
/// takes the same time. A lane has the places of its rows as in mma.sp, also of sparsity selector 0.
class WgmmaSparse<int n, Elem ea, Elem eb, Elem sum, int width> : Wgmma<n, ea, eb, sum, !div(width, 2)> {
  let a = Operand<ea, SharedA<width>>;
  let b = Operand<eb, SharedB<width>>;
  let sumBits = Wgmma<n, ea, eb, sum, width>.sumBits;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = InWord<MmaPlaces<!div(32, width), [[16, 0], [32, 0]]>>;
  let emit = InlineAsm<"wgmma.mma_async.sp.sync.aligned", ["C", "DescA", "DescB", "IndexA", "UseC"]>;
}
foreach n = [32, 64, 128, 192, 256] in {
  foreach e = [f16, bf16] in
    def wgmma_sp_m64n # n # k32_ # e # _f32 : WgmmaSparse<n, e, e, f32, 16>;
  foreach e = [i8, u8] in
    def wgmma_sp_m64n # n # k64_ # e # _i32 : WgmmaSparse<n, e, e, i32, 8>;
  def wgmma_sp_m64n # n # k64_e4m3_f32 : WgmmaSparse<n, f8e4m3, f8e4m3, f32, 8>;
  def wgmma_sp_m64n # n # k64_e5m2_f32 : WgmmaSparse<n, f8e5m2, f8e5m2, f32, 8>;
  def wgmma_sp_m64n # n # k64_e4m3_e5m2_f32 : WgmmaSparse<n, f8e4m3, f8e5m2, f32, 8>;
  def wgmma_sp_m64n # n # k64_e5m2_e4m3_f32 : WgmmaSparse<n, f8e5m2, f8e4m3, f32, 8>;
}

//===----------------------------------------------------------------------===//
// tcgen05.mma: one lane, accumulators in tensor memory
//===----------------------------------------------------------------------===//

/// Lane l of a row of warps reads row l: tcgen05.ld.32x32b.
class TensorMemory<int n> : InAccumulator<"tensor", Layout<[[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]],
                                                          [[0, 1], [0, 2], [0, 4], [0, 8]],
                                                          [Repeat<!div(n, 16), 0, 16>]>>;
/// k fills 32 bytes. PTX ISA 8.7, "tcgen05.mma", shapes of cta_group::1 with 128 rows.
class Tcgen05<int n, Elem ea, Elem eb, Elem sum, int width> : MatrixUnit<128, n, !div(256, width)> {
  // Lines along m and n, too, of elements of 8 and 16 bits.
  let a = Operand<ea, InScratchpad<"shared", !if(!eq(width, 32), ["row"], ["row", "column"]), Swizzles>>;
  let b = Operand<eb, InScratchpad<"shared", !if(!eq(width, 32), ["column"], ["row", "column"]), Swizzles>>;
  let c = Operand<sum, TensorMemory<n>>;
  let issue = Cycles<!div(n, 2)>; // of the whole multiprocessor
  let latency = Cycles<!add(!div(n, 2), 64)>;
  let source = Cited<"NVIDIA Blackwell architecture brief: 2250 dense TFLOP/s of f16 / (148 x 1850 MHz) = 8192 a clock; latency guessed">;
  let init = ZeroFlag;
  let completion = Barrier;
  let emit = MlirOp<"nvvm.tcgen05.mma", ["C", "DescA", "DescB", "UseC"]>;
}
/// `held`: what 16 bytes of a line along k, of `major`, hold of narrow elements; empty: elements have bytes of their own.
class InLines<Elem e, string major, string held>
    : Operand<e, InScratchpad<"shared", !if(!empty(held), ["row", "column"], [major]), Swizzles>> { let storage = held; }
class ScaleInMemory<Elem e, Layout layout, string held> : Operand<e, InAccumulator<"tensor", layout>> { let storage = held; }
/// .block_scale: rows have a byte of a word for each block along k of the instruction, whose bytes other instructions share.
/// Lane l of each warp of the rows has rows l, l + 32, .. of A, columns of B ("Block Scaling", "Scale Factor A ID").
class Tcgen05Scaled<int n, Elem ea, Elem eb, int width, string kind, int block, Elem scale, string held>
    : Tcgen05<n, ea, eb, f32, width> {
  defvar blocks = !div(!div(256, width), block);
  defvar along = !filter(s, [1, 2], !lt(s, blocks));
  let scaleBlock = block;
  let scaleA = ScaleInMemory<scale, Layout<[[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]],
                                           !foreach(s, along, [0, s]) # [[32, 0], [64, 0]]>, held>;
  let scaleB = ScaleInMemory<scale, Layout<[[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], !foreach(s, along, [s, 0]),
                                           [Repeat<!div(n, 32), 0, 32>]>, held>;
  let emit = InlineAsm<"tcgen05.mma.cta_group::1.kind::" # kind # ".block_scale.scale_vec::" # blocks # "X",
                       ["C", "DescA", "DescB", "ScaleA", "ScaleB", "UseC"]>;
}
/// kind::mxf8f6f4: a scale for all of the instruction's k. Of narrow elements 16 take 16 bytes: the first 8 or 12 of them.
class MxFormat<string name_, Elem element_, string held_ = ""> {
  string name = name_;
  Elem element = element_;
  string held = held_;
}
defvar MxFormats = [MxFormat<"e4m3", f8e4m3>, MxFormat<"e5m2", f8e5m2>, MxFormat<"e2m3", f6e2m3, "<16 x i6>">,
                    MxFormat<"e3m2", f6e3m2, "<16 x i6>">, MxFormat<"e2m1", f4e2m1, "<16 x i4>">];
class Tcgen05Mx<int n, MxFormat ofA, MxFormat ofB>
    : Tcgen05Scaled<n, ofA.element, ofB.element, 8, "mxf8f6f4", 32, f8e8m0, ""> {
  let a = InLines<ofA.element, "row", ofA.held>;
  let b = InLines<ofB.element, "column", ofB.held>;
}
/// kind::mxf4 (a power of two for 32 elements) and kind::mxf4nvf4 (e4m3 without a sign for 16): two elements in a byte.
class Tcgen05Fours<int n, string kind, int block, Elem scale, string held>
    : Tcgen05Scaled<n, f4e2m1, f4e2m1, 4, kind, block, scale, held> {
  let a = InLines<f4e2m1, "row", "<32 x i4>">;
  let b = InLines<f4e2m1, "column", "<32 x i4>">;
}
/// tcgen05.mma.sp: A keeps two of four elements along k, so that its lines are those of a dense unit of half the k, which takes
/// the same time. A row of the memory has 32 places of a row of A, of 16-bit elements 16 places of rows r and r + 8 each
/// ("Sparsity selector"; CuTe's tmem_e_frg).
class Tcgen05Sparse<int n, Elem ea, Elem eb, Elem sum, int width, string kind> : Tcgen05<n, ea, eb, sum, !div(width, 2)> {
  let a = Operand<ea, InScratchpad<"shared", ["row"], Swizzles>>;
  let b = Operand<eb, InScratchpad<"shared", ["row", "column"], Swizzles>>;
  let sparseKept = 2;
  let sparseGroup = 4;
  let indexA = Operand<u8, InAccumulator<"tensor", Layout<[[1, 0], [2, 0], [4, 0],
      !if(!eq(width, 16), [0, 8], [8, 0]), [16, 0], [32, 0], [64, 0]],
      [[0, 1], [0, 2], [0, 4]] # !if(!eq(width, 16), [[8, 0]], [[0, 8], [0, 16]])>>>;
  let emit = InlineAsm<"tcgen05.mma.sp.cta_group::1.kind::" # kind, ["C", "DescA", "DescB", "IndexA", "UseC"]>;
}
foreach n = [16, 32, 64, 96, 128, 192, 256] in {
  foreach e = [f16, bf16] in
    def tcgen05_m128n # n # k16_ # e # _f32 : Tcgen05<n, e, e, f32, 16>;
  def tcgen05_m128n # n # k8_tf32_f32 : Tcgen05<n, tf32, tf32, f32, 32>;
  foreach e = [i8, u8] in
    def tcgen05_m128n # n # k32_ # e # _i32 : Tcgen05<n, e, e, i32, 8>;
  def tcgen05_m128n # n # k32_e4m3_f32 : Tcgen05<n, f8e4m3, f8e4m3, f32, 8>;
  def tcgen05_m128n # n # k32_e5m2_f32 : Tcgen05<n, f8e5m2, f8e5m2, f32, 8>;
  def tcgen05_m128n # n # k32_e4m3_e5m2_f32 : Tcgen05<n, f8e4m3, f8e5m2, f32, 8>;
  def tcgen05_m128n # n # k32_e5m2_e4m3_f32 : Tcgen05<n, f8e5m2, f8e4m3, f32, 8>;
}
foreach n = [32, 64, 96, 128, 192, 256] in {
  foreach e = [f16, bf16] in
    def tcgen05_sp_m128n # n # k32_ # e # _f32 : Tcgen05Sparse<n, e, e, f32, 16, "f16">;
  foreach e = [i8, u8] in
    def tcgen05_sp_m128n # n # k64_ # e # _i32 : Tcgen05Sparse<n, e, e, i32, 8, "i8">;
  def tcgen05_sp_m128n # n # k64_e4m3_f32 : Tcgen05Sparse<n, f8e4m3, f8e4m3, f32, 8, "f8f6f4">;
  def tcgen05_sp_m128n # n # k64_e5m2_f32 : Tcgen05Sparse<n, f8e5m2, f8e5m2, f32, 8, "f8f6f4">;
  def tcgen05_sp_m128n # n # k64_e4m3_e5m2_f32 : Tcgen05Sparse<n, f8e4m3, f8e5m2, f32, 8, "f8f6f4">;
  def tcgen05_sp_m128n # n # k64_e5m2_e4m3_f32 : Tcgen05Sparse<n, f8e5m2, f8e4m3, f32, 8, "f8f6f4">;
  foreach x = MxFormats in
    def tcgen05_m128n # n # k32_mx_ # x.name # _f32 : Tcgen05Mx<n, x, x>;
  def tcgen05_m128n # n # k64_mxf4_f32 : Tcgen05Fours<n, "mxf4", 32, f8e8m0, "">;
  def tcgen05_m128n # n # k64_nvf4_f32 : Tcgen05Fours<n, "mxf4nvf4", 16, f8e4m3, "i7">;
}
defvar MixedWidths = [64, 128, 256]; // of operands of two types, of which there are many pairs
foreach n = MixedWidths in
  foreach x = MxFormats in
    foreach y = !filter(each, MxFormats, !ne(each.name, x.name)) in
      def tcgen05_m128n # n # k32_mx_ # x.name # _ # y.name # _f32 : Tcgen05Mx<n, x, y>;

#endif // TILEWRIGHT_NVIDIA_MATRIXUNITS
