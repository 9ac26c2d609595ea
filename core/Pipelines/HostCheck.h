//===- HostCheck.h - Whether this machine executes a chip's code -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asked before code is loaded into this process: an instruction that the machine
/// lacks would end it without a word.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_HOSTCHECK_H
#define TILEWRIGHT_CORE_PIPELINES_HOSTCHECK_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tilewright {

struct CodegenTarget;

/// Why code for `code` cannot run on a machine of architecture `arch` (LLVM's word) with `features` (LLVM's names;
/// false: lacks it; absent: not known); empty if it can. What counts are the features that the chip's record states.
std::string whyNotHere(const CodegenTarget &code, llvm::StringRef arch, const llvm::StringMap<bool> &features);

/// Success if this machine executes code for "target:chip"; an error says what is missing, which devices run it instead
/// (functions: the model; launches: the emulator), and which chips of the target this machine could run. Programs that
/// are launches run on no host, whatever LLVM's words for their code are.
llvm::Error checkRunsHere(llvm::StringRef targetAndChip);

/// What runs programs for "target:chip" here, in the words of `--device`: "host" where this machine executes its code,
/// "emulator" where programs are launches, else "model". An error is that of a chip which is not known.
llvm::Expected<std::string> defaultDevice(llvm::StringRef targetAndChip);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_HOSTCHECK_H
