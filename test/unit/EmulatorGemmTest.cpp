//===- EmulatorGemmTest.cpp - A matrix product through lanes, copies and units ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel that upstream's passes lowered, on the records of a real chip: exact
/// results in every mode, counters against numbers worked out by hand, and each
/// synchronisation removed in turn.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"
#include "core/Runtime/Array.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tilewright/Target.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <ctime>

namespace emulator_gemm_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

EmulationTable nvvmTable() {
  EmulationTable table;
  table.fact("nvvm.read.ptx.sreg.tid.x", LaneFact::LaneX);
  table.fact("nvvm.read.ptx.sreg.ctaid.x", LaneFact::BlockX);
  table.fact("nvvm.read.ptx.sreg.ctaid.y", LaneFact::BlockY);
  table.on("nvvm.barrier0", [](mlir::Operation *, EmulationBuilder &b) {
    b.barrier();
    return mlir::success();
  });
  table.on("nvvm.cp.async.shared.global", [](mlir::Operation *op, EmulationBuilder &b) {
    auto copy = llvm::cast<mlir::NVVM::CpAsyncOp>(op);
    b.copyAsync(Engine::Copy, copy.getDst(), copy.getSrc(), copy.getSize());
    return mlir::success();
  });
  table.on("nvvm.cp.async.commit.group", [](mlir::Operation *, EmulationBuilder &b) {
    b.commit(Engine::Copy);
    return mlir::success();
  });
  table.on("nvvm.cp.async.wait.group", [](mlir::Operation *op, EmulationBuilder &b) {
    b.wait(Engine::Copy, b.constant(32, llvm::cast<mlir::NVVM::CpAsyncWaitGroupOp>(op).getN()));
    return mlir::success();
  });
  table.on("nvvm.ldmatrix", [](mlir::Operation *op, EmulationBuilder &b) {
    auto load = llvm::cast<mlir::NVVM::LdMatrixOp>(op);
    bool transpose = load.getLayout() == mlir::NVVM::MMALayout::col;
    llvm::SmallVector<mlir::Value> words = b.loadMatrices(load.getPtr(), load.getNum(), transpose);
    mlir::Value result = mlir::LLVM::PoisonOp::create(b.ir(), b.loc(), load.getType());
    for (auto [i, word] : llvm::enumerate(words))
      result = mlir::LLVM::InsertValueOp::create(b.ir(), b.loc(), result, word,
                                                 llvm::ArrayRef<int64_t>{static_cast<int64_t>(i)});
    b.replace(result);
    return mlir::success();
  });
  table.on("nvvm.mma.sync", [](mlir::Operation *op, EmulationBuilder &b) {
    b.replace(b.unit("nvidia.mma_m16n8k16_f16_f32", op->getOperands(), op->getResult(0).getType()));
    return mlir::success();
  });
  return table;
}

std::shared_ptr<const TargetDescription> chip() {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  auto description = TargetRegistry::get().describe("nvidia:A100");
  if (!description) {
    llvm::consumeError(description.takeError());
    return nullptr;
  }
  return *description;
}

std::string kernelText() {
  auto file = llvm::MemoryBuffer::getFile(TILEWRIGHT_SOURCE_DIR "/test/unit/Inputs/gemm-256.mlir");
  return file ? (*file)->getBuffer().str() : "";
}

constexpr int size = 256;

struct Product {
  std::vector<uint16_t> a, b;
  std::vector<float> expected;
  Product() : a(size * size), b(size * size), expected(size * size) {
    // Small whole numbers / 8: every sum is exact.
    for (int i = 0; i < size * size; ++i) {
      a[i] = floatToHalf(float((i * 7 + i / size) % 17 - 8) / 8);
      b[i] = floatToHalf(float((i * 5 + i / size * 3) % 13 - 6) / 8);
    }
    std::vector<float> fa(size * size), fb(size * size);
    for (int i = 0; i < size * size; ++i) {
      fa[i] = halfToFloat(a[i]);
      fb[i] = halfToFloat(b[i]);
    }
    for (int i = 0; i < size; ++i)
      for (int k = 0; k < size; ++k)
        for (int j = 0; j < size; ++j)
          expected[i * size + j] += fa[i * size + k] * fb[k * size + j];
  }
};

const Product &product() {
  static const Product made;
  return made;
}

/// Largest difference; a NaN counts as infinite.
double run(Emulator &device) {
  void *a = upload(device, product().a), *b = upload(device, product().b), *c = blank(device, size * size * 4);
  launch(device, {"gemm", {4, 4, 1}, {128, 1, 1}}, {a, b, c});
  std::vector<float> result = download<float>(device, c, size * size);
  double worst = 0;
  for (int i = 0; i < size * size; ++i) {
    double difference = std::abs(result[i] - product().expected[i]);
    worst = difference <= worst ? worst : difference; // takes a NaN
  }
  return worst;
}

std::shared_ptr<EmulatedKernels> compiled(const std::string &text) { return compileKernels(text, chip(), nvvmTable()); }

} // namespace

#define NEEDS_CHIP()                                                                                                   \
  if (!chip())                                                                                                         \
  GTEST_SKIP() << "target nvidia is not linked into this build"

TEST(EmulatorGemm, IsExactAndCleanInEveryMode) {
  NEEDS_CHIP();
  std::vector<Finding> findings;
  auto found = inAllModes(compiled(kernelText()), [&](Emulator &device) { EXPECT_EQ(run(device), 0); }, &findings);
  EXPECT_TRUE(found.empty()) << findings.front().str();
}

