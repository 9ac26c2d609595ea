//===- Space.h - Integer variables and what is known of them ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The variables of one program: iterations of loops, sizes, elements of vectors, and
/// values that are computed of them. Each carries what always holds for it:
///
///   i      0 <= i <= 7                      an iteration
///   q      4 q <= i <= 4 q + 3              i floordiv 4
///   m      m <= a, m <= b, and one of (m = a), (m = b)   min(a, b)
///
/// One question is asked: has a list of conditions an integer solution? First by
/// combining two conditions at a time so that the youngest variable vanishes (a search
/// of bounded length, enough for most), then by isl, whose work is bounded, too.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_SPACE_H
#define TILEWRIGHT_CORE_PROOF_SPACE_H

#include "core/Proof/Linear.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

struct isl_ctx;
struct isl_set;

namespace tilewright::proof {

/// All conditions of `all`, and of each list of `oneOf` at least one conjunction.
struct Conditions {
  Conjunction all;
  std::vector<std::vector<Conjunction>> oneOf;

  void add(const Conditions &other) {
    all.append(other.all.begin(), other.all.end());
    oneOf.insert(oneOf.end(), other.oneOf.begin(), other.oneOf.end());
  }
  /// a == b.
  void addEqual(const Linear &a, const Linear &b) {
    all.push_back(a - b);
    all.push_back(b - a);
  }
};

/// A truth value as a disjunction of conjunctions; nothing known: not `isKnown`.
struct Truth {
  std::vector<Conjunction> anyOf;
  bool isKnown = true;
};
Truth operator&&(const Truth &a, const Truth &b);
Truth operator||(const Truth &a, const Truth &b);
Truth operator!(const Truth &a);

/// Whether conditions have a solution.
struct Answer {
  enum Kind {
    Never,  ///< they have none
    Some,   ///< they have the solution `values`
    Unknown ///< not known; `reason`
  } kind = Unknown;
  std::string values; ///< "i = 3, n = 17"
  std::string reason;
  /// Of `Some`: each value that it depends on is an iteration, a size or computed of them. Else the solution may be one
  /// that no run has.
  bool isReal = false;
};

class Space {
public:
  enum class Kind {
    Iteration,
    Size,
    Element,
    Derived,
    Opaque ///< nothing is known but its conditions; `reason` says why
  };

  Space();
  ~Space();
  Space(const Space &) = delete;

  Variable add(llvm::StringRef name, Kind kind, llvm::StringRef reason = "");
  /// A condition of `variable` that holds wherever it occurs.
  void know(Variable variable, Linear condition) { infos[variable].known.all.push_back(std::move(condition)); }
  const std::string &nameOf(Variable variable) const { return infos[variable].name; }
  Kind kindOf(Variable variable) const { return infos[variable].kind; }
  const Conditions &knownOf(Variable variable) const { return infos[variable].known; }
  llvm::ArrayRef<Variable> operandsOf(Variable variable) const { return infos[variable].from; }
  /// How a variable was computed; `Given`: it was not, as an iteration, a size or a value of data.
  struct Origin {
    enum Way { Given, FloorDiv, Least, Greatest, Select, Product, Quotient, Opaque } way = Given;
    llvm::SmallVector<Linear> operands;
    int64_t divisor = 1; // of FloorDiv
    Truth condition;     // of Select
    std::string name, reason;
  };
  const Origin &originOf(Variable variable) const { return infos[variable].origin; }
  /// `value` where variables have other values: what is computed of them is computed again.
  Linear substituted(const Linear &value, std::map<Variable, Linear> &values);
  Variable count() const { return infos.size(); }

