//===- DependentReductions.cpp - Reductions that read each other ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads neighbouring nests into statements over common loops, finds the loop that
/// their reductions share, and says which statement runs before, in and after its
/// steps. How functions are split into pairs is SeparablePairs.cpp.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/DependentReductions.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Guards.h"
#include "core/Analysis/LoopTrips.h"
#include "core/Analysis/SeparablePairs.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// `expr` in its simplest form, over the dimensions and symbols that it has.
static AffineExpr simplified(AffineExpr expr) {
  unsigned dims = 0, symbols = 0;
  expr.walk([&](AffineExpr each) {
    if (auto dim = dyn_cast<AffineDimExpr>(each))
      dims = std::max(dims, dim.getPosition() + 1);
    if (auto symbol = dyn_cast<AffineSymbolExpr>(each))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  return simplifyAffineExpr(expr, dims, symbols);
}

//===-- Terms -------------------------------------------------------------===//

std::optional<double> tilewright::numberOf(const Term *term) {
  auto number = term->kind == Term::Kind::Constant ? dyn_cast<FloatAttr>(term->attribute) : FloatAttr();
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

unsigned DependentReductions::SameTerm::getHashValue(const Term *term) {
  return llvm::hash_combine(term->kind, term->name, term->attribute, term->value, term->map, term->loop, term->writer,
                            term->part, term->type, llvm::hash_combine_range(term->operands));
}

bool DependentReductions::SameTerm::isEqual(const Term *a, const Term *b) {
  auto isSpecial = [](const Term *term) { return term == getEmptyKey() || term == getTombstoneKey(); };
  return a == b || (!isSpecial(a) && !isSpecial(b) && a->parts() == b->parts());
}

const Term *DependentReductions::intern(Term term) {
  if (auto same = known.find(&term); same != known.end())
    return *same;
  for (const Term *operand : term.operands) {
    term.isReduced |= operand->isReduced;
    term.isDependent |= operand->isDependent;
  }
  term.id = terms.size();
  terms.push_back(std::move(term));
  known.insert(&terms.back());
  return &terms.back();
}

const Term *DependentReductions::operation(StringRef name, ArrayRef<const Term *> operands, Type type,
                                           Attribute attributes) {
  Term term;
  term.name = name.str();
  term.operands.assign(operands.begin(), operands.end());
  term.type = type;
  term.attribute = attributes ? attributes : Attribute(DictionaryAttr::get(type.getContext()));
  return intern(std::move(term));
}

const Term *DependentReductions::inlined(const Term *term) {
  if (!term->isDependent)
    return term;
  if (term->kind == Term::Kind::Load && term->writer >= 0) {
    const ReductionStatement &from = statements[term->writer];
    const bool isKept = from.isState || from.combine || from.pairs.size() < 2;
    return isKept || from.place != ReductionStatement::Place::Step ? term : inlined(from.term);
  }
  auto operands = llvm::map_to_vector<3>(term->operands, [&](const Term *each) { return inlined(each); });
  return operands == term->operands ? term : operation(term->name, operands, term->type, term->attribute);
}

const Term *DependentReductions::constant(TypedAttr value) {
  Term term;
  term.kind = Term::Kind::Constant;
  term.attribute = value;
  term.type = value.getType();
  return intern(std::move(term));
}

llvm::SmallBitVector DependentReductions::loopsOf(AffineMap map) const {
  llvm::SmallBitVector used(loops.size());
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    if (map.isFunctionOfDim(loop))
      used.set(loop);
  return used;
}

llvm::SmallBitVector DependentReductions::loopsOf(const Term *term) const {
  llvm::SmallBitVector used(loops.size());
  if (term->kind == Term::Kind::Load)
    used |= loopsOf(term->map);
  if (term->kind == Term::Kind::Index)
    used.set(term->loop);
  for (const Term *operand : term->operands)
    used |= loopsOf(operand);
  return used;
}

int64_t DependentReductions::countOf(const ReductionStatement &s) const {
  int64_t count = 1;
  if (!isa<arith::AddFOp>(s.combine))
    return count;
  for (unsigned loop : s.reduced)
    count *= loops[loop].trips;
  return count;
}

AffineExpr DependentReductions::commonTrips() {
  const Loop &loop = loops[common];
  MLIRContext *context = statements.front().root->getContext();
  if (!loop.bound)
    return getAffineConstantExpr(loop.trips, context);
  unsigned at = llvm::find(symbols, loop.bound) - symbols.begin();
  if (at == symbols.size())
    symbols.push_back(loop.bound);
  return getAffineSymbolExpr(at, context);
}

unsigned DependentReductions::rankOf(const ReductionStatement &s) const {
  unsigned rank = 0;
  for (const SeparablePair &pair : s.pairs)
    rank += 1 + pair.power;
  return rank;
}

std::optional<unsigned> DependentReductions::loopOfIndex(AffineMap map, unsigned d) const {
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    if (map.getResult(d).isFunctionOfDim(loop))
      return loop;
  return std::nullopt;
}

//===-- Reading -----------------------------------------------------------===//

namespace {
/// A nest as it is read: indices are over loops of all nests, counted through.
struct RawAccess {
  Value memref;
  SmallVector<AffineExpr> indices;
};
struct RawStatement {
  Operation *root = nullptr;
  SmallVector<AffineForOp, 6> nestLoops;
  SmallVector<unsigned, 6> loops; // of `nestLoops`, counted through; of one iteration: ~0u
  Operation *store = nullptr;
};
} // namespace

namespace tilewright {
class ChainReader {
public:
  ChainReader(DependentReductions &chain, llvm::function_ref<bool(Operation *)> isInside, bool mayReassociate,
              bool mayBeOne, std::string &reason)
      : chain(chain), isInside(isInside), mayReassociate(mayReassociate), mayBeOne(mayBeOne), reason(reason) {}
  LogicalResult read(ArrayRef<Operation *> ops);

private:
  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }
  LogicalResult readLoops(ArrayRef<Operation *> ops);
  RawAccess rawAccess(Operation *op, const RawStatement &statement);
  LogicalResult joinLoops();
  void joinThroughInputs();
  LogicalResult chooseCommon();
  LogicalResult readStatement(const RawStatement &raw);
  const Term *termOf(Value value, const RawStatement &raw);
  LogicalResult place(ReductionStatement &statement);
  LogicalResult checkOrder();
  LogicalResult checkArrays();
  AffineMap mapOf(const RawAccess &access);

  DependentReductions &chain;
  llvm::function_ref<bool(Operation *)> isInside;
  bool mayReassociate, mayBeOne;
  std::string &reason;
  SmallVector<RawStatement, 0> raws;
  SmallVector<DependentReductions::Loop> trips;    // of loops counted through
  llvm::DenseMap<Operation *, RawAccess> accesses; // of all nests
  llvm::IntEqClasses classes;
  llvm::DenseMap<Value, int> writers;         // the last statement that wrote an array
  llvm::DenseMap<Value, const Term *> values; // of the body that is read
};
} // namespace tilewright

namespace {
struct Interval {
  int64_t least, most;
};
} // namespace

static std::optional<Interval> rangeOf(Value value);

/// The values of `expr` over operands of a map; nullopt where they have no bound that is known.
static std::optional<Interval> rangeOf(AffineExpr expr, unsigned dims, ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return rangeOf(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return rangeOf(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Interval> a = rangeOf(binary.getLHS(), dims, operands), b = rangeOf(binary.getRHS(), dims, operands);
  if (!a || !b)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return Interval{a->least + b->least, a->most + b->most};
  if (b->least != b->most || b->least <= 0)
    return std::nullopt;
  int64_t by = b->least;
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return Interval{a->least * by, a->most * by};
  case AffineExprKind::FloorDiv:
    return Interval{llvm::divideFloorSigned(a->least, by), llvm::divideFloorSigned(a->most, by)};
  case AffineExprKind::CeilDiv:
    return Interval{llvm::divideCeilSigned(a->least, by), llvm::divideCeilSigned(a->most, by)};
  default:
    return Interval{0, by - 1};
  }
}

/// The values of an induction variable, or of a member of a level.
static std::optional<Interval> rangeOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto parallel = dyn_cast<tile::ParallelOp>(argument.getOwner()->getParentOp()))
      if (auto count = dyn_cast<AffineConstantExpr>(parallel.getUpperBounds().getResult(argument.getArgNumber())))
        return Interval{0, count.getValue() - 1};
  AffineForOp loop = getForInductionVarOwner(value);
  if (!loop)
    return std::nullopt;
  Interval result{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  for (AffineExpr each : lower.getResults()) {
    std::optional<Interval> range = rangeOf(each, lower.getNumDims(), loop.getLowerBoundOperands());
    if (!range)
      return std::nullopt;
    result.least = std::max(result.least, range->least);
  }
  for (AffineExpr each : upper.getResults())
    if (std::optional<Interval> range = rangeOf(each, upper.getNumDims(), loop.getUpperBoundOperands()))
      result.most = std::min(result.most, range->most - 1);
  if (result.most == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return result;
}

/// Result `i` of a bound, over what its operands are.
static AffineExpr boundOver(AffineMap map, ValueRange operands, unsigned i,
                            llvm::function_ref<AffineExpr(Value)> expressionOf) {
  SmallVector<AffineExpr> dims, symbols;
  for (auto [at, operand] : llvm::enumerate(operands))
    (at < map.getNumDims() ? dims : symbols).push_back(expressionOf(operand));
  return simplified(map.getResult(i).replaceDimsAndSymbols(dims, symbols));
}

RawAccess ChainReader::rawAccess(Operation *op, const RawStatement &statement) {
  auto [memref, map, operands, isStore] = affineAccess(op);
  MLIRContext *context = op->getContext();
  std::function<AffineExpr(Value)> expressionOf = [&](Value operand) -> AffineExpr {
    for (auto [loop, number] : llvm::zip(statement.nestLoops, statement.loops))
      if (operand == AffineForOp(loop).getInductionVar())
        return number == ~0u ? getAffineConstantExpr(0, context) : getAffineDimExpr(number, context);
    if (std::optional<Interval> range = rangeOf(operand); range && range->least == range->most)
      return getAffineConstantExpr(range->least, context);
    // Of a loop that runs once, its first iteration.
    if (AffineForOp around = getForInductionVarOwner(operand);
        around && around.getLowerBoundMap().getNumResults() == 1) {
      AffineExpr first = boundOver(around.getLowerBoundMap(), around.getLowerBoundOperands(), 0, expressionOf);
      for (unsigned i = 0; i < around.getUpperBoundMap().getNumResults(); ++i)
        if (boundOver(around.getUpperBoundMap(), around.getUpperBoundOperands(), i, expressionOf) ==
            simplified(first + 1))
          return first;
    }
    unsigned at = llvm::find(chain.symbols, operand) - chain.symbols.begin();
    if (at == chain.symbols.size())
      chain.symbols.push_back(operand);
    return getAffineSymbolExpr(at, context);
  };
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands))
    (i < map.getNumDims() ? dims : symbols).push_back(expressionOf(operand));
  RawAccess access;
  access.memref = memref;
  for (AffineExpr index : map.getResults())
    access.indices.push_back(simplified(index.replaceDimsAndSymbols(dims, symbols)));
  return access;
}

LogicalResult ChainReader::readLoops(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    RawStatement raw;
    raw.root = op;
    SmallVector<Operation *> touching;
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      FailureOr<Nest> nest = analyzeNest(loop, GuardedReads::Allowed);
      if (failed(nest))
        return refuse("a nest is not perfect and rectangular, or has other effects than affine accesses");
      if (nest->stores.size() != 1)
        return refuse("a nest writes " + Twine(nest->stores.size()) + " arrays, and one is what a chain can split");
      for (auto [each, count] : llvm::zip(nest->loops, nest->tripCounts)) {
        DependentReductions::Loop own{count.value_or(mostTrips(each).value_or(DependentReductions::anyNumber)), {}};
        if (!count)
          own.bound = endOf(each);
        if (own.trips < 1 || (!count && !own.bound))
          return refuse("a loop has a dynamic number of iterations, or none");
        raw.nestLoops.push_back(each);
        raw.loops.push_back(count == 1 ? ~0u : unsigned(trips.size()));
        if (count != 1)
          trips.push_back(own);
      }
      raw.store = nest->stores.front().op;
      for (const Access &access : llvm::concat<const Access>(nest->loads, nest->stores))
        touching.push_back(access.op);
    } else if (isa<AffineStoreOp>(op)) {
      raw.store = op;
      touching.push_back(op);
    } else if (isa<AffineLoadOp>(op)) {
      touching.push_back(op);
    } else if (!isMemoryEffectFree(op) && !isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op)) {
      return refuse("an operation between the nests has effects on memory");
    }
    for (Operation *each : touching)
      accesses[each] = rawAccess(each, raw);
    if (raw.store || isa<AffineLoadOp>(op))
      raws.push_back(std::move(raw));
  }
  return success();
}

