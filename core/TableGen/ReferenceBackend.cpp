//===- ReferenceBackend.cpp - Records as a reference page ------------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes a Markdown page of a target: its chips with memories, rates and
/// units, then each unit with its operands and emission.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/IrFunction.h"
#include "core/TableGen/RecordReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
using namespace tilewright::tablegen;
using llvm::raw_ostream;

/// 3, 0.5, 7.82: at most three significant digits behind the point, no trailing zeros.
static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
  return text;
}

/// "32 KiB", "1.5 MiB", "64 bytes".
static std::string size(int64_t bytes) {
  static constexpr const char *names[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  return number(value) + " " + names[unit];
}

static const char *home(Residence residence) {
  switch (residence) {
  case Residence::BroadcastScalar:
    return "broadcast scalar";
  case Residence::VectorRegister:
    return "vector register";
  case Residence::LaneRegisters:
    return "registers over lanes";
  case Residence::OpaqueRegister:
    return "opaque register";
  case Residence::Scratchpad:
    return "address in a scratchpad";
  case Residence::Accumulator:
    return "accumulator memory";
  }
  return "";
}

static void writeBases(llvm::StringRef name, const std::vector<Position> &bases, raw_ostream &os) {
  if (bases.empty())
    return;
  os << " " << name;
  for (const Position &base : bases)
    os << " (" << base.row << ", " << base.col << ")";
  os << ";";
}

static void writeOperand(llvm::StringRef name, const UnitOperand &operand, raw_ostream &os) {
  os << "| " << name << " | " << operand.rows << " x " << operand.cols << " | " << elementName(operand.element) << " | "
     << home(operand.residence);
  if (operand.opaque)
    os << " `" << operand.opaque->name << "`";
  if (!operand.memory.empty())
    os << " `" << operand.memory << "`";
  os << " |";
  writeBases("lanes", operand.layout.lanes, os);
  writeBases("elements", operand.layout.elements, os);
  for (const Repetition &repeat : operand.layout.repeats)
    os << " " << repeat.count << " times (" << repeat.rowStep << ", " << repeat.colStep << ");";
  os << " |\n";
}

static void writeUnit(const MatrixUnit &unit, llvm::StringRef origin, raw_ostream &os) {
  os << "\n### `" << unit.name << "`\n\n"
     << unit.m << " x " << unit.n << " x " << unit.k << ", from " << origin << ". ";
  if (!unit.scopeLevel.empty())
    os << "Issued by " << unit.scopeCount << " " << unit.scopeLevel << "(s) together. ";
  if (!unit.features.empty())
    os << "Needs `" << llvm::join(unit.features, "`, `") << "`. ";
  for (const State &state : unit.states)
    os << "Runs inside the state `" << state.name << "` (" << number(state.cost) << " clocks to enter and leave). ";
  os << "Emitted as `" << unit.emit.name << "` (" << llvm::join(writtenArguments(unit.emit), ", ") << "). Issue "
     << number(unit.issue) << ", latency " << number(unit.latency) << " clocks (" << unit.source
     << "), unless the chip says otherwise.\n\n| operand | shape | element | lives in | layout bases (row, column) |\n"
        "|---|---|---|---|---|\n";
  writeOperand("A", unit.a, os);
  writeOperand("B", unit.b, os);
  writeOperand("C", unit.c, os);
  if (unit.sparsity) {
    writeOperand("index of A", unit.sparsity->index, os);
    os << "\nA keeps " << unit.sparsity->kept << " of " << unit.sparsity->group << " elements along k.\n";
  }
  if (!unit.scales)
    return;
  if (unit.scales->hasA())
    writeOperand("scales of A", unit.scales->a, os);
  if (unit.scales->hasB())
    writeOperand("scales of B", unit.scales->b, os);
  os << "\nA scale multiplies " << unit.scales->block << " elements along k.\n";
}

static void writeChip(const ChipTable &chip, raw_ostream &os) {
  os << "\n### `" << chip.name << "`\n\n" << chip.summary << ". " << number(chip.clockMHz) << " MHz";
  for (const Level &level : chip.levels)
    os << ", " << level.count << " x " << level.name;
  os << ".\n\n| memory | size | read, write, streaming write (bytes per clock) | latency (clocks) | source |\n"
        "|---|---|---|---|---|\n";
  for (const Memory &memory : chip.memories) {
    os << "| " << memory.name << " | " << size(memory.bytes) << " | ";
    if (memory.kind == MemoryKind::RegisterFile)
      os << memory.entries << " registers of " << size(memory.entryBytes);
    else
      os << number(memory.bytesPerClock) << ", " << number(memory.writeBytesPerClock) << ", "
         << number(memory.streamingWriteBytesPerClock);
    os << " | " << number(memory.latency) << " | " << memory.source << " |\n";
  }
  if (!chip.copies.empty())
    os << "\n| copy engine | from, to | bytes per clock | latency | source |\n|---|---|---|---|---|\n";
  for (const CopyEngine &copy : chip.copies)
    os << "| " << copy.name << " | " << copy.from << ", " << copy.to << " | " << number(copy.bytesPerClock) << " | "
       << number(copy.latency) << " | " << copy.source << " |\n";
  if (!chip.units.empty())
    os << "\n| unit | issue | latency | operations per clock | source |\n|---|---|---|---|---|\n";
  for (const MatrixUnit &unit : chip.units)
    os << "| `" << unit.name << "` | " << number(unit.issue) << " | " << number(unit.latency) << " | "
       << number(unit.flopsPerClock()) << " | " << unit.source << " |\n";
  if (!chip.numbers.empty())
    os << "\n| field | value | unit | source |\n|---|---|---|---|\n";
  for (const Fact &fact : chip.numbers)
    os << "| `" << fieldOf(fact.number).name << "` | " << number(fact.value) << " | "
       << unitName(fieldOf(fact.number).unit) << " | " << fact.source << " |\n";
}

void tablegen::writeReference(const Records &records, llvm::StringRef target, raw_ostream &os) {
  os << "# Target `" << target
     << "`\n\nGenerated from its records. Clocks are those of the chip; an operation is one "
        "multiplication or addition.\n\n## Chips\n";
  for (const ChipTable &chip : records.chips)
    writeChip(chip, os);
  os << "\n## Matrix units\n";
  for (auto [unit, origin] : llvm::zip(records.units, records.origin))
    writeUnit(unit, origin, os);
}
