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
///   tw-calibrate --target cpu [PROGRAM.mlir...] [--save]   the machine that this runs on, by the target's measurement
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

static void print(const char *whose, const calibrate::PredictionErrors &errors) {
  llvm::outs() << llvm::format("%s: median error %.1f %%, 95 %% of %zu programs below %.1f %%\n", whose,
                               100 * errors.median, errors.programs, 100 * errors.most);
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

namespace {
/// What was measured, and where it was kept.
struct Found {
  std::vector<calibrate::MeasuredField> fields;
  std::vector<calibrate::SuiteResult> results;
  std::string saved; // a file; empty: nowhere
};
} // namespace

static int report(const Arguments &arguments, const Found &found) {
  if (arguments.json) {
    llvm::outs() << llvm::formatv("{0:2}", json::Value(toJson(found.fields, found.results))) << "\n";
    return finish(0);
  }
  print(found.fields);
  if (!found.results.empty()) {
    print(found.results);
    print("\nby record", calibrate::errorsOf(found.results, /*calibrated=*/false));
    print("calibrated", calibrate::errorsOf(found.results, /*calibrated=*/true));
  }
  const std::string changes = calibrate::assignmentsOf(found.fields);
  llvm::outs() << "\n"
               << (changes.empty()
                       ? std::string("the record agrees within 5 %\n")
                       : llvm::formatv("as a chip: {0}@{1}\n", arguments.target.target.getValue(), changes));
  if (!found.saved.empty())
    llvm::outs() << "saved: " << found.saved << "\n";
  return finish(0);
}

/// Keeps what differs for TARGET:CHIP@measured.
static llvm::Expected<std::string> save(const TargetDescription &chip,
                                        llvm::ArrayRef<calibrate::MeasuredField> fields) {
  std::vector<std::pair<std::string, double>> differing;
  for (const calibrate::MeasuredField &field : fields)
    if (field.differs())
      differing.emplace_back(field.path, field.measured);
  return saveMeasured((chip.target() + ":" + chip.chip()).str(), differing);
}

/// The host: what its target measures. The chip that is this machine finds what the target keeps; any other chip is
/// compared with this machine, and keeps it as a chip that was measured.
static int measureHost(const Arguments &arguments) {
  auto target = TargetRegistry::get().targetOf(arguments.target.target);
  if (!target)
    return fail(target.takeError());
  auto chip = TargetRegistry::get().describe(arguments.target.target);
  if (!chip)
    return fail(chip.takeError());
  const bool isKeptByTarget = (*chip)->chip() == (*target)->defaultChip();
  llvm::Expected<std::string> measured = (*target)->measure(arguments.save && isKeptByTarget);
  if (!measured)
    return fail(measured.takeError());
  Found found;
  auto fields = calibrate::fieldsOfReport(**chip, *measured);
  if (!fields)
    return fail(fields.takeError());
  found.fields = std::move(*fields);
  if (auto record = (*chip)->number(Number::Team)) {
    if (auto team = calibrate::teamNanoseconds())
      found.fields.push_back({"numbers.team", *record, *team});
    else
      llvm::consumeError(team.takeError()); // programs of several threads cannot run here
  }
  calibrate::SuitePlace here;
  here.isHost = true;
  auto results = calibrate::runSuite(arguments.programs, arguments.target.target, found.fields, here);
  if (!results)
    return fail(results.takeError());
  found.results = std::move(*results);
  if (arguments.save && !isKeptByTarget) {
    auto path = save(**chip, found.fields);
    if (!path)
      return fail(path.takeError());
    found.saved = *path;
  }
  return report(arguments, found);
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
  Found found;
  found.fields = std::move(*fields);
  auto results = calibrate::runSuite(arguments.programs, arguments.target.target, found.fields,
                                     {false, isProcess ? process.str() : "", arguments.timeout});
  if (!results)
    return fail(results.takeError());
  found.results = std::move(*results);
  if (arguments.save) {
    auto path = save(**chip, found.fields);
    if (!path)
      return fail(path.takeError());
    found.saved = *path;
  }
  return report(arguments, found);
}
