//===- Measure.cpp - Rates of the machine that this runs on ----------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures what `host` is priced with: loops made from the unit records
/// themselves (independent accumulators for the issue rate, one for the latency),
/// streams over buffers that fit each memory, and a pointer chase. Each number is
/// the best of several runs; clocks are counted by a chain of dependent additions.
///
//===----------------------------------------------------------------------===//

#include "targets/cpu/Chips.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>
#include <sys/mman.h>

using namespace tilewright;
using namespace llvm;
using tilewright::MatrixUnit;

namespace {

/// A loop `void f(ptr buffer, i64 count)`: what one iteration does, and how often it does it.
using Body = function_ref<void(IRBuilder<> &, Value *buffer, Value *index, SmallVectorImpl<PHINode *> &accumulators,
                               SmallVectorImpl<Value *> &next)>;
using Loop = void (*)(void *, int64_t);

/// Compiles and times loops for one chip.
class Bench {
public:
  static Expected<std::unique_ptr<Bench>> create(const ChipTable &host);

  /// Compiles a loop whose `accumulators` of `type` start as what lies in the buffer.
  Expected<Loop> compile(Type *type, unsigned accumulators, Body body);
  /// Clocks of `count` iterations, the best of nine runs.
  double clocks(Loop loop, void *buffer, int64_t count);

  LLVMContext &context() { return *ownContext; }
  double hertz = 0;
  void *buffer = nullptr;
  static constexpr int64_t bufferBytes = int64_t(256) << 20;
  ~Bench() {
    if (buffer)
      munmap(buffer, bufferBytes);
  }

private:
  std::unique_ptr<orc::LLJIT> jit;
  orc::ThreadSafeContext safe;
  LLVMContext *ownContext = nullptr;
  std::string features;
  std::string cpu;
  int serial = 0;
};

} // namespace

/// Processor time of this thread: other work on the machine does not count.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

static double seconds(Loop loop, void *buffer, int64_t count) {
  double start = now();
  loop(buffer, count);
  return now() - start;
}

Expected<std::unique_ptr<Bench>> Bench::create(const ChipTable &host) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto bench = std::make_unique<Bench>();
  TableDescription description("cpu", host);
  bench->features = description.codegen().features;
  bench->cpu = host.cpu;
  orc::JITTargetMachineBuilder machine(Triple(host.triple));
  machine.setCPU(host.cpu);
  machine.addFeatures(SubtargetFeatures(bench->features).getFeatures());
  machine.setCodeGenOptLevel(CodeGenOptLevel::Aggressive);
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create();
  if (!jit)
    return jit.takeError();
  bench->jit = std::move(*jit);
  bench->safe = orc::ThreadSafeContext(std::make_unique<LLVMContext>());
  bench->ownContext = bench->safe.withContextDo([](LLVMContext *context) { return context; });
  bench->buffer = mmap(nullptr, bufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bench->buffer == MAP_FAILED) {
    bench->buffer = nullptr;
    return createStringError("no memory for the buffers of the measurement");
  }
  madvise(bench->buffer, bufferBytes, MADV_HUGEPAGE);
  memset(bench->buffer, 0, bufferBytes);
  std::fill_n(static_cast<float *>(bench->buffer), 4096, 1.0f); // division is slow on zeros and NaN

  // Clocks: additions that depend on each other take one each; the empty assembly keeps them apart.
  Type *word = Type::getInt64Ty(bench->context());
  auto chain = bench->compile(word, 2, [&](IRBuilder<> &b, Value *, Value *, auto &accumulators, auto &next) {
    InlineAsm *opaque = InlineAsm::get(FunctionType::get(word, {word}, false), "", "=r,0", /*hasSideEffects=*/true);
    Value *value = accumulators[0], *step = b.CreateCall(opaque, {accumulators[1]});
    for (int i = 0; i < 64; ++i)
      value = b.CreateCall(opaque, {b.CreateAdd(value, step)});
    next.append({value, step});
  });
  if (!chain)
    return chain.takeError();
  double best = INFINITY;
  for (int run = 0; run < 30; ++run)
    best = std::min(best, seconds(*chain, bench->buffer, 200000));
  bench->hertz = 64 * 200000 / best;
  return bench;
}

