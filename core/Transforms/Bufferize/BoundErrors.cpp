//===- BoundErrors.cpp - Compute in float64, with a bound of each error ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reference of `tw-run --verify`: scalars are f64, so are the elements of arrays that may differ from the exact
/// ones, and beside each of these values goes what a computed one may differ by (ErrorRules.h).
///
///   %x = affine.load %A[%i] : memref<?xf32>     %x = affine.load %A[%i] : memref<?xf32>; %X = arith.extf %x
///   %y = math.exp %x : f32                      %Y = math.exp %X : f64; %e = (4 + |%X|) u |%Y|, ..
///   affine.store %y, %B[%i] : memref<?xf32>     affine.store %Y, %B[%i] : memref<?xf64>
///                                               affine.store %e, %Bbound[%i] : memref<?xf64>, ..
///
/// A public function gets an array of bounds for each array of this kind, after its other arguments, and a bound
/// after each of its scalar results; `tilewright.bounds` says whose they are.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Signature.h"
#include "core/Transforms/Bufferize/ErrorWriter.h"
#include "core/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace tilewright {
#define GEN_PASS_DEF_BOUNDERRORS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

struct BoundErrors : tilewright::impl::BoundErrorsBase<BoundErrors> {
  using BoundErrorsBase::BoundErrorsBase;
  void runOnOperation() override;
};

/// Copies of arrays become loads and stores.
void expandCopies(ModuleOp module) {
  module.walk([](memref::CopyOp copy) {
    OpBuilder builder(copy);
    Location loc = copy.getLoc();
    forAllElements(builder, loc, extentsOf(builder, loc, copy.getSource()), [&](ValueRange point) {
      Value value = affine::AffineLoadOp::create(builder, loc, copy.getSource(), point);
      affine::AffineStoreOp::create(builder, loc, value, copy.getTarget(), point);
    });
    copy.erase();
  });
}

} // namespace

/// Arguments of functions get their types and companions.
void ErrorWriter::prepare(func::FuncOp function) {
  Block &entry = function.front();
  SmallVector<Value> arguments(entry.getArguments());
  Location loc = function.getLoc();
  builder.setInsertionPointToStart(&entry);
  SmallVector<int32_t> bounds;
  for (Value argument : arguments) {
    bounds.push_back(-1);
    widenInPlace(argument);
    auto array = dyn_cast<MemRefType>(argument.getType());
    unsigned count = finishedCompanions(argument);
    if (!count)
      continue;
    SmallVector<Value> added;
    if (!function.isPublic() || !array) {
      for (unsigned i = 0; i < count; ++i)
        added.push_back(entry.addArgument(companionType(argument.getType()), loc));
      twins[argument] = twinOf(added);
      continue;
    }
    bounds.back() = entry.getNumArguments();
    entry.addArgument(companionType(array), loc);
    SmallVector<Value> extents = extentsOf(builder, loc, argument), dynamic;
    for (auto [dim, extent] : llvm::enumerate(extents))
      if (array.isDynamicDim(dim))
        dynamic.push_back(extent);
    for (unsigned i = 0; i < count; ++i)
      added.push_back(
          memref::AllocOp::create(builder, loc, cast<MemRefType>(companionType(array)), ValueRange(dynamic)));
    forAllElements(builder, loc, extents, [&](ValueRange point) {
      Value zero = rules.number(0);
      for (auto [index, companion] : llvm::enumerate(added)) {
        Value start = zero;
        if (index == 2)
          start = rules.magnitudeOf(affine::AffineLoadOp::create(builder, loc, argument, point));
        affine::AffineStoreOp::create(builder, loc, start, companion, point);
      }
    });
    twins[argument] = twinOf(added);
  }
  boundsOf[function] = bounds;
}

