//===- UnitProduct-x86_64.cpp - Four sums at a time -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vectors of 32 bytes where the processor has them, of 16 else.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/UnitProduct.h"

/// The same operations in the same order, four at a time.
[[gnu::target("avx2")]] static void addProductWide(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
                                                   double *c) {
  tilewright::addProductHere(m, n, k, a, b, c);
}

void tilewright::addProduct(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c) {
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide)
    return addProductWide(m, n, k, a, b, c);
  addProductHere(m, n, k, a, b, c);
}
