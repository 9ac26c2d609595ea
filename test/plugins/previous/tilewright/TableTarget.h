//===- TableTarget.h - A target whose chips are its records -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plugin of a vendor whose chips are exactly the records of `Chips.td`:
///
///   class AcmeTarget : public tilewright::TableTarget {
///   public:
///     AcmeTarget() : TableTarget("acme", "Acme's accelerators", acme::recordedChips()) {}
///   };
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TABLETARGET_H
#define TILEWRIGHT_TABLETARGET_H

#include "tilewright/ChipTable.h"
#include "tilewright/Target.h"

namespace tilewright {

class TableTarget : public Target {
public:
  TableTarget(std::string name, std::string summary, std::vector<ChipTable> chips)
      : targetName(std::move(name)), line(std::move(summary)), tables(std::move(chips)) {}
  llvm::StringRef name() const override { return targetName; }
  llvm::StringRef summary() const override { return line; }
  std::vector<std::string> chips() const override;
  llvm::Expected<std::shared_ptr<const TargetDescription>> describe(llvm::StringRef chip) const override;

private:
  std::string targetName, line;
  std::vector<ChipTable> tables;
};

} // namespace tilewright

#endif // TILEWRIGHT_TABLETARGET_H
