//===- Units.h - Matrix units, one instruction at a time --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit gets matrices of known numbers, packed into fragments as its record says,
/// and gives one that is unpacked and compared with a product of matrices in float64.
/// The record alone cannot show its own mistakes; what executes it can: the processor,
/// a board or simulator behind a device, the emulator.
///
///   int tw_unit(ptr a, ptr b, ptr c)         fragments, lane after lane; c in and out
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_UNITS_H
#define TILEWRIGHT_CORE_CONFORMANCE_UNITS_H

#include "core/Conformance/Case.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright::conformance {

/// The fragments of one instruction as bytes, and what C must hold.
struct UnitProblem {
  std::vector<char> a, b, c, scaleA, scaleB, indexA; // the last three: of units that take such
  Expected expected;                                 // m x n, row by row
};

/// `extreme`: the ends of the ranges, also for C.
UnitProblem unitProblem(const MatrixUnit &unit, bool extreme, uint64_t seed);
/// Empty if the fragment `c` holds what is expected, else the first wrong position.
std::string judgeUnit(const MatrixUnit &unit, const UnitProblem &problem, const std::vector<char> &c);

/// Why no program of one instruction can be written for this unit; empty: it can.
std::string whyNoProgram(const MatrixUnit &unit);
/// `tw_unit` in the LLVM dialect, with the instruction as a call by record. For a SIMT target it is a launch.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> unitProgram(const MatrixUnit &unit, llvm::StringRef target,
                                                              mlir::MLIRContext &context);
/// Lanes of that launch, and bytes of its scratchpad.
int64_t unitLanes(const MatrixUnit &unit);
int64_t unitScratchpadBytes(const MatrixUnit &unit);
/// Whether a group of subgroups issues the unit on A and B in the scratchpad, whose lines along k a description can
/// say.
bool isOfGroup(const MatrixUnit &unit);
/// unitProgram for such a unit; `element`: of C's registers. `context` has the dialects of the target loaded.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> groupUnitProgram(const MatrixUnit &unit, llvm::StringRef target,
                                                                   mlir::Type element, mlir::MLIRContext &context);
inline constexpr const char *unitEntry = "tw_unit";

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_UNITS_H
