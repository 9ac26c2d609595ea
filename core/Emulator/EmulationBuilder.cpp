//===- EmulationBuilder.cpp - Primitives as calls of the runtime ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What each primitive becomes in the kernel's IR. The functions are those of
/// Symbols.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Collectives.h"
#include "core/Emulator/Meetings.h"
#include "core/Emulator/Rewriter.h"

using namespace mlir;
using namespace tilewright;

static LLVM::LLVMPointerType plainPointer(OpBuilder &builder) {
  return LLVM::LLVMPointerType::get(builder.getContext());
}

/// A pointer `offset` bytes behind `base`.
static Value at(OpBuilder &builder, Location loc, Value base, int64_t offset) {
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

static Value loadInternal(OpBuilder &builder, Location loc, Type type, Value address) {
  auto load = LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/1);
  load->setAttr(internalAccess, builder.getUnitAttr());
  return load;
}

static void storeInternal(OpBuilder &builder, Location loc, Value value, Value address) {
  auto store = LLVM::StoreOp::create(builder, loc, value, address, /*alignment=*/1);
  store->setAttr(internalAccess, builder.getUnitAttr());
}

/// Bytes of a value in memory; vectors are dense, whatever their number of elements.
static int64_t bytesOf(const DataLayout &layout, Type type) {
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

/// Memory of one lane for the operands of a call. All calls of a function share it: each has done with it when it
/// returns, and an unrolled kernel has thousands.
static Value frame(Operation *op, int64_t bytes) {
  constexpr const char *attribute = "tilewright.frame";
  for (auto shared : op->getParentOfType<LLVM::LLVMFuncOp>().front().getOps<LLVM::AllocaOp>()) {
    if (!shared->hasAttr(attribute))
      continue;
    auto size = shared.getArraySize().getDefiningOp<LLVM::ConstantOp>();
    if (int64_t have = cast<IntegerAttr>(size.getValue()).getInt(); have < bytes)
      size.setValueAttr(IntegerAttr::get(size.getType(), bytes));
    return shared;
  }
  LLVM::AllocaOp memory = slot(op, bytes);
  memory->setAttr(attribute, UnitAttr::get(op->getContext()));
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

/// A call of the runtime from the site `site`.
#define CALL(name, result, ...)                                                                                        \
  impl.call(builder, loc(), "tw_emulator_" name, result, ValueRange{impl.lane(op), __VA_ARGS__})

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
void EmulationBuilder::subgroupBarrier() { CALL("subgroup_barrier", {}, constant(32, impl.site(op))); }
void EmulationBuilder::clusterArrive() {
  CALL("cluster_barrier", {}, constant(32, impl.site(op)), constant(32, stepValue(BarrierStep::Arrive)));
}
void EmulationBuilder::clusterWait() {
  CALL("cluster_barrier", {}, constant(32, impl.site(op)), constant(32, stepValue(BarrierStep::Wait)));
}
void EmulationBuilder::fenceEngines() { CALL("fence_engines", {}, constant(32, impl.site(op))); }

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
/// the block where all meet again.
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

static Value plainAddress(OpBuilder &builder, Location loc, Value pointer) {
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

//===----------------------------------------------------------------------===//
// Asynchronous engines
//===----------------------------------------------------------------------===//

/// The constant that `value` is, or 0.
static int64_t constantOf(Value value) {
  auto constant = value.getDefiningOp<LLVM::ConstantOp>();
  auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  return number ? number.getInt() : 0;
}

static AccessKind kindOf(Engine engine) { return engine == Engine::Store ? AccessKind::Read : AccessKind::Write; }

void EmulationBuilder::copyAsync(Engine engine, Value to, Value from, int64_t bytes, Value valid) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(engine);
  impl.narrow(Space::Scratchpad, bytes, bytes);
  impl.narrow(Space::Global, valid ? 1 : bytes, valid ? 1 : bytes);
  uint32_t site = impl.site(op, kindOf(engine), Space::Generic, bytes, bytes, /*asynchronous=*/true);
  CALL("copy", {}, constant(32, site), constant(32, static_cast<int64_t>(engine)), to, constant(64, 0), from,
       constant(64, 0), constant(32, 1), constant(32, bytes), valid ? valid : constant(32, bytes), constant(32, bytes));
}

void EmulationBuilder::copyAsync2d(Engine engine, Value to, Value toPitch, Value from, Value fromPitch, Value rows,
                                   Value rowBytes) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(engine);
  int64_t bytes = constantOf(rowBytes), align = 1;
  // The engine that moves tiles between these memories says how they must be aligned.
  for (const CopyEngine &known : impl.kernels.chip->copies())
    align = std::max(align, known.alignBytes);
  int64_t granule = bytes | constantOf(toPitch) | constantOf(fromPitch);
  granule = std::min(align, std::max<int64_t>(1, granule & -granule));
  impl.narrow(Space::Generic, granule, granule);
  uint32_t site = impl.site(op, kindOf(engine), Space::Generic, 0, align, /*asynchronous=*/true);
  CALL("copy", {}, constant(32, site), constant(32, static_cast<int64_t>(engine)), to, toPitch, from, fromPitch, rows,
       rowBytes, constant(32, -1), constant(32, align));
}

void EmulationBuilder::commit(Engine engine) {
  CALL("commit", {}, constant(32, impl.site(op)), constant(32, static_cast<int64_t>(engine)));
}

void EmulationBuilder::wait(Engine engine, Value pending) {
  CALL("wait", {}, constant(32, impl.site(op)), constant(32, static_cast<int64_t>(engine)), pending);
}

SmallVector<Value> EmulationBuilder::waitUnits(Value pending, ValueRange accumulators) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Unit);
  DataLayout layout(impl.module);
  int64_t bytes = 0;
  for (Value each : accumulators)
    bytes += bytesOf(layout, each.getType());
  Value memory = frame(op, std::max<int64_t>(4, bytes));
  SmallVector<Value> places, results;
  bytes = 0;
  for (Value each : accumulators) {
    places.push_back(at(builder, loc(), memory, bytes));
    storeInternal(builder, loc(), each, places.back());
    bytes += bytesOf(layout, each.getType());
  }
  CALL("wait_units", {}, constant(32, impl.site(op)), pending, memory, constant(32, bytes / 4));
  for (auto [each, place] : llvm::zip(accumulators, places))
    results.push_back(loadInternal(builder, loc(), each.getType(), place));
  return results;
}