Expected<Loop> Bench::compile(Type *type, unsigned count, Body body) {
  std::string name = formatv("loop{0}", serial++);
  auto module = std::make_unique<Module>(name, context());
  module->setDataLayout(jit->getDataLayout());
  IRBuilder<> b(context());
  auto *functionType = FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty()}, false);
  Function *function = Function::Create(functionType, Function::ExternalLinkage, name, *module);
  function->addFnAttr("target-cpu", cpu);
  function->addFnAttr("target-features", features);
  function->addFnAttr("prefer-vector-width", "512");
  BasicBlock *entry = BasicBlock::Create(context(), "entry", function);
  BasicBlock *loop = BasicBlock::Create(context(), "loop", function);
  BasicBlock *exit = BasicBlock::Create(context(), "exit", function);
  Value *buffer = function->getArg(0);

  b.SetInsertPoint(entry);
  SmallVector<Value *> starts;
  for (unsigned i = 0; i < count; ++i)
    starts.push_back(b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), buffer, 64 * i), /*isVolatile=*/true));
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), entry);
  SmallVector<PHINode *> accumulators;
  for (Value *start : starts) {
    accumulators.push_back(b.CreatePHI(type, 2));
    accumulators.back()->addIncoming(start, entry);
  }
  SmallVector<Value *> next;
  body(b, buffer, index, accumulators, next);
  Value *following = b.CreateAdd(index, b.getInt64(1));
  index->addIncoming(following, loop);
  for (auto [phi, value] : zip(accumulators, next))
    phi->addIncoming(value, loop);
  b.CreateCondBr(b.CreateICmpULT(following, function->getArg(1)), loop, exit);

  b.SetInsertPoint(exit);
  for (auto [i, value] : enumerate(next))
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt8Ty(), buffer, 64 * i), /*isVolatile=*/true);
  b.CreateRetVoid();

  if (Error error = jit->addIRModule(orc::ThreadSafeModule(std::move(module), safe)))
    return std::move(error);
  auto address = jit->lookup(name);
  if (!address)
    return address.takeError();
  return address->toPtr<Loop>();
}

double Bench::clocks(Loop loop, void *data, int64_t count) {
  double best = INFINITY;
  for (int run = 0; run < 9; ++run)
    best = std::min(best, seconds(loop, data, count));
  return best * hertz;
}

/// LLVM's type of a vector that holds `count` elements.
static Type *vectorType(ElementKind kind, int64_t count, LLVMContext &context) {
  Type *element = kind == ElementKind::F64    ? Type::getDoubleTy(context)
                  : kind == ElementKind::F32  ? Type::getFloatTy(context)
                  : kind == ElementKind::F16  ? Type::getHalfTy(context)
                  : kind == ElementKind::BF16 ? Type::getBFloatTy(context)
                                              : Type::getIntNTy(context, bitWidth(kind));
  return FixedVectorType::get(element, count);
}

/// `unit` as a call in a loop; null for emissions that this measurement does not know.
static Value *emit(IRBuilder<> &b, const MatrixUnit &unit, Value *a, Value *bValue, Value *c) {
  Module *module = b.GetInsertBlock()->getModule();
  if (unit.emit.name == "llvm.intr.fma")
    return b.CreateIntrinsic(c->getType(), Intrinsic::fma, {a, bValue, c});
  if (unit.emit.kind != EmissionKind::LlvmIntrinsic || unit.emit.arguments != std::vector<std::string>{"C", "A", "B"})
    return nullptr;
  Intrinsic::ID id = Intrinsic::lookupIntrinsicID(unit.emit.name);
  SmallVector<Type *> overloads;
  if (Intrinsic::isOverloaded(id))
    overloads = {c->getType(), a->getType()};
  Function *callee = Intrinsic::getOrInsertDeclaration(module, id, overloads);
  auto fit = [&](Value *value, unsigned index) {
    return b.CreateBitCast(value, callee->getFunctionType()->getParamType(index));
  };
  return b.CreateCall(callee, {fit(c, 0), fit(a, 1), fit(bValue, 2)});
}

/// Clocks per issue with `chains` independent accumulators; nullopt if the unit cannot be measured this way.
static Expected<std::optional<double>> unitClocks(Bench &bench, const MatrixUnit &unit, unsigned chains) {
  bool block = unit.a.residence == Residence::VectorRegister;
  bool row = unit.a.residence == Residence::BroadcastScalar;
  if (!(block || row) || unit.b.residence != Residence::VectorRegister || unit.b.scalable)
    return std::nullopt;
  LLVMContext &context = bench.context();
  int64_t elements = unit.b.rows * unit.b.cols;
  Type *typeA = vectorType(unit.a.element, elements, context), *typeB = vectorType(unit.b.element, elements, context);
  Type *typeC = vectorType(unit.c.element, unit.c.rows * unit.c.cols, context);
  bool known = true;
  auto loop = bench.compile(typeC, chains, [&](IRBuilder<> &b, Value *buffer, Value *, auto &accumulators, auto &next) {
    BasicBlock *entry = &b.GetInsertBlock()->getParent()->getEntryBlock();
    IRBuilder<> before(entry->getTerminator());
    Value *a = before.CreateLoad(typeA, buffer, /*isVolatile=*/true);
    Value *bValue = before.CreateLoad(typeB, buffer, /*isVolatile=*/true);
    for (PHINode *accumulator : accumulators) {
      Value *result = emit(b, unit, a, bValue, accumulator);
      known &= result != nullptr;
      next.push_back(result ? b.CreateBitCast(result, accumulator->getType()) : accumulator);
    }
  });
  if (!loop)
    return loop.takeError();
  if (!known)
    return std::nullopt;
  constexpr int64_t count = 400000;
  return bench.clocks(*loop, bench.buffer, count) / (count * chains);
}

