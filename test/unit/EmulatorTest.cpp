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
#include <set>

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

namespace {

/// A kernel of 64 lanes around `body`; %lane, %out, %in (global) and %tile (64 words of scratchpad) are known.
std::string kernel(const std::string &body) {
  return R"(
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.subgroup_barrier()
llvm.func @tilewright.primitive.named_barrier(i32, i32)
llvm.func @tilewright.primitive.shuffle_xor(i32, i32) -> i32
llvm.func @tilewright.primitive.ballot(i1) -> i64
llvm.func @tilewright.primitive.copy(!llvm.ptr<3>, !llvm.ptr<1>, i32)
llvm.func @tilewright.primitive.store(!llvm.ptr<1>, !llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.commit_copy()
llvm.func @tilewright.primitive.wait_copy(i32)
llvm.func @tilewright.primitive.commit_store()
llvm.func @tilewright.primitive.wait_store(i32)
llvm.func @tilewright.primitive.phase_init(!llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.phase_arrive(!llvm.ptr<3>)
llvm.func @tilewright.primitive.phase_wait(!llvm.ptr<3>, i32)
llvm.func @k(%out: !llvm.ptr<1>, %in: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %four = llvm.mlir.constant(4 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %thirtytwo = llvm.mlir.constant(32 : i32) : i32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %own = llvm.getelementptr %tile[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %source = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %place = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  )" + body +
         R"(
  llvm.return
})";
}

constexpr const char *barrierCall = "llvm.call @tilewright.primitive.barrier() : () -> ()\n";

/// Runs the kernel on 64 lanes and two arrays of 64 words, %in holding 0, 1, ...; `blocks` of them.
void runKernel(Emulator &device, unsigned blocks = 1, std::vector<int32_t> *result = nullptr, unsigned cluster = 1) {
  std::string error;
  void *out = device.allocate(256, error), *in = device.allocate(256, error);
  std::vector<int32_t> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = i;
  device.copyIn(in, values.data(), 256, error);
  Launch launch{"k", {blocks, 1, 1}, {64, 1, 1}, cluster};
  launch.pointer(out);
  launch.pointer(in);
  ASSERT_TRUE(device.launch(launch, error)) << error;
  device.copyOut(values.data(), out, 256, error);
  if (result)
    *result = values;
}

/// What is found in the modes of a kernel with `body`: kinds that every mode shows.
std::set<FindingKind> kindsOf(const std::string &body, unsigned blocks = 1) {
  std::vector<Finding> findings;
  auto kernels = compileKernels(kernel(body));
  if (!kernels)
    return {};
  size_t modes = allModes(kernels->engines()).size();
  auto found = inAllModes(kernels, [&](Emulator &device) { runKernel(device, blocks); }, &findings);
  std::set<FindingKind> kinds;
  for (auto [kind, count] : found) {
    EXPECT_EQ(size_t(count), modes) << findingName(kind).str();
    kinds.insert(kind);
  }
  for (const Finding &finding : findings) {
    EXPECT_EQ(finding.kernel, "k");
    EXPECT_EQ(finding.location.substr(0, 12), "kernel.mlir:") << finding.str();
  }
  return kinds;
}
using Kinds = std::set<FindingKind>;

} // namespace

TEST(EmulatorFindings, Uninitialised) {
  EXPECT_EQ(kindsOf(R"(
  %v = llvm.load %own : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"),
            Kinds{FindingKind::Uninitialised});
}

/// What nobody has written is a NaN in every type of floats: also where nothing is checked, and behind what was
/// written.
TEST(EmulatorFindings, UnwrittenScratchpadIsNaN) {
  auto kernels = compileKernels(kernel(R"(
  %some = llvm.icmp "slt" %lane, %sixteen : i32
  llvm.cond_br %some, ^write, ^read
^write:
  llvm.store %lane, %own : i32, !llvm.ptr<3>
  llvm.br ^read
^read:
  %v = llvm.load %own : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"));
  ASSERT_TRUE(kernels);
  for (bool checks : {false, true}) {
    Emulator device(kernels);
    device.checks = checks;
    std::vector<int32_t> result;
    for (int launch = 0; launch < 2; ++launch) // of the second one, too: blocks leave nothing behind
      runKernel(device, /*blocks=*/1, &result);
    for (int lane = 0; lane < 64; ++lane)
      EXPECT_EQ(result[lane], lane < 16 ? lane : -1) << lane;
    EXPECT_EQ(device.findings().size(), checks ? 1u : 0u);
    for (const Finding &finding : device.findings())
      EXPECT_EQ(finding.kind, FindingKind::Uninitialised) << finding.str();
  }
}

TEST(EmulatorFindings, OutOfBoundsOfScratchpadAndBuffer) {
  const char *body = R"(
  %behind = llvm.getelementptr %own[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  llvm.store %lane, %behind : i32, !llvm.ptr<3>)";
  EXPECT_EQ(kindsOf(body), Kinds{FindingKind::OutOfBounds});
  EXPECT_EQ(kindsOf(R"(
  %before = llvm.getelementptr %source[-1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %v = llvm.load %before : !llvm.ptr<1> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"),
            Kinds{FindingKind::OutOfBounds});
}

TEST(EmulatorFindings, Misaligned) {
  EXPECT_EQ(kindsOf(R"(
  %odd = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i16
  %v = llvm.load %odd : !llvm.ptr<1> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"),
            Kinds{FindingKind::Misaligned});
  EXPECT_EQ(kindsOf(R"(
  %odd = llvm.getelementptr %own[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %half = llvm.trunc %lane : i32 to i16
  llvm.store %half, %odd : i16, !llvm.ptr<3>)"),
            Kinds{FindingKind::Misaligned});
  // The type's own alignment is met, not the one that the op states.
  EXPECT_EQ(kindsOf(R"(
  %v = llvm.load %in {alignment = 16 : i64} : !llvm.ptr<1> -> i32
  llvm.store %v, %own {alignment = 8 : i64} : i32, !llvm.ptr<3>)"),
            Kinds{FindingKind::Misaligned});
}

TEST(EmulatorFindings, DivergentBarrier) {
  const char *half = R"(
  %some = llvm.icmp "slt" %lane, %sixteen : i32
  llvm.cond_br %some, ^meet, ^end
^meet:
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.br ^end
^end:)";
  EXPECT_EQ(kindsOf(half), Kinds{FindingKind::DivergentBarrier});
  const char *two = R"(
  %some = llvm.icmp "slt" %lane, %sixteen : i32
  llvm.cond_br %some, ^one, ^other
^one:
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.br ^end
^other:
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.br ^end
^end:)";
  EXPECT_EQ(kindsOf(two), Kinds{FindingKind::DivergentBarrier});
}

TEST(EmulatorFindings, DivergentCollective) {
  EXPECT_EQ(kindsOf(R"(
  %some = llvm.icmp "slt" %lane, %three : i32
  llvm.cond_br %some, ^meet, ^end
^meet:
  %v = llvm.call @tilewright.primitive.shuffle_xor(%lane, %one) : (i32, i32) -> i32
  llvm.br ^end
^end:)"),
            Kinds{FindingKind::DivergentCollective});
}

TEST(EmulatorFindings, Deadlock) {
  // Nobody arrives at the phase that all wait for.
  EXPECT_EQ(kindsOf(std::string(R"(
  %first = llvm.icmp "eq" %lane, %zero : i32
  llvm.cond_br %first, ^make, ^go
^make:
  llvm.call @tilewright.primitive.phase_init(%tile, %one) : (!llvm.ptr<3>, i32) -> ()
  llvm.br ^go
^go:
  )") + barrierCall +
                    R"(
  llvm.call @tilewright.primitive.phase_wait(%tile, %zero) : (!llvm.ptr<3>, i32) -> ())"),
            Kinds{FindingKind::Deadlock});
}

TEST(EmulatorFindings, MisuseOfAPhaseBarrier) {
  EXPECT_EQ(kindsOf("llvm.call @tilewright.primitive.phase_arrive(%tile) : (!llvm.ptr<3>) -> ()"),
            Kinds{FindingKind::Misuse});
}

TEST(EmulatorFindings, PhaseBarrierOrders) {
  // Lane 0 writes and arrives, the others wait and read: no finding.
  EXPECT_EQ(kindsOf(std::string(R"(
  %first = llvm.icmp "eq" %lane, %zero : i32
  %word = llvm.getelementptr %tile[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
  llvm.cond_br %first, ^make, ^go
^make:
  llvm.call @tilewright.primitive.phase_init(%tile, %one) : (!llvm.ptr<3>, i32) -> ()
  llvm.br ^go
^go:
  )") + barrierCall +
                    R"(
  llvm.cond_br %first, ^write, ^read
^write:
  llvm.store %three, %word : i32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.phase_arrive(%tile) : (!llvm.ptr<3>) -> ()
  llvm.br ^read
^read:
  llvm.call @tilewright.primitive.phase_wait(%tile, %zero) : (!llvm.ptr<3>, i32) -> ()
  %v = llvm.load %word : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"),
            Kinds{});
}

TEST(EmulatorFindings, MissingWaitForACopy) {
  std::string copy =
      "llvm.call @tilewright.primitive.copy(%own, %source, %four) : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()\n"
      "llvm.call @tilewright.primitive.commit_copy() : () -> ()\n";
  std::string read = R"(
  %v = llvm.load %own : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)";
  EXPECT_EQ(kindsOf(copy + "llvm.call @tilewright.primitive.wait_copy(%zero) : (i32) -> ()\n" + read), Kinds{});
  EXPECT_EQ(kindsOf(copy + read), (Kinds{FindingKind::MissingWait, FindingKind::InFlight}));
  // Nobody reads it, but the scratchpad may be another block's when it comes.
  EXPECT_EQ(kindsOf(copy), Kinds{FindingKind::InFlight});
}

TEST(EmulatorFindings, WaitWithoutBarrierIsARace) {
  EXPECT_EQ(kindsOf(R"(
  llvm.call @tilewright.primitive.copy(%own, %source, %four) : (!llvm.ptr<3>, !llvm.ptr<1>, i32) -> ()
  llvm.call @tilewright.primitive.commit_copy() : () -> ()
  llvm.call @tilewright.primitive.wait_copy(%zero) : (i32) -> ()
  %l = llvm.call @tilewright.primitive.shuffle_xor(%lane, %one) : (i32, i32) -> i32
  %other = llvm.getelementptr %tile[%l] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %other : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)"),
            Kinds{FindingKind::Race});
}

TEST(EmulatorFindings, StoreStillReadingWhenTheBlockEnds) {
  std::string store = R"(
  llvm.store %lane, %own : i32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.store(%place, %own, %four) : (!llvm.ptr<1>, !llvm.ptr<3>, i32) -> ()
  llvm.call @tilewright.primitive.commit_store() : () -> ()
  )";
  EXPECT_EQ(kindsOf(store), Kinds{FindingKind::InFlight});
  EXPECT_EQ(kindsOf(store + "llvm.call @tilewright.primitive.wait_store(%zero) : (i32) -> ()"), Kinds{});
  // Overwriting what the engine may not have read yet.
  EXPECT_EQ(kindsOf(store + R"(
  llvm.store %zero, %own : i32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.wait_store(%zero) : (i32) -> ())"),
            Kinds{FindingKind::MissingWait});
}

TEST(EmulatorFindings, RaceOfTwoBlocks) {
  EXPECT_EQ(kindsOf("llvm.store %lane, %place : i32, !llvm.ptr<1>", 2), Kinds{FindingKind::Race});
  EXPECT_EQ(kindsOf("%old = llvm.atomicrmw add %place, %one monotonic : !llvm.ptr<1>, i32", 2), Kinds{});
}

TEST(EmulatorFindings, SubgroupBarrierOrdersItsLanesOnly) {
  std::string exchange = R"(
  llvm.store %lane, %own : i32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.subgroup_barrier() : () -> ()
  %l = llvm.xor %lane, %DISTANCE : i32
  %other = llvm.getelementptr %tile[%l] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %other : !llvm.ptr<3> -> i32
  llvm.store %v, %place : i32, !llvm.ptr<1>)";
  auto with = [&](const char *distance) {
    std::string text = exchange;
    text.replace(text.find("DISTANCE"), 8, distance);
    return kindsOf(text);
  };
  EXPECT_EQ(with("one"), Kinds{});
  EXPECT_TRUE(with("thirtytwo").count(FindingKind::Race));
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
