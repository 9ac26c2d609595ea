//===- TileProgram.cpp - The nests of a tile as one program ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops are brought into classes by the local arrays that they index; the class
/// that every nest has, and none sums over, is that of the rows.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/TileProgram.h"
#include "core/Analysis/Guards.h"
#include "core/Analysis/LoopTrips.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <cmath>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// Finds the program of one tile.
class TileAnalysis {
public:
  TileAnalysis(tile::ParallelOp tile, std::string &reason) : tile(tile), reason(reason) {}
  FailureOr<TileProgram> run();

private:
  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }
  bool isNumberOfTile(Value value);
  bool isKnownInTile(Value value);
  double meanTrips(AffineForOp loop);
  LogicalResult collect(Block &block);
  LogicalResult findRows();
  LogicalResult classify(TileStatement &statement);
  LogicalResult place(TileStatement &statement, const Access &access);
  void findOperands();
  LogicalResult checkColumns();
  bool isLocal(Value memref) const;
  /// Nodes of the classes: loops by nest and depth, dimensions of local arrays.
  using Node = std::pair<void *, unsigned>;
  static Node loopNode(const TileStatement &statement, unsigned d) {
    return {AffineForOp(statement.nest.loops[d]).getOperation(), 0};
  }
  static Node indexNode(Value memref, unsigned d) { return {memref.getAsOpaquePointer(), d + 1}; }

  tile::ParallelOp tile;
  std::string &reason;
  TileProgram program;
  llvm::EquivalenceClasses<Node> classes;
  llvm::DenseMap<Value, std::pair<Operation *, SmallVector<AffineValueMap>>> places; // indices but for rows and columns
};
} // namespace

bool TileAnalysis::isLocal(Value memref) const {
  Operation *buffer = memref.getDefiningOp();
  return isa_and_nonnull<memref::AllocOp>(buffer) && llvm::all_of(memref.getUsers(), [&](Operation *user) {
           return isa<memref::DeallocOp>(user) || tile->isProperAncestor(user);
         });
}

/// One of the numbers of a tile.
bool TileAnalysis::isNumberOfTile(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &tile.getBody().front();
}

/// A number that the loops over steps of a tile may follow.
bool TileAnalysis::isKnownInTile(Value value) {
  return isNumberOfTile(value) || !tile->isAncestor(value.getParentRegion()->getParentOp());
}

/// How many tiles there are along each index.
static SmallVector<int64_t> countsOf(tile::ParallelOp tile) {
  AffineMap bounds = tile.getUpperBounds();
  SmallVector<Attribute> sizes(bounds.getNumInputs(),
                               IntegerAttr::get(IndexType::get(tile.getContext()), assumedRowExtent));
  SmallVector<Attribute> counts;
  if (failed(bounds.constantFold(sizes, counts)))
    return SmallVector<int64_t>(bounds.getNumResults(), 1);
  return llvm::map_to_vector(counts, [](Attribute count) { return cast<IntegerAttr>(count).getInt(); });
}

int64_t tilewright::tilesOf(tile::ParallelOp tile) {
  int64_t all = 1;
  for (int64_t count : countsOf(tile))
    all *= count;
  return all;
}

/// Iterations of a loop over steps, over all tiles.
double TileAnalysis::meanTrips(AffineForOp loop) {
  const SmallVector<int64_t> counts = countsOf(tile);
  SmallVector<int64_t> at(counts.size());
  double sum = 0, tiles = 0;
  auto valueOf = [&](Value operand) {
    return isNumberOfTile(operand) ? at[cast<BlockArgument>(operand).getArgNumber()] : assumedRowExtent;
  };
  std::function<void(unsigned)> visit = [&](unsigned d) {
    if (d == at.size()) {
      sum += double(tripsAt(loop, valueOf));
      ++tiles;
      return;
    }
    bool isRead = llvm::is_contained(loop->getOperands(), Value(tile.getBody().getArgument(d)));
    for (at[d] = 0; at[d] < (isRead ? counts[d] : 1); ++at[d])
      visit(d + 1);
  };
  visit(0);
  return sum / std::max(tiles, 1.0);
}

