//===- LaunchManifest.cpp - What the host does for a program --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the public function and writes one step for each op that does something.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Host/LaunchManifest.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Analysis/Settings.h"
#include "core/Transforms/Host/LaunchArrays.h"
#include "core/Transforms/Host/SignatureManifest.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tilewright/Residency.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;
using llvm::json::Array;
using llvm::json::Object;

//===-- Buffers -----------------------------------------------------------===//

/// The array whose whole memory `array` is another view of.
static mlir::Value behindViews(mlir::Value array) {
  while (Operation *def = array.getDefiningOp()) {
    if (!isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp, memref::ReinterpretCastOp>(def))
      break;
    array = def->getOperand(0);
  }
  return array;
}

FailureOr<int64_t> LaunchManifest::bufferOf(Operation *user, mlir::Value array) {
  mlir::Value whole = behindViews(array);
  unsigned index;
  if (expressions.argumentOf(whole, index))
    return index;
  auto found = buffers.find(whole);
  if (found == buffers.end() && isByteView(whole))
    return user->emitOpError() << "hands on what memref.view makes of bytes; on lanes hand on the bytes, and make the "
                                  "view where it is used";
  if (found == buffers.end())
    return user->emitOpError() << "uses an array that is neither an argument nor a temporary"
                               << (whole.getDefiningOp()
                                       ? llvm::formatv(", but comes from '{0}'", whole.getDefiningOp()->getName()).str()
                                       : std::string());
  return found->second;
}

/// Whether steps may make `alloc` a temporary, that is, one memory for all its executions: its size follows from the
/// arguments, and no later execution meets the array of an earlier one.
static bool outlivesNothing(memref::AllocOp alloc) {
  if (alloc->getParentOp() == alloc->getParentOfType<func::FuncOp>())
    return true;
  SmallVector<mlir::Value> views{alloc.getResult()};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return false;
      if (isa<ViewLikeOpInterface>(user))
        views.push_back(user->getResult(0));
    }
  return true;
}

LogicalResult LaunchManifest::allocate(memref::AllocOp op, Array &into) {
  FailureOr<Json> bytes = expressions.bytes(op, op.getResult());
  if (failed(bytes))
    return failure();
  int64_t buffer = buffers[op.getResult()] = numBuffers++;
  if (followsFromSizes(*bytes) && outlivesNothing(op))
    temporaries.push_back(Object{{"buffer", buffer}, {"bytes", std::move(*bytes)}});
  else
    into.push_back(Object{{"allocate", buffer}, {"bytes", std::move(*bytes)}});
  return success();
}

LogicalResult LaunchManifest::constant(memref::GetGlobalOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(op, op.getNameAttr());
  if (!global || global.isExternal())
    return op.emitOpError() << "of '" << op.getName()
                            << "', which has no value here; an array of another module is an argument";
  bool isState = !global.getConstant();
  auto [found, isNew] = constantOf.try_emplace(op.getName(), numBuffers);
  buffers[op.getResult()] = found->second;
  if (!isNew)
    return success();
  ++numBuffers;
  auto elements = dyn_cast_or_null<ElementsAttr>(global.getInitialValueAttr());
  Type type = global.getType().getElementType();
  int64_t size = elementBytes(type), count = global.getType().getNumElements();
  std::string data;
  if (!elements) {
    data.resize(size); // anything is right: zeros, as a loader gives them
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    ArrayRef<char> raw = resource.getData();
    if (int64_t(raw.size()) < size * count)
      return op.emitOpError() << "has a constant of " << size * count << " bytes whose resource has " << raw.size();
    data.assign(raw.begin(), raw.end());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    // Booleans are packed in the attribute, bytes in memory.
    if (type.isInteger(1))
      for (bool each : dense.getValues<bool>())
        data.push_back(char(each));
    else
      data.assign(dense.getRawData().begin(), dense.getRawData().end());
    if (dense.isSplat())
      data.resize(size);
  } else {
    return op.emitOpError() << "has a constant that is neither dense nor a resource";
  }
  Object constant{{"buffer", found->second}, {"bytes", size * count}, {"data", llvm::encodeBase64(data)}};
  if (isState)
    constant["written"] = true;
  if (isState && shared.contains(op.getName())) {
    constant["shared"] = op.getName();
    format = 4;
  }
  constants.push_back(std::move(constant));
  return success();
}

