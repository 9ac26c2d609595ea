//===- RegisterFences.cpp - Fences of units' registers, proved statically -===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A forward data-flow analysis: which accesses of lanes to registers have no
/// fence after them, at each unit of a group. The registers of a unit are followed
/// backwards to where they come from and forwards to who reads them, through
/// branches, aggregates, waits, and units of the same record.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/BuilderParts.h"
#include "core/Emulator/FenceCheck.h"
#include "core/Emulator/ForwardFlow.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// A unit of a group, or a wait that gives registers back.
struct Exchange {
  LLVM::CallOp call;
  int unit = -1;                                         // number of its record; -1: a wait
  llvm::SmallVector<std::pair<int64_t, Value>, 4> given; // registers, by byte of the frame
  llvm::SmallVector<Value, 4> results;
};

class RegisterFenceCheck {
public:
  RegisterFenceCheck(RewrittenKernels &kernels, LLVM::LLVMFuncOp function) : kernels(kernels), function(function) {}
  LogicalResult run();

private:
  /// Accesses without a fence after them; null: none since the kernel began.
  using Accesses = llvm::SmallPtrSet<Operation *, 8>;

  void collect();
  void followBack(const Exchange &use, Accesses &accesses);
  void followReads(const Exchange &use, Accesses &accesses);
  void advance(mlir::Block &block, Accesses &open, llvm::function_ref<void(Operation *, const Accesses &)> visit);
  void report(Operation *use, Operation *access);

  RewrittenKernels &kernels;
  LLVM::LLVMFuncOp function;
  llvm::SmallVector<Exchange> exchanges;
  llvm::DenseMap<Value, std::pair<unsigned, int64_t>> source; // what an exchange gave, and from which byte
  llvm::DenseMap<Operation *, unsigned> taker;                // the exchange that a store into the frame is for
  llvm::SmallPtrSet<Operation *, 4> fences;
  llvm::DenseMap<Operation *, Accesses> accessesOf; // by unit
  llvm::DenseMap<Operation *, unsigned> number;     // of each op, in the order of the function
  Accesses all;
  llvm::SetVector<Value> chain; // registers of the unit that is looked at, where they come through branches and waits
};

} // namespace

/// Ops that only put registers together or take them apart.
static bool arranges(Operation *op) {
  return isa<LLVM::InsertValueOp, LLVM::ExtractValueOp, LLVM::InsertElementOp, LLVM::ExtractElementOp,
             LLVM::ShuffleVectorOp, LLVM::BitcastOp>(op);
}

/// Byte of the frame of calls that `address` is; -1: none.
static int64_t byteOf(Value address) {
  auto place = address.getDefiningOp<LLVM::GEPOp>();
  Operation *memory = place ? place.getBase().getDefiningOp() : nullptr;
  return memory && memory->hasAttr(frameAttr) ? place.getRawConstantIndices()[0] : -1;
}

/// Units and waits with what they take and give. Operands are stored into the frame right before a call, results
/// loaded right after it.
void RegisterFenceCheck::collect() {
  for (mlir::Block &block : function.getBody()) {
    llvm::SmallVector<LLVM::StoreOp> stores;
    bool fresh = false; // loads are results of the last exchange
    for (Operation &op : block) {
      number.try_emplace(&op, number.size());
      if (auto store = dyn_cast<LLVM::StoreOp>(op); store && byteOf(store.getAddr()) >= 0)
        stores.push_back(store);
      if (auto load = dyn_cast<LLVM::LoadOp>(op); load && fresh && byteOf(load.getAddr()) >= 0) {
        exchanges.back().results.push_back(load);
        source[load] = {exchanges.size() - 1, byteOf(load.getAddr())};
      }
      auto call = dyn_cast<LLVM::CallOp>(op);
      StringRef callee = call && call.getCallee() ? *call.getCallee() : StringRef();
      if (!callee.consume_front(runtimePrefix))
        continue;
      if (callee == "fence_units")
        fences.insert(&op);
      int unit = callee == "unit" ? kernels.impl->sites[constantAt(call, 1)].unit : -1;
      fresh = callee == "wait_units" || (unit >= 0 && kernels.impl->units[unit].unit.scopeCount > 1);
      if (fresh) {
        exchanges.push_back({call, unit, {}, {}});
        const UnitRunner *runner = unit >= 0 ? &kernels.impl->units[unit] : nullptr;
        const int besides = 3; // operands but A, B and C, which need no fence
        for (LLVM::StoreOp store : stores) {
          int64_t byte = byteOf(store.getAddr());
          if (runner && byte >= (runner->operands() > besides ? runner->registerOffset(besides)
                                                              : runner->memoryOffset(0))) // or a descriptor
            continue;
          exchanges.back().given.push_back({byte, store.getValue()});
          taker[store] = exchanges.size() - 1;
        }
      }
      stores.clear();
    }
  }
}

/// Calls `visit` with each value that `arrange` takes registers from.
static void eachPart(Operation *arrange, llvm::function_ref<void(Value)> visit) {
  unsigned count = isa<LLVM::InsertElementOp>(arrange)    ? 2 // then the position
                   : isa<LLVM::ExtractElementOp>(arrange) ? 1
                                                          : arrange->getNumOperands();
  for (Value part : arrange->getOperands().take_front(count))
    visit(part);
}

