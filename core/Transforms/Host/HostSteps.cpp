//===- HostSteps.cpp - Steps of a manifest as operations ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Integers, launches, branches and loops. A step that may end the call has a status; all others are plain.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/HostWriter.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Lower/LLVM/TrackAllocations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;
using llvm::json::Array;
using llvm::json::Object;

static const Array none;

//===-- Integers ----------------------------------------------------------===//

Value HostWriter::isZero(Value integer) {
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(integer.getType(), 0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, integer, zero);
}

Value HostWriter::isTrue(const Json &json) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, expression(json), i64(0));
}

Value HostWriter::expression(const Json &json) {
  if (auto number = json.getAsInteger())
    return i64(*number);
  if (const Object *object = json.getAsObject()) {
    if (auto size = object->getInteger("size"))
      return function.getArgument(*size);
    return memref::LoadOp::create(b, variables, place(object->getInteger("variable").value_or(0)));
  }
  const Array &parts = *json.getAsArray();
  StringRef sign = *parts[0].getAsString();
  Value x = expression(parts[1]), y = expression(parts[2]);
  if (sign == "+")
    return arith::AddIOp::create(b, x, y);
  if (sign == "-")
    return arith::SubIOp::create(b, x, y);
  if (sign == "*")
    return arith::MulIOp::create(b, x, y);
  if (sign == "floordiv")
    return arith::FloorDivSIOp::create(b, x, y);
  if (sign == "ceildiv")
    return arith::CeilDivSIOp::create(b, x, y);
  if (sign == "mod")
    return arith::SubIOp::create(b, x, arith::MulIOp::create(b, arith::FloorDivSIOp::create(b, x, y), y));
  if (sign == "max")
    return arith::MaxSIOp::create(b, x, y);
  if (sign == "min")
    return arith::MinSIOp::create(b, x, y);
  auto predicate = sign == "<" ? arith::CmpIPredicate::slt : arith::CmpIPredicate::eq;
  return arith::ExtUIOp::create(b, b.getI64Type(), arith::CmpIOp::create(b, predicate, x, y));
}

/// About the value of an expression that says how many bytes, in f64, which does not wrap.
Value HostWriter::estimate(const Json &json) {
  const Array *parts = json.getAsArray();
  StringRef sign = parts ? *(*parts)[0].getAsString() : "";
  if (!llvm::is_contained({"+", "-", "*", "max", "min"}, sign))
    return arith::SIToFPOp::create(b, b.getF64Type(), expression(json));
  Value x = estimate((*parts)[1]), y = estimate((*parts)[2]);
  if (sign == "+")
    return arith::AddFOp::create(b, x, y);
  if (sign == "-")
    return arith::SubFOp::create(b, x, y);
  if (sign == "*")
    return arith::MulFOp::create(b, x, y);
  auto predicate = sign == "max" ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, predicate, x, y), x, y);
}

/// Whether no memory has so many bytes.
Value HostWriter::isTooLarge(const Json &bytes) {
  Value most = arith::ConstantFloatOp::create(b, b.getF64Type(), llvm::APFloat(0x1p56));
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, estimate(bytes), most);
}

//===-- Plain steps -------------------------------------------------------===//

