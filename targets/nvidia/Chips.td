//===- Chips.td - NVIDIA GPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record per chip. The levels: a grid of blocks on `count` multiprocessors,
// a block of at most 32 warps, a warp of 32 lanes. Bandwidths of global memory
// and L2 are those of the whole chip in bytes per clock, of shared memory those
// of one multiprocessor; rates count warp instructions per clock of one
// multiprocessor, unit costs are clocks of one of its quarters.
//
//===----------------------------------------------------------------------===//

include "dialects/Chip/Chip.td"
include "targets/nvidia/MatrixUnits.td"

defvar Guide = Cited<"CUDA C++ programming guide, compute capabilities and arithmetic throughput">;

/// 16 bytes a lane, zero-filled behind a size; groups are awaited by count.
def CpAsync : CopyEngine<"global", "shared"> {
  let accessBytes = [4, 8, 16];
  let alignBytes = 4;
  let zeroFill = 1;
  let arrangements = ["any"];
  let bandwidth = PerClock<64>;
  let latency = Cycles<600>;
  let source = Guess<"L2 port of one multiprocessor; latency of global memory">;
  let emit = MlirOp<"nvvm.cp.async.shared.global", ["Ptr", "Ptr"]>;
}
/// ldmatrix: a subgroup loads 8 x 8 matrices, straight or (16-bit elements) transposed.
def LdMatrix : CopyEngine<"shared", "register"> {
  let asynchronous = 0;
  let completion = AtOnce;
  let accessBytes = [2];
  let alignBytes = 16;
  let arrangements = ["transpose"];
  let bandwidth = PerClock<128>;
  let latency = Cycles<30>;
  let source = Guide;
  let emit = MlirOp<"nvvm.ldmatrix", ["Ptr"]>;
}
/// tcgen05.ld: lanes read accumulators.
def TensorLoad : CopyEngine<"tensor", "register"> {
  let accessBytes = [4];
  let alignBytes = 4;
  let bandwidth = PerClock<512>;
  let latency = Cycles<60>;
  let source = Guess<"a word of each of 128 rows a clock; latency of twice shared memory's">;
  let emit = MlirOp<"nvvm.tcgen05.ld", ["Ptr"]>;
}
/// tcgen05.cp.32x128b.warpx4: 32 lines of 16 bytes, which the rows of each warp get; and .128x128b, of 128 lines.
def TensorScales : CopyEngine<"shared", "tensor"> {
  let completion = Barrier;
  let accessBytes = [16];
  let alignBytes = 16;
  let arrangements = ["none"];
  let bandwidth = PerClock<128>;
  let latency = Cycles<60>;
  let source = Guess<"as fast as shared memory is read; latency of twice shared memory's">;
  let emit = MlirOp<"nvvm.tcgen05.cp", ["Ptr"]>;
}
def TmaLoad : CopyEngine<"global", "shared"> {
  let completion = Barrier;
  let maxRank = 5;
  let alignBytes = 16;
  let arrangements = ["swizzle.128", "swizzle.64", "swizzle.32", "none"];
  let zeroFill = 1;
  let bandwidth = PerClock<64>;
  let latency = Cycles<700>;
  let source = Guess<"L2 port of one multiprocessor; latency of global memory and a descriptor">;
  let emit = MlirOp<"nvvm.cp.async.bulk.tensor.shared.cluster.global", ["Ptr"]>;
}

//===----------------------------------------------------------------------===//
// Units by generation
//===----------------------------------------------------------------------===//

defvar LaneUnits = [fma_f16, fma_f32, fma_f64];
defvar TuringUnits = [mma_m16n8k8_f16_f32, mma_m16n8k8_f16_f16, mma_m8n8k16_i8_i32] # LaneUnits;
defvar AmpereUnits = [mma_m16n8k8_f16_f32, mma_m16n8k16_f16_f32, mma_m16n8k8_f16_f16, mma_m16n8k16_f16_f16,
                      mma_m16n8k16_bf16_f32, mma_m16n8k4_tf32_f32, mma_m16n8k8_tf32_f32, mma_m8n8k16_i8_i32,
                      mma_m16n8k16_i8_i32, mma_m16n8k32_i8_i32, mma_m16n8k32_u8_i32, mma_m8n8k4_f64_f64] # LaneUnits;
