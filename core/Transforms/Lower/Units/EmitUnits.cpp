//===- EmitUnits.cpp - Calls of matrix units become instructions ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces each call of `@tilewright.unit.<record>`, and those that move
/// fragments in tile registers or enter states (UnitRegisters.h), by the emission
/// of its record: an op, an LLVM intrinsic, inline assembly, an external
/// function, or the body of one that the record ships.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/UnitOperands.h"
#include "core/Transforms/Lower/Units/RecordEmission.h"
#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/IndexedUnits.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EMITUNITS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace tilewright;

//===-- Pass --------------------------------------------------------------===//

/// Gives the function around a unit what its states set.
static void setAttributes(LLVM::LLVMFuncOp function, ArrayRef<State> states) {
  Builder builder(function.getContext());
  for (const State &state : states)
    for (StringRef text : state.attributes) {
      auto [name, value] = text.split('=');
      if (name == "vscale_range") {
        auto [least, most] = value.split(',');
        int32_t from = 1, to = 1;
        least.getAsInteger(10, from);
        if (most.getAsInteger(10, to))
          to = from;
        function.setVscaleRangeAttr(LLVM::VScaleRangeAttr::get(function.getContext(), builder.getI32IntegerAttr(from),
                                                               builder.getI32IntegerAttr(to)));
        continue;
      }
      if (value.empty() && llvm::is_contained(LLVM::LLVMFuncOp::getAttributeNames(), name)) {
        function->setAttr(name, builder.getUnitAttr());
        continue;
      }
      SmallVector<Attribute> all;
      if (auto known = function.getPassthroughAttr())
        llvm::append_range(all, known);
      Attribute one = builder.getStringAttr(name);
      if (!value.empty())
        one = builder.getStrArrayAttr({name, value});
      if (!llvm::is_contained(all, one))
        all.push_back(one);
      function.setPassthroughAttr(builder.getArrayAttr(all));
    }
}

/// A unit on described matrices (descriptor and whether lines run along k, for A and B, then C; registers for an A that
/// lies there; last the index of a sparse A): the target's own op.
static FailureOr<Value> emitDescribed(LLVM::CallOp call, const MatrixUnit &unit, ShippedFunctions &functions) {
  auto ops = laneOpsOf(call);
  if (!ops)
    return LogicalResult(call.emitError() << llvm::toString(ops.takeError()));
  auto isOne = [&](unsigned i) { return matchPattern(call.getArgOperands()[i], m_One()); };
  OpBuilder builder(call);
  auto operands = call.getArgOperands();
  if (accumulatesInBlock(unit)) {
    const BlockAccumulators *blockOps = blockAccumulators(**ops);
    const BlockScales *scaleOps = blockScales(**ops);
    SmallVector<ScalesInBlock> scales;
    for (unsigned i = 5; i + 2 < operands.size(); i += 2)
      if (APInt first; matchPattern(operands[i + 1], m_ConstantInt(&first)))
        scales.push_back({operands[i], first.getSExtValue()});
    bool done = false;
    if (const size_t besides = unit.besides().size())
      done = scaleOps && scales.size() == besides && operands.size() == 6 + 2 * besides &&
             scaleOps->emitScaledUnitInto(builder, call.getLoc(), unit, operands[0], isOne(1), operands[2], isOne(3),
                                          operands[4], operands.back(), scales);
    else
      done = blockOps && operands.size() == 6 &&
             blockOps->emitUnitInto(builder, call.getLoc(), unit, operands[0], isOne(1), operands[2], isOne(3),
                                    operands[4], operands[5]);
    if (done)
      return Value();
    return call.emitError() << "unit " << unit.name
                            << " cannot be emitted: expected descriptors of A and B, each with its order, the address "
                               "of C, that of each operand's scales or of the index with a constant place in their "
                               "words, whether it "
                               "adds to C, and an operation of the target for it";
  }
  const bool describesA = unit.a.residence == Residence::Scratchpad;
  const unsigned b = describesA ? 2 : 1;
  Value result;
  if (const IndexedUnits *indexed = indexedUnits(**ops); indexed && unit.sparsity && operands.size() == b + 4) {
    UnitEmitter emitter(call, unit.name, functions);
    result = indexed->emitIndexedUnit(builder, call.getLoc(), unit, operands[0], !describesA || isOne(1), operands[b],
                                      isOne(b + 1), operands[b + 2], packedIndex(emitter, unit, operands[b + 3]));
  } else if (!unit.sparsity && operands.size() == b + 3)
    result = (*ops)->emitUnit(builder, call.getLoc(), unit, operands[0], !describesA || isOne(1), operands[b],
                              isOne(b + 1), operands[b + 2]);
  if (!result)
    return call.emitError() << "unit " << unit.name << " cannot be emitted: expected "
                            << (describesA ? "descriptors of A and B, each with "
                                           : "registers of A, the descriptor of B with ")
                            << "its order, C, " << (unit.sparsity ? "the index of A, " : "")
                            << "and an operation of the target for it";
  return result;
}

