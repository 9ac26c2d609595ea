//===- PackEmitter.cpp - Copies into panels -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Seven copies, by what is contiguous in the source and in the panel:
//   lanes contiguous       vectors along the free dimension, groups interleaved; panel by panel, or row by row
//   lanes contiguous, but for gaps between rows    segment by segment, each over the end of the one before; so where
//                          k is contiguous too, but shorter than a vector, as taps of a row are
//   lanes contiguous, groups as long as a vector   groups interleaved to words, square blocks of them transposed
//   k contiguous           square blocks transposed in registers; so are k and taps that are one run (weights o,c,p,q)
//   k contiguous, groups as long as a vector       vectors along k
//   k contiguous, scalars  vectors along k into rows; free dimension contiguous, scalars: a panel's width at once
//   neither contiguous     a vector's rows are read in the order of memory into a buffer where k is contiguous, and
//                          copied from there as above (weights o,c,p,q in pairs of c: the taps p,q lie together)
//   otherwise              element by element; so is what a dynamic length has beyond whole groups and blocks of them
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/PackEmitter.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/Transforms/Lower/Vectors/VectorTranspose.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

namespace {

class Packer {
public:
  Packer(IterationSpace &space, const PackRequest &request)
      : space(space), b(space.builder), loc(space.loc), r(request), access(request.operand->access) {}

  PackedBuffer pack();

private:
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, b.getContext()); }
  AffineExpr paddedK() { return padded(r.kLength); }
  AffineExpr padded(AffineExpr k) { return k.ceilDiv(r.kStep) * r.kStep; }
  int64_t strideOf(unsigned dim) { return dim == ~0u ? 0 : access.stride(dim).value_or(0); }

  void overOtherK(unsigned which, function_ref<void()> body);
  void place(AffineExpr free, AffineExpr k);
  Value widen(Value value);
  Value zero(Type type) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); }
  Value loadScalar();
  Value loadVector(int64_t width, AffineExpr valid);
  Value loadVector(Value memref, AffineMap map, ValueRange operands, int64_t width, AffineExpr valid);
  Value loadAlongK(AffineExpr base, int64_t row, AffineExpr k, int64_t width, AffineExpr valid);
  void storeVector(Value value, ArrayRef<AffineExpr> position);
  /// In the panel that is being written.
  SmallVector<AffineExpr> packedPosition(AffineExpr outer, AffineExpr within) {
    return run ? SmallVector<AffineExpr>{panel, outer, within} : buffer.position(space, panel, outer, within);
  }

  void copyLanes(AffineExpr base);
  void copySegments(AffineExpr base);
  void copySegment(AffineExpr base, AffineExpr group, int64_t segment, int64_t existing);
  bool copiesSegments();
  int64_t extentOf(unsigned dim) { return cast<AffineConstantExpr>(space.extent(dim)).getValue(); }
  /// Of the free dimension, known where it goes on in others.
  int64_t columns() { return extentOf(r.freeDim); }
  Value loadApart(int64_t width, int64_t apart, AffineExpr valid);
  void copyRowsOfPanels();
  void copyTransposed(AffineExpr base);
  void copyGroups(AffineExpr base);
  void allocateStage();
  void stageRows(AffineExpr base, int64_t lane);
  void stageElements(ArrayRef<unsigned> dims, AffineExpr row);
  SmallVector<AffineExpr> stagedPosition(AffineExpr row, AffineExpr k);
  void overVectors(AffineExpr base, function_ref<void(int64_t)> body);
  void copyTransposedGroups(AffineExpr base);
  void overGroups(AffineExpr base, function_ref<void(int64_t, AffineExpr, int64_t)> body);
  AffineExpr existingLanes(int64_t lane);
  std::optional<AffineExpr> existingAlongK(int64_t lane, int64_t i, int64_t span, int64_t existing);
  static int64_t wide(Type type) { return type.getIntOrFloatBitWidth(); }
  void copyRows(AffineExpr base);
  void copyRuns();
  void copyElements(AffineExpr base) {
    overOtherK(0, [&] { copyElementsFrom(base, constant(0)); });
  }
  void copyElementsFrom(AffineExpr base, AffineExpr from);
  void copyGroupOfLanes(AffineExpr base, AffineExpr group, int64_t existing);

  IterationSpace &space;
  OpBuilder &b;
  Location loc;
  const PackRequest &r;
  const Access &access;
  PackedBuffer buffer;
  AffineExpr panel; // local
  int64_t run = 0;  // taps of each element of k that lie with it in one run, in the source and in panels; 0: none
  Value staged;     // rows of one vector of the panel, along k; null: the source has them so
  SmallVector<unsigned> order; // k and the other reduction dimensions, as they follow each other in the source
};

