//===- NestTime.cpp - Modelled time of nests without a plan ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts what a nest moves and computes, and asks the model of passes over memory.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestTime.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/PassModel.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// Counts below one root.
class Census {
public:
  Census(Operation *root, const PassModel &model) : root(root), model(model) { visit(root); }

  PassWork work() const {
    PassWork result = counted;
    for (const auto &[memref, bytes] : read)
      result.read += bytes;
    for (const auto &[memref, bytes] : written) {
      result.written += bytes;
      if (auto both = read.find(memref); both != read.end())
        result.again += std::min(bytes, both->second);
    }
    return result;
  }
  double operations = 0;

private:
  void visit(Operation *op) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (loop)
      loops.emplace_back(loop.getInductionVar(), double(getConstantTripCount(loop).value_or(assumedRowExtent)));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &each : block)
          visit(&each);
    if (loop)
      loops.pop_back();
    else if (auto load = dyn_cast<AffineReadOpInterface>(op))
      access(load.getMemRef(), load.getMapOperands(), /*isStore=*/false);
    else if (auto store = dyn_cast<AffineWriteOpInterface>(op))
      access(store.getMemRef(), store.getMapOperands(), /*isStore=*/true);
    else if (op->getNumResults() && op->getNumRegions() == 0 && op->getResult(0).getType().isIntOrFloat())
      compute(op);
  }

  double iterations() const {
    double product = 1;
    for (const auto &[variable, trips] : loops)
      product *= trips;
    return product;
  }

  void access(Value memref, ValueRange indices, bool isStore) {
    Type element = elementOf(memref);
    const bool isNumber = element.isIntOrFloat();
    counted.accesses += iterations() / double(model.lanes(isNumber ? element.getIntOrFloatBitWidth() : 64));
    if (Operation *definition = memref.getDefiningOp(); definition && root->isAncestor(definition))
      return;
    double bytes = double(isNumber ? elementBytes(element) : 8);
    for (const auto &[variable, trips] : loops)
      bytes *= llvm::is_contained(indices, variable) ? trips : 1;
    // What is written first is read from where it was just put.
    if (!isStore && written.contains(memref))
      return;
    double &most = isStore ? written[memref] : read[memref];
    most = std::max(most, bytes);
  }

  void compute(Operation *op) {
    operations += iterations();
    counted.arithmetic += iterations() * double(instructionsOf(op)) /
                          double(model.lanes(op->getResult(0).getType().getIntOrFloatBitWidth()));
  }

  Operation *root;
  const PassModel &model;
  PassWork counted;
  llvm::SmallVector<std::pair<Value, double>> loops;
  llvm::MapVector<Value, double> read, written; // bytes
};
} // namespace

PassWork tilewright::passWork(Operation *root, const PassModel &model) { return Census(root, model).work(); }

void tilewright::logNestTime(Operation *root, const TargetDescription &chip, int64_t threads) {
  DecisionLog *log = DecisionLog::of(root->getContext());
  // Nests that a product packs its operands and fills its result with are part of it: its plan has their time.
  if (!log || log->has("contraction", root))
    return;
  const PassModel model(chip);
  const Census census(root, model);
  const PassWork work = census.work();
  double seconds = model.seconds(work) / double(threads);
  log->add("nest-time", root,
           llvm::json::Object{{"inputs", llvm::json::Object{{"threads", threads}}},
                              {"choice", llvm::json::Object{{"seconds", seconds}}},
                              {"traffic", llvm::json::Object{{"operations", census.operations},
                                                             {"read_bytes", work.read},
                                                             {"written_bytes", work.written}}}});
}
