//===- NestRange.cpp - Nests that may share tiles ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a range of nests needs, by the sets of elements that they touch.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Schedule/NestRange.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/LoopDependence.h"
#include "core/Analysis/Nest.h"
#include "core/Analysis/TileSets.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

double NestRange::saved(const MemoryModel &model, double tiles) const {
  double seconds = 0;
  for (double each : handedOn)
    seconds += model.moveSeconds(each, 0) - tiles * model.moveSeconds(each / tiles, 0);
  return seconds;
}

void tilewright::accessesOf(Operation *root,
                            llvm::function_ref<void(Operation *op, Value memref, bool isStore)> visit) {
  root->walk([&](Operation *op) {
    if (auto load = dyn_cast<AffineLoadOp>(op))
      visit(op, load.getMemRef(), /*isStore=*/false);
    else if (auto store = dyn_cast<AffineStoreOp>(op))
      visit(op, store.getMemRef(), /*isStore=*/true);
  });
}

/// Whether all that `writer` writes of `memref` is touched by `last`, so that the tiles of `last` leave nothing out.
static bool isCoveredBy(AffineForOp last, AffineForOp writer, Value memref) {
  TileSets sets(*writer->getBlock());
  TileRelation written = sets.touched(memref, {writer}), touched = sets.touched(memref, {last});
  return written && touched && written.isWithin(touched);
}

/// Whether tiles of `last` touch boxes of `memref` that have no element in common: then another nest may prepare each
/// of them before its tile.
static bool hasOwnBoxes(const Nest &last, Value memref) {
  const Access *first = nullptr;
  for (const Access &access : llvm::concat<const Access>(last.loads, last.stores)) {
    if (access.memref != memref)
      continue;
    if (first && (access.map != first->map || access.symbols != first->symbols))
      return false;
    first = &access;
  }
  return ownDims(first->map).has_value();
}

/// Whether each iteration of the nest reads of `memref` the element that it writes alone.
static bool readsWhatItWrites(AffineForOp root, Value memref) {
  FailureOr<Nest> nest = analyzeNest(root);
  if (failed(nest))
    return false;
  const Access *store = llvm::find_if(nest->stores, [&](const Access &each) { return each.memref == memref; });
  return store != nest->stores.end() && llvm::all_of(nest->loads, [&](const Access &load) {
           return load.memref != memref || (load.map == store->map && load.symbols == store->symbols);
         });
}

/// Whether loop `d` of the nest indexes nothing that it stores.
static bool isSummed(const Nest &nest, unsigned d) {
  return llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(d); });
}

static bool sumsUp(const Nest &nest) {
  return llvm::any_of(llvm::seq(nest.depth()), [&](unsigned d) { return isSummed(nest, d); });
}

SmallVector<AffineForOp> tilewright::withEarlyResults(ArrayRef<AffineForOp> nests) {
  struct Arrays {
    llvm::SmallPtrSet<Value, 4> read, written;
    bool leadsToSum = false;
    bool reads(const Arrays &other) const {
      return llvm::any_of(other.written, [&](Value each) { return read.contains(each); });
    }
    bool touchesWhatIsWrittenBy(const Arrays &other) const {
      return reads(other) || llvm::any_of(other.written, [&](Value each) { return written.contains(each); });
    }
  };
  llvm::DenseMap<Operation *, Arrays> arrays;
  for (AffineForOp nest : nests)
    accessesOf(nest, [&](Operation *, Value memref, bool isStore) {
      Arrays &own = arrays[nest];
      (isStore ? own.written : own.read).insert(memref);
    });
  for (size_t at = nests.size(); at-- > 0;) {
    AffineForOp nest = nests[at];
    Arrays &own = arrays[nest];
    FailureOr<Nest> analysed = analyzeNest(nest);
    own.leadsToSum =
        (succeeded(analysed) && sumsUp(*analysed)) || llvm::any_of(nests.drop_front(at + 1), [&](AffineForOp later) {
          const Arrays &others = arrays[later];
          return others.leadsToSum && others.touchesWhatIsWrittenBy(own);
        });
  }
  SmallVector<AffineForOp> order;
  for (AffineForOp nest : nests) {
    const Arrays &own = arrays[nest];
    size_t at = order.size();
    while (!own.leadsToSum && at > 0 && !own.touchesWhatIsWrittenBy(arrays[order[at - 1]]) &&
           !arrays[order[at - 1]].touchesWhatIsWrittenBy(own))
      --at;
    order.insert(order.begin() + (at ? at : order.size()), nest); // one that reads nothing of others stays
  }
  return order;
}

