//===- Report.h - Results of a conformance run ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A table for the terminal, JSON, and one page.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_REPORT_H
#define TILEWRIGHT_CORE_CONFORMANCE_REPORT_H

#include "core/Conformance/Case.h"
#include "llvm/Support/JSON.h"

namespace tilewright::conformance {

struct Result {
  const Case *one = nullptr;
  Outcome outcome = {};
};

struct Report {
  std::string target, device, mode; // mode: "quick" or "full"
  std::string options;              // of the command, to run a case again: "--target T --device D"
  double seconds = 0;               // of the whole run
  unsigned mostRefused = 100;       // percent of a family's cases that may be refused
  std::vector<Result> results;      // in the order of the cases

  size_t count(Status status) const;
  /// The families of which the compiler refused more than `mostRefused` percent of the cases that ran (passed, failed
  /// or refused; a skipped case says nothing), as the table orders them.
  std::vector<std::string> refusedTooOften() const;
  /// The command that runs one case again and keeps its files.
  std::string command(const Case &one) const;
};

/// Counts by family and types, then each failure and each refusal.
void printTable(const Report &report, llvm::raw_ostream &os);
/// {"target", "device", "mode", "seconds", "passed", "failed", "refused", "skipped", "max_refused_percent",
/// "refused_too_often": [...], "cases": [...]}; docs/json.md.
llvm::json::Object toJson(const Report &report);
/// One self-contained page: coverage, failures, times.
std::string toHtml(const Report &report);

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_REPORT_H
