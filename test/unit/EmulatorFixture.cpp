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

using namespace tilewright;

std::shared_ptr<const TargetDescription> test::simtChip(std::vector<MatrixUnit> units) {
  ChipTable table;
  table.name = "simt";
  table.levels = {{"grid", LevelKind::Parallel, 4},
                  {"block", LevelKind::Concurrent, 32},
                  {"subgroup", LevelKind::Lockstep, 32}};
  Memory global, shared;
  global.name = "global";
  global.kind = MemoryKind::Global;
  global.bytes = int64_t(1) << 30;
  shared.name = "shared";
  shared.kind = MemoryKind::Scratchpad;
  shared.bytes = 64 << 10;
  shared.banks = 32;
  shared.bankBytes = 4;
  table.memories = {global, shared};
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

std::string test::kernel(const std::string &body) {
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

void test::runKernel(Emulator &device, unsigned blocks, std::vector<int32_t> *result, unsigned cluster) {
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
