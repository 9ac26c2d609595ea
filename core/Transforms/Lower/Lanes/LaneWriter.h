//===- LaneWriter.h - The code of one lane ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks the body of a launch once and writes what one lane does; multi-stage buffers twice,
/// for the lanes that copy and for the others (LaneRingWriter.cpp). Units that work beside the
/// lanes are in LaneUnits.cpp.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEWRITER_H
#define TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEWRITER_H

#include "core/Transforms/Lower/Lanes/LaneBarriers.h"
#include "core/Transforms/Lower/Lanes/LaneCopy.h"
#include "core/Transforms/Lower/Lanes/LaneExchange.h"
#include "core/Transforms/Lower/Lanes/LaneRings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tilewright {

class BlockAccumulators;

/// Whether a load or a map is done where its result is stored, in parts (LaneParts.cpp); and how many elements such a
/// part of what is stored has.
bool leavesInParts(mlir::Operation *op);
std::optional<int64_t> partOfResult(mlir::Value stored);

/// Writes the lane code of one function.
class LaneWriter {
public:
  LaneWriter(mlir::func::FuncOp function, const TargetDescription &target, const LaneHierarchy &hierarchy,
             const LaneOps &ops, const LaunchShape &shape)
      : function(function), module(function->getParentOfType<mlir::ModuleOp>()), target(target), hierarchy(hierarchy),
        shape(shape), builder(function.getContext()), context{builder, ops, function.getLoc(), written} {}

  mlir::LogicalResult run();
  /// Tiles of arrays that the launch has to describe, arguments behind the others, in order.
  llvm::ArrayRef<TileMap> tileMaps() const { return maps; }

private:
  /// What a part of the block's lanes executes.
  enum class Role { All, Copies, Rest };
  mlir::LogicalResult lower(mlir::Block &block);
  mlir::LogicalResult lower(mlir::Operation &op);
  mlir::LogicalResult parallel(tile::ParallelOp op);
  mlir::LogicalResult loop(mlir::scf::ForOp op);
  mlir::LogicalResult loop(mlir::scf::WhileOp op);
  bool keepsLength(mlir::scf::ForOp op) const;
  mlir::LogicalResult branch(mlir::scf::IfOp op);
  mlir::LogicalResult alloc(tile::AllocOp op);
  mlir::LogicalResult copy(tile::CopyOp op);
  mlir::LogicalResult wait(tile::WaitOp op);
  mlir::LogicalResult load(tile::LoadOp op);
  mlir::LogicalResult store(tile::StoreOp op);
  mlir::LogicalResult convert(tile::ConvertOp op);
  mlir::LogicalResult join(tile::JoinOp op);
  mlir::LogicalResult split(tile::SplitOp op);
  mlir::LogicalResult index(tile::IndexOp op);
  mlir::LogicalResult reduce(tile::ReduceOp op);
  mlir::LogicalResult repeat(tile::BroadcastOp op);
  mlir::LogicalResult map(tile::MapOp op);
  /// These elements of a fragment that leaves in parts.
  mlir::FailureOr<mlir::Value> someOf(mlir::Value fragment, llvm::ArrayRef<int64_t> elements);
  mlir::FailureOr<mlir::Value> loadSome(tile::LoadOp op, llvm::ArrayRef<int64_t> elements);
  static llvm::SmallVector<int64_t> allElements(tile::FragmentType type);
  static Distribution partOf(const Distribution &distribution, llvm::ArrayRef<int64_t> elements);
  mlir::LogicalResult plainAccess(mlir::Operation &op, mlir::Value memref, mlir::ValueRange indices,
                                  mlir::Value stored);
  mlir::LogicalResult split(mlir::Operation *first);
  mlir::LogicalResult copies(mlir::Operation *first);
  mlir::LogicalResult engineCopy(tile::CopyOp op);
  mlir::Value describedBy(const TileMap &map, mlir::Location loc);
  /// The tile that `cut` takes of `array`, and the argument that describes it; of one of two arrays the tile of the
  /// first and one of two arguments. Failure where `cut` fails.
  mlir::FailureOr<std::pair<TileCopy, mlir::Value>>
  tileOf(const LaneArray &array, llvm::function_ref<mlir::FailureOr<TileCopy>(const LaneArray &)> cut);
  mlir::FailureOr<bool> storeTiles(tile::StoreOp op, const LaneArray &array, const Distribution &distribution);
  mlir::LogicalResult groupUnit(tile::MmaOp op, const MatrixUnit &unit);
  /// Appends where a unit finds the scales of its operands in a memory of the block, which they are copied to before
  /// the first unit of a step that takes them (LaneScales.cpp).
  mlir::LogicalResult findScales(tile::MmaOp op, const MatrixUnit &unit, llvm::SmallVectorImpl<mlir::Value> &operands);
  /// Accumulators in a memory of the block (LaneAccumulators.cpp). `isInBlock`: the fragment is there, and its units
  /// are issued.
  void takeAccumulators(int64_t groups);
  void learnAccumulators();
  void freeAccumulators(int64_t groups);
  void beginAccumulators();
  mlir::LogicalResult issue(mlir::scf::ForOp op);
  mlir::LogicalResult finishAccumulators(mlir::Operation &op);
  mlir::Value addressOf(mlir::Value fragment);
  bool isInBlock(mlir::Value fragment) const { return accumulators.entryOf(fragment) && !values.contains(fragment); }
  mlir::FailureOr<mlir::Value> readAccumulators(mlir::Value fragment, llvm::ArrayRef<int64_t> elements);
  /// Those that a lane reads at a time.
  static constexpr int64_t accumulatorsTogether = 32;
  bool awaitsUnits(mlir::Operation &op) const;
  void finishUnits(bool givesTurn = false);
  bool carriesUnits(mlir::Operation *loop) const { return arrive && role == Role::Rest && ring->isStep(loop); }
  void takeCarried(mlir::scf::ForOp op, mlir::scf::ForOp loop);
  mlir::LogicalResult startTurns(mlir::scf::ForOp op);
  void endTurns(mlir::scf::ForOp op);
  void meetInTurn(mlir::Value member, bool waits);
  mlir::Value nextMember();
  void unlessMember(int64_t member, llvm::function_ref<void()> work);
  int64_t members() const { return (shape.threads - shape.copiers) / shape.groupLanes; }
  void barrier();
  void awaitReaders();
  void endStep(mlir::scf::ForOp op, llvm::SmallVectorImpl<mlir::Value> &yielded, mlir::Value iv);

