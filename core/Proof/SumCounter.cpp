//===- SumCounter.cpp - Control flow, counted -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Iterations run one after the other until each adds as much as the one before it.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/SumCounter.h"

#include "tilewright/Explain.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::proof;

/// Operations that are walked at most, loops written out. What takes more is not counted.
static constexpr uint64_t mostOperations = 20'000'000;
/// Iterations of a loop that run one by one where its body is not the same in all of them.
static constexpr int64_t mostIterations = 256;
/// Iterations after which those of a loop with an equal body must add the same.
static constexpr int64_t mostBeforeSteady = 8;

void SumCounter::gap(Operation *op, const Twine &reason) {
  gaps.insert((DecisionLog::textOf(op->getLoc()) + ": " + reason).str());
}

void SumCounter::runBlock(Block &block) {
  for (Operation &op : block) {
    if (++visited > mostOperations) {
      gaps.insert("the program is too long to be counted whole");
      return;
    }
    runOperation(&op);
  }
}

void SumCounter::runFunction(func::FuncOp function, ArrayRef<unsigned> given, ArrayRef<Number> values) {
  for (auto [argument, array, value] : llvm::zip_equal(function.getArguments(), given, values)) {
    if (isa<MemRefType>(argument.getType()))
      views[argument] = {array, true};
    else if (argument.getType().isIntOrIndex())
      numbers[argument] = value;
  }
  runBlock(function.getBody().front());
  // Its counters are of no other function.
  auto isLocal = [&](unsigned atom) {
    return isMadeOf(atom, [&](Value value) { return function->isAncestor(value.getParentRegion()->getParentOp()); });
  };
  for (SumArray &array : arrays)
    array.close(~0u, {}, 1, 1, isLocal, false);
}

void SumCounter::runCall(func::CallOp call) {
  auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal())
    return gap(call, "calls '" + call.getCallee() + "', which is not known");
  SmallVector<unsigned> given;
  SmallVector<Number> values;
  SmallVector<Value> parts; // of which only a part is handed on
  for (Value operand : call.getOperands()) {
    auto found = views.find(operand);
    given.push_back(found == views.end() ? 0 : found->second.array);
    values.push_back(operand.getType().isIntOrIndex() ? numberOf(operand) : Number());
    if (isa<MemRefType>(operand.getType()) && (found == views.end() || !found->second.isWhole)) {
      // A view in another shape: as one array of its own with what the whole array has.
      auto type = cast<MemRefType>(operand.getType());
      std::vector<int64_t> shape;
      for (int64_t extent : type.getShape())
        shape.push_back(ShapedType::isDynamic(extent) ? size : extent);
      Chain chain = read(operand, whole(operand));
      given.back() = newArray(shape);
      arrays.back().write({std::vector<Interval>(shape.size(), Interval{{}, 1, true}), true, std::move(chain)});
      parts.push_back(operand);
    } else
      parts.push_back({});
  }
  runFunction(callee, given, values);
  for (auto [part, array] : llvm::zip_equal(parts, given))
    if (part) {
      Chain chain = arrays[array].read(std::vector<Interval>(arrays[array].extents().size(), Interval{{}, 1, true}));
      write(part, whole(part), std::move(chain));
    }
}

void SumCounter::enter(Value counter, const Number &first, int64_t value, uint64_t bit) {
  Number &number = numbers[counter] = {};
  number.form.terms[atomOf(counter)] = 1;
  number.value = value;
  number.loops = bit | first.loops;
}

void SumCounter::close(Operation *op, Value counter, const Form &first, int64_t step, int64_t trips, bool isParallel) {
  auto isLocal = [&](unsigned atom) {
    return isMadeOf(atom, [&](Value value) { return op->isAncestor(value.getParentRegion()->getParentOp()); });
  };
  for (SumArray &array : arrays)
    array.close(atomOf(counter), first, step, trips, isLocal, isParallel);
}

