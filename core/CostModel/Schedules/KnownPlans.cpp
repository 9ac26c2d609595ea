//===- KnownPlans.cpp - Plans of products, made once ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What makes two questions the same.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/KnownPlans.h"
#include "llvm/ADT/bit.h"

using namespace tilewright;

thread_local KnownPlans *KnownPlans::current = nullptr;

KnownPlans::KnownPlans() : outer(current) { current = this; }

KnownPlans::~KnownPlans() { current = outer; }

PlanQuestion::PlanQuestion(const Contraction &contraction, const TargetDescription &chip) {
  id.AddPointer(&chip);
  add(int64_t(contraction.nest.tripCounts.size()));
  for (std::optional<int64_t> trips : contraction.nest.tripCounts) {
    isStatic &= trips.has_value();
    add(trips.value_or(0));
  }
  for (const ContractionOperand *operand : {&contraction.a, &contraction.b}) {
    add(operand->access);
    id.AddPointer(operand->element.getAsOpaquePointer());
    id.AddBoolean(operand->isUnsigned);
    add(int64_t(operand->bounded.size()));
    for (unsigned dim : operand->bounded)
      add(int64_t(dim));
    id.AddBoolean(operand->index.has_value());
    if (operand->index)
      add(operand->index->access).add(operand->index->kept).add(operand->index->group);
    id.AddBoolean(operand->scale.has_value());
    if (operand->scale) {
      add(operand->scale->access).add(operand->scale->block);
      id.AddPointer(operand->scale->element.getAsOpaquePointer());
    }
  }
  add(contraction.c);
  id.AddPointer(contraction.accumulator.getAsOpaquePointer());
  for (const auto *dims : {&contraction.batch, &contraction.m, &contraction.n, &contraction.k}) {
    add(int64_t(dims->size()));
    for (unsigned dim : *dims)
      add(int64_t(dim));
  }
}

PlanQuestion &PlanQuestion::add(const Access &access) {
  id.AddPointer(access.map.getAsOpaquePointer());
  id.AddPointer(access.memref.getType().getAsOpaquePointer());
  // Engines copy out of whole arrays alone.
  mlir::Operation *definition = access.memref.getDefiningOp();
  id.AddPointer(definition ? definition->getName().getAsOpaquePointer() : nullptr);
  return *this;
}

PlanQuestion &PlanQuestion::add(int64_t number) {
  id.AddInteger(static_cast<long long>(number));
  return *this;
}

PlanQuestion &PlanQuestion::add(double number) { return add(llvm::bit_cast<int64_t>(number)); }

PlanQuestion &PlanQuestion::add(llvm::ArrayRef<std::pair<std::string, int64_t>> overrides) {
  add(int64_t(overrides.size()));
  for (const auto &[field, value] : overrides) {
    id.AddString(field);
    add(value);
  }
  return *this;
}
