//===- TileMover.cpp - What a core does for one copy ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The form of a copy; vectors, transposed blocks and zeros. Commands stand in
/// EngineCopies.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Engines/TileMover.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/Lower/Engines/EngineNumbers.h"
#include "core/Transforms/Lower/Vectors/TileBufferLowering.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

//===-- Rows of the scratchpad --------------------------------------------===//

/// Elements that a step of point dimension `d` moves the linear address by; nullopt where that is not constant.
static std::optional<int64_t> staticStep(Value memref, AffineMap elements, unsigned d) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t sum = 0, stride = 1;
  for (unsigned i = type.getRank(); i-- > 0;) {
    std::optional<int64_t> factor = linearCoefficient(elements.getResult(i), d);
    if (!factor || (*factor && stride == 0))
      return std::nullopt;
    sum += *factor * stride;
    stride = type.isDynamicDim(i) ? 0 : stride * type.getDimSize(i); // 0: not known further out
  }
  return sum;
}

/// Whether a step of `d` is one of the innermost dimension and of no other.
static bool isInnermost(AffineMap elements, unsigned d) {
  auto results = elements.getResults();
  return !results.empty() && linearCoefficient(results.back(), d) == 1 &&
         llvm::none_of(results.drop_back(), [&](AffineExpr each) { return each.isFunctionOfDim(d); });
}

std::optional<CopyForm> tilewright::copyFormOf(tile::CopyOp op) {
  ArrayRef<int64_t> shape = op.getShape();
  if (shape.empty() || shape.size() > 2)
    return std::nullopt;
  bool store = isStore(op);
  auto step = [&](bool inside, unsigned d) -> std::optional<int64_t> {
    if (shape[d] == 1) // no step is taken
      return 1;
    return inside == store ? staticStep(op.getSource(), op.getSourceElements(), d)
                           : staticStep(op.getDestination(), op.getDestinationElements(), d);
  };
  auto innermost = [&](bool inside, unsigned d) {
    return isInnermost(inside == store ? op.getSourceElements() : op.getDestinationElements(), d);
  };
  CopyForm form;
  std::optional<unsigned> col, within;
  for (unsigned d = 0; d < shape.size(); ++d) {
    for (AffineMap elements : {op.getSourceElements(), op.getDestinationElements()})
      for (AffineExpr result : elements.getResults())
        if (!linearCoefficient(result, d))
          return std::nullopt;
    if (step(true, d) == 1 && (!within || shape[d] >= shape[*within]))
      within = d;
    if (step(true, d) == 1 && step(false, d) == 1 && (!col || shape[d] >= shape[*col]))
      col = d;
  }
  form.col = col ? *col : within ? *within : shape.size() - 1;
  form.tile.elementBytes = elementBytes(elementOf(op.getSource()));
  form.tile.cols = shape[form.col];
  unsigned along = form.col;
  if (shape.size() == 2) {
    form.row = 1 - form.col;
    form.tile.rows = shape[form.row];
    bool turned = !col && within && step(false, form.row) == 1;
    form.tile.order = col ? TileOrder::Rows : turned ? TileOrder::Columns : TileOrder::Scattered;
    along = turned ? form.row : form.col;
    unsigned across = 1 - along;
    if (form.tile.order != TileOrder::Scattered && shape[across] > 1)
      form.tile.pitchBits = step(false, across).value_or(0) * form.tile.elementBytes;
  } else if (!col) {
    form.tile.order = TileOrder::Scattered;
  }
  form.vectors = form.tile.order != TileOrder::Scattered && innermost(false, along) && innermost(true, form.col);
  return form;
}

//===-- Moves -------------------------------------------------------------===//

/// Whether the core moves single elements.
static bool isScalar(tile::CopyOp op, const CopyForm &form) {
  return op->getParentOfType<ModuleOp>()->hasAttr(scalarCodeAttr) || !form.vectors ||
         elementOf(op.getSource()).getIntOrFloatBitWidth() % 8 != 0;
}

/// Elements of the core's vectors.
static int64_t lanesOf(const CopyForm &form, const TargetDescription &chip) {
  return std::max<int64_t>(1, chip.vectorRegisters().second / form.tile.elementBytes);
}

int64_t tilewright::movedElements(tile::CopyOp op, const CopyForm &form, int64_t rows, int64_t cols,
                                  const TargetDescription &chip) {
  const int64_t lanes = lanesOf(form, chip);
  if (isScalar(op, form) || form.tile.order != TileOrder::Rows || cols == form.tile.cols || cols < lanes)
    return rows * cols;
  return rows * llvm::alignTo(cols, lanes);
}