/// Clocks of one element-wise instruction on whole registers of f32.
static Expected<double> instructionClocks(Bench &bench, int64_t registerBytes, StringRef op, unsigned chains) {
  Type *type = vectorType(ElementKind::F32, registerBytes / 4, bench.context());
  auto loop = bench.compile(type, chains, [&](IRBuilder<> &b, Value *buffer, Value *, auto &accumulators, auto &next) {
    BasicBlock *entry = &b.GetInsertBlock()->getParent()->getEntryBlock();
    IRBuilder<> before(entry->getTerminator());
    Value *x = before.CreateLoad(type, buffer, /*isVolatile=*/true);
    for (auto [i, accumulator] : enumerate(accumulators)) {
      Value *place = b.CreateConstGEP1_64(b.getInt8Ty(), buffer, registerBytes * i);
      Value *result = accumulator;
      if (op == "add.f32")
        result = b.CreateFAdd(accumulator, x);
      else if (op == "mul.f32")
        result = b.CreateFMul(accumulator, x);
      else if (op == "div.f32")
        result = b.CreateFDiv(x, accumulator);
      else if (op == "sqrt.f32")
        result = b.CreateUnaryIntrinsic(Intrinsic::sqrt, accumulator);
      else if (op == "load")
        b.CreateLoad(type, place, /*isVolatile=*/true);
      else if (op == "store")
        b.CreateStore(x, place, /*isVolatile=*/true);
      next.push_back(result);
    }
  });
  if (!loop)
    return loop.takeError();
  constexpr int64_t count = 200000;
  return bench.clocks(*loop, bench.buffer, count) / (count * chains);
}

enum class Stream { Read, Write, StreamingWrite };

/// Bytes per clock of one pass after another over the first `bytes` of the buffer.
static Expected<double> streamRate(Bench &bench, int64_t registerBytes, int64_t bytes, Stream kind) {
  Type *type = vectorType(ElementKind::I32, registerBytes / 4, bench.context());
  int64_t step = registerBytes * 4, mask = bytes / step; // power of two
  auto loop = bench.compile(type, 1, [&](IRBuilder<> &b, Value *buffer, Value *index, auto &accumulators, auto &next) {
    Value *offset = b.CreateMul(b.CreateAnd(index, b.getInt64(mask - 1)), b.getInt64(step));
    for (int64_t i = 0; i < 4; ++i) {
      Value *place = b.CreateGEP(b.getInt8Ty(), buffer, b.CreateAdd(offset, b.getInt64(i * registerBytes)));
      if (kind == Stream::Read) {
        b.CreateAlignedLoad(type, place, Align(registerBytes), /*isVolatile=*/true);
        continue;
      }
      StoreInst *store = b.CreateAlignedStore(accumulators[0], place, Align(registerBytes));
      if (kind == Stream::StreamingWrite)
        store->setMetadata(LLVMContext::MD_nontemporal,
                           MDNode::get(b.getContext(), ConstantAsMetadata::get(b.getInt32(1))));
    }
    next.push_back(accumulators[0]);
  });
  if (!loop)
    return loop.takeError();
  int64_t passes = std::max<int64_t>(2, (int64_t(64) << 20) / bytes);
  int64_t count = mask * passes;
  return double(count * step) / bench.clocks(*loop, bench.buffer, count);
}

