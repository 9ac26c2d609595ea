//===- Chips.td - CPUs -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record per CPU family. `host` (Host.cpp) starts from the record of its
// family and replaces features, cores, cache sizes and, where they were
// measured, rates by what it finds.
//
// Bandwidths are those of one core, as one thread sees them.
//
//===----------------------------------------------------------------------===//

include "dialects/Chip/Chip.td"
include "targets/cpu/MatrixUnits.td"

class Cpu<string name, int cores, int lanes> : Chip<name> {
  let levels = [Level<"core", Parallel, cores>, Level<"lane", Lockstep, lanes>];
}
class DataCache<string name, string level, int bytes, int ways, PerClock readRate, PerClock writeRate, Cycles latency,
                Source from> : Cache<name, level, bytes, readRate, latency, 64, ways> {
  let write = writeRate;
  let source = from;
}
class Dram<int bytes, PerClock readRate, PerClock writeRate, PerClock streaming, Cycles latency, Source from>
    : Memory<"global", "core", bytes, readRate, latency> {
  let write = writeRate;
  let streamingWrite = streaming;
  let pageBytes = 4096;
  let source = from;
}

//===----------------------------------------------------------------------===//
// x86-64
//===----------------------------------------------------------------------===//

defvar Avx2 = ["sse4.2", "avx", "avx2", "fma", "f16c", "bmi", "bmi2"];
defvar Avx512 = Avx2 # ["avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"];
defvar Avx2Units = [avx2_fma_f32, avx2_fma_f64, avx2_madd_i16];
defvar Avx512Units = [avx512_fma_f32, avx512_fma_f64, avx512_madd_i16] # Avx2Units;

class X86<string name, string llvmName, int cores, int lanes> : Cpu<name, cores, lanes> {
  let triple = "x86_64-unknown-linux-gnu";
  let cpu = llvmName;
}

