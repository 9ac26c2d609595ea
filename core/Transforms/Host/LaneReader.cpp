//===- LaneReader.cpp - What the ops of a launch do on lanes ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes, units and barriers of each op of a tile program where blocks have lanes, as
/// Lower/Lanes writes them: lanes that hold the same element ask for it each and one of
/// them writes it, a copy into the scratchpad is shared out over the block, and what lies
/// outside of an array is not read but arrives as zeros.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Host/LaunchWalk.h"
#include "core/Transforms/Lower/Lanes/LaneWriter.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace tilewright;
using Counted = LaunchCounts::Bytes;

namespace {

/// Which points of a matrix or box are inside: extents of `valid`, then indices of the array that are bounded.
struct Inside {
  SmallVector<int64_t> extents;   // by dimension; the full one where nothing is checked
  SmallVector<int64_t> neighbors; // that share a check, by dimension; 0: nothing is checked
  struct Bound {
    AffineExpr step; // of the point
    int64_t start = 0, size = 0;
  };
  SmallVector<Bound> bounds;

  bool contains(ArrayRef<int64_t> point) const {
    for (auto [at, extent] : llvm::zip(point, extents))
      if (at >= extent)
        return false;
    SmallVector<Known> dims(point.begin(), point.end());
    return llvm::all_of(bounds, [&](const Bound &bound) {
      int64_t index = bound.start + *valueOf(bound.step, dims, {});
      return index >= 0 && index < bound.size;
    });
  }
};

class LaneReader : public OpReader {
public:
  LaneReader(func::FuncOp launch, const TargetDescription &chip)
      : chip(chip), hierarchy(LaneHierarchy::of(chip.graph())), shape(*launchShapeOf(launch)) {
    launch.walk([&](tile::CopyOp copy) { usesEngine |= copy->hasAttr(engineAttr); });
    launch.walk([&](tile::ParallelOp level) {
      if (!hierarchy.cluster.empty() && level.getLevel() == hierarchy.cluster)
        clusterRank = level.getBody().getArgument(0);
    });
    auto ops = laneOpsOf(launch);
    if (!ops)
      llvm::consumeError(ops.takeError());
    else
      hasBarriers = succeeded(barriers.analyze(launch, hierarchy, (*ops)->countsGroups()));
  }

  void decisive(Operation &op, SmallVectorImpl<Value> &operands) const override;
  bool asksForLane(Operation &op) const override { return isa<tile::LoadOp, tile::StoreOp>(op); }
  int64_t barriersAt(Operation &op) const override {
    return hasBarriers ? int64_t(barriers.needs(&op)) + int64_t(barriers.needsBehind(&op)) : 0;
  }
  bool count(Operation &op, const Executions &how, const IndexValues &values, LaunchCounts &counts) override;

private:
  bool load(tile::LoadOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts);
  bool store(tile::StoreOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts);
  bool copy(tile::CopyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts);
  bool multiply(tile::MmaOp op, const Executions &how, LaunchCounts &counts);
  bool plain(Value memref, bool writes, const Executions &how, LaunchCounts &counts);
  template <typename Op>
  std::optional<Inside> insideOf(Op op, ArrayRef<int64_t> full, Value array, AffineMap map, ValueRange operands,
                                 AffineMap elements, const IndexValues &values);
  int64_t requests(tile::FragmentType type, AffineMap elements, int64_t together, const Inside &inside,
                   const Executions &how);
  Counted &memoryOf(Value memref, LaunchCounts &counts) const {
    auto space = dyn_cast_or_null<StringAttr>(cast<MemRefType>(memref.getType()).getMemorySpace());
    return space && space.getValue() == hierarchy.scratchpad ? counts.scratchpad : counts.global;
  }
  bool isReadByUnits(tile::LoadOp op);
  /// The unit of that name; null: the chip has none. An unrolled loop asks thousands of times for the same one.
  const MatrixUnit *unitOf(tile::MmaOp op) {
    auto [found, isNew] = units.try_emplace(op.getUnitAttr());
    if (isNew)
      found->second = chip.unit(op.getUnit());
    return found->second;
  }

