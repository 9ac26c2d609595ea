//===- Tolerance.cpp - What may differ between two runs -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a program rounds to 8-bit floats, and the formula.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Tolerance.h"
#include "core/Analysis/ElementType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tilewright;

/// Whether something but the end of the program reads `value`, or the tensor that a region which ends with it makes.
static bool isReadAgain(Value value) {
  SmallVector<Value> values{value};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (!user->hasTrait<OpTrait::IsTerminator>())
        return true;
      if (!isa<func::ReturnOp>(user))
        llvm::append_range(values, user->getParentOp()->getResults());
    }
  return false;
}

/// Whether `program` reads 8-bit floats that it has rounded.
static bool roundsInside(ModuleOp program) {
  return program
      .walk([](Operation *op) {
        if (op->getNumResults() != 1 || !isFloat8(getElementTypeOrSelf(op->getResult(0).getType())))
          return WalkResult::advance();
        bool computes = isa<arith::ArithDialect, math::MathDialect, tosa::TosaDialect>(op->getDialect()) &&
                        !op->hasTrait<OpTrait::ConstantLike>() && !isa<arith::BitcastOp, arith::SelectOp>(op);
        // Between operations of a body nothing is rounded, unless it says so.
        bool inBody = isa<FloatType>(op->getResult(0).getType()) && !isa<arith::TruncFOp>(op);
        if (computes && inBody)
          computes =
              llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
        return computes && isReadAgain(op->getResult(0)) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

Tolerance::Tolerance(ModuleOp program, const std::vector<Array> &arrays, double roundings, double operandSpacing)
    : growth(std::min(2 * roundings, 8 * std::sqrt(roundings))) {
  narrowest = std::max(narrowest, operandSpacing);
  bool inside = roundsInside(program);
  for (const Array &array : arrays)
    if (isFloat(array.type()) && (inside || !isFloat8(array.type())))
      narrowest = std::max(narrowest, epsilon(array.type()));
  // Rounded inside to a type of which there is no array: as the widest of them.
  if (inside)
    narrowest = std::max(narrowest, epsilon(ElementType::F8E4M3FN));
}

double Tolerance::ratio(ElementType type, double scale, double got, double expected, double &error,
                        double moved) const {
  constexpr double movedFactor = 16;
  error = 0;
  bool isShort = isFloat8(type);
  if (got == expected || (isShort && std::isnan(got) && std::isnan(expected)))
    return 0;
  error = std::fabs(got - expected);
  if (std::isnan(error) || std::isinf(error) || !isFloat(type)) {
    error = std::isnan(error) ? INFINITY : error;
    return INFINITY;
  }
  double compute = type == ElementType::F64 ? 0x1p-52 : 0x1p-23;
  double tolerance =
      narrowest * (4 * std::fabs(expected) + 2 * scale) + compute * (16 + growth) * scale + movedFactor * moved;
  if (isShort)
    tolerance += epsilon(type) * std::fabs(expected) + smallest(type);
  return tolerance == 0 ? INFINITY : error / tolerance;
}
