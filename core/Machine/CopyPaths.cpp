//===- CopyPaths.cpp - Engines between two memories -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One record for rows, one for transposed tiles.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CopyPaths.h"
#include "llvm/ADT/STLExtras.h"

using namespace tilewright;

bool tilewright::transposes(const CopyEngine &engine) { return llvm::is_contained(engine.arrangements, "transpose"); }

CopyPath tilewright::copyPath(llvm::ArrayRef<CopyEngine> copies, llvm::StringRef from, llvm::StringRef to) {
  CopyPath path;
  const CopyEngine *plain = nullptr, *waiting = nullptr;
  for (const CopyEngine &copy : copies) {
    if (copy.from != from || copy.to != to)
      continue;
    const CopyEngine *&first = !copy.asynchronous ? waiting : transposes(copy) ? path.transposed : plain;
    if (!first)
      first = &copy;
  }
  path.rows = plain ? plain : path.transposed ? path.transposed : waiting;
  return path;
}

std::string tilewright::transposedCall(const CopyPath &path) {
  if (!path.transposed || path.transposed->emit.kind != EmissionKind::ExternalCall ||
      path.transposed->emit.name.empty())
    return "";
  return path.transposed->emit.name + (path.transposed == path.rows ? "_transposed" : "");
}
