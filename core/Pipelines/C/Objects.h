//===- Objects.h - What the C interface hands out ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The opaque structs of tilewright_compiler.h, and how their messages are made.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_C_OBJECTS_H
#define TILEWRIGHT_CORE_PIPELINES_C_OBJECTS_H

#include "core/Pipelines/Compilation.h"
#include "tilewright/tilewright_compiler.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {
struct Job;
}

struct twc_options {
  std::string target = "cpu:host";
  std::string function, fp = "default", soname, header, reproducer, device = "host";
  std::optional<std::string> output; // "": no code
  int64_t threads = 1;
  bool explain = false, checkIndices = false;

  tilewright::CompileOptions compileOptions() const;
};

struct twc_result {
  struct Message {
    twc_severity severity;
    std::string file;
    int64_t line = 0, column = 0;
    std::string text;
  };
  twc_status status = TWC_OK;
  std::vector<Message> messages;
  /// Large constants of the artifact lie in the memory of `program`, until somebody asks for the artifact in one piece.
  std::optional<tilewright::Artifact> artifact;
  std::shared_ptr<tilewright::Job> program;
  std::shared_ptr<std::mutex> joining = std::make_shared<std::mutex>();
  std::string signatures = "[]", header, explanation;

  void add(mlir::Diagnostic &diagnostic);
  /// An error without a place in the program; one that was reported already says nothing more.
  void add(llvm::Error error, const std::string &file = "");
};

namespace tilewright {

/// Registers the targets that this installation's commands have linked in, unless somebody has registered targets.
llvm::Error registerInstalledTargets();

/// One compilation with its context. What has crashed is never destroyed.
struct Job {
  Job(const twc_options &options, std::string name, twc_result &result);
  /// Reads the program; null after a diagnostic.
  mlir::ModuleOp read(llvm::StringRef text);
  void setSignatures(llvm::ArrayRef<Signature> signatures);
  /// Those of the caller; `stage` follows the stages.
  CompileOptions compileOptions();

  const twc_options &options;
  std::string name;
  twc_result &result;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  unsigned stage = 0; // the last that has ended
};

/// Does `work` for a program, guarded: its error and a crash are in the result. The job is kept for the caller where
/// `work` succeeded, null else.
std::unique_ptr<Job> runJob(const twc_options &options, const char *name, twc_result &result,
                            llvm::function_ref<llvm::Error(Job &)> work);

/// What a function returns: the status, with the result for a caller who wants it.
twc_status finish(std::unique_ptr<twc_result> result, twc_result **wanted, bool onlyFailures = false);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_C_OBJECTS_H
