//===- EmulatorClusterTest.cpp - Tensor copies, phases, clusters, barriers of some lanes ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a ring of stages with a producer is made of: tiles of arrays that complete
/// at barrier objects, named and split barriers, blocks that see each other.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"
#include <numeric>

namespace emulator_cluster_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

constexpr int rows = 20, cols = 40, tileRows = 16, tileCols = 32, originRow = 8, originCol = 16;

/// Copies a tile, waits, and gives one element a lane; then stores the tile, one added to each of these elements.
std::string tensorKernel() {
  return R"(
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<512 x f32>
llvm.mlir.global internal @phase() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.phase_init(!llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.phase_arrive(!llvm.ptr<3>)
llvm.func @tilewright.primitive.phase_expect(!llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.phase_wait(!llvm.ptr<3>, i32)
llvm.func @tilewright.primitive.copy_tensor(!llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>, i32, i32)
llvm.func @tilewright.primitive.store_tensor(!llvm.ptr<1>, !llvm.ptr<3>, i32, i32)
llvm.func @tilewright.primitive.commit_store()
llvm.func @tilewright.primitive.wait_store(i32)
llvm.func @tilewright.primitive.fence_engines()
llvm.func @k(%out: !llvm.ptr<1>, %from: !llvm.ptr<1>, %to: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %four = llvm.mlir.constant(4 : i32) : i32
  %seven = llvm.mlir.constant(7 : i32) : i32
  %eight = llvm.mlir.constant(8 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %bytes = llvm.mlir.constant(2048 : i32) : i32
  %float = llvm.mlir.constant(1.0 : f32) : f32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %phase = llvm.mlir.addressof @phase : !llvm.ptr<3>
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %first = llvm.icmp "eq" %lane, %zero : i32
  llvm.cond_br %first, ^make, ^made
^make:
  llvm.call @tilewright.primitive.phase_init(%phase, %one) : (!llvm.ptr<3>, i32) -> ()
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.br ^made
^made:
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.cond_br %first, ^copy, ^await
^copy:
  llvm.call @tilewright.primitive.phase_expect(%phase, %bytes) : (!llvm.ptr<3>, i32) -> ()
  llvm.call @tilewright.primitive.copy_tensor(%tile, %from, %phase, %sixteen, %eight)
    : (!llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>, i32, i32) -> ()
  llvm.call @tilewright.primitive.phase_arrive(%phase) : (!llvm.ptr<3>) -> ()
  llvm.br ^await
^await:
  llvm.call @tilewright.primitive.phase_wait(%phase, %zero) : (!llvm.ptr<3>, i32) -> ()
  // Element (lane / 4, 8 (lane mod 4)) lies in piece 2 (lane mod 4) ^ (row mod 8) of its row of 8 pieces.
  %row = llvm.lshr %lane, %two : i32
  %part = llvm.and %lane, %three : i32
  %piece = llvm.mul %part, %two : i32
  %turn = llvm.and %row, %seven : i32
  %place = llvm.xor %piece, %turn : i32
  %rowPieces = llvm.mul %row, %eight : i32
  %pieces = llvm.add %rowPieces, %place : i32
  %index = llvm.mul %pieces, %four : i32
  %element = llvm.getelementptr %tile[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %v = llvm.load %element : !llvm.ptr<3> -> f32
  %result = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %v, %result : f32, !llvm.ptr<1>
  %more = llvm.fadd %v, %float : f32
  llvm.store %more, %element : f32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.fence_engines() : () -> ()
  llvm.call @tilewright.primitive.barrier() : () -> ()
  llvm.cond_br %first, ^store, ^end
^store:
  llvm.call @tilewright.primitive.store_tensor(%to, %tile, %sixteen, %eight)
    : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i32) -> ()
  llvm.call @tilewright.primitive.commit_store() : () -> ()
  llvm.call @tilewright.primitive.wait_store(%zero) : (i32) -> ()
  llvm.br ^end
^end:
  llvm.return
})";
}

void runTensor(Emulator &device, bool compare) {
  std::vector<float> array(rows * cols);
  std::iota(array.begin(), array.end(), 1.0f);
  void *out = blank(device, 256), *from = upload(device, array), *to = upload(device, array);
  TensorDescriptor descriptors[2];
  for (int i = 0; i < 2; ++i) {
    descriptors[i].base = static_cast<char *>(i ? to : from);
    descriptors[i].rank = 2;
    descriptors[i].elementBytes = 4;
    descriptors[i].sizes[0] = cols;
    descriptors[i].sizes[1] = rows;
    descriptors[i].box[0] = tileCols;
    descriptors[i].box[1] = tileRows;
    descriptors[i].pitches[0] = cols * 4;
    descriptors[i].swizzleBytes = 128;
  }
  launch(device, {"k", {1, 1, 1}, {64, 1, 1}}, {out, &descriptors[0], &descriptors[1]});
  if (!compare)
    return;
  std::vector<float> result = download<float>(device, out, 64), stored = download<float>(device, to, array.size());
  for (int lane = 0; lane < 64; ++lane) {
    int row = originRow + lane / 4, col = originCol + lane % 4 * 8;
    bool inside = row < rows && col < cols;
    EXPECT_EQ(result[lane], inside ? array[row * cols + col] : 0) << lane << " " << device.mode.str();
    if (inside)
      array[row * cols + col] += 1;
  }
  EXPECT_EQ(stored, array) << device.mode.str();
}

} // namespace

TEST(EmulatorTensor, TilesArriveSwizzledAndLeaveClipped) {
  auto kernels = compileKernels(tensorKernel());
  std::vector<Finding> findings;
  auto found = inAllModes(kernels, [](Emulator &device) { runTensor(device, true); }, &findings);
  EXPECT_TRUE(found.empty()) << findings.front().str();
}

TEST(EmulatorTensor, EachRemovedStepIsFound) {
  auto kindsWithout = [](const std::string &op, int skip = 0) {
    auto kernels = compileKernels(without(tensorKernel(), primitiveCall + op, skip));
    return inAllModes(kernels, [](Emulator &device) { runTensor(device, false); });
  };
  int modes = 8; // copies and stores
  EXPECT_EQ(kindsWithout("phase_wait")[FindingKind::MissingWait], modes);
  // Early, the bytes come before the arrival and are never expected; late, the phase ends without them.
  auto unexpected = kindsWithout("phase_expect");
  EXPECT_EQ(unexpected[FindingKind::Deadlock], modes / 2);
  EXPECT_EQ(unexpected[FindingKind::MissingWait], modes / 2);
  EXPECT_EQ(kindsWithout("phase_arrive")[FindingKind::Deadlock], modes);
  EXPECT_EQ(kindsWithout("phase_init")[FindingKind::Misuse], modes);
  EXPECT_EQ(kindsWithout("barrier", 1)[FindingKind::Race], modes); // before the store
  EXPECT_EQ(kindsWithout("wait_store")[FindingKind::InFlight], modes);
}

/// Values are right on a host without fences: the order of writes, fences and engines says that one is missing.
TEST(EmulatorTensor, EachRemovedFenceIsFound) {
  EmulationTable table;
  table.fencedEngines = true;
  auto kindsOf = [&](const std::string &text) {
    auto kernels = compileKernels(text, simtChip(), table);
    return inAllModes(kernels, [](Emulator &device) { runTensor(device, true); });
  };
  int modes = 8; // copies and stores
  EXPECT_TRUE(kindsOf(tensorKernel()).empty());
  using Kinds = std::map<FindingKind, int>;
  const std::string fence = primitiveCall + std::string("fence_engines");
  EXPECT_EQ(kindsOf(without(tensorKernel(), fence)), (Kinds{{FindingKind::MissingFence, modes}}));
  EXPECT_EQ(kindsOf(without(tensorKernel(), fence, 1)), (Kinds{{FindingKind::MissingFence, modes}}));
}

TEST(EmulatorCluster, BlocksSeeEachOthersScratchpad) {
  std::string text = R"(
llvm.mlir.global internal @word() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.block_in_cluster() -> i32
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @tilewright.primitive.map_to_block(!llvm.ptr<3>, i32) -> !llvm.ptr<7>
llvm.func @tilewright.primitive.cluster_arrive()
llvm.func @tilewright.primitive.cluster_wait()
llvm.func @k(%out: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %sixtyfour = llvm.mlir.constant(64 : i32) : i32
  %words = llvm.mlir.addressof @word : !llvm.ptr<3>
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %rank = llvm.call @tilewright.primitive.block_in_cluster() : () -> i32
  %block = llvm.call @tilewright.primitive.block_x() : () -> i32
  %first = llvm.mul %block, %sixtyfour : i32
  %number = llvm.add %first, %lane : i32
  %own = llvm.getelementptr %words[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  llvm.store %number, %own : i32, !llvm.ptr<3>
  llvm.call @tilewright.primitive.cluster_arrive() : () -> ()
  llvm.call @tilewright.primitive.cluster_wait() : () -> ()
  %peer = llvm.xor %rank, %one : i32
  %other = llvm.call @tilewright.primitive.map_to_block(%own, %peer) : (!llvm.ptr<3>, i32) -> !llvm.ptr<7>
  %v = llvm.load %other : !llvm.ptr<7> -> i32
  %place = llvm.getelementptr %out[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %place : i32, !llvm.ptr<1>
  llvm.return
})";
  auto run = [](Emulator &device) {
    void *out = blank(device, 4 * 64 * 4);
    launch(device, {"k", {4, 1, 1}, {64, 1, 1}, /*cluster=*/2}, {out});
    std::vector<int32_t> result = download<int32_t>(device, out, 256);
    if (!device.findings().empty())
      return;
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(result[i], i ^ 64);
  };
  std::vector<Finding> findings;
  EXPECT_TRUE(inAllModes(compileKernels(text), run, &findings).empty()) << findings.front().str();
  std::string unordered = without(without(text, primitiveCall + std::string("cluster_arrive")),
                                  primitiveCall + std::string("cluster_wait"));
  auto found = inAllModes(compileKernels(unordered), run);
  EXPECT_EQ(found[FindingKind::Race], 2);
}

namespace {

/// The first subgroup writes, the second reads, with `writer` and `reader` between.
std::map<FindingKind, int> halves(const std::string &writer, const std::string &reader) {
  std::string text = R"(
llvm.mlir.global internal @words() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i32>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.named_barrier(i32, i32)
llvm.func @tilewright.primitive.named_barrier_arrive(i32, i32)
llvm.func @tilewright.primitive.barrier_signal()
llvm.func @tilewright.primitive.barrier_wait()
llvm.func @k(%out: !llvm.ptr<1>) attributes {tilewright.kernel} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  %thirtyone = llvm.mlir.constant(31 : i32) : i32
  %thirtytwo = llvm.mlir.constant(32 : i32) : i32
  %sixtyfour = llvm.mlir.constant(64 : i32) : i32
  %words = llvm.mlir.addressof @words : !llvm.ptr<3>
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %i = llvm.and %lane, %thirtyone : i32
  %word = llvm.getelementptr %words[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %writes = llvm.icmp "slt" %lane, %thirtytwo : i32
  llvm.cond_br %writes, ^write, ^read
^write:
  llvm.store %lane, %word : i32, !llvm.ptr<3>
)" + writer + R"(  llvm.br ^end
^read:
)" + reader + R"(  %v = llvm.load %word : !llvm.ptr<3> -> i32
  %place = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %v, %place : i32, !llvm.ptr<1>
  llvm.br ^end
^end:
  llvm.return
})";
  return inAllModes(compileKernels(text),
                    [](Emulator &device) { launch(device, {"k", {1, 1, 1}, {64, 1, 1}}, {blank(device, 128)}); });
}

std::string call(const std::string &name, const std::string &operands, const std::string &types) {
  return "  llvm.call @tilewright.primitive." + name + "(" + operands + ") : (" + types + ") -> ()\n";
}

} // namespace

TEST(EmulatorBarriers, NamedAndSplit) {
  std::string arrive = call("named_barrier_arrive", "%one, %sixtyfour", "i32, i32");
  std::string meet = call("named_barrier", "%one, %sixtyfour", "i32, i32");
  EXPECT_TRUE(halves(arrive, meet).empty());
  EXPECT_TRUE(halves(meet, meet).empty());
  // Another barrier: nobody comes; a wrong number of lanes; no barrier.
  EXPECT_EQ(halves(arrive, call("named_barrier", "%two, %sixtyfour", "i32, i32"))[FindingKind::DivergentBarrier], 2);
  auto wrong = halves(arrive, call("named_barrier", "%one, %thirtytwo", "i32, i32"));
  EXPECT_EQ(wrong[FindingKind::Misuse], 1); // where the writers come first
  EXPECT_EQ(wrong[FindingKind::Race], 1);   // where the readers meet alone
  EXPECT_GT(halves("", "")[FindingKind::Race], 0);
  std::string signal = call("barrier_signal", "", ""), await = call("barrier_wait", "", "");
  EXPECT_TRUE(halves(signal, signal + await).empty());
  EXPECT_GT(halves(signal, signal)[FindingKind::Race], 0);
}

} // namespace emulator_cluster_test
