//===- ShippedFunctions.h - Functions of records, read ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the functions that records ship (core/Machine/IrFunction.h), checks
/// that they can stand in place of a call, and puts them there:
///
///   define <2 x i64> @halves(<2 x i64> %a) {      %s = llvm.shufflevector %a, %a [1, 0]
///     %s = shufflevector ...                  ->  (in place of the call)
///     ret <2 x i64> %s
///   }
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_SHIPPEDFUNCTIONS_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_SHIPPEDFUNCTIONS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringMap.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilewright {

/// The files of functions that one run of a pass, or of a check, has read.
class ShippedFunctions {
public:
  /// What reading LLVM IR needs.
  static void registerDialects(mlir::DialectRegistry &registry);

  /// The function of an emission that ships one. An error names the file, and the line where the text is no IR. The
  /// function is straight-line code that uses nothing outside of it but intrinsics.
  llvm::Expected<mlir::LLVM::LLVMFuncOp> find(const Emission &emission, mlir::MLIRContext &context);

  /// The operations of `function` at `builder`, on `operands`; what it returns, null if nothing.
  static mlir::Value insert(mlir::LLVM::LLVMFuncOp function, mlir::ValueRange operands, mlir::OpBuilder &builder,
                            mlir::Location loc);

private:
  llvm::StringMap<mlir::OwningOpRef<mlir::ModuleOp>> modules; // by file and text
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_UNITS_SHIPPEDFUNCTIONS_H
