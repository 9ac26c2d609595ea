//===- PermuteArrays.cpp - Temporaries in the order of their neighbours ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives temporaries around contractions the order of dimensions of the arrays
/// that element-wise nests copy them from or to.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Contraction.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/NestPass.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tilewright {
#define GEN_PASS_DEF_PERMUTEARRAYS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {
/// order[i]: the dimension that takes place i.
using Order = SmallVector<unsigned>;

class ArrayOrders {
public:
  explicit ArrayOrders(func::FuncOp function);
  void run();

private:
  std::optional<Order> wantedOrder(Value array) const;
  bool keepsRows(Value array, const Order &order) const;
  void permute(Value array, const Order &order);
  void sortLoops();

  func::FuncOp function;
  llvm::MapVector<AffineForOp, Nest> nests;     // by their outermost loops
  llvm::SmallSetVector<Value, 8> open;          // temporaries whose order nothing has decided
  llvm::SmallSetVector<Operation *, 8> changed; // outermost loops of element-wise nests that touch a permuted one
};
} // namespace

static bool isElementwise(const Nest &nest) {
  return nest.stores.size() == 1 &&
         llvm::all_of(nest.body->without_terminator(),
                      [](Operation &op) {
                        return isa<AffineLoadOp, AffineStoreOp>(op) || OpTrait::hasElementwiseMappableTraits(&op) ||
                               op.hasTrait<OpTrait::ConstantLike>();
                      }) &&
         ownDims(nest.stores.front().map) &&
         llvm::none_of(nest.loads, [&](const Access &load) { return load.memref == nest.stores.front().memref; });
}

/// The loop of each index of `access` that is one loop and a shift, ~0u for one that is none; nullopt for other
/// indices.
static std::optional<SmallVector<unsigned>> loopsOf(const Access &access) {
  SmallVector<unsigned> loops;
  for (AffineExpr result : access.map.getResults()) {
    std::optional<ShiftedDim> index = shiftedDim(result, access.map);
    if (!index && !result.isSymbolicOrConstant())
      return std::nullopt;
    loops.push_back(index ? index->dim : ~0u);
  }
  return loops;
}

/// The order of `array`'s dimensions in which its loops follow each other as in `other`; nullopt where the two do not
/// run through the same loops. Dimensions of one element come first.
static std::optional<Order> orderLike(const Access &array, const Access &other) {
  auto mine = loopsOf(array), theirs = loopsOf(other);
  if (!mine || !theirs)
    return std::nullopt;
  Order order;
  for (auto [dim, loop] : llvm::enumerate(*mine))
    if (loop == ~0u)
      order.push_back(dim);
  for (unsigned loop : *theirs)
    if (const auto *found = llvm::find(*mine, loop); loop != ~0u && found != mine->end())
      order.push_back(found - mine->begin());
  return order.size() == mine->size() ? std::optional(order) : std::nullopt;
}

ArrayOrders::ArrayOrders(func::FuncOp function) : function(function) {
  for (auto root : function.front().getOps<AffineForOp>())
    if (FailureOr<Nest> nest = analyzeNest(root); succeeded(nest))
      nests.insert({root, *nest});
  for (auto alloc : function.front().getOps<memref::AllocOp>()) {
    bool ofContraction = false;
    bool isPlain = alloc.getType().hasStaticShape() && alloc.getType().getLayout().isIdentity() &&
                   llvm::all_of(alloc->getUsers(), [&](Operation *user) {
                     if (isa<memref::DeallocOp>(user))
                       return true;
                     auto root = dyn_cast_or_null<AffineForOp>(function.front().findAncestorOpInBlock(*user));
                     auto nest = nests.find(root);
                     if (!isa<AffineLoadOp, AffineStoreOp>(user) || !root || nest == nests.end())
                       return false;
                     FailureOr<Contraction> contraction = recognizeContraction(nest->second);
                     // Without reuse on both sides vectors run along the one order that a plain nest has.
                     bool contracts = succeeded(contraction) && !contraction->m.empty() && !contraction->n.empty();
                     ofContraction |= contracts;
                     return contracts || isElementwise(nest->second);
                   });
    if (isPlain && ofContraction)
      open.insert(alloc);
  }
}