/// The loop and the distance of an index of the form `loop + distance`; without a loop: the index.
static std::optional<std::pair<std::optional<unsigned>, AffineExpr>> shifted(AffineExpr index, unsigned loops) {
  std::optional<unsigned> loop;
  for (unsigned each = 0; each < loops; ++each)
    if (index.isFunctionOfDim(each)) {
      if (loop)
        return std::nullopt;
      loop = each;
    }
  if (!loop)
    return std::pair(loop, index);
  AffineExpr distance = simplified(index - getAffineDimExpr(*loop, index.getContext()));
  if (distance.isFunctionOfDim(*loop))
    return std::nullopt;
  return std::pair(loop, distance);
}

/// Loops that index the same dimension of an array that the chain writes run over the same iterations.
LogicalResult ChainReader::joinLoops() {
  classes.grow(trips.size());
  llvm::DenseMap<Value, RawAccess> first;
  llvm::DenseSet<Value> written;
  for (const RawStatement &raw : raws)
    if (raw.store)
      written.insert(accesses[raw.store].memref);
  auto join = [&](Operation *op) -> LogicalResult {
    const RawAccess &access = accesses[op];
    if (!written.contains(access.memref))
      return success();
    const RawAccess &other = first.try_emplace(access.memref, access).first->second;
    llvm::SmallDenseSet<unsigned> seen;
    for (auto [mine, theirs] : llvm::zip_equal(access.indices, other.indices)) {
      auto x = shifted(mine, trips.size()), y = shifted(theirs, trips.size());
      if (!x || !y || x->second != y->second || bool(x->first) != bool(y->first))
        return refuse("an array of the chain is touched at indices that are not the same loop and distance everywhere");
      if (!x->first)
        continue;
      if (!(trips[*x->first] == trips[*y->first]))
        return refuse("loops of " + Twine(trips[*x->first].trips) + " and " + Twine(trips[*y->first].trips) +
                      " iterations touch one dimension of an array of the chain");
      if (!seen.insert(*x->first).second)
        return refuse("an array of the chain is touched along a diagonal");
      classes.join(*x->first, *y->first);
    }
    return success();
  };
  for (const RawStatement &raw : raws) {
    LogicalResult joined = success();
    raw.root->walk([&](Operation *op) {
      if (isa<AffineLoadOp, AffineStoreOp>(op) && succeeded(joined))
        joined = join(op);
    });
    if (failed(joined))
      return failure();
  }
  joinThroughInputs();
  classes.compress();
  chain.loops.resize(classes.getNumClasses());
  for (auto [loop, count] : llvm::enumerate(trips))
    chain.loops[classes[loop]] = count;
  for (const RawStatement &raw : raws) {
    llvm::SmallDenseSet<unsigned> seen;
    for (unsigned loop : raw.loops)
      if (loop != ~0u && !seen.insert(classes[loop]).second)
        return refuse("two loops of one nest run over the same dimension of an array of the chain");
  }
  return success();
}

