//===- KnownBoxes.h - Boxes of tiles, found once ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Who compares many tilings of the same nests asks for the same boxes again and again: tiles that differ in their
/// steps touch the same elements, and so do the last nests of ranges that begin at different ones. Such a caller may
/// keep the answers, so that integer sets are computed once:
///
///   KnownBoxes boxes;                          while it lives, in this thread
///   TouchedBox touched(sets, %x, operations);  of equal loops, bounds, maps and types: the answers of then
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_KNOWNBOXES_H
#define TILEWRIGHT_CORE_ANALYSIS_KNOWNBOXES_H

#include "core/Analysis/TileSets.h"
#include "llvm/ADT/FoldingSet.h"
#include <map>

namespace tilewright {

/// What was answered of one relation.
struct BoxAnswers {
  /// By whether the box has a constant size; with the reason where there is none.
  std::map<bool, std::pair<std::optional<TileBox>, std::string>> boxes;
  std::map<std::pair<const void *, int64_t>, bool> atMost; // by expression and limit
  bool isAffine = true;                                    // the relation is known
};

class KnownBoxes {
public:
  KnownBoxes() : outer(std::exchange(current, this)) {}
  ~KnownBoxes() { current = outer; }
  KnownBoxes(const KnownBoxes &) = delete;
  KnownBoxes &operator=(const KnownBoxes &) = delete;

private:
  friend class TouchedBox;
  static thread_local KnownBoxes *current;
  KnownBoxes *outer;
  std::map<llvm::FoldingSetNodeID, BoxAnswers> all;
};

/// What the accesses of one array among `roots` and below touch, by the integer sets of a block. Sets are computed
/// where a question is asked that nobody had before.
class TouchedBox {
public:
  TouchedBox(TileSets &sets, mlir::Value memref, llvm::ArrayRef<mlir::Operation *> roots);
  /// Whether something touches the array, all at affine indices.
  explicit operator bool() { return answers->isAffine; }
  /// As `TileSets::box` and `TileSets::isAtMost`.
  std::optional<TileBox> box(std::string &reason, bool hasConstantSize = true);
  bool isAtMost(mlir::AffineExpr expr, int64_t limit);

private:
  const TileRelation &relation();

  TileSets &sets;
  mlir::Value memref;
  llvm::SmallVector<mlir::Operation *> roots;
  TileRelation computed;
  BoxAnswers own; // where nobody keeps answers
  BoxAnswers *answers = &own;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_KNOWNBOXES_H
