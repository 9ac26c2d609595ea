//===- LaunchManifest.cpp - What the host does for its launches -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Index values as expressions over the sizes of the signature.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/LaunchManifest.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using Json = llvm::json::Value;

static llvm::json::Value binary(llvm::StringRef op, llvm::json::Value a, llvm::json::Value b) {
  return llvm::json::Array{op, std::move(a), std::move(b)};
}

const SignatureArgument *LaunchManifest::argumentOf(mlir::Value array, unsigned &index) {
  auto argument = dyn_cast<BlockArgument>(array);
  if (!argument || argument.getOwner() != &function.front())
    return nullptr;
  for (auto [i, each] : llvm::enumerate(signature.arguments))
    if (each.position == argument.getArgNumber()) {
      index = i;
      return &each;
    }
  return nullptr;
}

FailureOr<Json> LaunchManifest::dimension(Operation *user, mlir::Value array, int64_t d) {
  auto type = cast<MemRefType>(array.getType());
  if (!type.isDynamicDim(d))
    return Json(type.getDimSize(d));
  unsigned index;
  if (const SignatureArgument *argument = argumentOf(array, index)) {
    AffineMap shape = argument->shape;
    SmallVector<mlir::Value> none;
    return expression(user, shape.getResult(d), none, none);
  }
  if (auto alloc = array.getDefiningOp<memref::AllocOp>())
    return expression(user, alloc.getDynamicSizes()[type.getDynamicDimIndex(d)]);
  return user->emitOpError() << "needs the size of an array that is neither an argument nor a temporary";
}

FailureOr<Json> LaunchManifest::expression(Operation *user, AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return Json(number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return expression(user, dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    if (symbols.empty()) // of the signature
      return Json(llvm::json::Object{{"size", int64_t(symbol.getPosition())}});
    return expression(user, symbols[symbol.getPosition()]);
  }
  auto both = cast<AffineBinaryOpExpr>(expr);
  auto left = expression(user, both.getLHS(), dims, symbols), right = expression(user, both.getRHS(), dims, symbols);
  if (failed(left) || failed(right))
    return failure();
  const char *names[] = {"+", "*", "mod", "floordiv", "ceildiv"};
  return binary(names[int(both.getKind())], *left, *right);
}

FailureOr<Json> LaunchManifest::expression(Operation *user, mlir::Value value) {
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return Json(number.getInt());
  Operation *def = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(def); dim && dim.getConstantIndex())
    return dimension(user, dim.getSource(), *dim.getConstantIndex());
  if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(def)) {
    AffineMap map = apply.getAffineMap();
    SmallVector<mlir::Value> operands(apply.getMapOperands()), symbols;
    // All as dimensions, so that no list of symbols is empty by chance.
    SmallVector<AffineExpr> places;
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      places.push_back(getAffineDimExpr(map.getNumDims() + i, map.getContext()));
    return expression(user, map.getResult(0).replaceSymbols(places), operands, symbols);
  }
  static const std::pair<llvm::StringRef, llvm::StringRef> operations[] = {{"arith.addi", "+"},
                                                                           {"arith.subi", "-"},
                                                                           {"arith.muli", "*"},
                                                                           {"arith.divui", "floordiv"},
                                                                           {"arith.divsi", "floordiv"},
                                                                           {"arith.floordivsi", "floordiv"},
                                                                           {"arith.ceildivsi", "ceildiv"},
                                                                           {"arith.ceildivui", "ceildiv"},
                                                                           {"arith.remui", "mod"},
                                                                           {"arith.remsi", "mod"},
                                                                           {"arith.maxsi", "max"},
                                                                           {"arith.minsi", "min"}};
  if (def)
    for (auto [op, name] : operations)
      if (def->getName().getStringRef() == op) {
        auto left = expression(user, def->getOperand(0)), right = expression(user, def->getOperand(1));
        if (failed(left) || failed(right))
          return failure();
        return binary(name, *left, *right);
      }
  InFlightDiagnostic diagnostic = user->emitOpError()
                                  << "needs a size that does not follow from the sizes of the arguments";
  if (def)
    diagnostic << " but from '" << def->getName() << "'";
  return diagnostic;
}

