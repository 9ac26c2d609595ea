//===- TileProgramModel.cpp - Programs of rows on fragments ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units, registers, buffers and clocks of the candidates.
///
//===----------------------------------------------------------------------===//

#include "core/CostModel/Schedules/TileProgramModel.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Schedules/LaneRegisters.h"
#include "core/CostModel/Time/StepModel.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <map>
#include <memory>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

llvm::json::Object TileProgramPlan::toJSON() const {
  return llvm::json::Object{{"unit", unit->name},
                            {"rows_are_columns", transposed},
                            {"subgroups", subgroups},
                            {"units_per_subgroup", unitRows},
                            {"stages", stages},
                            {"registers", registers},
                            {"scratchpad_bytes", sharedBytes},
                            {"blocks_at_a_time", blocksAtATime},
                            {"step_clocks", stepClocks},
                            {"seconds", seconds}};
}

int64_t TileProgramPlan::columnsTogether(int64_t units) const {
  int64_t bytes = unit->b.layout.numElements() * bitWidth(unit->b.element) / 8;
  return !transposed && units % 2 == 0 && 2 * bytes <= mostAccessBytes ? 2 : 1;
}

Contraction tilewright::oriented(const TileStatement &statement, bool transposed) {
  Contraction result = *statement.sum;
  if (statement.rowsOfA == transposed) {
    std::swap(result.a, result.b);
    std::swap(result.m, result.n);
  }
  return result;
}

Layout tilewright::layoutOfRows(const Layout &layout, bool transposed) {
  auto along = [&](Position position) {
    (transposed ? position.row : position.col) = 0;
    return position;
  };
  Layout result;
  for (const Position &lane : layout.lanes)
    result.lanes.push_back(along(lane));
  for (const Position &element : layout.elements)
    if (Position own = along(element); !(own == Position()))
      result.elements.push_back(own);
  for (Repetition repetition : layout.repeats) {
    (transposed ? repetition.rowStep : repetition.colStep) = 0;
    if (repetition.rowStep || repetition.colStep)
      result.repeats.push_back(repetition);
  }
  return result;
}

/// Whether `from`, a matrix of sums, is `to` in the registers of each lane, in some order.
static bool convertsInLanes(const Layout &from, const Layout &to, int64_t rows, int64_t cols) {
  auto slots = conversion(from, to, rows, cols);
  if (!slots) {
    llvm::consumeError(slots.takeError());
    return false;
  }
  int64_t count = to.numElements();
  for (int64_t lane = 0; lane < to.numLanes(); ++lane)
    for (int64_t e = 0; e < count; ++e)
      if (Slot slot = (*slots)[lane * count + e]; slot.lane != lane || slot.element != (*slots)[e].element)
        return false;
  return true;
}

namespace {
/// Prices the candidates of one program.
class TileProgramPlanner {
public:
  TileProgramPlanner(const TileProgram &program, int64_t blocks, const TargetDescription &chip,
                     const LaneHierarchy &hierarchy, const NumericFreedom &freedom)
      : program(program), blocks(blocks), chip(chip), hierarchy(hierarchy), freedom(freedom),
        shared(*chip.memory(hierarchy.scratchpad)) {}

  /// Whether the unit computes all contractions of the program so.
  bool computes(const MatrixUnit &unit, bool transposed) const;
  /// Fills in what `plan` takes; false where it does not fit.
  bool price(TileProgramPlan &plan, std::string &reason) const;

private:
  int64_t registersOf(const TileProgramPlan &plan) const;
  int64_t words(const TileProgramPlan &plan, const TileArray &array, int64_t columns) const;

  const TileProgram &program;
  int64_t blocks;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  const NumericFreedom &freedom;
  const Memory &shared;
  /// Contractions whose columns are staged, by their nest and by whether rows are transposed.
  struct StagedColumns {
    Contraction contraction;
    StagedTiles tiles;
    StagedColumns(Contraction given, const TargetDescription &chip, const LaneHierarchy &hierarchy)
        : contraction(std::move(given)), tiles(contraction, chip, hierarchy) {}
  };
  mutable std::map<std::pair<Operation *, bool>, std::unique_ptr<StagedColumns>> columnsOf;
};
} // namespace