PackedBuffer Packer::pack() {
  bool lanesContiguous = strideOf(r.freeDim) == 1, kContiguous = strideOf(r.kDim) == 1;
  buffer.group = r.group;
  buffer.rows = r.vector == 0 && kContiguous;
  buffer.otherK.assign(r.otherK.begin(), r.otherK.end());
  buffer.tapsInside = r.tapsInside && !buffer.rows;
  PackedFragments fragments{r.vector, r.group, r.kStep, wide(r.element)};
  auto length = dyn_cast<AffineConstantExpr>(r.kLength);
  bool segments =
      r.windows && r.vector > 0 && copiesSegments() && (!kContiguous || fragments.outreaches(length.getValue()));
  if (segments) // the last vector of a row may reach this far into the next one
    buffer.slack = llvm::divideCeil(2 * columns() + r.vector, r.width);
  AffineExpr count = r.capacity ? constant(r.capacity) : r.ends.front() - r.begin;
  buffer.allocate(space, r.element, count, r.width, padded(r.kMost));

  bool canTranspose = fragments.transposesWords(), longGroups = fragments.hasLongGroups();
  if (canTranspose && buffer.tapsInside && r.group == 1 && r.kStep == 1 && !r.producer && !r.windows &&
      isa<AffineConstantExpr>(r.kLength) &&
      isOneRun(access, r.kDim, r.otherK, [&](unsigned tap) { return extentOf(tap); }))
    run = buffer.taps;
  int64_t perWord = 32 / wide(r.element);
  bool squareWords = longGroups && (perWord == 2 || perWord == 4) && r.group == r.vector * perWord &&
                     wide(r.element) == wide(r.operand->element);
  bool lanes = r.vector > 0 && lanesContiguous && !longGroups && !r.windows;
  if (!lanesContiguous && !kContiguous && !run && !segments && !r.producer && fragments.readsAlongK())
    allocateStage();
  bool alongK = kContiguous || staged || run;
  // Several panels side by side are written row by row: long runs of the source are what hardware prefetchers follow.
  // (A unit that reads one group a step has its panels packed one by one, right before their use.)
  auto panels = dyn_cast<AffineConstantExpr>(r.capacity ? constant(r.capacity) : count);
  if (lanes && r.kStep > r.group && r.otherK.empty() && panels && panels.getValue() > 1) {
    copyRowsOfPanels();
    return buffer;
  }
  if (!buffer.rows && lanesContiguous && r.vector == 0 && r.group == 1 && !r.windows) {
    copyRuns();
    return buffer;
  }
  space.loop(r.begin, r.ends, [&](AffineExpr iv) {
    panel = iv - r.begin;
    AffineExpr base = r.freeDim == ~0u ? constant(0) : r.first + iv * r.width;
    if (segments)
      copySegments(base);
    else if (buffer.rows)
      copyRows(base);
    else if (longGroups && alongK)
      copyGroups(base);
    else if (squareWords && lanesContiguous && !r.windows)
      copyTransposedGroups(base);
    else if (longGroups)
      copyElements(base);
    else if (lanes)
      copyLanes(base);
    else if (canTranspose && alongK)
      copyTransposed(base);
    else
      copyElements(base);
  });
  return buffer;
}

void Packer::overOtherK(unsigned which, function_ref<void()> body) {
  if (which == r.otherK.size() || run)
    return body();
  space.loop(constant(0), {space.extent(r.otherK[which])}, [&](AffineExpr iv) {
    space.at[r.otherK[which]] = iv;
    overOtherK(which + 1, body);
  });
}

/// Moves to free element `free` and element `k` of the block of k; of a run, its taps count.
void Packer::place(AffineExpr free, AffineExpr k) {
  if (r.freeDim != ~0u)
    space.moveTo(free, r.freeDim, r.outerFree);
  for (unsigned dim : run ? llvm::reverse(r.otherK) : llvm::reverse(ArrayRef<unsigned>())) {
    space.at[dim] = k % space.extent(dim);
    k = k.floorDiv(space.extent(dim));
  }
  space.at[r.kDim] = r.kBegin + k;
}