// Golden Cove and its refresh: two 512-bit FMA pipes, vdpbf16ps at a quarter of their rate.
defvar GoldenCove = Measured<"Emerald Rapids virtual machine, 512-bit registers, 24 independent chains">;
defvar GoldenCoveStreams = Measured<"Emerald Rapids virtual machine, streams of one core">;
class GoldenCoveChip<string name, string llvmName, int cores, int l3> : X86<name, llvmName, cores, 16> {
  let clockMHz = 2750;
  let features = Avx512 # ["avx512vnni", "avx512bf16", "avx512fp16", "avx512vbmi", "avxvnni"];
  let memories = [
    Dram<68719476736, PerClock<10>, PerClock<6>, PerClock<82, 10>, Cycles<350>, GoldenCoveStreams>,
    DataCache<"l3", "core", l3, 16, PerClock<102, 10>, PerClock<9>, Cycles<75>, GoldenCoveStreams>,
    DataCache<"l2", "core", 2097152, 16, PerClock<44>, PerClock<15>, Cycles<15>, GoldenCoveStreams>,
    DataCache<"l1", "core", 49152, 12, PerClock<128>, PerClock<64>, Cycles<5>, Cited<"Intel optimization manual">>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let units = [avx512_fma_f16, avx512_dpbf16, avx512_dpbusd, avx512_dpwssd, avx_dpbusd] # Avx512Units;
  let costs = [
    UnitCost<avx512_fma_f32, Cycles<1, 2>, Cycles<4>, GoldenCove>, UnitCost<avx512_fma_f64, Cycles<1, 2>, Cycles<4>, GoldenCove>,
    UnitCost<avx512_fma_f16, Cycles<1, 2>, Cycles<4>, GoldenCove>, UnitCost<avx512_dpbf16, Cycles<2>, Cycles<8>, GoldenCove>,
    UnitCost<avx512_dpbusd, Cycles<1, 2>, Cycles<5>, GoldenCove>, UnitCost<avx512_dpwssd, Cycles<1, 2>, Cycles<5>, GoldenCove>,
    UnitCost<avx_dpbusd, Cycles<1, 2>, Cycles<5>, GoldenCove>, UnitCost<avx2_fma_f32, Cycles<1, 2>, Cycles<4>, GoldenCove>,
    UnitCost<avx2_fma_f64, Cycles<1, 2>, Cycles<4>, GoldenCove>
  ];
  // Misses, streams and what prefetchers follow: by tw-calibrate on Granite Rapids 64 and 1 in the last cache; fewer where other
  // cores use it too.
  let ldexp_f32 = Fact<PerClock<1, 2>, Guess<"as other AVX-512 cores">>;
  let ldexp_f64 = Fact<PerClock<1, 2>, Guess<"as other AVX-512 cores">>; let fma_f32 = Fact<PerClock<2>, GoldenCove>;
  let fma_f64 = Fact<PerClock<2>, GoldenCove>; let add_f32 = Fact<PerClock<2>, GoldenCove>;
  let mul_f32 = Fact<PerClock<2>, GoldenCove>; let div_f32 = Fact<PerClock<1, 10>, Cited<"Intel optimization manual">>;
  let sqrt_f32 = Fact<PerClock<1, 12>, Cited<"Intel optimization manual">>; let load = Fact<PerClock<2>, GoldenCove>;
  let broadcast_load = Fact<PerClock<2>, GoldenCove>; let store = Fact<PerClock<1>, GoldenCove>;
  let shuffle = Fact<PerClock<1>, Cited<"Intel optimization manual">>;
  let misses = Fact<Count<186, 10>, Guess<"as on Granite Rapids: latency over clocks a line of independent loads">>;
  let store_misses = Fact<Count<12>, Guess<"as on Granite Rapids, of independent stores">>;
  let first_translations = Fact<Count<96>, Cited<"Intel optimization manual">>;
  let translations = Fact<Count<2048>, Cited<"Intel optimization manual">>;
  let exp2_f32 = Fact<PerClock<1, 6>, Measured<"polynomial of 12 operations">>;
  let convert_bf16_f32 = Fact<PerClock<1>, Cited<"Intel optimization manual">>;
  let convert_f32_bf16 = Fact<PerClock<1, 2>, Cited<"Intel optimization manual">>;
  let streams = Fact<Count<32>, Guess<"half of what one idle Granite Rapids follows">>;
  let fetched_lines = Fact<Count<25, 10>, Guess<"measured on Granite Rapids, which has the same prefetchers">>;
  let followed = Fact<Part<8, 10>, Guess<"less than on one idle Granite Rapids">>;
  let hidden = Fact<Part<1, 2>, Guess<"fitted on Granite Rapids, which has the same cores">>;
  let exposed = Fact<Part<2, 10>, Guess<"fitted on Granite Rapids, which has the same cores">>;
  let walks = Fact<Count<38, 10>, Guess<"measured on Granite Rapids, which has the same cores: four walkers">>;
  let window = Fact<Count<512>, Cited<"Intel optimization manual">>;
  let ramp = Fact<Count<20>, Cited<"Intel optimization manual">>;
}

def SapphireRapidsNoAmx : GoldenCoveChip<"sapphire-rapids-noamx", "sapphirerapids", 56, 109051904> {
  let summary = "Intel Sapphire Rapids, tile registers not available";
  let lacks = ["amx-tile", "amx-bf16", "amx-int8"];
}
def EmeraldRapids : GoldenCoveChip<"emerald-rapids", "emeraldrapids", 64, 335544320> {
  let summary = "Intel Emerald Rapids, tile registers not available";
  let lacks = ["amx-tile", "amx-bf16", "amx-int8"];
}
def SapphireRapids : GoldenCoveChip<"sapphire-rapids", "sapphirerapids", 56, 109051904> {
  let summary = "Intel Sapphire Rapids with AMX";
  let features = Avx512 # ["avx512vnni", "avx512bf16", "avx512fp16", "avx512vbmi", "avxvnni", "amx-tile", "amx-bf16",
                           "amx-int8"];
  let units = [amx_tdpbf16, amx_tdpbssd, amx_tdpbsud, amx_tdpbusd, amx_tdpbuud, avx512_fma_f16, avx512_dpbf16, avx512_dpbusd, avx512_dpwssd,
               avx_dpbusd] # Avx512Units;
}

