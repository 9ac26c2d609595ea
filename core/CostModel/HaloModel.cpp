//===- HaloModel.cpp - Is a stencil computed where it is read? ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/HaloModel.h"
#include <algorithm>

namespace tilewright {

HaloAnswer compareHalo(const HaloQuestion &q, const MemoryModel &model) {
  auto pass = [&](double read, double written, double arithmetic, double loads) {
    return std::max(model.moveSeconds(read, written), model.issueSeconds(arithmetic, loads));
  };
  double first = q.between / q.lanes, second = q.elements / q.lanes; // vectors
  HaloAnswer answer;
  answer.apart = pass(q.bytesIn, q.bytesBetween, first * q.first.arithmetic, first * q.first.loads) +
                 pass(q.bytesBetween, q.bytesOut, second * q.second.arithmetic, second * (q.second.loads + q.reads));
  answer.fused = pass(q.bytesIn, q.bytesOut, second * (q.recompute * q.first.arithmetic + q.second.arithmetic),
                      second * (q.recompute * q.first.loads + q.second.loads));
  return answer;
}

} // namespace tilewright