  /// Values that are computed; the same operands give the same variable. Divisors are positive.
  Linear floorDiv(const Linear &value, int64_t divisor);
  Linear modulo(const Linear &value, int64_t divisor) { return value - floorDiv(value, divisor) * divisor; }
  /// The least, or the greatest, of `values`.
  Linear extreme(llvm::ArrayRef<Linear> values, bool isLeast);
  Linear select(const Truth &condition, const Linear &yes, const Linear &no);
  /// A product; where both have variables, products that have a factor in common are compared by the other one.
  Linear product(const Linear &a, const Linear &b);
  /// value floordiv divisor, of a divisor that varies; where it is not positive, nothing is known.
  Linear quotient(const Linear &value, const Linear &divisor);
  /// `name(a, b)`: of which only that equal operands give equal values is known.
  Linear opaque(llvm::StringRef name, llvm::ArrayRef<Linear> operands, llvm::StringRef reason);

  /// Whether `conditions` and `goal` >= 0 have a solution.
  Answer solve(const Conditions &conditions, const Linear &goal);
  bool isNever(const Conditions &conditions, const Linear &goal) {
    return solve(conditions, goal).kind == Answer::Never;
  }
  /// Whether `value` >= 0 wherever it occurs under `conditions`.
  bool isNonNegative(const Conditions &conditions, const Linear &value) { return isNever(conditions, value * -1 + -1); }

  /// Another instance of the iterations of `from` and later: a map for those variables that depend on one of them.
  llvm::DenseMap<Variable, Variable> again(Variable from, llvm::ArrayRef<Linear> used, const Conditions &conditions);
  static Linear renamed(const Linear &value, const llvm::DenseMap<Variable, Variable> &names);
  static Conditions renamed(const Conditions &conditions, const llvm::DenseMap<Variable, Variable> &names);

  /// The points that exist for values of the variables under all of `conditions`, over the dimensions of `point` and
  /// then the variables `kept`; null where it is too large. `around`: iterations that have to exist. The caller frees
  /// it.
  isl_set *setOf(const Conditions &conditions, llvm::ArrayRef<Linear> point, llvm::ArrayRef<Linear> around,
                 llvm::ArrayRef<Variable> kept);
  /// Why the variables that these values are made of are not all iterations, sizes, elements, computed of them, or in
  /// `known`; empty where they are.
  std::string firstOpaque(llvm::ArrayRef<Linear> values, const Conditions &conditions,
                          llvm::ArrayRef<Variable> known) const;
  isl_ctx *isl() const { return ctx; }
  /// Allows isl another share of work. False after it gave up on the last one.
  void renewBudget(unsigned long operations);
  /// Why isl gave no answer.
  std::string whyUnknown() const;

  /// Questions that the first way answered, and isl.
  unsigned quick = 0, slow = 0;

private:
  struct Info {
    std::string name, reason;
    Kind kind;
    Conditions known;
    llvm::SmallVector<Variable, 2> from; // what it is computed of
    Origin origin;
  };
  Linear derived(std::string key, llvm::StringRef name, Kind kind, llvm::ArrayRef<Linear> operands,
                 llvm::function_ref<void(Variable, Info &)> define);
  /// Conditions and what is known of the variables that `goal` reaches through them.
  /// With `everything` all of the conditions, whatever they are about.
  Conditions reach(const Conditions &conditions, llvm::ArrayRef<Linear> goals, std::vector<Variable> &variables,
                   bool everything = false) const;
  isl_set *build(const Conditions &conditions, llvm::ArrayRef<Variable> variables, unsigned before = 0);
  Answer ask(const Conditions &conditions, llvm::ArrayRef<Variable> variables);

  void learnProduct(Variable result, Variable a, Variable b);
  void comparisons(llvm::ArrayRef<Variable> variables, llvm::ArrayRef<Linear> goals, Conditions &conditions) const;

  /// Of two variables, and whether each of these is surely 0 or more.
  struct Product {
    Variable result, a, b;
    bool isA, isB;
  };
  std::map<Variable, Product> products;
  std::vector<Info> infos;
  std::map<std::string, Variable> interned;
  isl_ctx *ctx;
};

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_SPACE_H
