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

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/CostModel/Machine/LaneMemories.h"
#include "core/CostModel/Schedules/Candidates.h"
#include "core/CostModel/Schedules/ContractionModel.h"
#include "core/CostModel/Schedules/LaneRegisters.h"
#include "core/CostModel/Schedules/TileProgramPlanner.h"
#include "core/CostModel/Time/StepModel.h"
#include "core/Machine/UnitOperands.h"
#include "tilewright/MachineGraph.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <map>
#include <memory>
#include <set>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

llvm::json::Object TileProgramPlan::toJSON() const {
  return llvm::json::Object{{"unit", unit->name},
                            {"unit_of_moving_rows", unitFor(/*rowsMove=*/true).name},
                            {"rows_are_columns", transposed},
                            {"subgroups", allSubgroups()},
                            {"subgroups_of_unit", unit->scopeCount},
                            {"units_per_subgroup", unitRows},
                            {"stages", stages},
                            {"engine", engine},
                            {"in_turns", inTurns},
                            {"persistent_blocks", workers},
                            {"loads_ahead", loadsAhead},
                            {"registers", registers},
                            {"scratchpad_bytes", sharedBytes},
                            {"blocks_at_a_time", blocksAtATime},
                            {"step_clocks", stepClocks},
                            {"seconds", seconds}};
}

