//===- HostArrays.cpp - Arrays that come and go in a host program ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Slots are integers in two arrays of the function. A memory that several slots own is freed with the last one.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/HostArrays.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

void HostArrays::find(const llvm::json::Array &steps) {
  for (const llvm::json::Value &each : steps) {
    const llvm::json::Object *step = each.getAsObject();
    if (!step)
      continue;
    if (auto buffer = step->getInteger("allocate"))
      slotOf.insert({*buffer, slotOf.size()});
    if (const llvm::json::Array *moves = step->getArray("rename"))
      for (const llvm::json::Value &move : *moves)
        slotOf.insert({(*move.getAsArray())[0].getAsInteger().value_or(-1), slotOf.size()});
    for (const char *part : {"then", "else", "before", "do"})
      if (const llvm::json::Array *inside = step->getArray(part))
        find(*inside);
  }
}

Value HostArrays::i64(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }
Value HostArrays::place(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value HostArrays::equal(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); }
Value HostArrays::load(Value array, int64_t buffer) {
  return memref::LoadOp::create(b, array, place(slotOf.lookup(buffer)));
}
void HostArrays::store(Value value, Value array, int64_t buffer) {
  memref::StoreOp::create(b, value, array, place(slotOf.lookup(buffer)));
}

void HostArrays::begin(func::FuncOp program) {
  function = program;
  if (slotOf.empty())
    return;
  auto type = MemRefType::get({int64_t(slotOf.size())}, b.getI64Type());
  slots = memref::AllocaOp::create(b, type);
  owners = memref::AllocaOp::create(b, type);
  Value none = i64(0);
  for (const auto &[buffer, slot] : slotOf)
    for (Value array : {slots, owners})
      store(none, array, buffer);
}

Value HostArrays::pointer(int64_t buffer) {
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), load(slots, buffer));
}

/// Frees the memory `owner` if it is one that no slot owns, and not `unless` (i1).
void HostArrays::release(Value owner, Value unless) {
  Value kept = arith::OrIOp::create(b, unless, equal(owner, i64(0)));
  auto others = scf::ForOp::create(b, place(0), place(slotOf.size()), place(1), kept);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(others.getBody());
    Value same = equal(memref::LoadOp::create(b, owners, others.getInductionVar()), owner);
    scf::YieldOp::create(b, Value(arith::OrIOp::create(b, others.getRegionIterArgs()[0], same)));
  }
  auto last = scf::IfOp::create(b, equal(others.getResult(0), arith::ConstantIntOp::create(b, 0, 1)), false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(last.thenBlock());
  Value memory = LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), owner);
  EngineWriter::call(b, function, "free", {}, memory);
}

Value HostArrays::allocate(int64_t buffer, Value bytes) {
  Value old = load(owners, buffer);
  store(i64(0), owners, buffer);
  release(old, arith::ConstantIntOp::create(b, 0, 1));
  Value more = arith::AddIOp::create(b, bytes, i64(1)); // no memory at all is an answer of malloc
  Value memory = EngineWriter::call(b, function, "malloc", LLVM::LLVMPointerType::get(b.getContext()), more);
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), memory);
  for (Value array : {slots, owners})
    store(address, array, buffer);
  return equal(address, i64(0));
}

void HostArrays::rename(ArrayRef<Move> moves) {
  SmallVector<Value> addresses, owning, old;
  for (const Move &move : moves) {
    addresses.push_back(holds(move.from) ? load(slots, move.from)
                                         : Value(LLVM::PtrToIntOp::create(b, b.getI64Type(), move.pointer)));
    owning.push_back(holds(move.from) ? load(owners, move.from) : i64(0));
    old.push_back(load(owners, move.to));
  }
  for (auto [i, move] : llvm::enumerate(moves)) {
    store(addresses[i], slots, move.to);
    store(owning[i], owners, move.to);
  }
  for (size_t i = 0; i < old.size(); ++i) {
    Value freed = arith::ConstantIntOp::create(b, 0, 1); // with an earlier one
    for (size_t j = 0; j < i; ++j)
      freed = arith::OrIOp::create(b, freed, equal(old[i], old[j]));
    release(old[i], freed);
  }
}

void HostArrays::end() {
  for (const auto &[buffer, slot] : slotOf) {
    Value old = load(owners, buffer);
    store(i64(0), owners, buffer);
    release(old, arith::ConstantIntOp::create(b, 0, 1));
  }
}
