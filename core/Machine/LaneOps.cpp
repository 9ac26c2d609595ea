//===- LaneOps.cpp - Lanes of a launch ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the levels of a launch, and the operations of its lanes.
///
//===----------------------------------------------------------------------===//

#include "tilewright/LaneOps.h"
#include "core/Machine/ExternalCall.h"
#include "core/Machine/LaneChecks.h"
#include "core/Machine/LaneWords.h"
#include "core/Machine/ModuleTarget.h"
#include "core/Machine/ScratchpadGlobal.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "tilewright/MachineGraph.h"

using namespace mlir;
using namespace tilewright;

LaneInstructions::~LaneInstructions() = default;
LaneOps::~LaneOps() = default;

bool LaneInstructions::has(StringRef does) const {
  return llvm::any_of(records, [&](const LaneInstruction &each) { return each.does == does; });
}

/// The op of a dialect that `emission` names, with attributes as its arguments say.
static Operation *makeOp(OpBuilder &builder, Location loc, const Emission &emission, TypeRange results,
                         llvm::function_ref<Value(unsigned)> operandOf,
                         llvm::function_ref<std::optional<int64_t>(unsigned)> numberOf) {
  OperationState state(loc, emission.name);
  state.addTypes(results);
  for (StringRef argument : emission.arguments) {
    StringRef key;
    unsigned operand;
    bool isOperand = operandOfArgument(argument, key, operand);
    if (key.empty())
      state.operands.push_back(operandOf(operand));
    else if (!isOperand)
      state.addAttribute(key, parseAttribute(argument.split('=').second, builder.getContext()));
    else if (std::optional<int64_t> number = numberOf(operand))
      state.addAttribute(key, builder.getI32IntegerAttr(int32_t(*number)));
  }
  return builder.create(state);
}

Value tilewright::makeByRecord(OpBuilder &builder, Location loc, const LaneInstruction &record, ValueRange given,
                               std::optional<int64_t> number) {
  const Emission &emission = record.emit;
  SmallVector<Type, 1> results;
  if (laneWord(record.does)->hasResult)
    results.push_back(given.empty() ? builder.getI32Type() : given.front().getType());
  auto operandOf = [&](unsigned i) -> Value {
    if (i < given.size())
      return given[i];
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(int32_t(*number)));
  };
  auto numberOf = [&](unsigned i) { return i < given.size() ? std::nullopt : number; };
  Operation *made = nullptr;
  if (emission.kind == EmissionKind::MlirOp) {
    made = makeOp(builder, loc, emission, results, operandOf, numberOf);
  } else {
    SmallVector<Value> operands;
    for (StringRef argument : emission.arguments) {
      StringRef key;
      unsigned operand;
      if (operandOfArgument(argument, key, operand))
        operands.push_back(operandOf(operand));
    }
    if (emission.kind == EmissionKind::InlineAsm)
      made = LLVM::InlineAsmOp::create(builder, loc, TypeRange(), ValueRange(), emission.name, /*constraints=*/"",
                                       /*has_side_effects=*/true, /*is_align_stack=*/false,
                                       LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    else if (emission.kind == EmissionKind::ExternalCall)
      made = callExternal(builder, loc, emission.name, results.empty() ? Type() : results.front(), operands);
    else if (results.empty())
      made = LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(emission.name), operands);
    else
      made =
          LLVM::CallIntrinsicOp::create(builder, loc, results.front(), builder.getStringAttr(emission.name), operands);
  }
  return results.empty() ? Value() : made->getResult(0);
}

Value LaneInstructions::make(OpBuilder &builder, Location loc, StringRef does, ValueRange given,
                             std::optional<int64_t> number) const {
  auto record = llvm::find_if(records, [&](const LaneInstruction &each) { return each.does == does; });
  return record == records.end() ? Value() : makeByRecord(builder, loc, *record, given, number);
}

