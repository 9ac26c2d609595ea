//===- SymbolUsers.h - The operations that name a symbol --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The users of the symbols of a module. Operations tell by their interface that they name symbols, and of all others
/// the discardable attributes are searched. Upstream's map searches each attribute of each operation, for which it
/// makes a dictionary of the operation's properties.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_UTILS_SYMBOLUSERS_H
#define TILEWRIGHT_CORE_TRANSFORMS_UTILS_SYMBOLUSERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright {

/// The users at the time when it is made.
class SymbolUsers {
public:
  explicit SymbolUsers(mlir::ModuleOp module);

  /// Each once, in the order of the program.
  llvm::ArrayRef<mlir::Operation *> getUsers(mlir::SymbolOpInterface symbol) const;
  bool isUsed(mlir::SymbolOpInterface symbol) const { return !getUsers(symbol).empty(); }

private:
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Operation *, 1>> users; // by the name of the symbol
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_UTILS_SYMBOLUSERS_H
