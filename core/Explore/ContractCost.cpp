//===- ContractCost.cpp - What an order of sums costs ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stages 1 to 3 under each contract, and the sums of what their plans take.
///
//===----------------------------------------------------------------------===//

#include "core/Explore/ContractCost.h"
#include "core/Explore/Estimate.h"
#include "tilewright/Explain.h"
#include "tilewright/Target.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tilewright;
namespace json = llvm::json;

/// What the program takes under the contract `fp`.
static llvm::Expected<explore::Estimate> planUnder(StringRef fp, ModuleOp module, CompileOptions options) {
  auto chip = TargetRegistry::get().describe(options.target);
  if (!chip)
    return chip.takeError();
  llvm::StringMap<double> calls;
  options.fp = fp.str();
  options.dumpDirectory.clear();
  options.afterStage = [&](unsigned stage, ModuleOp now) {
    if (stage == 2)
      calls = explore::callsOf(now);
  };
  DecisionLog log(module.getContext(), /*listsCandidates=*/false);
  OwningOpRef<ModuleOp> planned(module.clone());
  if (failed(runStages(*planned, 1, 3, options)))
    return llvm::createStringError("what '--fp=%s' costs is not known: the program cannot be planned under it",
                                   fp.str().c_str());
  return explore::estimate(log.take(), *planned, calls, **chip);
}

llvm::Expected<json::Array> explore::contractCost(ModuleOp module, const CompileOptions &options) {
  struct Seconds {
    double own = 0, byDefault = 0;
  };
  llvm::MapVector<StringRef, Seconds> places;
  Seconds all;
  llvm::Expected<Estimate> own = planUnder(options.fp, module, options);
  if (!own)
    return own.takeError();
  llvm::Expected<Estimate> byDefault = planUnder("default", module, options);
  if (!byDefault)
    return byDefault.takeError();
  for (const Piece &piece : own->pieces)
    places[piece.location].own += piece.seconds * piece.runs;
  for (const Piece &piece : byDefault->pieces)
    places[piece.location].byDefault += piece.seconds * piece.runs;
  all = {own->seconds, byDefault->seconds};
  auto record = [&](StringRef location, const Seconds &seconds) {
    json::Object result{{"decision", "contract-cost"},
                        {"location", location.str()},
                        {"inputs", json::Object{{"contract", options.fp}}},
                        {"choice", json::Object{{"seconds", seconds.own}}},
                        {"default_seconds", seconds.byDefault}};
    if (seconds.byDefault > 0)
      result["factor"] = seconds.own / seconds.byDefault;
    return result;
  };
  json::Array records;
  for (const auto &[location, seconds] : places)
    records.push_back(record(location, seconds));
  records.push_back(record("program", all));
  return records;
}
