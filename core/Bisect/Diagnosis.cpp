//===- Diagnosis.cpp - The first wrong pass of a compilation --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search over steps.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Diagnosis.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Parser/Parser.h"

#include <map>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::bisect;

Subject Subject::clone() const {
  Subject copy;
  copy.program = (*program).clone();
  copy.sizes = sizes;
  for (const Array &array : given)
    copy.given.push_back(array.clone());
  return copy;
}

/// Values of upstream's passes alone take the place of a reference that disagrees with them.
static void useInstead(Diagnosis &diagnosis, llvm::ArrayRef<Array> outputs) {
  diagnosis.referenceWrong = true;
  diagnosis.reference.values.clear();
  for (const Array &array : outputs)
    diagnosis.reference.values.push_back(array.clone());
  diagnosis.reference.slack = 2;
  if (diagnosis.whole.verdict != Verdict::Right && diagnosis.whole.verdict != Verdict::Wrong)
    return;
  diagnosis.whole.verdict = Verdict::Right;
  diagnosis.whole.message.clear();
  diagnosis.whole.wrong = 0;
  judgeOutputs(diagnosis.whole, diagnosis.reference);
}

/// Attempts that go wrong by taking long shall not take longer than they need to show it.
static void shortenLimit(Trials &trials, const Outcome &whole) {
  constexpr double leastSeconds = 3, patience = 5;
  if (whole.verdict == Verdict::TimeOut)
    trials.settings.limit = std::min(trials.settings.limit, std::max(leastSeconds, patience * trials.longest()));
}

/// `start`: what the program does before any pass, if that is asked.
static Diagnosis examineWith(Trials &trials, const Subject &subject, Outcome *start) {
  Diagnosis diagnosis;
  if (auto reference = trials.reference(*subject.program, subject.sizes, subject.given))
    diagnosis.reference = std::move(*reference);
  else
    llvm::consumeError(reference.takeError()); // it may be a pass of stage 1 or 2 that crashes; `whole` says so then
  diagnosis.whole = trials.whole(*subject.program, diagnosis.reference);
  shortenLimit(trials, diagnosis.whole);
  if (start && !diagnosis.reference.values.empty()) {
    *start = trials.after(*subject.program, 0, diagnosis.reference);
    if (start->verdict == Verdict::Wrong) {
      start->verdict = Verdict::Right;
      useInstead(diagnosis, *start->outputs);
    }
  }
  diagnosis.first = diagnosis.whole;
  return diagnosis;
}

namespace {

/// Which prefixes are right, each asked at most once.
class Prefixes {
public:
  Prefixes(Trials &trials, const Subject &subject, const Reference &reference)
      : trials(trials), subject(subject), reference(reference) {}

  const Outcome &operator[](size_t count) {
    auto found = known.find(count);
    if (found == known.end())
      found = known.emplace(count, trials.after(*subject.program, count, reference)).first;
    return found->second;
  }
  void set(size_t count, Outcome outcome) { known[count] = std::move(outcome); }

private:
  Trials &trials;
  const Subject &subject;
  const Reference &reference;
  std::map<size_t, Outcome> known;
};

} // namespace

/// A position of `counts` strictly between `low` and `high` at which the program can be run, the middle one first;
/// `high` if there is none.
static size_t probe(Prefixes &prefixes, llvm::ArrayRef<size_t> counts, size_t low, size_t high) {
  size_t middle = low + (high - low) / 2;
  for (size_t distance = 0; middle + distance < high || middle >= low + 1 + distance; ++distance) {
    if (middle + distance < high && prefixes[counts[middle + distance]].verdict != Verdict::Unknown)
      return middle + distance;
    if (distance > 0 && middle >= low + 1 + distance && prefixes[counts[middle - distance]].verdict != Verdict::Unknown)
      return middle - distance;
  }
  return high;
}

Diagnosis bisect::examine(Trials &trials, const Subject &subject, bool checksReference) {
  Outcome start;
  return examineWith(trials, subject, checksReference ? &start : nullptr);
}