LogicalResult HostWriter::launch(const Object &step) {
  auto kernel = module.lookupSymbol<func::FuncOp>(*step.getString("launch"));
  const Array *grid = step.getArray("grid"), *arguments = step.getArray("arguments");
  if (!kernel || !grid || grid->empty() || !arguments || kernel.getNumArguments() != arguments->size() + 1)
    return refuse("launches of another form");
  Value cores = expression((*grid)[0]);
  SmallVector<Value> operands;
  for (auto [argument, type] : llvm::zip(*arguments, kernel.getArgumentTypes().drop_front())) {
    const Object *object = argument.getAsObject();
    const Json *number = object ? object->get("value") : nullptr;
    if (auto buffer = object ? object->getInteger("buffer") : std::nullopt)
      operands.push_back(pointerOf(*buffer));
    else if (number && type.isIndex())
      operands.push_back(index(expression(*number)));
    else if (number && type.isInteger(64))
      operands.push_back(expression(*number));
    else
      return refuse("launches with arguments beside arrays and integers");
    if (!operands.back())
      return refuse("launches with an array that is not there");
  }
  auto loop = scf::ForOp::create(b, place(0), index(cores), place(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  operands.insert(operands.begin(), arith::IndexCastOp::create(b, b.getI32Type(), loop.getInductionVar()));
  func::CallOp::create(b, kernel, operands);
  return success();
}

LogicalResult HostWriter::rename(const Array &pairs) {
  SmallVector<HostArrays::Move> moves;
  for (const Json &each : pairs) {
    int64_t to = *(*each.getAsArray())[0].getAsInteger(), from = *(*each.getAsArray())[1].getAsInteger();
    moves.push_back({to, from, buffers.lookup(from)});
    if (!arrays.holds(from) && !moves.back().pointer)
      return refuse("an array that is not there");
  }
  arrays.rename(moves);
  return success();
}

LogicalResult HostWriter::plainStep(const Object &step) {
  if (step.getString("launch"))
    return launch(step);
  if (const Array *assignments = step.getArray("assign")) {
    SmallVector<Value> values;
    for (const Json &each : *assignments)
      values.push_back(expression((*each.getAsArray())[1]));
    for (auto [each, value] : llvm::zip(*assignments, values))
      memref::StoreOp::create(b, value, variables, place(*(*each.getAsArray())[0].getAsInteger()));
    return success();
  }
  if (auto variable = step.getInteger("read")) {
    Value pointer = pointerOf(step.getInteger("buffer").value_or(-1));
    if (!pointer)
      return refuse("a number of an array that is not there");
    Value at = index(expression(*step.get("offset"))), size = arith::AddIOp::create(b, at, place(1));
    Type type = b.getIntegerType(8 * step.getInteger("bytes").value_or(8));
    auto memref = MemRefType::get({ShapedType::kDynamic}, type);
    Value value = memref::LoadOp::create(b, memrefFromPointer(b, b.getLoc(), memref, pointer, size), at);
    if (!type.isInteger(64))
      value = arith::ExtSIOp::create(b, b.getI64Type(), value);
    memref::StoreOp::create(b, value, variables, place(*variable));
    return success();
  }
  if (const Array *pairs = step.getArray("rename"))
    return rename(*pairs);
  return refuse("steps of another form");
}

//===-- Steps that may end the call ---------------------------------------===//

static bool mayEnd(const Array *list);

/// Whether the call may end at this step, or inside of it.
static bool mayEnd(const Object &step) {
  return step.get("require") || step.get("allocate") ||
         llvm::any_of(ArrayRef<const char *>{"then", "else", "before", "do"},
                      [&](const char *part) { return mayEnd(step.getArray(part)); });
}

static bool mayEnd(const Array *list) {
  return list &&
         llvm::any_of(*list, [](const Json &each) { return each.getAsObject() && mayEnd(*each.getAsObject()); });
}

/// The status stands beside the variables, so that each turn sees how the one before has ended.
FailureOr<Value> HostWriter::loop(const Object &step, const Json &condition) {
  const Array *before = step.getArray("before"), *body = step.getArray("do");
  auto keep = [&](Value ended) {
    memref::StoreOp::create(b, arith::ExtSIOp::create(b, b.getI64Type(), ended), variables, place(statusAt));
  };
  auto kept = [&]() -> Value { return memref::LoadOp::create(b, variables, place(statusAt)); };
  keep(status(0));
  auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    auto goesOn = scf::IfOp::create(b, TypeRange{b.getI1Type()}, isZero(kept()), /*withElseRegion=*/true);
    scf::ConditionOp::create(b, goesOn.getResult(0), ValueRange());
    b.setInsertionPointToStart(goesOn.elseBlock());
    scf::YieldOp::create(b, Value(arith::ConstantIntOp::create(b, 0, 1)));
    b.setInsertionPointToStart(goesOn.thenBlock());
    FailureOr<Value> ended = steps(before ? *before : none);
    if (failed(ended))
      return failure();
    keep(*ended);
    Value holds = isTrue(condition);
    scf::YieldOp::create(b, Value(arith::AndIOp::create(b, holds, isZero(*ended))));
    b.createBlock(&loop.getAfter());
    ended = steps(body ? *body : none);
    if (failed(ended))
      return failure();
    keep(*ended);
    scf::YieldOp::create(b);
  }
  return Value(arith::TruncIOp::create(b, b.getI32Type(), kept()));
}

/// A step that may end the call, or a branch or loop; its status.
FailureOr<Value> HostWriter::endingStep(const Object &step) {
  if (const Json *produced = step.get("require")) {
    const Json *given = step.get("equals");
    if (!given)
      return refuse("a comparison with something");
    Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, expression(*produced), expression(*given));
    return Value(
        arith::SelectOp::create(b, same, status(0), status(step.get("index") ? badIndexStatus : sizesDisagreeStatus)));
  }
  if (auto buffer = step.getInteger("allocate")) {
    const Json &size = *step.get("bytes");
    Value bytes = expression(size), tooLarge = isTooLarge(size);
    Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bytes, i64(0));
    auto checked = scf::IfOp::create(b, TypeRange{b.getI32Type()}, arith::OrIOp::create(b, negative, tooLarge),
                                     /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(checked.thenBlock());
    scf::YieldOp::create(b, Value(arith::SelectOp::create(b, tooLarge, status(2), status(1))));
    b.setInsertionPointToStart(checked.elseBlock());
    Value missing = arrays.allocate(*buffer, bytes);
    scf::YieldOp::create(b, Value(arith::SelectOp::create(b, missing, status(2), status(0))));
    return checked.getResult(0);
  }
  if (const Json *condition = step.get("while"))
    return loop(step, *condition);
  auto branch = scf::IfOp::create(b, TypeRange{b.getI32Type()}, isTrue(*step.get("if")), /*withElseRegion=*/true);
  for (auto [block, part] : {std::pair(branch.thenBlock(), "then"), std::pair(branch.elseBlock(), "else")}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    const Array *list = step.getArray(part);
    FailureOr<Value> ended = steps(list ? *list : none);
    if (failed(ended))
      return failure();
    scf::YieldOp::create(b, *ended);
  }
  return branch.getResult(0);
}

/// What stands behind a step that may end the call becomes the branch where it has not.
FailureOr<Value> HostWriter::steps(ArrayRef<Json> list) {
  for (const Json &each : list) {
    const Object *object = each.getAsObject();
    if (!object)
      return refuse("a manifest whose steps are objects");
    if (!mayEnd(*object) && !object->get("if") && !object->get("while")) {
      if (failed(plainStep(*object)))
        return failure();
      continue;
    }
    FailureOr<Value> ended = endingStep(*object);
    if (failed(ended))
      return failure();
    if (!mayEnd(*object))
      continue;
    auto checked = scf::IfOp::create(b, TypeRange{b.getI32Type()}, isZero(*ended), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(checked.elseBlock());
    scf::YieldOp::create(b, *ended);
    b.setInsertionPointToStart(checked.thenBlock());
    FailureOr<Value> rest = steps(list.drop_front(&each - list.data() + 1));
    if (failed(rest))
      return failure();
    scf::YieldOp::create(b, *rest);
    return checked.getResult(0);
  }
  return status(0);
}
