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
/// A contraction without reuse on one side (a depthwise convolution) has vectors
/// along a dimension of its batch, so all of its arrays have to end with the same
/// one: its temporaries change their order together, its loops follow them, and a
/// smaller operand in another order, the filter, is copied. On lanes, which read
/// neighbouring elements just as vectors do, such operands alone are copied.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/AffineAccess.h"
#include "core/Analysis/Contraction.h"
#include "core/Analysis/Elementwise.h"
#include "core/CostModel/Machine/PassModel.h"
#include "core/Transforms/Passes.h"
#include "core/Transforms/Utils/ArrayNests.h"
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
  /// `temporaries`: they may get another order.
  void run(bool temporaries);

private:
  std::optional<Order> wantedOrder(Value array) const;
  bool keepsRows(Value array, const Order &order) const;
  bool batchesAgree(Value array, const Order &order) const;
  bool needsCopies(const Nest &nest) const;
  void permute(Value array, const Order &order);
  void sortLoops(Operation *root);
  void copyOperands(Operation *root);

  func::FuncOp function;
  llvm::MapVector<AffineForOp, Nest> nests;     // by their outermost loops
  llvm::SmallSetVector<Value, 8> open;          // temporaries whose order nothing has decided
  llvm::SmallSetVector<Operation *, 8> changed; // outermost loops of nests that touch a permuted one and follow it
};
} // namespace

/// Whether `nest` is a contraction whose vectors run along its batch, since one side has no dimension of its own.
static bool isOfBatch(const Nest &nest) {
  FailureOr<Contraction> contraction = recognizeContraction(nest);
  return succeeded(contraction) && !contraction->batch.empty() && (contraction->m.empty() || contraction->n.empty());
}

/// The loop along whose positions the elements of the innermost dimension of `access` in `order` lie, where it is one.
static std::optional<unsigned> innermostLoop(const Access &access, const Order &order) {
  auto type = cast<MemRefType>(access.memref.getType());
  for (unsigned dim : llvm::reverse(order)) {
    if (type.getDimSize(dim) == 1)
      continue;
    auto index = dyn_cast<AffineDimExpr>(access.map.getResult(dim));
    return index ? std::optional(index.getPosition()) : std::nullopt;
  }
  return std::nullopt;
}

static bool touches(const Nest &nest, Value array) {
  return llvm::any_of(llvm::concat<const Access>(nest.loads, nest.stores),
                      [&](const Access &access) { return access.memref == array; });
}

static bool isMap(const Nest &nest) {
  return nest.stores.size() == 1 &&
         llvm::all_of(nest.body->without_terminator(),
                      [](Operation &op) { return isa<AffineLoadOp, AffineStoreOp>(op) || isElementwise(&op); }) &&
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
                     bool contracts = succeeded(contraction) && ((!contraction->m.empty() && !contraction->n.empty()) ||
                                                                 !contraction->batch.empty());
                     ofContraction |= contracts;
                     return contracts || isMap(nest->second);
                   });
    if (isPlain && ofContraction)
      open.insert(alloc);
  }
}

