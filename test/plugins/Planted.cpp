//===- Planted.cpp - A mistake after any pass, on request -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plugin whose target is this machine. What it does beside: TILEWRIGHT_PLANT=PASS:FAULT makes the pass wrong,
/// wherever it runs, as if the mistake were its own. It looks on by MLIR's actions; nothing of the compiler takes part.
///
///   sub        the first floating-point addition of what the pass left becomes a subtraction
///   bound      the first loop that is longer than one iteration ends one earlier
///   offset     the first store in a loop of what is no constant writes one element farther along its last dimension
///   scale      the first floating-point constant that is neither 0 nor 1 is doubled
///   operand    the first matrix product reads its first operand a second time
///   drop=OP    the first op of this name without results is erased
///   dropall=OP all of them are
///   last=OP    the last one is
///   site=N     place N of all that Mutations.h tells is changed
///   crash      the process crashes
///   hang       the pass never ends
///
//===----------------------------------------------------------------------===//

#include "Mutations.h"
#include "tilewright/Target.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include <cstdlib>

using namespace mlir;

namespace {

/// Applies `change` to the first op of type OP for which it returns true.
template <typename OP> void first(Operation *root, llvm::function_ref<bool(OP)> change) {
  root->walk([&](OP op) { return change(op) ? WalkResult::interrupt() : WalkResult::advance(); });
}

bool subtract(arith::AddFOp add) {
  OpBuilder builder(add);
  add.replaceAllUsesWith(arith::SubFOp::create(builder, add.getLoc(), add.getLhs(), add.getRhs()).getResult());
  add.erase();
  return true;
}

bool shorten(affine::AffineForOp loop) {
  if (!loop.hasConstantBounds() || loop.getConstantUpperBound() - loop.getConstantLowerBound() <= loop.getStepAsInt())
    return false;
  loop.setConstantUpperBound(loop.getConstantUpperBound() - loop.getStepAsInt());
  return true;
}

bool displace(affine::AffineStoreOp store) {
  AffineMap map = store.getAffineMap();
  if (map.getNumResults() == 0 || !store->getParentOfType<affine::AffineForOp>())
    return false;
  SmallVector<AffineExpr> results(map.getResults());
  int64_t size = store.getMemRefType().getShape().back();
  if (size == ShapedType::kDynamic || size < 2 || matchPattern(store.getValueToStore(), m_Constant()))
    return false;
  results.back() = (results.back() + 1) % size;
  store.setMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext()));
  return true;
}

bool scale(arith::ConstantOp constant) {
  auto number = dyn_cast<FloatAttr>(constant.getValue());
  if (!number || number.getValueAsDouble() == 0 || number.getValueAsDouble() == 1)
    return false;
  constant.setValueAttr(FloatAttr::get(number.getType(), 2 * number.getValueAsDouble()));
  return true;
}

bool repeatOperand(Operation *op) {
  if (op->getName().getStringRef() != "arith.mulf" || op->getOperand(0) == op->getOperand(1))
    return false;
  op->setOperand(1, op->getOperand(0));
  return true;
}

void drop(Operation *root, llvm::StringRef name, bool all, bool last) {
  SmallVector<Operation *> found;
  root->walk([&](Operation *op) {
    if (op->getName().getStringRef() == name && op->getNumResults() == 0)
      found.push_back(op);
  });
  if (found.empty())
    return;
  if (all)
    for (Operation *op : found)
      op->erase();
  else
    (last ? found.back() : found.front())->erase();
}

void plant(Operation *root, llvm::StringRef fault) {
  if (fault == "sub")
    first<arith::AddFOp>(root, subtract);
  else if (fault == "bound")
    first<affine::AffineForOp>(root, shorten);
  else if (fault == "offset")
    first<affine::AffineStoreOp>(root, displace);
  else if (fault == "scale")
    first<arith::ConstantOp>(root, scale);
  else if (fault == "operand")
    root->walk([&](Operation *op) { return repeatOperand(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  else if (fault.consume_front("drop="))
    drop(root, fault, /*all=*/false, /*last=*/false);
  else if (fault.consume_front("dropall="))
    drop(root, fault, /*all=*/true, /*last=*/false);
  else if (fault.consume_front("last="))
    drop(root, fault, /*all=*/false, /*last=*/true);
  else if (unsigned number = 0; fault.consume_front("site=") && !fault.getAsInteger(10, number))
    mutate(root, number);
  else if (fault == "crash")
    *static_cast<volatile int *>(nullptr) = 0;
  else if (fault == "hang")
    for (volatile bool forever = true; forever;)
      ;
  else
    llvm::report_fatal_error("TILEWRIGHT_PLANT names no fault of test/plugins/Planted.cpp");
}

void lookOn(MLIRContext *context, BuiltinDialect *) {
  const char *wish = std::getenv("TILEWRIGHT_PLANT");
  if (!wish || !*wish)
    return;
  auto [pass, fault] = llvm::StringRef(wish).split(':');
  context->registerActionHandler(
      [pass = pass.str(), fault = fault.str()](llvm::function_ref<void()> run, const tracing::Action &action) {
        run();
        if (auto *execution = dyn_cast<PassExecutionAction>(&action);
            execution && execution->getPass().getArgument() == pass)
          plant(execution->getOp(), fault);
      });
}

class PlantedTarget : public tilewright::Target {
public:
  llvm::StringRef name() const override { return "planted"; }
  std::vector<std::string> chips() const override { return {"host"}; }
  llvm::Expected<std::shared_ptr<const tilewright::TargetDescription>> describe(llvm::StringRef chip) const override {
    if (chip != "host")
      return tilewright::unknownName("chip of target 'planted'", chip, chips());
    return tilewright::TargetRegistry::get().describe("cpu:host");
  }
  void registerDialects(DialectRegistry &registry) const override { registry.addExtension(lookOn); }
};

} // namespace

TILEWRIGHT_TARGET_PLUGIN(planted, "1.0", PlantedTarget)
