//===- EngineChecks.cpp - Limits of engines, and what stands twice --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks of the numbers of one record, and of names within a chip.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/CopyPaths.h"
#include "core/Machine/CoreCommand.h"
#include "core/Machine/IrFunction.h"
#include "core/Machine/LaneWords.h"
#include "core/Machine/RecordChecks.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
using llvm::formatv;

using Messages = std::vector<std::string>;

/// What is said of an IrFunction where only one instruction can stand.
static constexpr const char *noFunctionHere =
    "is an IrFunction, which units, the moves of their registers and states take; name an ExternalCall or an op";

void tilewright::checkEngine(const CopyEngine &engine, Messages &messages) {
  auto add = [&](const std::string &what) { messages.push_back(formatv("copy engine '{0}': {1}", engine.name, what)); };
  if (shippedText(engine.emit))
    add(formatv("field 'emit' {0}", noFunctionHere));
  if (engine.alignBytes < 1 || !llvm::isPowerOf2_64(engine.alignBytes))
    add(formatv("field 'alignBytes' is {0}; it must be a power of two, 1 for any address", engine.alignBytes));
  else if (engine.burstBytes > 0 && engine.burstBytes % engine.alignBytes != 0)
    add(formatv("field 'burstBytes' ({0}) is no multiple of field 'alignBytes' ({1}), so that a second burst could not "
                "start",
                engine.burstBytes, engine.alignBytes));
  if (engine.maxRank < 1)
    add(formatv("field 'maxRank' is {0}; a command moves at least 1 dimension", engine.maxRank));
  if (engine.burstBytes < 0)
    add(formatv("field 'burstBytes' is {0}; 0 stands for no limit", engine.burstBytes));
  if (engine.queueDepth < 0)
    add(formatv("field 'queueDepth' is {0}; 0 stands for no limit", engine.queueDepth));
  if (engine.bytesPerClock <= 0)
    add(formatv("field 'bandwidth' is {0}; it must be above 0", engine.bytesPerClock));
  if (engine.latency < 0)
    add(formatv("field 'latency' is {0}; it must not be below 0", engine.latency));
  checkStorageOrders(engine, messages);
}

void tilewright::checkQueue(const MatrixUnit &unit, Messages &messages) {
  if (unit.queueDepth < 0)
    messages.push_back(formatv("field 'queueDepth' is {0}; 0 stands for no limit", unit.queueDepth));
  else if (unit.queueDepth > 0 && !isCoreCommand(unit))
    messages.push_back(formatv("field 'queueDepth' is {0}, but the unit is no command of a core: only one thread that "
                               "gives addresses in memories has commands in a queue; leave it out",
                               unit.queueDepth));
  else if (unit.queueDepth > 0 && unit.completion == Completion::AtOnce)
    messages.push_back(
        formatv("field 'queueDepth' is {0}, but field 'completion' is AtOnce: a core that waits for each "
                "result has no second command in a queue; leave it out, or give completion = WaitGroup",
                unit.queueDepth));
}

void tilewright::checkCopyPaths(const ChipTable &chip, Messages &messages) {
  for (const CopyEngine &copy : chip.copies)
    for (const Memory &memory : chip.memories)
      if ((memory.name == copy.from || memory.name == copy.to) && memory.bytes > 0 && copy.alignBytes > memory.bytes)
        messages.push_back(
            formatv("copy engine '{0}': field 'alignBytes' ({1}) is above field 'bytes' ({2}) of the memory "
                    "'{3}', so that no second buffer could lie in it; give the engine's real alignment",
                    copy.name, copy.alignBytes, memory.bytes, memory.name));
  // Lanes copy by several engines of one path, each in a way of its own.
  if (TableDescription("", chip).graph().lanesAreThreads())
    return;
  for (const CopyEngine &copy : chip.copies) {
    auto alike = [&](const CopyEngine &other) {
      return other.from == copy.from && other.to == copy.to && other.asynchronous == copy.asynchronous &&
             transposes(other) == transposes(copy);
    };
    const CopyEngine &first = *llvm::find_if(chip.copies, alike);
    if (&first != &copy)
      messages.push_back(formatv(
          "copy engines '{0}' and '{1}' of field 'copies' both move {2} from '{3}' to '{4}', so that '{1}' would "
          "be ignored: a path has one record for rows, and one with arrangements = [\"transpose\"] for tiles that "
          "change rows and columns; keep the faster one, or give one record the bandwidth of both",
          first.name, copy.name, transposes(copy) ? "transposed tiles" : "rows", copy.from, copy.to));
  }
}

