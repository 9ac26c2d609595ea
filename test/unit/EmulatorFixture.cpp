//===- EmulatorFixture.cpp - Kernels of the emulator's tests --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The chip of the tests and how their kernels are compiled and run.
///
//===----------------------------------------------------------------------===//

#include "EmulatorFixture.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <numeric>

using namespace tilewright;

Memory test::memoryOf(const char *name, MemoryKind kind, int64_t bytes, int64_t banks, int64_t bankBytes) {
  Memory memory;
  memory.name = name;
  memory.kind = kind;
  memory.bytes = bytes;
  memory.banks = banks;
  memory.bankBytes = bankBytes;
  return memory;
}

std::shared_ptr<const TargetDescription> test::simtChip(std::vector<MatrixUnit> units) {
  ChipTable table;
  table.name = "simt";
  table.levels = {
      {"grid", LevelKind::Parallel, 4}, {"block", LevelKind::Concurrent, 32}, {"subgroup", LevelKind::Lockstep, 32}};
  table.memories = {memoryOf("global", MemoryKind::Global, int64_t(1) << 30),
                    memoryOf("shared", MemoryKind::Scratchpad, 64 << 10, 32, 4)};
  table.memories.front().sectorBytes = 32;
  table.units = std::move(units);
  return std::make_shared<TableDescription>("test", std::move(table));
}

mlir::MLIRContext &test::kernelContext() {
  static auto *context = [] {
    auto *made = new mlir::MLIRContext(mlir::MLIRContext::Threading::DISABLED);
    made->loadDialect<mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
    return made;
  }();
  return *context;
}

/// What the tests' address spaces mean.
static EmulationTable withSpaces(EmulationTable table) {
  table.space(1, Space::Global);
  table.space(3, Space::Scratchpad);
  table.space(7, Space::Cluster);
  return table;
}

static std::shared_ptr<EmulatedKernels> compile(const std::string &text, std::shared_ptr<const TargetDescription> chip,
                                                const EmulationTable &table, std::string &messages) {
  mlir::ScopedDiagnosticHandler handler(&test::kernelContext(), [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &test::kernelContext(), "kernel.mlir");
  if (!module)
    return nullptr;
  auto kernels = EmulatedKernels::compile(*module, std::move(chip), withSpaces(table));
  if (!kernels) {
    messages += llvm::toString(kernels.takeError());
    return nullptr;
  }
  return *kernels;
}

std::shared_ptr<EmulatedKernels> test::compileKernels(const std::string &text,
                                                      std::shared_ptr<const TargetDescription> chip,
                                                      const EmulationTable &table) {
  std::string messages;
  auto kernels = compile(text, std::move(chip), table, messages);
  EXPECT_TRUE(kernels) << messages;
  return kernels;
}

std::string test::compileFailure(const std::string &text, const EmulationTable &table) {
  std::string messages;
  EXPECT_FALSE(compile(text, simtChip(), table, messages));
  return messages;
}

std::map<FindingKind, int> test::inAllModes(const std::shared_ptr<EmulatedKernels> &kernels,
                                            const std::function<void(Emulator &)> &body,
                                            std::vector<Finding> *findings) {
  std::map<FindingKind, int> kinds;
  if (!kernels)
    return kinds;
  for (const EmulatorMode &mode : allModes(kernels->engines())) {
    Emulator device(kernels);
    device.mode = mode;
    body(device);
    std::map<FindingKind, int> once;
    for (const Finding &finding : device.findings()) {
      once[finding.kind] = 1;
      if (findings)
        findings->push_back(finding);
    }
    for (auto [kind, one] : once)
      kinds[kind] += one;
  }
  return kinds;
}

void *test::blank(Emulator &device, size_t bytes) {
  std::string error;
  void *memory = device.allocate(static_cast<int64_t>(bytes), error);
  EXPECT_TRUE(memory) << error;
  return memory;
}

void test::launch(Emulator &device, Launch launch, std::initializer_list<const void *> arguments) {
  std::string error;
  for (const void *argument : arguments)
    launch.pointer(argument);
  ASSERT_TRUE(device.launch(launch, error)) << error;
}

std::string test::without(std::string text, const std::string &begin, int skip) {
  size_t at = text.find(begin);
  for (; skip > 0; --skip)
    at = text.find(begin, at + 1);
  EXPECT_NE(at, std::string::npos) << begin;
  return text.replace(at, text.find('\n', at) - at, "");
}

int test::countOf(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::string test::kernel(const std::string &body) {
  return R"(
llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @tilewright.primitive.barrier()
llvm.func @tilewright.primitive.bare_barrier()
llvm.func @tilewright.primitive.hold_accesses()
llvm.func @tilewright.primitive.complete_accesses()
llvm.func @tilewright.primitive.acquire_accesses()
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

void test::runKernel(Emulator &device, unsigned blocks, std::vector<int32_t> *result, unsigned cluster) {
  std::vector<int32_t> values(64);
  std::iota(values.begin(), values.end(), 0);
  void *out = blank(device, 256);
  launch(device, {"k", {blocks, 1, 1}, {64, 1, 1}, cluster}, {out, upload(device, values)});
  if (result)
    *result = download<int32_t>(device, out, 64);
}
