//===- MatrixUnits.td - Multiplying instructions of CPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named ISA_INSTRUCTION_ELEMENTS. Vector units compute one row of C: A is a
// scalar (or a group of k) broadcast to all lanes, B a register whose lanes hold
// the k values of a column side by side, C a register of accumulators. The costs
// here are those of a generic core of the ISA; Chips.td prices them per chip.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CPU_MATRIXUNITS
#define TILEWRIGHT_CPU_MATRIXUNITS

include "dialects/Chip/MatrixUnit.td"

/// C[1 x n] += A[1 x k] * B[k x n] in one vector register.
class VectorUnit<int n, int k, Elem ea, Elem eb, Elem ec, list<string> features, Emission emission>
    : MatrixUnit<1, n, k> {
  let a = Operand<ea, BroadcastScalar>;
  let b = Operand<eb, VectorRegister<ColumnMajor>>;
  let c = Operand<ec, VectorRegister<RowMajor>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a core with one such pipe; the chips give their own">;
  let requires = features;
  let emit = emission;
}
/// A fused multiply-add of vectors.
class FmaUnit<int lanes, Elem e, list<string> features>
    : VectorUnit<lanes, 1, e, e, e, features, MlirOp<"llvm.intr.fma", ["A", "B", "C"]>>;
/// A dot product of groups of k, accumulated in 32 bits.
class DotUnit<int lanes, int k, Elem ea, Elem eb, Elem ec, string feature, string intrinsic>
    : VectorUnit<lanes, k, ea, eb, ec, [feature], LlvmIntrinsic<intrinsic, ["C", "A", "B"]>>;

//===----------------------------------------------------------------------===//
// AVX-512, AVX2, AVX-VNNI
//===----------------------------------------------------------------------===//

def avx512_fma_f32 : FmaUnit<16, f32, ["avx512f"]>;
def avx512_fma_f64 : FmaUnit<8, f64, ["avx512f"]>;
def avx512_fma_f16 : FmaUnit<32, f16, ["avx512fp16"]>;
def avx512_dpbf16 : DotUnit<16, 2, bf16, bf16, f32, "avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512">;
def avx512_dpbusd : DotUnit<16, 4, u8, i8, i32, "avx512vnni", "llvm.x86.avx512.vpdpbusd.512">;
def avx512_dpwssd : DotUnit<16, 2, i16, i16, i32, "avx512vnni", "llvm.x86.avx512.vpdpwssd.512">;

def avx2_fma_f32 : FmaUnit<8, f32, ["avx2", "fma"]>;
def avx2_fma_f64 : FmaUnit<4, f64, ["avx2", "fma"]>;
/// Integers by two vector instructions, a product and an addition; only the addition depends on the accumulator, which
/// stays in its register: a sum that moves to another one at each step costs a move where a loop begins anew. The product
/// is kept in `kept`. As operations of LLVM IR the sums of several steps would be added to
/// each other first, and take registers beside those of the accumulators.
class MulAddUnit<int lanes, int k, Elem e, string feature, string assembly, string file, string kept>
    : VectorUnit<lanes, k, e, e, i32, [feature],
                 InlineAsm<assembly # " $3, $2, %" # kept # "\n\tvpaddd %" # kept # ", $0, $0",
                           ["C", "A", "B", "constraints:=" # file # ",0," # file # "," # file # ",~{" # kept # "}"]>> {
  let latency = Cycles<1>;
}
// Pairs of 16-bit products: what 8-bit integers, widened while they are packed, have where there is no VNNI.
def avx2_madd_i16 : MulAddUnit<8, 2, i16, "avx2", "vpmaddwd", "x", "ymm15">;
def avx512_madd_i16 : MulAddUnit<16, 2, i16, "avx512bw", "vpmaddwd", "v", "zmm31">;
def avx_dpbusd : DotUnit<8, 4, u8, i8, i32, "avxvnni", "llvm.x86.avx512.vpdpbusd.256">;

//===----------------------------------------------------------------------===//
// AMX: 8 numbered tile registers of 16 rows of 64 bytes
//===----------------------------------------------------------------------===//