/// Clocks of one load that depends on the last: lines in random order within 32 pages, then the next pages, so that the
/// walks of page tables (which the models count by themselves) stay few.
static Expected<double> loadLatency(Bench &bench, int64_t bytes, int64_t lineBytes) {
  int64_t lines = bytes / lineBytes;
  std::vector<int64_t> order(lines);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  int64_t group = std::min<int64_t>(32 * 4096 / lineBytes, lines);
  for (int64_t first = 0; first < lines; first += group) // the chase starts at line 0
    std::shuffle(order.begin() + std::max<int64_t>(first, 1), order.begin() + std::min(first + group, lines), random);
  char *base = static_cast<char *>(bench.buffer);
  for (int64_t i = 0; i < lines; ++i)
    *reinterpret_cast<void **>(base + order[i] * lineBytes) = base + order[(i + 1) % lines] * lineBytes;
  Type *pointer = PointerType::get(bench.context(), 0);
  auto loop = bench.compile(pointer, 1, [&](IRBuilder<> &b, Value *, Value *, auto &accumulators, auto &next) {
    next.push_back(b.CreateLoad(pointer, accumulators[0], /*isVolatile=*/true));
  });
  if (!loop)
    return loop.takeError();
  double best = INFINITY;
  constexpr int64_t count = 300000;
  for (int run = 0; run < 5; ++run) {
    *reinterpret_cast<void **>(base) = base + order[1 % lines] * lineBytes; // the loop's end overwrote it
    best = std::min(best, seconds(*loop, bench.buffer, count));
  }
  return best * bench.hertz / count;
}

/// Three significant digits.
static double rounded(double value) {
  double scale = std::pow(10.0, 2 - std::floor(std::log10(std::max(value, 1e-9))));
  return std::round(value * scale) / scale;
}

Expected<std::string> cpu::measureHost(const ChipTable &host) {
  auto made = Bench::create(host);
  if (!made)
    return made.takeError();
  Bench &bench = **made;
  TableDescription description("cpu", host);
  auto [registers, registerBytes] = description.vectorRegisters();
  unsigned chains = std::max<int64_t>(4, registers * 3 / 4);

  json::Object units, rates, memories;
  for (const MatrixUnit &unit : description.units()) {
    auto issue = unitClocks(bench, unit, chains);
    if (!issue)
      return issue.takeError();
    auto latency = unitClocks(bench, unit, 1);
    if (!latency)
      return latency.takeError();
    if (!*issue || !*latency)
      continue;
    units[unit.name] = json::Object{{"issue", rounded(**issue)}, {"latency", rounded(**latency)}};
    bool fma = unit.emit.name == "llvm.intr.fma" && unit.n * bitWidth(unit.c.element) == registerBytes * 8;
    if (fma)
      rates[("fma." + elementName(unit.c.element)).str()] = rounded(1 / **issue);
  }
  for (StringRef op : {"add.f32", "mul.f32", "div.f32", "sqrt.f32", "load", "store"}) {
    auto clocks = instructionClocks(bench, registerBytes, op, op == "load" || op == "store" ? 16 : chains);
    if (!clocks)
      return clocks.takeError();
    rates[op] = rounded(1 / *clocks);
  }
  int64_t largestCache = 0;
  for (const Memory *cache : description.caches())
    largestCache = std::max(largestCache, cache->bytes);
  for (const Memory &memory : host.memories) {
    if (memory.kind != MemoryKind::Cache && memory.kind != MemoryKind::Global)
      continue;
    // Half of a cache, a quarter of a large one that other cores use too; of the main memory what no cache holds.
    int64_t bytes = memory.kind == MemoryKind::Global ? std::min(Bench::bufferBytes, 4 * largestCache)
                    : memory.bytes > (4 << 20)        ? memory.bytes / 4
                                                      : memory.bytes / 2;
    bytes = int64_t(1) << Log2_64(bytes);
    auto read = streamRate(bench, registerBytes, bytes, Stream::Read);
    if (!read)
      return read.takeError();
    auto write = streamRate(bench, registerBytes, bytes, Stream::Write);
    if (!write)
      return write.takeError();
    json::Object numbers{{"read", rounded(*read)}, {"write", rounded(*write)}};
    if (memory.kind == MemoryKind::Global) {
      auto streaming = streamRate(bench, registerBytes, bytes, Stream::StreamingWrite);
      if (!streaming)
        return streaming.takeError();
      numbers["streamingWrite"] = rounded(*streaming);
    }
    auto latency = loadLatency(bench, bytes, memory.lineBytes ? memory.lineBytes : 64);
    if (!latency)
      return latency.takeError();
    numbers["latency"] = rounded(*latency);
    memories[memory.name] = std::move(numbers);
  }
  json::Object root{{"cpu", host.cpu},
                    {"clockMHz", rounded(bench.hertz / 1e6)},
                    {"units", std::move(units)},
                    {"rates", std::move(rates)},
                    {"memories", std::move(memories)}};
  return formatv("{0:2}", json::Value(std::move(root))).str();
}