Value Packer::widen(Value value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  if (element == r.element) {
    if (!r.offset)
      return value;
    // Adding half the range flips the sign bit.
    auto half = b.getIntegerAttr(element, APInt::getSignedMinValue(element.getIntOrFloatBitWidth()));
    TypedAttr attr = half;
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(half));
    return arith::XOrIOp::create(b, loc, value, arith::ConstantOp::create(b, loc, attr));
  }
  Type wide = isa<VectorType>(type) ? Type(VectorType::get(cast<VectorType>(type).getShape(), r.element)) : r.element;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(b, loc, wide, value);
  if (r.operand->isUnsigned)
    return arith::ExtUIOp::create(b, loc, wide, value);
  return arith::ExtSIOp::create(b, loc, wide, value);
}

/// The element of the source at the current position, widened.
Value Packer::loadScalar() {
  if (r.producer)
    return widen(emitProducer(space, *r.producer, 0, nullptr));
  auto [map, operands] = space.address(access);
  return widen(AffineLoadOp::create(b, loc, access.memref, map, operands));
}

/// `width` consecutive elements of the source at the current position, zeros beyond `valid`, widened.
Value Packer::loadVector(int64_t width, AffineExpr valid) {
  if (r.producer)
    return widen(emitProducer(space, *r.producer, width, valid));
  auto [map, operands] = space.address(access);
  return loadVector(access.memref, map, operands, width, valid);
}

/// The same from any place.
Value Packer::loadVector(Value memref, AffineMap map, ValueRange operands, int64_t width, AffineExpr valid) {
  auto type = VectorType::get({width}, r.operand->element);
  if (!valid)
    return widen(AffineVectorLoadOp::create(b, loc, type, memref, map, operands));
  SmallVector<Value> indices;
  for (AffineExpr result : map.getResults())
    indices.push_back(
        AffineApplyOp::create(b, loc, AffineMap::get(map.getNumDims(), map.getNumSymbols(), result), operands));
  Value count = space.value(valid);
  Value mask = vector::CreateMaskOp::create(b, loc, VectorType::get({width}, b.getI1Type()), ValueRange(count));
  return widen(vector::MaskedLoadOp::create(b, loc, type, memref, indices, mask, zero(type)));
}

/// `width` elements along k from `k` on, of free element `row` behind `base`, zeros beyond `valid`, widened.
Value Packer::loadAlongK(AffineExpr base, int64_t row, AffineExpr k, int64_t width, AffineExpr valid) {
  place(base + row, k);
  if (!staged)
    return loadVector(width, valid);
  auto [map, operands] = space.map(stagedPosition(constant(row % r.vector), k));
  return loadVector(staged, map, operands, width, valid);
}

void Packer::storeVector(Value value, ArrayRef<AffineExpr> position) {
  auto [map, operands] = space.map(position);
  AffineVectorStoreOp::create(b, loc, value, buffer.memref, map, operands);
}

/// Interleaves rows of a group of 1, 2 or 4 elements of k.
static Value interleaveRows(OpBuilder &b, Location loc, ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return rows.front();
  SmallVector<Value> even, odd;
  for (auto [i, row] : llvm::enumerate(rows))
    (i % 2 ? odd : even).push_back(row);
  return vector::InterleaveOp::create(b, loc, interleaveRows(b, loc, even), interleaveRows(b, loc, odd));
}

/// One group of `existing` rows of k for all vectors of a panel.
void Packer::copyGroupOfLanes(AffineExpr base, AffineExpr group, int64_t existing) {
  for (int64_t lane = 0; lane < r.width; lane += r.vector) {
    bool isPartial = r.valid && lane + r.vector >= r.width;
    SmallVector<Value> rows;
    for (int64_t j = 0; j < r.group; ++j) {
      if (j >= existing) {
        rows.push_back(zero(VectorType::get({r.vector}, r.element)));
        continue;
      }
      place(base + lane, group * r.group + j);
      rows.push_back(loadVector(r.vector, isPartial ? r.valid : AffineExpr()));
    }
    storeVector(interleaveRows(b, loc, rows), packedPosition(group, constant(lane * r.group)));
  }
}

