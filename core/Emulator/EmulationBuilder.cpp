//===- EmulationBuilder.cpp - Primitives as calls of the runtime ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each primitive of lanes becomes in the kernel's IR; those of engines and
/// units: EngineBuilder.cpp. The functions are those of Symbols.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Barriers.h"
#include "core/Emulator/BuilderParts.h"
#include "core/Emulator/Collectives.h"
#include "tilewright/PointerOffset.h"

using namespace mlir;
using namespace tilewright;

LLVM::LLVMPointerType tilewright::plainPointer(OpBuilder &builder) {
  return LLVM::LLVMPointerType::get(builder.getContext());
}

Value tilewright::at(OpBuilder &builder, Location loc, Value base, int64_t offset) {
  return elementBehind(builder, loc, base, builder.getI8Type(), offset);
}

Value tilewright::loadInternal(OpBuilder &builder, Location loc, Type type, Value address) {
  auto load = LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/1);
  load->setAttr(internalAccess, builder.getUnitAttr());
  return load;
}

void tilewright::storeInternal(OpBuilder &builder, Location loc, Value value, Value address) {
  auto store = LLVM::StoreOp::create(builder, loc, value, address, /*alignment=*/1);
  store->setAttr(internalAccess, builder.getUnitAttr());
}

int64_t tilewright::bytesOf(const DataLayout &layout, Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * layout.getTypeSize(vector.getElementType());
  return layout.getTypeSize(type);
}

/// Memory of one lane, in the entry block so that a loop does not grow the stack.
static LLVM::AllocaOp slot(Operation *op, int64_t bytes) {
  OpBuilder entry = OpBuilder::atBlockBegin(&op->getParentOfType<LLVM::LLVMFuncOp>().front());
  Value size = LLVM::ConstantOp::create(entry, op->getLoc(), entry.getI64Type(), entry.getI64IntegerAttr(bytes));
  return LLVM::AllocaOp::create(entry, op->getLoc(), plainPointer(entry), entry.getI8Type(), size, /*alignment=*/16);
}

Value tilewright::frame(Operation *op, int64_t bytes) {
  for (auto shared : op->getParentOfType<LLVM::LLVMFuncOp>().front().getOps<LLVM::AllocaOp>()) {
    if (!shared->hasAttr(frameAttr))
      continue;
    auto size = shared.getArraySize().getDefiningOp<LLVM::ConstantOp>();
    if (int64_t have = cast<IntegerAttr>(size.getValue()).getInt(); have < bytes)
      size.setValueAttr(IntegerAttr::get(size.getType(), bytes));
    return shared;
  }
  LLVM::AllocaOp memory = slot(op, bytes);
  memory->setAttr(frameAttr, UnitAttr::get(op->getContext()));
  return memory;
}

Value EmulationBuilder::constant(unsigned width, int64_t value) {
  Type type = builder.getIntegerType(width);
  return LLVM::ConstantOp::create(builder, loc(), type, builder.getIntegerAttr(type, value));
}

LogicalResult EmulationBuilder::refuse(const Twine &why) {
  return op->emitError() << "'" << op->getName() << "' cannot be emulated: " << why;
}

Value EmulationBuilder::fact(LaneFact fact) {
  auto value = LLVM::LoadOp::create(builder, loc(), builder.getI32Type(),
                                    at(builder, loc(), impl.lane(op), laneFactsOffset + 4 * static_cast<int>(fact)));
  value.setInvariant(true);
  value->setAttr(internalAccess, builder.getUnitAttr());
  return value;
}

//===----------------------------------------------------------------------===//
// Lanes that wait for each other
//===----------------------------------------------------------------------===//

static int64_t stepValue(BarrierStep step) { return static_cast<int64_t>(step); }

