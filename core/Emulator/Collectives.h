//===- Collectives.h - Ops of a whole subgroup ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Values that cross lanes, cooperative loads and stores, matrix units.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_COLLECTIVES_H
#define TILEWRIGHT_CORE_EMULATOR_COLLECTIVES_H

#include "core/Emulator/Machine.h"

namespace tilewright {

/// Operands of a lane shuffle; the rewriter fills one in each lane.
struct ExchangeFrame {
  int64_t value = 0; // in and out
  int32_t kind = 0;  // shuffleKinds + Shuffle, voteKinds + Vote, combineKinds + Combine, electKind
  int32_t amount = 0;
  int32_t width = 0; // 0: the subgroup
  int32_t inside = 1;
  static constexpr int32_t shuffleKinds = 0, voteKinds = 8, combineKinds = 16, electKind = 32;
};
void exchange(Lane &lane, uint32_t site, ExchangeFrame &frame);

/// `count` matrices of 8 x 8 16-bit elements; `words`: one a matrix.
void matrices(Lane &lane, uint32_t site, void *row, uint32_t count, bool transpose, bool store, uint32_t *words);

/// 8 bytes at `row` of each lane, transposed in groups of 16 lanes: EmulationBuilder::loadColumns. `words`: two.
void columns(Lane &lane, uint32_t site, void *row, uint32_t elementBytes, uint32_t *words);

/// One instruction of the site's unit; `frame` as UnitRunner has it.
void issueUnit(Lane &lane, uint32_t site, char *frame);
/// One that a group of subgroups issues on described matrices (GroupUnits.cpp).
void issueGroupUnit(Lane &lane, uint32_t site, const UnitRunner &runner, char *frame);
/// Where element (row, col) of A, or of B, lies that `matrix` describes; of packed ones, the `packBytes` bytes that it
/// is in.
char *elementOf(const DescribedMatrix &matrix, const UnitOperand &operand, bool isA, int64_t row, int64_t col);
/// Checks and counts what a unit of `lane` that knows `order` reads by a description: 16-byte vectors, those of 8 lines
/// at once.
bool readDescribed(Lane &lane, const Order &order, uint32_t site, const MatrixUnit &unit, int operand,
                   const DescribedMatrix &matrix, uint32_t stamp);
/// Waits for all but `pending` groups of such units and fills those of `words` whose accumulators are complete.
void waitGroupUnits(Lane &lane, uint32_t site, int32_t pending, uint32_t *words, uint32_t count);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_COLLECTIVES_H