LLVM::CallOp tilewright::callExternal(OpBuilder &builder, Location loc, StringRef name, Type result,
                                      ValueRange operands) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type type = result ? result : LLVM::LLVMVoidType::get(builder.getContext());
    function = LLVM::LLVMFuncOp::create(top, loc, name,
                                        LLVM::LLVMFunctionType::get(type, llvm::to_vector(operands.getTypes())));
  }
  return LLVM::CallOp::create(builder, loc, function, operands);
}

Value LaneOps::required(OpBuilder &builder, Location loc, StringRef does) const {
  if (has(does))
    return make(builder, loc, does);
  emitError(loc) << "nothing says how a lane does '" << does
                 << "': the chip needs a LaneInstruction record for it, or the target's LaneOps a function";
  return LLVM::PoisonOp::create(builder, loc, builder.getI32Type());
}

Value LaneOps::threadId(OpBuilder &builder, Location loc) const { return required(builder, loc, "lane_x"); }

Value LaneOps::blockId(OpBuilder &builder, Location loc, unsigned dim) const {
  static constexpr const char *words[] = {"block_x", "block_y", "block_z"};
  return required(builder, loc, words[dim]);
}

void LaneOps::barrier(OpBuilder &builder, Location loc) const { required(builder, loc, "barrier"); }

Value LaneOps::scratchpad(OpBuilder &builder, Location loc, ModuleOp module, int64_t bytes) const {
  return scratchpadGlobal(builder, loc, module, "tilewright_shared_" + std::to_string(bytes), bytes);
}

Value LaneOps::permuteBytes(OpBuilder &builder, Location loc, Value low, Value high,
                            std::array<unsigned, 4> bytes) const {
  auto type = VectorType::get(4, builder.getI8Type());
  SmallVector<int32_t> order(bytes.begin(), bytes.end());
  Value permuted = LLVM::ShuffleVectorOp::create(builder, loc, LLVM::BitcastOp::create(builder, loc, type, low),
                                                 LLVM::BitcastOp::create(builder, loc, type, high), order);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), permuted);
}

LaneHierarchy LaneHierarchy::of(const MachineGraph &graph) {
  LaneHierarchy result;
  result.grid = graph.parallelLevel()->name;
  result.blocks = graph.parallelLevel()->count;
  const Memory *scratchpad = graph.threadMemory();
  if (graph.hasBlocks()) {
    result.block = graph.concurrentLevel()->name;
    result.subgroups = graph.concurrentLevel()->count;
    if (const Level *cluster = graph.clusterLevel()) {
      result.cluster = cluster->name;
      result.clusterBlocks = cluster->count;
    }
    result.subgroup = graph.lockstepLevel()->name;
    result.lanes = graph.lockstepLevel()->count;
    result.sectorBytes = graph.sectorBytes();
    scratchpad = graph.blockMemory();
  }
  if (scratchpad) {
    result.scratchpad = scratchpad->name;
    result.scratchpadBytes = scratchpad->bytes;
  }
  return result;
}

llvm::Expected<std::unique_ptr<LaneOps>> tilewright::laneOpsOf(mlir::Operation *op) {
  auto found = moduleTargetOf(op);
  if (!found)
    return found.takeError();
  std::unique_ptr<LaneOps> ops = found->target->laneOps(*found->chip);
  if (!ops)
    return llvm::createStringError("chip '" + found->name() + "' has no operations of lanes");
  return ops;
}

std::optional<LaunchShape> tilewright::launchShapeOf(mlir::Operation *function) {
  auto attribute = function->getAttrOfType<mlir::DictionaryAttr>(launchAttr);
  if (!attribute)
    return std::nullopt;
  auto number = [&](llvm::StringRef name) {
    auto value = attribute.getAs<mlir::IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  return LaunchShape{std::max<int64_t>(1, number("threads")), number("shared"), number("copiers"), number("group"),
                     std::max<int64_t>(1, number("cluster"))};
}
