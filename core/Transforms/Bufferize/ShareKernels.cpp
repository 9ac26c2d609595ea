//===- ShareKernels.cpp - Equal kernels are one function ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls of kernels that do the same call the first of them, and the others go:
/// what occurs often in a program is planned and compiled once.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/EqualFunctions.h"
#include "core/Transforms/Utils/SymbolUsers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright {
#define GEN_PASS_DEF_SHAREKERNELS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct ShareKernels : tilewright::impl::ShareKernelsBase<ShareKernels> {
  void runOnOperation() override;
};
} // namespace

void ShareKernels::runOnOperation() {
  ModuleOp module = getOperation();
  const SymbolUsers users(module);
  auto isShared = [&](func::FuncOp function) {
    return function.isPrivate() && !function.isExternal() &&
           (function->hasAttr(kernelAttr) || function->hasAttr(opaqueAttr)) &&
           llvm::all_of(users.getUsers(function), llvm::IsaPred<func::CallOp>);
  };
  EqualFunctions known;
  llvm::MapVector<Operation *, int64_t> calls; // of functions that stand for others
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!isShared(function))
      continue;
    func::FuncOp first = known.firstEqual(function);
    if (first == function)
      continue;
    auto [count, isNew] = calls.try_emplace(first, users.getUsers(first).size());
    count->second += users.getUsers(function).size();
    for (Operation *call : users.getUsers(function))
      cast<func::CallOp>(call).setCallee(first.getName());
    function.erase();
  }
  if (DecisionLog *log = DecisionLog::of(&getContext()))
    for (auto [function, count] : calls)
      log->add("shared-kernel", function->getLoc(),
               llvm::json::Object{
                   {"inputs", llvm::json::Object{{"kernel", cast<func::FuncOp>(function).getName()}}},
                   {"choice", llvm::json::Object{{"calls", count}}},
                   {"reason", "the calls' kernels were equal up to names: they are planned and compiled once"}});
}
