//===- EngineCopies.cpp - Copies of a core as commands and loops ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What of a tile exists is moved by the engine, or by the core where
/// planTileCopy says so or an address is not aligned; zeros around it are the
/// core's, before the command is issued.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/KnownMultiple.h"
#include "core/Analysis/Nest.h"
#include "core/CostModel/Schedules/ScratchpadContractionModel.h"
#include "core/Machine/ExternalCall.h"
#include "core/Transforms/Lower/Engines/EngineNumbers.h"
#include "core/Transforms/Lower/Engines/TileMover.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

/// Buffers of a core are made from a pointer; arrays of the program are arguments.
static bool isBuffer(Value memref) { return !isa<BlockArgument>(memref); }

bool tilewright::isStore(tile::CopyOp op) { return isBuffer(op.getSource()); }

//===-- Commands ----------------------------------------------------------===//

/// The coefficient of point dimension `d` in the linear address, as a value of elements.
static Value stepAlong(Numbers &at, Value memref, AffineMap elements, unsigned d) {
  Value sum = at.index(0);
  for (auto [i, result] : llvm::enumerate(elements.getResults()))
    if (int64_t factor = linearCoefficient(result, d).value_or(0)) {
      Value part = at.stride(memref, i);
      sum = at.add(sum, factor == 1 ? part : at.mul(part, at.index(factor)));
    }
  return sum;
}

TileMover::Side TileMover::side(OpBuilder &builder, bool source) {
  Numbers at{builder, loc};
  Value memref = source ? op.getSource() : op.getDestination();
  AffineMap elements = source ? op.getSourceElements() : op.getDestinationElements();
  auto indices = affine::expandAffineMap(builder, loc, source ? op.getSourceMap() : op.getDestinationMap(),
                                         source ? op.getSourceOperands() : op.getDestinationOperands());
  Value bytes = at.index(form.tile.elementBytes);
  auto step = [&](unsigned d) { return at.mul(stepAlong(at, memref, elements, d), bytes); };
  return {at.advance(pointerOf(builder, loc, memref), at.mul(at.linear(memref, *indices), bytes)),
          form.row == ~0u ? at.index(0) : step(form.row), step(form.col)};
}

/// Bytes that divide one step of dimension `d` of `memref`, whatever its dynamic sizes are.
static int64_t stepBytes(Value memref, unsigned d, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t size : cast<MemRefType>(memref.getType()).getShape().drop_front(d + 1))
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

int64_t TileMover::alignmentOf(bool source, int64_t base, std::optional<unsigned> across) {
  Value memref = source ? op.getSource() : op.getDestination();
  AffineMap map = source ? op.getSourceMap() : op.getDestinationMap();
  AffineMap elements = source ? op.getSourceElements() : op.getDestinationElements();
  SmallVector<AffineExpr> known; // each operand as a multiple of what divides it
  for (auto [i, operand] : llvm::enumerate(source ? op.getSourceOperands() : op.getDestinationOperands())) {
    const bool isDim = i < map.getNumDims();
    MLIRContext *context = op.getContext();
    known.push_back((isDim ? getAffineDimExpr(i, context) : getAffineSymbolExpr(i - map.getNumDims(), context)) *
                    knownMultiple(operand, base));
  }
  map = map.replaceDimsAndSymbols(ArrayRef(known).take_front(map.getNumDims()),
                                  ArrayRef(known).drop_front(map.getNumDims()), map.getNumDims(), map.getNumSymbols());
  int64_t bytes = base;
  for (auto [d, result] : llvm::enumerate(map.getResults())) {
    const int64_t step = stepBytes(memref, d, form.tile.elementBytes);
    bytes = std::gcd(bytes, result.getLargestKnownDivisor() * step); // of 0 that is `bytes`
    if (across)
      bytes = std::gcd(bytes, linearCoefficient(elements.getResult(d), *across).value_or(1) * step);
  }
  return bytes;
}

std::optional<unsigned> TileMover::across(const TileCopyPlan &plan, bool source) const {
  const bool turned = plan.way == CopyWay::Transposed && source != isStore(op); // the side of the array
  if (turned)
    return form.tile.cols > 1 ? std::optional(form.col) : std::nullopt;
  return form.tile.rows > 1 ? std::optional(form.row) : std::nullopt;
}