TEST(EmulatorGemm, CountsWhatTheMemorySystemSees) {
  NEEDS_CHIP();
  Emulator device(compiled(kernelText()));
  run(device);
  ASSERT_EQ(device.counters().size(), 1u);
  KernelCounters counters = device.counters().front();
  EXPECT_EQ(counters.blocks, 16u);
  EXPECT_EQ(counters.lanes, 2048u);
  ASSERT_EQ(counters.units.size(), 1u);
  EXPECT_EQ(counters.units[0].issues, 8192u); // 256^3 / (16 * 8 * 16)
  EXPECT_EQ(counters.units[0].cycles, 8192 * 8.0);
  // Of each of 64 subgroups, with 8 steps: copies, loads of matrices and stores of pairs; commits, waits and barriers,
  // two a step; three numbers of lane and block that become 64 bits wide.
  std::map<std::string, uint64_t> instructions(counters.instructions.begin(), counters.instructions.end());
  EXPECT_EQ(instructions["memory"], 64u * (8 * 4 + 8 * 8 + 32 * 32 / 64));
  EXPECT_EQ(instructions["synchronise"], 64u * (9 + 8 + 2 * 8));
  EXPECT_EQ(instructions["convert"], 64u * 3);
  EXPECT_EQ(instructions["float"], 0u);
  const MemoryCounters &global = counters.memories[0], &shared = counters.memories[1];
  EXPECT_EQ(global.readBytes, 4u * (size * size * 2) * 2); // each block row of A and column of B four times
  EXPECT_EQ(global.writtenBytes, size * size * 4u);
  EXPECT_EQ(global.transactions, (global.readBytes + global.writtenBytes) / 32);
  EXPECT_EQ(shared.writtenBytes, global.readBytes);
  EXPECT_EQ(shared.readBytes, 16u * 8 * 4 * 8 * 512); // blocks, k steps, subgroups, instructions, bytes
  // Rows of 80 bytes: 8 lanes write two rows whose last and first 4 banks are the same. All else is free of conflicts.
  EXPECT_EQ(shared.conflictCycles, 16u * 8 * 2 * 4 * 4);
  for (const SiteCounters &site : counters.sites) {
    if (site.op == "nvvm.ldmatrix")
      EXPECT_EQ(site.conflictCycles, 0u) << site.location;
  }
}

TEST(EmulatorGemm, EachRemovedSynchronisationIsFound) {
  NEEDS_CHIP();
  std::string text = kernelText();
  for (const char *op : {"nvvm.barrier0", "nvvm.cp.async.wait.group", "nvvm.cp.async.commit.group"}) {
    const int count = countOf(text, op);
    size_t end = 0; // of the line
    for (int found = 0; found < count; ++found) {
      end = text.find('\n', text.find(op, end));
      std::vector<Finding> findings;
      auto kinds = inAllModes(compiled(without(text, op, found)), [](Emulator &device) { run(device); }, &findings);
      // The group that is closed just before waiting for all is empty: needless.
      if (text.substr(end, 60).find("wait.group 0") != std::string::npos)
        EXPECT_TRUE(kinds.empty()) << findings.front().str();
      else
        EXPECT_FALSE(kinds.empty()) << op << " number " << found;
      // By happens-before: in every mode, whatever the schedule was. Whether it is called a race or a missing wait
      // depends on the schedule, as does whether a lane reads before anybody has written.
      EXPECT_TRUE(kinds.empty() || kinds[FindingKind::Race] + kinds[FindingKind::MissingWait] >= 4)
          << op << " number " << found;
    }
    EXPECT_GT(count, 0);
  }
}

#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
static constexpr bool slowBuild = true;
#elif defined(__has_feature)
static constexpr bool slowBuild = __has_feature(address_sanitizer);
#else
static constexpr bool slowBuild = false;
#endif

/// Seconds of the processor that `work` takes of this thread: other processes do not count.
static double processorSeconds(llvm::function_ref<void()> work) {
  auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  double begin = now();
  work();
  return now() - begin;
}

/// The emulator runs in the thread that launches. Its time is measured in those of a chain of additions, each of which
/// waits for the one before, so that the bounds hold on slower processors, too.
TEST(EmulatorGemm, IsFastEnoughForTests) {
  NEEDS_CHIP();
  auto kernels = compiled(kernelText());
  const char *variable = std::getenv("TILEWRIGHT_FULL");
  bool full = variable && llvm::StringRef(variable) == "1";
  constexpr int additions = 1 << 20;
  double plain = 1e9, counted = 1e9, both = 1e9, chain = 1e9;
  for (int i = 0; i < (full ? 30 : 6); ++i) { // by turns: what slows one slows all
    auto emulated = [&](bool checks, bool counting) {
      return processorSeconds([&] {
        Emulator device(kernels);
        device.checks = checks;
        device.counting = counting;
        run(device);
      });
    };
    plain = std::min(plain, emulated(false, false));
    counted = std::min(counted, emulated(false, true));
    both = std::min(both, emulated(true, true));
    chain = std::min(chain, processorSeconds([&] {
                       volatile double step = 1;
                       double sum = 0, each = step;
                       for (int j = 0; j < additions; ++j)
                         sum += each;
                       EXPECT_EQ(sum, additions);
                     }));
  }
  printf("256^3 f16: %.1f ms, with counters %.1f ms, with checks and counters %.1f ms; a million additions %.2f ms\n",
         plain * 1e3, counted * 1e3, both * 1e3, chain * 1e3);
  if (slowBuild)
    GTEST_SKIP() << "a build with sanitizers or assertions: only printed";
  // Twice what they take where an addition takes two clocks, under load (45 and 58 chains).
  EXPECT_LT(counted, 90 * chain);
  EXPECT_LT(both, 118 * chain);
  if (full) { // of a processor like that of docs/performance.md
    EXPECT_LT(counted, 0.030);
    EXPECT_LT(both, 0.037); // 29 to 32 ms alone, up to 35 beside other processes
  }
}

} // namespace emulator_gemm_test
