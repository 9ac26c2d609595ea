//===- PlacedProgram.h - A program that runs elsewhere ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a command does with a program on the emulator (EmulatedProgram), on a
/// device of this machine (DriverProgram) or behind a pipe (DeviceProgram).
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_PLACEDPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_PLACEDPROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <system_error>
#include <vector>

namespace tilewright {

/// Seconds on a steady clock of the host.
double secondsNow();

/// Seconds of `calls` calls one after the other by the host's clock.
llvm::Expected<double> secondsOf(llvm::function_ref<llvm::Error()> call, int64_t calls);

/// A call that ended because the program makes a result of another size of its data than the caller's array has.
class OtherSizes : public llvm::ErrorInfo<OtherSizes> {
public:
  static char ID;
  OtherSizes(std::string message, std::vector<int64_t> sizes) : sizes(std::move(sizes)), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
  /// The sizes of the call with what the program makes: a call with these goes on from there.
  std::vector<int64_t> sizes;

private:
  std::string message;
};

class PlacedProgram {
public:
  virtual ~PlacedProgram();
  /// Runs the program once on arrays of the host: the sizes, then the address of each array.
  virtual llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays) = 0;
  /// Seconds of `calls` calls one after the other: the host's, unless the device has a clock.
  virtual llvm::Expected<double> seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, int64_t calls);
  /// One line: what the device calls itself.
  virtual std::string describe() const = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_PLACEDPROGRAM_H
