//===- WriteHostProgram.cpp - Manifests as functions ---------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks a manifest (LaunchManifest.h) and writes what a loader would do as one
/// function that calls the launches, core by core.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/HostWriter.h"
#include "core/Transforms/Host/LaunchManifest.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"

namespace tilewright {
#define GEN_PASS_DEF_WRITEHOSTPROGRAM
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;
using llvm::json::Array;
using llvm::json::Object;

LogicalResult HostWriter::refuse(const llvm::Twine &what) {
  return module.emitError() << "a program that is given out as source needs " << what
                            << ", which it cannot have; run it by its manifest (tw-run, tw-launch)";
}

//===-- Constants of all programs -----------------------------------------===//

LLVM::GlobalOp ProgramGlobals::make(Location loc, StringRef name, StringRef bytes, bool isWritten) {
  auto isTaken = [&](StringRef other) { return module.lookupSymbol(other) || entries.contains(other); };
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto unique = isTaken(name) ? SymbolTable::generateSymbolName<128>(name, isTaken, count) : SmallString<128>(name);
  return LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
                                /*isConstant=*/!isWritten, LLVM::Linkage::Internal, unique, b.getStringAttr(bytes),
                                /*alignment=*/64);
}

LLVM::GlobalOp ProgramGlobals::share(Location loc, StringRef name, StringRef bytes, bool isWritten) {
  LLVM::GlobalOp &global = shared[name];
  if (global)
    return global;
  std::string word = ("shared_" + name).str(); // of C
  std::replace_if(word.begin(), word.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
  return global = make(loc, word, bytes, isWritten);
}

//===-- Memory ------------------------------------------------------------===//

/// Null where no step before this one has given `buffer` memory.
Value HostWriter::pointerOf(int64_t buffer) {
  return arrays.holds(buffer) ? arrays.pointer(buffer) : buffers.lookup(buffer);
}

void HostWriter::allocate(int64_t buffer, Value bytes) {
  Value more = arith::AddIOp::create(b, bytes, i64(1)); // no memory at all is an answer of malloc
  buffers[buffer] = call("malloc", LLVM::LLVMPointerType::get(b.getContext()), more);
  owned.push_back(buffers[buffer]);
}

/// Memory for each constant, filled when the program starts: an array of the module, or its pattern over and over.
LogicalResult HostWriter::constants(const Array &list) {
  for (const Json &each : list) {
    const Object *object = each.getAsObject();
    auto buffer = object ? object->getInteger("buffer") : std::nullopt;
    auto bytes = object ? object->getInteger("bytes") : std::nullopt;
    auto text = object ? object->getString("data") : std::nullopt;
    std::vector<char> data;
    if (!buffer || !bytes || !text || llvm::errorToBool(llvm::decodeBase64(*text, data)))
      return refuse("constants of another form");
    size_t period = data.size();
    bool isWritten = object->getBoolean("written").value_or(false); // a state, which stays where it is
    while (isWritten && !data.empty() && int64_t(data.size()) < *bytes)
      data.push_back(data[data.size() - period]);
    StringRef elements(data.data(), data.size());
    auto shared = object->getString("shared"); // with other programs of the file
    std::string own = (function.getName() + "_constant_" + llvm::Twine(*buffer)).str();
    LLVM::GlobalOp global = shared ? globals.share(b.getLoc(), *shared, elements, isWritten)
                                   : globals.make(b.getLoc(), own, elements, isWritten);
    Value address = LLVM::AddressOfOp::create(b, global);
    if (int64_t(data.size()) >= *bytes) {
      buffers[*buffer] = address;
      continue;
    }
    allocate(*buffer, i64(*bytes));
    patterns.emplace_back(*buffer, global);
  }
  return success();
}

/// Repeats the pattern of a constant.
LogicalResult HostWriter::fillConstant(int64_t buffer, int64_t bytes, LLVM::GlobalOp pattern) {
  int64_t period = cast<LLVM::LLVMArrayType>(pattern.getType()).getNumElements();
  if (period == 0)
    return success();
  Value address = LLVM::AddressOfOp::create(b, pattern);
  auto array = [&](Value pointer, int64_t size) {
    return memrefFromPointer(b, b.getLoc(), MemRefType::get({size}, b.getI8Type()), pointer, {});
  };
  Value from = array(address, period), to = array(buffers[buffer], bytes), one = place(1);
  auto loop = scf::ForOp::create(b, place(0), place(bytes), one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value at = arith::RemUIOp::create(b, loop.getInductionVar(), place(period));
  memref::StoreOp::create(b, memref::LoadOp::create(b, from, at), to, loop.getInductionVar());
  return success();
}

//===-- The function ------------------------------------------------------===//

/// Memory, constants, steps; memory is given back in all cases.
LogicalResult HostWriter::program() {
  const Array *list = manifest.getArray("constants");
  if (list && failed(constants(*list)))
    return failure();
  Value missing = arith::ConstantIntOp::create(b, 0, 1);
  if (const Array *temporaries = manifest.getArray("temporaries"))
    for (const Json &each : *temporaries) {
      const Json &bytes = *each.getAsObject()->get("bytes");
      allocate(*each.getAsObject()->getInteger("buffer"), expression(bytes));
      if (!bytes.getAsInteger())
        missing = arith::OrIOp::create(b, missing, isTooLarge(bytes));
    }
  for (Value memory : owned)
    missing = arith::OrIOp::create(b, missing, isZero(LLVM::PtrToIntOp::create(b, b.getI64Type(), memory)));
  arrays.begin(function);
  auto work = scf::IfOp::create(b, TypeRange{b.getI32Type()}, missing, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(work.thenBlock());
    scf::YieldOp::create(b, status(2));
    b.setInsertionPointToStart(work.elseBlock());
    for (const auto &[buffer, pattern] : patterns)
      for (const Json &each : *list)
        if (each.getAsObject()->getInteger("buffer") == buffer &&
            failed(fillConstant(buffer, *each.getAsObject()->getInteger("bytes"), pattern)))
          return failure();
    const Array &all = *manifest.getArray("steps");
    FailureOr<Value> ended = steps(all);
    if (failed(ended))
      return failure();
    scf::YieldOp::create(b, *ended);
  }
  arrays.end();
  for (Value memory : owned)
    call("free", {}, memory);
  scf::YieldOp::create(b, work.getResult(0));
  return success();
}

LogicalResult HostWriter::write() {
  auto entry = manifest.getString("entry");
  const Array *arguments = manifest.getArray("arguments");
  if (!entry || !arguments || !manifest.getArray("steps"))
    return refuse("a manifest with 'entry', 'arguments' and 'steps'");
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types(manifest.getInteger("sizes").value_or(0), b.getI64Type());
  int64_t sizes = types.size();
  types.append(arguments->size(), pointer);
  b.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(b, *entry, b.getFunctionType(types, b.getI32Type()));
  function.setResultAttr(0, LLVM::LLVMDialect::getSExtAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(function.addEntryBlock());
  for (size_t i = 0; i < arguments->size(); ++i) {
    buffers[int64_t(i)] = function.getArgument(sizes + i);
    if (!(*arguments)[i].getAsObject()->getBoolean("written").value_or(true))
      function.setArgAttr(sizes + i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  }
  statusAt = manifest.getInteger("variables").value_or(0);
  variables = memref::AllocaOp::create(b, MemRefType::get({statusAt + 1}, b.getI64Type()));
  arrays.find(*manifest.getArray("steps"));

  // Sizes that disagree end the call before it begins.
  Value wrong = arith::ConstantIntOp::create(b, 0, 1);
  if (const Array *constraints = manifest.getArray("constraints"))
    for (const Json &each : *constraints) {
      const Json *zero = each.getAsObject()->get("zero");
      Value value = expression(zero ? *zero : *each.getAsObject()->get("nonnegative"));
      auto predicate = zero ? arith::CmpIPredicate::ne : arith::CmpIPredicate::slt;
      wrong = arith::OrIOp::create(b, wrong, arith::CmpIOp::create(b, predicate, value, i64(0)));
    }
  auto checked = scf::IfOp::create(b, TypeRange{b.getI32Type()}, wrong, /*withElseRegion=*/true);
  func::ReturnOp::create(b, checked.getResult(0));
  b.setInsertionPointToStart(checked.thenBlock());
  scf::YieldOp::create(b, status(1));
  b.setInsertionPointToStart(checked.elseBlock());
  return program();
}

namespace {
struct WriteHostProgram : tilewright::impl::WriteHostProgramBase<WriteHostProgram> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto manifests = module->getAttrOfType<ArrayAttr>(manifestsAttr);
    if (!manifests)
      return;
    SmallVector<Json> programs;
    llvm::StringSet<> entries;
    for (Attribute each : manifests) {
      auto manifest = llvm::json::parse(cast<StringAttr>(each).getValue());
      if (!manifest || !manifest->getAsObject()) {
        llvm::consumeError(manifest.takeError());
        module.emitError() << "the manifest of the program cannot be read";
        return signalPassFailure();
      }
      if (auto entry = manifest->getAsObject()->getString("entry"))
        entries.insert(*entry);
      programs.push_back(std::move(*manifest));
    }
    ProgramGlobals globals(module, std::move(entries));
    for (const Json &program : programs)
      if (failed(HostWriter(module, *program.getAsObject(), globals).write()))
        return signalPassFailure();
  }
};
} // namespace
