//===- TablesBackend.cpp - Records as C++ tables --------------------------- ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes one function per unit and per chip, and the two lists. The code
/// needs only tilewright/ChipTable.h.
///
//===----------------------------------------------------------------------===//

#include "core/TableGen/RecordReader.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;
using namespace tilewright::tablegen;
using llvm::raw_ostream;
using llvm::StringRef;

namespace {

/// Streams C++ literals; only fields that differ from their default are written.
class Printer {
public:
  explicit Printer(raw_ostream &os) : os(os) {}

  static std::string literal(StringRef text) {
    std::string escaped;
    llvm::raw_string_ostream stream(escaped);
    stream << '"';
    stream.write_escaped(text, /*UseHexEscapes=*/false);
    stream << '"';
    return escaped;
  }
  static std::string literal(const std::vector<std::string> &texts) {
    std::vector<std::string> all;
    for (const std::string &text : texts)
      all.push_back(literal(text));
    return "{" + llvm::join(all, ", ") + "}";
  }
  static std::string literal(double value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << llvm::format("%.17g", value);
    return text;
  }

  void set(StringRef target, const std::string &value) {
    if (!value.empty())
      os << "  " << target << " = " << literal(value) << ";\n";
  }
  void set(StringRef target, const std::vector<std::string> &values) {
    if (!values.empty())
      os << "  " << target << " = " << literal(values) << ";\n";
  }
  void set(StringRef target, double value) { os << "  " << target << " = " << literal(value) << ";\n"; }
  void set(StringRef target, int64_t value) { os << "  " << target << " = " << value << ";\n"; }
  void setIf(StringRef target, bool value) {
    if (value)
      os << "  " << target << " = true;\n";
  }
  void raw(StringRef target, StringRef value) { os << "  " << target << " = " << value << ";\n"; }

  void layout(const std::string &target, const Layout &layout);
  void emission(const std::string &target, const Emission &emission);
  void operand(const std::string &target, const UnitOperand &operand);
  void state(const State &state);
  void unit(const MatrixUnit &unit);
  void chip(const ChipTable &chip);

  raw_ostream &os;
};

} // namespace

static StringRef word(LevelKind kind) {
  static constexpr const char *words[] = {"Parallel", "Concurrent", "Lockstep", "Single"};
  return words[static_cast<int>(kind)];
}
static StringRef word(MemoryKind kind) {
  static constexpr const char *words[] = {"Global", "Cache", "Scratchpad", "RegisterFile", "Accumulator"};
  return words[static_cast<int>(kind)];
}
static StringRef word(ElementKind kind) {
  static constexpr const char *words[] = {"F64",        "F32",        "TF32",   "F16",    "BF16",   "F8E4M3", "F8E5M2",
                                          "I32",        "I16",        "I8",     "U8",     "I4",     "U4",     "I1",
                                          "F8E4M3FNUZ", "F8E5M2FNUZ", "F8E8M0", "F6E2M3", "F6E3M2", "F4E2M1"};
  return words[static_cast<int>(kind)];
}
static StringRef word(Residence kind) {
  static constexpr const char *words[] = {"BroadcastScalar", "VectorRegister", "LaneRegisters",
                                          "OpaqueRegister",  "Scratchpad",     "Accumulator"};
  return words[static_cast<int>(kind)];
}
static StringRef word(EmissionKind kind) {
  static constexpr const char *words[] = {"MlirOp", "LlvmIntrinsic", "InlineAsm", "ExternalCall"};
  return words[static_cast<int>(kind)];
}
static StringRef word(Slices kind) {
  static constexpr const char *words[] = {"Whole", "Row", "Column"};
  return words[static_cast<int>(kind)];
}
static StringRef word(UnitInit kind) {
  static constexpr const char *words[] = {"AccumulateAlways", "ZeroFlag", "NoAccumulate"};
  return words[static_cast<int>(kind)];
}
static StringRef word(Completion kind) {
  static constexpr const char *words[] = {"AtOnce", "WaitGroup", "Barrier"};
  return words[static_cast<int>(kind)];
}

/// "fma_f32" from "acme.fma_f32": what a C++ function can be called.
static StringRef enumerator(Number number) {
  static constexpr const char *words[] = {
#define TW_NUMBER(enumerator, field, group, unit, key) #enumerator,
#include "tilewright/Numbers.def"
  };
  return words[static_cast<int>(number)];
}