// The same cores with a larger, slower last cache behind a mesh.
defvar GraniteMeasured = Measured<"Granite Rapids virtual machine, tw-calibrate">;
def GraniteRapids : GoldenCoveChip<"granite-rapids", "graniterapids", 96, 50331648> {
  let summary = "Intel Granite Rapids with AMX";
  let clockMHz = 3400;
  let features = Avx512 # ["avx512vnni", "avx512bf16", "avx512fp16", "avx512vbmi", "avxvnni", "prefetchi", "amx-tile", "amx-bf16",
                           "amx-int8"];
  let memories = [
    Dram<68719476736, PerClock<4>, PerClock<25, 10>, PerClock<63, 10>, Cycles<620>, GraniteMeasured>,
    // What one core finds of the 480 MiB that all share: reads fall from 21 to 14 GB/s between 32 and 64 MiB.
    DataCache<"l3", "core", 50331648, 16, PerClock<8>, PerClock<75, 10>, Cycles<150>, GraniteMeasured>,
    DataCache<"l2", "core", 2097152, 16, PerClock<47>, PerClock<156, 10>, Cycles<21>, GraniteMeasured>,
    DataCache<"l1", "core", 49152, 12, PerClock<124>, PerClock<64>, Cycles<5>, GraniteMeasured>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let units = [amx_tdpbf16, amx_tdpbssd, amx_tdpbsud, amx_tdpbusd, amx_tdpbuud, avx512_fma_f16, avx512_dpbf16, avx512_dpbusd,
               avx512_dpwssd, avx_dpbusd] # Avx512Units;
  let shared_part = Fact<Part<97, 100>, GraniteMeasured>; let crossing_traffic = Fact<Part<2>, GraniteMeasured>;
  let translate = Fact<Cycles<7>, GraniteMeasured>; let walk = Fact<Cycles<65>, GraniteMeasured>;
}

// SSE4a's insertq and extrq have no form for registers of 256 bits: on a Zen 3 one of them takes 430 clocks where such an
// operation wrote its register before, and 2 else. LLVM takes them for shuffles of bytes wherever the processor has them.
defvar NoVectorForm = ["sse4a"];

