//===- OperandProducer.cpp - Element-wise work while packing --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Legality by access maps: the operand's indices take the place of the
// producer's loops. The cost is that of the elements that the plan packs,
// against one pass that writes the buffer.
//
//===----------------------------------------------------------------------===//

#include "core/Transforms/Fusion/OperandProducer.h"
#include "core/Analysis/ElementType.h"
#include "core/Analysis/Elementwise.h"
#include "core/CostModel/Machine/MemoryModel.h"
#include "core/CostModel/Schedules/ContractionPlanner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <cmath>

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

Value OperandProducer::stored() const { return cast<AffineStoreOp>(Nest(nest).stores.front().op).getValueToStore(); }

const Access *OperandProducer::mainSource() const {
  const Access *main = nullptr;
  auto bits = [](const Access &access) { return cast<MemRefType>(access.memref.getType()).getElementTypeBitWidth(); };
  for (const ProducerSource &source : sources)
    if (source.alongLanes && (!main || source.access.dims().count() > main->dims().count() ||
                              (source.access.dims() == main->dims() && bits(source.access) > bits(*main))))
      main = &source.access;
  return main;
}

AffineForOp findProducer(const Contraction &c, const ContractionOperand &operand) {
  Value memref = operand.access.memref;
  if (!memref.getDefiningOp<memref::AllocOp>())
    return nullptr;
  Operation *root = Nest(c.nest).root();
  AffineForOp last; // before the product that stores to it
  for (Operation *user : memref.getUsers()) {
    auto store = dyn_cast<AffineStoreOp>(user);
    if (!store || store.getMemRef() != memref)
      continue;
    auto loop = dyn_cast_or_null<AffineForOp>(root->getBlock()->findAncestorOpInBlock(*store));
    if (loop && loop->isBeforeInBlock(root) && (!last || last->isBeforeInBlock(loop)))
      last = loop;
  }
  if (!last)
    return nullptr;
  auto nest = analyzeNest(last);
  return succeeded(nest) && nest->stores.size() == 1 ? last : AffineForOp();
}

static bool isPlain(Type type) { return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8; }

/// Whether each operation of the body has one result, a number that a vector can hold.
static bool hasNumbers(const Nest &nest) {
  return llvm::all_of(nest.body->without_terminator(), [](Operation &op) {
    return isa<AffineStoreOp>(op) || (op.getNumResults() == 1 && op.getResult(0).getType().isIntOrFloat());
  });
}

