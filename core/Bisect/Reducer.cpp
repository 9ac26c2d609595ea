//===- Reducer.cpp - Smaller programs that fail the same way --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies of the program with less in them.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Reducer.h"
#include "core/Analysis/Signature.h"
#include "core/Pipelines/PlacedProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::bisect;

//===----------------------------------------------------------------------===//
// Changes to a function on tensors
//===----------------------------------------------------------------------===//

static func::FuncOp functionOf(const Subject &subject) {
  SmallVector<func::FuncOp> functions = publicFunctions(*subject.program);
  return functions.size() == 1 && functions.front().getBody().hasOneBlock() ? functions.front() : nullptr;
}

/// Whether values of `type` can be arguments and results.
static bool isArray(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() && tensor.getElementType().isIntOrIndexOrFloat();
}

/// Whether `op` is a step of the computation, rather than a constant, a fill or a size.
static bool isWork(Operation &op) {
  return !isa<linalg::FillOp, tensor::EmptyOp, tensor::DimOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() &&
         llvm::any_of(op.getResultTypes(), isArray);
}

static void setResults(func::FuncOp function, ArrayRef<Value> values) {
  Operation *end = function.front().getTerminator();
  end->setOperands(values);
  SmallVector<Type> types(ValueRange(values).getTypes());
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), types));
  function.removeResAttrsAttr();
}

/// Erases what nobody uses: operations and, unless inputs are `given`, arguments.
static void sweep(func::FuncOp function, bool given) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  if (given)
    return;
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && isArray(argument.getType()))
      unused.set(argument.getArgNumber());
  (void)function.eraseArguments(unused);
}

/// Makes `value` an argument.
static bool becomeArgument(func::FuncOp function, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return false;
  unsigned last = function.getNumArguments();
  if (failed(function.insertArgument(last, type, {}, value.getLoc())))
    return false;
  value.replaceAllUsesWith(function.getArgument(last));
  return true;
}

//===----------------------------------------------------------------------===//
// Judging candidates
//===----------------------------------------------------------------------===//

Reducer::Reducer(Trials &trials, Subject subject, Diagnosis diagnosis, double deadline)
    : trials(trials), best(std::move(subject)), found(std::move(diagnosis)), deadline(deadline) {
  for (const Step &step : found.suspects)
    wanted.insert(step.pass);
}

bool Reducer::fails(const Subject &candidate) {
  if (secondsNow() > deadline || failed(verify(*candidate.program)))
    return false;
  Outcome outcome;
  if (found.whole.phase == Progress::Compiling && found.whole.verdict != Verdict::Wrong) {
    outcome = trials.whole(*candidate.program, Reference());
    const std::vector<Step> &steps = trials.steps();
    if (outcome.steps >= steps.size() || !wanted.contains(steps[outcome.steps].pass))
      return false;
  } else {
    outcome = examine(trials, candidate, /*checksReference=*/found.referenceWrong).whole;
  }
  return outcome.verdict == found.whole.verdict && outcome.phase == found.whole.phase;
}

bool Reducer::take(Subject candidate) {
  if (!fails(candidate))
    return false;
  best = std::move(candidate);
  ++taken;
  return true;
}

void Reducer::phase(llvm::function_ref<void()> work) {
  if (secondsNow() > deadline)
    return;
  Subject before = best.clone();
  const unsigned takenBefore = taken;
  work();
  if (taken == takenBefore)
    return;
  Diagnosis again = diagnose(trials, best);
  auto isWanted = [&](const Step &step) { return wanted.contains(step.pass); };
  bool same = again.whole.verdict == found.whole.verdict && again.referenceWrong == found.referenceWrong &&
              (wanted.empty() ? again.suspects.empty() : llvm::any_of(again.suspects, isWanted));
  if (same)
    found = std::move(again);
  else
    best = std::move(before);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void Reducer::dropGiven() {
  if (best.given.empty())
    return;
  Subject candidate = best.clone();
  candidate.sizes = found.reference.sizes;
  candidate.given.clear();
  take(std::move(candidate));
}

void Reducer::dropResults() {
  func::FuncOp function = functionOf(best);
  if (!function || function.getNumResults() < 2)
    return;
  // The one that was wrong comes first.
  std::vector<size_t> order(function.getNumResults());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = (i + found.whole.output) % order.size();
  for (size_t result : order) {
    Subject candidate = best.clone();
    func::FuncOp copy = functionOf(candidate);
    setResults(copy, {copy.front().getTerminator()->getOperand(result)});
    sweep(copy, !candidate.given.empty());
    if (take(std::move(candidate)))
      return;
  }
}

/// `subject` with the result of its `number`-th operation instead of its own.
static Subject endingAt(const Subject &subject, size_t number) {
  Subject candidate = subject.clone();
  func::FuncOp function = functionOf(candidate);
  for (Operation &op : function.front()) {
    if (!isWork(op) || number-- > 0)
      continue;
    for (Value value : op.getResults())
      if (isArray(value.getType())) {
        setResults(function, {value});
        break;
      }
    break;
  }
  sweep(function, !candidate.given.empty());
  return candidate;
}

void Reducer::cutAfter() {
  func::FuncOp function = functionOf(best);
  if (!function || function.getNumResults() == 0)
    return;
  size_t count = llvm::count_if(function.front(), isWork);
  // Errors usually pass on: halving finds an operation from which on the result is wrong.
  size_t low = 0, high = count == 0 ? 0 : count - 1;
  const Subject whole = best.clone();
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (take(endingAt(whole, middle)))
      high = middle;
    else
      low = middle + 1;
  }
}

