//===- ContractionModel.cpp - How a contraction is tiled and mapped -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan with its names, and the choice: the candidate with the least time.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/RowReuse.h"
#include "core/CostModel/Explain/Stopwatch.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include "core/CostModel/Schedules/ForcedFields.h"
#include "core/CostModel/Schedules/KnownPlans.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;

namespace tilewright {

llvm::json::Object ContractionPlan::toJSON() const {
  llvm::json::Object object{{"unit", unit ? unit->name : ""},
                            {"lanes_on", wordsOf("lanes_on")[lanesOnM]},
                            {"offset_scalars", offsetScalars},
                            {"split", wordsOf("split")[planField(*this, "split")]},
                            {"threads", threads},
                            {"seconds", seconds}};
  forFields(*this, [&](StringRef name, auto value, Field field) {
    if (value || !field.isRare)
      object[name] = value;
  });
  // Fields of contractions whose rows, lanes or sums run through several dimensions.
  if (!outerLanes.empty())
    object["lane_dims"] = int64_t(outerLanes.size()) + 1;
  if (!outerRows.empty())
    object["row_dims"] = int64_t(outerRows.size()) + 1;
  if (tapsInside) {
    object["taps_inside"] = true;
    object["tap_unroll"] = tapUnroll;
  }
  return object;
}

int64_t tripsOf(const Contraction &c, unsigned dim) {
  bool ofColumns = llvm::is_contained(c.n, dim) || llvm::is_contained(c.k, dim);
  return c.nest.tripCounts[dim].value_or(ofColumns ? assumedColumns : assumedTrips);
}

SumChains sumChainsOf(const Contraction &c, const ContractionPlan &plan, bool mayReassociate) {
  if (!mayReassociate || !isa<FloatType>(c.accumulator) || plan.unit->c.opaque)
    return {};
  SmallVector<int64_t> trips;
  int64_t additions = plan.kUnroll;
  for (unsigned dim : c.k)
    if (dim != plan.kDim && plan.tapsInside)
      additions *= tripsOf(c, dim);
    else if (dim != plan.kDim)
      trips.push_back(tripsOf(c, dim));
  const int64_t k = plan.kBlock ? plan.kBlock : tripsOf(c, plan.kDim);
  trips.push_back(k / (plan.unit->k * plan.kUnroll));
  return SumChains::of(trips, additions);
}

bool addsResultAfter(const Contraction &c, const ContractionPlan &plan, bool mayReassociate) {
  int64_t additions = isa<FloatType>(c.accumulator) ? 1 : 0;
  for (unsigned dim : c.k)
    additions *= tripsOf(c, dim);
  return mayReassociate && (plan.prefetchResult || additions / plan.unit->k > 2 * SumChains::longest);
}

int64_t tripsOf(const Contraction &c, std::optional<unsigned> dim, ArrayRef<unsigned> outer) {
  int64_t trips = dim ? tripsOf(c, *dim) : 1;
  for (unsigned each : outer)
    trips *= tripsOf(c, each);
  return trips;
}

int64_t rowsThatShare(const Contraction &c, const ContractionPlan &plan, unsigned tap) {
  const auto apart =
      plan.rowDim ? rereadAfter(plan.scalarOperand(c).access, *plan.rowDim, tap, tripsOf(c, tap)) : std::nullopt;
  return apart ? std::max<int64_t>(0, plan.rows - *apart) : 0;
}

SmallVector<unsigned> inMemoryOrder(const Access &access, ArrayRef<unsigned> taps) {
  SmallVector<unsigned> order(taps);
  auto apart = [&](unsigned dim) { return std::abs(access.stride(dim).value_or(0)); };
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return apart(a) > apart(b); });
  return order;
}

bool isOneRun(const Access &access, unsigned k, ArrayRef<unsigned> taps, function_ref<int64_t(unsigned)> extentOf) {
  int64_t together = 1;
  for (unsigned tap : llvm::reverse(taps)) {
    if (extentOf(tap) != 1 && access.stride(tap) != together)
      return false;
    together *= extentOf(tap);
  }
  return access.stride(k) == together;
}

int64_t interleaveOf(const UnitOperand &operand, bool freeIsColumn) {
  int64_t k = freeIsColumn ? operand.rows : operand.cols;
  if (operand.residence == Residence::BroadcastScalar)
    return k;
  int64_t count = 0;
  for (; count < k && count < operand.layout.numElements(); ++count) {
    Position at = operand.layout.at(0, count);
    if (at != (freeIsColumn ? Position{count, 0} : Position{0, count}))
      break;
  }
  return std::max<int64_t>(count, 1);
}

