//===- LaneChecks.cpp - Whether a chip's lanes are described --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `checkLaneInstructions` sees what a record says by itself. Here are the
/// dialects of the target: whether they have the op of the record, whether its
/// attributes can be parsed, and whether the op that they make is a valid one.
///
//===----------------------------------------------------------------------===//

#include "core/Machine/LaneChecks.h"
#include "core/Machine/LaneWords.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using llvm::formatv;

/// Those that stage 5 has: of each target, since one may make ops of another.
static DialectRegistry dialectsOf(const Target &target) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, arith::ArithDialect>();
  for (const Target *each : TargetRegistry::get().targets())
    each->registerDialects(registry);
  target.registerDialects(registry);
  return registry;
}

namespace {
/// A program with one function, in which instructions are made.
class Trial {
public:
  explicit Trial(const Target &target)
      : context(dialectsOf(target), MLIRContext::Threading::DISABLED), builder(&context), loc(builder.getUnknownLoc()),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            errors.push_back(diagnostic.str());
          return success();
        }) {
    context.loadAllAvailableDialects();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&context), {});
    auto function = LLVM::LLVMFuncOp::create(builder, loc, "lane", type);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
  }

  /// What is wrong with the record, as the end of a sentence that begins with it; empty: nothing.
  std::string fault(const LaneInstruction &record);
  /// What the target's operations say when those of all lanes are made.
  std::string fault(const LaneOps &ops);

private:
  std::string fault(const Emission &emission);

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// The registered op whose name differs least from `name`, as a question; empty if none is near.
static std::string nearestOp(MLIRContext &context, StringRef name) {
  StringRef nearest;
  unsigned least = 4;
  for (RegisteredOperationName each : context.getRegisteredOperations())
    if (unsigned distance = name.edit_distance(each.getStringRef(), true, least); distance < least) {
      nearest = each.getStringRef();
      least = distance;
    }
  return nearest.empty() ? "" : formatv("; did you mean \"{0}\"?", nearest).str();
}

/// Names and attributes of the op of a dialect.
std::string Trial::fault(const Emission &emission) {
  std::optional<RegisteredOperationName> op = RegisteredOperationName::lookup(emission.name, &context);
  if (!op)
    return formatv("names the op \"{0}\", which no dialect has that the hooks 'registerDialects' of targets give{1}",
                   emission.name, nearestOp(context, emission.name));
  for (StringRef argument : emission.arguments) {
    StringRef key;
    unsigned operand;
    bool isOperand = operandOfArgument(argument, key, operand);
    if (key.empty())
      continue;
    if (!llvm::is_contained(llvm::map_range(op->getAttributeNames(), [](StringAttr each) { return each.getValue(); }),
                            key)) {
      std::vector<std::string> known;
      for (StringAttr each : op->getAttributeNames())
        known.push_back(each.str());
      return formatv("gives the op \"{0}\" the attribute '{1}', which it does not have; it has {2}", emission.name, key,
                     known.empty() ? "none" : llvm::join(known, ", "));
    }
    if (!isOperand && !parseAttribute(argument.split('=').second, &context))
      return formatv(
          "has the argument \"{0}\", of which MLIR cannot parse what stands after '=': {1}; write it as MLIR "
          "prints this attribute of an op \"{2}\" in its generic form",
          argument, errors.empty() ? "it is no attribute" : errors.front(), emission.name);
  }
  return "";
}

std::string Trial::fault(const LaneInstruction &record) {
  const LaneWord &word = *laneWord(record.does);
  errors.clear();
  if (record.emit.kind == EmissionKind::MlirOp)
    if (std::string fault = this->fault(record.emit); !fault.empty())
      return fault;
  SmallVector<Value> given;
  if (word.hasResult && word.operands)
    given.push_back(
        LLVM::PoisonOp::create(builder, loc, word.isFloat ? Type(builder.getF32Type()) : builder.getI32Type()));
  else if (word.operands == 2)
    given.push_back(LLVM::PoisonOp::create(builder, loc,
                                           word.isOfNumber ? Type(builder.getI32Type())
                                                           : LLVM::LLVMPointerType::get(&context, scratchpadSpace)));
  Block &block = *builder.getInsertionBlock();
  Block::iterator last = block.empty() ? block.end() : std::prev(block.end());
  makeByRecord(builder, loc, record, given, word.sample);
  for (Operation &op : llvm::make_range(last == block.end() ? block.begin() : std::next(last), block.end()))
    if (failed(verify(&op)))
      return formatv("makes an op that MLIR refuses: {0}",
                     errors.empty() ? op.getName().getStringRef().str() : errors.front());
  return "";
}

std::string Trial::fault(const LaneOps &ops) {
  errors.clear();
  ops.threadId(builder, loc);
  for (unsigned dim : {0, 1, 2})
    ops.blockId(builder, loc, dim);
  ops.barrier(builder, loc);
  return errors.empty() ? "" : errors.front();
}

std::string tilewright::laneFault(const Target &target, const TargetDescription &chip) {
  std::unique_ptr<LaneOps> ops = chip.graph().hasBlocks() ? target.laneOps(chip) : nullptr;
  if (!ops && chip.laneInstructions().empty())
    return "";
  Trial trial(target);
  for (const LaneInstruction &record : chip.laneInstructions()) {
    if (!laneWord(record.does))
      return formatv("field 'laneInstructions': '{0}' is nothing that a lane does by a record", record.does);
    if (std::string fault = trial.fault(record); !fault.empty())
      return formatv("field 'laneInstructions': '{0}' {1}", record.does, fault);
  }
  return ops ? trial.fault(*ops) : "";
}

std::string tilewright::lackOfLanes(const MachineGraph &graph) {
  std::vector<std::string> lacks;
  if (!graph.parallelLevel())
    lacks.push_back("a level of kind Parallel");
  if (!graph.concurrentLevel())
    lacks.push_back("a level of kind Concurrent");
  if (!graph.lockstepLevel())
    lacks.push_back("a level of kind Lockstep");
  if (!graph.laneRegisters())
    lacks.push_back("a register file of lanes");
  return " runs no lanes in blocks: it lacks " + llvm::join(lacks, ", ");
}
