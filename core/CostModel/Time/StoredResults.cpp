//===- StoredResults.cpp - What is written after the loop -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types and orders of the arrays, and the bytes that stores touch.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/Sectors.h"
#include "core/CostModel/Schedules/LaneContractionModel.h"
#include "core/CostModel/Schedules/TiledDimensions.h"

using namespace mlir;
using namespace tilewright;

StoredResult tilewright::storedResult(const Contraction &c, const Access &access) {
  std::optional<TiledDimensions> dims = tiledDimensions(c);
  bool alongM = dims && isContiguousAlong(access, dims->mDim) && !isContiguousAlong(access, dims->nDim);
  return {elementBytes(cast<MemRefType>(access.memref.getType()).getElementType()), !alongM};
}

double tilewright::bytesTouched(ArrayRef<StoredResult> results, int64_t rows, int64_t columns, int64_t sectorBytes) {
  double bytes = 0;
  for (const StoredResult &result : results) {
    int64_t piece = (result.alongN ? columns : rows) * result.elementBytes;
    bytes += double(result.elementBytes) * std::max<int64_t>(1, sectorBytes / piece);
  }
  return bytes;
}
