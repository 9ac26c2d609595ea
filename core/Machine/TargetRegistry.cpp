//===- TargetRegistry.cpp - Targets by name ----------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds targets, linked or loaded, and keeps the descriptions that they make.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Machine/ChipFields.h"
#include "core/Machine/LaneChecks.h"
#include "core/Machine/MeasuredRates.h"
#include "core/Machine/ModuleTarget.h"
#include "core/Machine/NearestNames.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/Emulation.h"
#include "tilewright/LaneOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace tilewright;
using llvm::createStringError;
using llvm::formatv;

Target::~Target() = default;
void Target::registerDialects(mlir::DialectRegistry &registry) const {}
void Target::extendPipeline(PipelineSlot slot, mlir::OpPassManager &pm, const TargetDescription &chip) const {}
/// Enough where the only ops of a kernel that are not LLVM's are calls of primitives and units by record.
void Target::emulate(EmulationTable &table) const {
  table.space(globalSpace, Space::Global);
  table.space(scratchpadSpace, Space::Scratchpad);
}

std::unique_ptr<LaneOps> Target::laneOps(const TargetDescription &chip) const { return nullptr; }

llvm::Expected<std::string> Target::image(llvm::StringRef kind, llvm::Module &module, CodeGenerator &generator) const {
  return createStringError(formatv("target '{0}' writes no code of kind '{1}'", name(), kind));
}

std::string Target::defaultChip() const {
  std::vector<std::string> names = chips();
  return names.empty() ? "" : names.front();
}

llvm::Expected<std::string> Target::measure(bool save) const {
  return createStringError(formatv("target '{0}' cannot measure the machine that this program runs on", name()));
}

llvm::Error tilewright::unknownName(llvm::StringRef kind, llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  std::string list = known.empty() ? "none" : llvm::join(known, ", ");
  return createStringError(formatv("unknown {0} '{1}'{2} (known: {3})", kind, name, nearestNames(name, known), list));
}

TargetRegistry &TargetRegistry::get() {
  // Never destroyed: at exit the libraries of loaded targets are gone before it would be.
  static auto *registry = new TargetRegistry;
  return *registry;
}

llvm::Error TargetRegistry::add(std::unique_ptr<Target> target) {
  std::lock_guard lock(mutex);
  for (const std::unique_ptr<Target> &other : all) {
    if (other->name() == target->name())
      return createStringError(formatv("target '{0}' is already registered", target->name()));
  }
  all.push_back(std::move(target));
  return llvm::Error::success();
}

/// The linker's message with the name of a missing function as the sources write it.
static std::string readable(const std::string &message) {
  static constexpr llvm::StringLiteral key = "undefined symbol: ";
  size_t at = message.find(key.str());
  if (at == std::string::npos)
    return message;
  llvm::StringRef rest = llvm::StringRef(message).drop_front(at + key.size());
  llvm::StringRef symbol = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
  return formatv("it lacks the definition of '{0}'{1}", llvm::demangle(symbol), rest.drop_front(symbol.size()));
}

llvm::Error TargetRegistry::load(llvm::StringRef path) {
  std::lock_guard lock(mutex);
  std::string reason;
  auto library = llvm::sys::DynamicLibrary::getPermanentLibrary(path.str().c_str(), &reason);
  if (!library.isValid())
    return createStringError(formatv("cannot load target plugin '{0}': {1}", path, readable(reason)));
  auto *entry = reinterpret_cast<const TargetPlugin *(*)()>(library.getAddressOfSymbol(targetPluginEntry));
  if (!entry)
    return createStringError(formatv("'{0}' is no target plugin: it has no entry '{1}'", path, targetPluginEntry));
  const TargetPlugin *plugin = entry();
  if (!plugin)
    return createStringError(formatv("target plugin '{0}' describes no target", path));
  std::string refusal = incompatibility(*plugin);
  if (!refusal.empty())
    return createStringError(formatv("target plugin '{0}' is refused: {1}", path, refusal));
  std::unique_ptr<Target> target(plugin->create());
  refusal = target ? missingHook(*target) : "the hook 'create' makes no target";
  if (!refusal.empty())
    return createStringError(formatv("target plugin '{0}' is refused: {1}", path, refusal));
  return add(std::move(target));
}

