//===- ErrorWriterRegions.cpp - Bounds that loops and calls hand on ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops, branches and calls get results and arguments for the bounds of theirs.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Bufferize/ErrorWriter.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilewright;

/// `op` with other operands and more results, and its regions.
Operation *ErrorWriter::rebuild(Operation *op, ValueRange operands, TypeRange results) {
  OperationState state(op->getLoc(), op->getName(), operands, results, op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *made = builder.create(state);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions()))
    to.takeBody(from);
  return made;
}

/// The first results of `with` take the place of those of `op`.
void ErrorWriter::replace(Operation *op, Operation *with) {
  for (auto [from, to] : llvm::zip(op->getResults(), with->getResults())) {
    origins[to] = origin(from);
    if (FloatType type = types.lookup(from))
      types[to] = type;
    from.replaceAllUsesWith(to);
  }
  op->erase();
}

LogicalResult ErrorWriter::visitLoop(LoopLikeOpInterface loop) {
  Operation *op = loop;
  if (op->getNumRegions() != 1 || (op->getNumResults() && !loop.getYieldedValuesMutable()))
    return op->emitError("is no loop whose errors can be bounded");
  for (Value operand : op->getOperands())
    if (operand.getType().isIntOrIndex() && carries(operand) &&
        !llvm::is_contained(llvm::map_range(loop.getInitsMutable(), [](OpOperand &init) { return init.get(); }),
                            operand))
      suspect(operand);
  // Companions of what it hands on.
  SmallVector<Value> inits;
  SmallVector<unsigned> counts, begins;
  for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    counts.push_back(companions(argument));
    begins.push_back(inits.size());
    llvm::append_range(inits, handed(loop.getInitsMutable()[index].get(), counts.back()));
  }
  unsigned numOld = op->getNumResults();
  SmallVector<Value> oldArguments(loop.getRegionIterArgs()), oldResults(op->getResults());
  SmallVector<FloatType> oldTypes;
  SmallVector<Value> roots;
  for (Value argument : oldArguments) {
    roots.push_back(origin(argument));
    oldTypes.push_back(types.lookup(argument));
    widenInPlace(argument);
  }
  for (Value result : oldResults)
    widenInPlace(result);
  if (!inits.empty()) {
    IRRewriter rewriter(builder);
    rewriter.setInsertionPoint(op);
    auto made = loop.replaceWithAdditionalYields(
        rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) { return SmallVector<Value>(arguments); });
    if (failed(made))
      return op->emitError("is no loop whose errors can be bounded");
    loop = *made;
    op = loop;
    for (unsigned i = 0; i < numOld; ++i) {
      Value argument = loop.getRegionIterArgs()[i], result = op->getResult(i);
      origins[argument] = roots[i];
      origins[result] = roots[i];
      if (oldTypes[i])
        types[argument] = types[result] = oldTypes[i];
      if (counts[i]) {
        twins[argument] = twinOf(ValueRange(loop.getRegionIterArgs()).slice(numOld + begins[i], counts[i]));
        twins[result] = twinOf(op->getResults().slice(numOld + begins[i], counts[i]));
      }
    }
  }
  Block &body = op->getRegion(0).front();
  if (failed(visitBlock(body)))
    return failure();
  builder.setInsertionPoint(body.getTerminator());
  if (!inits.empty())
    for (unsigned i = 0; i < numOld; ++i)
      for (auto [index, value] : llvm::enumerate(handed((*loop.getYieldedValuesMutable())[i].get(), counts[i])))
        (*loop.getYieldedValuesMutable())[numOld + begins[i] + index].set(value);
  builder.setInsertionPointAfter(op);
  return success();
}

