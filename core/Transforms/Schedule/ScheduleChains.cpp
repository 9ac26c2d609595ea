//===- ScheduleChains.cpp - Nests that run in the tiles of another one ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which neighbouring nests are computed tile by tile, so that what they hand to
/// each other stays near, in a cache or in the scratchpad of a core:
///
///   s = 0;  s += q k;  p = soft-max of s;  o = 0;  o += p v
///   ->
///   for each tile of rows of o:  the same for the rows of s and p that the tile reads
///
/// Nothing is known of attention here: any range of nests is a candidate if its arrays between the nests are of no
/// other use. A candidate is built, by the code that will build it, and its tile is priced by the models of
/// contractions and of nests that move data; so are the nests apart:
///
///   fused = tiles * (contractions of a tile + other nests of a tile) / threads     taken if < 0.92 * apart
///   apart = contractions + other nests
///
/// What lies between the nests counts at the rate of the memory that holds it: all of it apart, that of a tile fused.
/// On caches packing is paid for in each tile, and a contraction gains nothing else by being cut. In a scratchpad lies
/// what a schedule places there: what is between the nests, which leaves the less for the stages of contractions, and a
/// tile's part of what other nests read and write. Nests of dynamic sizes become tiles on SIMT chips alone; what they
/// take apart is that of assumed sizes.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/KnownBoxes.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Schedule/ChainScheduler.h"
#include "core/Transforms/Schedule/ConsumerGroups.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/RequireTarget.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_SCHEDULECHAINS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// A form of a kernel, with its schedules.
struct KernelForm {
  OwningOpRef<func::FuncOp> copy; // null: the kernel as it is
  SeparateConsumers consumers{1, 0};
  std::unique_ptr<ChainScheduler> scheduler;
  double seconds = 0;
  int64_t bytes = 0; // in memory
};
} // namespace

static void record(func::FuncOp kernel, ArrayRef<KernelForm> forms, const KernelForm &choice) {
  DecisionLog *log = DecisionLog::of(kernel.getContext());
  if (!log)
    return;
  auto describe = [](const KernelForm &form) {
    return llvm::json::Object{
        {"groups", int64_t(form.consumers.groups)}, {"seconds", form.seconds}, {"bytes_in_memory", form.bytes}};
  };
  llvm::json::Array candidates;
  for (const KernelForm &form : forms)
    candidates.push_back(describe(form));
  log->add("compute-again", kernel,
           llvm::json::Object{{"choice", describe(choice)}, {"candidates", std::move(candidates)}});
}

/// Schedules the kernel, or, where that is faster, the same one whose readers compute anew what they read. Of forms
/// that differ by less than the models err, the one with the fewest bytes in memory is taken.
static void scheduleChains(func::FuncOp kernel, const TargetDescription &chip) {
  const Settings settings = Settings::of(kernel);
  KnownBoxes boxes; // of all forms and tiles
  std::vector<KernelForm> forms(1);
  for (ConsumerGroups by : {ConsumerGroups::BySum, ConsumerGroups::ByResult}) {
    OwningOpRef<func::FuncOp> copy = kernel.clone();
    const SeparateConsumers consumers = separateConsumers(*copy, by);
    if (consumers.groups < 2 || consumers.groups == forms.back().consumers.groups)
      break; // what sums over one dimension is one chain
    forms.push_back({std::move(copy), consumers, nullptr});
  }
  const bool isOnly = forms.size() == 1;
  double fastest = std::numeric_limits<double>::infinity();
  size_t priced = 0;
  for (KernelForm &form : forms) {
    form.scheduler = std::make_unique<ChainScheduler>(form.copy ? *form.copy : kernel, chip, settings);
    form.seconds = isOnly ? 0 : form.scheduler->secondsApart();
    if (form.copy && (form.seconds - form.scheduler->mostGain()) * (1 - leastGain) >= fastest)
      break; // so does one of more groups
    form.seconds -= form.scheduler->run();
    form.bytes = form.scheduler->bytesInMemory();
    ++priced;
    const bool keepsAll = form.copy && form.bytes < form.consumers.leastElements; // more groups only compute more
    const bool isFastest = form.seconds < fastest;
    fastest = std::min(fastest, form.seconds);
    if (keepsAll && isFastest)
      break;
  }
  forms.resize(priced);
  KernelForm *best = nullptr;
  for (KernelForm &form : forms)
    if (isOnly || (form.seconds * (1 - leastGain) < fastest && (!best || form.bytes < best->bytes)))
      best = &form;
  if (best->copy)
    kernel.getBody().takeBody((*best->copy).getBody());
  best->scheduler->writeRecords();
  if (!isOnly)
    record(kernel, forms, *best);
}

namespace {
struct ScheduleChains : tilewright::impl::ScheduleChainsBase<ScheduleChains> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    auto chip = requireTarget(getOperation());
    if (failed(chip))
      return signalPassFailure();
    if ((*chip)->graph().parallelLevel() && !isScheduled(getOperation()))
      scheduleChains(getOperation(), **chip);
  }
};
} // namespace