/// The iterations of a parallel loop are like the first one, or like the last one where the body asks for the counter.
void SumCounter::runParallel(Operation *op, ArrayRef<Range> ranges, Block &body, size_t dimension) {
  if (dimension == ranges.size())
    return runBlock(body);
  const Range &range = ranges[dimension];
  int64_t trips = range.trips.value_or(1), first = range.first.value.value_or(0);
  if (!range.trips)
    gap(op, "the number of iterations is not known");
  if (trips <= 0)
    return;
  uint64_t before = std::exchange(usedLoops, 0), bit = uint64_t(1) << parallelBit;
  unsigned atom = atomOf(range.counter);
  counterRanges[atom] = {first, first + range.step * (trips - 1)};
  enter(range.counter, range.first, first, bit);
  std::vector<SumArray> atFirst = arrays; // iterations see nothing of each other
  runParallel(op, ranges, body, dimension + 1);
  if ((usedLoops & bit) && trips > 1) {
    std::swap(atFirst, arrays);
    arrays.insert(arrays.end(), atFirst.begin() + arrays.size(), atFirst.end());
    enter(range.counter, range.first, first + range.step * (trips - 1), bit);
    runParallel(op, ranges, body, dimension + 1);
    for (auto [array, other] : llvm::zip(arrays, atFirst))
      array.join(other);
  }
  usedLoops = before | (usedLoops & ~bit) | range.first.loops;
  counterRanges.erase(atom);
  close(op, range.counter, range.first.form, range.step, trips, true);
}

/// Whether b is as far from a as c is from b, where `counter` is that of the loop.
bool SumCounter::stepsAreEqual(const State &a, const State &b, const State &c, unsigned counter) {
  auto isEqual = [](const Chain &x, const Chain &y, const Chain &z) { return z == y.continued(x, 1); };
  for (auto [x, y, z] : llvm::zip_equal(a.carried, b.carried, c.carried))
    if (!isEqual(x, y, z))
      return false;
  for (auto [i, now] : llvm::enumerate(c.arrays)) {
    if (i >= a.arrays.size() || i >= b.arrays.size())
      return false;
    for (const Write &write : now.writes()) {
      auto find = [&](const SumArray &array) {
        return llvm::find_if(array.writes(), [&](const Write &each) { return each.where == write.where; });
      };
      auto one = find(a.arrays[i]), two = find(b.arrays[i]);
      if (one != a.arrays[i].writes().end() && two != b.arrays[i].writes().end()) {
        if (!isEqual(one->chain, two->chain, write.chain))
          return false;
      } else if (llvm::none_of(write.where, [&](const Interval &each) { return each.begin.terms.count(counter); }))
        return false; // written by no iteration before this one
    }
  }
  return true;
}

/// `times` more iterations, each of which adds what the last one added to `before`.
void SumCounter::goOn(State &last, const State &before, int64_t times, Block &body) {
  auto note = [&](const Chain &chain) {
    for (auto [index, count] : chain.all())
      place(index).additions = std::max(place(index).additions, count);
  };
  for (auto [chain, from] : llvm::zip_equal(last.carried, before.carried)) {
    chain = chain.continued(from, times);
    note(chain);
  }
  for (auto [array, from] : llvm::zip(last.arrays, before.arrays))
    for (Write &write : array.writes())
      for (const Write &each : from.writes())
        if (each.where == write.where) {
          write.chain = write.chain.continued(each.chain, times);
          note(write.chain);
          break;
        }
}

