//===- RecordFields.cpp - Fields of records -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One function per kind of field.
///
//===----------------------------------------------------------------------===//

#include "core/TableGen/RecordFields.h"
#include "core/Machine/IrFunction.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TableGen/Error.h"

using namespace tilewright;
using namespace tilewright::tablegen;
using llvm::Record;
using llvm::StringRef;

void RecordFields::error(const Record &record, const llvm::Twine &message) {
  faults.push_back({&record, message.str()});
  failed = true;
}

/// `message` without what differs where a class has the mistake: names of records, and which of A, B and C it is. What
/// was taken out, such as "unit 'dot'" and "field 'a'", is appended to `whose`.
static std::string common(StringRef message, std::vector<std::string> &whose) {
  static const llvm::Regex names("(unit|chip|record|copy engine|memory|state|field) '([^']*)'");
  std::string result;
  llvm::SmallVector<StringRef, 3> match;
  while (names.match(message, &match)) {
    const bool isName = match[1] != "field" || (match[2].size() == 1 && StringRef("abc").contains(match[2]));
    StringRef before = message.take_front(match[0].data() - message.data());
    result += (before + (isName ? match[1] : match[0])).str();
    if (isName && !llvm::is_contained(whose, match[0]))
      whose.push_back(match[0].str());
    message = message.drop_front(before.size() + match[0].size());
  }
  return result + message.str();
}

void RecordFields::printErrors() const {
  struct Group {
    std::string text;
    const Fault *first;
    std::vector<std::string> whose, others;
  };
  std::vector<Group> groups;
  for (const Fault &fault : faults) {
    std::vector<std::string> whose;
    std::string text = common(fault.message, whose);
    auto group = llvm::find_if(groups, [&](const Group &each) { return each.text == text; });
    if (group == groups.end()) {
      groups.push_back({text, &fault, whose, {}});
      continue;
    }
    llvm::erase_if(whose, [&](const std::string &each) { return llvm::is_contained(group->whose, each); });
    if (std::string other = llvm::join(whose, ", "); !whose.empty() && !llvm::is_contained(group->others, other))
      group->others.push_back(other);
  }
  for (const Group &group : groups) {
    std::string message = group.first->message;
    if (!group.others.empty())
      message += " (and the same of " + llvm::join(group.others, "; ") + ")";
    llvm::PrintError(group.first->record->getLoc(), message);
  }
}

const Record *RecordFields::required(const Record &record, StringRef field) {
  const Record *value = record.getValueAsOptionalDef(field);
  if (!value)
    error(record, "record '" + record.getName() + "': field '" + field + "' is not set");
  return value;
}

double RecordFields::ratio(const Record &record, StringRef field, bool needed) {
  const Record *value = needed ? required(record, field) : optional(record, field);
  if (!value)
    return 0;
  int64_t den = value->getValueAsInt("den");
  if (den <= 0) {
    error(record, "record '" + record.getName() + "': the denominator of field '" + field + "' must be above 0");
    return 0;
  }
  return double(value->getValueAsInt("num")) / double(den);
}

std::string RecordFields::source(const Record &record) {
  const Record *value = required(record, "source");
  if (!value)
    return "unset";
  if (value->getValueAsString("kind").empty()) {
    error(record, "record '" + record.getName() + "': field 'source' is not set");
    return "unset";
  }
  return (value->getValueAsString("kind") + ": " + value->getValueAsString("text")).str();
}

std::vector<std::string> RecordFields::strings(const Record &record, StringRef field) {
  std::vector<std::string> result;
  for (StringRef text : record.getValueAsListOfStrings(field))
    result.push_back(text.str());
  return result;
}

ElementKind RecordFields::element(const Record &record) {
  using enum ElementKind;
  return llvm::StringSwitch<ElementKind>(record.getValueAsString("kind"))
      .Case("F64", F64)
      .Case("F32", F32)
      .Case("TF32", TF32)
      .Case("F16", F16)
      .Case("BF16", BF16)
      .Case("F8E4M3", F8E4M3)
      .Case("F8E5M2", F8E5M2)
      .Case("F8E4M3FNUZ", F8E4M3FNUZ)
      .Case("F8E5M2FNUZ", F8E5M2FNUZ)
      .Case("F8E8M0", F8E8M0)
      .Case("F6E2M3", F6E2M3)
      .Case("F6E3M2", F6E3M2)
      .Case("F4E2M1", F4E2M1)
      .Case("I32", I32)
      .Case("I16", I16)
      .Case("I8", I8)
      .Case("U8", U8)
      .Case("I4", I4)
      .Case("U4", U4)
      .Default(I1);
}

Completion RecordFields::completion(const Record &record) {
  return llvm::StringSwitch<Completion>(record.getValueAsDef("completion")->getValueAsString("kind"))
      .Case("WaitGroup", Completion::WaitGroup)
      .Case("Barrier", Completion::Barrier)
      .Default(Completion::AtOnce);
}

MemoryRole RecordFields::role(const Record &record) {
  using enum MemoryRole;
  return llvm::StringSwitch<MemoryRole>(record.getValueAsString("role"))
      .Case("Backing", Backing)
      .Case("Cached", Cached)
      .Case("Staging", Staging)
      .Case("Accumulators", Accumulators)
      .Case("VectorRegisters", VectorRegisters)
      .Case("LaneRegisters", LaneRegisters)
      .Case("RegisterPool", RegisterPool)
      .Case("UniformRegisters", UniformRegisters)
      .Default(Inferred);
}

Emission RecordFields::emission(const Record &record) {
  Emission result;
  result.kind = llvm::StringSwitch<EmissionKind>(record.getValueAsString("kind"))
                    .Case("MlirOp", EmissionKind::MlirOp)
                    .Case("LlvmIntrinsic", EmissionKind::LlvmIntrinsic)
                    .Case("InlineAsm", EmissionKind::InlineAsm)
                    .Default(EmissionKind::ExternalCall);
  result.name = record.getValueAsString("name").str();
  result.arguments = strings(record, "arguments");
  if (record.getValueAsString("kind") == "IrFunction")
    result.arguments.insert(result.arguments.begin(), shippedText(record));
  return result;
}

std::string RecordFields::shippedText(const Record &record) {
  std::string file = record.getValueAsString("file").str(), path;
  unsigned buffer = llvm::SrcMgr.FindBufferContainingLoc(record.getLoc().front());
  llvm::SmallString<128> beside(llvm::SrcMgr.getMemoryBuffer(buffer)->getBufferIdentifier());
  llvm::sys::path::remove_filename(beside);
  llvm::sys::path::append(beside, file);
  auto text = llvm::MemoryBuffer::getFile(beside, /*IsText=*/true);
  if (!text)
    text = llvm::SrcMgr.OpenIncludeFile(file, path);
  if (!text)
    error(record, "the file '" + file + "' of an IrFunction stands neither beside this one nor in a folder of -I");
  else if (!llvm::StringRef(file).ends_with(".ll") && !llvm::StringRef(file).ends_with(".mlir"))
    error(record,
          "the file '" + file + "' of an IrFunction is neither LLVM IR (.ll) nor MLIR (.mlir); its name says which");
  return (irTextPrefix + file + "\n" + (text ? (*text)->getBuffer() : "")).str();
}