Value TileMover::aligned(OpBuilder &builder, const TileCopyPlan &plan, const CoreHierarchy &cores) {
  const int64_t align = plan.engine->alignBytes;
  // Arrays are aligned to their elements.
  if (plan.way == CopyWay::Elements || form.tile.elementBytes % align == 0)
    return {};
  auto isKnown = [&](bool source) {
    const int64_t base =
        source != isStore(op) ? (cores.reachesGlobal ? 1 : deviceArrayAlignment) : scratchpadAlignment(cores);
    return alignmentOf(source, base, across(plan, source)) % align == 0;
  };
  if (isKnown(true) && isKnown(false))
    return {};
  Numbers at{builder, loc};
  Value bits = at.i64(int64_t(0));
  auto join = [&](Value more) { bits = arith::OrIOp::create(builder, loc, bits, more); };
  for (bool source : {true, false}) {
    Side each = side(builder, source);
    join(LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), each.address));
    if (auto along = across(plan, source))
      join(at.i64(*along == form.col ? each.col : each.row));
  }
  bits = arith::AndIOp::create(builder, loc, bits, at.i64(align - 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, at.i64(int64_t(0)));
}

/// Calls a command if there is something to move.
void TileMover::issue(OpBuilder &builder, StringRef name, ValueRange operands, Value rows, Value bytes) {
  if (!whole) {
    EngineWriter::call(builder, op, name, {}, operands);
    return;
  }
  Value none = index(builder, 0);
  auto more = [&](Value count) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, count, none).getResult();
  };
  Value some = arith::AndIOp::create(builder, loc, more(rows), more(bytes));
  scf::IfOp::create(builder, loc, some, [&](OpBuilder &inner, Location) {
    EngineWriter::call(inner, op, name, {}, operands);
    scf::YieldOp::create(inner, loc);
  });
}

void TileMover::command(OpBuilder &builder, const TileCopyPlan &plan, EngineCommand engine) {
  Side from = side(builder, true), to = side(builder, false);
  int64_t elementBytes = form.tile.elementBytes, burst = plan.engine->burstBytes / elementBytes * elementBytes;
  std::string name = (primitivePrefix + nameOf(engine) + "_2d").str();
  // `count` elements in pieces no longer than a burst: `give` gets the offset of each and its bytes.
  auto pieces = [&](OpBuilder &b, int64_t full, Value count, bool part,
                    function_ref<void(Numbers &, int64_t, Value)> give) {
    Numbers at{b, loc};
    int64_t bytes = full * elementBytes, piece = burst ? std::min(burst, bytes) : bytes;
    for (int64_t begin = 0; begin < bytes; begin += piece) {
      Value length = at.index(std::min(piece, bytes - begin));
      if (part) {
        Value left = arith::SubIOp::create(b, loc, at.mul(count, at.index(elementBytes)), at.index(begin));
        length = arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, length, left).getResult(), at.index(0));
      }
      give(at, begin, length);
    }
  };
  if (plan.way == CopyWay::Rows) {
    auto move = [&](OpBuilder &b, Value toRow, Value fromRow, Value count) {
      pieces(b, form.tile.cols, cols, partCols, [&](Numbers &at, int64_t begin, Value length) {
        Value offset = at.index(begin);
        issue(b, name,
              {at.advance(toRow, offset), at.i64(to.row), at.advance(fromRow, offset), at.i64(from.row), at.i32(count),
               at.i32(length)},
              count, length);
      });
    };
    if (plan.engine->maxRank >= 2)
      return move(builder, to.address, from.address, rows);
    return loop(builder, index(builder, 0), rows, 1, [&](OpBuilder &inner, Value row) {
      Numbers at{inner, loc};
      move(inner, at.advance(to.address, at.mul(row, to.row)), at.advance(from.address, at.mul(row, from.row)),
           at.index(1));
    });
  }
  if (plan.way == CopyWay::Transposed) {
    // The command's rows, `fromPitch` apart, become columns, and their elements `toPitch` apart.
    const bool stores = engine == EngineCommand::Store;
    Value count = stores ? rows : cols;
    Value toPitch = stores ? to.col : to.row, fromPitch = stores ? from.row : from.col;
    pieces(builder, stores ? form.tile.cols : form.tile.rows, stores ? cols : rows, stores ? partCols : partRows,
           [&](Numbers &at, int64_t begin, Value length) {
             Value next = at.advance(to.address, at.mul(at.index(begin / elementBytes), toPitch));
             issue(builder, name + "_transposed",
                   {next, at.i64(toPitch), at.advance(from.address, at.index(begin)), at.i64(fromPitch), at.i32(count),
                    at.i32(length), at.i32(elementBytes)},
                   count, length);
           });
    return;
  }
  // Single elements: a command for each row or each column, whichever are fewer.
  bool byRows = form.tile.rows <= form.tile.cols;
  loop(builder, index(builder, 0), byRows ? rows : cols, 1, [&](OpBuilder &inner, Value at) {
    Numbers here{inner, loc};
    auto line = [&](const Side &side) {
      return here.advance(side.address, here.mul(at, byRows ? side.row : side.col));
    };
    auto pitch = [&](const Side &side) { return here.i64(byRows ? side.col : side.row); };
    Value count = byRows ? cols : rows;
    issue(inner, name, {line(to), pitch(to), line(from), pitch(from), here.i32(count), here.i32(elementBytes)}, count,
          index(inner, elementBytes));
  });
}

