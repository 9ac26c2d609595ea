//===- PlanShortage.cpp - Why no tile was found ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The text of a remark.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/PlanShortage.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;

std::string PlanShortage::str(LanePlanOverrides overrides, bool f32, int64_t bytesThere) const {
  if (!unit && !together.empty())
    return "unit \"" + together + "\" adds several products at once, which --fp=strict forbids";
  if (!unit)
    return llvm::formatv(
        "no unit of the chip computes {0} over the lanes of a subgroup within its registers and scratchpad{1}",
        f32 ? "f32" : "these element types",
        exchanged.empty()
            ? ""
            : "; unit \"" + exchanged +
                  "\" takes them with A and B exchanged, as the product that makes the transposed result");
  std::string forced;
  for (const auto &[name, value] : overrides)
    forced += llvm::formatv("{0}{1} = {2}", forced.empty() ? "" : ", ", name, value);
  if (!tile)
    return llvm::formatv(
        "the forced plan ({0}) is none that units of the chip can take: sides of blocks are powers of two, of "
        "1, 2 or 4 subgroups with up to 8 units each; 1, 2 or 4 subgroups along k, several only of units with "
        "several steps of k, and where results may be added in another order",
        forced);
  if (sweeps)
    return "the rows of tiles are no multiple of rasterisation_rows of the forced plan (" + forced +
           "), or their number is dynamic";
  std::string which = forced.empty() ? "the smallest tile" : "the forced tile (" + forced + ")";
  if (bytes)
    return llvm::formatv("{0} needs {1} bytes of the scratchpad; a block has {2}", which, bytes, bytesThere);
  if (registers)
    return llvm::formatv("{0} needs {1} registers of a lane; there are {2} for one of its block", which, registers,
                         registersThere);
  return which + " is more than twice as large as the arrays, or its rows are shorter than a sector of memory";
}
