//===- NativeCode.h - A chip's program as code of this machine --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The mark of programs that are planned for a chip and run on whatever machine
/// this is, their units by the functional models.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_NATIVECODE_H
#define TILEWRIGHT_CORE_MACHINE_NATIVECODE_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// Unit attribute of a program: its plan is that of its chip; stage 5 lowers tile ops by their reference lowering, LLVM
/// generates code of this machine, and states are not checked.
constexpr llvm::StringLiteral nativeCodeAttr = "tilewright.native_code";

/// This machine in LLVM's words.
CodegenTarget hostCodegen();

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_NATIVECODE_H