llvm::Error TargetRegistry::loadSearchPath() {
  std::lock_guard lock(mutex);
  if (searched)
    return llvm::Error::success();
  searched = true;
  llvm::Error errors = llvm::Error::success();
  std::optional<std::string> path = llvm::sys::Process::GetEnv("TILEWRIGHT_TARGET_PATH");
  if (!path)
    return errors;
  for (llvm::StringRef directory : llvm::split(*path, ':')) {
    std::vector<std::string> files;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(directory, code), end; it != end && !code; it.increment(code)) {
      llvm::StringRef file = llvm::sys::path::filename(it->path());
      if (file.starts_with("libtilewright-target-") && file.ends_with(".so"))
        files.push_back(it->path());
    }
    if (code)
      errors =
          llvm::joinErrors(std::move(errors),
                           createStringError(formatv("TILEWRIGHT_TARGET_PATH: '{0}': {1}", directory, code.message())));
    llvm::sort(files);
    for (const std::string &file : files)
      errors = llvm::joinErrors(std::move(errors), load(file));
  }
  return errors;
}

llvm::Expected<const Target *> TargetRegistry::target(llvm::StringRef name) {
  std::lock_guard lock(mutex);
  auto find = [&]() -> const Target * {
    for (const std::unique_ptr<Target> &target : all) {
      if (target->name() == name)
        return target.get();
    }
    return nullptr;
  };
  if (const Target *found = find())
    return found;
  llvm::Error problems = loadSearchPath();
  if (const Target *found = find()) {
    llvm::consumeError(std::move(problems)); // another plugin's trouble
    return found;
  }
  std::vector<std::string> known;
  for (const std::unique_ptr<Target> &target : all)
    known.push_back(target->name().str());
  return llvm::joinErrors(unknownName("target", name, known), std::move(problems));
}

llvm::Expected<const Target *> TargetRegistry::targetOf(llvm::StringRef targetAndChip) {
  return target(targetAndChip.split('@').first.split(':').first);
}

std::vector<const Target *> TargetRegistry::targets() {
  std::lock_guard lock(mutex);
  std::vector<const Target *> result;
  for (const std::unique_ptr<Target> &target : all)
    result.push_back(target.get());
  return result;
}

llvm::Expected<std::shared_ptr<const TargetDescription>> TargetRegistry::describe(llvm::StringRef targetAndChip) {
  std::lock_guard lock(mutex);
  auto known = descriptions.find(targetAndChip);
  if (known != descriptions.end())
    return known->second;
  auto [full, changes] = targetAndChip.split('@');
  auto [name, chip] = full.split(':');
  llvm::Expected<const Target *> vendor = targetOf(targetAndChip);
  if (!vendor)
    return vendor.takeError();
  auto description = (*vendor)->describe(chip.empty() ? (*vendor)->defaultChip() : chip.str());
  if (description && targetAndChip.contains('@')) {
    std::string assignments = changes.str();
    if (changes == measuredChanges) {
      auto measured = readMeasured(((*vendor)->name() + ":" + (*description)->chip()).str());
      if (!measured)
        return measured.takeError();
      assignments = std::move(*measured);
    }
    if (!assignments.empty() || changes != measuredChanges) // nothing may differ from the records
      description = changedChip(*description, assignments);
  }
  if (!description)
    return description;
  if (std::string fault = laneFault(**vendor, **description); !fault.empty())
    return createStringError(formatv("chip '{0}:{1}': {2}", name, (*description)->chip(), fault));
  descriptions[targetAndChip] = *description;
  return description;
}

llvm::Expected<ModuleTarget> tilewright::moduleTargetOf(mlir::Operation *op) {
  auto chip = targetOf(op);
  if (!chip)
    return chip.takeError();
  auto target = TargetRegistry::get().target((*chip)->target());
  if (!target)
    return target.takeError();
  return ModuleTarget{*target, *chip};
}

llvm::Expected<std::shared_ptr<const TargetDescription>> tilewright::targetOf(mlir::Operation *op) {
  for (mlir::Operation *scope = op; scope; scope = scope->getParentOp()) {
    if (auto name = scope->getAttrOfType<mlir::StringAttr>(targetAttr))
      return TargetRegistry::get().describe(name.getValue());
  }
  return createStringError("the module has no attribute 'tilewright.target'; give one such as \"target:chip\"");
}