Diagnosis bisect::diagnose(Trials &trials, const Subject &subject) {
  Outcome start;
  Diagnosis diagnosis = examineWith(trials, subject, &start);
  if (diagnosis.isRight())
    return diagnosis;
  const std::vector<Step> steps = trials.steps();
  // A step that has begun and not ended is where the compiler crashed, hung or refused. Else what is wrong is the
  // whole, one more than all steps.
  const size_t ended = std::min(diagnosis.whole.steps, steps.size());
  const bool inPasses = diagnosis.whole.phase == Progress::Compiling && ended < steps.size();
  const size_t bad = inPasses ? ended + 1 : steps.size() + 1;
  std::vector<size_t> counts = {0};
  for (size_t count = 1; count < bad; ++count)
    if (steps[count - 1].changed || count == steps.size())
      counts.push_back(count);
  counts.push_back(bad);
  size_t low = 0, high = counts.size() - 1; // right at `low`, wrong at `high`
  Prefixes prefixes(trials, subject, diagnosis.reference);
  prefixes.set(0, std::move(start));
  if (diagnosis.reference.values.empty())
    low = high - 1; // nothing to compare with: the pass that ended it
  else
    while (high - low > 1) {
      size_t at = probe(prefixes, counts, low, high);
      if (at == high)
        break;
      const Outcome &outcome = prefixes[counts[at]];
      if (outcome.verdict == Verdict::Right) {
        low = at;
      } else {
        high = at;
        diagnosis.first = outcome;
      }
    }
  diagnosis.firstSuspect = counts[low];
  diagnosis.afterPasses = counts[low] == steps.size();
  for (size_t step = counts[low]; step < counts[high] && step < steps.size(); ++step)
    if (steps[step].changed || step + 1 == bad) {
      if (diagnosis.suspects.empty())
        diagnosis.firstSuspect = step;
      diagnosis.suspects.push_back(steps[step]);
      diagnosis.lastSuspect = step;
    }
  return diagnosis;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Operations directly in a function that compute: loops, operations on tensors.
static bool isNest(Operation &op) {
  return op.getNumRegions() > 0 || llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>);
}

/// "affine.for over 48 x 33".
static std::string describe(Operation &nest) {
  std::string text = nest.getName().getStringRef().str(), sizes;
  for (Operation *op = &nest; op;) {
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop)
      break;
    std::optional<llvm::APInt> trips = loop.getStaticTripCount();
    std::string text = trips ? std::to_string(trips->getSExtValue()) : "?";
    if (auto affine = dyn_cast<affine::AffineForOp>(op); affine && affine.hasConstantBounds())
      text = std::to_string(
          llvm::divideCeil(affine.getConstantUpperBound() - affine.getConstantLowerBound(), affine.getStepAsInt()));
    sizes += (sizes.empty() ? "" : " x ") + text;
    Block &body = loop.getLoopRegions().front()->front();
    auto inner = llvm::find_if(body, [](Operation &each) { return isa<LoopLikeOpInterface>(each); });
    op = inner == body.end() ? nullptr : &*inner;
  }
  return sizes.empty() ? text : text + " over " + sizes;
}

static std::string locationOf(Operation &op) {
  std::string text;
  op.getLoc()->walk([&](Location each) {
    auto place = dyn_cast<FileLineColLoc>(each);
    if (!place)
      return WalkResult::advance();
    text = (place.getFilename().getValue() + ":" + llvm::Twine(place.getLine()) + ":" + llvm::Twine(place.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

std::vector<Nest> bisect::changedNests(Trials &trials, const Subject &subject, size_t index) {
  auto [beforeText, afterText] = trials.around(*subject.program, index);
  MLIRContext *context = (*subject.program)->getContext();
  auto before = parseSourceString<ModuleOp>(beforeText, ParserConfig(context, /*verifyAfterParse=*/false));
  auto after = parseSourceString<ModuleOp>(afterText, ParserConfig(context, /*verifyAfterParse=*/false));
  std::vector<Nest> nests;
  if (!before)
    return nests;
  for (auto function : before->getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    auto other = after ? after->lookupSymbol<func::FuncOp>(function.getName()) : func::FuncOp();
    auto isKept = [&](Operation &nest) {
      return other && !other.isExternal() && llvm::any_of(other.front(), [&](Operation &each) {
               return OperationEquivalence::isEquivalentTo(&nest, &each, OperationEquivalence::ignoreValueEquivalence,
                                                           nullptr, OperationEquivalence::IgnoreLocations);
             });
    };
    for (Operation &op : function.front())
      if (isNest(op) && !isKept(op))
        nests.push_back({function.getName().str(), describe(op), locationOf(op)});
  }
  return nests;
}
