//===- UseVectorOpsInLoops.cpp - Vector units in scalar code ------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Distributes an innermost loop around the chain that an instruction of the
/// vector unit computes: operands of as many steps as it has lanes are gathered
/// in arrays, the instruction is called, the rest of the steps follows.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/ExternalCall.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "core/Transforms/Lower/Engines/Requantisation.h"
#include "core/Transforms/Lower/LLVM/Descriptor.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright {
#define GEN_PASS_DEF_USEVECTOROPSINLOOPS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
/// A chain in a loop, with the arrays of its operands.
class LoopDistribution {
public:
  LoopDistribution(scf::ForOp loop, arith::FPToSIOp end, const Requantisation &chain, const VectorOp &record)
      : loop(loop), end(end), chain(chain), record(record), loc(end.getLoc()) {}

  bool isLegal();
  /// Replaces the loop; returns what still executes the chain step by step: null if no step is left over.
  scf::ForOp distribute();

private:
  bool collect(Value value);
  bool isInside(Value value) { return loop.getBodyRegion().isAncestor(value.getParentRegion()); }
  Value array(Type element);
  Value index(OpBuilder &builder, int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  void fill(OpBuilder &builder, Value array, Value value);

  scf::ForOp loop;
  arith::FPToSIOp end;
  Requantisation chain;
  const VectorOp &record;
  Location loc;
  llvm::SetVector<Operation *> slice; // what the operands of the instruction are computed by
};
} // namespace

/// Adds what `value` is computed by inside the loop; false if it cannot be computed ahead of other steps.
bool LoopDistribution::collect(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || !isInside(value) || slice.contains(def))
    return true;
  if (def == end || (!isPure(def) && !isa<memref::LoadOp>(def)))
    return false;
  slice.insert(def);
  return llvm::all_of(def->getOperands(), [&](Value operand) { return collect(operand); });
}

/// Steps of the slice may run before those of the rest: nothing that the loop writes is read by the slice. Two memrefs
/// of a launch do not overlap.
bool LoopDistribution::isLegal() {
  std::optional<llvm::APInt> step = loop.getConstantStep();
  if (!loop.getInitArgs().empty() || !step || !step->isOne() || end->getBlock() != loop.getBody())
    return false;
  if (auto trip = loop.getStaticTripCount(); trip && trip->slt(record.lanes))
    return false;
  llvm::SmallPtrSet<Value, 4> written;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions() > 0)
      return false;
    if (auto store = dyn_cast<memref::StoreOp>(op))
      written.insert(store.getMemRef());
    else if (!isPure(&op) && !isa<memref::LoadOp>(op))
      return false;
  }
  for (Value operand : {chain.from, chain.scale, chain.zeroPoint})
    if (operand && !collect(operand))
      return false;
  return llvm::none_of(slice, [&](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    return load && written.contains(load.getMemRef());
  });
}

/// One element for each lane, where the function begins.
Value LoopDistribution::array(Type element) {
  OpBuilder top = OpBuilder::atBlockBegin(&end->getParentOfType<func::FuncOp>().front());
  return memref::AllocaOp::create(top, loc, MemRefType::get({record.lanes}, element), top.getI64IntegerAttr(64));
}

void LoopDistribution::fill(OpBuilder &builder, Value array, Value value) {
  scf::ForOp::create(builder, loc, index(builder, 0), index(builder, record.lanes), index(builder, 1), ValueRange(),
                     [&](OpBuilder &inner, Location, Value lane, ValueRange) {
                       memref::StoreOp::create(inner, loc, value, array, lane);
                       scf::YieldOp::create(inner, loc);
                     });
}

