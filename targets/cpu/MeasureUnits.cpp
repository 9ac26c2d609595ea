//===- MeasureUnits.cpp - What instructions cost --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops made from the unit records themselves: independent accumulators for the
// issue rate, one for the latency.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/MeasureBench.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace tilewright;
using namespace tilewright::cpu;
using tilewright::MatrixUnit;

/// `unit` as a call in a loop; null for emissions that this measurement does not know.
static llvm::Value *emit(llvm::IRBuilder<> &b, const MatrixUnit &unit, llvm::Value *a, llvm::Value *bValue,
                         llvm::Value *c) {
  llvm::Module *module = b.GetInsertBlock()->getModule();
  if (unit.emit.name == "llvm.intr.fma")
    return b.CreateIntrinsic(c->getType(), llvm::Intrinsic::fma, {a, bValue, c});
  if (unit.emit.kind != EmissionKind::LlvmIntrinsic || unit.emit.arguments != std::vector<std::string>{"C", "A", "B"})
    return nullptr;
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(unit.emit.name);
  llvm::SmallVector<llvm::Type *> overloads;
  if (llvm::Intrinsic::isOverloaded(id))
    overloads = {c->getType(), a->getType()};
  llvm::Function *callee = llvm::Intrinsic::getOrInsertDeclaration(module, id, overloads);
  auto fit = [&](llvm::Value *value, unsigned index) {
    return b.CreateBitCast(value, callee->getFunctionType()->getParamType(index));
  };
  return b.CreateCall(callee, {fit(c, 0), fit(a, 1), fit(bValue, 2)});
}

llvm::Expected<std::optional<double>> cpu::unitClocks(Bench &bench, const MatrixUnit &unit, unsigned chains) {
  bool block = unit.a.residence == Residence::VectorRegister;
  bool row = unit.a.residence == Residence::BroadcastScalar;
  if (!(block || row) || unit.b.residence != Residence::VectorRegister || unit.b.scalable)
    return std::nullopt;
  llvm::LLVMContext &context = bench.context();
  int64_t elements = unit.b.rows * unit.b.cols;
  llvm::Type *typeA = vectorType(unit.a.element, elements, context),
             *typeB = vectorType(unit.b.element, elements, context);
  llvm::Type *typeC = vectorType(unit.c.element, unit.c.rows * unit.c.cols, context);
  bool known = true;
  auto loop = bench.compile(
      typeC, chains, [&](llvm::IRBuilder<> &b, llvm::Value *buffer, llvm::Value *, auto &accumulators, auto &next) {
        llvm::BasicBlock *entry = &b.GetInsertBlock()->getParent()->getEntryBlock();
        llvm::IRBuilder<> before(entry->getTerminator());
        llvm::Value *a = before.CreateLoad(typeA, buffer, /*isVolatile=*/true);
        llvm::Value *bValue = before.CreateLoad(typeB, buffer, /*isVolatile=*/true);
        for (llvm::PHINode *accumulator : accumulators) {
          llvm::Value *result = emit(b, unit, a, bValue, accumulator);
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

llvm::Expected<double> cpu::instructionClocks(Bench &bench, int64_t registerBytes, llvm::StringRef op,
                                              unsigned chains) {
  constexpr int64_t lineBytes = 64;
  const int words = int(registerBytes / 4), perPart = 4; // elements of 128 bits
  llvm::Type *type = vectorType(ElementKind::F32, words, bench.context());
  // What transpositions consist of: shuffles within parts of 128 bits, and of whole parts.
  llvm::SmallVector<int> unpacked, across;
  for (int part = 0; part < words; part += perPart) {
    unpacked.append({part, words + part, part + 1, words + part + 1});
    const int from = words == perPart ? 0 : 2 * part % (2 * words - perPart);
    across.append({from, from + 1, from + 2, from + 3});
  }
  auto loop = bench.compile(
      type, chains, [&](llvm::IRBuilder<> &b, llvm::Value *buffer, llvm::Value *, auto &accumulators, auto &next) {
        llvm::BasicBlock *entry = &b.GetInsertBlock()->getParent()->getEntryBlock();
        llvm::IRBuilder<> before(entry->getTerminator());
        llvm::Value *x = before.CreateLoad(type, buffer, /*isVolatile=*/true);
        // All elements but the last, by numbers that nobody knows when compiling: those of the buffer are 1.
        llvm::SmallVector<llvm::Constant *> numbers;
        for (int word = 0; word < words; ++word)
          numbers.push_back(llvm::ConstantFP::get(type->getScalarType(), word));
        llvm::Value *mask = before.CreateFCmpOLT(llvm::ConstantVector::get(numbers),
                                                 before.CreateFMul(x, llvm::ConstantFP::get(type, words - 1)));
        for (auto [i, accumulator] : enumerate(accumulators)) {
          llvm::Value *place = b.CreateConstGEP1_64(b.getInt8Ty(), buffer, registerBytes * i);
          // Half in one line and half in the next.
          llvm::Value *crossing =
              b.CreateConstGEP1_64(b.getInt8Ty(), buffer, lineBytes * int64_t(i + 1) - registerBytes / 2);
          llvm::Value *result = accumulator;
          if (op == "add.f32")
            result = b.CreateFAdd(accumulator, x);
          else if (op == "mul.f32")
            result = b.CreateFMul(accumulator, x);
          else if (op == "div.f32")
            result = b.CreateFDiv(x, accumulator);
          else if (op == "sqrt.f32")
            result = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, accumulator);
          else if (op == "shuffle")
            result = b.CreateShuffleVector(accumulator, x, i % 2 ? across : unpacked);
          else if (op == "load" || op == "crossing-load")
            b.CreateAlignedLoad(type, op == "load" ? place : crossing, llvm::Align(4), /*isVolatile=*/true);
          else if (op == "store")
            b.CreateStore(x, place, /*isVolatile=*/true);
          else if (op == "masked-store")
            b.CreateMaskedStore(x, place, llvm::Align(4), mask);
          next.push_back(result);
        }
      });
  if (!loop)
    return loop.takeError();
  constexpr int64_t count = 200000;
  return bench.clocks(*loop, bench.buffer, count) / (count * chains);
}
