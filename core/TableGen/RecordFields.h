//===- RecordFields.h - Fields of records -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fields that records of several classes have, read as what the core uses.
/// An error names the record and the field, and stands at the record's location.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TABLEGEN_RECORDFIELDS_H
#define TILEWRIGHT_TABLEGEN_RECORDFIELDS_H

#include "tilewright/ChipTable.h"
#include "llvm/TableGen/Record.h"

namespace tilewright::tablegen {

class RecordFields {
public:
  /// Whether an error was reported.
  bool failed = false;
  /// Prints the errors. One that several operands or records have, since they come from one class, stands once, at the
  /// first of them, which names the others.
  void printErrors() const;

protected:
  using Record = llvm::Record;
  using StringRef = llvm::StringRef;

  /// `message` begins with the kind and name of the record: "unit 'dot': ...".
  void error(const Record &record, const llvm::Twine &message);
  /// The record in `field`, or null with an error if it is unset.
  const Record *required(const Record &record, StringRef field);
  /// The same without an error.
  const Record *optional(const Record &record, StringRef field) { return record.getValueAsOptionalDef(field); }
  /// The Ratio in `field`; 0, with an error if it is `needed`, where it is unset.
  double ratio(const Record &record, StringRef field, bool needed = true);
  /// "KIND: TEXT" of the field `source`; "unset" with an error where it says nothing.
  std::string source(const Record &record);
  std::vector<std::string> strings(const Record &record, StringRef field);
  /// What `record`, an Elem, stands for.
  ElementKind element(const Record &record);
  /// How the results of `record` are waited for.
  Completion completion(const Record &record);
  /// What `record`, a MemoryRole, stands for.
  MemoryRole role(const Record &record);
  /// What `record`, an Emission, stands for.
  Emission emission(const Record &record);

private:
  struct Fault {
    const Record *record;
    std::string message;
  };
  std::vector<Fault> faults;

  /// The argument that holds the file of `record`, an IrFunction (core/Machine/IrFunction.h).
  std::string shippedText(const Record &record);
};

} // namespace tilewright::tablegen

#endif // TILEWRIGHT_TABLEGEN_RECORDFIELDS_H
