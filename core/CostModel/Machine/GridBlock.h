//===- GridBlock.h - Lanes of a block without a plan ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The block of grids whose lanes have nothing to share (LaneGrid.h), for the passes that write them and for the
/// models that say what they take.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_MACHINE_GRIDBLOCK_H
#define TILEWRIGHT_CORE_COSTMODEL_MACHINE_GRIDBLOCK_H

#include <cstdint>

namespace tilewright {

/// Lanes of a block: enough to hide latencies, few enough for any register file.
inline constexpr int64_t gridBlockLanes = 256;

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_MACHINE_GRIDBLOCK_H
