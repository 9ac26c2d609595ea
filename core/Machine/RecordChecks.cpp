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

#include "core/Machine/RecordChecks.h"
#include "core/Machine/CoreCommand.h"
#include "core/Machine/IrFunction.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/RecordTypes.h"
#include "core/Machine/ScaleImage.h"
#include "core/Machine/UnitOperands.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace tilewright;
using llvm::formatv;

using Messages = std::vector<std::string>;

/// True for an argument role that the language knows.
static bool isRole(llvm::StringRef role) {
  // Parts of an operand: "A.1".
  static const llvm::StringSet<> ofParts = {"A", "B", "C", "Vec", "Tile"};
  auto [whole, part] = role.split('.');
  unsigned index;
  if (ofParts.contains(whole) && !part.getAsInteger(10, index))
    return true;
  static const llvm::StringSet<> roles = {"A",     "B",      "C",      "TileA",  "TileB",    "TileC",     "Tile",
                                          "Slice", "ValidM", "ValidN", "ValidK", "ValidRow", "AllTrue",   "Zero",
                                          "Vec",   "Ptr",    "Stride", "Rows",   "RowBytes", "MaskUnion", "DescA",
                                          "DescB", "UseC",   "ScaleA", "ScaleB", "IndexA"};
  // Constraints of inline assembly, the order of a result's members.
  if (roles.contains(role) || role.starts_with("constraints:") || role.starts_with("result:"))
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
  for (const std::string &role : writtenArguments(emission)) {
    if (!isRole(role))
      messages.push_back(formatv("field '{0}' has the unknown argument role '{1}'", field, role));
  }
}

/// Whether `emission` takes the operand named `letter`, as a value, a tile number or a descriptor.
static bool takes(const Emission &emission, char letter) {
  for (llvm::StringRef role : emission.arguments) {
    if (role.split('.').first == llvm::StringRef(&letter, 1) || role == std::string("Tile") + letter ||
        role == std::string("Desc") + letter)
      return true;
  }
  return false;
}

/// Whether the layout of `operand`, in field `field`, is one and covers its matrix.
static bool checkCovers(const MatrixUnit &unit, const std::string &field, const UnitOperand &operand, int64_t laneBits,
                        Messages &messages) {
  if (llvm::Error error = checkLayout(operand.layout)) {
    messages.push_back(formatv("the layout of field '{0}' is none: {1}", field, llvm::toString(std::move(error))));
    return false;
  }
  llvm::Expected<int64_t> cover = checkCover(operand.layout, operand.rows, operand.cols);
  if (!cover)
    messages.push_back(
        formatv("the layout of field '{0}' disagrees with the unit's shape {1} x {2} x {3}: {4}; change the "
                "bases of the layout or the shape until every position is held equally often",
                field, unit.m, unit.n, unit.k, llvm::toString(cover.takeError())));
  llvm::append_range(messages, checkTypes(field, operand, laneBits));
  return true;
}

/// Operands that a unit reads by itself: how many narrow elements lie together, in lines along k.
static void checkPacking(const MatrixUnit &unit, char letter, const UnitOperand &operand, Messages &messages) {
  const std::string field(1, llvm::toLower(letter));
  const bool isNarrow = isPackedFloat(operand);
  const int64_t bits = bitWidth(operand.element), packed = packedElements(operand);
  if (operand.storage.empty()) {
    if (isNarrow && accumulatesInBlock(unit))
      messages.push_back(formatv("field '{0}' holds {1} in a scratchpad, but no 'storage' says how many lie in {2} "
                                 "bytes; write \"<{3} x i{4}>\" where that many lie side by side, or \"<16 x i{4}>\"",
                                 field, elementName(operand.element), packBytes, 8 * packBytes / bits, bits));
    return;
  }
  if (!isNarrow || !packed || packed % packBytes != 0 || packed * bits > 8 * packBytes || unit.k % packed != 0)
    messages.push_back(formatv("field '{0}' has the 'storage' \"{1}\"; in a scratchpad it says how many floats of 4 or "
                               "6 bits lie in {2} bytes, a multiple of {2} that these have room for and that divides k "
                               "({3}), such as \"<16 x i{4}>\"",
                               field, operand.storage, packBytes, unit.k, bits));
  const char *alongK = letter == 'A' ? "row" : "column";
  if (packed && (operand.majors.size() != 1 || operand.majors.front() != alongK))
    messages.push_back(
        formatv("field '{0}' has elements packed along k, so its one storage order is \"{1}\"", field, alongK));
}

