//===- NestTime.cpp - Modelled time of nests without a plan ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts what a nest moves and computes, and asks the model of passes over memory.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Utils/NestTime.h"
#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/Nest.h"
#include "core/CostModel/Machine/AssumedSizes.h"
#include "core/CostModel/Machine/PassModel.h"
#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "tilewright/Explain.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include <cmath>
#include <map>
#include <numeric>

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// One access as the loops around it index it.
struct Indexing {
  /// Of one index: what a step of each loop adds, 0 of loops that are not in it; and the rest.
  struct Index {
    llvm::SmallVector<int64_t> steps;
    int64_t constant = 0;
    bool isLinear = true;
    bool has(size_t loop) const { return !isLinear || steps[loop] != 0; }
  };
  llvm::SmallVector<Index> indices;
  Value memref;
  unsigned bits = 64; // of an element
  int64_t bytes = 8;
  bool isStore = false;

  bool has(size_t loop) const {
    return llvm::any_of(indices, [&](const Index &each) { return each.has(loop); });
  }
  /// Whether `loop` is in the last index alone, by this step; 0: any.
  bool isAlong(size_t loop, int64_t step) const {
    return !indices.empty() && indices.back().isLinear && indices.back().steps[loop] != 0 &&
           (step == 0 || std::abs(indices.back().steps[loop]) == step) &&
           llvm::none_of(ArrayRef(indices).drop_back(), [&](const Index &each) { return each.has(loop); });
  }
  bool isSameElement(const Indexing &other) const {
    return memref == other.memref && llvm::equal(indices, other.indices, [](const Index &a, const Index &b) {
             return a.isLinear && b.isLinear && a.steps == b.steps && a.constant == b.constant;
           });
  }
};

/// Counts below one root.
class Census {
public:
  Census(Operation *root, const PassModel &model) : root(root), model(model) { visit(root); }

  PassWork work() const {
    PassWork result = counted;
    for (const auto &[memref, places] : read)
      result.read += bytesOf(memref, places);
    for (const auto &[memref, places] : written) {
      const double bytes = bytesOf(memref, places);
      result.written += bytes;
      if (auto both = read.find(memref); both != read.end())
        result.again += std::min(bytes, bytesOf(memref, both->second));
    }
    return result;
  }
  double operations = 0;

private:
  /// Bytes of an array by the places that accesses reach alike: which indices, and their remainders by the steps.
  using Places = std::map<std::vector<std::vector<std::pair<int64_t, double>>>, std::map<std::vector<int64_t>, double>>;

  struct Loop {
    Value variable;
    double trips;
  };

