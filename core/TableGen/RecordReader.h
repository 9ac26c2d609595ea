//===- RecordReader.h - Records as the structures of the core ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the records of the description language into the structures that the
/// core uses, and checks them; every back end starts from here, so no back end
/// sees an unsound record.
///
///   Chips.td --reader--> Records {chips, units} --back end--> C++, Markdown, tests
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TABLEGEN_RECORDREADER_H
#define TILEWRIGHT_TABLEGEN_RECORDREADER_H

#include "tilewright/ChipTable.h"

namespace llvm {
class RecordKeeper;
class raw_ostream;
} // namespace llvm

namespace tilewright::tablegen {

/// A unit and its place in the list of all.
struct Records {
  std::vector<MatrixUnit> units;   // every MatrixUnit record, in the order of the file
  std::vector<ChipTable> chips;    // every Chip record, its units with their costs on it
  std::vector<std::string> origin; // of each unit: "file:line"
};

/// Reads and checks all records; units are named "target.record". Reports each error at its record's location.
/// nullopt after an error.
std::optional<Records> readRecords(const llvm::RecordKeeper &keeper, llvm::StringRef target);

/// Disagreements between the emission of a unit and LLVM's signature of the intrinsic that it names.
std::vector<std::string> checkIntrinsic(const MatrixUnit &unit);
/// What the compiler would refuse of the emissions of a unit, of the moves of its registers, and of its states, whose
/// fields agree otherwise.
std::vector<std::string> checkEmissions(const MatrixUnit &unit);
/// The same as checkIntrinsic of an instruction of lanes.
std::vector<std::string> checkIntrinsic(const LaneInstruction &instruction);

// The back ends.
void writeTables(const Records &records, llvm::StringRef nameSpace, llvm::raw_ostream &os);
void writeCHeader(const Records &records, llvm::StringRef target, llvm::raw_ostream &os);
void writeReference(const Records &records, llvm::StringRef target, llvm::raw_ostream &os);

} // namespace tilewright::tablegen

#endif // TILEWRIGHT_TABLEGEN_RECORDREADER_H
