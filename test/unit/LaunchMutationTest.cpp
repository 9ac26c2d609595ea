//===- LaunchMutationTest.cpp - Kernels that lack one barrier or wait ------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Takes single barriers, waits, commits and arrangements out of kernels that the
/// compiler made: the emulator reports each one, so that none is emitted in vain,
/// and none that is needed could be missing unnoticed. RingMutationTest.cpp does it for rings.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Pipelines/EmulatedProgram.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"
#include <gtest/gtest.h>

namespace launch_mutation_test {

using namespace tilewright;
using test::programContext;

/// C = A B of 64 x 64 in f16, sums of 256 in f32.
static const char *const product = R"(
func.func @mm(%a: tensor<64x256xf16>, %b: tensor<256x64xf16>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x256xf16>, tensor<256x64xf16>) outs(%f : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
})";

/// A sum of rows that several subgroups share.
static const char *const rows = R"(
func.func @rows(%a: tensor<2x4096xf32>) -> tensor<2xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %r = linalg.reduce { arith.addf } ins(%a : tensor<2x4096xf32>) outs(%f : tensor<2xf32>) dimensions = [1]
  return %r : tensor<2xf32>
})";

/// Rows that several subgroups share twice: their largest element, then a sum.
static const char *const softmax = R"(
func.func @softmax(%a: tensor<2x4096xf32>) -> tensor<2x4096xf32> {
  %e = tensor.empty() : tensor<2x4096xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<2x4096xf32>) outs(%e : tensor<2x4096xf32>) -> tensor<2x4096xf32>
  return %r : tensor<2x4096xf32>
})";

/// A product whose subgroups share out k in four slices, and exchange their sums over the ring. No other block has a
/// part of the sum: its short ring would be less than a round.
static const char *const slices = R"(
module attributes {tilewright.force = "split_k=1,subgroups_k=4,block_m=64,block_n=64,subgroups_m=2,subgroups_n=1"} {
func.func @mm(%a: tensor<64x320xf16>, %b: tensor<320x64xf16>) -> tensor<64x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x320xf16>, tensor<320x64xf16>) outs(%f : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
})";

/// Tiles that are turned over the scratchpad.
static const char *const transposition = R"(
func.func @turn(%a: tensor<64x96xf32>) -> tensor<96x64xf32> {
  %e = tensor.empty() : tensor<96x64xf32>
  %r = linalg.transpose ins(%a : tensor<64x96xf32>) outs(%e : tensor<96x64xf32>) permutation = [1, 0]
  return %r : tensor<96x64xf32>
})";

/// A convolution with zeros around the image, which its copies take.
static const char *const convolution = R"(
func.func @conv(%x: tensor<1x8x8x32xf16>, %w: tensor<3x3x32x32xf16>) -> tensor<1x8x8x32xf32> {
  %zero = arith.constant 0.0 : f16
  %none = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f16
  } : tensor<1x8x8x32xf16> to tensor<1x10x10x32xf16>
  %e = tensor.empty() : tensor<1x8x8x32xf32>
  %s = linalg.fill ins(%none : f32) outs(%e : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%p, %w : tensor<1x10x10x32xf16>, tensor<3x3x32x32xf16>)
      outs(%s : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %r : tensor<1x8x8x32xf32>
})";

/// The programs, with the bytes of their arrays.
static const std::vector<std::pair<const char *, std::vector<int64_t>>> programs = {
    {product, {32768, 32768, 16384}}, {slices, {40960, 40960, 16384}}, {rows, {32768, 8}},
    {softmax, {32768, 32768}},        {transposition, {24576, 24576}}, {convolution, {4096, 18432, 8192}}};

static bool isNamed(mlir::Operation *op, llvm::StringRef name) { return op && op->getName().getStringRef() == name; }

