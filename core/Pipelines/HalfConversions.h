//===- HalfConversions.h - f16 for chips without it -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversions between f16 and f32 as functions of the module itself.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_HALFCONVERSIONS_H
#define TILEWRIGHT_CORE_PIPELINES_HALFCONVERSIONS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Whether a module computes on f16.
bool usesHalf(llvm::Module &module);

/// Whether code calls the conversions of f16 that compilers keep in a support library, which is not everywhere: LLVM
/// does so for chips that have no instruction.
bool callsHalfConversions(llvm::MemoryBufferRef object);

/// Adds those functions to a module, so that its code needs nothing but libc and libm.
llvm::Error addHalfConversions(llvm::Module &module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_HALFCONVERSIONS_H