/// `subject` with arguments for the results of operations `first` to `last`, which are not computed any more.
static std::optional<Subject> without(const Subject &subject, size_t first, size_t last) {
  Subject candidate = subject.clone();
  func::FuncOp function = functionOf(candidate);
  SmallVector<Operation *> work;
  for (Operation &op : function.front())
    if (isWork(op))
      work.push_back(&op);
  for (size_t i = first; i < last; ++i)
    for (Value value : work[i]->getResults()) {
      bool isKept = llvm::any_of(value.getUsers(), [&](Operation *user) {
        Operation *top = function.front().findAncestorOpInBlock(*user);
        auto place = llvm::find(work, top);
        size_t number = place - work.begin();
        return place == work.end() || number < first || number >= last;
      });
      if (isKept && (!isArray(value.getType()) || !becomeArgument(function, value)))
        return std::nullopt;
    }
  sweep(function, false);
  return candidate;
}

void Reducer::cutBefore() {
  func::FuncOp function = functionOf(best);
  if (!function || function.getNumResults() == 0 || !best.given.empty())
    return;
  size_t count = llvm::count_if(function.front(), isWork);
  for (size_t kept = 1; kept < count; kept *= 2)
    if (auto candidate = without(best, 0, count - kept); candidate && take(std::move(*candidate)))
      break;
  for (size_t i = llvm::count_if(functionOf(best).front(), isWork); i-- > 0;)
    if (auto candidate = without(best, i, i + 1); candidate && take(std::move(*candidate)))
      i = std::min<size_t>(i, llvm::count_if(functionOf(best).front(), isWork));
}

void Reducer::eraseOperations() {
  func::FuncOp function = functionOf(best);
  if (!function || function.getNumResults() > 0)
    return;
  for (size_t number = 0;; ++number) {
    Subject candidate = best.clone();
    Block &block = functionOf(candidate).front();
    if (number + 1 >= block.getOperations().size())
      return;
    Operation &op = *std::next(block.begin(), static_cast<ptrdiff_t>(number));
    if (!op.use_empty())
      continue;
    op.erase();
    if (take(std::move(candidate)))
      --number;
  }
}

/// Sizes that show most mistakes: one, primes, a little more than a power of two.
static constexpr int64_t smallSizes[] = {1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257};

/// Calls `tries` with smaller values than `size` in ascending order until it says yes, then with ones a little smaller.
static void shrink(int64_t size, llvm::function_ref<bool(int64_t)> tries) {
  for (int64_t smaller : smallSizes) {
    if (smaller >= size)
      return;
    if (!tries(smaller))
      continue;
    auto less = llvm::lower_bound(smallSizes, smaller);
    for (int64_t next = smaller - 1; less != std::begin(smallSizes) && next > *std::prev(less) && tries(next); --next)
      ;
    return;
  }
}

void Reducer::shrinkDynamicSizes() {
  if (!best.given.empty())
    return;
  if (best.sizes.empty())
    best.sizes = found.reference.sizes;
  for (size_t index = 0; index < best.sizes.size(); ++index)
    shrink(best.sizes[index], [&](int64_t smaller) {
      Subject candidate = best.clone();
      candidate.sizes[index] = smaller;
      return take(std::move(candidate));
    });
}

/// Every dimension of `size` in the types and attributes of `subject` becomes `smaller`.
static Subject resized(const Subject &subject, int64_t size, int64_t smaller) {
  Subject candidate = subject.clone();
  auto shape = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> result(dims);
    std::replace(result.begin(), result.end(), size, smaller);
    return result;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> Type {
    return RankedTensorType::get(shape(type.getShape()), type.getElementType(), type.getEncoding());
  });
  replacer.addReplacement([&](MemRefType type) -> Type {
    return MemRefType::get(shape(type.getShape()), type.getElementType(), type.getLayout(), type.getMemorySpace());
  });
  replacer.addReplacement([&](DenseElementsAttr constant) -> std::optional<Attribute> {
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    if (!type || !constant.isSplat())
      return std::nullopt;
    return constant.resizeSplat(
        RankedTensorType::get(shape(type.getShape()), type.getElementType(), type.getEncoding()));
  });
  replacer.addReplacement([&](DenseI64ArrayAttr numbers) -> Attribute {
    return DenseI64ArrayAttr::get(numbers.getContext(), shape(numbers.asArrayRef()));
  });
  replacer.addReplacement([&](IntegerAttr number) -> std::optional<Attribute> {
    if (!number.getType().isIndex() || number.getInt() != size)
      return std::nullopt;
    return IntegerAttr::get(number.getType(), smaller);
  });
  replacer.recursivelyReplaceElementsIn(*candidate.program, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return candidate;
}

void Reducer::shrinkStaticSizes() {
  if (!best.given.empty())
    return;
  std::set<int64_t, std::greater<>> sizes;
  (*best.program).walk([&](Operation *op) {
    auto add = [&](Type type) {
      if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank())
        for (int64_t size : shaped.getShape())
          if (size > 1)
            sizes.insert(size);
    };
    llvm::for_each(op->getResultTypes(), add);
    if (auto function = dyn_cast<func::FuncOp>(op))
      llvm::for_each(function.getArgumentTypes(), add);
  });
  for (int64_t size : sizes) {
    int64_t now = size;
    shrink(size, [&](int64_t smaller) {
      if (sizes.count(smaller)) // two sizes would become one, and never differ again
        return false;
      if (!take(resized(best, now, smaller)))
        return false;
      now = smaller;
      return true;
    });
  }
}

void Reducer::run() {
  phase([&] { dropGiven(); });
  phase([&] { dropResults(); });
  phase([&] { cutAfter(); });
  phase([&] { cutBefore(); });
  phase([&] { eraseOperations(); });
  phase([&] { shrinkDynamicSizes(); });
  phase([&] { shrinkStaticSizes(); });
}
