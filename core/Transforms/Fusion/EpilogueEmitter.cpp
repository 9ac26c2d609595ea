//===- EpilogueEmitter.cpp - Element-wise steps on fragments --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All steps that follow a contraction become one tile.map a fragment: what one
// step writes for the next stays a scalar of the region.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Buffers.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/Contraction/ContractionEmitter.h"
#include "core/Transforms/Utils/NestBody.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

int64_t constantsOfEpilogue(const ContractionTask &task) {
  llvm::SmallPtrSet<Value, 8> constants;
  int64_t functions = 0;
  for (const EpilogueStep &step : task.epilogue)
    for (Operation &op : step.nest.body->without_terminator()) {
      for (Value operand : op.getOperands())
        if (isa<FloatType, IntegerType>(operand.getType()) && operand.getParentBlock() != step.nest.body)
          constants.insert(operand);
      bool isFunction = isa_and_nonnull<math::MathDialect>(op.getDialect()) &&
                        !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::SqrtOp, math::CopySignOp>(op);
      functions += isFunction ? 1 : 0;
    }
  return static_cast<int64_t>(constants.size()) + functions * constantsOfFunction;
}

Access onContraction(const Access &access, const EpilogueStep &step, const Contraction &contraction) {
  Access result = access;
  SmallVector<AffineExpr> dims;
  for (unsigned dim : step.toContraction)
    dims.push_back(getAffineDimExpr(dim, access.map.getContext()));
  result.map = access.map.replaceDimsAndSymbols(dims, {}, contraction.nest.depth(), access.symbols.size());
  return result;
}

EpilogueAccesses epilogueAccesses(const ContractionTask &task) {
  EpilogueAccesses accesses;
  SmallVector<Value> written{task.contraction.c.memref};
  for (const EpilogueStep &step : task.epilogue) {
    for (const Access &load : step.nest.loads)
      if (!llvm::is_contained(written, load.memref))
        accesses.loads.push_back(onContraction(load, step, task.contraction));
    for (auto [store, keep] : llvm::zip(step.nest.stores, step.keepStore)) {
      written.push_back(store.memref);
      if (keep)
        accesses.stores.push_back(onContraction(store, step, task.contraction));
    }
  }
  return accesses;
}

SmallVector<Access> resultsOf(const ContractionTask &task) {
  SmallVector<Access> results = epilogueAccesses(task).stores;
  if (task.keepC)
    results.insert(results.begin(), task.contraction.c);
  return results;
}

Value findPlaceOfSums(const ContractionTask &task) {
  const Contraction &c = task.contraction;
  if (task.keepC)
    return {};
  BufferOrigins origins(c.nest.root()->getParentOfType<func::FuncOp>());
  auto mayHold = [&](const EpilogueStep &step, const Access &store) {
    Access place = onContraction(store, step, c);
    if (place.map != c.c.map || place.symbols != c.c.symbols ||
        cast<AffineStoreOp>(store.op).getValueToStore().getType() != c.accumulator ||
        elementOf(c.c.memref) != c.accumulator)
      return false;
    auto isElsewhere = [&](const Access &load) {
      return load.memref == c.c.memref || !origins.mayAlias(load.memref, store.memref);
    };
    return llvm::all_of(c.nest.loads, isElsewhere) && llvm::all_of(task.epilogue, [&](const EpilogueStep &other) {
             return llvm::all_of(other.nest.loads, isElsewhere);
           });
  };
  for (const EpilogueStep &step : task.epilogue)
    for (auto [store, keep] : llvm::zip(step.nest.stores, step.keepStore))
      if (keep && mayHold(step, store))
        return store.memref;
  return {};
}

SmallVector<Value> cloneEpilogue(OpBuilder &builder, const ContractionTask &task, Value sum,
                                 function_ref<Value(const Access &)> load) {
  llvm::DenseMap<Value, Value> memory; // memref -> scalar that is stored there
  memory[task.contraction.c.memref] = sum;
  SmallVector<Value> kept;
  for (const EpilogueStep &step : task.epilogue) {
    IRMapping mapping;
    for (const Access &access : step.nest.loads) {
      Value value = memory.lookup(access.memref);
      mapping.map(access.op->getResult(0), value ? value : load(onContraction(access, step, task.contraction)));
    }
    cloneBody(builder, step.nest, mapping);
    for (auto [access, keep] : llvm::zip(step.nest.stores, step.keepStore)) {
      Value value = mapping.lookupOrDefault(cast<AffineStoreOp>(access.op).getValueToStore());
      memory[access.memref] = value;
      if (keep)
        kept.push_back(value);
    }
  }
  return kept;
}

void emitEpilogue(OpBuilder &builder, Location loc, const ContractionTask &task, Value accumulator,
                  function_ref<tile::FragmentType(Type)> fragmentOf,
                  function_ref<Value(const Access &, tile::FragmentType)> load,
                  function_ref<void(Value, const Access &)> store) {
  const Contraction &c = task.contraction;
  SmallVector<Value> inputs{accumulator};
  SmallVector<Value> written{c.c.memref};
  for (const EpilogueStep &step : task.epilogue) {
    for (const Access &access : step.nest.loads)
      if (!llvm::is_contained(written, access.memref))
        inputs.push_back(load(onContraction(access, step, c), fragmentOf(access.op->getResult(0).getType())));
    for (const Access &access : step.nest.stores)
      written.push_back(access.memref);
  }

  SmallVector<Type> resultTypes;
  SmallVector<std::pair<const EpilogueStep *, const Access *>> stores;
  for (const EpilogueStep &step : task.epilogue)
    for (auto [access, keep] : llvm::zip(step.nest.stores, step.keepStore))
      if (keep) {
        stores.push_back({&step, &access});
        resultTypes.push_back(fragmentOf(cast<AffineStoreOp>(access.op).getValueToStore().getType()));
      }
  auto map =
      tile::MapOp::create(builder, loc, resultTypes, inputs, [&](OpBuilder &inside, Location loc, ValueRange elements) {
        unsigned loaded = 1;
        tile::YieldOp::create(inside, loc, cloneEpilogue(inside, task, elements.front(), [&](const Access &) -> Value {
                                return elements[loaded++];
                              }));
      });
  for (auto [result, target] : llvm::zip(map.getResults(), stores))
    store(result, onContraction(*target.second, *target.first, c));
}

void emitEpilogue(IterationSpace &space, const ContractionTask &task, Value accumulator,
                  function_ref<tile::FragmentType(Type)> fragmentOf, const TileAxes &axes) {
  emitEpilogue(
      space.builder, space.loc, task, accumulator, fragmentOf,
      [&](const Access &access, tile::FragmentType type) { return loadTile(space, access, type, axes); },
      [&](Value value, const Access &access) { storeTile(space, value, access, axes); });
}

} // namespace tilewright
