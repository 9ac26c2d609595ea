//===- MeasureBench.cpp - Loops compiled and timed ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/MeasureBench.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <sys/mman.h>
#include <time.h>

using namespace tilewright;
using namespace tilewright::cpu;

Bench::~Bench() {
  if (buffer)
    munmap(buffer, bufferBytes);
}

double cpu::seconds(Loop loop, void *buffer, int64_t count) {
  auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); // what other programs take of the core does not count
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  double start = now();
  loop(buffer, count);
  return now() - start;
}

llvm::Expected<std::unique_ptr<Bench>> Bench::create(const ChipTable &host) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto bench = std::make_unique<Bench>();
  TableDescription description("cpu", host);
  bench->features = description.codegen().features;
  bench->cpu = host.cpu;
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple(host.triple));
  machine.setCPU(host.cpu);
  machine.addFeatures(llvm::SubtargetFeatures(bench->features).getFeatures());
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create();
  if (!jit)
    return jit.takeError();
  bench->jit = std::move(*jit);
  bench->safe = llvm::orc::ThreadSafeContext(std::make_unique<llvm::LLVMContext>());
  bench->ownContext = bench->safe.withContextDo([](llvm::LLVMContext *context) { return context; });
  bench->buffer = mmap(nullptr, bufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bench->buffer == MAP_FAILED) {
    bench->buffer = nullptr;
    return llvm::createStringError("no memory for the buffers of the measurement");
  }
  madvise(bench->buffer, bufferBytes, MADV_HUGEPAGE);
  memset(bench->buffer, 0, bufferBytes);
  std::fill_n(static_cast<float *>(bench->buffer), 4096, 1.0f); // division is slow on zeros and NaN

  // Clocks: additions that depend on each other take one each; the empty assembly keeps them apart.
  llvm::Type *word = llvm::Type::getInt64Ty(bench->context());
  auto chain =
      bench->compile(word, 2, [&](llvm::IRBuilder<> &b, llvm::Value *, llvm::Value *, auto &accumulators, auto &next) {
        llvm::InlineAsm *opaque =
            llvm::InlineAsm::get(llvm::FunctionType::get(word, {word}, false), "", "=r,0", /*hasSideEffects=*/true);
        llvm::Value *value = accumulators[0], *step = b.CreateCall(opaque, {accumulators[1]});
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

llvm::Expected<Loop> Bench::compile(llvm::Type *type, unsigned count, Body body) {
  std::string name = llvm::formatv("loop{0}", serial++);
  auto module = std::make_unique<llvm::Module>(name, context());
  module->setDataLayout(jit->getDataLayout());
  llvm::IRBuilder<> b(context());
  auto *functionType = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty()}, false);
  llvm::Function *function = llvm::Function::Create(functionType, llvm::Function::ExternalLinkage, name, *module);
  function->addFnAttr("target-cpu", cpu);
  function->addFnAttr("target-features", features);
  function->addFnAttr("prefer-vector-width", "512");
  llvm::BasicBlock *entry = llvm::BasicBlock::Create(context(), "entry", function);
  llvm::BasicBlock *loop = llvm::BasicBlock::Create(context(), "loop", function);
  llvm::BasicBlock *exit = llvm::BasicBlock::Create(context(), "exit", function);
  llvm::Value *buffer = function->getArg(0);

  b.SetInsertPoint(entry);
  llvm::SmallVector<llvm::Value *> starts;
  for (unsigned i = 0; i < count; ++i)
    starts.push_back(b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), buffer, 64 * i), /*isVolatile=*/true));
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  llvm::PHINode *index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), entry);
  llvm::SmallVector<llvm::PHINode *> accumulators;
  for (llvm::Value *start : starts) {
    accumulators.push_back(b.CreatePHI(type, 2));
    accumulators.back()->addIncoming(start, entry);
  }
  llvm::SmallVector<llvm::Value *> next;
  body(b, buffer, index, accumulators, next);
  llvm::Value *following = b.CreateAdd(index, b.getInt64(1));
  index->addIncoming(following, loop);
  for (auto [phi, value] : zip(accumulators, next))
    phi->addIncoming(value, loop);
  b.CreateCondBr(b.CreateICmpULT(following, function->getArg(1)), loop, exit);

  b.SetInsertPoint(exit);
  for (auto [i, value] : enumerate(next))
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt8Ty(), buffer, 64 * i), /*isVolatile=*/true);
  b.CreateRetVoid();

  if (llvm::Error error = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), safe)))
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

llvm::Type *cpu::vectorType(ElementKind kind, int64_t count, llvm::LLVMContext &context) {
  llvm::Type *element = kind == ElementKind::F64    ? llvm::Type::getDoubleTy(context)
                        : kind == ElementKind::F32  ? llvm::Type::getFloatTy(context)
                        : kind == ElementKind::F16  ? llvm::Type::getHalfTy(context)
                        : kind == ElementKind::BF16 ? llvm::Type::getBFloatTy(context)
                                                    : llvm::Type::getIntNTy(context, bitWidth(kind));
  return llvm::FixedVectorType::get(element, count);
}
