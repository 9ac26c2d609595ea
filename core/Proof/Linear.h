//===- Linear.h - Sums of integer variables ---------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the checker of docs/trust.md computes with: 16 i + r - 1, and lists of such
/// sums that are zero or more. Nothing in this folder is used by a pass, and it uses
/// nothing of the passes: who checks shares no mistake with who is checked.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_LINEAR_H
#define TILEWRIGHT_CORE_PROOF_LINEAR_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace tilewright::proof {

/// Variables are numbered in the order in which they are made (Space.h).
using Variable = unsigned;

/// A sum of variables with integer factors, and a constant. A number that does not fit into 64 bits makes it
/// `isTooLarge`: nothing is proved with it.
class Linear {
public:
  Linear(int64_t constant = 0) : number(constant) {}
  static Linear of(Variable variable, int64_t factor = 1);

  /// Ordered by variable; no factor is 0.
  llvm::ArrayRef<std::pair<Variable, int64_t>> terms() const { return sum; }
  int64_t constant() const { return number; }
  bool isConstant() const { return sum.empty() && !overflow; }
  bool isTooLarge() const { return overflow; }
  int64_t factorOf(Variable variable) const;

  Linear &operator+=(const Linear &other);
  Linear &operator*=(int64_t factor);
  friend Linear operator+(Linear a, const Linear &b) { return a += b; }
  friend Linear operator*(Linear a, int64_t factor) { return a *= factor; }
  friend Linear operator-(Linear a, Linear b) { return a += (b *= -1); }
  friend bool operator==(const Linear &a, const Linear &b) {
    return a.sum == b.sum && a.number == b.number && a.overflow == b.overflow;
  }
  friend bool operator<(const Linear &a, const Linear &b) {
    return std::pair(a.number, llvm::ArrayRef(a.sum).vec()) < std::pair(b.number, llvm::ArrayRef(b.sum).vec());
  }

  /// Divides by the greatest common divisor of the factors; `this` >= 0 keeps its integer points.
  void tighten();

private:
  llvm::SmallVector<std::pair<Variable, int64_t>, 4> sum;
  int64_t number = 0;
  bool overflow = false;
};

/// Sums of which each is zero or more.
using Conjunction = llvm::SmallVector<Linear, 4>;

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_LINEAR_H
