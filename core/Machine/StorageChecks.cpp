//===- StorageChecks.cpp - How operands lie in memories -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Orders and arrangements by the words that the compiler knows, and what of
/// them a command of a core can take. A word that no stage reads would be a
/// record without a use, or a program that computes something else.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CoreCommand.h"
#include "core/Machine/IrFunction.h"
#include "core/Machine/RecordChecks.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace tilewright;
using llvm::formatv;
using llvm::StringRef;

using Messages = std::vector<std::string>;

static constexpr std::array<StringRef, 2> orders = {"row", "column"};
/// Of tiles that units read in a scratchpad, and of those, ways to read and write that an engine has.
static constexpr std::array<StringRef, 4> unitArrangements = {"none", "swizzle.32", "swizzle.64", "swizzle.128"};
static constexpr std::array<StringRef, 8> engineArrangements = {"none", "swizzle.32", "swizzle.64", "swizzle.128",
                                                                "any",  "subgroup",   "transpose",  "columns"};

/// "\"row\", \"column\"".
static std::string quoted(llvm::ArrayRef<StringRef> words) { return "\"" + llvm::join(words, "\", \"") + "\""; }

static llvm::SmallVector<std::pair<const char *, const UnitOperand *>, 3> operandsOf(const MatrixUnit &unit) {
  return {{"a", &unit.a}, {"b", &unit.b}, {"c", &unit.c}};
}

void tilewright::checkStorageOrders(const MatrixUnit &unit, Messages &messages) {
  for (const auto &[field, operand] : operandsOf(unit)) {
    if (operand->residence != Residence::Scratchpad)
      continue;
    for (const std::string &major : operand->majors)
      if (!llvm::is_contained(orders, major))
        messages.push_back(
            formatv("field '{0}' accepts the storage order '{1}'; it must be \"row\" or \"column\"", field, major));
    if (operand->majors.empty())
      messages.push_back(formatv("field '{0}' accepts no storage order; give {1} or both", field, quoted(orders)));
    for (const std::string &arrangement : operand->arrangements)
      if (!llvm::is_contained(unitArrangements, arrangement))
        messages.push_back(
            formatv("field '{0}' accepts the arrangement '{1}', which no stage writes; the words are {2}", field,
                    arrangement, quoted(unitArrangements)));
  }
}

void tilewright::checkStorageOrders(const CopyEngine &engine, Messages &messages) {
  for (const std::string &arrangement : engine.arrangements)
    if (!llvm::is_contained(engineArrangements, arrangement))
      messages.push_back(
          formatv("copy engine '{0}': field 'arrangements' has '{1}', which no stage asks for; the words are {2}",
                  engine.name, arrangement, quoted(engineArrangements)));
  for (int64_t bytes : engine.accessBytes)
    if (bytes < 1 || !llvm::isPowerOf2_64(bytes))
      messages.push_back(
          formatv("copy engine '{0}': field 'accessBytes' has {1}; the bytes of an access are a power of "
                  "two, and an empty list stands for any",
                  engine.name, bytes));
}

void tilewright::checkCommand(const MatrixUnit &unit, Messages &messages) {
  bool hasFlag = false;
  for (StringRef role : writtenArguments(unit.emit)) {
    hasFlag |= role == "UseC";
    if (!llvm::is_contained({"A", "B", "C", "UseC"}, role) && !role.starts_with("i"))
      messages.push_back(
          formatv("field 'emit' takes \"{0}\", but the unit is a command of a core, whose operands lie in "
                  "memories; it can take \"A\", \"B\", \"C\" (an address and a pitch each), \"UseC\" and "
                  "constants such as \"i32:0\"",
                  role));
  }
  if (!unit.emit.name.empty() && hasFlag != (unit.init == UnitInit::ZeroFlag))
    messages.push_back(hasFlag
                           ? "field 'emit' takes \"UseC\", but field 'init' is not ZeroFlag: C is always read the same "
                             "way; leave \"UseC\" out, or give init = ZeroFlag"
                           : "field 'init' is ZeroFlag, but field 'emit' does not take the flag; add \"UseC\" where "
                             "the function has it, or give init = AccumulateAlways");
}

void tilewright::checkUnitOnCores(const MachineGraph &graph, const MatrixUnit &unit, Messages &messages) {
  if (!graph.threadMemory() || !isCoreCommand(unit))
    return;
  for (const auto &[field, operand] : operandsOf(unit)) {
    auto isKnown = [](const std::string &word) { return llvm::is_contained(unitArrangements, word); };
    if (operand->residence != Residence::Scratchpad || operand->majors.empty() || readsPlainRows(*operand) ||
        !llvm::all_of(operand->arrangements, isKnown))
      continue; // sound, or reported with the record
    const bool hasRows = llvm::is_contained(operand->majors, "row");
    messages.push_back(formatv(
        "unit '{0}': field '{1}' accepts only the {2} \"{3}\", but cores keep tiles as plain rows in their scratchpad: "
        "a unit is given the address of the first row and the bytes between rows; {4}",
        unit.name, field, hasRows ? "arrangements" : "storage order",
        hasRows ? llvm::join(operand->arrangements, "\", \"") : "column",
        hasRows ? "leave the list empty, or add \"none\", where the instruction takes that"
                : "where the instruction takes rows, write [\"row\"]; where it takes columns, no stage can use it"));
  }
  const Memory *memory = graph.homeOf(unit.c);
  const int64_t bytes = llvm::divideCeil(unit.m * unit.n * bitWidth(unit.c.element), 8);
  if (memory && memory->kind == MemoryKind::Accumulator && memory->bytes >= bytes && memory->bytes < 2 * bytes)
    messages.push_back(
        formatv("unit '{0}': field 'c' needs {1} bytes of the memory '{2}', which has {3}; programs keep two "
                "tiles of accumulators, so that one is finished while the unit computes the next: give "
                "field 'bytes' of that memory {4} or more, or make the shape smaller",
                unit.name, bytes, memory->name, memory->bytes, 2 * bytes));
}
