//===- OpenMP.h - Where the OpenMP library is -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds libomp: $TILEWRIGHT_OPENMP, then where LLVM's packages put it, then the
/// dynamic linker's own search.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_OPENMP_H
#define TILEWRIGHT_CORE_PIPELINES_OPENMP_H

#include "llvm/Support/Error.h"
#include <string>

namespace tilewright {

/// Path of libomp for this machine; an error says where it was looked for.
llvm::Expected<std::string> openMPLibrary();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_OPENMP_H
