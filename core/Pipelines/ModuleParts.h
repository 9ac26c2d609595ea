//===- ModuleParts.h - A module in parts, each in a context of its own ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM works on one context in one thread. Long functions leave their module, come
/// back optimised, and stand where they stood:
///
///   module: main, f (long), g (long), small
///     part 0: main, small     part 1: f     part 2: g     each with declarations of the others
///
/// Which function is in which part depends on the module alone, so that the bytes of a program do not depend on the
/// number of processors.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_MODULEPARTS_H
#define TILEWRIGHT_CORE_PIPELINES_MODULEPARTS_H

#include "llvm/IR/GlobalValue.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilewright {

class ModuleParts {
public:
  /// Takes long functions out of `module`, which is part 0; in a short module all stay.
  explicit ModuleParts(llvm::Module &module);

  /// Calls `work` on each part, side by side on the processors of the machine; it may not add names that the other
  /// parts have.
  llvm::Error forEach(llvm::function_ref<llvm::Error(llvm::Module &)> work);
  /// Puts the functions back; names have the linkage that they had.
  llvm::Error join();
  /// In place of `join`, where each part becomes a file of its own: an element of the result is what `work` makes of a
  /// part, that of part 0 first. Names that parts share are hidden ones, for a linker.
  llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
  mapEach(llvm::function_ref<llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>(llvm::Module &)> work);

private:
  llvm::Error run(llvm::function_ref<llvm::Error(llvm::Module &, size_t)> work, bool comesBack);

  llvm::Module &module;
  std::vector<std::string> parts;                                              // as bitcode, beyond part 0
  std::vector<std::string> order;                                              // the functions of the module
  std::vector<std::pair<std::string, llvm::GlobalValue::LinkageTypes>> shared; // local names that parts refer to
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_MODULEPARTS_H