/// Whether arrays that they write lead from each nest to the last one, whose tiles then say what of the others they
/// need.
static bool isConnected(const NestRange &range) {
  llvm::SmallPtrSet<void *, 16> written;
  llvm::EquivalenceClasses<void *> classes; // of nests and arrays
  for (AffineForOp nest : range.nests)
    accessesOf(nest, [&](Operation *, Value memref, bool isStore) {
      classes.insert(nest.getOperation());
      if (isStore)
        written.insert(memref.getAsOpaquePointer());
    });
  for (AffineForOp nest : range.nests)
    accessesOf(nest, [&](Operation *, Value memref, bool) {
      if (written.contains(memref.getAsOpaquePointer()))
        classes.unionSets(memref.getAsOpaquePointer(), nest.getOperation());
    });
  return llvm::all_of(range.nests, [&](AffineForOp nest) {
    return classes.isEquivalent(nest.getOperation(), AffineForOp(range.nests.back()).getOperation());
  });
}

std::optional<NestRange> tilewright::findRange(ArrayRef<AffineForOp> nests, ArrayRef<Nest> analysed, double apart,
                                               bool keepsResults, CoveredArrays &covered) {
  NestRange range;
  range.nests.assign(nests.begin(), nests.end());
  range.analysed = analysed;
  range.apart = apart;
  AffineForOp last = nests.back();
  auto isInside = [&](Operation *user) {
    return isa<memref::DeallocOp>(user) ||
           llvm::any_of(nests, [&](AffineForOp nest) { return nest->isAncestor(user); });
  };
  auto isBetween = [&](Value memref) {
    auto buffer = memref.getDefiningOp<memref::AllocOp>();
    return buffer && buffer.getType().hasStaticShape() && buffer.getType().getLayout().isIdentity() &&
           llvm::all_of(memref.getUsers(), isInside);
  };
  llvm::SmallSetVector<Value, 8> between, byLast;
  accessesOf(last, [&](Operation *, Value memref, bool isStore) {
    if (isStore && !isBetween(memref))
      byLast.insert(memref);
  });
  bool isLegal = true;
  llvm::SmallSetVector<Value, 8> results; // of nests before the last
  llvm::SmallDenseSet<Value> readFirst;   // by nests before any that write it
  for (AffineForOp nest : nests) {
    nest->walk([&](AffineForOp loop) {
      range.hasMasks |= !llvm::all_of(loop.getInductionVar().getUsers(), [](Operation *user) {
        return isa<AffineLoadOp, AffineStoreOp, AffineApplyOp, AffineForOp>(user);
      });
    });
    llvm::SmallSetVector<Value, 4> filled, readBack;
    accessesOf(nest, [&](Operation *, Value memref, bool isStore) {
      if (isBetween(memref))
        between.insert(memref);
      else if (nest == last)
        return;
      else if (isStore)
        filled.insert(memref);
      else if (byLast.contains(memref))
        readBack.insert(memref);
    });
    accessesOf(nest, [&](Operation *, Value memref, bool) {
      if (!filled.contains(memref) && !results.contains(memref))
        readFirst.insert(memref);
    });
    // Other tiles may have written what it reads, but for an element that it goes on with itself.
    for (Value memref : readBack)
      isLegal &= readsWhatItWrites(nest, memref);
    // A nest before may prepare what the last one goes on with, and that alone.
    for (Value memref : filled) {
      if (keepsResults && !byLast.contains(memref)) {
        // What it held before is of no use, but for an element that the nest goes on with.
        isLegal &= !results.insert(memref) || (!readFirst.contains(memref) && readsWhatItWrites(nest, memref));
        continue;
      }
      isLegal = isLegal && byLast.contains(memref) && hasOwnBoxes(analysed.back(), memref);
      if (!isLegal)
        break;
      auto [entry, isNew] = covered.try_emplace({last, nest, memref.getAsOpaquePointer()}, false);
      if (isNew)
        entry->second = isCoveredBy(last, nest, memref);
      isLegal = entry->second;
    }
    if (!isLegal)
      return std::nullopt;
  }
  for (Value memref : between) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.getElementType().isIntOrFloat())
      return std::nullopt;
    range.bytes += type.getNumElements() * elementBytes(type.getElementType());
  }
  range.between = between.takeVector();
  if (range.between.empty() || (keepsResults && !isConnected(range)))
    return std::nullopt;
  return range;
}

