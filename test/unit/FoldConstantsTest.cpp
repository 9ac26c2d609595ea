//===- FoldConstantsTest.cpp - Constants packed by the compiler -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What becomes of the constants and of the code that packs them, also where it fails; memory that is a file's.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/FoldConstants.h"
#include "LaunchFixture.h"
#include "core/Pipelines/FileMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"
#include <cstdlib>

namespace fold_constants_test {

using namespace mlir;
using namespace tilewright;

namespace {

/// A program whose function `fold` has the operations `body`; `other` is a function that stays.
OwningOpRef<ModuleOp> program(StringRef body, StringRef other = "") {
  std::string text = R"(
module attributes {tilewright.target = "cpu:host", tilewright.fp = "default", tilewright.threads = 1 : i64} {
  llvm.mlir.global private constant @w(dense<[5, 7]> : tensor<2xi32>) : !llvm.array<2 x i32>
  llvm.mlir.global private constant @packed() : !llvm.array<2 x i32>
  llvm.func internal @fold.body() attributes {tilewright.folds = "fold"} { llvm.return }
  llvm.func @fold_workspace() -> i64 { %0 = llvm.mlir.constant(100 : i64) : i64  llvm.return %0 : i64 }
  llvm.func @fold_in(%workspace: !llvm.ptr) -> i32 {
    %status = llvm.mlir.constant(0 : i32) : i32
)";
  text += body.str() + R"(
  }
  llvm.func @f() -> !llvm.ptr { %0 = llvm.mlir.addressof @packed : !llvm.ptr  llvm.return %0 : !llvm.ptr }
)";
  return parseSourceString<ModuleOp>(text + other.str() + "}", &test::programContext());
}

/// packed = {w[1], w[0]}, by way of the workspace.
constexpr const char *swap = R"(
    %w = llvm.mlir.addressof @w : !llvm.ptr
    %to = llvm.mlir.addressof @packed : !llvm.ptr
    %w1 = llvm.getelementptr %w[1] : (!llvm.ptr) -> !llvm.ptr, i32
    %to1 = llvm.getelementptr %to[1] : (!llvm.ptr) -> !llvm.ptr, i32
    %a = llvm.load %w : !llvm.ptr -> i32
    %b = llvm.load %w1 : !llvm.ptr -> i32
    llvm.store %a, %workspace : i32, !llvm.ptr
    %c = llvm.load %workspace : !llvm.ptr -> i32
    llvm.store %c, %to1 : i32, !llvm.ptr
    llvm.store %b, %to : i32, !llvm.ptr
    llvm.return %status : i32)";

std::vector<std::string> namesIn(ModuleOp module) {
  std::vector<std::string> names;
  for (auto symbol : module.getOps<SymbolOpInterface>())
    names.push_back(symbol.getName().str());
  return names;
}

/// The remark of a folding that fails.
std::string remarkOf(ModuleOp module) {
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    text = diagnostic.str();
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Remark);
  });
  EXPECT_TRUE(failed(foldConstants(module)));
  return text;
}

TEST(FoldConstants, PackedFormReplacesTheConstant) {
  auto module = program(swap);
  ASSERT_TRUE(succeeded(foldConstants(*module)));
  EXPECT_EQ(namesIn(*module), (std::vector<std::string>{"packed", "f"}));
  auto packed = module->lookupSymbol<LLVM::GlobalOp>("packed");
  auto contents = dyn_cast<DenseResourceElementsAttr>(packed.getValueOrNull());
  ASSERT_TRUE(contents);
  ArrayRef<char> bytes = contents.getRawHandle().getBlob()->getData();
  ASSERT_EQ(bytes.size(), 8u);
  EXPECT_EQ(reinterpret_cast<const int32_t *>(bytes.data())[0], 7);
  EXPECT_EQ(reinterpret_cast<const int32_t *>(bytes.data())[1], 5);
  EXPECT_TRUE(succeeded(foldConstants(*module))) << "nothing is left to do";
}

TEST(FoldConstants, AConstantThatOthersReadStays) {
  auto module = program(swap, "llvm.func @g() -> !llvm.ptr { %0 = llvm.mlir.addressof @w : !llvm.ptr  "
                              "llvm.return %0 : !llvm.ptr }\n");
  ASSERT_TRUE(succeeded(foldConstants(*module)));
  EXPECT_EQ(namesIn(*module), (std::vector<std::string>{"w", "packed", "f", "g"}));
}

TEST(FoldConstants, FailuresAreToldAndHarmless) {
  EXPECT_EQ(remarkOf(*program("\"llvm.intr.trap\"() : () -> ()\n llvm.unreachable")),
            "large constants are packed at each call, and not by the compiler: the code that packs them crashed");
  EXPECT_EQ(remarkOf(*program("%three = llvm.mlir.constant(3 : i32) : i32\n llvm.return %three : i32")),
            "large constants are packed at each call, and not by the compiler: the code that packs them returned "
            "status 3");
  const std::string missing = remarkOf(
      *program("llvm.call @acme_absent() : () -> ()\n llvm.return %status : i32", "llvm.func @acme_absent()\n"));
  EXPECT_NE(missing.find("'acme_absent'"), std::string::npos) << missing;
}

TEST(FileMemory, PagesThatWereLetGoKeepTheirContents) {
  const uint64_t size = 3 * FileMemory::window + 5;
  auto memory = FileMemory::create(size);
  ASSERT_TRUE(memory);
  memory->whileFilled([&] {
    for (uint64_t i = 0; i < size; i += 512)
      memory->data()[i] = static_cast<char>(i / 512);
  });
  if (memory->isFile())
    letGo({memory->data(), size});
  for (uint64_t i = 0; i < size; i += 512)
    ASSERT_EQ(memory->data()[i], static_cast<char>(i / 512)) << i;
  EXPECT_EQ(memory->data()[1], 0);
}

TEST(FileMemory, WithoutAFileItIsOfTheProcess) {
  const char *known = std::getenv("TMPDIR");
  const std::string before = known ? known : "";
  setenv("TMPDIR", "/nowhere", 1);
  auto memory = FileMemory::create(2 * FileMemory::window);
  known ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->isFile());
  memory->whileFilled([&] { memory->data()[1] = 1; });
  EXPECT_EQ(memory->data()[1], 1);
}

} // namespace

} // namespace fold_constants_test