void tilewright::checkLaneInstructions(const ChipTable &chip, Messages &messages) {
  llvm::StringSet<> seen;
  for (const LaneInstruction &instruction : chip.laneInstructions) {
    auto add = [&](const std::string &what) {
      messages.push_back(formatv("field 'laneInstructions': '{0}' {1}", instruction.does, what));
    };
    const LaneWord *word = laneWord(instruction.does);
    if (!word) {
      std::vector<std::string> words;
      for (const LaneWord &each : laneWords)
        words.push_back(each.word.str());
      add("is nothing that a lane does by a record; the words are " + llvm::join(words, ", "));
      continue;
    }
    if (shippedText(instruction.emit)) {
      add(noFunctionHere);
      continue;
    }
    if (!seen.insert(instruction.does).second)
      add("stands twice");
    if (instruction.emit.name.empty())
      add("has no emission");
    bool isOp = instruction.emit.kind == EmissionKind::MlirOp;
    std::vector<bool> taken(word->operands);
    for (llvm::StringRef argument : instruction.emit.arguments) {
      llvm::StringRef key;
      unsigned operand = 0;
      bool isOperand = operandOfArgument(argument, key, operand);
      if (argument.contains('=') && (key.empty() || argument.ends_with("=")))
        add(formatv("has the argument \"{0}\"; attributes are \"NAME=VALUE\", the value as MLIR writes it", argument));
      else if (!key.empty() && !isOp)
        add(formatv("has the argument \"{0}\", but attributes are for MLIR ops", argument));
      else if (isOperand ? operand >= word->operands : key.empty())
        add(formatv("has the argument \"{0}\"; it has {1} operands, \"$0\" the first, and attributes \"NAME=VALUE\"",
                    argument, word->operands));
      else if (isOperand)
        taken[operand] = true;
    }
    if (llvm::is_contained(taken, false))
      add(formatv("has {0} operands, of which its emission takes only some", word->operands));
    if (instruction.emit.kind == EmissionKind::InlineAsm && (word->operands || word->hasResult))
      add("has operands or a result, which assembly of a record cannot name; use an intrinsic or an op");
  }
}

void tilewright::checkVectorOp(const VectorOp &op, Messages &messages) {
  auto add = [&](const std::string &what) {
    messages.push_back(formatv("vector operation '{0}': {1}", op.name, what));
  };
  if (shippedText(op.emit))
    add(formatv("field 'emit' {0}", noFunctionHere));
  // The kinds that UseVectorOps knows: another would be a record without a use.
  if (op.kind != "requantize" && op.kind != "gather")
    add(formatv("field 'kind' is '{0}', which no stage uses; the compiler knows 'requantize' and 'gather'. What is not "
                "among them is "
                "made by a pass of the target (Target::extendPipeline)",
                op.kind));
  if (!llvm::is_contained({"nearest-even", "nearest-away", "down"}, llvm::StringRef(op.rounding)))
    add(formatv("field 'rounding' is '{0}'; it must be 'nearest-even', 'nearest-away' or 'down'", op.rounding));
  if (op.kind == "requantize" && (isFloat(op.to) || bitWidth(op.to) >= bitWidth(op.from)))
    add(formatv("field 'to' ({0}) is no integer narrower than field 'from' ({1})", elementName(op.to),
                elementName(op.from)));
  if (op.issue <= 0 || op.latency < op.issue)
    add(formatv("field 'latency' ({0:f2} clocks) is below field 'issue' ({1:f2} clocks)", op.latency, op.issue));
}

void tilewright::checkMemory(const Memory &memory, Messages &messages) {
  if (memory.kind == MemoryKind::Scratchpad && (memory.banks < 1 || memory.bankBytes < 1))
    messages.push_back(
        formatv("scratchpad '{0}': fields 'banks' ({1}) and 'bankBytes' ({2}) must be at least 1; a memory "
                "without banks has one, as wide as an access",
                memory.name, memory.banks, memory.bankBytes));
  else if (memory.kind == MemoryKind::Scratchpad && memory.bytes > 0 &&
           memory.bytes % (memory.banks * memory.bankBytes) != 0)
    messages.push_back(formatv(
        "scratchpad '{0}': field 'bytes' ({1}) is no multiple of a row of its banks, fields 'banks' ({2}) times "
        "'bankBytes' ({3}); all banks are equally long: make the size a multiple of {4}",
        memory.name, memory.bytes, memory.banks, memory.bankBytes, memory.banks * memory.bankBytes));
  if (memory.latency < 0)
    messages.push_back(
        formatv("memory '{0}': field 'latency' is {1}; it must not be below 0", memory.name, memory.latency));
}

void tilewright::checkTwice(const ChipTable &chip, Messages &messages) {
  llvm::StringSet<> names;
  llvm::StringMap<std::string> calls;
  for (const MatrixUnit &unit : chip.units) {
    if (!names.insert(unit.name).second) {
      messages.push_back(formatv("field 'units' has the unit '{0}' twice", unit.name));
      continue;
    }
    if (unit.emit.kind != EmissionKind::ExternalCall || shippedText(unit.emit))
      continue;
    auto [other, isNew] = calls.try_emplace(unit.emit.name, unit.name);
    if (!isNew)
      messages.push_back(
          formatv("units '{0}' and '{1}' both call '{2}' in field 'emit': one function cannot compute two "
                  "products; give each a name of its own",
                  other->second, unit.name, unit.emit.name));
  }
}
