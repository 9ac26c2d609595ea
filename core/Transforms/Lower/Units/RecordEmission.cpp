//===- RecordEmission.cpp - Units and registers as instructions -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operands of units by role; the rows of a register, one by one or all at once.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/RecordEmission.h"
#include "core/Machine/RecordTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Matchers.h"
#include <climits>

using namespace mlir;
using namespace tilewright;

//===-- Scalable vectors --------------------------------------------------===//

std::optional<int64_t> tilewright::scaleOf(ArrayRef<State> states) {
  for (const State &state : states)
    for (StringRef attribute : state.attributes) {
      int64_t scale;
      if (attribute.consume_front("vscale_range=") && !attribute.split(',').first.getAsInteger(10, scale) && scale > 0)
        return scale;
    }
  return std::nullopt;
}

/// The type that carries `fixed` in a function of these vectors.
static VectorType carriedType(VectorType fixed, std::optional<int64_t> scale) {
  return scale ? VectorType::get({fixed.getNumElements() / *scale}, fixed.getElementType(), {true}) : fixed;
}

/// A vector of fixed length as a scalable one of the same bits, carried as `storage` where that is not null.
static Value toScalable(UnitEmitter &emitter, Value value, int64_t scale, Type storage) {
  auto fixed = cast<VectorType>(value.getType());
  OpBuilder &b = emitter.builder;
  Type element = fixed.getElementType();
  if (storage) {
    fixed = VectorType::get(fixed.getShape(), storage);
    value = castTo(b, emitter.loc, value, fixed);
  }
  VectorType scalable = carriedType(fixed, scale);
  Value result = LLVM::PoisonOp::create(b, emitter.loc, scalable);
  result = LLVM::vector_insert::create(b, emitter.loc, scalable, result, value, 0);
  return storage ? castTo(b, emitter.loc, result, VectorType::get(scalable.getShape(), element, {true})) : result;
}

//===-- Units -------------------------------------------------------------===//

/// The lowest `low` bits of each byte of `bytes` side by side from the lowest bit on; other bits are 0. `bytes`: a
/// power of two of them. Neighbours meet in log2 of their number of steps, those of several words of 32 bits in each
/// word.
static Value packLowBits(UnitEmitter &emitter, Value bytes, int64_t low) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc;
  auto type = cast<IntegerType>(bytes.getType());
  const int64_t bits = type.getWidth(), wordBits = 32;
  if (bits > wordBits) {
    const int64_t words = bits / wordBits, each = wordBits / CHAR_BIT * low;
    Type result = b.getIntegerType(std::max<int64_t>(wordBits, llvm::PowerOf2Ceil(words * each)));
    Value split = castTo(b, loc, bytes, VectorType::get(words, b.getI32Type())), all;
    for (int64_t i = 0; i < words; ++i) {
      Value word = LLVM::ExtractElementOp::create(b, loc, split, emitter.constant(32, i));
      word = packLowBits(emitter, word, low);
      if (result != word.getType())
        word = LLVM::ZExtOp::create(b, loc, result, word);
      if (i)
        word = LLVM::ShlOp::create(b, loc, word, emitter.constant(result, i * each));
      all = all ? Value(LLVM::OrOp::create(b, loc, all, word)) : word;
    }
    return all;
  }
  auto number = [&](const APInt &value) {
    return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
  };
  for (int64_t unit = CHAR_BIT, run = low; unit <= bits; unit *= 2, run *= 2) {
    Value masked = LLVM::AndOp::create(b, loc, bytes, number(APInt::getSplat(bits, APInt::getLowBitsSet(unit, run))));
    if (unit == bits)
      return masked;
    Value next = LLVM::LShrOp::create(b, loc, masked, number(APInt(bits, unit - run)));
    bytes = LLVM::OrOp::create(b, loc, masked, next);
  }
  return bytes;
}

/// What a lane has of scales or of an index in a register of the type `storage`, zero-extended; null: as it is. Of
/// each byte only the lowest `low` bits go there, if not 0.
static Value besideIn(UnitEmitter &emitter, Value value, Type storage, int64_t low = 0) {
  if (!storage)
    return value;
  OpBuilder &b = emitter.builder;
  const int64_t bits = bitsOfType(value.getType()), room = bitsOfType(storage);
  Value whole = castTo(b, emitter.loc, value, b.getIntegerType(bits));
  if (low)
    whole = packLowBits(emitter, whole, low);
  Type integer = b.getIntegerType(room);
  const int64_t packed = bitsOfType(whole.getType());
  if (packed < room)
    whole = LLVM::ZExtOp::create(b, emitter.loc, integer, whole);
  else if (packed > room)
    whole = LLVM::TruncOp::create(b, emitter.loc, integer, whole);
  return castTo(b, emitter.loc, whole, storage);
}

Value tilewright::packedIndex(UnitEmitter &emitter, const MatrixUnit &unit, Value places) {
  return besideIn(emitter, places, parseRecordType(unit.sparsity->index.storage, *emitter.call.getContext()),
                  unit.sparsity->placeBits());
}

