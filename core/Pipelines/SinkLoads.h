//===- SinkLoads.h - Loads next to what takes them --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pass over LLVM's machine instructions: in each block, loads of vector registers come directly before the first
/// instruction that takes what they load.
///
/// Instruction selection puts loads of neighbouring addresses together. In an unrolled loop these are operands of
/// several steps, and where sums take nearly all registers, LLVM then spills one of them: stored and loaded in each
/// iteration, it is late for the next step. Next to their uses loads hold the fewest registers; that they begin early
/// enough is the work of cores that run instructions out of order.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_SINKLOADS_H
#define TILEWRIGHT_CORE_PIPELINES_SINKLOADS_H

namespace llvm {
class Pass;
} // namespace llvm

namespace tilewright {

/// The pass, for machine code in SSA form, whose vector registers have at most `vectorBytes` bytes. Larger registers
/// (of tiles) and scalars stay where they are, and so do loads between whose place and whose use memory may change.
llvm::Pass *createSinkLoads(unsigned vectorBytes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_SINKLOADS_H
