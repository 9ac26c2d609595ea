//===- PaddedOperands.cpp - Operands read past their padding --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a padded buffer takes, and what it takes to do without.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/PaddedOperands.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/TurnOperands.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

void PaddedOperands::apply(Contraction &c) const {
  for (ContractionOperand *operand : {&c.a, &c.b})
    for (const PaddedArray &array : passedBy)
      if (operand->access.memref == array.buffer) {
        operand->access = array.onSource(operand->access);
        operand->bounded = array.dimensions;
      }
}

void PaddedOperands::eraseBuffers() const {
  for (const PaddedArray &array : passedBy) {
    auto isWriter = [&](Operation *user) {
      return array.fill->isAncestor(user) || array.copy->isAncestor(user) || isa<memref::DeallocOp>(user);
    };
    if (!llvm::all_of(array.buffer.getUsers(), isWriter))
      continue;
    AffineForOp(array.fill).erase();
    AffineForOp(array.copy).erase();
    for (Operation *user : llvm::make_early_inc_range(array.buffer.getUsers()))
      user->erase();
    array.buffer.getDefiningOp()->erase();
  }
}

/// Seconds of the two launches that write the buffer, shared by those that read it.
static double secondsOf(const PaddedArray &array, const TargetDescription &chip) {
  llvm::SmallPtrSet<Operation *, 4> readers;
  Value buffer = array.buffer;
  for (Operation *user : buffer.getUsers())
    if (isa<AffineLoadOp>(user))
      readers.insert(buffer.getParentBlock()->findAncestorOpInBlock(*user));
  auto bytesOf = [](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return double(type.getNumElements()) * elementBytes(type.getElementType());
  };
  double bytes = bytesOf(buffer) + 2 * bytesOf(array.source);
  double clocks = bytes / chip.memory("global")->bytesPerClock + 2 * launchClocks;
  return clocks / (chip.clockMHz() * 1e6) / double(std::max<size_t>(1, readers.size()));
}

PaddedOperands tilewright::findPaddedOperands(const Contraction &c, const TargetDescription &chip,
                                              const LaneHierarchy &hierarchy, bool fast, LanePlanOverrides overrides,
                                              int64_t padded) {
  PaddedOperands result;
  if (!chip.memory("global"))
    return result;
  double buffers = 0;
  int64_t which = 0;
  AffineForOp root = Nest(c.nest).root();
  for (auto [operand, bit] : {std::pair(&c.a, turnsA), {&c.b, turnsB}}) {
    if (padded & bit)
      continue;
    std::optional<PaddedArray> found = findPadding(operand->access.memref, root);
    if (!found || found->dimensions.empty())
      continue;
    which |= bit;
    if (llvm::none_of(result.passedBy, [&](const PaddedArray &other) { return other.buffer == found->buffer; })) {
      buffers += secondsOf(*found, chip);
      result.passedBy.push_back(std::move(*found));
    }
  }
  if (!which)
    return result;
  Contraction direct = c;
  result.apply(direct);
  std::string reason;
  auto plan = planLaneContraction({direct, fast, overrides}, chip, hierarchy, reason);
  auto before = planLaneContraction({c, fast, overrides}, chip, hierarchy, reason);
  if (!plan || (before && before->seconds + buffers < plan->seconds))
    result.passedBy.clear();
  if (plan)
    result.considered.push_back(llvm::json::Object{{"padded", 0}, {"seconds", plan->seconds}});
  if (before)
    result.considered.push_back(llvm::json::Object{{"padded", which}, {"seconds", before->seconds + buffers}});
  return result;
}
