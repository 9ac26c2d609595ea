//===- CoreReader.cpp - What the ops of a launch do on cores ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes, commands and units of each op of a tile program of cores with engines, as
/// Lower/Engines writes them: who moves a copy says `planTileCopy`, and what of a tile
/// does not exist is not moved.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Nest.h"
#include "core/Transforms/Host/LaunchWalk.h"
#include "core/Transforms/Lower/Engines/TileMover.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

namespace {
class CoreReader : public OpReader {
public:
  explicit CoreReader(const TargetDescription &chip) : chip(chip), cores(CoreHierarchy::of(chip)) {}

  void decisive(Operation &op, SmallVectorImpl<Value> &operands) const override {
    if (auto copy = dyn_cast<tile::CopyOp>(op)) {
      llvm::append_range(operands, copy.getOperands()); // addresses decide who moves it
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      llvm::append_range(operands, load.getValidOperands());
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      llvm::append_range(operands, store.getValidOperands());
    } else if (auto product = dyn_cast<tile::MultiplyOp>(op)) {
      llvm::append_range(operands, product.getValid());
    } else if (auto mask = dyn_cast<vector::CreateMaskOp>(op)) {
      llvm::append_range(operands, mask.getOperands());
    }
  }
  bool count(Operation &op, const Executions &how, const IndexValues &values, LaunchCounts &counts) override;

private:
  bool copy(tile::CopyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts);
  /// Whether the engine of `plan` can address both sides; nullopt where an address follows from data.
  std::optional<bool> isAligned(tile::CopyOp op, const CopyForm &form, const TileCopyPlan &plan,
                                const IndexValues &values) const;
  bool multiply(tile::MultiplyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts);
  bool access(Value memref, Known elements, bool writes, const Executions &how, LaunchCounts &counts);
  /// Elements of a vector that `mask` lets through; nullopt where that follows from data.
  static Known maskedElements(Value mask, const IndexValues &values);
  template <typename Op> static Known fragmentElements(Op op, const IndexValues &values);
  bool isGlobal(Value memref) const {
    auto space = dyn_cast_or_null<StringAttr>(cast<MemRefType>(memref.getType()).getMemorySpace());
    return !space || (cores.global && space.getValue() == cores.global->name);
  }

  const TargetDescription &chip;
  CoreHierarchy cores;
};
} // namespace

Known CoreReader::maskedElements(Value mask, const IndexValues &values) {
  int64_t product = 1;
  if (auto constant = mask.getDefiningOp<vector::ConstantMaskOp>()) {
    for (int64_t size : constant.getMaskDimSizes())
      product *= size;
    return product;
  }
  auto created = mask.getDefiningOp<vector::CreateMaskOp>();
  if (!created)
    return std::nullopt;
  for (auto [operand, extent] : llvm::zip(created.getOperands(), created.getType().getShape())) {
    Known size = values.get(operand);
    if (!size)
      return std::nullopt;
    product *= std::clamp<int64_t>(*size, 0, extent);
  }
  return product;
}

template <typename Op> Known CoreReader::fragmentElements(Op op, const IndexValues &values) {
  auto type = [&] {
    if constexpr (std::is_same_v<Op, tile::LoadOp>)
      return op.getType();
    else
      return op.getValue().getType();
  }();
  int64_t full[] = {type.getRows(), type.getCols()};
  if (std::optional<AffineMap> valid = op.getValidMap())
    for (auto [d, extent] : llvm::enumerate(values.get(*valid, op.getValidOperands()))) {
      if (!extent)
        return std::nullopt;
      full[d] = std::clamp<int64_t>(*extent, 0, full[d]);
    }
  return full[0] * full[1];
}

bool CoreReader::access(Value memref, Known elements, bool writes, const Executions &how, LaunchCounts &counts) {
  if (!isGlobal(memref))
    return true; // what a core does in its scratchpad is not counted
  if (!elements) {
    counts.unknown = "a mask follows from data";
    return false;
  }
  (writes ? counts.global.written : counts.global.read) +=
      how.times * *elements * elementBytes(cast<MemRefType>(memref.getType()).getElementType());
  return true;
}

std::optional<bool> CoreReader::isAligned(tile::CopyOp op, const CopyForm &form, const TileCopyPlan &plan,
                                          const IndexValues &values) const {
  if (plan.way == CopyWay::Elements || plan.engine->alignBytes == 1)
    return true;
  int64_t bits = 0;
  for (bool source : {true, false}) {
    Value memref = source ? op.getSource() : op.getDestination();
    AffineMap elements = source ? op.getSourceElements() : op.getDestinationElements();
    auto type = cast<MemRefType>(memref.getType());
    auto starts = values.get(source ? op.getSourceMap() : op.getDestinationMap(),
                             source ? op.getSourceOperands() : op.getDestinationOperands());
    SmallVector<Known> zeros(elements.getNumDims(), 0);
    const bool isTurned = plan.way == CopyWay::Transposed && source != isStore(op); // the side of the array
    const unsigned across = isTurned ? form.col : form.row;
    const bool steps = (isTurned ? form.tile.cols : form.tile.rows) > 1;
    int64_t stride = form.tile.elementBytes, address = 0, pitch = 0;
    for (unsigned d = type.getRank(); d-- > 0;) {
      Known size = type.isDynamicDim(d) ? sizeOf(memref, d) : Known(type.getDimSize(d));
      Known first = valueOf(elements.getResult(d), zeros, {});
      if (!starts[d] || !size || !first)
        return std::nullopt;
      address += (*starts[d] + *first) * stride;
      if (steps)
        pitch += linearCoefficient(elements.getResult(d), across).value_or(0) * stride;
      stride *= *size;
    }
    bits |= address | pitch;
  }
  return (bits & (plan.engine->alignBytes - 1)) == 0;
}

