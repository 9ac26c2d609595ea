//===- Compile.cpp - The compiler for programs in C -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Options, compilation, and what a result tells.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/C/Objects.h"
#include "core/Pipelines/HostCheck.h"
#include "tilewright/Explain.h"
#include "tilewright/Target.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include <dlfcn.h>
#include <mutex>

using namespace tilewright;

const char *twc_version(void) { return TILEWRIGHT_VERSION; }
const char *twc_llvm_version(void) { return LLVM_VERSION_STRING; }

//===-- Options -----------------------------------------------------------===//

twc_options *twc_options_create(void) { return new twc_options; }
void twc_options_destroy(twc_options *options) { delete options; }

/// Whether the library is loaded already and its target known, as those of TILEWRIGHT_TARGET_PATH are.
static bool isRegistered(llvm::StringRef path) {
  void *library = dlopen(path.str().c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return false;
  auto *entry = reinterpret_cast<const TargetPlugin *(*)()>(dlsym(library, targetPluginEntry));
  const TargetPlugin *plugin = entry ? entry() : nullptr;
  bool found = plugin && incompatibility(*plugin).empty() &&
               llvm::any_of(TargetRegistry::get().targets(),
                            [&](const Target *target) { return target->name() == plugin->name; });
  dlclose(library);
  return found;
}

/// A plugin stays loaded: options of other calls may name it again.
static llvm::Error loadPlugin(llvm::StringRef path) {
  static std::mutex mutex;
  static llvm::StringSet<> loaded;
  std::lock_guard lock(mutex);
  if (loaded.contains(path) || isRegistered(path))
    return llvm::Error::success();
  if (llvm::Error error = TargetRegistry::get().load(path))
    return error;
  loaded.insert(path);
  return llvm::Error::success();
}

/// Stores `value` if it is one of `known`.
static llvm::Error choose(std::string &into, llvm::StringRef option, const std::string &value,
                          llvm::ArrayRef<std::string> known) {
  if (!llvm::is_contained(known, value))
    return unknownName(("value of '" + option + "'").str(), value, known);
  into = value;
  return llvm::Error::success();
}

static llvm::Error set(twc_options &options, llvm::StringRef name, const std::string &value) {
  const std::pair<llvm::StringRef, std::string *> texts[] = {{"function", &options.function},
                                                             {"soname", &options.soname},
                                                             {"header", &options.header},
                                                             {"reproducer", &options.reproducer}};
  for (auto [known, text] : texts)
    if (name == known) {
      *text = value;
      return llvm::Error::success();
    }
  if (name == "target" || name == "plugin") {
    if (llvm::Error error = registerInstalledTargets())
      return error;
    if (name == "plugin")
      return loadPlugin(value);
    auto chip = TargetRegistry::get().describe(value);
    if (!chip)
      return chip.takeError();
    options.target = value;
    return llvm::Error::success();
  }
  if (name == "fp")
    return choose(options.fp, name, value, {"default", "strict", "reproducible", "fast"});
  if (name == "device")
    return choose(options.device, name, value, {"host", "emulator", "model"});
  if (name == "output") { // checked together with the target
    options.output = value == "none" ? "" : value;
    return llvm::Error::success();
  }
  if (name == "explain") {
    std::string form;
    options.explain = true;
    return choose(form, name, value, {"json"});
  }
  if (name == "check-indices") {
    std::string form;
    if (llvm::Error error = choose(form, name, value, {"yes", "no"}))
      return error;
    options.checkIndices = form == "yes";
    return llvm::Error::success();
  }
  if (name == "threads") {
    if (llvm::StringRef(value).getAsInteger(10, options.threads) || options.threads < 1 || options.threads > 1024) {
      options.threads = 1;
      return llvm::createStringError("threads=" + value + " is out of range; expected 1 to 1024");
    }
    return llvm::Error::success();
  }
  return unknownName("option", name,
                     {"target", "plugin", "function", "fp", "threads", "output", "soname", "header", "explain",
                      "reproducer", "device", "check-indices"});
}

twc_status twc_options_set(twc_options *options, const char *name, const char *value, twc_result **wanted) {
  auto result = std::make_unique<twc_result>();
  if (llvm::Error error = set(*options, name ? name : "", value ? value : "")) {
    result->status = TWC_BAD_OPTION;
    result->add(std::move(error));
  }
  return finish(std::move(result), wanted, /*onlyFailures=*/true);
}

//===-- Compiling ---------------------------------------------------------===//

/// What `options` ask for, or an error that says what would be right.
static llvm::Expected<Output> outputOf(const twc_options &options) {
  if (llvm::Error error = registerInstalledTargets())
    return error;
  auto kinds = outputKinds(options.target);
  if (!kinds)
    return kinds.takeError();
  Output output{options.output.value_or(""), "", options.header};
  if (!options.output) // the libraries of processors, the whole artifact of devices, the source of others
    output.kind = llvm::is_contained(*kinds, "so") ? "so" : llvm::is_contained(*kinds, "tw") ? "tw" : kinds->front();
  if (!output.kind.empty() && !llvm::is_contained(*kinds, output.kind))
    return unknownName("output for '" + options.target + "':", output.kind, *kinds);
  output.file = !options.soname.empty() ? options.soname : "program." + output.kind;
  if (output.kind.empty())
    output.file = "";
  if (llvm::Error error = checkOutput(options.target, output))
    return error;
  return output;
}

twc_status twc_compile(const twc_options *options, const char *name, const void *text, size_t bytes,
                       twc_result **wanted) {
  auto result = std::make_unique<twc_result>();
  auto output = outputOf(*options);
  if (!output) {
    result->status = TWC_BAD_OPTION;
    result->add(output.takeError());
    return finish(std::move(result), wanted);
  }
  std::unique_ptr<Job> job = runJob(*options, name, *result, [&](Job &job) -> llvm::Error {
    mlir::ModuleOp module = job.read(llvm::StringRef(static_cast<const char *>(text), bytes));
    if (!module)
      return llvm::make_error<Reported>();
    std::optional<DecisionLog> log;
    if (options->explain)
      log.emplace(&job.context);
    auto compiled = compileProgram(module, options->function, job.compileOptions(), *output);
    if (log)
      result->explanation = llvm::formatv("{0}", llvm::json::Value(log->take())).str();
    if (!compiled)
      return compiled.takeError();
    job.setSignatures(compiled->signatures);
    result->header = std::move(compiled->header);
    if (!output->kind.empty())
      result->artifact = std::move(compiled->artifact);
    return llvm::Error::success();
  });
  if (job && result->artifact && !result->artifact->constants.parts.empty())
    result->program = std::move(job);
  return finish(std::move(result), wanted);
}

//===-- Results -----------------------------------------------------------===//

twc_status twc_result_status(const twc_result *result) { return result->status; }

const void *twc_result_artifact(const twc_result *known, size_t *bytes) {
  auto *result = const_cast<twc_result *>(known); // it says the same afterwards
  std::lock_guard lock(*result->joining);
  if (result->program) {
    result->artifact = Artifact{std::move(*result->artifact).whole(), 0, {}};
    result->program.reset();
  }
  if (bytes)
    *bytes = result->artifact ? result->artifact->bytes.size() : 0;
  return result->artifact ? result->artifact->bytes.data() : nullptr;
}

int twc_result_write(const twc_result *known, int descriptor) {
  auto *result = const_cast<twc_result *>(known);
  std::lock_guard lock(*result->joining);
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  if (result->artifact)
    result->artifact->write(os);
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error.value();
}

const char *twc_result_signatures(const twc_result *result) { return result->signatures.c_str(); }
const char *twc_result_header(const twc_result *result) { return result->header.c_str(); }
const char *twc_result_explanation(const twc_result *result) { return result->explanation.c_str(); }
size_t twc_result_diagnostics(const twc_result *result) { return result->messages.size(); }

twc_status twc_result_diagnostic(const twc_result *result, size_t index, twc_diagnostic *diagnostic) {
  if (index >= result->messages.size())
    return TWC_BAD_OPTION;
  const twc_result::Message &message = result->messages[index];
  *diagnostic = {message.severity, message.file.c_str(), message.line, message.column, message.text.c_str()};
  return TWC_OK;
}

void twc_result_destroy(twc_result *result) { delete result; }

//===-- Targets -----------------------------------------------------------===//

static llvm::Expected<std::string> describe(llvm::StringRef target) {
  if (llvm::Error error = registerInstalledTargets())
    return error;
  auto chip = TargetRegistry::get().describe(target);
  if (!chip)
    return chip.takeError();
  auto kinds = outputKinds(target);
  if (!kinds)
    return kinds.takeError();
  llvm::json::Object facts = toJson(**chip);
  ProgramForm form = programForm(**chip);
  facts["form"] = form == ProgramForm::Functions ? "functions" : form == ProgramForm::Launches ? "launches" : "source";
  facts["outputs"] = llvm::json::Array(*kinds);
  llvm::Error refusal = checkRunsHere(target);
  facts["refusal"] = refusal ? llvm::toString(std::move(refusal)) : "";
  return llvm::formatv("{0}", llvm::json::Value(std::move(facts))).str();
}

twc_status twc_describe(const twc_options *options, twc_result **wanted) {
  auto result = std::make_unique<twc_result>();
  auto text = describe(options->target);
  if (text) {
    result->explanation = std::move(*text);
  } else {
    result->status = TWC_BAD_OPTION;
    result->add(text.takeError());
  }
  return finish(std::move(result), wanted);
}