/// The order that all element-wise nests between `array` and arrays whose order is decided ask for.
std::optional<Order> ArrayOrders::wantedOrder(Value array) const {
  std::optional<Order> wanted;
  for (const auto &[root, nest] : nests) {
    if (!touches(nest, array) || !isMap(nest))
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
  auto longDims = llvm::make_filter_range(order, [&](unsigned dim) { return type.getDimSize(dim) != 1; });
  if (longDims.empty())
    return true;
  unsigned innermost = 0;
  for (unsigned dim : longDims)
    innermost = dim;
  return llvm::none_of(nests, [&](const auto &each) {
    return !isMap(each.second) &&
           llvm::any_of(llvm::concat<const Access>(each.second.loads, each.second.stores), [&](const Access &access) {
             return access.memref == array && access.map.getResult(innermost).isSymbolicOrConstant();
           });
  });
}

/// Whether a copy of what `access` reads in another order costs little beside an array of `elements`.
static bool isCopied(const Access &access, int64_t elements) {
  auto type = cast<MemRefType>(access.memref.getType());
  return !access.isStore && type.hasStaticShape() && type.getLayout().isIdentity() && type.getNumElements() <= elements;
}

/// Whether in each contraction with vectors along its batch all arrays can end with the dimension that `array` ends
/// with in `order`.
bool ArrayOrders::batchesAgree(Value array, const Order &order) const {
  int64_t elements = cast<MemRefType>(array.getType()).getNumElements();
  for (const auto &[root, nest] : nests) {
    auto accesses = llvm::to_vector(llvm::concat<const Access>(nest.loads, nest.stores));
    const Access *own = llvm::find_if(accesses, [&](const Access &access) { return access.memref == array; });
    if (own == accesses.end() || !isOfBatch(nest))
      continue;
    std::optional<unsigned> lanes = innermostLoop(*own, order);
    if (!lanes || !llvm::is_contained(recognizeContraction(nest)->batch, *lanes))
      return false;
    for (const Access &other : accesses) {
      if (other.memref == array || other.stride(*lanes) == 1)
        continue;
      if (open.contains(other.memref)) {
        std::optional<Order> wanted = wantedOrder(other.memref);
        if (!wanted || innermostLoop(other, *wanted) != lanes)
          return false;
        continue;
      }
      if (!isCopied(other, elements))
        return false;
    }
  }
  return true;
}

/// Whether `nest` has vectors along its batch in its result and another array, and smaller operands that do not follow.
bool ArrayOrders::needsCopies(const Nest &nest) const {
  if (!isOfBatch(nest))
    return false;
  const Access &result = nest.stores.front();
  auto type = cast<MemRefType>(result.memref.getType());
  auto inOrder = llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  std::optional<unsigned> lanes = innermostLoop(result, inOrder);
  if (!lanes || !type.hasStaticShape() || !llvm::is_contained(recognizeContraction(nest)->batch, *lanes))
    return false;
  bool follows = false, copies = false;
  for (const Access &load : nest.loads) {
    if (load.memref == result.memref || !load.dims().test(*lanes))
      continue;
    if (load.stride(*lanes) == 1)
      follows = true;
    else if (isCopied(load, type.getNumElements()))
      copies = true;
    else
      return false;
  }
  return follows && copies;
}

/// Replaces `array` by one whose dimension i is its dimension order[i].
/// Lets an affine.load or affine.store access `array`, which has the dimensions of its own one in another order.
static void moveInOrder(Operation *access, Value array, const Order &order) {
  AffineAccess own = affineAccess(access);
  moveAccess(access, array, own.map.getSubMap(order), own.operands);
}

void ArrayOrders::permute(Value array, const Order &order) {
  auto alloc = array.getDefiningOp<memref::AllocOp>();
  SmallVector<int64_t> shape;
  for (unsigned dim : order)
    shape.push_back(alloc.getType().getDimSize(dim));
  OpBuilder builder(alloc);
  Value permuted = memref::AllocOp::create(
      builder, alloc.getLoc(), MemRefType::get(shape, alloc.getType().getElementType()), alloc.getAlignmentAttr());
  for (Operation *user : llvm::make_early_inc_range(array.getUsers()))
    if (isa<AffineLoadOp, AffineStoreOp>(user))
      moveInOrder(user, permuted, order);
    else
      user->replaceUsesOfWith(array, permuted);
  alloc.erase();
  for (auto &[root, nest] : nests) {
    if (!touches(nest, array))
      continue;
    nest = *analyzeNest(root);
    if (isMap(nest) || isOfBatch(nest))
      changed.insert(root);
  }
}

/// The loops of the nest at `root` follow each other as the dimensions of what is stored; those that sum come last.
void ArrayOrders::sortLoops(Operation *root) {
  Nest &nest = nests.find(cast<AffineForOp>(root))->second;
  auto loops = loopsOf(nest.stores.front());
  if (!loops)
    return;
  SmallVector<unsigned> place(nest.depth(), ~0u);
  unsigned next = 0;
  auto placeOthers = [&] {
    for (unsigned dim = 0; dim < nest.depth(); ++dim)
      if (!llvm::is_contained(*loops, dim))
        place[dim] = next++;
  };
  if (!isOfBatch(nest))
    placeOthers();
  for (unsigned loop : *loops)
    if (loop != ~0u)
      place[loop] = next++;
  if (isOfBatch(nest))
    placeOthers();
  SmallVector<AffineForOp, 6> band(nest.loops);
  if (next == nest.depth())
    permuteLoops(band, place);
}

/// Copies operands of the nest at `root`, a contraction with vectors along its batch, that end with another dimension
/// than its result.
void ArrayOrders::copyOperands(Operation *root) {
  Nest &nest = nests.find(cast<AffineForOp>(root))->second;
  const Access result = nest.stores.front();
  auto inOrder = llvm::to_vector(llvm::seq<unsigned>(0, result.map.getNumResults()));
  std::optional<unsigned> lanes = innermostLoop(result, inOrder);
  for (const Access &access : nest.loads) {
    if (!lanes || access.memref == result.memref || access.stride(*lanes) == 1 || !access.dims().test(*lanes))
      continue;
    auto type = cast<MemRefType>(access.memref.getType());
    Order order;
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      if (!access.map.getResult(dim).isFunctionOfDim(*lanes))
        order.push_back(dim);
    for (unsigned dim = 0; dim < type.getRank(); ++dim)
      if (access.map.getResult(dim).isFunctionOfDim(*lanes))
        order.push_back(dim);
    auto inNewOrder = [&](auto values) {
      return llvm::map_to_vector(order, [&](unsigned dim) { return values[dim]; });
    };
    OpBuilder builder(root);
    Location loc = access.op->getLoc();
    Value copy =
        memref::AllocOp::create(builder, loc, MemRefType::get(inNewOrder(type.getShape()), type.getElementType()),
                                builder.getI64IntegerAttr(64));
    SmallVector<Value> at = elementLoops(builder, loc, inNewOrder(type.getShape())), place(type.getRank());
    for (auto [dim, number] : llvm::zip_equal(order, at))
      place[dim] = number;
    AffineStoreOp::create(builder, loc, AffineLoadOp::create(builder, loc, access.memref, place).getResult(), copy, at);
    moveInOrder(access.op, copy, order);
  }
  nest = *analyzeNest(nest.root());
}

void ArrayOrders::run(bool temporaries) {
  for (bool decides = temporaries; decides;) {
    decides = false;
    for (Value array : llvm::make_early_inc_range(SmallVector<Value>(open.begin(), open.end()))) {
      std::optional<Order> order = wantedOrder(array);
      if (!order || !keepsRows(array, *order) || !batchesAgree(array, *order))
        continue;
      open.remove(array);
      decides = true;
      if (!llvm::is_sorted(*order))
        permute(array, *order);
    }
  }
  for (Operation *root : changed) {
    if (isOfBatch(nests.find(cast<AffineForOp>(root))->second))
      copyOperands(root);
    sortLoops(root);
  }
  for (auto &[root, nest] : nests)
    if (needsCopies(nest))
      copyOperands(root);
}

namespace {
struct PermuteArrays : tilewright::impl::PermuteArraysBase<PermuteArrays> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isKernel(function) || isScheduled(function))
      return;
    bool lanes = false;
    if (auto module = function->getParentOfType<ModuleOp>(); module->hasAttr(targetAttr)) {
      FailureOr<std::shared_ptr<const TargetDescription>> chip = requireTarget(function);
      if (failed(chip))
        return signalPassFailure();
      lanes = PassModel(**chip).onLanes();
    }
    ArrayOrders(function).run(/*temporaries=*/!lanes);
  }
};
} // namespace