/// `load` of the producer with the operand's indices for its loops.
static Access onOperand(const Access &load, const Access &store, const Access &operand) {
  Access result = load;
  MLIRContext *context = load.map.getContext();
  result.symbols.assign(operand.symbols.begin(), operand.symbols.end());
  result.symbols.append(load.symbols.begin(), load.symbols.end());
  SmallVector<AffineExpr> dims(load.map.getNumDims()), symbols;
  for (auto [index, position] : llvm::zip(store.map.getResults(), operand.map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(index))
      dims[dim.getPosition()] = position;
  for (size_t i = 0; i < load.symbols.size(); ++i)
    symbols.push_back(getAffineSymbolExpr(operand.symbols.size() + i, context));
  result.map = load.map.replaceDimsAndSymbols(dims, symbols, operand.map.getNumDims(), result.symbols.size());
  return result;
}

std::optional<OperandProducer> asProducer(AffineForOp root, const Contraction &c, const ContractionOperand &operand,
                                          ArrayRef<Operation *> group, std::string &reason, bool byVectors) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  OperandProducer producer;
  producer.nest = *analyzeNest(root);
  Nest &nest = producer.nest;
  const Access &store = nest.stores.front();
  auto type = cast<MemRefType>(store.memref.getType());
  Operation *product = Nest(c.nest).root();
  for (Operation *user : store.memref.getUsers()) {
    Operation *top = root->getBlock()->findAncestorOpInBlock(*user);
    if (top != root && top != product && !isa<memref::DeallocOp, memref::DimOp>(user))
      return refuse("its result has another user");
  }
  if (c.a.access.memref == c.b.access.memref)
    return refuse("it is both multiplicands");
  llvm::SmallBitVector seen(nest.depth());
  for (AffineExpr index : store.map.getResults()) {
    if (isa<AffineConstantExpr>(index)) // one element, of a tile
      continue;
    auto dim = dyn_cast<AffineDimExpr>(index);
    if (!dim || seen.test(dim.getPosition()))
      return refuse("it does not write one element a position");
    seen.set(dim.getPosition());
  }
  if (!seen.all() || nest.depth() == 0)
    return refuse("it does not write one element a position");
  if (byVectors && (!type.getLayout().isIdentity() || type.getShape().back() == 1))
    return refuse("its elements do not lie side by side");
  if (!isElementwise(nest) || !hasNumbers(nest))
    return refuse("its body is not element-wise");

  auto last = dyn_cast<AffineDimExpr>(store.map.getResults().back());
  if (byVectors && !last)
    return refuse("its elements do not lie side by side");
  for (const Access &load : nest.loads) {
    auto source = cast<MemRefType>(load.memref.getType());
    if (load.memref == store.memref)
      return refuse("it reads what it writes");
    if (!isPlain(source.getElementType()))
      return refuse("it reads elements of less than a byte");
    ProducerSource one{onOperand(load, store, operand.access)};
    const unsigned lane = last ? last.getPosition() : 0;
    if (byVectors && load.map.isFunctionOfDim(lane)) {
      one.alongLanes = true;
      // Element after element along the last index, and that alone.
      auto step = linearCoefficient(load.map.getResults().back(), lane);
      bool elsewhere = llvm::any_of(load.map.getResults().drop_back(),
                                    [&](AffineExpr index) { return index.isFunctionOfDim(lane); });
      if (!step || *step != 1 || elsewhere || !source.getLayout().isIdentity())
        return refuse("it reads a source across the order in which its result lies");
    }
    // Nobody may change the source before the product is finished.
    if (isa_and_nonnull<ViewLikeOpInterface>(load.memref.getDefiningOp()))
      return refuse("a source is a view of another buffer");
    for (Operation *user : load.memref.getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        return refuse("another operation views a source");
      Operation *top = root->getBlock()->findAncestorOpInBlock(*user);
      bool isLater = top && root->isBeforeInBlock(top) && !product->isBeforeInBlock(top);
      bool moves = llvm::is_contained(group, top); // runs at the product's place
      auto write = dyn_cast<AffineStoreOp>(user);
      bool writes = write ? write.getMemRef() == load.memref : !isa<AffineLoadOp, memref::DimOp>(user);
      if (!top || ((isLater || moves) && writes))
        return refuse("a source is written before the product is finished");
    }
    producer.sources.push_back(std::move(one));
  }
  return producer;
}

