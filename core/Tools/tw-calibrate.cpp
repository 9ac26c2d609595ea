//===- tw-calibrate.cpp - Numbers of a chip's records, measured -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures the numbers of a chip's records by kernels made of these records, and says which of them explain how far
/// programs are from their predictions:
///
///   tw-calibrate --target acme:one --device exec:PROG [PROGRAM.mlir...] [--save]
///
///   tw-calibrate --target cpu [--save]   the machine that this runs on, by the target's own measurement
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Calibration.h"
#include "core/Calibrate/Suite.h"
#include "core/Machine/MeasuredRates.h"
#include "core/Tools/Command.h"
#include "tilewright/Target.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tilewright;
namespace cl = llvm::cl;
namespace json = llvm::json;

namespace {
struct Arguments {
  cl::OptionCategory category{"tw-calibrate options"};
  TargetOptions target{category};
  cl::list<std::string> programs{cl::Positional, cl::desc("[FILE.mlir...]"), cl::cat(category)};
  cl::opt<std::string> device{
      "device",
      cl::desc("Where kernels run: emulator, emulator@PATH=VALUE,.. (with other numbers), exec:PROG, or host"),
      cl::init("host"), cl::cat(category)};
  cl::opt<double> timeout{"timeout", cl::desc("Seconds that a request to exec:PROG may take"), cl::init(60),
                          cl::cat(category)};
  cl::opt<bool> save{"save",
                     cl::desc("Keep the numbers: those of the host where its target finds them, of another chip "
                              "for TARGET:CHIP@measured"),
                     cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Print one JSON object (docs/json.md)"), cl::cat(category)};
};
} // namespace

/// The host: what its target measures.
static int measureHost(const Arguments &arguments) {
  if (!arguments.programs.empty())
    return fail(
        "programs are compared on --device emulator or exec:PROG; on the host, tw-run --benchmark measures one");
  auto target = TargetRegistry::get().targetOf(arguments.target.target);
  if (!target)
    return fail(target.takeError());
  llvm::Expected<std::string> report = (*target)->measure(arguments.save);
  if (!report)
    return fail(report.takeError());
  llvm::outs() << *report << "\n";
  return finish(0);
}

static void print(llvm::ArrayRef<calibrate::MeasuredField> fields) {
  llvm::outs() << llvm::format("%-38s %10s %10s\n", "field", "record", "measured");
  for (const calibrate::MeasuredField &field : fields)
    llvm::outs() << llvm::format("%-38s %10.2f %10.2f", field.path.c_str(), field.record, field.measured)
                 << (field.differs() ? "   differs\n" : "\n");
}

static void print(llvm::ArrayRef<calibrate::SuiteResult> results) {
  llvm::outs() << llvm::format("\n%-20s %12s %12s %8s %12s %8s   %s\n", "program", "measured", "by record", "",
                               "calibrated", "", "explained best by");
  for (const calibrate::SuiteResult &result : results) {
    if (!result.refusal.empty()) {
      llvm::outs() << llvm::format("%-20s ", result.program.c_str()) << result.refusal << "\n";
      continue;
    }
    auto off = [&](double predicted) { return 100 * (predicted / result.measured - 1); };
    llvm::outs() << llvm::format("%-20s %9.3f us %9.3f us %+6.1f %% %9.3f us %+6.1f %%   ", result.program.c_str(),
                                 result.measured * 1e6, result.byRecord * 1e6, off(result.byRecord),
                                 result.calibrated * 1e6, off(result.calibrated))
                 << (result.explainedBy.empty() ? "no field that differs" : result.explainedBy) << "\n";
  }
}

static json::Object toJson(llvm::ArrayRef<calibrate::MeasuredField> fields,
                           llvm::ArrayRef<calibrate::SuiteResult> results) {
  json::Array list, programs;
  for (const calibrate::MeasuredField &field : fields)
    list.push_back(json::Object{
        {"field", field.path}, {"record", field.record}, {"measured", field.measured}, {"differs", field.differs()}});
  for (const calibrate::SuiteResult &result : results) {
    json::Object object{{"program", result.program}};
    if (!result.refusal.empty())
      object["refused"] = result.refusal;
    else
      object = json::Object{{"program", result.program},
                            {"measured_seconds", result.measured},
                            {"predicted_seconds", result.byRecord},
                            {"calibrated_seconds", result.calibrated},
                            {"explained_by", result.explainedBy}};
    programs.push_back(std::move(object));
  }
  return json::Object{{"fields", std::move(list)}, {"programs", std::move(programs)}};
}

int main(int argc, char **argv) {
  Command command(argc, argv);
  Arguments arguments;
  if (llvm::Error error =
          command.parse(arguments.category, "Measures the numbers of a chip's records.\n", arguments.target))
    return fail(std::move(error));
  const std::string device = arguments.device;
  llvm::StringRef process = device;
  const bool isProcess = process.consume_front("exec:");
  if (device == "host")
    return measureHost(arguments);
  llvm::StringRef changes = device;
  const bool isEmulator = changes.consume_front("emulator") && (changes.empty() || changes.starts_with("@"));
  if (!isProcess && !isEmulator)
    return fail("unknown device '" + device + "'; expected host, emulator, emulator@PATH=VALUE,.. or exec:PROG");
  if (isEmulator && !changes.empty() && !arguments.programs.empty())
    return fail("an emulator with other numbers runs kernels and no programs; leave the programs away");
  if (!(arguments.timeout > 0))
    return fail("--timeout expects a positive number of seconds");

  auto chip = TargetRegistry::get().describe(arguments.target.target);
  if (!chip)
    return fail(chip.takeError());
  auto clocks = isProcess ? calibrate::processClocks(process, arguments.target.target, arguments.timeout)
                          : calibrate::emulatedClocks(arguments.target.target + changes.str());
  if (!clocks)
    return fail(clocks.takeError());
  auto fields = calibrate::measureFields(**chip, **clocks);
  if (!fields)
    return fail(fields.takeError());
  clocks->reset(); // a process is started once for each use
  auto results = calibrate::runSuite(arguments.programs, arguments.target.target, *fields,
                                     {isProcess ? process.str() : "", arguments.timeout});
  if (!results)
    return fail(results.takeError());
  std::string saved;
  if (arguments.save) {
    std::vector<std::pair<std::string, double>> differing;
    for (const calibrate::MeasuredField &field : *fields)
      if (field.differs())
        differing.emplace_back(field.path, field.measured);
    auto path = saveMeasured(((*chip)->target() + ":" + (*chip)->chip()).str(), differing);
    if (!path)
      return fail(path.takeError());
    saved = *path;
  }
  if (arguments.json) {
    llvm::outs() << llvm::formatv("{0:2}", json::Value(toJson(*fields, *results))) << "\n";
    return finish(0);
  }
  print(*fields);
  if (!results->empty())
    print(*results);
  const std::string found = calibrate::assignmentsOf(*fields);
  llvm::outs() << "\n"
               << (found.empty() ? std::string("the record agrees within 5 %\n")
                                 : llvm::formatv("as a chip: {0}@{1}\n", arguments.target.target.getValue(), found));
  if (!saved.empty())
    llvm::outs() << "saved: " << saved << "\n";
  return finish(0);
}
