//===- NestRuns.cpp - Neighbouring iterations in one lane -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known of each access; the model's question; fragments of one lane.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/NestRuns.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/LoopDependence.h"
#include "core/CostModel/AssumedSizes.h"
#include "core/CostModel/Candidates.h"
#include "core/CostModel/Sectors.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/Explain.h"
#include <numeric>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

//===-- What is known of the nest -----------------------------------------===//

/// Whether memory has a whole number of bytes for each element, which vectors have, too.
static bool isPlain(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8 &&
         llvm::isPowerOf2_32(element.getIntOrFloatBitWidth());
}

/// What divides the distance of neighbours in each dimension of a dense array, the last one being 1.
static SmallVector<int64_t> strideDivisors(MemRefType type) {
  SmallVector<int64_t> divisors(type.getRank(), 1);
  for (int64_t d = type.getRank() - 2; d >= 0; --d)
    divisors[d] = divisors[d + 1] * (type.isDynamicDim(d + 1) ? 1 : type.getDimSize(d + 1));
  return divisors;
}

/// Whether dimension `d` of `memref` may have as many elements as `loop`, number `which` of the band, has iterations;
/// what only the run shows is added to `spanned`.
static bool spans(AffineForOp loop, unsigned which, Value memref, int64_t d,
                  SmallVectorImpl<SpannedDimension> &spanned) {
  auto type = cast<MemRefType>(memref.getType());
  if (loop.hasConstantUpperBound() && !type.isDynamicDim(d))
    return type.getDimSize(d) == loop.getConstantUpperBound();
  auto isSame = [&](const SpannedDimension &each) {
    return each.memref == memref && each.dimension == d && each.loop == which;
  };
  if (llvm::none_of(spanned, isSame))
    spanned.push_back({memref, d, which});
  return true;
}

/// Whether the index is that loop's number.
static bool isNumberOf(AffineForOp loop, const std::optional<LinearIndex> &index) {
  return index && index->constant == 0 && index->terms.size() == 1 && index->terms[0].first == loop.getInductionVar() &&
         index->terms[0].second == 1;
}

/// Whether `map` of an access has `value` in result `d`.
static bool occursIn(AffineMap map, unsigned d, ValueRange operands, Value value) {
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand == value && (i < map.getNumDims() ? map.getResult(d).isFunctionOfDim(i)
                                                  : map.getResult(d).isFunctionOfSymbol(i - map.getNumDims())))
      return true;
  return false;
}

namespace {

/// The map of an affine.load or affine.store, and its operands.
struct AccessMap {
  explicit AccessMap(Operation *op) {
    if (auto load = dyn_cast<AffineLoadOp>(op))
      map = load.getAffineMap(), operands = load.getMapOperands();
    else
      map = cast<AffineStoreOp>(op).getAffineMap(), operands = cast<AffineStoreOp>(op).getMapOperands();
  }
  bool uses(Value value) const {
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      if (occursIn(map, d, operands, value))
        return true;
    return false;
  }
  AffineMap map;
  ValueRange operands;
};

} // namespace

/// Whether all accesses go through iterations of `outer` and `inner` as if these were one loop: the second one's
/// dimension is as long, and lies behind the first one's. `which` is the number of `inner` in the band.
static bool isOneLoop(AffineForOp outer, AffineForOp inner, unsigned which, ArrayRef<LinearAccess> accesses,
                      SmallVectorImpl<SpannedDimension> &spanned) {
  return llvm::all_of(accesses, [&](const LinearAccess &access) {
    AccessMap map(access.op);
    bool usesOuter = map.uses(outer.getInductionVar()), usesInner = map.uses(inner.getInductionVar());
    if (!usesOuter && !usesInner)
      return true;
    if (usesOuter != usesInner || !cast<MemRefType>(access.memref.getType()).getLayout().isIdentity())
      return false;
    unsigned found = 0;
    for (unsigned d = 0; d < access.indices.size(); ++d) {
      bool first = d + 1 < access.indices.size() && isNumberOf(outer, access.indices[d]) &&
                   isNumberOf(inner, access.indices[d + 1]) && spans(inner, which, access.memref, d + 1, spanned);
      bool second = d > 0 && isNumberOf(outer, access.indices[d - 1]) && isNumberOf(inner, access.indices[d]);
      if (!first && !second &&
          (occursIn(map.map, d, map.operands, outer.getInductionVar()) ||
           occursIn(map.map, d, map.operands, inner.getInductionVar())))
        return false;
      found += first;
    }
    return found == 1;
  });
}

