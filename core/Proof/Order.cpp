//===- Order.cpp - Asynchronous operations are awaited --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For an asynchronous operation X and one that comes after it, Y, which touch an
/// element of which one writes: a wait for X's token runs between them. Which wait that
/// is follows from where the token goes:
///
///   %l:2 = affine.for %i = 0 to %n iter_args(%a = %t0, %b = %t1) {
///     tile.wait %a                              of iteration i - 2, since the token
///     %x = tile.copy ..                         moves on by one argument an iteration
///     affine.yield %b, %x
///   }
///   tile.wait %l#0, %l#1                        of the last two iterations
///
/// So the wait of iteration i of X is one of iteration i + 2, if there is one, or the one
/// after the loop. Iterations of one copy are complete in their order, as waits count
/// them: the token of a later one does, too. The question is whether an iteration i of X and one of Y exist for
/// which none of these waits runs, or runs before Y.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Checks.h"
#include "dialects/Tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::proof;

/// Places that a token is followed to.
static constexpr size_t mostPlaces = 200;

namespace {

/// A wait of a token: where it runs, as a function of the iterations of the operation that gave it, and under which
/// conditions.
struct Completion {
  std::vector<Step> time;
  Conjunction conditions;
};

/// Follows a token from the operation that gives it.
class Follower {
public:
  Follower(const Program &program, const Access &access) : program(program) {
    Place begin{access.token, access.time, {}};
    begin.time.pop_back(); // the operation itself
    places.push_back(std::move(begin));
    for (size_t i = 0; i < places.size() && places.size() < mostPlaces; ++i)
      follow(Place(places[i]));
  }
  std::vector<Completion> completions;
  bool isWhole = true; // these are all waits for the token

private:
  struct Place {
    Value token;
    std::vector<Step> time; // the loops around it, with iterations as functions of those of the operation
    Conjunction conditions;
    bool isOwn = true; // the loops around it are those of the operation
  };
  /// A token went where it is not followed: other waits may be for it.
  void giveUp() { isWhole = false; }