LogicalResult TileAnalysis::collect(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<memref::AllocOp, memref::DeallocOp>(op) ||
        (isMemoryEffectFree(&op) && op.getNumRegions() == 0))
      continue;
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return refuse("'" + op.getName().getStringRef() + "' stands in a tile beside its nests");
    TileStatement statement;
    const bool isOverSteps = loop->hasAttr(tile::atAttr); // also of one nest
    if (FailureOr<Nest> nest = analyzeNest(loop, GuardedReads::Allowed); !isOverSteps && succeeded(nest)) {
      statement.nest = *nest;
      for (AffineForOp each : nest->loops) {
        std::optional<int64_t> trips = mostTrips(each);
        if (!trips)
          return refuse("a nest of a tile has a dynamic size");
        statement.trips.push_back(*trips);
      }
      program.statements.insert({loop, std::move(statement)});
      continue;
    }
    if (!llvm::all_of(loop->getOperands(), [&](Value operand) { return isKnownInTile(operand); }) ||
        loop.getStepAsInt() != 1 || loop.getNumIterOperands() != 0)
      return refuse("how often a loop over steps of a tile runs does not follow from the tile's number and sizes");
    double mean = meanTrips(loop);
    program.steps.push_back({loop, mostTrips(loop).value_or(std::max<int64_t>(2, int64_t(std::ceil(mean)))), mean});
    if (failed(collect(*loop.getBody())))
      return failure();
  }
  return success();
}

/// The loop of more than one iteration that an index follows; nullopt: none. Failure where it is another form.
static FailureOr<std::optional<unsigned>> loopOf(AffineExpr index, const Nest &nest, AffineMap map) {
  std::optional<unsigned> found;
  for (unsigned d = 0; d < nest.depth(); ++d)
    if (index.isFunctionOfDim(d) && nest.tripCounts[d] != 1) {
      if (found || linearCoefficient(index, d) != 1)
        return failure();
      found = d;
    }
  return found;
}

LogicalResult TileAnalysis::findRows() {
  for (auto &[op, statement] : program.statements)
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores)) {
      if (!isLocal(access.memref))
        continue;
      for (auto [d, index] : llvm::enumerate(access.map.getResults())) {
        auto loop = loopOf(index, statement.nest, access.map);
        if (failed(loop))
          return refuse("an array of a tile is not indexed by single loops");
        if (*loop)
          classes.unionSets(loopNode(statement, **loop), indexNode(access.memref, d));
      }
    }
  // Candidates are the loops of the first nest, outermost first.
  auto isRowOf = [&](const TileStatement &statement, Node leader) -> std::optional<unsigned> {
    for (unsigned d = 0; d < statement.nest.depth(); ++d) {
      auto member = classes.findLeader(loopNode(statement, d));
      bool isParallel = llvm::all_of(statement.nest.stores, [&](const Access &store) { return store.dims().test(d); });
      if (member != classes.member_end() && *member == leader && isParallel)
        return d;
    }
    return std::nullopt;
  };
  if (program.statements.empty())
    return refuse("a tile has no nests");
  const TileStatement &first = program.statements.front().second;
  for (unsigned d = 0; d < first.nest.depth(); ++d) {
    auto leader = classes.findLeader(loopNode(first, d));
    if (leader == classes.member_end() ||
        !llvm::all_of(program.statements, [&](auto &each) { return isRowOf(each.second, *leader).has_value(); }))
      continue;
    program.rows = first.trips[d];
    for (auto &[op, statement] : program.statements) {
      statement.row = isRowOf(statement, *leader);
      if (statement.rows() != program.rows)
        return refuse("nests of a tile have different numbers of rows");
    }
    return success();
  }
  program.rows = 1; // unless a nest turns out to have more loops than one row has
  return success();
}

/// The operation that combines a result with one more term, if `nest` does nothing else to it.
static Operation *combinerOf(const Nest &nest, Value &term) {
  if (nest.stores.size() != 1)
    return nullptr;
  const Access &store = nest.stores.front();
  auto stored = cast<AffineStoreOp>(store.op).getValueToStore();
  Operation *combine = stored.getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                       arith::MinNumFOp, arith::AddIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
                       arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combine))
    return nullptr;
  for (unsigned i : {0, 1}) {
    auto load = combine->getOperand(i).getDefiningOp<AffineLoadOp>();
    const Access *held =
        load ? llvm::find_if(nest.loads, [&](const Access &each) { return each.op == load; }) : nullptr;
    if (!held || held == nest.loads.end() || held->memref != store.memref || held->map != store.map ||
        held->symbols != store.symbols || !load->hasOneUse())
      continue;
    term = combine->getOperand(1 - i);
    bool readsAgain =
        llvm::any_of(nest.loads, [&](const Access &each) { return &each != held && each.memref == store.memref; });
    return readsAgain ? nullptr : combine;
  }
  return nullptr;
}

