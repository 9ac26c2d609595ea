//===- EngineCommands.cpp - Commands of copy engines and units ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Addresses, alignment, bursts; the order of a unit's instructions.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/EngineCommands.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/Descriptor.h"
#include "core/Transforms/TileBufferLowering.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilewright;

static constexpr StringLiteral engineNames[] = {"copy", "unit", "store"};

/// Buffers of a core are made from a pointer; arrays of the program are arguments.
static bool isBuffer(Value memref) { return !isa<BlockArgument>(memref); }

bool tilewright::isStore(tile::CopyOp op) { return isBuffer(op.getSource()); }

Value EngineWriter::call(OpBuilder &builder, Operation *at, StringRef name, Type result, ValueRange operands) {
  auto module = at->getParentOfType<ModuleOp>();
  SmallVector<Type, 1> results;
  if (result)
    results.push_back(result);
  if (!module.lookupSymbol(name)) {
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    auto type = top.getFunctionType(TypeRange(operands), results);
    func::FuncOp::create(top, at->getLoc(), name, type).setPrivate();
  }
  auto call = func::CallOp::create(builder, at->getLoc(), name, results, operands);
  return result ? call.getResult(0) : Value();
}

EngineWriter::EngineWriter(func::FuncOp function, const TargetDescription &chip, const CoreHierarchy &cores)
    : chip(chip), cores(cores), function(function) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  Location loc = function.getLoc();
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(0));
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(1));
  for (Value &counter : issued) {
    counter = LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
                                     builder.getI32Type(), one);
    LLVM::StoreOp::create(builder, loc, zero, counter);
  }
}

Value EngineWriter::commit(OpBuilder &builder, Operation *op, Command engine) {
  Location loc = op->getLoc();
  call(builder, op, ("tilewright.primitive.commit_" + engineNames[int(engine)]).str(), {}, {});
  Value counter = issued[int(engine)];
  Value number = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), counter);
  number = arith::AddIOp::create(builder, loc, number, arith::ConstantIntOp::create(builder, loc, 1, 32));
  LLVM::StoreOp::create(builder, loc, number, counter);
  return number;
}

void EngineWriter::wait(OpBuilder &builder, Location loc, Command engine, Value number) {
  Value all = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), issued[int(engine)]);
  call(builder, function, ("tilewright.primitive.wait_" + engineNames[int(engine)]).str(), {},
       arith::SubIOp::create(builder, loc, all, number).getResult());
}

//===-- Addresses ---------------------------------------------------------===//

namespace {
/// Integers and addresses at one place.
struct Numbers {
  OpBuilder &builder;
  Location loc;
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value i32(Value index) { return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index); }
  Value i64(Value index) { return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index); }
  Value i32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
  Value i64(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
  Value mul(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }

  /// Elements from one index of dimension `d` to the next.
  Value stride(Value memref, unsigned d) {
    auto type = cast<MemRefType>(memref.getType());
    int64_t known = 1;
    Value result;
    for (unsigned i = d + 1; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        known *= type.getDimSize(i);
        continue;
      }
      Value size = memref::DimOp::create(builder, loc, memref, i);
      result = result ? mul(result, size) : size;
    }
    return !result ? index(known) : known == 1 ? result : mul(result, index(known));
  }
  Value linear(Value memref, ValueRange indices) {
    Value sum;
    for (auto [d, at] : llvm::enumerate(indices)) {
      if (auto constant = at.getDefiningOp<arith::ConstantIndexOp>(); constant && constant.value() == 0)
        continue;
      Value part = mul(at, stride(memref, d));
      sum = sum ? add(sum, part) : part;
    }
    return sum ? sum : index(0);
  }
  /// `pointer` plus `bytes`.
  Value advance(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{i64(bytes)});
  }
};

/// One side of a copy as rows.
struct Side {
  Value address; // of the first row
  Value pitch;   // bytes, index
};
} // namespace

static int64_t bytesOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

/// The coefficient of point dimension `d` in the linear address, as a value of elements; null if it is not linear.
static Value stepAlong(Numbers &at, Value memref, AffineMap elements, unsigned d) {
  Value sum = at.index(0);
  for (auto [i, result] : llvm::enumerate(elements.getResults())) {
    std::optional<int64_t> factor = linearCoefficient(result, d);
    if (!factor)
      return {};
    if (*factor) {
      Value part = at.stride(memref, i);
      sum = at.add(sum, *factor == 1 ? part : at.mul(part, at.index(*factor)));
    }
  }
  return sum;
}

