//===- Target.h - The plugin surface ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a vendor implements: a class with a name, chips and their descriptions,
/// and hooks into the stages. Most hooks have a default. One macro makes it
/// reachable, linked into a tool or loaded from a library:
///
///   class AcmeTarget : public tilewright::Target { ... };
///   TILEWRIGHT_TARGET_PLUGIN(acme, "1.0", AcmeTarget)
///
///   tw-compile --load-target=libtilewright-target-acme.so --target acme:acme1 ...
///
/// A plugin built for another API version, another LLVM minor version or
/// another RTTI setting is refused with a message that says both, and one whose
/// target lacks a hook that its chips need with the hook's name.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGET_H
#define TILEWRIGHT_TARGET_H

#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include <mutex>

namespace llvm {
class Module;
} // namespace llvm
namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace tilewright {

class CodeGenerator;
class EmulationTable;
class LaneOps;

/// Places of the pipeline where a target may add passes of its own.
enum class PipelineSlot {
  AfterImport,   // linalg on tensors
  AfterAffine,   // scalar affine nests, kernels outlined
  AfterOptimize, // tile ops, vectors, memories and levels
  AfterMap       // everything mapped, sequential in meaning
};

/// One vendor's chips.
class Target {
public:
  virtual ~Target();
  /// The word before the colon of `--target acme:acme1`.
  virtual llvm::StringRef name() const = 0;
  /// One line for `tw-targets`.
  virtual llvm::StringRef summary() const { return ""; }
  /// Chips that `describe` knows, without aliases such as "host".
  virtual std::vector<std::string> chips() const = 0;
  /// The chip of `--target acme`: by default the first.
  virtual std::string defaultChip() const;
  /// The description of a chip; an unknown name is an error that offers the nearest ones (`unknownName`).
  virtual llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const = 0;
  /// Dialects of the ops that the target's own passes, its `laneOps` and the records of its chips make.
  virtual void registerDialects(mlir::DialectRegistry &registry) const;
  /// Passes of the target at a slot of the pipeline: they run at the end of the stage before it. Passes that are
  /// registered (mlir::registerPass, in the target's constructor) can be named to tw-opt and run from a reproducer.
  virtual void extendPipeline(PipelineSlot slot, mlir::OpPassManager &pm, const TargetDescription &chip) const;
  /// Which of the ops of this target's kernels is which primitive of the emulator (tilewright/Emulation.h).
  virtual void emulate(EmulationTable &table) const;
  /// The operations of one lane of `chip`, if it runs lanes (LaneOps.h); null: it does not.
  virtual std::unique_ptr<LaneOps> laneOps(const TargetDescription &chip) const;
  /// Kinds of code that `image` writes, by the extension of a file: "asm", "bin". Empty: the host's object files.
  virtual std::vector<std::string> imageKinds() const { return {}; }
  /// The code of `module` (LLVM IR for a chip of this target, optimised) as one of these kinds.
  virtual llvm::Expected<std::string> image(llvm::StringRef kind, llvm::Module &module, CodeGenerator &generator) const;
  /// A measurement of the machine that this process runs on as `tw-calibrate` prints it: rates, bandwidths in
  /// bytes per clock, unit costs; with `save`, also written where `describe` finds it. Error: cannot be measured here.
  virtual llvm::Expected<std::string> measure(bool save) const;
};

/// "unknown KIND 'NAME'; did you mean 'A' or 'B'? (known: ...)" over the nearest of `known`.
llvm::Error unknownName(llvm::StringRef kind, llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// All facts of a description as JSON: {"target", "chip", "clockMHz", "codegen": {...}, "levels": [...], "memories":
/// [...], "copies": [...], "units": [...], "vectorOps": [...], "numbers": {...}}. Bytes, clocks, bytes per clock.
llvm::json::Object toJson(const TargetDescription &chip);

/// The targets of this process.
class TargetRegistry {
public:
  static TargetRegistry &get();

  /// Adds a target; a second one of the same name is an error.
  llvm::Error add(std::unique_ptr<Target> target);
  /// Loads a plugin library. Refusals name the library and say both versions.
  llvm::Error load(llvm::StringRef path);
  /// Loads every `libtilewright-target-*.so` of the directories in TILEWRIGHT_TARGET_PATH, once per process.
  llvm::Error loadSearchPath();

  llvm::Expected<const Target *> target(llvm::StringRef name);
  /// The target of "target", "target:chip" or "target:chip@PATH=VALUE,..".
  llvm::Expected<const Target *> targetOf(llvm::StringRef targetAndChip);
  std::vector<const Target *> targets();
  /// The description of "target" or "target:chip"; made once and kept. "target:chip@PATH=VALUE,.." is that chip with
  /// other numbers, named as `tw-targets --json` has them: "acme:one@clockMHz=900,memories.scratchpad.bytes=512K".
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef targetAndChip);

private:
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<Target>> all;
  llvm::StringMap<std::shared_ptr<const TargetDescription>> descriptions;
  bool searched = false;
};

/// Registers the targets linked into this program (CMake's TILEWRIGHT_TARGETS); call it once in `main`.
/// Lives in the library `tilewright-linked-targets`.
void registerLinkedTargets();

/// Version of what a plugin shares with the core: the classes and structures of these headers. Grows with every change
/// that a compiled plugin would notice; the rule and all changes stand in docs/api-changes.md.
inline constexpr uint32_t targetApiVersion = 12;

#ifdef __GXX_RTTI
inline constexpr uint32_t builtWithRtti = 1;
#else
inline constexpr uint32_t builtWithRtti = 0;
#endif

/// What a plugin says about itself. The layout up to `rtti` never changes.
struct TargetPlugin {
  uint32_t size;       // sizeof(TargetPlugin) when the plugin was built
  uint32_t apiVersion; // targetApiVersion
  uint32_t llvmMajor, llvmMinor;
  uint32_t rtti; // 1 if built with RTTI
  const char *name;
  const char *version;
  Target *(*create)(); // owned by the caller
};

/// Empty if this build can use the plugin, else the reason, naming both sides.
std::string incompatibility(const TargetPlugin &plugin);
/// Empty if `target` has the hooks that its chips need, else the name of the hook and what it lacks: a plugin is
/// refused with it when it is loaded, not in the middle of a program.
std::string missingHook(const Target &target);

/// Name of the entry in a loaded library: `extern "C" const TargetPlugin *tilewrightTargetPlugin()`.
inline constexpr const char *targetPluginEntry = "tilewrightTargetPlugin";

} // namespace tilewright

