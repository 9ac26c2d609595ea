//===- EmulatorFindingsTest.cpp - What the emulator finds in wrong kernels --- ===//
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

namespace emulator_findings_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

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
    EXPECT_TRUE(llvm::StringRef(finding.op).starts_with("llvm.") ||
                llvm::StringRef(finding.op).starts_with("tilewright.primitive."))
        << finding.str();
  }
  return kinds;
}
using Kinds = std::set<FindingKind>;

} // namespace

/// A finding is one line: what, in which kernel, by which op and where, and what of it.
TEST(EmulatorFindings, SayKernelOpAndLocation) {
  std::vector<Finding> findings;
  inAllModes(
      compileKernels(kernel("llvm.store %lane, %own {alignment = 8 : i64} : i32, !llvm.ptr<3>")),
      [](Emulator &device) { runKernel(device, 1); }, &findings);
  ASSERT_FALSE(findings.empty());
  std::string line = findings.front().str();
  auto [place, said] = llvm::StringRef(line).split(" ");
  EXPECT_TRUE(place.starts_with("kernel.mlir:")) << place.str();
  EXPECT_EQ(said.str(), "misaligned: kernel k, llvm.store: lane 1 of block (0, 0, 0) writes 4 bytes at byte 4 of "
                        "scratchpad memory; the access needs an alignment of 8 [32 times]");
}

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

/// Lane 0 makes a barrier object that one arrival ends; then all lanes are at a barrier.
static const std::string makePhase = std::string(R"(
  %first = llvm.icmp "eq" %lane, %zero : i32
  llvm.cond_br %first, ^make, ^go
^make:
  llvm.call @tilewright.primitive.phase_init(%tile, %one) : (!llvm.ptr<3>, i32) -> ()
  llvm.br ^go
^go:
  )") + barrierCall;

TEST(EmulatorFindings, Deadlock) {
  // Nobody arrives at the phase that all wait for.
  EXPECT_EQ(kindsOf(makePhase + R"(
  llvm.call @tilewright.primitive.phase_wait(%tile, %zero) : (!llvm.ptr<3>, i32) -> ())"),
            Kinds{FindingKind::Deadlock});
}

TEST(EmulatorFindings, MisuseOfAPhaseBarrier) {
  EXPECT_EQ(kindsOf("llvm.call @tilewright.primitive.phase_arrive(%tile) : (!llvm.ptr<3>) -> ()"),
            Kinds{FindingKind::Misuse});
}

TEST(EmulatorFindings, PhaseBarrierOrders) {
  // Lane 0 writes and arrives, the others wait and read: no finding.
  EXPECT_EQ(kindsOf(makePhase + R"(
  %word = llvm.getelementptr %tile[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
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

} // namespace emulator_findings_test
