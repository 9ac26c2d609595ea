//===- LaneInstructionTest.cpp - What a lane does by records --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The op that each form of emission gives, who goes first where a target says
/// something too, and what registration refuses.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Machine/LaneChecks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/CallLaneOps.h"
#include "tilewright/ChipTable.h"
#include <gtest/gtest.h>

namespace lane_instruction_test {

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

/// A target that says only what no record can.
class BareLaneOps : public LaneOps {
public:
  using LaneOps::LaneOps;
  Value shuffle(OpBuilder &, Location, Value value, Value) const override { return value; }
  void finishLaunch(LLVM::LLVMFuncOp, const LaunchShape &) const override {}
};

TableDescription chipWith(std::vector<LaneInstruction> instructions) {
  ChipTable table;
  table.name = "one";
  table.laneInstructions = std::move(instructions);
  return TableDescription("test", table);
}

/// What `make` writes into a function, and the messages.
std::string written(llvm::function_ref<void(OpBuilder &, Location)> make) {
  MLIRContext &context = programContext();
  context.loadDialect<func::FuncDialect, LLVM::LLVMDialect>();
  context.loadAllAvailableDialects();
  std::string text;
  llvm::raw_string_ostream os(text);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    os << "error: " << diagnostic << "\n";
    return success();
  });
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "f", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  make(builder, builder.getUnknownLoc());
  module->print(os, OpPrintingFlags().printGenericOpForm());
  return text;
}

bool has(const std::string &text, llvm::StringRef part) { return llvm::StringRef(text).contains(part); }

TEST(LaneInstructions, EachFormOfEmissionIsMade) {
  TableDescription chip =
      chipWith({{"barrier", {EmissionKind::InlineAsm, "acme.barrier", {}}},
                {"wait_copy", {EmissionKind::LlvmIntrinsic, "llvm.nvvm.cp.async.wait.group", {"$0"}}},
                {"commit_copy", {EmissionKind::ExternalCall, "acme_commit", {}}},
                {"wait_store", {EmissionKind::MlirOp, "nvvm.cp.async.bulk.wait_group", {"group=$0", "read=unit"}}}});
  BareLaneOps ops(chip);
  std::string text = written([&](OpBuilder &builder, Location loc) {
    ops.barrier(builder, loc);
    ops.waitCopies(builder, loc, 3);
    ops.commitCopies(builder, loc);
    ops.waitStores(builder, loc, 2);
    ops.keepOrder(builder, loc); // no record: a hint that the chip does not take
  });
  EXPECT_TRUE(has(text, "asm_string = \"acme.barrier\"")) << text;
  EXPECT_TRUE(has(text, "value = 3 : i32") && has(text, "llvm.nvvm.cp.async.wait.group")) << text;
  EXPECT_TRUE(has(text, "callee = @acme_commit")) << text;
  EXPECT_TRUE(has(text, "nvvm.cp.async.bulk.wait_group") && has(text, "group = 2 : i32, read")) << text;
  EXPECT_FALSE(has(text, "error") || has(text, "value = 2")) << text;
}

TEST(LaneInstructions, RecordsStandBeforeCalls) {
  TableDescription chip = chipWith({{"barrier", {EmissionKind::ExternalCall, "meet", {}}}});
  CallLaneOps ops(chip, "acme.");
  std::string text = written([&](OpBuilder &builder, Location loc) {
    ops.barrier(builder, loc);
    ops.threadId(builder, loc);
  });
  EXPECT_TRUE(has(text, "callee = @meet") && has(text, "callee = @acme.lane_x")) << text;
  EXPECT_FALSE(has(text, "acme.barrier")) << text;
}

/// A target of one chip that runs lanes, with these records.
class OneChip : public Target {
public:
  explicit OneChip(std::vector<LaneInstruction> instructions) {
    table.name = "one";
    table.levels = {
        {"grid", LevelKind::Parallel, 4}, {"block", LevelKind::Concurrent, 8}, {"warp", LevelKind::Lockstep, 32}};
    table.laneInstructions = std::move(instructions);
  }
  llvm::StringRef name() const override { return "test"; }
  std::vector<std::string> chips() const override { return {"one"}; }
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef) const override {
    return std::make_shared<TableDescription>("test", table);
  }
  std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const override {
    return std::make_unique<BareLaneOps>(chip);
  }
  void registerDialects(DialectRegistry &registry) const override { registry.insert<NVVM::NVVMDialect>(); }

