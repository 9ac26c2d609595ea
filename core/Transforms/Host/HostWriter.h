//===- HostWriter.h - A manifest as a function ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a loader would do for a manifest (LaunchManifest.h), written as one function for programs that are given out as
/// source:
///
///   {"launch": k, ..}          for each core: call k(core, pointers, integers)
///   {"if": E, ..}, {"while"}   scf.if, scf.while over variables in an array of the function
///   {"require"}, {"allocate"}  a status; what stands after it is the branch where it is 0
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTWRITER_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTWRITER_H

#include "core/Transforms/Host/HostArrays.h"
#include "core/Transforms/Lower/Engines/EngineCommands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright {

/// The arrays that constants of a module's programs become: none takes a name that another symbol or a program has.
class ProgramGlobals {
public:
  ProgramGlobals(mlir::ModuleOp module, llvm::StringSet<> entries) : module(module), entries(std::move(entries)) {}
  /// An array of `bytes`, named like `name`.
  mlir::LLVM::GlobalOp make(mlir::Location loc, llvm::StringRef name, llvm::StringRef bytes, bool isWritten);
  /// The array of a constant that programs share by `name`: made where the first of them asks.
  mlir::LLVM::GlobalOp share(mlir::Location loc, llvm::StringRef name, llvm::StringRef bytes, bool isWritten);

private:
  mlir::ModuleOp module;
  llvm::StringSet<> entries; // functions of programs, also those that are not written yet
  llvm::StringMap<mlir::LLVM::GlobalOp> shared;
  unsigned count = 0;
};

class HostWriter {
public:
  HostWriter(mlir::ModuleOp module, const llvm::json::Object &manifest, ProgramGlobals &globals)
      : module(module), manifest(manifest), globals(globals), b(module.getLoc(), module.getBodyRegion()), arrays(b) {}
  /// Adds the function to the module; a failure with a diagnostic where the manifest has what source cannot say.
  mlir::LogicalResult write();

private:
  using Json = llvm::json::Value;
  using Value = mlir::Value;

  mlir::LogicalResult refuse(const llvm::Twine &what);
  mlir::LogicalResult program();

  //===-- Memory ----------------------------------------------------------===//
  Value pointerOf(int64_t buffer);
  void allocate(int64_t buffer, Value bytes);
  mlir::LogicalResult fillConstant(int64_t buffer, int64_t bytes, mlir::LLVM::GlobalOp pattern);
  mlir::LogicalResult constants(const llvm::json::Array &list);

  //===-- Integers and steps (HostSteps.cpp) ------------------------------===//
  Value i64(int64_t value) { return mlir::arith::ConstantIntOp::create(b, value, 64); }
  Value status(int64_t value) { return mlir::arith::ConstantIntOp::create(b, value, 32); }
  Value index(Value i64) { return mlir::arith::IndexCastOp::create(b, b.getIndexType(), i64); }
  Value place(int64_t number) { return mlir::arith::ConstantIndexOp::create(b, number); }
  Value isZero(Value integer);
  Value expression(const Json &json);
  Value estimate(const Json &json);
  Value isTooLarge(const Json &bytes);
  Value isTrue(const Json &json);
  Value call(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands) {
    return EngineWriter::call(b, function, name, result, operands);
  }
  /// Does the steps from `list` on and gives the status that they end with.
  mlir::FailureOr<Value> steps(llvm::ArrayRef<Json> list);
  mlir::FailureOr<Value> endingStep(const llvm::json::Object &step);
  mlir::FailureOr<Value> loop(const llvm::json::Object &step, const Json &condition);
  mlir::LogicalResult plainStep(const llvm::json::Object &step);
  mlir::LogicalResult launch(const llvm::json::Object &step);
  mlir::LogicalResult rename(const llvm::json::Array &pairs);

  mlir::ModuleOp module;
  const llvm::json::Object &manifest;
  ProgramGlobals &globals;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;
  llvm::DenseMap<int64_t, Value> buffers; // pointers
  llvm::SmallVector<Value> owned;         // of them: memory of this call
  llvm::SmallVector<std::pair<int64_t, mlir::LLVM::GlobalOp>> patterns;
  HostArrays arrays;    // that steps allocate or rename
  Value variables;      // of the manifest, then the status that a loop ends with
  int64_t statusAt = 0; // its place
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_HOSTWRITER_H
