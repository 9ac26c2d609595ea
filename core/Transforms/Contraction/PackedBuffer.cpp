//===- PackedBuffer.cpp - Where packed elements lie -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shape and addresses of the two forms, for what writes and for what reads them.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/PackedBuffer.h"

using namespace mlir;

namespace tilewright {

void PackedBuffer::allocate(IterationSpace &space, Type element, AffineExpr panels, int64_t width, AffineExpr paddedK) {
  auto constant = [&](int64_t value) { return getAffineConstantExpr(value, space.builder.getContext()); };
  AffineExpr groups = paddedK.floorDiv(group);
  SmallVector<AffineExpr> shape{panels};
  if (tapsInside) {
    taps = 1;
    for (unsigned dim : otherK)
      taps *= cast<AffineConstantExpr>(space.extent(dim)).getValue();
    shape.append({(groups + slack) * taps, constant(width * group)});
    memref = space.allocate(shape, element);
    return;
  }
  if (rows)
    shape.push_back(constant(width));
  for (unsigned dim : otherK)
    shape.push_back(space.extent(dim));
  if (rows) {
    // One line more than a whole number of lines, so that rows do not share the sets of a cache.
    int64_t line = std::max<int64_t>(512 / element.getIntOrFloatBitWidth(), 1);
    shape.push_back(paddedK.ceilDiv(line) * line + line);
  } else {
    shape.append({groups + slack, constant(width * group)});
  }
  memref = space.allocate(shape, element);
}

SmallVector<AffineExpr> PackedBuffer::position(const IterationSpace &space, AffineExpr panel, AffineExpr outer,
                                               AffineExpr within) const {
  if (before)
    outer = outer + before;
  if (tapsInside) {
    AffineExpr row = outer;
    for (unsigned dim : otherK)
      row = row * space.extent(dim) + space.at[dim];
    return {panel, row, within};
  }
  SmallVector<AffineExpr> result{panel};
  if (rows)
    result.push_back(outer);
  for (unsigned dim : otherK)
    result.push_back(space.at[dim]);
  if (!rows)
    result.push_back(outer);
  result.push_back(within);
  return result;
}

Value loadPacked(IterationSpace &space, const PackedBuffer &buffer, tile::FragmentType type, AffineExpr panel,
                 AffineExpr step, int64_t offset, bool freeIsColumn) {
  MLIRContext *context = space.builder.getContext();
  AffineExpr row = getAffineDimExpr(0, context), column = getAffineDimExpr(1, context);
  AffineExpr none = getAffineConstantExpr(0, context);
  AffineExpr free = freeIsColumn ? column : row, k = freeIsColumn ? row : column;
  int64_t kStep = freeIsColumn ? type.getRows() : type.getCols();
  // The fragment's first element, and what a step in k or along the free dimension adds to its place.
  SmallVector<AffineExpr> position, elements{none};
  if (buffer.rows) {
    position = buffer.position(space, panel, getAffineConstantExpr(offset, context), step * kStep);
    elements.push_back(free);
    elements.append(buffer.otherK.size(), none);
    elements.push_back(k);
  } else {
    position = buffer.position(space, panel, step * (kStep / buffer.group),
                               getAffineConstantExpr(offset * buffer.group, context));
    if (!buffer.tapsInside)
      elements.append(buffer.otherK.size(), none);
    elements.push_back(k.floorDiv(buffer.group) * buffer.taps);
    elements.push_back(free * buffer.group + k % buffer.group);
  }
  return loadTile(space, buffer.memref, position, AffineMap::get(2, 0, elements, context), type);
}

} // namespace tilewright
