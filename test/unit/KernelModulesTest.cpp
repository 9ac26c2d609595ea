//===- KernelModulesTest.cpp - Kernels in modules of their own ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels leave their module and come back to where they stood; which leave, and what becomes of names.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/KernelModules.h"
#include "LaunchFixture.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

namespace kernel_modules_test {

using namespace mlir;
using namespace tilewright;

namespace {

/// A function of `count` operations.
std::string kernel(StringRef name, StringRef arguments = "%p: !llvm.ptr", StringRef attributes = "tilewright.kernel",
                   StringRef first = "", int count = 1200) {
  std::string text =
      llvm::formatv("func.func private @{0}({1}) attributes {{{2}} {{\n{3}\n", name, arguments, attributes, first);
  for (int i = 0; i < count; ++i)
    text += llvm::formatv("  %x{0} = arith.constant {0} : i64\n", i);
  return text + "  return\n}\n";
}

OwningOpRef<ModuleOp> parse(const std::string &text) {
  return parseSourceString<ModuleOp>("module attributes {tilewright.fp = \"default\"} {\n" + text + "}",
                                     &test::programContext());
}

std::vector<std::string> namesIn(ModuleOp module) {
  std::vector<std::string> names;
  for (auto symbol : module.getOps<SymbolOpInterface>())
    names.push_back(symbol.getName().str());
  return names;
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

TEST(KernelModules, KernelsComeBackToTheirPlaces) {
  auto module = parse("memref.global \"private\" constant @c : memref<2xf32> = dense<[1.0, 2.0]>\n" + kernel("f") +
                      "func.func @main(%p: !llvm.ptr) {\n call @f(%p) : (!llvm.ptr) -> ()\n return\n}\n" +
                      kernel("g", "%p: !llvm.ptr, %n: index", "tilewright.kernel, tilewright.nest",
                             "  %m = memref.get_global @c : memref<2xf32>") +
                      kernel("short", "%p: !llvm.ptr", "", "", 3));
  ASSERT_TRUE(module);
  const std::string before = textOf(*module);
  ASSERT_TRUE(splitKernels(*module));
  auto modules = llvm::to_vector(module->getOps<ModuleOp>());
  ASSERT_EQ(modules.size(), 3u);
  EXPECT_EQ(namesIn(modules[0]), (std::vector<std::string>{"c", "f", "main", "g", "short"}));
  EXPECT_EQ(namesIn(modules[1]), (std::vector<std::string>{"c", "g"})) << "the longest, with its constant";
  EXPECT_EQ(namesIn(modules[2]), (std::vector<std::string>{"f"}));
  EXPECT_TRUE(succeeded(verify(*module)));
  for (ModuleOp each : modules)
    EXPECT_TRUE(each->hasAttr("tilewright.fp"));
  ASSERT_TRUE(succeeded(joinKernels(*module)));
  EXPECT_EQ(textOf(*module), before);
}

TEST(KernelModules, WhatIsCalledInAnotherWayStays) {
  for (const std::string &other :
       {kernel("g", "%p: bf16"), kernel("g", "%p: !llvm.ptr", ""),
        kernel("g", "%p: !llvm.ptr", "tilewright.kernel", "  call @h() : () -> ()") + "func.func private @h()\n",
        kernel("g", "%p: !llvm.ptr", "tilewright.kernel", "  %m = memref.alloc() : memref<2xf32>")}) {
    auto module = parse(kernel("f") + other);
    ASSERT_TRUE(module);
    EXPECT_FALSE(splitKernels(*module)) << other.substr(0, 200);
  }
}

TEST(KernelModules, DefinitionsOfSeveralModulesAreOneOrHaveNamesOfTheirOwn) {
  auto module = parse(kernel("f") + kernel("g"));
  ASSERT_TRUE(splitKernels(*module));
  auto modules = llvm::to_vector(module->getOps<ModuleOp>());
  for (auto [number, each] : llvm::enumerate(llvm::MutableArrayRef(modules).drop_front())) {
    auto builder = OpBuilder::atBlockEnd(each.getBody());
    for (auto [name, value] : {std::pair("same", int64_t(7)), std::pair("other", int64_t(number))}) {
      auto made = parseSourceString<ModuleOp>(
          kernel(name, "", "", llvm::formatv("  %v = arith.constant {0} : i64", value).str(), 0), each.getContext());
      builder.clone(made->getBody()->front());
    }
  }
  ASSERT_TRUE(succeeded(joinKernels(*module)));
  EXPECT_EQ(namesIn(*module), (std::vector<std::string>{"f", "g", "same", "other", "other_0"}));
  EXPECT_TRUE(succeeded(verify(*module)));
}

} // namespace

} // namespace kernel_modules_test
