//===- UnrollTaps.cpp - Windows with results as lanes ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks reductions whose neighbouring results are contiguous (poolings,
// depthwise convolutions, sums over a few channels) so that results become
// lanes: the innermost tap loops are written out, the others stand around the
// row of results. The order of the taps of one result is kept.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Elementwise.h"
#include "core/Analysis/RowReuse.h"
#include "core/CostModel/Schedules/TapModel.h"
#include "core/Transforms/Nests/NestVectorizer.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "core/Transforms/Utils/SplitNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_UNROLLTAPS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// A nest that combines taps into the elements of one or more results: loops that index every result (its space, in
/// the order of the results' dimensions) and loops that index none (taps, outermost first).
struct Window {
  Nest nest;
  SmallVector<unsigned> space, taps;
};

/// The loops of `map`, in order of its results; failure unless each loop stands in one result, alone and linearly.
FailureOr<SmallVector<unsigned>> loopsOf(AffineMap map) {
  SmallVector<unsigned> loops;
  for (AffineExpr index : map.getResults()) {
    std::optional<unsigned> found;
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim) {
      std::optional<int64_t> factor = linearCoefficient(index, dim);
      if (!factor || (*factor != 0 && (found || llvm::is_contained(loops, dim))))
        return failure();
      if (*factor != 0)
        found = dim;
    }
    if (found)
      loops.push_back(*found);
  }
  return loops;
}

/// Space loops are parallel then, and the nest is the same in any order of loops that keeps that of the taps.
std::optional<Window> recognizeWindow(AffineForOp root) {
  auto nest = analyzeNest(root);
  if (failed(nest) || nest->stores.empty())
    return std::nullopt;
  auto space = loopsOf(nest->stores.front().map);
  if (failed(space) || space->empty() || space->size() == nest->depth())
    return std::nullopt;
  for (const Access &store : nest->stores) {
    auto same = loopsOf(store.map);
    if (failed(same) || store.dims() != nest->stores.front().dims())
      return std::nullopt;
    for (const Access &other : llvm::concat<const Access>(nest->loads, nest->stores))
      if (other.memref == store.memref && other.op != store.op &&
          (other.isStore || other.map != store.map || other.symbols != store.symbols))
        return std::nullopt;
  }
  Window window{std::move(*nest), std::move(*space), {}};
  for (unsigned dim = 0; dim < window.nest.depth(); ++dim)
    if (!llvm::is_contained(window.space, dim))
      window.taps.push_back(dim);
  return window;
}

/// Whether taps lie side by side, and a nest of the same block reads a result for each of several elements, as what
/// normalises the rows of which it is the sum: both belong into one loop over the rows, where taps are lanes.
bool isPartOfRows(const Window &window) {
  auto isSideBySide = [&](unsigned tap) {
    return llvm::all_of(window.nest.loads,
                        [&](const Access &load) { return !load.dims().test(tap) || load.stride(tap) == 1; });
  };
  if (llvm::none_of(window.taps, isSideBySide))
    return false;
  Operation *root = window.nest.loops.front();
  for (const Access &store : window.nest.stores) {
    llvm::SmallSetVector<Operation *, 4> readers;
    for (Operation *user : store.memref.getUsers())
      if (Operation *loop = root->getBlock()->findAncestorOpInBlock(*user); loop && loop != root)
        readers.insert(loop);
    for (Operation *reader : readers) {
      auto loop = dyn_cast<AffineForOp>(reader);
      auto other = loop ? analyzeNest(loop) : FailureOr<Nest>(failure());
      if (failed(other) || other->stores.empty())
        continue;
      for (const Access &load : other->loads)
        if (load.memref == store.memref && load.dims().count() < other->depth() &&
            llvm::any_of(other->stores,
                         [&](const Access &result) { return result.dims().count() > load.dims().count(); }))
          return true;
    }
  }
  return false;
}

/// Whether windows of results that are neighbours, but not in the loop `lane`, have elements in common.
bool overlaps(const Window &window, unsigned lane) {
  for (const Access &load : window.nest.loads)
    for (unsigned row : window.space)
      for (unsigned tap : window.taps)
        if (row != lane && rereadAfter(load, row, tap, window.nest.tripCounts[tap]))
          return true;
  return false;
}

/// Writes a window anew: space loops but the last (`rows`), tap loops that stay, `lane`, written-out taps.
class WindowWriter {
public:
  WindowWriter(const Window &window, unsigned lane, unsigned written, bool mayReassociate)
      : nest(window.nest), rows(window.space), staying(window.taps),
        writtenOut(ArrayRef(window.taps).take_back(written)) {
    staying.truncate(staying.size() - written);
    addsAtEnd = mayReassociate && !staying.empty() && NestVectorizer::hasLongSums(nest) &&
                llvm::all_of(nest.stores, [&](const Access &store) {
                  std::optional<CombinedElement> element = combinedElement(nest, store);
                  return element && isa<arith::AddFOp>(element->combine);
                });
    if (!staying.empty())
      std::swap(*llvm::find(rows, lane), rows.back());
    loops = rows;
    loops.insert(loops.end() - 1, staying.begin(), staying.end());
  }