void Packer::copyLanes(AffineExpr base) {
  overOtherK(0, [&] {
    AffineExpr full = r.kLength.floorDiv(r.group);
    space.loop(constant(0), {full}, [&](AffineExpr group) { copyGroupOfLanes(base, group, r.group); });
    auto length = dyn_cast<AffineConstantExpr>(r.kLength);
    if (!length && r.group > 1)
      return copyElementsFrom(base, full * r.group);
    if (length && length.getValue() % r.group)
      copyGroupOfLanes(base, full, length.getValue() % r.group);
    space.loop(r.kLength.ceilDiv(r.group), {paddedK().floorDiv(r.group)},
               [&](AffineExpr group) { copyGroupOfLanes(base, group, 0); });
  });
}

/// Whether the free dimension lies close enough for vectors, and a unit's groups are interleaved elements.
bool Packer::copiesSegments() {
  int64_t apart = strideOf(r.freeDim);
  return apart >= 1 && apart <= 4 && r.group <= 4 && !r.producer && isa<AffineConstantExpr>(r.kLength);
}

/// `width` elements `apart` from each other, zeros beyond `valid`, widened.
Value Packer::loadApart(int64_t width, int64_t apart, AffineExpr valid) {
  if (apart == 1)
    return loadVector(width, valid);
  Value wide = loadVector(width * apart, (valid - 1) * apart + 1);
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < width; ++i)
    order.push_back(i * apart);
  return vector::ShuffleOp::create(b, loc, wide, wide, order);
}

/// Group `group` of segment number `segment` of a panel's row. The first segment begins with the panel, the others
/// where columns of the source begin anew. Vectors may reach beyond their segment, as gaps only widen what lies behind
/// them, but not beyond the last position.
void Packer::copySegment(AffineExpr base, AffineExpr group, int64_t segment, int64_t existing) {
  WindowCopy copy(r.width, columns(), r.vector);
  AffineExpr total = constant(columns());
  for (unsigned dim : r.outerFree)
    total = total * space.extent(dim);
  AffineExpr begin = segment == 0 ? base : (base.floorDiv(columns()) + segment) * columns();
  for (int64_t at = 0; at < copy.perSegment * copy.vector; at += copy.vector) {
    SmallVector<Value> rows;
    for (int64_t j = 0; j < r.group; ++j) {
      if (j >= existing) {
        rows.push_back(zero(VectorType::get({copy.vector}, r.element)));
        continue;
      }
      place(begin, group * r.group + j);
      space.at[r.freeDim] = space.at[r.freeDim] + at;
      rows.push_back(loadApart(copy.vector, strideOf(r.freeDim), total - begin - at));
    }
    storeVector(interleaveRows(b, loc, rows), packedPosition(group, (begin + at - base) * r.group));
  }
}

/// The rows of a panel in the order of memory, so that each is written over what the one before has left in it.
void Packer::copySegments(AffineExpr base) {
  int64_t length = cast<AffineConstantExpr>(r.kLength).getValue(), full = length / r.group;
  auto overGroups = [&](function_ref<void(AffineExpr, int64_t)> body) {
    space.loop(constant(0), {constant(full)}, [&](AffineExpr group) { body(group, r.group); });
    if (length % r.group)
      body(constant(full), length % r.group);
    space.loop(constant(llvm::divideCeil(length, r.group)), {paddedK().floorDiv(r.group)},
               [&](AffineExpr group) { body(group, 0); });
  };
  auto copyGroup = [&](AffineExpr group, int64_t existing) {
    for (int64_t segment = 0; segment < WindowCopy(r.width, columns(), r.vector).segments; ++segment)
      copySegment(base, group, segment, existing);
  };
  if (buffer.tapsInside)
    overGroups([&](AffineExpr group, int64_t existing) { overOtherK(0, [&] { copyGroup(group, existing); }); });
  else
    overOtherK(0, [&] { overGroups(copyGroup); });
}

/// All panels of one group of k after the other.
void Packer::copyRowsOfPanels() {
  auto overPanels = [&](function_ref<void(AffineExpr)> body) {
    space.loop(r.begin, r.ends, [&](AffineExpr iv) {
      panel = iv - r.begin;
      body(r.first + iv * r.width);
    });
  };
  auto copyGroup = [&](AffineExpr group, int64_t existing) {
    overPanels([&](AffineExpr base) { copyGroupOfLanes(base, group, existing); });
  };
  AffineExpr full = r.kLength.floorDiv(r.group);
  space.loop(constant(0), {full}, [&](AffineExpr group) { copyGroup(group, r.group); });
  auto length = dyn_cast<AffineConstantExpr>(r.kLength);
  if (!length)
    return overPanels([&](AffineExpr base) { copyElementsFrom(base, full * r.group); });
  if (length.getValue() % r.group)
    copyGroup(full, length.getValue() % r.group);
  space.loop(constant(llvm::divideCeil(length.getValue(), r.group)), {paddedK().floorDiv(r.group)},
             [&](AffineExpr group) { copyGroup(group, 0); });
}

