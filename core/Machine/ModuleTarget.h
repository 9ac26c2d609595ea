//===- ModuleTarget.h - The target and chip of a module ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one place that goes from a module's attribute `tilewright.target` to the
/// target's object.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_MODULETARGET_H
#define TILEWRIGHT_CORE_MACHINE_MODULETARGET_H

#include "tilewright/Target.h"

namespace tilewright {

struct ModuleTarget {
  const Target *target = nullptr;
  std::shared_ptr<const TargetDescription> chip;

  /// "target:chip".
  std::string name() const { return (chip->target() + ":" + chip->chip()).str(); }
};

/// Target and chip of the module around `op`; an error if it names none or an unknown one.
llvm::Expected<ModuleTarget> moduleTargetOf(mlir::Operation *op);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_MODULETARGET_H
