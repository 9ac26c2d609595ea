//===- Executable.h - A program ready to be called --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles a module from any stage to code in this process and calls it with
/// host arrays.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_EXECUTABLE_H
#define TILEWRIGHT_CORE_PIPELINES_EXECUTABLE_H

#include "core/Analysis/Signature.h"
#include "core/Pipelines/DriverProgram.h"
#include "core/Pipelines/EmulatedProgram.h"
#include "core/Pipelines/ExecDevice.h"
#include "core/Runtime/Array.h"
#include "mlir/IR/Location.h"
#include "tilewright/Compiler.h"

namespace tilewright {

/// Where compile time went, in seconds.
struct CompileTimes {
  double passes = 0; // stages 1 to 5
  double llvm = 0;   // LLVM IR, -O3 and the object file
  double link = 0;   // loading into this process
  double total() const { return passes + llvm + link; }
};

/// Where a program runs: on the host if nothing is set, else on the one that is.
struct Place {
  bool emulator = false;         // the chip's kernels, lane by lane
  bool model = false;            // the chip's plan as code of this machine, units by their functional models
  ExecDevice *process = nullptr; // a device behind a pipe, which outlives the program
  DeviceOpener driver = nullptr; // the device that it opens
  bool traced = false;           // code of this process tells a KernelTrace when its kernels run

  bool isHost() const { return !emulator && !model && !process && !driver; }
};

class Executable {
public:
  /// Runs stages `first` to 4 on `module` (consumed), except those of `skip`, then 5 and code generation. Failures of
  /// the stages are diagnostics; the returned error then says nothing more.
  /// `place`: where the program will run.
  static llvm::Expected<std::unique_ptr<Executable>> compile(mlir::ModuleOp module, unsigned first,
                                                             const CompileOptions &options, unsigned last = 4,
                                                             const Place &place = {});
  /// The same from a module after stage 5 whose public function had `signature` before it, and that which binds its
  /// constants `bind`. `tiles`: the module after
  /// stage 4, whose counts the emulator puts beside its own; null: it does not.
  static llvm::Expected<std::unique_ptr<Executable>> load(mlir::ModuleOp module, const Signature &signature,
                                                          const Place &place = {}, mlir::ModuleOp tiles = {},
                                                          std::optional<Signature> bind = {});
  ~Executable();

  /// Without the bound argument of a program that binds its constants: each call fills it first.
  const Signature &signature() const { return programSignature; }
  const CompileTimes &times() const { return compileTimes; }
  /// The spacing of numbers around 1 to which chosen matrix units round elements of wider types that they read (2^-10
  /// of TF32, `--fp=fast`); 0 if none does.
  double operandSpacing() const { return unitSpacing; }
  /// The kernels of code that is traced, by the site of a KernelSpan: names with their places in the program.
  llvm::ArrayRef<mlir::NameLoc> tracedSites() const { return sites; }
  /// Calls the program: the sizes, then the address of each argument of the signature. An error says which status the
  /// program returned; it is OtherSizes where only the sizes of results are not what the program makes.
  llvm::Error call(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments);
  /// Seconds of `calls` calls one after the other: by the device's clock where it has one, else by the host's.
  llvm::Expected<double> seconds(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments, int64_t calls);
  /// The emulated program; null if it runs elsewhere.
  EmulatedProgram *emulated() { return emulatedProgram; }
  /// The program on the emulator or a device; null if it runs on the host.
  PlacedProgram *placed() { return placedProgram.get(); }

private:
  /// A function of the code of this process, with memory for its temporaries.
  struct Function {
    int32_t (*entry)(const int64_t *slots) = nullptr;
    int64_t (*workspaceSize)(const int64_t *slots) = nullptr;
    Array workspace;
    std::vector<int64_t> workspaceSlots; // of the call that it is large enough for

    llvm::Error find(Jit &jit, llvm::StringRef name);
    /// The slots with that of the workspace.
    llvm::Expected<std::vector<int64_t>> withWorkspace(std::vector<int64_t> slots);
  };

  Executable() = default;
  llvm::Error bind(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments);
  llvm::Error run(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<void *> arguments);
  llvm::Error failed(int32_t status, llvm::ArrayRef<int64_t> sizes);
  Signature programSignature;
  CompileTimes compileTimes;
  double unitSpacing = 0;
  llvm::SmallVector<mlir::NameLoc> sites;
  std::unique_ptr<PlacedProgram> placedProgram;
  EmulatedProgram *emulatedProgram = nullptr;
  std::unique_ptr<Jit> jit;
  Function program;
  /// What fills the bound argument, which stands before argument `boundBefore`; nothing where there is none.
  std::optional<Signature> bindSignature;
  Function binding;
  size_t boundBefore = 0;
  Array boundBytes;
  int64_t *learnedSizes = nullptr; // what a call with status 1 made of its data; -1: nothing
  struct FailedCheck {
    const char *message;
    int64_t code, extent;
  } *failedCheck = nullptr; // what a refused call has found (CheckReport.h); null: the program says nothing
};

/// What a status of the C interface means for a call with `sizes`; success for 0.
llvm::Error statusError(int32_t status, llvm::ArrayRef<int64_t> sizes);

/// The element type of arrays for an MLIR type; nullopt for types that no file holds.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// The sizes that given inputs have; an error names the two dimensions that disagree. Sizes that no input shows stay
/// -1.
llvm::Expected<std::vector<int64_t>> sizesOf(const Signature &signature, llvm::ArrayRef<const Array *> inputs);

/// Fills sizes of -1 that an equality among the constraints determines; an error names the first that stays unknown.
llvm::Error solveSizes(const Signature &signature, std::vector<int64_t> &sizes);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_EXECUTABLE_H
