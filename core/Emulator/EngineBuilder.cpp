//===- EngineBuilder.cpp - Engines and units as calls of the runtime ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the primitives of asynchronous engines, barrier objects and matrix units become
/// in the kernel's IR.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Emulator/Barriers.h"
#include "core/Emulator/BuilderParts.h"
#include "core/Machine/UnitOperands.h"

using namespace mlir;
using namespace tilewright;

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
  impl.narrow(Space::Global, valid ? 1 : bytes, valid ? 1 : bytes, bytes);
  uint32_t site = impl.site(op, kindOf(engine), Space::Generic, bytes, bytes, /*asynchronous=*/true);
  CALL("copy", {}, constant(32, site), constant(32, static_cast<int64_t>(engine)), to, constant(64, 0), from,
       constant(64, 0), constant(32, 1), constant(32, bytes), valid ? valid : constant(32, bytes), constant(32, bytes),
       constant(32, 0));
}

void EmulationBuilder::copyAsync2d(Engine engine, Value to, Value toPitch, Value from, Value fromPitch, Value rows,
                                   Value rowBytes) {
  copyTransposed(engine, to, toPitch, from, fromPitch, rows, rowBytes, constant(32, 0));
}

void EmulationBuilder::copyTransposed(Engine engine, Value to, Value toPitch, Value from, Value fromPitch, Value rows,
                                      Value rowBytes, Value elementBytes) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(engine);
  bool transposed = constantOf(elementBytes) != 0;
  int64_t bytes = constantOf(rowBytes), align = 1;
  // The engine that moves tiles between these memories says how they must be aligned.
  if (impl.kernels.timed)
    align = (transposed ? impl.kernels.transposing : impl.kernels.rates)[static_cast<unsigned>(engine)].alignBytes;
  else
    for (const CopyEngine &known : impl.kernels.chip->copies())
      align = std::max(align, known.alignBytes);
  int64_t granule = bytes | constantOf(toPitch) | constantOf(fromPitch);
  granule = transposed ? 1 : std::min(align, std::max<int64_t>(1, granule & -granule));
  impl.narrow(Space::Generic, granule, granule, bytes);
  uint32_t site = impl.site(op, kindOf(engine), Space::Generic, 0, align, /*asynchronous=*/true);
  CALL("copy", {}, constant(32, site), constant(32, static_cast<int64_t>(engine)), to, toPitch, from, fromPitch, rows,
       rowBytes, constant(32, -1), constant(32, align), elementBytes);
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
// Accumulators in a memory of the block
//===----------------------------------------------------------------------===//

void EmulationBuilder::takeAccumulators(Value place, Value entries) {
  impl.narrow(Space::Scratchpad, 4, 4);
  uint32_t site = impl.site(op, AccessKind::Write, Space::Scratchpad, 4, 4);
  CALL("take_accumulators", {}, constant(32, site), place, entries);
}
void EmulationBuilder::freeAccumulators(Value address, Value entries) {
  CALL("free_accumulators", {}, constant(32, impl.site(op)), address, entries);
}
void EmulationBuilder::copyToAccumulators(Value address, Value descriptor, unsigned rows, unsigned bytes) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Unit);
  uint32_t site = impl.site(op, AccessKind::Read, Space::Generic);
  impl.narrow(Space::Scratchpad, bytes, bytes);
  CALL("copy_to_accumulators", {}, constant(32, site), address, descriptor, constant(32, rows), constant(32, bytes));
}
void EmulationBuilder::commitUnits(Value phase) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Unit);
  CALL("commit_accumulator_units", {}, constant(32, impl.site(op)), phase);
}
SmallVector<Value> EmulationBuilder::readAccumulators(Value address, unsigned count) {
  Value memory = frame(op, 4 * int64_t(count));
  CALL("read_accumulators", {}, constant(32, impl.site(op)), address, constant(32, count), memory);
  SmallVector<Value> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(loadInternal(builder, loc(), builder.getI32Type(), at(builder, loc(), memory, 4 * int64_t(i))));
  return words;
}
SmallVector<Value> EmulationBuilder::awaitReads(ValueRange words) {
  Value memory = frame(op, 4 * std::max<int64_t>(1, int64_t(words.size())));
  for (auto [i, word] : llvm::enumerate(words))
    storeInternal(builder, loc(), word, at(builder, loc(), memory, 4 * int64_t(i)));
  CALL("await_accumulator_reads", {}, constant(32, impl.site(op)), memory, constant(32, int64_t(words.size())));
  SmallVector<Value> results;
  for (auto [i, word] : llvm::enumerate(words))
    results.push_back(loadInternal(builder, loc(), word.getType(), at(builder, loc(), memory, 4 * int64_t(i))));
  return results;
}
void EmulationBuilder::fenceAccumulators(bool begins) {
  CALL("fence_accumulators", {}, constant(32, impl.site(op)), constant(32, begins));
}

