//===- SizeVersions.cpp - Nests of which one runs -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The number of the version by selections, then a branch for each but the last.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/SizeVersions.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

/// The number of the version that test `number` leads to.
static Value versionOf(IterationSpace &space, ArrayRef<SizeTest> tests, unsigned number) {
  const SizeTest &test = tests[number];
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(space.builder, space.loc, value);
  };
  if (test.isVersion())
    return constant(test.version);
  Value isSmall = arith::CmpIOp::create(space.builder, space.loc, arith::CmpIPredicate::sle,
                                        space.value(space.extent(test.dim)), constant(test.atMost));
  Value yes = versionOf(space, tests, test.yes), no = versionOf(space, tests, test.no);
  return arith::SelectOp::create(space.builder, space.loc, isSmall, yes, no);
}

void tilewright::emitVersions(OpBuilder &builder, Location loc, const Nest &nest, ArrayRef<SizeTest> tests,
                              unsigned versions, function_ref<void(unsigned)> emit) {
  if (versions == 1)
    return emit(0);
  IterationSpace space(builder, loc);
  space.addDimensions(nest.loops);
  Value chosen = versionOf(space, tests, 0);
  auto isChosen = [&](unsigned version) -> Value {
    Value number = arith::ConstantIndexOp::create(builder, loc, version);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, chosen, number);
  };
  emitBranches(builder, loc, versions - 1, isChosen, emit);
}

void tilewright::emitBranches(OpBuilder &builder, Location loc, unsigned count, function_ref<Value(unsigned)> condition,
                              function_ref<void(unsigned)> emit) {
  OpBuilder::InsertionGuard guard(builder);
  for (unsigned i = 0; i < count; ++i) {
    auto branch = scf::IfOp::create(builder, loc, condition(i), /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    emit(i);
    builder.setInsertionPointToStart(branch.elseBlock());
  }
  emit(count);
}

Value tilewright::areWhole(OpBuilder &builder, Location loc, const Nest &nest,
                           ArrayRef<std::pair<unsigned, int64_t>> tiles) {
  IterationSpace space(builder, loc);
  space.addDimensions(nest.loops);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), isWhole;
  auto require = [&](arith::CmpIPredicate predicate, AffineExpr expr) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, space.value(expr), zero);
    isWhole = isWhole ? arith::AndIOp::create(builder, loc, isWhole, holds).getResult() : holds;
  };
  for (auto [dim, tile] : tiles) {
    require(arith::CmpIPredicate::eq, space.extent(dim) % tile);
    require(arith::CmpIPredicate::sgt, space.extent(dim));
  }
  return isWhole;
}