TileMover::TileMover(OpBuilder &builder, tile::CopyOp op, const CopyForm &form, const TargetDescription &chip)
    : op(op), form(form), chip(chip), loc(op.getLoc()), element(elementOf(op.getSource())) {
  scalar = isScalar(op, form);
  if (isFloat8(element) && !scalar) // of which LLVM has no vectors; moves and zeros need only the bits
    element = builder.getI8Type();
  lanes = lanesOf(form, chip);
  findExtents(builder);
}

void TileMover::findExtents(OpBuilder &builder) {
  rows = index(builder, form.tile.rows);
  cols = index(builder, form.tile.cols);
  std::optional<AffineMap> valid = op.getValidMap();
  if (!valid)
    return;
  auto extents = affine::expandAffineMap(builder, loc, *valid, op.getValidOperands());
  Value none = index(builder, 0);
  auto clamp = [&](Value &count, int64_t full, unsigned d, bool &part) {
    if (auto known = dyn_cast<AffineConstantExpr>(valid->getResult(d)); known && known.getValue() >= full)
      return;
    part = true;
    Value extent = (*extents)[d];
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, extent, count);
    whole = whole ? arith::AndIOp::create(builder, loc, whole, fits).getResult() : fits;
    count = arith::MaxSIOp::create(builder, loc, arith::MinSIOp::create(builder, loc, count, extent).getResult(), none);
  };
  clamp(cols, form.tile.cols, form.col, partCols);
  if (form.row != ~0u)
    clamp(rows, form.tile.rows, form.row, partRows);
}

void TileMover::loop(OpBuilder &builder, Value lower, Value upper, int64_t step, Body body) {
  scf::ForOp::create(builder, loc, lower, upper, index(builder, step), ValueRange(),
                     [&](OpBuilder &inner, Location, Value at, ValueRange) {
                       body(inner, at);
                       scf::YieldOp::create(inner, loc);
                     });
}

Value TileMover::offset(OpBuilder &builder, const Side &side, Value row, Value col) {
  Numbers at{builder, loc};
  Value inRow = at.mul(col, side.col);
  return form.row == ~0u ? inRow : at.add(at.mul(row, side.row), inRow);
}

SmallVector<Value> TileMover::point(Value row, Value col) {
  SmallVector<Value> result(op.getShape().size());
  result[form.col] = col;
  if (form.row != ~0u)
    result[form.row] = row;
  return result;
}

/// One element.
void TileMover::moveSingle(OpBuilder &builder, Value row, Value col) {
  Value value = memref::LoadOp::create(
      builder, loc, op.getSource(),
      subscriptsAt(builder, loc, op.getSourceMap(), op.getSourceOperands(), op.getSourceElements(), point(row, col)));
  memref::StoreOp::create(builder, loc, value, op.getDestination(),
                          subscriptsAt(builder, loc, op.getDestinationMap(), op.getDestinationOperands(),
                                       op.getDestinationElements(), point(row, col)));
}

/// A run of `count` elements.
Value TileMover::load(OpBuilder &builder, Value address, int64_t count) {
  return LLVM::LoadOp::create(builder, loc, VectorType::get({count}, element), address, form.tile.elementBytes);
}
void TileMover::store(OpBuilder &builder, Value value, Value address) {
  LLVM::StoreOp::create(builder, loc, value, address, form.tile.elementBytes);
}

Value TileMover::zerosTo(OpBuilder &builder, unsigned d, Value exist, int64_t full) {
  Value all = index(builder, full);
  const int64_t multiple = op.getPadTo().empty() ? full : op.getPadTo()[d];
  if (multiple >= full)
    return all;
  Value one = index(builder, 1), some = arith::MaxSIOp::create(builder, loc, exist, one);
  Value blocks = arith::CeilDivUIOp::create(builder, loc, some, index(builder, multiple));
  return arith::MinSIOp::create(builder, loc, Numbers{builder, loc}.mul(blocks, index(builder, multiple)), all);
}