LogicalResult ErrorWriter::visitWhile(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  SmallVector<Value> inits(loop.getInits());
  SmallVector<Type> results(loop.getResultTypes());
  for (Type &type : results)
    type = isNarrowFloat(type) ? wide : type;
  SmallVector<unsigned> beforeCounts, afterCounts;
  for (auto [init, argument] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments())) {
    beforeCounts.push_back(finishedCompanions(argument));
    llvm::append_range(inits, handed(init, beforeCounts.back()));
  }
  auto addArguments = [&](Block &block, ArrayRef<unsigned> counts) {
    SmallVector<Value> arguments(block.getArguments());
    for (auto [argument, count] : llvm::zip_equal(arguments, counts)) {
      widenInPlace(argument);
      SmallVector<Value> added;
      for (unsigned i = 0; i < count; ++i)
        added.push_back(block.addArgument(companionType(argument.getType()), argument.getLoc()));
      if (count)
        twins[argument] = twinOf(added);
    }
  };
  for (auto [index, argument] : llvm::enumerate(loop.getAfterArguments())) {
    afterCounts.push_back(finishedCompanions(argument));
    if (auto array = dyn_cast<MemRefType>(results[index]);
        array && afterCounts.back() && isNarrowFloat(array.getElementType()))
      results[index] = companionType(array);
  }
  SmallVector<Type> all = results;
  for (auto [type, count] : llvm::zip_equal(results, afterCounts))
    all.append(count, companionType(type));
  addArguments(loop.getBefore().front(), beforeCounts);
  addArguments(loop.getAfter().front(), afterCounts);
  Operation *made = rebuild(loop, inits, all);
  unsigned next = results.size();
  for (auto [index, count] : llvm::enumerate(afterCounts)) {
    if (count)
      twins[made->getResult(index)] = twinOf(made->getResults().slice(next, count));
    next += count;
  }
  replace(loop, made);
  auto rebuilt = cast<scf::WhileOp>(made);
  if (failed(visitBlock(rebuilt.getBefore().front())))
    return failure();
  condition = rebuilt.getConditionOp();
  builder.setInsertionPoint(condition);
  if (carries(condition.getCondition()))
    suspect(condition.getCondition());
  SmallVector<Value> args(condition.getArgs());
  for (auto [value, count] : llvm::zip_equal(SmallVector<Value>(condition.getArgs()), afterCounts))
    llvm::append_range(args, handed(value, count));
  condition.getArgsMutable().assign(args);
  if (failed(visitBlock(rebuilt.getAfter().front())))
    return failure();
  scf::YieldOp yield = rebuilt.getYieldOp();
  builder.setInsertionPoint(yield);
  SmallVector<Value> yielded(yield.getResults());
  for (auto [value, count] : llvm::zip_equal(SmallVector<Value>(yield.getResults()), beforeCounts))
    llvm::append_range(yielded, handed(value, count));
  yield.getResultsMutable().assign(yielded);
  builder.setInsertionPointAfter(made);
  return success();
}

/// One of several regions runs.
LogicalResult ErrorWriter::visitBranch(Operation *op) {
  for (Value operand : op->getOperands())
    if (carries(operand))
      suspect(operand);
  SmallVector<Type> results;
  SmallVector<unsigned> counts;
  for (Value result : op->getResults()) {
    widenInPlace(result);
    results.push_back(result.getType());
    counts.push_back(finishedCompanions(result));
  }
  unsigned numOld = results.size();
  for (unsigned i = 0; i < numOld; ++i)
    results.append(counts[i], companionType(results[i]));
  if (results.size() != numOld) {
    builder.setInsertionPoint(op);
    Operation *made = rebuild(op, op->getOperands(), results);
    unsigned next = numOld;
    for (unsigned i = 0; i < numOld; ++i) {
      if (counts[i])
        twins[made->getResult(i)] = twinOf(made->getResults().slice(next, counts[i]));
      next += counts[i];
    }
    replace(op, made);
    op = made;
  }
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      if (failed(visitBlock(block)))
        return failure();
      Operation *end = block.getTerminator();
      if (end->getNumOperands() != numOld || results.size() == numOld)
        continue;
      builder.setInsertionPoint(end);
      SmallVector<Value> yielded(end->getOperands());
      for (unsigned i = 0; i < numOld; ++i)
        llvm::append_range(yielded, handed(end->getOperand(i), counts[i]));
      end->setOperands(yielded);
    }
  builder.setInsertionPointAfter(op);
  return success();
}

void ErrorWriter::visitCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  SmallVector<Value> operands(op.getOperands());
  // `prepare` may have extended the callee already: its own arguments come first.
  for (auto [operand, parameter] : llvm::zip(SmallVector<Value>(op.getOperands()), callee.getArguments()))
    llvm::append_range(operands, handed(operand, finishedCompanions(parameter)));
  SmallVector<Type> results(op.getResultTypes());
  for (Type &type : results)
    type = isNarrowFloat(type) ? wide : type;
  unsigned numOld = results.size();
  for (Value result : op.getResults())
    if (carries(result))
      results.append(2, wide);
  auto made = func::CallOp::create(builder, op.getLoc(), op.getCallee(), results, operands);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  unsigned next = numOld;
  for (unsigned i = 0; i < numOld; ++i)
    if (carries(op.getResult(i))) {
      twins[made.getResult(i)] = twinOf(made.getResults().slice(next, 2));
      next += 2;
    }
  replace(op, made);
}
