//===- SymbolUsersTest.cpp - The operations that name a symbol ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Users by interface and by discardable attributes, each once and in the order of the program.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/SymbolUsers.h"
#include "LaunchFixture.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace symbol_users_test {

using namespace mlir;
using namespace tilewright;

namespace {

constexpr StringLiteral program = R"(
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
func.func private @unused() attributes {tilewright.kernel} {
  return
}
func.func private @leaf(%x: f32) -> f32 {
  return %x : f32
}
func.func private @noted() {
  return
}
func.func @main(%c: i1, %x: f32) -> f32 {
  %t = memref.get_global @table : memref<2xf32>
  %y = scf.if %c -> f32 {
    %a = func.call @leaf(%x) : (f32) -> f32
    scf.yield %a : f32
  } else {
    scf.yield %x : f32
  }
  %z = func.call @leaf(%y) : (f32) -> f32
  %s = arith.addf %z, %z {note = [@noted, @noted, @main::@noted]} : f32
  return %s : f32
}
)";

std::vector<std::string> usersOf(ModuleOp module, StringRef name) {
  const SymbolUsers users(module);
  auto symbol = cast<SymbolOpInterface>(SymbolTable::lookupSymbolIn(module, name));
  std::vector<std::string> names;
  for (Operation *user : users.getUsers(symbol))
    names.push_back((user->getName().getStringRef() + " in " + user->getParentOp()->getName().getStringRef()).str());
  EXPECT_EQ(users.isUsed(symbol), !names.empty());
  return names;
}

TEST(SymbolUsers, ThoseThatNameASymbolInTheOrderOfTheProgram) {
  auto module = parseSourceString<ModuleOp>(program, &test::programContext());
  ASSERT_TRUE(module);
  using Names = std::vector<std::string>;
  EXPECT_EQ(usersOf(*module, "unused"), Names());
  EXPECT_EQ(usersOf(*module, "main"), Names()); // a nested name is one of its leaf
  EXPECT_EQ(usersOf(*module, "table"), Names{"memref.get_global in func.func"});
  EXPECT_EQ(usersOf(*module, "leaf"), (Names{"func.call in scf.if", "func.call in func.func"}));
  EXPECT_EQ(usersOf(*module, "noted"), Names{"arith.addf in func.func"}); // once, though it names it thrice
}

TEST(SymbolUsers, AreThoseOfTheTimeWhenTheyAreFound) {
  auto module = parseSourceString<ModuleOp>(program, &test::programContext());
  ASSERT_TRUE(module);
  const SymbolUsers before(*module);
  SmallVector<Operation *> calls;
  module->walk([&](func::CallOp call) { calls.push_back(call); });
  for (Operation *call : calls) {
    call->replaceAllUsesWith(call->getOperands());
    call->erase();
  }
  auto leaf = cast<SymbolOpInterface>(SymbolTable::lookupSymbolIn(*module, "leaf"));
  EXPECT_EQ(before.getUsers(leaf).size(), 2u);
  EXPECT_FALSE(SymbolUsers(*module).isUsed(leaf));
}

} // namespace

} // namespace symbol_users_test