//===----------------------------------------------------------------------===//
// Phase barriers and tensors
//===----------------------------------------------------------------------===//

static int64_t stepValue(PhaseStep step) { return static_cast<int64_t>(step); }

void EmulationBuilder::phaseInit(Value address, Value count) {
  CALL("phase", builder.getI32Type(), constant(32, impl.site(op)), constant(32, stepValue(PhaseStep::Init)), address,
       count);
}
void EmulationBuilder::phaseArrive(Value address, Value count) {
  CALL("phase", builder.getI32Type(), constant(32, impl.site(op)), constant(32, stepValue(PhaseStep::Arrive)), address,
       count ? count : constant(32, 1));
}
void EmulationBuilder::phaseExpect(Value address, Value bytes) {
  CALL("phase", builder.getI32Type(), constant(32, impl.site(op)), constant(32, stepValue(PhaseStep::Expect)), address,
       bytes);
}
void EmulationBuilder::phaseWait(Value address, Value parity) {
  CALL("phase", builder.getI32Type(), constant(32, impl.site(op)), constant(32, stepValue(PhaseStep::Wait)), address,
       parity);
}
Value EmulationBuilder::phaseTest(Value address, Value parity) {
  Value ended = CALL("phase", builder.getI32Type(), constant(32, impl.site(op)),
                     constant(32, stepValue(PhaseStep::Test)), address, parity);
  return LLVM::TruncOp::create(builder, loc(), builder.getI1Type(), ended);
}

Value EmulationBuilder::mapToBlock(Value address, Value rank, Type type) {
  Value mapped = CALL("map_to_block", plainPointer(builder), constant(32, impl.site(op)), address, rank);
  return type == mapped.getType() ? mapped : LLVM::AddrSpaceCastOp::create(builder, loc(), type, mapped).getResult();
}

static Value coordinateList(OpBuilder &builder, Operation *op, ValueRange coordinates) {
  Value list = frame(op, 4 * std::max<size_t>(1, coordinates.size()));
  for (auto [i, value] : llvm::enumerate(coordinates))
    storeInternal(builder, op->getLoc(), value, at(builder, op->getLoc(), list, 4 * i));
  return list;
}

void EmulationBuilder::copyTensor(Value to, Value descriptor, ValueRange coordinates, Value barrier, Value multicast) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Copy);
  impl.narrow(Space::Global, 1, 1);
  uint32_t site = impl.site(op, AccessKind::Write, Space::Generic, 0, 1, /*asynchronous=*/true);
  Value phase = LLVM::PtrToIntOp::create(builder, loc(), builder.getI64Type(), plainAddress(builder, loc(), barrier));
  Value blocks =
      multicast ? LLVM::ZExtOp::create(builder, loc(), builder.getI32Type(), multicast).getResult() : constant(32, 0);
  CALL("tensor", {}, constant(32, site), constant(32, 0), to, descriptor, coordinateList(builder, op, coordinates),
       constant(32, coordinates.size()), phase, blocks);
}

void EmulationBuilder::storeTensor(Value descriptor, Value from, ValueRange coordinates) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Store);
  impl.narrow(Space::Global, 1, 1);
  uint32_t site = impl.site(op, AccessKind::Read, Space::Generic, 0, 1, /*asynchronous=*/true);
  CALL("tensor", {}, constant(32, site), constant(32, 1), from, descriptor, coordinateList(builder, op, coordinates),
       constant(32, coordinates.size()), constant(64, 0), constant(32, 0));
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//