/// Scales in the memory of the accumulators: whole bytes, a word for each row, and lanes after each other.
static void checkScalesInBlock(const MatrixUnit &unit, const char *field, const UnitOperand &scale, bool isA,
                               Messages &messages) {
  const int64_t blocks = unit.k / unit.scales->block, lanes = scale.layout.numLanes();
  if (scale.memory != unit.c.memory)
    messages.push_back(formatv("field '{0}' lies in the memory '{1}' and field 'c' in '{2}'; a unit finds scales where "
                               "it adds up",
                               field, scale.memory, unit.c.memory));
  if (bitWidth(scale.element) % 8 != 0 || bitWidth(scale.element) * blocks > 8 * ScaleImage::wordBytes)
    messages.push_back(formatv("field '{0}' has {1} scales of {2} bits for a row of an instruction; they are whole "
                               "bytes, and fit a word of 32 bits",
                               field, blocks, bitWidth(scale.element)));
  if (!scale.storage.empty() && (!isUnsignedScale(scale) || !isSigned(scale.element)))
    messages.push_back(
        formatv("field '{0}' has the 'storage' \"{1}\"; of scales in a memory of the block it can say that "
                "they have no sign, by an integer one bit narrower: \"i{2}\"",
                field, scale.storage, bitWidth(scale.element) - 1));
  if (isUnsignedScale(scale) && !packedElements(isA ? unit.a : unit.b))
    messages.push_back(formatv("field '{0}' has scales without signs, which go to the elements where those are packed; "
                               "give field '{1}' a 'storage' such as \"<32 x i4>\"",
                               field, isA ? "a" : "b"));
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t element = 0; element < scale.layout.numElements(); ++element) {
      const Position p = scale.layout.at(lane, element);
      if ((isA ? p.row : p.col) == element / blocks * lanes + lane && (isA ? p.col : p.row) == element % blocks)
        continue;
      messages.push_back(formatv("the layout of field '{0}' has row {1}, column {2} in element {3} of lane {4}; in a "
                                 "memory of the block blocks along k lie side by side, and element e of lane l is "
                                 "number e / {5} * {6} + l",
                                 field, p.row, p.col, element, lane, blocks, lanes));
      return;
    }
}

/// Scales: of a unit whose operands lie in registers over lanes, as these do, or that finds them where it adds up.
static void checkScales(const MatrixUnit &unit, Messages &messages) {
  auto takes = [&](llvm::StringRef role) { return llvm::is_contained(unit.emit.arguments, role); };
  const bool inBlock = findsScalesInBlock(unit);
  for (const auto &[field, role, own] : {std::tuple("scaleA", "ScaleA", true), std::tuple("scaleB", "ScaleB", false)}) {
    if (!unit.scales || !(own ? unit.scales->hasA() : unit.scales->hasB())) {
      if (takes(role))
        messages.push_back(
            formatv("field 'emit' takes \"{0}\", but field '{1}' does not say what that is", role, field));
      continue;
    }
    const UnitOperand &scale = own ? unit.scales->a : unit.scales->b;
    const int64_t laneBits = inBlock ? 0 : scale.layout.numElements() * bitWidth(scale.element);
    if (!checkCovers(unit, field, scale, laneBits, messages))
      continue;
    if (!takes(role))
      messages.push_back(formatv("field 'emit' does not take \"{0}\", which field '{1}' describes", role, field));
    if (!isFloat(scale.element) || bitWidth(scale.element) > bitWidth(unit.c.element))
      messages.push_back(formatv("field '{0}' holds {1}; scales are floats no wider than field 'c' ({2})", field,
                                 elementName(scale.element), elementName(unit.c.element)));
    if (inBlock) {
      checkScalesInBlock(unit, field, scale, own, messages);
      continue;
    }
    for (const auto &[name, operand] : {std::pair(own ? "a" : "b", own ? &unit.a : &unit.b), std::pair(field, &scale)})
      if (operand->residence != Residence::LaneRegisters)
        messages.push_back(
            formatv("field '{0}' describes scales, but field '{1}' does not lie in registers over lanes; "
                    "scaled operands and their scales are InRegisters<...>, or the scales InAccumulator<...> "
                    "where the unit adds up in a memory of the block",
                    field, name));
    if (scale.layout.numLanes() != unit.c.layout.numLanes())
      messages.push_back(formatv("the layout of field '{0}' has {1} lanes, that of field 'c' {2}", field,
                                 scale.layout.numLanes(), unit.c.layout.numLanes()));
  }
}

