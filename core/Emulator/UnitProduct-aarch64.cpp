//===- UnitProduct-aarch64.cpp - Sums in the base's vectors ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All processors of this family have the vectors that compilers take by default.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/UnitProduct.h"

void tilewright::addProduct(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c) {
  addProductHere(m, n, k, a, b, c);
}
