//===- FuseHalos.cpp - Stencils computed where they are read --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stencil that reads several elements of what another one wrote computes
// those elements itself, if moving the buffer between them costs more than the
// elements that are computed again.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Stencil.h"
#include "core/CostModel/HaloModel.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Explain.h"

namespace tilewright {
#define GEN_PASS_DEF_FUSEHALOS
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// Taps of one stencil, and operations of a body after inlining: beyond, code grows more than memory is saved.
constexpr int64_t mostPoints = 32, mostOperations = 512;

/// Indices of one element: over the loops of the new nest.
using Element = SmallVector<AffineExpr, 4>;

/// `call` with each point of the taps: the loops' values as expressions, those of `space` at `element`.
void forEachTap(const Stencil &stencil, const Element &element, llvm::function_ref<void(ArrayRef<AffineExpr>)> call) {
  MLIRContext *context = stencil.target().getContext();
  SmallVector<AffineExpr> loops(stencil.nest.depth());
  for (auto [dim, loop] : llvm::enumerate(stencil.space))
    loops[loop] = element[dim];
  for (int64_t point = 0; point < stencil.points; ++point) {
    int64_t rest = point;
    for (unsigned tap : llvm::reverse(stencil.taps)) {
      loops[tap] = getAffineConstantExpr(rest % *stencil.nest.tripCounts[tap], context);
      rest /= *stencil.nest.tripCounts[tap];
    }
    call(loops);
  }
}

/// Indices of `access` where the nest's loops have the values `loops`.
Element elementAt(const Access &access, ArrayRef<AffineExpr> loops, unsigned dims) {
  Element element;
  for (AffineExpr index : access.map.getResults())
    element.push_back(simplifyAffineExpr(index.replaceDims(loops), dims, access.map.getNumSymbols()));
  return element;
}

/// A pair of stencils, the second of which reads the first's buffer.
class Pair {
public:
  Pair(Stencil first, Stencil second) : first(std::move(first)), second(std::move(second)) {}

  /// Whether computing the first where it is read is legal: nobody else needs its buffer, it may move behind what
  /// stands between, and the second reads several elements for one of its own.
  bool isLegal() {
    if (!first.target().getDefiningOp<memref::AllocOp>() || first.target() == second.target())
      return false;
    Block *block = second.nest.root()->getBlock();
    for (Operation *user : first.target().getUsers()) {
      Operation *top = block->findAncestorOpInBlock(*user);
      if (!top || (top != first.nest.root() && top != first.init && top != second.nest.root() &&
                   !isa<memref::DeallocOp, memref::DimOp>(user)))
        return false;
    }
    for (const Access &load : first.nest.loads)
      if (load.memref == second.target() || isWrittenBetween(load.memref))
        return false;
    for (const Access &load : second.nest.loads)
      if (load.memref == first.target() && load.map.getNumSymbols() != 0)
        return false;
    operations = first.points * static_cast<int64_t>(first.nest.body->getOperations().size());
    return rowsRead(1) > 1 && rowsRead(1) * operations <= mostOperations;
  }

  HaloAnswer compare(const MemoryModel &model) const {
    HaloQuestion question;
    question.bytesBetween = bytesOf(first.target());
    question.bytesOut = bytesOf(second.target());
    llvm::SmallDenseSet<Value> inputs;
    for (const Access &load : llvm::concat<const Access>(first.nest.loads, second.nest.loads))
      if (load.memref != first.target() && load.memref != second.target() && inputs.insert(load.memref).second)
        question.bytesIn += bytesOf(load.memref);
    unsigned width = 8;
    for (const Access &access : llvm::concat<const Access>(first.nest.loads, second.nest.loads))
      width = std::max(width, cast<MemRefType>(access.memref.getType()).getElementTypeBitWidth());
    question.lanes = model.lanes(width);
    question.between = static_cast<double>(cast<MemRefType>(first.target().getType()).getNumElements());
    question.elements = static_cast<double>(cast<MemRefType>(second.target().getType()).getNumElements());
    question.reads = rowsRead(1);
    // Rows share; a buffer of one dimension has none.
    int64_t rows = second.space.size() > 1 ? model.rowsAtOnce() : 1;
    question.recompute = static_cast<double>(rowsRead(rows)) / static_cast<double>(rows);
    question.first = work(first, {}, question.lanes, model);
    question.second = work(second, first.target(), question.lanes, model);
    return compareHalo(question, model);
  }

