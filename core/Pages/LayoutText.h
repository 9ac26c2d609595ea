//===- LayoutText.h - Layouts as text ---------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the algebra of Layout.h says of a fragment, for terminals and pages:
///
///   inverse: lane:element at each row and column
///             0     1     2     3
///      0    0:0   0:1   1:0   1:1
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PAGES_LAYOUTTEXT_H
#define TILEWRIGHT_CORE_PAGES_LAYOUTTEXT_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Bases, cover, inverse as a grid, runs, composition and bank phases of an operand's layout. Matrices above 32 x 16
/// are cut off, and say so. `scratchpad`: whose banks; may be null.
std::string drawLayout(llvm::StringRef title, const UnitOperand &operand, const Memory *scratchpad);

/// From which lane:element of `from` each slot of `to` comes, for the first lanes, and which lanes shuffle. Error
/// where the matrices differ.
llvm::Expected<std::string> drawConversion(llvm::StringRef fromName, const UnitOperand &from, llvm::StringRef toName,
                                           const UnitOperand &to);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PAGES_LAYOUTTEXT_H