// All eight registers whole. Linux gives a process the state that holds them when it asks (arch_prctl
// ARCH_REQ_XCOMP_PERM, component 18), which once is enough for all threads; 0 is yes.
def AmxTiles : State {
  let requires = ["amx-tile"];
  // Palette 1, no start row; 14 reserved bytes; 8 registers of 64 bytes a row, 8 reserved; of 16 rows, 8 reserved.
  let enter = LlvmIntrinsic<"llvm.x86.ldtilecfg", ["data:0100" # "0000000000000000000000000000"
      # "40004000400040004000400040004000" # "00000000000000000000000000000000"
      # "1010101010101010" # "0000000000000000"]>;
  let leave = LlvmIntrinsic<"llvm.x86.tilerelease", []>;
  let check = InlineAsm<"syscall", ["i64:158", "i64:4131", "i64:18",
                                    "constraints:={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}"]>;
  let checkValue = 0;
  // Code that we know nothing of may configure tiles for itself; libm and the allocator do not.
  let forbids = ["call"];
  let cost = Cycles<100>;
  let source = Guess<"tile configuration and release; not measured">;
}
def TMM : RegisterBank<"tmm", 8> { let needs = AmxTiles; }
class AmxTile<Layout layout> : OpaqueRegister<TMM, [0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80], 16, 64, layout> {
  let zero = LlvmIntrinsic<"llvm.x86.tilezero", ["Tile"]>;
  let fill = LlvmIntrinsic<"llvm.x86.tileloadd64", ["Tile", "Ptr", "Stride"]>;
  let store = LlvmIntrinsic<"llvm.x86.tilestored64", ["Tile", "Ptr", "Stride"]>;
}
def AmxRows : AmxTile<RowMajor>;
// B by groups of 2 or 4 rows: register row r holds rows 2r, 2r+1 (4r .. 4r+3) of each column side by side.
def AmxPairs
    : AmxTile<Layout<[], [[1, 0], [0, 1], [0, 2], [0, 4], [0, 8], [2, 0], [4, 0], [8, 0], [16, 0]]>>;
def AmxQuads
    : AmxTile<Layout<[], [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4], [0, 8], [4, 0], [8, 0], [16, 0], [32, 0]]>>;

class AmxUnit<int k, Elem ea, Elem eb, Elem ec, AmxTile homeB, string feature, string intrinsic>
    : MatrixUnit<16, 16, k> {
  let a = Operand<ea, AmxRows>;
  let b = Operand<eb, homeB>;
  let c = Operand<ec, AmxRows>;
  let issue = Cycles<16>;
  let latency = Cycles<52>;
  let source = Cited<"Intel 64 and IA-32 optimization reference manual, chapter on AMX">;
  let requires = ["amx-tile", feature];
  let states = [AmxTiles];
  let emit = LlvmIntrinsic<intrinsic, ["TileC", "TileA", "TileB"]>;
}
def amx_tdpbf16 : AmxUnit<32, bf16, bf16, f32, AmxPairs, "amx-bf16", "llvm.x86.tdpbf16ps">;
def amx_tdpbssd : AmxUnit<64, i8, i8, i32, AmxQuads, "amx-int8", "llvm.x86.tdpbssd">;
def amx_tdpbsud : AmxUnit<64, i8, u8, i32, AmxQuads, "amx-int8", "llvm.x86.tdpbsud">;
def amx_tdpbusd : AmxUnit<64, u8, i8, i32, AmxQuads, "amx-int8", "llvm.x86.tdpbusd">;
def amx_tdpbuud : AmxUnit<64, u8, u8, i32, AmxQuads, "amx-int8", "llvm.x86.tdpbuud">;

//===----------------------------------------------------------------------===//
// AArch64: NEON, dot products, matrix multiplication of 2 x 2 blocks
//===----------------------------------------------------------------------===//

def neon_fma_f32 : FmaUnit<4, f32, ["neon"]>;
def neon_fma_f64 : FmaUnit<2, f64, ["neon"]>;
def neon_fma_f16 : FmaUnit<8, f16, ["fullfp16"]>;
def neon_sdot : DotUnit<4, 4, i8, i8, i32, "dotprod", "llvm.aarch64.neon.sdot">;
def neon_usdot : DotUnit<4, 4, u8, i8, i32, "i8mm", "llvm.aarch64.neon.usdot">;
def neon_bfdot : DotUnit<4, 2, bf16, bf16, f32, "bf16", "llvm.aarch64.neon.bfdot">;

/// C[2 x 2] += A[2 x k] * B[k x 2]; B's register holds its two columns one after the other.
class BlockUnit<int k, Elem ea, Elem eb, Elem ec, string feature, string intrinsic> : MatrixUnit<2, 2, k> {
  let a = Operand<ea, VectorRegister<RowMajor>>;
  let b = Operand<eb, VectorRegister<ColumnMajor>>;
  let c = Operand<ec, VectorRegister<RowMajor>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a core with one such pipe; the chips give their own">;
  let requires = [feature];
  let emit = LlvmIntrinsic<intrinsic, ["C", "A", "B"]>;
}
def neon_smmla : BlockUnit<8, i8, i8, i32, "i8mm", "llvm.aarch64.neon.smmla">;
def neon_ummla : BlockUnit<8, u8, u8, i32, "i8mm", "llvm.aarch64.neon.ummla">;
def neon_usmmla : BlockUnit<8, u8, i8, i32, "i8mm", "llvm.aarch64.neon.usmmla">;
def neon_bfmmla : BlockUnit<4, bf16, bf16, f32, "bf16", "llvm.aarch64.neon.bfmmla">;

#endif // TILEWRIGHT_CPU_MATRIXUNITS
