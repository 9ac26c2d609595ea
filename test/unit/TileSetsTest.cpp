//===- TileSetsTest.cpp - What a tile of a nest touches -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/TileSets.h"
#include "core/Analysis/AffineAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

namespace tile_sets_test {

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// The accesses of a function, and its loops in the order of writing.
struct Nests {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<AffineForOp> loops;
  SmallVector<Operation *> accesses;

  explicit Nests(const std::string &body) {
    context.loadDialect<AffineDialect, arith::ArithDialect, func::FuncDialect, memref::MemRefDialect>();
    module = parseSourceString<ModuleOp>(
        "func.func @f(%a: memref<64x64xf32>, %b: memref<?xf32>, %n: index, %x: f32) {\n" + body + "\nreturn }",
        &context);
    EXPECT_TRUE(bool(module)) << body;
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto loop = dyn_cast<AffineForOp>(op))
        loops.push_back(loop);
      if (isa<AffineLoadOp, AffineStoreOp>(op))
        accesses.push_back(op);
    });
  }

  MemRefType type(unsigned access) { return cast<MemRefType>(affineAccess(accesses[access]).memref.getType()); }
};

std::string textOf(ArrayRef<AffineExpr> expressions) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(expressions, os);
  return text;
}

} // namespace

TEST(TileSets, AWindowIsTheBoxOfAllItsTaps) {
  Nests nests("affine.for %t = 0 to 15 { affine.for %i = 0 to 4 { affine.for %j = 0 to 30 {"
              "%p = affine.load %a[%t * 4 + %i, %j] : memref<64x64xf32>"
              "%q = affine.load %a[%t * 4 + %i + 2, %j + 1] : memref<64x64xf32> } } }");
  TileSets sets(*nests.loops[0].getBody());
  std::string reason;
  TileRelation both = sets.touched(nests.accesses[0]).unite(sets.touched(nests.accesses[1]));
  auto box = sets.box(both, nests.type(0), reason);
  ASSERT_TRUE(box) << reason;
  EXPECT_EQ(textOf(box->offset), "d0 * 4, 0");
  EXPECT_EQ(box->size, (SmallVector<int64_t>{6, 31}));
  EXPECT_EQ(textOf(box->extent), "6, 31");
  EXPECT_EQ(box->elements(), 186);
  EXPECT_FALSE(sets.covers(both, *box)); // two corners are in neither
}

TEST(TileSets, ASmallerTileHasABoxToo) {
  Nests nests("affine.for %t = affine_map<()[s] -> (s floordiv 8)>()[%n] to affine_map<()[s] -> (s ceildiv 8)>()[%n] {"
              "affine.for %i = 0 to affine_map<()[s] -> (s mod 8)>()[%n] {"
              "affine.store %x, %b[%t * 8 + %i] : memref<?xf32> } }");
  TileSets sets(*nests.loops[0].getBody());
  std::string reason;
  TileRelation written = sets.touched(nests.accesses[0]);
  auto box = sets.box(written, nests.type(0), reason);
  ASSERT_TRUE(box) << reason;
  EXPECT_LE(box->size[0], 8);
  EXPECT_TRUE(sets.covers(written, *box));
}

TEST(TileSets, WhatIsWrittenInStepsIsNotTheWholeBox) {
  Nests nests("affine.for %t = 0 to 4 { affine.for %i = 0 to 4 { affine.for %j = 0 to 64 {"
              "affine.store %x, %a[%t * 16 + %i * 2, %j] : memref<64x64xf32> } } }");
  TileSets sets(*nests.loops[0].getBody());
  std::string reason;
  TileRelation written = sets.touched(nests.accesses[0]);
  auto box = sets.box(written, nests.type(0), reason);
  ASSERT_TRUE(box) << reason;
  EXPECT_EQ(box->size, (SmallVector<int64_t>{7, 64}));
  EXPECT_FALSE(sets.covers(written, *box));
}

TEST(TileSets, ALoopMayBeCutInThought) {
  Nests nests(
      "affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.store %x, %a[%i, 63 - %j] : memref<64x64xf32> } }");
  llvm::SmallMapVector<AffineForOp, int64_t, 4> tiles;
  tiles[nests.loops[0]] = 10;
  tiles[nests.loops[1]] = 64;
  TileSets sets(*nests.loops[1].getBody(), tiles);
  std::string reason;
  TileRelation written = sets.touched(nests.accesses[0]);
  auto box = sets.box(written, nests.type(0), reason);
  ASSERT_TRUE(box) << reason;
  EXPECT_EQ(box->size, (SmallVector<int64_t>{10, 64}));
  EXPECT_TRUE(sets.covers(written, *box));
}

