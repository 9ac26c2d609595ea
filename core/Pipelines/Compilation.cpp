//===- Compilation.cpp - A whole compilation ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which outputs a chip has, and the way there.
///
//===----------------------------------------------------------------------===//
#include "core/Pipelines/Compilation.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Analysis/Settings.h"
#include "core/Pipelines/FoldConstants.h"
#include "core/Pipelines/Header.h"
#include "core/Transforms/Lower/LLVM/CheckReport.h"
#include "tilewright/Cores.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace tilewright;

ProgramForm tilewright::programForm(const TargetDescription &chip) {
  const MachineGraph &graph = chip.graph();
  if (!graph.startsLaunches())
    return ProgramForm::Functions;
  return graph.threadMemory() ? ProgramForm::Source : ProgramForm::Launches;
}

llvm::Expected<std::vector<std::string>> tilewright::outputKinds(llvm::StringRef name) {
  auto chip = TargetRegistry::get().describe(name);
  if (!chip)
    return chip.takeError();
  std::vector<std::string> kinds;
  switch (programForm(**chip)) {
  case ProgramForm::Functions:
    return std::vector<std::string>{"o", "so", "ll"};
  case ProgramForm::Source:
    return std::vector<std::string>{"c", "ll"};
  case ProgramForm::Launches:
    break;
  }
  auto target = TargetRegistry::get().target((*chip)->target());
  if (!target)
    return target.takeError();
  kinds = (*target)->imageKinds();
  kinds.insert(kinds.end(), {"ll", "tw"});
  return kinds;
}

/// ".a, .b or .c".
static std::string alternatives(llvm::ArrayRef<std::string> kinds) {
  std::string text;
  for (auto [index, kind] : llvm::enumerate(kinds))
    text += (index == 0 ? "." : index + 1 == kinds.size() ? " or ." : ", .") + kind;
  return text;
}

llvm::Error tilewright::checkOutput(llvm::StringRef name, const Output &output) {
  auto chip = TargetRegistry::get().describe(name);
  if (!chip)
    return chip.takeError();
  auto kinds = outputKinds(name);
  if (!kinds)
    return kinds.takeError();
  ProgramForm form = programForm(**chip);
  std::string full = ((*chip)->target() + ":" + (*chip)->chip()).str();
  if (!output.file.empty() && !llvm::is_contained(*kinds, output.kind))
    return llvm::createStringError("cannot tell what '" + output.file + "' shall be; " +
                                   (form == ProgramForm::Functions ? "" : "for " + full + " ") +
                                   "expected a name that ends with " + alternatives(*kinds));
  if (form == ProgramForm::Launches && !output.header.empty())
    return llvm::createStringError("a header describes functions of the host; chip '" + name +
                                   "' has launches, which -o OUT.tw holds");
  return llvm::Error::success();
}

/// Code of a processor from a module after stage 5.
static llvm::Expected<Artifact> code(mlir::ModuleOp module, const Output &output) {
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  LargeConstants constants;
  if (output.kind != "ll")
    constants = LargeConstants::reserve(module, (*generator)->machine());
  if (output.kind == "so") {
    auto objects = (*generator)->objects(module);
    if (!objects)
      return objects.takeError();
    return linkSharedLibrary(*objects, std::move(constants), output.file, (*generator)->machine(),
                             needsThreads(module));
  }
  // Constants may be hundreds of megabytes: each form of the program goes when the next one is there.
  auto context = std::make_unique<llvm::LLVMContext>();
  auto code = (*generator)->translate(module, *context);
  if (!code)
    return code.takeError();
  if (output.kind == "ll") {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*code)->print(os, nullptr);
    return Artifact{std::move(text), 0, {}};
  }
  auto object = (*generator)->object(**code);
  code->reset();
  context.reset();
  if (!object)
    return object.takeError();
  return objectFile((*object)->getBuffer(), std::move(constants));
}

llvm::Expected<Compilation> tilewright::compileProgram(mlir::ModuleOp module, llvm::StringRef function,
                                                       const CompileOptions &options, const Output &output) {
  auto failed = [] { return llvm::make_error<Reported>(); };
  auto chip = TargetRegistry::get().describe(options.target);
  if (!chip)
    return chip.takeError();
  if (!function.empty() && mlir::failed(selectFunction(module, function)))
    return failed();
  ProgramForm form = programForm(**chip);
  if (form == ProgramForm::Source && !output.kind.empty()) // the vendor's compiler makes the vectors
    module->setAttr(scalarCodeAttr, mlir::UnitAttr::get(module.getContext()));
  mlir::OwningOpRef<mlir::ModuleOp> again; // to compile without folding
  if (form == ProgramForm::Functions) {
    module->setAttr(tilewright::bindAttr, mlir::UnitAttr::get(module.getContext()));
    again = prepareFolding(module, options.target);
  }
  if (mlir::failed(runStages(module, 1, 4, options)))
    return failed();
  Compilation result;
  for (mlir::func::FuncOp each : publicFunctions(module)) {
    auto signature = Signature::of(each);
    if (mlir::failed(signature))
      return failed();
    result.signatures.push_back(std::move(*signature));
  }
  if (result.signatures.empty()) {
    module.emitError("has no public function with a body");
    return failed();
  }
  if (!output.header.empty())
    if (llvm::Error error = checkNamesInC(result.signatures))
      return error;
  if (mlir::failed(runStages(module, 5, 5, options)))
    return failed();
  if (again && !output.kind.empty() && mlir::failed(foldConstants(module)))
    return compileProgram(*again, function, options, output);
  if (!output.header.empty()) {
    HeaderChecks checks{module->hasAttr(checkIndicesAttr), {}};
    for (const Signature &signature : result.signatures)
      if (module.lookupSymbol(signature.name + failureSuffix))
        checks.reporting.insert(signature.name);
    result.header = cHeader(result.signatures, output.header, options.target, form == ProgramForm::Source, checks);
  }
  if (output.kind.empty())
    return result;
  if (form == ProgramForm::Functions) {
    auto artifact = code(module, output);
    if (!artifact)
      return artifact.takeError();
    result.artifact = std::move(*artifact);
    return result;
  }
  auto artifact = form == ProgramForm::Launches ? launchesAs(output.kind, module)
                                                : (output.kind == "c" ? sourceInC : sourceInLLVM)(module);
  if (!artifact)
    return artifact.takeError();
  result.artifact.bytes = std::move(*artifact);
  return result;
}