/// Defines the entry of a linked target, `tilewrightTarget_NAME`, and with TILEWRIGHT_LOADABLE_TARGET
/// (set by CMake for loadable builds) that of a loaded one.
#define TILEWRIGHT_TARGET_PLUGIN(NAME, VERSION, CLASS)                                                                 \
  extern "C" const ::tilewright::TargetPlugin *tilewrightTarget_##NAME() {                                             \
    static const ::tilewright::TargetPlugin plugin = {sizeof(::tilewright::TargetPlugin),                              \
                                                      ::tilewright::targetApiVersion,                                  \
                                                      LLVM_VERSION_MAJOR,                                              \
                                                      LLVM_VERSION_MINOR,                                              \
                                                      ::tilewright::builtWithRtti,                                     \
                                                      #NAME,                                                           \
                                                      VERSION,                                                         \
                                                      []() -> ::tilewright::Target * { return new CLASS(); }};         \
    return &plugin;                                                                                                    \
  }                                                                                                                    \
  TILEWRIGHT_LOADABLE_ENTRY(NAME)

#ifdef TILEWRIGHT_LOADABLE_TARGET
#define TILEWRIGHT_LOADABLE_ENTRY(NAME)                                                                                \
  extern "C" __attribute__((visibility("default"))) const ::tilewright::TargetPlugin *tilewrightTargetPlugin() {       \
    return tilewrightTarget_##NAME();                                                                                  \
  }
#else
#define TILEWRIGHT_LOADABLE_ENTRY(NAME)
#endif

#endif // TILEWRIGHT_TARGET_H
