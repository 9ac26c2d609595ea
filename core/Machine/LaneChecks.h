//===- LaneChecks.h - Whether a chip's lanes are described -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The op of a `LaneInstruction` record, and what registration asks of all
/// records of a chip.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_LANECHECKS_H
#define TILEWRIGHT_CORE_MACHINE_LANECHECKS_H

#include "mlir/IR/Builders.h"
#include "tilewright/Target.h"

namespace tilewright {
class MachineGraph;

/// Makes what `record` says, and returns its result, null for none. `number`: the last operand, an i32, where `given`
/// lacks it. The record is one in which `laneFault` found nothing.
mlir::Value makeByRecord(mlir::OpBuilder &builder, mlir::Location loc, const LaneInstruction &record,
                         mlir::ValueRange given, std::optional<int64_t> number);

/// Makes each instruction of lanes of `chip` once, in a program of its own with the dialects of `target`, and verifies
/// it. Empty, or what is wrong: the record, what of it disagrees with which op, and what would be right; or the
/// operation of all lanes that neither a record nor the target says.
std::string laneFault(const Target &target, const TargetDescription &chip);

/// What a chip lacks to run lanes in blocks, levels and registers that make the members of one threads, as the end of a
/// sentence that begins with the chip: " runs no lanes in blocks: it lacks a register file of lanes".
std::string lackOfLanes(const MachineGraph &graph);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_LANECHECKS_H
