//===- LargeLiterals.h - Large constants of a program's text ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MLIR's parser reads text character by character and copies what it reads several times. So hexadecimal literals of
/// at least `largeConstantBytes` are taken out of the text before it is parsed, each into memory of its own:
///
///   %w = arith.constant dense<"0x3F80..."> : tensor<...>     %w = arith.constant dense_resource<N> : tensor<...>
///   {-# dialect_resources: { builtin: {                  ->  {-# dialect_resources: { builtin: {
///         v: "0x400000003F80..." } } #-}                           v: "0x40000000..." } } #-}   a number of its own
///
/// Lines stay as they are, columns after such a literal do not.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_LARGELITERALS_H
#define TILEWRIGHT_CORE_PIPELINES_LARGELITERALS_H

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
}

namespace tilewright {

/// What was taken out of one text.
class LargeLiterals {
public:
  /// The text without its large literals; nothing where it has none. `isMapped`: the text is a mapped file, and its
  /// pages are let go when they were read.
  std::optional<std::string> take(llvm::StringRef text, bool isMapped);
  /// Gives the resources of the module that was parsed of that text their contents; fails after a diagnostic where
  /// these are not as long as the resource's type.
  llvm::LogicalResult bind(mlir::ModuleOp module);

private:
  struct Literal {
    mlir::AsmResourceBlob blob;
    bool isBound = false;
  };
  std::string substitute(llvm::StringRef digits, llvm::StringRef before, llvm::StringRef after, bool isMapped);

  std::vector<Literal> literals;
};

/// As `parseProgram` of Compiler.h, of text or bytecode that the caller need not keep; `name` is the file's for
/// messages.
mlir::OwningOpRef<mlir::ModuleOp> parseProgramText(llvm::StringRef text, llvm::StringRef name, llvm::SourceMgr &sources,
                                                   mlir::MLIRContext &context);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_LARGELITERALS_H
