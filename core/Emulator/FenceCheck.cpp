//===- FenceCheck.cpp - Fences before engines, proved statically ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A forward data-flow analysis over the kernel that the emulator would run, where
/// each op has become primitives: no vendor's op is named here.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/FenceCheck.h"
#include "core/Emulator/Barriers.h"
#include "core/Emulator/ForwardFlow.h"
#include "core/Emulator/Rewriter.h"
#include "core/Machine/UnitOperands.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

#include <utility>

using namespace mlir;
using namespace tilewright;

namespace {

/// What a primitive means for fences.
enum class Step { Nothing, Write, Fence, Release, Use };

/// States of a write along the paths to a point; several at a join.
enum : uint8_t {
  Unfenced = 1, // by its lane, which has passed no barrier since
  HandedOn = 2, // unfenced when its lane passed a barrier
  Late = 4      // fenced after that barrier, and no other one since
};
using Writes = llvm::MapVector<Operation *, uint8_t>;

class FenceCheck {
public:
  explicit FenceCheck(RewrittenKernels &kernels) : kernels(kernels) {}
  /// Success if no engine uses a write without a fence.
  LogicalResult run(LLVM::LLVMFuncOp function);

private:
  Step stepOf(Operation *op);
  Step stepOfCall(LLVM::CallOp call, StringRef primitive);
  bool contains(LLVM::LLVMFuncOp function, Step wanted, llvm::SmallPtrSetImpl<Operation *> &seen);
  /// The state after `block`. `visit(op, writes)`, where given, sees each use with the state before it, and each
  /// release.
  void advance(mlir::Block &block, Writes &writes, llvm::function_ref<void(Operation *, Step, const Writes &)> visit);
  void report(Operation *use, Operation *write, uint8_t state);

  RewrittenKernels &kernels;
  llvm::DenseMap<Operation *, Step> steps;
};

} // namespace

int64_t tilewright::constantAt(LLVM::CallOp call, unsigned index) {
  auto constant = call.getArgOperands()[index].getDefiningOp<LLVM::ConstantOp>();
  return cast<IntegerAttr>(constant.getValue()).getInt();
}

Step FenceCheck::stepOfCall(LLVM::CallOp call, StringRef primitive) {
  auto site = [&]() -> const Site & { return kernels.impl->sites[constantAt(call, 1)]; };
  if (primitive == "access" || primitive == "masked" || primitive == "matrices" || primitive == "columns") {
    bool scratchpad = site().space != Space::Global && site().space != Space::Constant;
    return scratchpad && site().kind != AccessKind::Read ? Step::Write : Step::Nothing;
  }
  if (primitive == "fence_engines")
    return Step::Fence;
  if (primitive == "subgroup_barrier")
    return Step::Release;
  if (primitive == "barrier" || primitive == "cluster_barrier") {
    auto step = static_cast<BarrierStep>(constantAt(call, primitive == "barrier" ? 4 : 2));
    return step == BarrierStep::Wait ? Step::Nothing : Step::Release;
  }
  if (primitive == "phase") {
    auto step = static_cast<PhaseStep>(constantAt(call, 2));
    return step == PhaseStep::Init ? Step::Write : step == PhaseStep::Arrive ? Step::Release : Step::Nothing;
  }
  if (primitive == "tensor" || primitive == "copy_to_accumulators")
    return Step::Use;
  if (primitive == "unit") {
    const MatrixUnit &unit = kernels.impl->units[site().unit].unit;
    return (unit.scopeCount > 1 || accumulatesInBlock(unit)) && readsScratchpad(unit) ? Step::Use : Step::Nothing;
  }
  return Step::Nothing;
}

Step FenceCheck::stepOf(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  if (!call || !call.getCallee())
    return Step::Nothing;
  auto [known, isNew] = steps.try_emplace(op, Step::Nothing);
  if (!isNew)
    return known->second;
  StringRef callee = *call.getCallee();
  Step step = Step::Nothing;
  if (callee.consume_front(runtimePrefix)) {
    step = stepOfCall(call, callee);
  } else if (auto function = kernels.module->lookupSymbol<LLVM::LLVMFuncOp>(callee);
             function && !function.isExternal()) {
    // A function's inside is checked by itself; for its caller it counts as the strictest of what it does.
    for (Step each : {Step::Write, Step::Use}) {
      llvm::SmallPtrSet<Operation *, 4> seen;
      if (contains(function, each, seen))
        step = each;
    }
  }
  return steps[op] = step;
}

