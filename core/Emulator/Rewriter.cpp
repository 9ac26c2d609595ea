//===- Rewriter.cpp - Kernels become host code that calls the runtime -----===//
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
#include "core/Emulator/InstructionClass.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/MathExtras.h"

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

void EmulationBuilder::Impl::narrow(Space space, uint64_t bytes, uint64_t align) {
  uint64_t granule = std::max<uint64_t>(1, std::min(bytes & -bytes, align & -align));
  if (space != Space::Scratchpad && space != Space::Cluster)
    kernels.globalGranule = std::min<uint64_t>(kernels.globalGranule, granule);
  if (space == Space::Scratchpad || space == Space::Cluster || space == Space::Generic)
    kernels.scratchpadGranule = std::min<uint64_t>(kernels.scratchpadGranule, granule);
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
// Functions
//===----------------------------------------------------------------------===//

LogicalResult KernelRewriter::placeGlobals() {
  DataLayout layout(module);
  uint64_t end = 0;
  SmallVector<LLVM::GlobalOp> dynamic, placed;
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    Space space = kernels.table.meaning(global.getAddrSpace());
    if (space != Space::Scratchpad && space != Space::Cluster)
      continue;
    placed.push_back(global);
    uint64_t bytes = layout.getTypeSize(global.getGlobalType());
    if (bytes == 0) {
      dynamic.push_back(global);
      continue;
    }
    end = llvm::alignTo(end, std::max<uint64_t>(16, global.getAlignment().value_or(16)));
    scratchpadOffsets[global.getSymName()] = end;
    end += bytes;
  }
  uint64_t align = 16;
  for (LLVM::GlobalOp global : dynamic)
    align = std::max<uint64_t>(align, global.getAlignment().value_or(16));
  end = llvm::alignTo(end, align);
  for (LLVM::GlobalOp global : dynamic)
    scratchpadOffsets[global.getSymName()] = end;
  kernels.staticScratchpadBytes = end;
  kernels.dynamicScratchpad = !dynamic.empty();

  SmallVector<LLVM::AddressOfOp> addresses;
  module.walk([&](LLVM::AddressOfOp address) { addresses.push_back(address); });
  for (LLVM::AddressOfOp address : addresses) {
    auto offset = scratchpadOffsets.find(address.getGlobalName());
    if (offset == scratchpadOffsets.end())
      continue;
    OpBuilder builder(address);
    Location loc = address.getLoc();
    auto plain = LLVM::LLVMPointerType::get(builder.getContext());
    Value lane = shared.lane(address);
    Value field = LLVM::GEPOp::create(builder, loc, plain, builder.getI8Type(), lane,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(laneScratchpadOffset)});
    auto base = LLVM::LoadOp::create(builder, loc, plain, field);
    base.setInvariant(true);
    base->setAttr(internalAccess, builder.getUnitAttr());
    Value place = LLVM::GEPOp::create(builder, loc, plain, builder.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset->second)});
    if (address.getType() != plain)
      place = LLVM::AddrSpaceCastOp::create(builder, loc, address.getType(), place);
    address.getResult().replaceAllUsesWith(place);
    address.erase();
  }
  for (LLVM::GlobalOp global : placed)
    global.erase();
  return success();
}

void KernelRewriter::countInstructions(LLVM::LLVMFuncOp function) {
  for (mlir::Block &block : function.getBody()) {
    blockNumbers[&block] = kernels.blocks.size();
    BlockCost cost;
    for (Operation &op : block)
      addInstruction(cost, &op, kernels.chip->vectorRegisters().second);
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
  if (isa<LLVM::LLVMDialect>(op->getDialect()))
    return success();
  return applyRule(op, op->getName().getStringRef());
}

/// Whether an address is that of an alloca or of a constant of the module.
static bool isPrivate(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (isa<LLVM::AllocaOp, LLVM::AddressOfOp>(op))
      return true;
    if (!isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::AddrSpaceCastOp>(op))
      return false;
    pointer = op->getOperand(0);
  }
  return false;
}