LogicalResult LaunchManifest::host(Operation *op) {
  if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
    auto type = cast<MemRefType>(alloc.getType());
    llvm::json::Value total = elementBytes(type.getElementType());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      FailureOr<Json> extent = dimension(op, alloc.getResult(), d);
      if (failed(extent))
        return failure();
      total = binary("*", std::move(total), *extent);
    }
    temporaries.push_back(alloc.getResult());
    bytes.push_back(llvm::json::Object{{"bytes", std::move(total)}});
    return success();
  }
  if (isa<memref::DeallocOp>(op) ||
      (isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<memref::GetGlobalOp>(op)))
    return success();
  return op->emitOpError()
         << "stands between launches; a program for "
         << cast<StringAttr>(function->getParentOfType<ModuleOp>()->getAttr("tilewright.target")).getValue()
         << " is a straight sequence of launches over arguments and temporaries";
}

LogicalResult LaunchManifest::launch(tile::ParallelOp grid, StringRef kernel, const LaunchShape &shape,
                                     ValueRange arguments) {
  llvm::json::Array extents, passed;
  AffineMap bounds = grid.getUpperBounds();
  SmallVector<mlir::Value> operands(grid.getBoundOperands()), none;
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < bounds.getNumSymbols(); ++i)
    places.push_back(getAffineDimExpr(bounds.getNumDims() + i, grid.getContext()));
  for (unsigned i = bounds.getNumResults(); i-- > 0;) { // the last index is the fastest
    FailureOr<Json> extent = expression(grid, bounds.getResult(i).replaceSymbols(places), operands, none);
    if (failed(extent))
      return failure();
    extents.push_back(*extent);
  }
  while (extents.size() < 3)
    extents.push_back(1);
  for (mlir::Value value : arguments) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type) {
      FailureOr<Json> size = expression(grid, value);
      if (failed(size))
        return failure();
      passed.push_back(llvm::json::Object{{"value", *size}});
      continue;
    }
    unsigned index;
    if (argumentOf(value, index)) {
      passed.push_back(llvm::json::Object{{"array", int64_t(index)}});
    } else {
      auto found = llvm::find(temporaries, value);
      if (found == temporaries.end())
        return grid.emitOpError()
               << "uses an array that is neither an argument nor a temporary"
               << (value.getDefiningOp()
                       ? llvm::formatv(", but comes from '{0}'", value.getDefiningOp()->getName()).str()
                       : std::string());
      passed.push_back(llvm::json::Object{{"temporary", int64_t(found - temporaries.begin())}});
    }
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d)) {
        FailureOr<Json> size = dimension(grid, value, d);
        if (failed(size))
          return failure();
        passed.push_back(llvm::json::Object{{"value", *size}});
      }
  }
  launches.push_back(llvm::json::Object{{"kernel", kernel.str()},
                                        {"threads", shape.threads},
                                        {"scratchpad", dynamicScratchpad ? shape.sharedBytes : 0},
                                        {"grid", std::move(extents)},
                                        {"arguments", std::move(passed)}});
  return success();
}

LogicalResult LaunchManifest::finish() {
  llvm::json::Array arguments;
  for (const SignatureArgument &argument : signature.arguments) {
    if (argument.isScalar)
      return function.emitOpError() << "has a scalar argument or result; lanes take arrays only";
    std::string type;
    llvm::raw_string_ostream(type) << argument.elementType;
    llvm::json::Array shape;
    for (AffineExpr extent : argument.shape.getResults()) {
      FailureOr<Json> value = expression(function, extent, {}, {});
      if (failed(value))
        return failure();
      shape.push_back(*value);
    }
    arguments.push_back(llvm::json::Object{{"type", type},
                                           {"bytes", elementBytes(argument.elementType)},
                                           {"shape", std::move(shape)},
                                           {"written", argument.isWritten}});
  }
  auto target = function->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>("tilewright.target");
  llvm::json::Value manifest = llvm::json::Object{{"format", 1},
                                                  {"entry", function.getName().str()},
                                                  {"target", target ? target.getValue().str() : ""},
                                                  {"sizes", int64_t(signature.numSizes)},
                                                  {"arguments", std::move(arguments)},
                                                  {"temporaries", std::move(bytes)},
                                                  {"launches", std::move(launches)}};
  function->setAttr(manifestAttr,
                    StringAttr::get(function.getContext(), llvm::formatv("{0}", std::move(manifest)).str()));
  return success();
}