bool TileProgramPlanner::computes(const MatrixUnit &unit, bool transposed) const {
  int64_t columns = transposed ? unit.m : unit.n;
  for (const auto &[op, statement] : program.statements) {
    if (statement.kind != TileStatement::Kind::Contraction)
      continue;
    if (!computesOnLanes(unit, oriented(statement, transposed), hierarchy, freedom.fast))
      return false;
    // Copies that run ahead say of one dimension what is behind the last step.
    const TileSteps *steps = program.stepsAround(op);
    if (steps && steps->most > 1 && !llvm::isPowerOf2_64(statement.columns()) &&
        !llvm::isPowerOf2_64(statement.depth()))
      return false;
    if (!program.local(statement.ofRows().access.memref))
      continue;
    // Sums become an operand: as many side by side as it has columns.
    if (unit.k % columns != 0 || (transposed && unit.k != columns))
      return false;
    Layout sums = sideBySide(unit.c.layout, unit.n, transposed ? 1 : unit.k / columns);
    const UnitOperand &own = transposed ? unit.b : unit.a;
    if (!convertsInLanes(sums, own.layout, own.rows, own.cols))
      return false;
  }
  return true;
}

/// Registers of a lane for so many columns of `array`, for all rows of its subgroup.
int64_t TileProgramPlanner::words(const TileProgramPlan &plan, const TileArray &array, int64_t columns) const {
  int64_t each = array.columns == 1 ? layoutOfRows(plan.unit->c.layout, plan.transposed).numElements()
                                    : plan.unitsAlong(columns, array.isOperand) * plan.unit->c.layout.numElements();
  return llvm::divideCeil(plan.unitRows * each * elementBytes(array.element), 4);
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
    const UnitOperand &rows = plan.transposed ? plan.unit->b : plan.unit->a;
    const UnitOperand &columns = plan.transposed ? plan.unit->a : plan.unit->b;
    auto registers = [](const UnitOperand &operand) {
      return std::max<int64_t>(1, operand.layout.numElements() * bitWidth(operand.element) / 32);
    };
    fragments = std::max(fragments, 2 * registers(columns));
    if (!program.local(statement.ofRows().access.memref))
      operands[program.stepsAround(each.first)] += plan.unitRows * plan.depthOf(statement) * registers(rows);
  }
  // What steps hand to each other lives in all of them.
  for (const auto &[loop, mostSteps, mean] : program.steps)
    for (Value memref : program.handedOn(loop)) {
      Live all{order.size(), 0, words(plan, *program.local(memref), program.local(memref)->columns), memref};
      for (auto [i, each] : llvm::enumerate(order))
        if (AffineForOp(loop)->isAncestor(each.first)) {
          all.first = std::min(all.first, i);
          all.last = i;
        }
      // Where it lives already, it needs no other registers.
      for (Live &own : live)
        if (own.words && own.memref == memref && own.first <= all.last && all.first <= own.last) {
          all.first = std::min(own.first, all.first);
          all.last = std::max(own.last, all.last);
          own.words = 0;
        }
      live.push_back(all);
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

/// Clocks in which the backing memory moves each array that others see once; of dynamic sizes nothing is known.
static double clocksOfArrays(const TileProgram &program, const Memory &global) {
  llvm::SmallDenseSet<Value> arrays;
  double bytes = 0;
  for (const auto &[op, statement] : program.statements)
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores))
      if (auto type = cast<MemRefType>(access.memref.getType());
          !program.local(access.memref) && type.hasStaticShape() && arrays.insert(access.memref).second)
        bytes += double(type.getNumElements() * elementBytes(type.getElementType()));
  return bytes / global.bytesPerClock;
}

