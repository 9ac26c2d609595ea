//===- PlacedProgram.cpp - A program that runs elsewhere ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Time by the host's clock; sizes that only a call shows.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/PlacedProgram.h"

#include <chrono>

using namespace tilewright;

double tilewright::secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

llvm::Expected<double> tilewright::secondsOf(llvm::function_ref<llvm::Error()> call, int64_t calls) {
  double begin = secondsNow();
  for (int64_t i = 0; i < calls; ++i)
    if (llvm::Error error = call())
      return error;
  return secondsNow() - begin;
}

char OtherSizes::ID = 0;
void OtherSizes::log(llvm::raw_ostream &os) const { os << message; }
std::error_code OtherSizes::convertToErrorCode() const { return std::make_error_code(std::errc::invalid_argument); }

PlacedProgram::~PlacedProgram() = default;

llvm::Expected<double> PlacedProgram::seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                                              int64_t calls) {
  return secondsOf([&] { return call(sizes, arrays); }, calls);
}
