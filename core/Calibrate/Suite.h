//===- Suite.h - Programs beside their predictions --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each program runs as it is planned for the record's chip, on the host as it is planned with the measured fields. It
/// is planned with the record, with all measured fields, and with each of them alone: the one that brings the
/// prediction nearest to the measured time explains the error best. On the host predictions have what a call takes
/// beside its kernels, as measured with a program of one addition.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CALIBRATE_SUITE_H
#define TILEWRIGHT_CORE_CALIBRATE_SUITE_H

#include "core/Calibrate/Calibration.h"

namespace tilewright::calibrate {

/// Where programs run: this machine, a process, or the emulator where `command` is empty.
struct SuitePlace {
  bool isHost = false;
  std::string command;
  double timeout = 60; // seconds
};

struct SuiteResult {
  std::string program;                               // stem of the file
  double measured = 0, byRecord = 0, calibrated = 0; // seconds
  std::string explainedBy;                           // a path; empty: no field brings the prediction nearer
  std::string refusal;                               // why there are no numbers
};

/// How far predictions are from what was measured, as parts of it: in the median, and of 95 in 100 programs at most.
struct PredictionErrors {
  size_t programs = 0;
  double median = 0, most = 0;
};
/// Of the predictions by the record, or of those with the measured fields.
PredictionErrors errorsOf(llvm::ArrayRef<SuiteResult> results, bool calibrated);

/// Runs and predicts `files` on `chip` ("target:chip"). Error: a file that cannot be read or does not run.
llvm::Expected<std::vector<SuiteResult>> runSuite(llvm::ArrayRef<std::string> files, llvm::StringRef chip,
                                                  llvm::ArrayRef<MeasuredField> fields, const SuitePlace &place);

} // namespace tilewright::calibrate

#endif // TILEWRIGHT_CORE_CALIBRATE_SUITE_H