LogicalResult TileAnalysis::classify(TileStatement &statement) {
  const Nest &nest = statement.nest;
  SmallVector<unsigned> others;
  for (unsigned d = 0; d < nest.depth(); ++d)
    if (d != statement.row && nest.tripCounts[d] != 1)
      others.push_back(d);
  if (FailureOr<Contraction> sum = recognizeContraction(nest); succeeded(sum)) {
    statement.kind = TileStatement::Kind::Contraction;
    for (unsigned d : others) {
      bool isSum = llvm::is_contained(sum->k, d);
      if (isSum ? statement.k != statement.row && nest.tripCounts[statement.k] != 1 && statement.sum
                : bool(statement.col))
        return refuse("a contraction of a tile has more than one loop over columns or over the sum");
      if (isSum) {
        statement.k = d;
        statement.sum = *sum;
      } else {
        statement.col = d;
      }
    }
    if (!statement.sum || !statement.col)
      return refuse("a contraction of a tile has no columns, or no sum");
    const unsigned shared = statement.row.value_or(*statement.col); // with one operand
    const bool isOfA = sum->a.access.dims().test(shared);
    statement.rowsOfA = isOfA == statement.row.has_value();
    if (sum->b.access.dims().test(shared) == isOfA)
      return refuse("a contraction of a tile has its rows in both operands");
    return success();
  }
  if (others.size() > 1)
    return refuse("a nest of a tile has more than rows and columns");
  if (!others.empty())
    statement.col = others.front();
  bool isReduced = statement.col &&
                   llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(*statement.col); });
  if (isReduced) {
    statement.kind = TileStatement::Kind::Reduction;
    statement.combine = combinerOf(nest, statement.term);
    if (!statement.combine)
      return refuse("a nest of a tile goes over columns and is no reduction of them");
  }
  for (auto test : nest.body->getOps<AffineIfOp>()) {
    std::optional<BoundedRead> read = boundedRead(test);
    if (!read || isLocal(read->load.getMemRef()))
      return refuse("a nest of a tile reads behind a guard what is no array with zeros around it");
  }
  for (Operation &op : nest.body->without_terminator())
    if (!isa<AffineLoadOp, AffineStoreOp, AffineApplyOp, AffineIfOp>(op) &&
        (op.getNumRegions() || !OpTrait::hasElementwiseMappableTraits(&op) || !isMemoryEffectFree(&op)))
      return refuse("'" + op.getName().getStringRef() + "' in a nest of a tile is not element by element");
  for (auto apply : nest.body->getOps<AffineApplyOp>())
    for (unsigned d = 0; d < apply.getAffineMap().getNumInputs(); ++d) {
      bool isOfNest = llvm::any_of(
          nest.loops, [&](AffineForOp loop) { return loop.getInductionVar() == apply.getMapOperands()[d]; });
      if (apply.getMapOperands()[d].getDefiningOp<AffineApplyOp>() ||
          (isOfNest &&
           (d >= apply.getAffineMap().getNumDims() || !linearCoefficient(apply.getAffineMap().getResult(0), d))))
        return refuse("a nest of a tile computes with an index that is not linear in its loops");
    }
  return success();
}

