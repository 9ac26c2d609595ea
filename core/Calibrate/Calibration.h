//===- Calibration.h - The numbers of a record, measured --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which kernels say what a field of a chip's records is, and how the field follows from their clocks. A field is named
/// as in ChipFields.h, so that a measured chip is the chip with these fields.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CALIBRATE_CALIBRATION_H
#define TILEWRIGHT_CORE_CALIBRATE_CALIBRATION_H

#include "core/Calibrate/Kernels.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace tilewright::calibrate {

/// Runs kernels of a module on one core and says how long each took.
class Clocks {
public:
  virtual ~Clocks();
  /// What runs them, in words.
  virtual std::string describe() const = 0;
  /// Clocks of each of `kernels`, in their order.
  virtual llvm::Expected<std::vector<double>> run(const std::string &module, llvm::ArrayRef<std::string> kernels) = 0;
};
/// The emulator, with the numbers of `chip`.
llvm::Expected<std::unique_ptr<Clocks>> emulatedClocks(llvm::StringRef chip);
/// A process that speaks the pipe protocol, loads modules of kind "mlir" and has a clock; `timeout` in seconds.
llvm::Expected<std::unique_ptr<Clocks>> processClocks(llvm::StringRef command, llvm::StringRef chip, double timeout);

/// One field of the records, measured.
struct MeasuredField {
  std::string path;
  double record = 0, measured = 0;
  /// Whether the record's number is off by more than 5 % of the measured one.
  bool differs() const;
};

/// All fields of `chip` that its cores' kernels can tell. Error: the chip is no scratchpad target, or a kernel fails.
llvm::Expected<std::vector<MeasuredField>> measureFields(const TargetDescription &chip, Clocks &clocks);

/// The same of the machine that this process runs on: the numbers of `report`, as Target::measure gives them, that
/// `chip` has or that it leaves out. Error: it is no such report.
llvm::Expected<std::vector<MeasuredField>> fieldsOfReport(const TargetDescription &chip, llvm::StringRef report);

/// Nanoseconds to wake a warm team of all cores' threads and to meet again: the number `team`. Error: no such library.
llvm::Expected<double> teamNanoseconds();

/// "PATH=VALUE,PATH=VALUE" of the fields whose record differs from what was measured; empty: none does.
std::string assignmentsOf(llvm::ArrayRef<MeasuredField> fields);

} // namespace tilewright::calibrate

#endif // TILEWRIGHT_CORE_CALIBRATE_CALIBRATION_H
