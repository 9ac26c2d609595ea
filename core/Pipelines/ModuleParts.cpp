//===- ModuleParts.cpp - A module in parts, each in a context of its own --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts go from context to context as bitcode, which keeps everything that an
/// optimiser sees. Constants stay in part 0: they may be hundreds of megabytes.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ModuleParts.h"
#include "core/Pipelines/WorkerPool.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace tilewright;

/// Instructions of a function that may leave its module. Shorter ones are inlined, or not worth the way.
static constexpr unsigned longFunction = 250;
/// Instructions of a part, about, and how many parts there are at most: what a large machine has processors for.
static constexpr unsigned partLength = 1000, mostParts = 32;

/// The long functions of each part: the longest first, each to the part that has the fewest instructions.
static std::vector<std::vector<llvm::Function *>> longFunctions(llvm::Module &module) {
  std::vector<std::pair<unsigned, llvm::Function *>> found;
  unsigned all = 0;
  for (llvm::Function &function : module)
    if (unsigned length = function.isDeclaration() ? 0 : function.getInstructionCount(); length >= longFunction) {
      found.emplace_back(length, &function);
      all += length;
    }
  const size_t count = std::min<size_t>({found.size(), all / partLength, mostParts});
  if (count < 2 || !module.alias_empty() || !module.ifunc_empty() || !module.debug_compile_units().empty())
    return {};
  llvm::stable_sort(found, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<std::vector<llvm::Function *>> parts(count);
  std::vector<unsigned> lengths(count);
  for (auto [length, function] : found) {
    size_t least = std::min_element(lengths.begin(), lengths.end()) - lengths.begin();
    parts[least].push_back(function);
    lengths[least] += length;
  }
  return parts;
}

static std::string bitcodeOf(llvm::Module &module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  llvm::WriteBitcodeToFile(module, os);
  return bytes;
}

static llvm::Expected<std::unique_ptr<llvm::Module>> read(llvm::StringRef bitcode, llvm::LLVMContext &context) {
  return llvm::parseBitcodeFile({bitcode, "part"}, context);
}

/// A module of `functions`, and declarations of what they refer to.
static std::unique_ptr<llvm::Module> partOf(llvm::Module &module, llvm::ArrayRef<llvm::Function *> functions) {
  llvm::SmallPtrSet<const llvm::GlobalValue *, 8> own(functions.begin(), functions.end());
  llvm::ValueToValueMapTy values;
  auto part = llvm::CloneModule(module, values, [&](const llvm::GlobalValue *each) { return own.contains(each); });
  part->setModuleInlineAsm("");
  for (llvm::NamedMDNode &node : llvm::make_early_inc_range(part->named_metadata()))
    if (&node != part->getModuleFlagsMetadata())
      part->eraseNamedMetadata(&node);
  for (llvm::GlobalVariable &global : llvm::make_early_inc_range(part->globals()))
    if (global.use_empty())
      global.eraseFromParent();
  for (llvm::Function &function : llvm::make_early_inc_range(*part))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  return part;
}

ModuleParts::ModuleParts(llvm::Module &module) : module(module) {
  std::vector<std::vector<llvm::Function *>> taken = longFunctions(module);
  if (taken.empty())
    return;
  for (llvm::Function &function : module)
    order.push_back(function.getName().str());
  for (llvm::GlobalValue &value : module.global_values())
    if (value.hasLocalLinkage()) {
      if (!value.hasName())
        value.setName("tilewright.local");
      shared.emplace_back(value.getName(), value.getLinkage());
      value.setLinkage(llvm::GlobalValue::ExternalLinkage);
      value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  for (llvm::ArrayRef<llvm::Function *> functions : taken)
    parts.push_back(bitcodeOf(*partOf(module, functions)));
  for (llvm::ArrayRef<llvm::Function *> functions : taken)
    for (llvm::Function *function : functions)
      function->deleteBody();
}

llvm::Error ModuleParts::run(llvm::function_ref<llvm::Error(llvm::Module &, size_t)> work, bool comesBack) {
  if (parts.empty())
    return work(module, 0);
  std::vector<std::string> errors(parts.size() + 1);
  auto keep = [&](size_t index, llvm::Error error) {
    if (error)
      errors[index] = llvm::toString(std::move(error));
  };
  auto pool = std::make_unique<WorkerPool>(std::min<unsigned>(processors(), parts.size() + 1));
  for (auto [index, bitcode] : llvm::enumerate(parts))
    pool->async([&, index = index, &bitcode = bitcode] {
      llvm::LLVMContext context;
      auto part = read(bitcode, context);
      if (!part)
        return keep(index + 1, part.takeError());
      keep(index + 1, work(**part, index + 1));
      bitcode = comesBack ? bitcodeOf(**part) : std::string();
    });
  keep(0, work(module, 0));
  pool->wait();
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return llvm::Error::success();
}

llvm::Error ModuleParts::forEach(llvm::function_ref<llvm::Error(llvm::Module &)> work) {
  return run([&](llvm::Module &part, size_t) { return work(part); }, /*comesBack=*/true);
}

llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
ModuleParts::mapEach(llvm::function_ref<llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>(llvm::Module &)> work) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> made(parts.size() + 1);
  auto keep = [&](llvm::Module &part, size_t index) -> llvm::Error {
    auto one = work(part);
    if (!one)
      return one.takeError();
    made[index] = std::move(*one);
    return llvm::Error::success();
  };
  if (llvm::Error error = run(keep, /*comesBack=*/false))
    return std::move(error);
  return made;
}

llvm::Error ModuleParts::join() {
  for (llvm::StringRef bitcode : parts) {
    auto part = read(bitcode, module.getContext());
    if (!part)
      return part.takeError();
    if (llvm::Linker::linkModules(module, std::move(*part)))
      return llvm::createStringError("the parts of the program cannot be put together");
  }
  parts.clear();
  for (const auto &[name, linkage] : shared)
    if (llvm::GlobalValue *value = module.getNamedValue(name); value && !value->isDeclaration()) {
      value->setVisibility(llvm::GlobalValue::DefaultVisibility);
      value->setLinkage(linkage);
    }
  for (llvm::StringRef name : order)
    if (llvm::Function *function = module.getFunction(name)) {
      function->removeFromParent();
      module.getFunctionList().push_back(function);
    }
  return llvm::Error::success();
}
