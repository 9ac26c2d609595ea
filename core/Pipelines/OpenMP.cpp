//===- OpenMP.cpp - Where the OpenMP library is ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search for libomp.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/OpenMP.h"

#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <dlfcn.h>

llvm::Expected<std::string> tilewright::openMPLibrary() {
  if (const char *chosen = std::getenv("TILEWRIGHT_OPENMP"))
    return std::string(chosen);
  const std::string candidates[] = {TILEWRIGHT_LLVM_LIBRARY_DIR "/libomp.so.5",
                                    TILEWRIGHT_LLVM_LIBRARY_DIR "/libomp.so"};
  for (const std::string &path : candidates)
    if (llvm::sys::fs::exists(path))
      return path;
  for (const char *name : {"libomp.so.5", "libomp.so"})
    if (dlopen(name, RTLD_NOW | RTLD_GLOBAL))
      return std::string(name);
  return llvm::createStringError("threads need the OpenMP library libomp.so, which is neither in %s nor known to the "
                                 "dynamic linker; install libomp, name it in TILEWRIGHT_OPENMP, or use --threads=1",
                                 TILEWRIGHT_LLVM_LIBRARY_DIR);
}