static std::string identifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? c : '_';
  return result;
}

void Printer::layout(const std::string &target, const Layout &layout) {
  auto positions = [&](StringRef field, const std::vector<Position> &bases) {
    if (bases.empty())
      return;
    os << "  " << target << "." << field << " = {";
    for (const Position &base : bases)
      os << "{" << base.row << ", " << base.col << "}, ";
    os << "};\n";
  };
  positions("lanes", layout.lanes);
  positions("elements", layout.elements);
  if (!layout.repeats.empty()) {
    os << "  " << target << ".repeats = {";
    for (const Repetition &repeat : layout.repeats)
      os << "{" << repeat.count << ", " << repeat.rowStep << ", " << repeat.colStep << "}, ";
    os << "};\n";
  }
}

void Printer::emission(const std::string &target, const Emission &emission) {
  if (emission.name.empty())
    return;
  os << "  " << target << " = {tilewright::EmissionKind::" << word(emission.kind) << ", " << literal(emission.name)
     << ", " << literal(emission.arguments) << "};\n";
}

void Printer::operand(const std::string &target, const UnitOperand &operand) {
  raw(target + ".element", ("tilewright::ElementKind::" + word(operand.element)).str());
  raw(target + ".residence", ("tilewright::Residence::" + word(operand.residence)).str());
  set(target + ".rows", operand.rows);
  set(target + ".cols", operand.cols);
  layout(target + ".layout", operand.layout);
  setIf(target + ".scalable", operand.scalable);
  set(target + ".storage", operand.storage);
  set(target + ".memory", operand.memory);
  set(target + ".majors", operand.majors);
  set(target + ".arrangements", operand.arrangements);
  if (!operand.opaque)
    return;
  const OpaqueRegister &opaque = *operand.opaque;
  os << "  {\n  auto opaque = std::make_shared<tilewright::OpaqueRegister>();\n";
  set("opaque->name", opaque.name);
  set("opaque->bank", opaque.bank);
  set("opaque->granules", opaque.granules);
  if (!opaque.masks.empty()) {
    os << "  opaque->masks = {";
    for (uint64_t mask : opaque.masks)
      os << mask << "u, ";
    os << "};\n";
  }
  set("opaque->rows", opaque.rows);
  set("opaque->rowBytes", opaque.rowBytes);
  set("opaque->valueType", opaque.valueType);
  raw("opaque->slices", ("tilewright::Slices::" + word(opaque.slices)).str());
  emission("opaque->zero", opaque.zero);
  emission("opaque->fill", opaque.fill);
  emission("opaque->read", opaque.read);
  emission("opaque->store", opaque.store);
  os << "  " << target << ".opaque = opaque;\n  }\n";
}

void Printer::state(const State &state) {
  os << "  {\n  tilewright::State state;\n";
  set("state.name", state.name);
  set("state.features", state.features);
  set("state.attributes", state.attributes);
  emission("state.enter", state.enter);
  emission("state.leave", state.leave);
  emission("state.check", state.check);
  set("state.checkValue", state.checkValue);
  set("state.forbids", state.forbids);
  set("state.links", state.links);
  set("state.cost", state.cost);
  set("state.source", state.source);
  os << "  unit.states.push_back(std::move(state));\n  }\n";
}