/// Blocks of `vector` lanes x `vector` groups, transposed in registers as words of one group.
void Packer::copyTransposed(AffineExpr base) {
  int64_t lanes = r.vector, span = lanes * r.group; // elements of k in a block
  unsigned wordBits = r.element.getIntOrFloatBitWidth() * r.group;
  Type word = r.group == 1 ? r.element : Type(b.getIntegerType(wordBits));
  auto blockAt = [&](AffineExpr block, int64_t lane, int64_t existing, int64_t stored) {
    SmallVector<Value> rows;
    auto wordType = VectorType::get({lanes}, word);
    for (int64_t i = 0; i < lanes; ++i) {
      std::optional<AffineExpr> valid = existingAlongK(lane, i, span, existing);
      if (!valid) {
        rows.push_back(zero(wordType));
        continue;
      }
      Value row = loadAlongK(base, lane + i, block * span, span, *valid);
      rows.push_back(r.group == 1 ? row : Value(vector::BitCastOp::create(b, loc, wordType, row)));
    }
    rows = transposeSquare(b, loc, rows);
    for (int64_t i = 0; i < stored; ++i) {
      Value row = rows[i];
      if (r.group != 1)
        row = vector::BitCastOp::create(b, loc, VectorType::get({span}, r.element), row);
      storeVector(row, packedPosition(block * lanes + i, constant(lane * r.group)));
    }
  };
  AffineExpr all = run ? r.kLength * run : r.kLength, blocks = all.floorDiv(span);
  auto size = dyn_cast<AffineConstantExpr>(all);
  int64_t length = size ? size.getValue() : 0, groups = llvm::alignTo(length, r.kStep) / r.group;
  overVectors(base, [&](int64_t lane) {
    space.loop(constant(0), {blocks}, [&](AffineExpr block) { blockAt(block, lane, span, lanes); });
    if (length % span)
      blockAt(blocks, lane, length % span, std::min(lanes, groups - length / span * lanes));
  });
  overOtherK(0, [&] {
    if (!size)
      return copyElementsFrom(base, blocks * span);
    space.loop(constant(llvm::alignTo(length, span) / r.group), {constant(groups)},
               [&](AffineExpr group) { copyGroupOfLanes(base, group, 0); });
  });
}

/// Calls `body(lane)` for all vectors of free elements of a panel and all positions of the other reduction dimensions.
void Packer::overVectors(AffineExpr base, function_ref<void(int64_t)> body) {
  auto overLanes = [&](function_ref<void(int64_t)> each) {
    for (int64_t lane = 0; lane < r.width; lane += r.vector)
      each(lane);
  };
  if (!staged)
    return overOtherK(0, [&] { overLanes(body); });
  overLanes([&](int64_t lane) {
    stageRows(base, lane);
    overOtherK(0, [&] { body(lane); });
  });
}

/// A buffer [other reduction dimensions][rows of a vector][k]: rows are one line longer, so that those of a vector do
/// not share the sets of a cache.
void Packer::allocateStage() {
  int64_t line = std::max<int64_t>(512 / wide(r.operand->element), 1);
  SmallVector<AffineExpr> shape;
  for (unsigned dim : r.otherK)
    shape.push_back(space.extent(dim));
  shape.append({constant(r.vector), r.kMost.ceilDiv(line) * line + line});
  staged = space.allocate(shape, r.operand->element);
  order.assign(r.otherK.begin(), r.otherK.end());
  order.push_back(r.kDim);
  order = inMemoryOrder(access, order);
}

SmallVector<AffineExpr> Packer::stagedPosition(AffineExpr row, AffineExpr k) {
  SmallVector<AffineExpr> result;
  for (unsigned dim : r.otherK)
    result.push_back(space.at[dim]);
  result.append({row, k});
  return result;
}

