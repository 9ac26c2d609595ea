//===- LaunchProgram.h - A manifest that runs on a device -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executes the manifest of a program (core/Transforms/LaunchManifest.h) with
/// any Device: memory, constants, launches, branches and loops.
///
///   auto program = LaunchProgram::read(manifestText);
///   program->run(device, {m, n, k}, {a, b, c}, error);   // device pointers
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H
#define TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H

#include "tilewright/Device.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

class LaunchProgram {
public:
  /// An error says what of the manifest cannot be read.
  static llvm::Expected<LaunchProgram> read(llvm::StringRef manifest);

  std::string entry() const;
  size_t numArguments() const;
  size_t numSizes() const;
  /// Bytes of argument `i` for these sizes.
  llvm::Expected<int64_t> argumentBytes(size_t i, llvm::ArrayRef<int64_t> sizes) const;

  /// Executes all steps and waits. Memory that they allocate lives on the device as long as the call. False with
  /// `error`.
  bool run(Device &device, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays, std::string &error) const;

private:
  explicit LaunchProgram(llvm::json::Object manifest) : manifest(std::move(manifest)) {}
  llvm::json::Object manifest;
};

/// The value of an expression of a manifest.
llvm::Expected<int64_t> evaluate(const llvm::json::Value &expression, llvm::ArrayRef<int64_t> sizes,
                                 llvm::ArrayRef<int64_t> variables = {});

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LAUNCHPROGRAM_H
