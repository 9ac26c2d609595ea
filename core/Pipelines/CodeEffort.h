//===- CodeEffort.h - How long LLVM works on a program ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The mark of programs that run once, so that seconds of LLVM's optimiser are not won back.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_CODEEFFORT_H
#define TILEWRIGHT_CORE_PIPELINES_CODEEFFORT_H

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// Unit attribute of a program whose results are computed once, as the reference of `--verify`: LLVM leaves its loops
/// as they are, neither unrolled nor vectorised.
constexpr llvm::StringLiteral runsOnceAttr = "tilewright.runs_once";

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_CODEEFFORT_H