/// The index of a sparse A in the memory of the accumulators: whole words of each row, in the order of bits.
static void checkIndexInBlock(const MatrixUnit &unit, const UnitOperand &index, Messages &messages) {
  if (index.memory != unit.c.memory)
    messages.push_back(formatv("field 'indexA' lies in the memory '{0}' and field 'c' in '{1}'; a unit finds an index "
                               "where it adds up",
                               index.memory, unit.c.memory));
  if (!index.storage.empty())
    messages.push_back(formatv("field 'indexA' has the 'storage' \"{0}\"; in a memory of the block places lie side by "
                               "side in words, without one",
                               index.storage));
  const int64_t bits = index.layout.numElements() * unit.sparsity->placeBits(), word = 8 * ScaleImage::wordBytes;
  if (bits % word != 0 || !llvm::isPowerOf2_64(bits))
    messages.push_back(formatv("field 'indexA' has {0} bits of places for a row of the memory; they are words of {1} "
                               "bits, a power of two of them",
                               bits, word));
  auto isBit = [](const Position &base) {
    return (base.row == 0 && llvm::isPowerOf2_64(base.col)) || (base.col == 0 && llvm::isPowerOf2_64(base.row));
  };
  if (!index.layout.repeats.empty() || !llvm::all_of(index.layout.lanes, isBit) ||
      !llvm::all_of(index.layout.elements, isBit))
    messages.push_back(
        "the layout of field 'indexA' has repetitions, or bases that are not one bit of a row or column; "
        "in a memory of the block an index is in the order of bits");
  if (unit.scales)
    messages.push_back("fields 'indexA' and 'scaleB' are both found in a memory of the block, which no stage plans; "
                       "leave one out");
}

/// The index of a sparse A: integers over the lanes of C, or in the memory where the unit adds up. A lies over lanes,
/// too, or where the unit reads it by itself.
static void checkSparsity(const MatrixUnit &unit, Messages &messages) {
  const bool isTaken = llvm::is_contained(unit.emit.arguments, "IndexA");
  if (!unit.sparsity) {
    if (isTaken)
      messages.push_back("field 'emit' takes \"IndexA\", but field 'indexA' does not say what that is");
    return;
  }
  const UnitOperand &index = unit.sparsity->index;
  if (!checkCovers(unit, "indexA", index, index.layout.numElements() * unit.sparsity->placeBits(), messages))
    return;
  if (!isTaken)
    messages.push_back("field 'emit' does not take \"IndexA\", which field 'indexA' describes");
  if (isFloat(index.element) || isSigned(index.element) || bitWidth(index.element) != 8)
    messages.push_back(
        formatv("field 'indexA' holds {0}; places of elements in a group are bytes, u8", elementName(index.element)));
  if (findsIndexInBlock(unit))
    checkIndexInBlock(unit, index, messages);
  else if (index.residence != Residence::LaneRegisters || unit.scopeLevel.empty())
    messages.push_back("field 'indexA' describes places of elements, but does not lie in registers over the lanes of a "
                       "'scope'; the index of a sparse operand is InRegisters<...> of a Group<...>");
  if (unit.a.residence != Residence::LaneRegisters && unit.a.residence != Residence::Scratchpad)
    messages.push_back("field 'indexA' describes places of elements, but field 'a' lies neither in registers over "
                       "lanes nor in a scratchpad; a sparse operand is InRegisters<...> or InScratchpad<...>");
  if (unit.a.residence == Residence::Scratchpad && index.storage.empty() && !findsIndexInBlock(unit))
    messages.push_back("field 'indexA' has no 'storage', the register in which a unit that reads A in a scratchpad "
                       "takes the places of a lane; give it one, such as \"i32\"");
  if (index.layout.numLanes() != unit.c.layout.numLanes())
    messages.push_back(formatv("the layout of field 'indexA' has {0} lanes, that of field 'c' {1}",
                               index.layout.numLanes(), unit.c.layout.numLanes()));
  if (unit.scales && unit.scales->hasA())
    messages.push_back("fields 'indexA' and 'scaleA' both describe A: no stage scales a sparse operand; leave one out");
}

