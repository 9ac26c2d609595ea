//===- EmulationTable.cpp - Rules by name ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table that a target fills, and the rules of calls by primitive name.
///
//===----------------------------------------------------------------------===//

#include "core/Emulator/Rewriter.h"
#include "core/Machine/LaneWords.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tilewright/LaneOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;

void EmulationTable::on(StringRef name, EmulationRule rule) { rules[name] = std::move(rule); }

void EmulationTable::fact(StringRef name, LaneFact fact) {
  on(name, [fact](Operation *op, EmulationBuilder &b) -> LogicalResult {
    if (op->getNumResults() != 1 || !isa<IntegerType>(op->getResult(0).getType()))
      return b.refuse("a fact is one integer");
    Value value = b.fact(fact);
    Type type = op->getResult(0).getType();
    if (type.getIntOrFloatBitWidth() > 32)
      value = LLVM::ZExtOp::create(b.ir(), b.loc(), type, value);
    b.replace(value);
    return success();
  });
}

void EmulationTable::ignore(StringRef name) {
  on(name, [](Operation *op, EmulationBuilder &b) -> LogicalResult {
    return op->getNumResults() == 0 ? success() : b.refuse("an op with results is no hint");
  });
}

const EmulationRule *EmulationTable::rule(StringRef name) const {
  auto found = rules.find(name);
  return found == rules.end() ? nullptr : &found->second;
}

Space EmulationTable::meaning(unsigned addressSpace) const {
  auto found = spaces.find(addressSpace);
  return found == spaces.end() ? Space::Generic : found->second;
}

//===----------------------------------------------------------------------===//
// Primitives by name
//===----------------------------------------------------------------------===//

/// A rule for a call with `operands` operands and `results` results.
static EmulationRule callRule(unsigned operands, unsigned results,
                              std::function<void(EmulationBuilder &, ValueRange)> make) {
  return [=](Operation *op, EmulationBuilder &b) -> LogicalResult {
    if (op->getNumOperands() != operands || op->getNumResults() != results)
      return b.refuse("the primitive takes " + Twine(operands) + " operands and gives " + Twine(results) + " results");
    make(b, op->getOperands());
    return success();
  };
}

static Engine engineOf(StringRef name) {
  return llvm::StringSwitch<Engine>(name)
      .EndsWith("unit", Engine::Unit)
      .EndsWith("store", Engine::Store)
      .Default(Engine::Copy);
}

