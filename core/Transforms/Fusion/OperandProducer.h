//===- OperandProducer.h - Element-wise work while packing ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An element-wise nest whose only reader is a contraction, as its multiplicand:
/// a dequantisation, a cast, a scaling. Where the contraction packs that operand,
/// the copy computes the elements from the nest's own sources, and no buffer of
/// the whole operand exists:
///
///   X[k, n] = sitofp(Q[k, n]) * s[n]          panel[k, n] = sitofp(Q[k, n]) * s[n]
///   C[m, n] += A[m, k] * X[k, n]        ->    C[m, n] += A[m, k] * panel[k, n]
///
/// A vector of the copy runs along X's last index, so each source is a vector
/// along its own last index, or one element for all lanes.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_FUSION_OPERANDPRODUCER_H
#define TILEWRIGHT_CORE_TRANSFORMS_FUSION_OPERANDPRODUCER_H

#include "core/Analysis/Contraction.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/Transforms/Utils/IterationSpace.h"
#include <string>

namespace tilewright {

/// A source of a producer, over the contraction's dimensions.
struct ProducerSource {
  Access access;
  bool alongLanes = false; // a vector of elements; false: one element for all lanes
};

struct OperandProducer {
  Nest nest;
  llvm::SmallVector<ProducerSource, 4> sources; // as nest.loads

  mlir::Value stored() const;
  /// The source that lies like the operand, of the widest elements: what a prefetch of the operand means; or null.
  const Access *mainSource() const;
};

/// The nest that computes all of `operand` for `c` alone; null if its elements come from elsewhere.
mlir::affine::AffineForOp findProducer(const Contraction &c, const ContractionOperand &operand);

/// That nest as work of the packing copy; nullopt with `reason` (for a remark) where it cannot be. `group`: nests that
/// are rewritten together with the contraction. Not `byVectors`: its elements may lie in any order.
std::optional<OperandProducer> asProducer(mlir::affine::AffineForOp root, const Contraction &c,
                                          const ContractionOperand &operand, llvm::ArrayRef<mlir::Operation *> group,
                                          std::string &reason, bool byVectors = true);

/// `lanes` consecutive elements of the operand at the current position, computed from the sources; zeros from `valid`
/// on (null: all are there). 0 lanes: one scalar.
mlir::Value emitProducer(IterationSpace &space, const OperandProducer &producer, int64_t lanes, mlir::AffineExpr valid);

/// What becomes of the producers of A and B under a plan.
struct ProducerChoice {
  struct OfOperand {
    mlir::affine::AffineForOp root;      // null: there is none
    std::optional<OperandProducer> work; // nullopt where it cannot run while packing
    std::string reason;                  // why it cannot
    bool isFused = false;
  };
  OfOperand a, b;
  ContractionPlan plan; // with what is fused
};

/// Finds the producers of `c`, and chooses which of those that can run while packing. An operand that `plan` reads in
/// place is packed where that is cheaper than its buffer. `group`: as asProducer has it.
ProducerChoice chooseProducers(const Contraction &c, const ContractionPlan &plan,
                               llvm::ArrayRef<mlir::Operation *> group, const TargetDescription &target,
                               const PlanOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_FUSION_OPERANDPRODUCER_H
