//===- TileProgramRegisters.cpp - Registers of a tile program -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many registers of a lane the arrays of a tile take that are in use at one statement.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/CostModel/Schedules/LaneRegisters.h"
#include "core/CostModel/Schedules/TileProgramPlanner.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Registers of a lane for so many columns of `array`, for all rows of its subgroup.
int64_t TileProgramPlanner::words(const TileProgramPlan &plan, const TileArray &array, int64_t columns) const {
  int64_t each = array.columns == 1 ? layoutOfRows(plan.unit->c.layout, plan.transposed).numElements()
                                    : plan.unitsAlong(columns, array.isOperand) * plan.unit->c.layout.numElements();
  return llvm::divideCeil(plan.unitRows * each * elementBytes(array.element), 4);
}

/// Registers of a lane for the fragments of a load.
int64_t TileProgramPlanner::loadedWords(const TileProgramPlan &plan, const TileStatement &statement,
                                        const Access &load) const {
  const Layout &sums = plan.unit->c.layout;
  const int64_t each =
      statement.col ? plan.unitsOf(statement) * sums.numElements() : layoutOfRows(sums, plan.transposed).numElements();
  return llvm::divideCeil(plan.unitRows * each * elementBytes(cast<MemRefType>(load.memref.getType()).getElementType()),
                          4);
}

/// The most registers that are in use at one statement.
int64_t TileProgramPlanner::registersOf(const TileProgramPlan &plan) const {
  SmallVector<std::pair<Operation *, const TileStatement *>> order;
  for (const auto &[op, statement] : program.statements)
    order.push_back({op, &statement});
  struct Live {
    size_t first, last;
    int64_t words;
    Value memref;
  };
  SmallVector<Live> live;
  llvm::DenseMap<Value, size_t> current; // in `live`: new values live anew
  int64_t fragments = 0;
  std::map<const TileSteps *, int64_t> operands; // rows that are loaded before steps
  for (auto [i, each] : llvm::enumerate(order)) {
    const TileStatement &statement = *each.second;
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores))
      if (const TileArray *array = program.local(access.memref)) {
        auto [found, isNew] = current.try_emplace(access.memref, live.size());
        if (isNew || TileProgram::replaces(statement, access.memref)) {
          found->second = live.size();
          live.push_back({i, i, words(plan, *array, array->columns), access.memref});
        }
        live[found->second].last = i;
      }
    if (statement.kind != TileStatement::Kind::Contraction)
      continue;
    const MatrixUnit &unit = plan.unitFor(program.rowsMove(each.first));
    const UnitOperand &rows = plan.transposed ? unit.b : unit.a;
    const UnitOperand &columns = plan.transposed ? unit.a : unit.b;
    auto registers = [](const UnitOperand &operand) {
      if (operand.residence == Residence::Scratchpad)
        return int64_t(0);
      return std::max<int64_t>(1, operand.layout.numElements() * bitWidth(operand.element) / 32);
    };
    const bool rowsMove = program.rowsMove(each.first);
    fragments = std::max(fragments, 2 * registers(columns) + (rowsMove ? 2 * plan.unitRows * registers(rows) : 0));
    if (!rowsMove && !program.local(statement.ofRows().access.memref))
      operands[program.stepsAround(each.first)] += plan.unitRows * plan.depthOf(statement) * registers(rows);
  }
  // What steps hand to each other lives in all of them.
  auto inAllOf = [&](AffineForOp loop, int64_t words, Value memref) {
    Live all{order.size(), 0, words, memref};
    for (auto [i, each] : llvm::enumerate(order))
      if (loop->isAncestor(each.first)) {
        all.first = std::min(all.first, i);
        all.last = i;
      }
    return all;
  };
  for (const TileSteps &steps : program.steps) {
    AffineForOp loop = steps.loop;
    if (plan.loadsAheadIn(steps))
      for (auto [statement, load] : program.loadsOfSteps(loop))
        live.push_back(inAllOf(loop, loadedWords(plan, *statement, *load), {}));
    for (Value memref : program.handedOn(loop)) {
      Live all = inAllOf(loop, words(plan, *program.local(memref), program.local(memref)->columns), memref);
      // Where it lives already, it needs no other registers.
      for (Live &own : live)
        if (own.words && own.memref == memref && own.first <= all.last && all.first <= own.last) {
          all.first = std::min(own.first, all.first);
          all.last = std::max(own.last, all.last);
          own.words = 0;
        }
      live.push_back(all);
    }
  }
  int64_t most = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t sum = 0, born = 0, dies = 0;
    for (const Live &own : live)
      if (own.first <= i && i <= own.last) {
        sum += own.words;
        born += own.first == i ? own.words : 0;
        dies += own.last == i && own.first != i ? own.words : 0;
      }
    // Fragment by fragment, what a map computes takes the place of what it reads for the last time.
    if (order[i].second->kind == TileStatement::Kind::Map)
      sum -= std::min(born, dies);
    most = std::max(most, sum);
  }
  int64_t mostOperands = 0;
  for (const auto &[steps, words] : operands)
    mostOperands = std::max(mostOperands, words);
  return most + mostOperands + fragments + otherRegisters;
}
