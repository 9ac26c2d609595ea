//===- SignatureManifest.h - A signature as data ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of a manifest (LaunchManifest.h) that every program has, one of the
/// host too: what a caller has to pass.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_HOST_SIGNATUREMANIFEST_H
#define TILEWRIGHT_CORE_TRANSFORMS_HOST_SIGNATUREMANIFEST_H

#include "core/Analysis/Signature.h"
#include "llvm/Support/JSON.h"

namespace tilewright {

/// A manifest without steps; "made": sizes that the program makes of its data.
llvm::json::Object signatureManifest(const Signature &signature, llvm::StringRef target);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_HOST_SIGNATUREMANIFEST_H
