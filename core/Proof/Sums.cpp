//===- Sums.cpp - What was added up in another order ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the two counts, place by place.
///
//===----------------------------------------------------------------------===//

#include "core/Proof/Sums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright::proof;

SumLog tilewright::proof::compareSums(const Sums &before, const Sums &after, llvm::StringRef contract) {
  SumLog log;
  log.contract = contract.str();
  for (const Sums *sums : {&before, &after})
    for (const std::string &each : sums->gaps)
      if (!llvm::is_contained(log.gaps, each))
        log.gaps.push_back(each);
  std::set<std::string> names;
  for (const Sums *sums : {&before, &after})
    for (const auto &[name, place] : sums->places)
      names.insert(name);
  for (const std::string &name : names) {
    auto find = [&](const Sums &sums) {
      auto found = sums.places.find(name);
      return found == sums.places.end() ? PlaceSums() : found->second;
    };
    PlaceSums was = find(before), is = find(after);
    log.places += was.additions > 0 || is.additions > 0;
    if (was.additions && !is.additions) { // equal kernels are one, with the place of the first
      log.gaps.push_back(name +
                         ": its sums stand at the place of another operation, which is equal or computed with it");
      continue;
    }
    Rewrite rewrite{name,
                    was.additions,
                    is.additions,
                    is.isAnyOrder && !was.isAnyOrder,
                    is.isFused && !was.isFused,
                    std::max(was.unit, is.unit),
                    {},
                    {}};
    llvm::copy_if(is.arithmetic, std::back_inserter(rewrite.added),
                  [&](const std::string &each) { return !was.arithmetic.count(each); });
    llvm::copy_if(was.arithmetic, std::back_inserter(rewrite.gone),
                  [&](const std::string &each) { return !is.arithmetic.count(each); });
    if (rewrite.isReassociated() || rewrite.isFused || !rewrite.added.empty() || !rewrite.gone.empty())
      log.rewrites.push_back(std::move(rewrite));
  }
  return log;
}

size_t SumLog::reassociated() const {
  return llvm::count_if(rewrites, [](const Rewrite &each) { return each.isReassociated(); });
}

llvm::json::Object tilewright::proof::toJson(const SumLog &log) {
  llvm::json::Array rewrites;
  for (const Rewrite &each : log.rewrites)
    rewrites.push_back(
        llvm::json::Object{{"location", each.place},
                           {"reassociated", each.isReassociated()},
                           {"additions", llvm::json::Object{{"before", each.before}, {"after", each.after}}},
                           {"bound", llvm::json::Object{{"before", static_cast<double>(each.before) * each.unit},
                                                        {"after", static_cast<double>(each.after) * each.unit}}},
                           {"any_order", each.isAnyOrder},
                           {"fused", each.isFused},
                           {"new", llvm::json::Array(each.added)},
                           {"gone", llvm::json::Array(each.gone)}});
  return llvm::json::Object{{"contract", log.contract},
                            {"holds", log.holds()},
                            {"places", static_cast<int64_t>(log.places)},
                            {"reassociated", static_cast<int64_t>(log.reassociated())},
                            {"size", sampleSize},
                            {"rewrites", std::move(rewrites)},
                            {"not_counted", llvm::json::Array(log.gaps)}};
}

void tilewright::proof::print(const SumLog &log, llvm::raw_ostream &os) {
  os << llvm::formatv("  sums     {0} of {1} added up in another order (--fp={2})\n", log.reassociated(), log.places,
                      log.contract);
  for (const Rewrite &each : log.rewrites) {
    os << "  " << each.place << ":";
    if (each.before || each.after)
      os << llvm::formatv(" additions in a row: {0} -> {1}, error at most {2:E1} -> {3:E1} of the sum of magnitudes;",
                          each.before, each.after, static_cast<double>(each.before) * each.unit,
                          static_cast<double>(each.after) * each.unit);
    if (each.isAnyOrder)
      os << " some in any order;";
    if (each.isFused)
      os << " products are not rounded;";
    if (!each.added.empty())
      os << " new: " << llvm::join(each.added, ", ") << ";";
    if (!each.gone.empty())
      os << " gone: " << llvm::join(each.gone, ", ") << ";";
    os << "\n";
  }
  for (const std::string &each : log.gaps)
    os << "  " << each << ": not counted\n";
}
