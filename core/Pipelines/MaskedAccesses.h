//===- MaskedAccesses.h - Accesses of a part of a vector --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Masked loads and stores of a vector's first lanes, on chips that have no masks for elements of their width:
///
///   the mask                                 becomes
///   the first n lanes, n known               vectors of 2^i lanes
///   the first n lanes, n a value             if n reaches to the end, the whole vector;
///                                            else lane by lane, by way of a buffer
///   one lane of a store, on all chips        a scalar store
///   another one                              what LLVM writes: a branch for each lane
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_MASKEDACCESSES_H
#define TILEWRIGHT_CORE_PIPELINES_MASKEDACCESSES_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Rewrites the masked accesses of a module that `machine` has no instruction for.
void writeMaskedAccesses(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_MASKEDACCESSES_H
