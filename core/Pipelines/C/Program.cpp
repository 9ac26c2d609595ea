//===- Program.cpp - Loaded programs for C --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program on the emulator or as code of this process, as tw-run has it.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/C/Objects.h"
#include "core/Pipelines/Executable.h"
#include "core/Pipelines/Guard.h"
#include "tilewright/Target.h"

#include "llvm/Support/FormatVariadic.h"
#include <mutex>

using namespace tilewright;

struct twc_program {
  twc_options options;
  twc_result compilation; // what the job reported; its diagnostics end here later on
  std::unique_ptr<Job> job;
  std::unique_ptr<Executable> code;
  std::mutex one;
  size_t findings = 0; // of the emulator, so far
};

twc_program *twc_program_create(const twc_options *options, const char *name, const void *text, size_t bytes,
                                twc_result **wanted) {
  auto program = std::make_unique<twc_program>();
  program->options = *options;
  twc_result &result = program->compilation;
  if (llvm::Error error = registerInstalledTargets()) {
    result.status = TWC_BAD_OPTION;
    result.add(std::move(error));
  } else {
    program->job = runJob(program->options, name, result, [&](Job &job) -> llvm::Error {
      mlir::ModuleOp module = job.read(llvm::StringRef(static_cast<const char *>(text), bytes));
      if (!module || mlir::failed(selectFunction(module, options->function)))
        return llvm::make_error<Reported>();
      Place place;
      place.emulator = options->device == "emulator";
      place.model = options->device == "model";
      auto code = Executable::compile(module, 1, job.compileOptions(), 4, place);
      if (!code)
        return code.takeError();
      program->code = std::move(*code);
      job.setSignatures(program->code->signature());
      return llvm::Error::success();
    });
  }
  (void)finish(std::make_unique<twc_result>(result), wanted);
  if (program->job)
    return program.release();
  if (result.status == TWC_CRASHED)
    (void)program.release(); // the abandoned job refers to it
  return nullptr;
}

/// One call, whose counts are right.
static llvm::Error call(twc_program &program, llvm::MutableArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arrays,
                        twc_result &result) {
  llvm::Error error =
      llvm::handleErrors(program.code->call(sizes, arrays), [&](std::unique_ptr<OtherSizes> other) -> llvm::Error {
        llvm::copy(other->sizes, sizes.begin());
        return llvm::Error(std::move(other));
      });
  if (EmulatedProgram *emulated = program.code->emulated()) {
    const std::vector<Finding> &findings = emulated->findings();
    for (; program.findings < findings.size(); ++program.findings) {
      result.status = TWC_BAD_CALL;
      result.messages.push_back({TWC_ERROR, "", 0, 0, findings[program.findings].str()});
    }
  }
  return error;
}

twc_status twc_program_call(twc_program *program, int64_t *sizes, size_t numSizes, void *const *arrays,
                            size_t numArrays, twc_result **wanted) {
  auto result = std::make_unique<twc_result>();
  const Signature &signature = program->code->signature();
  auto refuse = [&](llvm::Error error) {
    if (!error)
      return;
    result->status = TWC_BAD_CALL;
    result->add(std::move(error));
  };
  if (numSizes != signature.numSizes || numArrays != signature.arguments.size()) {
    refuse(llvm::createStringError(llvm::formatv("'{0}' takes {1} sizes and {2} arrays, {3} and {4} were given",
                                                 signature.name, signature.numSizes, signature.arguments.size(),
                                                 numSizes, numArrays)));
    return finish(std::move(result), wanted, /*onlyFailures=*/true);
  }
  std::lock_guard lock(program->one);
  bool finished = finishes([&] {
    refuse(call(*program, llvm::MutableArrayRef<int64_t>(sizes, numSizes), llvm::ArrayRef<void *>(arrays, numArrays),
                *result));
  });
  if (!finished) {
    result->status = TWC_CRASHED;
    result->messages.push_back(
        {TWC_ERROR, "", 0, 0,
         llvm::formatv("'{0}' crashed; are all arrays as large as its signature says?", signature.name)});
  }
  return finish(std::move(result), wanted, /*onlyFailures=*/true);
}

void twc_program_destroy(twc_program *program) { delete program; }
