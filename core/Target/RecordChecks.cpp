//===- RecordChecks.cpp - Records that agree with themselves --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The checks of units and chips. tw-tblgen runs them when a record is built,
/// tests and vendors on descriptions made in C++. A message names the two
/// fields that disagree.
///
//===----------------------------------------------------------------------===//

#include "tilewright/ChipTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tilewright;
using llvm::formatv;

using Messages = std::vector<std::string>;

/// True for an argument role that the language knows.
static bool isRole(llvm::StringRef role) {
  static const llvm::StringSet<> roles = {"A",        "B",         "C",      "TileA",  "TileB",  "TileC",
                                          "Tile",     "Slice",     "ValidM", "ValidN", "ValidK", "ValidRow",
                                          "AllTrue",  "Zero",      "Vec",    "Ptr",    "Stride", "Rows",
                                          "RowBytes", "MaskUnion", "DescA",  "DescB",  "UseC"};
  if (roles.contains(role) || role.starts_with("constraints:")) // of inline assembly
    return true;
  auto [type, value] = role.split(':');
  std::string bytes;
  if (type == "data")
    return !value.empty() && llvm::tryGetFromHex(value, bytes);
  int64_t number;
  return (type == "i1" || type == "i8" || type == "i16" || type == "i32" || type == "i64") &&
         !value.getAsInteger(10, number);
}

static void checkRoles(llvm::StringRef field, const Emission &emission, Messages &messages) {
  for (const std::string &role : emission.arguments) {
    if (!isRole(role))
      messages.push_back(formatv("field '{0}' has the unknown argument role '{1}'", field, role));
  }
}

/// Whether `emission` takes the operand named `letter`, as a value, a tile number or a descriptor.
static bool takes(const Emission &emission, char letter) {
  for (llvm::StringRef role : emission.arguments) {
    if (role == llvm::StringRef(&letter, 1) || role == std::string("Tile") + letter ||
        role == std::string("Desc") + letter)
      return true;
  }
  return false;
}

static void checkOperand(const MatrixUnit &unit, char letter, const UnitOperand &operand, Messages &messages) {
  std::string field(1, llvm::toLower(letter));
  if (llvm::Error error = checkLayout(operand.layout)) {
    messages.push_back(formatv("the layout of field '{0}' is none: {1}", field, llvm::toString(std::move(error))));
    return;
  }
  llvm::Expected<int64_t> cover = checkCover(operand.layout, operand.rows, operand.cols);
  if (!cover)
    messages.push_back(formatv("the layout of field '{0}' disagrees with the unit's shape {1} x {2} x {3}: {4}", field,
                               unit.m, unit.n, unit.k, llvm::toString(cover.takeError())));
  bool lanes = operand.residence == Residence::LaneRegisters;
  if (!lanes && operand.layout.numLanes() != 1)
    messages.push_back(formatv("the layout of field '{0}' has {1} lanes, but its residence belongs to one thread",
                               field, operand.layout.numLanes()));
  if (lanes && unit.scopeLevel.empty())
    messages.push_back(formatv("field '{0}' lies in the registers of {1} lanes, but field 'scope' is one thread", field,
                               operand.layout.numLanes()));
  if (operand.residence == Residence::BroadcastScalar && letter == 'C')
    messages.push_back("field 'c' is a broadcast scalar; only 'a' and 'b' can be");
  if (operand.residence == Residence::BroadcastScalar && (letter == 'A' ? unit.m : unit.n) != 1)
    messages.push_back(formatv("field '{0}' is a broadcast scalar, but field '{1}' is {2}, not 1", field,
                               letter == 'A' ? "m" : "n", letter == 'A' ? unit.m : unit.n));
  if (operand.residence == Residence::OpaqueRegister && operand.opaque) {
    const OpaqueRegister &opaque = *operand.opaque;
    int64_t held = opaque.rows * opaque.rowBytes * 8;
    int64_t needed = operand.rows * operand.cols * bitWidth(operand.element);
    if (needed > held)
      messages.push_back(
          formatv("field '{0}' needs {1} bits, but the register '{2}' holds {3}", field, needed, opaque.name, held));
    for (auto [number, mask] : llvm::enumerate(opaque.masks)) {
      if (opaque.granules < 64 && (mask >> opaque.granules) != 0)
        messages.push_back(
            formatv("register {0} of '{1}' has the granule mask {2:x}, but the bank '{3}' has {4} granules", number,
                    opaque.name, mask, opaque.bank, opaque.granules));
    }
    if (opaque.masks.empty() && opaque.valueType.empty())
      messages.push_back(formatv("the register '{0}' of field '{1}' has neither numbers ('masks') nor a 'valueType'",
                                 opaque.name, field));
    for (auto [name, emission] : {std::pair("zero", &opaque.zero), std::pair("fill", &opaque.fill),
                                  std::pair("read", &opaque.read), std::pair("store", &opaque.store)})
      checkRoles(name, *emission, messages);
    if (letter == 'C' && opaque.read.name.empty() && opaque.store.name.empty())
      messages.push_back(formatv(
          "the register '{0}' of field 'c' has neither 'read' nor 'store': results cannot leave it", opaque.name));
  }
}