/// Loops that are reduced somewhere and read the same dimension of an input may run together, too.
void ChainReader::joinThroughInputs() {
  auto membersOf = [&](unsigned loop) {
    SmallVector<unsigned> members;
    for (unsigned each = 0; each < trips.size(); ++each)
      if (classes.findLeader(each) == classes.findLeader(loop))
        members.push_back(each);
    return members;
  };
  llvm::SmallBitVector reduced(trips.size());
  for (const RawStatement &raw : raws)
    for (unsigned loop : raw.loops)
      if (raw.store && loop != ~0u)
        if (llvm::none_of(accesses[raw.store].indices, [&](AffineExpr index) { return index.isFunctionOfDim(loop); }))
          for (unsigned each : membersOf(loop))
            reduced.set(each);
  auto mayJoin = [&](unsigned a, unsigned b) {
    if (!(trips[a] == trips[b]) || !reduced.test(a) || !reduced.test(b))
      return false;
    SmallVector<unsigned> all = membersOf(a);
    all.append(membersOf(b));
    return llvm::none_of(raws, [&](const RawStatement &raw) {
      return llvm::count_if(raw.loops, [&](unsigned loop) { return llvm::is_contained(all, loop); }) > 1;
    });
  };
  llvm::DenseMap<Value, SmallVector<const RawAccess *>> loads;
  for (const RawStatement &raw : raws)
    raw.root->walk([&](AffineLoadOp op) {
      const RawAccess &access = accesses[op];
      for (const RawAccess *other : loads[access.memref])
        for (auto [mine, theirs] : llvm::zip_equal(access.indices, other->indices)) {
          auto x = shifted(mine, trips.size()), y = shifted(theirs, trips.size());
          if (x && y && x->first && y->first && x->second == y->second &&
              classes.findLeader(*x->first) != classes.findLeader(*y->first) && mayJoin(*x->first, *y->first))
            classes.join(*x->first, *y->first);
        }
      loads[access.memref].push_back(&access);
    });
}