defvar AdaUnits = [mma_m16n8k32_e4m3_f32, mma_m16n8k32_e5m2_f32, mma_m16n8k32_e4m3_e5m2_f32,
                   mma_m16n8k32_e5m2_e4m3_f32] # AmpereUnits;
defvar HopperUnits = [
    wgmma_m64n16k16_f16_f32, wgmma_m64n32k16_f16_f32, wgmma_m64n64k16_f16_f32, wgmma_m64n96k16_f16_f32,
    wgmma_m64n128k16_f16_f32, wgmma_m64n192k16_f16_f32, wgmma_m64n256k16_f16_f32, wgmma_m64n16k16_bf16_f32,
    wgmma_m64n32k16_bf16_f32, wgmma_m64n64k16_bf16_f32, wgmma_m64n96k16_bf16_f32, wgmma_m64n128k16_bf16_f32,
    wgmma_m64n192k16_bf16_f32, wgmma_m64n256k16_bf16_f32, wgmma_m64n16k32_i8_i32, wgmma_m64n32k32_i8_i32,
    wgmma_m64n64k32_i8_i32, wgmma_m64n96k32_i8_i32, wgmma_m64n128k32_i8_i32, wgmma_m64n192k32_i8_i32,
    wgmma_m64n256k32_i8_i32, wgmma_m64n16k32_u8_i32, wgmma_m64n32k32_u8_i32, wgmma_m64n64k32_u8_i32,
    wgmma_m64n96k32_u8_i32, wgmma_m64n128k32_u8_i32, wgmma_m64n192k32_u8_i32, wgmma_m64n256k32_u8_i32,
    wgmma_m64n16k32_e4m3_f32, wgmma_m64n32k32_e4m3_f32, wgmma_m64n64k32_e4m3_f32, wgmma_m64n96k32_e4m3_f32,
    wgmma_m64n128k32_e4m3_f32, wgmma_m64n192k32_e4m3_f32, wgmma_m64n256k32_e4m3_f32, wgmma_m64n16k32_e5m2_f32,
    wgmma_m64n32k32_e5m2_f32, wgmma_m64n64k32_e5m2_f32, wgmma_m64n96k32_e5m2_f32, wgmma_m64n128k32_e5m2_f32,
    wgmma_m64n192k32_e5m2_f32, wgmma_m64n256k32_e5m2_f32,
    wgmma_m64n16k32_e4m3_e5m2_f32, wgmma_m64n32k32_e4m3_e5m2_f32, wgmma_m64n64k32_e4m3_e5m2_f32,
    wgmma_m64n96k32_e4m3_e5m2_f32, wgmma_m64n128k32_e4m3_e5m2_f32, wgmma_m64n192k32_e4m3_e5m2_f32,
    wgmma_m64n256k32_e4m3_e5m2_f32, wgmma_m64n16k32_e5m2_e4m3_f32, wgmma_m64n32k32_e5m2_e4m3_f32,
    wgmma_m64n64k32_e5m2_e4m3_f32, wgmma_m64n96k32_e5m2_e4m3_f32, wgmma_m64n128k32_e5m2_e4m3_f32,
    wgmma_m64n192k32_e5m2_e4m3_f32, wgmma_m64n256k32_e5m2_e4m3_f32, wgmma_m64n16k16_f16_f32_a,
    wgmma_m64n32k16_f16_f32_a, wgmma_m64n64k16_f16_f32_a, wgmma_m64n128k16_f16_f32_a, wgmma_m64n256k16_f16_f32_a,
    wgmma_m64n16k16_bf16_f32_a, wgmma_m64n32k16_bf16_f32_a, wgmma_m64n64k16_bf16_f32_a, wgmma_m64n128k16_bf16_f32_a,
    wgmma_m64n256k16_bf16_f32_a] # AdaUnits;