bool CoreReader::copy(tile::CopyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  SmallVector<int64_t> extents(op.getShape());
  if (std::optional<AffineMap> valid = op.getValidMap())
    for (auto [d, extent] : llvm::enumerate(values.get(*valid, op.getValidOperands()))) {
      if (!extent) {
        counts.unknown = "an extent of a copy follows from data";
        return false;
      }
      extents[d] = std::clamp<int64_t>(*extent, 0, extents[d]);
    }
  if (!op.getBounded().empty()) {
    counts.unknown = "a copy writes zeros around an array";
    return false;
  }
  int64_t elements = 1;
  for (int64_t extent : extents)
    elements *= extent;
  const bool stores = isStore(op);
  Value array = stores ? op.getDestination() : op.getSource();
  std::optional<CopyForm> form = copyFormOf(op);
  if (!form)
    return access(array, elements, stores, how, counts);
  TileCopyPlan plan = planTileCopy(form->tile, !stores, cores, chip);
  const int64_t rows = form->row == ~0u ? 1 : extents[form->row], cols = extents[form->col];
  std::optional<bool> byEngine = plan.way != CopyWay::Core ? isAligned(op, *form, plan, values) : false;
  if (!byEngine) {
    counts.unknown = "an address of a copy follows from data";
    return false;
  }
  if (!*byEngine)
    elements = movedElements(op, *form, rows, cols, chip);
  if (!access(array, elements, stores, how, counts))
    return false;
  if (!*byEngine || elements == 0)
    return true;
  const bool isTurned = plan.way == CopyWay::Transposed;
  const int64_t bytes = form->tile.elementBytes, burst = plan.engine->burstBytes / bytes * bytes;
  int64_t pieces = burst ? llvm::divideCeil((isTurned && !stores ? rows : cols) * bytes, burst) : 1;
  if (plan.way == CopyWay::Rows && plan.engine->maxRank < 2)
    pieces *= rows;
  if (plan.way == CopyWay::Elements)
    pieces = form->tile.rows <= form->tile.cols ? rows : cols;
  counts.commands[stores ? "store" : "copy"] += how.times * pieces;
  return true;
}

bool CoreReader::multiply(tile::MultiplyOp op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  const MatrixUnit *unit = chip.unit(op.getUnit());
  if (!unit) {
    counts.unknown = "the chip lacks unit " + op.getUnit().str();
    return false;
  }
  SmallVector<int64_t> shape(op.getShape());
  for (auto [extent, operand] : llvm::zip(shape, op.getValid())) {
    Known valid = values.get(operand);
    if (!valid) {
      counts.unknown = "an extent of a product follows from data";
      return false;
    }
    extent = std::clamp<int64_t>(*valid, 0, extent);
  }
  const int64_t issues =
      llvm::divideCeil(shape[0], unit->m) * llvm::divideCeil(shape[1], unit->n) * llvm::divideCeil(shape[2], unit->k);
  counts.unitIssues[unit->name] += how.times * issues;
  counts.commands["unit"] += how.times * issues;
  return true;
}

bool CoreReader::count(Operation &op, const Executions &how, const IndexValues &values, LaunchCounts &counts) {
  if (how.times == 0)
    return true;
  auto all = [](Type type) { return cast<VectorType>(type).getNumElements(); };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::CopyOp each) { return copy(each, how, values, counts); })
      .Case([&](tile::MultiplyOp each) { return multiply(each, how, values, counts); })
      .Case([&](tile::LoadOp each) {
        return access(each.getMemref(), fragmentElements(each, values), false, how, counts);
      })
      .Case([&](tile::StoreOp each) {
        return access(each.getMemref(), fragmentElements(each, values), true, how, counts);
      })
      .Case([&](memref::LoadOp each) { return access(each.getMemRef(), 1, false, how, counts); })
      .Case([&](memref::StoreOp each) { return access(each.getMemRef(), 1, true, how, counts); })
      .Case([&](vector::LoadOp each) { return access(each.getBase(), all(each.getType()), false, how, counts); })
      .Case([&](vector::StoreOp each) {
        return access(each.getBase(), all(each.getValueToStore().getType()), true, how, counts);
      })
      .Case([&](vector::MaskedLoadOp each) {
        return access(each.getBase(), maskedElements(each.getMask(), values), false, how, counts);
      })
      .Case([&](vector::MaskedStoreOp each) {
        return access(each.getBase(), maskedElements(each.getMask(), values), true, how, counts);
      })
      .Default([](Operation *) { return true; });
}

std::unique_ptr<OpReader> tilewright::createCoreReader(const TargetDescription &chip) {
  return std::make_unique<CoreReader>(chip);
}
