//===- Families.cpp - Accesses that are written out, taken together -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Unrolled code touches 13 rows by 13 operations. Questions about pairs are asked of
///
///   C[13 i + 0 + r, 16 j + c], .., C[13 i + 12 + r, 16 j + c]   0 <= r < 1, 0 <= c < 16
///   C[13 i + R, 16 j + c]                                       0 <= R < 13
///
/// first. Conditions stay if all have them, said by the new element.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Checks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace tilewright::proof;

namespace {

/// An access with its element variables apart: index d = base d + constant d + element d.
struct Parts {
  llvm::SmallVector<Linear> base;
  llvm::SmallVector<int64_t> constant, extent;
  llvm::SmallVector<std::optional<Variable>> element;
  std::string key;
};

} // namespace

/// The largest value of an element; elements begin at 0.
static std::optional<int64_t> lastOf(const Space &space, Variable element) {
  for (const Linear &each : space.knownOf(element).all)
    if (each.terms().size() == 1 && each.factorOf(element) == -1)
      return each.constant();
  return std::nullopt;
}

static std::optional<Parts> partsOf(Program &program, const Access &access) {
  Space &space = program.space;
  Parts parts;
  std::string key;
  llvm::raw_string_ostream os(key);
  os << access.array << (access.isWrite ? "w" : "r") << access.isExact << access.token.getAsOpaquePointer();
  for (const Step &step : access.time)
    if (step.iteration)
      os << "," << step.iteration->terms().front().first;
  llvm::SmallVector<Variable> used;
  for (const Linear &index : access.index) {
    Linear base;
    std::optional<Variable> element;
    for (auto [variable, factor] : index.terms()) {
      if (space.kindOf(variable) != Space::Kind::Element) {
        base += Linear::of(variable, factor);
        os << ":" << variable << "*" << factor;
        continue;
      }
      if (element || factor != 1 || llvm::is_contained(used, variable) || !lastOf(space, variable))
        return std::nullopt;
      element = variable;
      used.push_back(variable);
    }
    os << ";";
    parts.base.push_back(base);
    parts.constant.push_back(index.constant());
    parts.element.push_back(element);
    parts.extent.push_back(element ? *lastOf(space, *element) + 1 : 1);
  }
  if (!access.conditions.oneOf.empty())
    os << "|" << access.conditions.oneOf.size();
  parts.key = std::move(key);
  return parts;
}

/// `access` with element d from `first[d]` on: the same elements said by other variables.
static Conjunction conditionsBy(const Access &access, const Parts &parts, llvm::ArrayRef<int64_t> first,
                                llvm::ArrayRef<Linear> elements) {
  Conjunction result;
  for (const Linear &condition : access.conditions.all) {
    Linear moved = condition;
    for (auto [d, element] : llvm::enumerate(parts.element))
      if (element)
        if (int64_t factor = condition.factorOf(*element))
          moved += (elements[d] - Linear::of(*element) + (first[d] - parts.constant[d])) * factor;
    result.push_back(moved);
  }
  return result;
}

namespace {

/// Accesses with equal keys, which differ in constants and extents of elements alone.
class Buckets {
public:
  using Member = std::pair<const Access *, Parts>;

  Buckets(Program &program, llvm::ArrayRef<const Access *> accesses) : program(program) {
    std::map<std::string, size_t> places;
    for (const Access *access : accesses) {
      std::optional<Parts> parts = partsOf(program, *access);
      if (!parts) {
        others.push_back(access);
        continue;
      }
      auto [place, isNew] = places.try_emplace(parts->key, lists.size());
      if (isNew)
        lists.emplace_back();
      lists[place->second].push_back({access, std::move(*parts)});
    }
  }

  /// The access of `list` that touches the box from `first` to `last`, with the conditions that all of `list` have.
  Access box(llvm::ArrayRef<Member> list, llvm::ArrayRef<int64_t> first, llvm::ArrayRef<int64_t> last) const {
    Access result = *list.front().first;
    llvm::SmallVector<Linear> elements;
    for (size_t d = 0; d < first.size(); ++d) {
      Variable element = program.space.add("element " + std::to_string(d), Space::Kind::Element);
      program.space.know(element, Linear::of(element));
      program.space.know(element, Linear::of(element, -1) + (last[d] - first[d]));
      elements.push_back(Linear::of(element));
      result.index[d] = list.front().second.base[d] + elements[d] + first[d];
    }
    Conjunction common = conditionsBy(*list.front().first, list.front().second, first, elements);
    for (const auto &[access, parts] : list.drop_front()) {
      Conjunction mine = conditionsBy(*access, parts, first, elements), kept;
      llvm::copy_if(common, std::back_inserter(kept),
                    [&](const Linear &each) { return llvm::is_contained(mine, each); });
      common = std::move(kept);
    }
    result.conditions.all = std::move(common);
    if (list.size() > 1)
      result.conditions.oneOf.clear();
    return result;
  }