void Printer::unit(const MatrixUnit &unit) {
  os << "\nstatic tilewright::MatrixUnit unit_" << identifier(unit.name)
     << "(double issue, double latency, std::string source) {\n  tilewright::MatrixUnit unit;\n";
  set("unit.name", unit.name);
  set("unit.m", unit.m);
  set("unit.n", unit.n);
  set("unit.k", unit.k);
  operand("unit.a", unit.a);
  operand("unit.b", unit.b);
  operand("unit.c", unit.c);
  if (unit.scales) {
    os << "  unit.scales.emplace();\n";
    set("unit.scales->block", unit.scales->block);
    for (const auto &[name, scale] :
         {std::pair("unit.scales->a", &unit.scales->a), std::pair("unit.scales->b", &unit.scales->b)})
      if (scale->rows > 0) {
        operand(name, *scale);
      } else {
        set(std::string(name) + ".rows", int64_t(0));
        set(std::string(name) + ".cols", int64_t(0));
      }
  }
  if (unit.sparsity) {
    os << "  unit.sparsity.emplace();\n";
    set("unit.sparsity->kept", unit.sparsity->kept);
    set("unit.sparsity->group", unit.sparsity->group);
    operand("unit.sparsity->index", unit.sparsity->index);
  }
  raw("unit.issue", "issue");
  raw("unit.latency", "latency");
  raw("unit.source", "std::move(source)");
  set("unit.features", unit.features);
  set("unit.scopeLevel", unit.scopeLevel);
  set("unit.scopeCount", unit.scopeCount);
  for (const State &each : unit.states)
    state(each);
  raw("unit.init", ("tilewright::UnitInit::" + word(unit.init)).str());
  raw("unit.completion", ("tilewright::Completion::" + word(unit.completion)).str());
  setIf("unit.saturates", unit.saturates);
  if (unit.sumBits)
    set("unit.sumBits", unit.sumBits);
  setIf("unit.takesValid", unit.takesValid);
  if (unit.queueDepth)
    set("unit.queueDepth", unit.queueDepth);
  if (unit.stationary) {
    raw("unit.stationary", std::string("'") + unit.stationary + "'");
    set("unit.loadStationary", unit.loadStationary);
  }
  emission("unit.emit", unit.emit);
  os << "  return unit;\n}\n";
}

void Printer::chip(const ChipTable &chip) {
  os << "\nstatic tilewright::ChipTable chip_" << identifier(chip.name) << "() {\n  tilewright::ChipTable chip;\n";
  set("chip.name", chip.name);
  set("chip.summary", chip.summary);
  set("chip.triple", chip.triple);
  set("chip.cpu", chip.cpu);
  set("chip.features", chip.features);
  set("chip.lacks", chip.lacks);
  set("chip.clockMHz", chip.clockMHz);
  for (const Level &level : chip.levels)
    os << "  chip.levels.push_back({" << literal(level.name) << ", tilewright::LevelKind::" << word(level.kind) << ", "
       << level.count << "});\n";
  for (const Memory &memory : chip.memories) {
    os << "  {\n  tilewright::Memory memory;\n";
    set("memory.name", memory.name);
    set("memory.level", memory.level);
    raw("memory.kind", ("tilewright::MemoryKind::" + word(memory.kind)).str());
    set("memory.bytes", memory.bytes);
    set("memory.bytesPerClock", memory.bytesPerClock);
    set("memory.writeBytesPerClock", memory.writeBytesPerClock);
    set("memory.streamingWriteBytesPerClock", memory.streamingWriteBytesPerClock);
    set("memory.latency", memory.latency);
    set("memory.lineBytes", memory.lineBytes);
    set("memory.ways", memory.ways);
    set("memory.banks", memory.banks);
    set("memory.bankBytes", memory.bankBytes);
    set("memory.entries", memory.entries);
    set("memory.entryBytes", memory.entryBytes);
    set("memory.pageBytes", memory.pageBytes);
    if (memory.sectorBytes)
      set("memory.sectorBytes", memory.sectorBytes);
    set("memory.source", memory.source);
    if (memory.role != MemoryRole::Inferred)
      raw("memory.role", ("tilewright::MemoryRole::" + roleName(memory.role)).str());
    if (memory.access != MemoryAccess::Inferred)
      raw("memory.access", memory.access == MemoryAccess::EnginesOnly ? "tilewright::MemoryAccess::EnginesOnly"
                                                                      : "tilewright::MemoryAccess::LoadsAndStores");
    os << "  chip.memories.push_back(std::move(memory));\n  }\n";
  }
  for (const CopyEngine &copy : chip.copies) {
    os << "  {\n  tilewright::CopyEngine copy;\n";
    set("copy.name", copy.name);
    set("copy.from", copy.from);
    set("copy.to", copy.to);
    raw("copy.asynchronous", copy.asynchronous ? "true" : "false");
    raw("copy.completion", ("tilewright::Completion::" + word(copy.completion)).str());
    set("copy.maxRank", copy.maxRank);
    set("copy.alignBytes", copy.alignBytes);
    if (!copy.accessBytes.empty()) {
      os << "  copy.accessBytes = {";
      for (int64_t bytes : copy.accessBytes)
        os << bytes << ", ";
      os << "};\n";
    }
    set("copy.arrangements", copy.arrangements);
    if (copy.burstBytes)
      set("copy.burstBytes", copy.burstBytes);
    if (copy.queueDepth)
      set("copy.queueDepth", copy.queueDepth);
    setIf("copy.zeroFill", copy.zeroFill);
    set("copy.bytesPerClock", copy.bytesPerClock);
    set("copy.latency", copy.latency);
    set("copy.source", copy.source);
    set("copy.features", copy.features);
    emission("copy.emit", copy.emit);
    os << "  chip.copies.push_back(std::move(copy));\n  }\n";
  }
  for (const VectorOp &op : chip.vectorOps) {
    os << "  {\n  tilewright::VectorOp op;\n";
    set("op.name", op.name);
    set("op.kind", op.kind);
    raw("op.from", ("tilewright::ElementKind::" + word(op.from)).str());
    raw("op.to", ("tilewright::ElementKind::" + word(op.to)).str());
    set("op.lanes", op.lanes);
    setIf("op.scale", op.scale);
    setIf("op.zeroPoint", op.zeroPoint);
    setIf("op.saturates", op.saturates);
    set("op.rounding", op.rounding);
    set("op.entries", op.entries);
    set("op.issue", op.issue);
    set("op.latency", op.latency);
    set("op.source", op.source);
    set("op.features", op.features);
    emission("op.emit", op.emit);
    os << "  chip.vectorOps.push_back(std::move(op));\n  }\n";
  }
  for (const LaneInstruction &instruction : chip.laneInstructions) {
    os << "  {\n  tilewright::LaneInstruction instruction;\n";
    set("instruction.does", instruction.does);
    emission("instruction.emit", instruction.emit);
    os << "  chip.laneInstructions.push_back(std::move(instruction));\n  }\n";
  }
  for (const Fact &fact : chip.numbers)
    os << "  chip.numbers.push_back({tilewright::Number::" << enumerator(fact.number) << ", " << literal(fact.value)
       << ", " << literal(fact.source) << "});\n";
  for (const MatrixUnit &unit : chip.units)
    os << "  chip.units.push_back(unit_" << identifier(unit.name) << "(" << literal(unit.issue) << ", "
       << literal(unit.latency) << ", " << literal(unit.source) << "));\n";
  os << "  return chip;\n}\n";
}