int64_t TileProgramPlan::columnsTogether(int64_t units) const {
  if (unit->b.residence == Residence::Scratchpad)
    return 1;
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

bool tilewright::computesInGroups(const MatrixUnit &unit, const Contraction &c, const LaneHierarchy &hierarchy,
                                  const NumericFreedom &freedom) {
  const int64_t lanes = unit.scopeCount * hierarchy.lanes;
  return unit.scopeLevel == hierarchy.subgroup && unit.scopeCount > 1 && unit.completion == Completion::WaitGroup &&
         addsUpPlainly(unit) && liesIn(unit.b, hierarchy.scratchpad) && liesOverLanes(unit.c, lanes) &&
         (liesOverLanes(unit.a, lanes) || liesIn(unit.a, hierarchy.scratchpad)) && takesElements(unit, c, freedom);
}

/// The tile of an operand that `own` reads in the scratchpad, `free` x `depth` elements: lines as wide as the unit
/// knows them and the operand fills, along the dimension in which the array is contiguous; nullopt: it takes none.
/// `isA`: its free dimension has the rows of a matrix. `unitFree`: those of one instruction.
static std::optional<StagedTile> linesOf(const UnitOperand &own, bool isA, int64_t unitFree, bool inK, int64_t free,
                                         int64_t depth) {
  StagedTile tile;
  tile.kInner = inK;
  if (!llvm::is_contained(own.majors, inK == isA ? "row" : "column"))
    return std::nullopt;
  const int64_t bytes = bitWidth(own.element) / 8, most = (inK ? depth : std::min(free, unitFree)) * bytes;
  for (StringRef arrangement : own.arrangements)
    if (int64_t line; arrangement.consume_front("swizzle.") && !arrangement.getAsInteger(10, line) &&
                      most % line == 0 && line / bytes > tile.line)
      tile.line = line / bytes;
  if (tile.line == 0)
    return std::nullopt;
  tile.swizzleLines(tile.line * bytes);
  return tile;
}

/// Whether copies can run ahead: they say of one dimension what is behind the last step.
bool TileProgramPlanner::copiesAhead() const {
  for (const auto &[op, statement] : program.statements) {
    if (statement.kind != TileStatement::Kind::Contraction)
      continue;
    const TileSteps *steps = program.stepsAround(op);
    if (steps && steps->most > 1 && !llvm::isPowerOf2_64(statement.columns()) &&
        !llvm::isPowerOf2_64(statement.depth()))
      return false;
    if (program.rowsMove(op) && steps->most > 1 && statement.hasFewerRows() && !llvm::isPowerOf2_64(statement.depth()))
      return false;
  }
  return true;
}

bool TileProgramPlanner::computes(const MatrixUnit &unit, bool transposed) const {
  int64_t columns = transposed ? unit.m : unit.n;
  for (const auto &[op, statement] : program.statements) {
    if (statement.kind != TileStatement::Kind::Contraction)
      continue;
    if (!computesOnLanes(unit, oriented(op, transposed), hierarchy, freedom))
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
  return copiesAhead();
}

/// Whether `engine` can fill all buffers of the program, of which each loop over steps fills the same: boxes of arrays,
/// which end nowhere but where steps and tiles do.
bool TileProgramPlanner::feeds(const CopyEngine &engine, const TileProgramPlan &plan) const {
  std::map<const TileSteps *, std::set<std::pair<Operation *, bool>>> filled;
  for (const auto &[root, statement] : program.statements) {
    if (statement.kind != TileStatement::Kind::Contraction)
      continue;
    const TileSteps *steps = program.stepsAround(root);
    for (bool isRows : {false, true}) {
      if (isRows && !program.rowsMove(root))
        continue;
      const ContractionOperand &operand = isRows ? statement.ofRows() : statement.ofColumns();
      if (!steps || !llvm::is_contained(operand.access.symbols, AffineForOp(steps->loop).getInductionVar()) ||
          !engineLinesAlongK(operand, isRows ? *statement.row : *statement.col, statement.k, engine))
        return false;
      const bool isWhole = isRows
                               ? !statement.hasFewerRows() && plan.rowsOfStage() == statement.rows()
                               : !statement.hasFewerColumns() && plan.stagedColumns(statement) == statement.columns();
      if (!isWhole || statement.hasFewerSummands() || plan.stagedDepth(statement) != statement.depth())
        return false;
      filled[steps].insert({isRows ? program.firstWithRowsOf(root) : program.firstWithColumnsOf(root), isRows});
    }
  }
  return !filled.empty() && filled.size() == program.steps.size() &&
         llvm::all_of(filled, [&](const auto &each) { return each.second == filled.begin()->second; });
}

/// Whether the sums of one unit, rounded, are operands of `unit` side by side in the registers of each lane, and lanes
/// combine their columns within a subgroup.
bool TileProgramPlanner::splitsInLanes(const MatrixUnit &unit) const {
  const int64_t count = unit.n / unit.k;
  if (!llvm::isPowerOf2_64(unit.n) || unit.n % unit.k != 0)
    return false;
  for (int64_t lane = hierarchy.lanes; lane < unit.c.layout.numLanes(); lane *= 2)
    if (unit.c.layout.at(lane, 0).col != unit.c.layout.at(0, 0).col)
      return false;
  return unit.a.residence == Residence::Scratchpad ||
         convertsInLanes(unit.c.layout, sideBySide(unit.a.layout, unit.k, count), unit.m, unit.n);
}

/// How a side of contraction `root` lies for a unit that reads it in the scratchpad; nullopt: not at all.
std::optional<StagedTile> TileProgramPlanner::linesOf(const TileProgramPlan &plan, Operation *root, bool isRows) const {
  const TileStatement &statement = program.statements.find(root)->second;
  const MatrixUnit &unit = plan.unitFor(program.rowsMove(root));
  const Access &access = (isRows ? statement.ofRows() : statement.ofColumns()).access;
  const std::optional<unsigned> free = isRows ? statement.row : statement.col;
  const bool inK = isContiguousAlong(access, statement.k);
  if (!free || (!inK && !isContiguousAlong(access, *free)))
    return std::nullopt;
  return ::linesOf(isRows ? unit.a : unit.b, isRows, isRows ? unit.m : unit.n, inK,
                   isRows ? plan.rowsOfStage() : plan.stagedColumns(statement), plan.stagedDepth(statement));
}

bool TileProgramPlanner::findGroupUnits(TileProgramPlan &plan) const {
  // Units of the same sums, those with A in registers before those without.
  auto pairOf = [&](const MatrixUnit &unit) {
    TileProgramPlan result;
    result.unit = &unit;
    for (const MatrixUnit &other : chip.units())
      if (unit.a.residence == Residence::LaneRegisters && other.a.residence == Residence::Scratchpad &&
          other.b.residence == Residence::Scratchpad && other.m == unit.m && other.n == unit.n && other.k == unit.k &&
          other.a.element == unit.a.element && other.b.element == unit.b.element && other.c.element == unit.c.element &&
          other.c.layout == unit.c.layout)
        result.ofMoving = &other;
    return result;
  };
  double fewest = std::numeric_limits<double>::infinity();
  for (const MatrixUnit &unit : chip.units()) {
    if (unit.scopeCount == 1)
      continue;
    const TileProgramPlan candidate = pairOf(unit);
    double clocks = 0;
    for (const auto &[op, statement] : program.statements) {
      if (statement.kind != TileStatement::Kind::Contraction)
        continue;
      const bool rowsMove = program.rowsMove(op);
      const MatrixUnit &own = candidate.unitFor(rowsMove);
      const Residence needed = rowsMove ? Residence::Scratchpad : Residence::LaneRegisters;
      const bool isFit = computesInGroups(own, oriented(op, /*transposed=*/false), hierarchy, freedom) &&
                         own.a.residence == needed && linesOf(candidate, op, /*isRows=*/false) &&
                         (!rowsMove || linesOf(candidate, op, /*isRows=*/true));
      clocks += isFit ? double(candidate.unitsOf(statement) * candidate.depthOf(statement)) * own.issue
                      : std::numeric_limits<double>::infinity();
    }
    if (std::isfinite(clocks) && (clocks < fewest || (clocks == fewest && unit.n > plan.unit->n)) &&
        splitsInLanes(unit)) {
      fewest = clocks;
      plan = candidate;
    }
  }
  return std::isfinite(fewest) && copiesAhead();
}

int64_t TileProgramPlan::stagesOf(const TileProgram &program, Operation *root, bool isRows) const {
  auto firstOf = [&](Operation *op) { return isRows ? program.firstWithRowsOf(op) : program.firstWithColumnsOf(op); };
  for (const auto &[op, statement] : program.statements) {
    const TileSteps *around = program.stepsAround(op);
    if (statement.kind != TileStatement::Kind::Contraction || !around || around->most == 1 ||
        firstOf(op) != firstOf(root))
      continue;
    AffineForOp loop = around->loop;
    if (isRows ? program.rowsMove(op)
               : llvm::is_contained(statement.ofColumns().access.symbols, loop.getInductionVar()))
      return stages;
  }
  return 1;
}

/// Clocks in which the backing memory moves each array that others see once; of dynamic sizes nothing is known.
static double clocksOfProgram(const TileProgram &program, const Memory &global) {
  llvm::SmallDenseSet<Value> arrays;
  double bytes = 0;
  for (const auto &[op, statement] : program.statements)
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores))
      if (auto type = cast<MemRefType>(access.memref.getType());
          !program.local(access.memref) && type.hasStaticShape() && arrays.insert(access.memref).second)
        bytes += double(type.getNumElements() * elementBytes(type.getElementType()));
  return bytes / global.bytesPerClock;
}

