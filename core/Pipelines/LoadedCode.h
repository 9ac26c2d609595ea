//===- LoadedCode.h - A module as code of this process ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From LLVM's dialect to functions that can be called: programs, what packs constants, and a unit's instruction.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LOADEDCODE_H
#define TILEWRIGHT_CORE_PIPELINES_LOADEDCODE_H

#include "tilewright/Compiler.h"

namespace tilewright {

struct LoadedCode {
  std::unique_ptr<Jit> jit;
  double llvmSeconds = 0, linkSeconds = 0;
};

/// Generates and loads the code of a module after stage 5, for the chip that it names. An error says what LLVM cannot
/// do, or which library is missing.
llvm::Expected<LoadedCode> loadCode(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LOADEDCODE_H
