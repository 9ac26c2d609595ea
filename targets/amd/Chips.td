//===- Chips.td - AMD GPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record per chip. The levels: a grid of workgroups on `count` compute
// units, a workgroup of at most 1024 lanes, a wavefront of 64 (CDNA) or 32
// lanes (RDNA). Bandwidths of global memory and caches are those of the whole
// chip in bytes per clock, of LDS those of one compute unit; rates count
// wavefront instructions per clock of one compute unit, unit costs are clocks
// of one of its SIMDs.
//
//===----------------------------------------------------------------------===//

include "dialects/Chip/Chip.td"
include "targets/amd/MatrixUnits.td"

defvar Manual = Cited<"AMD instruction set architecture manuals of CDNA2-4 and RDNA3-4">;
defvar Unaligned = Cited<"LLVM 22, AMDGPU: the feature unaligned-access-mode is on for amdhsa; Linux sets the alignment_mode of "
                         "SH_MEM_CONFIG to UNALIGNED (amdkfd)">;
defvar Counted = Guess<"instructions in main loops as LLVM 22 writes them">;
defvar CacheGuess = Guess<"size by the data sheet, rate and latency by public measurements of its kind">;

defvar CdnaLaneUnits = [fma64_f16, fma64_f32, fma64_f64];
defvar RdnaLaneUnits = [fma32_f16, fma32_f32, fma32_f64];
defvar CdnaUnits = [mfma_16x16_f32_f32, mfma_32x32_f32_f32, mfma_16x16_f64_f64] # CdnaLaneUnits;
defvar Cdna2Units = [mfma_cdna2_16x16_f16_f32, mfma_cdna2_32x32_f16_f32, mfma_cdna2_16x16_bf16_f32,
                     mfma_cdna2_32x32_bf16_f32, mfma_cdna2_16x16_i8_i32, mfma_cdna2_32x32_i8_i32] # CdnaUnits;
defvar Cdna3Float = [mfma_cdna3_16x16_f16_f32, mfma_cdna3_32x32_f16_f32, mfma_cdna3_16x16_bf16_f32,
                     mfma_cdna3_32x32_bf16_f32, mfma_cdna3_16x16_i8_i32, mfma_cdna3_32x32_i8_i32] # CdnaUnits;
defvar Cdna3Units = Cdna3Float # [mfma_cdna3_16x16_xf32_f32, mfma_cdna3_32x32_xf32_f32,
                                  mfma_cdna3_16x16_fp8_fp8_f32, mfma_cdna3_16x16_fp8_bf8_f32,
                                  mfma_cdna3_16x16_bf8_fp8_f32, mfma_cdna3_16x16_bf8_bf8_f32,
                                  mfma_cdna3_32x32_fp8_fp8_f32, mfma_cdna3_32x32_fp8_bf8_f32,
                                  mfma_cdna3_32x32_bf8_fp8_f32, mfma_cdna3_32x32_bf8_bf8_f32,
                                  smfmac_cdna3_16x16_f16_f32, smfmac_cdna3_32x32_f16_f32,
                                  smfmac_cdna3_16x16_bf16_f32, smfmac_cdna3_32x32_bf16_f32,
                                  smfmac_cdna3_16x16_i8_i32, smfmac_cdna3_32x32_i8_i32,
                                  smfmac_cdna3_16x16_fp8_fp8_f32, smfmac_cdna3_16x16_fp8_bf8_f32,
                                  smfmac_cdna3_16x16_bf8_fp8_f32, smfmac_cdna3_16x16_bf8_bf8_f32,
                                  smfmac_cdna3_32x32_fp8_fp8_f32, smfmac_cdna3_32x32_fp8_bf8_f32,
                                  smfmac_cdna3_32x32_bf8_fp8_f32, smfmac_cdna3_32x32_bf8_bf8_f32];
