//===- Signature.cpp - What a caller passes to a program ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the signature of a public function from its memref arguments and its
/// shape attributes.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Analysis/FoldedConstants.h"
#include "core/Analysis/Settings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilewright;

SmallVector<func::FuncOp> tilewright::publicFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> result;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() && !function->hasAttr(foldsAttr))
      result.push_back(function);
  return result;
}

/// Whether `memref` may be written, followed through views; what cannot be followed counts as a write.
static bool isWritten(Value memref, SmallPtrSetImpl<Value> &visited) {
  if (!visited.insert(memref).second)
    return false;
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface, arith::SelectOp>(user)) {
      if (isWritten(user->getResult(0), visited))
        return true;
      continue;
    }
    if (isa<memref::PrefetchOp>(user)) // has the effect of a write, so that nothing moves it
      continue;
    if (auto call = dyn_cast<func::CallOp>(user)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(user, call.getCalleeAttr());
      if (!callee || callee.isExternal() || isWritten(callee.getArgument(use.getOperandNumber()), visited))
        return true;
      continue;
    }
    bool passesOn =
        user->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>);
    auto effects = dyn_cast<MemoryEffectOpInterface>(user);
    if (passesOn || (!effects && !isMemoryEffectFree(user)))
      return true;
    if (!effects)
      continue;
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffectsOnValue(memref, instances);
    if (llvm::any_of(instances, [](const MemoryEffects::EffectInstance &effect) {
          return !isa<MemoryEffects::Read>(effect.getEffect());
        }))
      return true;
  }
  return false;
}

/// Adds the argument or result of `type` at `position`.
static LogicalResult addArgument(func::FuncOp function, Type type, unsigned position, Signature &signature) {
  SignatureArgument argument;
  argument.position = position;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.getLayout().isIdentity())
      return function.emitError("argument ")
             << position << " has type " << type << "; arrays of the C interface are dense and row-major";
    argument.elementType = memref.getElementType();
  } else {
    argument.elementType = type;
    argument.isScalar = true;
  }
  if (!argument.elementType.isIntOrIndexOrFloat())
    return function.emitError("argument ")
           << position << " has type " << type << "; the C interface passes arrays and scalars of integers and floats";
  signature.arguments.push_back(argument);
  return success();
}

/// Adds the first `count` arguments. `isPure`: those of a program on tensors, which are never written; arguments of one
/// on memrefs may be.
static LogicalResult addInputs(func::FuncOp function, unsigned count, bool isPure, Signature &signature) {
  auto written = function->getAttrOfType<DenseBoolArrayAttr>(writtenAttr);
  for (unsigned i = 0; i < count; ++i) {
    if (failed(addArgument(function, function.getArgumentTypes()[i], i, signature)))
      return failure();
    SmallPtrSet<Value, 8> visited;
    SignatureArgument &argument = signature.arguments.back();
    argument.isBound = function.getArgAttr(i, boundAttr) != nullptr;
    argument.isWritten =
        !isPure && !argument.isScalar && !function.isExternal() && isWritten(function.getArgument(i), visited);
    if (written && i < unsigned(written.size()))
      argument.isWritten = written[i];
  }
  return success();
}

/// Adds the results: arrays are arguments from `nextArray` on, scalars are results of the function.
static LogicalResult addResults(func::FuncOp function, ArrayRef<bool> resultIsArray, unsigned nextArray,
                                Signature &signature) {
  unsigned nextScalar = 0;
  for (bool isArray : resultIsArray) {
    unsigned position = isArray ? nextArray++ : nextScalar++;
    if (!isArray && position >= function.getNumResults())
      return function.emitError("has fewer results than it had as a tensor program");
    Type type = isArray ? function.getArgumentTypes()[position] : function.getResultTypes()[position];
    if (failed(addArgument(function, type, position, signature)))
      return failure();
    signature.arguments.back().isResult = signature.arguments.back().isWritten = true;
  }
  return success();
}

static ArrayRef<int64_t> shapeOf(func::FuncOp function, const SignatureArgument &argument) {
  if (argument.isScalar)
    return {};
  return cast<MemRefType>(function.getArgumentTypes()[argument.position]).getShape();
}

/// Reads the names of sizes that name-sizes gave; false if there are none for these arguments.
static bool readSizes(func::FuncOp function, Signature &signature) {
  auto shapes = function->getAttrOfType<ArrayAttr>(shapesAttr);
  if (!shapes || shapes.size() != signature.arguments.size())
    return false;
  for (auto [shape, argument] : llvm::zip_equal(shapes, signature.arguments)) {
    auto map = dyn_cast<AffineMapAttr>(shape);
    if (!map || map.getValue().getNumResults() != shapeOf(function, argument).size())
      return false;
  }
  for (auto [shape, argument] : llvm::zip_equal(shapes, signature.arguments)) {
    argument.shape = cast<AffineMapAttr>(shape).getValue();
    signature.numSizes = argument.shape.getNumSymbols();
  }
  if (auto constraints = function->getAttrOfType<IntegerSetAttr>(constraintsAttr))
    signature.constraints = constraints.getValue();
  return true;
}