void EmulationBuilder::barrier() {
  CALL("barrier", {}, constant(32, impl.site(op)), constant(64, Block::blockBarrier), constant(32, 0),
       constant(32, stepValue(BarrierStep::ArriveAndWait)));
}
void EmulationBuilder::barrier(Value id, Value lanes) {
  CALL("barrier", {}, constant(32, impl.site(op)), LLVM::ZExtOp::create(builder, loc(), builder.getI64Type(), id),
       lanes, constant(32, stepValue(BarrierStep::ArriveAndWait)));
}
void EmulationBuilder::barrierArrive(Value id, Value lanes) {
  CALL("barrier", {}, constant(32, impl.site(op)), LLVM::ZExtOp::create(builder, loc(), builder.getI64Type(), id),
       lanes, constant(32, stepValue(BarrierStep::Arrive)));
}
void EmulationBuilder::barrierSignal() {
  CALL("barrier", {}, constant(32, impl.site(op)), constant(64, Block::splitBarrier), constant(32, 0),
       constant(32, stepValue(BarrierStep::Arrive)));
}
void EmulationBuilder::barrierWait() {
  CALL("barrier", {}, constant(32, impl.site(op)), constant(64, Block::splitBarrier), constant(32, 0),
       constant(32, stepValue(BarrierStep::Wait)));
}
void EmulationBuilder::bareBarrier() {
  CALL("barrier", {}, constant(32, impl.site(op)), constant(64, Block::blockBarrier), constant(32, 0),
       constant(32, stepValue(BarrierStep::Bare)));
}
void EmulationBuilder::holdAccesses() {
  CALL("order_accesses", {}, constant(32, impl.site(op)), constant(32, static_cast<int>(AccessStep::Hold)));
}
void EmulationBuilder::completeAccesses() {
  CALL("order_accesses", {}, constant(32, impl.site(op)), constant(32, static_cast<int>(AccessStep::Complete)));
}
void EmulationBuilder::acquireAccesses() {
  CALL("order_accesses", {}, constant(32, impl.site(op)), constant(32, static_cast<int>(AccessStep::Acquire)));
}
void EmulationBuilder::subgroupBarrier() { CALL("subgroup_barrier", {}, constant(32, impl.site(op))); }
void EmulationBuilder::clusterArrive() {
  CALL("cluster_barrier", {}, constant(32, impl.site(op)), constant(32, stepValue(BarrierStep::Arrive)));
}
void EmulationBuilder::clusterWait() {
  CALL("cluster_barrier", {}, constant(32, impl.site(op)), constant(32, stepValue(BarrierStep::Wait)));
}
void EmulationBuilder::fenceEngines() { CALL("fence_engines", {}, constant(32, impl.site(op))); }
void EmulationBuilder::fenceUnits() { CALL("fence_units", {}, constant(32, impl.site(op))); }

//===----------------------------------------------------------------------===//
// Values between lanes
//===----------------------------------------------------------------------===//

/// `value` as the low bits of an i64; its size in bits, 0 if it is wider.
static Value toBits(OpBuilder &builder, Location loc, Value value, unsigned &bits) {
  Type type = value.getType();
  bits = 64;
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), value);
  auto vector = dyn_cast<VectorType>(type);
  bits = vector ? vector.getNumElements() * vector.getElementTypeBitWidth() : type.getIntOrFloatBitWidth();
  if (!type.isInteger())
    value = LLVM::BitcastOp::create(builder, loc, builder.getIntegerType(bits), value);
  return bits == 64 ? value : LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), value).getResult();
}

static Value fromBits(OpBuilder &builder, Location loc, Value word, Type type, unsigned bits) {
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::IntToPtrOp::create(builder, loc, type, word);
  if (bits != 64)
    word = LLVM::TruncOp::create(builder, loc, builder.getIntegerType(bits), word);
  return type.isInteger() ? word : LLVM::BitcastOp::create(builder, loc, type, word).getResult();
}

