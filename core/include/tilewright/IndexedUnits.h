//===- IndexedUnits.h - Units of a group with a sparse A ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What lanes of some chips can do beside LaneOps: a group of subgroups issues
/// units that read A in a scratchpad, of which it keeps some elements along k,
/// with the places of these elements in registers (`indexA` of the record). The
/// operations of such a target are of both classes:
///
///   class AcmeLaneOps : public LaneOps, public IndexedUnits { .. };
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_INDEXEDUNITS_H
#define TILEWRIGHT_INDEXEDUNITS_H

#include "tilewright/LaneOps.h"

namespace tilewright {

/// Units of a group whose record has `indexA`.
class IndexedUnits {
public:
  virtual ~IndexedUnits() = default;

  /// Stage 6: LaneOps::emitUnit of a unit with a sparse A. `index`: the places that the lane holds, side by side from
  /// the lowest bit on, in a register of the record's `storage`. Null: no such unit.
  virtual mlir::Value emitIndexedUnit(mlir::OpBuilder &builder, mlir::Location loc, const MatrixUnit &unit,
                                      mlir::Value a, bool aKInner, mlir::Value b, bool bKInner, mlir::Value c,
                                      mlir::Value index) const = 0;
};

/// Those of `ops`; null: the chip's groups issue no such units.
inline const IndexedUnits *indexedUnits(const LaneOps &ops) { return dynamic_cast<const IndexedUnits *>(&ops); }

} // namespace tilewright

#endif // TILEWRIGHT_INDEXEDUNITS_H
