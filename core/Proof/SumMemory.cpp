//===- SumMemory.cpp - Which additions an array element has behind it -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads look through the writes from the newest to the oldest.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/SumMemory.h"

#include "llvm/ADT/STLExtras.h"

using namespace tilewright::proof;

void Chain::join(const Chain &other) {
  for (auto [place, count] : other.counts) {
    int64_t &mine = counts[place];
    mine = std::max(mine, count);
  }
}

void Chain::add(unsigned place, int64_t additions) {
  if (additions)
    counts[place] += additions;
}

int64_t Chain::at(unsigned place) const {
  auto found = counts.find(place);
  return found == counts.end() ? 0 : found->second;
}

Chain Chain::continued(const Chain &before, int64_t times) const {
  Chain result = *this;
  for (auto &[place, count] : result.counts)
    count += times * (count - before.at(place));
  return result;
}

Form &Form::add(const Form &other, int64_t factor) {
  for (auto [value, by] : other.terms)
    if ((terms[value] += by * factor) == 0)
      terms.erase(value);
  constant += other.constant * factor;
  return *this;
}

/// How far b begins after a, at least and at most, in all iterations of the loops that run.
std::optional<std::pair<int64_t, int64_t>> SumArray::distance(const Form &a, const Form &b) const {
  Form between = b;
  between.add(a, -1);
  std::pair<int64_t, int64_t> result(between.constant, between.constant);
  for (auto [atom, factor] : between.terms) {
    auto found = ranges->find(atom);
    if (found == ranges->end())
      return std::nullopt;
    int64_t low = factor * found->second.first, high = factor * found->second.second;
    result.first += std::min(low, high);
    result.second += std::max(low, high);
  }
  return result;
}

/// Whether two intervals have no index in common.
bool SumArray::isApart(const Interval &a, const Interval &b) const {
  if (a.isWhole || b.isWhole)
    return false;
  auto between = distance(a.begin, b.begin);
  return between && (between->first >= a.width || between->second + b.width <= 0);
}

bool SumArray::covers(const Interval &outer, const Interval &inner) const {
  if (outer.isWhole || inner.isWhole)
    return outer.isWhole;
  auto between = distance(outer.begin, inner.begin);
  return between && between->first >= 0 && between->second + inner.width <= outer.width;
}

bool SumArray::covers(const Write &outer, const std::vector<Interval> &inner) const {
  return outer.isSure && llvm::all_of(llvm::zip_equal(outer.where, inner),
                                      [&](auto pair) { return covers(std::get<0>(pair), std::get<1>(pair)); });
}

Chain SumArray::read(const std::vector<Interval> &where) const {
  Chain result;
  for (const Write &write : llvm::reverse(list)) {
    if (llvm::any_of(llvm::zip_equal(write.where, where),
                     [&](auto pair) { return isApart(std::get<0>(pair), std::get<1>(pair)); }))
      continue;
    result.join(write.chain);
    if (covers(write, where))
      break;
  }
  return result;
}

void SumArray::normalise(Write &write) const {
  for (auto [interval, extent] : llvm::zip_equal(write.where, shape))
    if (interval.begin.isConstant() && interval.begin.constant <= 0 &&
        interval.begin.constant + interval.width >= extent)
      interval = {{}, 1, true};
}

/// `a` and `b` as one block; nothing: they are none.
static std::optional<std::vector<Interval>> asOneBlock(const Write &a, const Write &b) {
  std::vector<Interval> result = a.where;
  bool isOne = a.isSure && b.isSure, differs = false;
  for (auto [x, y] : llvm::zip_equal(result, b.where)) {
    if (x == y)
      continue;
    isOne &= !differs && !x.isWhole && !y.isWhole && x.begin.terms == y.begin.terms;
    differs = true;
    if (!isOne)
      return std::nullopt;
    int64_t begin = std::min(x.begin.constant, y.begin.constant);
    int64_t end = std::max(x.begin.constant + x.width, y.begin.constant + y.width);
    isOne &= end - begin <= x.width + y.width;
    x.begin.constant = begin;
    x.width = end - begin;
  }
  return isOne && differs ? std::optional(std::move(result)) : std::nullopt;
}

