//===- LaunchCode.h - Code of a module after stage 5 ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What LLVM and the target make of a module after stage 5: kinds of code of the
/// target one by one, or all of them with the manifests in one artifact.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LAUNCHCODE_H
#define TILEWRIGHT_CORE_PIPELINES_LAUNCHCODE_H

#include "tilewright/Compiler.h"
#include "tilewright/TargetDescription.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tilewright {

class Target;

class LaunchCode {
public:
  /// Replaces units of `module` by instructions; an error says what cannot be generated. The module outlives the code.
  static llvm::Expected<std::unique_ptr<LaunchCode>> create(mlir::ModuleOp module);

  /// LLVM IR, optimised. Code generation consumes it: each image starts from a copy.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate();
  CodeGenerator &generator() { return *codeGenerator; }

  /// One kind of code of the target.
  llvm::Expected<std::string> image(llvm::StringRef kind);
  /// All kinds that can be had, with the manifests (core/Runtime/C/Artifact.h).
  llvm::Expected<std::string> artifact();

private:
  explicit LaunchCode(mlir::ModuleOp module) : module(module) {}

  mlir::ModuleOp module;
  std::shared_ptr<const TargetDescription> chip;
  const Target *target = nullptr;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> optimised; // once asked for
  std::unique_ptr<CodeGenerator> codeGenerator;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LAUNCHCODE_H