/// Nobody said which sizes are equal: each dynamic one is its own.
static void nameEachSize(func::FuncOp function, Signature &signature) {
  MLIRContext *context = function.getContext();
  for (SignatureArgument &argument : signature.arguments)
    signature.numSizes += llvm::count(shapeOf(function, argument), ShapedType::kDynamic);
  unsigned next = 0;
  for (SignatureArgument &argument : signature.arguments) {
    SmallVector<AffineExpr> dims;
    for (int64_t dim : shapeOf(function, argument))
      dims.push_back(ShapedType::isDynamic(dim) ? getAffineSymbolExpr(next++, context)
                                                : getAffineConstantExpr(dim, context));
    argument.shape = AffineMap::get(0, signature.numSizes, dims, context);
  }
}

FailureOr<Signature> Signature::of(func::FuncOp function) {
  Signature signature;
  signature.name = function.getName().str();
  unsigned numArguments = function.getNumArguments();
  if (function->hasAttr(workspaceAttr))
    --numArguments;
  SmallVector<bool> resultIsArray(function.getNumResults(), false);
  unsigned numArrayResults = 0;
  if (auto arrayResults = function->getAttrOfType<DenseBoolArrayAttr>(arrayResultsAttr)) {
    resultIsArray.assign(arrayResults.asArrayRef().begin(), arrayResults.asArrayRef().end());
    numArrayResults = llvm::count(resultIsArray, true);
  }
  if (numArrayResults > numArguments)
    return function.emitError("has fewer arguments than array results");
  if (auto binds = function->getAttrOfType<DictionaryAttr>(bindsAttr)) {
    signature.binds = cast<StringAttr>(binds.get("function")).str();
    llvm::append_range(signature.bindInputs, cast<DenseI64ArrayAttr>(binds.get("inputs")).asArrayRef());
    llvm::append_range(signature.bindReleases, cast<DenseI64ArrayAttr>(binds.get("releases")).asArrayRef());
  }
  const unsigned numInputs = numArguments - numArrayResults;
  if (failed(addInputs(function, numInputs, /*isPure=*/numArrayResults != 0, signature)) ||
      failed(addResults(function, resultIsArray, numInputs, signature)))
    return failure();
  if (auto maps = function->getAttrOfType<ArrayAttr>(roundingsAttr))
    for (Attribute map : maps)
      signature.roundings.push_back(cast<AffineMapAttr>(map).getValue());
  signature.isCounted = function->hasAttr(roundingsAttr);
  if (!readSizes(function, signature))
    nameEachSize(function, signature);
  return signature;
}

bool Signature::followsFromData(unsigned size) const {
  llvm::SmallBitVector known(numSizes);
  for (const SignatureArgument &argument : arguments)
    if (!argument.isResult)
      for (AffineExpr extent : argument.shape.getResults())
        if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
          known.set(symbol.getPosition());
  IntegerSet set = constraints;
  unsigned numConstraints = set ? set.getNumConstraints() : 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned i = 0; i < numConstraints; ++i) {
      if (!set.isEq(i))
        continue;
      int unknown = -1, count = 0;
      for (unsigned s = 0; s < numSizes; ++s)
        if (!known[s] && set.getConstraint(i).isFunctionOfSymbol(s)) {
          unknown = int(s);
          ++count;
        }
      if (count == 1) {
        known.set(unknown);
        progress = true;
      }
    }
  }
  return !known[size];
}

double Signature::roundingsAt(ArrayRef<int64_t> sizes) const {
  int64_t longest = 1;
  for (const SignatureArgument &argument : arguments)
    for (int64_t extent : argument.isBound ? std::vector<int64_t>() : evaluate(argument.shape, sizes))
      longest = std::max(longest, extent);
  if (!isCounted)
    return static_cast<double>(longest);
  double sum = 0;
  for (AffineMap map : roundings) {
    double product = 1;
    for (int64_t factor : evaluate(map, sizes))
      product *= static_cast<double>(factor == unknownExtent ? longest : std::max<int64_t>(factor, 0));
    sum += product;
  }
  return sum;
}

std::vector<int64_t> Signature::evaluate(AffineMap shape, ArrayRef<int64_t> sizes) {
  SmallVector<Attribute> constants;
  Builder builder(shape.getContext());
  for (int64_t size : sizes)
    constants.push_back(builder.getIndexAttr(size));
  SmallVector<Attribute> results;
  std::vector<int64_t> dims;
  if (failed(shape.constantFold(constants, results)))
    return dims;
  for (Attribute result : results)
    dims.push_back(cast<IntegerAttr>(result).getInt());
  return dims;
}
