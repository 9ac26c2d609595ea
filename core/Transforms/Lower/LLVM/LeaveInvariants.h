//===- LeaveInvariants.h - What is the same in all iterations ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is the same in all iterations of a loop stands before it: upstream's motion of loop-invariant code, which
/// leaves a division where it is if its divisor may be zero, since the loop may have no iteration. Here `arith.divsi`
/// and `arith.remsi` leave loops, too, where the divisor is an `arith.maxsi` with a constant of at least one:
///
///   %count = arith.maxsi %n, %c1               %count = arith.maxsi %n, %c1
///   scf.for .. {                               %row = arith.divsi %tile, %count
///     %row = arith.divsi %tile, %count         scf.for .. {
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LEAVEINVARIANTS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LEAVEINVARIANTS_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace tilewright {

/// The pass, for loops of any dialect.
std::unique_ptr<mlir::Pass> createLeaveInvariants();

/// Registers it as `leave-invariants`.
void registerLeaveInvariants();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LLVM_LEAVEINVARIANTS_H