  /// Writes the fused nest in the place of the second, and erases both.
  void fuse() {
    AffineForOp root = second.nest.root();
    Location loc = root.getLoc();
    OpBuilder b(root);
    SmallVector<AffineExpr> ofLoop(second.nest.depth());
    for (unsigned loop = 0; loop < second.nest.depth(); ++loop) {
      if (!llvm::is_contained(second.space, loop))
        continue;
      auto fresh = AffineForOp::create(b, loc, 0, *second.nest.tripCounts[loop]);
      ofLoop[loop] = b.getAffineDimExpr(ivs.size());
      ivs.push_back(fresh.getInductionVar());
      b.setInsertionPointToStart(fresh.getBody());
    }
    Element element;
    for (unsigned loop : second.space)
      element.push_back(ofLoop[loop]);
    Value value = compute(b, second, element);
    AffineStoreOp::create(b, loc, value, second.target(), AffineMap::get(ivs.size(), 0, element, b.getContext()), ivs);
    for (AffineForOp old : {second.nest.root(), second.init, first.nest.root(), first.init})
      if (old)
        old.erase();
    if (Operation *buffer = first.target().getDefiningOp(); buffer->use_empty())
      buffer->erase();
  }

  Stencil first, second;

private:
  static double bytesOf(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return type.hasStaticShape()
               ? static_cast<double>(type.getNumElements()) * llvm::divideCeil(type.getElementTypeBitWidth(), 8)
               : 0;
  }

  bool isWrittenBetween(Value memref) const {
    return llvm::any_of(accessesBetween(memref, first.nest.root(), second.nest.root()), [&](Operation *op) {
      return op
          ->walk([&](Operation *inner) {
            bool reads = isa<AffineLoadOp, memref::DimOp>(inner) || !llvm::is_contained(inner->getOperands(), memref);
            return reads ? WalkResult::advance() : WalkResult::interrupt();
          })
          .wasInterrupted();
    });
  }

  /// Elements of the first that `rows` neighbours of the second, side by side in the loop that is taken in steps, read.
  int64_t rowsRead(int64_t rows) const {
    MLIRContext *context = first.target().getContext();
    SmallVector<Element> seen;
    for (int64_t row = 0; row < rows; ++row) {
      Element element;
      for (auto [dim, loop] : llvm::enumerate(second.space)) {
        AffineExpr index = getAffineDimExpr(dim, context);
        bool isStepped = dim + 2 == second.space.size();
        element.push_back(isStepped ? index + row : index);
      }
      forEachTap(second, element, [&](ArrayRef<AffineExpr> loops) {
        for (const Access &load : second.nest.loads)
          if (load.memref == first.target()) {
            Element read = elementAt(load, loops, second.space.size());
            if (!llvm::is_contained(seen, read))
              seen.push_back(read);
          }
      });
    }
    return static_cast<int64_t>(seen.size());
  }

  /// Instructions of one element; loads of `without` are those of the buffer between.
  static StencilWork work(const Stencil &stencil, Value without, int64_t lanes, const MemoryModel &model) {
    StencilWork work;
    for (Operation &op : *stencil.nest.body) {
      if (!OpTrait::hasElementwiseMappableTraits(&op) || op.hasTrait<OpTrait::ConstantLike>())
        continue;
      bool isFused = isa<arith::MulFOp>(op) && op.hasOneUse() && isa<arith::AddFOp, arith::SubFOp>(*op.user_begin());
      // Elementary functions cost an order more than arithmetic.
      work.arithmetic += isFused ? 0 : isa_and_nonnull<math::MathDialect>(op.getDialect()) ? 16 : 1;
    }
    work.arithmetic *= static_cast<double>(stencil.points);
    const unsigned rows = stencil.space.back();
    for (const Access &load : stencil.nest.loads) {
      if (load.memref == without || load.memref == stencil.target() || !load.dims().test(rows))
        continue;
      bool isShifted =
          llvm::any_of(stencil.taps, [&](unsigned tap) { return load.stride(tap).value_or(1) % lanes != 0; });
      work.loads += (isShifted ? 1 + model.lineCrossings() : 1) * static_cast<double>(stencil.points);
    }
    return work;
  }

