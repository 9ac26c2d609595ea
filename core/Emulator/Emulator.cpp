//===- Emulator.cpp - Kernels executed on the host ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From a kernel module to code of this process, and the device around it.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Emulator.h"
#include "core/Emulator/Machine.h"
#include "core/Emulator/PoisonedMemory.h"
#include "core/Emulator/Rewriter.h"
#include "core/Machine/CopyPaths.h"

#include "mlir/IR/Verifier.h"
#include "tilewright/Compiler.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

EmulatedKernels::EmulatedKernels(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
EmulatedKernels::~EmulatedKernels() = default;
const TargetDescription &EmulatedKernels::chip() const { return *impl->chip; }
unsigned EmulatedKernels::engines() const { return impl->engines; }

/// Takes from the description what the machine asks for.
static void readChip(EmulatedKernels::Impl &kernels) {
  const TargetDescription &chip = *kernels.chip;
  kernels.sectorBytes = chip.graph().sectorBytes();
  for (const Memory &memory : chip.memories()) {
    if (memory.kind == MemoryKind::Global && !kernels.global)
      kernels.global = &memory;
    if (memory.kind == MemoryKind::Scratchpad && !kernels.scratchpad)
      kernels.scratchpad = &memory;
    if (memory.kind == MemoryKind::Scratchpad || (memory.kind == MemoryKind::Accumulator && !memory.banks))
      kernels.scratchpadLimit += memory.bytes;
  }
  // Threads that execute one instruction together; without such, lanes are cores.
  kernels.timed = !chip.graph().lanesAreThreads();
  if (!kernels.timed)
    kernels.subgroupSize = chip.graph().lockstepLevel()->count;
  else
    kernels.coreAccess = CoreAccess(chip);
  if (!kernels.global || !kernels.scratchpad)
    return;
  auto take = [](EngineRate &rate, const CopyEngine *engine) {
    if (engine && engine->asynchronous) // else the lane itself
      rate = {engine->bytesPerClock > 0 ? engine->bytesPerClock : 1, engine->latency, engine->burstBytes,
              engine->queueDepth, std::max<int64_t>(1, engine->alignBytes)};
  };
  const std::string &global = kernels.global->name, &scratchpad = kernels.scratchpad->name;
  CopyPath in = copyPath(chip.copies(), global, scratchpad), out = copyPath(chip.copies(), scratchpad, global);
  take(kernels.rates[static_cast<unsigned>(Engine::Copy)], in.rows);
  for (const CopyEngine &engine : chip.copies()) // out of other memories, where nothing leaves the scratchpad
    if (!out.rows && engine.asynchronous && engine.to == global)
      out.rows = &engine;
  take(kernels.rates[static_cast<unsigned>(Engine::Store)], out.rows);
  take(kernels.transposing[static_cast<unsigned>(Engine::Copy)], in.transposed);
  take(kernels.transposing[static_cast<unsigned>(Engine::Store)], out.transposed);
}

/// One flat module with the functions and globals of `source` and of all modules inside it.
static OwningOpRef<ModuleOp> flatten(ModuleOp source) {
  OwningOpRef<ModuleOp> flat(ModuleOp::create(source.getLoc()));
  source.walk([&](Operation *op) {
    if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
      return WalkResult::advance();
    flat->push_back(op->clone());
    return WalkResult::skip();
  });
  return flat;
}

FailureOr<RewrittenKernels> tilewright::rewriteKernels(ModuleOp source, std::shared_ptr<const TargetDescription> chip,
                                                       const EmulationTable &table) {
  RewrittenKernels result{std::make_unique<EmulatedKernels::Impl>(), flatten(source)};
  result.impl->chip = std::move(chip);
  result.impl->table = table;
  result.impl->table.primitives(primitivePrefix);
  result.impl->table.instructions(result.impl->chip->laneInstructions());
  readChip(*result.impl);
  if (failed(KernelRewriter(*result.module, *result.impl).run()))
    return failure();
  return result;
}

llvm::Expected<std::shared_ptr<EmulatedKernels>>
EmulatedKernels::compile(ModuleOp module, std::shared_ptr<const TargetDescription> chip, const EmulationTable &table) {
  FailureOr<RewrittenKernels> rewritten = rewriteKernels(module, std::move(chip), table);
  if (failed(rewritten) || failed(verify(*rewritten->module)))
    return llvm::make_error<Reported>();
  auto code = KernelCode::of(*rewritten->module);
  if (!code)
    return code.takeError();
  std::unique_ptr<Impl> impl = std::move(rewritten->impl);
  impl->code = std::move(*code);
  return std::shared_ptr<EmulatedKernels>(new EmulatedKernels(std::move(impl)));
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// Space around a buffer where nothing lies, so that small overruns are found.
static constexpr size_t bufferGap = 4096;
static size_t mappedBytes(uint64_t bytes) { return bytes + 2 * bufferGap; }

struct Emulator::Impl {
  std::shared_ptr<EmulatedKernels> kernels;
  Machine machine;
  double seconds = 0;
};

Emulator::Emulator(std::shared_ptr<EmulatedKernels> kernels) : impl(std::make_unique<Impl>()) {
  impl->machine.kernels = &kernels->implementation();
  impl->kernels = std::move(kernels);
}

Emulator::~Emulator() {
  while (!impl->machine.buffers.empty())
    release(impl->machine.buffers.back()->data);
}

std::string Emulator::describe() const {
  const TargetDescription &chip = impl->kernels->chip();
  return llvm::formatv("{0}:{1}, emulated", chip.target(), chip.chip());
}

void *Emulator::allocate(int64_t bytes, std::string &error) {
  if (bytes < 0 || bytes > int64_t(1) << 40) {
    error = llvm::formatv("cannot allocate {0} bytes", bytes);
    return nullptr;
  }
  char *memory = mapPoisoned(mappedBytes(bytes));
  if (!memory) {
    error = llvm::formatv("no memory for {0} bytes", bytes);
    return nullptr;
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->data = memory + bufferGap;
  buffer->bytes = bytes;
  void *data = buffer->data;
  auto &buffers = impl->machine.buffers;
  buffers.insert(llvm::upper_bound(buffers, buffer, [](const auto &a, const auto &b) { return a->data < b->data; }),
                 std::move(buffer));
  return data;
}

void Emulator::release(void *memory) {
  auto &buffers = impl->machine.buffers;
  auto found = llvm::find_if(buffers, [&](const auto &buffer) { return buffer->data == memory; });
  if (found == buffers.end())
    return;
  unmapPoisoned((*found)->data - bufferGap, mappedBytes((*found)->bytes));
  buffers.erase(found);
}

/// Empty, or why `bytes` bytes at `address` are not memory of the device.
static std::string outside(const Machine &machine, const void *address, int64_t bytes) {
  auto *byte = static_cast<const char *>(address);
  for (const std::unique_ptr<Buffer> &buffer : machine.buffers) {
    if (byte >= buffer->data && byte + bytes <= buffer->data + buffer->bytes)
      return "";
  }
  return llvm::formatv("{0} bytes at {1} are not inside memory that this device allocated", bytes, address);
}

bool Emulator::copyIn(void *to, const void *from, int64_t bytes, std::string &error) {
  error = outside(impl->machine, to, bytes);
  if (error.empty())
    std::memcpy(to, from, bytes);
  return error.empty();
}

bool Emulator::copyOut(void *to, const void *from, int64_t bytes, std::string &error) {
  error = outside(impl->machine, from, bytes);
  if (error.empty())
    std::memcpy(to, from, bytes);
  return error.empty();
}

bool Emulator::launch(const Launch &launch, std::string &error) {
  Machine &machine = impl->machine;
  machine.mode = mode;
  machine.checks = checks;
  machine.counting = counting;
  machine.tracing = tracing;
  bool started = machine.launch(launch, error);
  impl->seconds = started ? machine.lastSeconds : 0;
  return started;
}

double Emulator::seconds() const { return impl->seconds; }
const std::vector<TraceEvent> &Emulator::trace() const { return impl->machine.events; }
std::pair<double, double> Emulator::launchClocks() const {
  return {impl->machine.launchStart, impl->machine.launchEnd};
}

const std::vector<Finding> &Emulator::findings() const { return impl->machine.findings; }

std::vector<KernelCounters> Emulator::counters() const {
  std::vector<KernelCounters> list;
  for (const auto &[name, counters] : impl->machine.counters)
    list.push_back(counters);
  return list;
}

void Emulator::reset() {
  impl->machine.findings.clear();
  impl->machine.findingIndex.clear();
  resetCounters();
}

void Emulator::resetCounters() {
  impl->machine.counters.clear();
  impl->machine.barriers.clear();
}

uint64_t Emulator::barriers(llvm::StringRef kernel) const {
  auto found = impl->machine.barriers.find(kernel.str());
  return found == impl->machine.barriers.end() ? 0 : found->second;
}