void EmulationTable::primitives(StringRef prefix) {
  auto on = [&](const Twine &name, EmulationRule rule) { this->on((prefix + name).str(), std::move(rule)); };
  static constexpr std::pair<const char *, LaneFact> facts[] = {
      {"lane_x", LaneFact::LaneX},
      {"lane_y", LaneFact::LaneY},
      {"lane_z", LaneFact::LaneZ},
      {"block_x", LaneFact::BlockX},
      {"block_y", LaneFact::BlockY},
      {"block_z", LaneFact::BlockZ},
      {"lanes_x", LaneFact::LanesX},
      {"lanes_y", LaneFact::LanesY},
      {"lanes_z", LaneFact::LanesZ},
      {"blocks_x", LaneFact::BlocksX},
      {"blocks_y", LaneFact::BlocksY},
      {"blocks_z", LaneFact::BlocksZ},
      {"lane_in_subgroup", LaneFact::LaneInSubgroup},
      {"subgroup_in_block", LaneFact::SubgroupInBlock},
      {"subgroup_size", LaneFact::SubgroupSize},
      {"block_in_cluster", LaneFact::BlockInCluster},
      {"cluster_x", LaneFact::ClusterX},
  };
  for (auto [name, fact] : facts)
    this->fact((prefix + Twine(name)).str(), fact);
  on("barrier", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.barrier(); }));
  on("named_barrier", callRule(2, 0, [](EmulationBuilder &b, ValueRange v) { b.barrier(v[0], v[1]); }));
  on("named_barrier_arrive", callRule(2, 0, [](EmulationBuilder &b, ValueRange v) { b.barrierArrive(v[0], v[1]); }));
  on("barrier_signal", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.barrierSignal(); }));
  on("barrier_wait", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.barrierWait(); }));
  on("subgroup_barrier", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.subgroupBarrier(); }));
  on("bare_barrier", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.bareBarrier(); }));
  on("hold_accesses", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.holdAccesses(); }));
  on("complete_accesses", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.completeAccesses(); }));
  on("acquire_accesses", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.acquireAccesses(); }));
  on("cluster_arrive", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.clusterArrive(); }));
  on("cluster_wait", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.clusterWait(); }));
  on("fence_engines", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.fenceEngines(); }));
  on("fence_units", callRule(0, 0, [](EmulationBuilder &b, ValueRange) { b.fenceUnits(); }));
  static constexpr std::pair<const char *, Shuffle> shuffles[] = {
      {"shuffle_index", Shuffle::Index},
      {"shuffle_up", Shuffle::Up},
      {"shuffle_down", Shuffle::Down},
      {"shuffle_xor", Shuffle::Xor},
  };
  for (auto [name, kind] : shuffles) {
    on(name,
       callRule(2, 1, [kind = kind](EmulationBuilder &b, ValueRange v) { b.replace(b.shuffle(kind, v[0], v[1])); }));
  }
  on("ballot", callRule(1, 1, [](EmulationBuilder &b, ValueRange v) { b.replace(b.vote(Vote::Ballot, v[0])); }));
  on("elect", callRule(0, 1, [](EmulationBuilder &b, ValueRange) { b.replace(b.elect()); }));
  for (bool transpose : {false, true}) {
    on(transpose ? "load_matrices_transposed" : "load_matrices",
       [transpose](Operation *op, EmulationBuilder &b) -> LogicalResult {
         auto words = op->getNumResults() == 1 ? dyn_cast<LLVM::LLVMStructType>(op->getResult(0).getType())
                                               : LLVM::LLVMStructType();
         if (op->getNumOperands() != 1 || !words)
           return b.refuse("it takes an address and gives a struct with one i32 a matrix");
         SmallVector<Value> values = b.loadMatrices(op->getOperand(0), words.getBody().size(), transpose);
         Value result = LLVM::PoisonOp::create(b.ir(), b.loc(), words);
         for (auto [i, value] : llvm::enumerate(values))
           result =
               LLVM::InsertValueOp::create(b.ir(), b.loc(), result, value, ArrayRef<int64_t>{static_cast<int64_t>(i)});
         b.replace(result);
         return success();
       });
  }
  // copy and store: bytes (a constant) from an address to another, of which a first part may be valid; waits by groups.
  for (const char *name : {"copy", "store"}) {
    Engine engine = engineOf(name);
    on(name, [engine](Operation *op, EmulationBuilder &b) -> LogicalResult {
      unsigned count = op->getNumOperands();
      auto bytes = count == 3 || count == 4 ? op->getOperand(2).getDefiningOp<LLVM::ConstantOp>() : LLVM::ConstantOp();
      if (!bytes || op->getNumResults())
        return b.refuse("it takes two addresses, a constant number of bytes, and the number of valid ones or nothing");
      b.copyAsync(engine, op->getOperand(0), op->getOperand(1), cast<IntegerAttr>(bytes.getValue()).getInt(),
                  count == 4 ? op->getOperand(3) : Value());
      return success();
    });
    on(name + Twine("_2d"), callRule(6, 0, [engine](EmulationBuilder &b, ValueRange v) {
         b.copyAsync2d(engine, v[0], v[1], v[2], v[3], v[4], v[5]);
       }));
    on(name + Twine("_2d_transposed"), callRule(7, 0, [engine](EmulationBuilder &b, ValueRange v) {
         b.copyTransposed(engine, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
       }));
  }
  for (const char *name : {"copy", "unit", "store"}) {
    Engine engine = engineOf(name);
    on(Twine("commit_") + name, callRule(0, 0, [engine](EmulationBuilder &b, ValueRange) { b.commit(engine); }));
    on(Twine("wait_") + name, callRule(1, 0, [engine](EmulationBuilder &b, ValueRange v) { b.wait(engine, v[0]); }));
  }
  on("phase_init", callRule(2, 0, [](EmulationBuilder &b, ValueRange v) { b.phaseInit(v[0], v[1]); }));
  on("phase_arrive", callRule(1, 0, [](EmulationBuilder &b, ValueRange v) { b.phaseArrive(v[0]); }));
  on("phase_expect", callRule(2, 0, [](EmulationBuilder &b, ValueRange v) { b.phaseExpect(v[0], v[1]); }));
  on("phase_wait", callRule(2, 0, [](EmulationBuilder &b, ValueRange v) { b.phaseWait(v[0], v[1]); }));
  on("phase_test", callRule(2, 1, [](EmulationBuilder &b, ValueRange v) { b.replace(b.phaseTest(v[0], v[1])); }));
  on("map_to_block", [](Operation *op, EmulationBuilder &b) -> LogicalResult {
    if (op->getNumOperands() != 2 || op->getNumResults() != 1)
      return b.refuse("it takes an address and the rank of a block and gives an address");
    b.replace(b.mapToBlock(op->getOperand(0), op->getOperand(1), op->getResult(0).getType()));
    return success();
  });
  on("copy_tensor", [](Operation *op, EmulationBuilder &b) -> LogicalResult {
    if (op->getNumOperands() < 4 || op->getNumResults())
      return b.refuse("it takes the tile's address, the descriptor, the barrier object, and the coordinates");
    b.copyTensor(op->getOperand(0), op->getOperand(1), op->getOperands().drop_front(3), op->getOperand(2));
    return success();
  });
  on("store_tensor", [](Operation *op, EmulationBuilder &b) -> LogicalResult {
    if (op->getNumOperands() < 3 || op->getNumResults())
      return b.refuse("it takes the descriptor, the tile's address, and the coordinates");
    b.storeTensor(op->getOperand(0), op->getOperand(1), op->getOperands().drop_front(2));
    return success();
  });
}

