//===- BareBarrierTest.cpp - Barriers that accesses pass -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lanes hand values to each other over a bare barrier: each of the three steps that
/// order their accesses is missed where it is needed, and only there.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"
#include <set>

namespace bare_barrier_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

const std::string call = "llvm.call @tilewright.primitive.";
const std::string hold = call + "hold_accesses() : () -> ()\n";
const std::string complete = call + "complete_accesses() : () -> ()\n";
const std::string bare = call + "bare_barrier() : () -> ()\n";
const std::string acquire = call + "acquire_accesses() : () -> ()\n";
const std::string writes = "llvm.store %lane, %own : i32, !llvm.ptr<3>\n";
const std::string again = "llvm.store %one, %own : i32, !llvm.ptr<3>\n";
const std::string reads = R"(
  %far = llvm.xor %lane, %thirtytwo : i32
  %other = llvm.getelementptr %tile[%far] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %v = llvm.load %other : !llvm.ptr<3> -> i32
)";

/// Findings of a kernel of two subgroups; every mode must show the same kinds.
std::set<FindingKind> kindsOf(const std::string &body, std::string *text = nullptr) {
  auto kernels = compileKernels(kernel(body));
  if (!kernels)
    return {};
  std::vector<Finding> findings;
  auto found = inAllModes(kernels, [&](Emulator &device) { runKernel(device); }, &findings);
  std::set<FindingKind> kinds;
  for (auto [kind, count] : found) {
    EXPECT_EQ(size_t(count), allModes(kernels->engines()).size()) << findingName(kind).str();
    kinds.insert(kind);
  }
  if (text && !findings.empty())
    *text = findings.front().str();
  return kinds;
}
using Kinds = std::set<FindingKind>;
const Kinds missing{FindingKind::MissingFence};

} // namespace

TEST(BareBarrier, OrdersWhatIsHeldCompletedAndAcquired) {
  EXPECT_EQ(kindsOf(writes + hold + complete + bare + acquire + reads), Kinds{});
  EXPECT_EQ(kindsOf(writes + complete + bare + acquire + reads), missing);
  EXPECT_EQ(kindsOf(writes + hold + bare + acquire + reads), missing);
  EXPECT_EQ(kindsOf(writes + hold + complete + bare + reads), missing);
  EXPECT_EQ(kindsOf(writes + hold + complete + acquire + reads),
            (Kinds{FindingKind::Race, FindingKind::Uninitialised})); // no barrier
}

TEST(BareBarrier, StepsInTheWrongOrderDoNothing) {
  EXPECT_EQ(kindsOf(writes + complete + hold + bare + acquire + reads), missing); // waits before the write is held
  EXPECT_EQ(kindsOf(hold + complete + writes + bare + acquire + reads), missing);
  EXPECT_EQ(kindsOf(writes + hold + complete + acquire + bare + reads), missing);
  EXPECT_EQ(kindsOf(writes + bare + hold + complete + acquire + reads), missing);
}

TEST(BareBarrier, OrdersReadsBeforeWrites) {
  const std::string handed = writes + hold + complete + bare + acquire + reads;
  EXPECT_EQ(kindsOf(handed + hold + complete + bare + acquire + again), Kinds{});
  EXPECT_EQ(kindsOf(handed + bare + acquire + again), missing);
  EXPECT_EQ(kindsOf(handed + hold + complete + bare + again), missing);
}

TEST(BareBarrier, ALaterBarrierMakesUpForAnEarlierOne) {
  EXPECT_EQ(kindsOf(writes + bare + hold + complete + bare + acquire + reads), Kinds{});
  EXPECT_EQ(kindsOf(writes + hold + complete + bare + bare + acquire + reads), Kinds{});
}

/// What a fence comes too late for is missed, though the writer has long gone past a second one.
TEST(BareBarrier, NamesBothAccessesAndTheFence) {
  std::string text;
  EXPECT_EQ(kindsOf(writes + bare + acquire + reads + hold + complete + bare + acquire, &text), missing);
  for (const char *part : {"kernel.mlir:", "missing-fence: kernel k, llvm.load: lane ", " of scratchpad memory",
                           "its write by lane ", "the barrier between them lets accesses pass",
                           "missing between the first access and it", "the other: llvm.store at kernel.mlir:"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(kindsOf(writes + hold + complete + bare + reads, &text), missing);
  EXPECT_NE(text.find("missing between it and the second access"), std::string::npos) << text;
}

/// What a copy has brought and its lane awaited needs no wait of the lane's own, only the others' order.
TEST(BareBarrier, PassesCopiesOn) {
  const std::string copy = "llvm.call @tilewright.primitive.copy(%own, %source, %four) : (!llvm.ptr<3>, !llvm.ptr<1>, "
                           "i32) -> ()\n" +
                           call + "commit_copy() : () -> ()\n";
  const std::string wait = call + "wait_copy(%zero) : (i32) -> ()\n";
  EXPECT_EQ(kindsOf(copy + wait + bare + acquire + reads), Kinds{});
  EXPECT_EQ(kindsOf(copy + wait + bare + reads), missing);
  EXPECT_TRUE(kindsOf(copy + bare + acquire + reads + wait).count(FindingKind::MissingWait));
}

} // namespace bare_barrier_test
