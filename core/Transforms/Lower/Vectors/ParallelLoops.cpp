//===- ParallelLoops.cpp - scf.parallel as a nest of loops ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bodies move, regions of reductions are cloned.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Vectors/ParallelLoops.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilewright;

SmallVector<Value> tilewright::combineReductions(OpBuilder &builder, scf::ParallelOp parallel, ValueRange left,
                                                 ValueRange right) {
  auto terminator = cast<scf::ReduceOp>(parallel.getBody()->getTerminator());
  SmallVector<Value> results;
  for (auto [region, a, b] : llvm::zip_equal(terminator.getReductions(), left, right)) {
    Block &combine = region.front();
    IRMapping mapping;
    mapping.map(combine.getArgument(0), a);
    mapping.map(combine.getArgument(1), b);
    for (Operation &op : combine.without_terminator())
      builder.clone(op, mapping);
    results.push_back(mapping.lookupOrDefault(combine.getTerminator()->getOperand(0)));
  }
  return results;
}

void tilewright::makeSequential(scf::ParallelOp parallel) {
  IRRewriter rewriter(parallel);
  Location loc = parallel.getLoc();
  auto terminator = cast<scf::ReduceOp>(parallel.getBody()->getTerminator());
  scf::LoopNest nest =
      scf::buildLoopNest(rewriter, loc, parallel.getLowerBound(), parallel.getUpperBound(), parallel.getStep(),
                         parallel.getInitVals(), [&](OpBuilder &builder, Location, ValueRange ivs, ValueRange carried) {
                           Block *body = builder.getInsertionBlock();
                           for (auto [from, to] : llvm::zip_equal(parallel.getInductionVars(), ivs))
                             rewriter.replaceAllUsesWith(from, to);
                           auto &source = parallel.getBody()->getOperations();
                           body->getOperations().splice(body->end(), source, source.begin(), terminator->getIterator());
                           builder.setInsertionPointToEnd(body);
                           return combineReductions(builder, parallel, carried, terminator.getOperands());
                         });
  rewriter.replaceOp(parallel, nest.results);
}
