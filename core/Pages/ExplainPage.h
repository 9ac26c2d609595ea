//===- ExplainPage.h - Decisions as a page ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tw-compile --explain=html prints: the decisions with their losing candidates,
/// tiles over memories, the roofline, the nests before and after, the units.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PAGES_EXPLAINPAGE_H
#define TILEWRIGHT_CORE_PAGES_EXPLAINPAGE_H

#include "tilewright/TargetDescription.h"
#include "llvm/Support/JSON.h"

namespace tilewright::html {

struct Explanation {
  std::string file;            // of the program
  llvm::json::Array decisions; // as DecisionLog gives them
  std::string before, after;   // the program after stage 2 and after stage 3
};

std::string explainPage(const TargetDescription &chip, const Explanation &explanation);

} // namespace tilewright::html

#endif // TILEWRIGHT_CORE_PAGES_EXPLAINPAGE_H