FailureOr<Value> tilewright::emitUnit(UnitEmitter &emitter, const MatrixUnit &unit) {
  const UnitOperand *operands[] = {&unit.a, &unit.b, &unit.c};
  LLVM::CallOp call = emitter.call;
  int64_t scale = scaleOf(unit.states).value_or(1);
  auto roles = [&](StringRef role, Type wanted) -> Value {
    if (role == "A" || role == "B" || role == "C") {
      const UnitOperand &operand = *operands[role[0] - 'A'];
      Value value = call.getArgOperands()[role[0] - 'A'];
      Type storage = parseRecordType(operand.storage, *call.getContext());
      if (operand.scalable)
        return toScalable(emitter, value, scale, storage);
      // The type that its record carries it in, where the emission does not say one.
      if (!storage || wanted || operand.opaque)
        return value;
      int64_t count = bitsOfType(value.getType()) / bitsOfType(storage);
      return castTo(emitter.builder, emitter.loc, value, VectorType::get(count, storage));
    }
    if (unit.scales && (role == "ScaleA" || role == "ScaleB")) {
      const bool isA = role.back() == 'A';
      const UnitOperand &operand = isA ? unit.scales->a : unit.scales->b;
      const unsigned place = isA || !unit.scales->hasA() ? std::size(operands) : std::size(operands) + 1;
      return besideIn(emitter, call.getArgOperands()[place], parseRecordType(operand.storage, *call.getContext()));
    }
    if (unit.sparsity && role == "IndexA")
      return packedIndex(emitter, unit, call.getArgOperands()[std::size(operands) + unit.besides().size() - 1]);
    APInt number;
    if (role.size() == 5 && role.starts_with("Tile") && role[4] >= 'A' && role[4] <= 'C' &&
        matchPattern(call.getArgOperands()[role[4] - 'A'], m_ConstantInt(&number)))
      return emitter.constant(wanted ? wanted : emitter.builder.getI32Type(), number.getSExtValue());
    // Fragments come whole, padded with zeros: all that a unit could leave out counts as valid.
    bool valid = role == "ValidM" || role == "ValidN" || role == "ValidK" || role == "AllTrue";
    if (valid && wanted)
      return emitter.constant(wanted, 1);
    if (valid && (unit.a.scalable || unit.b.scalable)) {
      const UnitOperand &operand = role == "ValidN" ? unit.b : unit.a;
      return emitter.constant(
          VectorType::get({operand.layout.numElements() / scale}, emitter.builder.getI1Type(), {true}), 1);
    }
    return {};
  };
  Type result = call.getNumResults() ? call.getResult().getType() : Type();
  return emitter.emit(unit.emit, result, roles);
}

//===-- Registers ---------------------------------------------------------===//

namespace {
/// One move of a register, from or to memory.
class RegisterMove {
public:
  RegisterMove(UnitEmitter &emitter, const OpaqueRegister &registers, Type element, std::optional<int64_t> scale)
      : emitter(emitter), b(emitter.builder), loc(emitter.loc), registers(registers), element(element), scale(scale),
        operands(emitter.call.getArgOperands()) {}

  bool isNumbered() const { return !registers.masks.empty(); }
  /// Takes the register out of the call's operands: its number, or its value where it is stored.
  LogicalResult takeRegister(bool stores) {
    if (isNumbered() && (operands.empty() || !matchPattern(operands.front(), m_ConstantInt(&number)) ||
                         number.getZExtValue() >= registers.masks.size()))
      return emitter.call.emitError() << "needs the number of one of " << registers.masks.size() << " registers \""
                                      << registers.name << "\"";
    if (isNumbered() || stores) {
      tile = isNumbered() ? Value() : operands.front();
      operands.erase(operands.begin());
    }
    return success();
  }
  Value operand(StringRef role, Type wanted);
  FailureOr<Value> move(const Emission &emission, Type resultType);
  LogicalResult read();

private:
  VectorType rowType() const { return VectorType::get({registers.rowBytes * 8 / bitsOfType(element)}, element); }
  /// Where row `row` lies in memory.
  Value rowPointer(int64_t row) {
    if (pointers.empty())
      pointers.push_back(operands[0]);
    while (int64_t(pointers.size()) <= row)
      pointers.push_back(LLVM::GEPOp::create(b, loc, operands[0].getType(), b.getI8Type(), pointers.back(),
                                             ArrayRef<LLVM::GEPArg>{operands[1]}));
    return pointers[row];
  }
  Value loadRow(int64_t row) {
    Value value = LLVM::LoadOp::create(b, loc, rowType(), rowPointer(row), /*alignment=*/1);
    return scale ? toScalable(emitter, value, *scale, {}) : value;
  }
  void storeRow(int64_t row, Value value) { LLVM::StoreOp::create(b, loc, value, rowPointer(row), /*alignment=*/1); }

  UnitEmitter &emitter;
  OpBuilder &b;
  Location loc;
  const OpaqueRegister &registers;
  Type element; // null: it is set to zeros
  std::optional<int64_t> scale;
  SmallVector<Value> operands; // address and distance of rows in bytes, once the register is taken
  SmallVector<Value> pointers; // of the rows so far
  APInt number;
  Value tile; // of an unnumbered register
  int64_t slice = 0;
};
} // namespace

