//===- DependentReductions.h - Reductions that read each other --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A chain of neighbouring nests whose reductions over one common dimension read
/// the results of each other, and whether one pass over that dimension can
/// compute all of them:
///
///   m = max over j of x(j);  l = sum over j of exp(x(j) - m);  o = sum over j of exp(x(j) - m) / l * v(j)
///
/// The function of a reduction, e(x, r) with x what the dimension indexes and r
/// results of other reductions, must be separable:
///
///   e(x, r) = sum over i < rank of g_i(x) * h_i(r)        so the result is  sum of h_i(r) * (sum over j of g_i(x(j)))
///
/// Sums of g_i are the states, h_i is applied when all is read. An exponential is
/// separable at a *base*: exp(c (x - m)) = exp(c (x - b)) * exp(c (b - m)), where
/// the base b is the maximum so far, and states at an old base are multiplied by
/// exp(c (old - new)). Nothing is ever inverted. The certificate multiplies the
/// pairs out again and compares with e, exactly.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_ANALYSIS_DEPENDENTREDUCTIONS_H
#define TILEWRIGHT_CORE_ANALYSIS_DEPENDENTREDUCTIONS_H

#include "core/Analysis/Nest.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <tuple>

namespace tilewright {

/// An expression of one iteration, the same object for the same expression. Its loads are over the loops of the chain.
struct Term {
  enum class Kind {
    Load,     ///< An element of array `value`, at `map` of loops (dimensions) and symbols.
    Constant, ///< `attribute`
    Outer,    ///< `value`, from outside of the nests.
    Index,    ///< The number of the iteration of loop `loop`.
    Op,       ///< Operation `name` with the attributes `attribute`.
  } kind = Kind::Op;
  std::string name;
  mlir::Attribute attribute;
  llvm::SmallVector<const Term *, 3> operands;
  mlir::Value value;
  mlir::AffineMap map;
  unsigned loop = 0;
  int writer = -1; ///< The statement that wrote what is loaded; -1: none of the chain.
  int part = -1;   ///< The pair of that statement that is loaded; -1: what it stores.
  mlir::Type type;
  bool isReduced = false;   ///< Differs between iterations of the common loop.
  bool isDependent = false; ///< Reads a result of a reduction over it, or what was computed from one.
  unsigned id = 0;          ///< In the order of creation.

  /// What it is made of.
  auto parts() const { return std::tie(kind, name, attribute, operands, value, map, loop, writer, part, type); }
};

/// The value of a floating-point constant; nullopt for other terms.
std::optional<double> numberOf(const Term *term);

/// One g(x) * h(r) of a function.
struct SeparablePair {
  struct Factor {
    const Term *term = nullptr;
    bool isDivisor = false;
  };
  /// A choice by results of reductions: the pair is zero where it says so.
  struct Guard {
    const Term *where = nullptr;
    bool isZeroIfTrue = true;
    bool operator==(const Guard &other) const { return where == other.where && isZeroIfTrue == other.isZeroIfTrue; }
  };
  bool isNegative = false;
  const Term *g = nullptr;              ///< Null: one.
  llvm::SmallVector<Factor, 2> h;       ///< None: one.
  llvm::SmallVector<Guard, 1> guards;   ///< Applied when all is read, to g h.
  llvm::SmallVector<unsigned, 1> bases; ///< At which `g` stands, numbers of `DependentReductions::bases`.
  bool isAtMostOne = false;             ///< Proved of the absolute value of `g`.
  int mean = -1; ///< g is (x - m)^power * rest, number of `DependentReductions::means`; -1: none.
  unsigned power = 0;
  const Term *rest = nullptr; ///< Null: one.

  bool isPlain() const { return !isNegative && g && h.empty() && guards.empty() && bases.empty() && mean < 0; }
};

/// A maximum (or minimum) so far at which exponentials stand: exp(factor * (x - m)), or exp(factor * (m - x)).
struct ReductionBase {
  unsigned statement = 0;       ///< The reduction that computes m.
  const Term *value = nullptr;  ///< m, as exponents read it: perhaps another number where m is infinite.
  const Term *factor = nullptr; ///< A positive constant; null: one.
  std::string exp;              ///< "math.exp" or "math.exp2"
  bool isMinimum = false;
};

/// A mean m = (sum of x) / count at which powers of x - m stand. The mean so far is their base: when it moves from b to
/// c, the sum of (x - b) is zero, and sums of squares grow by count * (b - c)^2.
struct MeanBase {
  unsigned statement = 0;         ///< The sum.
  const Term *value = nullptr;    ///< m, as functions read it.
  const Term *distance = nullptr; ///< x - m
};

/// One nest that stores into one array: A[map] = term, or A[map] = combine(A[map], term).
struct ReductionStatement {
  mlir::Operation *root = nullptr;
  llvm::SmallVector<unsigned, 6> loops; ///< Of the chain, outermost first.
  mlir::Value memref;
  mlir::AffineMap map;
  const Term *term = nullptr;
  mlir::Operation *combine = nullptr;     ///< Null: no accumulation.
  bool sumIsFirst = true;                 ///< combine(A, term), not combine(term, A)
  llvm::SmallVector<unsigned, 2> reduced; ///< Loops that `map` does not name.
  int before = -1;                        ///< The statement that wrote the array before; -1: none of the chain.

