//===- Linear.cpp - Sums of integer variables -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic that notices what does not fit into 64 bits.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Linear.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace tilewright::proof;

Linear Linear::of(Variable variable, int64_t factor) {
  Linear result;
  if (factor)
    result.sum.push_back({variable, factor});
  return result;
}

int64_t Linear::factorOf(Variable variable) const {
  auto found = llvm::lower_bound(sum, std::pair<Variable, int64_t>(variable, INT64_MIN));
  return found != sum.end() && found->first == variable ? found->second : 0;
}

Linear &Linear::operator+=(const Linear &other) {
  overflow |= other.overflow;
  overflow |= llvm::AddOverflow(number, other.number, number) != 0;
  llvm::SmallVector<std::pair<Variable, int64_t>, 4> merged;
  auto a = sum.begin(), b = const_cast<Linear &>(other).sum.begin();
  auto endA = sum.end(), endB = const_cast<Linear &>(other).sum.end();
  while (a != endA || b != endB) {
    if (b == endB || (a != endA && a->first < b->first)) {
      merged.push_back(*a++);
    } else if (a == endA || b->first < a->first) {
      merged.push_back(*b++);
    } else {
      int64_t factor = 0;
      overflow |= llvm::AddOverflow(a->second, b->second, factor) != 0;
      if (factor)
        merged.push_back({a->first, factor});
      ++a, ++b;
    }
  }
  sum = std::move(merged);
  return *this;
}

Linear &Linear::operator*=(int64_t factor) {
  if (!factor)
    sum.clear();
  for (auto &term : sum)
    overflow |= llvm::MulOverflow(term.second, factor, term.second) != 0;
  overflow |= llvm::MulOverflow(number, factor, number) != 0;
  return *this;
}

void Linear::tighten() {
  int64_t divisor = 0;
  for (const auto &term : sum)
    divisor = std::gcd(divisor, term.second);
  if (divisor <= 1)
    return;
  for (auto &term : sum)
    term.second /= divisor;
  number = llvm::divideFloorSigned(number, divisor);
}
