//===- RowReuse.cpp - Rows that read an element again ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One index says how many iterations it takes; the others have to agree.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/RowReuse.h"
#include <limits>
#include <numeric>

using namespace mlir;

namespace tilewright {

std::optional<int64_t> rereadAfter(ArrayRef<IndexMove> indices, std::optional<int64_t> taps) {
  const IndexMove *moved = llvm::find_if(indices, [](const IndexMove &each) { return each.row != 0; });
  if (moved == indices.end())
    return std::nullopt;
  assert((moved->tap == 0 || moved->apart == 0) && "loops of taps are asked about for one access");
  const int64_t common = std::gcd(moved->row, moved->tap);
  const int64_t later = moved->tap ? std::abs(moved->tap) / common : moved->apart / moved->row;
  const int64_t tapsLater = moved->tap ? -moved->row * later / moved->tap : 0;
  const bool isSame = llvm::all_of(
      indices, [&](const IndexMove &each) { return each.row * later + each.tap * tapsLater == each.apart; });
  const bool isTap = std::abs(tapsLater) < taps.value_or(std::numeric_limits<int64_t>::max());
  return later >= 1 && isSame && isTap ? std::optional(later) : std::nullopt;
}

std::optional<int64_t> rereadAfter(const Access &first, const Access &second, unsigned row) {
  if (first.memref != second.memref || first.symbols != second.symbols ||
      first.map.getNumDims() != second.map.getNumDims())
    return std::nullopt;
  SmallVector<IndexMove, 4> moves;
  for (auto [own, other] : llvm::zip_equal(first.map.getResults(), second.map.getResults())) {
    const std::optional<int64_t> step = linearCoefficient(own, row);
    const auto apart = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(other - own, first.map.getNumDims(), first.map.getNumSymbols()));
    if (!step || !apart)
      return std::nullopt;
    moves.push_back({*step, 0, apart.getValue()});
  }
  return rereadAfter(moves);
}

std::optional<int64_t> rereadAfter(const Access &access, unsigned row, unsigned tap, std::optional<int64_t> taps) {
  SmallVector<IndexMove, 4> moves;
  for (AffineExpr index : access.map.getResults()) {
    const std::optional<int64_t> ofRow = linearCoefficient(index, row), ofTap = linearCoefficient(index, tap);
    if (!ofRow || !ofTap)
      return std::nullopt;
    moves.push_back({*ofRow, *ofTap, 0});
  }
  return rereadAfter(moves, taps);
}

} // namespace tilewright
