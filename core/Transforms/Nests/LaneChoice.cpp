//===- LaneChoice.cpp - Which loop of a nest becomes lanes ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the body of a nest, and decides on lanes, accumulators, steps of outer
// reductions and the kind of store; NestLanes.cpp and NestVectorizer.cpp write what was decided.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Analysis/Instructions.h"
#include "core/Analysis/RowReuse.h"
#include "core/Transforms/Nests/NestVectorizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::affine;

namespace tilewright {

static std::optional<vector::CombiningKind> combiningKind(Operation *op) {
  using vector::CombiningKind;
  return llvm::TypeSwitch<Operation *, std::optional<CombiningKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return CombiningKind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return CombiningKind::MUL; })
      .Case<arith::MaximumFOp>([](auto) { return CombiningKind::MAXIMUMF; })
      .Case<arith::MinimumFOp>([](auto) { return CombiningKind::MINIMUMF; })
      .Case<arith::MaxNumFOp>([](auto) { return CombiningKind::MAXNUMF; })
      .Case<arith::MinNumFOp>([](auto) { return CombiningKind::MINNUMF; })
      .Case<arith::MaxSIOp>([](auto) { return CombiningKind::MAXSI; })
      .Case<arith::MaxUIOp>([](auto) { return CombiningKind::MAXUI; })
      .Case<arith::MinSIOp>([](auto) { return CombiningKind::MINSI; })
      .Case<arith::MinUIOp>([](auto) { return CombiningKind::MINUI; })
      .Case<arith::AndIOp>([](auto) { return CombiningKind::AND; })
      .Case<arith::OrIOp>([](auto) { return CombiningKind::OR; })
      .Case<arith::XOrIOp>([](auto) { return CombiningKind::XOR; })
      .Default([](Operation *) { return std::nullopt; });
}

static bool sameElement(const Access &a, const Access &b) {
  return a.memref == b.memref && a.map == b.map && llvm::equal(a.symbols, b.symbols);
}

/// Whether two accesses never touch the same element, whichever iterations make them: an index of one is that of the
/// other and a distance, which no two of its values are apart, be it that they span less, or that they are multiples of
/// what does not divide it.
static bool areApart(const Nest &nest, const Access &a, const Access &b) {
  if (!llvm::equal(a.symbols, b.symbols))
    return false;
  unsigned dims = a.map.getNumDims(), symbols = a.map.getNumSymbols();
  return llvm::any_of(llvm::zip_equal(a.map.getResults(), b.map.getResults()), [&](auto pair) {
    auto [x, y] = pair;
    auto distance = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(x - y, dims, symbols));
    if (!distance || distance.getValue() == 0)
      return false;
    std::optional<int64_t> span = 0; // of the index; nullopt: not known
    int64_t step = 0;                // the greatest that divides each distance of two values
    for (unsigned dim = 0; dim < dims; ++dim) {
      const std::optional<int64_t> factor = linearCoefficient(x, dim);
      if (!factor)
        return false;
      step = std::gcd(step, *factor);
      if (*factor != 0)
        span = span && nest.tripCounts[dim] ? std::optional(*span + std::abs(*factor) * (*nest.tripCounts[dim] - 1))
                                            : std::nullopt;
    }
    return (span && std::abs(distance.getValue()) > *span) || (step != 0 && distance.getValue() % step != 0);
  });
}

const Access *NestVectorizer::accessOf(Operation *op) const {
  for (const Access &access : isa<AffineLoadOp>(op) ? nest.loads : nest.stores)
    if (access.op == op)
      return &access;
  return nullptr;
}

const Accumulation *NestVectorizer::accumulationOf(Operation *op) const {
  for (const Accumulation &accumulation : accumulations)
    if (accumulation.load->op == op || accumulation.store->op == op)
      return &accumulation;
  return nullptr;
}