/// Adds to `accesses` where lanes made the registers of `use`, and to the chain what these pass through. What a branch
/// passes on is written at the branch.
void RegisterFenceCheck::followBack(const Exchange &use, Accesses &accesses) {
  llvm::SetVector<std::pair<Value, Operation *>> seen; // with the branch that passes the value on
  for (auto [byte, value] : use.given)
    seen.insert({value, nullptr});
  for (size_t next = 0; next < seen.size(); ++next) {
    auto [value, branch] = seen[next];
    auto push = [&, branch = branch](Value part) { seen.insert({part, branch}); };
    Operation *def = value.getDefiningOp();
    if (auto from = source.find(value); from != source.end()) {
      chain.insert(value);
      const Exchange &giver = exchanges[from->second.first];
      for (auto [byte, given] : giver.given)
        if (giver.unit < 0 && byte == from->second.second)
          push(given);
      if (giver.unit >= 0 && giver.unit != use.unit)
        accesses.insert(giver.call);
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      chain.insert(value);
      mlir::Block *block = argument.getOwner();
      for (auto it = block->pred_begin(); it != block->pred_end(); ++it) {
        auto terminator = cast<BranchOpInterface>((*it)->getTerminator());
        SuccessorOperands operands = terminator.getSuccessorOperands(it.getSuccessorIndex());
        seen.insert({operands[argument.getArgNumber()], terminator});
      }
    } else if (arranges(def)) {
      eachPart(def, push);
    } else if (!isa<LLVM::PoisonOp, LLVM::UndefOp>(def)) {
      accesses.insert(def);
      if (branch)
        accesses.insert(branch);
    }
  }
}

/// Adds to `accesses` where lanes read the registers of `use`.
void RegisterFenceCheck::followReads(const Exchange &use, Accesses &accesses) {
  llvm::SetVector<Value> seen(chain.begin(), chain.end());
  seen.insert(use.results.begin(), use.results.end());
  for (size_t next = 0; next < seen.size(); ++next)
    for (OpOperand &operand : seen[next].getUses()) {
      Operation *user = operand.getOwner();
      auto branch = dyn_cast<BranchOpInterface>(user);
      if (auto taken = taker.find(user); taken != taker.end()) {
        const Exchange &to = exchanges[taken->second];
        int64_t byte = byteOf(cast<LLVM::StoreOp>(user).getAddr());
        for (Value result : to.results)
          if (to.unit == use.unit || (to.unit < 0 && source[result].second == byte))
            seen.insert(result);
      } else if (arranges(user)) {
        seen.insert(user->getResult(0));
      } else if (branch) {
        if (auto argument = branch.getSuccessorBlockArgument(operand.getOperandNumber()))
          seen.insert(*argument);
      } else {
        accesses.insert(user);
      }
    }
}

/// The accesses after `block` that have no fence after them. `visit` sees each unit with those before it.
void RegisterFenceCheck::advance(mlir::Block &block, Accesses &open,
                                 llvm::function_ref<void(Operation *, const Accesses &)> visit) {
  for (Operation &op : block) {
    if (fences.contains(&op))
      open.clear();
    else if (visit && accessesOf.contains(&op))
      visit(&op, open);
    if (all.contains(&op))
      open.insert(&op);
  }
}

void RegisterFenceCheck::report(Operation *use, Operation *access) {
  InFlightDiagnostic error = emitError(use->getLoc());
  error << "kernel " << function.getName() << ": '" << kernels.impl->sites[constantAt(cast<LLVM::CallOp>(use), 1)].op
        << "' takes registers from lanes without a fence: a fence of units' registers is missing "
        << (access ? "after an access by lanes" : "before the kernel's first unit");
  if (access)
    error.attachNote(access->getLoc()) << "'" << access->getName() << "' is the access";
}

LogicalResult RegisterFenceCheck::run() {
  collect();
  for (const Exchange &use : exchanges) {
    if (use.unit < 0)
      continue;
    Accesses &accesses = accessesOf[use.call];
    chain.clear();
    followBack(use, accesses);
    followReads(use, accesses);
    all.insert(accesses.begin(), accesses.end());
  }
  if (accessesOf.empty())
    return success();
  Accesses entry;
  entry.insert(nullptr);
  auto before = forwardFlow(
      function, entry, [&](mlir::Block &block, Accesses &open) { advance(block, open, {}); },
      [](Accesses &open, const Accesses &others) {
        size_t had = open.size();
        open.insert(others.begin(), others.end());
        return open.size() != had;
      });
  bool sound = true;
  Accesses told;
  for (mlir::Block &block : function.getBody()) {
    Accesses open = before[&block];
    advance(block, open, [&](Operation *use, const Accesses &now) {
      Operation *missing = nullptr; // the first one as the function is written
      bool first = now.contains(nullptr), found = first;
      for (Operation *access : accessesOf[use])
        if (!first && now.contains(access) && (!missing || number[access] < number[missing])) {
          missing = access;
          found = true;
        }
      sound &= !found;
      if (found && told.insert(missing).second)
        report(use, missing);
    });
  }
  return success(sound);
}

LogicalResult tilewright::checkRegisterFences(RewrittenKernels &kernels, LLVM::LLVMFuncOp function) {
  return RegisterFenceCheck(kernels, function).run();
}