/// Copies the rows of the vector that begins at `lane`, each from its first byte to its last: what prefetchers follow,
/// and a line is done with when the next one comes.
void Packer::stageRows(AffineExpr base, int64_t lane) {
  AffineExpr rows = existingLanes(lane);
  space.loop(constant(0), {rows ? rows : constant(r.vector)}, [&](AffineExpr row) {
    space.moveTo(base + lane + row, r.freeDim, r.outerFree);
    stageElements(order, row);
  });
}

/// The elements of `row` over `dims`, the outermost first. A few taps that lie together are written out.
void Packer::stageElements(ArrayRef<unsigned> dims, AffineExpr row) {
  if (dims.empty()) {
    auto [map, operands] = space.address(access);
    Value element = AffineLoadOp::create(b, loc, access.memref, map, operands);
    auto [to, toOperands] = space.map(stagedPosition(row, space.at[r.kDim] - r.kBegin));
    AffineStoreOp::create(b, loc, element, staged, to, toOperands);
    return;
  }
  unsigned dim = dims.front();
  AffineExpr begin = dim == r.kDim ? r.kBegin : constant(0), length = dim == r.kDim ? r.kLength : space.extent(dim);
  auto body = [&](AffineExpr iv) {
    space.at[dim] = begin + iv;
    stageElements(dims.drop_front(), row);
  };
  constexpr int64_t mostWritten = 16;
  int64_t elements = 1;
  for (unsigned each : dims) {
    auto extent = dyn_cast<AffineConstantExpr>(each == r.kDim ? r.kLength : space.extent(each));
    elements = extent ? std::min(elements * extent.getValue(), mostWritten + 1) : mostWritten + 1;
  }
  if (elements > mostWritten)
    return space.loop(constant(0), {length}, body);
  for (int64_t i = 0; i < cast<AffineConstantExpr>(length).getValue(); ++i)
    body(constant(i));
}

/// Calls `body(lane, group, existing)` for all vectors of free elements and groups of k of a panel; `existing`: the
/// elements of the group that the source has.
void Packer::overGroups(AffineExpr base, function_ref<void(int64_t, AffineExpr, int64_t)> body) {
  auto length = dyn_cast<AffineConstantExpr>(r.kLength);
  AffineExpr full = r.kLength.floorDiv(r.group);
  overVectors(base, [&](int64_t lane) {
    space.loop(constant(0), {full}, [&](AffineExpr group) { body(lane, group, r.group); });
    if (length && length.getValue() % r.group)
      body(lane, full, length.getValue() % r.group);
  });
  if (!length)
    overOtherK(0, [&] { copyElementsFrom(base, full * r.group); });
}

/// Free elements of the vector that begins at `lane` which the source has; null: all.
AffineExpr Packer::existingLanes(int64_t lane) { return lane + r.vector >= r.width ? r.valid : AffineExpr(); }

/// Of `span` elements along k of free element `i` of the vector that begins at `lane`, those that the source has, where
/// `existing` are left of k; null: all, nullopt: none.
std::optional<AffineExpr> Packer::existingAlongK(int64_t lane, int64_t i, int64_t span, int64_t existing) {
  AffineExpr lanes = existingLanes(lane), all = existing < span ? constant(existing) : AffineExpr();
  if (!lanes)
    return all;
  if (auto known = dyn_cast<AffineConstantExpr>(lanes))
    return i < known.getValue() ? std::optional(all) : std::nullopt;
  // 1 where i < lanes, else 0, of lanes up to a vector.
  return (lanes + (r.vector - 1 - i)).floorDiv(r.vector) * existing;
}

/// Each group is a vector along k, in the source and in the panel.
void Packer::copyGroups(AffineExpr base) {
  overGroups(base, [&](int64_t lane, AffineExpr group, int64_t existing) {
    for (int64_t i = 0; i < r.vector; ++i) {
      Value row = zero(VectorType::get({r.group}, r.element));
      if (std::optional<AffineExpr> valid = existingAlongK(lane, i, r.group, existing)) {
        row = loadAlongK(base, lane + i, group * r.group, r.group, *valid);
      }
      storeVector(row, packedPosition(group, constant((lane + i) * r.group)));
    }
  });
}