  void visit(Operation *op) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (loop) {
      loops.push_back({loop.getInductionVar(), double(getConstantTripCount(loop).value_or(assumedRowExtent))});
      depths[loop.getInductionVar()] = loops.size();
    }
    PassWork own; // of the innermost body
    const bool isBody = loop && model.onCaches() && loop.getBody()->getOps<AffineForOp>().empty();
    if (isBody) {
      current = &own;
      enterBody(*loop.getBody());
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Operation &each : block)
          visit(&each);
    if (isBody) {
      counted.core += model.coreSeconds(own);
      current = &counted;
    }
    if (loop) {
      lane.reset();
      lanes = 1;
      loops.pop_back();
    } else if (isa<AffineReadOpInterface, AffineWriteOpInterface>(op)) {
      const Indexing own = indexingOf(op);
      access(own);
      if (!own.isStore)
        depths[op->getResult(0)] = depthOf(own);
    } else if (op->getNumResults() && op->getNumRegions() == 0 && op->getResult(0).getType().isIntOrFloat()) {
      compute(op);
    }
  }

  double iterations() const {
    double product = 1;
    for (const Loop &loop : loops)
      product *= loop.trips;
    return product;
  }
  /// Iterations of the outermost `depth` loops, vectors of the loop whose iterations are elements of one.
  double vectors(size_t depth) const {
    double product = 1;
    for (size_t i = 0; i < depth; ++i)
      product *= lane == i ? std::ceil(loops[i].trips / double(lanes)) : loops[i].trips;
    return product;
  }

  Indexing indexingOf(Operation *op) const {
    const AffineAccess own = affineAccess(op);
    Indexing result;
    result.memref = own.memref;
    result.isStore = own.isStore;
    Type element = elementOf(own.memref);
    if (element.isIntOrFloat()) {
      result.bits = element.getIntOrFloatBitWidth();
      result.bytes = elementBytes(element);
    }
    for (AffineExpr expr : own.map.getResults()) {
      Indexing::Index index;
      for (const Loop &loop : loops) {
        int64_t step = 0;
        for (auto [place, operand] : llvm::enumerate(own.operands))
          if (operand == loop.variable && place < own.map.getNumDims()) {
            auto own = linearCoefficient(expr, place);
            index.isLinear &= own.has_value();
            step += own.value_or(0);
          }
        index.steps.push_back(step);
      }
      SmallVector<AffineExpr> zeros(std::max(own.map.getNumDims(), own.map.getNumSymbols()),
                                    getAffineConstantExpr(0, expr.getContext()));
      auto rest = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr.replaceDimsAndSymbols(zeros, zeros), 0, 0));
      index.constant = rest ? rest.getValue() : 0;
      result.indices.push_back(std::move(index));
    }
    return result;
  }

  /// Chooses the loop whose iterations are the elements of vectors: that with the least time of accesses, as the
  /// vectoriser does.
  void enterBody(Block &block) {
    body.clear();
    unsigned widest = 0;
    block.walk([&](Operation *op) {
      if (isa<AffineReadOpInterface, AffineWriteOpInterface>(op)) {
        body.push_back(indexingOf(op));
        widest = std::max(widest, body.back().bits);
      }
    });
    const int64_t width = widest ? model.lanes(widest) : 1;
    double least = std::numeric_limits<double>::infinity();
    for (size_t loop = loops.size(); width > 1 && loop-- > 0;) {
      double all = 0;
      for (const Indexing &each : body)
        if (each.has(loops.size() - 1)) {
          const VectorAccess own = vectorOf(each, loop, width);
          all += own.loads + own.shuffles * model.caches().shuffleLoads();
        }
      if (all < least && loops[loop].trips > 1) {
        least = all;
        lane = loop;
        lanes = width;
      }
    }
    // A sum along the lanes ends in halves.
    for (const Indexing &each : body)
      if (lane && each.isStore && !each.has(*lane)) {
        const double sums = vectors(loops.size()) / std::ceil(loops[*lane].trips / double(lanes));
        current->shuffles += sums * std::log2(double(lanes));
        current->arithmetic += sums * std::log2(double(lanes));
      }
  }

  /// Instructions that read or write one vector.
  struct VectorAccess {
    double loads = 1, shuffles = 0;
  };
  /// Of `access` by vectors along `loop`: side by side, every few elements of a row, transposed in registers, or each
  /// element alone.
  VectorAccess vectorOf(const Indexing &access, size_t loop, int64_t width) const {
    const MemoryModel &memory = model.caches();
    if (!access.has(loop) || access.isAlong(loop, 1))
      return {};
    if (access.isAlong(loop, 0)) {
      const int64_t step = std::abs(access.indices.back().steps[loop]);
      return memory.deinterleaves(step, width, access.bytes) ? VectorAccess{double(step), double(step - 1)}
                                                             : VectorAccess{memory.gatherLoads(width, access.bytes), 0};
    }
    const double each = memory.gatherLoads(width, access.bytes);
    const bool isTransposed =
        memory.turnedLoads(width) < each &&
        llvm::any_of(llvm::seq<size_t>(0, loops.size()), [&](size_t other) { return access.isAlong(other, 1); });
    return isTransposed ? VectorAccess{1, std::log2(double(width))} : VectorAccess{each, 0};
  }

  /// Whether vectors of `access` along `loop` touch two lines: they do not start at a multiple of their width.
  bool isCrossing(const Indexing &access, size_t loop) const {
    const Indexing::Index &last = access.indices.back();
    const int64_t row = cast<ShapedType>(access.memref.getType()).getShape().back();
    bool isAligned = last.constant % lanes == 0 && (access.indices.size() == 1 || row % lanes == 0);
    for (size_t other = 0; other < loops.size(); ++other)
      isAligned &= other == loop || last.steps[other] % lanes == 0;
    return !isAligned;
  }

  /// Counts the vectors that an access of a body takes. What does not move with the innermost loops stays in a
  /// register; a sum along an outer loop takes a few of its iterations at once.
  void countVectors(const Indexing &access) {
    size_t depth = loops.size();
    while (depth > 0 && !access.has(depth - 1))
      --depth;
    double times = vectors(depth);
    const bool isSum = llvm::any_of(
        body, [&](const Indexing &other) { return other.isStore != access.isStore && other.isSameElement(access); });
    for (size_t loop = 0; isSum && loop < depth; ++loop)
      if (!access.has(loop)) {
        times /= std::min(loops[loop].trips, double(model.caches().outerReductionSteps()));
        break;
      }
    if (!lane || !access.has(*lane)) {
      current->accesses += times;
      return;
    }
    const VectorAccess own = vectorOf(access, *lane, lanes);
    current->accesses += times * own.loads;
    current->shuffles += times * own.shuffles;
    if (access.isAlong(*lane, 1) && isCrossing(access, *lane))
      current->crossing += times;
  }

  void access(const Indexing &access) {
    if (model.onCaches())
      countVectors(access);
    else
      counted.accesses += iterations() / double(model.lanes(access.bits));
    if (Operation *definition = access.memref.getDefiningOp(); definition && root->isAncestor(definition))
      return;
    // What is written first is read from where it was just put.
    if (!access.isStore && written.contains(access.memref))
      return;
    std::vector<std::vector<std::pair<int64_t, double>>> steps;
    std::vector<int64_t> rests;
    llvm::SmallBitVector moves(loops.size());
    for (const Indexing::Index &index : access.indices) {
      int64_t common = 0;
      steps.emplace_back();
      for (auto [loop, step] : llvm::enumerate(index.steps))
        if (index.has(loop)) {
          moves.set(loop);
          steps.back().push_back({step, loops[loop].trips});
          common = std::gcd(common, step);
        }
      rests.push_back(common > 1 ? index.constant % common : common == 0 ? index.constant : 0);
    }
    double bytes = double(access.bytes);
    for (unsigned loop : moves.set_bits())
      bytes *= loops[loop].trips;
    double &most = (access.isStore ? written : read)[access.memref][steps][rests];
    most = std::max(most, bytes);
  }

  /// Different bytes of an array: at most all of it.
  static double bytesOf(Value memref, const Places &places) {
    double most = 0;
    for (const auto &[steps, parts] : places) {
      double all = 0;
      for (const auto &[rests, bytes] : parts)
        all += bytes;
      most = std::max(most, all);
    }
    auto type = cast<ShapedType>(memref.getType());
    Type element = elementOf(memref);
    if (type.hasStaticShape())
      most = std::min(most, double(type.getNumElements()) * double(element.isIntOrFloat() ? elementBytes(element) : 8));
    return most;
  }

  /// The innermost loop in which what `load` reads changes: of an array that the body writes, the body's own.
  size_t depthOf(const Indexing &load) const {
    size_t depth = loops.size();
    const bool isWritten =
        llvm::any_of(body, [&](const Indexing &each) { return each.isStore && each.memref == load.memref; });
    while (depth > 0 && !isWritten && !load.has(depth - 1))
      --depth;
    return depth;
  }

  /// Counts an operation where LLVM leaves it: outside of the loops in which none of its operands changes.
  void compute(Operation *op) {
    operations += iterations();
    size_t depth = 0;
    for (Value operand : op->getOperands()) {
      auto known = depths.find(operand);
      Operation *definition = operand.getDefiningOp();
      const bool isInside = definition && root->isAncestor(definition);
      depth = std::max(depth, known != depths.end() ? known->second : isInside ? loops.size() : 0);
    }
    depths[op->getResult(0)] = depth;
    if (!model.onCaches()) {
      counted.arithmetic += iterations() * double(instructionsOf(op)) /
                            double(model.lanes(op->getResult(0).getType().getIntOrFloatBitWidth()));
      return;
    }
    const ArithmeticWork own = arithmeticOf(op);
    current->arithmetic += vectors(depth) * own.instructions;
    current->divisions += vectors(depth) * own.divisions;
  }

  Operation *root;
  const PassModel &model;
  PassWork counted, *current = &counted; // current: of the loop that is visited
  llvm::SmallVector<Loop> loops;
  llvm::DenseMap<Value, size_t> depths; // loops around the place where a value changes
  llvm::SmallVector<Indexing> body;     // accesses of the innermost body that is visited
  std::optional<size_t> lane;           // of its loops, that whose iterations are elements of vectors
  int64_t lanes = 1;
  llvm::MapVector<Value, Places> read, written;
};
} // namespace

PassWork tilewright::passWork(Operation *root, const PassModel &model) { return Census(root, model).work(); }

void tilewright::logNestTime(Operation *root, const TargetDescription &chip, int64_t threads) {
  DecisionLog *log = DecisionLog::of(root->getContext());
  // Nests that a product packs its operands and fills its result with are part of it: its plan has their time.
  if (!log || log->has("contraction", root))
    return;
  const PassModel model(chip);
  const Census census(root, model);
  const PassWork work = census.work();
  double seconds = model.seconds(work) / double(threads);
  log->add("nest-time", root,
           llvm::json::Object{{"inputs", llvm::json::Object{{"threads", threads}}},
                              {"choice", llvm::json::Object{{"seconds", seconds}}},
                              {"traffic", llvm::json::Object{{"operations", census.operations},
                                                             {"read_bytes", work.read},
                                                             {"written_bytes", work.written}}}});
}