  /// `value` with the iterations of `original` replaced by those of `time`; nullopt where it is computed of one that
  /// is another there.
  std::optional<Linear> placed(const Linear &value, ArrayRef<Step> original, ArrayRef<Step> time) const {
    Linear result = value.constant();
    for (auto [variable, factor] : value.terms()) {
      Linear by = Linear::of(variable);
      for (auto [from, to] : llvm::zip(original, time))
        if (from.iteration && to.iteration && !(*from.iteration == *to.iteration)) {
          Variable counter = from.iteration->terms().front().first;
          if (variable == counter)
            by = *to.iteration;
          else if (dependsOn(variable, counter))
            return std::nullopt;
        }
      result += by * factor;
    }
    return result;
  }
  bool dependsOn(Variable variable, Variable other) const {
    return llvm::any_of(program.space.operandsOf(variable),
                        [&](Variable each) { return each == other || dependsOn(each, other); });
  }
  /// Whether the loops of `original` are those of `time`.
  static bool isAt(ArrayRef<Step> original, ArrayRef<Step> time) {
    return original.size() == time.size() && llvm::all_of(llvm::zip(original, time), [](const auto &pair) {
             return std::get<0>(pair).group == std::get<1>(pair).group;
           });
  }
  /// The record of loop `op` in the loops of `time`.
  const std::vector<Step> *loopAt(Operation *op, ArrayRef<Step> time) const {
    for (const auto &loop : program.loops)
      if (loop.back().op == op && loop.size() == time.size() + 1 && isAt(ArrayRef(loop).drop_back(), time))
        return &loop;
    return nullptr;
  }
  /// The conditions under which the last loop of `time` has the iteration that it says; `record` is of that loop.
  std::optional<Conjunction> runs(const std::vector<Step> &record, ArrayRef<Step> time) const {
    Conjunction result;
    for (const Linear &each : program.space.knownOf(record.back().iteration->terms().front().first).all) {
      std::optional<Linear> condition = placed(each, record, time);
      if (!condition)
        return std::nullopt;
      result.push_back(*condition);
    }
    return result;
  }
  /// Goes on with `token` in the next, or the first, iteration of a loop, and with `after` behind its last one.
  void enter(Place place, const std::vector<Step> &record, Value token, Value after, bool isLater) {
    std::optional<Conjunction> isThere = runs(record, place.time);
    if (!isThere)
      return giveUp();
    Place inside = place;
    inside.token = token;
    llvm::append_range(inside.conditions, *isThere);
    places.push_back(std::move(inside));
    if (!after)
      return giveUp();
    place.token = after;
    place.time.pop_back();
    if (isLater) { // the token of the last iteration; that copy is complete after this one
      places.push_back(std::move(place));
      return;
    }
    // Behind the loop where there is no such iteration: one of its upper bounds is exceeded.
    Variable counter = record.back().iteration->terms().front().first;
    for (auto [condition, original] : llvm::zip(*isThere, program.space.knownOf(counter).all)) {
      if (original.factorOf(counter) >= 0)
        continue;
      Place behind = place;
      behind.conditions.push_back(condition * -1 + -1);
      places.push_back(std::move(behind));
    }
  }
  void choose(const Place &place, Operation *op, Value result, bool isYes) {
    for (const Choice &choice : program.choices)
      if (choice.op == op && isAt(choice.time, place.time)) {
        Truth condition = isYes ? choice.condition : !choice.condition;
        if (!condition.isKnown || condition.anyOf.size() != 1)
          return giveUp();
        Place chosen = place;
        chosen.token = result;
        for (const Linear &each : condition.anyOf.front()) {
          std::optional<Linear> here = placed(each, choice.time, place.time);
          if (!here)
            return giveUp();
          chosen.conditions.push_back(*here);
        }
        places.push_back(std::move(chosen));
        return;
      }
    giveUp();
  }
  void follow(const Place &place) {
    for (OpOperand &use : place.token.getUses()) {
      Operation *op = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (isa<tile::WaitOp>(op)) {
        for (const Wait &wait : program.waits)
          if (wait.op == op && isAt(ArrayRef(wait.time).drop_back(), place.time)) {
            Completion completion{place.time, place.conditions};
            completion.time.push_back(wait.time.back());
            completions.push_back(std::move(completion));
          }
      } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
        choose(place, op, select.getResult(), number == 1);
      } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
        OpOperand *init = &use;
        BlockArgument argument = loop.getTiedLoopRegionIterArg(init);
        const std::vector<Step> *record = loopAt(op, place.time);
        if (!argument || !record) {
          giveUp();
          continue;
        }
        Place first = place;
        first.isOwn = false;
        first.time.push_back(record->back());
        std::optional<Linear> lower = placed(record->back().lower, *record, place.time);
        if (!lower) {
          giveUp();
          continue;
        }
        first.time.back().iteration = *lower;
        enter(std::move(first), *record, argument,
              op->getResult(llvm::find(loop.getRegionIterArgs(), argument) - loop.getRegionIterArgs().begin()),
              /*isLater=*/false);
      } else if (op->hasTrait<OpTrait::IsTerminator>()) {
        Operation *parent = op->getParentOp();
        if (auto branch = dyn_cast<scf::IfOp>(parent)) {
          bool isYes = op->getParentRegion() == &branch.getThenRegion();
          if (op->getParentRegion()->isAncestor(
                  Value(place.token).getParentRegion())) { // then it is that branch that runs
            Place behind = place;
            behind.token = branch.getResult(number);
            places.push_back(std::move(behind));
          } else
            choose(place, branch, branch.getResult(number), isYes);
        } else if (auto loop = dyn_cast<LoopLikeOpInterface>(parent);
                   loop && !place.time.empty() && place.time.back().op == parent) {
          auto arguments = loop.getRegionIterArgs();
          std::vector<Step> around(place.time.begin(), place.time.end() - 1);
          const std::vector<Step> *record = loopAt(parent, around);
          if (!record || number >= arguments.size()) {
            giveUp();
            continue;
          }
          Place next = place;
          *next.time.back().iteration += 1;
          enter(std::move(next), *record, arguments[number], parent->getResult(number), /*isLater=*/place.isOwn);
        } else
          giveUp();
      } else {
        giveUp();
      }
    }
  }

  const Program &program;
  std::vector<Place> places;
};

} // namespace

//===-- Times -------------------------------------------------------------===//

/// The cases in which `a` comes before `b` (with `isReversed`, in which it does not): which comes first is said by the
/// first step in which they differ.
static std::vector<Conjunction> before(ArrayRef<Step> a, ArrayRef<Step> b, bool isReversed) {
  std::vector<Conjunction> cases;
  Conjunction equal;
  for (auto [x, y] : llvm::zip(a, b)) {
    if (x.clock != y.clock) {
      if ((x.clock < y.clock) != isReversed)
        cases.push_back(equal);
      return cases;
    }
    if (!x.iteration || !y.iteration) // one operation, in one iteration
      break;
    Linear difference = *y.iteration - *x.iteration;
    if (difference.isConstant() && difference.constant() == 0)
      continue;
    Conjunction less = equal;
    less.push_back(isReversed ? difference * -1 + -1 : difference + -1);
    cases.push_back(std::move(less));
    equal.push_back(difference);
    equal.push_back(difference * -1);
  }
  if (isReversed)
    cases.push_back(equal);
  return cases;
}