/// Whether a step along point dimension `d` is one element on both sides, known before the program runs.
static bool isContiguous(tile::CopyOp op, unsigned d) {
  for (AffineMap elements : {op.getSourceElements(), op.getDestinationElements()}) {
    auto results = elements.getResults();
    if (results.empty() || linearCoefficient(results.back(), d) != 1 ||
        llvm::any_of(results.drop_back(), [&](AffineExpr each) { return each.isFunctionOfDim(d); }))
      return false;
  }
  return true;
}

//===-- Copies ------------------------------------------------------------===//

void EngineWriter::copyOnCore(OpBuilder &builder, tile::CopyOp op) {
  if (op->getParentOfType<ModuleOp>()->hasAttr(scalarCodeAttr))
    emitCopyAsLoops(builder, op);
  else
    emitCopyAsVectors(builder, op, chip.vectorRegisters().second);
}

FailureOr<Value> EngineWriter::copy(OpBuilder &builder, tile::CopyOp op) {
  Location loc = op.getLoc();
  Numbers at{builder, loc};
  bool store = isStore(op);
  Command engine = store ? Command::Store : Command::Copy;
  const CopyEngine *record = store ? cores.out : cores.in;
  ArrayRef<int64_t> shape = op.getShape();
  Value done = at.i32(0);
  // Rows along `inner`, one below the other along `outer`.
  std::optional<unsigned> inner;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (isContiguous(op, d) && (!inner || shape[d] > 1))
      inner = d;
  if (!record || shape.size() > 2 || !inner || !record->asynchronous || record->maxRank < 2) {
    copyOnCore(builder, op);
    return done;
  }
  unsigned outer = 1 - *inner;
  bool hasRows = shape.size() == 2;
  int64_t elementBytes = bytesOf(cast<MemRefType>(op.getSource().getType()).getElementType());
  auto side = [&](Value memref, AffineMap map, ValueRange operands, AffineMap elements) -> std::optional<Side> {
    auto indices = affine::expandAffineMap(builder, loc, map, operands);
    Value pitch = hasRows ? stepAlong(at, memref, elements, outer) : at.index(0);
    if (!indices || !pitch)
      return std::nullopt;
    Value bytes = at.index(elementBytes);
    return Side{at.advance(pointerOf(builder, loc, memref), at.mul(at.linear(memref, *indices), bytes)),
                at.mul(pitch, bytes)};
  };
  auto from = side(op.getSource(), op.getSourceMap(), op.getSourceOperands(), op.getSourceElements());
  auto to = side(op.getDestination(), op.getDestinationMap(), op.getDestinationOperands(), op.getDestinationElements());
  if (!from || !to) {
    copyOnCore(builder, op);
    return done;
  }

  // What of the tile exists.
  Value rows = at.index(hasRows ? shape[outer] : 1), cols = at.index(shape[*inner]);
  Value whole = arith::ConstantIntOp::create(builder, loc, 1, 1), some = whole;
  if (std::optional<AffineMap> valid = op.getValidMap()) {
    auto extents = affine::expandAffineMap(builder, loc, *valid, op.getValidOperands());
    auto clamp = [&](Value full, unsigned d) {
      if (auto known = dyn_cast<AffineConstantExpr>(valid->getResult(d)); known && known.getValue() >= shape[d])
        return full;
      Value extent = (*extents)[d];
      auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
        return arith::CmpIOp::create(builder, loc, predicate, a, b).getResult();
      };
      whole = arith::AndIOp::create(builder, loc, whole, compare(arith::CmpIPredicate::sge, extent, full));
      some = arith::AndIOp::create(builder, loc, some, compare(arith::CmpIPredicate::sgt, extent, at.index(0)));
      return arith::MinSIOp::create(builder, loc, full, extent).getResult();
    };
    if (hasRows)
      rows = clamp(rows, outer);
    cols = clamp(cols, *inner);
  }
  // What the engine can address.
  Value together = at.i64(0);
  for (const Side &each : {*from, *to}) {
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), each.address);
    together = arith::OrIOp::create(builder, loc, together, address);
    if (hasRows && shape[outer] > 1)
      together = arith::OrIOp::create(builder, loc, together, at.i64(each.pitch));
  }
  together = arith::AndIOp::create(builder, loc, together, at.i64(record->alignBytes - 1));
  Value aligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, together, at.i64(0));
  Value engineTakes = arith::AndIOp::create(builder, loc, aligned, op.getClipped() ? some : whole);

  auto choice = scf::IfOp::create(builder, loc, TypeRange{builder.getI32Type()}, engineTakes, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  // Pieces of a row no longer than a burst.
  int64_t rowBytes = shape[*inner] * elementBytes;
  int64_t piece = record->burstBytes ? std::min(record->burstBytes / elementBytes * elementBytes, rowBytes) : rowBytes;
  Value bytes = at.mul(cols, at.index(elementBytes));
  std::string name = ("tilewright.primitive." + engineNames[int(engine)] + "_2d").str();
  for (int64_t begin = 0; begin < rowBytes; begin += piece) {
    Value length = at.index(std::min(piece, rowBytes - begin));
    if (op.getValidMap()) {
      Value left = arith::SubIOp::create(builder, loc, bytes, at.index(begin));
      length = arith::MaxSIOp::create(builder, loc, arith::MinSIOp::create(builder, loc, length, left).getResult(),
                                      at.index(0));
    }
    Value offset = at.index(begin);
    call(builder, op, name, {},
         {at.advance(to->address, offset), at.i64(to->pitch), at.advance(from->address, offset), at.i64(from->pitch),
          at.i32(rows), at.i32(length)});
  }
  Value number = commit(builder, op, engine);
  scf::YieldOp::create(builder, loc, number);
  builder.setInsertionPointToStart(choice.elseBlock());
  copyOnCore(builder, op);
  scf::YieldOp::create(builder, loc, done);
  return choice.getResult(0);
}

