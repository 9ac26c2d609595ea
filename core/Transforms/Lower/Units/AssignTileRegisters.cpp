//===- AssignTileRegisters.cpp - Numbers for tile registers ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives each fragment in registers of a numbered bank its number, by colouring
/// the intervals in which values live. Values that one instruction or loop
/// carries on (accumulator and result, start, argument and result of a loop) are
/// one register. Registers conflict where the granule masks of their records
/// overlap. A register is never spilled and never copied: what would need it is
/// an error.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/Units/UnitRegisters.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/IntEqClasses.h"

namespace tilewright {
#define GEN_PASS_DEF_ASSIGNTILEREGISTERS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// The fragment type of a value in a tile or accumulator register; null for others.
static tile::FragmentType registerType(Value value) {
  auto type = dyn_cast<tile::FragmentType>(value.getType());
  return type && type.isOpaque() ? type : tile::FragmentType();
}

namespace {

/// Values that share one register, and the points of the function between which it is taken.
struct Web {
  SmallVector<Value> values;
  const OpaqueRegister *registers = nullptr;
  int64_t begin = INT64_MAX, end = -1;
  int64_t number = -1;
  uint64_t mask() const { return registers->masks[number]; }
};

/// Assigns the registers of one function.
class Assigner {
public:
  Assigner(func::FuncOp function, const TargetDescription &target) : function(function), target(target) {}
  LogicalResult run();

private:
  void separateZeros();
  LogicalResult collect();
  LogicalResult join();
  void measure();
  LogicalResult colour();

  func::FuncOp function;
  const TargetDescription &target;
  SmallVector<Value> values;
  llvm::DenseMap<Value, unsigned> indexOf;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> points; // before an op, and after all that is inside
  llvm::IntEqClasses classes;
  SmallVector<Web> webs;
};

} // namespace

/// Each use of a zero gets one of its own, right before it: common subexpressions have made one of all.
void Assigner::separateZeros() {
  SmallVector<tile::ZeroOp> zeros;
  function.walk([&](tile::ZeroOp op) {
    if (op.getType().isOpaque())
      zeros.push_back(op);
  });
  for (tile::ZeroOp op : zeros) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::reverse(uses)) {
      OpBuilder builder(use->getOwner());
      use->set(builder.clone(*op)->getResult(0));
    }
    op.erase();
  }
}

/// All values in numbered registers, and the order of the ops.
LogicalResult Assigner::collect() {
  int64_t point = 0;
  LogicalResult result = success();
  auto add = [&](Value value, Operation *op) {
    tile::FragmentType type = registerType(value);
    if (!type)
      return;
    const OpaqueRegister *registers = findRegisterClass(target, type.getRegisters());
    if (!registers)
      result = op->emitOpError() << "chip " << target.target() << ":" << target.chip()
                                 << " has no unit with registers \"" << type.getRegisters() << "\"";
    else if (!registers->masks.empty() && indexOf.try_emplace(value, values.size()).second)
      values.push_back(value);
  };
  std::function<void(Operation *)> visit = [&](Operation *op) {
    points[op].first = point++;
    for (Value operand : op->getOperands())
      if (registerType(operand) && !isa<tile::MmaOp, tile::StoreOp, scf::ForOp, scf::YieldOp>(op))
        result = op->emitOpError() << "cannot take a fragment in registers \"" << registerType(operand).getRegisters()
                                   << "\": store it first";
    for (Value value : op->getResults())
      add(value, op);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        for (Value argument : block.getArguments())
          add(argument, op);
        for (Operation &inner : block)
          visit(&inner);
      }
    points[op].second = point++;
  };
  visit(function);
  return result;
}

