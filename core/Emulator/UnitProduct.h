//===- UnitProduct.h - What a matrix unit multiplies ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arithmetic of a matrix unit, in float64. Its loops are here; each family of
/// processors that the emulator runs on has a file that says with which of its
/// vectors they are compiled. Sums are made in the same order, and rounded alike, in all.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_UNITPRODUCT_H
#define TILEWRIGHT_CORE_EMULATOR_UNITPRODUCT_H

#include <cstdint>

namespace tilewright {

/// c[m x n] += a[m x k] * b[k x n]; n is 512 at most.
void addProduct(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c);

/// N > 0: n is known.
template <int N>
[[gnu::always_inline]] inline void addProductOf(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
                                                double *c) {
#pragma clang fp contract(off)
  if (N)
    n = N;
  for (int64_t i = 0; i < m; ++i) {
    double row[N ? N : 512];
    for (int64_t j = 0; j < n; ++j)
      row[j] = c[i * n + j];
    for (int64_t kk = 0; kk < k; ++kk) {
      double scale = a[i * k + kk];
      for (int64_t j = 0; j < n; ++j)
        row[j] += scale * b[kk * n + j];
    }
    for (int64_t j = 0; j < n; ++j)
      c[i * n + j] = row[j];
  }
}

/// `addProduct`, with the vectors of the function that calls it.
[[gnu::always_inline]] inline void addProductHere(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
                                                  double *c) {
  switch (n) {
  case 8:
    return addProductOf<8>(m, n, k, a, b, c);
  case 16:
    return addProductOf<16>(m, n, k, a, b, c);
  case 32:
    return addProductOf<32>(m, n, k, a, b, c);
  default:
    return addProductOf<0>(m, n, k, a, b, c);
  }
}

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_UNITPRODUCT_H
