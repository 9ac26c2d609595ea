//===- SymbolUsers.cpp - The operations that name a symbol ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One walk. Equal dictionaries of attributes are searched once.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/SymbolUsers.h"

using namespace mlir;
using namespace tilewright;

SymbolUsers::SymbolUsers(ModuleOp module) {
  llvm::DenseMap<Attribute, SmallVector<StringAttr, 1>> known;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    DictionaryAttr attributes =
        isa<SymbolUserOpInterface>(op) ? op->getAttrDictionary() : op->getDiscardableAttrDictionary();
    if (attributes.empty())
      return;
    auto [found, isNew] = known.try_emplace(attributes);
    if (isNew)
      attributes.walk([&, &names = found->second](SymbolRefAttr symbol) {
        names.push_back(symbol.getLeafReference());
        return WalkResult::skip();
      });
    for (StringAttr name : found->second)
      if (SmallVector<Operation *, 1> &own = users[name]; own.empty() || own.back() != op)
        own.push_back(op);
  });
}

ArrayRef<Operation *> SymbolUsers::getUsers(SymbolOpInterface symbol) const {
  auto found = users.find(symbol.getNameAttr());
  return found == users.end() ? ArrayRef<Operation *>() : ArrayRef<Operation *>(found->second);
}