void EmulationTable::calls(StringRef prefix) {
  primitives(prefix);
  space(globalSpace, Space::Global);
  space(scratchpadSpace, Space::Scratchpad);
}

//===----------------------------------------------------------------------===//
// Instructions by record
//===----------------------------------------------------------------------===//

/// The operands of what the record does, of an op that was made by it; failure if the op has another form.
static FailureOr<SmallVector<Value>> operandsByRecord(Operation *op, const Emission &emission, const LaneWord &word,
                                                      EmulationBuilder &b) {
  SmallVector<Value> values(word.operands);
  unsigned next = 0;
  auto other = [&] { return b.refuse("only the form that the chip's record gives is known"); };
  for (StringRef argument : emission.arguments) {
    StringRef key;
    unsigned operand;
    bool isOperand = operandOfArgument(argument, key, operand);
    if (key.empty()) {
      if (next == op->getNumOperands())
        return other();
      values[operand] = op->getOperand(next++);
    } else if (isOperand) {
      auto number = op->getAttrOfType<IntegerAttr>(key);
      if (!number)
        return other();
      values[operand] = b.constant(32, number.getInt());
    } else if (op->getAttr(key) != parseAttribute(argument.split('=').second, op->getContext())) {
      return other();
    }
  }
  if (next != op->getNumOperands())
    return other();
  return values;
}

static void doWord(StringRef word, EmulationBuilder &b, ArrayRef<Value> v) {
  if (word == "barrier")
    b.barrier();
  else if (word == "cluster_arrive")
    b.clusterArrive();
  else if (word == "cluster_wait")
    b.clusterWait();
  else if (word == "fence_engines")
    b.fenceEngines();
  else if (word == "fence_units")
    b.fenceUnits();
  else if (word == "phase_init")
    b.phaseInit(v[0], v[1]);
  else if (word == "group_arrive")
    b.barrierArrive(v[0], v[1]);
  else if (word == "first")
    b.replace(b.first(v[0]));
  else if (word == "exp2")
    b.replace(b.exp2(v[0]));
  else if (word.starts_with("commit_"))
    b.commit(engineOf(word));
  else
    b.wait(engineOf(word), v[0]); // wait_copy, wait_store
}

void EmulationTable::instructions(llvm::ArrayRef<LaneInstruction> records) {
  static const llvm::StringMap<LaneFact> facts = {{"lane_x", LaneFact::LaneX},
                                                  {"block_x", LaneFact::BlockX},
                                                  {"block_y", LaneFact::BlockY},
                                                  {"block_z", LaneFact::BlockZ},
                                                  {"block_in_cluster", LaneFact::BlockInCluster}};
  for (const LaneInstruction &record : records) {
    std::string name = (record.emit.kind == EmissionKind::InlineAsm ? "asm:" : "") + record.emit.name;
    const LaneWord *word = laneWord(record.does);
    if (!word)
      continue;
    if (auto known = facts.find(record.does); known != facts.end() && !rule(name))
      fact(name, known->second);
    if (rule(name))
      continue;
    if (word->isHint)
      ignore(name);
    else
      on(name, [record, word](Operation *op, EmulationBuilder &b) -> LogicalResult {
        FailureOr<SmallVector<Value>> operands = operandsByRecord(op, record.emit, *word, b);
        if (failed(operands))
          return failure();
        doWord(record.does, b, *operands);
        return success();
      });
  }
}
