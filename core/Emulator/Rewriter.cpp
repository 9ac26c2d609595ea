//===- Rewriter.cpp - Kernels become functions of the host ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds what each op of a kernel is, applies the rule that fits, and refuses what
/// nobody knows.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Rewriter.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Intrinsics.h"

#include <cmath>

using namespace mlir;
using namespace tilewright;

/// "file:line:column" of the innermost place that a location names.
static std::string locationText(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
  if (auto name = dyn_cast<NameLoc>(location))
    return locationText(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return locationText(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations()) {
      std::string text = locationText(part);
      if (text != "unknown")
        return text;
    }
  }
  return "unknown";
}

/// How a finding names an op: "llvm.load", or the function of a call.
static std::string opText(Operation *op) {
  if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee())
    return call.getCallee()->str();
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return call.getIntrin().str();
  return op->getName().getStringRef().str();
}

//===----------------------------------------------------------------------===//
// What rules share
//===----------------------------------------------------------------------===//

uint32_t EmulationBuilder::Impl::site(Operation *op, AccessKind kind, Space space, uint32_t bytes, uint32_t align,
                                      bool asynchronous) {
  kernels.sites.push_back(
      {opText(op), locationText(op->getLoc()), kind, space, bytes, std::max(1u, align), asynchronous});
  return kernels.sites.size() - 1;
}

void EmulationBuilder::Impl::narrow(Space space, uint64_t bytes, uint64_t align, uint64_t whole) {
  uint64_t granule = std::max<uint64_t>(1, std::min(bytes & -bytes, align & -align));
  uint64_t line = std::min<uint64_t>(16, std::max(bytes & -bytes, whole & -whole));
  if (space != Space::Scratchpad && space != Space::Cluster) {
    kernels.globalGranule = std::min<uint64_t>(kernels.globalGranule, granule);
    kernels.globalLine = std::max<uint64_t>(kernels.globalLine, line);
  }
  if (space == Space::Scratchpad || space == Space::Cluster || space == Space::Generic) {
    kernels.scratchpadGranule = std::min<uint64_t>(kernels.scratchpadGranule, granule);
    kernels.scratchpadLine = std::max<uint64_t>(kernels.scratchpadLine, line);
  }
}

Value EmulationBuilder::Impl::call(OpBuilder &builder, Location loc, StringRef name, Type result, ValueRange operands) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  // Pointers of all address spaces are one on the host; a function is declared with plain ones.
  auto plain = LLVM::LLVMPointerType::get(module.getContext());
  SmallVector<Value> values;
  for (Value operand : operands) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(operand.getType());
    if (pointer && pointer.getAddressSpace())
      operand = LLVM::AddrSpaceCastOp::create(builder, loc, plain, operand);
    values.push_back(operand);
  }
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    Type type = LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(module.getContext()),
                                            SmallVector<Type>(ValueRange(values).getTypes()));
    function = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  }
  auto call = LLVM::CallOp::create(builder, loc, function, values);
  return result ? call.getResult() : Value();
}

int EmulationBuilder::Impl::unit(StringRef record) {
  auto known = unitNumbers.find(record);
  if (known != unitNumbers.end())
    return known->second;
  const MatrixUnit *unit = kernels.chip->unit(record);
  int number = unit ? static_cast<int>(kernels.units.size()) : -1;
  if (unit)
    kernels.units.emplace_back(*unit);
  return unitNumbers[record] = number;
}

Value EmulationBuilder::Impl::lane(Operation *op) { return op->getParentOfType<LLVM::LLVMFuncOp>().getArgument(0); }

