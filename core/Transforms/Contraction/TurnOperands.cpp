//===- TurnOperands.cpp - Operands in the order that units read -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which operands, what it costs, and the nests that fill the buffers.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/TurnOperands.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Utils/ArrayNests.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// The dimension of the array that `dim` moves, alone and by one; nullopt if there is none, or it moves others.
static std::optional<unsigned> placeOf(const Access &access, unsigned dim) {
  std::optional<unsigned> place;
  for (auto [i, result] : llvm::enumerate(access.map.getResults())) {
    if (!result.isFunctionOfDim(dim))
      continue;
    if (place || result != getAffineDimExpr(dim, result.getContext()))
      return std::nullopt;
    place = i;
  }
  return place;
}

/// The dimension of the operand's array that is k and changes places with the last one; nullopt and `reason` where k is
/// there already, or the array is no plain one of known sizes.
static std::optional<unsigned> turnedPlace(const ContractionOperand &operand, unsigned k, std::string &reason) {
  auto type = cast<MemRefType>(operand.access.memref.getType());
  std::optional<unsigned> place = placeOf(operand.access, k);
  reason.clear();
  if (isContiguousAlong(operand.access, k) || place == unsigned(type.getRank() - 1))
    reason = "k is the fastest dimension of its array already";
  else if (!place)
    reason = "no dimension of its array is k alone";
  else if (!type.hasStaticShape())
    reason = "the sizes of its array are dynamic";
  else if (!type.getLayout().isIdentity())
    reason = "its array is part of another one, with strides";
  else if (!operand.bounded.empty())
    reason = "it is read past the padding of its array";
  return reason.empty() ? place : std::nullopt;
}

/// `list` with the element at `place` and the last one exchanged.
template <typename T> static SmallVector<T> exchanged(ArrayRef<T> list, unsigned place) {
  SmallVector<T> result(list);
  std::swap(result[place], result.back());
  return result;
}

/// `operand` as it is read from `buffer`.
static ContractionOperand readFrom(const ContractionOperand &operand, Value buffer, unsigned place) {
  ContractionOperand result = operand;
  AffineMap map = operand.access.map;
  result.access.memref = buffer;
  result.access.map =
      AffineMap::get(map.getNumDims(), map.getNumSymbols(), exchanged(map.getResults(), place), map.getContext());
  return result;
}

/// Element by element; the launch of it moves squares through the scratchpad.
static void fill(Value buffer, Value from, unsigned place, AffineForOp root) {
  OpBuilder b(root);
  SmallVector<Value> indices = elementLoops(b, root.getLoc(), cast<MemRefType>(from.getType()).getShape());
  Value element = AffineLoadOp::create(b, root.getLoc(), from, indices);
  AffineStoreOp::create(b, root.getLoc(), element, buffer, exchanged(ArrayRef(indices), place));
}

namespace {

/// An operand that may be transposed, and what the launch for it takes.
struct Turn {
  bool isA = true;
  const ContractionOperand *own = nullptr;
  unsigned place = 0;
  double seconds = 0;

  StringRef name() const { return isA ? "A" : "B"; }
  int64_t bit() const { return isA ? turnsA : turnsB; }
};

/// Compares plans with and without transposed operands.
class OperandTurner {
public:
  OperandTurner(const Contraction &c, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                NumericFreedom freedom, LanePlanOverrides overrides)
      : c(c), chip(chip), hierarchy(hierarchy), freedom(freedom), overrides(overrides), root(Nest(c.nest).root()) {}
  FailureOr<TurnedOperands> run(std::optional<int64_t> forced);

private:
  bool find(unsigned k, std::optional<int64_t> forced);
  bool areTurnedByLanes(const Turn &turn, const LaneContractionPlan &plan) const;
  bool isReadInPlace() const;
  double least() const;
  double turning(int64_t which) const;
  OperandChoice planned(int64_t which) const;
  void remark(const Turn &turn, const OperandChoice &best, bool isForced) const;
  SmallVector<Value> rewrite(const OperandChoice &best) const;

  const Contraction &c;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  NumericFreedom freedom;
  LanePlanOverrides overrides;
  AffineForOp root;
  SmallVector<Turn, 2> turns;
  OperandChoice asItIs;
};

} // namespace

/// Fills `turns`; false, with an error, if one that is forced is none.
bool OperandTurner::find(unsigned k, std::optional<int64_t> forced) {
  const Memory *global = chip.graph().backing();
  for (bool isA : {true, false}) {
    Turn turn{isA, isA ? &c.a : &c.b};
    std::string reason;
    std::optional<unsigned> place = turnedPlace(*turn.own, k, reason);
    if (!place && forced && (*forced & turn.bit())) {
      root.emitError() << "plan field 'transpose_before' is " << *forced << ", but operand " << turn.name()
                       << " of this contraction cannot be transposed by a launch before it: " << reason;
      return false;
    }
    if (!place || (forced && !(*forced & turn.bit())))
      continue;
    turn.place = *place;
    // Read and written once.
    auto type = cast<MemRefType>(turn.own->access.memref.getType());
    double bytes = double(type.getNumElements()) * elementBytes(type.getElementType());
    turn.seconds = secondsOf(2 * bytes / global->bytesPerClock + launchClocks(chip), chip);
    turns.push_back(turn);
  }
  return true;
}

/// Whether tiles of the operand lie in another order than its array, so that the loop pays for it.
bool OperandTurner::areTurnedByLanes(const Turn &turn, const LaneContractionPlan &plan) const {
  return plan.engine.empty() && StagedTiles(c, chip, hierarchy).operand(plan, turn.isA).use.transposed;
}