void tablegen::writeTables(const Records &records, StringRef nameSpace, raw_ostream &os) {
  // Records are made once: thousands of assignments that no optimiser should look at, which takes minutes.
  os << "// Generated by tw-tblgen; do not edit.\n\n#if defined(__clang__)\n#pragma clang optimize off\n#elif "
        "defined(__GNUC__)\n#pragma GCC push_options\n#pragma GCC optimize(\"O0\")\n#endif\n\nnamespace "
     << nameSpace << " {\n";
  Printer printer(os);
  for (const MatrixUnit &unit : records.units)
    printer.unit(unit);
  for (const ChipTable &chip : records.chips)
    printer.chip(chip);
  os << "\n/// Every unit record, with the costs that it states itself.\n"
        "std::vector<tilewright::MatrixUnit> recordedUnits() {\n  std::vector<tilewright::MatrixUnit> all;\n";
  for (const MatrixUnit &unit : records.units)
    os << "  all.push_back(unit_" << identifier(unit.name) << "(" << Printer::literal(unit.issue) << ", "
       << Printer::literal(unit.latency) << ", " << Printer::literal(unit.source) << "));\n";
  os << "  return all;\n}\n\n/// Every chip record.\nstd::vector<tilewright::ChipTable> recordedChips() {\n"
        "  std::vector<tilewright::ChipTable> all;\n";
  for (const ChipTable &chip : records.chips)
    os << "  all.push_back(chip_" << identifier(chip.name) << "());\n";
  os << "  return all;\n}\n\n} // namespace " << nameSpace
     << "\n\n#if defined(__clang__)\n#pragma clang optimize on\n#elif defined(__GNUC__)\n#pragma GCC "
        "pop_options\n#endif\n";
}