/// Takes the access of a local array into account; failure where it is not at the place of the others.
LogicalResult TileAnalysis::place(TileStatement &statement, const Access &access) {
  TileArray &array = program.locals[access.memref];
  array.element = cast<MemRefType>(access.memref.getType()).getElementType();
  SmallVector<AffineExpr> fixed;
  Builder builder(access.op->getContext());
  for (auto [d, index] : llvm::enumerate(access.map.getResults())) {
    std::optional<unsigned> loop = *loopOf(index, statement.nest, access.map);
    if (loop) {
      std::optional<unsigned> &place = *loop == statement.row ? array.rowIndex : array.colIndex;
      if (place && *place != d)
        return refuse("an array of a tile has its rows or columns at different indices");
      place = d;
      if (*loop != statement.row)
        array.columns = std::max(array.columns, statement.trips[*loop]);
    }
    SmallVector<AffineExpr> zeros(access.map.getNumDims(), builder.getAffineConstantExpr(0));
    fixed.push_back(index.replaceDims(zeros));
  }
  AffineValueMap own(AffineMap::get(0, access.map.getNumSymbols(), fixed, builder.getContext()), access.symbols);
  auto &[op, known] = places[access.memref];
  if (known.empty()) {
    known.push_back(own);
    return success();
  }
  AffineValueMap difference;
  AffineValueMap::difference(own, known.front(), &difference);
  if (!llvm::all_of(difference.getAffineMap().getResults(),
                    [](AffineExpr each) { return each == getAffineConstantExpr(0, each.getContext()); }))
    return refuse("an array of a tile is accessed at different places");
  return success();
}

/// Columns that a contraction of local arrays sums over, wherever they occur.
void TileAnalysis::findOperands() {
  llvm::DenseSet<Node> operands; // leaders
  auto leaderOf = [&](Node node) -> std::optional<Node> {
    auto member = classes.findLeader(node);
    return member == classes.member_end() ? std::nullopt : std::optional(*member);
  };
  for (auto &[op, statement] : program.statements)
    if (statement.kind == TileStatement::Kind::Contraction && program.local(statement.ofRows().access.memref))
      if (std::optional<Node> leader = leaderOf(loopNode(statement, statement.k)))
        operands.insert(*leader);
  for (auto &[op, statement] : program.statements)
    if (std::optional<Node> leader = statement.col ? leaderOf(loopNode(statement, *statement.col)) : std::nullopt)
      statement.isOperand = operands.contains(*leader);
  for (auto &[memref, array] : program.locals)
    if (std::optional<Node> leader = array.colIndex ? leaderOf(indexNode(memref, *array.colIndex)) : std::nullopt)
      array.isOperand = operands.contains(*leader);
}

/// Statements of one block take all columns of an array; those of other blocks may take fewer of one that each block
/// computes anew.
LogicalResult TileAnalysis::checkColumns() {
  llvm::DenseMap<std::pair<Block *, Value>, int64_t> known;
  llvm::DenseSet<std::pair<Block *, Value>> isNew;
  for (auto &[op, statement] : program.statements)
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores)) {
      const TileArray *array = program.local(access.memref);
      if (!array || !array->colIndex)
        continue;
      std::pair<Block *, Value> place(op->getBlock(), access.memref);
      std::optional<unsigned> along =
          statement.kind == TileStatement::Kind::Contraction && !access.dims().test(*statement.col) ? statement.k
          : statement.col                                                                           ? statement.col
                                                                                                    : statement.row;
      if (TileProgram::replaces(statement, access.memref))
        isNew.insert(place);
      const int64_t trips = along ? statement.trips[*along] : 1;
      int64_t columns = known.try_emplace(place, trips).first->second;
      if (trips != columns || (columns != array->columns && !isNew.contains(place)))
        return refuse("a nest of a tile takes a part of the columns of an array");
    }
  return success();
}

FailureOr<TileProgram> TileAnalysis::run() {
  if (failed(collect(tile.getBody().front())) || failed(findRows()))
    return failure();
  for (auto &[op, statement] : program.statements) {
    if (failed(classify(statement)))
      return statement.row ? failure() : refuse("the nests of a tile have no loop over rows in common, and " + reason);
    if (statement.kind != TileStatement::Kind::Map && !isLocal(statement.nest.stores.front().memref))
      return refuse("a nest of a tile sums up in an array that others see");
  }
  for (auto &[op, statement] : program.statements)
    for (const Access &access : llvm::concat<const Access>(statement.nest.loads, statement.nest.stores))
      if (isLocal(access.memref) && failed(place(statement, access)))
        return failure();
  for (auto &[memref, array] : program.locals)
    if (!array.rowIndex && program.statements.front().second.row)
      return refuse("an array of a tile has no rows");
  findOperands();
  if (failed(checkColumns()))
    return failure();
  return program;
}

const TileSteps *TileProgram::stepsAround(Operation *root) const {
  const TileSteps *found = nullptr;
  for (const TileSteps &each : steps)
    if (AffineForOp(each.loop)->isProperAncestor(root))
      found = &each;
  return found;
}