Space tilewright::spaceOf(const EmulationTable &table, Value pointer) {
  return table.meaning(cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelRewriter::applyRule(Operation *op, StringRef name) {
  const EmulationRule *rule = kernels.table.rule(name);
  if (!rule)
    return op->emitError() << "the emulator does not know '" << name << "': the target's emulation table has no rule "
                           << "for it";
  EmulationBuilder builder(op, shared);
  if (failed((*rule)(op, builder)))
    return failure();
  if (builder.results.size() != op->getNumResults())
    return op->emitError() << "the rule of '" << name << "' gives " << builder.results.size() << " results, the op has "
                           << op->getNumResults();
  for (auto [result, value] : llvm::zip(op->getResults(), builder.results)) {
    if (result.getType() != value.getType())
      return op->emitError() << "the rule of '" << name << "' gives " << value.getType() << " where the op has "
                             << result.getType();
    result.replaceAllUsesWith(value);
  }
  op->erase();
  return success();
}

LogicalResult KernelRewriter::rewriteCall(LLVM::CallOp call) {
  if (!call.getCallee())
    return call.emitError("the emulator does not follow calls through pointers");
  StringRef callee = *call.getCallee();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(callee);
  if (function && !function.isExternal()) {
    call.getCalleeOperandsMutable().assign([&] {
      SmallVector<Value> operands{shared.lane(call)};
      llvm::append_range(operands, call.getCalleeOperands());
      return operands;
    }());
    return success();
  }
  if (callee.starts_with(unitPrefix)) {
    EmulationBuilder builder(call, shared);
    Type result = call.getNumResults() ? call.getResult().getType() : Type();
    StringRef record = callee.drop_front(unitPrefix.size());
    if (shared.unit(record) < 0)
      return call.emitError() << "chip " << kernels.chip->target() << ":" << kernels.chip->chip() << " has no unit \""
                              << record << "\"";
    Value value = builder.unit(record, call.getArgOperands(), result);
    if (result && !value)
      return failure();
    if (result)
      call.getResult().replaceAllUsesWith(value);
    call.erase();
    return success();
  }
  if (callee.consume_front(vectorPrefix))
    return rewriteVectorOp(call, callee);
  return applyRule(call, callee);
}

/// `record.N`: an instruction of the vector unit on N elements, executed from its record:
/// to(clamp(round(from * scale) + zeroPoint)).
LogicalResult KernelRewriter::rewriteVectorOp(LLVM::CallOp call, StringRef name) {
  auto [record, count] = name.rsplit('.');
  const VectorOp *known = nullptr;
  for (const VectorOp &each : kernels.chip->vectorOps())
    if (each.name == record)
      known = &each;
  if (!known || known->kind != "requantize" || call.getNumResults() != 1 ||
      call.getNumOperands() != 1u + known->scale + known->zeroPoint)
    return call.emitError() << "the emulator does not know the vector operation \"" << record << "\" of "
                            << kernels.chip->target() << ":" << kernels.chip->chip();
  OpBuilder builder(call);
  Location loc = call.getLoc();
  auto result = dyn_cast<VectorType>(call.getResult().getType());
  auto shape = result ? result.getShape() : ArrayRef<int64_t>();
  Type f32 = builder.getF32Type(), floats = result ? Type(VectorType::get(shape, f32)) : f32;
  auto splat = [&](double value) -> Value {
    TypedAttr attribute = builder.getF32FloatAttr(value);
    if (result)
      attribute = DenseElementsAttr::get(cast<ShapedType>(floats), float(value));
    return LLVM::ConstantOp::create(builder, loc, floats, attribute);
  };
  ValueRange operands = call.getArgOperands();
  Value value = operands.front();
  if (!isFloat(known->from))
    value = isSigned(known->from) ? LLVM::SIToFPOp::create(builder, loc, floats, value).getResult()
                                  : LLVM::UIToFPOp::create(builder, loc, floats, value).getResult();
  if (known->scale)
    value = LLVM::FMulOp::create(builder, loc, value, operands[1]);
  if (known->rounding == "nearest-even")
    value = LLVM::RoundEvenOp::create(builder, loc, floats, value);
  else if (known->rounding == "nearest-away")
    value = LLVM::RoundOp::create(builder, loc, floats, value);
  else
    value = LLVM::FFloorOp::create(builder, loc, floats, value);
  if (known->zeroPoint)
    value = LLVM::FAddOp::create(builder, loc, value, operands.back());
  if (known->saturates) {
    double range = std::ldexp(1.0, bitWidth(known->to) - isSigned(known->to));
    value = LLVM::MaxNumOp::create(builder, loc, value, splat(isSigned(known->to) ? -range : 0));
    value = LLVM::MinNumOp::create(builder, loc, value, splat(range - 1));
  }
  Type type = call.getResult().getType();
  value = isSigned(known->to) ? LLVM::FPToSIOp::create(builder, loc, type, value).getResult()
                              : LLVM::FPToUIOp::create(builder, loc, type, value).getResult();
  call.getResult().replaceAllUsesWith(value);
  call.erase();
  return success();
}

LogicalResult KernelRewriter::rewriteOp(Operation *op) {
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return rewriteCall(call);
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(call.getIntrin());
    bool isCommon = id != llvm::Intrinsic::not_intrinsic && !llvm::Intrinsic::isTargetIntrinsic(id);
    return isCommon && !kernels.table.rule(call.getIntrin()) ? success() : applyRule(op, call.getIntrin());
  }
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op)) {
    // The longest rule that the text begins with.
    StringRef text = assembly.getAsmString();
    for (size_t length = text.size(); length > 0; --length) {
      std::string name = ("asm:" + text.take_front(length)).str();
      if (kernels.table.rule(name))
        return applyRule(op, name);
    }
    return op->emitError() << "the emulator does not know the assembly \"" << text << "\"";
  }
  if (isa<LLVM::FenceOp>(op) && kernels.table.rule(op->getName().getStringRef()))
    return applyRule(op, op->getName().getStringRef()); // what it means at a barrier is the target's
  if (isa<LLVM::LLVMDialect>(op->getDialect()))
    return success();
  return applyRule(op, op->getName().getStringRef());
}

