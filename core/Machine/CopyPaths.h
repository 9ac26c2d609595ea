//===- CopyPaths.h - Engines between two memories ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which records of a chip's copy engines serve one path on scratchpad
/// targets: one for tiles as they stand, one for tiles that change rows
/// and columns (`arrangements = ["transpose"]`), which may be the same record.
/// Records of one path are commands of one engine: they share its queue.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_MACHINE_COPYPATHS_H
#define TILEWRIGHT_CORE_MACHINE_COPYPATHS_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

struct CopyPath {
  const CopyEngine *rows = nullptr;       // null: the core moves tiles itself
  const CopyEngine *transposed = nullptr; // null: no engine transposes
};

/// Whether the record says that its commands can transpose.
bool transposes(const CopyEngine &engine);

/// The records that serve the path. For rows: an asynchronous one that does not transpose before one that does, both
/// before one that the core waits for.
CopyPath copyPath(llvm::ArrayRef<CopyEngine> copies, llvm::StringRef from, llvm::StringRef to);

/// The function that the transposing command of a path calls: what field `emit` of a record of its own names, with
/// "_transposed" after it where the record also moves rows. Empty if it is no ExternalCall.
std::string transposedCall(const CopyPath &path);

} // namespace tilewright

#endif // TILEWRIGHT_CORE_MACHINE_COPYPATHS_H