/// Whether a later `y` touches what `x`, which gives a token, touches, with no wait for it between them.
static Answer overtakes(Program &program, const Access &x, const Access &y, ArrayRef<Completion> completions) {
  Space &space = program.space;
  // Parallel iterations around both are one; all others are two instances.
  size_t shared = 0;
  while (shared < x.time.size() && shared < y.time.size() && x.time[shared].isParallel &&
         x.time[shared].group == y.time[shared].group)
    ++shared;
  Variable from = shared < y.time.size() && y.time[shared].iteration ? y.time[shared].first : space.count();
  SmallVector<Linear> used(y.index);
  for (const Step &step : y.time)
    if (step.iteration)
      used.push_back(*step.iteration);
  auto names = space.again(from, used, y.conditions);
  std::vector<Step> later = y.time;
  for (Step &step : later)
    if (step.iteration)
      step.iteration = Space::renamed(*step.iteration, names);
  Conditions both = x.conditions;
  both.add(Space::renamed(y.conditions, names));
  for (auto [a, b] : llvm::zip(x.index, y.index))
    both.addEqual(a, Space::renamed(b, names));
  for (const Completion &each : completions) { // it does not run, or not before y
    std::vector<Conjunction> cases = before(each.time, later, /*isReversed=*/true);
    for (const Linear &condition : each.conditions)
      cases.push_back({condition * -1 + -1});
    if (cases.empty()) // it surely runs, and before y
      return {Answer::Never, "", ""};
    if (llvm::none_of(cases, [](const Conjunction &one) { return one.empty(); }))
      both.oneOf.push_back(std::move(cases));
  }
  for (const Conjunction &order : before(x.time, later, /*isReversed=*/false)) {
    Conditions all = both;
    llvm::append_range(all.all, order);
    Answer answer = space.solve(all, order.empty() ? Linear() : order.front());
    if (answer.kind != Answer::Never)
      return answer;
  }
  return {Answer::Never, "", ""};
}

void tilewright::proof::checkOrder(Program &program, Proof &proof) {
  std::vector<SmallVector<const Access *>> byArray(program.arrays.size());
  for (const Access &access : program.accesses)
    byArray[access.array].push_back(&access);
  llvm::DenseMap<Value, std::pair<std::vector<Completion>, bool>> waits;
  std::set<std::pair<Operation *, Operation *>> isFound;
  for (const auto &accesses : byArray) {
    SmallVector<const Access *> asynchronous;
    llvm::copy_if(accesses, std::back_inserter(asynchronous), [](const Access *each) { return bool(each->token); });
    if (asynchronous.empty())
      continue;
    std::vector<Family> families = familiesOf(program, accesses);
    for (const Access *x : asynchronous) {
      auto [found, isNew] = waits.try_emplace(x->token);
      if (isNew) {
        Follower follower(program, *x);
        found->second = {std::move(follower.completions), follower.isWhole};
      }
      const auto [completions, isWhole] = found->second;
      for (const Family &family : families) {
        const Access &y = family.hull;
        if (!x->isWrite && !y.isWrite)
          continue;
        // Launches end before the next one begins; products of one unit run in order.
        bool isOneLaunch = !x->time.front().isParallel || x->time.front().group == y.time.front().group;
        bool areProducts = isa<tile::MultiplyOp>(x->op) && isa<tile::MultiplyOp>(y.op) && x->isWrite && y.isWrite;
        if (!isOneLaunch || areProducts)
          continue;
        Property property = x->isWrite ? Property::Awaited : Property::Free;
        ++proof.asked[static_cast<int>(property)];
        if (overtakes(program, *x, y, completions).kind == Answer::Never)
          continue;
        for (const Access *member : family.members) {
          Answer answer = overtakes(program, *x, *member, completions);
          if (answer.kind == Answer::Never || !isFound.insert({x->op, member->op}).second)
            continue;
          std::string what = x->op->getName().stripDialect().str() == "copy" ? "a copy" : "a product";
          report(proof, property, *member, answer, isWhole && x->isExact && member->isExact,
                 describe(program, *member) + " before the wait for " + what + " that " +
                     (x->isWrite ? "writes" : "reads") + " it");
        }
      }
    }
  }
}