bool TileProgramPlanner::price(TileProgramPlan &plan, std::string &reason) const {
  const MatrixUnit &unit = *plan.unit;
  const MachineGraph &graph = chip.graph();
  const Memory *l2 = graph.lastSharedCache(), *global = graph.backing();
  double issueSlots = chip.number(Number::Issue).value_or(1);
  plan.registers = registersOf(plan);
  int64_t threads = plan.subgroups * hierarchy.lanes;
  int64_t limit = registersOfLane(chip, 0, threads);
  if (plan.registers > limit) {
    reason = "a lane needs " + std::to_string(plan.registers) + " registers, but has " + std::to_string(limit);
    return false;
  }
  struct Part {
    double products = 0, instructions = 0, reads = 0, copied = 0; // of a subgroup; bytes of a block
  };
  std::map<const TileSteps *, Part> parts;
  plan.sharedBytes = 0;
  plan.staged.clear();
  for (const auto &[op, statement] : program.statements) {
    const TileSteps *steps = program.stepsAround(op);
    Part &part = parts[steps];
    int64_t along = plan.unitsOf(statement), columns = statement.col ? along * plan.columnsOfUnit() : 1;
    double elements = double(plan.unitRows * plan.rowsOfUnit() * columns) / hierarchy.lanes;
    if (statement.kind != TileStatement::Kind::Contraction) {
      for (Operation &each : statement.nest.body->without_terminator())
        if (!isa<AffineLoadOp, AffineStoreOp>(each))
          part.instructions += elements * double(instructionsOf(&each));
        else if (!program.local(isa<AffineLoadOp>(each) ? cast<AffineLoadOp>(each).getMemRef()
                                                        : cast<AffineStoreOp>(each).getMemRef()))
          part.instructions += elements;
      continue;
    }
    const int64_t units = plan.depthOf(statement), depth = plan.stagedDepth(statement);
    const int64_t staged = plan.stagedColumns(statement);
    double products = double(plan.unitRows * along * units);
    part.products += products * unit.issue;
    const UnitOperand &own = plan.transposed ? unit.a : unit.b;
    part.instructions += products + double(along * units) / double(plan.columnsTogether(along));
    if (program.local(statement.ofColumns().access.memref)) {
      reason = "both operands of a contraction are computed in the tile";
      return false;
    }
    std::unique_ptr<StagedColumns> &known = columnsOf[{op, plan.transposed}];
    if (!known)
      known = std::make_unique<StagedColumns>(oriented(statement, plan.transposed), chip, hierarchy);
    LaneContractionPlan whole;
    whole.unit = &unit;
    const unsigned row = statement.row.value_or(statement.nest.depth());
    whole.mDim = plan.transposed ? *statement.col : row;
    whole.nDim = plan.transposed ? row : *statement.col;
    whole.kDim = statement.k;
    (plan.transposed ? whole.subgroupsN : whole.subgroupsM) = plan.subgroups;
    (plan.transposed ? whole.tilesN : whole.tilesM) = plan.unitRows;
    (plan.transposed ? whole.tilesM : whole.tilesN) = staged / plan.columnsOfUnit();
    whole.depth = depth;
    whole.stages = steps && steps->most > 1 ? plan.stages : 1;
    StagedTiles &tiles = known->tiles;
    StagedOperand operand = tiles.operand(whole, plan.transposed);
    StagedTile tile;
    double meets = tiles.arrange(operand, tile);
    tile.over = false;
    int64_t bytes = staged * depth * elementBytes(statement.ofColumns().element);
    part.reads += double(along * units * loadedElements(own)) * double(tiles.elementBytes()) * meets;
    part.copied += double(bytes) * meets;
    // Lanes copy pieces, each with what its address and its check take.
    double pieces = double(bytes) / double(threads * (tile.direct || hasCopyEngine(chip) ? operand.use.pieceBytes : 4));
    part.instructions += std::ceil(pieces) * (3 + chip.number(Number::AddressInstructions).value_or(1));
    if (program.firstWithColumnsOf(op) == op) // others use its buffer
      plan.sharedBytes += whole.stages * (bytes + operand.use.rows * tile.padding * tiles.elementBytes());
    plan.staged.insert({op, tile});
  }
  if (plan.sharedBytes > shared.bytes) {
    reason = "a block needs " + std::to_string(plan.sharedBytes) + " bytes of its memory, which has " +
             std::to_string(shared.bytes);
    return false;
  }
  int64_t threadsAtATime =
      int64_t(chip.number(Number::ResidentThreads).value_or(double(graph.registerPool()->entries)));
  plan.blocksAtATime =
      std::max<int64_t>(1, std::min({shared.bytes / std::max<int64_t>(plan.sharedBytes, 1),
                                     blocksInRegisters(chip, plan.registers, hierarchy.lanes, plan.subgroups),
                                     threadsAtATime / threads}));
  double atATime = double(hierarchy.blocks) * plan.blocksAtATime, active = std::min(double(blocks), atATime);
  double perUnit = std::max(1.0, std::ceil(active / hierarchy.blocks));
  auto clocksOf = [&](const Part &part) {
    StepLoad load;
    load.units = part.products * plan.subgroups / issueSlots * perUnit;
    load.issue = part.instructions * plan.subgroups / issueSlots * perUnit;
    load.scratchpad = (part.reads * plan.subgroups + part.copied) / shared.bytesPerClock * perUnit;
    load.l2 = l2 ? part.copied * active / l2->bytesPerClock : part.copied * active / global->bytesPerClock;
    StepChain chain;
    chain.products = part.products + part.instructions;
    chain.product = unit.issue;
    chain.scratchpadRead = part.reads / shared.bytesPerClock;
    chain.scratchpadLatency = shared.latency;
    chain.memoryLatency = (l2 ? l2 : global)->latency;
    chain.ahead = double(plan.stages - 1);
    return tilewright::stepClocks(load, chain);
  };
  double ofTile = 0;
  plan.stepClocks = 0;
  for (const auto &[steps, part] : parts) {
    double clocks = clocksOf(part);
    ofTile += (steps ? steps->mean : 1) * clocks;
    if (steps)
      plan.stepClocks = std::max(plan.stepClocks, clocks);
  }
  double waves = std::max(1.0, std::ceil(double(blocks) / atATime));
  double clocks = std::max(waves * (ofTile + drainClocks(chip)), clocksOfArrays(program, *global)) + launchClocks(chip);
  plan.seconds = clocks / (chip.clockMHz() * 1e6);
  return true;
}

