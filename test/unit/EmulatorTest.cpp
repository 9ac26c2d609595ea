//===- EmulatorTest.cpp - Kernels, launches and counters ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that exchange values, kernels and launches that are refused, what is
/// counted. Findings: EmulatorFindingsTest.cpp.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"
#include <set>

namespace emulator_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// Lanes write their number to a scratchpad, then read their right neighbour's.
std::string neighbours(const std::string &between, const std::string &index = "%lane") {
  return R"(
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.subgroup_barrier()
llvm.func @neighbours(%out: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %mask = llvm.mlir.constant(63 : i32) : i32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %own = llvm.getelementptr %tile[)" +
         index + R"(] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %lane, %own : i32, !llvm.ptr<3>
  )" + between +
         R"(
  %next = llvm.add %lane, %one : i32
  %wrapped = llvm.and %next, %mask : i32
  %other = llvm.getelementptr %tile[%wrapped] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %value = llvm.load %other : !llvm.ptr<3> -> i32
  %place = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %value, %place : i32, !llvm.ptr<1>
  llvm.return
})";
}

void run(Emulator &device, std::vector<int32_t> &result) {
  void *out = blank(device, 256);
  launch(device, {"neighbours", {1, 1, 1}, {64, 1, 1}}, {out});
  result = download<int32_t>(device, out, 64);
}

} // namespace

TEST(Emulator, LanesExchangeThroughAScratchpad) {
  auto kernels = compileKernels(neighbours("llvm.call @tilewright.primitive.barrier() : () -> ()"));
  std::vector<int32_t> result;
  auto found = inAllModes(kernels, [&](Emulator &device) { run(device, result); });
  EXPECT_TRUE(found.empty());
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(result[i], (i + 1) % 64);
}

TEST(Emulator, FindsAMissingBarrierInEveryMode) {
  auto kernels = compileKernels(neighbours(""));
  std::vector<int32_t> result;
  std::vector<Finding> findings;
  auto found = inAllModes(kernels, [&](Emulator &device) { run(device, result); }, &findings);
  EXPECT_EQ(found[FindingKind::Race], 2);
  for (const Finding &finding : findings) {
    if (finding.kind == FindingKind::Race)
      EXPECT_NE(finding.str().find("a barrier is missing"), std::string::npos) << finding.str();
  }
}

TEST(Emulator, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(compileFailure(kernel("%w = nvvm.read.ptx.sreg.warpid : i32")).find("the emulator does not know"),
            std::string::npos);
  EXPECT_NE(compileFailure(kernel(R"(llvm.inline_asm "acme.magic;", "" : () -> ())")).find("acme.magic"),
            std::string::npos);
  EXPECT_NE(compileFailure(R"(
llvm.func @somewhere(i32)
llvm.func @k(%v: i32) attributes {tilewright.kernel} {
  llvm.call @somewhere(%v) : (i32) -> ()
  llvm.return
})")
                .find("'somewhere'"),
            std::string::npos);
}

TEST(Emulator, RefusesImpossibleLaunches) {
  auto kernels = compileKernels(kernel(""));
  Emulator device(kernels);
  std::string error;
  EXPECT_FALSE(device.launch(Launch{"other", {1, 1, 1}, {64, 1, 1}}, error));
  EXPECT_EQ(error, "no kernel 'other' (known: k)");
  EXPECT_FALSE(device.launch(Launch{"k", {1, 1, 1}, {64, 1, 1}}, error));
  EXPECT_EQ(error, "kernel 'k' takes 2 arguments, the launch gives 0");
  Launch large{"k", {1, 1, 1}, {64, 1, 1}, 1, 1 << 20};
  large.pointer(nullptr);
  large.pointer(nullptr);
  EXPECT_FALSE(device.launch(large, error));
  EXPECT_EQ(error, "kernel 'k' needs 1048832 bytes of scratchpad, simt has 65536");
  large.block = {2048, 1, 1};
  large.dynamicScratchpadBytes = 0;
  EXPECT_FALSE(device.launch(large, error));
  EXPECT_EQ(error, "2048 lanes a block; expected at most 1024");
}

