//===- Chips.td - Cores with SME -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One chip for each streaming vector length: code is not agnostic of it.
//
//===----------------------------------------------------------------------===//

include "dialects/Chip/Chip.td"
include "MatrixUnits.td"

defvar Assumed = Guess<"numbers of a large core: replace them by your data sheet">;

class SmeCore<int svl> : Chip<"sme" # svl> {
  let summary = "cores with SME, streaming vectors of " # svl # " bits";
  let triple = "aarch64-unknown-linux-gnu";
  let cpu = "generic";
  let features = ["sme"];
  let clockMHz = 3000;
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, !div(svl, 32)>];
  let memories = [
    Memory<"global", "core", 17179869184, PerClock<16>, Cycles<300>, Assumed>,
    Cache<"l2", "core", 2097152, PerClock<64>, Cycles<15>, /*line bytes*/ 64, /*ways*/ 8, Assumed>,
    Cache<"l1", "core", 65536, PerClock<128>, Cycles<5>, 64, 4, Assumed>,
    RegisterFile<"vector", "core", 32, /*bytes*/ !div(svl, 8)>
  ];
  let units = [
    !cast<MatrixUnit>("fmopa_f32_" # svl), !cast<MatrixUnit>("fmopa_f16_" # svl), !cast<MatrixUnit>("bfmopa_" # svl),
    !cast<MatrixUnit>("smopa_i8_" # svl), !cast<MatrixUnit>("umopa_i8_" # svl),
    !cast<MatrixUnit>("sumopa_i8_" # svl), !cast<MatrixUnit>("usmopa_i8_" # svl), fmla_f32
  ];
  let fma_f32 = Fact<PerClock<2>, Assumed>; let add_f32 = Fact<PerClock<2>, Assumed>;
  let mul_f32 = Fact<PerClock<2>, Assumed>; let load = Fact<PerClock<2>, Assumed>;
  let broadcast_load = Fact<PerClock<2>, Assumed>; let store = Fact<PerClock<1>, Assumed>;
  let shuffle = Fact<PerClock<1>, Assumed>; let exp2_f32 = Fact<PerClock<1, 6>, Assumed>;
}
foreach svl = [256, 512] in
  def Sme # svl : SmeCore<svl>;
