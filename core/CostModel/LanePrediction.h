//===- LanePrediction.h - What a contraction's kernel will do ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cost model's counts for the launch of a plan, to be compared with those of
/// the emulator (docs/emulator.md, "Counters"):
///
///   tiles  = outer x ceil(m / (BM cluster)) x cluster x ceil(n / BN)      steps = other k x ceil(k / BK)
///   blocks = tiles, or as many as take all tiles in turn
///   unit issues        = tiles x subgroups x TM TN x steps x BK / unit.k
///   global bytes read  = what the blocks copy: rows and columns inside the arrays x k, for each tile; blocks of a
///                        cluster copy B together
///   scratchpad written = tiles x (steps + ahead) x (BM + BN) BK, copies fill their tiles with zeros
///   scratchpad read    = tiles x subgroups x steps x (TM unit.m + TN unit.n) BK, times the lanes that hold the same
///                        element of a fragment, or times TN and TM where units read it themselves
///   and both: tiles x BM BN of results that leave through the scratchpad
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_LANEPREDICTION_H
#define TILEWRIGHT_CORE_COSTMODEL_LANEPREDICTION_H

#include "core/CostModel/LaneContractionModel.h"

namespace tilewright {

/// The attribute of a grid and of its launch with the predicted counts.
inline constexpr llvm::StringLiteral predictedAttr = "tilewright.predicted";

/// Counts of one launch; nullopt where a size is dynamic. Bytes written to results follow from C alone.
struct LanePrediction {
  std::string unit;
  int64_t blocks = 0, unitIssues = 0;
  double unitCycles = 0;
  int64_t globalBytesRead = 0, scratchpadBytesRead = 0, scratchpadBytesWritten = 0;
  double seconds = 0;
};
/// `engine`: copies are asynchronous, so that all stages of a ring but one are under way. `resultBytes`: of one
/// position of C, in all results that leave through the scratchpad.
std::optional<LanePrediction> predictLaunch(const LaneContractionPlan &plan, const Contraction &contraction,
                                            bool engine, int64_t resultBytes);

/// As an attribute of an op, and as JSON with the names of the emulator's counters.
mlir::DictionaryAttr toAttribute(const LanePrediction &prediction, mlir::MLIRContext *context);
llvm::json::Object predictionToJson(mlir::DictionaryAttr attribute);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_LANEPREDICTION_H
