//===- TileProgramPlanner.h - Candidates of one tile program ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What TileProgramModel.cpp prices and TileProgramRegisters.cpp counts.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMPLANNER_H
#define TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMPLANNER_H

#include "core/CostModel/Copies/StagedTiles.h"
#include "core/CostModel/Schedules/TileProgramModel.h"
#include <map>
#include <memory>

namespace tilewright {

/// Prices the candidates of one program.
class TileProgramPlanner {
public:
  TileProgramPlanner(const TileProgram &program, int64_t blocks, const TargetDescription &chip,
                     const LaneHierarchy &hierarchy, const NumericFreedom &freedom)
      : program(program), blocks(blocks), chip(chip), hierarchy(hierarchy), freedom(freedom),
        shared(*chip.memory(hierarchy.scratchpad)),
        hasShortPowers(
            llvm::any_of(chip.laneInstructions(), [](const LaneInstruction &each) { return each.does == "exp2"; })) {
    for (const auto &[op, statement] : program.statements)
      if (statement.kind == TileStatement::Kind::Contraction)
        contractions.try_emplace(op, tilewright::oriented(statement, false), tilewright::oriented(statement, true));
  }

  /// Whether the unit computes all contractions of the program so.
  bool computes(const MatrixUnit &unit, bool transposed) const;
  /// The units of a group of subgroups that compute the program with the fewest clocks, of those the largest: in the
  /// fields of the plan. False where there are none.
  bool findGroupUnits(TileProgramPlan &plan) const;
  void addForms(const TileProgramPlan &plan, llvm::SmallVectorImpl<TileProgramPlan> &forms) const;
  /// Fills in what `plan` takes; false where it does not fit.
  bool price(TileProgramPlan &plan, std::string &reason) const;
  void shareOut(TileProgramPlan &plan, std::optional<int64_t> most) const;

private:
  const Contraction &oriented(mlir::Operation *root, bool transposed) const {
    const auto &both = contractions.find(root)->second;
    return transposed ? both.second : both.first;
  }
  bool copiesAhead() const;
  bool splitsInLanes(const MatrixUnit &unit) const;
  std::optional<StagedTile> linesOf(const TileProgramPlan &plan, mlir::Operation *root, bool isRows) const;
  int64_t registersOf(const TileProgramPlan &plan) const;
  int64_t words(const TileProgramPlan &plan, const TileArray &array, int64_t columns) const;
  int64_t loadedWords(const TileProgramPlan &plan, const TileStatement &statement, const Access &load) const;
  /// What the nests of one loop over steps ask for, those outside of steps once.
  struct Part {
    double products = 0, instructions = 0, reads = 0, loaded = 0; // of a subgroup: clocks, instructions, bytes
    double copied = 0;                                            // bytes of a block
    double waits = 0;                                             // for what lanes load where they use it
    double fragments = 0;                                         // of `reads`, those that lanes do
    double awaited = 0;                                           // clocks until units that are awaited are done
    double powers = 0;                                            // instructions for 2^x, of `instructions`
  };
  void addOperation(mlir::Operation *op, double elements, Part &part) const;
  void addNest(const TileProgramPlan &plan, const TileStatement &statement, const TileSteps *steps, Part &part) const;
  void addContraction(TileProgramPlan &plan, mlir::Operation *root, const TileStatement &statement, Part &part) const;
  void addSide(TileProgramPlan &plan, mlir::Operation *root, bool isRows, const LaneContractionPlan &whole,
               Part &part) const;
  double stepClocks(const TileProgramPlan &plan, const Part &part, const BlockWaves &grid) const;
  bool feeds(const CopyEngine &engine, const TileProgramPlan &plan) const;
  int64_t registersOfLane(const TileProgramPlan &plan) const;
  bool lanesWorkBetweenUnits() const;

  const TileProgram &program;
  int64_t blocks;
  const TargetDescription &chip;
  const LaneHierarchy &hierarchy;
  const NumericFreedom &freedom;
  const Memory &shared;
  const bool hasShortPowers;
  /// Contractions with sides that are staged, by their nest and by whether rows are transposed.
  struct StagedSides {
    Contraction contraction;
    StagedTiles tiles;
    StagedSides(Contraction given, const TargetDescription &chip, const LaneHierarchy &hierarchy)
        : contraction(std::move(given)), tiles(contraction, chip, hierarchy) {}
  };
  mutable std::map<std::pair<mlir::Operation *, bool>, std::unique_ptr<StagedSides>> sidesOf;
  /// Of each contraction, A's rows those of the unit's matrices: as they are, and transposed.
  llvm::DenseMap<mlir::Operation *, std::pair<Contraction, Contraction>> contractions;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_COSTMODEL_SCHEDULES_TILEPROGRAMPLANNER_H