  const TargetDescription &chip;
  LaneHierarchy hierarchy;
  LaunchShape shape;
  LaneBarriers barriers;
  bool hasBarriers = false, usesEngine = false;
  Value clusterRank;
  llvm::DenseMap<Attribute, const MatrixUnit *> units; // by name
  using Whole = std::tuple<Type, AffineMap, int64_t, int64_t, int64_t>;
  llvm::DenseMap<Whole, int64_t> wholes;             // requests of a member where all is inside, by what says how many
  llvm::DenseMap<Operation *, int64_t> bytesOfWhole; // of loads of which all is always inside, for a member
};

} // namespace

void LaneReader::decisive(Operation &op, SmallVectorImpl<Value> &operands) const {
  auto add = [&](auto each, ValueRange places) {
    llvm::append_range(operands, each.getValidOperands());
    if (!each.getBounded().empty())
      llvm::append_range(operands, places);
  };
  if (auto each = dyn_cast<tile::LoadOp>(op))
    add(each, each.getMapOperands());
  else if (auto each = dyn_cast<tile::CopyOp>(op))
    add(each, each.getSourceOperands());
  else if (auto each = dyn_cast<tile::StoreOp>(op))
    llvm::append_range(operands, each.getValidOperands());
}

/// A matrix that units read in the scratchpad is read where it is multiplied.
bool LaneReader::isReadByUnits(tile::LoadOp op) {
  auto isRead = [&](OpOperand &use) {
    auto mma = dyn_cast<tile::MmaOp>(use.getOwner());
    const MatrixUnit *unit = mma ? unitOf(mma) : nullptr;
    if (!unit || unit->scopeCount == 1 || use.get() == mma.getC() || use.get() == mma.getIndex())
      return false;
    return (use.get() == mma.getA() ? unit->a : unit->b).residence == Residence::Scratchpad;
  };
  return !op->use_empty() && llvm::all_of(op->getUses(), isRead);
}

template <typename Op>
std::optional<Inside> LaneReader::insideOf(Op op, ArrayRef<int64_t> full, Value array, AffineMap map,
                                           ValueRange operands, AffineMap elements, const IndexValues &values) {
  Inside inside;
  inside.extents.assign(full.begin(), full.end());
  inside.neighbors.assign(full.size(), 0);
  if (std::optional<AffineMap> valid = op.getValidMap())
    for (auto [d, extent] : llvm::enumerate(values.get(*valid, op.getValidOperands()))) {
      AffineExpr expr = valid->getResult(d);
      if (auto known = dyn_cast<AffineConstantExpr>(expr); known && known.getValue() >= full[d])
        continue;
      if (!extent)
        return std::nullopt;
      int64_t divisor = std::max<int64_t>(1, expr.getLargestKnownDivisor());
      inside.neighbors[d] = divisor & -divisor;
      inside.extents[d] = std::clamp<int64_t>(*extent, 0, full[d]);
    }
  if constexpr (!std::is_same_v<Op, tile::StoreOp>) {
    auto type = cast<MemRefType>(array.getType());
    SmallVector<Known> starts = op.getBounded().empty() ? SmallVector<Known>() : values.get(map, operands);
    for (int64_t d : op.getBounded()) {
      Known size = type.isDynamicDim(d) ? sizeOf(array, d) : Known(type.getDimSize(d));
      if (!starts[d] || !size)
        return std::nullopt;
      inside.bounds.push_back({elements.getResult(d), *starts[d], *size});
    }
  }
  return inside;
}

/// Elements that the lanes of a member, or one lane, ask for: those of a lane at one place once for each check.
int64_t LaneReader::requests(tile::FragmentType type, AffineMap elements, int64_t together, const Inside &inside,
                             const Executions &how) {
  const Layout layout = type.getLayout().getValue();
  const int64_t count = layout.numElements();
  int64_t first = 0, end = layout.numLanes(), times = 1;
  if (how.by == Executions::By::Lane)
    std::tie(first, end) = end == 1 ? std::pair(int64_t(0), int64_t(1)) : std::pair(how.lane, how.lane + 1);
  else if (end == 1)
    times = how.by == Executions::By::Block ? shape.threads : std::max(hierarchy.lanes, shape.groupLanes);
  auto check = [&](Position p) {
    auto number = [&](int64_t at, int64_t neighbors) { return neighbors ? at / neighbors : 0; };
    return std::pair(number(p.row, inside.neighbors[0]), number(p.col, inside.neighbors[1]));
  };
  int64_t result = 0;
  for (int64_t lane = first; lane < end; ++lane) {
    std::set<SmallVector<int64_t, 4>> asked;
    std::pair<int64_t, int64_t> shared;
    for (int64_t e = 0; e < count; ++e) {
      Position p = layout.at(lane, e);
      if (e % together == 0 || check(p) != shared) {
        result += asked.size();
        asked.clear();
        shared = check(p);
      }
      if (inside.contains({p.row, p.col}))
        asked.insert(elements.compose({p.row, p.col}));
    }
    result += asked.size();
  }
  return result * times;
}

