//===- Reader.cpp - From operations to accesses ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions, loops and branches.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Reader.h"
#include "core/Analysis/IndexChecks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::proof;

void Reader::gap(Operation *op, const llvm::Twine &reason) { program.gaps.push_back({op->getLoc(), reason.str()}); }

Linear Reader::fresh(llvm::StringRef name, llvm::StringRef reason) {
  return Linear::of(space.add(name, Space::Kind::Opaque, reason));
}

//===-- Functions ---------------------------------------------------------===//

void Reader::readFunction(func::FuncOp function, llvm::ArrayRef<View> arrays, llvm::ArrayRef<Linear> values) {
  auto outerNumbers = std::move(numbers);
  auto outerViews = std::move(views);
  numbers.clear();
  views.clear();
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (isa<MemRefType>(argument.getType()))
      views[argument] = arrays[i];
    else
      numbers[argument] = values[i];
  }
  if (!function.getBody().hasOneBlock())
    gap(function, "its control flow is not structured");
  else
    readBlock(function.getBody().front());
  numbers = std::move(outerNumbers);
  views = std::move(outerViews);
}

void Reader::readEntry(func::FuncOp function) {
  module = function->getParentOfType<ModuleOp>();
  place = function.getLoc();
  auto shapes = function->getAttrOfType<ArrayAttr>("tilewright.shapes");
  auto inputs = function->getAttrOfType<IntegerAttr>("tilewright.inputs");
  SmallVector<View> arrays;
  SmallVector<Linear> values;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    std::string name = "argument " + std::to_string(i);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      arrays.emplace_back();
      values.push_back(fresh(name, "a number that the caller gives"));
      continue;
    }
    // The sizes of dynamic dimensions are affine in the sizes of the call, all of which are 0 or more.
    SmallVector<Linear> dynamic;
    auto map = shapes && i < shapes.size() ? dyn_cast<AffineMapAttr>(shapes[i]) : AffineMapAttr();
    if (map)
      while (sizes.size() < map.getValue().getNumInputs()) {
        Variable size = space.add("size " + std::to_string(sizes.size()), Space::Kind::Size);
        space.know(size, Linear::of(size));
        sizes.push_back(Linear::of(size));
      }
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d)) {
        if (map)
          dynamic.push_back(evaluate(map.getValue(), ArrayRef(sizes).take_front(map.getValue().getNumInputs()))[d]);
        else {
          Variable size = space.add(name + " dimension " + std::to_string(d), Space::Kind::Size);
          space.know(size, Linear::of(size));
          dynamic.push_back(Linear::of(size));
        }
      }
    arrays.push_back(arrayOf(argument, dynamic, name));
    // The results of a function on tensors come after its inputs.
    program.arrays[arrays.back().array].isResult = inputs && static_cast<int64_t>(i) >= inputs.getInt();
    values.emplace_back();
  }
  if (auto manifest = function->getAttrOfType<StringAttr>("tilewright.manifest"))
    readManifest(function, manifest.getValue(), arrays);
  else
    readFunction(function, arrays, values);
}

void Reader::readCall(func::CallOp call) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  bool hasArrays = llvm::any_of(call.getOperandTypes(), [](Type type) { return isa<MemRefType>(type); });
  if (!callee || callee.isExternal()) {
    if (hasArrays)
      gap(call, "calls '" + call.getCallee() + "', whose accesses are not known");
    return;
  }
  SmallVector<View> arrays;
  SmallVector<Linear> values;
  for (Value operand : call.getOperands()) {
    bool isArray = isa<MemRefType>(operand.getType());
    arrays.push_back(isArray ? viewOf(operand) : View());
    values.push_back(isArray ? Linear() : numberOf(operand));
  }
  readFunction(callee, arrays, values);
}

//===-- Regions -----------------------------------------------------------===//

void Reader::readBlock(Block &block) {
  for (Operation &op : block)
    readOperation(&op);
}