static void checkOperand(const MatrixUnit &unit, char letter, const UnitOperand &operand, Messages &messages) {
  std::string field(1, llvm::toLower(letter));
  if (!checkCovers(unit, field, operand, /*laneBits=*/0, messages))
    return;
  if (operand.element == ElementKind::F8E8M0)
    messages.push_back(formatv("field '{0}' holds f8e8m0, which has neither sign nor zero: only scales do", field));
  if (letter != 'C' && operand.residence == Residence::Scratchpad)
    checkPacking(unit, letter, operand, messages);
  bool lanes = operand.residence == Residence::LaneRegisters;
  bool readBack = letter == 'C' && operand.residence == Residence::Accumulator;
  if (!lanes && !readBack && operand.layout.numLanes() != 1)
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
          formatv("field '{0}' needs {1} bits, but the register '{2}' holds {3}; make its 'rows' and 'rowBytes' larger "
                  "or the unit's shape smaller",
                  field, needed, opaque.name, held));
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
  checkScales(unit, messages);
  checkSparsity(unit, messages);

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
  else if (unit.stationary && unit.loadStationary <= 0)
    messages.push_back(
        formatv("field 'stationary' is '{0}', but field 'load' does not say how many clocks it takes to load "
                "that operand; give it, or leave 'stationary' out",
                std::string(1, unit.stationary)));
  bool inMemory = llvm::any_of(std::array{&unit.a, &unit.b, &unit.c}, [](const UnitOperand *operand) {
    return operand->residence == Residence::Scratchpad || operand->residence == Residence::Accumulator;
  });
  if (shippedText(unit.emit) && inMemory)
    messages.push_back("field 'emit' is an IrFunction, but operands lie in a memory: such a unit is a command of the "
                       "core; name an ExternalCall, or an op of the target");
  if (unit.emit.kind == EmissionKind::ExternalCall &&
      llvm::any_of(unit.emit.name, [](char c) { return !llvm::isAlnum(c) && c != '_' && c != '.' && c != '$'; }))
    messages.push_back(formatv("field 'emit' calls '{0}', which is no name of a function", unit.emit.name));
  checkStorageOrders(unit, messages);
  checkQueue(unit, messages);
  if (isCoreCommand(unit))
    checkCommand(unit, messages);
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

static int64_t bitsOf(const UnitOperand &operand) { return operand.rows * operand.cols * bitWidth(operand.element); }

/// A bank of the name of a memory: `memory` is the file of vectors, and the registers of the bank cover some of its.
static void checkBank(const Memory *memory, const Memory *file, const MatrixUnit &unit, const char *field,
                      const OpaqueRegister &registers, Messages &messages) {
  if (!memory)
    return;
  int64_t bytes = registers.rows * registers.rowBytes;
  std::string what = formatv("unit '{0}': field '{1}' lies in the bank '{2}'", unit.name, field, registers.bank);
  if (memory != file)
    messages.push_back(formatv("{0}, which has the name of a memory, but not that of the file of vectors; only from "
                               "that can a bank take its registers: give the bank another name",
                               what));
  else if (registers.granules > file->entries)
    messages.push_back(formatv("{0}, which takes {1} registers out of the file of its name, but that has {2} entries; "
                               "make the number of the bank's granules smaller",
                               what, registers.granules, file->entries));
  else if (file->entryBytes && bytes % file->entryBytes != 0)
    messages.push_back(formatv("{0}, whose registers lie in the file of its name, but the {1} bytes of '{2}' are not "
                               "whole registers of {3} bytes",
                               what, bytes, registers.name, file->entryBytes));
}