bool FenceCheck::contains(LLVM::LLVMFuncOp function, Step wanted, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!seen.insert(function).second)
    return false;
  WalkResult result = function.walk([&](LLVM::CallOp call) {
    StringRef callee = call.getCallee().value_or("");
    auto inner = kernels.module->lookupSymbol<LLVM::LLVMFuncOp>(callee);
    bool found = callee.consume_front(runtimePrefix) ? stepOfCall(call, callee) == wanted
                                                     : inner && !inner.isExternal() && contains(inner, wanted, seen);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

void FenceCheck::advance(mlir::Block &block, Writes &writes,
                         llvm::function_ref<void(Operation *, Step, const Writes &)> visit) {
  for (Operation &op : block) {
    Step step = stepOf(&op);
    if (visit && (step == Step::Use || step == Step::Release))
      visit(&op, step, writes);
    if (step == Step::Write)
      writes[&op] = Unfenced;
    if (step != Step::Fence && step != Step::Release)
      continue;
    Writes next;
    for (auto [write, state] : writes) {
      uint8_t after = 0;
      if (step == Step::Fence)
        after = state & (HandedOn | Late) ? Late : 0;
      else
        after = state & (Unfenced | HandedOn) ? HandedOn : 0;
      if (after)
        next[write] = after;
    }
    writes = std::move(next);
  }
}

/// The blocks that a path out of `from` comes to.
static llvm::SetVector<mlir::Block *> reachable(mlir::Block *from) {
  llvm::SetVector<mlir::Block *> found;
  SmallVector<mlir::Block *> open{from};
  while (!open.empty())
    for (mlir::Block *next : open.pop_back_val()->getSuccessors())
      if (found.insert(next))
        open.push_back(next);
  return found;
}

void FenceCheck::report(Operation *use, Operation *write, uint8_t state) {
  auto nameOf = [&](Operation *op) -> std::string {
    auto call = cast<LLVM::CallOp>(op);
    return call.getCallee()->starts_with(runtimePrefix) ? kernels.impl->sites[constantAt(call, 1)].op
                                                        : call.getCallee()->str();
  };
  StringRef kernel = use->getParentOfType<LLVM::LLVMFuncOp>().getName();
  InFlightDiagnostic error = emitError(use->getLoc());
  error << "kernel " << kernel << ": '" << nameOf(use)
        << "' lets an engine use scratchpad memory that lanes wrote without publishing it: ";
  if (state == Late)
    error << "the fence before engines stands after the barrier that hands the write on; it belongs between the two";
  else
    error << "a fence before engines is missing after the write" << (state & HandedOn ? ", before the barrier" : "");
  error.attachNote(write->getLoc()) << "'" << nameOf(write) << "' writes here";
}

LogicalResult FenceCheck::run(LLVM::LLVMFuncOp function) {
  auto before = forwardFlow(
      function, Writes(), [&](mlir::Block &block, Writes &writes) { advance(block, writes, {}); },
      [](Writes &writes, const Writes &others) {
        bool grew = false;
        for (auto [write, state] : others) {
          uint8_t &known = writes[write];
          grew |= (known | state) != known;
          known |= state;
        }
        return grew;
      });
  bool sound = true;
  llvm::SmallVector<Operation *> uses;
  llvm::MapVector<Operation *, Operation *> leaks; // from a write to the barrier that hands it on unfenced
  llvm::SmallPtrSet<Operation *, 8> reported;
  for (mlir::Block &block : function.getBody()) {
    Writes writes = before[&block];
    advance(block, writes, [&](Operation *op, Step step, const Writes &now) {
      if (step == Step::Release) {
        for (auto [write, state] : now)
          if (state & Unfenced)
            leaks.try_emplace(write, op);
        return;
      }
      uses.push_back(op);
      // One error a use: what the same fence would mend is not repeated.
      bool told = false;
      for (auto [write, state] : now)
        if (reported.insert(write).second && !std::exchange(told, true))
          report(op, write, state);
      sound &= !told;
    });
  }
  // Lanes of another role use what was handed on: on no path together with the write.
  for (auto [write, release] : leaks) {
    if (reported.contains(write))
      continue;
    llvm::SetVector<mlir::Block *> after = reachable(release->getBlock());
    for (Operation *use : uses) {
      mlir::Block *block = use->getBlock();
      if (block == release->getBlock() || after.contains(block) || reachable(block).contains(release->getBlock()))
        continue;
      report(use, write, HandedOn);
      sound = false;
      break;
    }
  }
  return success(sound);
}

//===-- Kernels without engines -------------------------------------------===//

namespace {
/// Ops are of one kind if they differ in their operands alone, constants not counted among these.
struct OpKind : llvm::DenseMapInfo<Operation *> {
  static Attribute constantOf(Value value) {
    auto constant = value.getDefiningOp<LLVM::ConstantOp>();
    return constant ? constant.getValue() : Attribute();
  }
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), [](Value operand) { return hash_value(constantOf(operand)); },
        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    auto isSpecial = [](const Operation *op) { return op == getEmptyKey() || op == getTombstoneKey(); };
    if (a == b || isSpecial(a) || isSpecial(b))
      return a == b;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        [](Value x, Value y) { return success(constantOf(x) == constantOf(y)); }, nullptr,
        OperationEquivalence::IgnoreLocations);
  }
};
} // namespace

