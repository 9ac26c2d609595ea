//===- ContractCost.h - What an order of sums costs -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program is planned twice, under its floating-point contract and under the
/// default one, and what the cost models say of both is set side by side:
///
///   location                reproducible, s   default, s
///   "p.mlir":11:8           5.2e-06           4.8e-06
///   "p.mlir":20:8           9.1e-06                         part of a chain that the default computes at once
///   program                 1.43e-05          4.8e-06
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EXPLORE_CONTRACTCOST_H
#define TILEWRIGHT_CORE_EXPLORE_CONTRACTCOST_H

#include "tilewright/Compiler.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tilewright::explore {

/// One record `contract-cost` for each place of which a nest is planned, in the form of a DecisionLog's, and one for
/// the program: seconds of one call under `options.fp`, and under the default contract. `module` is as read and stays
/// so. No other DecisionLog may listen to its context. An error says under which contract the program cannot be
/// planned.
llvm::Expected<llvm::json::Array> contractCost(mlir::ModuleOp module, const CompileOptions &options);

} // namespace tilewright::explore

#endif // TILEWRIGHT_CORE_EXPLORE_CONTRACTCOST_H