/// Accumulators that lanes read back: `memory` has columns of a word for each of them, in banks that blocks take.
static void checkReadBack(const Memory &memory, const MatrixUnit &unit, Messages &messages) {
  const int64_t lanes = unit.c.layout.numLanes();
  int64_t columns = unit.c.layout.numElements();
  if (findsScalesInBlock(unit))
    for (const UnitOperand *scale : unit.scales->operands())
      columns += scale->layout.numElements() / (unit.k / unit.scales->block);
  if (findsIndexInBlock(unit))
    columns += wordsOfIndex(unit);
  if (memory.entryBytes != 4 * lanes || bitWidth(unit.c.element) != 32 || !accumulatorEntries(memory, columns))
    messages.push_back(formatv(
        "unit '{0}': {1} lanes read {2} words each, accumulators of field 'c' ({3}) and what is beside them, in the "
        "memory '{4}', "
        "which has {5} "
        "entries of {6} bytes in {7} banks; it must have as many entries at least, of 4 bytes for each lane, in "
        "banks that divide them, and the accumulators 32 bits",
        unit.name, lanes, columns, elementName(unit.c.element), memory.name, memory.entries, memory.entryBytes,
        memory.banks));
  if (!unit.scopeLevel.empty() || unit.completion != Completion::Barrier || unit.init != UnitInit::ZeroFlag)
    messages.push_back(formatv("unit '{0}': lanes read back its field 'c', so one thread issues it ('scope'), it "
                               "arrives at a barrier object ('completion' Barrier) and begins without a fill ('init' "
                               "ZeroFlag)",
                               unit.name));
}

/// Where the operands of `unit` lie: the memories exist and are of the right kind, and all that lies in one of them, or
/// in one register file, fits.
static void checkResidences(const ChipTable &chip, const MatrixUnit &unit, Messages &messages) {
  auto named = [&](llvm::StringRef name) {
    auto found = llvm::find_if(chip.memories, [&](const Memory &memory) { return memory.name == name; });
    return found == chip.memories.end() ? nullptr : &*found;
  };
  struct Need {
    int64_t bits = 0;
    std::string fields;
  };
  llvm::MapVector<const Memory *, Need> needs;
  auto add = [&](const Memory *memory, const char *field, int64_t bits) {
    if (!memory)
      return;
    Need &need = needs[memory];
    need.bits += bits;
    need.fields += formatv("{0}'{1}'", need.fields.empty() ? "" : " and ", field);
  };
  for (const auto &[field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b), std::pair("c", &unit.c)}) {
    if (operand->residence == Residence::VectorRegister)
      add(memoryOfRole(chip, MemoryRole::VectorRegisters), field, bitsOf(*operand));
    if (operand->residence == Residence::LaneRegisters) // at least one register each
      add(memoryOfRole(chip, MemoryRole::LaneRegisters), field,
          llvm::alignTo(operand->layout.numElements() * bitWidth(operand->element), 32));
    if (operand->opaque)
      checkBank(named(operand->opaque->bank), memoryOfRole(chip, MemoryRole::VectorRegisters), unit, field,
                *operand->opaque, messages);
    bool scratchpad = operand->residence == Residence::Scratchpad;
    if (!scratchpad && operand->residence != Residence::Accumulator)
      continue;
    const Memory *memory = named(operand->memory);
    if (!memory)
      messages.push_back(formatv(
          "unit '{0}': field '{1}' lies in the memory '{2}', which field 'memories' does not have; add it there, "
          "or name one of its memories in the unit",
          unit.name, field, operand->memory));
    else if (memory->kind != (scratchpad ? MemoryKind::Scratchpad : MemoryKind::Accumulator))
      messages.push_back(formatv("unit '{0}': field '{1}' lies in {2}, but field 'memories' has '{3}' as another kind; "
                                 "declare it as {4}<...>",
                                 unit.name, field, scratchpad ? "a scratchpad" : "an accumulator memory", memory->name,
                                 scratchpad ? "Scratchpad" : "AccumulatorMemory"));
    else
      add(memory, field, bitsOf(*operand));
    if (memory && operand == &unit.c && accumulatesInBlock(unit))
      checkReadBack(*memory, unit, messages);
  }
  if (unit.m < 1 || unit.n < 1 || unit.k < 1)
    return; // reported with the record
  for (const auto &[memory, need] : needs) {
    int64_t bytes = llvm::divideCeil(need.bits, 8);
    if (bytes > memory->bytes)
      messages.push_back(formatv("unit '{0}': one instruction needs {1} bytes of '{2}' for its fields {3}, but field "
                                 "'bytes' of that memory is {4}: its tile fits nowhere; make the shape smaller or the "
                                 "memory larger",
                                 unit.name, bytes, memory->name, need.fields, memory->bytes));
  }
}