/// `op` for `elements` of each lane. An exponential in steps is one instruction where the chip has it for lanes, and
/// the factor of its exponent is fused with the difference; they share units that are slower than issue slots.
void TileProgramPlanner::addOperation(Operation *op, double elements, Part &part) const {
  const bool isExp = isa<math::ExpOp>(op);
  if ((isExp || isa<math::Exp2Op>(op)) && hasShortPowers && op->getResult(0).getType().isF32() &&
      bitEnumContainsAll(cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue(),
                         arith::FastMathFlags::afn)) {
    part.instructions += elements * (isExp && !op->getOperand(0).getDefiningOp<arith::SubFOp>() ? 2 : 1);
    part.powers += elements;
    return;
  }
  part.instructions += elements * double(instructionsOf(op));
}

/// A map or a reduction, on the fragments of one subgroup.
void TileProgramPlanner::addNest(const TileProgramPlan &plan, const TileStatement &statement, const TileSteps *steps,
                                 Part &part) const {
  const double rows = double(plan.unitRows * plan.rowsOfUnit());
  const double columns = statement.col ? double(plan.unitsOf(statement) * plan.columnsOfUnit()) : 1;
  const double elements = rows * columns / double(hierarchy.lanes * plan.unit->scopeCount);
  for (Operation &each : statement.nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp>(each))
      addOperation(&each, elements, part);
  auto isGlobal = [&](const Access &access) { return !program.local(access.memref); };
  for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores)) {
    if (!isGlobal(access))
      continue;
    part.instructions += elements;
    const llvm::SmallBitVector dims = access.dims();
    part.loaded += (statement.row && dims.test(*statement.row) ? rows : 1) *
                   (statement.col && dims.test(*statement.col) ? columns : 1) *
                   double(elementBytes(cast<MemRefType>(access.memref.getType()).getElementType()));
  }
  part.waits += llvm::any_of(statement.nest.loads, isGlobal) && !(steps && plan.loadsAheadIn(*steps));
}