//===-- Steps -------------------------------------------------------------===//

LogicalResult LaunchManifest::declare(Operation *user, ValueRange values) {
  for (mlir::Value value : values) {
    if (isHostType(value.getType())) {
      expressions.declare(value);
      continue;
    }
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type || !type.getLayout().isIdentity())
      return user->emitOpError() << "carries a value of type " << value.getType()
                                 << "; the host carries integers and dense arrays";
    buffers[value] = numBuffers++;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        expressions.declare(value, d);
  }
  return success();
}

LogicalResult LaunchManifest::move(Operation *user, ValueRange from, ValueRange to, Array &into) {
  Array assigned, renamed;
  for (auto [source, target] : llvm::zip(from, to)) {
    if (isHostType(target.getType())) {
      FailureOr<Json> value = expressions.of(user, source);
      if (failed(value))
        return failure();
      assigned.push_back(Array{expressions.variable(target), std::move(*value)});
      continue;
    }
    FailureOr<int64_t> old = bufferOf(user, source), now = bufferOf(user, target);
    if (failed(old) || failed(now))
      return failure();
    renamed.push_back(Array{*now, *old});
    auto type = cast<MemRefType>(target.getType());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      FailureOr<Json> extent = expressions.extent(user, source, d), variable = expressions.extent(user, target, d);
      if (failed(extent) || failed(variable))
        return failure();
      assigned.push_back(Array{*variable->getAsObject()->getInteger("variable"), std::move(*extent)});
    }
  }
  if (!assigned.empty())
    into.push_back(Object{{"assign", std::move(assigned)}});
  if (!renamed.empty())
    into.push_back(Object{{"rename", std::move(renamed)}});
  return success();
}

LogicalResult LaunchManifest::read(memref::LoadOp op, Array &into) {
  FailureOr<int64_t> buffer = bufferOf(op, op.getMemRef());
  if (failed(buffer))
    return failure();
  Type type = op.getType();
  if (!type.isIntOrIndex() || elementBytes(type) > 8)
    return op.emitOpError() << "reads a " << type << " for the host, which computes with integers of up to 64 bits";
  Json offset = 0;
  for (auto [d, index] : llvm::enumerate(op.getIndices())) {
    FailureOr<Json> size = expressions.extent(op, op.getMemRef(), d), at = expressions.of(op, index);
    if (failed(size) || failed(at))
      return failure();
    offset = hostBinary("+", hostBinary("*", std::move(offset), *size), *at);
  }
  int64_t bytes = elementBytes(type);
  into.push_back(Object{{"read", expressions.declare(op.getResult())},
                        {"buffer", *buffer},
                        {"offset", std::move(offset)},
                        {"bytes", bytes}});
  return success();
}

LogicalResult LaunchManifest::launch(tile::ParallelOp grid, Array &into) {
  FailureOr<OutlinedLaunch> launch = (*outline)(grid);
  if (failed(launch))
    return failure();
  Array extents, passed;
  AffineMap bounds = grid.getUpperBounds();
  ValueRange operands = grid.getBoundOperands();
  for (unsigned i = bounds.getNumResults(); i-- > 0;) { // the last index is the fastest
    FailureOr<Json> extent = expressions.of(grid, bounds.getResult(i), operands.take_front(bounds.getNumDims()),
                                            operands.drop_front(bounds.getNumDims()));
    if (failed(extent))
      return failure();
    extents.push_back(*extent);
  }
  while (extents.size() < 3)
    extents.push_back(1);
  for (mlir::Value value : launch->arguments) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) {
      FailureOr<Json> number = expressions.of(grid, value);
      if (failed(number))
        return failure();
      passed.push_back(Object{{"value", *number}});
      continue;
    }
    FailureOr<int64_t> buffer = bufferOf(grid, value);
    if (failed(buffer))
      return failure();
    passed.push_back(Object{{"buffer", *buffer}});
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d)) {
        FailureOr<Json> size = expressions.extent(grid, value, d);
        if (failed(size))
          return failure();
        passed.push_back(Object{{"value", *size}});
      }
  }
  Object step{{"launch", launch->kernel},
              {"threads", launch->shape.threads},
              {"scratchpad", dynamicScratchpad ? launch->shape.sharedBytes : 0},
              {"grid", std::move(extents)},
              {"arguments", std::move(passed)}};
  if (auto seconds = grid->getAttrOfType<FloatAttr>(secondsAttr))
    step["predicted"] = Object{{"nanoseconds", std::llround(seconds.getValueAsDouble() * 1e9)}};
  into.push_back(std::move(step));
  return success();
}