Messages tilewright::checkUnit(const MatrixUnit &unit) {
  Messages messages;
  if (unit.m < 1 || unit.n < 1 || unit.k < 1) {
    messages.push_back(formatv("shape {0} x {1} x {2}: every extent must be at least 1", unit.m, unit.n, unit.k));
    return messages;
  }
  checkOperand(unit, 'A', unit.a, messages);
  checkOperand(unit, 'B', unit.b, messages);
  checkOperand(unit, 'C', unit.c, messages);

  auto elements = [&](const char *field, const UnitOperand &operand) {
    if (isFloat(operand.element) != isFloat(unit.c.element))
      messages.push_back(formatv("fields '{0}' ({1}) and 'c' ({2}) mix integers and floats", field,
                                 elementName(operand.element), elementName(unit.c.element)));
    else if (bitWidth(operand.element) > bitWidth(unit.c.element))
      messages.push_back(formatv("field '{0}' ({1}) is wider than the accumulator in field 'c' ({2})", field,
                                 elementName(operand.element), elementName(unit.c.element)));
  };
  elements("a", unit.a);
  elements("b", unit.b);

  if (unit.issue <= 0)
    messages.push_back(formatv("field 'issue' is {0} clocks; it must be above 0", unit.issue));
  if (unit.latency < unit.issue)
    messages.push_back(
        formatv("field 'latency' ({0} clocks) is below field 'issue' ({1} clocks)", unit.latency, unit.issue));
  if (unit.source.empty())
    messages.push_back("field 'source' does not say where 'issue' and 'latency' come from");
  if (unit.emit.name.empty())
    messages.push_back("field 'emit' names nothing to emit");
  checkRoles("emit", unit.emit, messages);
  for (char letter : {'A', 'B'}) {
    if (!takes(unit.emit, letter))
      messages.push_back(formatv("field 'emit' does not take operand {0}, which field '{1}' describes", letter,
                                 std::string(1, llvm::toLower(letter))));
  }
  if (unit.init == UnitInit::NoAccumulate && takes(unit.emit, 'C') && unit.c.residence != Residence::OpaqueRegister)
    messages.push_back("field 'init' says that C is not read, but field 'emit' takes it");
  if (unit.init != UnitInit::NoAccumulate && !takes(unit.emit, 'C'))
    messages.push_back("field 'init' says that C is accumulated, but field 'emit' does not take it");
  if (unit.stationary && unit.stationary != 'A' && unit.stationary != 'B')
    messages.push_back(
        formatv("field 'stationary' is '{0}'; it must be \"A\" or \"B\"", std::string(1, unit.stationary)));
  return messages;
}

/// The lanes of one group of `unit` on `chip`: members of the levels below its scope times the groups; 0 if unknown.
static int64_t lanesOf(const ChipTable &chip, const MatrixUnit &unit) {
  int64_t lanes = unit.scopeCount;
  bool inside = false;
  for (const Level &level : chip.levels) {
    inside |= level.name == unit.scopeLevel;
    if (inside)
      lanes *= level.count;
  }
  return inside ? lanes : 0;
}