/// What a unit reads from a scratchpad comes from a global memory by copy engines, unless lanes fill it; and an
/// accumulator memory is emptied by lanes, an engine, a vector operation, or the core's own registers.
static void checkPaths(const ChipTable &chip, const MachineGraph &graph, const MatrixUnit &unit, Messages &messages) {
  auto lanesReach = [&](const UnitOperand &operand) {
    const Memory *memory = graph.named(operand.memory);
    return graph.lanesAreThreads() && memory && graph.reaches(graph.threadLevel()->name, *memory);
  };
  llvm::StringSet<> reached;
  for (const Memory &memory : chip.memories)
    if (memory.kind == MemoryKind::Global)
      reached.insert(memory.name);
  for (size_t round = 0; round < chip.copies.size(); ++round)
    for (const CopyEngine &copy : chip.copies)
      if (reached.contains(copy.from))
        reached.insert(copy.to);
  for (const auto &[field, operand] : {std::pair("a", &unit.a), std::pair("b", &unit.b)})
    if (operand->residence == Residence::Scratchpad && !lanesReach(*operand) && !reached.contains(operand->memory))
      messages.push_back(formatv("unit '{0}': field '{1}' lies in the memory '{2}', but field 'copies' has no path of "
                                 "engines from a global memory to it; add a CopyEngine<..., \"{2}\">",
                                 unit.name, field, operand->memory));
  const CopyEngine *brings = findsBesidesInBlock(unit) ? scaleEngine(unit, graph) : nullptr;
  const int64_t words = findsIndexInBlock(unit) ? wordsOfIndex(unit) : 0; // 0 also of an index that is refused
  if (brings && words && brings->accessBytes.front() % (ScaleImage::wordBytes * words))
    messages.push_back(
        formatv("unit '{0}': its index takes {1} words of a row, but engine '{2}' brings {3} bytes of it; "
                "it brings whole indexes",
                unit.name, words, brings->name, brings->accessBytes.front()));
  if (findsBesidesInBlock(unit) && !brings)
    messages.push_back(
        formatv("unit '{0}': it finds scales or an index in the memory '{1}', but field 'copies' has no engine with "
                "one size of 'accessBytes' that brings them from the scratchpad of a block; add a "
                "CopyEngine<..., \"{1}\">",
                unit.name, unit.c.memory));
  bool leaves = !chip.vectorOps.empty() || llvm::any_of(chip.copies, [&](const CopyEngine &copy) {
    return copy.from == unit.c.memory;
  }) || llvm::any_of(chip.memories, [](const Memory &memory) { return memory.kind == MemoryKind::RegisterFile; });
  if (unit.c.residence == Residence::Accumulator && !lanesReach(unit.c) && !leaves)
    messages.push_back(
        formatv("unit '{0}': field 'c' lies in the memory '{1}', but field 'copies' has no engine that takes "
                "results out of it, and the chip has neither 'vectorOps' nor a register file; add a "
                "CopyEngine<\"{1}\", ...>",
                unit.name, unit.c.memory));
}