namespace {
struct EmitUnits : tilewright::impl::EmitUnitsBase<EmitUnits> {
  /// Some units are ops of the targets' dialects.
  void getDependentDialects(DialectRegistry &registry) const override {
    EmitUnitsBase::getDependentDialects(registry);
    ShippedFunctions::registerDialects(registry);
    for (const Target *target : TargetRegistry::get().targets())
      target->registerDialects(registry);
  }

  /// Emits the record that `call` names.
  FailureOr<Value> emit(LLVM::CallOp call, const TargetDescription &target, ShippedFunctions &functions) {
    StringRef name = *call.getCallee();
    auto lacks = [&](const Twine &what) {
      return call.emitError() << "chip " << target.target() << ":" << target.chip() << " has no unit " << what;
    };
    if (name.consume_front(unitPrefix)) {
      auto [known, isNew] = units.try_emplace(call.getCalleeAttr());
      if (isNew)
        known->second = target.unit(name);
      const MatrixUnit *unit = known->second;
      if (!unit)
        return lacks("\"" + name + "\"");
      setAttributes(call->getParentOfType<LLVM::LLVMFuncOp>(), unit->states);
      if (readsScratchpad(*unit))
        return emitDescribed(call, *unit, functions);
      UnitEmitter emitter(call, name, functions);
      return emitUnit(emitter, *unit);
    }
    if (name.consume_front(registerPrefix)) {
      auto [registerName, action] = name.split('.');
      const OpaqueRegister *registers = findRegisterClass(target, registerName);
      if (!registers)
        return lacks("with registers \"" + registerName + "\"");
      std::vector<State> states;
      for (const State *state : statesOfRegisters(target, registerName))
        states.push_back(*state);
      UnitEmitter emitter(call, registerName, functions);
      return emitRegister(emitter, *registers, action, scaleOf(states));
    }
    name.consume_front(statePrefix);
    auto [stateName, action] = name.rsplit('.');
    const State *state = findState(target, stateName);
    if (!state)
      return lacks("with the state \"" + stateName + "\"");
    const Emission &emission = action == "check" ? state->check : action == "enter" ? state->enter : state->leave;
    UnitEmitter emitter(call, stateName, functions);
    return emitter.emit(emission, call.getNumResults() ? call.getResult().getType() : Type(),
                        [](StringRef, Type) { return Value(); });
  }

  llvm::DenseMap<Attribute, const MatrixUnit *> units; // by the name that calls have for them

  void runOnOperation() override {
    ModuleOp module = getOperation();
    units.clear();
    auto isOurs = [](StringRef name) {
      return name.starts_with(unitPrefix) || name.starts_with(registerPrefix) || name.starts_with(statePrefix);
    };
    SmallVector<LLVM::CallOp> calls;
    module.walk([&](LLVM::CallOp call) {
      if (call.getCallee() && isOurs(*call.getCallee()))
        calls.push_back(call);
    });
    if (!calls.empty()) {
      auto target = requireTarget(module);
      if (failed(target))
        return signalPassFailure();
      ShippedFunctions functions;
      for (LLVM::CallOp call : calls) {
        FailureOr<Value> result = emit(call, **target, functions);
        if (failed(result))
          return signalPassFailure();
        if (call.getNumResults())
          call.getResult().replaceAllUsesWith(*result);
        call.erase();
      }
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (isOurs(function.getName()) && function.isExternal())
        function.erase();
  }
};
} // namespace