void TileProgramPlanner::addContraction(TileProgramPlan &plan, Operation *root, const TileStatement &statement,
                                        Part &part) const {
  const double products = double(plan.unitRows * plan.unitsOf(statement) * plan.depthOf(statement));
  const MatrixUnit &unit = plan.unitFor(program.rowsMove(root));
  part.products += products * unit.issue;
  if (unit.completion != Completion::AtOnce)
    part.awaited += unit.latency - unit.issue;
  LaneContractionPlan whole;
  whole.unit = &unit;
  const unsigned row = statement.row.value_or(statement.nest.depth());
  whole.mDim = plan.transposed ? *statement.col : row;
  whole.nDim = plan.transposed ? row : *statement.col;
  whole.kDim = statement.k;
  (plan.transposed ? whole.subgroupsN : whole.subgroupsM) = plan.subgroups;
  (plan.transposed ? whole.tilesN : whole.tilesM) = plan.unitRows;
  (plan.transposed ? whole.tilesM : whole.tilesN) = plan.stagedColumns(statement) / plan.columnsOfUnit();
  whole.depth = plan.stagedDepth(statement);
  addSide(plan, root, /*isRows=*/false, whole, part);
  if (program.rowsMove(root))
    addSide(plan, root, /*isRows=*/true, whole, part);
}

/// The columns of contraction `root`, or its rows: fragments that a subgroup takes of the buffer, the copy of a stage.
void TileProgramPlanner::addSide(TileProgramPlan &plan, Operation *root, bool isRows, const LaneContractionPlan &whole,
                                 Part &part) const {
  const TileStatement &statement = program.statements.find(root)->second;
  std::unique_ptr<StagedSides> &known = sidesOf[{root, plan.transposed}];
  if (!known)
    known = std::make_unique<StagedSides>(oriented(root, plan.transposed), chip, hierarchy);
  StagedTiles &tiles = known->tiles;
  const bool isA = isRows != plan.transposed;
  StagedOperand operand = tiles.operand(whole, isA);
  const int64_t stages = plan.stagesOf(program, root, isRows);
  StagedTile tile;
  const UnitOperand &own = isA ? whole.unit->a : whole.unit->b;
  const bool isDescribed = own.residence == Residence::Scratchpad;
  if (isDescribed)
    tile = *linesOf(plan, root, isRows);
  const double meets = isDescribed ? 1 : tiles.arrange(operand, tile);
  tile.over = false;
  const int64_t along = plan.unitsOf(statement), units = plan.depthOf(statement);
  // Each instruction reads what is described; fragments are loaded once for all units that take them.
  const double loads = double(isDescribed ? plan.unitRows * along * units : (isRows ? plan.unitRows : along) * units);
  const double reads = loads * double(loadedElements(own)) * double(tiles.elementBytes()) * meets;
  part.reads += reads;
  if (!isDescribed) {
    part.fragments += reads;
    part.instructions += loads / double(isRows ? 1 : plan.columnsTogether(along));
  }
  (isRows ? plan.stagedRows : plan.staged).insert({root, tile});
  Operation *first = isRows ? program.firstWithRowsOf(root) : program.firstWithColumnsOf(root);
  if (first != root && program.stepsAround(first) == program.stepsAround(root))
    return;
  const ContractionOperand &read = isRows ? statement.ofRows() : statement.ofColumns();
  const int64_t free = isRows ? plan.rowsOfStage() : plan.stagedColumns(statement);
  const int64_t bytes = free * whole.depth * elementBytes(read.element);
  part.copied += double(bytes) * meets;
  // Lanes copy pieces, each with what its address and its check take; of boxes one lane of a role of its own.
  const double pieces = !plan.engine.empty()
                            ? 0
                            : double(bytes) / double(plan.allSubgroups() * hierarchy.lanes *
                                                     (tile.direct || hasCopyEngine(chip) ? operand.use.pieceBytes : 4));
  part.instructions += std::ceil(pieces) * (3 + chip.number(Number::AddressInstructions).value_or(1));
  if (first == root) // others use its buffer
    plan.sharedBytes += stages * (bytes + operand.use.rows * tile.padding * tiles.elementBytes());
}