  /// Whether the nest is of this form already.
  bool isWritten() const { return writtenOut.empty() && llvm::equal(loops, llvm::seq<unsigned>(0, nest.depth())); }

  void write() {
    OpBuilder b(nest.loops.front());
    ivs.assign(nest.depth(), Value());
    for (unsigned dim : loops) {
      AffineForOp original = nest.loops[dim];
      auto loop =
          AffineForOp::create(b, original.getLoc(), original.getLowerBoundOperands(), original.getLowerBoundMap(),
                              original.getUpperBoundOperands(), original.getUpperBoundMap());
      ivs[dim] = loop.getInductionVar();
      b.setInsertionPointToStart(loop.getBody());
    }
    llvm::SmallDenseMap<Value, Value> before;
    for (const Access &store : nest.stores)
      for (const Access &load : nest.loads)
        if (load.memref == store.memref && !results.contains(store.memref)) {
          Value &result = results[store.memref];
          before[store.memref] = result = read(b, load);
          if (addsAtEnd) { // constants stand before all nests, which passes move
            auto function = AffineForOp(nest.loops.front())->getParentOfType<func::FuncOp>();
            OpBuilder front = OpBuilder::atBlockBegin(&function.getBody().front());
            result = arith::ConstantOp::create(front, store.op->getLoc(), front.getFloatAttr(result.getType(), -0.0));
          }
        }
    writeTaps(b, 0);
    for (const Access &store : nest.stores) {
      auto [map, operands] = place(store);
      Value result = results[store.memref];
      if (addsAtEnd)
        result = arith::AddFOp::create(b, cast<AffineStoreOp>(store.op).getValueToStore().getLoc(),
                                       before[store.memref], result);
      AffineStoreOp::create(b, store.op->getLoc(), result, store.memref, map, operands);
    }
    AffineForOp(nest.loops.front()).erase();
  }

private:
  /// Indices of an access in the new nest, with the numbers of the written-out taps put in.
  std::pair<AffineMap, SmallVector<Value>> place(const Access &access) const {
    MLIRContext *context = access.map.getContext();
    SmallVector<AffineExpr> dims;
    SmallVector<Value> operands;
    for (unsigned dim = 0; dim < nest.depth(); ++dim) {
      const auto *tap = llvm::find(writtenOut, dim);
      if (tap != writtenOut.end() && size_t(tap - writtenOut.begin()) < numbers.size()) {
        dims.push_back(getAffineConstantExpr(numbers[tap - writtenOut.begin()], context));
      } else if (ivs[dim]) {
        dims.push_back(getAffineDimExpr(operands.size(), context));
        operands.push_back(ivs[dim]);
      } else {
        dims.push_back(getAffineConstantExpr(0, context)); // an index of results, which no tap names
      }
    }
    unsigned count = operands.size();
    operands.append(access.symbols.begin(), access.symbols.end());
    AffineMap map = simplifyAffineMap(access.map.replaceDimsAndSymbols(dims, {}, count, access.symbols.size()));
    canonicalizeMapAndOperands(&map, &operands);
    return {map, operands};
  }

  Value read(OpBuilder &b, const Access &load) const {
    auto [map, operands] = place(load);
    return AffineLoadOp::create(b, load.op->getLoc(), load.memref, map, operands);
  }

  /// The body for every combination of the written-out taps from number `depth` on, in their order.
  void writeTaps(OpBuilder &b, unsigned depth) {
    if (depth == writtenOut.size())
      return writeBody(b);
    for (int64_t number = 0; number < *nest.tripCounts[writtenOut[depth]]; ++number) {
      numbers.push_back(number);
      writeTaps(b, depth + 1);
      numbers.pop_back();
    }
  }

  void writeBody(OpBuilder &b) {
    IRMapping mapping;
    for (unsigned dim = 0; dim < nest.depth(); ++dim) {
      Value iv = AffineForOp(nest.loops[dim]).getInductionVar();
      if (ivs[dim])
        mapping.map(iv, ivs[dim]);
      else if (usesNumber(nest.loops[dim]))
        mapping.map(iv, arith::ConstantIndexOp::create(b, iv.getLoc(),
                                                       numbers[llvm::find(writtenOut, dim) - writtenOut.begin()])
                            .getResult());
    }
    SmallVector<Operation *> applied;
    for (Operation &op : nest.body->without_terminator()) {
      if (auto store = dyn_cast<AffineStoreOp>(op)) {
        results[store.getMemRef()] = mapping.lookupOrDefault(store.getValueToStore());
      } else if (auto load = dyn_cast<AffineLoadOp>(op)) {
        auto known = results.find(load.getMemRef());
        mapping.map(load.getResult(),
                    known != results.end()
                        ? known->second
                        : read(b, *llvm::find_if(nest.loads, [&](const Access &a) { return a.op == &op; })));
      } else {
        Operation *clone = b.clone(op, mapping);
        if (isa<AffineApplyOp>(clone))
          applied.push_back(clone);
      }
    }
    // Indices of accesses are part of their maps.
    for (Operation *op : llvm::reverse(applied))
      if (op->use_empty())
        op->erase();
  }

