//===- CoreInstructions.h - Instructions around a core's work ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a core of one thread spends on the code around its work, in clocks; counted in the code that is written for it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H

namespace tilewright {

/// Of one iteration of a loop: counter, comparison, branches.
inline constexpr double loopClocks = 4;
/// Of a command to an engine: addresses, the call.
inline constexpr double commandClocks = 8;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_COREINSTRUCTIONS_H