AffineMap ChainReader::mapOf(const RawAccess &access) {
  MLIRContext *context = access.memref.getContext();
  SmallVector<AffineExpr> dims;
  for (unsigned loop = 0; loop < trips.size(); ++loop)
    dims.push_back(getAffineDimExpr(classes[loop], context));
  SmallVector<AffineExpr> results;
  for (AffineExpr index : access.indices)
    results.push_back(index.replaceDims(dims));
  return simplifyAffineMap(AffineMap::get(chain.loops.size(), chain.symbols.size(), results, context));
}

/// The last loop that a nest sums over and that indexes an array of the chain, or that several nests sum over, or any.
LogicalResult ChainReader::chooseCommon() {
  SmallVector<int> sums(chain.loops.size()); // nests that sum over it
  llvm::SmallBitVector indexes(chain.loops.size());
  std::optional<unsigned> found;
  for (const RawStatement &raw : raws) {
    if (!raw.store)
      continue;
    llvm::SmallBitVector named = chain.loopsOf(mapOf(accesses[raw.store]));
    indexes |= named;
    std::optional<unsigned> here;
    for (unsigned loop : raw.loops) {
      if (loop == ~0u || named.test(classes[loop]))
        continue;
      unsigned common = classes[loop];
      ++sums[common];
      if ((mayBeOne || indexes.test(common) || sums[common] > 1) &&
          (!here || chain.loops[common].trips > chain.loops[*here].trips))
        here = common;
    }
    found = here ? here : found;
  }
  if (!found)
    return refuse("no nest sums over a dimension of what another nest computes, and no two sum over the same one");
  chain.common = *found;
  for (unsigned loop = 0; loop < chain.loops.size(); ++loop)
    if (loop != chain.common && chain.loops[loop].trips == DependentReductions::anyNumber)
      return refuse("a loop beside that of the reductions has a dynamic number of iterations");
  return success();
}