//===-- Products ----------------------------------------------------------===//

FailureOr<Value> EngineWriter::multiply(OpBuilder &builder, tile::MultiplyOp op) {
  Location loc = op.getLoc();
  const MatrixUnit *unit = chip.unit(op.getUnit());
  if (!unit)
    return op.emitOpError() << "chip " << chip.target() << ":" << chip.chip() << " has no unit \"" << op.getUnit()
                            << "\"";
  int64_t units[] = {unit->m, unit->n, unit->k};
  for (unsigned d = 0; d < 3; ++d)
    if (op.getShape()[d] % units[d])
      return op.emitOpError() << "has the shape " << op.getShape()[0] << " x " << op.getShape()[1] << " x "
                              << op.getShape()[2] << ", which is no multiple of " << unit->m << " x " << unit->n
                              << " x " << unit->k << " of unit \"" << unit->name << "\"";
  if (unit->init != UnitInit::ZeroFlag && !matchPattern(op.getAccumulate(), m_One()))
    return op.emitOpError() << "asks unit \"" << unit->name
                            << "\" not to read C, which it cannot without a zero flag; clear C and accumulate";
  struct Operand {
    Value base;
    int64_t pitch, bytes;
  };
  auto operand = [&](Value memref, ValueRange indices) {
    Numbers at{builder, loc};
    auto type = cast<MemRefType>(memref.getType());
    int64_t bytes = bytesOf(type.getElementType());
    Value base = at.advance(pointerOf(builder, loc, memref), at.mul(at.linear(memref, indices), at.index(bytes)));
    return Operand{base, type.getShape().back() * bytes, bytes};
  };
  Operand a = operand(op.getA(), op.getAIndices()), b = operand(op.getB(), op.getBIndices()),
          c = operand(op.getC(), op.getCIndices());

  // The loops, outermost first: the stationary operand does not change in the innermost one.
  unsigned order[] = {2, 1, 0}; // k, n, m
  if (unit->stationary == 'A')
    std::swap(order[1], order[2]);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> upper;
  for (unsigned d : order)
    upper.push_back(arith::ConstantIndexOp::create(builder, loc, op.getShape()[d] / units[d]));
  scf::buildLoopNest(builder, loc, SmallVector<Value>(3, zero), upper, SmallVector<Value>(3, one),
                     [&](OpBuilder &inner, Location, ValueRange ivs) {
                       Numbers at{inner, loc};
                       Value point[3];
                       for (unsigned i = 0; i < 3; ++i)
                         point[order[i]] = ivs[i];
                       auto tile = [&](const Operand &operand, unsigned row, unsigned col) {
                         Value offset = at.add(at.mul(point[row], at.index(units[row] * operand.pitch)),
                                               at.mul(point[col], at.index(units[col] * operand.bytes)));
                         return at.advance(operand.base, offset);
                       };
                       SmallVector<Value> operands{tile(a, 0, 2),   at.i64(a.pitch), tile(b, 2, 1),
                                                   at.i64(b.pitch), tile(c, 0, 1),   at.i64(c.pitch)};
                       if (unit->init == UnitInit::ZeroFlag) {
                         Value later = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ne, point[2], zero);
                         operands.push_back(arith::OrIOp::create(inner, loc, op.getAccumulate(), later));
                       }
                       call(inner, op, "tilewright.unit." + unit->name, {}, operands);
                     });
  return commit(builder, op, Command::Unit);
}