scf::ForOp LoopDistribution::distribute() {
  OpBuilder builder(loop);
  struct Operand {
    Value value, array;
  };
  // Operands in the order of the instruction: what is the same in all steps is written once.
  SmallVector<Operand> operands{{chain.from, array(chain.from.getType())}};
  auto add = [&](bool has, Value value, float otherwise) {
    if (!has)
      return;
    Operand operand{value, array(builder.getF32Type())};
    if (!value || !isInside(value) || matchPattern(value, m_Constant())) {
      Attribute constant;
      TypedAttr number = builder.getF32FloatAttr(otherwise);
      if (value && matchPattern(value, m_Constant(&constant)))
        number = cast<TypedAttr>(constant);
      fill(builder, operand.array,
           value && !isInside(value) ? value : arith::ConstantOp::create(builder, loc, number).getResult());
      operand.value = {};
    }
    operands.push_back(operand);
  };
  add(record.scale, chain.scale, 1);
  add(record.zeroPoint, chain.zeroPoint, 0);
  Value results = array(end.getType());

  Value lanes = index(builder, record.lanes), one = index(builder, 1), zero = index(builder, 0);
  Value steps = arith::SubIOp::create(builder, loc, loop.getUpperBound(), loop.getLowerBound());
  Value rest = arith::RemSIOp::create(builder, loc, steps, lanes);
  Value middle = arith::SubIOp::create(builder, loc, loop.getUpperBound(), rest);
  // A loop that does not run has no remainder to take off.
  middle = arith::MaxSIOp::create(builder, loc, middle, loop.getLowerBound());
  scf::ForOp::create(
      builder, loc, loop.getLowerBound(), middle, lanes, ValueRange(),
      [&](OpBuilder &outer, Location, Value base, ValueRange) {
        auto each = [&](llvm::function_ref<void(OpBuilder &, IRMapping &, Value)> body) {
          scf::ForOp::create(outer, loc, zero, lanes, one, ValueRange(),
                             [&](OpBuilder &inner, Location, Value lane, ValueRange) {
                               IRMapping mapping;
                               mapping.map(loop.getInductionVar(), arith::AddIOp::create(inner, loc, base, lane));
                               body(inner, mapping, lane);
                               scf::YieldOp::create(inner, loc);
                             });
        };
        each([&](OpBuilder &inner, IRMapping &mapping, Value lane) {
          for (Operation &op : loop.getBody()->without_terminator())
            if (slice.contains(&op))
              inner.clone(op, mapping);
          for (const Operand &operand : operands)
            if (operand.value)
              memref::StoreOp::create(inner, loc, mapping.lookupOrDefault(operand.value), operand.array, lane);
        });
        SmallVector<Value> addresses{pointerOf(outer, loc, results)};
        for (const Operand &operand : operands)
          addresses.push_back(pointerOf(outer, loc, operand.array));
        EngineWriter::call(outer, end, (vectorPrefix + record.name).str(), {}, addresses);
        each([&](OpBuilder &inner, IRMapping &mapping, Value lane) {
          for (Operation &op : loop.getBody()->without_terminator()) {
            if (&op != end) {
              inner.clone(op, mapping);
              continue;
            }
            Value result = memref::LoadOp::create(inner, loc, results, lane);
            mapping.map(end.getResult(), clampAsIn(inner, loc, chain, record, result));
          }
        });
        scf::YieldOp::create(outer, loc);
      });
  auto trip = loop.getStaticTripCount();
  if (trip && trip->srem(record.lanes) == 0) {
    loop.erase();
    return {};
  }
  loop.getLowerBoundMutable().assign(middle);
  return loop;
}

namespace {
struct UseVectorOpsInLoops : tilewright::impl::UseVectorOpsInLoopsBase<UseVectorOpsInLoops> {
  void runOnOperation() override {
    auto chip = requireTarget(getOperation());
    if (failed(chip))
      return signalPassFailure();
    // Loops that a distribution leaves may have further chains, but those of single steps.
    llvm::SmallPtrSet<Operation *, 4> done;
    for (bool changed = true; changed;) {
      changed = false;
      SmallVector<arith::FPToSIOp> ends;
      getOperation().walk([&](arith::FPToSIOp op) { ends.push_back(op); });
      for (arith::FPToSIOp end : ends) {
        auto loop = dyn_cast<scf::ForOp>(end->getParentOp());
        Requantisation chain;
        const VectorOp *record = loop && !done.contains(loop) ? findRequantisation(end, **chip, chain) : nullptr;
        if (!record)
          continue;
        LoopDistribution distribution(loop, end, chain, *record);
        if (!distribution.isLegal())
          continue;
        if (scf::ForOp rest = distribution.distribute())
          done.insert(rest);
        changed = true;
        break;
      }
    }
  }
};
} // namespace