/// Unites what has to be the same register.
LogicalResult Assigner::join() {
  classes.grow(values.size());
  LogicalResult result = success();
  auto same = [&](Value a, Value b) {
    auto x = indexOf.find(a), y = indexOf.find(b);
    if (x != indexOf.end() && y != indexOf.end())
      classes.join(x->second, y->second);
  };
  // What is carried on is overwritten: nobody else may need it.
  auto carried = [&](Value value, Operation *by) {
    if (indexOf.contains(value) && !value.hasOneUse())
      result = by->emitOpError() << "overwrites a fragment in registers \"" << registerType(value).getRegisters()
                                 << "\" that is needed again, which would take a copy";
  };
  function.walk([&](Operation *op) {
    if (auto mma = dyn_cast<tile::MmaOp>(op)) {
      same(mma.getC(), mma.getResult());
      carried(mma.getC(), op);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Operation *yield = loop.getBody()->getTerminator();
      for (auto [init, argument, next, last] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), yield->getOperands(), loop.getResults())) {
        same(init, argument);
        same(argument, next);
        same(next, last);
        carried(init, op);
        carried(next, yield);
      }
    }
  });
  classes.compress();
  webs.resize(classes.getNumClasses());
  for (auto [index, value] : llvm::enumerate(values)) {
    Web &web = webs[classes[index]];
    web.values.push_back(value);
    web.registers = findRegisterClass(target, registerType(value).getRegisters());
  }
  for (Web &web : webs)
    for (auto [i, value] : llvm::enumerate(web.values))
      for (Value other : ArrayRef(web.values).drop_front(i + 1)) {
        auto x = dyn_cast<BlockArgument>(value), y = dyn_cast<BlockArgument>(other);
        if (x && y && x.getOwner() == y.getOwner())
          result = x.getOwner()->getParentOp()->emitOpError()
                   << "exchanges fragments in registers \"" << web.registers->name << "\", which would take a copy";
      }
  return result;
}

/// From the first definition to the last use; what a loop uses from outside lives through the loop.
void Assigner::measure() {
  for (Web &web : webs)
    for (Value value : web.values) {
      auto argument = dyn_cast<BlockArgument>(value);
      Operation *def = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
      Block *home = argument ? argument.getOwner() : def->getBlock();
      web.begin = std::min(web.begin, argument ? points[def].first : points[def].second);
      web.end = std::max(web.end, points[def].second);
      for (Operation *user : value.getUsers()) {
        Operation *top = home->findAncestorOpInBlock(*user);
        web.end = std::max(web.end, top == user ? points[user].first : points[top].second);
      }
    }
}

/// In the order of their beginnings each web takes, of the registers that are free, the one that has been free longest.
LogicalResult Assigner::colour() {
  SmallVector<Web *> order;
  for (Web &web : webs)
    order.push_back(&web);
  llvm::stable_sort(order, [](Web *a, Web *b) { return a->begin < b->begin; });
  SmallVector<Web *> placed;
  for (Web *web : order) {
    int64_t best = -1, bestSince = INT64_MAX;
    for (auto [number, mask] : llvm::enumerate(web->registers->masks)) {
      int64_t since = -1;
      bool taken = false;
      for (Web *other : placed) {
        if (other->registers->bank != web->registers->bank || !(other->mask() & mask))
          continue;
        taken |= other->end > web->begin;
        since = std::max(since, other->end);
      }
      if (!taken && since < bestSince) {
        best = number;
        bestSince = since;
      }
    }
    if (best < 0) {
      int64_t live = llvm::count_if(placed, [&](Web *other) {
        return other->registers->bank == web->registers->bank && other->end > web->begin;
      });
      Value value = web->values.front();
      return emitError(value.getLoc()) << "too many fragments at once for the registers of bank \""
                                       << web->registers->bank << "\": " << live << " are in use and none of the "
                                       << web->registers->masks.size() << " of class \"" << web->registers->name
                                       << "\" is free; they are not spilled, use a smaller register tile";
    }
    web->number = best;
    placed.push_back(web);
  }
  for (Web &web : webs)
    for (Value value : web.values)
      value.setType(registerType(value).numbered(web.number));
  return success();
}

LogicalResult Assigner::run() {
  separateZeros();
  if (failed(collect()) || failed(join()))
    return failure();
  measure();
  return colour();
}

namespace {
struct AssignTileRegisters : tilewright::impl::AssignTileRegistersBase<AssignTileRegisters> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (function
              .walk([&](Operation *op) {
                return llvm::any_of(op->getResults(), registerType) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted())
        functions.push_back(function);
    if (functions.empty())
      return;
    auto target = requireTarget(module);
    if (failed(target))
      return signalPassFailure();
    for (func::FuncOp function : functions)
      if (failed(Assigner(function, **target).run()))
        return signalPassFailure();
  }
};
} // namespace
