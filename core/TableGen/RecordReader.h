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
/// An overloaded intrinsic of a target takes vectors of any length by its signature; its back end those that a register
/// of the chip's file holds. What of the operands of a unit of `chip` is longer.
std::vector<std::string> checkIntrinsic(const ChipTable &chip, const MatrixUnit &unit);

/// What LLVM does not know of the fields `triple`, `cpu`, `features` and `lacks`, with the nearest names. A triple
/// without a back end in this LLVM is a warning: a vendor may have an LLVM of its own. "host" and no triple are not
/// checked.
struct TripleFaults {
  std::vector<std::string> errors, warnings;
};
TripleFaults checkTriple(const ChipTable &chip);
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