TEST(TileSets, WhyThereIsNoBox) {
  Nests nests("affine.for %i = 0 to %n { affine.store %x, %b[%i] : memref<?xf32> }");
  TileSets sets(nests.module->getBody()->front().getRegion(0).front());
  std::string reason;
  EXPECT_FALSE(sets.box(sets.touched(nests.accesses[0]), nests.type(0), reason));
  EXPECT_EQ(reason, "the elements that a tile touches have no box of constant size");
  EXPECT_FALSE(sets.box({}, nests.type(0), reason));
  EXPECT_EQ(reason, "its indices are not affine in the loops");
}

TEST(TileSets, LoadsOfWhatTheTileWroteItself) {
  auto own = [](const std::string &body) {
    Nests nests(body);
    return readsOwn(nests.accesses);
  };
  // A sum that is begun before; one that is not; one that reads beyond what was begun.
  EXPECT_TRUE(own("affine.for %i = 0 to 64 { affine.store %x, %a[%i, 0] : memref<64x64xf32>"
                  " affine.for %j = 0 to 64 { %p = affine.load %a[%i, 0] : memref<64x64xf32>"
                  " affine.store %p, %a[%i, 0] : memref<64x64xf32> } }"));
  EXPECT_FALSE(own("affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { %p = affine.load %a[%i, 0] : memref<64x64xf32>"
                   " affine.store %p, %a[%i, 0] : memref<64x64xf32> } }"));
  EXPECT_FALSE(own("affine.for %i = 0 to 63 { affine.store %x, %a[%i, 0] : memref<64x64xf32>"
                   " affine.for %j = 0 to 64 { %p = affine.load %a[%i + 1, 0] : memref<64x64xf32> } }"));
  EXPECT_TRUE(own("affine.for %i = 0 to 64 { affine.store %x, %a[%i, 0] : memref<64x64xf32> }"
                  "affine.for %i = 0 to 60 { %p = affine.load %a[%i + 3, 0] : memref<64x64xf32> }"));
}

/// Boxes against a walk over all iterations, for random linear accesses of two loops in a tile.
TEST(TileSets, BoxesHoldWhatIsTouched) {
  std::mt19937 random(7);
  auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 40; ++round) {
    int tile = number(1, 5), trips = number(1, 4), a = number(0, 2), b = number(0, 2), c = number(0, 3),
        d = number(0, 2), e = number(0, 2);
    std::string body = "affine.for %t = 0 to 3 { affine.for %i = 0 to " + std::to_string(tile) +
                       " { affine.for %j = 0 to " + std::to_string(trips) + " { affine.store %x, %a[(%t * " +
                       std::to_string(tile) + " + %i) * " + std::to_string(a) + " + %j * " + std::to_string(b) + " + " +
                       std::to_string(c) + ", %j * " + std::to_string(d) + " + %i * " + std::to_string(e) +
                       "] : memref<64x64xf32> } } }";
    Nests nests(body);
    TileSets sets(*nests.loops[0].getBody());
    std::string reason;
    TileRelation written = sets.touched(nests.accesses[0]);
    auto box = sets.box(written, nests.type(0), reason);
    ASSERT_TRUE(box) << body << reason;
    for (int t = 0; t < 3; ++t) {
      std::set<std::pair<int64_t, int64_t>> touched;
      int64_t most[2] = {-1, -1}, least[2] = {1000, 1000};
      for (int i = 0; i < tile; ++i)
        for (int j = 0; j < trips; ++j) {
          int64_t at[2] = {(t * tile + i) * a + j * b + c, j * d + i * e};
          touched.insert({at[0], at[1]});
          for (int k = 0; k < 2; ++k) {
            most[k] = std::max(most[k], at[k]);
            least[k] = std::min(least[k], at[k]);
          }
        }
      SmallVector<int64_t> dims(sets.outer().size(), t);
      auto value = [&](AffineExpr expr) {
        AffineMap map = AffineMap::get(dims.size(), 0, expr);
        SmallVector<Attribute> constants;
        Builder builder(&nests.context);
        for (int64_t dim : dims)
          constants.push_back(builder.getIndexAttr(dim));
        SmallVector<Attribute> results;
        EXPECT_TRUE(succeeded(map.constantFold(constants, results)));
        return cast<IntegerAttr>(results[0]).getInt();
      };
      int64_t elements = 1;
      for (int k = 0; k < 2; ++k) {
        EXPECT_EQ(value(box->offset[k]), least[k]) << body;
        EXPECT_EQ(value(box->extent[k]), most[k] - least[k] + 1) << body;
        EXPECT_GE(box->size[k], most[k] - least[k] + 1) << body;
        elements *= most[k] - least[k] + 1;
      }
      EXPECT_EQ(sets.covers(written, *box), int64_t(touched.size()) == elements) << body;
    }
  }
}

} // namespace tile_sets_test
