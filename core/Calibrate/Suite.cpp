//===- Suite.cpp - Programs beside their predictions ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Times by the trace of a call, on the host by many calls; predictions by planning for changed chips.
///
//===----------------------------------------------------------------------===//

#include "core/Calibrate/Suite.h"
#include "core/Explore/Explorer.h"
#include "core/Pipelines/ExecDevice.h"
#include "core/Tracing/ProgramTrace.h"
#include "core/include/tilewright/Pipeline.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::calibrate;

/// Seconds of a call on this machine. The fastest of many samples: in the others something else took the core or what
/// the cores share.
static llvm::Expected<double> fastestCall(mlir::ModuleOp module, const RunOptions &options) {
  constexpr unsigned samples = 25;
  auto run = Run::create(module, options, {});
  if (!run)
    return run.takeError();
  auto measured = (*run)->benchmark(samples);
  if (!measured)
    return measured.takeError();
  return *llvm::min_element(measured->samples);
}

/// Seconds that a call takes before and after its kernels: those of a program that adds a number to another one.
static llvm::Expected<double> callSeconds(const std::string &chip) {
  constexpr llvm::StringLiteral program = R"(func.func @call(%x: tensor<f32>) -> tensor<f32> {
    %e = tensor.empty() : tensor<f32>
    %r = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%x : tensor<f32>) outs(%e : tensor<f32>) {
      ^bb0(%a: f32, %o: f32):
        %t = arith.addf %a, %a : f32
        linalg.yield %t : f32
    } -> tensor<f32>
    return %r : tensor<f32>
  })";
  mlir::MLIRContext context(programDialects(), mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  if (!module)
    return llvm::createStringError("the program of a call cannot be read");
  RunOptions options;
  options.compile.target = chip;
  return fastestCall(*module, options);
}

/// Seconds of the kernels of one call of the program in `file`, by the clock of the device.
static llvm::Expected<double> measureProgram(const std::string &file, const std::string &chip,
                                             const SuitePlace &place) {
  mlir::MLIRContext context(programDialects(), mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = parseProgram(file, sources, context);
  if (!module)
    return llvm::createStringError("'" + file + "' cannot be read");
  RunOptions options;
  options.compile.target = chip;
  options.place.emulator = !place.isHost && place.command.empty();
  std::unique_ptr<ExecDevice> device;
  if (!place.command.empty()) {
    auto opened = ExecDevice::open(place.command, chip, place.timeout);
    if (!opened)
      return opened.takeError();
    device = std::move(*opened);
    options.place.process = device.get();
  }
  if (place.isHost)
    return fastestCall(*module, options);
  ProgramTrace trace(context, chip);
  trace.watch(options);
  auto run = Run::create(*module, options, {});
  if (!run)
    return run.takeError();
  if (llvm::Error error = trace.execute(**run))
    return std::move(error);
  return trace.totals().measured;
}

/// Seconds that planning says of each of `files` on `chip`; 0 where it says nothing.
/// `call`: that a call takes beside.
static llvm::Expected<std::vector<double>> predict(llvm::ArrayRef<std::string> files, const std::string &chip,
                                                   double call) {
  explore::Sweep sweep;
  sweep.target = chip;
  explore::ExploreOptions options;
  options.programs.assign(files.begin(), files.end());
  auto explored = explore::explore(sweep, options);
  if (!explored)
    return explored.takeError();
  std::vector<double> seconds;
  const explore::Outcome &outcome = explored->outcomes.front();
  for (size_t i = 0; i < files.size(); ++i) {
    const bool isKnown = i < outcome.programs.size() && outcome.programs[i].refusal.empty();
    seconds.push_back(isKnown && outcome.programs[i].seconds > 0 ? outcome.programs[i].seconds + call : 0);
  }
  return seconds;
}

PredictionErrors calibrate::errorsOf(llvm::ArrayRef<SuiteResult> results, bool calibrated) {
  std::vector<double> errors;
  for (const SuiteResult &result : results)
    if (result.refusal.empty())
      errors.push_back(std::fabs((calibrated ? result.calibrated : result.byRecord) / result.measured - 1));
  if (errors.empty())
    return {};
  llvm::sort(errors);
  return {errors.size(), errors[errors.size() / 2], errors[(errors.size() * 95 - 1) / 100]};
}

llvm::Expected<std::vector<SuiteResult>> calibrate::runSuite(llvm::ArrayRef<std::string> files, llvm::StringRef chip,
                                                             llvm::ArrayRef<MeasuredField> fields,
                                                             const SuitePlace &place) {
  std::vector<SuiteResult> results;
  if (files.empty())
    return results;
  const std::string record = chip.str(), separator = chip.contains('@') ? "," : "@";
  auto changed = [&](llvm::ArrayRef<MeasuredField> by) {
    const std::string changes = assignmentsOf(by);
    return changes.empty() ? record : record + separator + changes;
  };
  double call = 0;
  if (place.isHost) {
    auto measured = callSeconds(record);
    if (!measured)
      return measured.takeError();
    call = *measured;
  }
  auto byRecord = predict(files, record, call), calibrated = predict(files, changed(fields), call);
  if (!byRecord)
    return llvm::joinErrors(byRecord.takeError(), calibrated ? llvm::Error::success() : calibrated.takeError());
  if (!calibrated)
    return calibrated.takeError();
  for (auto [i, file] : llvm::enumerate(files)) {
    SuiteResult result;
    result.program = llvm::sys::path::stem(file).str();
    auto seconds = measureProgram(file, place.isHost ? changed(fields) : record, place);
    if (!seconds)
      return seconds.takeError();
    result.measured = *seconds;
    result.byRecord = (*byRecord)[i];
    result.calibrated = (*calibrated)[i];
    if (result.byRecord <= 0 || result.calibrated <= 0 || result.measured <= 0)
      result.refusal = "no plan says how long it takes";
    results.push_back(std::move(result));
  }
  std::vector<double> least;
  for (const SuiteResult &result : results)
    least.push_back(std::fabs(result.byRecord - result.measured));
  for (const MeasuredField &field : fields) {
    if (!field.differs())
      continue;
    auto alone = predict(files, changed(field), call);
    if (!alone)
      return alone.takeError();
    for (auto [i, result] : llvm::enumerate(results)) {
      const double error = std::fabs((*alone)[i] - result.measured);
      if (!result.refusal.empty() || error >= 0.99 * least[i])
        continue;
      least[i] = error;
      result.explainedBy = field.path;
    }
  }
  return results;
}