  enum class Place {
    Before, ///< Does not depend on the common dimension: once, before its first step.
    Step,   ///< In each step.
    After,  ///< Reads results: once, after the last step.
  } place = Place::Before;
  /// Of what it stores or sums, in steps.
  llvm::SmallVector<SeparablePair, 2> pairs;
  /// Whether it combines over the common dimension.
  bool isState = false;
};

/// A chain, analysed. Not to be copied: terms point at each other.
class DependentReductions {
public:
  static constexpr int64_t anyNumber = std::numeric_limits<int64_t>::max();
  struct Loop {
    int64_t trips = 0; ///< At most; of the common loop perhaps `anyNumber`.
    mlir::Value bound; ///< The iterations that there are, where they may be fewer; null: `trips`.
    bool operator==(const Loop &other) const { return trips == other.trips && bound == other.bound; }
  };

  /// The chain of the nests (or single stores) `ops`, which are neighbours in their block but for allocations. Null
  /// with a reason if they are none. `isInside`: whether an operation may touch arrays of the chain; others that do
  /// make its arrays results. `mayReassociate`: states may be scaled. `mayBeOne`: a single sum, that reads none, is a
  /// chain, too, over its longest loop.
  static std::unique_ptr<DependentReductions> find(llvm::ArrayRef<mlir::Operation *> ops,
                                                   llvm::function_ref<bool(mlir::Operation *)> isInside,
                                                   bool mayReassociate, std::string &reason, bool mayBeOne = false);
  DependentReductions(const DependentReductions &) = delete;

  llvm::SmallVector<Loop, 8> loops;
  llvm::SmallVector<mlir::Value, 4> symbols; ///< Of all maps.
  llvm::SmallVector<ReductionStatement, 0> statements;
  llvm::SmallVector<ReductionBase, 2> bases;
  llvm::SmallVector<MeanBase, 1> means;
  unsigned common = 0; ///< The loop over the common dimension.

  /// The loop that index `d` of an array of the chain names; nullopt: a constant or symbol.
  std::optional<unsigned> loopOfIndex(mlir::AffineMap map, unsigned d) const;
  /// Iterations of the common loop, over symbols.
  mlir::AffineExpr commonTrips();
  /// Iterations that a reduction combines for one result; of maxima and minima, 1: what the sum of ones is in it.
  int64_t countOf(const ReductionStatement &s) const;
  /// States of a reduction: sums that it keeps, with those that it needs when a mean moves.
  unsigned rankOf(const ReductionStatement &s) const;
  /// Loops that a term differs in.
  llvm::SmallBitVector loopsOf(const Term *term) const;
  llvm::SmallBitVector loopsOf(mlir::AffineMap map) const;
  /// The term of an operation; without `attributes` it has none.
  const Term *operation(llvm::StringRef name, llvm::ArrayRef<const Term *> operands, mlir::Type type,
                        mlir::Attribute attributes = {});
  /// `term` with the functions of arrays of several pairs in place of their elements, which no step keeps as they are.
  const Term *inlined(const Term *term);

  /// In words: `exp(a2[i, j] - a3[i])`.
  std::string text(const Term *term) const;
  /// `a4[i] = sum over j of a5[i, j] * a2[j]`
  std::string text(const ReductionStatement &s) const;
  /// `g * h` of each pair, and its base.
  std::string pairsText(const ReductionStatement &s) const;

private:
  DependentReductions() = default;
  friend class ChainReader;
  friend class PairSplitter;
  const Term *intern(Term term);
  const Term *constant(mlir::TypedAttr value);
  /// Names arrays in the order of the program.
  void nameArrays() const;
  std::string nameOf(mlir::Value array) const;
  std::string text(mlir::AffineMap map) const;

  /// Terms are the same if what they are made of is.
  struct SameTerm : llvm::DenseMapInfo<const Term *> {
    static unsigned getHashValue(const Term *term);
    static bool isEqual(const Term *a, const Term *b);
  };
  std::deque<Term> terms;
  llvm::DenseSet<const Term *, SameTerm> known;
  mutable llvm::SmallVector<mlir::Value, 8> arrays;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_ANALYSIS_DEPENDENTREDUCTIONS_H