  std::vector<std::vector<Member>> lists;
  std::vector<const Access *> others;

private:
  Program &program;
};

} // namespace

std::vector<Family> tilewright::proof::familiesOf(Program &program, llvm::ArrayRef<const Access *> accesses) {
  Buckets buckets(program, accesses);
  std::vector<Family> result;
  for (const Access *access : buckets.others)
    result.push_back({*access, {access}});
  for (const auto &list : buckets.lists) {
    Family family{*list.front().first, {}};
    for (const auto &[access, parts] : list)
      family.members.push_back(access);
    if (list.size() > 1) {
      size_t rank = family.hull.index.size();
      llvm::SmallVector<int64_t> first(rank, INT64_MAX), last(rank, INT64_MIN);
      for (const auto &[access, parts] : list)
        for (size_t d = 0; d < rank; ++d) {
          first[d] = std::min(first[d], parts.constant[d]);
          last[d] = std::max(last[d], parts.constant[d] + parts.extent[d] - 1);
        }
      family.hull = buckets.box(list, first, last);
    }
    result.push_back(std::move(family));
  }
  return result;
}

//===-- Boxes side by side ------------------------------------------------===//

namespace {

struct Box {
  llvm::SmallVector<int64_t> first, last;
  Access access;
};

} // namespace

/// Whether two accesses with the same elements have the same conditions.
static bool haveEqualConditions(const Conditions &a, const Conditions &b) {
  auto isIn = [](const Conjunction &some, const Conjunction &all) {
    return llvm::all_of(some, [&](const Linear &each) { return llvm::is_contained(all, each); });
  };
  return isIn(a.all, b.all) && isIn(b.all, a.all) && a.oneOf == b.oneOf;
}

std::vector<Access> tilewright::proof::joined(Program &program, llvm::ArrayRef<const Access *> accesses) {
  Buckets buckets(program, accesses);
  std::vector<Access> result;
  for (const Access *access : buckets.others)
    result.push_back(*access);
  for (const auto &list : buckets.lists) {
    std::vector<std::pair<Box, Buckets::Member>> boxes;
    for (const auto &member : list) {
      Box box{member.second.constant, member.second.constant, *member.first};
      for (auto [last, extent] : llvm::zip(box.last, member.second.extent))
        last += extent - 1;
      boxes.push_back({std::move(box), member});
    }
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t d = 0; d < list.front().second.base.size(); ++d) {
        // Those that are alike but in this dimension come one after the other.
        llvm::stable_sort(boxes, [&](const auto &a, const auto &b) {
          auto key = [&](const Box &box) {
            auto first = box.first, last = box.last;
            first[d] = last[d] = 0;
            return std::tuple(first, last, box.first[d]);
          };
          return key(a.first) < key(b.first);
        });
        for (size_t i = 0; i + 1 < boxes.size();) {
          Box &a = boxes[i].first, &b = boxes[i + 1].first;
          bool isAlike = b.first[d] <= a.last[d] + 1;
          for (size_t other = 0; other < a.first.size(); ++other)
            isAlike &= other == d || (a.first[other] == b.first[other] && a.last[other] == b.last[other]);
          if (isAlike) {
            Box both{a.first, a.last, {}};
            both.last[d] = std::max(a.last[d], b.last[d]);
            // Both with the elements of the larger box: equal conditions, or no box.
            llvm::SmallVector<Linear> elements;
            auto ofBoth = [&](const Buckets::Member &member) {
              Conditions moved{conditionsBy(*member.first, member.second, both.first, elements),
                               member.first->conditions.oneOf};
              return moved;
            };
            both.access = buckets.box({boxes[i].second}, both.first, both.last);
            for (auto [index, base, first] : llvm::zip(both.access.index, boxes[i].second.second.base, both.first))
              elements.push_back(index - base - first);
            if (haveEqualConditions(ofBoth(boxes[i].second), ofBoth(boxes[i + 1].second))) {
              a = std::move(both);
              boxes.erase(boxes.begin() + i + 1);
              changes = true;
              continue;
            }
          }
          ++i;
        }
      }
    }
    for (auto &[box, member] : boxes)
      result.push_back(std::move(box.access));
  }
  return result;
}
