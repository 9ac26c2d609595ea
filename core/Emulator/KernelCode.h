//===- KernelCode.h - Code of emulated kernels ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that the rewriter is done with become code of the host. Each is a module of its own, with what it calls, and
/// is generated when it is launched first: of the versions of a nest of dynamic sizes, one runs.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_EMULATOR_KERNELCODE_H
#define TILEWRIGHT_CORE_EMULATOR_KERNELCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace tilewright {

struct Lane;

class KernelCode {
public:
  /// Runs a lane; its arguments by their addresses.
  using Entry = void (*)(Lane *, void **);

  ~KernelCode();
  static llvm::Expected<std::unique_ptr<KernelCode>> of(mlir::ModuleOp rewritten);
  /// The entry of `kernel`; an error: no code can be generated. From any thread.
  llvm::Expected<Entry> entryOf(llvm::StringRef kernel) const;

private:
  explicit KernelCode(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_EMULATOR_KERNELCODE_H