/// One exchange: fills a frame, calls, and leaves it for reading.
static Value exchangeFrame(EmulationBuilder &b, Operation *op, Value word, int64_t kind, Value amount, Value width) {
  OpBuilder &builder = b.ir();
  Location loc = b.loc();
  Value memory = frame(op, sizeof(ExchangeFrame));
  auto put = [&](size_t offset, Value value) { storeInternal(builder, loc, value, at(builder, loc, memory, offset)); };
  put(offsetof(ExchangeFrame, value), word);
  put(offsetof(ExchangeFrame, kind), b.constant(32, kind));
  put(offsetof(ExchangeFrame, amount), amount ? amount : b.constant(32, 0));
  put(offsetof(ExchangeFrame, width), width ? width : b.constant(32, 0));
  return memory;
}

Value EmulationBuilder::shuffle(Shuffle kind, Value value, Value amount, Value width, Value *inside) {
  unsigned bits;
  Value word = toBits(builder, loc(), value, bits);
  Value memory =
      exchangeFrame(*this, op, word, ExchangeFrame::shuffleKinds + static_cast<int64_t>(kind), amount, width);
  CALL("exchange", {}, constant(32, impl.site(op)), memory);
  if (inside) {
    Value flag =
        loadInternal(builder, loc(), builder.getI32Type(), at(builder, loc(), memory, offsetof(ExchangeFrame, inside)));
    *inside = LLVM::TruncOp::create(builder, loc(), builder.getI1Type(), flag);
  }
  Value result = loadInternal(builder, loc(), builder.getI64Type(), memory);
  return fromBits(builder, loc(), result, value.getType(), bits);
}

Value EmulationBuilder::vote(Vote kind, Value predicate) {
  Value word = LLVM::ZExtOp::create(builder, loc(), builder.getI64Type(), predicate);
  Value memory = exchangeFrame(*this, op, word, ExchangeFrame::voteKinds + static_cast<int64_t>(kind), {}, {});
  CALL("exchange", {}, constant(32, impl.site(op)), memory);
  Value result = loadInternal(builder, loc(), builder.getI64Type(), memory);
  return kind == Vote::Ballot ? result : LLVM::TruncOp::create(builder, loc(), builder.getI1Type(), result).getResult();
}

Value EmulationBuilder::combine(Combine kind, Value value) {
  Value word = LLVM::ZExtOp::create(builder, loc(), builder.getI64Type(), value);
  Value memory = exchangeFrame(*this, op, word, ExchangeFrame::combineKinds + static_cast<int64_t>(kind), {}, {});
  CALL("exchange", {}, constant(32, impl.site(op)), memory);
  return loadInternal(builder, loc(), builder.getI32Type(), memory);
}

Value EmulationBuilder::exp2(Value x) {
  auto f32 = [&](float value) -> Value {
    return LLVM::ConstantOp::create(builder, loc(), builder.getF32Type(), builder.getF32FloatAttr(value));
  };
  Value power = LLVM::Exp2Op::create(builder, loc(), x);
  Value vanishes =
      LLVM::FCmpOp::create(builder, loc(), LLVM::FCmpPredicate::olt, power, f32(std::numeric_limits<float>::min()));
  return LLVM::SelectOp::create(builder, loc(), vanishes, f32(0), power);
}

Value EmulationBuilder::first(Value value) { return shuffle(Shuffle::Index, value, constant(32, 0)); }