/// Clocks of one step of the blocks that run at a time.
double TileProgramPlanner::stepClocks(const TileProgramPlan &plan, const Part &part, const BlockWaves &grid) const {
  const LaneMemories memories(chip, hierarchy);
  const Memory &near = memories.near();
  const double issueSlots = chip.number(Number::Issue).value_or(1);
  const double perUnit = grid.fullest;
  StepLoad load;
  const double slots = std::min(issueSlots, double(plan.unit->scopeCount)); // that a unit's instruction takes
  load.units = part.products * plan.subgroups * slots / issueSlots * perUnit;
  load.issue = part.instructions * plan.allSubgroups() / issueSlots * perUnit;
  const double powers = part.powers / chip.number(Number::Exp2F32).value_or(issueSlots);
  load.powers = powers * plan.allSubgroups() * perUnit;
  load.scratchpad = (part.reads * plan.subgroups + part.copied) / shared.bytesPerClock * perUnit;
  load.l2 = (part.copied + part.loaded * plan.subgroups) * grid.active / near.bytesPerClock;
  StepChain chain;
  // Subgroups of an issue slot whose lanes work at a time: of all blocks, but for those whose turn it is at the units.
  const int64_t atUnits = plan.inTurns ? plan.unit->scopeCount : 0;
  const double members = std::max(1.0, double(plan.allSubgroups() - atUnits) / issueSlots) * perUnit;
  const double alone = chip.number(Number::SubgroupIssue).value_or(1);
  const double gap = 1 / (plan.inTurns ? chip.number(Number::IssueBesideUnits).value_or(alone) : alone);
  const double turn = part.products + chip.number(Number::UnitTurn).value_or(0);
  if (plan.inTurns)
    load.units = turn * plan.subgroups;
  chain.products = (plan.inTurns ? turn : std::max(part.products, load.units)) +
                   std::max(part.instructions * std::max(members, gap), powers * issueSlots * members) + part.awaited +
                   part.waits * near.latency;
  chain.product = plan.unit->issue;
  chain.scratchpadRead = part.fragments / shared.bytesPerClock;
  chain.scratchpadLatency = shared.latency;
  chain.memoryLatency = near.latency;
  chain.ahead = double(plan.stages - 1);
  return tilewright::stepClocks(load, chain);
}

