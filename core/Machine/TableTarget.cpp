//===- TableTarget.cpp - A target whose chips are its records ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chips by name out of the generated tables.
///
//===----------------------------------------------------------------------===//

#include "tilewright/TableTarget.h"

using namespace tilewright;

std::vector<std::string> TableTarget::chips() const {
  std::vector<std::string> names;
  for (const ChipTable &table : tables)
    names.push_back(table.name);
  return names;
}

llvm::Expected<std::shared_ptr<const TargetDescription>> TableTarget::describe(llvm::StringRef chip) const {
  for (const ChipTable &table : tables)
    if (table.name == chip)
      return std::make_shared<TableDescription>(targetName, table);
  return unknownName("chip of target '" + targetName + "'", chip, chips());
}