WindowCopy::WindowCopy(int64_t width, int64_t columns, int64_t lanes)
    : vector(std::min<int64_t>(lanes, llvm::bit_ceil(uint64_t(columns)))),
      perSegment(llvm::divideCeil(columns, vector)) {
  // Panels begin at multiples of what their width and a segment have in common.
  int64_t common = std::gcd(width, columns);
  segments = (width - 1 + columns - common) / columns + 1;
}

int64_t planField(const ContractionPlan &p, StringRef name) {
  const int64_t split = !p.splitDim ? 0 : p.splitDim == p.laneDim ? 1 : p.splitDim == p.rowDim ? 2 : 3;
  int64_t result = llvm::StringSwitch<int64_t>(name)
                       .Case("lanes_on", p.lanesOnM)
                       .Case("lane_dims", int64_t(p.outerLanes.size()) + 1)
                       .Case("row_dims", int64_t(p.outerRows.size()) + 1)
                       .Case("taps_inside", p.tapsInside)
                       .Case("split", split)
                       .Case("unit_m", p.unit->m)
                       .Case("unit_n", p.unit->n)
                       .Case("unit_k", p.unit->k)
                       .Default(p.rowsOutside);
  ContractionPlan::forFields(p, [&](StringRef field, auto value, ContractionPlan::Field) {
    if (field == name)
      result = value;
  });
  return result;
}

constexpr double launchSeconds = 5e-6; // fork and join of a warm thread team

/// Cores share the tiles of a dimension of unknown size: the first that has enough of them, read least twice.
void Planner::splitTiles(ContractionPlan &p) const {
  int64_t threads = options.threads;
  auto evenness = [&](int64_t parts) { return double(parts) / (llvm::divideCeil(parts, threads) * threads); };
  llvm::SmallBitVector inVectors = p.vectorOperand(c).access.dims();
  double best = 0;
  auto offer = [&](std::optional<unsigned> dim, int64_t parts, double score) {
    if (!dim || isStatic(*dim) || parts < threads || score * evenness(parts) <= best)
      return;
    best = score * evenness(parts);
    p.splitDim = dim;
    p.threads = threads;
  };
  // What every core reads whole costs its bytes once more for each further core; a packed operand is written as well.
  auto apart = [&](const ContractionOperand &shared, bool packed) {
    double bytes = elementsOf(shared.access) * bytesOf(shared);
    double again = (threads - 1) * bytes * (packed ? 3 : 1) / machine.bandwidth(bytes) / machine.clockHz;
    return p.seconds / (p.seconds + again);
  };
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n))
    if (dim != p.laneDim && dim != p.rowDim && inVectors.test(dim)) {
      offer(dim, trips(dim), 1);
      break; // the outermost loop
    }
  offer(p.laneDim, trips(*p.laneDim) / (p.unit->n * p.vectors), apart(p.scalarOperand(c), p.packScalars));
  if (p.rowDim)
    offer(p.rowDim, trips(*p.rowDim) / (p.unit->m * p.rows), apart(p.vectorOperand(c), p.packVectors));
}

/// Elements of a dimension that a core may take: as even as they come, and in whole lines of vectors.
llvm::SmallVector<int64_t, 2> Planner::piecesOf(unsigned dim) const {
  int64_t even = llvm::divideCeil(trips(dim), options.threads), lanes = 1;
  for (const MatrixUnit &unit : target.units())
    lanes = std::max<int64_t>(lanes, unit.n);
  llvm::SmallVector<int64_t, 2> pieces;
  for (int64_t piece : {int64_t(llvm::alignTo(even, lanes)), even})
    if (piece < trips(dim) && !llvm::is_contained(pieces, piece))
      pieces.push_back(piece);
  return pieces;
}

/// What more than one core fetches comes through memories that they share: half of the time of what a core touches
/// beyond its even share.
double Planner::contentionSeconds(const Planner &part, int64_t parts) const {
  double clocks = 0;
  for (auto [operand, ofPart] : {std::pair(&c.a, &part.c.a), std::pair(&c.b, &part.c.b)}) {
    double bytes = elementsOf(operand->access) * elementBytes(operand->element);
    double touched = part.elementsOf(ofPart->access) * elementBytes(operand->element);
    clocks += std::max(0.0, touched - bytes / double(parts)) / machine.bandwidth(bytes) / 2;
  }
  return clocks / machine.clockHz;
}

