//===- Report.h - An exploration as text, JSON and CSV ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_REPORT_H
#define TILEWRIGHT_CORE_EXPLORE_REPORT_H

#include "core/Explore/Explorer.h"

namespace tilewright::explore {

/// docs/json.md has the keys.
llvm::json::Object toJson(const Exploration &exploration);
/// One row a design and program.
std::string toCsv(const Exploration &exploration);
/// The chip as it is, the front, and what was refused.
void printTable(const Exploration &exploration, llvm::raw_ostream &os);

/// The file names of the programs, without folder and extension.
std::vector<std::string> programNames(const Exploration &exploration);
/// Refusals and how many designs have each, the most frequent first.
std::vector<std::pair<std::string, size_t>> refusals(const Exploration &exploration);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_REPORT_H
