//===- KernelFunctions.cpp - Functions of kernels -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the rewriter does around the ops: a function learns its lane and counts its blocks, a kernel gets an entry.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/InstructionClass.h"
#include "core/Emulator/Rewriter.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace tilewright;

void KernelRewriter::countInstructions(LLVM::LLVMFuncOp function) {
  for (mlir::Block &block : function.getBody()) {
    blockNumbers[&block] = kernels.blocks.size();
    BlockCost cost;
    for (Operation &op : block)
      addInstruction(cost, &op, kernels.chip->vectorRegisters().second, kernels);
    kernels.blocks.push_back(cost);
  }
}

LogicalResult KernelRewriter::takeLane(LLVM::LLVMFuncOp function) {
  bool isKernel = llvm::any_of(function->getDiscardableAttrs(), [](NamedAttribute attribute) {
    return attribute.getName().strref().ends_with("kernel");
  });
  LLVM::LLVMFunctionType type = function.getFunctionType();
  if (isKernel) {
    if (!isa<LLVM::LLVMVoidType>(type.getReturnType()))
      return function.emitError() << "kernel '" << function.getName() << "' returns a value; expected void";
    KernelEntry entry;
    entry.name = function.getName();
    DataLayout layout(module);
    for (auto [index, parameter] : llvm::enumerate(type.getParams())) {
      KernelParameter known;
      auto byValue = function.getArgAttrOfType<TypeAttr>(index, LLVM::LLVMDialect::getByValAttrName());
      known.inMemory = byValue != nullptr;
      known.bytes = layout.getTypeSize(byValue ? byValue.getValue() : parameter);
      entry.parameters.push_back(known);
    }
    kernels.kernels.push_back(std::move(entry));
  }
  SmallVector<Type> parameters{LLVM::LLVMPointerType::get(function.getContext())};
  llvm::append_range(parameters, type.getParams());
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  SmallVector<StringAttr> attributes;
  for (NamedAttribute attribute : function->getDiscardableAttrs())
    attributes.push_back(attribute.getName());
  for (StringAttr attribute : attributes)
    function->removeDiscardableAttr(attribute);
  function.setFunctionType(LLVM::LLVMFunctionType::get(type.getReturnType(), parameters, type.isVarArg()));
  function.setCConv(LLVM::cconv::CConv::C);
  function.removePassthroughAttr();
  function.removeTargetCpuAttr();
  function.removeTargetFeaturesAttr();
  if (!isKernel)
    function.setLinkage(LLVM::Linkage::Internal);
  function.front().insertArgument(0u, parameters.front(), function.getLoc());
  return success();
}

void KernelRewriter::countBlocks(LLVM::LLVMFuncOp function) {
  OpBuilder builder(function.getContext());
  auto plain = LLVM::LLVMPointerType::get(builder.getContext());
  Location loc = function.getLoc();
  builder.setInsertionPointToStart(&function.front());
  Value field = LLVM::GEPOp::create(builder, loc, plain, builder.getI8Type(), function.getArgument(0),
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(laneBlockCountsOffset)});
  auto counts = LLVM::LoadOp::create(builder, loc, plain, field);
  counts.setInvariant(true);
  for (mlir::Block &block : function.getBody()) {
    auto number = blockNumbers.find(&block);
    if (number == blockNumbers.end())
      continue;
    if (&block == &function.front())
      builder.setInsertionPointAfter(counts);
    else
      builder.setInsertionPointToStart(&block);
    Type i32 = builder.getI32Type();
    Value count = LLVM::GEPOp::create(builder, loc, plain, i32, counts,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number->second)});
    Value one = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(1));
    Value old = LLVM::LoadOp::create(builder, loc, i32, count);
    LLVM::StoreOp::create(builder, loc, LLVM::AddOp::create(builder, loc, old, one), count);
  }
}

void KernelRewriter::makeEntry(LLVM::LLVMFuncOp function) {
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = function.getLoc();
  auto plain = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {plain, plain});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, (function.getName() + kernelEntrySuffix).str(), type);
  mlir::Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);
  SmallVector<Value> arguments{body->getArgument(0)};
  auto kernel =
      llvm::find_if(kernels.kernels, [&](const KernelEntry &known) { return known.name == function.getName(); });
  for (auto [index, parameter] : llvm::enumerate(kernel->parameters)) {
    Value slot = LLVM::GEPOp::create(builder, loc, plain, plain, body->getArgument(1),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    Value address = LLVM::LoadOp::create(builder, loc, plain, slot);
    Type wanted = function.getFunctionType().getParamType(index + 1);
    if (!parameter.inMemory)
      address = LLVM::LoadOp::create(builder, loc, wanted, address, /*alignment=*/1);
    else if (wanted != plain)
      address = LLVM::AddrSpaceCastOp::create(builder, loc, wanted, address);
    arguments.push_back(address);
  }
  LLVM::CallOp::create(builder, loc, function, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}
