//===- Predictions.cpp - What the cost models say of kernels --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decisions summed by kernel and by location.
///
//===----------------------------------------------------------------------===//

#include "core/Tracing/Predictions.h"
#include "core/Analysis/Signature.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilewright;

Predictions::Predictions(MLIRContext &context, std::string target)
    : target(std::move(target)), log(std::make_unique<DecisionLog>(&context, /*listsCandidates=*/false)) {}

void Predictions::afterStage(unsigned stage, ModuleOp module) {
  if (!log)
    return;
  if (stage == 2)
    calls = explore::callsOf(module);
  if (stage == 4) {
    auto chip = TargetRegistry::get().describe(target);
    if (!chip) // the compilation fails and says it
      return llvm::consumeError(chip.takeError());
    const explore::Estimate estimate = explore::estimate(log->take(), module, calls, **chip);
    addKernels(estimate, **chip);
    if ((*chip)->graph().startsLaunches())
      counts = staticCounts(module, **chip);
    for (func::FuncOp function : publicFunctions(module))
      if (estimate.unknown.empty() && !estimate.pieces.empty())
        kernels[function.getName()] = {estimate.seconds, estimate.backingBytes(**chip), ""};
  }
  if (stage == 5) {
    addLaunches(module);
    log.reset();
  }
}

/// Adds `runs` runs of a piece.
static void add(Prediction &to, const explore::Piece &piece, double runs, const TargetDescription &chip) {
  to.seconds += piece.seconds * runs;
  to.location = piece.location;
  const Memory *backing = chip.graph().backing();
  for (const auto &[edge, bytes] : piece.bytes)
    if (backing && llvm::StringRef(edge).starts_with(backing->name + " "))
      to.bytes = to.bytes.value_or(0) + bytes * runs;
}

void Predictions::addKernels(const explore::Estimate &estimate, const TargetDescription &chip) {
  for (const explore::Piece &piece : estimate.pieces) {
    double called = calls.lookup(piece.kernel);
    add(kernels[piece.kernel], piece, called > 0 ? piece.runs / called : piece.runs, chip);
    add(places[piece.location], piece, 1, chip);
  }
}

void Predictions::addLaunches(ModuleOp module) {
  llvm::StringMap<unsigned> launchesAt;
  auto forEach = [&](auto &&work) {
    module.walk([&](LLVM::LLVMFuncOp function) {
      if (!function.isExternal() && !kernels.count(function.getName()))
        work(function, DecisionLog::textOf(function.getLoc()));
    });
  };
  forEach([&](LLVM::LLVMFuncOp, const std::string &location) { ++launchesAt[location]; });
  llvm::StringMap<Prediction> launches;
  forEach([&](LLVM::LLVMFuncOp function, const std::string &location) {
    if (auto own = counts.find(function.getName()); own != counts.end() && own->second.seconds) {
      const LaunchCounts &launch = own->second;
      launches[function.getName()] = {*launch.seconds, std::nullopt, location};
      if (launch.unknown.empty())
        launches[function.getName()].bytes = launch.global.read + launch.global.written;
    } else if (auto found = places.find(location); found != places.end() && launchesAt[location] == 1) {
      launches[function.getName()] = found->second;
    }
  });
  for (auto &entry : launches)
    kernels[entry.first()] = std::move(entry.second);
}

const Prediction *Predictions::of(llvm::StringRef kernel) const {
  auto found = kernels.find(kernel);
  return found == kernels.end() ? nullptr : &found->second;
}
