//===- SumMemory.h - Which additions an array element has behind it -*- C++ -*-//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays as a list of writes, the newest last. An element has what the newest write has that may have written it; the
/// search ends at a write that surely did:
///
///   for i { s[i] = 0;  for k { s[i] += x[i, k] } }     s: [i] has 0;  [i] has 1;  .. after the loop: [0, n) has K
///
/// Indices are sums of loop counters (`Form`) and a constant. When an iteration ends, what was
/// written at counter i is at i - step; when the loop ends, intervals that lie next to each other become one.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_SUMMEMORY_H
#define TILEWRIGHT_CORE_PROOF_SUMMEMORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright::proof {

/// Additions in a row, by the place of the addition.
class Chain {
public:
  void join(const Chain &other);
  void add(unsigned place, int64_t additions);
  int64_t at(unsigned place) const;
  const std::map<unsigned, int64_t> &all() const { return counts; }
  /// `this` after `times` more steps of what led from `before` to it.
  Chain continued(const Chain &before, int64_t times) const;
  friend bool operator==(const Chain &a, const Chain &b) { return a.counts == b.counts; }

private:
  std::map<unsigned, int64_t> counts;
};

/// A number as a sum of atoms with factors: counters of loops, and what is computed of them in other ways.
struct Form {
  std::map<unsigned, int64_t> terms;
  int64_t constant = 0;

  Form &add(const Form &other, int64_t factor = 1);
  bool isConstant() const { return terms.empty(); }
  friend bool operator==(const Form &a, const Form &b) { return a.terms == b.terms && a.constant == b.constant; }
};

/// The smallest and largest value of atoms: of counters, while their loops run.
using AtomRanges = std::map<unsigned, std::pair<int64_t, int64_t>>;

/// Indices from `begin` on.
struct Interval {
  Form begin;
  int64_t width = 1;
  bool isWhole = false; // all of the dimension

  friend bool operator==(const Interval &a, const Interval &b) {
    return a.isWhole == b.isWhole && (a.isWhole || (a.begin == b.begin && a.width == b.width));
  }
};

/// A write of one block of an array.
struct Write {
  std::vector<Interval> where;
  bool isSure = true; // of all of the block
  Chain chain;
};

class SumArray {
public:
  /// `ranges` live as long as the array.
  SumArray(std::vector<int64_t> shape, const AtomRanges *ranges) : shape(std::move(shape)), ranges(ranges) {}

  Chain read(const std::vector<Interval> &where) const;
  void write(Write write);
  /// Another run from the same state: what one of both wrote.
  void join(const SumArray &other);
  /// The counter `iv` goes on by `step`. `depends`: of atoms that are another number then.
  void shift(unsigned iv, int64_t step, llvm::function_ref<bool(unsigned)> depends);
  /// A loop ends that ran from `first` on `trips` times by `step`: `iv` is no more. `isLocal`: values computed in it.
  /// `isParallel`: its iterations own what they write together.
  void close(unsigned iv, const Form &first, int64_t step, int64_t trips, llvm::function_ref<bool(unsigned)> isLocal,
             bool isParallel);
  const std::vector<Write> &writes() const { return list; }
  std::vector<Write> &writes() { return list; }
  llvm::ArrayRef<int64_t> extents() const { return shape; }

private:
  void normalise(Write &write) const;
  void joinIterations(unsigned iv, int64_t step);
  void joinNeighbours(unsigned iv);
  bool isApart(const Interval &a, const Interval &b) const;
  bool covers(const Interval &outer, const Interval &inner) const;
  bool covers(const Write &outer, const std::vector<Interval> &inner) const;
  std::optional<std::pair<int64_t, int64_t>> distance(const Form &a, const Form &b) const;

  std::vector<int64_t> shape; // of constants
  const AtomRanges *ranges;
  std::vector<Write> list;
};

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_SUMMEMORY_H