bool TileProgram::rowsMove(Operation *root) const {
  const TileStatement &own = statements.find(root)->second;
  const TileSteps *around = stepsAround(root);
  const Access &rows = own.ofRows().access;
  return around && own.row && !local(rows.memref) &&
         llvm::is_contained(rows.symbols, AffineForOp(around->loop).getInductionVar());
}

Operation *TileProgram::firstWith(Operation *root, bool isRows) const {
  const TileStatement &own = statements.find(root)->second;
  const TileSteps *around = stepsAround(root);
  auto accessOf = [&](const TileStatement &statement) -> const Access & {
    return (isRows ? statement.ofRows() : statement.ofColumns()).access;
  };
  for (const auto &[other, statement] : statements) {
    if (other == root || !around)
      break;
    const TileSteps *before = stepsAround(other);
    if (statement.kind != TileStatement::Kind::Contraction || !before)
      continue;
    const Access &a = accessOf(own), &b = accessOf(statement);
    bool isSame = a.memref == b.memref && a.map == b.map && own.trips == statement.trips && own.col == statement.col &&
                  own.k == statement.k && own.row == statement.row && own.rowsOfA == statement.rowsOfA &&
                  a.symbols.size() == b.symbols.size() && (!isRows || rowsMove(other));
    for (auto [x, y] : llvm::zip(a.symbols, b.symbols))
      isSame &= x == y ||
                (x == AffineForOp(around->loop).getInductionVar() && y == AffineForOp(before->loop).getInductionVar());
    if (isSame)
      return other;
  }
  return root;
}

bool TileProgram::replaces(const TileStatement &statement, Value memref) {
  auto touches = [&](const Access &access) { return access.memref == memref; };
  return llvm::any_of(statement.nest.stores, touches) && llvm::none_of(statement.nest.loads, touches);
}

SmallVector<Value> TileProgram::handedOn(AffineForOp loop) const {
  llvm::SmallSetVector<Value, 8> result;
  auto isInside = [&](Operation *op) { return AffineForOp(loop)->isAncestor(op); };
  for (const auto &[op, statement] : statements)
    for (const Access &store : statement.nest.stores) {
      Value memref = store.memref;
      if (!isInside(op) || !local(memref))
        continue;
      // Where values are replaced before they are read: in the reader's own block, or outside of all steps.
      bool isBehind = false;
      llvm::SmallPtrSet<Block *, 4> isNew;
      for (const auto &[other, reader] : statements) {
        bool reads = llvm::any_of(reader.nest.loads, [&](const Access &load) { return load.memref == memref; });
        isBehind |= isInside(other);
        if (!isBehind)
          continue;
        if (reads && !isNew.contains(other->getBlock()))
          result.insert(memref);
        if (replaces(reader, memref)) {
          isNew.insert(other->getBlock());
          if (!stepsAround(other))
            break;
        }
      }
    }
  return result.takeVector();
}

bool TileProgram::readSame(const TileStatement &a, const Access &loadOfA, const TileStatement &b,
                           const Access &loadOfB) {
  return loadOfA.memref == loadOfB.memref && loadOfA.map == loadOfB.map && loadOfA.symbols == loadOfB.symbols &&
         a.row == b.row && a.col == b.col && a.trips == b.trips;
}

SmallVector<std::pair<const TileStatement *, const Access *>> TileProgram::loadsOfSteps(AffineForOp loop) const {
  SmallVector<std::pair<const TileStatement *, const Access *>> result;
  for (const auto &[op, statement] : statements) {
    if (statement.kind == TileStatement::Kind::Contraction || op->getBlock() != loop.getBody())
      continue;
    for (const Access &load : statement.nest.loads) {
      bool isNew = llvm::none_of(
          result, [&, &own = statement](const auto &each) { return readSame(*each.first, *each.second, own, load); });
      if (isNew && !local(load.memref) && llvm::is_contained(load.symbols, loop.getInductionVar()))
        result.push_back({&statement, &load});
    }
  }
  return result;
}

FailureOr<TileProgram> tilewright::analyzeTileProgram(tile::ParallelOp tile, std::string &reason) {
  return TileAnalysis(tile, reason).run();
}