void KernelRewriter::checkMasked(OpOperand &address, Value mask, Type type, AccessKind kind, uint64_t align) {
  Space space = spaceOf(kernels.table, address.get());
  if (space == Space::Private || isPrivate(address.get()))
    return;
  Operation *op = address.getOwner();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  DataLayout layout(module);
  auto vector = cast<VectorType>(type);
  uint64_t elementBytes = layout.getTypeSize(vector.getElementType());
  shared.narrow(space, elementBytes, align);
  uint32_t site = shared.site(op, kind, space, 0, align);
  // The elements from the first to the last one that the mask has.
  int64_t lanes = vector.getNumElements();
  Type bits = builder.getIntegerType(lanes), i64 = builder.getI64Type();
  auto wide = [&](Value value) -> Value {
    if (lanes == 64)
      return value;
    return lanes > 64 ? LLVM::TruncOp::create(builder, loc, i64, value).getResult()
                      : LLVM::ZExtOp::create(builder, loc, i64, value).getResult();
  };
  auto number = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  };
  Value set = lanes == 1 ? LLVM::ExtractElementOp::create(builder, loc, mask, number(i64, 0)).getResult()
                         : LLVM::BitcastOp::create(builder, loc, bits, mask).getResult();
  Value first = wide(LLVM::CountTrailingZerosOp::create(builder, loc, bits, set, /*is_zero_poison=*/false));
  Value after = LLVM::SubOp::create(builder, loc, number(i64, lanes),
                                    wide(LLVM::CountLeadingZerosOp::create(builder, loc, bits, set, false)));
  auto plain = LLVM::LLVMPointerType::get(builder.getContext());
  Value checked = shared.call(
      builder, loc, "tw_emulator_masked", plain,
      {shared.lane(op), number(builder.getI32Type(), site), address.get(), first, after, number(i64, elementBytes)});
  if (address.get().getType() != plain)
    checked = LLVM::AddrSpaceCastOp::create(builder, loc, address.get().getType(), checked);
  address.set(checked);
}

LogicalResult KernelRewriter::checkAccess(Operation *op) {
  if (op->hasAttr(internalAccess)) {
    op->removeAttr(internalAccess);
    return success();
  }
  OpBuilder builder(op);
  DataLayout layout(module);
  auto check = [&](OpOperand &address, Type type, AccessKind kind, std::optional<uint64_t> alignment) {
    Space space = spaceOf(kernels.table, address.get());
    if (space == Space::Private || isPrivate(address.get()))
      return;
    uint64_t bytes = layout.getTypeSize(type);
    uint64_t align = alignment.value_or(0) ? *alignment : layout.getTypeABIAlignment(type);
    shared.narrow(space, bytes, align);
    uint32_t site = shared.site(op, kind, space, bytes, align);
    Location loc = op->getLoc();
    Type i32 = builder.getI32Type();
    Value number = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(site));
    auto plain = LLVM::LLVMPointerType::get(builder.getContext());
    Value checked = shared.call(builder, loc, "tw_emulator_access", plain, {shared.lane(op), number, address.get()});
    if (address.get().getType() != plain)
      checked = LLVM::AddrSpaceCastOp::create(builder, loc, address.get().getType(), checked);
    address.set(checked);
  };
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    check(load.getAddrMutable(), load.getType(), AccessKind::Read, load.getAlignment());
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    check(store.getAddrMutable(), store.getValue().getType(), AccessKind::Write, store.getAlignment());
  } else if (auto update = dyn_cast<LLVM::AtomicRMWOp>(op)) {
    check(update.getPtrMutable(), update.getVal().getType(), AccessKind::Atomic, update.getAlignment());
  } else if (auto exchange = dyn_cast<LLVM::AtomicCmpXchgOp>(op)) {
    check(exchange.getPtrMutable(), exchange.getVal().getType(), AccessKind::Atomic, exchange.getAlignment());
  } else if (auto masked = dyn_cast<LLVM::MaskedLoadOp>(op)) {
    checkMasked(masked.getDataMutable(), masked.getMask(), masked.getType(), AccessKind::Read, masked.getAlignment());
  } else if (auto masked = dyn_cast<LLVM::MaskedStoreOp>(op)) {
    checkMasked(masked.getDataMutable(), masked.getMask(), masked.getValue().getType(), AccessKind::Write,
                masked.getAlignment());
  } else if (isa<LLVM::MemcpyOp, LLVM::MemsetOp, LLVM::MemmoveOp>(op)) {
    for (Value operand : op->getOperands()) {
      if (isa<LLVM::LLVMPointerType>(operand.getType()) && !isPrivate(operand))
        return op->emitError("the emulator checks this access only on a lane's own memory");
    }
  }
  return success();
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
  for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    if (function.isExternal() && SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
  }
  return success();
}
