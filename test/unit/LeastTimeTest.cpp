//===- LeastTimeTest.cpp - What tiles of blocks take at least -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/CostModel/Schedules/TileProgramModel.h"
#include "core/Transforms/Schedule/NestRange.h"
#include "core/Transforms/Tile/TileNests.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

namespace least_time_test {

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;
using namespace tilewright::test;

namespace {

/// o = (q k') v, with q k' in f32 and then in f16; `last`: what the second product reads of it.
std::string twoProducts(const std::string &last) {
  return R"(func.func @f(%q: memref<128x64xf16>, %k: memref<256x64xf16>,
                              %v: memref<256x64xf16>, %o: memref<128x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x256xf32>
  %p = memref.alloc() : memref<128x4x64xf16>
  affine.for %i = 0 to 128 { affine.for %j = 0 to 256 { affine.store %zero, %s[%i, %j] : memref<128x256xf32> } }
  affine.for %i = 0 to 128 { affine.for %j = 0 to 256 { affine.for %l = 0 to 64 {
    %a = affine.load %q[%i, %l] : memref<128x64xf16>
    %b = affine.load %k[%j, %l] : memref<256x64xf16>
    %c = affine.load %s[%i, %j] : memref<128x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %d = arith.addf %c, %m : f32
    affine.store %d, %s[%i, %j] : memref<128x256xf32> } } }
  affine.for %i = 0 to 128 { affine.for %g = 0 to 4 { affine.for %j = 0 to 64 {
    %a = affine.load %s[%i, %g * 64 + %j] : memref<128x256xf32>
    %b = arith.truncf %a : f32 to f16
    affine.store %b, %p[%i, %g, %j] : memref<128x4x64xf16> } } }
  affine.for %i = 0 to 128 { affine.for %n = 0 to 64 { affine.store %zero, %o[%i, %n] : memref<128x64xf32> } }
  affine.for %i = 0 to 128 { affine.for %n = 0 to 64 { affine.for %g = 0 to 4 { affine.for %j = 0 to 64 {
    %a = affine.load %p[)" +
         last + R"(] : memref<128x4x64xf16>
    %b = affine.load %v[%g * 64 + %j, %n] : memref<256x64xf16>
    %c = affine.load %o[%i, %n] : memref<128x64xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %m = arith.mulf %x, %y : f32
    %d = arith.addf %c, %m : f32
    affine.store %d, %o[%i, %n] : memref<128x64xf32> } } } }
  return })";
}

/// The same with loops that are not cut into groups.
std::string withoutGroups(std::string text) {
  for (auto [from, to] :
       {std::pair("affine.for %g = 0 to 4 { affine.for %j = 0 to 64 {", "affine.for %j = 0 to 256 {"),
        std::pair("%g * 64 + %j", "%j"), std::pair("%i, %g, %j", "%i, %j"), std::pair("128x4x64xf16", "128x256xf16"),
        std::pair("128x256xf16> } } }", "128x256xf16> } }"), std::pair("} } } }\n", "} } }\n")})
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, StringRef(from).size(), to);
  return text;
}

/// The numbers of nests that are needed, the last one first.
SmallVector<size_t> neededOf(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &programContext());
  EXPECT_TRUE(bool(module));
  auto nests = llvm::to_vector((*module->getOps<func::FuncOp>().begin()).front().getOps<AffineForOp>());
  std::vector<Nest> analysed;
  for (AffineForOp nest : nests)
    analysed.push_back(*analyzeNest(nest));
  CoveredArrays covered;
  std::optional<NestRange> range = findRange(nests, analysed, 1, /*keepsResults=*/true, covered);
  EXPECT_TRUE(range.has_value());
  return range ? neededNests(*range) : SmallVector<size_t>();
}

} // namespace

TEST(LeastTime, WhatIsReadInPartIsNotNeeded) {
  EXPECT_EQ(neededOf(twoProducts("%i, %g, %j")), (SmallVector<size_t>{4, 3, 2, 1, 0}));
  EXPECT_EQ(neededOf(twoProducts("0, %g, %j")), (SmallVector<size_t>{4, 3}));
  EXPECT_EQ(neededOf(twoProducts("%i, %g, %g * 16 + %j floordiv 4")), (SmallVector<size_t>{4, 3}));
}

TEST(LeastTime, NoTilesAreFasterThanTheirUnits) {
  programContext().loadDialect<tile::TileDialect>();
  auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:H200"));
  const LaneHierarchy hierarchy = LaneHierarchy::of(chip->graph());
  llvm::SmallBitVector units(chip->units().size());
  for (auto [i, unit] : llvm::enumerate(chip->units()))
    units[i] = unit.a.element == ElementKind::F16;
  const double products = 2.0 * 128 * 256 * 64;
  const NumericFreedom freedom;
  for (int64_t rows : {16, 32, 64}) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(withoutGroups(twoProducts("%i, %g, %j")), &programContext());
    ASSERT_TRUE(bool(module));
    AffineForOp first = *(*module->getOps<func::FuncOp>().begin()).front().getOps<AffineForOp>().begin();
    SmallVector<tile::TiledLoopAttr> loops{tile::TiledLoopAttr::get(&programContext(), 9, rows, /*spread=*/true)};
    first->setAttr(tile::scheduleAttr, tile::ScheduleAttr::get(&programContext(), chip->graph().parallelLevel()->name,
                                                               128 / rows, 5, loops, {}, 0, 1, 1));
    TileRefusal refusal;
    FailureOr<tile::ParallelOp> tiles = tileNests(first, refusal);
    ASSERT_TRUE(succeeded(tiles)) << refusal.reason;
    std::string reason;
    FailureOr<TileProgram> program = analyzeTileProgram(*tiles, reason);
    ASSERT_TRUE(succeeded(program)) << reason;
    auto plan = planTileProgram(*program, 128 / rows, *chip, hierarchy, freedom, {}, reason);
    ASSERT_TRUE(plan.has_value()) << reason;
    const double least = leastSecondsOfTiles(products, 128 / rows, *chip, hierarchy, units);
    EXPECT_GE(plan->seconds, least);
    EXPECT_NEAR(least, leastSecondsOfTiles(products, 1, *chip, hierarchy, units) * double(rows) / 128, 1e-12);
  }
}

} // namespace least_time_test