/// "'grid', 'block'", or "none".
static std::string quoted(llvm::ArrayRef<std::string> names) {
  return names.empty() ? "none" : "'" + llvm::join(names, "', '") + "'";
}

Messages tilewright::checkChip(const ChipTable &chip) {
  Messages messages;
  llvm::StringSet<> levels, memories;
  std::vector<std::string> levelNames, memoryNames;
  for (const Level &level : chip.levels)
    levelNames.push_back(level.name);
  for (const Memory &memory : chip.memories)
    memoryNames.push_back(memory.name);
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
      messages.push_back(formatv("memory '{0}' belongs to level '{1}', which field 'levels' does not have; name one of "
                                 "its levels ({2}) or add this one",
                                 memory.name, memory.level, quoted(levelNames)));
    if (memory.bytes <= 0)
      messages.push_back(formatv("memory '{0}' has {1} bytes", memory.name, memory.bytes));
    if (memory.kind == MemoryKind::Cache && (memory.lineBytes <= 0 || memory.ways <= 0))
      messages.push_back(formatv("cache '{0}' lacks 'lineBytes' or 'ways'", memory.name));
    else if (memory.kind == MemoryKind::Cache && memory.bytes % (memory.lineBytes * memory.ways) != 0)
      messages.push_back(formatv("cache '{0}': 'bytes' ({1}) does not divide into {2} ways of lines of {3} bytes",
                                 memory.name, memory.bytes, memory.ways, memory.lineBytes));
    if (memory.sectorBytes < 0 ||
        (memory.sectorBytes && ((memory.kind != MemoryKind::Cache && memory.kind != MemoryKind::Global) ||
                                memory.lineBytes % memory.sectorBytes)))
      messages.push_back(formatv(
          "memory '{0}': field 'sectorBytes' is {1}; it belongs to a cache or a backing memory, and divides its "
          "'lineBytes' ({2})",
          memory.name, memory.sectorBytes, memory.lineBytes));
    if (memory.kind != MemoryKind::RegisterFile && memory.bytesPerClock <= 0)
      messages.push_back(formatv("memory '{0}' has no bandwidth in field 'read'", memory.name));
    if (memory.source.empty())
      messages.push_back(
          formatv("memory '{0}' does not say in field 'source' where its numbers come from", memory.name));
    checkMemory(memory, messages);
  }
  for (const CopyEngine &copy : chip.copies) {
    for (const auto &[field, end] : {std::pair("from", &copy.from), std::pair("to", &copy.to)}) {
      if (!memories.contains(*end))
        messages.push_back(
            formatv("copy engine '{0}': field '{1}' names the memory '{2}', which field 'memories' does not "
                    "have; name one of {3}",
                    copy.name, field, *end, quoted(memoryNames)));
    }
    if (copy.from == copy.to)
      messages.push_back(formatv("copy engine '{0}': fields 'from' and 'to' are both '{1}': it has no path; name two "
                                 "memories",
                                 copy.name, copy.from));
    checkEngine(copy, messages);
  }
  checkMemoryRoles(chip, messages);
  checkCopyPaths(chip, messages);
  checkLaneInstructions(chip, messages);
  const TableDescription described("", chip);
  checkEssentials(chip, described.graph(), messages);
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
    }
    checkResidences(chip, unit, messages);
    checkPaths(chip, described.graph(), unit, messages);
    checkUnitOnCores(described.graph(), unit, messages);
  }
  for (const Fact &fact : chip.numbers) {
    const NumberField &field = fieldOf(fact.number);
    if (fact.value < 0 || (field.unit == NumberUnit::PerClock && fact.value == 0))
      messages.push_back(formatv("field '{0}' is {1} {2}; it must {3}", field.name, fact.value, unitName(field.unit),
                                 field.unit == NumberUnit::PerClock ? "be above 0" : "not be below 0"));
  }
  for (const VectorOp &op : chip.vectorOps)
    checkVectorOp(op, messages);
  checkTwice(chip, messages);
  return messages;
}
