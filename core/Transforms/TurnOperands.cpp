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

#include "core/Transforms/TurnOperands.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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

/// The dimension of the operand's array that is k and changes places with the last one; nullopt where k is there
/// already, or the array is no plain one of known sizes.
static std::optional<unsigned> turnedPlace(const ContractionOperand &operand, unsigned k) {
  auto type = cast<MemRefType>(operand.access.memref.getType());
  std::optional<unsigned> place = placeOf(operand.access, k);
  if (!place || int64_t(*place) == type.getRank() - 1 || !type.getLayout().isIdentity() || !type.hasStaticShape())
    return std::nullopt;
  return place;
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
  SmallVector<Value> indices;
  for (int64_t size : cast<MemRefType>(from.getType()).getShape()) {
    auto loop = AffineForOp::create(b, root.getLoc(), 0, size);
    indices.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  Value element = AffineLoadOp::create(b, root.getLoc(), from, indices);
  AffineStoreOp::create(b, root.getLoc(), element, buffer, exchanged(ArrayRef(indices), place));
}

bool tilewright::turnOperands(const Contraction &c, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                              bool fast, LanePlanOverrides overrides) {
  const Memory *global = chip.memory("global");
  bool isRead = llvm::any_of(chip.units(), [&](const MatrixUnit &unit) {
    return unit.a.residence == Residence::Scratchpad && unit.b.residence == Residence::Scratchpad &&
           takesElements(unit, c, fast);
  });
  if (!isRead || !tileEngine(chip, hierarchy) || !global)
    return false;
  std::string reason;
  auto plan = [&](const Contraction &c) { return planLaneContraction(c, chip, hierarchy, fast, overrides, reason); };
  std::optional<LaneContractionPlan> asItIs = plan(c);
  if (asItIs && !asItIs->engine.empty())
    return false;
  std::optional<unsigned> k = asItIs ? std::optional(asItIs->kDim) : std::nullopt;
  for (unsigned dim : c.k)
    if (!k && c.a.access.dims().test(dim) && c.b.access.dims().test(dim))
      k = dim;
  if (!k)
    return false;

  AffineForOp root = Nest(c.nest).root();
  OpBuilder b(root);
  Contraction turned = c;
  SmallVector<std::pair<const ContractionOperand *, unsigned>> operands;
  double clocks = 0;
  for (auto [own, other] : {std::pair(&c.a, &turned.a), {&c.b, &turned.b}})
    if (std::optional<unsigned> place = turnedPlace(*own, *k)) {
      auto type = cast<MemRefType>(own->access.memref.getType());
      auto shape = MemRefType::get(exchanged(type.getShape(), *place), type.getElementType());
      *other = readFrom(*own, memref::AllocOp::create(b, root.getLoc(), shape), *place);
      operands.push_back({own, *place});
      // Read and written once, in a launch of its own.
      double bytes = double(type.getNumElements()) * std::max(1u, type.getElementTypeBitWidth() / 8);
      clocks += 2 * bytes / global->bytesPerClock + launchClocks;
    }
  auto bufferOf = [&](const ContractionOperand *own) { return (own == &c.a ? turned.a : turned.b).access.memref; };
  std::optional<LaneContractionPlan> inOrder = operands.empty() ? std::nullopt : plan(turned);
  double turning = clocks / (chip.clockMHz() * 1e6);
  if (!inOrder || inOrder->engine.empty() || (asItIs && inOrder->seconds + turning >= asItIs->seconds)) {
    for (auto [own, place] : operands)
      bufferOf(own).getDefiningOp()->erase();
    return false;
  }
  for (auto [own, place] : operands) {
    InFlightDiagnostic remark = root.emitRemark();
    remark << "operand " << (own == &c.a ? "A" : "B") << " of a contraction is turned into a buffer: unit "
           << inOrder->unit->name << " reads " << own->element << " along k alone, and takes "
           << llvm::formatv("{0:F1} us with the turning", (inOrder->seconds + turning) * 1e6).str();
    if (asItIs)
      remark << llvm::formatv(", {0:F1} us of ", asItIs->seconds * 1e6).str() << asItIs->unit->name;
    fill(bufferOf(own), own->access.memref, place, root);
    auto load = cast<AffineLoadOp>(own->access.op);
    OpBuilder at(load);
    AffineMap map = load.getAffineMap();
    map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), exchanged(map.getResults(), place), map.getContext());
    Value element = AffineLoadOp::create(at, load.getLoc(), bufferOf(own), map, load.getMapOperands());
    load.replaceAllUsesWith(element);
    load.erase();
  }
  return true;
}
