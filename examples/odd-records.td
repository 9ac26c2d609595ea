//===- odd-records.td - Three kinds of chip and three odd units -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the description language must hold without special cases: a multicore
// with configured tiles, one with numbered tiles behind a streaming state, a
// SIMT chip whose unit takes 128 lanes and addresses in a scratchpad, and a
// scratchpad chip with DMA and a systolic array.
//
//===----------------------------------------------------------------------===//

include "dialects/Chip/Chip.td"

defvar Assumed = Guess<"a chip of this example">;

class TestMemory<string name, string level, int bytes, int rate, int latency>
    : Memory<name, level, bytes, PerClock<rate>, Cycles<latency>> {
  let source = Assumed;
}

//===----------------------------------------------------------------------===//
// Multicore with configured tiles: values of an opaque type
//===----------------------------------------------------------------------===//

def TileConfig : State {
  let requires = ["amx-tile"];
  let forbids = ["call"];
  let cost = Cycles<100>;
  let source = Assumed;
}
def TMM : RegisterBank<"tmm", 8> { let needs = TileConfig; }
class Tmm<Layout layout> : OpaqueRegister<TMM, [], 16, 64, layout> {
  let valueType = "x86_amx";
  let zero = LlvmIntrinsic<"llvm.x86.tilezero.internal", ["Rows", "RowBytes"]>;
  let fill = LlvmIntrinsic<"llvm.x86.tileloadd64.internal", ["Rows", "RowBytes", "Ptr", "Stride"]>;
  let store = LlvmIntrinsic<"llvm.x86.tilestored64.internal", ["Rows", "RowBytes", "Ptr", "Stride", "Tile"]>;
}
def TmmRows : Tmm<RowMajor>;
def TmmPairs : Tmm<Layout<[], [[1, 0], [0, 1], [0, 2], [0, 4], [0, 8], [2, 0], [4, 0], [8, 0], [16, 0]]>>;
def tdpbf16ps : MatrixUnit<16, 16, 32> {
  let a = Operand<bf16, TmmRows>;
  let b = Operand<bf16, TmmPairs>;
  let c = Operand<f32, TmmRows>;
  let issue = Cycles<16>;
  let latency = Cycles<52>;
  let source = Assumed;
  let requires = ["amx-tile", "amx-bf16"];
  let states = [TileConfig];
  let emit = LlvmIntrinsic<"llvm.x86.tdpbf16ps.internal", ["i16:16", "i16:64", "i16:64", "C", "A", "B"]>;
}
def TileCpu : Chip<"tile-cpu"> {
  let summary = "A multicore with configured tiles";
  let clockMHz = 2000;
  let features = ["amx-tile", "amx-bf16"];
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, 16>];
  let memories = [TestMemory<"global", "core", 1073741824, 8, 300>, RegisterFile<"vector", "core", 32, 64>];
  let units = [tdpbf16ps];
}

//===----------------------------------------------------------------------===//
// Multicore with numbered, aliasing tiles and a streaming state; every number follows from the vector length
//===----------------------------------------------------------------------===//

class Streaming<int words> : State { // vector length in 32-bit words
  let requires = ["sme"];
  let attributes = ["arm_locally_streaming", "arm_new_za", "vscale_range=" # !div(words, 4)];
  let check = LlvmIntrinsic<"llvm.aarch64.sme.cntsd", []>;
  let checkValue = !div(words, 2);
  let forbids = ["call", "libm"];
  let links = ["__arm_tpidr2_save"];
  let cost = Cycles<500>;
  let source = Assumed;
}
def Streaming512 : Streaming<16>;
def ZA : RegisterBank<"za", 8> { let needs = Streaming512; } // a granule is one tile of 64-bit elements
class ZaWords<int words> : OpaqueRegister<ZA, [0x11, 0x22, 0x44, 0x88], words, !mul(words, 4)> {
  let slices = ByRow;
  let zero = LlvmIntrinsic<"llvm.aarch64.sme.zero", ["MaskUnion"]>;
  let fill = LlvmIntrinsic<"llvm.aarch64.sme.write.horiz", ["Tile", "Slice", "AllTrue", "Vec"]>;
  let read = LlvmIntrinsic<"llvm.aarch64.sme.read.horiz", ["Zero", "AllTrue", "Tile", "Slice"]>;
  let store = LlvmIntrinsic<"llvm.aarch64.sme.st1w.horiz", ["ValidRow", "Ptr", "Tile", "Slice"]>;
}
def ZaWords512 : ZaWords<16>;
class Mopa<int words, Elem e, Elem acc, int k, string intrinsic, State mode, ZaWords za> : MatrixUnit<words, words, k> {
  let a = Operand<e, VectorRegister<RowMajor, /*scalable=*/1>>;    // lane = row * k + k index
  let b = Operand<e, VectorRegister<ColumnMajor, /*scalable=*/1>>;
  let c = Operand<acc, za>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Assumed;
  let requires = ["sme"];
  let states = [mode];
  let valid = 1;
  let emit = LlvmIntrinsic<intrinsic, ["TileC", "ValidM", "ValidN", "A", "B"]>;
}
foreach words = [16] in {
  def fmopa_f32 : Mopa<words, f32, f32, 1, "llvm.aarch64.sme.mopa", Streaming512, ZaWords512>;
  def smopa_i8 : Mopa<words, i8, i32, 4, "llvm.aarch64.sme.smopa.wide", Streaming512, ZaWords512>;
}
def StreamingCpu : Chip<"streaming-cpu"> {
  let summary = "A multicore with numbered tiles";
  let clockMHz = 3000;
  let features = ["sme"];
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, 16>];
  let memories = [TestMemory<"global", "core", 1073741824, 8, 300>, RegisterFile<"vector", "core", 32, 64>];
  let units = [fmopa_f32, smopa_i8];
}

