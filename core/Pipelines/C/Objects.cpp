//===- Objects.cpp - What the C interface hands out -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Messages with their places, and guarded jobs.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/C/Objects.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Pipelines/Guard.h"
#include "core/Pipelines/LargeLiterals.h"
#include "core/Transforms/Host/SignatureManifest.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>
#include <mutex>

using namespace tilewright;

CompileOptions twc_options::compileOptions() const {
  CompileOptions result;
  result.target = target;
  result.fp = fp;
  result.threads = threads;
  result.reproducer = reproducer;
  return result;
}

/// The place in a file that a location has or is made of.
static mlir::FileLineColRange placeOf(mlir::Location location) {
  return llvm::TypeSwitch<mlir::LocationAttr, mlir::FileLineColRange>(location)
      .Case([](mlir::FileLineColRange place) { return place; })
      .Case([](mlir::NameLoc named) { return placeOf(named.getChildLoc()); })
      .Case([](mlir::CallSiteLoc call) { return placeOf(call.getCallee()); })
      .Case([](mlir::OpaqueLoc opaque) { return placeOf(opaque.getFallbackLocation()); })
      .Case([](mlir::FusedLoc fused) {
        for (mlir::Location part : fused.getLocations())
          if (mlir::FileLineColRange place = placeOf(part))
            return place;
        return mlir::FileLineColRange();
      })
      .Default([](mlir::LocationAttr) { return mlir::FileLineColRange(); });
}

static twc_severity severityOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return TWC_NOTE;
  case mlir::DiagnosticSeverity::Remark:
    return TWC_REMARK;
  case mlir::DiagnosticSeverity::Warning:
    return TWC_WARNING;
  case mlir::DiagnosticSeverity::Error:
    break;
  }
  return TWC_ERROR;
}

void twc_result::add(mlir::Diagnostic &diagnostic) {
  Message message{severityOf(diagnostic.getSeverity()), "", 0, 0, diagnostic.str()};
  if (mlir::FileLineColRange place = placeOf(diagnostic.getLocation())) {
    message.file = place.getFilename().str();
    message.line = place.getStartLine();
    message.column = place.getStartColumn();
  }
  messages.push_back(std::move(message));
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    add(note);
}

void twc_result::add(llvm::Error error, const std::string &file) {
  llvm::handleAllErrors(
      std::move(error), [](const Reported &) {},
      [&](const llvm::ErrorInfoBase &info) { messages.push_back({TWC_ERROR, file, 0, 0, info.message()}); });
}

llvm::Error tilewright::registerInstalledTargets() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!TargetRegistry::get().targets().empty())
    return llvm::Error::success();
  Dl_info here;
  if (!dladdr(reinterpret_cast<void *>(&twc_version), &here))
    return llvm::createStringError("the dynamic linker does not know where libTilewright is");
  llvm::SmallString<128> path(llvm::sys::path::parent_path(here.dli_fname));
  llvm::sys::path::append(path, "tilewright", "libtilewright-linked-targets.so");
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return llvm::createStringError(llvm::formatv("the targets of this installation cannot be loaded: {0}", dlerror()));
  auto *enter = reinterpret_cast<void (*)()>(dlsym(library, "tilewrightRegisterLinkedTargets"));
  if (!enter)
    return llvm::createStringError(llvm::formatv("'{0}' is of another version: {1}", path, dlerror()));
  enter();
  return TargetRegistry::get().loadSearchPath();
}

Job::Job(const twc_options &options, std::string name, twc_result &result)
    : options(options), name(std::move(name)), result(result),
      context(programDialects(), mlir::MLIRContext::Threading::DISABLED),
      handler(&context, [&result](mlir::Diagnostic &diagnostic) { result.add(diagnostic); }) {
  context.printOpOnDiagnostic(false);
}

mlir::ModuleOp Job::read(llvm::StringRef text) {
  module = parseProgramText(text, name, sources, context);
  if (module && options.checkIndices)
    (*module)->setAttr(checkIndicesAttr, mlir::UnitAttr::get(&context));
  return module.get();
}

CompileOptions Job::compileOptions() {
  CompileOptions result = options.compileOptions();
  result.afterStage = [this](unsigned ended, mlir::ModuleOp) { stage = ended; };
  return result;
}

void Job::setSignatures(llvm::ArrayRef<Signature> signatures) {
  auto chip = llvm::cantFail(TargetRegistry::get().describe(options.target));
  const std::string target = (chip->target() + ":" + chip->chip()).str();
  llvm::json::Array list;
  for (const Signature &signature : signatures) {
    if (!signature.binds.empty())
      continue;
    llvm::json::Object manifest = signatureManifest(signature, target);
    for (const Signature &other : signatures)
      if (other.binds == signature.name) {
        llvm::json::Object bind = signatureManifest(other, target);
        bind["inputs"] = llvm::json::Array(other.bindInputs);
        bind["releases"] = llvm::json::Array(other.bindReleases);
        manifest["bind"] = std::move(bind);
      }
    list.push_back(std::move(manifest));
  }
  result.signatures = llvm::formatv("{0}", llvm::json::Value(std::move(list))).str();
}

/// What a job was at.
static std::string workOf(const Job *job) {
  if (!job || !job->module)
    return "the reader of programs";
  if (job->stage == 5)
    return "the code generator";
  return llvm::formatv("stage {0} ({1}) of the compiler", job->stage + 1, stageName(job->stage + 1));
}

std::unique_ptr<Job> tilewright::runJob(const twc_options &options, const char *name, twc_result &result,
                                        llvm::function_ref<llvm::Error(Job &)> work) {
  std::unique_ptr<Job> job;
  bool failed = false;
  const std::string file = name ? name : "";
  if (!finishes([&] {
        job = std::make_unique<Job>(options, file, result);
        llvm::Error error = work(*job);
        failed = static_cast<bool>(error);
        result.add(std::move(error), file);
      })) {
    result.status = TWC_CRASHED;
    result.messages.push_back({TWC_ERROR, file, 0, 0,
                               workOf(job.get()) +
                                   " crashed; 'tw-compile' on this program writes a file that repeats it, please "
                                   "report it with that file"});
    (void)job.release(); // half-written
    return nullptr;
  }
  if (!failed)
    return job;
  result.status = TWC_BAD_PROGRAM;
  return nullptr;
}

twc_status tilewright::finish(std::unique_ptr<twc_result> result, twc_result **wanted, bool onlyFailures) {
  twc_status status = result->status;
  if (wanted)
    *wanted = status == TWC_OK && onlyFailures ? nullptr : result.release();
  return status;
}
