//===- Transposition.cpp - Nests whose arrays lie in two orders -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// By access maps alone.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Nests/Transposition.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/CostModel/Machine/Sectors.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

/// Short dimensions together: each of their iterations is an access of its own.
static constexpr int64_t mostShort = 128;

std::optional<int64_t> Transposition::trips(unsigned dim) const {
  std::optional<int64_t> product = nest.tripCounts[dim];
  for (unsigned other : merged[dim]) {
    if (!product || !nest.tripCounts[other])
      return std::nullopt;
    *product *= *nest.tripCounts[other];
  }
  return product;
}

SmallVector<unsigned> Transposition::othersThan(const TileRun &run) const {
  SmallVector<unsigned> others;
  for (unsigned dim : shorts)
    if (!llvm::is_contained(run.shorts, dim))
      others.push_back(dim);
  return others;
}

static MemRefType typeOf(const Access &access) { return cast<MemRefType>(access.memref.getType()); }

/// Whether, in `access`, each iteration of `outer` begins where all iterations of `inner` end; also if it has neither.
static bool isBehind(const Nest &nest, const Access &access, unsigned outer, unsigned inner) {
  if (!access.map.isFunctionOfDim(outer) && !access.map.isFunctionOfDim(inner))
    return true;
  ArrayRef<AffineExpr> results = access.map.getResults();
  MLIRContext *context = access.map.getContext();
  for (unsigned r = 0; r + 1 < results.size(); ++r)
    if (results[r] == getAffineDimExpr(outer, context) && results[r + 1] == getAffineDimExpr(inner, context))
      return nest.tripCounts[inner] == typeOf(access).getDimSize(r + 1) &&
             llvm::count_if(results, [&](AffineExpr expr) {
               return expr.isFunctionOfDim(outer) || expr.isFunctionOfDim(inner);
             }) == 2;
  return false;
}

/// Makes one dimension of loops that lie behind each other in all arrays; returns those that are gone.
static llvm::SmallBitVector mergeLoops(Transposition &task) {
  const Nest &nest = task.nest;
  llvm::SmallBitVector gone(nest.depth());
  task.merged.resize(nest.depth());
  for (const AffineExpr &expr : nest.stores.front().map.getResults().drop_back()) {
    auto outer = dyn_cast<AffineDimExpr>(expr);
    auto inner = dyn_cast<AffineDimExpr>(*(&expr + 1));
    if (!outer || !inner)
      continue;
    unsigned o = outer.getPosition(), i = inner.getPosition();
    auto behind = [&](const Access &access) { return isBehind(nest, access, o, i); };
    if (!llvm::all_of(nest.loads, behind) || !llvm::all_of(nest.stores, behind))
      continue;
    gone.set(o);
    task.merged[i] = task.merged[o];
    task.merged[i].push_back(o);
  }
  return gone;
}

/// How the array of `access` lies in a tile; nullopt: it has no long dimension behind short ones.
static std::optional<TileRun> runOf(const Transposition &task, const llvm::SmallBitVector &gone, const Access &access,
                                    int64_t least) {
  TileRun run;
  bool innermost = true;
  for (unsigned r = access.map.getNumResults(); r-- > 0;) {
    AffineExpr expr = access.map.getResult(r);
    if (isa<AffineConstantExpr>(expr) && typeOf(access).getDimSize(r) == 1)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    unsigned d = dim.getPosition();
    if (gone.test(d))
      continue;
    if (std::exchange(innermost, false))
      run.inner = r;
    std::optional<int64_t> trips = task.trips(d);
    if (trips.value_or(least) >= least) {
      run.wide = d;
      return run;
    }
    // The next iteration outside of it begins where all of its own end.
    unsigned outermost = task.merged[d].empty() ? d : task.merged[d].front();
    if (task.nest.tripCounts[outermost] != typeOf(access).getDimSize(r - task.merged[d].size()) ||
        run.factor * *trips > mostShort)
      return std::nullopt;
    run.shorts.push_back(d);
    run.factor *= *trips;
  }
  return std::nullopt;
}

/// How many times the sectors that its bytes fill an array is touched by lanes that lie along another one's run, which
/// are its short iterations and a part of its long dimension; dynamic strides have a sector each.
static double touchedAlong(const Transposition &task, const TileRun &along, const Access &access, int64_t lanes,
                           int64_t sectorBytes) {
  struct Dimension {
    int64_t trips, stride;
  };
  SmallVector<Dimension> dims;
  for (unsigned dim : along.shorts)
    dims.push_back({*task.trips(dim), access.stride(dim).value_or(int64_t(1) << 24)});
  dims.push_back({lanes * lanes, access.stride(along.wide).value_or(int64_t(1) << 24)});
  int64_t bytes = elementBytes(elementOf(access.memref)), touched = 0, taken = 0;
  for (int64_t first = 0; first < lanes * std::min<int64_t>(along.factor, mostShort); first += lanes) {
    llvm::SmallSet<int64_t, 32> sectors;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t rest = first + lane, address = 0;
      for (const Dimension &dim : dims) {
        address += rest % dim.trips * dim.stride;
        rest /= dim.trips;
      }
      sectors.insert(address * bytes / sectorBytes);
    }
    touched += int64_t(sectors.size()) * sectorBytes;
    taken += lanes * bytes;
  }
  return double(touched) / double(taken);
}