bool NestVectorizer::readBody(std::string &reason) {
  for (const Access &store : nest.stores) {
    for (const Access &other : nest.stores)
      if (&other != &store && other.memref == store.memref && !areApart(nest, other, store)) {
        reason = "a buffer is stored twice";
        return false;
      }
    for (const Access &load : nest.loads) {
      if (load.memref != store.memref || areApart(nest, load, store))
        continue;
      if (!sameElement(load, store)) {
        reason = "a buffer is read and written at different places";
        return false;
      }
      if (store.dims().count() == nest.depth() || !load.op->hasOneUse())
        continue;
      Operation *combine = cast<AffineStoreOp>(store.op).getValueToStore().getDefiningOp();
      if (!combine || !combine->hasOneUse() || *load.op->user_begin() != combine)
        continue;
      if (auto kind = combiningKind(combine))
        accumulations.push_back({&load, &store, combine, *kind});
    }
  }
  unsigned widest = 8;
  for (Operation &op : nest.body->without_terminator()) {
    if (!isa<AffineLoadOp, AffineStoreOp, AffineApplyOp>(op) && !op.hasTrait<OpTrait::ConstantLike>() &&
        !(op.hasTrait<OpTrait::Elementwise>() && op.hasTrait<OpTrait::Vectorizable>())) {
      reason = ("'" + op.getName().getStringRef() + "' has no vector form").str();
      return false;
    }
    auto inspect = [&](Type type) {
      if (type.isIndex())
        return true; // counts as two registers; the lanes follow the data
      if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64)
        return false;
      if (!type.isInteger(1))
        widest = std::max(widest, type.getIntOrFloatBitWidth());
      return true;
    };
    for (Type type : op.getResultTypes())
      if (!inspect(type)) {
        reason = "an element type has no vectors";
        return false;
      }
    // A bool in memory is a byte, in a vector a bit.
    if (auto *access = isa<AffineLoadOp, AffineStoreOp>(op) ? accessOf(&op) : nullptr) {
      Type element = elementOf(access->memref);
      if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0) {
        reason = "elements are no whole bytes";
        return false;
      }
    }
  }
  lanes = model.lanes(widest);
  return true;
}

bool NestVectorizer::laneIsPossible(unsigned dim) const {
  for (const Access &store : nest.stores) {
    const Accumulation *accumulation = accumulationOf(store.op);
    if (store.dims().test(dim)) {
      if (store.stride(dim) != 1)
        return false;
      continue;
    }
    if (!accumulation)
      return false;
    bool isSum = accumulation->kind == vector::CombiningKind::ADD || accumulation->kind == vector::CombiningKind::MUL;
    if (isSum && isa<FloatType>(accumulation->combine->getResult(0).getType()) && !mayReassociate)
      return false;
  }
  auto turn = turnOver(dim);
  return llvm::all_of(nest.loads, [&](const Access &load) {
    return !load.dims().test(dim) || load.stride(dim) || (turn && llvm::is_contained(turn->loads, &load));
  });
}

/// Counts `load` of a lane loop `dim` if it is a gather; a row of such lines may be longer than the nearest cache.
void NestVectorizer::countGather(const Access &load, unsigned dim, LaneCost &cost) const {
  int64_t stride = load.stride(dim).value_or(lanes), width = elementBytes(elementOf(load.memref));
  if (stride == 0 || stride == 1 || model.deinterleaves(stride, lanes, width) ||
      llvm::any_of(nest.stores, [&](const Access &store) { return store.memref == load.memref; }))
    return;
  ++cost.gathers;
  bool ownLines = std::abs(stride) * width >= model.lineBytes();
  cost.returns += ownLines && !model.staysNear(nest.tripCounts[dim].value_or(1 << 20) * model.lineBytes());
}

/// A strided load costs one access a lane, or loads side by side and shuffles; one that is transposed its part of a
/// square.
NestVectorizer::LaneCost NestVectorizer::laneCost(unsigned dim) const {
  LaneCost cost;
  auto turn = turnOver(dim);
  for (const Access &load : nest.loads) {
    countGather(load, dim, cost);
    if (turn && llvm::is_contained(turn->loads, &load)) {
      cost.loads += model.turnedLoads(turn->side) * static_cast<double>(lanes) / static_cast<double>(turn->side);
      continue;
    }
    int64_t stride = load.stride(dim).value_or(lanes);
    cost.loads += stride == 0   ? MemoryModel::uniformLoads
                  : stride == 1 ? 1.0
                                : model.stridedLoads(stride, lanes, elementBytes(elementOf(load.memref)));
  }
  for (const Access &store : nest.stores)
    cost.stores += store.dims().test(dim) ? 1.0 : 0.1;
  double trips = nest.tripCounts[dim] ? static_cast<double>(*nest.tripCounts[dim]) : 1e6;
  cost.idle = std::ceil(trips / lanes) * lanes / std::max(trips, 1.0);
  return cost;
}

SmallVector<std::optional<NestVectorizer::LaneCost>> NestVectorizer::laneCosts() {
  std::string reason;
  if (model.vectorBytes() == 0 || nest.stores.empty() || !readBody(reason))
    return {};
  return costsOfLoops();
}

