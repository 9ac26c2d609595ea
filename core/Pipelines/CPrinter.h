//===- CPrinter.h - Programs of cores as C ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints the structured scalar IR of stage 5 for source (buildLowerCoresToCPipeline): each value is a variable,
/// loops stay loops, calls are calls. MLIR's own translation to C takes arrays of constant sizes alone.
///
///   %7 = memref.load %A[%i, %j] : memref<?x64xf32>        float v7 = v1[(v4) * 64 + v5];
///   %8 = arith.addi %6, %c1 : i32                         int32_t v8 = (int32_t)((uint32_t)v6 + (uint32_t)v2);
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_CPRINTER_H
#define TILEWRIGHT_CORE_PIPELINES_CPRINTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace tilewright {

class CPrinter {
public:
  CPrinter(mlir::ModuleOp module, llvm::raw_ostream &os) : module(module), os(os) {}
  /// Arrays of the module and all functions with a body; a failure with a diagnostic at what has no form in C.
  mlir::LogicalResult print();

private:
  /// An array: its first element, and its extents.
  struct Array {
    std::string pointer;
    llvm::SmallVector<std::string> extents;
  };
  //===-- Structure -------------------------------------------------------===//
  mlir::LogicalResult global(mlir::LLVM::GlobalOp global);
  mlir::LogicalResult function(mlir::func::FuncOp function);
  mlir::LogicalResult block(mlir::Block &block, llvm::ArrayRef<std::string> results);
  mlir::LogicalResult loop(mlir::scf::ForOp loop);
  mlir::LogicalResult loop(mlir::scf::WhileOp loop);
  mlir::LogicalResult branch(mlir::scf::IfOp branch);
  mlir::LogicalResult call(mlir::func::CallOp call);

  //===-- Expressions (CExpressions.cpp) ----------------------------------===//
  mlir::LogicalResult op(mlir::Operation &op);
  mlir::FailureOr<std::string> type(mlir::Operation *op, mlir::Type type);
  /// T vN = TEXT;
  mlir::LogicalResult define(mlir::Operation *op, const std::string &text);
  mlir::LogicalResult alloc(mlir::Operation *op);
  mlir::LogicalResult cast(mlir::UnrealizedConversionCastOp op);
  std::string element(mlir::Value memref, mlir::ValueRange indices);
  std::optional<Array> descriptor(mlir::Value aggregate);

  std::string name(mlir::Value value) { return names.lookup(value); }
  std::string fresh() { return "v" + std::to_string(count++); }
  llvm::raw_ostream &line() { return os.indent(2 * depth); }

  mlir::ModuleOp module;
  llvm::raw_ostream &os;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, Array> arrays;
  unsigned count = 0, depth = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_CPRINTER_H
