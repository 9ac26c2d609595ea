//===- Header.h - C headers of compiled programs ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The C interface of compiled functions as a header for C and C++.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_HEADER_H
#define TILEWRIGHT_CORE_PIPELINES_HEADER_H

#include "core/Analysis/Signature.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace tilewright {

/// An error for a function whose name no declaration in C or C++ can have.
llvm::Error checkNamesInC(llvm::ArrayRef<Signature> signatures);

/// What the code of a header checks in calls.
struct HeaderChecks {
  bool indices = false;        // calls may end with the status of bad indices
  llvm::StringSet<> reporting; // functions that say what a refused call has found (CheckReport.h)
};

/// The text of a header that declares all functions of `signatures`; `name` is its file name. Source (writeC,
/// writeLLVM) has one function for each: `isSource`; code also those that take their temporary memory from the caller.
std::string cHeader(llvm::ArrayRef<Signature> signatures, llvm::StringRef name, llvm::StringRef target,
                    bool isSource = false, const HeaderChecks &checks = {});

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_HEADER_H