SmallVector<std::optional<NestVectorizer::LaneCost>> NestVectorizer::costsOfLoops() const {
  SmallVector<std::optional<LaneCost>> costs(nest.depth());
  for (unsigned dim = 0; dim < nest.depth(); ++dim)
    if (laneIsPossible(dim))
      costs[dim] = laneCost(dim);
  return costs;
}

std::optional<unsigned> NestVectorizer::cheapestLane(ArrayRef<std::optional<LaneCost>> costs, ArrayRef<unsigned> dims) {
  std::optional<unsigned> lane;
  for (unsigned dim : dims)
    if (costs[dim] && (!lane || costs[dim]->total() <= costs[*lane]->total()))
      lane = dim;
  return lane;
}

void NestVectorizer::findVarying() {
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  for (Operation &op : nest.body->without_terminator()) {
    bool differs = llvm::any_of(op.getOperands(), [&](Value operand) {
      return operand == laneIv || (operand.getDefiningOp() && varying.contains(operand.getDefiningOp()));
    });
    if (auto *access = isa<AffineLoadOp, AffineStoreOp>(op) ? accessOf(&op) : nullptr)
      differs = access->dims().test(laneLoop) || accumulationOf(&op) || access->isStore;
    // What changes memory that this nest writes must be read at its place.
    if (auto load = dyn_cast<AffineLoadOp>(op))
      differs |= llvm::any_of(nest.stores, [&](const Access &s) { return s.memref == load.getMemRef(); });
    if (differs)
      varying.insert(&op);
  }
}

/// Whether the number is used as data, not in accesses alone, whose maps it is composed into.
bool NestVectorizer::isData(AffineApplyOp apply) {
  return !llvm::all_of(apply->getUsers(),
                       [](Operation *user) { return isa<AffineLoadOp, AffineStoreOp, AffineApplyOp>(user); });
}

/// What the number grows by from lane to lane; nullopt where that is no constant.
std::optional<int64_t> NestVectorizer::laneCoefficient(AffineApplyOp apply) const {
  Value laneIv = nest.loops[laneLoop]->getRegion(0).front().getArgument(0);
  AffineMap map = apply.getAffineMap();
  int64_t sum = 0;
  for (auto [at, operand] : llvm::enumerate(apply.getMapOperands())) {
    if (operand.getDefiningOp() && varying.contains(operand.getDefiningOp()))
      return std::nullopt;
    if (operand != laneIv)
      continue;
    std::optional<int64_t> each;
    if (at < map.getNumDims())
      each = linearCoefficient(map.getResult(0), at);
    if (!each)
      return std::nullopt;
    sum += *each;
  }
  return sum;
}

