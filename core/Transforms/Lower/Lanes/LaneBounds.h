//===- LaneBounds.h - Which elements of a lane are inside -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conditions of the runs of one access, of which few registers hold all. Elements
/// of a lane mostly follow each other along one dimension of the box. What the
/// others say of them is known once for all, and the lane's first place along that
/// one too; an element compares its own constant place with what is left:
///
///   bound = all others inside ? end - lane's place : 0     once in a step
///   element e is inside       : bound > place(e)           one comparison where it is used
///
/// A comparison of each place with each end instead would be held over the loop
/// around where nothing in it changes, a register of the subgroup each. Indices of
/// the array that the lane's elements move are compared beside the bound.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBOUNDS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBOUNDS_H

#include "core/Transforms/Lower/Lanes/LaneAccess.h"
#include <map>

namespace tilewright {

class LaneBounds {
public:
  /// Writes the bounds of these runs where the builder stands, if there are so many conditions that they save some.
  LaneBounds(const LaneContext &context, const Distribution &distribution, const ValidExtents &valid,
             llvm::ArrayRef<LaneRun> runs);

  /// Neighbouring runs that one condition covers; one that none covers is alone.
  llvm::ArrayRef<llvm::SmallVector<LaneRun>> groups() const { return together; }
  /// Whether one condition says of elements [first, first + count) that they are inside.
  bool areTogether(unsigned first, unsigned count) const;
  /// Whether all of them are; null: always.
  mlir::Value inside(unsigned first, unsigned count) const;

private:
  void bind();
  Point othersOf(Point places) const;

  const LaneContext &context;
  const Distribution &distribution;
  const ValidExtents &valid;
  llvm::SmallVector<llvm::SmallVector<LaneRun>> together;
  unsigned along = 0;                  // the dimension in which elements differ the most
  ValidExtents moving;                 // indices of the array that differ between elements
  std::map<Point, mlir::Value> bounds; // i32, by the place in the other dimensions; none: not worth it
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEBOUNDS_H
