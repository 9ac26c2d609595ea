//===- KnownMultiple.h - What divides an index -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A divisor of an index that follows from the code that computes it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_KNOWNMULTIPLE_H
#define TILEWRIGHT_CORE_ANALYSIS_KNOWNMULTIPLE_H

#include "mlir/IR/Value.h"

namespace tilewright {

/// A power of two, at most the power of two `most`, that divides `index`; 1 where nothing is known.
int64_t knownMultiple(mlir::Value index, int64_t most);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_KNOWNMULTIPLE_H
