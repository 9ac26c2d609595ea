//===- ModulePartsTest.cpp - Modules in parts -----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Pipelines/ModuleParts.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <atomic>
#include <mutex>
#include <set>

namespace module_parts_test {

using namespace tilewright;

namespace {

/// A module of `count` local functions of about `length` instructions each, that read a local constant; @main calls
/// them in turn.
std::string programText(unsigned count, unsigned length) {
  std::string text = "@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]\n";
  std::string main = "define i32 @main(i32 %x0) {\n";
  for (unsigned f = 0; f < count; ++f) {
    std::string name = "@f" + std::to_string(f), from = std::to_string(f), to = std::to_string(f + 1);
    text += "define internal i32 " + name + "(i32 %v0) {\n  %t = load volatile i32, ptr @table\n";
    for (unsigned i = 0; i < length; ++i)
      text += "  %v" + std::to_string(i + 1) + " = add i32 %v" + std::to_string(i) + ", %t\n";
    text += "  ret i32 %v" + std::to_string(length) + "\n}\n";
    main += "  %x" + to + " = call i32 " + name + "(i32 %x" + from + ")\n";
  }
  return text + main + "  ret i32 %x" + std::to_string(count) + "\n}\n";
}

std::unique_ptr<llvm::Module> parse(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

std::string print(llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

TEST(ModuleParts, LongFunctionsLeaveAndComeBackToTheirPlaces) {
  llvm::LLVMContext context;
  auto module = parse(programText(6, 600), context);
  const std::string before = print(*module);
  ModuleParts parts(*module);
  std::mutex one;
  std::multiset<unsigned> defined;
  llvm::Error error = parts.forEach([&](llvm::Module &part) -> llvm::Error {
    EXPECT_FALSE(llvm::verifyModule(part, &llvm::errs()));
    std::lock_guard lock(one);
    defined.insert(llvm::count_if(part, [](llvm::Function &each) { return !each.isDeclaration(); }));
    return llvm::Error::success();
  });
  EXPECT_FALSE(bool(error));
  EXPECT_EQ(defined, (std::multiset<unsigned>{1, 2, 2, 2})); // @main alone, and three parts
  EXPECT_FALSE(bool(parts.join()));
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  EXPECT_EQ(print(*module), before);
}

TEST(ModuleParts, WhatAPartBecameIsInTheModule) {
  llvm::LLVMContext context;
  auto module = parse(programText(4, 600), context);
  ModuleParts parts(*module);
  std::atomic<unsigned> longFunctions = 0;
  EXPECT_FALSE(bool(parts.forEach([&](llvm::Module &part) -> llvm::Error {
    for (llvm::Function &function : part)
      if (!function.isDeclaration() && function.getName() != "main") {
        ++longFunctions;
        function.deleteBody();
        function.setLinkage(llvm::GlobalValue::ExternalLinkage);
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(part.getContext(), "", &function));
        builder.CreateRet(function.getArg(0));
      }
    return llvm::Error::success();
  })));
  EXPECT_FALSE(bool(parts.join()));
  EXPECT_EQ(longFunctions, 4u);
  for (unsigned f = 0; f < 4; ++f) {
    llvm::Function *function = module->getFunction("f" + std::to_string(f));
    EXPECT_EQ(function->getInstructionCount(), 1u);
    EXPECT_TRUE(function->hasInternalLinkage());
  }
}

TEST(ModuleParts, ShortModulesStayWhole) {
  llvm::LLVMContext context;
  auto module = parse(programText(8, 100), context);
  ModuleParts parts(*module);
  unsigned calls = 0;
  EXPECT_FALSE(bool(parts.forEach([&](llvm::Module &part) -> llvm::Error {
    ++calls;
    EXPECT_EQ(&part, module.get());
    return llvm::Error::success();
  })));
  EXPECT_EQ(calls, 1u);
}

TEST(ModuleParts, AnErrorOfAPartIsTheErrorOfAll) {
  llvm::LLVMContext context;
  auto module = parse(programText(6, 600), context);
  ModuleParts parts(*module);
  llvm::Error error = parts.forEach([&](llvm::Module &part) -> llvm::Error {
    llvm::Function *main = part.getFunction("main");
    return main ? llvm::Error::success() : llvm::createStringError("part fails");
  });
  EXPECT_EQ(llvm::toString(std::move(error)), "part fails");
}

} // namespace

} // namespace module_parts_test
