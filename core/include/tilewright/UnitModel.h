//===- UnitModel.h - Matrix units executed on the host ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functional model of every matrix unit, from its record alone: fragments
/// are taken apart by their layouts, multiplied, and put together again.
///
///   a, b, c: bytes of the fragments, lane after lane, element after element as
///   the layouts number them; elements narrower than a byte are packed from the
///   low bits on
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_UNITMODEL_H
#define TILEWRIGHT_UNITMODEL_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Bytes of a fragment of `operand`, all lanes together.
int64_t fragmentBytes(const UnitOperand &operand);

/// Element `index` of a packed buffer as a number. Integers up to 32 bits and all floats are exact.
double readElement(ElementKind kind, const void *data, int64_t index);
/// Rounds `value` to nearest even (integers: wraps) and writes it.
void writeElement(ElementKind kind, void *data, int64_t index, double value);

/// c = a * b + c, or a * b if the unit does not accumulate. Products are summed in float64 (integers: exactly) and
/// rounded once into c's type: an instruction that rounds in between may differ in the last bits, not on exact inputs.
/// `scaleA`, `scaleB`: of operands that have scales; `indexA`: of a sparse A. Elements of B that A does not keep a
/// factor of are not read, so that a NaN there is none in C.
void runUnit(const MatrixUnit &unit, const void *a, const void *b, void *c, const void *scaleA = nullptr,
             const void *scaleB = nullptr, const void *indexA = nullptr);

/// Multiplies `a` and `b`, row-major, by the scales of `unit`, which has some: m x k / block numbers `ofA`, k / block x
/// n `ofB`; those of an operand without scales are not read. Products are exact unless both factors have many bits.
void applyScales(const MatrixUnit &unit, const double *ofA, const double *ofB, double *a, double *b);

/// The rows of B that the elements of a sparse A are multiplied by, as A row-major, from `index`, the numbers of
/// `unit.sparsity->index`.
std::vector<int32_t> rowsOfB(const MatrixUnit &unit, const double *index);

} // namespace tilewright

#endif // TILEWRIGHT_UNITMODEL_H
