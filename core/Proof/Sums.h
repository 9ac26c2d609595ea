//===- Sums.h - Additions in a row ------------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How floating-point numbers are added up, at each place of the program's text: the longest chain of additions, each
/// of which takes the result of the one before it, on the way to any number that the program computes.
///
///   s = 0;  for k < 4000 { s += x[k] }                                          4000 additions
///   p[l] = 0;  for k < 250 { p[l] += x[16 k + l] };  s = the sum of 16 p[l]     250 + 16
///
/// The same count is made of the program after stage 2, whose order is that of its text, and of the tile program. Where
/// they differ, the compiler has re-associated (docs/trust.md). Nothing is taken from the passes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_SUMS_H
#define TILEWRIGHT_CORE_PROOF_SUMS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::proof {

/// What is known of one place of the program's text.
struct PlaceSums {
  int64_t additions = 0;   ///< in a row, at most
  bool isAnyOrder = false; ///< some are made in an order that the operation leaves open
  bool isFused = false;    ///< a product is added without being rounded
  double unit = 0;         ///< the largest unit roundoff of the numbers that are added
  std::set<std::string>
      arithmetic; ///< operations of floating-point numbers beside additions and products: "arith.divf"
};

/// The sums of a whole program, by place ("rows.mlir:9:10").
struct Sums {
  std::map<std::string, PlaceSums> places;
  std::vector<std::string> gaps; ///< what was not counted, and why
  /// Of operations in nests: the place of the nest, which is that of the whole operation on tensors.
  std::map<std::string, std::string> nests;
};

/// Counts in all public functions of a module after stage 2 or stage 4. A dynamic size is taken for `size`. `nests`: of
/// the module after stage 2, empty for that module itself.
Sums countSums(mlir::ModuleOp module, int64_t size, std::map<std::string, std::string> nests = {});

/// The dynamic sizes that the log is about.
inline constexpr int64_t sampleSize = 1000;

/// One place whose sums or functions are others than in the program.
struct Rewrite {
  std::string place;
  int64_t before = 0, after = 0; ///< additions in a row
  bool isAnyOrder = false, isFused = false;
  double unit = 0;
  std::vector<std::string> added, gone; ///< operations that the place had not before, or has no more

  /// Whether the terms are no longer added in one row. Zeros that fill the last step of a unit make rows longer.
  bool isReassociated() const { return after < before || isAnyOrder; }
};

/// What the compiler did to floating-point arithmetic.
struct SumLog {
  std::string contract; ///< `tilewright.fp`
  std::vector<Rewrite> rewrites;
  size_t places = 0; ///< with sums
  std::vector<std::string> gaps;

  /// Rewrites that change the order of a sum: none under the contracts that keep it.
  size_t reassociated() const;
  bool keepsOrder() const { return contract == "strict" || contract == "reproducible"; }
  /// False where a contract that keeps the order of sums is broken.
  bool holds() const { return !keepsOrder() || reassociated() == 0; }
};

SumLog compareSums(const Sums &before, const Sums &after, llvm::StringRef contract);

/// {"contract", "holds", "places", "reassociated", "size", "rewrites": [{"location", "additions": {"before", "after"},
/// "bound": {"before", "after"}, "any_order", "fused", "new", "gone"}], "not_counted": [..]}
llvm::json::Object toJson(const SumLog &log);
void print(const SumLog &log, llvm::raw_ostream &os);

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_SUMS_H