  /// The value of one element of `stencil`.
  Value compute(OpBuilder &b, const Stencil &stencil, const Element &element) {
    Value sum;
    if (stencil.beginning)
      sum = arith::ConstantOp::create(b, stencil.nest.root().getLoc(), stencil.beginning);
    forEachTap(stencil, element, [&](ArrayRef<AffineExpr> loops) {
      IRMapping mapping;
      for (Operation &op : stencil.nest.body->without_terminator()) {
        if (auto store = dyn_cast<AffineStoreOp>(op)) {
          sum = mapping.lookupOrDefault(store.getValueToStore());
        } else if (isa<AffineLoadOp>(op)) {
          const Access *load = llvm::find_if(stencil.nest.loads, [&](const Access &a) { return a.op == &op; });
          mapping.map(op.getResult(0), read(b, stencil, *load, loops, sum));
        } else {
          b.clone(op, mapping);
        }
      }
    });
    return sum;
  }

  /// What a load gives: the running sum, an element of the first stencil, which is computed once, or memory.
  Value read(OpBuilder &b, const Stencil &stencil, const Access &load, ArrayRef<AffineExpr> loops, Value sum) {
    if (load.memref == stencil.target())
      return sum;
    Element at = elementAt(load, loops, ivs.size());
    if (load.memref == first.target()) {
      auto known = llvm::find_if(computed, [&](const auto &entry) { return entry.first == at; });
      if (known != computed.end())
        return known->second;
      Value value = compute(b, first, at);
      computed.push_back({at, value});
      return value;
    }
    SmallVector<Value> operands(ivs);
    operands.append(load.symbols.begin(), load.symbols.end());
    return AffineLoadOp::create(b, load.op->getLoc(), load.memref,
                                AffineMap::get(ivs.size(), load.symbols.size(), at, b.getContext()), operands);
  }

  int64_t operations = 0;
  SmallVector<Value> ivs;
  SmallVector<std::pair<Element, Value>> computed;
};

struct FuseHalos : tilewright::impl::FuseHalosBase<FuseHalos> {
  /// Fuses one pair of `block`, if any is worth it.
  bool fuseOne(Block &block, const MemoryModel &model) {
    SmallVector<Stencil, 0> stencils;
    for (auto loop : block.getOps<AffineForOp>())
      if (std::optional<Stencil> stencil = recognizeStencil(loop, mostPoints))
        stencils.push_back(std::move(*stencil));
    for (const Stencil &second : stencils)
      for (const Stencil &first : stencils) {
        if (llvm::none_of(second.nest.loads, [&](const Access &load) { return load.memref == first.target(); }) ||
            !first.nest.root()->isBeforeInBlock(second.nest.root()))
          continue;
        Pair pair(first, second);
        if (!seen.insert({first.nest.root(), second.nest.root()}).second || !pair.isLegal())
          continue;
        HaloAnswer answer = pair.compare(model);
        bool isWorth = answer.fused < answer.apart;
        if (DecisionLog *log = DecisionLog::of(&getContext()))
          log->add(
              "fuse-halo", second.nest.root().getLoc(),
              llvm::json::Object{
                  {"inputs", llvm::json::Object{{"taps_of_first", first.points}, {"taps_of_second", second.points}}},
                  {"choice", llvm::json::Object{{"fused", isWorth}}},
                  {"candidates", llvm::json::Array{llvm::json::Object{{"fused", true}, {"seconds", answer.fused}},
                                                   llvm::json::Object{{"fused", false}, {"seconds", answer.apart}}}}});
        if (!isWorth)
          continue;
        pair.fuse();
        seen.clear(); // operations were erased
        return true;
      }
    return false;
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    auto target = targetOf(function);
    if (!target) {
      function.emitError() << llvm::toString(target.takeError());
      return signalPassFailure();
    }
    MemoryModel model(**target);
    for (Block &block : function.getBody())
      while (fuseOne(block, model)) {
      }
  }

  llvm::DenseSet<std::pair<Operation *, Operation *>> seen; // pairs that stay apart
};

} // namespace