void SumCounter::runLoop(Operation *op, const Range &range, Block &body, ValueRange inits) {
  State now;
  for (Value each : inits)
    now.carried.push_back(chainOf(each));
  std::vector<Number> carriedNumbers = numbersOf(inits);
  auto finish = [&] {
    for (auto [result, chain, number] : llvm::zip_equal(op->getResults(), now.carried, carriedNumbers)) {
      chains[result] = chain;
      if (result.getType().isIntOrIndex())
        numbers[result] = number;
    }
  };
  if (!range.trips)
    gap(op, "the number of iterations is not known");
  const int64_t trips = range.trips.value_or(2), first = range.first.value.value_or(0);
  if (trips <= 0)
    return finish();
  const uint64_t outside = std::exchange(usedLoops, 0), bit = uint64_t(1) << std::min(depth, parallelBit - 1);
  ++depth;
  const unsigned atom = atomOf(range.counter);
  counterRanges[atom] = {first, first + range.step * (trips - 1)};
  auto depends = [&](unsigned other) { return isMadeOf(other, [&](Value value) { return value == range.counter; }); };
  auto arguments = body.getArguments().take_back(inits.size());
  State past[2]; // the ends of the last iterations
  for (int64_t i = 0; i < trips; ++i) {
    enter(range.counter, range.first, first + i * range.step, bit);
    for (auto [argument, chain, number] : llvm::zip_equal(arguments, now.carried, carriedNumbers)) {
      chains[argument] = chain;
      if (argument.getType().isIntOrIndex()) {
        numbers[argument] = number;
        numbers[argument].loops |= bit;
      }
    }
    runBlock(body);
    if (visited > mostOperations)
      break;
    for (auto [chain, value] : llvm::zip_equal(now.carried, body.getTerminator()->getOperands()))
      chain = chainOf(value);
    carriedNumbers = numbersOf(body.getTerminator()->getOperands());
    if (i + 1 == trips)
      break;
    now.arrays = arrays;
    bool isEqual = !(usedLoops & bit);
    if (!isEqual && i + 1 >= mostIterations) {
      gap(op, "iterations differ, and there are too many to run each");
      isEqual = true;
    }
    bool isSteady = (i >= 1 && past[1].carried == now.carried && stepsAreEqual(past[1], past[1], now, atom)) ||
                    (i >= 2 && stepsAreEqual(past[0], past[1], now, atom));
    if (isEqual && !isSteady && i + 1 >= mostBeforeSteady && i >= 1 && trips > mostIterations) {
      gap(op, "iterations add different numbers of terms");
      isSteady = true;
    }
    if (isEqual && isSteady) {
      goOn(now, past[1], trips - 1 - i, body);
      arrays = std::move(now.arrays);
      for (Number &number : carriedNumbers) // of the last iteration
        number.value = std::nullopt;
      break;
    }
    past[0] = std::move(past[1]);
    past[1] = now;
    for (SumArray &array : arrays)
      array.shift(atom, range.step, depends);
  }
  --depth;
  usedLoops = outside | (usedLoops & ~bit) | range.first.loops;
  counterRanges.erase(atom);
  close(op, range.counter, range.first.form, range.step, trips, false);
  finish();
}

/// One branch where `number`, the condition, is known and the same for all threads; else both may run.
void SumCounter::runBranch(Operation *op, const Number &number) {
  usedLoops |= number.loops;
  const bool isOfThreads = number.loops >> parallelBit & 1; // threads that are left out have no element of their own
  std::optional<bool> condition;
  if (number.value && !isOfThreads)
    condition = (*number.value & 1) != 0;
  SmallVector<Chain> results(op->getNumResults());
  SmallVector<Number> values(op->getNumResults());
  bool wasSure = isSure;
  isSure &= condition.has_value() || isOfThreads;
  for (auto [i, region] : llvm::enumerate(op->getRegions())) {
    if (region.empty() || (condition && *condition != (i == 0)))
      continue;
    runBlock(region.front());
    for (auto [chain, result, value] :
         llvm::zip_equal(results, values, region.front().getTerminator()->getOperands())) {
      chain.join(chainOf(value));
      result = numberOf(value);
      if (!condition)
        result.value = std::nullopt;
    }
  }
  isSure = wasSure;
  for (auto [result, chain, integer] : llvm::zip_equal(op->getResults(), results, values)) {
    chains[result] = chain;
    if (!result.getType().isIntOrIndex())
      continue;
    if (!condition) {
      integer.form = {};
      integer.form.terms[atomOf(result)] = 1;
    }
    numbers[result] = integer;
  }
}