/// Zeros from the last whole vector before the edge on, and below: what exists is written over them afterwards.
void TileMover::clear(OpBuilder &builder) {
  if (!whole)
    return;
  int64_t width = scalar || staticStep(op.getDestination(), op.getDestinationElements(), form.col) != 1
                      ? 1
                      : std::min<int64_t>(lanes, form.tile.cols & -form.tile.cols);
  Value all = arith::ConstantIntOp::create(builder, loc, 1, 1);
  Value part = arith::XOrIOp::create(builder, loc, whole, all);
  auto choice = scf::IfOp::create(builder, loc, part, /*withElse=*/false);
  OpBuilder inner = choice.getThenBodyBuilder();
  Type type = width == 1 ? element : VectorType::get({width}, element);
  Value zero = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type));
  Value none = index(inner, 0), end = zerosTo(inner, form.col, cols, form.tile.cols),
        height = form.row == ~0u ? index(inner, form.tile.rows) : zerosTo(inner, form.row, rows, form.tile.rows);
  Value begin = arith::SubIOp::create(inner, loc, cols,
                                      arith::RemUIOp::create(inner, loc, cols, index(inner, width)).getResult());
  if (scalar) {
    auto fill = [&](Value first, Value last, Value left) {
      loop(inner, first, last, 1, [&](OpBuilder &outside, Value row) {
        loop(outside, left, end, 1, [&](OpBuilder &at, Value col) {
          memref::StoreOp::create(at, loc, zero, op.getDestination(),
                                  subscriptsAt(at, loc, op.getDestinationMap(), op.getDestinationOperands(),
                                               op.getDestinationElements(), point(row, col)));
        });
      });
    };
    fill(none, partCols ? rows : none, begin);
    return fill(partRows ? rows : height, height, none);
  }
  Side to = side(inner, false);
  // Behind the edge: column by column of vectors, several rows at a time; rows that do not exist may be among them.
  int64_t together = std::min<int64_t>(8, form.tile.rows & -form.tile.rows);
  if (partCols)
    loop(inner, begin, end, width, [&](OpBuilder &outside, Value col) {
      loop(outside, none, rows, together, [&](OpBuilder &b, Value row) {
        Numbers at{b, loc};
        Value address = at.advance(to.address, offset(b, to, row, col));
        for (int64_t i = 0; i < together; ++i)
          store(b, zero, form.row == ~0u ? address : at.advance(address, at.mul(at.index(i), to.row)));
      });
    });
  // Below the edge: whole rows.
  int64_t across = clearedVectors(form.tile.cols / width);
  if (across * width == form.tile.cols) // one iteration
    end = index(inner, form.tile.cols);
  if (partRows)
    loop(inner, rows, height, 1, [&](OpBuilder &outside, Value row) {
      Value line = Numbers{outside, loc}.advance(to.address, offset(outside, to, row, none));
      loop(outside, none, end, across * width, [&](OpBuilder &b, Value col) {
        Numbers at{b, loc};
        Value address = at.advance(line, at.mul(col, to.col));
        for (int64_t i = 0; i < across; ++i)
          store(b, zero, at.advance(address, at.mul(at.index(i * width), to.col)));
      });
    });
}

