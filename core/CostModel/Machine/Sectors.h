//===- Sectors.h - What memory moves at least -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The granules of global memory and of the scratchpad on SIMT targets.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_SECTORS_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_SECTORS_H

#include <cstdint>

namespace tilewright {

/// Bytes that one access of a lane moves at most: the contract of LaneOps, whose accesses have 1 to 16.
inline constexpr int64_t mostAccessBytes = 16;

/// Each array of a block takes a multiple of these bytes of the scratchpad: swizzled patterns over eight rows of 128
/// bytes begin at such an address.
inline constexpr int64_t scratchpadGranule = 1024;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_SECTORS_H
