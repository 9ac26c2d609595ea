//===- EmulatedProgramTest.cpp - Launches by a manifest -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program of two launches with a temporary between them, on the emulator.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/EmulatedProgram.h"
#include "EmulatorFixture.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

namespace emulated_program_test {

using namespace tilewright;
using namespace tilewright::test;

TEST(EmulatedProgram, RunsItsLaunchesInOrder) {
  if (TargetRegistry::get().targets().empty())
    registerLinkedTargets();
  if (auto chip = TargetRegistry::get().describe("nvidia:A100"); !chip) {
    llvm::consumeError(chip.takeError());
    GTEST_SKIP() << "target nvidia is not linked into this build";
  }
  // y = 4 x: two doublings over a temporary, 32 lanes a block, n = size 0.
  const std::string manifest = R"({"format": 2, "entry": "four", "sizes": 1, "variables": 0, "buffers": 3,
    "arguments": [{"type": "f32", "bytes": 4, "shape": [{"size": 0}], "written": false},
                  {"type": "f32", "bytes": 4, "shape": [{"size": 0}], "written": true}],
    "constants": [], "temporaries": [{"buffer": 2, "bytes": ["*", {"size": 0}, 4]}],
    "steps": [{"launch": "twice", "threads": 32, "grid": [["ceildiv", {"size": 0}, 32], 1, 1],
               "arguments": [{"buffer": 0}, {"buffer": 2}, {"value": {"size": 0}}]},
              {"launch": "twice", "threads": 32, "grid": [["ceildiv", {"size": 0}, 32], 1, 1],
               "arguments": [{"buffer": 2}, {"buffer": 1}, {"value": {"size": 0}}]}]})";
  const char *text = R"(
module attributes {tilewright.target = "nvidia:A100"} {
llvm.func @tilewright.primitive.lane_x() -> i32
llvm.func @tilewright.primitive.block_x() -> i32
llvm.func @twice(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64) attributes {tilewright.kernel} {
  %width = llvm.mlir.constant(32 : i32) : i32
  %lane = llvm.call @tilewright.primitive.lane_x() : () -> i32
  %block = llvm.call @tilewright.primitive.block_x() : () -> i32
  %first = llvm.mul %block, %width : i32
  %index = llvm.add %first, %lane : i32
  %i = llvm.zext %index : i32 to i64
  %inside = llvm.icmp "ult" %i, %n : i64
  llvm.cond_br %inside, ^go, ^end
^go:
  %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %from : !llvm.ptr -> f32
  %w = llvm.fadd %v, %v : f32
  %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %w, %to : f32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
})";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &kernelContext());
  ASSERT_TRUE(module);
  mlir::Builder builder(&kernelContext());
  (*module)->setAttr(manifestsAttr, builder.getStrArrayAttr({manifest}));
  auto program = EmulatedProgram::compile(*module);
  ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
  std::vector<float> x(50), y(50);
  for (int i = 0; i < 50; ++i)
    x[i] = i;
  llvm::Error error = (*program)->call({50}, {x.data(), y.data()});
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(y[i], 4 * x[i]);
  EXPECT_TRUE((*program)->findings().empty());
  ASSERT_EQ((*program)->counters().size(), 1u);
  EXPECT_EQ((*program)->counters()[0].blocks, 4u);
  EXPECT_EQ((*program)->counters()[0].memories[0].readBytes, 400u);
}

} // namespace emulated_program_test
