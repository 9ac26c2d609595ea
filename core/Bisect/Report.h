//===- Report.h - What a bisection found ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Text, JSON, and the reproducer: a program of some lines whose first one is the command that shows its failure.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_BISECT_REPORT_H
#define TILEWRIGHT_CORE_BISECT_REPORT_H

#include "core/Bisect/Diagnosis.h"

namespace tilewright::bisect {

struct Report {
  std::string file;       // the program
  std::string reproducer; // the file of the reduced one; empty: it was not reduced
  std::string command;    // that shows the failure of `reproducer`
  size_t reproducerLines = 0;
  bool failsAlone = false; // the reproducer was read and failed again
  std::string function;    // of the program
  std::vector<Nest> nests; // that the first wrong step changed
  unsigned attempts = 0;   // child processes
  double seconds = 0;
};

void print(const Report &report, const Subject &subject, const Diagnosis &diagnosis, llvm::raw_ostream &os);
llvm::json::Object toJson(const Report &report, const Subject &subject, const Diagnosis &diagnosis);

/// The text of a reproducer; `comment`: lines that come first.
std::string reproducerText(const Subject &subject, llvm::ArrayRef<std::string> comment);

/// "stage 3 (optimise)".
std::string describeStage(unsigned stage);

} // namespace tilewright::bisect

#endif // TILEWRIGHT_CORE_BISECT_REPORT_H