bool NestVectorizer::choose(std::string &reason) {
  if (model.vectorBytes() == 0) {
    reason = "the chip has no vector registers";
    return false;
  }
  if (nest.stores.empty()) {
    reason = "nothing is stored";
    return false;
  }
  if (!readBody(reason))
    return false;
  const auto costs = costsOfLoops();
  const std::optional<unsigned> cheapest = cheapestLane(costs, llvm::to_vector(llvm::seq<unsigned>(0, nest.depth())));
  if (!cheapest) {
    reason = "no loop's iterations are contiguous in all stores";
    return false;
  }
  laneLoop = *cheapest;
  double scalar = static_cast<double>(nest.loads.size() + nest.stores.size()) * lanes;
  if (costs[laneLoop]->total() >= scalar) {
    reason = "strided accesses would cost more than the vectors save";
    return false;
  }
  if (auto trips = nest.tripCounts[laneLoop]; trips && *trips < lanes)
    lanes = llvm::PowerOf2Ceil(std::max<int64_t>(*trips, 1));
  if (lanes < 2) {
    reason = "there is one lane's worth of iterations";
    return false;
  }
  findVarying();
  for (Operation *op : varying)
    if (auto apply = dyn_cast<AffineApplyOp>(op); apply && isData(apply) && !laneCoefficient(apply)) {
      reason = "an index expression that is used as data is not linear in the loop of the vectors";
      return false;
    }

  for (Accumulation &accumulation : accumulations)
    accumulation.overLanes = !accumulation.store->dims().test(laneLoop);
  int64_t overLanes = llvm::count_if(accumulations, [](const Accumulation &a) { return a.overLanes; });
  unsigned operations = 0;
  for (Operation *op : varying) {
    // What is read twice is loaded once.
    const Access *access = isa<AffineLoadOp>(op) ? accessOf(op) : nullptr;
    bool isAgain = access && llvm::any_of(nest.loads, [&](const Access &before) {
                     return &before < access && sameElement(before, *access);
                   });
    operations += isAgain                                                  ? 0
                  : isa_and_nonnull<arith::ArithDialect>(op->getDialect()) ? 1
                  : op->getNumResults()                                    ? 4
                                                                           : 1;
  }
  const std::optional<int64_t> trips = nest.tripCounts[laneLoop];
  if (overLanes > 0) // chains of all sums together keep the units busy
    unroll = std::max<int64_t>(model.accumulators() / overLanes / (operations > 12 * overLanes ? 2 : 1), 1);
  else
    unroll = model.vectorsAtOnce(operations, nest.loads.size(), accumulations.empty() ? trips : std::nullopt, lanes);
  while (trips && unroll > 1 && *trips < unroll * lanes)
    unroll /= 2;

  for (const Access &store : nest.stores) {
    auto type = cast<MemRefType>(store.memref.getType());
    if (accumulationOf(store.op) || !store.dims().test(laneLoop) || !type.hasStaticShape() ||
        llvm::any_of(nest.loads, [&](const Access &load) { return load.memref == store.memref; }))
      continue;
    const int64_t bytes = lanes * elementBytes(type.getElementType());
    if (!streamed && bytes == model.vectorBytes() && model.lineBytes() % bytes == 0 &&
        trips.value_or(0) >= lanes * vectorsOfLine(store) && goesPastCaches(store, laneLoop, *trips, model, touched))
      streamed = &store;
  }
  chooseTurn();
  if (turned.empty())
    chooseSteps();
  if (streamed) // neighbouring stores write a line
    unroll = llvm::alignTo(unroll, vectorsOfLine(*streamed));
  shortRows = streamed && !model.streamsRows(*trips * elementBytes(elementOf(streamed->memref)), /*whole=*/false);
  // A wide vector is several registers side by side.
  const bool isPlain = accumulations.empty() && turned.empty() && !jamLoop && !streamed;
  for (int64_t wide = unroll & -unroll; wide > 1 && isPlain && model.takesWideVectors(); wide /= 2)
    if (trips && *trips % (lanes * wide) == 0) {
      lanes *= wide;
      unroll /= wide;
      break;
    }
  return true;
}

/// Vectors of the nest that lie in a line of the array of `access`.
int64_t NestVectorizer::vectorsOfLine(const Access &access) const {
  return model.vectorsOfLine(lanes * elementBytes(elementOf(access.memref)));
}

void NestVectorizer::prefetchNext(const Prefetch &next) {
  prefetched.push_back(next);
  const int64_t vectors = vectorsOfLine(next.access);
  if (accumulations.empty() && nest.tripCounts[laneLoop].value_or(0) >= lanes * vectors)
    unroll = llvm::alignTo(unroll, vectors);
}

/// Whether a kernel gives `memref` to its caller: an argument that it only writes.
static bool isResult(Value memref) {
  auto onlyWritten = [](auto &&self, Value value) -> bool {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<memref::CollapseShapeOp>(user))
        return self(self, user->getResult(0));
      return isa<AffineStoreOp, memref::StoreOp, vector::StoreOp, vector::MaskedStoreOp, memref::PrefetchOp,
                 memref::ExtractAlignedPointerAsIndexOp>(user);
    });
  };
  while (auto view = memref.getDefiningOp<memref::CollapseShapeOp>())
    memref = view.getSrc();
  return isa<BlockArgument>(memref) && onlyWritten(onlyWritten, memref);
}

bool NestVectorizer::goesPastCaches(const Access &store, unsigned lane, int64_t trips, const MemoryModel &model,
                                    double touched) {
  auto type = cast<MemRefType>(store.memref.getType());
  const int64_t element = elementBytes(type.getElementType()), bytes = type.getNumElements() * element;
  // Rows begin and end where vectors do if the array does.
  auto isWhole = [&](int64_t elements) { return elements * element % model.vectorBytes() == 0; };
  const bool whole = isWhole(trips) && isWhole(type.getShape().back()) &&
                     store.map.getResults().back() == mlir::getAffineDimExpr(lane, type.getContext());
  if (!model.streamsRows(trips * element, whole))
    return false;
  return model.streams(bytes) || (isResult(store.memref) && model.streamsResult(bytes, touched));
}

