//===- TargetTest.cpp - Registry, plugins and records ---------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the registry finds and refuses, and that every linked record is sound.
///
//===----------------------------------------------------------------------===//

#include "tilewright/Target.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/ChipTable.h"
#include "tilewright/Explain.h"
#include <gtest/gtest.h>

namespace target_test {

using namespace tilewright;

namespace {

/// The linked targets are registered once for all tests of the binary.
TargetRegistry &registry() {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  return TargetRegistry::get();
}

template <typename T> std::string message(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

TargetPlugin soundPlugin() {
  return {sizeof(TargetPlugin),
          targetApiVersion,
          LLVM_VERSION_MAJOR,
          LLVM_VERSION_MINOR,
          builtWithRtti,
          "acme",
          "1.0",
          []() -> Target * { return nullptr; }};
}

} // namespace

TEST(TargetRegistry, DescribesEachChipOfEachTarget) {
  ASSERT_FALSE(registry().targets().empty());
  for (const Target *target : registry().targets()) {
    for (const std::string &name : target->chips()) {
      auto chip = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(chip)) << name << ": " << llvm::toString(chip.takeError());
      EXPECT_EQ((*chip)->chip(), name);
      EXPECT_EQ((*chip)->target(), target->name());
      EXPECT_GT((*chip)->clockMHz(), 0) << name;
      EXPECT_GE((*chip)->parallelWidth(), 1) << name;
    }
  }
}

TEST(TargetRegistry, EveryRecordIsSound) {
  for (const Target *target : registry().targets()) {
    std::vector<std::string> names = target->chips();
    names.push_back(target->defaultChip());
    for (const std::string &name : names) {
      if (target->name() == "between" && name == "columns")
        continue; // wrong on purpose, where ScratchpadTest.cpp ran before in this process
      auto chip = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(chip));
      auto *table = dynamic_cast<const TableDescription *>(chip->get());
      if (table)
        EXPECT_EQ(checkChip(table->table()), std::vector<std::string>()) << name;
      double last = 1e30;
      for (const MatrixUnit &unit : (*chip)->units()) {
        EXPECT_EQ(checkUnit(unit), std::vector<std::string>()) << unit.name;
        EXPECT_TRUE(llvm::StringRef(unit.name).starts_with((target->name() + ".").str())) << unit.name;
        EXPECT_EQ((*chip)->unit(unit.name), &unit);
        EXPECT_LE(unit.flopsPerClock(), last) << "not fastest first: " << unit.name;
        last = unit.flopsPerClock();
        for (const std::string &feature : unit.features)
          EXPECT_TRUE((*chip)->hasFeature(feature)) << unit.name << " without " << feature;
      }
    }
  }
}

TEST(TargetRegistry, KeepsDescriptions) {
  auto first = registry().describe("cpu:zen4"), second = registry().describe("cpu:zen4");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->get(), second->get());
}

TEST(TargetRegistry, OffersTheNearestNames) {
  EXPECT_NE(message(registry().describe("cpi:zen4")).find("unknown target 'cpi'; did you mean 'cpu'?"),
            std::string::npos);
  EXPECT_NE(message(registry().describe("cpu:zem4")).find("unknown chip of target 'cpu' 'zem4'; did you mean 'zen4'?"),
            std::string::npos);
  EXPECT_NE(message(registry().describe("cpu:neoverse")).find("did you mean 'neoverse-v1'?"), std::string::npos);
  std::string text = llvm::toString(unknownName("fruit", "xyzzy", {"apple", "pear"}));
  EXPECT_EQ(text, "unknown fruit 'xyzzy' (known: apple, pear)");
}

TEST(TargetRegistry, RefusesASecondTargetOfOneName) {
  class Twin : public Target {
    llvm::StringRef name() const override { return "cpu"; }
    std::vector<std::string> chips() const override { return {}; }
    llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef) const override {
      return llvm::createStringError("no chips");
    }
  };
  EXPECT_EQ(llvm::toString(registry().add(std::make_unique<Twin>())), "target 'cpu' is already registered");
}

TEST(TargetPlugin, SaysBothVersions) {
  EXPECT_EQ(incompatibility(soundPlugin()), "");
  TargetPlugin plugin = soundPlugin();
  plugin.apiVersion = 99;
  std::string refusal = incompatibility(plugin);
  EXPECT_NE(refusal.find("it was built for target API version 99, this build has version " +
                         std::to_string(targetApiVersion) + ";"),
            std::string::npos)
      << refusal;
  plugin = soundPlugin();
  plugin.llvmMinor = 7;
  EXPECT_EQ(incompatibility(plugin), "it was built with LLVM 22.7, this build uses LLVM 22.1");
  plugin = soundPlugin();
  plugin.create = nullptr;
  EXPECT_EQ(incompatibility(plugin), "its plugin structure lacks the hook 'create'");
  plugin = soundPlugin();
  plugin.rtti = 1 - builtWithRtti;
  EXPECT_NE(incompatibility(plugin).find("RTTI"), std::string::npos);
  plugin = soundPlugin();
  plugin.size = 8;
  EXPECT_NE(incompatibility(plugin).find("has 8 bytes"), std::string::npos);
}

TEST(TargetOf, ReadsTheModuleAttribute) {
  registry();
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  EXPECT_NE(message(targetOf(*module)).find("no attribute 'tilewright.target'"), std::string::npos);
  (*module)->setAttr("tilewright.target", mlir::StringAttr::get(&context, "cpu:x86-64-v3"));
  auto chip = targetOf(*module);
  ASSERT_TRUE(static_cast<bool>(chip));
  EXPECT_EQ((*chip)->chip(), "x86-64-v3");
  EXPECT_EQ((*chip)->vectorRegisters(), (std::pair<int64_t, int64_t>(16, 32)));
  std::vector<const Memory *> caches = (*chip)->caches();
  ASSERT_EQ(caches.size(), 3u);
  EXPECT_EQ(caches.front()->name, "l1");
  EXPECT_EQ((*chip)->codegen().cpu, "x86-64-v3");
  EXPECT_EQ((*chip)->number(Number::Load), 2.0);
  EXPECT_EQ((*chip)->number(Number::Launch), std::nullopt);
}

TEST(DecisionLog, CollectsWhileItLives) {
  mlir::MLIRContext context;
  EXPECT_EQ(DecisionLog::of(&context), nullptr);
  {
    DecisionLog log(&context);
    ASSERT_EQ(DecisionLog::of(&context), &log);
    log.add("tile", mlir::FileLineColLoc::get(&context, "f.mlir", 3, 4),
            llvm::json::Object{{"choice", llvm::json::Object{{"rows", 6}}}, {"reason", "fits"}});
    llvm::json::Array taken = log.take();
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].getAsObject()->getString("decision"), "tile");
    std::string text;
    llvm::raw_string_ostream os(text);
    DecisionLog::printText(taken, os);
    EXPECT_EQ(text, "\"f.mlir\":3:4: tile\n  choice: rows = 6\n  reason: fits\n");
    EXPECT_TRUE(log.take().empty());
  }
  EXPECT_EQ(DecisionLog::of(&context), nullptr);
}

} // namespace target_test
