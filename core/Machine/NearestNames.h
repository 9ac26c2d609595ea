//===- NearestNames.h - What a mistyped name may be -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The known names that are nearest to one that is not known, as a question at
/// the end of a message: "; did you mean 'acme1' or 'acme2'?".
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_NEARESTNAMES_H
#define TILEWRIGHT_CORE_MACHINE_NEARESTNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace tilewright {

/// All of the least edit distance, if that is at most two or half of the name; empty if none is near.
std::string nearestNames(llvm::StringRef name, llvm::ArrayRef<std::string> known);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_NEARESTNAMES_H
