//===- ChipTable.h - The default description: a table -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tw-tblgen writes for each chip of a target's `Chips.td`, and the
/// description that answers every query from it:
///
///   Chips.td --tw-tblgen--> std::vector<ChipTable> acmeChips()  --> TableDescription
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIPTABLE_H
#define TILEWRIGHT_CHIPTABLE_H

#include "tilewright/TargetDescription.h"

namespace tilewright {

/// All facts of one chip.
struct ChipTable {
  std::string name;
  std::string summary;
  std::string triple;                // LLVM's; "host": of the machine that compiles; empty: LLVM has no code for it
  std::string cpu;                   // LLVM's -mcpu
  std::vector<std::string> features; // what it has, in LLVM's spelling where LLVM knows it
  std::vector<std::string> lacks;    // what `cpu` implies but this chip lacks
  double clockMHz = 1000;
  std::vector<Level> levels;
  std::vector<Memory> memories;
  std::vector<MatrixUnit> units;
  std::vector<CopyEngine> copies;
  std::vector<VectorOp> vectorOps;
  std::vector<LaneInstruction> laneInstructions;
  std::vector<Fact> numbers;

  bool hasFeature(llvm::StringRef feature) const;
};

/// Whether a chip agrees with itself and its units: levels exist, features hold, capacities divide into lines.
std::vector<std::string> checkChip(const ChipTable &chip);

/// The description of a table. Units whose features the chip lacks are dropped, the rest sorted fastest first.
class TableDescription : public TargetDescription {
public:
  TableDescription(std::string target, ChipTable table);

  llvm::StringRef target() const override { return targetName; }
  llvm::StringRef chip() const override { return facts.name; }
  llvm::StringRef summary() const override { return facts.summary; }
  double clockMHz() const override { return facts.clockMHz; }
  llvm::ArrayRef<Level> levels() const override { return facts.levels; }
  llvm::ArrayRef<Memory> memories() const override { return facts.memories; }
  llvm::ArrayRef<MatrixUnit> units() const override { return facts.units; }
  llvm::ArrayRef<CopyEngine> copies() const override { return facts.copies; }
  llvm::ArrayRef<VectorOp> vectorOps() const override { return facts.vectorOps; }
  llvm::ArrayRef<LaneInstruction> laneInstructions() const override { return facts.laneInstructions; }
  llvm::ArrayRef<Fact> numbers() const override { return facts.numbers; }
  bool hasFeature(llvm::StringRef feature) const override { return facts.hasFeature(feature); }
  CodegenTarget codegen() const override;
  const ChipTable &table() const { return facts; }

private:
  std::string targetName;
  ChipTable facts;
};

} // namespace tilewright

#endif // TILEWRIGHT_CHIPTABLE_H
