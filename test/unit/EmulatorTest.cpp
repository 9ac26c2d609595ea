//===- EmulatorTest.cpp - Findings of emulated kernels --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each kind of finding planted once, and the same kernel without the fault, which
/// must be silent in every mode.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"

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
  %own = llvm.getelementptr %tile[)" + index + R"(] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %lane, %own : i32, !llvm.ptr<3>
  )" + between + R"(
  %next = llvm.add %lane, %one : i32
  %wrapped = llvm.and %next, %mask : i32
  %other = llvm.getelementptr %tile[%wrapped] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %value = llvm.load %other : !llvm.ptr<3> -> i32
  %place = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %value, %place : i32, !llvm.ptr<1>
  llvm.return
})";
}

void run(Emulator &device, std::vector<int32_t> &result, int bytes = 256) {
  std::string error;
  void *out = device.allocate(bytes, error);
  Launch launch{"neighbours", {1, 1, 1}, {64, 1, 1}};
  launch.pointer(out);
  ASSERT_TRUE(device.launch(launch, error)) << error;
  result.resize(64);
  device.copyOut(result.data(), out, bytes, error);
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