void SumCounter::runUnknown(Operation *op) {
  gap(op, "how often '" + op->getName().getStringRef() + "' runs follows from data");
  bool wasSure = std::exchange(isSure, false);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        chains[argument] = chainOf(op->getOperands());
      runBlock(block);
      for (Value result : op->getResults()) {
        Chain chain = chainOf(result);
        chain.join(chainOf(block.getTerminator()->getOperands()));
        chains[result] = chain;
      }
    }
  isSure = wasSure;
}

/// Whether `op` is a loop or a branch; then it has run.
bool SumCounter::runStructured(Operation *op) {
  auto isInside = [&](IntegerSet set, ValueRange operands) {
    std::vector<Number> given = numbersOf(operands);
    Number all;
    all.value = 1;
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      Number each = evaluate(set.getConstraint(i), given, set.getNumDims());
      all.loops |= each.loops;
      if (!each.value || !all.value)
        all.value = std::nullopt;
      else if (set.isEq(i) ? *each.value != 0 : *each.value < 0)
        all.value = 0;
    }
    return all;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](affine::AffineForOp loop) {
        Number first = extreme(evaluate(loop.getLowerBoundMap(), loop.getLowerBoundOperands()), false);
        Number end = extreme(evaluate(loop.getUpperBoundMap(), loop.getUpperBoundOperands()), true);
        int64_t step = loop.getStepAsInt();
        runLoop(op, {loop.getInductionVar(), first, tripsOf(first, end, step), step}, *loop.getBody(), loop.getInits());
        return true;
      })
      .Case([&](scf::ForOp loop) {
        Number first = numberOf(loop.getLowerBound()), step = numberOf(loop.getStep());
        int64_t by = step.value.value_or(0);
        runLoop(op, {loop.getInductionVar(), first, tripsOf(first, numberOf(loop.getUpperBound()), by), by},
                *loop.getBody(), loop.getInitArgs());
        return true;
      })
      .Case([&](affine::AffineParallelOp loop) {
        SmallVector<Range> ranges;
        for (auto [i, counter] : llvm::enumerate(loop.getIVs())) {
          Number first = extreme(evaluate(loop.getLowerBoundMap(i), loop.getLowerBoundsOperands()), false);
          Number end = extreme(evaluate(loop.getUpperBoundMap(i), loop.getUpperBoundsOperands()), true);
          ranges.push_back({counter, first, tripsOf(first, end, loop.getSteps()[i]), loop.getSteps()[i]});
        }
        runParallel(op, ranges, *loop.getBody());
        return true;
      })
      .Case([&](tile::ParallelOp loop) {
        std::vector<Number> ends = evaluate(loop.getUpperBounds(), loop.getBoundOperands());
        SmallVector<Range> ranges;
        for (auto [i, counter] : llvm::enumerate(loop.getBody().getArguments())) {
          Number end = ends[i];
          if (!grid.empty() && grid.size() == ends.size()) // of a launch: its first extent is that of the last index
            end.value = grid[ends.size() - 1 - i];
          ranges.push_back({counter, {{}, 0, 0}, tripsOf({{}, 0, 0}, end, 1), 1});
        }
        grid.clear();
        runParallel(op, ranges, loop.getBody().front());
        return true;
      })
      .Case([&](scf::ParallelOp loop) {
        SmallVector<Range> ranges;
        for (auto [counter, from, to, step] :
             llvm::zip_equal(loop.getInductionVars(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
          int64_t by = numberOf(step).value.value_or(0);
          ranges.push_back({counter, numberOf(from), tripsOf(numberOf(from), numberOf(to), by), by});
        }
        runParallel(op, ranges, *loop.getBody());
        return true;
      })
      .Case([&](scf::IfOp branch) {
        runBranch(op, numberOf(branch.getCondition()));
        return true;
      })
      .Case([&](affine::AffineIfOp branch) {
        runBranch(op, isInside(branch.getIntegerSet(), branch.getOperands()));
        return true;
      })
      .Default([](Operation *) { return false; });
}

void SumCounter::runOperation(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return runCall(call);
  if (runStructured(op) || runMemory(op) || runAccess(op) || runSum(op))
    return;
  if (op->getNumRegions())
    return runUnknown(op);
  computeNumbers(op);
  if (op->getNumResults() == 0)
    return;
  Chain chain = chainOf(op->getOperands());
  for (Value result : op->getResults())
    chains[result] = chain;
  llvm::StringRef name = op->getName().getStringRef();
  Type type = op->getResultTypes().front();
  if (auto fragment = dyn_cast<tile::FragmentType>(type))
    type = fragment.getElementType();
  bool isArithmetic =
      name.starts_with("math.") || isa<arith::MulFOp, arith::DivFOp, arith::RemFOp, arith::TruncFOp>(op);
  if (isArithmetic && isa<FloatType>(getElementTypeOrSelf(type)))
    place(placeOf(op)).arithmetic.insert(name.str());
}

void SumCounter::countEntry(func::FuncOp function) {
  SmallVector<unsigned> given;
  SmallVector<Number> values;
  auto shapes = function->getAttrOfType<ArrayAttr>("tilewright.shapes");
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    Number number;
    number.value = size;
    number.form.constant = size;
    values.push_back(number);
    auto memref = dyn_cast<MemRefType>(type);
    given.push_back(0);
    if (!memref)
      continue;
    std::vector<int64_t> shape;
    auto map = shapes && i < shapes.size() ? dyn_cast<AffineMapAttr>(shapes[i]) : AffineMapAttr();
    std::vector<Number> sizes(map ? map.getValue().getNumInputs() : 0, number);
    for (int64_t d = 0; d < memref.getRank(); ++d) {
      int64_t extent = memref.isDynamicDim(d) ? size : memref.getDimSize(d);
      if (memref.isDynamicDim(d) && map)
        extent = evaluate(map.getValue().getResult(d), sizes, map.getValue().getNumDims()).value.value_or(size);
      shape.push_back(extent);
    }
    given.back() = newArray(std::move(shape));
  }
  if (auto manifest = function->getAttrOfType<StringAttr>("tilewright.manifest"))
    runManifest(function, manifest.getValue(), given);
  else
    runFunction(function, given, values);
}

Sums SumCounter::take() {
  Sums sums;
  for (auto &[name, each] : places)
    sums.places[name] = std::move(each);
  sums.gaps.assign(gaps.begin(), gaps.end());
  sums.nests = std::move(nests);
  return sums;
}

SumCounter::SumCounter(ModuleOp module, int64_t size, std::map<std::string, std::string> given)
    : module(module), size(size), nests(std::move(given)) {
  std::map<std::string, std::string> found;
  if (nests.empty())
    module.walk<WalkOrder::PreOrder>([&](affine::AffineForOp nest) {
      unsigned place = placeOf(nest);
      nest.walk([&](Operation *op) { found.try_emplace(places[placeOf(op)].first, places[place].first); });
      return WalkResult::skip();
    });
  if (nests.empty()) { // from here on places are those of nests
    nests = std::move(found);
    places.clear();
    placeByName.clear();
    placeByLocation.clear();
  }
}

Sums tilewright::proof::countSums(ModuleOp module, int64_t size, std::map<std::string, std::string> nests) {
  SumCounter counter(module, size, std::move(nests));
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      counter.countEntry(function);
  return counter.take();
}
