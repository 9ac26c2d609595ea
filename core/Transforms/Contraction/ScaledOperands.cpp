//===- ScaledOperands.cpp - Scales that a unit applies --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the nests before a contraction compute, and which way is faster.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Contraction/ScaledOperands.h"
#include "core/Analysis/ElementType.h"
#include "core/CostModel/Copies/ElementPacking.h"
#include "core/CostModel/Schedules/ContractionExtents.h"
#include "core/CostModel/Schedules/TiledDimensions.h"
#include "core/Transforms/Fusion/ContractionGroup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Compares the two ways for one contraction.
class ScaleFinder {
public:
  ScaleFinder(const Contraction &c, const TargetDescription &chip, const LaneHierarchy &hierarchy,
              NumericFreedom freedom, LanePlanOverrides overrides)
      : c(c), chip(chip), hierarchy(hierarchy), freedom(freedom), overrides(overrides) {}
  std::optional<ScaledOperands> run();

private:
  bool areTaken(const Contraction &scaled) const;
  std::optional<ScaledOperands> unscaledOperands() const;
  std::optional<OperandProducer> scalingNest(const ContractionOperand &operand) const;
  std::optional<ContractionOperand> unscaled(const OperandProducer &producer, const ContractionOperand &operand) const;
  std::optional<LaneContractionPlan> planOf(const Contraction &contraction) const;
  double bufferSeconds(const Contraction &scaled) const;

  const Contraction &c;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  NumericFreedom freedom;
  LanePlanOverrides overrides;
  unsigned k = 0; // the loop of the sum whose blocks have scales
};

} // namespace

/// The nest that computes all of `operand` for the contraction alone, if it may be moved there.
std::optional<OperandProducer> ScaleFinder::scalingNest(const ContractionOperand &operand) const {
  AffineForOp root = findProducer(c, operand);
  if (!root)
    return std::nullopt;
  ContractionTask task;
  task.contraction = c;
  std::string reason;
  return asProducer(root, c, operand, gatherGroup(task), reason, /*byVectors=*/false);
}

/// `access` as that of scales: linear in all loops, but for the blocks of loop `k`, which its map counts instead of
/// `k`; nullopt if it is none.
static std::optional<OperandScale> asScale(const Access &access, unsigned k) {
  OperandScale scale;
  scale.access = access;
  scale.element = access.op->getResult(0).getType();
  MLIRContext *context = access.map.getContext();
  const unsigned numDims = access.map.getNumDims();
  AffineExpr number = getAffineDimExpr(numDims, context); // of the block
  SmallVector<AffineExpr> results;
  for (AffineExpr result : access.map.getResults()) {
    result = simplifyAffineExpr(result, numDims, access.map.getNumSymbols());
    result.walk([&](AffineExpr part) {
      auto quotient = dyn_cast<AffineBinaryOpExpr>(part);
      auto block = quotient ? dyn_cast<AffineConstantExpr>(quotient.getRHS()) : AffineConstantExpr();
      if (block && part.getKind() == AffineExprKind::FloorDiv && quotient.getLHS() == getAffineDimExpr(k, context))
        scale.block = block.getValue();
    });
    if (scale.block)
      result = result.replace(getAffineDimExpr(k, context).floorDiv(scale.block), number);
    if (result.isFunctionOfDim(k))
      return std::nullopt;
    for (unsigned dim = 0; dim <= numDims; ++dim)
      if (!linearCoefficient(result, dim))
        return std::nullopt;
    results.push_back(result.replace(number, getAffineDimExpr(k, context)));
  }
  scale.access.map = AffineMap::get(numDims, access.map.getNumSymbols(), results, context);
  return scale;
}

/// What `value` was widened from, and its type: a loaded number, or a float of 4 or 6 bits that is the low bits of a
/// loaded byte (NarrowFloats.h).
static std::pair<Value, Type> loadedNumber(Value value) {
  Value inner = value;
  while (Operation *conversion = inner.getDefiningOp()) {
    auto held = dyn_cast<arith::TruncFOp>(conversion);
    if (!isa<arith::ExtFOp>(conversion) && !(held && isa<Float8E4M3FNType>(held.getType())))
      break;
    inner = conversion->getOperand(0);
  }
  auto bits = inner.getDefiningOp<arith::BitcastOp>();
  arith::TruncIOp low;
  if (bits && isSubByteFloat(inner.getType()))
    low = bits.getIn().getDefiningOp<arith::TruncIOp>();
  if (low && low.getIn().getType().isInteger(8))
    return {low.getIn(), inner.getType()};
  if (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  return {value, value.getType()};
}

/// Whether a float of type `to` holds every product of `data` and `scale`, but for the smallest ones.
static bool holdsProducts(Type to, Type data, Type scale) {
  const bool isShort = isSubByteFloat(data) || (isFloat8(data) && !isa<Float8E8M0FNUType>(data));
  return to.isF32() || (to.isBF16() && isShort && isa<Float8E8M0FNUType>(scale));
}

/// What `producer` multiplies: an element of the result, with its scale.
std::optional<ContractionOperand> ScaleFinder::unscaled(const OperandProducer &producer,
                                                        const ContractionOperand &operand) const {
  Value stored = producer.stored();
  if (auto narrowed = stored.getDefiningOp<arith::TruncFOp>())
    stored = narrowed.getIn();
  auto product = stored.getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32() || producer.sources.size() != 2)
    return std::nullopt;
  auto sourceOf = [&](Value factor) -> const Access * {
    for (const ProducerSource &source : producer.sources)
      if (source.access.op->getResult(0) == factor)
        return &source.access;
    return nullptr;
  };
  auto [left, leftType] = loadedNumber(product.getLhs());
  auto [right, rightType] = loadedNumber(product.getRhs());
  const Access *data = sourceOf(left), *factor = sourceOf(right);
  if (!data || !factor || data == factor)
    return std::nullopt;
  std::optional<OperandScale> scale = asScale(*factor, k);
  if (!scale || !data->dims().test(k)) {
    std::swap(data, factor);
    scale = asScale(*factor, k);
  }
  if (!scale || !data->dims().test(k))
    return std::nullopt;
  ContractionOperand result = operand;
  result.access = *data;
  result.element = data->op->getResult(0) == left ? leftType : rightType;
  result.scale = std::move(scale);
  return holdsProducts(operand.element, result.element, result.scale->element) ? std::optional(result) : std::nullopt;
}