LogicalResult LaunchManifest::branch(scf::IfOp op, Array &into) {
  FailureOr<Json> condition = expressions.of(op, op.getCondition());
  if (failed(condition) || failed(declare(op, op.getResults())))
    return failure();
  Array branches[2];
  for (auto [region, list] : llvm::zip(op->getRegions(), branches)) {
    if (region.empty())
      continue;
    if (failed(steps(region.front(), list)) ||
        failed(move(op, region.front().getTerminator()->getOperands(), op.getResults(), list)))
      return failure();
  }
  into.push_back(
      Object{{"if", std::move(*condition)}, {"then", std::move(branches[0])}, {"else", std::move(branches[1])}});
  return success();
}

/// One of two arrays.
LogicalResult LaunchManifest::select(arith::SelectOp op, Array &into) {
  if (!isa<MemRefType>(op.getType()))
    return success(); // a number: part of the expressions that use it
  FailureOr<Json> condition = expressions.of(op, op.getCondition());
  Array yes, no;
  if (failed(condition) || failed(declare(op, op.getResult())) ||
      failed(move(op, op.getTrueValue(), op.getResult(), yes)) ||
      failed(move(op, op.getFalseValue(), op.getResult(), no)))
    return failure();
  into.push_back(Object{{"if", std::move(*condition)}, {"then", std::move(yes)}, {"else", std::move(no)}});
  return success();
}

LogicalResult LaunchManifest::loop(scf::ForOp op, Array &into) {
  mlir::Value index = op.getInductionVar();
  if (failed(declare(op, index)) || failed(declare(op, op.getRegionIterArgs())) || failed(declare(op, op.getResults())))
    return failure();
  FailureOr<Json> upper = expressions.of(op, op.getUpperBound()), step = expressions.of(op, op.getStep()),
                  here = expressions.of(op, index);
  if (failed(upper) || failed(step) || failed(here) || failed(move(op, op.getLowerBound(), index, into)) ||
      failed(move(op, op.getInitArgs(), op.getRegionIterArgs(), into)))
    return failure();
  Array body;
  if (failed(steps(*op.getBody(), body)) ||
      failed(move(op, op.getBody()->getTerminator()->getOperands(), op.getRegionIterArgs(), body)))
    return failure();
  body.push_back(Object{{"assign", Array{Array{expressions.variable(index), hostBinary("+", *here, *step)}}}});
  into.push_back(Object{{"while", hostBinary("<", *here, *upper)}, {"before", Array()}, {"do", std::move(body)}});
  return move(op, op.getRegionIterArgs(), op.getResults(), into);
}

LogicalResult LaunchManifest::loop(scf::WhileOp op, Array &into) {
  if (failed(declare(op, op.getBeforeArguments())) || failed(declare(op, op.getAfterArguments())) ||
      failed(declare(op, op.getResults())) || failed(move(op, op.getInits(), op.getBeforeArguments(), into)))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  Array before, body;
  if (failed(steps(*op.getBeforeBody(), before)))
    return failure();
  FailureOr<Json> goesOn = expressions.of(condition, condition.getCondition());
  if (failed(goesOn) || failed(move(condition, condition.getArgs(), op.getAfterArguments(), before)) ||
      failed(steps(*op.getAfterBody(), body)) ||
      failed(move(op, op.getYieldOp()->getOperands(), op.getBeforeArguments(), body)))
    return failure();
  into.push_back(Object{{"while", std::move(*goesOn)}, {"before", std::move(before)}, {"do", std::move(body)}});
  return move(op, op.getAfterArguments(), op.getResults(), into);
}