void SumArray::write(Write write) {
  normalise(write);
  if (write.isSure)
    llvm::erase_if(list, [&](const Write &each) { return covers(write, each.where); });
  else
    for (Write &each : list) // the same place again: one of both
      if (!each.isSure && covers(Write{write.where, true, {}}, each.where) &&
          covers(Write{each.where, true, {}}, write.where)) {
        each.chain.join(write.chain);
        return;
      }
  list.push_back(std::move(write));
  // What was written just before, next to it, is one with it: a tile whose rows are written one by one.
  if (list.size() < 2 || !(list[list.size() - 2].chain == list.back().chain))
    return;
  if (auto both = asOneBlock(list[list.size() - 2], list.back())) {
    list.pop_back();
    Write one{std::move(*both), true, std::move(list.back().chain)};
    list.pop_back();
    this->write(std::move(one));
  }
}

void SumArray::join(const SumArray &other) {
  for (const Write &write : other.list) {
    auto same = llvm::find_if(list, [&](const Write &each) { return each.where == write.where; });
    if (same == list.end())
      list.push_back(write);
    else
      same->chain.join(write.chain);
  }
}

void SumArray::shift(unsigned iv, int64_t step, llvm::function_ref<bool(unsigned)> depends) {
  for (Write &write : list)
    for (Interval &interval : write.where) {
      if (llvm::any_of(interval.begin.terms, [&](auto term) { return term.first != iv && depends(term.first); })) {
        interval = {{}, 1, true};
        write.isSure = false;
      } else if (auto found = interval.begin.terms.find(iv); found != interval.begin.terms.end())
        interval.begin.constant -= found->second * step;
    }
}

/// How many iterations after `a` another one writes `b` in its place; nothing: these are other places.
static std::optional<int64_t> iterationsBetween(const Write &a, const Write &b, unsigned iv, int64_t step) {
  std::optional<int64_t> between;
  for (auto [x, y] : llvm::zip_equal(a.where, b.where)) {
    if (x.isWhole != y.isWhole || (!x.isWhole && (x.begin.terms != y.begin.terms || x.width != y.width)))
      return std::nullopt;
    if (x.isWhole)
      continue;
    auto found = x.begin.terms.find(iv);
    int64_t by = found == x.begin.terms.end() ? 0 : found->second * step, apart = y.begin.constant - x.begin.constant;
    if (!by && apart)
      return std::nullopt;
    if (!by)
      continue;
    if (apart % by || (between && *between != apart / by))
      return std::nullopt;
    between = apart / by;
  }
  return between;
}

/// What earlier iterations wrote stands for what each of them did, as the last write does.
void SumArray::joinIterations(unsigned iv, int64_t step) {
  for (size_t i = 0; i < list.size();) {
    auto later = llvm::find_if(llvm::drop_begin(list, i + 1), [&](const Write &each) {
      std::optional<int64_t> between = iterationsBetween(list[i], each, iv, step);
      return between && *between > 0;
    });
    if (later == list.end()) {
      ++i;
      continue;
    }
    later->chain.join(list[i].chain);
    list.erase(list.begin() + i);
  }
}

/// Blocks of one iteration that lie next to each other are one.
void SumArray::joinNeighbours(unsigned iv) {
  auto isOfLoop = [&](const Write &write) {
    return llvm::any_of(write.where, [&](const Interval &each) { return each.begin.terms.count(iv) != 0; });
  };
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t j = i + 1; j < list.size();) {
      auto both = asOneBlock(list[i], list[j]);
      if (!both || !isOfLoop(list[i])) {
        ++j;
        continue;
      }
      list[i].where = std::move(*both);
      list[i].chain.join(list[j].chain);
      list.erase(list.begin() + j);
      j = i + 1;
    }
}

void SumArray::close(unsigned iv, const Form &first, int64_t step, int64_t trips,
                     llvm::function_ref<bool(unsigned)> isLocal, bool isParallel) {
  joinIterations(iv, step);
  joinNeighbours(iv);
  std::vector<Write> before = std::move(list);
  list.clear();
  for (Write &write : before) {
    for (Interval &interval : write.where) {
      if (interval.isWhole)
        continue;
      auto found = interval.begin.terms.find(iv);
      bool isHidden =
          llvm::any_of(interval.begin.terms, [&](auto term) { return term.first != iv && isLocal(term.first); });
      if (isHidden || (isParallel && found != interval.begin.terms.end())) {
        write.isSure &= isParallel; // iterations of parallel loops own what they write
        interval = {{}, 1, true};
        continue;
      }
      if (found == interval.begin.terms.end())
        continue;
      int64_t factor = found->second, distance = std::abs(factor * step);
      interval.begin.terms.erase(found);
      interval.begin.add(first, factor);
      if (factor * step < 0)
        interval.begin.constant += factor * step * (trips - 1);
      write.isSure &= interval.width >= distance;
      interval.width += distance * (trips - 1);
    }
    this->write(std::move(write));
  }
}