/// What the model has to know of an access: `inner` is the loop that lanes take neighbours of, `run` the loops that are
/// one with it. nullopt if its elements can only be found one by one.
static std::optional<NestTask::Access> describe(const LinearAccess &access, AffineForOp inner,
                                                ArrayRef<AffineForOp> run) {
  AccessMap map(access.op);
  auto type = cast<MemRefType>(access.memref.getType());
  NestTask::Access result;
  result.bytes = elementBytes(type.getElementType());
  result.step = 0;
  result.writes = access.isStore;
  if (!map.uses(inner.getInductionVar()))
    return access.isStore ? std::nullopt : std::optional(result);
  if (!isPlain(type.getElementType()) || !type.getLayout().isIdentity())
    return std::nullopt;
  SmallVector<int64_t> divisors = strideDivisors(type);
  int64_t divisor = 0, step = 0;
  bool known = true;
  for (auto [d, index] : llvm::enumerate(access.indices)) {
    if (!index) {
      if (occursIn(map.map, d, map.operands, inner.getInductionVar()))
        return std::nullopt;
      divisor = std::gcd(divisor, divisors[d]);
      continue;
    }
    divisor = std::gcd(divisor, index->constant * divisors[d]);
    for (auto [value, factor] : index->terms) {
      if (value == inner.getInductionVar()) {
        if (factor < 0) // fragments begin at their lowest element
          return std::nullopt;
        step += factor * divisors[d];
        known &= llvm::none_of(type.getShape().drop_front(d + 1), ShapedType::isDynamic);
      } else if (llvm::none_of(run, [&, value = value](AffineForOp loop) { return loop.getInductionVar() == value; })) {
        divisor = std::gcd(divisor, factor * divisors[d]);
      }
    }
  }
  result.step = known && step ? step * result.bytes : sectorBytes;
  result.run = known && step == 1 ? (divisor ? divisor & -divisor : mostIterations) : 1;
  return result;
}

/// Whether the body can be done for several iterations at once, and what it costs: accesses but for `task.accesses`.
static bool countOperations(Block &body, Value iv, NestTask &task) {
  llvm::DenseSet<Value> different{iv}; // in iterations of a lane
  int64_t widest = 0;
  for (Operation &op : body.without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (AccessMap(&op).uses(iv)) {
        different.insert(load.getResult());
        task.registerBytes += elementBytes(load.getType());
      }
      continue;
    }
    if (isa<AffineStoreOp>(op))
      continue;
    if (op.getNumRegions() != 0 || !isPure(&op))
      return false;
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return different.contains(operand); }))
      continue;
    auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
    if (!OpTrait::hasElementwiseMappableTraits(&op) || !llvm::all_of(op.getResultTypes(), isNumber) ||
        !llvm::all_of(op.getOperandTypes(), isNumber))
      return false;
    different.insert(op.result_begin(), op.result_end());
    task.operations += instructionsOf(&op);
    for (Type type : op.getResultTypes())
      widest = std::max(widest, std::max<int64_t>(4, elementBytes(type)));
  }
  task.registerBytes += 2 * widest;
  return true;
}

std::optional<NestRuns> tilewright::planRuns(ArrayRef<AffineForOp> band, ArrayRef<unsigned> order,
                                             const LaunchTarget &target) {
  if (band.empty())
    return std::nullopt;
  AffineForOp root = band.front();
  auto accesses = accessesBelow(root);
  if (!accesses || accesses->empty())
    return std::nullopt;
  NestRuns runs{band, {order.back()}, 1, true, {}};
  SmallVector<AffineForOp> loops{runs.inner()};
  for (unsigned loop : llvm::reverse(order.drop_back())) {
    auto isUsedAlone = [](AffineForOp loop) {
      return !llvm::all_of(loop.getInductionVar().getUsers(), llvm::IsaPred<AffineLoadOp, AffineStoreOp>);
    };
    AffineForOp outer = band[loop];
    SmallVector<SpannedDimension> spanned(runs.spanned);
    if (isUsedAlone(outer) || isUsedAlone(loops.front()) ||
        !isOneLoop(outer, loops.front(), runs.loops.front(), *accesses, spanned))
      break;
    runs.spanned = spanned;
    runs.loops.insert(runs.loops.begin(), loop);
    loops.insert(loops.begin(), outer);
  }

  NestTask task;
  auto trips = [](AffineForOp loop) {
    return loop.hasConstantUpperBound() ? loop.getConstantUpperBound() : assumedRowExtent;
  };
  bool isKnown = true;
  for (unsigned i = 0; i < band.size(); ++i) {
    (runs.counts(i) ? task.length : task.rows) *= trips(runs.loop(i));
    isKnown &= !runs.counts(i) || runs.loop(i).hasConstantUpperBound();
  }
  if (llvm::any_of(band, [](AffineForOp loop) { return !loop.hasConstantUpperBound(); })) {
    int64_t &unknown = isKnown ? task.rows : task.length,
            known = std::max<int64_t>(1, isKnown ? task.length : task.rows);
    unknown = std::max<int64_t>(unknown, assumedIterations / known);
  }
  task.partial = true;
  task.most = 1; // where no access is wider, neighbours are better off in different lanes
  for (const LinearAccess &access : *accesses) {
    std::optional<NestTask::Access> known = describe(access, runs.inner(), loops);
    if (!known)
      return std::nullopt;
    task.accesses.push_back(*known);
    if (known->step != 0)
      task.most = std::max(task.most, known->run);
  }
  if (!countOperations(runs.body(), runs.inner().getInductionVar(), task))
    return std::nullopt;
  std::vector<NestPlan> considered;
  NestPlan plan = planNest(task, *target.chip, target.hierarchy, &considered);
  if (DecisionLog *log = DecisionLog::of(root.getContext()))
    log->add("nest", root.getLoc(),
             llvm::json::Object{{"inputs", llvm::json::Object{{"rows", task.rows},
                                                              {"length", task.length},
                                                              {"accesses", int64_t(task.accesses.size())},
                                                              {"operations", task.operations}}},
                                {"choice", plan.toJSON()},
                                {"candidates", fastestFirst(std::move(considered),
                                                            [](const NestPlan &each) { return each.iterations; })}});
  if (plan.iterations == 1)
    return std::nullopt;
  runs.iterations = plan.iterations;
  runs.whole = isKnown && runs.spanned.empty() && task.length % plan.iterations == 0;
  return runs;
}