/// Whether units take these elements where an engine puts tiles of them, in lines along k.
bool OperandTurner::isReadInPlace() const {
  return tileEngine(chip) && llvm::any_of(chip.units(), [&](const MatrixUnit &unit) {
           return unit.a.residence == Residence::Scratchpad && unit.b.residence == Residence::Scratchpad &&
                  takesElements(unit, c, freedom);
         });
}

/// Seconds that no plan goes below: all units busy all the time.
double OperandTurner::least() const {
  double products = 1;
  for (std::optional<int64_t> trips : c.nest.tripCounts)
    products *= double(trips.value_or(assumedExtent));
  auto taken = [&](const MatrixUnit &unit) { return takesElements(unit, c, freedom); };
  return secondsOf(leastClocks(products, hierarchy.blocks, chip, hierarchy.lanes, taken) + launchClocks(chip), chip);
}

double OperandTurner::turning(int64_t which) const {
  double seconds = 0;
  for (const Turn &turn : turns)
    seconds += which & turn.bit() ? turn.seconds : 0;
  return seconds;
}

/// A buffer for the transposed operand, before the contraction.
static Value bufferFor(const Turn &turn, AffineForOp root) {
  OpBuilder b(root);
  auto type = cast<MemRefType>(turn.own->access.memref.getType());
  return memref::AllocOp::create(b, root.getLoc(),
                                 MemRefType::get(exchanged(type.getShape(), turn.place), type.getElementType()));
}

OperandChoice OperandTurner::planned(int64_t which) const {
  Contraction turned = c;
  SmallVector<Value> buffers; // plans look at their types alone
  for (const Turn &turn : turns)
    if (which & turn.bit()) {
      buffers.push_back(bufferFor(turn, root));
      (turn.isA ? turned.a : turned.b) = readFrom(*turn.own, buffers.back(), turn.place);
    }
  orientToResult(turned);
  OperandChoice result = planChoice({turned, freedom, overrides}, chip, hierarchy, which, turning(which));
  for (Value buffer : buffers)
    buffer.getDefiningOp()->erase();
  return result;
}

void OperandTurner::remark(const Turn &turn, const OperandChoice &best, bool isForced) const {
  InFlightDiagnostic remark = AffineForOp(root).emitRemark();
  remark << "operand " << turn.name() << " of a contraction is transposed into a buffer";
  if (isForced) {
    remark << ", as 'transpose_before' says";
    return;
  }
  if (!best.plan->engine.empty())
    remark << ": tiles that engine \"" << best.plan->engine << "\" copies from it as it lies are none that unit "
           << best.plan->unit->name << " reads, which takes ";
  else
    remark << ": unit " << best.plan->unit->name << " takes ";
  remark << llvm::formatv("{0:F1} us with the launch", best.seconds * 1e6).str();
  if (asItIs.plan)
    remark << llvm::formatv(", {0:F1} us of ", asItIs.seconds * 1e6).str() << asItIs.plan->unit->name;
}

SmallVector<Value> OperandTurner::rewrite(const OperandChoice &best) const {
  SmallVector<Value> buffers;
  for (const Turn &turn : turns) {
    if (!(best.buffered & turn.bit()))
      continue;
    Value buffer = buffers.emplace_back(bufferFor(turn, root));
    fill(buffer, turn.own->access.memref, turn.place, root);
    auto [own, map, operands, isStore] = affineAccess(turn.own->access.op);
    map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), exchanged(map.getResults(), turn.place),
                         map.getContext());
    moveAccess(turn.own->access.op, buffer, map, operands);
  }
  return buffers;
}

FailureOr<TurnedOperands> OperandTurner::run(std::optional<int64_t> forced) {
  TurnedOperands result;
  std::optional<TiledDimensions> dims;
  if (!c.m.empty() && !c.n.empty())
    dims = tiledDimensions(c);
  if (!dims || !chip.graph().backing() || forced == 0)
    return result;
  if (!find(dims->kDim, forced))
    return failure();
  if (turns.empty())
    return result;

  OperandChoice best;
  if (forced) {
    best.buffered = *forced;
  } else {
    asItIs = planned(0);
    if (asItIs.plan && !asItIs.plan->engine.empty()) {
      result.plan = std::move(asItIs.plan);
      return result;
    }
    if (!isReadInPlace())
      llvm::erase_if(turns, [&](const Turn &turn) { return !asItIs.plan || !areTurnedByLanes(turn, *asItIs.plan); });
    best = asItIs;
    auto add = [&](const OperandChoice &choice) { result.considered.push_back(choice.toJSON("transpose_before")); };
    int64_t all = 0;
    for (const Turn &turn : turns)
      all |= turn.bit();
    for (int64_t which = 1; which <= all; ++which) {
      if ((which & all) != which || least() + turning(which) >= best.seconds)
        continue;
      OperandChoice choice = planned(which);
      if (!choice.plan)
        continue;
      if (result.considered.empty() && asItIs.plan)
        add(asItIs);
      add(choice);
      if (choice.seconds < best.seconds)
        best = std::move(choice);
    }
  }
  if (!best.buffered) {
    result.plan = std::move(best.plan);
    return result;
  }
  for (const Turn &turn : turns)
    if (best.buffered & turn.bit())
      remark(turn, best, forced.has_value());
  result.buffers = rewrite(best);
  return result;
}

FailureOr<TurnedOperands> tilewright::turnOperands(const Contraction &c, const TargetDescription &chip,
                                                   const LaneHierarchy &hierarchy, NumericFreedom freedom,
                                                   LanePlanOverrides overrides, std::optional<int64_t> forced) {
  return OperandTurner(c, chip, hierarchy, freedom, overrides).run(forced);
}