  const Nest &nest;
  SmallVector<unsigned> rows, staying, loops;
  ArrayRef<unsigned> writtenOut;
  SmallVector<Value> ivs;                    // of the loops of the new nest; null for written-out taps
  SmallVector<int64_t> numbers;              // of the written-out taps
  llvm::SmallDenseMap<Value, Value> results; // what each result holds at this place
  bool addsAtEnd = false; // the sums of written-out taps, to what loops around them add up: fewer additions in a row
};

struct UnrollTaps : tilewright::impl::UnrollTapsBase<UnrollTaps> {
  void visit(AffineForOp root, const MemoryModel &model, bool mayReassociate) {
    std::optional<Window> window = recognizeWindow(root);
    if (!window || isPartOfRows(*window))
      return;
    const Nest &nest = window->nest;
    NestVectorizer vectorizer(nest, model, mayReassociate);
    auto costs = vectorizer.laneCosts();
    if (costs.empty())
      return;
    SmallVector<unsigned> rows(window->space);
    llvm::erase_if(rows, [&](unsigned dim) { return nest.tripCounts[dim].value_or(2) <= 1; });
    const std::optional<unsigned> lane = NestVectorizer::cheapestLane(costs, rows);
    if (!lane)
      return;
    TapQuestion question;
    question.lanes = vectorizer.width();
    question.results = static_cast<double>(nest.stores.size());
    for (unsigned dim : window->taps) {
      question.trips.push_back(nest.tripCounts[dim]);
      if (costs[dim] && (!question.over || costs[dim]->total() < *question.over))
        std::tie(question.over, question.row) =
            std::pair(costs[dim]->total(), nest.tripCounts[dim].value_or(question.lanes));
    }
    auto isResult = [&](const Access &load) {
      return llvm::any_of(nest.stores, [&](const Access &store) { return store.memref == load.memref; });
    };
    question.loads = costs[*lane]->loads - static_cast<double>(llvm::count_if(nest.loads, isResult));
    question.gathers = costs[*lane]->gathers;
    question.returns = costs[*lane]->returns;
    question.idle = costs[*lane]->idle;
    question.uniform = llvm::count_if(nest.loads, [&](const Access &load) {
      return !isResult(load) && !load.dims().test(*lane) &&
             llvm::any_of(window->taps, [&](unsigned tap) { return load.dims().test(tap); });
    });
    question.shared = overlaps(*window, *lane);
    question.scalar = static_cast<double>(nest.loads.size() + nest.stores.size());
    TapAnswer answer = chooseTaps(question, model);

    if (DecisionLog *log = DecisionLog::of(&getContext())) {
      llvm::json::Array candidates, trips;
      for (const TapCandidate &candidate : answer.along)
        candidates.push_back(llvm::json::Object{
            {"lanes_over", "results"}, {"taps_written_out", candidate.taps}, {"accesses", candidate.accesses}});
      if (answer.over)
        candidates.push_back(llvm::json::Object{{"lanes_over", "taps"}, {"accesses", *answer.over}});
      candidates.push_back(llvm::json::Object{{"lanes_over", "none"}, {"accesses", answer.scalar}});
      for (std::optional<int64_t> count : question.trips)
        trips.push_back(count ? llvm::json::Value(*count) : llvm::json::Value(nullptr));
      llvm::json::Object choice{{"lanes_over", answer.choice ? "results" : answer.over ? "taps" : "none"}};
      if (answer.choice)
        choice["taps_written_out"] = answer.choice->taps;
      log->add("unroll-taps", root,
               llvm::json::Object{{"inputs", llvm::json::Object{{"taps", std::move(trips)}, {"lanes", question.lanes}}},
                                  {"choice", std::move(choice)},
                                  {"candidates", std::move(candidates)}});
    }
    if (!answer.choice)
      return;
    WindowWriter writer(*window, *lane, answer.choice->written, mayReassociate);
    if (!writer.isWritten())
      writer.write();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    LogicalResult done = withMemoryModel(function, [&](const NestContext &context) {
      for (AffineForOp root : nestRoots(function))
        visit(root, context.model, context.settings.mayReassociate());
    });
    if (failed(done))
      signalPassFailure();
  }
};

} // namespace
