//===- RecordEmission.h - Units and registers as instructions ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the roles of an emission are for a unit and for the moves of its
/// registers. emit-units writes programs with it, tw-tblgen tries records.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_RECORDEMISSION_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_RECORDEMISSION_H

#include "core/Transforms/Lower/Units/UnitEmission.h"

namespace tilewright {

/// How many times the smallest length the scalable vectors are in a function of these states; nullopt where vectors
/// have a fixed length.
std::optional<int64_t> scaleOf(llvm::ArrayRef<State> states);

/// The index of a sparse A that a lane holds, bytes, as a register of the type `storage` of its record: the bits of its
/// places side by side from the lowest one on. As it is where the record has none.
mlir::Value packedIndex(UnitEmitter &emitter, const MatrixUnit &unit, mlir::Value places);

/// The instruction of `unit` in place of the emitter's call, whose operands are A, B and C.
mlir::FailureOr<mlir::Value> emitUnit(UnitEmitter &emitter, const MatrixUnit &unit);

/// One of "zero", "fill.ELEMENT" and "store.ELEMENT" of a register class, in place of the emitter's call
/// (UnitRegisters.h). `scale`: of its states.
mlir::FailureOr<mlir::Value> emitRegister(UnitEmitter &emitter, const OpaqueRegister &registers, llvm::StringRef what,
                                          std::optional<int64_t> scale);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_RECORDEMISSION_H
