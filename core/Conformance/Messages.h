//===- Messages.h - What the compiler said ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Errors of one compilation, collected for the outcome of a case.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_CONFORMANCE_MESSAGES_H
#define TILEWRIGHT_CORE_CONFORMANCE_MESSAGES_H

#include "core/Conformance/Case.h"
#include "mlir/IR/Diagnostics.h"
#include "tilewright/Compiler.h"

namespace tilewright::conformance {

/// Errors of the compiler, as one text.
class Messages {
public:
  explicit Messages(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            text += (text.empty() ? "" : "; ") + diagnostic.str();
          return mlir::success();
        }) {}
  std::string take(llvm::Error error) {
    std::string other;
    llvm::handleAllErrors(
        std::move(error), [](const Reported &) {}, [&](const llvm::ErrorInfoBase &info) { other = info.message(); });
    return text.empty() ? other : text;
  }
  std::string text;

private:
  mlir::ScopedDiagnosticHandler handler;
};

inline Outcome wrong(std::string message) { return {Status::Failed, std::move(message)}; }

} // namespace tilewright::conformance

#endif // TILEWRIGHT_CORE_CONFORMANCE_MESSAGES_H