void Reader::within(const Truth &condition, llvm::function_ref<void()> body) {
  Conditions outer = conditions;
  bool wasExact = isExact;
  // What never runs is not read.
  if (condition.isKnown && llvm::all_of(condition.anyOf, [](const Conjunction &one) {
        return llvm::any_of(one, [](const Linear &each) { return each.isConstant() && each.constant() < 0; });
      }))
    return;
  if (!condition.isKnown)
    isExact = false;
  else if (condition.anyOf.size() == 1)
    llvm::append_range(conditions.all, condition.anyOf.front());
  else
    conditions.oneOf.push_back(condition.anyOf);
  body();
  conditions = std::move(outer);
  isExact = wasExact;
}

void Reader::readIf(Operation *op, const Truth &condition, Region &yes, Region &no) {
  std::optional<SmallVector<Linear>> results[2]; // of the branches that may run
  auto read = [&](Region &region, std::optional<SmallVector<Linear>> &result) {
    auto &values = result.emplace();
    if (region.empty())
      return;
    readBlock(region.front());
    for (Value each : region.front().getTerminator()->getOperands())
      values.push_back(each.getType().isIntOrIndex() && !each.getType().isInteger(1) ? numberOf(each) : Linear());
  };
  if (llvm::any_of(op->getResultTypes(), [](Type type) { return isa<tile::TokenType>(type); }))
    program.choices.push_back({op, time, condition});
  within(condition, [&] { read(yes, results[0]); });
  within(!condition, [&] { read(no, results[1]); });
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (!result.getType().isIntOrIndex() || result.getType().isInteger(1))
      continue;
    if (results[0] && results[1])
      numbers[result] = space.select(condition, (*results[0])[i], (*results[1])[i]);
    else if (results[0] || results[1])
      numbers[result] = (*results[results[0] ? 0 : 1])[i];
  }
}

void Reader::readLoop(Operation *op, ArrayRef<Range> ranges, llvm::StringRef level, Region &body) {
  size_t depth = time.size();
  Conditions outer = conditions;
  Variable first = space.count();
  unsigned group = ++groups;
  ++clock;
  for (auto [i, range] : llvm::enumerate(ranges)) {
    std::string name = level.empty() ? "i" + std::to_string(depth + i) : level.str() + " " + std::to_string(i);
    Linear lower = space.extreme(range.lower, false);
    Variable counter = space.add(name, Space::Kind::Iteration);
    Linear index = Linear::of(counter);
    if (!(range.step == Linear(1))) {
      space.know(counter, index);
      index = lower + space.product(index, range.step);
    } else
      for (const Linear &each : range.lower)
        space.know(counter, index - each);
    for (const Linear &each : range.upper) {
      space.know(counter, each - index + -1);
      for (const Linear &from : range.lower) // what is inside runs where there is an iteration
        if (!(each - from).isConstant())
          conditions.all.push_back(each - from + -1);
    }
    numbers[range.index] = index;
    time.push_back({clock, Linear::of(counter), !level.empty(), first, group, level, op,
                    range.step == Linear(1) ? lower : Linear()});
  }
  program.loops.push_back(time);
  for (Value each : body.getArguments())
    if (each.getType().isIntOrIndex() && !numbers.contains(each))
      numbers[each] = fresh("carried", "a value that a loop carries");
  readBlock(body.front());
  conditions = std::move(outer);
  time.resize(depth);
  for (Value result : op->getResults())
    if (result.getType().isIntOrIndex())
      numbers[result] = fresh("carried", "a value that a loop carries");
}

void Reader::readUnknownRegions(Operation *op) {
  Variable counter = space.add("run", Space::Kind::Opaque, "how often this runs follows from data");
  bool wasExact = isExact;
  isExact = false;
  time.push_back({++clock, Linear::of(counter), false, counter, ++groups, {}, op, {}});
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Value each : block.getArguments()) {
        if (each.getType().isIntOrIndex())
          numbers[each] = fresh("carried", "a value that a loop carries");
        else if (isa<MemRefType>(each.getType()))
          views[each] = {0, {}, {}, "an array that a loop carries"};
      }
      readBlock(block);
    }
  time.pop_back();
  isExact = wasExact;
}