/// Whether an iteration of loop `dim` reads a row that the next one reads again: together they load, and compute from
/// it, once.
static bool readsNextRow(const Nest &nest, unsigned dim, unsigned lane) {
  auto isRow = [&](const Access &load) { return load.dims().test(lane) && load.stride(lane) == 1; };
  return llvm::any_of(nest.loads, [&](const Access &load) {
    return isRow(load) &&
           llvm::any_of(nest.loads, [&](const Access &other) { return rereadAfter(load, other, dim) == 1; });
  });
}

/// Bytes that all iterations of loop `dim` read for one iteration of the lanes; each element once, though iterations of
/// `dim` share it.
static int64_t bytesOfLane(const Nest &nest, unsigned dim, unsigned lane) {
  struct Rows {
    int64_t first, last, step;
  };
  llvm::MapVector<std::pair<Value, Attribute>, Rows> rows; // by array and the indices that `dim` does not move
  for (const Access &load : nest.loads) {
    if (!load.dims().test(lane) || load.stride(lane) != 1)
      continue;
    MLIRContext *context = load.map.getContext();
    SmallVector<AffineExpr> others(load.map.getResults());
    Rows own{0, 0, 0};
    SmallVector<AffineExpr> zeros(load.map.getNumDims(), getAffineConstantExpr(0, context));
    auto offsetOf = [&](AffineExpr index) {
      auto offset = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(index.replaceDims(zeros), 0, 0));
      return offset ? offset.getValue() : 0;
    };
    for (AffineExpr &index : others) {
      const std::optional<int64_t> step = linearCoefficient(index, dim);
      if (step && *step != 0) {
        own.first = own.last = offsetOf(index);
        own.step = std::abs(*step);
        index = getAffineConstantExpr(0, context);
      } else if (linearCoefficient(index, lane).value_or(0) != 0) {
        index = index - offsetOf(index); // neighbours of a lane are in its lines
      }
    }
    auto key = AffineMapAttr::get(AffineMap::get(load.map.getNumDims(), load.map.getNumSymbols(), others, context));
    Rows &all = rows.insert({{load.memref, key}, own}).first->second;
    all = {std::min(all.first, own.first), std::max(all.last, own.last), own.step};
  }
  int64_t bytes = 0;
  for (const auto &[key, each] : rows)
    bytes += (each.step * (nest.tripCounts[dim].value_or(1) - 1) + each.last - each.first + 1) *
             elementBytes(elementOf(key.first));
  return bytes;
}

/// Arithmetic of one vector of iterations, in instructions; products that are added cost nothing of their own.
double NestVectorizer::arithmetic() const {
  double sum = 0;
  for (Operation *op : varying) {
    if (isa<AffineLoadOp, AffineStoreOp, AffineApplyOp>(op))
      continue;
    bool isFused = isa<arith::MulFOp>(op) && op->hasOneUse() && isa<arith::AddFOp, arith::SubFOp>(*op->user_begin());
    sum += isFused ? 0 : instructionsOf(op);
  }
  return sum;
}

