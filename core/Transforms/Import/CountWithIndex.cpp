//===- CountWithIndex.cpp - Loops over integers count with index ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The last value of a loop plus its step may pass the end of the loop's type.
/// In a wider type it does not, so that the loop ends there as its bounds say;
/// an unsigned loop of 64 bits counts its iterations.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {
#define GEN_PASS_DEF_COUNTWITHINDEX
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

/// Makes `loop` count with index. A step is positive, so its bits are a number without a sign in each case.
static void countWithIndex(scf::ForOp loop) {
  Location loc = loop.getLoc();
  Type narrow = loop.getInductionVar().getType();
  OpBuilder b(loop);
  auto widen = [&](OpOperand &bound, bool isUnsigned) {
    Value value = bound.get();
    bound.set(isUnsigned ? arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value).getResult()
                         : arith::IndexCastOp::create(b, loc, b.getIndexType(), value).getResult());
  };
  widen(loop.getLowerBoundMutable(), loop.getUnsignedCmp());
  widen(loop.getUpperBoundMutable(), loop.getUnsignedCmp());
  widen(loop.getStepMutable(), /*isUnsigned=*/true);
  loop.setUnsignedCmp(false);

  Value index = loop.getInductionVar();
  index.setType(b.getIndexType());
  if (index.use_empty())
    return;
  b.setInsertionPointToStart(loop.getBody());
  auto low = arith::IndexCastOp::create(b, loc, narrow, index);
  index.replaceAllUsesExcept(low, low);
}

/// Makes `loop`, whose bounds are 64 bits without a sign, count its iterations: ceildiv(max(end, first) - first, step).
static void countIterations(scf::ForOp loop) {
  Location loc = loop.getLoc();
  Type type = loop.getInductionVar().getType();
  Value first = loop.getLowerBound(), step = loop.getStep();
  OpBuilder b(loop);
  Value end = arith::MaxUIOp::create(b, loc, loop.getUpperBound(), first);
  Value distance = arith::SubIOp::create(b, loc, end, first);
  Value trips = arith::CeilDivUIOp::create(b, loc, distance, step);
  if (!type.isIndex())
    trips = arith::IndexCastOp::create(b, loc, b.getIndexType(), trips);
  loop.setLowerBound(arith::ConstantIndexOp::create(b, loc, 0));
  loop.setUpperBound(trips);
  loop.setStep(arith::ConstantIndexOp::create(b, loc, 1));
  loop.setUnsignedCmp(false);

  Value index = loop.getInductionVar();
  index.setType(b.getIndexType());
  if (index.use_empty())
    return;
  SmallVector<OpOperand *> uses = llvm::map_to_vector(index.getUses(), [](OpOperand &use) { return &use; });
  b.setInsertionPointToStart(loop.getBody());
  Value number = type.isIndex() ? index : arith::IndexCastOp::create(b, loc, type, index).getResult();
  Value value = arith::AddIOp::create(b, loc, first, arith::MulIOp::create(b, loc, number, step));
  for (OpOperand *use : uses)
    use->set(value);
}

namespace {
struct CountWithIndex : tilewright::impl::CountWithIndexBase<CountWithIndex> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      Type type = loop.getInductionVar().getType();
      if (!type.isIndex() && type.getIntOrFloatBitWidth() < 64)
        countWithIndex(loop);
      else if (loop.getUnsignedCmp())
        countIterations(loop);
    });
  }
};
} // namespace
