//===- TurnedCopy.cpp - Copies that transpose in registers ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts instructions of all blocks.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Copies/TurnedCopy.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace tilewright;

int64_t tilewright::turnPermutes(const TurnShape &shape, int64_t elements, int64_t elementBytes) {
  constexpr int64_t wordBytes = 4;
  if (elementBytes >= wordBytes)
    return 0;
  bool words = shape.along * elementBytes >= wordBytes && shape.across * elementBytes >= wordBytes;
  if (!words)
    return elements;
  int64_t stages = wordBytes / elementBytes / 2; // of two words each: halves, then bytes
  return elements * elementBytes / wordBytes * stages;
}

llvm::SmallVector<TurnShape> tilewright::turnShapes(int64_t elements, int64_t elementBytes, int64_t mostAlong,
                                                    int64_t mostAcross) {
  int64_t piece = std::max<int64_t>(1, 16 / elementBytes);
  llvm::SmallVector<TurnShape> shapes;
  for (int64_t across = std::min({piece, mostAcross, elements}); across >= 1; across /= 2)
    for (int64_t along = std::min({piece, mostAlong, elements / across}); along >= 1; along /= 2)
      shapes.push_back({along, across});
  llvm::stable_sort(shapes, [&](const TurnShape &a, const TurnShape &b) {
    auto count = [&](const TurnShape &shape) {
      return elements / shape.along + elements / shape.across + turnPermutes(shape, elements, elementBytes);
    };
    return count(a) < count(b);
  });
  return shapes;
}