  mlir::Value value(mlir::Value old) { return values.lookupOrDefault(old); }
  llvm::SmallVector<mlir::Value> valuesOf(mlir::ValueRange old) {
    return llvm::map_to_vector(old, [&](mlir::Value each) { return value(each); });
  }
  mlir::FailureOr<LaneArray> arrayOf(mlir::Operation *op, mlir::Value memref);
  mlir::LogicalResult view(mlir::memref::ViewOp op);
  mlir::LogicalResult select(mlir::arith::SelectOp op);
  /// How a fragment's elements are shared out over the lanes of a subgroup.
  mlir::FailureOr<Distribution> distributionOf(mlir::Operation *op, tile::FragmentType type);
  /// The unit of a product; null: the chip has none of this name.
  const MatrixUnit *unitOf(tile::MmaOp op) {
    auto [known, isNew] = units.try_emplace(op.getUnitAttr());
    if (isNew)
      known->second = target.unit(op.getUnit());
    return known->second;
  }
  std::optional<LaneExchange> exchangeFor(tile::FragmentType type, const LaneArray &array, const LaneAccess &access,
                                          const Distribution &part, mlir::AffineMap elements);
  mlir::Value laneOfSubgroup();
  ValidExtents extentsOf(std::optional<mlir::AffineMap> map, mlir::ValueRange operands,
                         std::pair<std::optional<int64_t>, std::optional<int64_t>> constant, tile::FragmentType type);
  mlir::VectorType vectorOf(tile::FragmentType type) {
    return mlir::VectorType::get(type.getNumElements(), type.getElementType());
  }
  mlir::Type typeOf(mlir::Type type) {
    auto fragment = mlir::dyn_cast<tile::FragmentType>(type);
    return fragment ? mlir::Type(vectorOf(fragment)) : type;
  }
  mlir::Value constant(mlir::Type type, mlir::Attribute attribute) {
    return mlir::arith::ConstantOp::create(builder, context.loc, type, mlir::cast<mlir::TypedAttr>(attribute));
  }

  mlir::func::FuncOp function;
  mlir::ModuleOp module;
  const TargetDescription &target;
  const LaneHierarchy &hierarchy;
  LaunchShape shape;
  mlir::OpBuilder builder;
  SharedValues written;
  LaneContext context;
  mlir::IRMapping values;
  llvm::DenseMap<mlir::Value, LaneArray> arrays;
  llvm::DenseMap<mlir::Value, StagedCopy> staged; // by token
  LaneBarriers barriers;
  llvm::DenseMap<mlir::Attribute, std::optional<SharedPoints>> points; // of layouts; nullopt: they do not add up
  llvm::DenseMap<mlir::Attribute, const MatrixUnit *> units;           // by name
  mlir::Value thread, lane, shared;
  mlir::Value firstThread;              // of the subgroup; null: not used yet
  int64_t places = 0;                   // asynchronous copies of a lane in the group that is written
  std::optional<int64_t> placesOfGroup; // in every group so far, at least
  mlir::Value group;                    // number of the lane's group in the block
  mlir::Value results;                  // buffers through which results leave, two a group; null: lanes store them
  int64_t stored = 0;                   // tiles of results, of one round through the loops around
  mlir::Value clusterRank;              // index of the level of clusters, before lowering
  int64_t sharedUsed = 0;
  std::optional<LaneRing> ring;
  std::optional<RingPosition> position;
  bool readsStages = false; // lanes load from stages themselves, beside what units read there
  AccumulatorPlaces accumulators;
  const BlockAccumulators *blockOps = nullptr; // null: there are none
  mlir::Value accumulatorsAt;                  // where the block keeps the address of its entries, then the address
  bool issues = false;                         // what is written is for the lane of a group that issues units
  bool begun = false;                          // the group knows that nobody reads what its units overwrite
  bool underWay = false;                       // units were issued that the group has not awaited
  llvm::SmallVector<int64_t, 4> copiedScales;  // in the step that is written, by entry of the group's stage
  llvm::SmallVector<mlir::Value> running;      // results of units under way, as the program has them; none in a ring
  mlir::Operation *fenced = nullptr;           // unit that the last fence of registers stands before
  std::vector<LaneInstruction> instructions = target.laneInstructions();
  const LaneInstruction *arrive = nullptr; // what a turn is given on by; null: groups take no turns
  bool hasTurn = true;                     // of the step that is written, where groups take turns
  mlir::Value isLaterStep; // i1: units of the step before are under way, and its stage is theirs; null: not any more
  Role role = Role::All;
  llvm::SmallVector<TileMap> maps;
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_TRANSFORMS_LOWER_LANES_LANEWRITER_H