bool LaneReader::load(tile::LoadOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  const bool isOfMember = how.by == Executions::By::Member;
  if (auto known = bytesOfWhole.find(op); isOfMember && known != bytesOfWhole.end()) {
    memoryOf(op.getMemref(), counts).read += how.times * known->second;
    return true;
  }
  if (isReadByUnits(op))
    return true;
  tile::FragmentType type = op.getType();
  const int64_t full[] = {type.getRows(), type.getCols()};
  auto inside = insideOf(op, full, op.getMemref(), op.getMap(), op.getMapOperands(), op.getElements(), values);
  if (!inside) {
    counts.unknown = "an extent of a load follows from data";
    return false;
  }
  int64_t together = type.getNumElements();
  if (leavesInParts(op))
    for (Operation *user = *op->user_begin();; user = *user->user_begin())
      if (auto store = dyn_cast<tile::StoreOp>(user)) {
        together = *partOfResult(store.getValue());
        break;
      }
  const bool isWhole = isOfMember && inside->bounds.empty() && ArrayRef(inside->extents) == ArrayRef(full);
  auto ask = [&] { return requests(type, op.getElements(), together, *inside, how); };
  int64_t bytes = elementBytes(op.getMemRefType().getElementType());
  if (isWhole) {
    auto [found, isNew] =
        wholes.try_emplace({type, op.getElements(), together, inside->neighbors[0], inside->neighbors[1]}, 0);
    if (isNew)
      found->second = ask();
    bytes *= found->second;
    if (!op.getValidMap())
      bytesOfWhole[op] = bytes;
  } else {
    bytes *= ask();
  }
  memoryOf(op.getMemref(), counts).read += how.times * bytes;
  return true;
}

bool LaneReader::store(tile::StoreOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  tile::FragmentType type = op.getValue().getType();
  const int64_t full[] = {type.getRows(), type.getCols()};
  auto inside = insideOf(op, full, op.getMemref(), op.getMap(), op.getMapOperands(), op.getElements(), values);
  if (!inside) {
    counts.unknown = "an extent of a store follows from data";
    return false;
  }
  const int64_t bytes = elementBytes(op.getMemRefType().getElementType());
  const Layout layout = type.getLayout().getValue();
  SharedPoints points = pointsOf(layout);
  int64_t same = 0;
  for (auto [b, bit] : llvm::enumerate(points.bits))
    if (standsStill(bit))
      same |= int64_t(1) << b;
  int64_t elements = inside->extents[0] * inside->extents[1]; // each position once
  if (how.by == Executions::By::Lane) {
    elements = 0;
    const int64_t lane = layout.numLanes() == 1 ? 0 : how.lane;
    for (int64_t e = 0; e < layout.numElements() && !(lane & same); ++e) {
      Position p = layout.at(lane, e);
      elements += inside->contains({p.row, p.col});
    }
  } else if (layout.numLanes() == 1) {
    elements *= how.by == Executions::By::Block ? shape.threads : std::max(hierarchy.lanes, shape.groupLanes);
  }
  memoryOf(op.getMemref(), counts).written += how.times * elements * bytes;
  // Results of groups leave through the scratchpad, whole lines of them.
  if (int64_t line = usesEngine ? storeLine(op, hierarchy.lanes) : 0; line && type.getRows() * line <= storeBytes) {
    counts.scratchpad.written += how.times * type.getRows() * type.getCols() * bytes;
    counts.scratchpad.read += how.times * type.getRows() * type.getCols() * bytes;
  }
  return true;
}

