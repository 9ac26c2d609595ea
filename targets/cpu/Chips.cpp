//===- Chips.cpp - Tables of the CPU chips ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// First tables of the CPU chips and their units.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"

using namespace tilewright;

/// C[1 x n] += A[1 x k] broadcast * B[k x n] in one vector register whose lanes hold k consecutive rows of a column.
static MatrixUnit vectorUnit(std::string name, int64_t n, int64_t k, ElementKind a, ElementKind b, ElementKind c,
                             double issue, double latency, std::vector<std::string> features, Emission emit) {
  MatrixUnit unit;
  unit.name = std::move(name);
  unit.m = 1;
  unit.n = n;
  unit.k = k;
  unit.a = {a, Residence::BroadcastScalar, 1, k, rowMajorLayout(1, k)};
  unit.b = {b, Residence::VectorRegister, k, n, columnMajorLayout(k, n)};
  unit.c = {c, Residence::VectorRegister, 1, n, rowMajorLayout(1, n)};
  unit.issue = issue;
  unit.latency = latency;
  unit.source = "measured on a Zen 4 server";
  unit.features = std::move(features);
  unit.emit = std::move(emit);
  return unit;
}

static Emission fma() { return {EmissionKind::MlirOp, "llvm.intr.fma", {"A", "B", "C"}}; }
static Emission dot(std::string name) { return {EmissionKind::LlvmIntrinsic, std::move(name), {"C", "A", "B"}}; }

static std::vector<MatrixUnit> avx512Units() {
  using enum ElementKind;
  return {
      vectorUnit("cpu.avx512_fma_f32", 16, 1, F32, F32, F32, 1.0, 4, {"avx512f"}, fma()),
      vectorUnit("cpu.avx512_fma_f64", 8, 1, F64, F64, F64, 1.0, 4, {"avx512f"}, fma()),
      vectorUnit("cpu.avx512_dpbf16", 16, 2, BF16, BF16, F32, 1.0, 6, {"avx512bf16"},
                 dot("llvm.x86.avx512bf16.dpbf16ps.512")),
      vectorUnit("cpu.avx512_dpbusd", 16, 4, U8, I8, I32, 1.0, 4, {"avx512vnni"}, dot("llvm.x86.avx512.vpdpbusd.512")),
      vectorUnit("cpu.avx2_fma_f32", 8, 1, F32, F32, F32, 0.5, 4, {"avx2", "fma"}, fma()),
      vectorUnit("cpu.avx2_fma_f64", 4, 1, F64, F64, F64, 0.5, 4, {"avx2", "fma"}, fma())};
}

static ChipTable zen4() {
  ChipTable chip;
  chip.name = "zen4";
  chip.summary = "AMD Zen 4 server core";
  chip.triple = "x86_64-unknown-linux-gnu";
  chip.cpu = "znver4";
  chip.features = {"avx2",     "fma",      "f16c",     "avx512f",    "avx512bw",
                   "avx512vl", "avx512dq", "avx512cd", "avx512vnni", "avx512bf16"};
  chip.clockMHz = 3680;
  chip.levels = {{"core", LevelKind::Parallel, 2}, {"lane", LevelKind::Lockstep, 16}};
  chip.memories = {{.name = "global",
                    .level = "core",
                    .kind = MemoryKind::Global,
                    .bytes = int64_t(24) << 30,
                    .bytesPerClock = 7.8,
                    .latency = 600,
                    .pageBytes = 4096},
                   {.name = "l3",
                    .level = "core",
                    .kind = MemoryKind::Cache,
                    .bytes = 32 << 20,
                    .bytesPerClock = 25,
                    .latency = 50,
                    .lineBytes = 64,
                    .ways = 16},
                   {.name = "l2",
                    .level = "core",
                    .kind = MemoryKind::Cache,
                    .bytes = 1 << 20,
                    .bytesPerClock = 30,
                    .latency = 14,
                    .lineBytes = 64,
                    .ways = 8},
                   {.name = "l1",
                    .level = "core",
                    .kind = MemoryKind::Cache,
                    .bytes = 32 << 10,
                    .bytesPerClock = 60,
                    .latency = 4,
                    .lineBytes = 64,
                    .ways = 8},
                   {.name = "vector",
                    .level = "core",
                    .kind = MemoryKind::RegisterFile,
                    .bytes = 32 * 64,
                    .entries = 32,
                    .entryBytes = 64}};
  chip.units = avx512Units();
  chip.rates = {{"load", 1, "measured"}, {"store", 0.5, "measured"}, {"shuffle", 1, "measured"}, {"ldexp.f32", 1, "AVX-512 scalef"}, {"ldexp.f64", 1, "AVX-512 scalef"}};
  return chip;
}

const std::vector<ChipTable> &cpu::chips() {
  static const std::vector<ChipTable> all = {zen4()};
  return all;
}

ChipTable cpu::host() {
  ChipTable chip = zen4();
  chip.name = "host";
  return chip;
}
