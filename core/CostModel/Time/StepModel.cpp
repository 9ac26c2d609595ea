//===- StepModel.cpp - Clocks of one step of a contraction on lanes -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The smallest time that the loads and the chain allow, by bisection: the chain
/// only becomes shorter when the step becomes longer.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Time/StepModel.h"
#include <algorithm>
#include <limits>

using namespace tilewright;

/// `service` clocks at a resource that is asked for `load` of `clocks`, with the wait before it.
static double served(double service, double load, double clocks) {
  if (service == 0)
    return 0;
  if (load >= clocks)
    return std::numeric_limits<double>::infinity();
  double rho = load / clocks;
  return service * (1 + rho / (2 * (1 - rho)));
}

static double chainClocks(const StepLoad &load, const StepChain &chain, double t) {
  double read = chain.scratchpadLatency + served(chain.scratchpadRead, load.scratchpad, t);
  double copy = chain.memoryLatency + served(chain.l2, load.l2, t) + served(chain.global, load.global, t);
  double write = served(chain.scratchpadWrite, load.scratchpad, t);
  double meeting = chain.meets ? chain.scratchpadLatency : 0;
  if (chain.across)
    return std::max({read + write, chain.products, copy / chain.ahead}) + std::max(0.0, meeting - chain.product);
  return std::max(read + chain.products, copy / chain.ahead) + write + meeting;
}

double tilewright::stepClocks(const StepLoad &load, const StepChain &chain) {
  double low = load.most();
  if (chainClocks(load, chain, low) <= low)
    return low;
  double high = 2 * low;
  while (chainClocks(load, chain, high) > high)
    high *= 2;
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (chainClocks(load, chain, middle) <= middle ? high : low) = middle;
  }
  return high;
}