Value EmulationBuilder::elect() {
  Value memory = exchangeFrame(*this, op, constant(64, 0), ExchangeFrame::electKind, {}, {});
  CALL("exchange", {}, constant(32, impl.site(op)), memory);
  Value result = loadInternal(builder, loc(), builder.getI64Type(), memory);
  return LLVM::TruncOp::create(builder, loc(), builder.getI1Type(), result);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Value> EmulationBuilder::loadMatrices(Value row, unsigned count, bool transpose) {
  impl.narrow(Space::Scratchpad, 16, 16);
  Value words = frame(op, 4 * count);
  uint32_t site = impl.site(op, AccessKind::Read, Space::Scratchpad, 16, 16);
  CALL("matrices", {}, constant(32, site), row, constant(32, count), constant(32, transpose), constant(32, 0), words);
  SmallVector<Value> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(loadInternal(builder, loc(), builder.getI32Type(), at(builder, loc(), words, 4 * i)));
  return values;
}

SmallVector<Value> EmulationBuilder::loadColumns(Value address, unsigned elementBytes) {
  impl.narrow(Space::Scratchpad, 8, 8);
  Value words = frame(op, 8);
  uint32_t site = impl.site(op, AccessKind::Read, Space::Scratchpad, 8, 8);
  CALL("columns", {}, constant(32, site), address, constant(32, elementBytes), words);
  SmallVector<Value> values;
  for (unsigned i = 0; i < 2; ++i)
    values.push_back(loadInternal(builder, loc(), builder.getI32Type(), at(builder, loc(), words, 4 * i)));
  return values;
}

void EmulationBuilder::storeMatrices(Value row, ValueRange values, bool transpose) {
  impl.narrow(Space::Scratchpad, 16, 16);
  Value words = frame(op, 4 * values.size());
  for (auto [i, value] : llvm::enumerate(values))
    storeInternal(builder, loc(), value, at(builder, loc(), words, 4 * i));
  uint32_t site = impl.site(op, AccessKind::Write, Space::Scratchpad, 16, 16);
  CALL("matrices", {}, constant(32, site), row, constant(32, values.size()), constant(32, transpose), constant(32, 1),
       words);
}

/// Continues in a new block that only lanes with `condition` pass through; the builder stands in it afterwards. Returns
/// the block where all lanes join again.
static mlir::Block *enterIf(OpBuilder &builder, Operation *op, Location loc, Value condition) {
  mlir::Block *before = op->getBlock();
  mlir::Block *after = before->splitBlock(op);
  mlir::Block *inside = builder.createBlock(after);
  builder.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(builder, loc, condition, inside, after);
  builder.setInsertionPointToEnd(inside);
  LLVM::BrOp::create(builder, loc, ValueRange(), after);
  builder.setInsertionPointToStart(inside);
  return after;
}

Value EmulationBuilder::load(Type type, Value address, unsigned align, Value inRange) {
  DataLayout layout(impl.module);
  Value slot = ::slot(op, layout.getTypeSize(type));
  storeInternal(builder, loc(), LLVM::ZeroOp::create(builder, loc(), type), slot);
  enterIf(builder, op, loc(), inRange);
  Value value = LLVM::LoadOp::create(builder, loc(), type, address, align);
  storeInternal(builder, loc(), value, slot);
  builder.setInsertionPoint(op);
  return loadInternal(builder, loc(), type, slot);
}

void EmulationBuilder::store(Value value, Value address, unsigned align, Value inRange) {
  enterIf(builder, op, loc(), inRange);
  LLVM::StoreOp::create(builder, loc(), value, address, align);
  builder.setInsertionPoint(op);
}

Value EmulationBuilder::resource(Type type, Value base, Value bytes) {
  Value slot = ::slot(op, 16);
  auto plain = plainPointer(builder);
  if (base.getType() != plain)
    base = LLVM::AddrSpaceCastOp::create(builder, loc(), plain, base);
  storeInternal(builder, loc(), base, slot);
  storeInternal(builder, loc(), bytes, at(builder, loc(), slot, 8));
  return type == plain ? slot : LLVM::AddrSpaceCastOp::create(builder, loc(), type, slot).getResult();
}

Value tilewright::plainAddress(OpBuilder &builder, Location loc, Value pointer) {
  auto plain = plainPointer(builder);
  return pointer.getType() == plain ? pointer : LLVM::AddrSpaceCastOp::create(builder, loc, plain, pointer).getResult();
}

Value EmulationBuilder::resourceBase(Value resource) {
  return loadInternal(builder, loc(), plainPointer(builder), plainAddress(builder, loc(), resource));
}
Value EmulationBuilder::resourceBytes(Value resource) {
  return loadInternal(builder, loc(), builder.getI64Type(),
                      at(builder, loc(), plainAddress(builder, loc(), resource), 8));
}