/// The loop of which several steps are taken at once. Either the innermost one beside the lanes that every store sums
/// over; or one whose iterations are rows of their own, where that keeps more of memory busy, where rows that all of
/// them read would leave the first cache between two iterations, or where neighbours read the same rows.
void NestVectorizer::chooseSteps() {
  auto take = [&](unsigned dim, int64_t steps) {
    jamLoop = dim;
    jam = nest.tripCounts[dim] ? std::min(steps, *nest.tripCounts[dim]) : steps;
  };
  if (!accumulations.empty()) {
    if (accumulations.size() != nest.stores.size() ||
        llvm::any_of(accumulations, [](const Accumulation &a) { return a.overLanes; }))
      return;
    auto isReduced = [&](unsigned dim) {
      return dim != laneLoop && nest.tripCounts[dim].value_or(2) >= 2 &&
             llvm::none_of(nest.stores, [&](const Access &store) { return store.dims().test(dim); });
    };
    for (unsigned dim = nest.depth(); dim-- > 0 && !jamLoop;) {
      if (!isReduced(dim))
        continue;
      int64_t steps = model.outerReductionSteps();
      // Steps that are left over come behind all others, also of the sums around: that is another order.
      if (!mayReassociate && llvm::any_of(llvm::seq(dim), isReduced))
        while (steps > 1 && nest.tripCounts[dim].value_or(1) % steps != 0)
          --steps;
      take(dim, steps);
    }
    return;
  }

  // Rows that are read side by side, or with small gaps that loads and shuffles skip.
  auto isRow = [&](const Access &access) {
    int64_t stride = access.stride(laneLoop).value_or(0);
    int64_t width = elementBytes(elementOf(access.memref));
    return access.dims().test(laneLoop) &&
           (stride == 1 || (!access.isStore && model.deinterleaves(stride, lanes, width)));
  };
  // Bytes of the whole nest, of its results, and of the rows that one iteration goes through.
  int64_t touched = 0, written = 0, between = 0;
  llvm::SmallDenseSet<Value> buffers;
  for (const Access &access : llvm::concat<const Access>(nest.loads, nest.stores)) {
    auto type = cast<MemRefType>(access.memref.getType());
    if (!isRow(access))
      continue;
    if (!type.hasStaticShape() || !nest.tripCounts[laneLoop])
      return;
    const int64_t width = elementBytes(type.getElementType());
    const int64_t bytes = buffers.insert(access.memref).second ? type.getNumElements() * width : 0;
    touched += bytes;
    written += access.isStore ? bytes : 0;
    between += &access == streamed ? 0 : *nest.tripCounts[laneLoop] * width;
  }
  // More of memory is busy with rows of other pages; less is loaded of rows that neighbours read. The first counts
  // where moving takes longer than issuing all loads.
  const bool isFromMemory = model.isFromMemory(touched);
  double vectors = 1 / double(lanes);
  for (std::optional<int64_t> trips : nest.tripCounts)
    vectors *= static_cast<double>(trips.value_or(1));
  const bool movesLonger =
      isFromMemory && model.moveSeconds(double(touched - written), double(written)) >
                          model.issueSeconds(vectors * arithmetic(), vectors * laneCost(laneLoop).loads);
  for (bool overPages : {true, false})
    for (unsigned dim = nest.depth(); dim-- > 0 && !jamLoop;) {
      if (dim == laneLoop || nest.tripCounts[dim].value_or(2) < 2 || (overPages && !movesLonger))
        continue;
      auto bytesApart = [&](const Access &access) {
        int64_t width = elementBytes(elementOf(access.memref));
        return std::abs(access.stride(dim).value_or(1)) * width;
      };
      if (!llvm::all_of(nest.stores, [&](const Access &store) { return store.dims().test(dim); }))
        continue;
      bool onOtherPages = false;
      SmallVector<AffineLoadOp> same;
      for (const Access &load : nest.loads) {
        if (!isRow(load))
          continue;
        if (load.dims().test(dim)) // in the memory of a core nothing is fetched page by page
          onOtherPages |=
              !cast<MemRefType>(load.memref.getType()).getMemorySpace() && bytesApart(load) >= model.pageBytes();
        else if (llvm::none_of(nest.stores, [&](const Access &store) { return store.memref == load.memref; }))
          same.push_back(cast<AffineLoadOp>(load.op));
      }
      bool readAgain = (!same.empty() && !model.staysNear(between)) || readsNextRow(nest, dim, laneLoop);
      if (!(onOtherPages && isFromMemory) && (overPages || !readAgain))
        continue;
      // A row of the streamed store starts where the one before does, seen from the start of a line: rows that are
      // taken for their pages may be some rows apart.
      int64_t distance = streamed ? model.lineBytes() / std::gcd(bytesApart(*streamed), model.lineBytes()) : 1;
      if (distance > 1) {
        distance =
            nest.tripCounts[dim] && onOtherPages ? *nest.tripCounts[dim] / model.rowsAtOnce() / distance * distance : 0;
        if (distance == 0)
          continue;
      }
      take(dim, model.rowsAtOnce());
      jamDistance = distance;
      unroll = std::max<int64_t>(unroll / jam, 1);
      shared.assign(same.begin(), same.end());
      // Neighbours use what they share while it is in a register, and their sums do not wait for each other.
      interleaved = readsNextRow(nest, dim, laneLoop);
      const int64_t trips = *nest.tripCounts[laneLoop], each = bytesOfLane(nest, dim, laneLoop);
      if (!interleaved || streamed || model.staysNear(trips * each))
        continue;
      // What the next iterations read again stays near where lanes are taken in blocks.
      int64_t most = lanes;
      while (model.staysNear((most + lanes) * each))
        most += lanes;
      laneBlock = llvm::alignTo(llvm::divideCeil(trips, llvm::divideCeil(trips, most)), lanes);
      unroll = std::min(unroll, laneBlock / lanes);
    }
}

} // namespace tilewright
