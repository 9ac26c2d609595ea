//===- LaneGridTest.cpp - Grids that devices can start --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which dimensions of a grid become one, and that each block of it has the numbers
/// that it had before, at the ends of every dimension.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/LaneGrid.h"
#include "LaunchFixture.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

namespace lane_grid_test {

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

/// A grid over `extents` (0: the function's argument), whose blocks pass their numbers to one op.
struct Grid {
  explicit Grid(ArrayRef<int64_t> extents) : context(programContext()), builder(&context) {
    context.loadDialect<func::FuncDialect, arith::ArithDialect, affine::AffineDialect, tile::TileDialect>();
    Location loc = builder.getUnknownLoc();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    Type index = builder.getIndexType();
    auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType({index}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    SmallVector<AffineExpr> bounds;
    for (int64_t extent : extents)
      bounds.push_back(extent ? builder.getAffineConstantExpr(extent) : builder.getAffineSymbolExpr(0));
    grid = tile::ParallelOp::create(builder, loc, AffineMap::get(0, 1, bounds, &context), function.getArguments(),
                                    "grid", [&](OpBuilder &inside, Location loc, ValueRange indices) {
                                      user = UnrealizedConversionCastOp::create(inside, loc, TypeRange(index), indices);
                                    });
    func::ReturnOp::create(builder, loc);
  }

  bool fit() {
    auto chip = llvm::cantFail(TargetRegistry::get().describe("nvidia:A100"));
    FailureOr<tile::ParallelOp> result = fitGrid(grid, LaneHierarchy::of(chip->graph()));
    if (failed(result))
      return false;
    grid = *result;
    EXPECT_TRUE(succeeded(verify(*module)));
    return true;
  }

  SmallVector<AffineExpr> bounds() { return SmallVector<AffineExpr>(grid.getUpperBounds().getResults()); }

  /// The numbers that the block of these has; `size`: of the function's argument.
  SmallVector<int64_t> numbersOf(ArrayRef<int64_t> block, int64_t size) {
    llvm::DenseMap<Value, int64_t> values;
    values[grid.getBoundOperands().front()] = size;
    Block &body = grid.getBody().front();
    for (auto [argument, number] : llvm::zip_equal(body.getArguments(), block))
      values[argument] = number;
    for (Operation &op : body) {
      auto operand = [&](unsigned i) { return values.at(op.getOperand(i)); };
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        values[constant] = cast<IntegerAttr>(constant.getValue()).getInt();
      else if (isa<arith::IndexCastUIOp, affine::AffineApplyOp>(op)) // of the size alone
        values[op.getResult(0)] = operand(0);
      else if (isa<arith::RemUIOp>(op))
        values[op.getResult(0)] = operand(0) % operand(1);
      else if (isa<arith::DivUIOp>(op))
        values[op.getResult(0)] = operand(0) / operand(1);
    }
    return llvm::map_to_vector(user->getOperands(), [&](Value number) { return values.at(number); });
  }

  MLIRContext &context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  tile::ParallelOp grid;
  UnrealizedConversionCastOp user;
};

TEST(FitGrid, StaysWhereItFits) {
  for (const SmallVector<int64_t> &extents :
       {SmallVector<int64_t>{65535, 65535, 7}, {3, 2147483647}, {2147483647}, {2, 0}}) {
    Grid grid(extents);
    SmallVector<AffineExpr> before = grid.bounds();
    ASSERT_TRUE(grid.fit());
    EXPECT_EQ(grid.bounds(), before);
  }
}

TEST(FitGrid, OneDimensionFromTheLongOneOn) {
  Grid grid({70000, 4, 3});
  ASSERT_TRUE(grid.fit());
  ASSERT_EQ(grid.bounds().size(), 1u);
  EXPECT_EQ(grid.bounds()[0], grid.builder.getAffineConstantExpr(70000 * 4 * 3));
  for (int64_t o : {0, 1, 69999})
    for (int64_t m : {0, 3})
      for (int64_t n : {0, 2})
        EXPECT_EQ(grid.numbersOf({(o * 4 + m) * 3 + n}, 1), (SmallVector<int64_t>{o, m, n}));
}

/// What is outside of the long dimension keeps its own.
TEST(FitGrid, DimensionsBeforeItStay) {
  Grid grid({5, 65536, 3});
  ASSERT_TRUE(grid.fit());
  ASSERT_EQ(grid.bounds().size(), 2u);
  EXPECT_EQ(grid.bounds()[0], grid.builder.getAffineConstantExpr(5));
  EXPECT_EQ(grid.numbersOf({4, 65535 * 3 + 2}, 1), (SmallVector<int64_t>{4, 65535, 2}));
}

/// Some call may have more than 65535 of them.
TEST(FitGrid, UnknownSizes) {
  Grid grid({0, 0, 2});
  ASSERT_TRUE(grid.fit());
  ASSERT_EQ(grid.bounds().size(), 1u);
  EXPECT_EQ(grid.numbersOf({(80 * 100 + 99) * 2 + 1}, 100), (SmallVector<int64_t>{80, 99, 1}));
}

TEST(FitGrid, TooLongForOneDimension) {
  Grid grid({65536, 65536});
  std::string message;
  ScopedDiagnosticHandler handler(&grid.context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_FALSE(grid.fit());
  EXPECT_NE(message.find("needs 4294967296 blocks along one dimension of its grid"), std::string::npos) << message;
}

} // namespace

} // namespace lane_grid_test