/// The end of a function: bounds of a public one are written, results get theirs, and the type follows.
LogicalResult ErrorWriter::finish(func::FuncOp function) {
  Block &entry = function.front();
  Operation *end = entry.getTerminator();
  builder.setInsertionPoint(end);
  Location loc = end->getLoc();
  ArrayRef<int32_t> bounds = boundsOf[function];
  for (auto [index, bound] : llvm::enumerate(bounds)) {
    if (bound < 0)
      continue;
    Value array = entry.getArgument(index), target = entry.getArgument(bound);
    SmallVector<Value> companions = valuesOf(twins.lookup(array));
    forAllElements(builder, loc, extentsOf(builder, loc, array), [&](ValueRange point) {
      Value value = affine::AffineLoadOp::create(builder, loc, array, point);
      SmallVector<Value> parts;
      for (Value companion : companions)
        parts.push_back(affine::AffineLoadOp::create(builder, loc, companion, point));
      affine::AffineStoreOp::create(builder, loc, rules.error(rules.finished(value, twinOf(parts), typeOf(array))),
                                    target, point);
    });
    for (Value companion : companions)
      memref::DeallocOp::create(builder, loc, companion);
  }
  SmallVector<Value> results(end->getOperands()), all;
  if (function.isPublic()) {
    for (Value result : results) {
      all.push_back(result);
      all.push_back(rules.error(finished(result)));
    }
  } else {
    llvm::append_range(all, results);
    for (Value result : results)
      llvm::append_range(all, handed(result, carries(result) ? 2 : 0));
  }
  end->setOperands(all);
  function.setFunctionType(
      builder.getFunctionType(entry.getArgumentTypes(), ValueRange(end->getOperands()).getTypes()));
  // Companions come behind the arguments and have no attributes; results mix with theirs.
  if (ArrayAttr given = function.getArgAttrsAttr()) {
    SmallVector<Attribute> attributes(given.begin(), given.end());
    attributes.resize(entry.getNumArguments(), builder.getDictionaryAttr({}));
    function.setArgAttrsAttr(builder.getArrayAttr(attributes));
  }
  function.removeResAttrsAttr();
  if (function.isPublic())
    nameShapes(function, bounds);
  return success();
}

/// Shapes of all arguments and results in the order that they have now.
void ErrorWriter::nameShapes(func::FuncOp function, ArrayRef<int32_t> bounds) {
  function->setAttr(boundsAttr, builder.getDenseI32ArrayAttr(bounds));
  auto arrays = function->getAttrOfType<DenseBoolArrayAttr>(arrayResultsAttr);
  auto shapes = function->getAttrOfType<ArrayAttr>(shapesAttr);
  if (!shapes)
    return;
  SmallVector<Attribute> named(bounds.size()), scalars;
  unsigned numArrays = arrays ? llvm::count(arrays.asArrayRef(), true) : 0;
  unsigned numInputs = bounds.size() - numArrays, next = numInputs;
  for (unsigned i = 0; i < numInputs; ++i)
    named[i] = shapes[i];
  for (unsigned i = numInputs; i < shapes.size(); ++i) {
    if (arrays && arrays[i - numInputs])
      named[next++] = shapes[i];
    else
      scalars.append(2, shapes[i]);
  }
  for (auto [index, bound] : llvm::enumerate(bounds))
    if (bound >= 0)
      named.push_back(named[index]);
  llvm::append_range(named, scalars);
  function->setAttr(shapesAttr, builder.getArrayAttr(named));
  function->removeAttr(arrayResultsAttr);
}

LogicalResult ErrorWriter::run() {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
  for (func::FuncOp function : functions) {
    if (!function.getBody().hasOneBlock())
      return function.emitError("has branches between blocks, whose errors cannot be bounded");
    prepare(function);
  }
  for (func::FuncOp function : functions)
    if (failed(visitBlock(function.front())) || failed(finish(function)))
      return failure();
  if (!unsure)
    return success();
  // What is not sure anywhere makes all bounds infinite.
  for (func::FuncOp function : functions) {
    if (!function.isPublic())
      continue;
    builder.setInsertionPointToStart(&function.front());
    Location loc = function.getLoc();
    Value flag = memref::GetGlobalOp::create(builder, loc, unsure.getType(), unsure.getSymName());
    memref::StoreOp::create(builder, loc, rules.number(0), flag, ValueRange());
    builder.setInsertionPoint(function.front().getTerminator());
    Value known = memref::LoadOp::create(builder, loc, flag, ValueRange());
    for (int32_t bound : boundsOf[function]) {
      if (bound < 0)
        continue;
      Value array = function.getArgument(bound);
      forAllElements(builder, loc, extentsOf(builder, loc, array), [&](ValueRange point) {
        Value value = affine::AffineLoadOp::create(builder, loc, array, point);
        value = arith::AddFOp::create(builder, loc, value, known);
        affine::AffineStoreOp::create(builder, loc, value, array, point);
      });
    }
  }
  return success();
}

void BoundErrors::runOnOperation() {
  expandCopies(getOperation());
  if (failed(ErrorWriter(getOperation(), operandSpacing).run()))
    signalPassFailure();
}