private:
  ChipTable table;
};

/// What registration says of a chip with these records, after those that each chip needs.
std::string refusal(std::vector<LaneInstruction> instructions) {
  for (const char *word : {"lane_x", "block_x", "block_y", "block_z", "barrier"})
    if (llvm::none_of(instructions, [&](const LaneInstruction &each) { return each.does == word; }))
      instructions.push_back({word, {EmissionKind::ExternalCall, std::string("acme.") + word, {}}});
  return missingHook(OneChip(std::move(instructions)));
}

LaneInstruction op(std::string does, std::string name, std::vector<std::string> arguments) {
  return {std::move(does), {EmissionKind::MlirOp, std::move(name), std::move(arguments)}};
}

TEST(LaneInstructions, SoundRecordsAreTaken) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({op("grow_registers", "nvvm.setmaxregister", {"regCount=$0", "action=#nvvm<action increase>"}),
                     op("phase_init", "nvvm.mbarrier.init", {"$0", "$1"}),
                     {"wait_copy", {EmissionKind::LlvmIntrinsic, "llvm.nvvm.cp.async.wait.group", {"$0"}}}}),
            "");
}

TEST(LaneInstructions, AttributesThatCannotBeParsedAreRefused) {
  std::string text =
      refusal({op("grow_registers", "nvvm.setmaxregister", {"regCount=$0", "action=#nvvm.action<increase>"})});
  EXPECT_TRUE(llvm::StringRef(text).starts_with(
      "chip 'one': field 'laneInstructions': 'grow_registers' has the argument \"action=#nvvm.action<increase>\", of "
      "which MLIR cannot parse what stands after '=': "))
      << text;
  EXPECT_TRUE(has(text, "write it as MLIR prints this attribute of an op \"nvvm.setmaxregister\" in its generic form"))
      << text;
  text = refusal({op("wait_store", "nvvm.cp.async.bulk.wait_group", {"group=$0", "read=unit unit"})});
  EXPECT_TRUE(has(text, "'wait_store' has the argument \"read=unit unit\"")) << text;
}

TEST(LaneInstructions, OpsThatDialectsLackAreRefused) {
  EXPECT_EQ(refusal({op("commit_copy", "nvvm.cp.async.comit.group", {})}),
            "chip 'one': field 'laneInstructions': 'commit_copy' names the op \"nvvm.cp.async.comit.group\", which no "
            "dialect has that the hooks 'registerDialects' of targets give; did you mean "
            "\"nvvm.cp.async.commit.group\"?");
  EXPECT_EQ(refusal({op("wait_copy", "nvvm.cp.async.wait.group", {"groups=$0"})}),
            "chip 'one': field 'laneInstructions': 'wait_copy' gives the op \"nvvm.cp.async.wait.group\" the attribute "
            "'groups', which it does not have; it has n");
}

TEST(LaneInstructions, OpsThatAreNotValidAreRefused) {
  std::string text = refusal({op("wait_copy", "nvvm.cp.async.wait.group", {})});
  EXPECT_TRUE(has(text, "'wait_copy' makes an op that MLIR refuses: ") && has(text, "attribute 'n'")) << text;
  text = refusal({op("phase_init", "nvvm.mbarrier.init", {"$1", "$0"})});
  EXPECT_TRUE(has(text, "'phase_init' makes an op that MLIR refuses: ") && has(text, "operand #0")) << text;
}

TEST(LaneInstructions, WhatNobodySaysIsNamed) {
  EXPECT_EQ(missingHook(OneChip({{"barrier", {EmissionKind::ExternalCall, "acme.barrier", {}}}})),
            "chip 'one': nothing says how a lane does 'lane_x': the chip needs a LaneInstruction record for it, or the "
            "target's LaneOps a function");
}

TEST(LaneInstructions, ChipsOfLinkedTargetsAreSound) {
  programContext(); // links the targets
  unsigned records = 0;
  for (const Target *target : TargetRegistry::get().targets())
    for (const std::string &name : target->chips()) {
      auto chip = target->describe(name);
      ASSERT_TRUE(static_cast<bool>(chip)) << llvm::toString(chip.takeError());
      records += (*chip)->laneInstructions().size();
      EXPECT_EQ(laneFault(*target, **chip), "") << name;
    }
  EXPECT_GT(records, 100u);
}

} // namespace

} // namespace lane_instruction_test