defvar Cdna4Units = [mfma_cdna4_16x16_f16_f32, mfma_cdna4_32x32_f16_f32, mfma_cdna4_16x16_bf16_f32,
                     mfma_cdna4_32x32_bf16_f32, mfma_cdna4_16x16_i8_i32, mfma_cdna4_32x32_i8_i32,
                     mfma_cdna4_16x16_fp8_fp8_f32, mfma_cdna4_16x16_fp8_bf8_f32, mfma_cdna4_16x16_bf8_fp8_f32,
                     mfma_cdna4_16x16_bf8_bf8_f32, mfma_cdna4_32x32_fp8_fp8_f32, mfma_cdna4_32x32_fp8_bf8_f32,
                     mfma_cdna4_32x32_bf8_fp8_f32, mfma_cdna4_32x32_bf8_bf8_f32,
                     mfma_cdna4_16x16x128_fp8_fp8_f32, mfma_cdna4_16x16x128_fp8_bf8_f32,
                     mfma_cdna4_16x16x128_bf8_fp8_f32, mfma_cdna4_16x16x128_bf8_bf8_f32,
                     mfma_cdna4_32x32x64_fp8_fp8_f32, mfma_cdna4_32x32x64_fp8_bf8_f32,
                     mfma_cdna4_32x32x64_bf8_fp8_f32, mfma_cdna4_32x32x64_bf8_bf8_f32,
                    ] # ScaledProducts<"16x16x128">.all # ScaledProducts<"32x32x64">.all # Cdna3Float;
defvar Rdna3Units = [wmma_rdna3_f16_f32, wmma_rdna3_bf16_f32, wmma_rdna3_i8_i32, wmma_rdna3_u8_i32] # RdnaLaneUnits;
defvar Rdna4Units = [wmma_rdna4_f16_f32, wmma_rdna4_bf16_f32, wmma_rdna4_i8_i32, wmma_rdna4_u8_i32,
                     wmma_rdna4_fp8_fp8_f32, wmma_rdna4_fp8_bf8_f32, wmma_rdna4_bf8_fp8_f32,
                     wmma_rdna4_bf8_bf8_f32, swmmac_rdna4_f16_f32, swmmac_rdna4_bf16_f32, swmmac_rdna4_i8_i32,
                     swmmac_rdna4_u8_i32, swmmac_rdna4_fp8_fp8_f32, swmmac_rdna4_fp8_bf8_f32, swmmac_rdna4_bf8_fp8_f32,
                     swmmac_rdna4_bf8_bf8_f32] # RdnaLaneUnits;

/// Half of the registers of a CDNA lane, which the matrix units add up in.
def AccumulatorFile : RegisterFile<"sums", "lane", 256, 4> { let role = Accumulators; }

/// What one op of ROCDL does. Lowering.cpp has the rest.
defvar Instructions = [
  LaneInstruction<"lane_x", MlirOp<"rocdl.workitem.id.x", []>>,
  LaneInstruction<"block_x", MlirOp<"rocdl.workgroup.id.x", []>>,
  LaneInstruction<"block_y", MlirOp<"rocdl.workgroup.id.y", []>>,
  LaneInstruction<"block_z", MlirOp<"rocdl.workgroup.id.z", []>>,
  LaneInstruction<"exp2", LlvmIntrinsic<"llvm.amdgcn.exp2", ["$0"]>>,
  LaneInstruction<"first", MlirOp<"rocdl.readfirstlane", ["$0"]>>,
  LaneInstruction<"keep_order", MlirOp<"rocdl.sched.barrier", ["mask=0 : i32"]>>
];