/// Rows of whole tiles: vectors without a test, then shorter ones. Elsewhere: vectors, the last one reaching back; rows
/// shorter than a vector are segments of halved lengths.
void TileMover::moveRow(OpBuilder &builder, const Side &from, const Side &to, Value row, bool allCols) {
  Numbers here{builder, loc};
  auto line = [&](const Side &side) {
    return form.row == ~0u ? side.address : here.advance(side.address, here.mul(row, side.row));
  };
  Value source = line(from), target = line(to), none = here.index(0);
  int64_t elementBytes = form.tile.elementBytes, vectorBytes = lanes * elementBytes;
  auto run = [&](OpBuilder &b, Value offset, int64_t count) {
    Numbers at{b, loc};
    store(b, load(b, at.advance(source, offset), count), at.advance(target, offset));
  };
  if (allCols) {
    int64_t count = form.tile.cols / lanes, together = unrolledVectors(count);
    loop(builder, none, here.index(count / together * together * vectorBytes), together * vectorBytes,
         [&](OpBuilder &at, Value offset) {
           for (int64_t i = 0; i < together; ++i)
             run(at, Numbers{at, loc}.add(offset, index(at, i * vectorBytes)), lanes);
         });
    int64_t done = count / together * together * lanes;
    for (int64_t piece = lanes; done < form.tile.cols; done += piece) {
      while (piece > form.tile.cols - done)
        piece /= 2;
      run(builder, here.index(done * elementBytes), piece);
    }
    return;
  }
  Value bytes = here.mul(cols, here.index(elementBytes)), size = here.index(vectorBytes);
  Value rest = arith::RemUIOp::create(builder, loc, bytes, size);
  Value main = arith::SubIOp::create(builder, loc, bytes, rest);
  loop(builder, none, main, vectorBytes, [&](OpBuilder &at, Value offset) { run(at, offset, lanes); });
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b).getResult();
  };
  Value isLong = compare(arith::CmpIPredicate::uge, bytes, size),
        last = arith::SubIOp::create(builder, loc, bytes, size);
  scf::IfOp::create(builder, loc, compare(arith::CmpIPredicate::ne, rest, none), [&](OpBuilder &b, Location) {
    scf::IfOp::create(
        b, loc, isLong,
        [&](OpBuilder &at, Location) {
          run(at, last, lanes);
          scf::YieldOp::create(at, loc);
        },
        [&](OpBuilder &at, Location) {
          Numbers inside{at, loc};
          Value offset = inside.index(0);
          for (int64_t piece = lanes / 2; piece >= 1; piece /= 2) {
            Value bit = arith::AndIOp::create(at, loc, bytes, inside.index(piece * elementBytes));
            Value some = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ne, bit, inside.index(0));
            scf::IfOp::create(at, loc, some, [&](OpBuilder &one, Location) {
              run(one, offset, piece);
              scf::YieldOp::create(one, loc);
            });
            offset = inside.add(offset, bit);
          }
          scf::YieldOp::create(at, loc);
        });
    scf::YieldOp::create(b, loc);
  });
}

/// A square block whose columns are runs of the array: of the source, or of the target where the copy is a store.
void TileMover::moveBlock(OpBuilder &builder, const Side &from, const Side &to, Value row, Value col, int64_t side) {
  Numbers at{builder, loc};
  Value source = at.advance(from.address, offset(builder, from, row, col)),
        target = at.advance(to.address, offset(builder, to, row, col));
  bool out = isStore(op);
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < side; ++i)
    vectors.push_back(load(builder, at.advance(source, at.mul(at.index(i), out ? from.row : from.col)), side));
  vectors = transposeSquare(builder, loc, vectors);
  for (int64_t i = 0; i < side; ++i)
    store(builder, vectors[i], at.advance(target, at.mul(at.index(i), out ? to.col : to.row)));
}

/// The loads and stores of the core.
void TileMover::move(OpBuilder &builder) {
  Value none = index(builder, 0);
  auto singles = [&](Value firstRow, Value lastRow, Value firstCol, Value lastCol) {
    loop(builder, firstRow, lastRow, 1, [&](OpBuilder &outside, Value row) {
      loop(outside, firstCol, lastCol, 1, [&](OpBuilder &at, Value col) { moveSingle(at, row, col); });
    });
  };
  int64_t side = form.tile.order == TileOrder::Columns ? transposedBlock(form.tile.elementBytes, chip) : 1;
  if (scalar || form.tile.order == TileOrder::Scattered || (form.tile.order == TileOrder::Columns && side == 1))
    return singles(none, rows, none, cols);
  Side from = this->side(builder, true), to = this->side(builder, false);
  if (form.tile.order == TileOrder::Rows) {
    auto lines = [&](OpBuilder &b, bool allCols) {
      loop(b, none, rows, 1, [&](OpBuilder &at, Value row) { moveRow(at, from, to, row, allCols); });
    };
    if (!partCols)
      return lines(builder, true);
    Value all = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, cols, index(builder, form.tile.cols));
    auto choice = scf::IfOp::create(builder, loc, all, /*withElse=*/true);
    OpBuilder inner = choice.getThenBodyBuilder(), other = choice.getElseBodyBuilder();
    lines(inner, true);
    return lines(other, false);
  }
  auto blocks = [&](Value count) {
    return arith::SubIOp::create(builder, loc, count,
                                 arith::RemUIOp::create(builder, loc, count, index(builder, side)).getResult())
        .getResult();
  };
  Value mainRows = blocks(rows), mainCols = blocks(cols);
  loop(builder, none, mainRows, side, [&](OpBuilder &outside, Value row) {
    loop(outside, none, mainCols, side, [&](OpBuilder &at, Value col) { moveBlock(at, from, to, row, col, side); });
  });
  singles(none, mainRows, mainCols, cols);
  singles(mainRows, rows, none, cols);
}