/// mma.sp, whose A keeps some of k: `name` is that of one of its variants.
class SparseOf<string name> {
  list<MatrixUnit> ampere = !foreach(each, ["m16n8k32_f16_f32", "m16n8k32_f16_f16", "m16n8k32_bf16_f32", "m16n8k16_tf32_f32",
                                            "m16n8k64_i8_i32", "m16n8k64_u8_i32"], !cast<MatrixUnit>(name # "_" # each));
  list<MatrixUnit> floats = !foreach(each, ["e4m3", "e5m2", "e4m3_e5m2", "e5m2_e4m3"],
                                     !cast<MatrixUnit>(name # "_m16n8k64_" # each # "_f32"));
  list<MatrixUnit> ada = ampere # floats;
}
defvar SparseUnits = SparseOf<"mma_sp">;
defvar OrderedUnits = SparseOf<"mma_sp_ordered">.ada;
/// wgmma.mma_async.sp.
defvar SparseGroupUnits = !foldl([]<MatrixUnit>, [32, 64, 128, 192, 256], sofar, n, !listconcat(sofar, !foreach(each,
    ["32_f16_f32", "32_bf16_f32", "64_i8_i32", "64_u8_i32", "64_e4m3_f32", "64_e5m2_f32", "64_e4m3_e5m2_f32", "64_e5m2_e4m3_f32"],
    !cast<MatrixUnit>("wgmma_sp_m64n" # n # "k" # each))));

defvar SparseBlockUnits = !foldl([]<MatrixUnit>, [32, 64, 96, 128, 192, 256], sofar, n, !listconcat(sofar, !foreach(each,
    ["32_f16_f32", "32_bf16_f32", "64_i8_i32", "64_u8_i32", "64_e4m3_f32", "64_e5m2_f32", "64_e4m3_e5m2_f32", "64_e5m2_e4m3_f32"],
    !cast<MatrixUnit>("tcgen05_sp_m128n" # n # "k" # each))));

/// Those with scales: of each width of a tile one type for both operands, of some all pairs.
defvar ScaledUnits = !foldl([]<MatrixUnit>, [32, 64, 96, 128, 192, 256], sofar, n, !listconcat(sofar,
    !foreach(each, MxFormats, !cast<MatrixUnit>("tcgen05_m128n" # n # "k32_mx_" # each.name # "_f32")),
    [!cast<MatrixUnit>("tcgen05_m128n" # n # "k64_mxf4_f32"), !cast<MatrixUnit>("tcgen05_m128n" # n # "k64_nvf4_f32")]));
defvar MixedScaledUnits = !foldl([]<MatrixUnit>, MixedWidths, sofar, n, !foldl(sofar, MxFormats, ofA, a, !listconcat(ofA,
    !foreach(b, !filter(each, MxFormats, !ne(each.name, a.name)),
        !cast<MatrixUnit>("tcgen05_m128n" # n # "k32_mx_" # a.name # "_" # b.name # "_f32")))));

defvar BlackwellUnits = [
    tcgen05_m128n16k16_f16_f32, tcgen05_m128n32k16_f16_f32, tcgen05_m128n64k16_f16_f32, tcgen05_m128n96k16_f16_f32,
    tcgen05_m128n128k16_f16_f32, tcgen05_m128n192k16_f16_f32, tcgen05_m128n256k16_f16_f32, tcgen05_m128n16k16_bf16_f32,
    tcgen05_m128n32k16_bf16_f32, tcgen05_m128n64k16_bf16_f32, tcgen05_m128n96k16_bf16_f32, tcgen05_m128n128k16_bf16_f32,
    tcgen05_m128n192k16_bf16_f32, tcgen05_m128n256k16_bf16_f32, tcgen05_m128n16k8_tf32_f32, tcgen05_m128n32k8_tf32_f32,
    tcgen05_m128n64k8_tf32_f32, tcgen05_m128n96k8_tf32_f32, tcgen05_m128n128k8_tf32_f32, tcgen05_m128n192k8_tf32_f32,
    tcgen05_m128n256k8_tf32_f32, tcgen05_m128n16k32_i8_i32, tcgen05_m128n32k32_i8_i32, tcgen05_m128n64k32_i8_i32,
    tcgen05_m128n96k32_i8_i32, tcgen05_m128n128k32_i8_i32, tcgen05_m128n192k32_i8_i32, tcgen05_m128n256k32_i8_i32,
    tcgen05_m128n16k32_u8_i32, tcgen05_m128n32k32_u8_i32, tcgen05_m128n64k32_u8_i32, tcgen05_m128n96k32_u8_i32,
    tcgen05_m128n128k32_u8_i32, tcgen05_m128n192k32_u8_i32, tcgen05_m128n256k32_u8_i32, tcgen05_m128n16k32_e4m3_f32,
    tcgen05_m128n32k32_e4m3_f32, tcgen05_m128n64k32_e4m3_f32, tcgen05_m128n96k32_e4m3_f32, tcgen05_m128n128k32_e4m3_f32,
    tcgen05_m128n192k32_e4m3_f32, tcgen05_m128n256k32_e4m3_f32, tcgen05_m128n16k32_e5m2_f32,
    tcgen05_m128n32k32_e5m2_f32, tcgen05_m128n64k32_e5m2_f32, tcgen05_m128n96k32_e5m2_f32, tcgen05_m128n128k32_e5m2_f32,
    tcgen05_m128n192k32_e5m2_f32, tcgen05_m128n256k32_e5m2_f32, tcgen05_m128n16k32_e4m3_e5m2_f32,
    tcgen05_m128n32k32_e4m3_e5m2_f32, tcgen05_m128n64k32_e4m3_e5m2_f32, tcgen05_m128n96k32_e4m3_e5m2_f32,
    tcgen05_m128n128k32_e4m3_e5m2_f32, tcgen05_m128n192k32_e4m3_e5m2_f32, tcgen05_m128n256k32_e4m3_e5m2_f32,
    tcgen05_m128n16k32_e5m2_e4m3_f32, tcgen05_m128n32k32_e5m2_e4m3_f32, tcgen05_m128n64k32_e5m2_e4m3_f32,
    tcgen05_m128n96k32_e5m2_e4m3_f32, tcgen05_m128n128k32_e5m2_e4m3_f32, tcgen05_m128n192k32_e5m2_e4m3_f32,
    tcgen05_m128n256k32_e5m2_e4m3_f32] # ScaledUnits # MixedScaledUnits # AdaUnits;

/// Of units with a sparse A: clocks of dense ones of half the k, in their order, and of 8-bit floats.
class SparseCosts<SparseOf units, list<int> clocks, int float8, Source from> {
  list<UnitCost> ampere = !foreach(i, !range(clocks), UnitCost<units.ampere[i], Cycles<clocks[i]>, Cycles<!add(clocks[i], 17)>, from>);
  list<UnitCost> ada = ampere # !foreach(unit, units.floats, UnitCost<unit, Cycles<float8>, Cycles<!add(float8, 17)>, from>);
}
/// Costs of the units of one chip, clocks of one quarter of a multiprocessor for 4096 operations of f16 into f32
/// (16 x 8 x 16), into f16, of tf32 (16 x 8 x 8, half of them), 8192 of i8 (16 x 8 x 32) and of 8-bit floats, 512 of f64.
class Prices<int f16_f32, int f16_f16, int tf32_, int int8, int float8, int double, Source from> {
  defvar Ampere = [
    UnitCost<mma_m16n8k16_f16_f32, Cycles<f16_f32>, Cycles<!add(f16_f32, 17)>, from>,
    UnitCost<mma_m16n8k8_f16_f32, Cycles<f16_f32, 2>, Cycles<!add(f16_f32, 9)>, from>,
    UnitCost<mma_m16n8k16_f16_f16, Cycles<f16_f16>, Cycles<!add(f16_f16, 17)>, from>,
    UnitCost<mma_m16n8k8_f16_f16, Cycles<f16_f16, 2>, Cycles<!add(f16_f16, 9)>, from>,
    UnitCost<mma_m16n8k16_bf16_f32, Cycles<f16_f32>, Cycles<!add(f16_f32, 17)>, from>,
    UnitCost<mma_m16n8k8_tf32_f32, Cycles<tf32_>, Cycles<!add(tf32_, 17)>, from>,
    UnitCost<mma_m16n8k4_tf32_f32, Cycles<tf32_, 2>, Cycles<!add(tf32_, 9)>, from>,
    UnitCost<mma_m16n8k32_i8_i32, Cycles<int8>, Cycles<!add(int8, 17)>, from>,
    UnitCost<mma_m16n8k32_u8_i32, Cycles<int8>, Cycles<!add(int8, 17)>, from>,
    UnitCost<mma_m16n8k16_i8_i32, Cycles<int8, 2>, Cycles<!add(int8, 9)>, from>,
    UnitCost<mma_m8n8k16_i8_i32, Cycles<int8, 4>, Cycles<!add(int8, 9)>, from>,
    UnitCost<mma_m8n8k4_f64_f64, Cycles<double>, Cycles<!add(double, 17)>, from>
  ];
  defvar Ada = Ampere # !foreach(unit, [mma_m16n8k32_e4m3_f32, mma_m16n8k32_e5m2_f32, mma_m16n8k32_e4m3_e5m2_f32,
                                        mma_m16n8k32_e5m2_e4m3_f32], UnitCost<unit, Cycles<float8>, Cycles<!add(float8, 17)>, from>);
  defvar Sparse = SparseCosts<SparseUnits, [f16_f32, f16_f16, f16_f32, tf32_, int8, int8], float8, from>;
  list<UnitCost> ampere = Ampere # Sparse.ampere;
  list<UnitCost> ada = Ada # Sparse.ada;
  list<UnitCost> ordered = Ada # SparseCosts<SparseOf<"mma_sp_ordered">, [f16_f32, f16_f16, f16_f32, tf32_, int8, int8], float8, from>.ada;
}
/// Lane multiply-adds: clocks of a quarter for one warp instruction.
class LanePrices<int half, int single, int double> {
  list<UnitCost> each = [UnitCost<fma_f16, Cycles<half>, Cycles<!add(half, 3)>, Guide>,
                         UnitCost<fma_f32, Cycles<single>, Cycles<!add(single, 3)>, Guide>,
                         UnitCost<fma_f64, Cycles<double>, Cycles<!add(double, 7)>, Guide>];
}

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

/// What one op of NVVM does. Lowering.cpp has the rest.
defvar Instructions = [
  LaneInstruction<"lane_x", MlirOp<"nvvm.read.ptx.sreg.tid.x", []>>,
  LaneInstruction<"block_x", MlirOp<"nvvm.read.ptx.sreg.ctaid.x", []>>,
  LaneInstruction<"block_y", MlirOp<"nvvm.read.ptx.sreg.ctaid.y", []>>,
  LaneInstruction<"block_z", MlirOp<"nvvm.read.ptx.sreg.ctaid.z", []>>,
  LaneInstruction<"block_in_cluster", MlirOp<"nvvm.read.ptx.sreg.cluster.ctarank", []>>,
  LaneInstruction<"exp2", LlvmIntrinsic<"llvm.nvvm.ex2.approx.ftz", ["$0"]>>,
  LaneInstruction<"barrier", MlirOp<"nvvm.barrier0", []>>,
  LaneInstruction<"cluster_arrive", MlirOp<"nvvm.cluster.arrive", []>>,
  LaneInstruction<"cluster_wait", MlirOp<"nvvm.cluster.wait", []>>,
  LaneInstruction<"commit_copy", MlirOp<"nvvm.cp.async.commit.group", []>>,
  LaneInstruction<"wait_copy", MlirOp<"nvvm.cp.async.wait.group", ["n=$0"]>>,
  LaneInstruction<"commit_store", MlirOp<"nvvm.cp.async.bulk.commit.group", []>>,
  LaneInstruction<"wait_store", MlirOp<"nvvm.cp.async.bulk.wait_group", ["group=$0", "read=unit"]>>,
  LaneInstruction<"phase_init", MlirOp<"nvvm.mbarrier.init", ["$0", "$1"]>>,
  LaneInstruction<"group_arrive", MlirOp<"nvvm.barrier.arrive", ["$0", "$1"]>>,
  LaneInstruction<"fence_engines",
                  MlirOp<"nvvm.fence.proxy", ["kind=#nvvm.proxy_kind<async.shared>", "space=#nvvm.shared_space<cta>"]>>,
  LaneInstruction<"fence_units", MlirOp<"nvvm.wgmma.fence.aligned", []>>,
  LaneInstruction<"commit_unit", MlirOp<"nvvm.wgmma.commit.group.sync.aligned", []>>,
  LaneInstruction<"grow_registers", MlirOp<"nvvm.setmaxregister", ["regCount=$0", "action=#nvvm<action increase>"]>>,
  LaneInstruction<"shrink_registers", MlirOp<"nvvm.setmaxregister", ["regCount=$0", "action=#nvvm<action decrease>"]>>
];

/// `gbs`: bandwidth of global memory in GB/s; `sharedKiB`: largest scratchpad of one block.
class GpuMemories<int gib, int gbs, int mhz, int l2MiB, int l2Rate, int sharedKiB, Source sheet> {
  list<Memory> each = [
    Memory<"global", "grid", !mul(gib, 1073741824), PerClock<!mul(gbs, 1000), mhz>, Cycles<600>, sheet>,
    Cache<"l2", "grid", !mul(l2MiB, 1048576), PerClock<l2Rate>, Cycles<270>, 128, 16,
          Guess<"size by the data sheet, rate and latency by public measurements of its kind">, /*sector*/ 32>,
    Scratchpad<"shared", "block", !mul(sharedKiB, 1024), PerClock<128>, Cycles<30>, 32, 4, Guide>,
    RegisterFile<"registers", "block", 65536, 4>,
    RegisterFile<"register", "lane", 255, 4>
  ];
}
/// `lanes`: multiply-adds of f32 that a multiprocessor makes in a clock; the others as above.
class Gpu<string name, string architecture, string ptx, int sms, int mhz, int gib, int gbs, int l2MiB, int l2Rate,
          int sharedKiB, int lanes, Source sheet> : Chip<name> {
  let triple = "nvptx64-nvidia-cuda";
  let cpu = architecture;
  let features = [ptx];
  let clockMHz = mhz;
  let levels = [Level<"grid", Parallel, sms>, Level<"block", Concurrent, 32>, Level<"subgroup", Lockstep, 32>,
                Level<"lane", Single, 1>];
  let memories = GpuMemories<gib, gbs, mhz, l2MiB, l2Rate, sharedKiB, sheet>.each;
  let laneInstructions = Instructions;
  let issue = Fact<PerClock<4>, Guide>; let fma_f32 = Fact<PerClock<lanes, 32>, Guide>;
  let add_f32 = Fact<PerClock<lanes, 32>, Guide>; let exp2_f32 = Fact<PerClock<16, 32>, Guide>;
  let native_exp2_f32 = exp2_f32; let native_max_f32 = Fact<PerClock<64, 32>, Guide>;
  let load = Fact<PerClock<1>, Guide>; let store = Fact<PerClock<1>, Guide>; let shuffle = Fact<PerClock<1>, Guide>;
}

defvar SheetT4 = Cited<"NVIDIA T4 data sheet, Turing whitepaper">;
def T4 : Gpu<"T4", "sm_75", "ptx70", 40, 1590, 16, 320, 4, 1280, 64, 64, SheetT4> {
  let summary = "NVIDIA T4 (Turing)";
  let native_max_f32 = ?; // its maxima lose a NaN
  let copies = [LdMatrix];
  let units = TuringUnits;
  let costs = [UnitCost<mma_m16n8k8_f16_f32, Cycles<8>, Cycles<25>, SheetT4>,
               UnitCost<mma_m16n8k8_f16_f16, Cycles<8>, Cycles<25>, SheetT4>,
               UnitCost<mma_m8n8k16_i8_i32, Cycles<4>, Cycles<21>, SheetT4>] # LanePrices<1, 2, 64>.each;
}

defvar SheetA100 = Cited<"NVIDIA A100 whitepaper">;
def A100 : Gpu<"A100", "sm_80", "ptx71", 108, 1410, 80, 2039, 40, 5120, 163, 64, SheetA100> {
  let summary = "NVIDIA A100 (Ampere), 80 GB";
  let copies = [CpAsync, LdMatrix];
  let units = AmpereUnits # SparseUnits.ampere;
  let costs = Prices<8, 8, 8, 8, 16, 16, SheetA100>.ampere # LanePrices<1, 2, 4>.each;
}
defvar SheetA10 = Cited<"NVIDIA A10 data sheet">;
def A10 : Gpu<"A10", "sm_86", "ptx71", 72, 1695, 24, 600, 6, 1536, 99, 128, SheetA10> {
  let summary = "NVIDIA A10 (Ampere)";
  let copies = [CpAsync, LdMatrix];
  let units = AmpereUnits # SparseUnits.ampere;
  let costs = Prices<16, 16, 16, 16, 16, 1024, SheetA10>.ampere # LanePrices<1, 1, 64>.each;
}

defvar SheetAda = Cited<"NVIDIA Ada whitepaper, L4 and L40S data sheets">;
class Ada<string name, int sms, int mhz, int gib, int gbs, int l2MiB>
    : Gpu<name, "sm_89", "ptx84", sms, mhz, gib, gbs, l2MiB, 2560, 99, 128, SheetAda> {
  let copies = [CpAsync, LdMatrix];
  let units = AdaUnits # SparseUnits.ada;
  let costs = Prices<16, 16, 16, 16, 16, 1024, SheetAda>.ada # LanePrices<1, 1, 64>.each;
}
def L4 : Ada<"L4", 58, 2040, 24, 300, 48> { let summary = "NVIDIA L4 (Ada)"; }
def L40S : Ada<"L40S", 142, 2520, 48, 864, 96> { let summary = "NVIDIA L40S (Ada)"; }
def RTX4090 : Ada<"RTX4090", 128, 2520, 24, 1008, 72> {
  let summary = "NVIDIA GeForce RTX 4090 (Ada): accumulation in f32 at half rate";
  let costs = Prices<32, 16, 32, 16, 32, 1024, SheetAda>.ada # LanePrices<1, 1, 64>.each;
}

// mma.sync reaches about 62 % of the rate of wgmma: 13 clocks for two of 16 x 8 x 16. Those of 8-bit floats are none of the
// machine on sm_90 and sm_100: ptxas widens the operands to f16, multiplies twice, and adds the result to C by itself.
defvar HopperMma = Guess<"62 % of the wgmma rate for mma.sync: to be measured">;
defvar WidensFloat8 = Fact<Count<2>, Guess<"counted in machine code of ptxas 13.0: HMMA of 16 x 8 x 16, F2FP, FADD">>;
class Hopper<string name, int gib, int gbs, Source sheet = Cited<"NVIDIA H100 and H200 data sheets">>
    : Gpu<name, "sm_90a", "ptx85", 132, 1755, gib, gbs, 50, 5500, 227, 128, sheet> {
  let float8_words = WidensFloat8;
  let launch = Fact<Cycles<7400>, Measured<"two launches of little work in a row, 4.2 us of the host each (tw-launch --benchmark), on an H200">>;
  let subgroup_issue = Fact<PerClock<3, 8>, Measured<"soft-max of attention in 9 tilings, 64 and 128 features (test/gpu), on an H200">>;
  let issue_beside_units = Fact<PerClock<5, 18>, Measured<"soft-max of attention in turns, 64 and 128 features, steps of 64 and 128 (test/gpu, clocks in the kernel), on an H200">>;
  let unit_turn = Fact<Cycles<280>, Measured<"the same">>;
  let near_instructions = Fact<Count<768>, Cited<"12 KiB on V100: Jia et al. 2018, arXiv:1804.06826, table 3.1">>;
  let far_fetch = Fact<Cycles<3, 2>, Measured<"soft-max of rows of 1024 and 4096, 4 to 64 elements a lane, on an H200">>;
  let levels = [Level<"grid", Parallel, 132>, Level<"cluster", Concurrent, 8>, Level<"block", Concurrent, 32>,
                Level<"subgroup", Lockstep, 32>, Level<"lane", Single, 1>];
  let copies = [CpAsync, LdMatrix, TmaLoad];
  let units = HopperUnits # OrderedUnits # SparseGroupUnits;
  let costs = Prices<7, 7, 7, 7, 14, 8, HopperMma>.ordered # LanePrices<1, 1, 2>.each;
}
def H100 : Hopper<"H100", 80, 3352> { let summary = "NVIDIA H100 SXM (Hopper)"; }
def H200 : Hopper<"H200", 141, 4220, Measured<"increment of 1 GiB (test/gpu), 4800 by the data sheet">> { let summary = "NVIDIA H200 SXM (Hopper)"; }

/// 512 columns of 128 words; a block takes a power of two of them, 32 at least.
def TensorMemoryOf : AccumulatorMemory<"tensor", "block", 262144, PerClock<512>, Cycles<60>,
                                       Cited<"PTX ISA 8.7, Tensor Memory: sizes; rate and latency guessed as of TensorLoad">> {
  let entries = 512;
  let entryBytes = 512;
  let banks = 16;
  let bankBytes = 16384;
  let access = EnginesOnly;
}
defvar SheetB200 = Cited<"NVIDIA Blackwell architecture brief">;
def B200 : Gpu<"B200", "sm_100a", "ptx87", 148, 1965, 180, 8000, 126, 8000, 227, 128, SheetB200> {
  let float8_words = WidensFloat8;
  let summary = "NVIDIA B200 (Blackwell)";
  let memories = GpuMemories<180, 8000, 1965, 126, 8000, 227, SheetB200>.each # [TensorMemoryOf];
  let copies = [CpAsync, LdMatrix, TmaLoad, TensorLoad, TensorScales];
  let units = BlackwellUnits # OrderedUnits # SparseBlockUnits;
  let costs = Prices<8, 8, 8, 8, 16, 8, Guess<"mma.sync as on A100: to be measured">>.ordered # LanePrices<1, 1, 2>.each;
}
defvar Sheet5090 = Cited<"NVIDIA RTX Blackwell whitepaper">;
def RTX5090 : Gpu<"RTX5090", "sm_120a", "ptx87", 170, 2407, 32, 1792, 96, 4000, 99, 128, Sheet5090> {
  let summary = "NVIDIA GeForce RTX 5090 (Blackwell): accumulation in f32 at half rate";
  let copies = [CpAsync, LdMatrix];
  let units = AdaUnits # OrderedUnits;
  let costs = Prices<32, 16, 32, 16, 32, 1024, Sheet5090>.ordered # LanePrices<1, 1, 64>.each;
}