/// Each core's part is a contraction of its own, planned like one: what all cores read or pack whole is in its time.
std::optional<ContractionPlan> Planner::planForCores(std::string &reason) {
  Search search(nullptr, betterPart);
  search.best = plan(reason);
  std::optional<ContractionPlan> &best = search.best;
  if (options.threads <= 1 || (best && best->seconds < 4 * launchSeconds))
    return best;
  bool isKnown = true;
  for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n)) {
    isKnown &= isStatic(dim);
    if (!isStatic(dim))
      continue;
    for (int64_t piece : piecesOf(dim)) {
      Contraction part = c;
      part.nest.tripCounts[dim] = piece;
      int64_t last = trips(dim) % piece ? trips(dim) % piece : piece;
      std::string unused;
      int64_t parts = llvm::divideCeil(trips(dim), piece);
      Planner planner(part, target, options, dim, piece, last, parts);
      auto candidate = planner.plan(unused);
      if (!candidate)
        continue;
      candidate->seconds += launchSeconds + contentionSeconds(planner, parts);
      search.keep(std::move(*candidate));
    }
  }
  if (best && !isKnown && !best->splitDim)
    splitTiles(*best);
  return best;
}

/// Why no candidate is left, for a remark.
std::string Planner::shortage(bool hasDims, bool hasUnit) const {
  if (isRowOfSums)
    return "one vector times a matrix that lies along the summed dimension is left to vectors of the nest";
  if (!hasDims)
    return "no dimension of the result can carry vector lanes";
  if (hasUnit && !options.overrides.empty())
    return "no candidate has the forced fields of the plan";
  if (hasUnit)
    return "no register tile fits the registers of its units";
  if (!refusal.empty())
    return refusal;
  std::string text;
  llvm::raw_string_ostream(text) << "no unit of the chip multiplies " << c.a.element << " by " << c.b.element
                                 << " into " << c.accumulator;
  return text;
}

/// Considers all plans whose rows, lanes and steps begin with those of `p`; false where its unit does not fit them.
bool Planner::considerDims(ContractionPlan p, Search &search) {
  bool hasUnit = false;
  mergeDims(p);
  // A copy that closes gaps is worth it or not, as are rows that move one by one; dimensions without gaps are as good
  // as one.
  for (bool windows : {false, true})
    for (bool rowGaps : {false, true}) {
      const bool hasRowGaps = p.rowWindows || p.resultGaps;
      if ((windows && !p.windows) || (rowGaps && !hasRowGaps))
        continue;
      ContractionPlan q = p;
      q.windows = windows;
      if (p.windows && !windows)
        q.outerLanes.clear();
      if (hasRowGaps && !rowGaps) {
        q.outerRows.clear();
        q.rowWindows = q.resultGaps = false;
      }
      if (!fitUnit(q))
        continue;
      hasUnit = true;
      q.tailUnit = tailUnitFor(q);
      sizes(q, search);
    }
  return hasUnit;
}

std::optional<ContractionPlan> Planner::plan(std::string &reason) {
  Search search(options.considered, betterPart);
  bool hasDims = false, hasUnit = false;
  for (const MatrixUnit &unit : target.units())
    for (bool lanesOnM : {false, true}) {
      ContractionPlan p;
      p.unit = &unit;
      p.splitDim = splitDim;
      p.splitPiece = splitPiece;
      p.threads = splitDim ? splitParts : 1;
      p.lanesOnM = lanesOnM;
      if (!chooseDims(p))
        continue;
      hasDims = true;
      if (std::optional<unsigned> neighbours = neighbourRows(p)) {
        ContractionPlan q = p;
        q.rowDim = neighbours;
        q.neighbourRows = true;
        hasUnit |= considerDims(std::move(q), search);
      }
      hasUnit |= considerDims(std::move(p), search);
    }
  if (!search.best)
    reason = shortage(hasDims, hasUnit);
  return search.best;
}

std::optional<ContractionPlan> planContraction(const Contraction &contraction, const TargetDescription &target,
                                               const PlanOptions &options, std::string &reason) {
  Stopwatch stopwatch("planning");
  auto plan = [&](std::string &why) { return Planner(contraction, target, options).planForCores(why); };
  if (options.considered)
    return plan(reason);
  PlanQuestion question(contraction, target);
  question.add(options.threads).add(int64_t(options.mayReassociate)).add(options.overrides);
  question.add(int64_t(options.constant[0])).add(int64_t(options.constant[1]));
  question.add(options.tilesSharing[0]).add(options.tilesSharing[1]).add(int64_t(options.mergesDims));
  for (const Access &access : options.besideC)
    question.add(access);
  return KnownPlans::get<ContractionPlan>(question, reason, plan);
}

} // namespace tilewright