/// Whether the iterations of `nest` read each element of the array, by indices that count like the digits of numbers.
static bool readsAll(const Nest &nest, const Access &load) {
  auto type = cast<MemRefType>(load.memref.getType());
  llvm::SmallBitVector used(nest.depth());
  for (auto [index, size] : llvm::zip_equal(load.map.getResults(), type.getShape())) {
    SmallVector<std::pair<int64_t, unsigned>> digits; // factors of loops
    for (unsigned d = 0; d < nest.depth(); ++d) {
      if (!index.isFunctionOfDim(d))
        continue;
      std::optional<int64_t> factor = linearCoefficient(index, d);
      if (!factor || used.test(d))
        return false;
      used.set(d);
      digits.push_back({*factor, d});
    }
    llvm::sort(digits);
    int64_t elements = 1;
    for (auto [factor, d] : digits) {
      if (factor != elements)
        return false;
      elements *= nest.tripCounts[d].value_or(0);
    }
    if (elements != size)
      return false;
  }
  return true;
}

SmallVector<size_t> tilewright::neededNests(const NestRange &range) {
  SmallVector<size_t> needed;
  for (size_t at = range.nests.size(); at-- > 0;)
    if (llvm::any_of(range.analysed[at].stores, [&](const Access &store) {
          return !llvm::is_contained(range.between, store.memref) || llvm::any_of(needed, [&](size_t reader) {
            const Nest &nest = range.analysed[reader];
            return nest.body->getOps<AffineIfOp>().empty() && llvm::any_of(nest.loads, [&](const Access &load) {
                     return load.memref == store.memref && readsAll(nest, load);
                   });
          });
        }))
      needed.push_back(at);
  return needed;
}

int64_t tilewright::longestSum(ArrayRef<Nest> nests) {
  int64_t longest = 1;
  for (const Nest &nest : nests) {
    for (unsigned d = 0; d < nest.depth(); ++d)
      if (isSummed(nest, d))
        longest = std::max(longest, *nest.tripCounts[d]);
  }
  return longest;
}

namespace {
/// What a loop of the last nest is to the last sum.
struct RowLoop {
  enum Kind { None, Windows, Rows, Columns, Batch } kind = None; // windows: neighbours of its iterations read the same
  Value operand;                                                 // of columns: what they index
};
} // namespace

/// The loop of the nest that wrote what `read`, of nest `at`, reads where its loop `d` is the index; nullopt: none of
/// the range did. `at` becomes that nest.
static std::optional<unsigned> loopOfWriter(const NestRange &range, size_t &at, const Access &read, unsigned d) {
  auto *position = llvm::find_if(read.map.getResults(), [&](AffineExpr index) { return index.isFunctionOfDim(d); });
  while (at > 0 && position != read.map.getResults().end()) {
    const Nest &writer = range.analysed[--at];
    for (const Access &store : writer.stores)
      for (unsigned e = 0; e < writer.depth() && store.memref == read.memref; ++e)
        if (store.map.getResult(position - read.map.getResults().begin()).isFunctionOfDim(e))
          return e;
  }
  return std::nullopt;
}

/// Whether loop `d` of nest `at` indexes all that it sums up, and all that the nests sum up which compute that. What
/// others read, as a mask that all heads share, may be the same for all of its iterations.
static bool indexesAll(const NestRange &range, size_t at, unsigned d) {
  llvm::SetVector<std::pair<size_t, unsigned>> todo; // nests and loops
  todo.insert({at, d});
  for (size_t i = 0; i < todo.size(); ++i) {
    auto [number, loop] = todo[i];
    const Nest &nest = range.analysed[number];
    bool sums = false;
    for (unsigned e = 0; e < nest.depth(); ++e)
      sums |= llvm::none_of(nest.stores, [&](const Access &store) { return store.map.isFunctionOfDim(e); });
    for (const Access &load : nest.loads) {
      if (!load.map.isFunctionOfDim(loop)) {
        if (sums)
          return false;
        continue;
      }
      size_t writer = number;
      if (std::optional<unsigned> own = loopOfWriter(range, writer, load, loop))
        todo.insert({writer, *own});
    }
  }
  return true;
}

