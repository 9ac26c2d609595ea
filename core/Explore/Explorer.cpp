//===- Explorer.cpp - All designs, planned --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The threads, and the programs that each of them keeps.
///
//===----------------------------------------------------------------------===//

#include "core/Explore/Explorer.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Analysis/Signature.h"
#include "core/CostModel/Schedules/KnownPlans.h"
#include "core/Pipelines/Guard.h"
#include "tilewright/Explain.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Pipeline.h"
#include "tilewright/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <chrono>
#include <deque>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::explore;
using llvm::createStringError;

/// Whether the target has passes of its own at the end of stage 1 or 2, which may look at the chip.
static bool extendsEarly(const Target &target, const TargetDescription &chip) {
  OpPassManager pm(ModuleOp::getOperationName());
  for (PipelineSlot slot : {PipelineSlot::AfterImport, PipelineSlot::AfterAffine})
    target.extendPipeline(slot, pm, chip);
  return pm.size() != 0;
}

namespace {
/// The programs in one context.
class Worker {
public:
  Worker(const Sweep &sweep, const ExploreOptions &options, bool isEarly)
      : options(options), first(isEarly ? 1 : 3), context(programDialects(), MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) { return keep(diagnostic); }) {
    context.printOpOnDiagnostic(false);
    compile.fp = options.fp;
    compile.threads = options.threads;
    compile.target = sweep.target;
  }

  /// Reads all programs and runs the stages that no chip matters to.
  llvm::Error prepare() {
    for (const std::string &path : options.programs) {
      Program &program = programs.emplace_back();
      message.clear();
      bool finished = finishes([&] { program.module = parseProgram(path, program.sources, context); });
      if (!finished || !program.module)
        return failure(path, finished ? "it cannot be read" : "reading it crashed");
      if (llvm::Error error = checkSizes(path, *program.module))
        return error;
      if (options.checkIndices)
        (*program.module)->setAttr(checkIndicesAttr, UnitAttr::get(&context));
      bool works = true;
      if (first > 1)
        finished = finishes([&] { works = succeeded(runStages(*program.module, 1, 2, compile)); });
      if (!finished || !works)
        return failure(path, finished ? "it cannot be compiled" : "stage 1 or 2 crashed");
      if (first > 1)
        program.calls = callsOf(*program.module);
    }
    return llvm::Error::success();
  }

  Estimate plan(size_t index, const Design &design) {
    Program &program = programs[index];
    CompileOptions own = compile;
    own.target = design.target;
    llvm::StringMap<double> calls = program.calls;
    own.afterStage = [&](unsigned stage, ModuleOp module) {
      if (stage == 2)
        calls = callsOf(module);
    };
    Estimate result;
    bool works = false;
    message.clear();
    auto chip = TargetRegistry::get().describe(design.target);
    if (!chip) {
      result.refusal = llvm::toString(chip.takeError());
      return result;
    }
    DecisionLog log(&context, /*listsCandidates=*/false);
    KnownPlans plans;
    OwningOpRef<ModuleOp> module(program.module->clone());
    bool finished = finishes([&] {
      works = succeeded(runStages(*module, first, (*chip)->graph().startsLaunches() ? 4 : 3, own));
      if (works)
        result = estimate(log.take(), *module, calls, **chip);
    });
    if (!finished) {
      (void)module.release(); // half-written
      isSound = false;
    }
    if (!works || !finished)
      result.refusal = finished ? message : "the compiler crashed";
    else if (result.pieces.empty())
      result.refusal = "the cost models have no time for any of its nests";
    return result;
  }

  /// Whether the context may be used again.
  bool isSound = true;

private:
  struct Program {
    llvm::SourceMgr sources; // a parser reads the first file of one
    OwningOpRef<ModuleOp> module;
    llvm::StringMap<double> calls;
  };

  LogicalResult keep(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty()) {
      llvm::raw_string_ostream os(message);
      diagnostic.getLocation().print(os);
      os << ": " << diagnostic;
    }
    return success();
  }

  llvm::Error failure(llvm::StringRef path, llvm::StringRef what) {
    return createStringError(path + ": " + (message.empty() ? what : llvm::StringRef(message)));
  }

  static llvm::Error checkSizes(llvm::StringRef path, ModuleOp module) {
    for (func::FuncOp function : publicFunctions(module))
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank() && !shaped.hasStaticShape()) {
          std::string text;
          llvm::raw_string_ostream(text) << type;
          return createStringError(llvm::formatv("{0}: argument {1} of '{2}' is a {3}: how long the program takes "
                                                 "depends on the call; write the sizes that matter into its type",
                                                 path, index, function.getName(), text));
        }
    return llvm::Error::success();
  }

  const ExploreOptions &options;
  unsigned first; // stage that a design begins with
  CompileOptions compile;
  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler;
  std::deque<Program> programs;
};
} // namespace

