//===- KnownBoxesTest.cpp - Boxes of tiles, found once --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/KnownBoxes.h"
#include "core/Analysis/AffineAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace known_boxes_test {

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Tiles that differ from the first in one thing each: bounds, steps, what bounds the tile's number, indices through
/// affine.apply, constants, guards, a second access, the array's type, another array.
constexpr const char *tiles = R"(
func.func @f(%a: memref<64x64xf32>, %b: memref<40x64xf32>, %c: memref<64x64xf32>, %n: index, %x: f32) {
  %seven = arith.constant 7 : index
  %nine = arith.constant 9 : index
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 { affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 3 { affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 15 { affine.for %i = 0 to 4 { affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 step 2 { affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 { affine.store %x, %b[%t * 4 + %i, 0] : memref<40x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 { affine.store %x, %c[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to %n { affine.for %i = 0 to 4 { affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%t, %i)
    affine.store %x, %a[%at, symbol(%seven)] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 4 + d1)>(%t, %i)
    affine.store %x, %a[%at, symbol(%nine)] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 {
    %at = affine.apply affine_map<(d0, d1) -> (d0 * 2 + d1)>(%t, %i)
    affine.store %x, %a[%at, symbol(%nine)] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 {
    affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32>
    affine.store %x, %a[%t * 4, %i + 1] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to 4 { affine.if affine_set<(d0) : (d0 - 2 >= 0)>(%t) {
    affine.store %x, %b[%t * 4 + %i, 0] : memref<40x64xf32> } } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to min affine_map<(d0) -> (4, 62 - d0 * 4)>(%t) {
    affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  affine.for %t = 0 to 16 { affine.for %i = 0 to min affine_map<(d0) -> (4, 60 - d0 * 4)>(%t) {
    affine.store %x, %a[%t * 4 + %i, 0] : memref<64x64xf32> } }
  return
})";

std::string textOf(const std::optional<TileBox> &box, const std::string &reason) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!box)
    return reason;
  for (const auto *each : {&box->offset, &box->extent}) {
    llvm::interleaveComma(*each, os);
    os << "; ";
  }
  llvm::interleaveComma(box->size, os);
  return text;
}

} // namespace

TEST(KnownBoxes, AnswersAreThoseOfTheSets) {
  MLIRContext context;
  context.loadDialect<AffineDialect, arith::ArithDialect, func::FuncDialect, memref::MemRefDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(tiles, &context);
  ASSERT_TRUE(bool(module));
  KnownBoxes boxes;
  size_t equal = 0;
  std::string first;
  for (int round = 0; round < 2; ++round) // the second time all of them are known
    for (auto tile : (*module->getOps<func::FuncOp>().begin()).front().getOps<AffineForOp>()) {
      AffineStoreOp store;
      tile->walk([&](AffineStoreOp each) { store = each; });
      TileSets sets(*tile.getBody());
      SmallVector<Operation *> roots = llvm::map_to_vector(*tile.getBody(), [](Operation &op) { return &op; });
      TileRelation relation = sets.touched(store.getMemRef(), roots);
      TouchedBox touched(sets, store.getMemRef(), roots);
      ASSERT_TRUE(bool(touched));
      for (bool hasConstantSize : {true, false}) {
        std::string why, knownWhy;
        auto box = sets.box(relation, store.getMemRefType(), why, hasConstantSize);
        const std::string text = textOf(box, why);
        EXPECT_EQ(textOf(touched.box(knownWhy, hasConstantSize), knownWhy), text) << text;
        first = first.empty() ? text : first;
        equal += hasConstantSize && text == first;
        if (!box)
          continue;
        for (int64_t limit : {30, 60, 63})
          EXPECT_EQ(touched.isAtMost(box->offset[0], limit), sets.isAtMost(relation, box->offset[0], limit)) << text;
      }
    }
  EXPECT_LE(equal, 16u); // of 28: the others have boxes of their own
}

} // namespace known_boxes_test