/// Why a wait by count orders no access, so that nothing can miss it; empty: it does. LLVM waits by itself before it
/// uses registers that a load gives.
static llvm::StringRef hintOf(mlir::Operation *op) {
  if (!isNamed(op, "rocdl.s.waitcnt"))
    return {};
  constexpr int64_t loads = 0xc00f, scratchpad = 0x0f00; // the bits that count them
  int64_t field = op->getAttrOfType<mlir::IntegerAttr>("bitfield").getInt();
  if ((field & scratchpad) != scratchpad) {
    bool alone = isNamed(op->getPrevNode(), "rocdl.sched.barrier") && isNamed(op->getNextNode(), "rocdl.sched.barrier");
    return alone ? "fragments come together into registers, before products and not before a barrier" : "";
  }
  bool copies = false;
  op->getParentOp()->walk([&](mlir::Operation *other) { copies |= isNamed(other, "rocdl.raw.ptr.buffer.load.lds"); });
  return (field & loads) != loads && copies ? "" : "the kernel loads arrays into registers alone";
}

/// Barriers, waits, commits, and fences of lanes beside barriers; the wait for everything at a block's end, too,
/// without which a copy that nobody reads comes into the scratchpad of the next one.
static bool orders(mlir::Operation *op) {
  llvm::StringRef name = op->getName().getStringRef();
  return name == "nvvm.barrier0" || name == "nvvm.barrier" || name == "nvvm.cp.async.wait.group" ||
         name == "nvvm.cp.async.commit.group" || name == "rocdl.s.barrier" || name == "llvm.fence" ||
         (name == "rocdl.s.waitcnt" && hintOf(op).empty());
}

/// Runs the program once, on zeros.
static void runOn(EmulatedProgram &program, llvm::ArrayRef<int64_t> bytes) {
  std::vector<std::vector<char>> memory;
  std::vector<void *> arguments;
  for (int64_t size : bytes)
    memory.emplace_back(size);
  for (std::vector<char> &array : memory)
    arguments.push_back(array.data());
  if (llvm::Error error = program.call({}, arguments))
    ADD_FAILURE() << llvm::toString(std::move(error));
}

/// The first finding of any mode on arrays of these bytes; empty: there is none.
static std::string findingOf(mlir::ModuleOp module, llvm::ArrayRef<int64_t> bytes) {
  auto program = EmulatedProgram::compile(module);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return {};
  }
  for (const EmulatorMode &mode : (*program)->modes()) {
    (*program)->setMode(mode);
    runOn(**program, bytes);
    if (!(*program)->findings().empty())
      return (*program)->findings().front().str();
  }
  return {};
}

class LaunchMutation : public testing::TestWithParam<const char *> {};

TEST_P(LaunchMutation, EachBarrierAndWaitIsNeeded) {
  mlir::MLIRContext &context = programContext();
  for (const auto &[text, bytes] : programs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "program.mlir");
    CompileOptions options;
    options.target = GetParam();
    ASSERT_TRUE(module && mlir::succeeded(runStages(*module, 1, 5, options)));
    ASSERT_EQ(findingOf(*module, bytes), "");
    unsigned count = 0;
    module->walk([&](mlir::Operation *op) { count += orders(op); });
    EXPECT_GE(count, 1u);
    // A barrier of AMD orders nothing by itself: it stands between two fences, and behind a wait where copies pass
    // registers, unless no lane has touched the scratchpad before.
    unsigned barriers = 0, fences = 0;
    module->walk([&](mlir::Operation *op) {
      barriers += isNamed(op, "rocdl.s.barrier");
      fences += isNamed(op, "llvm.fence");
    });
    EXPECT_GE(fences, barriers);
    for (unsigned left = 0; left < count; ++left) {
      mlir::OwningOpRef<mlir::ModuleOp> mutant = module->clone();
      mlir::Operation *victim = nullptr;
      unsigned number = 0;
      mutant->walk([&](mlir::Operation *op) {
        if (orders(op) && number++ == left)
          victim = op;
      });
      std::string name;
      llvm::raw_string_ostream(name) << *victim;
      victim->erase();
      EXPECT_NE(findingOf(*mutant, bytes), "")
          << GetParam() << ": number " << left << " of " << count << ", " << name << ", is not missed";
    }
  }
}