//===-- Outcomes ----------------------------------------------------------===//

std::string Outcome::refusal() const {
  if (!design.refusal.empty())
    return design.refusal;
  for (const Estimate &program : programs)
    if (!program.refusal.empty())
      return program.refusal;
  return "";
}

std::optional<double> Outcome::seconds() const {
  if (programs.empty() || !refusal().empty())
    return std::nullopt;
  double sum = 0;
  for (const Estimate &program : programs)
    sum += program.seconds;
  return sum;
}

double Outcome::utilisation() const {
  double busy = 0;
  for (const Estimate &program : programs)
    busy += program.utilisation() * program.seconds;
  std::optional<double> all = seconds();
  return all && *all > 0 ? busy / *all : 0;
}

std::map<std::string, double> Outcome::binds() const {
  std::map<std::string, double> sums;
  for (const Estimate &program : programs)
    for (const auto &[part, seconds] : program.binds)
      sums[part] += seconds;
  return sums;
}

/// Whether `a` is at least as good as `b` in time and every cost, and better in one.
static bool dominates(const Outcome &a, const Outcome &b) {
  bool isBetter = *a.seconds() < *b.seconds();
  if (*a.seconds() > *b.seconds())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.design.costs, b.design.costs)) {
    if (x > y)
      return false;
    isBetter |= x < y;
  }
  return isBetter;
}

static void markFront(std::vector<Outcome> &outcomes) {
  std::vector<Outcome *> order;
  for (Outcome &each : outcomes)
    if (each.seconds())
      order.push_back(&each);
  // What dominates another one stands before it.
  auto keyOf = [](const Outcome *each) {
    return std::tuple(*each->seconds(), each->design.costs, each->design.number);
  };
  llvm::sort(order, [&](const Outcome *a, const Outcome *b) { return keyOf(a) < keyOf(b); });
  std::vector<Outcome *> front;
  for (Outcome *each : order) {
    auto isAsGood = [&](Outcome *other) {
      return dominates(*other, *each) ||
             (*other->seconds() == *each->seconds() && other->design.costs == each->design.costs);
    };
    if (llvm::any_of(front, isAsGood))
      continue;
    each->isOnFront = true;
    front.push_back(each);
  }
}

std::vector<const Outcome *> Exploration::front() const {
  std::vector<const Outcome *> result;
  for (const Outcome &each : outcomes)
    if (each.isOnFront)
      result.push_back(&each);
  llvm::stable_sort(result, [](const Outcome *a, const Outcome *b) { return *a->seconds() < *b->seconds(); });
  return result;
}

//===-- Threads -----------------------------------------------------------===//

llvm::Expected<Exploration> explore::explore(const Sweep &sweep, const ExploreOptions &options,
                                             llvm::function_ref<void(size_t, size_t)> done) {
  auto begin = std::chrono::steady_clock::now();
  auto designs = sweep.designs();
  if (!designs)
    return designs.takeError();
  auto chip = TargetRegistry::get().describe(sweep.target);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().targetOf(sweep.target);
  if (!target)
    return target.takeError();
  const bool isEarly = extendsEarly(**target, **chip);
  Exploration result{sweep, options, {}, 0};
  for (Design &design : *designs) {
    Outcome &outcome = result.outcomes.emplace_back();
    outcome.design = std::move(design);
  }

  std::atomic<size_t> next{0}, finished{0};
  std::mutex mutex;
  llvm::Error problem = llvm::Error::success();
  auto work = [&] {
    std::unique_ptr<Worker> worker;
    for (size_t index; (index = next++) < result.outcomes.size();) {
      if (!worker) {
        worker = std::make_unique<Worker>(sweep, options, isEarly);
        if (llvm::Error error = worker->prepare()) {
          std::lock_guard lock(mutex);
          next = result.outcomes.size();
          if (problem)
            llvm::consumeError(std::move(error)); // another thread has said the same
          else
            problem = std::move(error);
          return;
        }
      }
      Outcome &outcome = result.outcomes[index];
      for (size_t program = 0; program < options.programs.size() && outcome.design.refusal.empty() && worker;
           ++program) {
        outcome.programs.push_back(worker->plan(program, outcome.design));
        if (!worker->isSound) { // the next program gets a new context
          (void)worker.release();
          break;
        }
      }
      size_t count = ++finished;
      if (done) {
        std::lock_guard lock(mutex);
        done(count, result.outcomes.size());
      }
    }
  };
  size_t jobs = std::max<size_t>(1, std::min<size_t>(options.jobs, result.outcomes.size()));
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(static_cast<unsigned>(jobs)));
  for (size_t i = 0; i < jobs; ++i)
    pool.async(work);
  pool.wait();
  if (problem)
    return std::move(problem);
  markFront(result.outcomes);
  result.elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}
