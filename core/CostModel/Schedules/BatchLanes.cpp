//===- BatchLanes.cpp - Contractions without reuse ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Issue of loads and multiplications, or the bytes that must move.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/BatchLanes.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"

using namespace tilewright;

std::optional<double> tilewright::secondsOverBatchLanes(const Contraction &c, const TargetDescription &chip) {
  MemoryModel model(chip);
  const int64_t lanes = model.lanes(c.accumulator.getIntOrFloatBitWidth());
  if (lanes < 2)
    return std::nullopt;
  auto isContiguous = [&](unsigned dim) {
    return c.a.access.stride(dim) == 1 && c.b.access.stride(dim) == 1 && c.c.stride(dim) == 1;
  };
  // A filter that all lanes share, of taps that unroll-taps writes out.
  int64_t taps = 1;
  for (unsigned dim : c.k)
    taps = std::min<int64_t>(taps * c.nest.tripCounts[dim].value_or(assumedTrips), assumedTrips);
  auto isShared = [&](unsigned dim) {
    return c.c.stride(dim) == 1 && (c.m.empty() || c.n.empty()) && taps <= model.registers() &&
           (c.n.empty() ? c.a : c.b).access.stride(dim) == 1 && c.nest.tripCounts[dim].value_or(lanes) > 1;
  };
  std::optional<unsigned> lane;
  if (const auto *found = llvm::find_if(c.batch, isContiguous); found != c.batch.end())
    lane = *found;
  llvm::ArrayRef<unsigned> rows = c.n.empty() ? c.m : c.n;
  if (const auto *found = llvm::find_if(rows, isShared); !lane && found != rows.end())
    lane = *found;
  if (!lane)
    return std::nullopt;

  auto extent = [&](llvm::ArrayRef<unsigned> dims, bool vectors) {
    double product = 1;
    for (unsigned dim : dims) {
      int64_t trips = c.nest.tripCounts[dim].value_or(assumedTrips);
      product *= static_cast<double>(vectors && dim == *lane ? llvm::divideCeil(trips, lanes) : trips);
    }
    return product;
  };
  auto isVector = [&](const ContractionOperand &operand, bool converted) {
    return operand.access.dims().test(*lane) && (!converted || operand.element != c.accumulator);
  };
  const double steps = extent(c.k, false);
  const double sums = extent(c.batch, true) * extent(c.m, true) * extent(c.n, true); // vectors of C
  // A sum stays in a register while k runs, and a shared filter outside of the lanes.
  const double arithmetic = sums * steps * (1 + isVector(c.a, true) + isVector(c.b, true));
  const double loads = sums * ((isVector(c.a, false) + isVector(c.b, false)) * steps + 1);

  // Windows overlap; what they touch is read from far once.
  auto bytes = [&](const Access &access, mlir::Type type) {
    double elements = 1;
    for (mlir::AffineExpr index : access.map.getResults()) {
      double reach = 1;
      for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
        if (index.isFunctionOfDim(dim))
          reach += std::abs(static_cast<double>(linearCoefficient(index, dim).value_or(1))) *
                   static_cast<double>(c.nest.tripCounts[dim].value_or(assumedTrips) - 1);
      elements *= reach;
    }
    return elements * static_cast<double>(elementBytes(type));
  };
  const double read = bytes(c.a.access, c.a.element) + bytes(c.b.access, c.b.element);
  const double written = bytes(c.c, c.accumulator);
  return std::max(model.moveSeconds(read, written), model.issueSeconds(arithmetic, loads));
}
