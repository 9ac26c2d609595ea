//===- Report.cpp - What a bisection found --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the stage down to the element.
///
//===----------------------------------------------------------------------===//

#include "core/Bisect/Report.h"
#include "core/Analysis/Signature.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tilewright;
using namespace tilewright::bisect;

std::string bisect::describeStage(unsigned stage) {
  return llvm::formatv("stage {0} ({1})", stage, stageName(stage)).str();
}

/// "fuse-nests of mlp_kernel_0", "share-kernels".
static std::string describeStep(const Step &step) {
  return step.function[0] ? llvm::formatv("{0} of function {1}", step.pass, step.function).str()
                          : std::string(step.pass);
}

static std::string sizesText(llvm::ArrayRef<int64_t> sizes) {
  return llvm::join(llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); }), ",");
}

void bisect::print(const Report &report, const Subject &subject, const Diagnosis &diagnosis, llvm::raw_ostream &os) {
  auto line = [&](llvm::StringRef name, const llvm::Twine &text) {
    os << llvm::formatv("{0,-12}{1}\n", name, text.str());
  };
  line("failure", nameOf(diagnosis.whole.verdict) + ": " + diagnosis.whole.message);
  if (diagnosis.referenceWrong)
    line("reference",
         "the one of tw-run --verify is wrong too; compared with what upstream's passes make of the program");
  if (const Step *step = diagnosis.wrongStep()) {
    unsigned first = diagnosis.suspects.front().stage;
    line("stage", describeStage(step->stage) + (first != step->stage ? " or " + describeStage(first) : ""));
    line("pass", describeStep(*step));
    if (diagnosis.suspects.size() > 1) {
      std::string others;
      for (const Step &other : llvm::ArrayRef(diagnosis.suspects).drop_back())
        others += (others.empty() ? "" : ", ") + std::string(other.pass);
      line("", "or one before it, after which nothing can be run: " + others);
    }
  } else if (diagnosis.afterPasses) {
    line("stage",
         describeStage(6) + ": as the last pass leaves it the program is right; the code generator or the device");
  } else {
    line("stage", "none: the program is wrong before the first pass");
  }
  for (const Nest &nest : report.nests)
    line("nest", nest.text + " of " + nest.function + (nest.location.empty() ? "" : ", " + nest.location));
  if (!diagnosis.reference.sizes.empty())
    line("sizes", sizesText(diagnosis.reference.sizes));
  if (diagnosis.first.verdict == Verdict::Wrong && diagnosis.first.message != diagnosis.whole.message)
    line("after it", diagnosis.first.message);
  if (!report.reproducer.empty())
    line("reproducer", report.reproducer + llvm::formatv(": {0} lines, {1}", report.reproducerLines,
                                                         report.failsAlone ? "fails alone" : "does NOT fail alone")
                                               .str());
  if (!report.command.empty())
    line("command", report.command);
  line("took", llvm::formatv("{0:f1} s, {1} attempts", report.seconds, report.attempts).str());
}

llvm::json::Object bisect::toJson(const Report &report, const Subject &subject, const Diagnosis &diagnosis) {
  auto number = [](double value) -> llvm::json::Value {
    return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
  };
  const Outcome &whole = diagnosis.whole;
  llvm::json::Object object{{"function", report.function},
                            {"verdict", nameOf(whole.verdict)},
                            {"message", whole.message},
                            {"reference_wrong", diagnosis.referenceWrong},
                            {"attempts", static_cast<int64_t>(report.attempts)},
                            {"seconds", report.seconds},
                            {"sizes", llvm::json::Array(diagnosis.reference.sizes)}};
  llvm::json::Array suspects, nests;
  for (const Step &step : diagnosis.suspects)
    suspects.push_back(llvm::json::Object{
        {"stage", static_cast<int64_t>(step.stage)}, {"pass", step.pass}, {"function", step.function}});
  for (const Nest &nest : report.nests)
    nests.push_back(llvm::json::Object{{"function", nest.function}, {"nest", nest.text}, {"location", nest.location}});
  if (diagnosis.afterPasses)
    object["stage"] = stageName(6).str();
  if (const Step *step = diagnosis.wrongStep()) {
    object["stage"] = stageName(step->stage).str();
    object["pass"] = step->pass;
  }
  object["suspects"] = std::move(suspects);
  object["nests"] = std::move(nests);
  if (whole.verdict == Verdict::Wrong)
    object["element"] = llvm::json::Object{{"output", static_cast<int64_t>(whole.output)},
                                           {"index", llvm::json::Array(whole.element)},
                                           {"got", number(whole.got)},
                                           {"expected", number(whole.expected)},
                                           {"bound", number(whole.bound)},
                                           {"wrong", whole.wrong}};
  if (!report.reproducer.empty())
    object["reproducer"] = llvm::json::Object{{"file", report.reproducer},
                                              {"lines", static_cast<int64_t>(report.reproducerLines)},
                                              {"fails_alone", report.failsAlone},
                                              {"command", report.command}};
  return object;
}

std::string bisect::reproducerText(const Subject &subject, llvm::ArrayRef<std::string> comment) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const std::string &line : comment)
    os << "// " << line << "\n";
  mlir::ModuleOp module = *subject.program;
  if (llvm::hasSingleElement(*module.getBody()) && module->getAttrDictionary().empty())
    module.getBody()->front().print(os, mlir::OpPrintingFlags().useLocalScope());
  else
    module.print(os, mlir::OpPrintingFlags().useLocalScope());
  if (!llvm::StringRef(text).ends_with("\n"))
    text += "\n";
  return text;
}