/// The scalars and vectors that a value consists of, with their bytes.
static void pieces(OpBuilder &builder, Location loc, Value value, SmallVectorImpl<Value> &parts) {
  auto structure = dyn_cast<LLVM::LLVMStructType>(value.getType());
  if (!structure) {
    parts.push_back(value);
    return;
  }
  for (auto [i, type] : llvm::enumerate(structure.getBody()))
    pieces(builder, loc, LLVM::ExtractValueOp::create(builder, loc, value, ArrayRef<int64_t>{static_cast<int64_t>(i)}),
           parts);
}

Value EmulationBuilder::unit(StringRef record, ValueRange operands, Type result) {
  int number = impl.unit(record);
  if (number < 0) {
    op->emitError() << "the chip has no unit \"" << record << "\"";
    return {};
  }
  const UnitRunner &runner = impl.kernels.units[number];
  DataLayout layout(impl.module);
  Value memory = frame(op, runner.frameBytes());
  SmallVector<Value> parts;
  for (Value operand : operands)
    pieces(builder, loc(), operand, parts);
  auto wrong = [&](const Twine &what) {
    op->emitError() << "unit \"" << record << "\": " << what;
    return Value();
  };
  ArrayRef<Value> rest = parts;
  for (int i = 0; i < 3; ++i) {
    char name = 'A' + i;
    if (runner.inMemory(i)) {
      bool described = !rest.empty() && rest[0].getType().isInteger(64);
      if (rest.size() < 2 || !(described || isa<LLVM::LLVMPointerType>(rest[0].getType())) ||
          !rest[1].getType().isInteger(64))
        return wrong(Twine("operand ") + Twine(name) +
                     " lies in memory; expected its address and row pitch (i64), or "
                     "its descriptor and 1 where lines run along k");
      auto put = [&](size_t field, Value value) {
        storeInternal(builder, loc(), value, at(builder, loc(), memory, runner.memoryOffset(i) + field));
      };
      put(offsetof(MemoryOperand, address), described ? rest[0] : plainAddress(builder, loc(), rest[0]));
      put(offsetof(MemoryOperand, pitch), described ? constant(64, 0) : rest[1]);
      Value form = constant(64, MemoryOperand::Rows);
      if (described)
        form = LLVM::AddOp::create(builder, loc(), constant(64, MemoryOperand::LinesAlongFree), rest[1]);
      put(offsetof(MemoryOperand, form), form);
      rest = rest.drop_front(2);
      continue;
    }
    int64_t offset = 0;
    while (offset < runner.registerBytes(i) && !rest.empty()) {
      storeInternal(builder, loc(), rest.front(), at(builder, loc(), memory, runner.registerOffset(i) + offset));
      offset += bytesOf(layout, rest.front().getType());
      rest = rest.drop_front();
    }
    if (offset != runner.registerBytes(i))
      return wrong(Twine("operand ") + Twine(name) + " has " + Twine(offset) +
                   " bytes a lane; the record's layout has " + Twine(runner.registerBytes(i)));
  }
  if (runner.unit.init == UnitInit::ZeroFlag && runner.inMemory(2) && !rest.empty()) {
    Value flag = LLVM::ZExtOp::create(builder, loc(), builder.getI8Type(), rest.front());
    storeInternal(builder, loc(), flag, at(builder, loc(), memory, runner.useCOffset()));
    rest = rest.drop_front();
  }
  if (!rest.empty())
    return wrong(Twine(rest.size()) + " operands too many");
  uint32_t site = impl.site(op, AccessKind::Read, Space::Generic);
  impl.kernels.sites[site].unit = number;
  impl.kernels.sites[site].op = runner.unit.name;
  for (int i = 0; i < 3; ++i) {
    if (!runner.inMemory(i))
      continue;
    const UnitOperand &o = i == 0 ? runner.unit.a : i == 1 ? runner.unit.b : runner.unit.c;
    int64_t rowBytes = o.cols * std::max(1u, bitWidth(o.element) / 8);
    impl.narrow(Space::Scratchpad, rowBytes, 16);
    if (runner.unit.completion != Completion::AtOnce)
      impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Unit);
  }
  CALL("unit", {}, constant(32, site), memory);
  if (!result)
    return {};
  int64_t offset = runner.registerOffset(2);
  auto structure = dyn_cast<LLVM::LLVMStructType>(result);
  if (!structure)
    return loadInternal(builder, loc(), result, at(builder, loc(), memory, offset));
  Value value = LLVM::PoisonOp::create(builder, loc(), result);
  for (auto [i, type] : llvm::enumerate(structure.getBody())) {
    Value part = loadInternal(builder, loc(), type, at(builder, loc(), memory, offset));
    value = LLVM::InsertValueOp::create(builder, loc(), value, part, ArrayRef<int64_t>{static_cast<int64_t>(i)});
    offset += bytesOf(layout, type);
  }
  return value;
}