/// A size that follows from data.
LogicalResult LaunchManifest::require(tile::RequireSizeOp op, Array &into) {
  FailureOr<Json> produced = expressions.of(op, op.getProduced()), given = expressions.of(op, op.getGiven());
  if (failed(produced) || failed(given))
    return failure();
  format = std::max<int64_t>(format, 3);
  bool isIndex = op->hasAttr(badIndexAttr);
  Object step{{"require", std::move(*produced)}};
  step[isIndex ? "extent" : "equals"] = std::move(*given);
  if (op.getOutput()) {
    int64_t inputs = llvm::count_if(signature.arguments, [](const SignatureArgument &each) { return !each.isResult; });
    step["argument"] = inputs + int64_t(*op.getOutput());
    step["dimension"] = int64_t(*op.getDimension());
  }
  if (isIndex) {
    step["equals"] = 0;
    step["index"] = 1;
  }
  if (auto message = op->getAttrOfType<StringAttr>(messageAttr))
    step["message"] = message.getValue();
  into.push_back(std::move(step));
  return success();
}

LogicalResult LaunchManifest::step(Operation &op, Array &into) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](tile::ParallelOp grid) -> LogicalResult {
        if (grid.getLevel() == gridLevel)
          return launch(grid, into);
        return grid.emitOpError() << "of level \"" << grid.getLevel() << "\" stands outside of a grid";
      })
      .Case([&](memref::AllocOp each) { return allocate(each, into); })
      .Case([&](memref::GetGlobalOp each) { return constant(each); })
      .Case([&](memref::LoadOp each) { return read(each, into); })
      .Case([&](scf::IfOp each) { return branch(each, into); })
      .Case([&](arith::SelectOp each) { return select(each, into); })
      .Case([&](tile::RequireSizeOp each) { return require(each, into); })
      .Case<scf::ForOp, scf::WhileOp>([&](auto each) { return loop(each, into); })
      .Default([&](Operation *each) -> LogicalResult {
        if (isa<memref::DeallocOp>(each) || (isMemoryEffectFree(each) && each->getNumRegions() == 0))
          return success();
        return each->emitOpError()
               << "stands between launches; the host of a program for "
               << cast<StringAttr>(function->getParentOfType<ModuleOp>()->getAttr(targetAttr)).getValue()
               << " only launches, branches and loops";
      });
}

LogicalResult LaunchManifest::steps(Block &block, Array &into) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (failed(step(op, into)))
      return failure();
  return success();
}

//===-- The whole ---------------------------------------------------------===//

LogicalResult LaunchManifest::write(Outline toFunction) {
  outline = &toFunction;
  numBuffers = signature.arguments.size();
  Array list;
  if (failed(steps(function.front(), list)))
    return failure();
  for (const SignatureArgument &argument : signature.arguments)
    if (argument.isScalar)
      return function.emitOpError() << "has a scalar argument or result; lanes take arrays only";
  auto target = function->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(targetAttr);
  Object manifest = signatureManifest(signature, target ? target.getValue() : "");
  manifest["format"] = format;
  manifest["variables"] = expressions.numVariables();
  manifest["buffers"] = numBuffers;
  manifest["constants"] = std::move(constants);
  manifest["temporaries"] = std::move(temporaries);
  manifest["steps"] = std::move(list);
  function->setAttr(manifestAttr,
                    StringAttr::get(function.getContext(), llvm::formatv("{0}", Json(std::move(manifest))).str()));
  return success();
}

void tilewright::takeManifests(ModuleOp module) {
  SmallVector<Attribute> manifests;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (Attribute manifest = function->getAttr(manifestAttr)) {
      manifests.push_back(manifest);
      function.erase();
    }
  if (!manifests.empty())
    module->setAttr(manifestsAttr, ArrayAttr::get(module.getContext(), manifests));
}