/// Whether a unit takes elements and scales of these types.
bool ScaleFinder::areTaken(const Contraction &scaled) const {
  return llvm::any_of(chip.units(),
                      [&](const MatrixUnit &unit) { return unit.scales && takesElements(unit, scaled, freedom); });
}

std::optional<LaneContractionPlan> ScaleFinder::planOf(const Contraction &contraction) const {
  std::string reason;
  return planLaneContraction({contraction, freedom, overrides}, chip, hierarchy, reason);
}

/// Of the launches that fill buffers of the scaled operands: each reads elements and scales, and writes products.
double ScaleFinder::bufferSeconds(const Contraction &scaled) const {
  double clocks = 0;
  for (const auto &[own, buffer] : {std::pair(&scaled.a, &c.a), std::pair(&scaled.b, &c.b)}) {
    if (!own->scale)
      continue;
    const double each = double(elementBytes(own->element)) + double(elementBytes(buffer->element));
    const double bytes = elementsOf(scaled, *own) * each + scaleBytes(scaled, *own);
    clocks += bytes / chip.graph().backing()->bytesPerClock + launchClocks(chip);
  }
  return secondsOf(clocks, chip);
}

/// The contraction of what nests scale, as one unit at least takes it: both operands, or one of them.
std::optional<ScaledOperands> ScaleFinder::unscaledOperands() const {
  struct Side {
    std::optional<OperandProducer> nest;
    std::optional<ContractionOperand> own;
  } sides[2];
  for (auto [side, operand] : {std::pair(&sides[0], &c.a), std::pair(&sides[1], &c.b)}) {
    side->nest = scalingNest(*operand);
    if (side->nest)
      side->own = unscaled(*side->nest, *operand);
  }
  for (auto [ofA, ofB] : {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
    if ((ofA && !sides[0].own) || (ofB && !sides[1].own))
      continue;
    ScaledOperands result;
    result.contraction = c;
    for (auto [side, operand, isUsed] :
         {std::tuple(&sides[0], &result.contraction.a, ofA), std::tuple(&sides[1], &result.contraction.b, ofB)})
      if (isUsed) {
        *operand = *side->own;
        result.nests.push_back(*side->nest);
      }
    std::optional<TiledDimensions> ofElements = tiledDimensions(result.contraction);
    if (ofElements && ofElements->kDim == k && areTaken(result.contraction))
      return result;
  }
  return std::nullopt;
}

std::optional<ScaledOperands> ScaleFinder::run() {
  const bool takesScales = llvm::any_of(chip.units(), [](const MatrixUnit &unit) { return unit.scales.has_value(); });
  if (!takesScales || c.m.empty() || c.n.empty() || !chip.graph().backing())
    return std::nullopt;
  std::optional<TiledDimensions> dims = tiledDimensions(c);
  if (!dims)
    return std::nullopt;
  k = dims->kDim;
  std::optional<ScaledOperands> taken = unscaledOperands();
  if (!taken)
    return std::nullopt;
  ScaledOperands result = std::move(*taken);
  std::optional<LaneContractionPlan> byUnit = planOf(result.contraction), byBuffers = planOf(c);
  if (!byUnit)
    return std::nullopt;
  const double units = byUnit->seconds + packingSeconds(*byUnit, result.contraction, chip);
  const double buffers = byBuffers ? byBuffers->seconds + bufferSeconds(result.contraction) : 0;
  if (byBuffers && buffers < units)
    return std::nullopt;
  auto add = [&](const char *by, double seconds) {
    result.considered.push_back(llvm::json::Object{{"scaled_by", by}, {"seconds", seconds}});
  };
  add("unit", units);
  if (byBuffers)
    add("buffers", buffers);
  InFlightDiagnostic remark = Nest(c.nest).root().emitRemark();
  remark << "operands of a contraction are scaled by unit " << byUnit->unit->name
         << llvm::formatv(", which takes {0:F1} us", units * 1e6).str();
  if (byBuffers)
    remark << llvm::formatv("; with buffers it takes {0:F1} us", buffers * 1e6).str();
  return result;
}

std::optional<ScaledOperands> tilewright::findScaledOperands(const Contraction &c, const TargetDescription &chip,
                                                             const LaneHierarchy &hierarchy, NumericFreedom freedom,
                                                             LanePlanOverrides overrides) {
  return ScaleFinder(c, chip, hierarchy, freedom, overrides).run();
}