const Term *ChainReader::termOf(Value value, const RawStatement &raw) {
  if (auto found = values.find(value); found != values.end())
    return found->second;
  Term term;
  term.type = value.getType();
  for (auto [loop, number] : llvm::zip(raw.nestLoops, raw.loops))
    if (value == AffineForOp(loop).getInductionVar()) {
      if (number == ~0u)
        return values[value] = chain.constant(Builder(value.getContext()).getIndexAttr(0));
      term.kind = Term::Kind::Index;
      term.loop = classes[number];
      term.isReduced = term.loop == chain.common;
      return values[value] = chain.intern(std::move(term));
    }
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (op && matchPattern(op, m_Constant(&constant)))
    return values[value] = chain.constant(cast<TypedAttr>(constant));
  if (!op || !raw.root->getParentOp()->isProperAncestor(op)) {
    term.kind = Term::Kind::Outer;
    term.value = value;
    return values[value] = chain.intern(std::move(term));
  }
  if (auto test = dyn_cast<AffineIfOp>(op)) { // an array with zeros around it, of none that the chain writes
    std::optional<BoundedRead> read = boundedRead(test);
    if (!read || writers.contains(read->load.getMemRef()))
      return nullptr;
    term.attribute = DenseI64ArrayAttr::get(op->getContext(), read->dimensions);
    op = read->load;
  }
  if (isa<AffineLoadOp>(op)) {
    auto known = accesses.find(op);
    if (known == accesses.end()) // stands between the nests, but belongs to another pass over the dimension
      return nullptr;
    const RawAccess &access = known->second;
    term.kind = Term::Kind::Load;
    term.value = access.memref;
    term.map = mapOf(access);
    auto writer = writers.find(access.memref);
    term.writer = writer == writers.end() ? -1 : writer->second;
    term.isReduced = term.map.isFunctionOfDim(chain.common);
    if (term.writer >= 0) {
      const ReductionStatement &from = chain.statements[term.writer];
      // A guarded extremum that a nest of its own stores is read as if it stood here, so that it may be a base.
      if (from.place == ReductionStatement::Place::After && !from.combine && term.map == from.map &&
          from.term->kind == Term::Kind::Op && guardedExtremum(from.term))
        return values[value] = from.term;
      term.isDependent =
          from.isState || from.place == ReductionStatement::Place::After ||
          (from.place == ReductionStatement::Place::Step && (from.pairs.size() != 1 || !from.pairs.front().isPlain()));
    }
    return values[value] = chain.intern(std::move(term));
  }
  SmallVector<const Term *> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(termOf(operand, raw));
    if (!operands.back())
      return nullptr;
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return nullptr;
  return values[value] =
             chain.operation(op->getName().getStringRef(), operands, value.getType(), op->getAttrDictionary());
}