//===-- Emission ----------------------------------------------------------===//

namespace {

/// Writes all iterations of a lane at once.
class RunEmitter {
public:
  RunEmitter(OpBuilder &b, const NestRuns &runs, const IRMapping &mapping, Value number)
      : b(b), runs(runs), scalars(mapping), number(number), loc(runs.inner().getLoc()) {}

  void emit();

private:
  tile::FragmentType fragment(Type element) const {
    Layout layout;
    for (int64_t column = 1; column < runs.iterations; column *= 2)
      layout.elements.push_back({0, column});
    return tile::FragmentType::get(1, runs.iterations, element, layout);
  }
  /// Where the lane's first element is, with the operands of that map, and how far each following one is from it.
  struct Place {
    AffineMap first, elements;
    SmallVector<Value> operands;
  };
  Place placeOf(Operation *op) const;
  void compute();

  OpBuilder &b;
  const NestRuns &runs;
  IRMapping scalars;                      // of values that all iterations share
  llvm::DenseMap<Value, Value> fragments; // of the others
  SmallVector<Operation *> waiting;       // that compute some of these, in their order
  Value number;
  Location loc;
};

} // namespace

RunEmitter::Place RunEmitter::placeOf(Operation *op) const {
  AccessMap access(op);
  LinearAccess linear = linearAccess(op);
  SmallVector<AffineExpr> dims, symbols, steps;
  Place place;
  for (auto [i, operand] : llvm::enumerate(access.operands)) {
    bool isDim = i < access.map.getNumDims();
    AffineExpr own = isDim ? b.getAffineDimExpr(i) : b.getAffineSymbolExpr(i - access.map.getNumDims());
    Value mapped = scalars.lookupOrDefault(operand);
    for (unsigned loop : runs.loops)
      if (operand == runs.variable(loop)) {
        own = loop == runs.loops.back() ? own * runs.iterations : b.getAffineConstantExpr(0);
        mapped = number;
      }
    (isDim ? dims : symbols).push_back(own);
    place.operands.push_back(mapped);
  }
  for (const std::optional<LinearIndex> &index : linear.indices)
    steps.push_back(b.getAffineDimExpr(1) * (index ? index->coefficient(runs.inner().getInductionVar()) : 0));
  place.first = access.map.replaceDimsAndSymbols(dims, symbols, access.map.getNumDims(), access.map.getNumSymbols());
  place.elements = AffineMap::get(2, 0, steps, b.getContext());
  return place;
}

/// One `tile.map` of all that waits.
void RunEmitter::compute() {
  if (waiting.empty())
    return;
  llvm::SmallPtrSet<Operation *, 16> inside(waiting.begin(), waiting.end());
  SmallVector<Value> old, inputs, results;
  SmallVector<Type> types;
  for (Operation *op : waiting) {
    for (Value operand : op->getOperands())
      if (Value given = fragments.lookup(operand); given && !llvm::is_contained(old, operand)) {
        old.push_back(operand);
        inputs.push_back(given);
      }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); })) {
        results.push_back(result);
        types.push_back(fragment(result.getType()));
      }
  }
  auto map = tile::MapOp::create(b, loc, types, inputs, [&](OpBuilder &body, Location loc, ValueRange arguments) {
    IRMapping mapping = scalars;
    mapping.map(old, arguments);
    for (Operation *op : waiting)
      body.clone(*op, mapping);
    tile::YieldOp::create(body, loc, llvm::map_to_vector(results, [&](Value each) { return mapping.lookup(each); }));
  });
  for (auto [result, given] : llvm::zip_equal(results, map.getResults()))
    fragments[result] = given;
  waiting.clear();
}

