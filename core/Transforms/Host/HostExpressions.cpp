//===- HostExpressions.cpp - Integers that the host computes --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Affine maps, arithmetic and comparisons as trees.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/HostExpressions.h"
#include "core/Analysis/ElementType.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;

/// Sizes, and what is made of them without a difference: signed, unsigned, floor and truncation agree.
static bool isNonNegative(mlir::Value value) {
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.getValue().isNonNegative();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == value && isNonNegative(loop.getLowerBound());
  }
  Operation *def = value.getDefiningOp();
  return isa<memref::DimOp>(def) ||
         (isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
              arith::CeilDivUIOp, arith::RemUIOp, arith::RemSIOp, arith::MaxSIOp, arith::MinSIOp>(def) &&
          llvm::all_of(def->getOperands(), isNonNegative));
}

/// The operation of an expression for an arithmetic op; empty if there is none.
static StringRef operationOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulIOp, arith::AndIOp>([](auto) { return "*"; })
      .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>([](auto) { return "floordiv"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceildiv"; })
      .Case<arith::RemUIOp, arith::RemSIOp>([](auto) { return "mod"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp, arith::OrIOp>([](auto) { return "max"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
      .Default([](auto) { return ""; });
}

bool tilewright::isHostType(Type type) { return type.isIndex() || type.isInteger(1) || type.isInteger(64); }

bool tilewright::isHostArithmetic(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  if (isa<memref::DimOp>(op))
    return cast<memref::DimOp>(op).getConstantIndex().has_value();
  if (isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(op))
    return true;
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return isHostType(type) && !op->getOperand(0).getType().isInteger(1);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op))
    return isHostType(type) && op->getOperand(0).getType().isInteger(1);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() < arith::CmpIPredicate::ult || llvm::all_of(op->getOperands(), isNonNegative);
  if (isa<arith::SelectOp>(op))
    return isHostType(type);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return type.isInteger(1);
  if (operationOf(op).empty() || !isHostType(type) || type.isInteger(1))
    return false;
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::MaxSIOp,
             arith::MinSIOp>(op) ||
         llvm::all_of(op->getOperands(), isNonNegative);
}

Json tilewright::hostBinary(StringRef op, Json a, Json b) {
  std::optional<int64_t> x = a.getAsInteger(), y = b.getAsInteger();
  if (x && y) {
    if (op == "+")
      return *x + *y;
    if (op == "-")
      return *x - *y;
    if (op == "*")
      return *x * *y;
  }
  if (y == 0 && (op == "+" || op == "-"))
    return a;
  if (x == 0 && op == "+")
    return b;
  if (op == "*" && y == 1)
    return a;
  if (op == "*" && x == 1)
    return b;
  return llvm::json::Array{op, std::move(a), std::move(b)};
}

bool tilewright::followsFromSizes(const Json &expression) {
  if (const llvm::json::Array *parts = expression.getAsArray())
    return followsFromSizes((*parts)[1]) && followsFromSizes((*parts)[2]);
  const llvm::json::Object *object = expression.getAsObject();
  return !object || object->get("size");
}

const SignatureArgument *HostExpressions::argumentOf(mlir::Value array, unsigned &index) const {
  auto argument = dyn_cast<BlockArgument>(array);
  if (!argument || argument.getOwner()->getParentOp() != function || !argument.getOwner()->isEntryBlock())
    return nullptr;
  for (auto [i, each] : llvm::enumerate(signature.arguments))
    if (each.position == argument.getArgNumber()) {
      index = i;
      return &each;
    }
  return nullptr;
}

int64_t HostExpressions::declare(mlir::Value value) {
  variables.try_emplace(value, count);
  return count++;
}

int64_t HostExpressions::declare(mlir::Value array, int64_t d) {
  extents.try_emplace({array, d}, count);
  return count++;
}

Json HostExpressions::ofSizes(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return llvm::json::Object{{"size", int64_t(symbol.getPosition())}};
  auto both = cast<AffineBinaryOpExpr>(expr);
  const char *names[] = {"+", "*", "mod", "floordiv", "ceildiv"};
  return hostBinary(names[int(both.getKind())], ofSizes(both.getLHS()), ofSizes(both.getRHS()));
}

FailureOr<Json> HostExpressions::extent(Operation *user, mlir::Value array, int64_t d) {
  auto type = cast<MemRefType>(array.getType());
  if (!type.isDynamicDim(d))
    return Json(type.getDimSize(d));
  unsigned index;
  if (const SignatureArgument *argument = argumentOf(array, index))
    return ofSizes(argument->shape.getResult(d));
  if (auto found = extents.find({array, d}); found != extents.end())
    return Json(llvm::json::Object{{"variable", found->second}});
  Operation *def = array.getDefiningOp();
  if (auto alloc = dyn_cast_or_null<memref::AllocOp>(def))
    return of(user, alloc.getDynamicSizes()[type.getDynamicDimIndex(d)]);
  if (auto cast = dyn_cast_or_null<memref::CastOp>(def))
    return extent(user, cast.getSource(), d);
  if (auto expand = dyn_cast_or_null<memref::ExpandShapeOp>(def))
    return of(user, expand.getOutputShape()[type.getDynamicDimIndex(d)]);
  if (auto view = dyn_cast_or_null<memref::ViewOp>(def))
    return of(user, view.getSizes()[type.getDynamicDimIndex(d)]);
  if (auto shaped = dyn_cast_or_null<memref::ReinterpretCastOp>(def))
    return of(user, shaped.getSizes()[type.getDynamicDimIndex(d)]);
  if (auto collapse = dyn_cast_or_null<memref::CollapseShapeOp>(def)) {
    Json product = 1;
    SmallVector<ReassociationIndices, 4> groups = collapse.getReassociationIndices();
    for (int64_t inner : groups[d]) {
      FailureOr<Json> factor = extent(user, collapse.getSrc(), inner);
      if (failed(factor))
        return failure();
      product = hostBinary("*", std::move(product), *factor);
    }
    return product;
  }
  return user->emitOpError() << "needs the size of an array that is neither an argument nor a temporary";
}

FailureOr<Json> HostExpressions::bytes(Operation *user, mlir::Value array) {
  auto type = cast<MemRefType>(array.getType());
  Json total = elementBytes(type.getElementType());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    FailureOr<Json> size = extent(user, array, d);
    if (failed(size))
      return failure();
    total = hostBinary("*", std::move(total), *size);
  }
  return total;
}

FailureOr<Json> HostExpressions::of(Operation *user, AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return Json(number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return of(user, dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return of(user, symbols[symbol.getPosition()]);
  auto both = cast<AffineBinaryOpExpr>(expr);
  auto left = of(user, both.getLHS(), dims, symbols), right = of(user, both.getRHS(), dims, symbols);
  if (failed(left) || failed(right))
    return failure();
  const char *names[] = {"+", "*", "mod", "floordiv", "ceildiv"};
  return hostBinary(names[int(both.getKind())], *left, *right);
}

FailureOr<Json> HostExpressions::of(Operation *user, mlir::Value value) {
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return Json(value.getType().isInteger(1) ? int64_t(number.getValue().getBoolValue()) : number.getInt());
  if (auto found = variables.find(value); found != variables.end())
    return Json(llvm::json::Object{{"variable", found->second}});
  Operation *def = value.getDefiningOp();
  auto operands = [&](llvm::function_ref<Json(Json, Json)> combine) -> FailureOr<Json> {
    auto left = of(user, def->getOperand(0)), right = of(user, def->getOperand(1));
    if (failed(left) || failed(right))
      return failure();
    return combine(*left, *right);
  };
  if (def && isHostArithmetic(def)) {
    if (auto dim = dyn_cast<memref::DimOp>(def))
      return extent(user, dim.getSource(), *dim.getConstantIndex());
    auto folded = [&](AffineMap map, StringRef op) -> FailureOr<Json> {
      ValueRange all = def->getOperands();
      std::optional<Json> result;
      for (AffineExpr expr : map.getResults()) {
        auto each = of(user, expr, all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
        if (failed(each))
          return failure();
        result = result ? hostBinary(op, std::move(*result), *each) : *each;
      }
      return *result;
    };
    if (auto apply = dyn_cast<affine::AffineApplyOp>(def))
      return folded(apply.getAffineMap(), "");
    if (auto min = dyn_cast<affine::AffineMinOp>(def))
      return folded(min.getAffineMap(), "min");
    if (auto max = dyn_cast<affine::AffineMaxOp>(def))
      return folded(max.getAffineMap(), "max");
    if (def->getNumOperands() == 1)
      return of(user, def->getOperand(0));
    if (auto compare = dyn_cast<arith::CmpIOp>(def))
      return operands([&](Json a, Json b) -> Json {
        auto negated = [](Json truth) { return hostBinary("-", 1, std::move(truth)); };
        switch (compare.getPredicate()) {
        case arith::CmpIPredicate::eq:
          return hostBinary("==", a, b);
        case arith::CmpIPredicate::ne:
          return negated(hostBinary("==", a, b));
        case arith::CmpIPredicate::slt:
        case arith::CmpIPredicate::ult:
          return hostBinary("<", a, b);
        case arith::CmpIPredicate::sgt:
        case arith::CmpIPredicate::ugt:
          return hostBinary("<", b, a);
        case arith::CmpIPredicate::sle:
        case arith::CmpIPredicate::ule:
          return negated(hostBinary("<", b, a));
        default:
          return negated(hostBinary("<", a, b));
        }
      });
    if (auto select = dyn_cast<arith::SelectOp>(def)) {
      auto condition = of(user, select.getCondition()), yes = of(user, select.getTrueValue()),
           no = of(user, select.getFalseValue());
      if (failed(condition) || failed(yes) || failed(no))
        return failure();
      return hostBinary("+", hostBinary("*", *condition, hostBinary("-", *yes, *no)), *no);
    }
    if (isa<arith::XOrIOp>(def))
      return operands([](Json a, Json b) { return hostBinary("mod", hostBinary("+", a, b), 2); });
    return operands([&](Json a, Json b) { return hostBinary(operationOf(def), a, b); });
  }
  InFlightDiagnostic diagnostic = user->emitOpError()
                                  << "needs a size that does not follow from the sizes of the arguments";
  if (def)
    diagnostic << " but from '" << def->getName() << "'";
  return diagnostic;
}