LogicalResult ChainReader::readStatement(const RawStatement &raw) {
  if (!raw.store) // a load that stands by itself: of what is written now
    return success(termOf(raw.root->getResult(0), raw));
  ReductionStatement statement;
  statement.root = raw.root;
  const RawAccess &store = accesses[raw.store];
  statement.memref = store.memref;
  statement.map = mapOf(store);
  llvm::SmallBitVector named = chain.loopsOf(statement.map);
  for (unsigned loop : raw.loops) {
    if (loop == ~0u)
      continue;
    statement.loops.push_back(classes[loop]);
    if (!named.test(classes[loop]))
      statement.reduced.push_back(classes[loop]);
  }
  if (auto writer = writers.find(store.memref); writer != writers.end())
    statement.before = writer->second;
  Value value = cast<AffineStoreOp>(raw.store).getValueToStore();
  if (!statement.reduced.empty()) {
    statement.combine = value.getDefiningOp();
    auto isOwn = [&](Value operand) {
      auto load = operand.getDefiningOp<AffineLoadOp>();
      return load && load->hasOneUse() && accesses[load].memref == store.memref &&
             accesses[load].indices == store.indices;
    };
    Operation *combine = statement.combine;
    if (!combine || combine->getNumOperands() != 2 || combine->getNumResults() != 1 ||
        isOwn(combine->getOperand(0)) == isOwn(combine->getOperand(1)))
      return refuse("a nest that runs over more than it stores does not combine one value with the last");
    statement.sumIsFirst = isOwn(combine->getOperand(0));
    value = combine->getOperand(statement.sumIsFirst ? 1 : 0);
  }
  statement.term = termOf(value, raw);
  if (!statement.term)
    return refuse("a body has an operation of several results, or with a region");
  if (failed(place(statement)))
    return failure();
  writers[store.memref] = chain.statements.size();
  chain.statements.push_back(std::move(statement));
  return success();
}