// Of 64 KiB, @half and @most do not fit together: only the kernel that reaches both, one through a function, is
// refused. A launch sees of the globals those of its kernel, and two of them at different places.
TEST(Emulator, KernelsHaveTheGlobalsThatTheyReach) {
  auto kernels = compileKernels(R"(
llvm.mlir.global internal @half() {addr_space = 3 : i32} : !llvm.array<32768 x i8>
llvm.mlir.global internal @most() {addr_space = 3 : i32} : !llvm.array<49152 x i8>
llvm.mlir.global internal @word() {addr_space = 3 : i32} : i32
llvm.func internal @useMost(%v: i32) {
  %most = llvm.mlir.addressof @most : !llvm.ptr<3>
  llvm.store %v, %most : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @both(%v: i32) attributes {tilewright.kernel} {
  %half = llvm.mlir.addressof @half : !llvm.ptr<3>
  llvm.store %v, %half : i32, !llvm.ptr<3>
  llvm.call @useMost(%v) : (i32) -> ()
  llvm.return
}
llvm.func @most_and_word(%v: i32, %out: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %word = llvm.mlir.addressof @word : !llvm.ptr<3>
  %other = llvm.mlir.constant(99 : i32) : i32
  llvm.store %v, %word : i32, !llvm.ptr<3>
  llvm.call @useMost(%other) : (i32) -> ()
  %read = llvm.load %word : !llvm.ptr<3> -> i32
  llvm.store %read, %out : i32, !llvm.ptr<1>
  llvm.return
})");
  Emulator device(kernels);
  std::string error;
  int32_t seven = 7, result = 0;
  Launch both{"both", {1, 1, 1}, {1, 1, 1}};
  both.value(seven);
  EXPECT_FALSE(device.launch(both, error));
  EXPECT_EQ(error, "kernel 'both' needs 81920 bytes of scratchpad, simt has 65536");
  void *out = device.allocate(4, error);
  Launch fits{"most_and_word", {1, 1, 1}, {1, 1, 1}};
  fits.value(seven);
  fits.pointer(out);
  ASSERT_TRUE(device.launch(fits, error)) << error;
  ASSERT_TRUE(device.copyOut(&result, out, 4, error));
  EXPECT_EQ(result, 7);
  EXPECT_TRUE(device.findings().empty());
}

TEST(Emulator, ShufflesAndBallots) {
  auto kernels = compileKernels(kernel(R"(
  %v = llvm.call @tilewright.primitive.shuffle_xor(%lane, %three) : (i32, i32) -> i32
  %odd = llvm.trunc %lane : i32 to i1
  %b = llvm.call @tilewright.primitive.ballot(%odd) : (i1) -> i64
  %w = llvm.trunc %b : i64 to i32
  %x = llvm.xor %v, %w : i32
  llvm.store %x, %place : i32, !llvm.ptr<1>)"));
  std::vector<int32_t> result;
  auto found = inAllModes(kernels, [&](Emulator &device) { runKernel(device, 1, &result); });
  EXPECT_TRUE(found.empty());
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(result[i], int32_t((i ^ 3) ^ 0xaaaaaaaa));
}

TEST(EmulatorCounters, CoalescingAndBankConflicts) {
  // Words side by side: 4 sectors and 1 cycle for each of 2 subgroups; 8 words apart: 32 sectors, 8 lanes in a bank.
  auto kernels = compileKernels(kernel(R"(
  %v = llvm.load %source : !llvm.ptr<1> -> i32
  llvm.store %v, %own : i32, !llvm.ptr<3>
  )" + std::string(barrierCall) + R"(
  %far = llvm.mul %lane, %four : i32
  %mask = llvm.mlir.constant(63 : i32) : i32
  %index = llvm.and %far, %mask : i32
  %other = llvm.getelementptr %tile[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %w = llvm.load %other : !llvm.ptr<3> -> i32
  llvm.store %w, %place : i32, !llvm.ptr<1>)"));
  Emulator device(kernels);
  runKernel(device);
  KernelCounters counters = device.counters().front();
  const MemoryCounters &global = counters.memories[0], &shared = counters.memories[1];
  EXPECT_EQ(global.memory, "global");
  EXPECT_EQ(global.readBytes, 256u);
  EXPECT_EQ(global.transactions, 16u);
  EXPECT_EQ(shared.writes, 2u);
  // Lanes 0..31 read words 0, 4, .. 60 twice: 16 words in 8 banks, 2 in each.
  EXPECT_EQ(shared.cycles, 2u * 1 + 2 * 2);
  EXPECT_EQ(shared.conflictCycles, 2u * 1);
  EXPECT_TRUE(device.findings().empty());
}

} // namespace emulator_test