LogicalResult KernelRewriter::run() {
  SmallVector<LLVM::LLVMFuncOp> functions;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!function.isExternal())
      functions.push_back(function);
  }
  for (LLVM::LLVMFuncOp function : functions) {
    countInstructions(function);
    if (failed(takeLane(function)))
      return failure();
  }
  if (failed(placeGlobals()))
    return failure();
  auto rewriteAll = [&](auto rewrite) {
    SmallVector<Operation *> ops;
    for (LLVM::LLVMFuncOp function : functions)
      function.getBody().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (failed(rewrite(op)))
        return failure();
    }
    return success();
  };
  if (failed(rewriteAll([&](Operation *op) { return rewriteOp(op); })) ||
      failed(rewriteAll([&](Operation *op) { return checkAccess(op); })))
    return failure();
  // The host keeps a lane's own memory on its stack, in the address space of all.
  if (failed(rewriteAll([&](Operation *op) {
        auto slot = dyn_cast<LLVM::AllocaOp>(op);
        auto plain = LLVM::LLVMPointerType::get(op->getContext());
        if (!slot || slot.getType() == plain)
          return success();
        OpBuilder builder(op);
        Type type = slot.getType();
        slot.getResult().setType(plain);
        builder.setInsertionPointAfter(op);
        auto cast = LLVM::AddrSpaceCastOp::create(builder, op->getLoc(), type, slot);
        slot.getResult().replaceAllUsesExcept(cast, cast);
        return success();
      })))
    return failure();
  for (LLVM::LLVMFuncOp function : functions) {
    countBlocks(function);
    if (llvm::any_of(kernels.kernels, [&](const KernelEntry &known) { return known.name == function.getName(); }))
      makeEntry(function);
  }
  // Declarations of what became calls of the runtime.
  llvm::StringSet<> used;
  module.walk([&](Operation *op) {
    if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee())
      used.insert(*call.getCallee());
    else if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      used.insert(address.getGlobalName());
  });
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    if (function.isExternal() && !used.contains(function.getName()))
      function.erase();
  }
  return success();
}