/// The order that all element-wise nests between `array` and arrays whose order is decided ask for.
std::optional<Order> ArrayOrders::wantedOrder(Value array) const {
  std::optional<Order> wanted;
  for (const auto &[root, nest] : nests) {
    if (!isElementwise(nest))
      continue;
    const Access &store = nest.stores.front();
    for (const Access &load : nest.loads) {
      bool reads = load.memref == array;
      const Access &other = reads ? store : load;
      if ((!reads && store.memref != array) || open.contains(other.memref))
        continue;
      std::optional<Order> order = orderLike(reads ? load : store, other);
      if (order && order->size() < 2)
        continue;
      if (!order) { // a row that is repeated: any order will do
        if (other.dims().count() < nest.depth())
          continue;
        return std::nullopt;
      }
      if (wanted && *wanted != *order)
        return std::nullopt;
      wanted = order;
    }
  }
  return wanted;
}

/// Whether the innermost dimension of `array` in `order` moves with a loop of each contraction: one that touches every
/// other element alone, such as a phase of a transposed convolution, would have vectors of no neighbours.
bool ArrayOrders::keepsRows(Value array, const Order &order) const {
  auto type = cast<MemRefType>(array.getType());
  const auto *innermost =
      llvm::find_if(llvm::reverse(order), [&](unsigned dim) { return type.getDimSize(dim) != 1; }).base() - 1;
  return llvm::none_of(nests, [&](const auto &each) {
    return !isElementwise(each.second) &&
           llvm::any_of(llvm::concat<const Access>(each.second.loads, each.second.stores), [&](const Access &access) {
             return access.memref == array && access.map.getResult(*innermost).isSymbolicOrConstant();
           });
  });
}

/// Replaces `array` by one whose dimension i is its dimension order[i].
void ArrayOrders::permute(Value array, const Order &order) {
  auto alloc = array.getDefiningOp<memref::AllocOp>();
  SmallVector<int64_t> shape;
  for (unsigned dim : order)
    shape.push_back(alloc.getType().getDimSize(dim));
  OpBuilder builder(alloc);
  Value permuted = memref::AllocOp::create(
      builder, alloc.getLoc(), MemRefType::get(shape, alloc.getType().getElementType()), alloc.getAlignmentAttr());
  auto mapOf = [&](AffineMap map) {
    SmallVector<AffineExpr> results;
    for (unsigned dim : order)
      results.push_back(map.getResult(dim));
    return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext());
  };
  for (Operation *user : llvm::make_early_inc_range(array.getUsers())) {
    builder.setInsertionPoint(user);
    if (auto load = dyn_cast<AffineLoadOp>(user)) {
      load.replaceAllUsesWith(
          AffineLoadOp::create(builder, load.getLoc(), permuted, mapOf(load.getAffineMap()), load.getMapOperands())
              .getResult());
      load.erase();
    } else if (auto store = dyn_cast<AffineStoreOp>(user)) {
      AffineStoreOp::create(builder, store.getLoc(), store.getValueToStore(), permuted, mapOf(store.getAffineMap()),
                            store.getMapOperands());
      store.erase();
    } else {
      user->replaceUsesOfWith(array, permuted);
    }
  }
  alloc.erase();
  for (auto &[root, nest] : nests) {
    bool touches = llvm::any_of(llvm::concat<const Access>(nest.loads, nest.stores),
                                [&](const Access &access) { return access.memref == array; });
    if (!touches)
      continue;
    nest = *analyzeNest(root);
    if (isElementwise(nest))
      changed.insert(root);
  }
}

/// Loops of element-wise nests follow each other as the dimensions of what is stored.
void ArrayOrders::sortLoops() {
  for (Operation *root : changed) {
    Nest &nest = nests.find(cast<AffineForOp>(root))->second;
    auto loops = loopsOf(nest.stores.front());
    if (!loops)
      continue;
    SmallVector<unsigned> place(nest.depth(), ~0u);
    unsigned next = 0;
    for (unsigned dim = 0; dim < nest.depth(); ++dim)
      if (!llvm::is_contained(*loops, dim))
        place[dim] = next++;
    for (unsigned loop : *loops)
      if (loop != ~0u)
        place[loop] = next++;
    SmallVector<AffineForOp, 6> band(nest.loops);
    if (next == nest.depth())
      permuteLoops(band, place);
  }
}

void ArrayOrders::run() {
  for (bool decides = true; decides;) {
    decides = false;
    for (Value array : llvm::make_early_inc_range(SmallVector<Value>(open.begin(), open.end()))) {
      std::optional<Order> order = wantedOrder(array);
      if (!order || !keepsRows(array, *order))
        continue;
      open.remove(array);
      decides = true;
      if (!llvm::is_sorted(*order))
        permute(array, *order);
    }
  }
  sortLoops();
}

namespace {
struct PermuteArrays : tilewright::impl::PermuteArraysBase<PermuteArrays> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (isKernel(function) && !isScheduled(function))
      ArrayOrders(function).run();
  }
};
} // namespace