Value RegisterMove::operand(StringRef role, Type wanted) {
  auto integer = [&](unsigned width, int64_t value) {
    return emitter.constant(wanted ? wanted : Type(b.getIntegerType(width)), value);
  };
  if (role == "Tile" && tile)
    return tile;
  if (role == "Tile" && isNumbered())
    return integer(32, number.getZExtValue());
  if (role == "MaskUnion" && isNumbered())
    return integer(32, registers.masks[number.getZExtValue()]);
  if (role == "Rows")
    return integer(16, registers.rows);
  if (role == "RowBytes")
    return integer(16, registers.rowBytes);
  if (role == "Slice")
    return integer(32, slice);
  if (role == "Stride" && operands.size() > 1)
    return operands[1];
  if (role == "Ptr" && !operands.empty())
    return rowPointer(slice);
  if (role == "AllTrue" || role == "ValidRow")
    return wanted || !element
               ? integer(1, 1)
               : emitter.constant(carriedType(VectorType::get(rowType().getShape(), b.getI1Type()), scale), 1);
  if (role == "Zero" && element)
    return LLVM::ZeroOp::create(b, loc, carriedType(rowType(), scale));
  int64_t row = slice;
  if (element && role.consume_front("Vec") &&
      (role.empty() || (role.consume_front(".") && !role.getAsInteger(10, row) && row >= 0 && row < registers.rows)))
    return loadRow(row);
  return {};
}

/// Emits a move once, or for each row. "Vec" of a move of all rows at once is one register for each row.
FailureOr<Value> RegisterMove::move(const Emission &emission, Type resultType) {
  Emission written = emission;
  if (registers.slices == Slices::Whole && registers.rows > 1) {
    written.arguments.clear();
    for (const std::string &role : emission.arguments)
      for (int64_t row = 0; row < (role == "Vec" ? registers.rows : 1); ++row)
        written.arguments.push_back(role == "Vec" ? "Vec." + std::to_string(row) : role);
  }
  FailureOr<Value> result = Value();
  for (slice = 0; slice < (registers.slices == Slices::Whole ? 1 : registers.rows); ++slice) {
    result = emitter.emit(written, resultType, [&](StringRef role, Type wanted) { return operand(role, wanted); });
    if (failed(result))
      return failure();
  }
  return result;
}

/// Emits `read` once, or for each row, and stores what it gives: a vector or several.
LogicalResult RegisterMove::read() {
  bool isWhole = registers.slices == Slices::Whole;
  int64_t rows = isWhole ? registers.rows : 1, width = rowType().getNumElements();
  VectorType type = carriedType(VectorType::get({rows * width}, element), scale);
  auto roles = [&](StringRef role, Type wanted) { return operand(role, wanted); };
  for (slice = 0; slice < (isWhole ? 1 : registers.rows); ++slice) {
    FailureOr<SmallVector<Value>> parts = emitter.emitParts(registers.read, type, roles);
    if (failed(parts))
      return failure();
    bool byRows = int64_t(parts->size()) == rows && llvm::all_of(*parts, [&](Value part) {
                    return bitsOfType(part.getType()) == registers.rowBytes * 8;
                  });
    if (byRows) {
      for (auto [row, part] : llvm::enumerate(*parts))
        storeRow(slice + row, part);
      continue;
    }
    FailureOr<Value> all = emitter.join(registers.read, *parts, type);
    if (failed(all))
      return failure();
    for (int64_t row = 0; row < rows; ++row)
      storeRow(slice + row, LLVM::vector_extract::create(b, loc, rowType(), *all, row * width));
  }
  return success();
}

FailureOr<Value> tilewright::emitRegister(UnitEmitter &emitter, const OpaqueRegister &registers, StringRef what,
                                          std::optional<int64_t> scale) {
  LLVM::CallOp call = emitter.call;
  auto [action, elementName] = what.split('.');
  Type element = elementName.empty() ? Type() : parseType(elementName, call.getContext());
  Type resultType = call.getNumResults() ? call.getResult().getType() : Type();
  RegisterMove registerMove(emitter, registers, element, scale);
  if (failed(registerMove.takeRegister(action == "store")))
    return failure();
  auto zero = [&](StringRef role, Type wanted) { return registerMove.operand(role, wanted); };
  if (action == "zero")
    return emitter.emit(registers.zero, resultType, zero);
  bool fills = action == "fill", reads = !fills && registers.store.name.empty();
  const Emission &emission = fills ? registers.fill : reads ? registers.read : registers.store;
  if (emission.name.empty())
    return call.emitError() << "registers \"" << registers.name << "\" have no emission to "
                            << (fills ? "fill" : "store") << " them; the field '" << (fills ? "fill" : "store")
                            << "' of their record says how" << (fills ? "" : ", or 'read'");
  if (registers.slices == Slices::Column)
    return call.emitError() << "registers \"" << registers.name
                            << "\" move by columns; only rows and whole ones do here";
  if (reads) {
    if (failed(registerMove.read()))
      return failure();
    return Value();
  }
  return registerMove.move(emission, resultType);
}