/// `gbs`: bandwidth of global memory in GB/s; `registers`: 32-bit registers of a lane, `file` those of a compute unit.
/// Scalar registers are those that a program names; VCC and what traps keep are others.
class Gpu<string name, string architecture, int cus, int wave, int mhz, int gib, int gbs, int l2MiB, int l2Rate,
          int ldsKiB, int registers, int file, int issues, Source sheet> : Chip<name> {
  let triple = "amdgcn-amd-amdhsa";
  let cpu = architecture;
  let clockMHz = mhz;
  let levels = [Level<"grid", Parallel, cus>, Level<"block", Concurrent, !div(1024, wave)>,
                Level<"subgroup", Lockstep, wave>, Level<"lane", Single, 1>];
  let memories = [
    Memory<"global", "grid", !mul(gib, 1073741824), PerClock<!mul(gbs, 1000), mhz>, Cycles<800>, sheet>,
    Cache<"l2", "grid", !mul(l2MiB, 1048576), PerClock<l2Rate>, Cycles<300>, 128, 16, CacheGuess, /*sector*/ 32>,
    Scratchpad<"shared", "block", !mul(ldsKiB, 1024), PerClock<128>, Cycles<64>, 32, 4, Manual>,
    RegisterFile<"registers", "block", file, 4>,
    RegisterFile<"scalar", "subgroup", 106, 4>,
    RegisterFile<"register", "lane", registers, 4>
  ] # !if(!eq(wave, 64), [AccumulatorFile], []<Memory>);
  let laneInstructions = Instructions;
  let issue = Fact<PerClock<issues>, Manual>; let fma_f32 = Fact<PerClock<issues, !if(!eq(wave, 64), 4, 1)>, Manual>;
  let add_f32 = Fact<PerClock<issues, !if(!eq(wave, 64), 4, 1)>, Manual>; let exp2_f32 = Fact<PerClock<issues, 16>, Manual>;
  let load = Fact<PerClock<1, 4>, Manual>; let store = Fact<PerClock<1, 4>, Manual>;
  let shuffle = Fact<PerClock<1, 2>, Manual>; let paired_accesses = Fact<Count<2>, Manual>;
  let permute_waits = Fact<Count<1, 4>, Counted>; let access_waits = Fact<Count<3, 4>, Counted>;
  let offset_registers = Fact<Count<1>, Manual>; let load_alignment = Fact<Bytes<1>, Unaligned>;
}
/// Four SIMDs of 512 registers for 64 lanes, half of which (AccumulatorFile) hold sums alone where these are more than half of that
/// half. Else LLVM moves the others through it, so 384 are counted.
class Cdna<string name, string architecture, int cus, int mhz, int gib, int gbs, int l2MiB, int ldsKiB, Source sheet>
    : Gpu<name, architecture, cus, 64, mhz, gib, gbs, l2MiB, !mul(cus, 64), ldsKiB, 384, 131072, 4, sheet> {
  let direct_place = Fact<Count<1, 4>, Counted>; let fragment_waits = Fact<Count<1>, Counted>;
}
/// Two SIMDs of 1536 registers for 32 lanes.
class Rdna<string name, string architecture, int cus, int mhz, int gib, int gbs, int l2MiB, Source sheet>
    : Gpu<name, architecture, cus, 32, mhz, gib, gbs, l2MiB, !mul(cus, 64), 64, 256, 98304, 2, sheet>;

def MI250 : Cdna<"MI250", "gfx90a", 104, 1700, 64, 1638, 8, 64, Cited<"AMD Instinct MI250 data sheet, one of its two dies">> {
  let summary = "AMD Instinct MI250 (CDNA2), one die";
  let units = Cdna2Units;
}
def MI300X : Cdna<"MI300X", "gfx942", 304, 2100, 192, 5300, 32, 64, Cited<"AMD Instinct MI300X data sheet">> {
  let summary = "AMD Instinct MI300X (CDNA3); its 8-bit floats are not OCP's";
  let units = Cdna3Units;
}
/// Loads that go to LDS: 16 bytes of each lane of a wavefront, one behind the other.
def LoadToLds : CopyEngine<"global", "shared"> {
  let accessBytes = [16];
  let alignBytes = 16;
  let zeroFill = 1;
  let arrangements = ["subgroup"];
  let bandwidth = PerClock<64>;
  let latency = Cycles<800>;
  let source = Cited<"AMD Instinct CDNA4 instruction set architecture, 2025: buffer loads with LDS = 1">;
  let emit = MlirOp<"rocdl.raw.ptr.buffer.load.lds", ["Ptr", "Ptr"]>;
}
/// Loads of LDS that transpose in groups of 16 lanes.
def DsReadTr : CopyEngine<"shared", "register"> {
  let asynchronous = 0;
  let completion = AtOnce;
  let accessBytes = [1, 2];
  let alignBytes = 8;
  let arrangements = ["columns"];
  let bandwidth = PerClock<128>;
  let latency = Cycles<64>;
  let source = Cited<"AMD Instinct CDNA4 instruction set architecture, 2025: ds_read_b64_tr_b16, _b8">;
  let emit = MlirOp<"rocdl.ds.read.tr16.b64", ["Ptr"]>;
}
def MI350 : Cdna<"MI350", "gfx950", 256, 2200, 288, 8000, 32, 160, Cited<"AMD Instinct MI350X data sheet">> {
  let summary = "AMD Instinct MI350X (CDNA4)";
  let units = Cdna4Units;
  let copies = [LoadToLds, DsReadTr];
}
def RX7900 : Rdna<"RX7900", "gfx1100", 96, 2500, 24, 960, 6, Cited<"AMD Radeon RX 7900 XTX data sheet">> {
  let summary = "AMD Radeon RX 7900 XTX (RDNA3)";
  let units = Rdna3Units;
}
def RX9070 : Rdna<"RX9070", "gfx1201", 64, 2970, 16, 640, 8, Cited<"AMD Radeon RX 9070 XT data sheet">> {
  let summary = "AMD Radeon RX 9070 XT (RDNA4)";
  let units = Rdna4Units;
}