bool TileProgramPlanner::price(TileProgramPlan &plan, std::string &reason) const {
  plan.registers = registersOf(plan);
  const int64_t groupLanes = plan.unit->scopeCount * hierarchy.lanes;
  const int64_t threads = plan.allSubgroups() * hierarchy.lanes + (plan.engine.empty() ? 0 : groupLanes);
  const int64_t limit = registersOfLane(plan);
  if (plan.registers > limit) {
    reason = "a lane needs " + std::to_string(plan.registers) + " registers, but has " + std::to_string(limit);
    return false;
  }
  std::map<const TileSteps *, Part> parts;
  plan.sharedBytes = 0;
  plan.staged.clear();
  plan.stagedRows.clear();
  for (const auto &[op, statement] : program.statements) {
    const TileSteps *steps = program.stepsAround(op);
    if (statement.kind != TileStatement::Kind::Contraction) {
      addNest(plan, statement, steps, parts[steps]);
      continue;
    }
    if (program.local(statement.ofColumns().access.memref)) {
      reason = "both operands of a contraction are computed in the tile";
      return false;
    }
    addContraction(plan, op, statement, parts[steps]);
  }
  if (!plan.engine.empty()) // barrier objects, and what results leave through
    plan.sharedBytes += barrierBytes + plan.subgroups * resultBytes;
  if (plan.sharedBytes > shared.bytes) {
    reason = "a block needs " + std::to_string(plan.sharedBytes) + " bytes of its memory, which has " +
             std::to_string(shared.bytes);
    return false;
  }
  const int64_t inRegisters = plan.engine.empty()
                                  ? blocksInRegisters(chip, plan.registers, hierarchy.lanes, plan.allSubgroups())
                                  : 1; // its registers are shared out anew
  plan.blocksAtATime = blocksAtATime(shared, plan.sharedBytes, inRegisters, threads, residentLanes(chip));
  const BlockWaves grid(double(blocks), hierarchy.blocks, plan.blocksAtATime);
  double ofTile = 0;
  plan.stepClocks = 0;
  for (const auto &[steps, part] : parts) {
    double clocks = stepClocks(plan, part, grid);
    ofTile += (steps ? steps->mean : 1) * clocks;
    if (steps)
      plan.stepClocks = std::max(plan.stepClocks, clocks);
  }
  plan.seconds =
      secondsOf(grid.clocks(ofTile + drainClocks(chip), clocksOfProgram(program, *chip.graph().backing()), chip), chip);
  return true;
}

bool tilewright::hasUnit(const TileProgram &program, const TargetDescription &chip, const LaneHierarchy &hierarchy,
                         const NumericFreedom &freedom) {
  if (hierarchy.scratchpad.empty())
    return false;
  TileProgramPlanner planner(program, /*blocks=*/1, chip, hierarchy, freedom);
  TileProgramPlan ofGroups;
  return planner.findGroupUnits(ofGroups) || llvm::any_of(chip.units(), [&](const MatrixUnit &unit) {
           return planner.computes(unit, /*transposed=*/false) || planner.computes(unit, /*transposed=*/true);
         });
}

double tilewright::leastSecondsOfTiles(double products, int64_t blocks, const TargetDescription &chip,
                                       const LaneHierarchy &hierarchy, const llvm::SmallBitVector &units) {
  auto taken = [&](const MatrixUnit &unit) { return units.test(&unit - chip.units().data()); };
  return secondsOf(leastClocks(products, std::min(blocks, hierarchy.blocks), chip, hierarchy.lanes, taken), chip);
}

/// Registers that a lane may have: a role that starts copies leaves most of its own to the others.
int64_t TileProgramPlanner::registersOfLane(const TileProgramPlan &plan) const {
  if (plan.engine.empty())
    return tilewright::registersOfLane(chip, 0, plan.allSubgroups() * hierarchy.lanes);
  return groupRegisters(chip, plan.unit->scopeCount * hierarchy.lanes, plan.subgroups);
}

/// Fewer blocks than tiles, each of which takes as many steps as any other: a role that starts copies goes on with the
/// next tile while the others end this one. How much that hides is not in the model; it costs nothing. `most`: of them.
void TileProgramPlanner::shareOut(TileProgramPlan &plan, std::optional<int64_t> most) const {
  const int64_t atATime = std::min(hierarchy.blocks * plan.blocksAtATime, most.value_or(blocks));
  const bool areEven = llvm::all_of(program.steps, [](const TileSteps &steps) {
    return steps.mean == double(steps.most) && AffineForOp(steps.loop).hasConstantBounds();
  });
  if (!plan.engine.empty() && areEven && atATime > 0 && blocks > atATime)
    plan.workers = atATime;
}

/// Whether a contraction of a step goes on with what lanes make of another one: they could take turns.
bool TileProgramPlanner::lanesWorkBetweenUnits() const {
  return llvm::all_of(program.steps, [&](const TileSteps &steps) {
    return llvm::any_of(program.statements, [&](const auto &each) {
      return each.second.kind == TileStatement::Kind::Contraction && program.stepsAround(each.first) == &steps &&
             program.local(each.second.ofRows().access.memref);
    });
  });
}

