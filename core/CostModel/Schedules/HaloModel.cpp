//===- HaloModel.cpp - Is a stencil computed where it is read? ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/HaloModel.h"
#include <algorithm>
#include <cmath>

namespace tilewright {

HaloAnswer compareHalo(const HaloQuestion &q, const PassModel &model) {
  auto pass = [&](double read, double written, double arithmetic, double loads) {
    return model.seconds({read, written, arithmetic, loads});
  };
  double first = q.between / q.lanes, second = q.elements / q.lanes; // vectors
  HaloAnswer answer;
  answer.apart = pass(q.bytesIn, q.bytesBetween, first * q.first.arithmetic, first * q.first.loads) +
                 pass(q.bytesBetween, q.bytesOut, second * q.second.arithmetic, second * (q.second.loads + q.reads));
  answer.fused = pass(q.bytesIn, q.bytesOut, second * (q.recompute * q.first.arithmetic + q.second.arithmetic),
                      second * (q.recompute * q.first.loads + q.second.loads));
  if (q.ringBytes == 0) {
    answer.slid = HUGE_VAL;
    return answer;
  }
  double bytes = q.bytesBetween / std::max(q.between, 1.0); // of an element
  double ring = model.caches().moveSeconds(q.reads * q.elements * bytes, q.bytesBetween, q.ringBytes);
  answer.slid = std::max({pass(q.bytesIn, q.bytesOut, first * q.first.arithmetic + second * q.second.arithmetic,
                               first * q.first.loads + second * (q.second.loads + q.reads)),
                          ring});
  return answer;
}

} // namespace tilewright