//===----------------------------------------------------------------------===//
// Barrier objects and tensors
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
  impl.narrow(Space::Global, 1, 1, tensorVectorBytes);
  impl.narrow(Space::Cluster, tensorVectorBytes, tensorVectorBytes);
  uint32_t site = impl.site(op, AccessKind::Write, Space::Generic, 0, 1, /*asynchronous=*/true);
  Value phase = LLVM::PtrToIntOp::create(builder, loc(), builder.getI64Type(), plainAddress(builder, loc(), barrier));
  Value blocks =
      multicast ? LLVM::ZExtOp::create(builder, loc(), builder.getI32Type(), multicast).getResult() : constant(32, 0);
  CALL("tensor", {}, constant(32, site), constant(32, 0), to, descriptor, coordinateList(builder, op, coordinates),
       constant(32, coordinates.size()), phase, blocks);
}

void EmulationBuilder::storeTensor(Value descriptor, Value from, ValueRange coordinates) {
  impl.kernels.engines |= 1u << static_cast<unsigned>(Engine::Store);
  impl.narrow(Space::Global, 1, 1, tensorVectorBytes);
  impl.narrow(Space::Cluster, tensorVectorBytes, tensorVectorBytes);
  uint32_t site = impl.site(op, AccessKind::Read, Space::Generic, 0, 1, /*asynchronous=*/true);
  CALL("tensor", {}, constant(32, site), constant(32, 1), from, descriptor, coordinateList(builder, op, coordinates),
       constant(32, coordinates.size()), constant(64, 0), constant(32, 0));
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//

/// The scalars and vectors that a value consists of, with their bytes.
static void scalarsOf(OpBuilder &builder, Location loc, Value value, SmallVectorImpl<Value> &parts) {
  auto structure = dyn_cast<LLVM::LLVMStructType>(value.getType());
  if (!structure) {
    parts.push_back(value);
    return;
  }
  for (auto [i, type] : llvm::enumerate(structure.getBody()))
    scalarsOf(builder, loc,
              LLVM::ExtractValueOp::create(builder, loc, value, ArrayRef<int64_t>{static_cast<int64_t>(i)}), parts);
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
  for (Value operand : operands) {
    auto packed = dyn_cast<VectorType>(operand.getType());
    const int64_t width = packed ? packed.getElementTypeBitWidth() : 0;
    if (width > 1 && width < 8) { // as they lie side by side
      VectorType bytes = VectorType::get({packed.getNumElements() * width / 8}, builder.getI8Type());
      operand = LLVM::BitcastOp::create(builder, loc(), bytes, operand);
    }
    scalarsOf(builder, loc(), operand, parts);
  }
  auto wrong = [&](const Twine &what) {
    op->emitError() << "unit \"" << record << "\": " << what;
    return Value();
  };
  ArrayRef<Value> rest = parts;
  static constexpr const char *letters[] = {"A", "B", "C"};
  const MatrixUnit &unit = runner.unit;
  auto nameOf = [&](int i) {
    if (i < 3)
      return letters[i];
    const UnitOperand *beside = unit.besides()[i - 3];
    return unit.sparsity && beside == &unit.sparsity->index ? "the index of A"
           : beside == &unit.scales->a                      ? "the scales of A"
                                                            : "the scales of B";
  };
  for (int i = 0; i < runner.operands(); ++i) {
    const char *name = nameOf(i);
    if (i >= 2 && runner.inMemory(i) && accumulatesInBlock(runner.unit)) {
      const bool isScale = i > 2;
      if (rest.size() < 1u + isScale || !rest[0].getType().isInteger(32) ||
          (isScale && !rest[1].getType().isInteger(64)))
        return wrong(
            Twine("operand ") + Twine(name) + " is in a memory of the block; expected its address (i32), and " +
            (isScale ? "the first of its scales in a word, or of its entries (i64)" : "whether it is added to"));
      auto put = [&](size_t field, Value value) {
        storeInternal(builder, loc(), value, at(builder, loc(), memory, runner.memoryOffset(i) + field));
      };
      put(offsetof(MemoryOperand, address), LLVM::ZExtOp::create(builder, loc(), builder.getI64Type(), rest[0]));
      if (isScale)
        put(offsetof(MemoryOperand, pitch), rest[1]);
      rest = rest.drop_front(1 + isScale);
      continue;
    }
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
    int64_t rowBytes = o.cols * elementBytes(o.element);
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
