//===- EqualFunctions.cpp - Functions that do the same --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A hash of the operations without their operands finds candidates; upstream's
/// comparison of regions, which follows values, decides.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/EqualFunctions.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace tilewright;

/// The attributes of `function` but its name.
static SmallVector<NamedAttribute> attributesOf(func::FuncOp function) {
  return llvm::filter_to_vector(function->getAttrs(), [&](NamedAttribute attribute) {
    return attribute.getName() != function.getSymNameAttrName();
  });
}

static size_t hashOf(func::FuncOp function) {
  llvm::hash_code hash = hash_value(function.getFunctionType());
  for (NamedAttribute attribute : attributesOf(function))
    hash = llvm::hash_combine(hash, attribute.getName(), attribute.getValue());
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                                      OperationEquivalence::ignoreHashValue,
                                                                      OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

static bool areEqual(func::FuncOp a, func::FuncOp b) {
  return attributesOf(a) == attributesOf(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

func::FuncOp EqualFunctions::firstEqual(func::FuncOp function) {
  SmallVector<func::FuncOp, 1> &candidates = known[hashOf(function)];
  for (func::FuncOp candidate : candidates)
    if (areEqual(candidate, function))
      return candidate;
  candidates.push_back(function);
  return function;
}
