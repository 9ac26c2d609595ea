//===- Compiler.h - From a program's text to code ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tools are made of, for programs that embed the compiler:
///
///   MLIRContext context(registry);                 // registerAllDialects
///   auto program = parseProgram("mlp.mlir", context);
///   runStages(**program, 1, 5, options);           // see Pipeline.h for the stages
///   auto generator = CodeGenerator::create(**program);
///   auto object = (*generator)->object(**program); // bytes of an object file
///
/// Failures of MLIR's part are diagnostics of the context, all others errors.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_H
#define TILEWRIGHT_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class SourceMgr;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// A failure that a diagnostic has already told the user about.
class Reported : public llvm::ErrorInfo<Reported> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

struct CompileOptions {
  /// "target" or "target:chip".
  std::string target;
  /// Floating-point contract: "default", "strict", "reproducible" or "fast".
  std::string fp = "default";
  /// Threads of parallel loops; 1 = no parallel code.
  int64_t threads = 1;
  /// Stage 3 without any optimisation: what `--verify` compares with.
  bool plain = false;
  /// Stage 2 without any optimisation (buildReferencePipeline): tells errors of stage 1 from those of stage 2.
  bool referenceAffine = false;
  /// Compute in float64 with bounds of errors from the end of stage 2 on (pass bound-errors), elementary functions by
  /// libm: the reference of `--verify`. `operandSpacing`: of that pass.
  bool bounded = false;
  double operandSpacing = 0;
  /// Tile ops by their reference lowering (pass lower-tile-to-loops): tells errors of stage 5 from those before it.
  bool tileLoops = false;
  /// The last stage that the target's own passes extend (Target::extendPipeline); 0 = none of them runs.
  unsigned targetStages = 4;
  /// Entry points for callers in this process (pass make-c-interface).
  bool packedCall = false;
  /// Directory for one `STAGE-name.mlir` after each stage; empty = none.
  std::string dumpDirectory;
  /// File that receives the stage's input and passes when a stage crashes (for tw-opt --run-reproducer); empty = none,
  /// and a crash is one of the process.
  std::string reproducer;
  /// Called after each stage with its number.
  std::function<void(unsigned, mlir::ModuleOp)> afterStage;
};

/// The name of stage 0 (as read) to 5.
llvm::StringRef stageName(unsigned stage);

/// Reads a program. `sources` keeps the text alive for diagnostics. An unreadable, empty or binary file is one error
/// that says so; "-" is the standard input.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(llvm::StringRef path, llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

/// The same from memory; the buffer's identifier is the file's name.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(std::unique_ptr<llvm::MemoryBuffer> text, llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

/// Makes `function` the only public one. Empty: the only public function there is, else an error that lists them.
mlir::FailureOr<std::string> selectFunction(mlir::ModuleOp module, llvm::StringRef function);

/// Runs the stages `first` to `last` and checks each one's contract. A crash inside a stage becomes a diagnostic.
mlir::LogicalResult runStages(mlir::ModuleOp module, unsigned first, unsigned last, const CompileOptions &options);

class ModuleParts;

/// LLVM's part: from the LLVM dialect to an object file for one chip.
class CodeGenerator {
public:
  /// For the chip named by the module attribute `tilewright.target`.
  static llvm::Expected<std::unique_ptr<CodeGenerator>> create(mlir::ModuleOp module);
  ~CodeGenerator();

  /// LLVM IR of a module after stage 5, optimised at -O3 for the chip.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp module, llvm::LLVMContext &context);
  /// An object file, position independent.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object(llvm::Module &module);
  /// Object files that are linked together: the code of `translate` and `object`, optimised and generated in parts side
  /// by side on the processors of the machine. The first one has all that the program shows and its constants.
  llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>> objects(mlir::ModuleOp module);
  /// The text of the chip's assembly language. A copy of the module that was written last has the same text: a target
  /// that makes several kinds of code of it has it generated once.
  llvm::Expected<std::string> assembly(llvm::Module &module);
  /// An object file of such a text, by LLVM's assembler.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> assemble(llvm::StringRef text) const;
  llvm::TargetMachine &machine() { return *targetMachine; }

private:
  CodeGenerator();
  std::unique_ptr<llvm::TargetMachine> newMachine() const; // for another thread
  llvm::Expected<std::unique_ptr<llvm::Module>> plainTranslation(mlir::ModuleOp module, llvm::LLVMContext &context);
  llvm::Error optimiseParts(mlir::ModuleOp module, ModuleParts &parts) const;

  std::unique_ptr<llvm::TargetMachine> targetMachine;
  int64_t vectorBytes = 0;
  std::string lastModule, lastText; // what `assembly` was asked for, as text, and what it gave
};

/// Links the bytes of an object file into a shared library of this soname that needs libc and libm alone, and libomp if
/// it has parallel code.
llvm::Expected<std::string> linkSharedLibrary(llvm::StringRef object, llvm::StringRef soname,
                                              llvm::TargetMachine &machine, bool needsThreads);

/// Links the bytes of a device's object file into a device library that needs nothing: what a driver loads.
llvm::Expected<std::string> linkDeviceObject(llvm::StringRef object);

/// The launches of a module after stage 5, for a chip that runs lanes, as a kind of code of its target, "ll", or "tw"
/// (all kinds and the manifest in one file).
llvm::Expected<std::string> launchesAs(llvm::StringRef kind, mlir::ModuleOp module);

/// The program of a module after stage 5 (with `scalarCodeAttr` of Cores.h), for a chip whose cores program engines, as
/// C: one function for each launch, which calls the functions that the records name, and the public function. Compile
/// it with the vendor's header, or with the reference intrinsics that `tw-tblgen -gen-c-header` makes of the records.
llvm::Expected<std::string> sourceInC(mlir::ModuleOp module);
/// The same program as LLVM IR with calls of the same functions, which it declares: for the chip's triple, or for none.
llvm::Expected<std::string> sourceInLLVM(mlir::ModuleOp module);

/// Code in this process.
class Jit {
public:
  /// `needsThreads`: loads the OpenMP library first.
  static llvm::Expected<std::unique_ptr<Jit>> load(std::unique_ptr<llvm::MemoryBuffer> object, bool needsThreads);
  ~Jit();
  llvm::Expected<void *> lookup(llvm::StringRef symbol);

private:
  struct Impl;
  explicit Jit(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Whether a module after stage 5 has parallel code.
bool needsThreads(mlir::ModuleOp module);

/// Writes a file completely or not at all: to a temporary beside it, then renamed. Devices and pipes are written
/// directly. The error names file and reason.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef contents);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_H