/// Rows of the source run along the free dimension: as many of them as make 32-bit words are interleaved, square blocks
/// of words transposed.
void Packer::copyTransposedGroups(AffineExpr base) {
  int64_t perWord = r.group / r.vector;
  auto wordType = VectorType::get({r.vector}, b.getIntegerType(32));
  overGroups(base, [&](int64_t lane, AffineExpr group, int64_t existing) {
    SmallVector<Value> words;
    for (int64_t word = 0; word < r.vector; ++word) {
      SmallVector<Value> rows;
      for (int64_t j = word * perWord; j < (word + 1) * perWord; ++j) {
        place(base + lane, group * r.group + j);
        rows.push_back(j < existing ? loadVector(r.vector, existingLanes(lane))
                                    : zero(VectorType::get({r.vector}, r.element)));
      }
      words.push_back(vector::BitCastOp::create(b, loc, wordType, interleaveRows(b, loc, rows)));
    }
    for (auto [i, row] : llvm::enumerate(transposeSquare(b, loc, words)))
      storeVector(vector::BitCastOp::create(b, loc, VectorType::get({r.group}, r.element), row),
                  packedPosition(group, constant((lane + int64_t(i)) * r.group)));
  });
}

/// Vectors along k into [panel][row][k]; the last elements one by one.
void Packer::copyRows(AffineExpr base) {
  int64_t width = std::max<int64_t>(512 / r.element.getIntOrFloatBitWidth(), 1);
  space.loop(constant(0), {constant(r.width)}, [&](AffineExpr row) {
    overOtherK(0, [&] {
      AffineExpr full = r.kLength.floorDiv(width);
      space.loop(constant(0), {full}, [&](AffineExpr i) {
        place(base + row, i * width);
        storeVector(loadVector(width, nullptr), packedPosition(row, i * width));
      });
      auto scalarAt = [&](AffineExpr k, Value value) {
        auto [map, operands] = space.map(packedPosition(row, k));
        AffineStoreOp::create(b, loc, value, buffer.memref, map, operands);
      };
      space.loop(full * width, {r.kLength}, [&](AffineExpr k) {
        place(base + row, k);
        scalarAt(k, loadScalar());
      });
      space.loop(r.kLength, {paddedK()}, [&](AffineExpr k) { scalarAt(k, zero(r.element)); });
    });
  });
}

/// The whole width of a panel of scalars at once. A few steps of k go through all panels together: neighbouring panels
/// share lines of the source, and each step's row is read from its beginning to its end, as prefetchers like it. They
/// are few enough to stay in one set of the first cache, which all of them hit where rows are pages long.
void Packer::copyRuns() {
  constexpr int64_t steps = 4;
  overOtherK(0, [&] {
    space.loop(constant(0), {r.kLength.ceilDiv(steps)}, [&](AffineExpr block) {
      space.loop(r.begin, r.ends, [&](AffineExpr iv) {
        panel = iv - r.begin;
        space.loop(block * steps, {block * steps + steps, r.kLength}, [&](AffineExpr k) {
          place(r.freeDim == ~0u ? constant(0) : r.first + iv * r.width, k);
          storeVector(loadVector(r.width, nullptr), packedPosition(k, constant(0)));
        });
      });
    });
  });
}

/// Element by element from k = `from` on: any access, any remainder.
void Packer::copyElementsFrom(AffineExpr base, AffineExpr from) {
  AffineExpr lanes = constant(r.width);
  if (r.valid)
    lanes = constant(r.width - r.vector) + r.valid;
  auto put = [&](AffineExpr free, AffineExpr k, Value value) {
    AffineExpr group = k.floorDiv(r.group);
    auto [map, operands] = space.map(packedPosition(group, free * r.group + (k - group * r.group)));
    AffineStoreOp::create(b, loc, value, buffer.memref, map, operands);
  };
  space.loop(from, {r.kLength}, [&](AffineExpr k) {
    space.loop(constant(0), {lanes}, [&](AffineExpr free) {
      place(base + free, k);
      put(free, k, loadScalar());
    });
    if (r.valid)
      space.loop(lanes, {constant(r.width)}, [&](AffineExpr free) { put(free, k, zero(r.element)); });
  });
  space.loop(r.kLength, {paddedK()}, [&](AffineExpr k) {
    space.loop(constant(0), {constant(r.width)}, [&](AffineExpr free) { put(free, k, zero(r.element)); });
  });
}

} // namespace

PackedBuffer packPanels(IterationSpace &space, const PackRequest &request) { return Packer(space, request).pack(); }

} // namespace tilewright