/// The ways in which members of `plan` may be fed and steps be put in order.
void TileProgramPlanner::addForms(const TileProgramPlan &plan, SmallVectorImpl<TileProgramPlan> &forms) const {
  const bool hasLoads =
      llvm::any_of(program.steps, [&](const TileSteps &steps) { return !program.loadsOfSteps(steps.loop).empty(); });
  for (int64_t stages = 2; stages <= 3; ++stages)
    for (bool loadsAhead : {false, true}) {
      if (loadsAhead && !hasLoads)
        continue;
      forms.push_back(plan);
      forms.back().stages = stages;
      forms.back().loadsAhead = loadsAhead;
    }
  const CopyEngine *engine = tileEngine(chip);
  if (!engine || plan.unit->completion != Completion::WaitGroup || !feeds(*engine, plan) ||
      plan.allSubgroups() + plan.unit->scopeCount > hierarchy.subgroups)
    return;
  const bool canGiveOn =
      llvm::any_of(chip.laneInstructions(), [](const LaneInstruction &each) { return each.does == "group_arrive"; });
  for (bool inTurns : {false, true})
    for (int64_t stages = 4; stages >= 2; --stages) { // what more of them hide is not in the model
      if (inTurns && (!canGiveOn || plan.subgroups == 1 || !lanesWorkBetweenUnits()))
        continue;
      forms.push_back(plan);
      forms.back().stages = stages;
      forms.back().engine = engine->name;
      forms.back().inTurns = inTurns;
    }
}

std::optional<TileProgramPlan> tilewright::planTileProgram(const TileProgram &program, int64_t blocks,
                                                           const TargetDescription &chip,
                                                           const LaneHierarchy &hierarchy,
                                                           const NumericFreedom &freedom, LanePlanOverrides overrides,
                                                           std::string &reason) {
  PlanSearch<TileProgramPlan> search;
  int64_t fewest = std::numeric_limits<int64_t>::max(); // registers of a plan that does not fit
  reason = "no unit of the chip computes its contractions";
  if (hierarchy.scratchpad.empty())
    return std::nullopt;
  TileProgramPlanner planner(program, blocks, chip, hierarchy, freedom);
  SmallVector<TileProgramPlan> candidates;
  for (const MatrixUnit &unit : chip.units())
    for (bool transposed : {false, true})
      if (planner.computes(unit, transposed)) {
        candidates.emplace_back();
        candidates.back().unit = &unit;
        candidates.back().transposed = transposed;
      }
  // A unit most of whose rows are missing computes what another one does in fewer of them.
  TileProgramPlan ofGroups;
  if (planner.findGroupUnits(ofGroups) && (candidates.empty() || 2 * program.rows > ofGroups.rowsOfUnit()))
    candidates.push_back(ofGroups);
  for (TileProgramPlan &plan : candidates) {
    int64_t units = llvm::divideCeil(program.rows, plan.rowsOfUnit());
    for (plan.unitRows = 1; plan.unitRows <= units; plan.unitRows *= 2) {
      plan.subgroups = units / plan.unitRows;
      if (units % plan.unitRows != 0 || plan.allSubgroups() > hierarchy.subgroups)
        continue;
      SmallVector<TileProgramPlan> forms;
      planner.addForms(plan, forms);
      for (TileProgramPlan &each : forms) {
        const std::pair<StringRef, int64_t> own[] = {
            {"chain_stages", each.stages}, {"chain_turns", each.inTurns}, {"chain_engine", !each.engine.empty()}};
        if (!agree(overrides, own))
          continue;
        std::string shortage;
        if (planner.price(each, shortage)) {
          planner.shareOut(each, forcedValue(overrides, "chain_persistent"));
          search.offer(std::move(each));
        } else if (each.registers < fewest) {
          fewest = each.registers;
          reason = shortage;
        }
      }
    }
  }
  return search.best;
}