/// What loop `d` of the last nest indexes of what the last sum reads.
static RowLoop rowLoopOf(const NestRange &range, unsigned d, bool withWindows) {
  for (size_t at = range.nests.size() - 1;;) {
    const Nest &nest = range.analysed[at];
    auto isWritten = [&](Value memref) {
      return llvm::any_of(nest.stores, [&](const Access &store) { return store.memref == memref; });
    };
    const bool isSum = sumsUp(nest);
    // Of a nest without a sum, what it goes on with, or the first array that it reads.
    const Access *read = nullptr;
    bool isRow = false, hasWindows = false;
    for (const Access &load : nest.loads)
      if (llvm::is_contained(range.between, load.memref) || (!withWindows && !isSum && isWritten(load.memref))) {
        bool isIndex = llvm::any_of(load.map.getResults(), [&](AffineExpr index) {
          return withWindows ? index.isFunctionOfDim(d) : index == getAffineDimExpr(d, index.getContext());
        });
        isRow |= !isWritten(load.memref) && isIndex;
        hasWindows |= llvm::any_of(load.map.getResults(), [&](AffineExpr index) {
          return index.isFunctionOfDim(d) && !isa<AffineDimExpr>(index);
        });
        if (!read || (isWritten(load.memref) && !isWritten(read->memref)))
          read = &load;
      }
    if (isSum || !read) {
      auto isIndexed = [&](const Access &load) { return load.map.isFunctionOfDim(d); };
      const bool isBatch = llvm::all_of(nest.loads, isIndexed);
      if (isRow && isBatch && indexesAll(range, at, d))
        return {RowLoop::Batch, {}};
      if (isRow)
        return {hasWindows && withWindows ? RowLoop::Windows : RowLoop::Rows, {}};
      if (!isSum || withWindows)
        return {};
      if (isBatch)
        return {RowLoop::Batch, {}};
      const auto *operand =
          llvm::find_if(nest.loads, [&](const Access &load) { return !isWritten(load.memref) && isIndexed(load); });
      return operand == nest.loads.end() ? RowLoop{} : RowLoop{RowLoop::Columns, operand->memref};
    }
    if (!read->map.isFunctionOfDim(d))
      return {};
    // On to the nest that wrote it, in its own loop over the same dimension.
    std::optional<unsigned> loop = loopOfWriter(range, at, *read, d);
    if (!loop)
      return {RowLoop::Rows, {}};
    d = *loop;
  }
}

/// Whether the last sum of the range reads what another nest of it computes.
static bool lastSumReadsRange(const NestRange &range) {
  const auto *sum = llvm::find_if(llvm::reverse(range.analysed), sumsUp).base();
  if (sum == range.analysed.begin())
    return false;
  --sum;
  return llvm::any_of(sum->loads, [&](const Access &load) {
    return llvm::is_contained(range.between, load.memref) &&
           llvm::none_of(sum->stores, [&](const Access &store) { return store.memref == load.memref; });
  });
}

void tilewright::findCuts(NestRange &range, bool withWindows) {
  const Nest &last = range.analysed.back();
  SmallVector<unsigned, 4> batch, rows, windows;
  SmallVector<std::pair<unsigned, Value>, 4> columns;
  for (unsigned d = 0; d < last.depth() && isParallelLoop(last.loops[d]); ++d) {
    RowLoop loop = rowLoopOf(range, d, withWindows);
    if (loop.kind == RowLoop::None || (!withWindows && last.tripCounts[d] == 1))
      continue;
    if (loop.kind == RowLoop::Columns)
      columns.push_back({d, loop.operand});
    else
      (loop.kind == RowLoop::Batch ? batch : loop.kind == RowLoop::Rows ? rows : windows).push_back(d);
  }
  rows.append(windows); // what they cut computes something twice
  range.hasRows = !rows.empty();
  if (!withWindows && rows.empty() && !columns.empty() && !lastSumReadsRange(range)) {
    const Value ofRows = columns.front().second;
    for (auto [d, operand] : columns)
      if (operand == ofRows)
        rows.push_back(d);
    llvm::erase_if(columns, [&](auto &each) { return each.second == ofRows; });
    range.hasRows = range.sharesRows = true;
  }
  if (!withWindows && columns.size() == 1)
    range.columns = columns.front().first;
  if (rows.empty() && !withWindows) {
    int64_t uncut = -int64_t(batch.size());
    for (unsigned d = 0; d < last.depth(); ++d)
      uncut += last.tripCounts[d] != 1 && last.stores.front().dims().test(d);
    if (uncut > 1)
      batch.clear();
  }
  batch.append(rows);
  range.cuts = batch;
}