/// Elements of a vector that a copy reads as a whole where a row ends inside of it (`looseAttr`), and the dimension of
/// the box along which it lies; 1: what is outside is not read.
static std::pair<int64_t, unsigned> wholeVector(tile::CopyOp op) {
  auto begin = op->getAttrOfType<IntegerAttr>(looseAttr);
  const int64_t bytes = elementBytes(cast<MemRefType>(op.getSource().getType()).getElementType());
  if (!begin || begin.getInt() > bytes)
    return {1, 0};
  auto array = cast<MemRefType>(op.getSource().getType());
  unsigned inner = array.getRank() - 1; // but for dimensions of one element, as where the copy is shared out
  while (inner > 0 && array.getDimSize(inner) == 1)
    --inner;
  AffineExpr innermost = op.getSourceElements().getResult(inner);
  for (unsigned d = 0; d < op.getShape().size(); ++d)
    if (op.getShape()[d] != 1 && linearCoefficient(innermost, d) == 1) {
      auto turn = op->getAttrOfType<DenseI64ArrayAttr>(turnAttr);
      return {std::min(op.getShape()[d], turn ? turn[0] : mostAccessBytes / bytes), d};
    }
  return {1, 0};
}

bool LaneReader::copy(tile::CopyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  ArrayRef<int64_t> box = op.getShape();
  if (how.ofBlock == 0)
    return true;
  auto inside =
      insideOf(op, box, op.getSource(), op.getSourceMap(), op.getSourceOperands(), op.getSourceElements(), values);
  if (!inside) {
    counts.unknown = "an extent of a copy follows from data";
    return false;
  }
  int64_t all = 1, existing = 1;
  const auto [vector, along] = wholeVector(op);
  for (unsigned d = 0; d < box.size(); ++d) {
    all *= box[d];
    existing *= d == along ? llvm::alignTo(inside->extents[d], vector) : inside->extents[d];
  }
  if (!inside->bounds.empty() && existing) {
    existing = 0;
    SmallVector<int64_t> point(box.size(), 0);
    for (int64_t i = 0; i < all; ++i) {
      int64_t rest = i;
      for (unsigned d = box.size(); d-- > 0; rest /= box[d])
        point[d] = rest % box[d];
      existing += inside->contains(point);
    }
  }
  const int64_t bytes = elementBytes(cast<MemRefType>(op.getSource().getType()).getElementType());
  const bool ofCluster = op->hasAttr(engineAttr) && shape.cluster > 1 && clusterRank &&
                         !llvm::is_contained(op.getSourceOperands(), clusterRank);
  counts.global.read += how.ofBlock * existing * bytes / (ofCluster ? shape.cluster : 1);
  counts.scratchpad.written += how.ofBlock * all * bytes;
  return true;
}

bool LaneReader::multiply(tile::MmaOp op, const Executions &how, LaunchCounts &counts) {
  const MatrixUnit *unit = unitOf(op);
  if (!unit) {
    counts.unknown = "the chip lacks unit " + op.getUnit().str();
    return false;
  }
  counts.unitIssues[unit->name] += how.times;
  auto read = [&](const UnitOperand &operand, Value fragment) {
    auto type = cast<tile::FragmentType>(fragment.getType());
    if (unit->scopeCount != 1 && operand.residence == Residence::Scratchpad)
      counts.scratchpad.read += how.times * type.getRows() * type.getCols() * elementBytes(type.getElementType());
  };
  read(unit->a, op.getA());
  read(unit->b, op.getB());
  return true;
}

bool LaneReader::plain(Value memref, bool writes, const Executions &how, LaunchCounts &counts) {
  int64_t lanes = how.by == Executions::By::Lane    ? 1
                  : how.by == Executions::By::Block ? shape.threads
                                                    : std::max(hierarchy.lanes, shape.groupLanes);
  Counted &memory = memoryOf(memref, counts);
  (writes ? memory.written : memory.read) +=
      how.times * lanes * elementBytes(cast<MemRefType>(memref.getType()).getElementType());
  return true;
}

bool LaneReader::count(Operation &op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  if (how.times == 0)
    return true;
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::LoadOp each) { return load(each, how, values, counts); })
      .Case([&](tile::StoreOp each) { return store(each, how, values, counts); })
      .Case([&](tile::CopyOp each) { return copy(each, how, values, counts); })
      .Case([&](tile::MmaOp each) { return multiply(each, how, counts); })
      .Case([&](memref::LoadOp each) { return plain(each.getMemRef(), false, how, counts); })
      .Case([&](memref::StoreOp each) { return plain(each.getMemRef(), true, how, counts); })
      .Default([](Operation *) { return true; });
}

std::unique_ptr<OpReader> tilewright::createLaneReader(func::FuncOp launch, const TargetDescription &chip) {
  return std::make_unique<LaneReader>(launch, chip);
}
