//===- tw-conformance.cpp - What works on a target ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `tw-conformance --target T[:CHIP]`: every unit, and programs of all families, types,
/// shapes and layouts, on a device. See docs/conformance.md.
///
//===----------------------------------------------------------------------===//

#include "core/Conformance/Pool.h"
#include "core/Conformance/Report.h"
#include "core/Pipelines/Run.h"
#include "core/Tools/Command.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include <thread>

using namespace tilewright;
using namespace tilewright::conformance;
namespace cl = llvm::cl;

namespace {

struct Arguments {
  cl::OptionCategory category{"tw-conformance options"};
  TargetOptions target{category};
  cl::opt<std::string> device{
      "device",
      cl::desc("Where programs run: host, emulator, model, gpu, exec:PROG or auto, what runs the chip (default)"),
      cl::init("auto"), cl::cat(category)};
  cl::opt<bool> quick{"quick", cl::desc("A cover of the space in at most two minutes (default)"), cl::cat(category)};
  cl::opt<bool> full{"full", cl::desc("Every combination"), cl::cat(category)};
  cl::list<std::string> filters{"filter", cl::desc("Only cases whose name holds this text or matches this pattern"),
                                cl::cat(category)};
  cl::opt<bool> list{"list", cl::desc("Print the names of the cases and run none"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object (docs/json.md)"), cl::cat(category)};
  cl::opt<std::string> html{"html", cl::desc("Write a page"), cl::value_desc("R.html"), cl::cat(category)};
  cl::opt<std::string> keep{"keep", cl::desc("Directory for program and arrays of each case"), cl::value_desc("DIR"),
                            cl::cat(category)};
  cl::opt<double> timeout{"timeout", cl::desc("Seconds that a case may take"), cl::init(120), cl::cat(category)};
  cl::opt<unsigned> mostRefused{
      "max-refused",
      cl::desc("Percent of a family's cases that the compiler may refuse; with more the run has failed (default 50)"),
      cl::value_desc("P"), cl::init(50), cl::cat(category)};
  cl::opt<unsigned> jobs{"jobs", cl::desc("Worker processes (0: all in this process; default: the processors)"),
                         cl::init(std::max(1u, std::thread::hardware_concurrency())), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of the values"), cl::init(0), cl::cat(category)};
};

} // namespace

/// Whether a case has a name that one of the filters means.
static llvm::Expected<bool> isMeant(const std::string &name, const cl::list<std::string> &filters) {
  for (const std::string &filter : filters) {
    if (llvm::StringRef(filter).find_first_of("*?[") == llvm::StringRef::npos || name == filter) {
      if (llvm::StringRef(name).contains(filter))
        return true;
      continue;
    }
    auto pattern = llvm::GlobPattern::create(filter);
    if (!pattern)
      return pattern.takeError();
    if (pattern->match(name))
      return true;
  }
  return filters.empty();
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  if (llvm::Error error =
          command.parse(arguments.category, "Tests what works on a target, and how well.\n", arguments.target))
    return fail(std::move(error));
  if (arguments.quick && arguments.full)
    return fail("--quick and --full exclude each other");
  if (!(arguments.timeout > 0))
    return fail("--timeout expects a positive number of seconds");

  if (arguments.mostRefused > 100)
    return fail("--max-refused expects a percentage, 0 (none may be refused) to 100");

  RunnerOptions options;
  options.target = arguments.target.target;
  options.device = arguments.device;
  options.opener = tw_device_open;
  options.timeout = arguments.timeout / 2; // of one request, so that its reason is known before the case's time is up
  options.seed = arguments.seed;
  options.keep = arguments.keep;
  auto runner = Runner::create(options);
  if (!runner)
    return fail(runner.takeError());

  std::vector<Case> all = unitCases((*runner)->chip());
  for (Case &one : programCases())
    all.push_back(std::move(one));
  std::vector<const Case *> chosen;
  for (const Case &one : all) {
    auto meant = isMeant(one.name(), arguments.filters);
    if (!meant)
      return fail(meant.takeError());
    // A case that is named in full runs in either mode.
    bool named = llvm::is_contained(arguments.filters, one.name());
    if (*meant && (one.quick || arguments.full || named) && ((*runner)->hasTime() || one.family != "performance"))
      chosen.push_back(&one);
  }
  if (chosen.empty())
    return fail("no case has a name that --filter means; see --list");
  if (arguments.list) {
    for (const Case *one : chosen) {
      llvm::outs() << one->name() << "\n";
      if (llvm::Error error = keepProgram(arguments.keep, *one))
        return fail(std::move(error));
    }
    return finish(0);
  }

  Report report;
  report.target = ((*runner)->chip().target() + ":" + (*runner)->chip().chip()).str();
  report.device = (*runner)->device().str();
  report.mode = arguments.full ? "full" : "quick";
  report.mostRefused = arguments.mostRefused;
  for (const std::string &plugin : arguments.target.plugins)
    report.options += "--load-target=" + plugin + " ";
  report.options += "--target " + options.target + " --device '" + report.device + "'";
  if (options.seed)
    report.options += " --seed " + std::to_string(options.seed);
  report.results.resize(chosen.size());
  double begin = secondsNow();
  size_t finished = 0, failures = 0;
  bool shows = llvm::errs().is_displayed();
  auto done = [&](size_t index, const Outcome &outcome) {
    report.results[index] = {chosen[index], outcome};
    failures += outcome.status == Status::Failed;
    ++finished;
    if (shows)
      llvm::errs() << llvm::formatv("\r\033[K{0} of {1}, {2} failed: {3}", finished, chosen.size(), failures,
                                    chosen[index]->name());
  };
  llvm::outs().flush();
  if (llvm::Error error = runAll(**runner, chosen, {arguments.jobs, arguments.timeout}, done))
    return fail(std::move(error));
  if (shows)
    llvm::errs() << "\r\033[K";
  report.seconds = secondsNow() - begin;

  if (!arguments.html.empty())
    if (llvm::Error error = writeFile(arguments.html, toHtml(report)))
      return fail(std::move(error));
  if (arguments.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(toJson(report))) << "\n";
  else
    printTable(report, llvm::outs());
  return finish(failures || !report.refusedTooOften().empty() ? 2 : 0);
}