// Zen 4: 512-bit operations run as two halves, so at half the rate of 256-bit ones; one 512-bit load a clock.
defvar Zen4Measured = Measured<"EPYC virtual machine, best of 15 runs">;
def Zen4 : X86<"zen4", "znver4", 8, 16> {
  let summary = "AMD Zen 4, eight cores that share an L3";
  let clockMHz = 3680;
  let features = Avx512 # ["avx512vnni", "avx512bf16", "avx512vbmi", "avx512vbmi2"];
  let lacks = NoVectorForm;
  let memories = [
    Dram<25769803776, PerClock<78, 10>, PerClock<8>, PerClock<145, 10>, Cycles<600>, Zen4Measured>,
    // Bandwidths measured; the latency is AMD's.
    DataCache<"l3", "core", 33554432, 16, PerClock<25>, PerClock<24>, Cycles<50>, Cited<"Software Optimization Guide for the AMD Zen 4 Microarchitecture, 2.6">>,
    DataCache<"l2", "core", 1048576, 8, PerClock<30>, PerClock<28>, Cycles<14>, Zen4Measured>,
    DataCache<"l1", "core", 32768, 8, PerClock<60>, PerClock<32>, Cycles<4>, Zen4Measured>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let units = [avx512_dpbf16, avx512_dpbusd, avx512_dpwssd] # Avx512Units;
  let costs = [
    UnitCost<avx512_fma_f32, Cycles<1>, Cycles<4>, Zen4Measured>, UnitCost<avx512_fma_f64, Cycles<1>, Cycles<4>, Zen4Measured>,
    UnitCost<avx512_dpbf16, Cycles<1>, Cycles<6>, Zen4Measured>, UnitCost<avx512_dpbusd, Cycles<1>, Cycles<4>, Zen4Measured>,
    UnitCost<avx512_dpwssd, Cycles<1>, Cycles<4>, Zen4Measured>, UnitCost<avx2_fma_f32, Cycles<1, 2>, Cycles<4>, Zen4Measured>,
    UnitCost<avx2_fma_f64, Cycles<1, 2>, Cycles<4>, Zen4Measured>
  ];
  let ldexp_f32 = Fact<PerClock<1, 2>, Zen4Measured>; let ldexp_f64 = Fact<PerClock<1, 2>, Zen4Measured>;
  let fma_f32 = Fact<PerClock<1>, Zen4Measured>; let fma_f64 = Fact<PerClock<1>, Zen4Measured>;
  let add_f32 = Fact<PerClock<1>, Zen4Measured>; let mul_f32 = Fact<PerClock<1>, Zen4Measured>;
  let max_f32 = Fact<PerClock<1>, Zen4Measured>; let add_i32 = Fact<PerClock<2>, Zen4Measured>;
  let div_f32 = Fact<PerClock<17, 100>, Zen4Measured>; let sqrt_f32 = Fact<PerClock<1, 10>, Zen4Measured>;
  let load = Fact<PerClock<1>, Zen4Measured>; let crossing_load = Fact<PerClock<6, 10>, Zen4Measured>;
  let broadcast_load = Fact<PerClock<1>, Zen4Measured>; let store = Fact<PerClock<1, 2>, Zen4Measured>;
  let shuffle = Fact<PerClock<1>, Zen4Measured>; let exp2_f32 = Fact<PerClock<1, 12>, Guess<"polynomial of 12 operations">>;
  let convert_bf16_f32 = Fact<PerClock<1>, Zen4Measured>; let convert_f32_bf16 = Fact<PerClock<3, 4>, Zen4Measured>;
  let walks = Fact<Count<6>, Guess<"six page table walkers since Zen 3">>;
  let window = Fact<Count<320>, Cited<"Software Optimization Guide for the AMD Zen 4 Microarchitecture">>;
}

defvar Zen5Cited = Cited<"AMD software optimization guide for family 1Ah">;
def Zen5 : X86<"zen5", "znver5", 8, 16> {
  let summary = "AMD Zen 5 server core with full-width 512-bit pipes";
  let clockMHz = 4000;
  let features = Avx512 # ["avx512vnni", "avx512bf16", "avx512vbmi", "avx512vbmi2", "avxvnni"];
  let lacks = NoVectorForm;
  let memories = [
    Dram<68719476736, PerClock<9>, PerClock<9>, PerClock<15>, Cycles<500>, Guess<"Zen 4 with faster memory">>,
    DataCache<"l3", "core", 33554432, 16, PerClock<25>, PerClock<24>, Cycles<50>, Guess<"as Zen 4">>,
    DataCache<"l2", "core", 1048576, 16, PerClock<60>, PerClock<56>, Cycles<14>, Zen5Cited>,
    DataCache<"l1", "core", 49152, 12, PerClock<120>, PerClock<64>, Cycles<4>, Zen5Cited>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let units = [avx512_dpbf16, avx512_dpbusd, avx512_dpwssd, avx_dpbusd] # Avx512Units;
  let costs = [
    UnitCost<avx512_fma_f32, Cycles<1, 2>, Cycles<4>, Zen5Cited>, UnitCost<avx512_fma_f64, Cycles<1, 2>, Cycles<4>, Zen5Cited>,
    UnitCost<avx512_dpbf16, Cycles<1, 2>, Cycles<6>, Zen5Cited>, UnitCost<avx512_dpbusd, Cycles<1, 2>, Cycles<4>, Zen5Cited>,
    UnitCost<avx512_dpwssd, Cycles<1, 2>, Cycles<4>, Zen5Cited>, UnitCost<avx_dpbusd, Cycles<1, 2>, Cycles<4>, Zen5Cited>,
    UnitCost<avx2_fma_f32, Cycles<1, 2>, Cycles<4>, Zen5Cited>, UnitCost<avx2_fma_f64, Cycles<1, 2>, Cycles<4>, Zen5Cited>
  ];
  let ldexp_f32 = Fact<PerClock<1>, Guess<"as other AVX-512 cores">>;
  let ldexp_f64 = Fact<PerClock<1>, Guess<"as other AVX-512 cores">>; let fma_f32 = Fact<PerClock<2>, Zen5Cited>;
  let fma_f64 = Fact<PerClock<2>, Zen5Cited>; let add_f32 = Fact<PerClock<2>, Zen5Cited>;
  let mul_f32 = Fact<PerClock<2>, Zen5Cited>; let div_f32 = Fact<PerClock<1, 5>, Guess<"a little above Zen 4">>;
  let sqrt_f32 = Fact<PerClock<1, 8>, Guess<"a little above Zen 4">>; let load = Fact<PerClock<2>, Zen5Cited>;
  let broadcast_load = Fact<PerClock<2>, Zen5Cited>; let store = Fact<PerClock<1>, Zen5Cited>;
  let shuffle = Fact<PerClock<2>, Zen5Cited>; let exp2_f32 = Fact<PerClock<1, 6>, Guess<"polynomial of 12 operations">>;
  let convert_bf16_f32 = Fact<PerClock<2>, Guess<"twice Zen 4">>;
  let convert_f32_bf16 = Fact<PerClock<1>, Guess<"twice Zen 4">>; let walks = Fact<Count<6>, Guess<"as Zen 4">>;
  let window = Fact<Count<448>, Zen5Cited>;
}

defvar Skylake = Cited<"Intel optimization manual, Skylake server">;
def X86v4 : X86<"x86-64-v4", "x86-64-v4", 4, 16> {
  let summary = "any x86-64 CPU with AVX-512";
  let clockMHz = 2500;
  let features = Avx512;
  let memories = [
    Dram<34359738368, PerClock<5>, PerClock<3>, PerClock<4>, Cycles<250>, Guess<"one core of a server">>,
    DataCache<"l3", "core", 23068672, 11, PerClock<8>, PerClock<6>, Cycles<70>, Skylake>,
    DataCache<"l2", "core", 1048576, 16, PerClock<40>, PerClock<20>, Cycles<14>, Skylake>,
    DataCache<"l1", "core", 32768, 8, PerClock<120>, PerClock<64>, Cycles<4>, Skylake>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let units = Avx512Units;
  let costs = [
    UnitCost<avx512_fma_f32, Cycles<1, 2>, Cycles<4>, Skylake>, UnitCost<avx512_fma_f64, Cycles<1, 2>, Cycles<4>, Skylake>,
    UnitCost<avx2_fma_f32, Cycles<1, 2>, Cycles<4>, Skylake>, UnitCost<avx2_fma_f64, Cycles<1, 2>, Cycles<4>, Skylake>
  ];
  let ldexp_f32 = Fact<PerClock<1, 2>, Guess<"as other AVX-512 cores">>;
  let ldexp_f64 = Fact<PerClock<1, 2>, Guess<"as other AVX-512 cores">>; let fma_f32 = Fact<PerClock<2>, Skylake>;
  let fma_f64 = Fact<PerClock<2>, Skylake>; let add_f32 = Fact<PerClock<2>, Skylake>;
  let mul_f32 = Fact<PerClock<2>, Skylake>; let div_f32 = Fact<PerClock<1, 10>, Skylake>;
  let sqrt_f32 = Fact<PerClock<1, 12>, Skylake>; let load = Fact<PerClock<2>, Skylake>;
  let broadcast_load = Fact<PerClock<2>, Skylake>; let store = Fact<PerClock<1>, Skylake>;
  let shuffle = Fact<PerClock<1>, Skylake>; let exp2_f32 = Fact<PerClock<1, 6>, Guess<"polynomial of 12 operations">>;
}

defvar Haswell = Cited<"Intel optimization manual, Haswell and later">;
def X86v3 : X86<"x86-64-v3", "x86-64-v3", 4, 8> {
  let summary = "any x86-64 CPU with AVX2 and FMA";
  let clockMHz = 3000;
  let features = Avx2;
  let memories = [
    Dram<17179869184, PerClock<5>, PerClock<3>, PerClock<4>, Cycles<250>, Guess<"a desktop of two channels">>,
    DataCache<"l3", "core", 8388608, 16, PerClock<12>, PerClock<10>, Cycles<40>, Guess<"a desktop part">>,
    DataCache<"l2", "core", 262144, 8, PerClock<28>, PerClock<16>, Cycles<12>, Haswell>,
    DataCache<"l1", "core", 32768, 8, PerClock<64>, PerClock<32>, Cycles<4>, Haswell>,
    RegisterFile<"vector", "core", 16, 32>
  ];
  let units = Avx2Units;
  let costs = [UnitCost<avx2_fma_f32, Cycles<1, 2>, Cycles<5>, Haswell>, UnitCost<avx2_fma_f64, Cycles<1, 2>, Cycles<5>, Haswell>];
  let fma_f32 = Fact<PerClock<2>, Haswell>; let fma_f64 = Fact<PerClock<2>, Haswell>;
  let add_f32 = Fact<PerClock<2>, Haswell>; let mul_f32 = Fact<PerClock<2>, Haswell>;
  let div_f32 = Fact<PerClock<1, 5>, Haswell>; let sqrt_f32 = Fact<PerClock<1, 6>, Haswell>;
  let load = Fact<PerClock<2>, Haswell>; let broadcast_load = Fact<PerClock<2>, Haswell>;
  let store = Fact<PerClock<1>, Haswell>; let shuffle = Fact<PerClock<1>, Haswell>;
  let exp2_f32 = Fact<PerClock<1, 6>, Guess<"polynomial of 12 operations">>;
}

defvar Sse = Guess<"a core of two 128-bit pipes without fused multiply-add">;
def X86v2 : X86<"x86-64", "x86-64", 2, 4> {
  let summary = "any x86-64 CPU; 128-bit vectors and no fused multiply-add, so no matrix unit";
  let clockMHz = 2500;
  let features = ["sse2"];
  let memories = [
    Dram<4294967296, PerClock<4>, PerClock<2>, PerClock<3>, Cycles<200>, Sse>,
    DataCache<"l2", "core", 1048576, 8, PerClock<16>, PerClock<12>, Cycles<14>, Sse>,
    DataCache<"l1", "core", 32768, 8, PerClock<16>, PerClock<16>, Cycles<4>, Sse>,
    RegisterFile<"vector", "core", 16, 16>
  ];
  let add_f32 = Fact<PerClock<1>, Sse>; let mul_f32 = Fact<PerClock<1>, Sse>; let load = Fact<PerClock<1>, Sse>;
  let store = Fact<PerClock<1>, Sse>; let shuffle = Fact<PerClock<1>, Sse>;
}

//===----------------------------------------------------------------------===//
// AArch64
//===----------------------------------------------------------------------===//

defvar V1Guide = Cited<"Arm Neoverse V1 software optimization guide">;
def NeoverseV1 : Cpu<"neoverse-v1", 64, 4> {
  let summary = "Arm Neoverse V1, its 128-bit vectors";
  let triple = "aarch64-unknown-linux-gnu";
  let cpu = "neoverse-v1";
  let clockMHz = 2600;
  let features = ["neon", "fullfp16", "dotprod", "i8mm", "bf16"];
  let memories = [
    Dram<68719476736, PerClock<8>, PerClock<6>, PerClock<8>, Cycles<300>, Guess<"one core of a server with eight channels">>,
    DataCache<"l3", "core", 33554432, 16, PerClock<12>, PerClock<10>, Cycles<60>, Guess<"system cache behind a mesh">>,
    DataCache<"l2", "core", 1048576, 8, PerClock<32>, PerClock<32>, Cycles<11>, V1Guide>,
    DataCache<"l1", "core", 65536, 4, PerClock<48>, PerClock<32>, Cycles<4>, V1Guide>,
    RegisterFile<"vector", "core", 32, 16>
  ];
  let units = [neon_fma_f32, neon_fma_f64, neon_fma_f16, neon_sdot, neon_usdot, neon_bfdot, neon_smmla, neon_ummla, neon_usmmla,
               neon_bfmmla];
  // Latencies are those of the accumulator, which is forwarded late.
  let costs = [
    UnitCost<neon_fma_f32, Cycles<1, 4>, Cycles<2>, V1Guide>, UnitCost<neon_fma_f64, Cycles<1, 4>, Cycles<2>, V1Guide>,
    UnitCost<neon_fma_f16, Cycles<1, 4>, Cycles<2>, V1Guide>, UnitCost<neon_sdot, Cycles<1, 4>, Cycles<1>, V1Guide>,
    UnitCost<neon_usdot, Cycles<1, 4>, Cycles<1>, V1Guide>, UnitCost<neon_bfdot, Cycles<1, 4>, Cycles<2>, V1Guide>,
    UnitCost<neon_smmla, Cycles<1, 4>, Cycles<1>, V1Guide>, UnitCost<neon_ummla, Cycles<1, 4>, Cycles<1>, V1Guide>,
    UnitCost<neon_usmmla, Cycles<1, 4>, Cycles<1>, V1Guide>,
    UnitCost<neon_bfmmla, Cycles<1, 4>, Cycles<3>, V1Guide>
  ];
  let fma_f32 = Fact<PerClock<4>, V1Guide>; let fma_f64 = Fact<PerClock<4>, V1Guide>;
  let add_f32 = Fact<PerClock<4>, V1Guide>; let mul_f32 = Fact<PerClock<4>, V1Guide>;
  let div_f32 = Fact<PerClock<1, 5>, V1Guide>; let sqrt_f32 = Fact<PerClock<1, 5>, V1Guide>;
  let load = Fact<PerClock<3>, V1Guide>; let broadcast_load = Fact<PerClock<3>, V1Guide>;
  let store = Fact<PerClock<2>, V1Guide>; let shuffle = Fact<PerClock<4>, V1Guide>;
  let exp2_f32 = Fact<PerClock<1, 3>, Guess<"polynomial of 12 operations">>;
  let convert_bf16_f32 = Fact<PerClock<4>, V1Guide>; let convert_f32_bf16 = Fact<PerClock<1>, V1Guide>;
}

defvar Armv8 = Guess<"a core of two 128-bit pipes">;
def Armv8a : Cpu<"armv8-a", 4, 4> {
  let summary = "any AArch64 CPU";
  let triple = "aarch64-unknown-linux-gnu";
  let cpu = "generic";
  let clockMHz = 2000;
  let features = ["neon"];
  let memories = [
    Dram<8589934592, PerClock<4>, PerClock<3>, PerClock<4>, Cycles<250>, Armv8>,
    DataCache<"l2", "core", 524288, 8, PerClock<16>, PerClock<16>, Cycles<12>, Armv8>,
    DataCache<"l1", "core", 32768, 4, PerClock<32>, PerClock<16>, Cycles<4>, Armv8>,
    RegisterFile<"vector", "core", 32, 16>
  ];
  let units = [neon_fma_f32, neon_fma_f64];
  let costs = [UnitCost<neon_fma_f32, Cycles<1, 2>, Cycles<4>, Armv8>, UnitCost<neon_fma_f64, Cycles<1, 2>, Cycles<4>, Armv8>];
  let fma_f32 = Fact<PerClock<2>, Armv8>; let add_f32 = Fact<PerClock<2>, Armv8>; let mul_f32 = Fact<PerClock<2>, Armv8>;
  let load = Fact<PerClock<2>, Armv8>; let store = Fact<PerClock<1>, Armv8>; let shuffle = Fact<PerClock<2>, Armv8>;
}