//===----------------------------------------------------------------------===//
// SIMT: 128 lanes issue one instruction, A and B are addresses, completion is awaited by groups
//===----------------------------------------------------------------------===//

def SharedTile : InScratchpad<"shared", ["row", "column"], ["swizzle.128", "swizzle.64", "swizzle.32", "none"]>;
class Warpgroup<int n> : MatrixUnit<64, n, 16> {
  let scope = Group<"subgroup", 4>;
  let a = Operand<f16, SharedTile>;
  let b = Operand<f16, SharedTile>;
  let c = Operand<f32, InRegisters<Layout<[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [16, 0], [32, 0]], [[0, 1], [8, 0]],
                                          [Repeat<!div(n, 8), 0, 8>]>>>;
  let issue = Cycles<!div(n, 2)>;
  let latency = Cycles<!add(!div(n, 2), 32)>;
  let source = Assumed;
  let init = ZeroFlag;
  let completion = WaitGroup;
  let emit = MlirOp<"nvvm.wgmma.mma_async", ["C", "DescA", "DescB", "UseC"]>;
}
// One record for the family: widths that are no power of two come from the repetition.
foreach n = [8, 24, 96, 128, 256] in
  def wgmma_n # n : Warpgroup<n>;

def TileLoad : CopyEngine<"global", "shared"> {
  let completion = Barrier;
  let maxRank = 5;
  let alignBytes = 16;
  let arrangements = ["swizzle.128", "swizzle.64", "swizzle.32"];
  let zeroFill = 1;
  let bandwidth = PerClock<64>;
  let latency = Cycles<700>;
  let source = Assumed;
  let emit = MlirOp<"nvvm.cp.async.bulk.tensor.shared.cluster.global", ["Ptr"]>;
}
def Simt : Chip<"simt"> {
  let summary = "A SIMT chip";
  let clockMHz = 1755;
  let levels = [Level<"grid", Parallel, 132>, Level<"cluster", Concurrent, 8>, Level<"block", Concurrent, 32>,
                Level<"subgroup", Lockstep, 32>, Level<"lane", Single, 1>];
  let memories = [TestMemory<"global", "grid", 85899345920, 1908, 600>,
                  Scratchpad<"shared", "block", 232448, PerClock<128>, Cycles<30>, 32, 4, Assumed>,
                  RegisterFile<"registers", "block", 65536, 4>, RegisterFile<"register", "lane", 255, 4>];
  let copies = [TileLoad];
  let units = [wgmma_n8, wgmma_n24, wgmma_n96, wgmma_n128, wgmma_n256];
  let exp2_f32 = Fact<PerClock<16>, Assumed>;
}

//===----------------------------------------------------------------------===//
// Scratchpad and DMA: a systolic array that holds B, accumulators in a memory of their own, a requantising unit
//===----------------------------------------------------------------------===//

def Array : MatrixUnit<16, 16, 16> {
  let a = Operand<i8, InScratchpad<"scratchpad", ["row"], []>>;
  let b = Operand<i8, InScratchpad<"scratchpad", ["row"], []>>;
  let c = Operand<i32, InAccumulator<"accumulator">>;
  let issue = Cycles<16>;
  let latency = Cycles<48>;
  let source = Assumed;
  let stationary = "B";
  let load = Cycles<16>;
  let init = ZeroFlag;
  let emit = ExternalCall<"npu_matmul", ["C", "i32:3", "B", "A", "UseC"]>;
}
class Dma<string from, string to, string function> : CopyEngine<from, to> {
  let maxRank = 2;
  let alignBytes = 16;
  let bandwidth = PerClock<16>;
  let latency = Cycles<200>;
  let source = Assumed;
  let emit = ExternalCall<function, ["Ptr", "Stride"]>;
}
def DmaIn : Dma<"global", "scratchpad", "npu_mvin">;
def DmaOut : Dma<"scratchpad", "global", "npu_mvout">;
def Requantize : VectorOp<"requantize", i32, i8, 16> {
  let scale = 1;
  let zeroPoint = 1;
  let saturates = 1;
  let issue = Cycles<1>;
  let latency = Cycles<6>;
  let source = Assumed;
  let emit = ExternalCall<"npu_requantize", ["Vec"]>;
}
def Npu : Chip<"npu"> {
  let summary = "A scratchpad chip";
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 2>];
  let memories = [TestMemory<"global", "core", 1073741824, 16, 200>,
                  Scratchpad<"scratchpad", "core", 262144, PerClock<64>, Cycles<2>, 4, 16, Assumed>,
                  AccumulatorMemory<"accumulator", "core", 65536, PerClock<64>, Cycles<2>, Assumed>];
  let copies = [DmaIn, DmaOut];
  let units = [Array];
  let vectorOps = [Requantize];
}