/// The kernel with slices above has them on each chip; where the ring is short, the sums are exchanged in several
/// rounds.
TEST_P(LaunchMutation, SlicesHaveRounds) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(slices, &programContext(), "program.mlir");
  CompileOptions options;
  options.target = GetParam();
  ASSERT_TRUE(module && mlir::succeeded(runStages(*module, 1, 4, options)));
  int64_t ring = 0, sums = 0;
  module->walk([&](tile::AllocOp alloc) {
    auto type = mlir::cast<mlir::MemRefType>(alloc.getType());
    (alloc.getOverlays() ? sums : ring) += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  });
  EXPECT_GT(sums, 0);
  EXPECT_LE(sums, ring);
  EXPECT_EQ(sums < 3 * 64 * 64 * 4, ring < 3 * 64 * 64 * 4);
}

/// What the other test leaves out is left out rightly: without all of it at once nothing is found.
TEST_P(LaunchMutation, HintsOrderNothing) {
  for (const auto &[text, bytes] : programs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &programContext(), "program.mlir");
    CompileOptions options;
    options.target = GetParam();
    ASSERT_TRUE(module && mlir::succeeded(runStages(*module, 1, 5, options)));
    llvm::SmallVector<mlir::Operation *> hints;
    module->walk([&](mlir::Operation *op) {
      if (!hintOf(op).empty())
        hints.push_back(op);
    });
    // Chips before RDNA count loads in the kernel.
    bool counts = llvm::is_contained({"amd:MI250", "amd:MI300X", "amd:MI350"}, llvm::StringRef(GetParam()));
    EXPECT_EQ(!hints.empty(), counts && text != rows && text != softmax) << GetParam() << text;
    for (mlir::Operation *op : hints)
      op->erase();
    if (!hints.empty())
      EXPECT_EQ(findingOf(*module, bytes), "") << GetParam();
  }
}

/// Cycles of bank conflicts of one run; -1 if the program does not compile.
static int64_t conflictsOf(mlir::ModuleOp module, llvm::ArrayRef<int64_t> bytes) {
  auto program = EmulatedProgram::compile(module);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return -1;
  }
  runOn(**program, bytes);
  EXPECT_TRUE((*program)->findings().empty());
  int64_t cycles = 0;
  for (const KernelCounters &kernel : (*program)->counters())
    for (const MemoryCounters &memory : kernel.memories)
      cycles += memory.conflictCycles;
  return cycles;
}

/// Swizzles and padding are there to avoid conflicts, and the counter sees each one that is missing.
TEST_P(LaunchMutation, EachArrangementIsNeeded) {
  for (const auto &[text, bytes] : programs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &programContext(), "program.mlir");
    CompileOptions options;
    options.target = GetParam();
    ASSERT_TRUE(module && mlir::succeeded(runStages(*module, 1, 4, options)));
    auto lowered = [&](int without) {
      mlir::OwningOpRef<mlir::ModuleOp> mutant = module->clone();
      int number = 0;
      mutant->walk([&](tile::AllocOp alloc) {
        if (alloc.getArrangement() && number++ == without)
          alloc.removeArrangementAttr();
      });
      EXPECT_TRUE(mlir::succeeded(runStages(*mutant, 5, 5, options)));
      return mutant;
    };
    int count = 0;
    module->walk([&](tile::AllocOp alloc) { count += alloc.getArrangement().has_value(); });
    EXPECT_EQ(count > 0, text != rows && text != softmax) << GetParam() << text;
    EXPECT_EQ(conflictsOf(*lowered(-1), bytes), 0) << GetParam() << text;
    for (int without = 0; without < count; ++without)
      EXPECT_GT(conflictsOf(*lowered(without), bytes), 0) << GetParam() << text << ": arrangement " << without;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, LaunchMutation,
                         testing::Values("nvidia:A100", "nvidia:T4", "amd:MI250", "amd:MI300X", "amd:MI350",
                                         "amd:RX7900", "amd:RX9070"));

} // namespace launch_mutation_test