//===-- Either ------------------------------------------------------------===//

FailureOr<Value> EngineWriter::copy(OpBuilder &builder, tile::CopyOp op) {
  Location loc = op.getLoc();
  Value done = arith::ConstantIntOp::create(builder, loc, 0, 32);
  bool isPadded = !op.getBounded().empty();
  std::optional<CopyForm> form = isPadded ? std::nullopt : copyFormOf(op);
  auto refuse = [&](const Twine &why) {
    return op.emitOpError() << why << ", and the core does not reach the memory \"" << cores.global->name << "\" of "
                            << chip.target() << ":" << chip.chip();
  };
  if (!form) { // another rank, or zeros around the array
    if (!cores.reachesGlobal)
      return refuse(isPadded ? "writes zeros around an array"
                             : "has more than two dimensions or moves by no linear map");
    if (isPadded || op->getParentOfType<ModuleOp>()->hasAttr(scalarCodeAttr))
      emitCopyAsLoops(builder, op);
    else
      emitCopyAsVectors(builder, op, chip.vectorRegisters().second);
    return done;
  }
  EngineCommand engine = isStore(op) ? EngineCommand::Store : EngineCommand::Copy;
  TileCopyPlan plan = planTileCopy(form->tile, engine == EngineCommand::Copy, cores, chip);
  TileMover mover(builder, op, *form, chip);
  if (!op.getClipped())
    mover.clear(builder);
  if (plan.way == CopyWay::Core) {
    if (!cores.reachesGlobal)
      return refuse("moves elements that no copy engine can address");
    mover.move(builder);
    return done;
  }
  Value aligned = mover.aligned(builder, plan, cores);
  if (aligned && !cores.reachesGlobal)
    return refuse("has rows that need not begin at multiples of the " + Twine(plan.engine->alignBytes) +
                  " bytes of copy engine \"" + plan.engine->name + "\" (arrays begin at multiples of " +
                  Twine(deviceArrayAlignment) + ")");
  if (!aligned) {
    mover.command(builder, plan, engine);
    return commit(builder, op, engine);
  }
  auto choice = scf::IfOp::create(builder, loc, TypeRange{builder.getI32Type()}, aligned, /*withElse=*/true);
  OpBuilder inner = choice.getThenBodyBuilder();
  mover.command(inner, plan, engine);
  scf::YieldOp::create(inner, loc, commit(inner, op, engine));
  OpBuilder other = choice.getElseBodyBuilder();
  mover.move(other);
  // A loop of copies hands on the last token alone: it stands for the commands of earlier iterations, too.
  scf::YieldOp::create(other, loc, last(other, loc, engine));
  return choice.getResult(0);
}