bool tilewright::hasUnit(const TileProgram &program, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                         const NumericFreedom &freedom) {
  if (hierarchy.scratchpad.empty())
    return false;
  TileProgramPlanner planner(program, /*blocks=*/1, chip, hierarchy, freedom);
  return llvm::any_of(chip.units(), [&](const MatrixUnit &unit) {
    return planner.computes(unit, /*transposed=*/false) || planner.computes(unit, /*transposed=*/true);
  });
}

std::optional<TileProgramPlan> tilewright::planTileProgram(const TileProgram &program, int64_t blocks,
                                                           const TargetDescription &chip,
                                                           const LaneHierarchy &hierarchy,
                                                           const NumericFreedom &freedom, std::string &reason) {
  std::optional<TileProgramPlan> best;
  int64_t fewest = std::numeric_limits<int64_t>::max(); // registers of a plan that does not fit
  reason = "no unit of the chip computes its contractions";
  if (hierarchy.scratchpad.empty())
    return best;
  TileProgramPlanner planner(program, blocks, chip, hierarchy, freedom);
  for (const MatrixUnit &unit : chip.units())
    for (bool transposed : {false, true}) {
      TileProgramPlan plan;
      plan.unit = &unit;
      plan.transposed = transposed;
      if (!planner.computes(unit, transposed))
        continue;
      int64_t units = llvm::divideCeil(program.rows, plan.rowsOfUnit());
      for (plan.unitRows = 1; plan.unitRows <= units; plan.unitRows *= 2) {
        plan.subgroups = units / plan.unitRows;
        if (units % plan.unitRows != 0 || plan.subgroups > hierarchy.subgroups)
          continue;
        for (plan.stages = 2; plan.stages <= 3; ++plan.stages) {
          TileProgramPlan each = plan;
          std::string shortage;
          if (planner.price(each, shortage)) {
            if (!best || each.seconds < best->seconds)
              best = each;
          } else if (each.registers < fewest) {
            fewest = each.registers;
            reason = shortage;
          }
        }
      }
    }
  return best;
}