/// When the statement runs, and the pairs of what it computes in steps.
LogicalResult ChainReader::place(ReductionStatement &statement) {
  using Place = ReductionStatement::Place;
  bool isStored = statement.map.isFunctionOfDim(chain.common);
  statement.isState = llvm::is_contained(statement.reduced, chain.common);
  const ReductionStatement *before = statement.before < 0 ? nullptr : &chain.statements[statement.before];
  if (!isStored && !statement.isState) {
    bool goesOn = statement.combine && before && (before->isState || before->place == Place::After);
    statement.place = statement.term->isDependent || goesOn ? Place::After : Place::Before;
    return success();
  }
  statement.place = Place::Step;
  bool isSumOfOthers = statement.combine && !statement.isState;
  if (isSumOfOthers && (statement.term->isDependent || !before || before->place != Place::Step ||
                        before->pairs.size() != 1 || !before->pairs.front().isPlain()))
    return refuse("a sum over another loop reads a result of the common one: " + chain.text(statement));
  if (statement.isState && (!before || before->place != Place::Before))
    return refuse("a reduction does not begin with what a nest before it sets: " + chain.text(statement));
  if (statement.term->isDependent && !mayReassociate)
    return refuse("--fp=strict keeps each sum as it is written: " + chain.text(statement));
  return splitStatement(chain, statement, reason);
}

/// Statements that touch one array keep their order: before, in and after the steps.
LogicalResult ChainReader::checkOrder() {
  llvm::DenseMap<Value, ReductionStatement::Place> last;
  for (const ReductionStatement &statement : chain.statements) {
    llvm::SmallDenseSet<Value, 4> touched{statement.memref};
    SmallVector<const Term *> todo{statement.term};
    while (!todo.empty()) {
      const Term *term = todo.pop_back_val();
      // What steps read of results is taken apart.
      bool isTakenApart = statement.place == ReductionStatement::Place::Step && term->isDependent && !term->isReduced;
      if (term->kind == Term::Kind::Load && !isTakenApart)
        touched.insert(term->value);
      if (!isTakenApart)
        todo.append(term->operands.begin(), term->operands.end());
    }
    for (Value array : touched) {
      auto [entry, isNew] = last.try_emplace(array, statement.place);
      if (statement.place < entry->second)
        return refuse("an array is used again for another purpose: " + chain.text(statement));
      entry->second = statement.place;
    }
  }
  return success();
}

/// What an iteration of the common loop computes is of no other use.
LogicalResult ChainReader::checkArrays() {
  for (const ReductionStatement &statement : chain.statements) {
    if (statement.place != ReductionStatement::Place::Step || statement.isState)
      continue;
    Operation *buffer = statement.memref.getDefiningOp();
    if (!isa_and_nonnull<memref::AllocOp>(buffer) || !llvm::all_of(buffer->getUsers(), [&](Operation *user) {
          return isa<memref::DeallocOp>(user) || isInside(user);
        }))
      return refuse(
          "what each iteration of the common loop computes is a result, so that it would need a second pass: " +
          chain.text(statement));
  }
  return success();
}

LogicalResult ChainReader::read(ArrayRef<Operation *> ops) {
  if (failed(readLoops(ops)) || failed(joinLoops()) || failed(chooseCommon()))
    return failure();
  for (const RawStatement &raw : raws)
    if (failed(readStatement(raw)))
      return failure();
  return success(succeeded(checkOrder()) && succeeded(checkArrays()));
}

std::unique_ptr<DependentReductions> DependentReductions::find(ArrayRef<Operation *> ops,
                                                               llvm::function_ref<bool(Operation *)> isInside,
                                                               bool mayReassociate, std::string &reason,
                                                               bool mayBeOne) {
  std::unique_ptr<DependentReductions> chain(new DependentReductions);
  if (failed(ChainReader(*chain, isInside, mayReassociate, mayBeOne, reason).read(ops)))
    return nullptr;
  chain->nameArrays();
  return chain;
}