void RunEmitter::emit() {
  Value iv = runs.inner().getInductionVar();
  llvm::DenseSet<Value> different{iv};
  if (!llvm::all_of(iv.getUsers(), llvm::IsaPred<AffineLoadOp, AffineStoreOp>)) {
    Value first = arith::MulIOp::create(b, loc, number, arith::ConstantIndexOp::create(b, loc, runs.iterations));
    Value own = tile::IndexOp::create(b, loc, fragment(b.getIndexType()), 1);
    fragments[iv] = tile::MapOp::create(b, loc, TypeRange(own.getType()), own,
                                        [&](OpBuilder &body, Location loc, ValueRange arguments) {
                                          Value sum = arith::AddIOp::create(body, loc, arguments[0], first);
                                          tile::YieldOp::create(body, loc, sum);
                                        })
                        .getResult(0);
  }
  for (Operation &op : runs.body().without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op); load && AccessMap(&op).uses(iv)) {
      Place place = placeOf(&op);
      fragments[load.getResult()] = tile::LoadOp::create(b, op.getLoc(), fragment(load.getType()), load.getMemRef(),
                                                         place.first, place.operands, place.elements);
      different.insert(load.getResult());
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      Value value = store.getValueToStore(), given;
      if (!different.contains(value)) {
        given = tile::BroadcastOp::create(b, op.getLoc(), fragment(value.getType()), scalars.lookupOrDefault(value));
      } else {
        if (!fragments.contains(value))
          compute();
        given = fragments.lookup(value);
      }
      Place place = placeOf(&op);
      tile::StoreOp::create(b, op.getLoc(), given, store.getMemRef(), place.first, place.operands, place.elements);
      continue;
    }
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return different.contains(operand); })) {
      b.clone(op, scalars);
      continue;
    }
    different.insert(op.result_begin(), op.result_end());
    waiting.push_back(&op);
  }
}

/// Writes the iterations that the lane of number `number` takes one by one: `first`, first + step, .. below `length`.
static void emitOneByOne(OpBuilder &builder, const NestRuns &runs, const IRMapping &mapping, Value first, Value length,
                         Value step, ValueRange extents) {
  Location loc = runs.inner().getLoc();
  auto few = scf::ForOp::create(builder, loc, first, length, step);
  few->setAttr(fewTimesAttr, builder.getUnitAttr());
  OpBuilder body(few.getBody()->getTerminator());
  IRMapping single = mapping;
  Value place = few.getInductionVar();
  for (unsigned loop : llvm::reverse(runs.loops)) {
    bool outermost = loop == runs.loops.front();
    Value index = outermost ? place : arith::RemUIOp::create(body, loc, place, extents[loop]).getResult();
    if (!outermost)
      place = arith::DivUIOp::create(body, loc, place, extents[loop]);
    single.map(runs.variable(loop), index);
  }
  for (Operation &op : runs.body().without_terminator())
    body.clone(op, single);
}

void tilewright::emitRun(OpBuilder &builder, const NestRuns &runs, const IRMapping &mapping, Value number,
                         ValueRange extents, Value length) {
  if (runs.whole)
    return RunEmitter(builder, runs, mapping, number).emit();
  Location loc = runs.inner().getLoc();
  Value count = arith::ConstantIndexOp::create(builder, loc, runs.iterations);
  Value asOne; // whether the loops are one
  for (const SpannedDimension &each : runs.spanned) {
    Value size = memref::DimOp::create(builder, loc, each.memref, each.dimension);
    Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, size, extents[each.loop]);
    asOne = asOne ? arith::AndIOp::create(builder, loc, asOne, same).getResult() : same;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (asOne) {
    auto versions = scf::IfOp::create(builder, loc, asOne, /*withElseRegion=*/true);
    builder.setInsertionPoint(versions.elseBlock()->getTerminator());
    Value lanes = arith::CeilDivUIOp::create(builder, loc, length, count);
    emitOneByOne(builder, runs, mapping, number, length, lanes, extents);
    builder.setInsertionPoint(versions.thenBlock()->getTerminator());
  }
  Value first = arith::MulIOp::create(builder, loc, number, count);
  Value end = arith::AddIOp::create(builder, loc, first, count);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, end, length);
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/true);
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  emitOneByOne(builder, runs, mapping, first, length, one, extents);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  RunEmitter(builder, runs, mapping, number).emit();
}