Value emitProducer(IterationSpace &space, const OperandProducer &producer, int64_t lanes, AffineExpr valid) {
  OpBuilder &b = space.builder;
  Location loc = space.loc;
  auto vectorOf = [&](Type element) { return VectorType::get({lanes}, element); };
  auto zero = [&](Type type) -> Value { return arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); };
  Value mask;
  if (valid) {
    Value count = space.value(valid);
    mask = vector::CreateMaskOp::create(b, loc, vectorOf(b.getI1Type()), ValueRange(count));
  }
  IRMapping mapping;
  auto lanesOf = [&](Value scalar) -> Value {
    if (!lanes || isa<VectorType>(scalar.getType()))
      return scalar;
    return vector::BroadcastOp::create(b, loc, vectorOf(scalar.getType()), scalar);
  };
  for (auto [load, source] : llvm::zip(producer.nest.loads, producer.sources)) {
    auto [map, operands] = space.address(source.access);
    Value value;
    if (!lanes || !source.alongLanes) {
      value = lanesOf(AffineLoadOp::create(b, loc, source.access.memref, map, operands));
    } else if (!mask) {
      value = AffineVectorLoadOp::create(b, loc, vectorOf(load.op->getResult(0).getType()), source.access.memref, map,
                                         operands);
    } else {
      SmallVector<Value> indices;
      for (AffineExpr index : map.getResults())
        indices.push_back(
            AffineApplyOp::create(b, loc, AffineMap::get(map.getNumDims(), map.getNumSymbols(), index), operands));
      auto type = vectorOf(load.op->getResult(0).getType());
      value = vector::MaskedLoadOp::create(b, loc, type, source.access.memref, indices, mask, zero(type));
    }
    mapping.map(load.op->getResult(0), value);
  }
  for (Operation &op : producer.nest.body->without_terminator()) {
    if (isa<AffineLoadOp, AffineStoreOp>(op))
      continue;
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      mapping.map(op.getResult(0), lanesOf(b.clone(op)->getResult(0)));
      continue;
    }
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, lanesOf(operand));
    Operation *clone = b.clone(op, mapping);
    if (lanes)
      clone->getResult(0).setType(vectorOf(op.getResult(0).getType()));
    mapping.map(op.getResult(0), clone->getResult(0));
  }
  Value stored = producer.stored();
  Value value = mapping.contains(stored) ? mapping.lookup(stored) : lanesOf(stored);
  // What does not exist is zero in the panel, whatever the producer makes of zeros.
  return mask ? Value(arith::SelectOp::create(b, loc, mask, value, zero(value.getType()))) : value;
}

namespace {

/// Times of one producer, in seconds.
class ProducerTime {
public:
  ProducerTime(const Contraction &c, const OperandProducer &producer, const ContractionOperand &operand,
               const TargetDescription &target, int64_t threads)
      : c(c), producer(producer), operand(operand), model(target), threads(threads) {
    for (Operation &op : producer.nest.body->without_terminator())
      operations += !isa<AffineLoadOp, AffineStoreOp>(op) && !op.hasTrait<OpTrait::ConstantLike>();
    for (auto trips : producer.nest.tripCounts)
      elements *= double(trips.value_or(assumedTrips));
    for (const Access &load : producer.nest.loads) {
      double read = elementBytes(load.op->getResult(0).getType());
      for (unsigned dim = 0; dim < producer.nest.depth(); ++dim)
        if (load.dims().test(dim))
          read *= double(producer.nest.tripCounts[dim].value_or(assumedTrips));
      sourceBytes += read;
    }
    bits = operand.element.getIntOrFloatBitWidth();
    for (const Access &load : producer.nest.loads)
      bits = std::max(bits, load.op->getResult(0).getType().getIntOrFloatBitWidth());
  }

  /// The nest of its own that fills the buffer.
  double buffer() const {
    double written = elements * elementBytes(operand.element);
    double seconds = std::max(model.moveSeconds(sourceBytes, written), issue(elements, model.lanes(bits)));
    return model.parallel(seconds, threads) ? seconds / double(threads) : seconds;
  }

