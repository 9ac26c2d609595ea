//===- FlattenSignatures.cpp - Pointers and sizes between functions -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces memref arguments of private functions by a pointer and the dynamic
/// sizes. LLVM then knows strides as products of sizes, and, where the caller
/// guarantees it, that the pointers do not overlap.
///
///   func.func private @k(%A: memref<?x4xf32>)        call @k(%m)
///   func.func private @k(%p: !llvm.ptr {llvm.noalias}, %n: index)
///                                                    call @k(pointer of %m, dim %m, 0)
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Analysis/Signature.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/SymbolUsers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tilewright {
#define GEN_PASS_DEF_FLATTENSIGNATURES
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct FlattenSignatures : tilewright::impl::FlattenSignaturesBase<FlattenSignatures> {
  void runOnOperation() override;
};

bool isFlat(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getLayout().isIdentity() && !memref.getMemorySpace();
}

/// Dynamic dimensions that the body asks `array` for are `sizes`, in their order: out of a descriptor they may take
/// memory.
void replaceDimensions(Value array, ValueRange sizes) {
  auto type = cast<MemRefType>(array.getType());
  for (Operation *user : llvm::make_early_inc_range(array.getUsers())) {
    auto dim = dyn_cast<memref::DimOp>(user);
    const std::optional<int64_t> d = dim ? dim.getConstantIndex() : std::nullopt;
    if (!d || *d >= type.getRank() || !type.isDynamicDim(*d))
      continue;
    dim.replaceAllUsesWith(sizes[type.getDynamicDimIndex(*d)]);
    dim.erase();
  }
}

void flattenArguments(func::FuncOp function) {
  // The caller of a kernel, and the C interface of a body, promise arrays that do not overlap.
  bool noAlias = function->hasAttr(tilewright::kernelAttr) || function->hasAttr(tilewright::bodyAttr);
  Block &entry = function.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  Location loc = function.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(function.getContext());
  SmallVector<DictionaryAttr> attributes;
  NamedAttribute promise(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  unsigned count = entry.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = entry.getArgument(0);
    Value replacement;
    if (isFlat(argument.getType())) {
      auto type = cast<MemRefType>(argument.getType());
      Value address = entry.addArgument(pointer, loc);
      attributes.push_back(noAlias ? builder.getDictionaryAttr(promise) : DictionaryAttr());
      SmallVector<Value> sizes;
      for (int64_t k = 0, e = type.getNumDynamicDims(); k < e; ++k) {
        sizes.push_back(entry.addArgument(builder.getIndexType(), loc));
        attributes.push_back({});
      }
      replaceDimensions(argument, sizes);
      replacement = tilewright::memrefFromPointer(builder, loc, type, address, sizes);
    } else {
      replacement = entry.addArgument(argument.getType(), loc);
      attributes.push_back({});
    }
    argument.replaceAllUsesWith(replacement);
    entry.eraseArgument(0);
  }
  function.setType(builder.getFunctionType(entry.getArgumentTypes(), function.getResultTypes()));
  function.setAllArgAttrs(attributes);
}

void flattenCall(func::CallOp call) {
  OpBuilder builder(call);
  SmallVector<Value> operands;
  for (Value operand : call.getOperands()) {
    if (!isFlat(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    auto type = cast<MemRefType>(operand.getType());
    operands.push_back(tilewright::pointerOf(builder, call.getLoc(), operand));
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        operands.push_back(memref::DimOp::create(builder, call.getLoc(), operand, i));
  }
  call.getOperandsMutable().assign(operands);
}

} // namespace

void FlattenSignatures::runOnOperation() {
  ModuleOp module = getOperation();
  const tilewright::SymbolUsers users(module);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function.isPrivate() || function.isExternal() || llvm::none_of(function.getArgumentTypes(), isFlat))
      continue;
    ArrayRef<Operation *> calls = users.getUsers(function);
    if (!llvm::all_of(calls, llvm::IsaPred<func::CallOp>))
      continue;
    flattenArguments(function);
    for (Operation *call : calls)
      flattenCall(cast<func::CallOp>(call));
  }
}