/// A module with one op of each kind in `source` that a rule rewrites; their operands are constants, or have no value.
static OwningOpRef<ModuleOp> oneOfEachKind(ModuleOp source) {
  OwningOpRef<ModuleOp> kinds(ModuleOp::create(source.getLoc()));
  auto builder = OpBuilder::atBlockEnd(kinds->getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(source.getContext()), {});
  auto function = LLVM::LLVMFuncOp::create(builder, source.getLoc(), "kinds", type);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  llvm::StringSet<> defined;
  source.walk([&](LLVM::LLVMFuncOp each) {
    if (!each.isExternal())
      defined.insert(each.getName());
  });
  llvm::DenseSet<Operation *, OpKind> known;
  auto take = [&](Operation *op) {
    auto call = dyn_cast<LLVM::CallOp>(op);
    const bool isRewritten =
        call ? !call.getCallee() || !defined.contains(*call.getCallee())
             : isa<LLVM::CallIntrinsicOp, LLVM::InlineAsmOp>(op) || !isa<LLVM::LLVMDialect>(op->getDialect());
    if (!isRewritten || !known.insert(op).second)
      return;
    IRMapping operands;
    for (Value operand : op->getOperands())
      if (OpKind::constantOf(operand))
        operands.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
      else
        operands.map(operand, LLVM::PoisonOp::create(builder, op->getLoc(), operand.getType()));
    builder.clone(*op, operands);
  };
  source.walk([&](LLVM::LLVMFuncOp each) { each.getBody().walk(take); });
  LLVM::ReturnOp::create(builder, source.getLoc(), ValueRange());
  return kinds;
}

/// Whether an engine or a unit of a group may work in `module`. An unrolled kernel is thousands of ops of ten kinds.
static bool mayUseEngines(ModuleOp module, std::shared_ptr<const TargetDescription> chip, const EmulationTable &table) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> kinds = oneOfEachKind(module);
  FailureOr<RewrittenKernels> kernels = rewriteKernels(*kinds, std::move(chip), table);
  if (failed(kernels))
    return true;
  WalkResult result = kernels->module->walk([&](LLVM::CallOp call) {
    StringRef primitive = call.getCallee().value_or("");
    primitive.consume_front(runtimePrefix);
    bool uses = primitive == "tensor" || primitive == "copy_to_accumulators";
    if (primitive == "unit") {
      const MatrixUnit &unit = kernels->impl->units[kernels->impl->sites[constantAt(call, 1)].unit].unit;
      uses = unit.scopeCount > 1 || accumulatesInBlock(unit);
    }
    return uses ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

LogicalResult tilewright::checkEngineFences(ModuleOp module, std::shared_ptr<const TargetDescription> chip,
                                            const EmulationTable &table) {
  if ((!table.fencedEngines && !table.fencedRegisters) || !mayUseEngines(module, chip, table))
    return success();
  std::string unknown;
  FailureOr<RewrittenKernels> kernels = failure();
  {
    ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &diagnostic) {
      if (unknown.empty())
        unknown = diagnostic.str();
    });
    kernels = rewriteKernels(module, std::move(chip), table);
  }
  if (failed(kernels)) {
    module.emitRemark() << "fences before engines were not checked: " << unknown;
    return success();
  }
  bool sound = true;
  FenceCheck check(*kernels);
  for (auto function : kernels->module->getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && !function.getName().ends_with(kernelEntrySuffix)) {
      sound &= !table.fencedEngines || succeeded(check.run(function));
      sound &= !table.fencedRegisters || succeeded(checkRegisterFences(*kernels, function));
    }
  return success(sound);
}