  /// What the copy takes longer under `plan`: its operations, and sources beyond the bytes of the operand.
  double whilePacking(const ContractionPlan &plan) const {
    bool isVector = &plan.vectorOperand(c) == &operand;
    double packed = 1, parts = 1;
    for (unsigned dim = 0; dim < c.nest.depth(); ++dim)
      if (operand.access.dims().test(dim)) {
        packed *= trips(dim);
        if (plan.splitDim == dim)
          parts = double(plan.threads);
      }
    if (!isVector)
      packed *= repeats(plan);
    bool isCopied = operand.access.stride(plan.kDim) == 1
                        ? !isVector || c.nest.tripCounts[plan.kDim].has_value()
                        : llvm::any_of(c.nest.loops, [&](AffineForOp loop) {
                            unsigned dim = llvm::find(c.nest.loops, loop) - c.nest.loops.begin();
                            return (dim == plan.laneDim || dim == plan.rowDim) && operand.access.stride(dim) == 1;
                          });
    double more = std::max(0.0, sourceBytes - elements * elementBytes(operand.element)) * packed / elements;
    return (issue(packed, isCopied ? model.lanes(bits) : 1) + model.moveSeconds(more, 0, sourceBytes)) / parts;
  }

private:
  double trips(unsigned dim) const { return double(tripsOf(c, dim)); }
  double issue(double count, int64_t lanes) const {
    double vectors = count / double(std::max<int64_t>(lanes, 1));
    return model.issueSeconds(vectors * operations, vectors * double(producer.nest.loads.size()));
  }
  /// How often the scalar operand is packed: for each block of panels, unless once before them, and for each step of
  /// the loops around that do not index it.
  double repeats(const ContractionPlan &plan) const {
    double times = 1;
    bool isInner = false;
    for (unsigned dim : llvm::concat<const unsigned>(c.batch, c.m, c.n)) {
      if (dim == plan.laneDim || dim == plan.rowDim)
        continue;
      isInner |= !plan.vectorOperand(c).access.dims().test(dim);
      if (!operand.access.dims().test(dim))
        times *= trips(dim);
    }
    if ((plan.rowBlock != 0 || isInner) && plan.laneBlock != 0 && plan.laneDim)
      times *= std::ceil(trips(*plan.laneDim) / double(plan.laneBlock * plan.vectors * plan.unit->n));
    return times;
  }

  const Contraction &c;
  const OperandProducer &producer;
  const ContractionOperand &operand;
  MemoryModel model;
  int64_t threads;
  double operations = 0, elements = 1, sourceBytes = 0;
  unsigned bits = 8;
};

} // namespace

ProducerChoice chooseProducers(const Contraction &c, const ContractionPlan &plan, ArrayRef<Operation *> group,
                               const TargetDescription &target, const PlanOptions &options) {
  ProducerChoice choice;
  choice.plan = plan;
  double leastSeconds = plan.seconds;
  std::optional<ProducerTime> times[2];
  for (auto [found, operand, time] : {std::tie(choice.a, c.a, times[0]), std::tie(choice.b, c.b, times[1])}) {
    if ((found.root = findProducer(c, operand)))
      found.work = asProducer(found.root, c, operand, group, found.reason);
    if (found.work)
      leastSeconds += time.emplace(c, *found.work, operand, target, options.threads).buffer();
  }
  for (int subset = 1; subset < 4; ++subset) {
    bool fuse[2] = {(subset & 1) != 0, (subset & 2) != 0};
    if ((fuse[0] && !times[0]) || (fuse[1] && !times[1]) || options.fuseProducers == false)
      continue;
    std::optional<ContractionPlan> other = plan;
    PlanOptions asked = options;
    asked.considered = nullptr;
    asked.overrides.emplace_back("lanes_on", plan.lanesOnM);
    bool isPacked = true;
    for (int i : {0, 1})
      if (fuse[i]) {
        bool isVector = plan.lanesOnM == (i == 0);
        isPacked &= isVector ? plan.packVectors : plan.packScalars;
        asked.overrides.emplace_back(isVector ? "pack_vectors" : "pack_scalars", 1);
      }
    std::string unused;
    if (!isPacked)
      other = planContraction(c, target, asked, unused);
    if (!other)
      continue;
    double buffers = 0, packing = 0;
    for (int i : {0, 1})
      if (times[i])
        (fuse[i] ? packing : buffers) += fuse[i] ? times[i]->whilePacking(*other) : times[i]->buffer();
    other->seconds += packing;
    double seconds = other->seconds + buffers;
    // Subsets come in the order of their size: where all are asked for, the last one that has a plan is taken.
    if (seconds < leastSeconds || options.fuseProducers == true) {
      leastSeconds = seconds;
      choice.plan = *other;
      std::tie(choice.a.isFused, choice.b.isFused) = std::tuple(fuse[0], fuse[1]);
    }
  }
  return choice;
}

} // namespace tilewright