/// Whether lanes that count through the loops in the order of the result touch sectors of a load in parts.
static bool isScattered(const Transposition &task, const llvm::SmallBitVector &gone, int64_t lanes,
                        int64_t sectorBytes) {
  TileRun all;
  SmallVector<unsigned> dims;
  for (AffineExpr expr : llvm::reverse(task.nest.stores.front().map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !gone.test(dim.getPosition()))
      dims.push_back(dim.getPosition());
  for (unsigned d : dims) {
    all.wide = d;
    std::optional<int64_t> trips = task.trips(d);
    if (!trips || d == dims.back())
      break;
    all.shorts.push_back(d);
    all.factor *= *trips;
  }
  return llvm::any_of(task.nest.loads,
                      [&](const Access &load) { return touchedAlong(task, all, load, lanes, sectorBytes) > 1; });
}

SmallVector<int64_t> tilewright::longTrips(AffineForOp root, int64_t lanes) {
  SmallVector<int64_t> all = {lanes / 2};
  if (FailureOr<Nest> nest = analyzeNest(root); succeeded(nest))
    for (std::optional<int64_t> trips : nest->tripCounts)
      if (trips && *trips > 2 && *trips < lanes / 2)
        all.push_back(*trips);
  llvm::sort(all, std::greater<int64_t>());
  all.erase(llvm::unique(all), all.end());
  return all;
}

std::unique_ptr<Transposition> tilewright::recognizeTransposition(AffineForOp root, int64_t lanes, int64_t least,
                                                                  int64_t sectorBytes) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest) || nest->stores.size() != 1)
    return nullptr;
  auto found = std::make_unique<Transposition>(); // staged loads point into it
  Transposition &task = *found;
  task.nest = std::move(*nest);
  const Nest &n = task.nest;
  const Access &store = n.stores.front();
  auto isPlain = [](const Access &access) {
    Type type = elementOf(access.memref);
    return typeOf(access).getLayout().isIdentity() && type.isIntOrFloat() &&
           (type.isInteger(1) || type.getIntOrFloatBitWidth() >= 8);
  };
  if (!store.isOwn(n.depth()) || !isPlain(store) || !isElementwise(n))
    return nullptr;
  llvm::SmallBitVector gone = mergeLoops(task);
  std::optional<TileRun> stored = runOf(task, gone, store, least);
  if (!stored || (least < lanes / 2 && !isScattered(task, gone, lanes, sectorBytes)))
    return nullptr;
  task.stored = *stored;
  task.columns = stored->wide;
  bool saves = false;
  for (const Access &load : n.loads) {
    if (load.memref == store.memref || !isPlain(load))
      return nullptr;
    for (AffineExpr expr : load.map.getResults())
      for (unsigned dim = 0; dim < n.depth(); ++dim)
        if (!linearCoefficient(expr, dim))
          return nullptr;
    std::optional<int64_t> along = load.stride(task.columns);
    if (along == 0 || along == 1) {
      saves |= stored->factor > 1 && along == 1;
      continue;
    }
    std::optional<TileRun> run = runOf(task, gone, load, least);
    if (!run) // windows and the like, along one long dimension
      for (unsigned dim = 0; dim < n.depth() && !run; ++dim)
        if (!gone.test(dim) && dim != task.columns && load.stride(dim) == 1 &&
            task.trips(dim).value_or(least) >= least && task.merged[dim].empty())
          run = TileRun{{}, dim, 1, unsigned(load.map.getNumResults() - 1)};
    if (!run)
      continue;
    if (run->wide != task.columns) {
      if (task.rows && task.rows != run->wide)
        return nullptr;
      task.rows = run->wide;
    }
    saves |= run->factor * stored->factor == 1 || touchedAlong(task, *stored, load, lanes, sectorBytes) > 1;
    task.staged.push_back({&load, *run});
  }
  if (!saves)
    return nullptr;
  auto take = [&](const TileRun &run) {
    for (unsigned dim : run.shorts)
      if (!llvm::is_contained(task.shorts, dim))
        task.shorts.push_back(dim);
  };
  take(task.stored);
  for (const StagedLoad &each : task.staged)
    take(each.run);
  int64_t together = 1;
  for (unsigned dim : task.shorts)
    together *= *task.trips(dim);
  if (together > mostShort)
    return nullptr;
  for (unsigned dim = 0; dim < n.depth(); ++dim)
    if (!gone.test(dim) && dim != task.rows && dim != task.columns && !llvm::is_contained(task.shorts, dim))
      task.outer.push_back(dim);
  // Blocks for the outer dimensions: one index, all extents but the first constant.
  for (unsigned i = 1; i < task.outer.size(); ++i)
    if (!task.trips(task.outer[i]))
      return nullptr;
  return found;
}