Messages tilewright::checkChip(const ChipTable &chip) {
  Messages messages;
  llvm::StringSet<> levels, memories;
  for (const Level &level : chip.levels) {
    if (!levels.insert(level.name).second)
      messages.push_back(formatv("field 'levels' has two levels '{0}'", level.name));
    if (level.count < 1)
      messages.push_back(formatv("level '{0}' has {1} members; it must have at least 1", level.name, level.count));
  }
  if (chip.levels.empty())
    messages.push_back("field 'levels' is empty: a chip has at least one level");
  if (chip.clockMHz <= 0)
    messages.push_back("field 'clockMHz' must be above 0");
  for (const Memory &memory : chip.memories) {
    if (!memories.insert(memory.name).second)
      messages.push_back(formatv("field 'memories' has two memories '{0}'", memory.name));
    if (!levels.contains(memory.level))
      messages.push_back(formatv("memory '{0}' belongs to level '{1}', which field 'levels' does not have", memory.name,
                                 memory.level));
    if (memory.bytes <= 0)
      messages.push_back(formatv("memory '{0}' has {1} bytes", memory.name, memory.bytes));
    if (memory.kind == MemoryKind::Cache && (memory.lineBytes <= 0 || memory.ways <= 0))
      messages.push_back(formatv("cache '{0}' lacks 'lineBytes' or 'ways'", memory.name));
    else if (memory.kind == MemoryKind::Cache && memory.bytes % (memory.lineBytes * memory.ways) != 0)
      messages.push_back(formatv("cache '{0}': 'bytes' ({1}) does not divide into {2} ways of lines of {3} bytes",
                                 memory.name, memory.bytes, memory.ways, memory.lineBytes));
    if (memory.kind != MemoryKind::RegisterFile && memory.bytesPerClock <= 0)
      messages.push_back(formatv("memory '{0}' has no bandwidth in field 'read'", memory.name));
    if (memory.source.empty())
      messages.push_back(
          formatv("memory '{0}' does not say in field 'source' where its numbers come from", memory.name));
  }
  for (const CopyEngine &copy : chip.copies) {
    for (const std::string &end : {copy.from, copy.to}) {
      if (!memories.contains(end))
        messages.push_back(
            formatv("copy engine '{0}' names the memory '{1}', which field 'memories' does not have", copy.name, end));
    }
  }
  for (const MatrixUnit &unit : chip.units) {
    for (const std::string &feature : unit.features) {
      if (!chip.hasFeature(feature))
        messages.push_back(
            formatv("unit '{0}' requires '{1}', which field 'features' does not have", unit.name, feature));
    }
    for (const State &state : unit.states) {
      for (const std::string &feature : state.features) {
        if (!chip.hasFeature(feature))
          messages.push_back(formatv("state '{0}' of unit '{1}' requires '{2}', which field 'features' does not have",
                                     state.name, unit.name, feature));
      }
    }
    if (!unit.scopeLevel.empty() && !levels.contains(unit.scopeLevel))
      messages.push_back(formatv("unit '{0}' is issued by level '{1}', which field 'levels' does not have", unit.name,
                                 unit.scopeLevel));
    for (const auto &[field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b), std::pair("c", &unit.c)}) {
      int64_t lanes = lanesOf(chip, unit);
      if (operand->residence == Residence::LaneRegisters && lanes && operand->layout.numLanes() != lanes)
        messages.push_back(
            formatv("unit '{0}': the layout of field '{1}' has {2} lanes, but its 'scope' has {3} on this chip",
                    unit.name, field, operand->layout.numLanes(), lanes));
      bool addressed = operand->residence == Residence::Scratchpad || operand->residence == Residence::Accumulator;
      if (addressed && !memories.contains(operand->memory))
        messages.push_back(
            formatv("unit '{0}': field '{1}' lies in the memory '{2}', which field 'memories' does not have", unit.name,
                    field, operand->memory));
    }
  }
  for (const Rate &rate : chip.rates) {
    if (rate.perClock <= 0)
      messages.push_back(formatv("rate '{0}' is {1} per clock; it must be above 0", rate.op, rate.perClock));
  }
  return messages;
}
