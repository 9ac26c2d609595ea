//===- Drawings.h - Chips and layouts as SVG --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Drawings for pages: which lane and register holds which element of a fragment, a
/// chip with its levels and memories, tiles over memories, and a roofline.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PAGES_DRAWINGS_H
#define TILEWRIGHT_CORE_PAGES_DRAWINGS_H

#include "tilewright/TargetDescription.h"

namespace tilewright::html {

/// The matrix of an operand, one cell an element: the lane (colour and first number) and the register element that hold
/// it. Matrices above 32 x 64 are cut off, and say so.
std::string drawLayout(llvm::StringRef title, const UnitOperand &operand);
/// The three operands of each unit, where their layouts say more than one number; units whose operands lie alike share
/// one drawing.
std::string drawUnits(llvm::ArrayRef<const MatrixUnit *> units);

/// Levels as nested boxes, each with its memories (bars by capacity, bandwidth in GB/s), copy engines as arrows.
std::string drawChip(const TargetDescription &chip);

/// What of a program lies in which memory at a time.
struct Footprint {
  std::string memory, what; // "l2", "A: 96 x 512"
  double bytes = 0;
};
/// Memories as a pyramid, the nearest on top: capacity, and the part that the tiles fill. A memory where no tile stays
/// is drawn empty.
std::string drawPyramid(const TargetDescription &chip, llvm::ArrayRef<Footprint> footprints);

struct RooflinePoint {
  std::string name;
  double operations = 0, bytes = 0, seconds = 0;
};
/// The roofs of `members` cores: `peak` operations a second, and one slope for each memory.
std::string drawRoofline(const TargetDescription &chip, double peak, int64_t members,
                         llvm::ArrayRef<RooflinePoint> points);

} // namespace tilewright::html

#endif // TILEWRIGHT_CORE_PAGES_DRAWINGS_H