/// Whether `op` is a loop or branch of a kind that is read; then it has been.
bool Reader::readStructured(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](affine::AffineForOp loop) {
        Range range{loop.getInductionVar(), evaluate(loop.getLowerBoundMap(), numbersOf(loop.getLowerBoundOperands())),
                    evaluate(loop.getUpperBoundMap(), numbersOf(loop.getUpperBoundOperands())), loop.getStepAsInt()};
        readLoop(op, range, "", loop.getRegion());
        return true;
      })
      .Case([&](affine::AffineParallelOp loop) {
        SmallVector<Range, 3> ranges;
        for (auto [i, index] : llvm::enumerate(loop.getIVs()))
          ranges.push_back({index, evaluate(loop.getLowerBoundMap(i), numbersOf(loop.getLowerBoundsOperands())),
                            evaluate(loop.getUpperBoundMap(i), numbersOf(loop.getUpperBoundsOperands())),
                            loop.getSteps()[i]});
        readLoop(op, ranges, "thread", loop.getRegion());
        return true;
      })
      .Case([&](tile::ParallelOp loop) {
        SmallVector<Linear> extents = evaluate(loop.getUpperBounds(), numbersOf(loop.getBoundOperands()));
        if (!grid.empty()) { // of a launch: its first extent is that of the last index
          for (auto [i, extent] : llvm::enumerate(extents))
            extent = grid[extents.size() - 1 - i];
          grid.clear();
        }
        SmallVector<Range, 3> ranges;
        for (auto [index, extent] : llvm::zip(loop.getBody().getArguments(), extents))
          ranges.push_back({index, {Linear()}, {extent}, 1});
        readLoop(op, ranges, loop.getLevel(), loop.getBody());
        return true;
      })
      .Case([&](LoopLikeOpInterface loop) {
        auto lower = loop.getLoopLowerBounds(), upper = loop.getLoopUpperBounds(), steps = loop.getLoopSteps();
        auto indices = loop.getLoopInductionVars();
        if (!lower || !upper || !steps || !indices || op->getNumRegions() != 1)
          return false;
        SmallVector<Range, 3> ranges;
        for (auto [index, from, to, step] : llvm::zip(*indices, *lower, *upper, *steps)) {
          Linear by = numberOf(step);
          if (!space.isNonNegative(conditions, by + -1))
            return false;
          ranges.push_back({index, {numberOf(from)}, {numberOf(to)}, by});
        }
        readLoop(op, ranges, isa<scf::ForOp>(op) ? "" : "thread", op->getRegion(0));
        return true;
      })
      .Case([&](scf::IfOp branch) {
        readIf(op, truthOf(branch.getCondition()), branch.getThenRegion(), branch.getElseRegion());
        return true;
      })
      .Case([&](affine::AffineIfOp branch) {
        Truth condition{{conditionsOf(branch.getIntegerSet(), numbersOf(branch.getOperands()))}, true};
        readIf(op, condition, branch.getThenRegion(), branch.getElseRegion());
        return true;
      })
      .Default([](Operation *) { return false; });
}

void Reader::readOperation(Operation *op) {
  ++clock;
  if (auto call = dyn_cast<func::CallOp>(op))
    return readCall(call);
  if (readAccess(op) || readView(op) || readStructured(op))
    return;
  if (auto wait = dyn_cast<tile::WaitOp>(op)) {
    std::vector<Step> now = time;
    now.push_back({clock, std::nullopt, false, 0, 0, {}, op, {}});
    program.waits.push_back({op, std::move(now)});
    return;
  }
  if (auto same = dyn_cast<tile::RequireSizeOp>(op)) { // what follows runs where they are equal
    if (time.empty() && isExact && !op->hasAttr(badIndexAttr))
      conditions.addEqual(numberOf(same.getProduced()), numberOf(same.getGiven()));
    return;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<tile::TokenType>(select.getType()))
    program.choices.push_back({op, time, truthOf(select.getCondition())});
  // Regions of values (tile.map, tile.reduce) touch nothing.
  if (op->getNumRegions() && !isa<tile::MapOp, tile::ReduceOp>(op))
    readUnknownRegions(op);
  readNumber(op);
}

void Program::read(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal()) {
      name += (name.empty() ? "" : ", ") + function.getName().str();
      Reader(*this).readEntry(function);
    }
}
