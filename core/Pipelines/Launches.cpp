//===- Launches.cpp - Code of launches and their manifest ----------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stage 6 for chips that run lanes: units become instructions, LLVM optimises,
/// the target writes its kinds of code, one file holds them with the manifest.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "tilewright/Compiler.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace tilewright;

/// The container: a line with the lengths, the manifests, the images one after the other.
/// `architecture`: what the images are for, in the words of LLVM's back end (core/Runtime/C/Artifact.h).
static std::string container(llvm::StringRef target, llvm::StringRef architecture, mlir::ArrayAttr manifests,
                             llvm::ArrayRef<std::pair<std::string, std::string>> images) {
  llvm::json::Array programs, kinds;
  for (mlir::Attribute manifest : manifests ? manifests.getValue() : llvm::ArrayRef<mlir::Attribute>())
    programs.push_back(llvm::cantFail(llvm::json::parse(mlir::cast<mlir::StringAttr>(manifest).getValue())));
  for (const auto &[kind, code] : images)
    kinds.push_back(llvm::json::Object{{"kind", kind}, {"bytes", int64_t(code.size())}});
  std::string header = llvm::formatv(
      "{0}", llvm::json::Value(llvm::json::Object{{"format", 1},
                                                   {"target", target},
                                                   {"architecture", architecture},
                                                   {"programs", std::move(programs)},
                                                   {"images", std::move(kinds)}}));
  std::string file = llvm::formatv("TILEWRIGHT 1 {0}\n{1}\n", header.size(), header);
  for (const auto &[kind, code] : images)
    file += code;
  return file;
}

llvm::Error tilewright::writeLaunches(mlir::ModuleOp module, llvm::StringRef path) {
  auto chip = targetOf(module);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().target((*chip)->target());
  if (!target)
    return target.takeError();
  std::vector<std::string> kinds = (*target)->imageKinds();
  llvm::StringRef extension =
      llvm::sys::path::extension(path).drop_front(llvm::sys::path::extension(path).empty() ? 0 : 1);
  if (extension != "ll" && extension != "tw" && !llvm::is_contained(kinds, extension))
    return llvm::createStringError("cannot tell what '" + path + "' shall be; for " + (*chip)->target() + ":" +
                                   (*chip)->chip() + " expected a name that ends with ." + llvm::join(kinds, ", .") +
                                   ", .ll or .tw");

  mlir::PassManager pm(module.getContext());
  pm.addPass(createEmitUnits());
  if (mlir::failed(pm.run(module)))
    return llvm::make_error<Reported>();
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  llvm::LLVMContext context;
  auto code = (*generator)->translate(module, context);
  if (!code)
    return code.takeError();
  if (extension == "ll") {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*code)->print(os, nullptr);
    return writeFile(path, text);
  }
  if (extension != "tw") {
    auto image = (*target)->image(extension, **code, **generator);
    return image ? writeFile(path, *image) : image.takeError();
  }
  std::vector<std::pair<std::string, std::string>> images;
  std::string reasons;
  for (const std::string &kind : kinds) {
    // Code generation consumes the module: each kind starts from a copy.
    auto copy = (*generator)->translate(module, context);
    if (!copy)
      return copy.takeError();
    auto image = (*target)->image(kind, **copy, **generator);
    if (image)
      images.emplace_back(kind, std::move(*image));
    else
      reasons += (reasons.empty() ? "" : "; ") + llvm::toString(image.takeError());
  }
  if (images.empty())
    return llvm::createStringError("no code could be written: " + reasons);
  auto manifests = module->getAttrOfType<mlir::ArrayAttr>(manifestsAttr);
  llvm::StringRef architecture = (*generator)->machine().getTargetCPU();
  return writeFile(path, container(((*chip)->target() + ":" + (*chip)->chip()).str(), architecture, manifests, images));
}
