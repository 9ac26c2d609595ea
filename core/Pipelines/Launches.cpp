//===- Launches.cpp - Code of launches and their manifest ----------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stage 6 for SIMT targets: units become instructions, LLVM optimises,
/// the target writes its kinds of code, one file holds them with the manifest.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Explain/Stopwatch.h"
#include "core/Machine/ModuleTarget.h"
#include "core/Pipelines/LaunchCode.h"
#include "core/Transforms/Passes.h"
#include "tilewright/LaneOps.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace tilewright;

/// Data, and each constant in it, begins at a multiple of so many bytes; shorter constants are text.
static constexpr size_t dataAlignment = 64;

/// Takes the constants out of manifests: their bytes are `data`, each once.
static void separateConstants(llvm::json::Array &programs, std::string &data) {
  llvm::StringMap<int64_t> known;
  for (llvm::json::Value &program : programs) {
    llvm::json::Array *constants = program.getAsObject()->getArray("constants");
    if (!constants)
      continue;
    for (llvm::json::Value &each : *constants) {
      llvm::json::Object &constant = *each.getAsObject();
      std::vector<char> bytes;
      llvm::cantFail(llvm::decodeBase64(*constant.getString("data"), bytes));
      if (bytes.size() < dataAlignment)
        continue;
      auto [entry, isNew] = known.try_emplace(llvm::StringRef(bytes.data(), bytes.size()));
      if (isNew) {
        data.resize(llvm::alignTo(data.size(), dataAlignment));
        entry->second = data.size();
        data.append(bytes.begin(), bytes.end());
      }
      constant.erase("data");
      constant["at"] = entry->second;
      constant["stored"] = int64_t(bytes.size());
    }
  }
}

/// The artifact (core/Runtime/C/Artifact.h): a line with the lengths, the manifests, the images one after the other,
/// the constants. `architecture`: what the images are for, in the words of LLVM's back end.
static std::string container(llvm::StringRef target, llvm::StringRef architecture, mlir::ArrayAttr manifests,
                             llvm::ArrayRef<std::pair<std::string, std::string>> images) {
  llvm::json::Array programs, kinds;
  for (mlir::Attribute manifest : manifests ? manifests.getValue() : llvm::ArrayRef<mlir::Attribute>())
    programs.push_back(llvm::cantFail(llvm::json::parse(mlir::cast<mlir::StringAttr>(manifest).getValue())));
  for (const auto &[kind, code] : images)
    kinds.push_back(llvm::json::Object{{"kind", kind}, {"bytes", int64_t(code.size())}});
  std::string data;
  separateConstants(programs, data);
  const int format = data.empty() ? 1 : 5;
  llvm::json::Object header{{"format", format},
                            {"target", target},
                            {"architecture", architecture},
                            {"programs", std::move(programs)},
                            {"images", std::move(kinds)}};
  if (!data.empty())
    header["data"] = llvm::json::Object{{"bytes", int64_t(data.size())}};
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header)));
  std::string file = llvm::formatv("TILEWRIGHT {0} {1}\n{2}\n", format, text.size(), text);
  for (const auto &[kind, code] : images)
    file += code;
  if (!data.empty())
    file.resize(llvm::alignTo(file.size(), dataAlignment));
  return file + data;
}

llvm::Expected<std::unique_ptr<LaunchCode>> LaunchCode::create(mlir::ModuleOp module) {
  std::unique_ptr<LaunchCode> code(new LaunchCode(module));
  auto found = moduleTargetOf(module);
  if (!found)
    return found.takeError();
  code->chip = found->chip;
  code->target = found->target;
  mlir::PassManager pm(module.getContext());
  timePasses(pm);
  pm.addPass(createEmitUnits());
  pm.addPass(mlir::createConvertToLLVMPass()); // ops of a target that are LLVM or assembly
  if (mlir::failed(pm.run(module)))
    return llvm::make_error<Reported>();
  auto generator = CodeGenerator::create(module);
  if (!generator)
    return generator.takeError();
  code->codeGenerator = std::move(*generator);
  return code;
}

llvm::Expected<std::unique_ptr<llvm::Module>> LaunchCode::translate() {
  if (!optimised) {
    auto code = codeGenerator->translate(module, context);
    if (!code)
      return code.takeError();
    optimised = std::move(*code);
  }
  return llvm::CloneModule(*optimised);
}

llvm::Expected<std::string> LaunchCode::image(llvm::StringRef kind) {
  auto code = translate();
  if (!code)
    return code.takeError();
  Stopwatch stopwatch("image"); // what an assembler of the vendor takes, too
  return target->image(kind, **code, *codeGenerator);
}

llvm::Expected<std::string> LaunchCode::artifact() {
  std::vector<std::pair<std::string, std::string>> images;
  std::string reasons;
  for (const std::string &kind : target->imageKinds()) {
    auto one = image(kind);
    if (one)
      images.emplace_back(kind, std::move(*one));
    else
      reasons += (reasons.empty() ? "" : "; ") + llvm::toString(one.takeError());
  }
  if (reasons.empty() && images.empty())
    return llvm::createStringError("no code could be written: target '" + chip->target() +
                                   "' names no kinds of code; override imageKinds() and image() of its class "
                                   "(docs/bring-up.md, 'Your own runtime'), or write LLVM IR for a back end of yours: "
                                   "-o OUT.ll");
  if (images.empty())
    return llvm::createStringError("no code could be written: " + reasons);
  return container((chip->target() + ":" + chip->chip()).str(), codeGenerator->machine().getTargetCPU(),
                   module->getAttrOfType<mlir::ArrayAttr>(manifestsAttr), images);
}

llvm::Expected<std::string> tilewright::launchesAs(llvm::StringRef kind, mlir::ModuleOp module) {
  auto code = LaunchCode::create(module);
  if (!code)
    return code.takeError();
  if (kind == "tw")
    return (*code)->artifact();
  if (kind != "ll")
    return (*code)->image(kind);
  auto ir = (*code)->translate();
  if (!ir)
    return ir.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  (*ir)->print(os, nullptr);
  return text;
}
